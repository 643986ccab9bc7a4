/**
 * The bar of one side: its colour, who plays it, whether they are here and whether it is their turn.
 *
 * @import {BoardView, Occupant} from "./protocol.js"
 * @import {Content, Description} from "./elements.js"
 */

import { drawPiece } from "./board-pieces.js";
import { h } from "./elements.js";
import { occupantName, sideName } from "./words.js";

/**
 * @typedef {object} Player
 * @property {number} seat
 * @property {Occupant | null} occupant
 * @property {BoardView | null} board
 * @property {boolean | null} online null when nobody knows or asks
 * @property {boolean} toMove
 * @property {boolean} thinking
 * @property {boolean} you
 * @property {"won" | "lost" | "drawn" | null} result
 * @property {Content} [actions] what can be done with this seat
 */

/**
 * @param {Player} player
 * @returns {Description}
 */
export function drawPlayer(player) {
    const { seat, occupant, board, online, toMove, thinking, you, result } = player;
    return h(
        "div",
        { class: ["player", toMove && "to-move", result], "data-seat": seat },
        drawSide(board, seat),
        occupant && online !== null
            ? h("span", {
                  class: online ? "presence here" : "presence",
                  role: "img",
                  "aria-label": online ? "here" : "away",
                  title: online ? "here" : "away",
              })
            : null,
        h("span", { class: occupant ? "who" : "who nobody" }, occupantName(occupant)),
        occupant?.kind === "ai"
            ? h("span", { class: "badge", title: `The AI at level ${occupant.level ?? "?"}` }, "AI")
            : null,
        you ? h("span", { class: "badge you" }, "you") : null,
        h("span", { class: "side" }, sideName(board, seat)),
        player.actions ?? null,
        h("span", { class: "turn" }, drawTurn(toMove, thinking, result)),
    );
}

/**
 * @param {boolean} toMove
 * @param {boolean} thinking
 * @param {Player["result"]} result
 */
function drawTurn(toMove, thinking, result) {
    if (result === "won") return h("b", { class: "points" }, "1");
    if (result === "drawn") return h("b", { class: "points" }, "½");
    if (result === "lost") return h("b", { class: "points" }, "0");
    if (!toMove) return null;
    return thinking ? h("span", { class: "pulse" }, "thinking") : "to move";
}

/**
 * The piece, or else the colour, that stands for a side.
 * @param {BoardView | null} board
 * @param {number} seat
 * @returns {Description}
 */
export function drawSide(board, seat) {
    const colours = { "--side-0": board?.seats[0]?.colour ?? "", "--side-1": board?.seats[1]?.colour ?? "" };
    const kind = Object.values(board?.kinds ?? {}).find((one) => one.side === seat) ?? { name: "", side: seat };
    const style = board?.board.style ?? "plain";
    return h(
        "svg",
        { class: `side-piece board ${style}`, viewBox: "-.5 -.5 1 1", "aria-hidden": "true", ...colours },
        drawPiece({ ...kind, sprite: null }),
    );
}
