/**
 * How pieces look: a small drawing vocabulary that every game's kinds are made of. A piece is one unit wide, its centre at 0, 0;
 * colours come from the style sheet by side.
 *
 * @import {Kind} from "./protocol.js"
 * @import {Description} from "./elements.js"
 */

import { h } from "./elements.js";

const CROWN = "M-.2 .13 -.24 -.12 -.1 0 0 -.2 .1 0 .24 -.12 .2 .13Z";

/**
 * @param {Kind | undefined} kind undefined draws a plain disc, so that a piece of an unknown kind is seen at least
 * @param {string} [extra] a further class
 * @returns {Description}
 */
export function drawPiece(kind, extra = "") {
    const shape = kind?.shape ?? "disc";
    const side = kind?.side ?? "none";
    return h(
        "g",
        { class: `piece ${shape} side-${side} ${extra}` },
        bodyOf(shape),
        shape === "disc" ? emblemOf(kind) : null,
    );
}

/**
 * @param {NonNullable<Kind["shape"]>} shape
 * @returns {Description[]}
 */
function bodyOf(shape) {
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
        case "disc":
            return [h("circle", { class: "body", r: 0.41 }), h("circle", { class: "bevel", r: 0.29 })];
    }
}

/**
 * @param {Kind | undefined} kind
 * @returns {Description | null}
 */
function emblemOf(kind) {
    if (kind?.mark === "crown") return h("path", { class: "emblem", d: CROWN });
    if (kind?.mark) return h("text", { class: "emblem" }, kind.mark);
    // A drawing of its own (a sprite) comes with its game; until then its letter tells it from others.
    return kind?.sprite && kind.text ? h("text", { class: "emblem" }, kind.text) : null;
}
