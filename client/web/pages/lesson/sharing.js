/**
 * The links to share a lesson: its address with a QR code, and the HTML of a frame for another page.
 *
 * @import {VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";
import { drawLargeShare } from "../../ui/large-share.js";
import { Share, copyFrom } from "../../ui/share.js";

/** The height of the frame that shows a lesson, in pixels. */
const FRAME_HEIGHT = 720;

export class LessonSharing {
    #app;
    #name;
    #share;
    #isOpen = false;
    #isCopied = false;

    /**
     * @param {{update: () => void, announce: (text: string) => void}} app
     * @param {string} name of the lesson
     */
    constructor(app, name) {
        this.#app = app;
        this.#name = name;
        const announce = (/** @type {string} */ text) => app.announce(text);
        this.#share = new Share("Link to this lesson", `/learn/${name}`, () => app.update(), announce);
    }

    /** @returns {VNode} */
    drawButton() {
        return h(
            "button",
            { "aria-expanded": String(this.#isOpen), "aria-controls": "sharing", onclick: () => this.#toggle() },
            "Share",
        );
    }

    /** @param {string} title of the lesson */
    draw(title) {
        if (!this.#isOpen) return null;
        return h(
            "section",
            { class: "card sharing", id: "sharing", "aria-label": "Share this lesson" },
            h("div", { class: "links" }, drawLargeShare(this.#share)),
            h("p", null, "To show the lesson in a page of your own, such as that of a course, paste this HTML. It sets no cookies."),
            this.#drawCode(title),
        );
    }

    /** @param {string} title */
    #drawCode(title) {
        const address = new URL(`/embed/learn/${this.#name}`, location.origin).href;
        const code = `<iframe src="${address}" title="${title}" width="100%" height="${FRAME_HEIGHT}"></iframe>`;
        const copy = async (/** @type {Event} */ event) => {
            const field = event.currentTarget instanceof Element ? event.currentTarget.previousElementSibling : null;
            this.#isCopied = field instanceof HTMLInputElement && (await copyFrom(field));
            this.#app.announce(this.#isCopied ? "HTML copied" : "The HTML could not be copied");
        };
        return h(
            "div",
            { class: "share" },
            h("input", { readonly: true, ".value": code, "aria-label": "HTML to show this lesson in a page" }),
            h("button", { onclick: copy }, this.#isCopied ? "Copied" : "Copy the HTML"),
        );
    }

    #toggle() {
        this.#isOpen = !this.#isOpen;
        if (this.#isOpen) void this.#share.load();
        this.#app.update();
    }
}
