/**
 * The viewer of a search: the tree, the overview, the step in words, the controls, the board of the
 * current node, the pseudo-code and the counters.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {NodeBoard} from "./node-board.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {SearchTrace} from "../trace/trace.js"
 * @import {TraceRequest} from "../trace/requests.js"
 * @import {View} from "../text/sentences.js"
 */

import { h } from "../../shell/elements.js";
import { keyOf } from "../../shell/keys.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { codeOf, lineOfStep } from "../text/code.js";
import { Controls } from "./controls.js";
import { drawCounters } from "./counters.js";
import { stateAt } from "../trace/search-state.js";
import { VIEW_TEXTS, stepSentence } from "../text/sentences.js";
import { toggle } from "../drawing/shown-nodes.js";
import { drawTree } from "../drawing/tree.js";
import { nextStep } from "../trace/walk.js";

/**
 * `step` is the step to show first, null for the last one. `onStep` is called when the user goes to
 * another step, `onView` when the user chooses another view. `differs` and `differsCut` mark the
 * differences from another search. `isCompact` folds the board and the code. `label` names the tree on
 * a page with several.
 * @typedef {object} ViewerOptions
 * @property {Pick<App, "update" | "announce">} app
 * @property {SearchTrace} trace
 * @property {number | null} [step]
 * @property {(step: number) => void} [onStep]
 * @property {View} [view]
 * @property {(view: View) => void} [onView]
 * @property {boolean} [isReadOnly]
 * @property {boolean} [hasControls]
 * @property {boolean} [isCompact]
 * @property {string} [label]
 * @property {TraceRequest | null} [request] the search, for its state machine
 * @property {(row: number) => boolean} [differs]
 * @property {(row: number, move: string) => boolean} [differsCut]
 */

/** A tree of at most this many nodes has no overview, because it is drawn as a whole. */
const MIN_OVERVIEW_NODES = 60;
/** The names of the views. @type {[View, string][]} */
export const VIEWS = [
    ["window", "Windows"],
    ["interval", "Intervals"],
    ["bounds", "Bounds"],
];
/** The modules that a viewer loads when it first needs them. @type {Record<string, () => Promise<any>>} */
const LAZY_MODULES = {
    board: () => import("./node-board.js"),
    // It paints in the colours of its style sheet.
    overview: () => Promise.all([import("../drawing/overview.js"), loadStyleSheet("glass/drawing/overview.css")]),
    outline: () => import("../drawing/outline.js"),
    files: () => import("./export.js"),
    legend: () => import("../drawing/legend.js"),
    tips: () => import("./tips.js"),
    machine: () => import("./machine-part.js"),
};

export class SearchViewer {
    #options;
    /** The board of the current node, in a game. @type {NodeBoard | null} */
    #board = null;
    /** The lazily loaded modules by name; null while one is loading. @type {Map<string, any>} */
    #modules = new Map();
    /** The state machine, once the reader has opened it. @type {any} */
    #machine = null;
    #controls;
    /** The shown step; null is the end, also while the trace grows. @type {number | null} */
    #step;
    /** @type {View} */
    #view;
    /** The nodes that the user has opened and closed. @type {Set<number>} */
    #opened = new Set();
    /** @type {Set<number>} */
    #closed = new Set();
    /** The state that is shown. @type {SearchState | null} */
    #state = null;
    /** The parts that the user has opened. @type {Set<string>} */
    #openParts = new Set();
    /** Whether the page was scrolled to the tree. */
    #isUncovered = false;
    /** The frame in which the growing trace is drawn next, 0 without one. */
    #frame = 0;

    /** @param {ViewerOptions} options */
    constructor(options) {
        const { app, trace, step = null, view = "window" } = options;
        this.trace = trace;
        this.#options = options;
        this.#step = step;
        this.#view = view;
        this.#controls = new Controls({
            app,
            count: () => trace.stepCount,
            step: () => this.step,
            go: (to) => this.#go(to),
            next: (from, unit, direction) => nextStep(trace, from, unit, direction),
            text: () => this.#sentence(),
        });
    }

    /** The shown step. */
    get step() {
        return Math.min(this.#step ?? Infinity, this.trace.stepCount);
    }

    /** Stops the timers and the requests of the viewer. */
    stop() {
        this.#controls.stop();
        this.#board?.stop();
        cancelAnimationFrame(this.#frame);
    }

    /** Draws the growing trace again, at most once per frame. */
    onGrow() {
        if (this.#frame !== 0) return;
        this.#frame = requestAnimationFrame(() => {
            this.#frame = 0;
            this.#options.app.update();
        });
    }

    /**
     * Shows a step.
     * @param {number} step
     */
    goTo(step) {
        this.#step = Math.max(0, Math.min(step, this.trace.stepCount));
        this.#options.app.update();
    }

    /**
     * Handles a key; returns whether it did.
     * @param {KeyboardEvent} event
     */
    onKey(event) {
        if (event.defaultPrevented) return false;
        if (keyOf(event) === "v" && !event.ctrlKey && !event.metaKey && !event.altKey) {
            const names = VIEWS.map(([view]) => view);
            this.#setView(names[(names.indexOf(this.#view) + 1) % names.length]);
            return true;
        }
        if (!(this.#options.hasControls ?? true) || !this.#controls.onKey(event)) return false;
        this.#uncoverTree();
        return true;
    }

    /** @param {number} step */
    #go(step) {
        this.goTo(step);
        this.#options.onStep?.(this.step);
    }

    /**
     * Scrolls the page at the user's first key, so that the controls and the tree below them are in view.
     * A step by a pointer must not move the page under it.
     */
    #uncoverTree() {
        if (this.#isUncovered) return;
        this.#isUncovered = true;
        document.querySelector(".glass-viewer .has-bar .tree")?.scrollIntoView({ block: "nearest" });
    }

    /**
     * Goes to a node: to its end if the search has left it, otherwise to its start.
     * @param {number} row
     */
    #select(row) {
        const { trace } = this;
        const leave = trace.leaveStep(row);
        const isLeft = leave >= 0 && leave < this.step;
        this.#controls.stop();
        this.#go((isLeft && this.#shown().row !== row ? leave : trace.enterStep(row)) + 1);
        this.#options.app.announce(this.#sentence());
    }

    /** @param {View} view */
    #setView(view) {
        this.#view = view;
        this.#options.onView?.(view);
        this.#options.app.update();
    }

    /** The state of the shown step. */
    #shown() {
        if (this.#state?.step !== this.step) this.#state = stateAt(this.trace, this.step);
        return this.#state;
    }

    /** Describes the last step; at the end of a stopped search it adds the reason. */
    #sentence() {
        const { trace } = this;
        const state = this.#shown();
        const text = stepSentence(trace, state, this.#view);
        const isStopped = trace.end !== null && state.step === trace.stepCount && !state.isLeft(0);
        return isStopped ? `${text} The search was stopped here: ${trace.end?.meaning}.` : text;
    }

    // --- drawing

    /** @returns {VNode} */
    draw() {
        const { hasControls = true, isCompact = false } = this.#options;
        const state = this.#shown();
        const hasOverview = this.trace.count > MIN_OVERVIEW_NODES;
        const sentence = h("p", { class: "card sentence", key: "sentence" }, this.#sentence());
        this.#board ??= this.#makeBoard();
        // While a trace grows, its end moves on at once, so its board is not requested.
        if (this.trace.end !== null || this.#step !== null) this.#board?.prefetch(state);
        return h(
            "div",
            {
                class: ["glass-viewer", isCompact && "compact"],
                key: "viewer",
                onpointerover: (/** @type {Event} */ { target }) => this.#module("tips")?.showTip(target),
            },
            h(
                "div",
                { class: ["parts", hasControls && "has-bar"] },
                h(
                    "div",
                    { class: "lead", key: "lead" },
                    hasControls ? h("div", { class: "card bar", key: "bar" }, this.#controls.draw()) : null,
                    hasControls ? sentence : null,
                    this.#drawTree(state),
                    hasOverview ? this.#drawOverview(state) : null,
                    hasControls ? null : sentence,
                ),
                h("div", { class: "side", key: "side" }, this.#drawSide(state, isCompact)),
                this.#options.request ? this.#drawPart("machine", "State machine", false, () => this.#drawMachine(state)) : null,
            ),
        );
    }

    /**
     * A lazily loaded module; null until it has arrived.
     * @param {string} name
     */
    #module(name) {
        if (!this.#modules.has(name)) {
            this.#modules.set(name, null);
            LAZY_MODULES[name]().then(
                (module) => {
                    this.#modules.set(name, module);
                    this.#options.app.update();
                },
                () => this.#modules.delete(name),
            );
        }
        return this.#modules.get(name);
    }

    /** @returns {NodeBoard | null} */
    #makeBoard() {
        const module = this.trace.head.board ? this.#module("board") : null;
        return module && new module.NodeBoard(this.trace, () => this.#options.app.update());
    }

    /** @param {SearchState} state */
    #scene(state) {
        const { isReadOnly = false, differs, differsCut } = this.#options;
        return {
            trace: this.trace,
            state,
            view: this.#view,
            opened: this.#opened,
            closed: this.#closed,
            onToggle: (/** @type {number} */ row, /** @type {boolean} */ isOpen) => {
                toggle(this.#opened, this.#closed, row, isOpen);
                this.#options.app.update();
            },
            onSelect: (/** @type {number} */ row) => !isReadOnly && this.#select(row),
            label: this.#label("Search tree"),
            ...(differs && { differs }),
            ...(differsCut && { differsCut }),
        };
    }

    /** @param {string} text */
    #label(text) {
        const { label } = this.#options;
        return label ? `${text}: ${label}` : text;
    }

    /** @param {SearchState} state */
    #drawTree(state) {
        return h(
            "section",
            { class: ["card", "tree", this.trace.isWindowed && "has-views"], "aria-label": this.#label("Search tree"), key: "tree" },
            this.#drawViews(),
            drawTree(this.#scene(state)),
        );
    }

    #drawViews() {
        if (!this.trace.isWindowed) return null;
        const button = (/** @type {[View, string]} */ [view, name]) =>
            h("button", { key: view, class: "small", "aria-pressed": view === this.#view, title: VIEW_TEXTS[view], onclick: () => this.#setView(view) }, name);
        return h("div", { class: "views", role: "group", "aria-label": "Numbers below a node" }, VIEWS.map(button));
    }

    /** @param {SearchState} state */
    #drawOverview(state) {
        const { isReadOnly = false } = this.#options;
        const onStep = (/** @type {CustomEvent<{step: number}>} */ event) => {
            this.#controls.stop();
            this.#go(event.detail.step);
        };
        const scene = { trace: this.trace, state, isReadOnly };
        // The element needs its class first: a property that is set earlier would hide the class's setter.
        const isLoaded = this.#module("overview") !== null;
        return h(
            "section",
            { class: "card overview", "aria-label": this.#label("Overview"), key: "overview" },
            isLoaded && h("glass-overview", { ".scene": scene, managesChildren: true, "onglass-step": onStep }),
        );
    }

    /**
     * @param {SearchState} state
     * @param {boolean} isCompact
     * @returns {Content}
     */
    #drawSide(state, isCompact) {
        const { isReadOnly = false } = this.#options;
        return [
            this.trace.head.board ? this.#drawPart("board", "Board", !isCompact, () => this.#board?.draw(state)) : null,
            this.#drawPart("code", `Pseudo-code of ${this.trace.head.algorithm_title ?? this.trace.head.algorithm}`, !isCompact, () => this.#drawCode(state)),
            this.#drawPart("counters", "Counts", !isCompact, () => drawCounters(this.trace, state)),
            this.#drawPart("legend", "Key and views", false, () => this.#drawKey()),
            this.#drawPart("outline", "The tree as a list", false, () => this.#module("outline")?.drawOutline(this.#scene(state))),
            isReadOnly ? null : this.#drawPart("save", "Save", false, () => this.#drawSave(state)),
        ];
    }

    /**
     * A part that the user can fold; its content is drawn only while it is open.
     * @param {string} name
     * @param {string} title
     * @param {boolean} isOpenAtFirst
     * @param {() => Content} draw
     */
    #drawPart(name, title, isOpenAtFirst, draw) {
        const isOpen = this.#openParts.has(name) !== isOpenAtFirst;
        const onToggle = (/** @type {Event} */ event) => {
            const details = event.currentTarget;
            if (!(details instanceof HTMLDetailsElement) || details.open === isOpen) return;
            if (details.open === isOpenAtFirst) this.#openParts.delete(name);
            else this.#openParts.add(name);
            this.#options.app.update();
        };
        return h(
            "details",
            { class: ["card", "part", `part-${name}`], key: name, open: isOpen, ontoggle: onToggle },
            h("summary", null, title),
            isOpen ? draw() : null,
        );
    }

    /** @param {SearchState} state */
    #drawCode(state) {
        const code = codeOf(this.trace.head, this.trace.hasChance);
        const current = state.step > 0 ? lineOfStep(code, this.trace, state.step - 1) : -1;
        return h(
            "ol",
            { class: "code-lines" },
            code.lines.map((line, index) => {
                const isCurrent = index === current;
                const indent = line.search(/\S|$/) / 4;
                const attributes = { key: index, class: isCurrent ? "current" : null, "aria-current": isCurrent ? "step" : null, "--indent": indent };
                return h("li", attributes, line.trim() || "\u00a0");
            }),
        );
    }

    /** @param {SearchState} state */
    #drawSave(state) {
        /** @type {typeof import("./export.js") | null} */
        const module = this.#module("files");
        if (!module) return null;
        const { trace } = this;
        /** @type {Record<string, () => string>} */
        const write = {
            svg: () => module.toSvg({ trace, state, view: this.#view, opened: this.#opened, closed: this.#closed }),
            json: () => module.toJson(trace),
            log: () => module.toLog(trace, "tree"),
            classic: () => module.toLog(trace, "classic"),
        };
        const files = module.FILES.filter(([format]) => format === "svg" || trace.end !== null);
        return h(
            "div",
            { class: "files" },
            files.map(([format, suffix, type, words]) =>
                h("button", { key: format, class: "small", onclick: () => save(`search.${suffix}`, type, write[format]()) }, words),
            ),
        );
    }

    /** @param {SearchState} state */
    #drawMachine(state) {
        const { request, app } = this.#options;
        const module = request && this.#module("machine");
        return module && (this.#machine ??= new module.MachinePart(request, () => app.update())).draw(this.trace, state);
    }

    /** The key to the shapes, and the explanations of the views. */
    #drawKey() {
        const views = this.trace.isWindowed ? VIEWS : VIEWS.slice(1, 2);
        return [this.#module("legend")?.drawLegend(this.trace), views.map(([view]) => h("p", { key: view, class: "muted" }, VIEW_TEXTS[view]))];
    }
}

/**
 * Lets the browser save a text as a file.
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
