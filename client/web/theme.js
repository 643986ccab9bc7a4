/** Light or dark: the system's choice, or the user's own, which is kept in this browser. */

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Is the page dark now? */
export function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen === undefined ? dark.matches : chosen === "dark";
}

/** Changes to the other one; a choice that is the system's own is forgotten, so that the page follows the system again. */
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
