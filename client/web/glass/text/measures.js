/**
 * The measures of a whole trace that its drawing needs: its levels, its longest texts, its kinds of
 * nodes. The measures of a growing trace grow with it: each node is read once.
 *
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { valueText } from "./notation.js";

/** The significant digits of a number inside a shape. */
export const SHAPE_DIGITS = 3;

/**
 * The measures of the first `count` nodes and `steps` steps of a trace. `levels[ply]` is the
 * number of nodes at a ply, `longest` the longest value of a node with children as text,
 * `longestLeaf` that of a leaf, `longestNumber` the longest number of both. `kinds` and `reasons`
 * are those that occur, `hasBounds` says whether a value is a bound.
 * @typedef {{count: number, steps: number, levels: number[], longest: string, longestLeaf: string,
 *     longestNumber: string, kinds: Set<string>, reasons: Set<string>, hasBounds: boolean}} Measures
 */

/** @type {WeakMap<SearchTrace, Measures>} */
const known = new WeakMap();

/**
 * The measures of a trace so far.
 * @param {SearchTrace} trace
 * @returns {Measures}
 */
export function measure(trace) {
    let measures = known.get(trace);
    if (!measures) {
        measures = newMeasures();
        known.set(trace, measures);
    }
    for (; measures.count < trace.count; measures.count++) {
        const ply = trace.ply(measures.count);
        measures.levels[ply] = (measures.levels[ply] ?? 0) + 1;
        measures.kinds.add(trace.kind(measures.count));
    }
    for (; measures.steps < trace.stepCount; measures.steps++) {
        const row = trace.stepNode(measures.steps);
        if (trace.leaveStep(row) === measures.steps) readEnd(measures, trace, row);
    }
    return measures;
}

/** @returns {Measures} */
function newMeasures() {
    const texts = { longest: "", longestLeaf: "", longestNumber: "" };
    return { count: 0, steps: 0, levels: [], ...texts, kinds: new Set(), reasons: new Set(), hasBounds: false };
}

/**
 * @param {Measures} measures
 * @param {SearchTrace} trace
 * @param {number} row
 */
function readEnd(measures, trace, row) {
    const bound = trace.bound(row);
    measures.reasons.add(trace.reason(row) ?? "");
    measures.hasBounds ||= bound === "lower" || bound === "upper";
    const text = valueText(trace.value(row), SHAPE_DIGITS);
    if (trace.kind(row) === "leaf") measures.longestLeaf = longer(measures.longestLeaf, text);
    else measures.longest = longer(measures.longest, text);
    if (!text.startsWith("⟨")) measures.longestNumber = longer(measures.longestNumber, text);
}

/**
 * @param {string} left
 * @param {string} right
 */
function longer(left, right) {
    return right.length > left.length ? right : left;
}
