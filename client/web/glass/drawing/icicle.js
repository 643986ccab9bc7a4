/**
 * The whole search as an icicle: a row of rectangles for each level, each as wide as the number of
 * nodes below it, its children under it. Places are parts of the whole width, from 0 to 1.
 *
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { limitText, numberText } from "../text/notation.js";

/** The places of all nodes of a trace. `rows[ply]` has the rows of a level, from left to right. @typedef {{count: number, starts: Float64Array, widths: Float64Array, rows: number[][]}} Icicle */
/**
 * The range of a search's values from MAX's view. `tone` maps a value to -1 (best for MIN) to 1 (best
 * for MAX); `low`, `middle` and `high` are the values with the tones -1, 0 and 1.
 * @typedef {{low: number, middle: number, high: number, tone: (value: number) => number}} Scale
 */

/**
 * Places the nodes of a trace.
 * @param {SearchTrace} trace
 * @returns {Icicle}
 */
export function placeIcicle(trace) {
    const { count } = trace;
    const [starts, widths, next] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
    /** @type {number[][]} */
    const rows = [];
    for (let row = 0; row < count; row++) {
        const parent = trace.parent(row);
        widths[row] = parent < 0 ? 1 : (widths[parent] * trace.size(row)) / (trace.size(parent) - 1);
        starts[row] = parent < 0 ? 0 : next[parent];
        if (parent >= 0) next[parent] += widths[row];
        next[row] = starts[row];
        (rows[trace.ply(row)] ??= []).push(row);
    }
    return { count, starts, widths, rows };
}

/**
 * The place up to which a level is visited after the first `visited` nodes.
 * @param {Icicle} icicle
 * @param {number} ply
 * @param {number} visited
 */
export function visitedPart({ starts, widths, rows }, ply, visited) {
    const index = countBefore(rows[ply], (row) => row < visited);
    const last = rows[ply][index - 1];
    return last === undefined ? 0 : starts[last] + widths[last];
}

/**
 * The deepest node at a place that is not below the given ply; -1 without one.
 * @param {Icicle} icicle
 * @param {number} place
 * @param {number} ply
 */
export function nodeAt({ starts, widths, rows }, place, ply) {
    for (let level = Math.min(ply, rows.length - 1); level >= 0; level--) {
        const row = rows[level][countBefore(rows[level], (other) => starts[other] <= place) - 1];
        if (row !== undefined && place <= starts[row] + widths[row]) return row;
    }
    return -1;
}

/**
 * The number of entries of a list for which `isBefore` holds; it holds for the first ones.
 * @param {number[]} list
 * @param {(entry: number) => boolean} isBefore
 */
function countBefore(list, isBefore) {
    let [low, high] = [0, list.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (isBefore(list[middle])) low = middle + 1;
        else high = middle;
    }
    return low;
}

/**
 * A node's value from MAX's view, or from the first player's if each player has one; null without a
 * value.
 * @param {SearchTrace} trace
 * @param {number} row
 */
export function maxValue(trace, row) {
    const value = trace.value(row);
    if (Array.isArray(value)) return value[Math.max(0, trace.head.player - 1)];
    return value === null ? null : value * trace.sign(row);
}

/**
 * The scale of a trace's values. The middle is 0 if there are values on both sides of it. The scale is
 * not linear, so that small values differ although the value of a win is large.
 * @param {SearchTrace} trace
 * @returns {Scale}
 */
export function scaleOf(trace) {
    const values = [];
    for (let row = 0; row < trace.count; row++) {
        const value = maxValue(trace, row);
        if (value !== null && Number.isFinite(value)) values.push(value);
    }
    const [low, high] = values.reduce(([min, max], value) => [Math.min(min, value), Math.max(max, value)], [Infinity, -Infinity]);
    if (!(low < high)) return { low, middle: 0, high, tone: Math.sign };
    const middle = low <= 0 && high >= 0 ? 0 : (low + high) / 2;
    const distances = values.map((value) => Math.abs(value - middle)).filter(Boolean).sort((a, b) => a - b);
    const typical = distances[distances.length >> 1] ?? 1;
    const bend = (/** @type {number} */ distance) => distance / (Math.abs(distance) + typical);
    const largest = bend(Math.max(high - middle, middle - low)) || 1;
    return { low, middle, high, tone: (value) => (Number.isFinite(value) ? bend(value - middle) / largest : Math.sign(value)) };
}

/**
 * The ends and the middle of a trace's scale as texts.
 * @param {SearchTrace} trace
 * @param {Scale} scale
 */
export function scaleTexts(trace, { low, middle, high }) {
    // A single value shows one end only; without a value both ends are infinite.
    const hasLow = low < Math.max(high, 0);
    const hasHigh = high > Math.min(low, 0);
    return { low: hasLow ? limitText(trace, low) : "", middle: numberText(middle), high: hasHigh ? limitText(trace, high) : "" };
}
