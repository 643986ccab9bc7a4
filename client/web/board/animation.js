/**
 * Animates a board from one position to the next: pieces fall, travel, turn over, appear and fade
 * out. Only changed pieces are animated, and none if the user prefers reduced motion or has turned
 * animation off.
 *
 * @import {PositionView} from "../shell/protocol.js"
 * @import {Layout, Place} from "./geometry.js"
 * @import {Scene} from "./board.js"
 */

import { setting } from "../shell/settings.js";

/** Maximum number of new pieces that are animated; more of them mean a jump to another ply. */
const MAX_NEW_PIECES = 2;
/** Maximum number of removed pieces that are animated. */
const MAX_REMOVED_PIECES = 24;

/**
 * Draws the scene and animates its differences from the previous position (null: none).
 * @param {HTMLElement} host
 * @param {Layout} layout
 * @param {Scene} scene
 * @param {PositionView | null} before
 * @param {() => void} draw
 */
export function animate(host, layout, scene, before, draw) {
    const after = scene.position;
    const isMotionReduced = setting("animation") === "off" || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!before || !after || before === after || isMotionReduced) return draw();
    const path = travelPath(before, after);
    const removed = Object.keys(before.pieces).filter((cell) => !(cell in after.pieces) && cell !== path?.[0]);
    const clones = removed.length > MAX_REMOVED_PIECES ? [] : removed.map((cell) => pieceAt(host, cell)?.cloneNode(true));
    draw();
    const added = Object.keys(after.pieces).filter((cell) => !(cell in before.pieces) && cell !== path?.at(-1));
    const changed = Object.keys(after.pieces).filter(
        (cell) => cell in before.pieces && before.pieces[cell] !== after.pieces[cell],
    );
    if (path) travel(host, layout, path);
    if (added.length <= MAX_NEW_PIECES) for (const cell of added) appear(host, layout, cell, hasGravity(scene));
    for (const cell of changed) if (cell !== path?.at(-1)) turnOver(host, cell);
    for (const clone of clones) if (clone instanceof SVGElement) fade(host, clone);
}

/**
 * The path of the last move if a piece moved along it; null for other moves.
 * @param {PositionView} before
 * @param {PositionView} after
 * @returns {string[] | null}
 */
function travelPath(before, after) {
    const path = after.last ?? [];
    const [from, to] = [path[0], path.at(-1)];
    if (path.length < 2 || from === undefined || to === undefined || from === to) return null;
    return from in before.pieces && !(from in after.pieces) && to in after.pieces ? path : null;
}

/** @param {Scene} scene */
function hasGravity(scene) {
    const { board } = scene.board;
    return board.kind === "grid" && board.gravity === true;
}

/**
 * @param {HTMLElement} host
 * @param {string} cell
 */
function pieceAt(host, cell) {
    return host.querySelector(`.pieces > [data-at="${CSS.escape(cell)}"]`);
}

/**
 * @param {HTMLElement} host
 * @param {Layout} layout
 * @param {string[]} path
 */
function travel(host, layout, path) {
    const end = layout.byId.get(path.at(-1) ?? "");
    const stops = path.flatMap((cell) => layout.byId.get(cell) ?? []);
    if (!end) return;
    const keyframes = stops.map(({ x, y }) => ({ transform: `translate(${x - end.x}px, ${y - end.y}px)` }));
    pieceAt(host, end.id)?.firstElementChild?.animate(keyframes, {
        duration: 90 + 90 * (path.length - 1),
        easing: "ease-out",
    });
}

/**
 * @param {HTMLElement} host
 * @param {Layout} layout
 * @param {string} cell
 * @param {boolean} gravity
 */
function appear(host, layout, cell, gravity) {
    const piece = pieceAt(host, cell)?.firstElementChild;
    const place = layout.byId.get(cell);
    if (!piece || !place) return;
    if (gravity) return fall(piece, place.y - layout.frame.y + 0.5);
    piece.animate(
        [
            { transform: "scale(.4)", opacity: 0 },
            { transform: "none", opacity: 1 },
        ],
        { duration: 130, easing: "ease-out" },
    );
}

/**
 * Drops a piece from above the board to its place, accelerating, with a small bounce.
 * @param {Element} piece
 * @param {number} height in cells
 */
function fall(piece, height) {
    const keyframes = [
        { transform: `translateY(${-height}px)`, easing: "cubic-bezier(.45, 0, .9, .55)" },
        { transform: "none", offset: 0.72, easing: "ease-out" },
        { transform: `translateY(${-0.05 * height}px)`, offset: 0.85, easing: "ease-in" },
        { transform: "none" },
    ];
    piece.animate(keyframes, { duration: 150 + 150 * Math.sqrt(height) });
}

/**
 * @param {HTMLElement} host
 * @param {string} cell
 */
function turnOver(host, cell) {
    pieceAt(host, cell)?.firstElementChild?.animate([{ transform: "scaleX(0)" }, { transform: "none" }], {
        duration: 200,
        easing: "ease-out",
    });
}

/**
 * @param {HTMLElement} host
 * @param {SVGElement} clone
 */
function fade(host, clone) {
    host.querySelector(".leaving")?.append(clone);
    const animation = clone.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 220, easing: "ease-in" });
    animation.onfinish = () => clone.remove();
}
