/**
 * What a board needs seldom: buttons to choose between moves with the same path, such as promotions, and
 * why a piece may not move. Pure functions.
 *
 * @import {BoardView, MoveView} from "../shell/protocol.js"
 * @import {Scene} from "./board.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { drawPiece } from "./pieces.js";
import { h } from "../shell/elements.js";

/**
 * A form with a button for each move, whose value is the move's id. A promotion shows the piece.
 * @param {BoardView} board
 * @param {MoveView[]} moves
 * @returns {VNode}
 */
export function drawChoices(board, moves) {
    const buttons = moves.map((move, i) =>
        h(
            "button",
            { value: move.id, class: move.ghost ? "piece-choice" : null, autofocus: i === 0 },
            move.ghost ? drawChoicePiece(board, move.ghost[1]) : null,
            move.choice ?? move.text,
        ),
    );
    return h("form", { method: "dialog" }, buttons, h("button", { value: "", class: "quiet" }, "Cancel"));
}

/** Maximum number of pieces that a sentence names. */
const MAX_NAMED = 3;

/**
 * That the player must capture, and with which pieces: where each of several pieces on the board could
 * be moved, but every legal move takes a piece of the other side; "" elsewhere.
 * @param {Scene | null} scene
 */
export function captureText(scene) {
    const { board, position, moves = [] } = scene ?? {};
    const side = (/** @type {string | undefined} */ cell) => board?.kinds[position?.pieces[cell ?? ""] ?? ""]?.side ?? null;
    const captures = moves.every(({ path: [from, ...to], affects = [] }) => {
        const own = side(from);
        return own !== null && to.length > 0 && affects.some((cell) => side(cell) === 1 - own);
    });
    if (!captures || moves.length === 0) return "";
    const from = [...new Set(moves.map(({ path }) => path[0]))];
    return from.length > MAX_NAMED ? "You must capture" : `You must capture with ${from.join(" or ")}`;
}

/**
 * @param {BoardView} board
 * @param {string} kind
 */
function drawChoicePiece(board, kind) {
    const colours = { "--side-0": board.seats[0]?.colour ?? "", "--side-1": board.seats[1]?.colour ?? "" };
    return h(
        "svg",
        { class: `board ${board.board.style ?? "plain"}`, viewBox: "-.5 -.5 1 1", "aria-hidden": "true", ...colours },
        drawPiece(board.kinds[kind]),
    );
}
