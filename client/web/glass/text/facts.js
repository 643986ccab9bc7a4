/**
 * The facts of a node that the drawing and the list show: its value so far, its window or interval and
 * its end, as short texts and in words.
 *
 * @import {SearchTrace, Skipped} from "../trace/trace.js"
 * @import {SearchState} from "../trace/search-state.js"
 */

import { plural } from "../../shell/words.js";
import { countText, endingText, intervalText, limitText, numberText, relationOf, sideText, valueText, windowText } from "./notation.js";
import { SHAPE_DIGITS } from "./measures.js";

/**
 * What the drawing shows below a node: its window, the interval of its value, or the bounds, which are
 * what the two have in common. @typedef {"window" | "interval" | "bounds"} View
 */
/** The texts of a node. `note` stands below its shape; `isCutNote` says that it is a cut-off's window. @typedef {{value: string, note: string, isCutNote: boolean}} Facts */

/** The meaning of the sign before a value. @type {Record<string, string>} */
const SIGN_WORDS = { "": "value", "≥": "value at least", "≤": "value at most", "~": "estimated value" };
/** The end of a game, in words. @type {Record<string, string>} */
const STATUS_WORDS = { won: "won for MAX", lost: "lost for MAX", drawn: "drawn", ongoing: "" };

/**
 * The texts in and below the shape of a node.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 * @param {View} view
 * @returns {Facts}
 */
export function factsOf(trace, state, row, view) {
    if (!state.isEntered(row)) return { value: givenText(trace, row), note: "", isCutNote: false };
    if (view === "bounds") return { ...factsOf(trace, state, row, "interval"), ...boundsNote(trace, state, row) };
    const cut = view === "window" ? state.cutWindow(row) : null;
    return {
        value: state.isLeft(row) ? finalText(trace, row, SHAPE_DIGITS) : runningText(trace, state, row),
        note: cut && trace.isWindowed ? cutText(cut) : noteText(trace, state, row, view),
        isCutNote: cut !== null && trace.isWindowed,
    };
}

/**
 * The number of a leaf that the search has not visited: in a tree it is given, in a game it is not.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function givenText(trace, row) {
    return trace.head.game === "" && trace.reason(row) === "leaf" ? finalText(trace, row, SHAPE_DIGITS) : "";
}

/**
 * The bounds of a node as its note; they are marked where they are empty.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function boundsNote(trace, state, row) {
    if (trace.kind(row) === "leaf" || !hasInterval(trace, row)) return { note: "", isCutNote: false };
    const bounds = state.bounds(row);
    return { note: windowText(bounds), isCutNote: bounds[0] > bounds[1] };
}

/**
 * The value that a node returned: 10, ≥ 10, ≤ 10, ~ 3, ⟨1, 2⟩.
 * @param {SearchTrace} trace
 * @param {number} row
 * @param {number} [digits]
 */
export function finalText(trace, row, digits) {
    if (trace.reason(row) === "chosen") return "random";
    const relation = relationOf(trace, row);
    const value = endingText(trace, row) ?? valueText(trace.value(row), digits);
    return relation === "" ? value : `${relation} ${value}`;
}

/**
 * The value so far of a node that the search has not left: ≥ 10, ≤ 10, 10, or "".
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function runningText(trace, state, row) {
    const [low, high] = state.interval(row);
    const kind = trace.kind(row);
    if (low === -Infinity && high === Infinity) return "";
    if (low === high) return numberText(low, SHAPE_DIGITS);
    if (kind === "mean") return "";
    const isLow = high === Infinity || (low > -Infinity && kind === "max");
    return isLow ? `≥ ${numberText(low, SHAPE_DIGITS)}` : `≤ ${numberText(high, SHAPE_DIGITS)}`;
}

/**
 * The window or the interval of a node; "" if it has none.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 * @param {View} view
 */
function noteText(trace, state, row, view) {
    if (trace.kind(row) === "leaf" || trace.reason(row) === "chosen") return "";
    if (state.isLeft(row) && trace.reason(row) === "table") return "table";
    if (view === "window") return trace.isWindowed ? `(${state.window(row).map((end) => limitText(trace, end)).join(", ")})` : "";
    return hasInterval(trace, row) ? intervalText(state.interval(row)) : "";
}

/**
 * Whether the value of a node is one number, and not one for each player.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function hasInterval(trace, row) {
    return !trace.kind(row).startsWith("p") && !Array.isArray(trace.value(row));
}

/**
 * The window that cuts off: 14 ≥ 10.
 * @param {readonly [number, number]} window
 */
function cutText([alpha, beta]) {
    return `${numberText(alpha)} ≥ ${numberText(beta)}`;
}

/**
 * A node in words: "c2: MIN, value at most 0, window (−∞, 10), cut off by 10 ≥ 0".
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
export function nodeWords(trace, state, row) {
    return `${nameOf(trace, row)}: ${factWords(trace, state, row).join(", ")}`;
}

/**
 * The move that leads to a node, or "root".
 * @param {SearchTrace} trace
 * @param {number} row
 */
export function nameOf(trace, row) {
    return row === 0 ? "root" : trace.written(row);
}

/**
 * The facts of a node in words, one for each.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
export function factWords(trace, state, row) {
    const words = [trace.kind(row) === "leaf" ? "leaf" : sideText(trace.kind(row))];
    if (!state.isEntered(row)) return [...words, ...(givenText(trace, row) ? [`value ${givenText(trace, row)}`] : []), "not visited yet"];
    words.push(...(state.isLeft(row) ? endWords(trace, row) : ["open"]));
    if (trace.kind(row) === "leaf" || trace.reason(row) === "chosen") return words;
    if (trace.isWindowed) words.push(`window ${windowText(state.window(row))}`);
    if (hasInterval(trace, row)) words.push(`interval ${intervalText(state.interval(row))}`);
    const cut = state.cutWindow(row);
    if (cut) words.push(!trace.isWindowed ? "cut off" : Number.isFinite(cut[0]) && Number.isFinite(cut[1]) ? `cut off by ${cutText(cut)}` : "cut off, since nothing can be better");
    return words;
}

/**
 * The value of a node that is left, and how it ended.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function endWords(trace, row) {
    const reason = trace.reason(row);
    if (reason === "chosen") return ["move chosen at random"];
    const ending = endingText(trace, row);
    const words = [`${SIGN_WORDS[relationOf(trace, row)]} ${valueText(trace.value(row))}${ending ? `, a ${ending}` : ""}`];
    if (reason === "table") words.push("from the table");
    const status = STATUS_WORDS[trace.status(row)];
    if (reason === "leaf" && status !== "" && trace.head.game !== "") words.push(status);
    return words;
}

/**
 * Moves that were cut off, in words: "J and 2 nodes below it were never visited".
 * @param {Skipped[]} cut
 */
export function cutWords(cut) {
    const names = cut.map(({ written, below }) => (below ? `${written} and ${plural(below, "node")} below it` : written));
    return `cut off, never visited: ${listed(names)}`;
}

/**
 * The names of skipped moves; of more than 12 only the first 6.
 * @param {string[]} names
 */
export function listed(names) {
    return (names.length > 12 ? [...names.slice(0, 6), `… (${names.length} moves)`] : names).join(", ");
}

/**
 * The number of nodes that a cut-off saved; null if it is unknown.
 * @param {Skipped[]} cut
 */
export function cutNodes(cut) {
    return cut.reduce((sum, { below }) => (sum === null || below === null ? null : sum + 1 + below), /** @type {number | null} */ (0));
}

/**
 * The number of nodes that a fold hides, in words.
 * @param {number} count
 */
export function foldWords(count) {
    return `${countText(count)} ${count === 1 ? "node" : "nodes"} folded`;
}
