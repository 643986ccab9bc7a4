/**
 * The state of a search after some of its steps, for a step in either direction.
 *
 * A trace links the steps of each node while it grows, so that a state needs no snapshot: it derives
 * every fact from these links and the number of steps.
 *
 * @import {SearchTrace, Value} from "./trace.js"
 */

import { RETURNED } from "./trace.js";

/** The two ends of a window or an interval. @typedef {[number, number]} Ends */

/**
 * The number of indexes below `count` for which `isBefore` holds; it holds for the first ones.
 * @param {number} count
 * @param {(index: number) => boolean} isBefore
 */
function countWhile(count, isBefore) {
    let [low, high] = [0, count];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (isBefore(middle)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/**
 * The state after the first `step` steps: 0 is before the search, `stepCount` after it.
 * @param {SearchTrace} trace
 * @param {number} step
 */
export function stateAt(trace, step) {
    return new SearchState(trace, Math.max(0, Math.min(step, trace.stepCount)));
}

/** The state of a search after its first `step` steps. */
export class SearchState {
    /** The row of the current node, -1 before the search. */
    row = -1;
    /** The rows from the root to the current node. @type {number[]} */
    path = [];
    #rowsOnPath;

    /**
     * @param {SearchTrace} trace
     * @param {number} step
     */
    constructor(trace, step) {
        this.trace = trace;
        this.step = step;
        if (step > 0) {
            const node = trace.stepNode(step - 1);
            this.row = trace.stepWhat(step - 1) === RETURNED ? trace.parent(node) : node;
        }
        for (let row = this.row; row >= 0; row = trace.parent(row)) this.path.push(row);
        this.path.reverse();
        this.#rowsOnPath = new Set(this.path);
        /** The number of nodes that the search has entered. */
        this.visited = countWhile(trace.count, (row) => this.isEntered(row));
        /** The number of leaves among them. */
        this.leaves = trace.leavesAmong(this.visited);
        /** The number of cut-offs. */
        this.cuts = countWhile(trace.cutCount, (index) => trace.cut(index) < step);
        /** The number of moves that were skipped. */
        this.skippedSoFar = countWhile(trace.skippedCount, (entry) => this.hasSkipped(trace.skippedParent(entry)));
    }

    /** Whether a node is the current node or above it. @param {number} row */
    isOnPath(row) {
        return this.#rowsOnPath.has(row);
    }

    /** Whether the search has entered a node. @param {number} row */
    isEntered(row) {
        return this.#isPast(this.trace.enterStep(row));
    }

    /** Whether the search has left a node, so that its value is known. @param {number} row */
    isLeft(row) {
        return this.#isPast(this.trace.leaveStep(row));
    }

    /** Whether a cut-off has ended a node. @param {number} row */
    isCut(row) {
        return this.#isPast(this.trace.cutStep(row));
    }

    /** Whether a node has skipped its skipped moves, if there are any. @param {number} row */
    hasSkipped(row) {
        return this.trace.cutStep(row) < 0 ? this.isLeft(row) : this.isCut(row);
    }

    /**
     * A node's current window; before its visit the one that it will receive.
     * @param {number} row
     * @returns {Ends}
     */
    window(row) {
        const step = this.#last(this.trace.lastWindowStep(row));
        return step < 0 ? [this.trace.alpha(row), this.trace.beta(row)] : this.#ends(step);
    }

    /**
     * The interval in which a node's value lies, as far as the search knows.
     * @param {number} row
     * @returns {Ends}
     */
    interval(row) {
        const step = this.#last(this.trace.lastIntervalStep(row));
        return step < 0 ? [-Infinity, Infinity] : this.#ends(step);
    }

    /**
     * A node's bounds: the values that it may still have and that matter to the nodes above. They are
     * what its interval and its window have in common, and may be empty.
     * @param {number} row
     * @returns {Ends}
     */
    bounds(row) {
        const [[alpha, beta], [low, high]] = [this.window(row), this.interval(row)];
        return [Math.max(alpha, low), Math.min(beta, high)];
    }

    /**
     * The empty window that cut off the rest of a node's moves, or null.
     * @param {number} row
     * @returns {Ends | null}
     */
    cutWindow(row) {
        return this.isCut(row) ? this.#ends(this.trace.cutStep(row)) : null;
    }

    /**
     * A node's value; null until the search has left it.
     * @param {number} row
     * @returns {Value}
     */
    value(row) {
        return this.isLeft(row) ? this.trace.value(row) : null;
    }

    /** @param {number} step */
    #isPast(step) {
        return step >= 0 && step < this.step;
    }

    /**
     * The last step before the state's step, of those linked backwards from `step`; -1 without one.
     * @param {number} step
     */
    #last(step) {
        while (step >= this.step) step = this.trace.stepBefore(step);
        return step;
    }

    /**
     * @param {number} step
     * @returns {Ends}
     */
    #ends(step) {
        return [this.trace.stepLow(step), this.trace.stepHigh(step)];
    }
}
