/**
 * The state of a search as a question shows it: the node of the question and the nodes above it have the
 * window that they received, and open intervals.
 *
 * @import {SearchTrace} from "../../glass/trace/trace.js"
 * @import {Ends} from "../../glass/trace/search-state.js"
 */

import { SearchState } from "../../glass/trace/search-state.js";

export class QuestionState extends SearchState {
    /**
     * @param {Row} row
     * @override
     * @returns {Ends}
     */
    window(row) {
        return this.isOnPath(row) ? [this.trace.alpha(row), this.trace.beta(row)] : super.window(row);
    }

    /**
     * @param {Row} row
     * @override
     * @returns {Ends}
     */
    interval(row) {
        return this.isOnPath(row) ? [-Infinity, Infinity] : super.interval(row);
    }
}

/** The number of a node. @typedef {number} Row */
