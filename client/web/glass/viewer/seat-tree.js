/**
 * The tree of a textbook seat's search beside the board. The page requests the same search from the
 * same position, which gives the same tree.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Occupant} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Thought} from "../../shell/model.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { emptyAddress, writeAddress } from "../trace/address.js";
import { stateAt } from "../trace/search-state.js";
import { Run } from "../trace/run.js";
import { toggle } from "../drawing/shown-nodes.js";
import { drawTree } from "../drawing/tree.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { plural, sentenceOf } from "../../shell/words.js";

/** The style sheet of a tree, which a room does not load at first. */
const STYLE_SHEET = "glass/drawing/glass.css";

export class SeatTree {
    #app;
    #run;
    #isOpen = false;
    /** The trace that is drawn, and the nodes that the user has opened and closed in it. @type {SearchTrace | null} */
    #trace = null;
    /** @type {Set<number>} */
    #opened = new Set();
    /** @type {Set<number>} */
    #closed = new Set();

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        this.#run = new Run(() => app.update());
    }

    stop() {
        this.#run.stop();
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
        if (isOpen) void loadStyleSheet(STYLE_SHEET).catch(() => {});
        this.#app.update();
    }

    /**
     * The tree of the search that a request describes; the earlier one until it has arrived.
     * @param {Record<string, unknown>} request
     * @returns {Content}
     */
    #drawTree(request) {
        this.#run.request({ request });
        const { trace, error, isStale } = this.#run;
        if (error && (isStale || !trace)) return h("p", { class: "muted", role: "status" }, sentenceOf(error.message));
        if (!trace) return h("p", { class: "muted", role: "status" }, "Searching again…");
        if (this.#trace !== trace) {
            this.#trace = trace;
            this.#opened.clear();
            this.#closed.clear();
        }
        const state = stateAt(trace, trace.stepCount);
        const onToggle = (/** @type {number} */ row, /** @type {boolean} */ isOpen) => {
            toggle(this.#opened, this.#closed, row, isOpen);
            this.#app.update();
        };
        const scene = { trace, state, view: /** @type {const} */ ("window"), opened: this.#opened, closed: this.#closed, onToggle, onSelect: () => {} };
        const { visited, cuts } = state;
        return [
            drawTree(scene),
            h("p", { class: "muted" }, this.#run.isRunning ? "Searching again…" : `${plural(visited, "node")}, ${plural(cuts, "cut-off")}`),
            h("a", { class: "button small", href: linkTo(request) }, "Step through it in the glass box"),
        ];
    }
}

/**
 * The address of a search in the glass box.
 * @param {Record<string, unknown>} request
 */
function linkTo(request) {
    return `/glass?${writeAddress({ ...emptyAddress(), ...request })}`;
}
