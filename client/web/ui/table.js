/**
 * The board with the bars of both players, in a room and in a replay.
 *
 * @import {MatchState, Occupant, MatchResult} from "../shell/protocol.js"
 * @import {Scene} from "../board/board.js"
 * @import {Content, VNode} from "../shell/elements.js"
 * @import {Player} from "./players.js"
 */

import "../board/board.js";
import { h } from "../shell/elements.js";
import { icon } from "../shell/icons.js";
import { drawPlayer } from "./players.js";
import { isDraw } from "../shell/words.js";

/**
 * @typedef {object} Table
 * @property {Scene | null} scene null while the board is unknown
 * @property {[Player, Player]} players in the order of the seats
 * @property {number} bottom the seat whose bar is below the board
 * @property {(move: Scene["moves"][number]) => void} [play]
 * @property {(text: string) => void} [announce] makes screen readers speak a text
 * @property {(text: string, placed: [string, string] | null) => void} [prompt] called with what the
 *     player must choose to complete a move, or "", and with the cell and the kind of a piece that its
 *     first part has set from the hand
 * @property {Content} [overlay] content over the board, or in the gap beside it
 */

/**
 * @param {Table} table
 * @returns {VNode}
 */
export function drawTable({ scene, players, bottom, play, announce, prompt, overlay }) {
    const handlers = {
        "onply-move": (/** @type {CustomEvent} */ event) => play?.(event.detail),
        "onply-announce": (/** @type {CustomEvent} */ event) => announce?.(event.detail),
        "onply-prompt": (/** @type {CustomEvent} */ event) => prompt?.(event.detail.text, event.detail.placed),
    };
    return h(
        "section",
        { class: "table", "aria-label": "Board" },
        drawPlayer(players[1 - bottom]),
        h(
            "div",
            { class: "board-place" },
            scene ? h("ply-board", { managesChildren: true, ".scene": scene, ...handlers }) : null,
            overlay ?? null,
        ),
        drawPlayer(players[bottom]),
    );
}

/**
 * The button that turns the board by 180 degrees.
 * @param {() => void} turn
 * @returns {VNode}
 */
export function drawFlip(turn) {
    const label = "Turn the board round";
    return h("button", { class: "icon-button small", "aria-label": label, title: label, onclick: turn }, icon("flip"));
}

/**
 * The result of a match for a seat; null while the match runs, and for a match without a result.
 * @param {MatchResult | null | undefined} over
 * @param {number} seat
 * @returns {Player["result"]}
 */
export function resultFor(over, seat) {
    if (!over) return null;
    if (over.winner !== null) return over.winner === seat ? "won" : "lost";
    return isDraw(over) ? "drawn" : null;
}

/**
 * @param {(Occupant | null)[]} seats
 */
export function hasAi(seats) {
    return seats.some((occupant) => occupant?.kind === "ai");
}
