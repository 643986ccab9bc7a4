// Sets the user's theme and settings before the first paint, so that the page never flashes in others.
(() => {
    try {
        const root = document.documentElement;
        const theme = localStorage.getItem("theme");
        if (theme === "light" || theme === "dark") root.dataset.theme = theme;
        for (const name of ["board", "pieces", "coordinates", "animation", "sound"]) {
            const value = localStorage.getItem(name);
            if (value !== null) root.dataset[name] = value;
        }
    } catch {
        // Without storage the system's theme and the default settings apply.
    }
})();
