/**
 * The counts of a search so far, beside those of plain minimax and the possible minimum.
 *
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { h } from "../../shell/elements.js";
import { countText } from "../text/notation.js";

/** A count: its name, its number, and a description. @typedef {[string, string, string]} Count */

/** The number of leaves of a uniform tree, with B moves at each node and L levels. */
const POWER = "B^L";

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @returns {VNode}
 */
export function drawCounters(trace, state) {
    const counts = [...countsSoFar(trace, state), ...countsToCompare(trace)];
    return h(
        "dl",
        { class: "glass-counters" },
        counts.map(([name, number, text]) => h("div", { key: name }, h("dt", null, name === POWER ? ["B", h("sup", null, "L")] : name), h("dd", null, number), h("dd", { class: "muted" }, text))),
    );
}

/**
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @returns {Count[]}
 */
function countsSoFar(trace, state) {
    /** @type {Count[]} */
    const counts = [
        ["Visited", countText(state.visited), `of the ${countText(trace.count)} nodes of this search`],
        ["Leaves", countText(state.leaves), "where the game ends or the search stops"],
    ];
    if (trace.cutCount === 0) return counts;
    return [
        ...counts,
        ["Cut-offs", countText(state.cuts), "nodes that were left before their last move"],
        ["Skipped", countText(state.skippedSoFar), "moves that were cut off and never visited"],
    ];
}

/**
 * The counts for comparison, which are known once the search has ended.
 * @param {SearchTrace} trace
 * @returns {Count[]}
 */
function countsToCompare(trace) {
    if (trace.end === null || trace.head.algorithm === "random") return [];
    const { plain_nodes, plain_leaves, minimum_leaves, ordering } = trace.end.counts;
    /** @type {Count[]} */
    const counts = [];
    if (plain_nodes === null || plain_leaves === null) counts.push(["Plain minimax", "–", "too many nodes to count"]);
    else counts.push(["Plain minimax", countText(plain_nodes), `nodes, ${countText(plain_leaves)} of them leaves`]);
    if (minimum_leaves !== null && plain_leaves !== null) {
        const [width, depth] = shapeOf(trace);
        counts.push([POWER, countText(plain_leaves), `leaves: ${counted(width, "move")} at each node, ${counted(depth, "level")}`]);
        if (trace.isWindowed) counts.push(["Minimum", countText(minimum_leaves), "leaves, if the best move comes first at every node"]);
    }
    if (ordering > 0) counts.push(["Ordering", countText(ordering), "more nodes, visited only to order moves"]);
    return counts;
}

/**
 * @param {number} count
 * @param {string} noun
 */
function counted(count, noun) {
    return `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * The number of moves at each node of a uniform tree, and of its levels.
 * @param {SearchTrace} trace
 */
function shapeOf(trace) {
    let leaf = 0;
    while (trace.firstChild(leaf) >= 0) leaf = trace.firstChild(leaf);
    return [trace.children(0).length + trace.skipped(0).length, trace.ply(leaf)];
}
