/**
 * The tree of a textbook seat's search beside the board: the same search is made again from the same
 * position, which gives the same tree.
 *
 * @import {App} from "../shell/app.js"
 * @import {Occupant} from "../shell/protocol.js"
 * @import {Content} from "../shell/elements.js"
 * @import {Thought} from "../shell/model.js"
 */

import { emptyAddress, writeAddress } from "./address.js";
import { Run } from "./run.js";
import { SearchViewer } from "./viewer.js";
import { h } from "../shell/elements.js";
import { loadStyleSheet } from "../shell/router.js";
import { sentenceOf } from "../shell/words.js";

/** The style sheets of a tree, which a room does not load. */
const STYLE_SHEETS = ["glass/glass.css", "glass/viewer.css"];

export class SeatTree {
    #app;
    #run;
    #isOpen = false;
    /** @type {SearchViewer | null} */
    #viewer = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        this.#run = new Run(() => app.update());
    }

    stop() {
        this.#run.stop();
        this.#viewer?.stop();
        this.#viewer = null;
    }

    /**
     * The tree, folded until the user opens it.
     * @param {string} match
     * @param {number} ply the ply at which the seat searched
     * @param {Occupant} seat
     * @param {Thought} thought
     * @returns {Content}
     */
    draw(match, ply, { strategy, evaluator }, { depth }) {
        // A seat searches each root move with a window of its own.
        const request = { match, ply, algorithm: strategy, depth, evaluator, fresh: true };
        const onToggle = (/** @type {Event} */ event) => {
            if (event.currentTarget instanceof HTMLDetailsElement) this.#setOpen(event.currentTarget.open);
        };
        return h(
            "details",
            { class: "search-tree", key: "tree", open: this.#isOpen, ontoggle: onToggle },
            h("summary", null, "Tree of the search"),
            this.#isOpen ? this.#drawTree(request) : null,
        );
    }

    /** @param {boolean} isOpen */
    #setOpen(isOpen) {
        if (isOpen === this.#isOpen) return;
        this.#isOpen = isOpen;
        if (isOpen) for (const name of STYLE_SHEETS) void loadStyleSheet(name);
        this.#app.update();
    }

    /**
     * The tree of the search that a request describes; the earlier one until it has arrived.
     * @param {Record<string, unknown>} request
     * @returns {Content}
     */
    #drawTree(request) {
        this.#run.want({ request });
        const { trace, error, isStale } = this.#run;
        if (error && (isStale || !trace)) return h("p", { class: "muted", role: "status" }, sentenceOf(error.message));
        if (!trace) return h("p", { class: "muted", role: "status" }, "Searching again…");
        if (this.#viewer?.trace !== trace) {
            this.#viewer?.stop();
            this.#viewer = new SearchViewer({ app: this.#app, trace, step: null, isCompact: true });
        } else this.#viewer.onGrow();
        return [this.#viewer.draw(), h("a", { class: "button small", href: linkTo(request) }, "Open in the glass box")];
    }
}

/**
 * The address of a search in the glass box.
 * @param {Record<string, unknown>} request
 */
function linkTo(request) {
    return `/glass?${writeAddress({ ...emptyAddress(), ...request })}`;
}
