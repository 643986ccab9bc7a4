/**
 * The key to the shapes and signs of a search tree. The viewer loads it when the reader opens it.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { measure } from "../text/measures.js";
import { sideText } from "../text/notation.js";
import { LEAF_HEIGHT, SHAPE_HEIGHT, SHAPE_Y, drawFigure, kindClass, valueY } from "./figures.js";
import { shapeWidths } from "./shapes.js";

await loadStyleSheet("glass/drawing/legend.css").catch(() => {}); // before anything is shown

/**
 * The key to the shapes and signs that occur in a trace.
 * @param {SearchTrace} trace
 * @returns {VNode}
 */
export function drawLegend(trace) {
    const { kinds, reasons, hasBounds } = measure(trace);
    const { isHouse } = shapeWidths(trace);
    /** @type {[string, string][]} */
    const entries = [...kinds].filter((kind) => kind !== "leaf").sort().map((kind) => [kind, sideText(kind)]);
    if (reasons.has("leaf")) entries.push(["leaf", "end of the game"]);
    if (reasons.has("depth")) entries.push(["estimate", "~ estimate at the depth limit"]);
    if (reasons.has("table")) entries.push(["table", "known from the table"]);
    if (trace.skippedCount > 0) entries.push(["skipped", "cut off: never visited"]);
    if (hasBounds) entries.push(["bound", "≥ ≤ only a bound of the value"]);
    return h("ul", { class: "glass-legend" }, entries.map(([name, text]) => h("li", null, drawSample(name, isHouse), h("span", null, text))));
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
