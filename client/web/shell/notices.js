/**
 * The pages that the app shows itself: while a page is loading, when it cannot be loaded, and for an
 * address without a page.
 *
 * @import {Page} from "./app.js"
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

/** Says that a page's files did not arrive. @implements {Page} */
export class FailedPage extends Notice {
    /** @param {() => void} retry called when the user asks for it, or when the connection is back */
    constructor(retry) {
        super();
        this.onReconnect = retry;
    }

    /** @returns {Content} */
    draw() {
        return h(
            "div",
            { class: "notice card", role: "alert" },
            h("h1", null, "This page could not be loaded"),
            h("p", null, "Its files did not arrive."),
            h("p", null, h("button", { class: "main", onclick: this.onReconnect }, "Try again")),
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
            h("p", null, "This address is no page of this Plyroom. The link may be incomplete."),
            h("p", null, h("a", { href: "/" }, "To the lobby")),
        );
    }
}
