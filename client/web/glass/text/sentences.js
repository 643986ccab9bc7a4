/**
 * Each step of a search in one or two plain sentences.
 *
 * In the view "window" a sentence speaks of alpha and beta: what MAX and MIN are sure of. In the view
 * "interval" it speaks of the numbers that a node's value may still have, in the view "bounds" of those
 * among them that matter above.
 *
 * @import {Ends, SearchState} from "../trace/search-state.js"
 * @import {SearchTrace, Value} from "../trace/trace.js"
 */

import { plural } from "../../shell/words.js";
import { countText, endingText, intervalText, numberText, sideText, valueText, windowText } from "./notation.js";
import { CUT, ENTER, LEAVE, NARROWED, RETURNED } from "../trace/trace.js";

/** @typedef {import("./facts.js").View} View */

/** Maximum number of skipped moves that a sentence names. */
const MAX_NAMED_MOVES = 6;
/** Maximum number of moves of a line that name a position of a game. */
const MAX_LINE = 4;

/** The explanation of each view. @type {Record<View, string>} */
export const VIEW_TEXTS = {
    window: "The window (α, β) of a node: MAX is already sure of α, and MIN of β. Only a value between them matters to the nodes above.",
    interval: "The interval of a node: its value lies between these two numbers. It narrows as the moves return their values.",
    bounds: "The bounds of a node: the values that it may still have and that matter above, which is what its interval and its window have in common. Where they are empty the search leaves the node.",
};

/** The end of a game in words. @type {Record<string, string>} */
const ENDINGS = { won: "MAX has won", lost: "MAX has lost", drawn: "It is a draw" };

/**
 * Describes the last step.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {View} [view]
 */
export function stepSentence(trace, state, view = "window") {
    if (state.step === 0) return "The search has not begun: no node is visited.";
    const step = state.step - 1;
    const row = trace.stepNode(step);
    switch (trace.stepWhat(step)) {
        case ENTER:
            return enterSentence(trace, row, view);
        case RETURNED:
            return returnSentence(trace, state, row, view);
        case NARROWED:
            return narrowSentence(trace, state, row, view);
        case CUT:
            return cutSentence(trace, state, row);
        case LEAVE:
            return row === 0 ? endSentence(trace) : leaveSentence(trace, row);
        default:
            return "";
    }
}

// --- names

/**
 * The move that leads to a node. A move without a name of its own has that of its parent: C2.1.
 * @param {SearchTrace} trace
 * @param {number} row
 * @returns {string}
 */
export function moveName(trace, row) {
    const move = trace.written(row);
    if (trace.head.game !== "" || !/^\d+$/.test(move)) return move;
    const parent = trace.parent(row);
    return parent > 0 ? `${moveName(trace, parent)}.${move}` : `move ${move}`;
}

/**
 * A node: C2, or in a game the moves that lead to it.
 * @param {SearchTrace} trace
 * @param {number} row
 */
export function nodeName(trace, row) {
    if (row <= 0) return "the root";
    if (trace.head.game === "") return moveName(trace, row);
    const line = trace.writtenLine(row);
    return line.length > MAX_LINE ? `… ${line.slice(-MAX_LINE).join(" ")}` : line.join(" ");
}

/**
 * Where a side chooses: at C2, after e4 e5.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function placeWords(trace, row) {
    return trace.head.game === "" || row <= 0 ? `at ${nodeName(trace, row)}` : `after ${nodeName(trace, row)}`;
}

/**
 * A text at the start of a sentence; the names of moves and players stay as they are.
 * @param {string} text
 * @param {SearchTrace} [trace] given if the text is the name of a move
 */
function capitalize(text, trace) {
    if (/^p\d/.test(text) || (trace && !text.startsWith("move "))) return text;
    return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * The move to a node, with its player: MAX tries C2; Chance may lead to C2.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function tryWords(trace, row) {
    const kind = trace.kind(trace.parent(row));
    const move = moveName(trace, row);
    if (kind !== "mean") return `${sideText(kind)} tries ${move}`;
    return isAtRandom(trace, trace.parent(row)) ? `The opponent may play ${move}` : `Chance may lead to ${move}`;
}

/**
 * Whether a player moves at random here, as the opponent does in average min-max.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function isAtRandom(trace, row) {
    return trace.kind(row) === "mean" && trace.turn(row) !== "mean";
}

// --- enter

/**
 * @param {SearchTrace} trace
 * @param {number} row
 * @param {View} view
 */
function enterSentence(trace, row, view) {
    const kind = trace.kind(row);
    const isLeaf = kind === "leaf";
    if (row === 0 && isLeaf) return "The search begins at the root, which is a leaf.";
    if (isLeaf) return `${tryWords(trace, row)}, a leaf.`;
    const who = isAtRandom(trace, row) ? "the opponent moves at random" : `${sideText(kind)} ${kind === "mean" ? "decides" : "chooses"}`;
    const start = row === 0 ? `The search begins at the root, where ${who}` : `${tryWords(trace, row)}, where ${who}`;
    if (!trace.isWindowed) return `${start}.`;
    /** @type {Ends} */
    const window = [trace.alpha(row), trace.beta(row)];
    if (view === "bounds") return `${start}. Its bounds are ${windowText(window)}: ${windowWords(window)}.`;
    if (view === "window") return `${start}, with the window ${windowText(window)}: ${windowWords(window)}.`;
    return `${start}. Nothing is known of the value ${placeWords(trace, row)} yet; ${windowWords(window)}: ${windowText(window)}.`;
}

/** Which values matter to the nodes above. @param {Ends} window */
function windowWords([alpha, beta]) {
    if (alpha >= beta) return `only ${numberText(alpha)} itself could still matter`;
    if (alpha === -Infinity && beta === Infinity) return "every value matters";
    if (beta === Infinity) return `only values above ${numberText(alpha)} matter`;
    if (alpha === -Infinity) return `only values below ${numberText(beta)} matter`;
    return `only values between ${numberText(alpha)} and ${numberText(beta)} matter`;
}

// --- returned

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 * @param {View} view
 */
function returnSentence(trace, state, row, view) {
    const parent = trace.parent(row);
    const value = trace.valueForParent(row);
    const start = `${capitalize(moveName(trace, row), trace)} returns ${relationWords(trace, row)}${valueText(value)}`;
    if (Array.isArray(value)) return `${start}. ${vectorWords(trace, parent, value)}`;
    const now = state.interval(parent);
    const name = nodeName(trace, parent);
    if (view === "bounds") return `${start}. ${boundsWords(state, parent, name)}`;
    if (view === "interval") return `${start}: the value of ${name} lies in ${intervalText(now)}.`;
    const before = trace.stepBefore(state.step - 1);
    const isSame = before >= 0 && trace.stepLow(before) === now[0] && trace.stepHigh(before) === now[1];
    return `${start}. ${capitalize(knownWords(trace, parent, now, isSame))}.`;
}

/**
 * The bounds of a node after a step.
 * @param {SearchState} state
 * @param {number} row
 * @param {string} name
 */
function boundsWords(state, row, name) {
    const bounds = state.bounds(row);
    const start = `The bounds of ${name} are now ${windowText(bounds)}`;
    if (bounds[0] > bounds[1]) return `${start}: empty, so nothing here can matter.`;
    return bounds[0] === bounds[1] ? `${start}: closed, so only ${numberText(bounds[0])} is left.` : `${start}.`;
}

/**
 * What the values of several players mean to the player who chooses.
 * @param {SearchTrace} trace
 * @param {number} parent
 * @param {number[]} values
 */
function vectorWords(trace, parent, values) {
    const kind = trace.kind(parent);
    const own = values[Number(kind.slice(1)) - 1];
    if (own === undefined) return `The mean of all moves counts ${placeWords(trace, parent)}.`;
    return `${kind} chooses ${placeWords(trace, parent)} and considers only its own number: ${numberText(own)}.`;
}

/**
 * What a node's side knows of its value so far.
 * @param {SearchTrace} trace
 * @param {number} row
 * @param {Ends} interval
 * @param {boolean} isSame whether the last value changed nothing
 */
function knownWords(trace, row, [low, high], isSame) {
    const kind = trace.kind(row);
    const at = placeWords(trace, row);
    const still = isSame ? "still " : "";
    if (low === -Infinity && high === Infinity) return `nothing is known of the value ${at} yet`;
    if (low === high) return `the value ${at} is ${still}${numberText(low)}`;
    if (kind === "mean") return `the mean of all moves counts ${at}`;
    const side = trace.sign(row) < 0 || trace.head.view === "mover" ? "the side to move" : sideText(kind);
    const range = rangeWords(low, high, trace.head.view === "mover" || kind === "max");
    return `${side} ${still}has ${range} ${at}`;
}

/**
 * An interval in words, its surer end first: at least 10; between 10 and 12.
 * @param {number} low
 * @param {number} high
 * @param {boolean} isMax
 */
function rangeWords(low, high, isMax) {
    if (low > -Infinity && high < Infinity) return `between ${numberText(low)} and ${numberText(high)}`;
    if (low > -Infinity || (isMax && high === Infinity)) return `at least ${numberText(low)}`;
    return `at most ${numberText(high)}`;
}

/**
 * What a value says about the true value, before the number.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function relationWords(trace, row) {
    if (trace.reason(row) === "depth") return "an estimate of ";
    const bound = trace.bound(row);
    const parent = trace.parent(row);
    const isNegated = parent >= 0 && trace.sign(row) !== trace.sign(parent);
    if (bound !== "lower" && bound !== "upper") return "";
    return (bound === "lower") === isNegated ? "at most " : "at least ";
}

// --- narrowed

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 * @param {View} view
 */
function narrowSentence(trace, state, row, view) {
    const window = state.window(row);
    const [alpha, beta] = window;
    const isMax = trace.kind(row) === "max";
    const isEmpty = alpha >= beta;
    if (view === "bounds") return boundsWords(state, row, nodeName(trace, row));
    if (view === "interval") {
        const range = `the values that matter ${placeWords(trace, row)} are now ${windowText(window)}`;
        return isEmpty ? `${capitalize(range)}: none.` : `${capitalize(range)}.`;
    }
    const sure = isMax ? `MAX is sure of ${numberText(alpha)}` : `MIN is sure of ${numberText(beta)}`;
    const end = isMax ? `alpha rises to ${numberText(alpha)}` : `beta falls to ${numberText(beta)}`;
    return `${sure} ${placeWords(trace, row)}, so ${end}. The window is now ${windowText(window)}${isEmpty ? ": it is empty" : ""}.`;
}

// --- cut

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function cutSentence(trace, state, row) {
    const [alpha, beta] = state.cutWindow(row) ?? [-Infinity, Infinity];
    return `${cutReason(trace, row, alpha, beta)}: ${skippedWords(trace, row)}.`;
}

/**
 * Why a node needs no further move.
 * @param {SearchTrace} trace
 * @param {number} row
 * @param {number} alpha
 * @param {number} beta
 */
function cutReason(trace, row, alpha, beta) {
    const isMax = trace.kind(row) === "max";
    const [own, others] = isMax ? [alpha, beta] : [beta, alpha];
    const [side, other] = isMax ? ["MAX", "MIN"] : ["MIN", "MAX"];
    const has = `${side} can have ${numberText(own)} ${placeWords(trace, row)}`;
    if (trace.head.algorithm === "optimistic") return `${has}, and the goal is ${numberText(others)}`;
    if (!Number.isFinite(others)) return `${has}, and nothing is better than ${numberText(others)}`;
    const so = own === others ? `${other} gains nothing here` : `${other} never comes here`;
    return `${has}, and ${other} already has ${numberText(others)} higher up, so ${so}`;
}

/**
 * The skipped moves: the other 2 moves (E, F) are never searched.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function skippedWords(trace, row) {
    const skipped = trace.skipped(row);
    const names = skipped.slice(0, MAX_NAMED_MOVES).map(({ written }) => written);
    if (skipped.length > MAX_NAMED_MOVES) names.push("…");
    const below = skipped.reduce((sum, { below: count }) => sum + (count ?? 0), 0);
    const rest = below > 0 ? `, with ${plural(below, "node")} below` : "";
    if (skipped.length === 1) return `the other move, ${names[0]}${rest}, is never searched`;
    return `the other ${skipped.length} moves (${names.join(", ")})${rest} are never searched`;
}

// --- leave

/**
 * @param {SearchTrace} trace
 * @param {number} row
 */
function leaveSentence(trace, row) {
    const name = moveName(trace, row);
    const value = trace.value(row);
    const owner = trace.sign(row) < 0 ? ` for MIN` : "";
    const number = `${valueText(value)}${owner}`;
    switch (trace.reason(row)) {
        case "leaf":
            return `${statusWords(trace, row)}${capitalize(name, trace)} is worth ${number}.`;
        case "depth":
            return `The search stops here, so the value of ${name} is an estimate: ${number}.`;
        case "table":
            return `The table remembers this state: ${name} is worth ${boundWords(trace, row)}${number}.`;
        case "cut":
            return `${capitalize(name, trace)} is finished early: its value is ${boundWords(trace, row)}${number}.`;
        default:
            return `All moves of ${name} have returned: its value is ${boundWords(trace, row)}${number}.`;
    }
}

/**
 * How a game ended at a leaf; "" for a tree, whose leaves are only numbers.
 * @param {SearchTrace} trace
 * @param {number} row
 */
function statusWords(trace, row) {
    const words = trace.head.game === "" ? undefined : ENDINGS[trace.status(row)];
    return words === undefined ? "" : `${words}. `;
}

/**
 * @param {SearchTrace} trace
 * @param {number} row
 */
function boundWords(trace, row) {
    const bound = trace.bound(row);
    if (bound === "lower") return "at least ";
    return bound === "upper" ? "at most " : "";
}

/**
 * The result of the search.
 * @param {SearchTrace} trace
 */
function endSentence(trace) {
    const kind = trace.kind(0);
    const side = kind === "leaf" ? "" : capitalize(sideText(kind));
    const value = trace.value(0);
    const move = trace.writtenBestLine[0];
    if (value === null) return `${side} chooses ${move ?? "a move"} at random, without a search.`;
    const ending = endingText(trace, 0);
    const text = ending === null ? valueText(value) : `${valueText(value)}, a ${ending}`;
    const result = trace.head.view === "mover" ? `${text} for the side to move` : text;
    const play = move === undefined ? `The value of the root is ${result}` : `${side} plays ${move}, and the value is ${result}`;
    return `The search is over. ${play}.${meaningWords(trace)}${countWords(trace)}`;
}

/**
 * The meaning of the root's value.
 * @param {SearchTrace} trace
 */
function meaningWords(trace) {
    return trace.end?.meaning ? ` It means: ${trace.end.meaning}.` : "";
}

/**
 * How many nodes the search visited, beside plain minimax.
 * @param {SearchTrace} trace
 */
function countWords(trace) {
    if (trace.end === null) return "";
    const { nodes, plain_nodes } = trace.end.counts;
    const visited = ` It visited ${countText(nodes)}`;
    const all = trace.end.truncated ? ` Only the first ${countText(trace.count)} are shown.` : "";
    if (plain_nodes === null || plain_nodes === nodes) return `${visited} ${nodes === 1 ? "node" : "nodes"}.${all}`;
    return `${visited} of the ${countText(plain_nodes)} nodes of plain minimax.${all}`;
}
