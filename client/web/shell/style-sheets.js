/**
 * The files of the client that modules load by name: style sheets, and pictures of pages.
 */

const baseStyleSheet = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=stylesheet]"));
/** The folder of the client's files, under a path that changes with their content. */
const CLIENT = new URL("../", baseStyleSheet?.href ?? location.href);

/** The style sheets whose order is known, in the order in which they apply. @type {string[]} */
let order = [];
/** The style sheets in the document. @type {Map<string, {link: HTMLLinkElement, loaded: Promise<void>}>} */
const styleSheets = new Map();

/**
 * The address of a file of the client, by its path in the client's folder.
 * @param {string} name
 */
export function clientFile(name) {
    return new URL(name, CLIENT).pathname;
}

/**
 * Sets the order in which style sheets apply, whenever each is loaded. All other ones apply before
 * these.
 * @param {string[]} names
 */
export function orderStyleSheets(names) {
    order = [...new Set(names)];
}

/**
 * Adds a style sheet to the document, once; resolves when it has been loaded.
 * @param {string} name
 * @returns {Promise<void>}
 */
export function loadStyleSheet(name) {
    const known = styleSheets.get(name);
    if (known) return known.loaded;
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(name, CLIENT).href;
    /** @type {Promise<void>} */
    const loaded = new Promise((resolve, reject) => {
        link.addEventListener("load", () => resolve());
        link.addEventListener("error", () => {
            link.remove();
            styleSheets.delete(name);
            reject(new Error(`the style sheet ${name} did not arrive`));
        });
    });
    const later = order.slice(order.indexOf(name) + 1);
    const next = later.map((other) => styleSheets.get(other)?.link).find((other) => other !== undefined);
    document.head.insertBefore(link, next ?? null);
    styleSheets.set(name, { link, loaded });
    return loaded;
}
