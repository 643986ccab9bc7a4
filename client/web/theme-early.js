// Runs before the first paint, so that the other colour scheme never flashes up.
(() => {
    try {
        const chosen = localStorage.getItem("theme");
        if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
    } catch {
        // Without storage the system's own choice applies.
    }
})();
