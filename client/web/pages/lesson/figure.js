/**
 * A tree to work on: MAX points up, MIN down, chance is round, a leaf is a box with its value. It is
 * made of HTML lists, so that its parts can contain fields and buttons.
 *
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";

/**
 * @typedef {object} FigureNode
 * @property {string} name the node's name in answers
 * @property {string} move
 * @property {string} kind
 * @property {number | string | null} value of a leaf
 * @property {FigureNode[]} children
 * @property {string} [estimate] what a search that stops at the node takes
 */
/**
 * @typedef {object} FigureOptions
 * @property {FigureNode} root
 * @property {string} label
 * @property {(node: FigureNode) => Content} [below] draws the content below a node's shape
 * @property {(node: FigureNode) => boolean} [isCrossed] whether a leaf is crossed out
 * @property {((node: FigureNode) => void) | null} [onLeaf] makes the leaves buttons that are crossed
 *     out by a click
 * @property {{name: string, choose: (node: FigureNode) => void}} [select] makes all nodes but the root
 *     buttons, of which one is selected
 */

/** The outlines of the shapes, in a box of 40 by 30. @type {Record<string, string>} */
const OUTLINES = { max: "M20 1.5 39 28.5H1z", min: "M1 1.5H39L20 28.5z" };
/** The letters in a shape. @type {Record<string, string>} */
const SIDES = { max: "MAX", min: "MIN", mean: "MEAN" };

/**
 * @param {FigureOptions} options
 * @returns {VNode}
 */
export function drawFigure(options) {
    return h(
        "div",
        { class: "figure-box", role: "group", "aria-label": options.label, tabindex: 0 },
        h("ul", { class: "figure-tree" }, drawNode(options.root, options)),
    );
}

/**
 * @param {FigureNode} node
 * @param {FigureOptions} options
 * @returns {VNode}
 */
function drawNode(node, options) {
    return h(
        "li",
        { key: node.name || "root" },
        node.move ? h("span", { class: "edge-name" }, node.move) : null,
        drawPart(node, options),
        node.estimate ? h("span", { class: "edge-name" }, `~ ${node.estimate.replace("-", "−")}`) : null,
        options.below?.(node),
        node.children.length > 0
            ? h(
                  "ul",
                  null,
                  node.children.map((child) => drawNode(child, options)),
              )
            : null,
    );
}

/**
 * A node's shape; a button if it can be selected.
 * @param {FigureNode} node
 * @param {FigureOptions} options
 */
function drawPart(node, options) {
    const shape = node.kind === "leaf" ? drawLeaf(node, options) : drawShape(node.kind);
    const { select } = options;
    if (!select || node.name === "") return shape;
    const value = node.kind === "leaf" ? `, ${node.value}` : `, ${SIDES[node.kind] ?? node.kind}`;
    return h(
        "button",
        {
            type: "button",
            class: "select",
            "aria-pressed": String(select.name === node.name),
            "aria-label": node.name + value,
            "data-node": node.name,
            onclick: () => select.choose(node),
        },
        shape,
    );
}

/** @param {string} kind */
function drawShape(kind) {
    const side = SIDES[kind] ?? kind.toUpperCase();
    const outline = OUTLINES[kind];
    return h(
        "span",
        { class: "shape" },
        h(
            "svg",
            { viewBox: "0 0 40 30", class: kind, "aria-hidden": "true" },
            outline
                ? h("path", { d: outline })
                : kind === "mean"
                  ? h("circle", { cx: 20, cy: 15, r: 13.5 })
                  : h("rect", { x: 2, y: 2, width: 36, height: 26, rx: 4 }),
        ),
        h("span", { class: "side" }, side),
    );
}

/**
 * @param {FigureNode} node
 * @param {FigureOptions} options
 */
function drawLeaf(node, { isCrossed, onLeaf }) {
    const crossed = isCrossed?.(node) ?? false;
    const value = String(node.value ?? "").replace("-", "−");
    if (!onLeaf) return h("span", { class: ["leaf", crossed && "crossed"] }, value);
    return h(
        "button",
        {
            // Not the button that submits the form around the figure.
            type: "button",
            class: ["leaf", crossed && "crossed"],
            "aria-pressed": String(crossed),
            "aria-label": `${node.name}, ${value}, never seen`,
            "data-leaf": node.name,
            onclick: () => onLeaf(node),
        },
        value,
    );
}

/**
 * All nodes of a figure, parents first.
 * @param {FigureNode} root
 * @returns {FigureNode[]}
 */
export function figureNodes(root) {
    return [root, ...root.children.flatMap(figureNodes)];
}
