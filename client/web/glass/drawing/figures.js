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
 * A small picture of a shape for the key to the drawing.
 * @param {string} name a kind, "estimate", "table", "skipped" or "bound"
 * @param {boolean} isHouse
 * @returns {VNode}
 */
export function drawSample(name, isHouse) {
    const height = name === "leaf" || name === "estimate" ? LEAF_HEIGHT : SHAPE_HEIGHT;
    const viewBox = `-27 ${SHAPE_Y + height / 2 - 27} 54 54`;
    const [kind, parts] = sampleParts(name, isHouse);
    const group = name === "skipped" ? "edge skipped" : `node finished ${kindClass(kind)}`;
    return h("svg", { class: "sample", viewBox, "aria-hidden": "true" }, h("g", { class: group }, parts));
}

/**
 * @param {string} name
 * @param {boolean} isHouse
 * @returns {[string, VNode[]]}
 */
function sampleParts(name, isHouse) {
    const text = (/** @type {string} */ value, /** @type {string} */ kind) =>
        h("text", { class: "value", y: SHAPE_Y + valueY(kind) }, value);
    if (name === "estimate") return ["leaf", [drawFigure("leaf", 34, { isRound: true }), text("~ 3", "leaf")]];
    if (name === "table") return ["max", [drawFigure("max", 48, { isHouse, grow: 3 }), drawFigure("max", 39, { isHouse })]];
    if (name === "bound") return ["min", [drawFigure("min", 46, { isHouse }), text("≤ 3", "min")]];
    if (name !== "skipped") return [name, [drawFigure(name, name === "leaf" ? 34 : 44, { isHouse })]];
    const middle = SHAPE_Y + SHAPE_HEIGHT / 2;
    const line = h("path", { class: "line", d: `M0 ${middle - 24}V${middle + 24}` });
    return [name, [line, h("path", { class: "bars", d: `M-7 ${middle + 3}L7 ${middle - 5}M-7 ${middle + 9}L7 ${middle + 1}` })]];
}

/**
 * The class of a kind: all players share one.
 * @param {string} kind
 */
export function kindClass(kind) {
    return kind.startsWith("p") ? "of-player" : kind;
}
