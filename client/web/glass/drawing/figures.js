/**
 * The figures of nodes: MAX points up, MIN down, chance is round, leaves are boxes, players boxes with
 * round corners. A figure is centred at x = 0.
 *
 * @import {VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";

/** The top of a figure in its item, and the heights of figures, in pixels. */
export const SHAPE_Y = 17;
export const SHAPE_HEIGHT = 42;
export const LEAF_HEIGHT = 26;
/** The height of the roof of a house. */
const ROOF = 18;

/**
 * The look of a figure. A house is a triangle above a box, for long values. `isRound` rounds a leaf,
 * `grow` enlarges the figure on all sides, `name` is its class.
 * @typedef {{isHouse?: boolean, isRound?: boolean, grow?: number, name?: string}} Look
 */

/**
 * The outline of a node.
 * @param {string} kind
 * @param {number} width
 * @param {Look} [look]
 * @returns {VNode}
 */
export function drawFigure(kind, width, { isHouse = false, isRound = false, grow = 0, name = "shape" } = {}) {
    const half = width / 2;
    const [top, bottom] = [SHAPE_Y - grow, SHAPE_Y + SHAPE_HEIGHT + grow];
    if (kind === "max") {
        const eaves = isHouse ? top + ROOF : bottom;
        return h("path", { class: name, d: `M0 ${top}L${half} ${eaves}V${bottom}H${-half}V${eaves}Z` });
    }
    if (kind === "min") {
        const eaves = isHouse ? bottom - ROOF : top;
        return h("path", { class: name, d: `M${-half} ${top}H${half}V${eaves}L0 ${bottom}L${-half} ${eaves}Z` });
    }
    const height = kind === "leaf" ? LEAF_HEIGHT + 2 * grow : bottom - top;
    const wide = kind === "mean" ? Math.max(height, width - 6) : width;
    const rx = kind === "mean" || isRound ? height / 2 : kind === "leaf" ? 3 : 9;
    return h("rect", { class: name, x: -wide / 2, y: top, width: wide, height, rx });
}

/**
 * The baseline of the value inside a shape.
 * @param {string} kind
 */
export function valueY(kind) {
    if (kind === "max") return SHAPE_HEIGHT - 6;
    if (kind === "min") return 15;
    if (kind === "leaf") return LEAF_HEIGHT / 2 + 4.5;
    return kind === "mean" ? SHAPE_HEIGHT / 2 + 4.5 : SHAPE_HEIGHT - 9;
}

/**
 * The class of a kind: all players share one.
 * @param {string} kind
 */
export function kindClass(kind) {
    return kind.startsWith("p") ? "of-player" : kind;
}
