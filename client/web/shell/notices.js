/**
 * The pages that the app shows itself: while a page is loading, when it cannot be loaded, and for an
 * address without a page.
 *
 * @import {App, Page} from "./app.js"
 * @import {Content} from "./elements.js"
 */

import { h } from "./elements.js";

/** A page without behaviour of its own. */
class Notice {
    start() {}

    stop() {}

    onModelChange() {}

    afterDraw() {}

    onKey() {}

    title() {
        return "Plyroom";
    }
}

/** The outline of a page, until its files have arrived. @implements {Page} */
export class LoadingPage extends Notice {
    /** @returns {Content} */
    draw() {
        return h(
            "div",
            // Its key keeps its parts from becoming those of the page, which would jump to their places.
            { class: "page skeleton", key: "skeleton", "aria-busy": "true" },
            h("div", { class: "card" }, h("h1", null, "Loading…")),
            h("div", { class: "card" }),
        );
    }
}

/**
 * Says that a page's files did not arrive. The page is reloaded when the user asks for it, or when the
 * connection is back.
 * @implements {Page}
 */
export class FailedPage extends Notice {
    #app;
    #isWaiting = false;

    /** @param {App} app */
    constructor(app) {
        super();
        this.#app = app;
    }

    onReconnect() {
        void this.#reload();
    }

    /**
     * Reloads the page if the server answers: after an update it has other files. Without an answer
     * this page stays, since the browser's own error page would replace it.
     */
    async #reload() {
        if (this.#isWaiting) return;
        this.#isWaiting = true;
        this.#app.update();
        const isAnswering = await fetch(location.href, { method: "HEAD" }).then(
            () => true,
            () => false,
        );
        if (isAnswering) return location.reload();
        this.#isWaiting = false;
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        const text = "Its files did not arrive: the connection failed, or the server has just been updated.";
        return h(
            "div",
            { class: "notice card", role: "alert" },
            h("h1", null, "This page could not be loaded"),
            h("p", null, text),
            h(
                "p",
                null,
                h(
                    "button",
                    { class: "main", "aria-disabled": this.#isWaiting, onclick: () => void this.#reload() },
                    this.#isWaiting ? "Trying again…" : "Try again",
                ),
            ),
        );
    }
}

/** For an address without a page. @implements {Page} */
export class MissingPage extends Notice {
    /** @override */
    title() {
        return "There is nothing here – Plyroom";
    }

    /** @returns {Content} */
    draw() {
        return h(
            "div",
            { class: "notice card" },
            h("h1", null, "There is nothing here"),
            h("p", null, "This address is not a page of this Plyroom. The link may be incomplete."),
            h("p", null, h("a", { href: "/" }, "To the lobby")),
        );
    }
}
