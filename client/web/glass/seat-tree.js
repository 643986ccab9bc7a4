/**
 * The tree of a textbook seat's search beside the board: the same search is made again from the same
 * position, which gives the same tree.
 *
 * @import {App} from "../shell/app.js"
 * @import {Content} from "../shell/elements.js"
 */

import { emptyAddress, writeAddress } from "./address.js";
import { Run } from "./run.js";
import { SearchViewer } from "./viewer.js";
import { h } from "../shell/elements.js";
import { loadStyleSheet } from "../shell/router.js";
import { sentenceOf } from "../shell/words.js";

export class SeatTree {
    #app;
    #run;
    /** @type {SearchViewer | null} */
    #viewer = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        this.#run = new Run(() => app.update());
        void loadStyleSheet("glass/glass.css").then(() => app.update());
    }

    stop() {
        this.#run.stop();
        this.#viewer?.stop();
        this.#viewer = null;
    }

    /**
     * The tree of the search that a request describes; the earlier one until it has arrived.
     * @param {Record<string, unknown>} request
     * @returns {Content}
     */
    draw(request) {
        this.#run.want({ request });
        const { trace, error, isStale } = this.#run;
        if (error && (isStale || !trace))
            return h("p", { class: "muted", role: "status" }, sentenceOf(error.message));
        if (!trace) return h("p", { class: "muted", role: "status" }, "Searching again…");
        if (this.#viewer?.trace !== trace) {
            this.#viewer?.stop();
            this.#viewer = new SearchViewer({ app: this.#app, trace, step: null, isCompact: true, hasBoard: false });
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
