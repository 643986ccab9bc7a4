// Sets the user's theme before the first paint, so that the page never flashes in the other one.
(() => {
    try {
        const chosen = localStorage.getItem("theme");
        if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    } catch {
        // Without storage the system's theme applies.
    }
})();
