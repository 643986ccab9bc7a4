/**
 * `Run` requests a search after a short delay, and cancels the earlier search. It keeps the part that
 * it has received of a search that stops early.
 */

import { startRun, startTrace } from "./requests.js";
import { TraceError } from "./stream.js";
import { SearchTrace } from "./trace.js";

/** @import {TraceRequest} from "./requests.js" */

/** What is requested: a search, or a search of a lesson. @typedef {{request: TraceRequest} | {lesson: string, run: number}} RunRequest */

/** Milliseconds without a change after which a search is requested. */
const DELAY_MS = 200;

export class Run {
    /** The trace to show; it may still grow. @type {SearchTrace | null} */
    trace = null;
    /** Why the search failed or stopped. @type {Error | null} */
    error = null;
    isRunning = false;
    /** Whether the trace is that of an earlier search, because the requested one failed. */
    isStale = false;
    #onChange;
    #delay_ms;
    /** The last request, as text. */
    #key = "";
    #timer = 0;
    /** @type {AbortController | null} */
    #controller = null;

    /**
     * @param {() => void} onChange called after each part of the trace, and at the end
     * @param {number} [delay_ms]
     */
    constructor(onChange, delay_ms = DELAY_MS) {
        this.#onChange = onChange;
        this.#delay_ms = delay_ms;
    }

    /**
     * Requests a search, unless it is the last request again. The earlier trace stays until the first
     * part of the new one arrives.
     * @param {RunRequest | null} search null for none
     */
    request(search) {
        const key = search === null ? "" : JSON.stringify(search);
        if (key === this.#key) return;
        const isFirst = this.#key === "";
        this.stop();
        this.#key = key;
        this.error = null;
        if (search === null) {
            this.trace = null;
            return;
        }
        this.isRunning = true;
        this.#timer = window.setTimeout(() => void this.#load(search), isFirst ? 0 : this.#delay_ms);
    }

    /** Requests the same search again. */
    retry() {
        const key = this.#key;
        this.stop();
        if (key !== "") this.request(JSON.parse(key));
    }

    /** Cancels the search. */
    stop() {
        clearTimeout(this.#timer);
        this.#controller?.abort();
        this.#controller = null;
        this.#key = "";
        this.isRunning = false;
    }

    /** Whether the trace is complete. */
    get isComplete() {
        return this.trace !== null && this.trace.end !== null;
    }

    /** @param {RunRequest} search */
    async #load(search) {
        const controller = new AbortController();
        this.#controller = controller;
        const { signal } = controller;
        /** @type {SearchTrace | null} */
        let growing = null;
        const onGrow = (/** @type {SearchTrace} */ trace) => {
            if (signal.aborted) return;
            growing = trace;
            if (trace.stepCount === 0) return;
            this.trace = trace;
            this.isStale = false;
            this.#onChange();
        };
        try {
            const response =
                "request" in search ? await startTrace(search.request, signal) : await startRun(search.lesson, search.run, signal);
            this.trace = await SearchTrace.load(response, onGrow, signal);
            this.isStale = false;
        } catch (error) {
            if (signal.aborted) return;
            this.error = error instanceof Error ? error : new TraceError({ message: String(error) });
            this.isStale = this.trace !== growing;
        }
        this.isRunning = false;
        this.#controller = null;
        this.#onChange();
    }
}
