/**
 * The drawing of a search tree: `drawTree` draws an interactive tree, `drawPicture` a static one,
 * `drawLegend` the key to the shapes.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {SearchTrace} from "../trace/trace.js"
 * @import {TreeScene} from "./shapes.js"
 * @import {InteractiveScene} from "./tree-element.js"
 */

import { h } from "../../shell/elements.js";
import { drawSample } from "./figures.js";
import { layOut } from "./layout.js";
import { measure } from "../text/measures.js";
import { sideText } from "../text/notation.js";
import { drawItems, itemMeasure, shapeWidths } from "./shapes.js";
import { shownNodes } from "./shown-nodes.js";
import "./tree-element.js";

/** The margin around a picture, in pixels. */
const MARGIN_PX = 12;

/**
 * An interactive drawing: the user can drag, zoom and fold it, and walk through it.
 * @param {InteractiveScene} scene
 * @returns {VNode}
 */
export function drawTree(scene) {
    return h("glass-tree", { ".scene": scene, managesChildren: true });
}

/**
 * A static drawing, as large as the tree.
 * @param {TreeScene & {limit?: number, label?: string}} scene
 * @returns {VNode}
 */
export function drawPicture(scene) {
    const { trace, state, view } = scene;
    const shown = shownNodes(trace, state, scene);
    if (!shown) return h("svg", { class: "glass-picture", viewBox: "0 0 1 1", "aria-hidden": "true" });
    const layout = layOut(shown, itemMeasure(trace, view));
    const [width, height] = [layout.right - layout.left + 2 * MARGIN_PX, layout.bottom - layout.top + 2 * MARGIN_PX];
    const viewBox = [layout.left - MARGIN_PX, layout.top - MARGIN_PX, width, height].map(Math.round).join(" ");
    const label = scene.label ?? `Search tree of ${trace.head.title || trace.head.position}`;
    const size = { width: Math.round(width), height: Math.round(height) };
    return h("svg", { class: "glass-picture", viewBox, ...size, role: "img", "aria-label": label }, drawItems(scene, layout, new Map(), null));
}

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
    if (trace.skippedCount > 0) entries.push(["skipped", "cut off, with the number of nodes never visited"]);
    if (hasBounds) entries.push(["bound", "≥ ≤ only a bound of the value"]);
    return h("ul", { class: "glass-legend" }, entries.map(([name, text]) => h("li", null, drawSample(name, isHouse), h("span", null, text))));
}
