/**
 * Finds the page of a path, and loads its module and its style sheets when it is first opened.
 *
 * @import {App, Page} from "./app.js"
 */

import { loadStyleSheet, orderStyleSheets } from "./style-sheets.js";

/**
 * A page's class. `preload` loads what the page may need besides; a failure shows when it is needed.
 * @typedef {(new (app: App, id: string) => Page) & {preload?: () => void}} PageClass
 */
/**
 * A page's path, a function that loads its class, its style sheets, and the paths that it requests at
 * once.
 * @typedef {[RegExp, () => Promise<PageClass>, string[], string[]?]} Route
 */

export class Router {
    #routes;
    /** The loaded pages. @type {Map<Route, PageClass>} */
    #loaded = new Map();

    /** @param {Route[]} routes the pages; their style sheets apply in this order */
    constructor(routes) {
        this.#routes = routes;
        orderStyleSheets(routes.flatMap(([, , sheets]) => sheets));
    }

    /**
     * The route of a path, and the id in that path; null if there is no such page.
     * @param {string} path
     * @returns {{route: Route, id: string} | null}
     */
    find(path) {
        for (const route of this.#routes) {
            const match = route[0].exec(path);
            if (match) return { route, id: match[1] ?? "" };
        }
        return null;
    }

    /**
     * The class of a page that has been loaded; null before.
     * @param {Route} route
     */
    loaded(route) {
        return this.#loaded.get(route) ?? null;
    }

    /**
     * Loads the module and the style sheets of a page. Rejects if a file does not arrive: the server is
     * away, or it has been updated and has other files now.
     * @param {Route} route
     */
    async load(route) {
        const [, loadClass, sheets] = route;
        const [PageClass] = await Promise.all([loadClass(), ...sheets.map(loadStyleSheet)]);
        this.#loaded.set(route, PageClass);
        return PageClass;
    }

    /**
     * Loads the page of a path that the user may open next. A failure shows when the page is opened.
     * @param {string} path
     */
    preload(path) {
        const found = this.find(path);
        if (!found || this.loaded(found.route)) return;
        this.load(found.route).then(
            (PageClass) => PageClass.preload?.(),
            () => {},
        );
    }
}
