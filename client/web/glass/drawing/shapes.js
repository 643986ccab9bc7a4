/**
 * Draws a placed tree as SVG: MAX points up, MIN down, chance is round, leaves are boxes.
 *
 * A drawn item is kept until one of its facts changes, so that a step draws only what it changes.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {Item, Layout} from "./layout.js"
 * @import {ShownNode} from "./shown-nodes.js"
 * @import {SearchTrace, Skipped} from "../trace/trace.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {View} from "../text/facts.js"
 */

import { h } from "../../shell/elements.js";
import { cutNodes, cutWords, factsOf, foldWords, nodeWords } from "../text/facts.js";
import { LEAF_HEIGHT, SHAPE_HEIGHT, SHAPE_Y, drawFigure, kindClass, valueY } from "./figures.js";
import { measure } from "../text/measures.js";
import { countText, textWidth, valueText } from "../text/notation.js";
import { bestLine } from "./shown-nodes.js";

/**
 * The contents of a drawing.
 * @typedef {object} TreeScene
 * @property {SearchTrace} trace
 * @property {SearchState} state
 * @property {View} view
 * @property {ReadonlySet<number>} [opened] the rows that the user has opened
 * @property {ReadonlySet<number>} [closed] and closed
 * @property {(row: number) => boolean} [differs] whether another search did not visit the node
 * @property {(row: number, move: string) => boolean} [differsCut] whether it visited the cut-off move
 * @property {boolean} [hidesFuture] whether nodes that are not visited yet are hidden
 */
/** The key of the item that Tab focuses; null in a picture, whose items are no buttons. @typedef {string | null} TabStop */
/** The drawn items by their keys, each with the facts that it shows. @typedef {Map<string, {facts: string, nodes: VNode[]}>} Drawn */

/** The vertical places of an item's parts, from its top, in pixels. */
const MOVE_Y = 12;
const NOTE_Y = SHAPE_Y + SHAPE_HEIGHT + 14;
/** The place of the rest of a list of children. */
const REST_Y = 2;
const REST_HEIGHT = 22;
/** The height of a node with a note, and of a folded one. */
const NODE_HEIGHT = 76;
const FOLDED_HEIGHT = 84;
/** The least widths of shapes, in pixels. */
const MIN_WIDTH = 50;
const MIN_LEAF_WIDTH = 32;
/** If triangles would be wider than this, all nodes are houses, which need less width. */
const MAX_TRIANGLE_WIDTH = 64;
/** The sizes of the fonts, in pixels; the style sheet has the same. */
const VALUE_PX = 13;
const MOVE_PX = 12;
const NOTE_PX = 11;
/** The longest move on an edge, in letters. */
const MAX_MOVE = 12;
/** The part of a triangle's width that its text may take. */
const TRIANGLE_ROOM = 0.56;

/**
 * Returns the function that measures the items of a trace's drawing. All nodes of a kind have the same
 * width at every step.
 * @param {SearchTrace} trace
 * @param {View} view
 * @returns {(node: ShownNode, cut: Skipped[] | null) => {width: number, height: number}}
 */
export function itemMeasure(trace, view) {
    const widths = shapeWidths(trace);
    const noteWidth = hasNotes(trace, view) ? widths.note : 0;
    return (node, cut) => {
        if (cut) return cutSize(cut, widths);
        if (node.row < 0) return { width: textWidth(restText(node), NOTE_PX) + 20, height: REST_Y + REST_HEIGHT };
        const label = textWidth(moveText(trace.written(node.row)), MOVE_PX) + 4;
        const isLeaf = trace.kind(node.row) === "leaf";
        if (isLeaf) return { width: Math.max(widths.leaf, label), height: SHAPE_Y + LEAF_HEIGHT };
        // The same width folded and open, so that its neighbours stay where they are.
        const fold = textWidth(countText(trace.size(node.row)), NOTE_PX) + 18;
        return { width: Math.max(widths.inner, label, noteWidth, fold), height: node.fold > 0 ? FOLDED_HEIGHT : NODE_HEIGHT };
    };
}

/**
 * The size of the shape for moves that were cut off, or for a node below one.
 * @param {Skipped[]} cut
 * @param {ReturnType<typeof shapeWidths>} widths
 */
function cutSize(cut, widths) {
    const [{ kind }] = cut;
    const label = textWidth(cutLabel(cut), MOVE_PX) + 4;
    if (cut.length === 1 && kind) return { width: Math.max(unseenWidth(cut[0], widths), label), height: SHAPE_Y + (kind === "leaf" ? LEAF_HEIGHT : SHAPE_HEIGHT) };
    return { width: Math.max(MIN_LEAF_WIDTH, label, textWidth(cutText(cut), NOTE_PX) + 24), height: SHAPE_Y + LEAF_HEIGHT };
}

/**
 * The width of the shape of a node that was never visited.
 * @param {Skipped} node
 * @param {ReturnType<typeof shapeWidths>} widths
 */
function unseenWidth({ kind, value = null }, widths) {
    return kind === "leaf" ? Math.max(widths.leaf, textWidth(valueText(value), VALUE_PX) + 14) : widths.inner;
}

/**
 * The widths of a trace's shapes, and whether nodes are houses.
 * @param {SearchTrace} trace
 */
export function shapeWidths(trace) {
    const { longest, longestLeaf, longestNumber, reasons } = measure(trace);
    const isVector = longest.startsWith("⟨");
    const value = textWidth(isVector ? longest : `≥ ${longest}`, VALUE_PX);
    const isHouse = value / TRIANGLE_ROOM > MAX_TRIANGLE_WIDTH;
    return {
        isHouse,
        inner: Math.ceil(Math.max(MIN_WIDTH, isVector || isHouse ? value + 12 : value / TRIANGLE_ROOM)),
        leaf: Math.ceil(Math.max(MIN_LEAF_WIDTH, textWidth(reasons.has("depth") ? `~ ${longestLeaf}` : longestLeaf, VALUE_PX) + 14)),
        note: textWidth(`(${longestNumber}, ${longestNumber})`, NOTE_PX),
    };
}

/**
 * Whether nodes have windows or intervals below them.
 * @param {SearchTrace} trace
 * @param {View} view
 */
function hasNotes(trace, view) {
    return view !== "window" || trace.isWindowed;
}

/**
 * What the functions that draw items share.
 * @typedef {TreeScene & {differs: (row: number) => boolean, tabStop: TabStop, widths: ReturnType<typeof shapeWidths>, best: Set<number>}} Context
 */

/**
 * The edges and the shapes of a placed tree.
 * @param {TreeScene} scene
 * @param {Layout} layout
 * @param {Drawn} drawn
 * @param {TabStop} tabStop
 * @returns {VNode[]}
 */
export function drawItems(scene, layout, drawn, tabStop) {
    const { state, differs } = scene;
    const isDifferent = (/** @type {number} */ row) => differs !== undefined && state.isEntered(row) && differs(row);
    const context = { ...scene, differs: isDifferent, tabStop, widths: shapeWidths(scene.trace), best: bestRows(scene) };
    const edges = [];
    const shapes = [];
    /** The parents whose hidden children have their mark. @type {Set<Item>} */
    const marked = new Set();
    for (const item of layout.items) {
        const parent = item.parent < 0 ? null : layout.items[item.parent];
        if (isHidden(scene, item, parent)) {
            // One mark for all: their number would tell whether they are cut off.
            if (!parent || parent.cut || !state.isOnPath(parent.node.row) || marked.has(parent)) continue;
            marked.add(parent);
            edges.push(drawEdge(context, item, parent));
            shapes.push(drawUnknown(item));
            continue;
        }
        const { nodes } = drawItem(context, item, parent, drawn);
        if (parent) edges.push(nodes[1]);
        shapes.push(nodes[0]);
    }
    for (const key of drawn.keys()) if (drawn.size > 2 * layout.items.length) drawn.delete(key);
    return [h("g", { class: "edges", "aria-hidden": "true" }, edges), h("g", { class: "nodes" }, shapes)];
}

/**
 * The rows of the best line once the search has ended.
 * @param {TreeScene} scene
 */
function bestRows({ trace, state }) {
    return new Set(state.isLeft(0) ? bestLine(trace) : []);
}

/**
 * Whether an item is not drawn because the future is hidden.
 * @param {TreeScene} scene
 * @param {Item} item
 * @param {Item | null} parent
 */
function isHidden({ state, hidesFuture }, { node, cut }, parent) {
    if (!hidesFuture) return false;
    if (cut) return !state.hasSkipped(node.row);
    return parent !== null && !state.isEntered(node.row < 0 ? node.hidden[0] : node.row);
}

/**
 * The mark for the hidden children of a node.
 * @param {Item} item the first of them
 */
function drawUnknown({ key, x, y }) {
    const width = MIN_LEAF_WIDTH;
    return h(
        "g",
        { key, class: "node future", transform: `translate(${round(x)} ${y})` },
        h("rect", { class: "shape", x: -width / 2, y: SHAPE_Y, width, height: LEAF_HEIGHT, rx: 3, "stroke-dasharray": "4 3" }),
        h("text", { class: "value", y: SHAPE_Y + valueY("leaf") }, "?"),
    );
}

/**
 * The shape of an item and the edge to it: the ones drawn before if no fact has changed.
 * @param {Context} context
 * @param {Item} item
 * @param {Item | null} parent
 * @param {Drawn} drawn
 */
function drawItem(context, item, parent, drawn) {
    const facts = `${factsKey(context, item)} ${placeKey(context, item, parent)}`;
    const before = drawn.get(item.key);
    if (before?.facts === facts) return before;
    const shape = item.cut ? drawCut(context, item, item.cut) : item.node.row < 0 ? drawRest(context, item) : drawNode(context, item);
    const nodes = parent ? [shape, drawEdge(context, item, parent)] : [shape];
    const after = { facts, nodes };
    drawn.set(item.key, after);
    return after;
}

/**
 * The facts that the drawing of an item shows, as a text to compare.
 * @param {Context} context
 * @param {Item} item
 */
function factsKey({ state, view, differs, differsCut, trace, best }, { node, cut }) {
    const { row } = node;
    if (cut) return `${state.hasSkipped(row)} ${trace.isWritten} ${differsCut && cut.some(({ move }) => differsCut(row, move))}`;
    if (row < 0) return `${state.isEntered(node.hidden[0])} ${node.fold}`;
    const ends = !state.isEntered(row) ? "" : state.isLeft(row) ? "left" : `${state.window(row)} ${state.interval(row)}`;
    const marks = [state.row === row, state.isOnPath(row), state.isCut(row), differs(row), best.has(row), node.isOpen];
    return `${ends} ${marks} ${node.fold} ${view} ${trace.reason(row)} ${trace.written(row)}`;
}

/**
 * The places of an item and its edge, as a text to compare.
 * @param {Context} context
 * @param {Item} item
 * @param {Item | null} parent
 */
function placeKey({ trace, state, view, tabStop, widths }, item, parent) {
    const hasNote = parent && hasNotes(trace, view) && state.isEntered(parent.node.row);
    const tab = tabStop === null ? "picture" : tabStop === item.key;
    return `${item.x} ${item.y} ${item.width} ${widths.inner} ${widths.leaf} ${parent?.x} ${hasNote} ${tab}`;
}

/**
 * @param {Context} context
 * @param {Item} item
 * @returns {VNode}
 */
function drawNode(context, item) {
    const { trace, state, view, widths } = context;
    const { row, fold } = item.node;
    const kind = trace.kind(row);
    const { value, note, isCutNote } = factsOf(trace, state, row, view);
    const isLeaf = kind === "leaf";
    const width = isLeaf ? widths.leaf : widths.inner;
    const isDouble = state.isLeft(row) && trace.reason(row) === "table";
    const look = { isHouse: widths.isHouse, isRound: trace.reason(row) === "depth" };
    return h(
        "g",
        placeAttributes(context, item, nodeClasses(context, item)),
        // The texts stand beside the button: its name says in words what they mean.
        h(
            "g",
            { ...buttonAttributes(context, item), "aria-current": state.row === row ? "step" : null },
            h("title", null, nodeLabel(context, item)),
            state.row === row ? drawFigure(kind, width, { ...look, name: "halo" }) : null,
            isDouble ? drawFigure(kind, width + 9, { ...look, grow: 3 }) : null,
            drawFigure(kind, width, look),
        ),
        drawMove(trace.written(row)),
        kind.startsWith("p") ? h("text", { class: "name", y: SHAPE_Y + 14 }, kind) : null,
        value === "" ? null : h("text", { class: "value", y: SHAPE_Y + valueY(kind) }, value),
        fold > 0 && state.isEntered(row) ? drawFold(item.node.fold) : note === "" ? null : h("text", { class: isCutNote ? "note cut" : "note", y: NOTE_Y }, note),
        context.differs(row) ? drawDifference(width / 2) : null,
        isClosable(context, item) ? drawHandle(note !== "") : null,
    );
}

/**
 * @param {Context} context
 * @param {Item} item
 */
function nodeClasses({ trace, state, differs, best }, { node: { row, fold } }) {
    const kind = trace.kind(row);
    const isLeft = state.isLeft(row);
    return [
        "node",
        kindClass(kind),
        isLeft ? "finished" : state.isEntered(row) ? "open" : "future",
        isLeft && trace.bound(row) !== "exact" && "bound",
        isLeft && trace.reason(row) === "depth" && "estimate",
        state.isOnPath(row) && "path",
        state.row === row && "current",
        best.has(row) && "best",
        fold > 0 && "folded",
        differs(row) && "differs",
    ];
}

/**
 * @param {Context} context
 * @param {Item} item
 */
function nodeLabel({ trace, state, differs }, { node: { row, fold } }) {
    const words = nodeWords(trace, state, row);
    const folded = fold > 0 && state.isEntered(row) ? `, ${foldWords(fold)}` : "";
    return `${words}${folded}${differs(row) ? ", only in this search" : ""}`;
}

/**
 * Whether the user may close a node: it has drawn children.
 * @param {Context} context
 * @param {Item} item
 */
function isClosable({ trace, tabStop }, { node }) {
    return tabStop !== null && node.isOpen && (trace.firstChild(node.row) >= 0 || node.cut.length > 0);
}

/**
 * The attributes of an item's group. `data-key` names the item for clicks.
 * @param {Context} context
 * @param {Item} item
 * @param {unknown[]} classes
 */
function placeAttributes({ tabStop }, { key, x, y }, classes) {
    return { key, class: classes, transform: `translate(${round(x)} ${y})`, "data-key": tabStop === null ? null : key };
}

/**
 * The attributes of an item's button; none in a picture. Its name is its title.
 * @param {Context} context
 * @param {Item} item
 */
function buttonAttributes({ tabStop, trace }, { key, node }) {
    if (tabStop === null) return null;
    const hasChildren = node.row < 0 || trace.firstChild(node.row) >= 0;
    return { role: "button", tabindex: tabStop === key ? 0 : -1, "aria-expanded": hasChildren ? String(node.isOpen) : null };
}

/**
 * The move above a shape, where its edge ends.
 * @param {string} move
 */
function drawMove(move) {
    return move === "" ? null : h("text", { class: "move-label", y: MOVE_Y }, moveText(move));
}

/**
 * A move, shortened if it is long.
 * @param {string} move
 */
function moveText(move) {
    return move.length <= MAX_MOVE ? move : `${move.slice(0, MAX_MOVE - 1)}…`;
}

/**
 * The fold below a shape, with the number of nodes that it hides.
 * @param {number} count
 */
function drawFold(count) {
    const text = countText(count);
    const half = Math.max(18, textWidth(text, NOTE_PX) / 2 + 8);
    const [top, bottom] = [SHAPE_Y + SHAPE_HEIGHT + 3, FOLDED_HEIGHT];
    const outline = h("path", { class: "fan", d: `M-8 ${top}H8L${half} ${bottom}H${-half}Z` });
    return h("g", { class: "fold", "data-fold": "" }, outline, h("text", { class: "count", y: bottom - 5 }, text));
}

/**
 * The sign that closes a node, below it.
 * @param {boolean} hasNote
 */
function drawHandle(hasNote) {
    const y = hasNote ? NOTE_Y + 11 : SHAPE_Y + SHAPE_HEIGHT + 9;
    return h("g", { class: "handle", "data-fold": "", transform: `translate(0 ${y})` }, h("circle", { r: 7 }), h("path", { d: "M-3.5 0H3.5" }));
}

/**
 * The sign of a node that the other search did not visit.
 * @param {number} half half the width of the shape
 */
function drawDifference(half) {
    const place = `translate(${round(half - 2)} ${SHAPE_Y + 2})`;
    return h("g", { class: "difference", transform: place }, h("circle", { class: "ring", r: 7 }), h("path", { class: "unequal", d: "M-3.5 -1.5H3.5M-3.5 1.5H3.5M2 -4L-2 4" }));
}

/**
 * Moves that were cut off.
 * @param {Context} context
 * @param {Item} item
 * @param {Skipped[]} cut
 * @returns {VNode}
 */
function drawCut(context, item, cut) {
    const { differsCut, state } = context;
    if (cut.length === 1 && cut[0].kind) return drawUnseen(context, item, cut[0]);
    const width = Math.max(MIN_LEAF_WIDTH, textWidth(cutText(cut), NOTE_PX) + 24);
    const box = h("rect", { class: "shape", x: -width / 2, y: SHAPE_Y, width, height: LEAF_HEIGHT, rx: 3 });
    if (!state.hasSkipped(item.node.row)) return h("g", placeAttributes(context, item, ["node future"]), drawMove(cutLabel(cut)), box);
    const differs = differsCut && cut.some(({ move }) => differsCut(item.node.row, move));
    const text = cutText(cut);
    const crossX = text === "" ? 0 : 9 - width / 2 + 2;
    const y = SHAPE_Y + LEAF_HEIGHT / 2;
    return h(
        "g",
        placeAttributes(context, item, ["skipped", differs && "differs"]),
        h("title", null, `${cutWords(cut)}${differs ? "; visited in the other search" : ""}`),
        drawMove(cutLabel(cut)),
        box,
        h("path", { class: "cross", d: `M${crossX - 3.5} ${y - 3.5}l7 7m0 -7l-7 7` }),
        text === "" ? null : h("text", { class: "count", x: 5, y: y + 4 }, text),
        differs ? drawDifference(width / 2) : null,
    );
}

/**
 * A node of an explicit tree that the search skipped, or a node below one: grey, with a leaf's number.
 * @param {Context} context
 * @param {Item} item
 * @param {Skipped} node
 * @returns {VNode}
 */
function drawUnseen(context, item, node) {
    const { state, differsCut, widths } = context;
    const { row } = item.node;
    const { move, kind = "", value = null } = node;
    const isSkipped = state.hasSkipped(row);
    const isTop = item.key === `cut ${row} ${move}`;
    const differs = isSkipped && isTop && differsCut?.(row, move);
    const width = unseenWidth(node, widths);
    return h(
        "g",
        placeAttributes(context, item, [isSkipped ? "unseen" : "node future", isSkipped && isTop && "skipped", differs && "differs"]),
        isTop && isSkipped ? h("title", null, `${cutWords([node])}${differs ? "; visited in the other search" : ""}`) : null,
        drawFigure(kind, width, { isHouse: widths.isHouse }),
        drawMove(move),
        kind === "leaf" ? h("text", { class: "value", y: SHAPE_Y + valueY(kind) }, valueText(value)) : null,
        differs ? drawDifference(width / 2) : null,
    );
}

/**
 * The label of moves that were cut off: the move, or their number.
 * @param {Skipped[]} cut
 */
function cutLabel(cut) {
    return cut.length === 1 ? moveText(cut[0].written) : `${cut.length} moves`;
}

/**
 * The number of nodes that were never visited; "" if it is only one, or unknown.
 * @param {Skipped[]} cut
 */
function cutText(cut) {
    const count = cutNodes(cut);
    return count === null || count === 1 ? "" : countText(count);
}

/**
 * The rest of a list of children.
 * @param {Context} context
 * @param {Item} item
 * @returns {VNode}
 */
function drawRest(context, item) {
    const { node } = item;
    const text = restText(node);
    const width = textWidth(text, NOTE_PX) + 16;
    const classes = ["rest", !context.state.isEntered(node.hidden[0]) && "future"];
    return h(
        "g",
        { ...placeAttributes(context, item, classes), ...buttonAttributes(context, item) },
        h("title", null, `${restText(node)}, ${foldWords(node.fold)}`),
        h("rect", { class: "fan", x: -width / 2, y: REST_Y, width, height: REST_HEIGHT, rx: REST_HEIGHT / 2 }),
        h("text", { class: "count", y: REST_Y + REST_HEIGHT / 2 + 4 }, text),
    );
}

/** @param {ShownNode} node */
function restText({ hidden }) {
    return `${hidden.length} more`;
}

/**
 * The edge from a parent to an item, crossed if it was cut off.
 * @param {Context} context
 * @param {Item} item
 * @param {Item} parent
 * @returns {VNode}
 */
function drawEdge({ trace, state, view, best }, item, parent) {
    const { row } = item.node;
    const hasNote = parent.cut === null && hasNotes(trace, view) && state.isEntered(parent.node.row);
    const from = [round(parent.x), parent.y + (hasNote ? NOTE_Y + 5 : SHAPE_Y + SHAPE_HEIGHT + 2)];
    const to = [round(item.x), item.y + 1];
    const d = `M${from[0]} ${from[1]}L${to[0]} ${to[1]}`;
    if (item.cut && state.hasSkipped(row))
        return h("g", { key: item.key, class: "edge skipped" }, h("path", { class: "line", d }), parent.cut ? null : h("path", { class: "bars", d: crossBars(from, to) }));
    const isFuture = item.cut !== null || !state.isEntered(row < 0 ? item.node.hidden[0] : row);
    const classes = ["edge", ...(isFuture ? ["future"] : [state.isOnPath(row) && "path", best.has(row) && "best"])];
    return h("g", { key: item.key, class: classes }, h("path", { class: "line", d }));
}

/**
 * Two bars across the middle of an edge.
 * @param {number[]} from
 * @param {number[]} to
 */
function crossBars([x, y], [toX, toY]) {
    const length = Math.hypot(toX - x, toY - y);
    const [dx, dy] = [(toX - x) / length, (toY - y) / length];
    const bar = (/** @type {number} */ at) => {
        const [middleX, middleY] = [(x + toX) / 2 + dx * at, (y + toY) / 2 + dy * at];
        return `M${round(middleX - 6 * dy)} ${round(middleY + 6 * dx)}L${round(middleX + 6 * dy)} ${round(middleY - 6 * dx)}`;
    };
    return bar(-2.5) + bar(2.5);
}

/** A coordinate with one decimal. @param {number} number */
function round(number) {
    return Math.round(number * 10) / 10;
}
