/**
 * Places the nodes of a drawn tree: a parent above the middle of its children, in their order, without
 * overlapping subtrees. The root is at x = 0, so that a node keeps its place while the tree grows
 * elsewhere.
 *
 * Source: Reingold and Tilford, Tidier Drawings of Trees, 1981; the even distances of small subtrees
 * between large ones follow Buchheim, Jünger and Leipert, Improving Walker's Algorithm to Run in
 * Linear Time, 2002.
 *
 * @import {ShownNode} from "./shown-nodes.js"
 * @import {Skipped} from "../trace/trace.js"
 */

/** The distance of two levels, usually, on a low screen, and where text would become too small, in pixels. */
export const LEVEL_PX = 116;
export const LOW_LEVEL_PX = 97;
export const LEAST_LEVEL_PX = 82;
/** The least distance of siblings, and of nodes of different parents, in pixels. */
export const SIBLING_GAP_PX = 10;
export const COUSIN_GAP_PX = 18;

/**
 * A placed node, or a shape for moves that were cut off or for a node below one. `x` is its middle, `y`
 * its top; `parent` the index of its parent's item, -1 for the root.
 * @typedef {object} Item
 * @property {string} key
 * @property {ShownNode} node of a cut the node that skipped it
 * @property {Skipped[] | null} cut
 * @property {number} parent
 * @property {number} ply
 * @property {number} x
 * @property {number} y
 * @property {number} width
 * @property {number} height
 */
/**
 * A placed tree: its items, parents first, and its edges.
 * @typedef {{items: Item[], left: number, right: number, top: number, bottom: number}} Layout
 */
/** The width and the height of an item. @typedef {{width: number, height: number}} Size */
/** Returns the size of a node, or of the shape for cut-off moves below it. @typedef {(node: ShownNode, cut: Skipped[] | null) => Size} Measure */
/**
 * An item with its children; `offset` is its distance from its parent. `left` and `right` are the
 * outline of its subtree, level by level, as distances from it.
 * @typedef {{item: Item, children: Box[], offset: number, left: number[], right: number[]}} Box
 */

/**
 * Places the drawn tree.
 * @param {ShownNode} shown
 * @param {Measure} measure
 * @param {number} [level] the distance of two levels, in pixels
 * @returns {Layout}
 */
export function layOut(shown, measure, level = LEVEL_PX) {
    /** @type {Item[]} */
    const items = [];
    const root = boxOf(shown, null, -1, 0, { items, measure, level });
    place(root, 0);
    return {
        items,
        left: Math.min(...root.left),
        right: Math.max(...root.right),
        top: 0,
        bottom: items.reduce((bottom, item) => Math.max(bottom, item.y + item.height), 0),
    };
}

/**
 * The box of a node or of its cut-off moves, with its children's boxes placed below it.
 * @param {ShownNode} node
 * @param {Skipped[] | null} cut
 * @param {number} parent
 * @param {number} ply
 * @param {{items: Item[], measure: Measure, level: number}} context
 * @param {string} [above] the key of the cut-off move above
 * @returns {Box}
 */
function boxOf(node, cut, parent, ply, context, above = `cut ${node.row}`) {
    const { items, measure, level } = context;
    const index = items.length;
    const key = cut ? `${above} ${cut[0].move}` : keyOf(node);
    const item = { key, node, cut, parent, ply, x: 0, y: ply * level, ...measure(node, cut) };
    items.push(item);
    const half = item.width / 2;
    /** @type {Box} */
    const box = { item, children: [], offset: 0, left: [-half], right: [half] };
    if (cut?.length === 1)
        for (const child of cut[0].children ?? []) box.children.push(boxOf(node, [child], index, ply + 1, context, key));
    if (!cut) addChildren(box, node, index, context);
    if (box.children.length > 0) placeChildren(box);
    return box;
}

/**
 * Adds the boxes of a node's children and of its cut-off moves to its box.
 * @param {Box} box
 * @param {ShownNode} node
 * @param {number} index of the node's item
 * @param {{items: Item[], measure: Measure, level: number}} context
 */
function addChildren(box, node, index, context) {
    const { ply } = box.item;
    for (const child of node.children) box.children.push(boxOf(child, null, index, ply + 1, context));
    for (const moves of node.cut) box.children.push(boxOf(node, moves, index, ply + 1, context));
}

/**
 * The key of a node's item, different from all others.
 * @param {ShownNode} node
 */
function keyOf(node) {
    return node.row < 0 ? `rest ${~node.row} ${node.hidden[0]} ${node.hidden.length}` : `node ${node.row}`;
}

/**
 * Places the children of a box side by side, and the box above their middle.
 * @param {Box} box
 */
function placeChildren(box) {
    const { children } = box;
    for (let index = 1; index < children.length; index++) {
        const { offset, owner } = freePlace(children, index);
        children[index].offset = offset;
        spread(children, owner, index);
    }
    const middle = (children[0].offset + children[children.length - 1].offset) / 2;
    for (const child of children) child.offset -= middle;
    for (const child of children) addOutline(box, child);
}

/**
 * The first offset at which a child is clear of all children before it, and the index of the child
 * that decides it.
 * @param {Box[]} children
 * @param {number} index
 */
function freePlace(children, index) {
    const child = children[index];
    let best = { offset: -Infinity, owner: 0 };
    for (let owner = index - 1; owner >= 0; owner--) {
        const before = children[owner];
        const levels = Math.min(before.right.length, child.left.length);
        for (let level = 0; level < levels; level++) {
            const gap = level === 0 ? SIBLING_GAP_PX : COUSIN_GAP_PX;
            const offset = before.offset + before.right[level] + gap - child.left[level];
            if (offset > best.offset + 1e-9) best = { offset, owner };
        }
    }
    return best;
}

/**
 * Spreads the children between two that are far apart evenly.
 * @param {Box[]} children
 * @param {number} from
 * @param {number} to
 */
function spread(children, from, to) {
    const count = to - from;
    if (count < 2) return;
    const last = children[to - 1];
    const free = children[to].offset + children[to].left[0] - (last.offset + last.right[0]) - SIBLING_GAP_PX;
    if (free <= 0) return;
    for (let index = from + 1; index < to; index++) children[index].offset += (free * (index - from)) / count;
    children[to].offset = Math.max(children[to].offset, freePlace(children, to).offset);
}

/**
 * Widens the outline of a box by that of a child.
 * @param {Box} box
 * @param {Box} child
 */
function addOutline(box, child) {
    for (let level = 0; level < child.left.length; level++) {
        const left = child.offset + child.left[level];
        const right = child.offset + child.right[level];
        box.left[level + 1] = Math.min(box.left[level + 1] ?? left, left);
        box.right[level + 1] = Math.max(box.right[level + 1] ?? right, right);
    }
}

/**
 * Sets the place of a box and of everything below it.
 * @param {Box} box
 * @param {number} x
 */
function place(box, x) {
    box.item.x = x;
    for (const child of box.children) place(child, x + child.offset);
}
