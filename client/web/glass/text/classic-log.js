/**
 * The classic log of a search: every line names the side and what it does. The root is the TOP node; A
 * and B are alpha and beta after a scored move. It is the log of engine/teach/output/classic.py, line for
 * line.
 *
 * @import {SearchTrace} from "../trace/trace.js"
 * @import {Line} from "./plain-text.js"
 */

import { plainNumber, plainSide, plainValue } from "./plain-text.js";
import { ENTER, LEAVE, NARROWED, RETURNED } from "../trace/trace.js";

/** The least and the greatest number of 32 bits, in place of infinity. */
const LEAST = -(2 ** 31);
const GREATEST = 2 ** 31 - 1;
/** The words for the status of a leaf. @type {Record<string, string>} */
const ENDS = { won: "WIN", lost: "LOSE", drawn: "DRAW", ongoing: "EVAL" };
/** The meaning of a value that is a win, and the last line of the log then. */
const GUARANTEED_WIN = "a win is guaranteed, whatever the opponent plays";
const BOAST = "I've got you now... ha ha ha !!!";
/** The algorithms without windows whose log shows the bounds of alpha-beta. */
const WITH_UNCUT_WINDOWS = ["minimax", "negamax"];
/** The other side of each side. @type {Record<string, string>} */
const OPPOSITES = { max: "min", min: "max" };

/** The two ends of a window. @typedef {[number, number]} Ends */

/**
 * The lines of the log, indented.
 * @param {SearchTrace} trace
 */
export function* classicLines(trace) {
    for (const { level, text } of lines(trace)) yield "  ".repeat(level) + text;
    if (trace.end?.meaning === GUARANTEED_WIN) yield BOAST;
}

/**
 * @param {SearchTrace} trace
 * @returns {Iterable<Line>}
 */
function* lines(trace) {
    const value = trace.end?.value ?? null;
    const move = trace.end?.line[0];
    if (value === null && move !== undefined) return yield lineOf(trace, 0, `Random Move : ${moveText(trace, move)}`);
    const uncut = WITH_UNCUT_WINDOWS.includes(trace.head.algorithm) ? new UncutWindows(trace) : null;
    for (let step = 0; step < trace.stepCount; step++) {
        const [what, row] = [trace.stepWhat(step), trace.stepNode(step)];
        uncut?.follow(what, row);
        const line = stepLine(trace, what, row, () => (uncut ? uncut.ofParent(row) : parentWindow(trace, row, step)));
        if (line) yield line;
    }
    const best = plainValue(value);
    if (trace.kind(0) !== "leaf") yield lineOf(trace, 0, `DONE!!! Best Score = ${best}`);
    if (trace.end?.truncated) yield { level: 0, text: `(the log holds the first ${grouped(trace.count)} nodes only)` };
    yield { level: 0, text: `MINIMAX score for next move = ${best}` };
}

/**
 * The line of a step; null if it has none.
 * @param {SearchTrace} trace
 * @param {number} what
 * @param {number} row
 * @param {() => Ends | null} windowOf the window of the parent
 */
function stepLine(trace, what, row, windowOf) {
    const isLeaf = trace.kind(row) === "leaf";
    if (what === ENTER && row > 0) return lineOf(trace, trace.parent(row), `Try Move : ${moveText(trace, trace.move(row))}`);
    if (what === LEAVE && isLeaf) return lineOf(trace, row, `${endText(trace, row)} ... ${valueText(trace, row)}`);
    if (what === LEAVE && row > 0) return lineOf(trace, row, `Final score = ${valueText(trace, row)}`);
    if (what !== RETURNED) return null;
    const window = windowOf();
    const bounds = window ? `( A = ${boundText(window[0], LEAST)} : B = ${boundText(window[1], GREATEST)} )` : "";
    return lineOf(trace, trace.parent(row), `Move scored : ${valueText(trace, row)}${bounds}`);
}

/**
 * @param {SearchTrace} trace
 * @param {number} row
 * @param {string} text
 * @returns {Line}
 */
function lineOf(trace, row, text) {
    return { level: trace.depth(row), text: `${row === 0 ? "TOP " : ""}${sideOf(trace, row)} node... ${text}` };
}

/**
 * The side of a node; that of a leaf is the one to move, or the opposite of its parent.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function sideOf(trace, row) {
    let kind = trace.kind(row) === "leaf" ? trace.turn(row) : trace.kind(row);
    if (kind === "leaf" && row > 0) {
        const parent = trace.kind(trace.parent(row));
        kind = OPPOSITES[parent] ?? parent;
    }
    return plainSide(kind).toUpperCase();
}

/**
 * How the game ended for MAX, or that the leaf was evaluated.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function endText(trace, row) {
    const status = trace.status(row);
    return status === "ongoing" && trace.reason(row) === "leaf" ? "END" : ENDS[status];
}

/**
 * The value of a node for MAX.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function valueText(trace, row) {
    const value = trace.value(row);
    return plainValue(typeof value === "number" ? value * trace.sign(row) : value);
}

/**
 * A move; that of sticks in words.
 * @param {SearchTrace} trace
 * @param {string} move
 */
function moveText(trace, move) {
    const match = trace.head.game === "sticks" ? /^(\d)x(\d)$/.exec(move) : null;
    return match ? `( Row = ${match[1]} : Num Sticks = ${match[2]} )` : move;
}

/**
 * @param {number} end
 * @param {number} unlimited
 */
function boundText(end, unlimited) {
    if (Number.isFinite(end)) return plainNumber(end);
    // An open end, or an infinite utility at the other end.
    return String(end > 0 === unlimited > 0 ? unlimited : end > 0 ? GREATEST : LEAST);
}

/**
 * The window of a node's parent after the node has returned; null if it has none.
 * @param {SearchTrace} trace
 * @param {number} row
 * @param {number} step
 * @returns {Ends | null}
 */
function parentWindow(trace, row, step) {
    const parent = trace.parent(row);
    if (!trace.isWindowed || parent <= 0) return null;
    const isNarrowed = step + 1 < trace.stepCount && trace.stepWhat(step + 1) === NARROWED;
    let last = isNarrowed ? step + 1 : trace.lastWindowStep(parent);
    while (!isNarrowed && last > step) last = trace.stepBefore(last);
    return last < 0 ? null : [trace.stepLow(last), trace.stepHigh(last)];
}

/** The windows that alpha-beta would have in a search that does not cut off. */
class UncutWindows {
    #trace;
    /** @type {Map<number, Ends>} */
    #windows = new Map();

    /** @param {SearchTrace} trace */
    constructor(trace) {
        this.#trace = trace;
    }

    /**
     * @param {number} what
     * @param {number} row
     */
    follow(what, row) {
        const trace = this.#trace;
        const parent = trace.parent(row);
        if (what === ENTER) {
            const isOpen = parent <= 0 || !this.#hasWindow(parent);
            this.#windows.set(row, isOpen ? [-Infinity, Infinity] : this.#of(parent));
        } else if (what === RETURNED && parent > 0) {
            const value = trace.value(row);
            if (typeof value === "number") this.#windows.set(parent, this.#narrowed(parent, value * trace.sign(row)));
        }
    }

    /**
     * The window of a node's parent; null if that is the root or a chance node.
     * @param {number} row
     */
    ofParent(row) {
        const parent = this.#trace.parent(row);
        return parent > 0 && this.#hasWindow(parent) ? this.#of(parent) : null;
    }

    /** @param {number} row */
    #hasWindow(row) {
        return this.#trace.kind(row) in OPPOSITES;
    }

    /**
     * @param {number} row
     * @returns {Ends}
     */
    #of(row) {
        return this.#windows.get(row) ?? [-Infinity, Infinity];
    }

    /**
     * @param {number} row
     * @param {number} value
     * @returns {Ends}
     */
    #narrowed(row, value) {
        const [alpha, beta] = this.#of(row);
        const kind = this.#trace.kind(row);
        return [kind === "max" ? Math.max(alpha, value) : alpha, kind === "min" ? Math.min(beta, value) : beta];
    }
}

/** A count with separators. @param {number} count */
function grouped(count) {
    return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}
