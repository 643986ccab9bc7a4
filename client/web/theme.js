/** Light or dark: the system's choice, or the user's own, which this browser stores. */

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen === undefined ? dark.matches : chosen === "dark";
}

/**
 * Changes the theme; the system's own theme is not stored, so that the page follows the system
 * again.
 */
export function toggleTheme() {
    const wanted = isDark() ? "light" : "dark";
    const own = (wanted === "dark") !== dark.matches;
    if (own) document.documentElement.dataset.theme = wanted;
    else delete document.documentElement.dataset.theme;
    try {
        if (own) localStorage.setItem("theme", wanted);
        else localStorage.removeItem("theme");
    } catch {
        // Without storage the choice lasts as long as the page.
    }
}
