/**
 * Finds the page of a path, and loads its module and its style sheets when it is first opened.
 *
 * @import {App, Page} from "./app.js"
 */

import { PAGES } from "../pages.js";

/** @typedef {new (app: App, id: string) => Page} PageClass */
/**
 * A page's path, a function that loads its class, its style sheets, and the paths that it requests at
 * once.
 * @typedef {[RegExp, () => Promise<PageClass>, string[], string[]?]} Route
 */

const baseStyleSheet = /** @type {HTMLLinkElement | null} */ (document.querySelector("link[rel=stylesheet]"));
/** The folder of the client's files, under a path that changes with their content. */
const CLIENT = new URL("../", baseStyleSheet?.href ?? location.href);
/** All style sheets of pages, in the order in which they apply. */
const STYLE_SHEETS = [...new Set(PAGES.flatMap(([, , sheets]) => sheets))];

/** The loaded pages. @type {Map<Route, PageClass>} */
const loadedPages = new Map();
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
 * The route of a path, and the id in that path; null if there is no such page.
 * @param {string} path
 * @returns {{route: Route, id: string} | null}
 */
export function findRoute(path) {
    for (const route of PAGES) {
        const match = route[0].exec(path);
        if (match) return { route, id: match[1] ?? "" };
    }
    return null;
}

/**
 * The class of a page that has been loaded; null before.
 * @param {Route} route
 */
export function loadedPage(route) {
    return loadedPages.get(route) ?? null;
}

/**
 * Loads the module and the style sheets of a page. Rejects if a file does not arrive: the server is
 * away, or it has been updated and has other files now.
 * @param {Route} route
 */
export async function loadPage(route) {
    const [, loadClass, sheets] = route;
    const [PageClass] = await Promise.all([loadClass(), ...sheets.map(loadStyleSheet)]);
    loadedPages.set(route, PageClass);
    return PageClass;
}

/**
 * Loads the page of a path that the user may open next. A failure shows when the page is opened.
 * @param {string} path
 */
export function preloadPage(path) {
    const found = findRoute(path);
    if (found && !loadedPage(found.route)) loadPage(found.route).catch(() => {});
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
    const later = STYLE_SHEETS.slice(STYLE_SHEETS.indexOf(name) + 1);
    const next = later.map((other) => styleSheets.get(other)?.link).find((other) => other !== undefined);
    document.head.insertBefore(link, next ?? null);
    styleSheets.set(name, { link, loaded });
    return loaded;
}
