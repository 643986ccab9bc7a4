/**
 * Two searches of the same position side by side: one bar of controls moves both through their joint
 * walk (paired-walk.js). What one visits and the other skips is marked in both.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {View} from "../text/sentences.js"
 * @import {SearchTrace, TraceHead} from "../trace/trace.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { Controls } from "./controls.js";
import { stateAt } from "../trace/search-state.js";
import { PairedWalk } from "../trace/paired-walk.js";
import { valueText } from "../text/notation.js";
import { stepSentence } from "../text/sentences.js";
import { SearchViewer } from "./viewer.js";

await loadStyleSheet("glass/viewer/pair.css").catch(() => {}); // before anything is shown

/** Windows in which only one of the two trees is shown; pair.css has the same width. */
const narrowWindow = matchMedia("(max-width: 759.98px)");
/** The titles of the counts. */
const COUNTS = ["Nodes", "Leaves", "Cut-offs", "Only here", "Value"];
/** The fields of a head in which two searches may differ. */
const DIFFERING = /** @type {const} */ (["algorithm", "form", "depth", "order", "evaluator", "cut_off", "player", "fresh"]);

/**
 * `step` is the moment of the joint walk to show first, by default the end. `onStep` is called with
 * the new moment.
 * @typedef {object} PairOptions
 * @property {Pick<App, "update" | "announce">} app
 * @property {SearchTrace} left a complete trace
 * @property {SearchTrace} right a complete trace of the same position
 * @property {string[]} [names] of the searches, by default those of the fields in which they differ
 * @property {number | null} [step]
 * @property {(moment: number) => void} [onStep]
 * @property {View} [view]
 * @property {(view: View) => void} [onView]
 * @property {boolean} [isReadOnly]
 */

/** One of the two searches: its trace, its viewer, and the rows that only it visits. */
class Half {
    /**
     * @param {SearchTrace} trace
     * @param {(row: number) => boolean} differs
     */
    constructor(trace, differs) {
        this.trace = trace;
        /** By row, the number of earlier rows that only this search visits. */
        this.aloneBefore = new Int32Array(trace.count + 1);
        for (let row = 0; row < trace.count; row++)
            this.aloneBefore[row + 1] = (this.aloneBefore[row] ?? 0) + (differs(row) ? 1 : 0);
    }
}

export class SearchPair {
    #app;
    #walk;
    #moment;
    #onStep;
    /** Whether the page was scrolled to the trees. */
    #hasShown = false;
    #controls;
    /** @type {[Half, Half]} */
    #halves;
    /** @type {[SearchViewer, SearchViewer]} */
    #viewers;
    /** Which search a narrow window shows. @type {0 | 1} */
    #shown = 0;
    #redraw;

    /** @param {PairOptions} options */
    constructor({ app, left, right, names: given, step = null, onStep, view, onView, isReadOnly = false }) {
        this.left = left;
        this.right = right;
        this.#app = app;
        this.#onStep = onStep;
        const walk = (this.#walk = new PairedWalk(left, right));
        this.#moment = Math.max(0, Math.min(walk.count, step ?? walk.count));
        const isAlone = [(/** @type {number} */ row) => walk.isOnlyLeft(row), (/** @type {number} */ row) => walk.isOnlyRight(row)];
        this.#halves = [new Half(left, isAlone[0]), new Half(right, isAlone[1])];
        const [leftStep, rightStep] = walk.at(this.#moment);
        const names = (this.names = given ?? namesOf(left.head, right.head));
        const viewer = (/** @type {SearchTrace} */ trace, /** @type {0 | 1} */ side, /** @type {number} */ shown) =>
            new SearchViewer({
                app,
                trace,
                step: shown,
                label: `Search tree of ${names[side]}`,
                hasControls: false,
                isCompact: true,
                isReadOnly,
                ...(view && { view }),
                ...(onView && { onView }),
                differs: isAlone[side],
                differsCut: (/** @type {number} */ row, /** @type {string} */ move) => walk.isVisitedByOther(side === 0 ? "left" : "right", row, move),
                onStep: (/** @type {number} */ own) => this.#go(walk.momentOf(side === 0 ? "left" : "right", own)),
            });
        this.#viewers = [viewer(left, 0, leftStep), viewer(right, 1, rightStep)];
        this.#controls = new Controls({
            app,
            count: () => walk.count,
            step: () => this.#moment,
            go: (moment) => this.#go(moment),
            next: (moment, unit, direction) => walk.next(moment, unit, direction),
            text: () => this.#text(),
        });
        this.#redraw = () => app.update();
        narrowWindow.addEventListener("change", this.#redraw);
    }

    stop() {
        narrowWindow.removeEventListener("change", this.#redraw);
        this.#controls.stop();
        for (const viewer of this.#viewers) viewer.stop();
    }

    /** The shown moment of the joint walk. */
    get step() {
        return this.#moment;
    }

    /**
     * Handles a key of the controls; returns whether it did.
     * @param {KeyboardEvent} event
     */
    onKey(event) {
        if (event.key === "Tab" || event.defaultPrevented) return false;
        if (!this.#controls.onKey(event)) return false;
        this.#showTrees();
        return true;
    }

    /** The latest steps of both searches in words, for screen readers. */
    #text() {
        const steps = this.#walk.at(this.#moment);
        const texts = this.#halves.map(({ trace }, side) => stepSentence(trace, stateAt(trace, steps[side] ?? 0)));
        return texts[0] === texts[1] ? (texts[0] ?? "") : texts.map((text, side) => `${this.names[side]}: ${text}`).join(" ");
    }

    /** Scrolls the page at the user's first key so that the trees are in view below the controls. */
    #showTrees() {
        if (this.#hasShown) return;
        this.#hasShown = true;
        const tree = document.querySelector(".pair-side .tree");
        if (tree && tree.getBoundingClientRect().bottom > innerHeight)
            document.querySelector(".pair-controls")?.scrollIntoView();
    }

    /** @param {number} moment */
    #go(moment) {
        this.#moment = Math.max(0, Math.min(this.#walk.count, moment));
        const steps = this.#walk.at(this.#moment);
        this.#viewers.forEach((viewer, side) => viewer.goTo(steps[side] ?? 0));
        this.#onStep?.(this.#moment);
        this.#app.update();
    }

    /** @returns {VNode} */
    draw() {
        const { names } = this;
        const isNarrow = narrowWindow.matches;
        const sides = this.#viewers.map((viewer, side) =>
            isNarrow && side !== this.#shown
                ? null
                : h(
                      "section",
                      { class: "pair-side", key: side, "aria-label": names[side] },
                      isNarrow ? null : h("h2", null, names[side]),
                      viewer.draw(),
                  ),
        );
        return h(
            "div",
            { class: "search-pair", key: "pair" },
            this.#drawCounts(names),
            h("div", { class: "card pair-controls", key: "controls" }, this.#controls.draw()),
            isNarrow ? this.#drawSwitch(names) : null,
            h("div", { class: "pair-sides", key: "sides" }, sides),
        );
    }

    /**
     * The counts of both searches beside each other.
     * @param {string[]} names
     */
    #drawCounts(names) {
        const steps = this.#walk.at(this.#moment);
        const states = this.#halves.map(({ trace }, side) => stateAt(trace, steps[side] ?? 0));
        const row = (/** @type {string} */ name, /** @type {number} */ side) => {
            const { visited = 0, leaves = 0, cuts = 0 } = states[side] ?? {};
            const half = this.#halves[side];
            const cells = [
                [h("b", null, visited), h("span", { class: "muted" }, ` of ${half?.trace.count ?? 0}`)],
                leaves,
                cuts,
                half?.aloneBefore[visited] ?? 0,
                states[side]?.isLeft(0) ? valueText(half?.trace.end?.value ?? null) : "–",
            ];
            return h("tr", { key: side }, h("th", { scope: "row" }, name), cells.map((cell, i) => h("td", { key: i }, cell)));
        };
        return h(
            "table",
            { class: "card pair-counts", key: "counts" },
            h("caption", { class: "visually-hidden" }, "Both searches so far"),
            h("thead", null, h("tr", null, h("td", null), COUNTS.map((title) => h("th", { key: title, scope: "col", title: title === "Only here" ? "Nodes that only this search visits" : null }, title)))),
            h("tbody", null, names.map(row)),
        );
    }

    /**
     * The choice of the tree that a narrow window shows.
     * @param {string[]} names
     */
    #drawSwitch(names) {
        const buttons = names.map((name, side) => {
            const show = () => {
                this.#shown = side === 0 ? 0 : 1;
                this.#app.update();
            };
            return h("button", { key: name, "aria-pressed": side === this.#shown, onclick: show }, name);
        });
        return h("div", { class: "pair-switch", role: "group", "aria-label": "Which search to show", key: "switch" }, buttons);
    }
}

/**
 * The names of two searches, by the fields in which they differ.
 * @param {TraceHead} left
 * @param {TraceHead} right
 * @returns {string[]}
 */
function namesOf(left, right) {
    const fields = DIFFERING.filter((field) => left[field] !== right[field]);
    const nameOf = (/** @type {TraceHead} */ head) => {
        const parts = fields.map((field) => partOf(head, field)).filter(Boolean);
        return fields.includes("algorithm") ? parts.join(", ") : [partOf(head, "algorithm"), ...parts].join(", ");
    };
    const [a, b] = [nameOf(left), nameOf(right)];
    return a === b ? [`${a}, left`, `${b}, right`] : [a, b];
}

/**
 * A field of a search in words.
 * @param {TraceHead} head
 * @param {typeof DIFFERING[number]} field
 */
function partOf(head, field) {
    switch (field) {
        case "algorithm":
            return head.algorithm_title ?? head.algorithm;
        case "depth":
            return head.depth === null ? "to the end" : `depth ${head.depth}`;
        case "order":
            return `order ${head.order}`;
        case "cut_off":
            return `stops at ${head.cut_off}`;
        case "player":
            return head.player ? `for player ${head.player}` : "for the side to move";
        case "fresh":
            return head.fresh ? "new windows" : "one window";
        case "form":
            return `as ${head.form}`;
        default:
            return head[field];
    }
}
