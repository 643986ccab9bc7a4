/**
 * Draws the pieces of all games. A piece is one unit wide, with its centre at 0, 0; the style sheet
 * sets its colours by side.
 *
 * @import {Kind} from "./protocol.js"
 * @import {VNode} from "./elements.js"
 */

import { drawSprite } from "./board-sprites.js";
import { h } from "./elements.js";

/** The path of a crown. */
const CROWN = "M-.2 .13 -.25 -.14 -.1 0 0 -.21 .1 0 .25 -.14 .2 .13Z";

/**
 * A piece of a kind; a piece of an unknown kind is a plain disc.
 * @param {Kind | undefined} kind
 * @param {string} [extra] a further class
 * @returns {VNode}
 */
export function drawPiece(kind, extra = "") {
    const side = kind?.side ?? "none";
    const name = (/** @type {string} */ shape) => ({ class: `piece ${shape} side-${side} ${extra}` });
    if (kind?.sprite) return h("g", name(kind.sprite), drawSprite(kind.sprite));
    const shape = kind?.shape ?? "disc";
    const body = kind?.angle ? h("g", { transform: `rotate(${kind.angle})` }, drawBody(shape)) : drawBody(shape);
    return h("g", name(shape), body, drawEmblem(kind, shape));
}

/**
 * @param {NonNullable<Kind["shape"]>} shape
 * @returns {VNode[]}
 */
function drawBody(shape) {
    switch (shape) {
        case "cross":
            return [h("path", { class: "line", d: "M-.27 -.27 .27 .27M.27 -.27 -.27 .27" })];
        case "ring":
            return [h("circle", { class: "line", r: 0.29 })];
        case "stick":
            return [
                h("rect", { class: "body", x: -0.075, y: -0.4, width: 0.15, height: 0.82, rx: 0.05 }),
                h("rect", { class: "tip", x: -0.105, y: -0.44, width: 0.21, height: 0.24, rx: 0.1 }),
            ];
        case "line":
            return [h("path", { class: "line", d: "M-.5 0H.5" })];
        case "stack":
            return [
                h("circle", { class: "body lower", r: 0.37, cy: 0.1 }),
                h("circle", { class: "body", r: 0.37, cy: -0.07 }),
                h("circle", { class: "bevel", r: 0.3, cy: -0.07 }),
            ];
        case "disc":
            return [h("circle", { class: "body", r: 0.41 }), h("circle", { class: "bevel", r: 0.29 })];
    }
}

/**
 * @param {Kind | undefined} kind
 * @param {NonNullable<Kind["shape"]>} shape
 * @returns {VNode | null}
 */
function drawEmblem(kind, shape) {
    if (shape === "stack") return h("path", { class: "emblem", d: CROWN, transform: "translate(0 -.05)" });
    if (shape !== "disc") return null;
    if (kind?.mark === "crown") return h("path", { class: "emblem", d: CROWN });
    return kind?.mark ? h("text", { class: "emblem" }, kind.mark) : null;
}
