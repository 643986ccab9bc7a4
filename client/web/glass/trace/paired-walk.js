/**
 * The joint walk of two searches of the same position. Both searches walk the same tree, each in its
 * own order, and each skips other parts of it. The joint walk visits the union of both: in each of its
 * moments both searches are at the same node, or one of them waits where it has skipped the node of
 * the other. Pure functions of the two traces.
 *
 * @import {SearchTrace} from "./trace.js"
 * @import {Unit} from "./walk.js"
 */

import { CUT, ENTER } from "./trace.js";

/** The events of a moment, as bits. */
const ENTERS = 1;
const CUTS = 2;

/**
 * The parts of a trace that the joint walk reads.
 * @typedef {Pick<SearchTrace, "count" | "stepCount" | "move" | "children" | "stepWhat" | "enterStep"
 *     | "leaveStep">} Walked
 */

/** One of the two searches within a joint walk. */
class Side {
    /** The row of the same node in the other search, -1 without one. @type {Int32Array} */
    twins;
    /** The number of steps that this search has made, by moment. @type {number[]} */
    steps = [0];
    /** The number of steps at the latest moment. */
    step = 0;

    /** @param {Walked} trace */
    constructor(trace) {
        this.trace = trace;
        this.twins = new Int32Array(trace.count).fill(-1);
    }

    /**
     * The indices from `from` to before `to`.
     * @param {number} from
     * @param {number} to
     */
    #range(from, to) {
        return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
    }

    /**
     * The index of the step that leaves a node; the last step for a node that is never left.
     * @param {number} row
     */
    leave(row) {
        const step = this.trace.leaveStep(row);
        return step < 0 ? this.trace.stepCount : step;
    }

    /**
     * The steps of a node itself: those before its first child, and those after each child.
     * @param {number} row -1 for a node that this search does not visit
     * @returns {{children: number[], before: number[], after: Map<number, number[]>}}
     */
    ownSteps(row) {
        if (row < 0) return { children: [], before: [], after: new Map() };
        const children = [...this.trace.children(row)];
        const ends = children.map((child) => this.trace.enterStep(child));
        ends.push(this.leave(row));
        const after = new Map(
            children.map((child, i) => [child, this.#range(this.leave(child) + 1, ends[i + 1] ?? 0)]),
        );
        return { children, before: this.#range(this.trace.enterStep(row) + 1, ends[0] ?? 0), after };
    }
}

export class PairedWalk {
    #left;
    #right;
    /** The events of each moment. @type {number[]} */
    #events = [0];

    /**
     * @param {Walked} left
     * @param {Walked} right
     */
    constructor(left, right) {
        this.#left = new Side(left);
        this.#right = new Side(right);
        if (left.count > 0 && right.count > 0) this.#walk(0, 0);
    }

    /** The number of moments after the start. */
    get count() {
        return this.#events.length - 1;
    }

    /**
     * The numbers of steps that both searches have made at a moment.
     * @param {number} moment
     * @returns {[number, number]}
     */
    at(moment) {
        const index = Math.max(0, Math.min(this.count, moment));
        return [this.#left.steps[index] ?? 0, this.#right.steps[index] ?? 0];
    }

    /**
     * Whether only the left search visits this node of its own.
     * @param {number} row
     */
    isOnlyLeft(row) {
        return this.#left.twins[row] === -1;
    }

    /**
     * Whether only the right search visits this node of its own.
     * @param {number} row
     */
    isOnlyRight(row) {
        return this.#right.twins[row] === -1;
    }

    /**
     * Whether a move that a search skips at a node is visited by the other search.
     * @param {"left" | "right"} side the search that skips it
     * @param {number} row the node
     * @param {string} move
     */
    isVisitedByOther(side, row, move) {
        const [own, other] = side === "left" ? [this.#left, this.#right] : [this.#right, this.#left];
        const twin = own.twins[row] ?? -1;
        return twin >= 0 && other.trace.children(twin).some((child) => other.trace.move(child) === move);
    }

    /**
     * The first moment at which a search has made this many steps.
     * @param {"left" | "right"} side
     * @param {number} step
     */
    momentOf(side, step) {
        const { steps } = side === "left" ? this.#left : this.#right;
        const exact = steps.indexOf(step);
        return exact >= 0 ? exact : Math.max(0, steps.findIndex((each) => each > step));
    }

    /**
     * The moment to which a movement goes: the next moment, the next one at which a search enters a
     * node or cuts off, or the first or last one.
     * @param {number} moment
     * @param {Unit} unit
     * @param {1 | -1} direction
     */
    next(moment, unit, direction) {
        const end = direction > 0 ? this.count : 0;
        if (unit === "end") return end;
        const wanted = { step: -1, node: ENTERS, cut: CUTS }[unit];
        for (let next = moment + direction; next > 0 && next <= this.count; next += direction)
            if (unit === "step" || ((this.#events[next] ?? 0) & wanted) !== 0) return next;
        return end;
    }

    /**
     * Adds the moments of a node and of all nodes below it. A row is -1 where that search does not
     * visit the node.
     * @param {number} left
     * @param {number} right
     */
    #walk(left, right) {
        if (left >= 0) this.#left.twins[left] = right;
        if (right >= 0) this.#right.twins[right] = left;
        this.#add(enterIndex(this.#left, left), enterIndex(this.#right, right));
        const [ofLeft, ofRight] = [this.#left.ownSteps(left), this.#right.ownSteps(right)];
        this.#addAll(ofLeft.before, ofRight.before);
        for (const [a, b] of this.#pairs(ofLeft.children, ofRight.children)) {
            // A search waits at the end of the node. The left one is there already, for what only
            // the right one visits comes last.
            if (b < 0 && right >= 0) this.#right.step = this.#right.leave(right);
            this.#walk(a, b);
            this.#addAll(ofLeft.after.get(a) ?? [], ofRight.after.get(b) ?? []);
        }
        this.#add(leaveIndex(this.#left, left), leaveIndex(this.#right, right));
    }

    /**
     * The children of a node in both searches: those of the left one in its order, each with the same
     * move of the right one, then those that only the right one visits.
     * @param {number[]} left
     * @param {number[]} right
     * @returns {[number, number][]}
     */
    #pairs(left, right) {
        const rest = [...right];
        /** @type {[number, number][]} */
        const pairs = left.map((a) => {
            const move = this.#left.trace.move(a);
            const index = rest.findIndex((b) => this.#right.trace.move(b) === move);
            return [a, index < 0 ? -1 : (rest.splice(index, 1)[0] ?? -1)];
        });
        return [...pairs, .../** @type {[number, number][]} */ (rest.map((b) => [-1, b]))];
    }

    /**
     * Adds moments for steps of both searches, side by side.
     * @param {number[]} left indices of steps
     * @param {number[]} right
     */
    #addAll(left, right) {
        for (let i = 0; i < Math.max(left.length, right.length); i++) this.#add(left[i] ?? -1, right[i] ?? -1);
    }

    /**
     * Adds a moment at which each search makes the step of an index, or waits if it is -1.
     * @param {number} left
     * @param {number} right
     */
    #add(left, right) {
        if (left < 0 && right < 0) return;
        const events = eventOf(this.#left, left) | eventOf(this.#right, right);
        if (left >= 0) this.#left.step = left + 1;
        if (right >= 0) this.#right.step = right + 1;
        this.#left.steps.push(this.#left.step);
        this.#right.steps.push(this.#right.step);
        this.#events.push(events);
    }
}

/**
 * @param {Side} side
 * @param {number} row
 */
function enterIndex(side, row) {
    return row < 0 ? -1 : side.trace.enterStep(row);
}

/**
 * @param {Side} side
 * @param {number} row
 */
function leaveIndex(side, row) {
    return row < 0 ? -1 : side.trace.leaveStep(row);
}

/**
 * @param {Side} side
 * @param {number} index
 */
function eventOf(side, index) {
    const what = index < 0 ? -1 : side.trace.stepWhat(index);
    return what === ENTER ? ENTERS : what === CUT ? CUTS : 0;
}
