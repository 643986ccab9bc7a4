/**
 * The picture of a search, folded until the user opens it. The module that draws it is loaded then.
 *
 * @import {PicturedSearch} from "./search-picture.js"
 * @import {Content} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";

export class FoldedPicture {
    #update;
    #isOpen = false;
    #hasFailed = false;
    /** @type {((search: PicturedSearch) => Content) | null} */
    #drawPicture = null;

    /** @param {() => void} update draws the page again */
    constructor(update) {
        this.#update = update;
    }

    /**
     * @param {PicturedSearch} search
     * @returns {Content}
     */
    draw(search) {
        const onToggle = (/** @type {Event} */ event) => {
            if (event.currentTarget instanceof HTMLDetailsElement) this.#setOpen(event.currentTarget.open);
        };
        return h(
            "details",
            { class: "search-picture", key: "picture", open: this.#isOpen, ontoggle: onToggle },
            h("summary", null, "How it searched"),
            this.#isOpen ? this.#drawContent(search) : null,
        );
    }

    /** @param {PicturedSearch} search */
    #drawContent(search) {
        if (this.#drawPicture) return this.#drawPicture(search);
        return h("p", { class: "muted" }, this.#hasFailed ? "The picture could not be loaded. Close this part and open it again." : "…");
    }

    /** @param {boolean} isOpen */
    #setOpen(isOpen) {
        if (isOpen === this.#isOpen) return;
        this.#isOpen = isOpen;
        if (isOpen && !this.#drawPicture) void this.#load();
        this.#update();
    }

    async #load() {
        this.#hasFailed = false;
        try {
            this.#drawPicture = (await import("./search-picture.js")).drawSearchPicture;
        } catch {
            this.#hasFailed = true;
        }
        this.#update();
    }
}
