/**
 * The search tree as a nested list with the facts of the drawing, for screen readers and for the
 * browser's search in the page.
 *
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Skipped} from "../trace/trace.js"
 * @import {ShownNode} from "./shown-nodes.js"
 * @import {InteractiveScene} from "./tree-element.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { cutWords, factWords, foldWords, nameOf } from "../text/facts.js";
import { MAX_WHOLE_WIDTH, bestLine, shownNodes } from "./shown-nodes.js";

await loadStyleSheet("glass/drawing/outline.css").catch(() => {}); // before anything is shown

/** The scene, and the rows of the best line once the search has ended. @typedef {InteractiveScene & {best: Set<number>}} Context */

/**
 * The list of the drawn nodes.
 * @param {InteractiveScene} scene
 * @returns {VNode}
 */
export function drawOutline(scene) {
    const { trace, state } = scene;
    const shown = shownNodes(trace, state, { maxWidth: MAX_WHOLE_WIDTH, ...scene });
    const best = new Set(state.isLeft(0) ? bestLine(trace) : []);
    return h("ul", { class: "glass-outline", "aria-label": scene.label ?? "Search tree" }, shown ? drawNode({ ...scene, best }, shown) : null);
}

/**
 * A node with the list of its children.
 * @param {Context} context
 * @param {ShownNode} node
 * @returns {Content}
 */
function drawNode(context, node) {
    if (node.row < 0) return drawRest(context, node);
    const { trace, state, onSelect } = context;
    const { row } = node;
    if (context.hidesFuture && row > 0 && !state.isEntered(row)) return null;
    const isCurrent = state.row === row;
    return h(
        "li",
        { key: `node ${row}`, class: [isCurrent && "current", !state.isEntered(row) && "future"] },
        h("button", { type: "button", class: "name", "aria-current": isCurrent ? "step" : null, onclick: () => onSelect(row) }, nameOf(trace, row)),
        ` ${wordsOf(context, row)}`,
        drawToggle(context, node),
        drawChildren(context, node),
    );
}

/**
 * The facts of a node in words.
 * @param {Context} context
 * @param {number} row
 */
function wordsOf({ trace, state, differs, best }, row) {
    const words = factWords(trace, state, row);
    if (state.row === row) words.push("current node");
    else if (state.isOnPath(row)) words.push("on the path");
    if (best.has(row)) words.push("on the best line");
    if (state.isEntered(row) && differs?.(row)) words.push("only in this search");
    return words.join(", ");
}

/**
 * The button that opens or closes a node.
 * @param {Context} context
 * @param {ShownNode} node
 */
function drawToggle({ trace, state, onToggle }, { row, fold, isOpen }) {
    if (trace.firstChild(row) < 0) return null;
    const text = isOpen ? "close" : state.isEntered(row) ? `open, ${foldWords(fold)}` : "open";
    return h(
        "button",
        { type: "button", class: "toggle", "aria-expanded": String(isOpen), "aria-label": `${text}: ${nameOf(trace, row)}`, onclick: () => onToggle(row, !isOpen) },
        text,
    );
}

/**
 * @param {Context} context
 * @param {ShownNode} node
 */
function drawChildren(context, node) {
    const children = node.children.map((child) => drawNode(context, child));
    const cuts = context.state.hasSkipped(node.row) ? node.cut.map((cut) => drawCut(context, node.row, cut)) : [];
    const items = [...children, ...cuts].filter(Boolean);
    return items.length > 0 ? h("ul", null, items) : null;
}

/**
 * The item for the children of a node that are not drawn.
 * @param {Context} context
 * @param {ShownNode} node
 */
function drawRest({ onToggle, state, hidesFuture }, { row, hidden, fold }) {
    if (hidesFuture && !state.isEntered(hidden[0])) return null;
    const text = `${hidden.length} more, ${foldWords(fold)}`;
    return h("li", { key: `rest ${hidden[0]}` }, h("button", { type: "button", class: "toggle", "aria-expanded": "false", onclick: () => onToggle(row, true) }, text));
}

/**
 * @param {Context} context
 * @param {number} row
 * @param {Skipped[]} cut
 */
function drawCut({ differsCut }, row, cut) {
    const differs = differsCut && cut.some(({ move }) => differsCut(row, move));
    return h("li", { key: `cut ${cut[0].move}`, class: "cut" }, `${cutWords(cut)}${differs ? "; visited in the other search" : ""}`);
}
