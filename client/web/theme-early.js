// Runs before the page is painted, so that whoever chose light or dark never sees the other one flash by.
(() => {
    try {
        const chosen = localStorage.getItem("theme");
        if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    } catch {
        // A browser that keeps nothing for us still has the system's own choice.
    }
})();
