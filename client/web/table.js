/**
 * The board with the bars of both players, in a live room and in a replay.
 *
 * @import {MatchState, Occupant, MatchResult} from "./protocol.js"
 * @import {Scene} from "./board.js"
 * @import {Content, Description} from "./elements.js"
 * @import {Player} from "./players.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";
import { drawPlayer } from "./players.js";
import { isDraw } from "./words.js";

/**
 * @typedef {object} Table
 * @property {Scene | null} scene null while the board is unknown
 * @property {[Player, Player]} players in the order of the seats
 * @property {number} bottom the seat on the lower side
 * @property {(move: Scene["moves"][number]) => void} [play]
 * @property {(text: string) => void} [say]
 * @property {Content} [over] content over the board
 */

/**
 * @param {Table} table
 * @returns {Description}
 */
export function drawTable({ scene, players, bottom, play, say, over }) {
    const handlers = {
        "onply-move": (/** @type {CustomEvent} */ event) => play?.(event.detail),
        "onply-say": (/** @type {CustomEvent} */ event) => say?.(event.detail),
    };
    return h(
        "section",
        { class: "table", "aria-label": "Board" },
        drawPlayer(players[1 - bottom]),
        h(
            "div",
            { class: "board-place" },
            scene ? h("ply-board", { own: true, ".scene": scene, ...handlers }) : null,
            over ?? null,
        ),
        drawPlayer(players[bottom]),
    );
}

/**
 * @param {() => void} turn
 * @returns {Description}
 */
export function drawFlip(turn) {
    const words = "Turn the board round";
    return h("button", { class: "icon-button small", "aria-label": words, title: words, onclick: turn }, icon("flip"));
}

/**
 * What the end of a match means for a seat.
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
