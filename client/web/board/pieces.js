/**
 * Draws the pieces of all games. A piece is one unit wide, with its centre at 0, 0; the style sheet
 * sets its colours by side.
 *
 * @import {BoardView, Kind} from "../shell/protocol.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { drawSprite } from "./sprites.js";
import { h } from "../shell/elements.js";

/** The angle from a seed of a heap to the next, which spreads them evenly. */
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));
/** The path of a crown. */
const CROWN = "M-.2 .13 -.25 -.14 -.1 0 0 -.21 .1 0 .25 -.14 .2 .13Z";

/** The outline of a rock, and the edges of its faces. */
const ROCK = "M-.37 .2 -.4 -.04 -.24 -.29 .05 -.36 .3 -.23 .4 .05 .3 .26 -.02 .33Z";
const FACETS = "M-.24 -.29 -.12 -.06 -.37 .2M-.12 -.06 .16 .02 .3 -.23M.16 .02 .1 .31";
/** The outline of a sheet of paper with a folded corner, and the fold with lines of writing. */
const SHEET = "M-.28 -.37H.12L.28 -.21V.37H-.28Z";
const WRITING = "M.12 -.37V-.21H.28M-.17 -.07H.17M-.17 .07H.17M-.17 .21H.06";
/** The blades of a pair of scissors, down to their handles. */
const BLADES = "M-.19 -.38 .12 .16M.19 -.38 -.12 .16";

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
    if (kind?.count) return drawHeap(kind.count, kind.mark ?? String(kind.count), name("heap"));
    const shape = kind?.shape ?? "disc";
    const body = kind?.angle ? h("g", { transform: `rotate(${kind.angle})` }, drawBody(shape)) : drawBody(shape);
    return h("g", name(shape), body, drawEmblem(kind, shape));
}

/**
 * A heap of seeds with its number below them. The first seed is in the middle, and each further one
 * a golden angle on around it.
 * @param {number} count
 * @param {string} text
 * @param {Record<string, string>} attributes
 * @returns {VNode}
 */
function drawHeap(count, text, attributes) {
    const r = Math.min(0.1, 0.3 / Math.sqrt(count));
    const seeds = Array.from({ length: count }, (_, i) => {
        const distance = count === 1 ? 0 : (0.35 - r) * Math.sqrt((i + 0.5) / count);
        const angle = i * GOLDEN_ANGLE;
        const [cx, cy] = [distance * Math.cos(angle), distance * Math.sin(angle) - 0.08];
        return h("circle", { class: i % 2 ? "seed light" : "seed", cx: cx.toFixed(3), cy: cy.toFixed(3), r: r.toFixed(3) });
    });
    return h("g", attributes, seeds, h("text", { class: "count", y: 0.31, dy: ".35em" }, text));
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
        case "rock":
            return [h("path", { class: "body", d: ROCK }), h("path", { class: "edges", d: FACETS })];
        case "paper":
            return [h("path", { class: "body", d: SHEET }), h("path", { class: "edges", d: WRITING })];
        case "scissors":
            return [
                h("path", { class: "line", d: BLADES }),
                h("circle", { class: "line", cx: -0.17, cy: 0.25, r: 0.11 }),
                h("circle", { class: "line", cx: 0.17, cy: 0.25, r: 0.11 }),
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

/**
 * A piece of a side; a disc in its colour if it has no kind of its own.
 * @param {BoardView | null} board
 * @param {number} seat
 * @returns {VNode}
 */
export function drawSide(board, seat) {
    const colours = { "--side-0": board?.seats[0]?.colour ?? "", "--side-1": board?.seats[1]?.colour ?? "" };
    const kind = Object.values(board?.kinds ?? {}).find(({ side }) => side === seat) ?? { name: "", side: seat };
    const style = board?.board.style ?? "plain";
    return h(
        "svg",
        { class: `side-piece board ${style}`, viewBox: "-.5 -.5 1 1", "aria-hidden": "true", ...colours },
        drawPiece(kind),
    );
}
