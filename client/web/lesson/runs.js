/**
 * The searches of a lesson, each in a viewer, or two of them side by side. A trace is loaded when it is
 * first shown.
 *
 * @import {SearchPair} from "../glass/viewer/pair.js"
 * @import {VNode} from "../shell/elements.js"
 * @import {LessonRun} from "../glass/trace/requests.js"
 * @import {ViewerOptions} from "../glass/viewer/viewer.js"
 */

import { h } from "../shell/elements.js";
import { startRun } from "../glass/trace/requests.js";
import { SearchTrace } from "../glass/trace/trace.js";
import { SearchViewer } from "../glass/viewer/viewer.js";

/**
 * The shown run, the run beside it or null, and the step; null is the first step.
 * @typedef {{run: number, beside: number | null, step: number | null}} Shown
 */
/**
 * @typedef {object} LessonRunsOptions
 * @property {ViewerOptions["app"]} app
 * @property {string} lesson
 * @property {LessonRun[]} runs
 * @property {Shown} shown
 * @property {(shown: Shown) => void} onChange called when the reader shows something else
 * @property {boolean} [isReadOnly]
 */

/** The step at which a search opens: the visit of its root. */
const FIRST_STEP = 1;
/** The fields of a request for the subject of a search. */
const SUBJECT = ["game", "options", "position", "moves", "tree", "graph"];

export class LessonRuns {
    #options;
    #shown;
    /** The traces by run. @type {Map<number, SearchTrace>} */
    #traces = new Map();
    /** The runs that are being loaded. @type {Set<number>} */
    #loading = new Set();
    /** Why runs could not be loaded. @type {Map<number, string>} */
    #failures = new Map();
    #abort = new AbortController();
    /** The viewer of the shown run. @type {SearchViewer | SearchPair | null} */
    #viewer = null;
    /** The class of two searches side by side, once it is loaded. @type {typeof SearchPair | null} */
    #Pair = null;

    /** @param {LessonRunsOptions} options */
    constructor(options) {
        this.#options = options;
        this.#shown = this.#valid(options.shown);
        this.#loadShown();
    }

    get shown() {
        return this.#shown;
    }

    /** Stops loading and playing. */
    stop() {
        this.#abort.abort();
        this.#viewer?.stop();
    }

    /**
     * The trace of a run; null while it is not complete.
     * @param {number} run
     */
    traceOf(run) {
        const trace = this.#traces.get(run);
        return trace?.end ? trace : null;
    }

    /**
     * Loads the trace of a run, once.
     * @param {number} run
     */
    async load(run) {
        if (this.#traces.has(run) || this.#loading.has(run)) return;
        this.#loading.add(run);
        this.#failures.delete(run);
        const { signal } = this.#abort;
        try {
            const response = await startRun(this.#options.lesson, run, signal);
            await SearchTrace.load(response, (trace) => this.#grow(run, trace), signal);
        } catch (error) {
            if (signal.aborted) return;
            this.#traces.delete(run);
            this.#failures.set(run, error instanceof Error ? error.message : String(error));
            if (this.#shows(run)) this.#forgetViewer();
        }
        this.#loading.delete(run);
        this.#options.app.update();
    }

    /** Loads again the runs that could not be loaded. */
    retry() {
        this.#failures.clear();
        this.#loadShown();
        this.#options.app.update();
    }

    /**
     * @param {KeyboardEvent} event
     * @returns {boolean}
     */
    onKey(event) {
        return this.#viewer?.onKey(event) ?? false;
    }

    /** @returns {VNode} */
    draw() {
        const { run, beside } = this.#shown;
        const failure = this.#failures.get(run) ?? (beside === null ? undefined : this.#failures.get(beside));
        return h(
            "section",
            { class: "runs", "aria-label": "The search" },
            this.#drawTabs(),
            failure === undefined ? this.#drawViewer() : this.#drawFailure(failure),
        );
    }

    #drawTabs() {
        const { runs } = this.#options;
        if (runs.length < 2) return null;
        const { run, beside } = this.#shown;
        const others = this.#comparable(run);
        return h(
            "div",
            { class: "run-tabs" },
            h(
                "div",
                { class: "buttons", role: "group", "aria-label": "Searches of this lesson" },
                runs.map(({ caption }, index) =>
                    h(
                        "button",
                        {
                            key: index,
                            "aria-pressed": String(index === run || index === beside),
                            onclick: () => this.#show({ run: index, beside: null, step: null }),
                        },
                        caption,
                    ),
                ),
            ),
            others.length > 0 ? this.#drawBeside(others) : null,
        );
    }

    /** @param {number[]} others */
    #drawBeside(others) {
        const { run, beside } = this.#shown;
        const [first, second] = beside === null ? [run, /** @type {number} */ (others[0])] : [run, beside];
        const pair = { run: Math.min(first, second), beside: Math.max(first, second), step: null };
        const toggle = () => this.#show(beside === null ? pair : { run, beside: null, step: null });
        const choose = (/** @type {Event} */ event) => {
            if (event.target instanceof HTMLSelectElement)
                this.#show({ run, beside: Number(event.target.value), step: null });
        };
        return h(
            "div",
            { class: "buttons" },
            h("button", { "aria-pressed": String(beside !== null), onclick: toggle }, "Side by side"),
            beside !== null && others.length > 1
                ? h(
                      "select",
                      { "aria-label": "The search on the right", ".value": String(beside), onchange: choose },
                      others.map((index) => h("option", { value: index }, this.#options.runs[index]?.caption)),
                  )
                : null,
        );
    }

    #drawViewer() {
        this.#viewer ??= this.#makeViewer();
        return this.#viewer?.draw() ?? h("p", { class: "muted waiting" }, "Loading the search…");
    }

    /** @param {string} failure */
    #drawFailure(failure) {
        return h(
            "div",
            { class: "card failed", role: "alert" },
            h("p", null, failure),
            h("button", { onclick: () => this.retry() }, "Try again"),
        );
    }

    /** The viewer of the shown run or runs; null until their traces have arrived. */
    #makeViewer() {
        const { app, isReadOnly } = this.#options;
        const { run, beside, step } = { ...this.#shown, step: this.#shown.step ?? FIRST_STEP };
        const onStep = (/** @type {number} */ next) => this.#step(next);
        if (beside === null) {
            const trace = this.#traces.get(run);
            return trace ? new SearchViewer({ app, trace, step, onStep, isReadOnly, request: this.#options.runs[run]?.request }) : null;
        }
        const left = this.traceOf(run);
        const right = this.traceOf(beside);
        if (left === null || right === null || this.#Pair === null) return null;
        const names = [run, beside].map((index) => this.#options.runs[index].caption);
        return new this.#Pair({ app, left, right, names, step, onStep, isReadOnly });
    }

    #forgetViewer() {
        this.#viewer?.stop();
        this.#viewer = null;
    }

    /** @param {number} step */
    #step(step) {
        if (step === this.#shown.step) return;
        this.#shown = { ...this.#shown, step };
        this.#options.onChange(this.#shown);
        this.#options.app.update();
    }

    /** @param {Shown} shown */
    #show(shown) {
        this.#shown = this.#valid(shown);
        this.#forgetViewer();
        this.#options.onChange(this.#shown);
        this.#loadShown();
        this.#options.app.update();
    }

    #loadShown() {
        const { run, beside } = this.#shown;
        void this.load(run);
        if (beside === null) return;
        void this.load(beside);
        void this.#loadPair(beside);
    }

    /**
     * Loads the class of two searches side by side.
     * @param {number} beside
     */
    async #loadPair(beside) {
        try {
            this.#Pair ??= (await import("../glass/viewer/pair.js")).SearchPair;
        } catch {
            this.#failures.set(beside, "The server did not send this part of the page.");
        }
        this.#options.app.update();
    }

    /** @param {number} run */
    #shows(run) {
        return run === this.#shown.run || run === this.#shown.beside;
    }

    /**
     * @param {number} run
     * @param {SearchTrace} trace
     */
    #grow(run, trace) {
        const isNew = !this.#traces.has(run);
        this.#traces.set(run, trace);
        if (this.#viewer instanceof SearchViewer && run === this.#shown.run) this.#viewer.onGrow();
        else if (isNew || trace.end) this.#options.app.update();
    }

    /**
     * The valid form of what to show: an unknown run becomes the first one.
     * @param {Shown} shown
     * @returns {Shown}
     */
    #valid({ run, beside, step }) {
        const { runs } = this.#options;
        if (!runs[run]) return { run: 0, beside: null, step: null };
        const others = this.#comparable(run);
        return { run, beside: beside !== null && others.includes(beside) ? beside : null, step };
    }

    /**
     * The other runs that search the same position.
     * @param {number} run
     */
    #comparable(run) {
        const { runs } = this.#options;
        const subject = subjectOf(runs[run]);
        if (subject === null) return [];
        return runs.flatMap((other, index) => (index !== run && subjectOf(other) === subject ? [index] : []));
    }
}

/**
 * The subject of a run, as text; null if the server does not say.
 * @param {LessonRun | undefined} run
 */
function subjectOf(run) {
    if (!run?.request) return null;
    const { request } = run;
    return JSON.stringify(SUBJECT.map((field) => request[field] ?? null));
}

/**
 * What an address asks to show; without a run, the searches that the lesson compares, or the first one.
 * @param {URLSearchParams} query
 * @param {[number, number] | null} compares
 * @returns {Shown}
 */
export function shownIn(query, compares) {
    const read = (/** @type {string} */ name) => (/^\d{1,6}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null);
    const step = read("step");
    const run = read("run");
    if (run === null && compares !== null) return { run: compares[0], beside: compares[1], step };
    return { run: run ?? 0, beside: read("beside"), step };
}

/**
 * The query of an address that shows this.
 * @param {Shown} shown
 */
export function queryOf({ run, beside, step }) {
    const query = new URLSearchParams({ run: String(run) });
    if (beside !== null) query.set("beside", String(beside));
    if (step !== null) query.set("step", String(step));
    return `?${query}`;
}
