/**
 * The part of a viewer with the state machine: it asks the server for the layout when it is first opened.
 *
 * @import {Content} from "../../shell/elements.js"
 * @import {Machine} from "../drawing/machine.js"
 * @import {TraceRequest} from "../trace/requests.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { drawMachine } from "../drawing/machine.js";
import { readMachine } from "../trace/requests.js";

export class MachinePart {
    /** @type {Machine | null} */
    #machine = null;
    /** Why there is no drawing. @type {string | null} */
    #failure = null;

    /**
     * @param {TraceRequest} request
     * @param {() => void} onChange
     */
    constructor(request, onChange) {
        void this.#load(request, onChange);
    }

    /**
     * @param {TraceRequest} request
     * @param {() => void} onChange
     */
    async #load(request, onChange) {
        try {
            const [machine] = await Promise.all([readMachine(request), loadStyleSheet("glass/drawing/machine.css")]);
            this.#machine = machine;
        } catch (error) {
            this.#failure = error instanceof Error ? error.message : String(error);
        }
        onChange();
    }

    /**
     * @param {SearchTrace} trace
     * @param {SearchState} state
     * @returns {Content}
     */
    draw(trace, state) {
        if (this.#failure !== null) return h("p", { class: "muted", role: "alert" }, `${this.#failure}.`);
        if (this.#machine === null) return h("p", { class: "muted", role: "status" }, "Drawing the states…");
        return drawMachine(this.#machine, trace, state);
    }
}
