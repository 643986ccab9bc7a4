/**
 * The drawing of a search tree.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {InteractiveScene} from "./tree-element.js"
 */

import { h } from "../../shell/elements.js";
import "./tree-element.js";

/**
 * An interactive drawing: the user can drag, zoom and fold it, and walk through it.
 * @param {InteractiveScene} scene
 * @returns {VNode}
 */
export function drawTree(scene) {
    return h("glass-tree", { ".scene": scene, managesChildren: true });
}
