/**
 * The chess pieces, drawn for this project in a square of 100 by 100. Each has closed shapes, in the
 * order in which they are drawn, then inner lines and dots. The style sheet sets their colours by
 * side.
 *
 * @import {Kind} from "../shell/protocol.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";

/** @typedef {{shapes: string[], lines?: string[], dots?: [number, number, number][]}} Sprite */

/** The foot that most pieces have. */
const FOOT = "M21 89V84.5C21 79.5 24.5 76 29.5 76H70.5C75.5 76 79 79.5 79 84.5V89Z";

/** @type {Record<NonNullable<Kind["sprite"]>, Sprite>} */
const SPRITES = {
    pawn: {
        shapes: [
            "M25 89V85C25 80.5 28 77 32.5 77H67.5C72 77 75 80.5 75 85V89Z",
            "M42.5 50C42 62 37 70 31 77H69C63 70 58 62 57.5 50Z",
            "M35 51.5C35 48.5 37 46.5 40 46.5H60C63 46.5 65 48.5 65 51.5Z",
            ball(50, 34, 13),
        ],
    },
    rook: {
        shapes: [
            FOOT,
            "M33.5 76C36 67 37 58 37.3 47H62.7C63 58 64 67 66.5 76Z",
            "M26.5 19H37V26H45V19H55V26H63V19H73.5V37C73.5 43.5 70 47 64.5 47H35.5C30 47 26.5 43.5 26.5 37Z",
        ],
        lines: ["M27 35.5H73"],
    },
    knight: {
        shapes: [
            FOOT,
            "M72 76C76.5 53 73 27 50.5 20L44 10.5C41 14 39.6 17.6 40 22C34 25 30 30 28 36.5L18 51.5C15.8 55 16 58.5 18.5 61.5C21 64.5 24.5 65 28 63L34 59.5C38.5 59.2 42.5 57.5 46 54C47 62 42.5 66.5 37.5 70C35 71.8 33.2 73.6 32.5 76Z",
        ],
        lines: ["M54.5 26C64 33 67.8 47 66.2 68", "M19.5 60L26.5 55.5"],
        dots: [
            [37, 35.5, 3],
            [22.8, 52.6, 1.7],
        ],
    },
    bishop: {
        shapes: [
            FOOT,
            "M41.5 57C40.5 66 37 71.5 32 76H68C63 71.5 59.5 66 58.5 57Z",
            "M50 19.5C60 26 67.5 34.5 67.5 43.5C67.5 49 64.5 53 60 55H40C35.5 53 32.5 49 32.5 43.5C32.5 34.5 40 26 50 19.5Z",
            "M33.5 59.5C33.5 56.5 35.5 54.5 38.5 54.5H61.5C64.5 54.5 66.5 56.5 66.5 59.5Z",
            ball(50, 14.5, 5.5),
        ],
        lines: ["M59 28.5L50.5 41.5"],
    },
    queen: {
        shapes: [
            FOOT,
            "M33 76C35.5 71.5 35.5 67 32.5 62.5H67.5C64.5 67 64.5 71.5 67 76Z",
            "M29 64L19 32.5L34.5 48L36 25.5L46 46L50 21.5L54 46L64 25.5L65.5 48L81 32.5L71 64Z",
            ball(19, 29.5, 4.6),
            ball(35.6, 22, 4.6),
            ball(50, 17.5, 4.8),
            ball(64.4, 22, 4.6),
            ball(81, 29.5, 4.6),
        ],
        lines: ["M30.5 56.5C43 53 57 53 69.5 56.5"],
    },
    king: {
        shapes: [
            "M46.6 29V21.4H39.5V14.6H46.6V8H53.4V14.6H60.5V21.4H53.4V29Z",
            FOOT,
            "M33 76C35.5 71.5 35.5 67 32.5 62.5H67.5C64.5 67 64.5 71.5 67 76Z",
            "M31 64.5C26.5 58 20 53 20 44.5C20 36.5 25.5 31.5 32.5 31.5C40.5 31.5 46 36.5 50 44C54 36.5 59.5 31.5 67.5 31.5C74.5 31.5 80 36.5 80 44.5C80 53 73.5 58 69 64.5Z",
            "M50 46C45.5 38.5 44.5 33.5 50 27.5C55.5 33.5 54.5 38.5 50 46Z",
        ],
        lines: ["M30.5 57C43 53.2 57 53.2 69.5 57"],
    },
};

/**
 * A full circle as a path.
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
function ball(x, y, r) {
    return `M${x - r} ${y}a${r} ${r} 0 1 1 ${2 * r} 0a${r} ${r} 0 1 1 ${-2 * r} 0Z`;
}

/**
 * A chess piece, one unit wide, with its centre at 0, 0.
 * @param {NonNullable<Kind["sprite"]>} name
 * @returns {VNode}
 */
export function drawSprite(name) {
    const { shapes, lines = [], dots = [] } = SPRITES[name];
    return h(
        "g",
        { class: "sprite", transform: "scale(.0098) translate(-50 -49)" },
        shapes.map((d) => h("path", { class: "shape", d })),
        lines.map((d) => h("path", { class: "inner", d })),
        dots.map(([cx, cy, r]) => h("circle", { class: "dot-inner", cx, cy, r })),
    );
}
