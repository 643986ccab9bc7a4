/**
 * A static drawing of a search tree, for paper and for files.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {TreeScene} from "./shapes.js"
 */

import { h } from "../../shell/elements.js";
import { layOut } from "./layout.js";
import { drawItems, itemMeasure } from "./shapes.js";
import { shownNodes } from "./shown-nodes.js";

/** The margin around a picture, in pixels. */
const MARGIN_PX = 12;

/**
 * A drawing as large as the tree.
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
