/**
 * Arrows over a board, in units of one cell. Pure functions.
 *
 * @import {VNode} from "../shell/elements.js"
 * @import {Layout, Place} from "./geometry.js"
 */

import { h } from "../shell/elements.js";

/** The length of an arrow's head, in cells. */
const HEAD = 0.34;
/** Half the width of an arrow's head, in cells. */
const HEAD_WIDTH = 0.2;
/**
 * The side of the dashed square in the cell of a move that places a piece, in cells: no piece has this
 * shape. In a round house it is a dashed ring.
 */
const TARGET_SIZE = 0.74;

/** The cells of a move, in order, and what the arrow means: the best move, another one, or a threat.
 * @typedef {string[] | {cells: string[], kind?: string}} BoardArrow */

/**
 * An arrow for each move: along its cells, or a dashed square or ring in its only cell.
 * @param {Layout} layout
 * @param {BoardArrow[]} moves
 * @returns {VNode}
 */
export function drawArrows({ byId }, moves) {
    const arrows = moves.map((move) => {
        const { cells, kind = "best" } = Array.isArray(move) ? { cells: move } : move;
        const places = cells.flatMap((cell) => byId.get(cell) ?? []);
        return h("g", { class: `arrow ${kind}` }, drawArrow(places));
    });
    return h("g", { key: "arrows", class: "arrows", "aria-hidden": "true" }, arrows);
}

/** @param {Place[]} places */
function drawArrow(places) {
    const end = places.at(-1);
    const before = places.at(-2);
    if (!end) return null;
    const rx = end.shape === "round" ? TARGET_SIZE / 2 : 0.13;
    if (!before) return h("rect", { class: "target", x: end.x - TARGET_SIZE / 2, y: end.y - TARGET_SIZE / 2, width: TARGET_SIZE, height: TARGET_SIZE, rx });
    const length = Math.hypot(end.x - before.x, end.y - before.y) || 1;
    const [dx, dy] = [(end.x - before.x) / length, (end.y - before.y) / length];
    // The line ends where the head begins, so that its end does not show beside the tip.
    const neck = { x: end.x - dx * HEAD, y: end.y - dy * HEAD };
    const points = [...places.slice(0, -1), neck].map(({ x, y }) => `${round(x)} ${round(y)}`);
    const corners = [
        [end.x, end.y],
        [neck.x - dy * HEAD_WIDTH, neck.y + dx * HEAD_WIDTH],
        [neck.x + dy * HEAD_WIDTH, neck.y - dx * HEAD_WIDTH],
    ];
    return [
        h("path", { class: "shaft", d: `M${points.join("L")}` }),
        h("polygon", { class: "head", points: corners.map(([x, y]) => `${round(x)},${round(y)}`).join(" ") }),
    ];
}

/** @param {number} x */
function round(x) {
    return +x.toFixed(3);
}
