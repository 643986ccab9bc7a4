/**
 * The tree of a strategy's search, folded until the user opens it. What draws it is loaded then.
 *
 * @import {App} from "../shell/app.js"
 * @import {Occupant} from "../shell/protocol.js"
 * @import {Content} from "../shell/elements.js"
 * @import {Thought} from "../shell/model.js"
 */

import { h } from "../shell/elements.js";

/** Draws the tree of the search that a request describes. @typedef {{draw: (request: Record<string, unknown>) => Content, stop: () => void}} SeatTree */

export class SearchTree {
    #app;
    #load;
    #isOpen = false;
    /** @type {SeatTree | null} */
    #tree = null;

    /**
     * @param {App} app
     * @param {() => Promise<{SeatTree: new (app: App) => SeatTree}>} load
     */
    constructor(app, load) {
        this.#app = app;
        this.#load = load;
    }

    stop() {
        this.#tree?.stop();
    }

    /**
     * The tree of a strategy's search in a match; nothing for any other search.
     * @param {string} match
     * @param {number} ply
     * @param {Occupant | null | undefined} occupant
     * @param {Thought} thought
     * @returns {Content}
     */
    draw(match, ply, occupant, { depth, value, withheld }) {
        const { strategy, evaluator } = occupant ?? {};
        if (!strategy || !value || withheld) return null;
        const onToggle = (/** @type {Event} */ event) => {
            if (event.currentTarget instanceof HTMLDetailsElement) this.#setOpen(event.currentTarget.open);
        };
        // A seat searches each root move with a window of its own.
        const request = { match, ply, algorithm: strategy, depth, evaluator, fresh: true };
        return h(
            "details",
            { class: "search-tree", key: "tree", open: this.#isOpen, ontoggle: onToggle },
            h("summary", null, "Tree of the search"),
            this.#isOpen && this.#tree ? this.#tree.draw(request) : null,
        );
    }

    /** @param {boolean} isOpen */
    #setOpen(isOpen) {
        if (isOpen === this.#isOpen) return;
        this.#isOpen = isOpen;
        if (isOpen && !this.#tree)
            this.#load().then(
                ({ SeatTree }) => {
                    this.#tree = new SeatTree(this.#app);
                    this.#app.update();
                },
                () => this.#app.toast("The tree could not be loaded; try again"),
            );
        this.#app.update();
    }
}
