/** The theme, light or dark: the system's, or the user's choice, which the browser stores. */

const darkSystem = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now. */
export function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen === undefined ? darkSystem.matches : chosen === "dark";
}

/**
 * Switches between light and dark. The system's theme is not stored, so that the page then follows
 * the system again.
 */
export function toggleTheme() {
    const theme = isDark() ? "light" : "dark";
    const differsFromSystem = (theme === "dark") !== darkSystem.matches;
    if (differsFromSystem) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    try {
        if (differsFromSystem) localStorage.setItem("theme", theme);
        else localStorage.removeItem("theme");
    } catch {
        // Without storage the choice lasts as long as the page.
    }
}

/**
 * Calls a function whenever the system switches between light and dark.
 * @param {() => void} call
 */
export function onSystemTheme(call) {
    darkSystem.addEventListener("change", call);
}
