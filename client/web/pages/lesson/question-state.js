/**
 * The state of a search as a question shows it: the node that the question is about, and the nodes
 * above it, keep the window that they received, and nothing is known of their values.
 *
 * @import {SearchTrace} from "../../glass/trace.js"
 * @import {Ends} from "../../glass/fold.js"
 */

import { State } from "../../glass/fold.js";

export class QuestionState extends State {
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
