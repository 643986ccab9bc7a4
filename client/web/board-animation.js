/**
 * Animates a board from one position to the next: pieces fall, travel, turn over, appear and fade.
 * Only changed pieces move, and none where the user prefers less motion.
 *
 * @import {PositionView} from "./protocol.js"
 * @import {Layout, Place} from "./board-geometry.js"
 * @import {Scene} from "./board.js"
 */

/** The most new pieces of a move; more mean a jump to another ply, which is not animated. */
const MOST_NEW = 2;
const MOST_GONE = 24;

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
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (!before || !after || before === after || still) return draw();
    const traveller = travels(before, after);
    const gone = Object.keys(before.pieces).filter((cell) => !(cell in after.pieces) && cell !== traveller?.[0]);
    const clones = gone.length > MOST_GONE ? [] : gone.map((cell) => pieceAt(host, cell)?.cloneNode(true));
    draw();
    const appeared = Object.keys(after.pieces).filter((cell) => !(cell in before.pieces) && cell !== traveller?.at(-1));
    const turned = Object.keys(after.pieces).filter(
        (cell) => cell in before.pieces && before.pieces[cell] !== after.pieces[cell],
    );
    if (traveller) travel(host, layout, traveller);
    if (appeared.length <= MOST_NEW) for (const cell of appeared) appear(host, layout, cell, gravityOf(scene));
    for (const cell of turned) if (cell !== traveller?.at(-1)) turnOver(host, cell);
    for (const clone of clones) if (clone instanceof SVGElement) fade(host, clone);
}

/**
 * The path of the last move, if a piece went from its first cell to its last.
 * @param {PositionView} before
 * @param {PositionView} after
 * @returns {string[] | null}
 */
function travels(before, after) {
    const path = after.last ?? [];
    const [from, to] = [path[0], path.at(-1)];
    if (path.length < 2 || from === undefined || to === undefined || from === to) return null;
    return from in before.pieces && !(from in after.pieces) && to in after.pieces ? path : null;
}

/** @param {Scene} scene */
function gravityOf(scene) {
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
    const leaving = clone.animate([{ opacity: 1 }, { opacity: 0 }], { duration: 220, easing: "ease-in" });
    leaving.onfinish = () => clone.remove();
}
