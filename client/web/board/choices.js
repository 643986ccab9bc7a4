/**
 * Buttons to choose between moves with the same path, such as promotions. Pure functions.
 *
 * @import {BoardView, MoveView} from "../shell/protocol.js"
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
