/**
 * A search as text: the task, the tree with one line per node, and the result. It equals the output of
 * `python -m engine.teach --log tree` line by line.
 *
 * @import {SearchTrace} from "../trace/trace.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {Line} from "./plain-text.js"
 */

import { listed } from "./facts.js";
import { stateAt } from "../trace/search-state.js";
import { countText } from "./notation.js";
import { WIDTH, indented, plainInterval, plainNumber, plainRelation, plainSide, plainValue, wrapped } from "./plain-text.js";


/**
 * The whole text.
 * @param {SearchTrace} trace
 */
export function formatTree(trace) {
    const state = stateAt(trace, trace.stepCount);
    const parts = [headLines(trace), indented(treeLines(trace, state)), resultLines(trace)];
    return `${parts.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

/** @param {SearchTrace} trace */
function headLines({ head }) {
    const depth = head.depth === null ? "to the end" : `depth ${head.depth}`;
    const form = head.form === "flat" ? "" : ` (form: ${head.form})`;
    const fresh = head.fresh ? ", a fresh window for each root move" : "";
    const order = `order ${head.order}, evaluator ${head.evaluator}`;
    const task = `${head.algorithm}${form}, ${depth}, ${order}${fresh}`;
    const lines = [...(head.title ? [head.title] : []), `from ${head.position}`, task];
    if (head.view === "mover") lines.push("scores are those of the side to move");
    return lines.flatMap(paragraph);
}

/** @param {SearchTrace} trace */
function resultLines(trace) {
    const { end, writtenBestLine: line } = trace;
    if (!end) return [`the trace holds the first ${countText(trace.count)} nodes only`];
    const lines = [];
    if (end.value === null && line.length > 0) lines.push(`choice: ${line[0]}`);
    else {
        const noLine = end.counts.nodes > 1 ? "none, chance decides" : "none, no move was searched";
        lines.push(`value: ${plainValue(end.value)}`);
        lines.push(...paragraph(`meaning: ${end.meaning}`), ...paragraph(`best line: ${line.join(" ") || noLine}`));
    }
    lines.push(`searched: ${nodesText(end.counts.nodes, end.counts.leaves)}`);
    if (trace.head.algorithm !== "random") lines.push(...countLines(trace));
    if (end.truncated) lines.push(`the trace holds the first ${countText(trace.count)} nodes only`);
    return lines;
}

/** @param {SearchTrace} trace */
function countLines(trace) {
    const { plain_nodes, plain_leaves, minimum_leaves, ordering } = /** @type {NonNullable<SearchTrace["end"]>} */ (trace.end).counts;
    const isKnown = plain_nodes !== null && plain_leaves !== null;
    const lines = [`plain minimax: ${isKnown ? nodesText(plain_nodes, plain_leaves) : "too many to count"}`];
    if (minimum_leaves !== null) lines.push(`minimum with perfect move ordering: ${countText(minimum_leaves)} leaves`);
    if (ordering > 0) lines.push(`for move ordering: ${countText(ordering)} nodes`);
    return lines;
}

/**
 * @param {number} nodes
 * @param {number} leaves
 */
function nodesText(nodes, leaves) {
    return `${countText(nodes)} node${nodes === 1 ? "" : "s"}, ${countText(leaves)} ${leaves === 1 ? "leaf" : "leaves"}`;
}

/** @param {string} line */
function paragraph(line) {
    return wrapped(line, WIDTH, "    ");
}

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @returns {Iterable<Line>}
 */
function* treeLines(trace, state) {
    const stack = trace.count > 0 ? [0] : [];
    for (let row = stack.pop(); row !== undefined; row = stack.pop()) {
        if (row < 0) {
            yield skippedLine(trace, state, ~row);
            continue;
        }
        const leaves = inlineLeaves(trace, state, row);
        yield nodeLine(trace, state, row, leaves);
        if (leaves !== "") continue;
        if (skippedBy(trace, state, row).length > 0 && trace.reason(row) !== "chosen") stack.push(~row);
        stack.push(...enteredChildren(trace, state, row).reverse());
    }
}

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function enteredChildren(trace, state, row) {
    return trace.children(row).filter((child) => state.isEntered(child));
}

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function skippedBy(trace, state, row) {
    return state.isCut(row) || state.isLeft(row) ? trace.skipped(row) : [];
}

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 * @param {string} leaves
 * @returns {Line}
 */
function nodeLine(trace, state, row, leaves) {
    const kind = trace.kind(row);
    const side = kind === "leaf" ? "" : plainSide(kind);
    const window = windowPart(trace, state, row);
    const text = [trace.written(row), side, valuePart(trace, state, row)].filter(Boolean).join(" ");
    return { level: trace.depth(row), text: text + (leaves ? `: ${leaves}` : "") + (window ? `  ${window}` : "") };
}

/**
 * The value of a node that is finished, otherwise the interval in which it lies.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function valuePart(trace, state, row) {
    const [first] = trace.writtenBestLine;
    if (!state.isLeft(row)) return trace.kind(row).startsWith("p") ? "…" : `in ${plainInterval(state.interval(row))}`;
    if (trace.reason(row) === "chosen") return `chooses ${first}`;
    const plays = row === 0 && first !== undefined ? `, plays ${first}` : "";
    const known = trace.reason(row) === "table" ? " (table)" : "";
    return `${plainRelation(trace, row)} ${plainValue(trace.value(row))}${known}${plays}`;
}

/**
 * The window that a node received first, or its current one; "" if it is open.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function windowPart(trace, state, row) {
    if (trace.kind(row) === "leaf") return "";
    const [alpha, beta] = state.isLeft(row) ? [trace.alpha(row), trace.beta(row)] : state.window(row);
    return alpha === -Infinity && beta === Infinity ? "" : `window (${plainNumber(alpha)}, ${plainNumber(beta)})`;
}

/**
 * The children on one line, if all are leaves and fit; otherwise "".
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function inlineLeaves(trace, state, row) {
    const rows = enteredChildren(trace, state, row);
    if (rows.length === 0 || rows.some((child) => trace.kind(child) !== "leaf")) return "";
    const parts = [rows.map((child) => `${trace.written(child)} ${valuePart(trace, state, child)}`).join(", ")];
    if (skippedBy(trace, state, row).length > 0) parts.push(skippedLine(trace, state, row).text);
    const text = parts.join("; ");
    const room = WIDTH - 3 * trace.depth(row) - nodeLine(trace, state, row, "").text.length - 2;
    return text.length <= room && !rows.includes(state.row) ? text : "";
}

/**
 * The children that a node skips, and why.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 * @returns {Line}
 */
function skippedLine(trace, state, row) {
    const names = skippedBy(trace, state, row).map(({ written, below }) => (below ? `${written} (and ${below} below)` : written));
    const cut = state.cutWindow(row);
    const reason = cut ? `, ${cutText(cut)}` : "";
    return { level: trace.depth(row) + 1, text: `cut${reason}: skips ${listed(names)}` };
}

/**
 * Why a window cuts off: 14 >= 10, or that nothing is better where an end is open.
 * @param {readonly [number, number]} window
 */
function cutText([alpha, beta]) {
    if (beta === Infinity) return `nothing is greater than ${plainNumber(alpha)}`;
    if (alpha === -Infinity) return `nothing is less than ${plainNumber(beta)}`;
    return `${plainNumber(alpha)} >= ${plainNumber(beta)}`;
}
