/**
 * The bar of one side: its piece, its player, whether the player is connected, and whose turn it is.
 *
 * @import {BoardView, Occupant} from "../shell/protocol.js"
 * @import {Content, VNode} from "../shell/elements.js"
 */

import { drawPiece, drawSide } from "../board/pieces.js";
import { h } from "../shell/elements.js";
import { aiTitle, occupantName, plural, sideName } from "../shell/words.js";

/**
 * @typedef {object} Player
 * @property {number} seat
 * @property {Occupant | null} occupant
 * @property {BoardView | null} board
 * @property {boolean | null} online null when unknown, and in a replay
 * @property {string} [away] where the player is who is not online: "has gone"
 * @property {Record<string, number>} hands the number of pieces in hand of each kind, for both
 *     sides
 * @property {Record<string, string> | null} pieces the kinds of the pieces on the board, by cell; null
 *     before a match
 * @property {boolean} toMove
 * @property {boolean} [isPast] whether the board shows an earlier position than the one to move in
 * @property {boolean} thinking whether the AI on this seat is searching
 * @property {boolean} you whether the viewer holds this seat
 * @property {"won" | "lost" | "drawn" | null} result
 * @property {string} [score] the points over the matches of the room, against the player of the other
 *     seat
 * @property {string} [prompt] what the player must choose to complete a move, or ""
 * @property {Content} [actions] the buttons for this seat
 * @property {Content} [clock]
 * @property {string[]} [levels] the names of the AI's levels, the lowest first
 * @property {string} [mark] what tells the player from others of the same name
 */

/**
 * @param {Player} player
 * @returns {VNode}
 */
export function drawPlayer(player) {
    const { seat, occupant, board, online, toMove, you, result } = player;
    const presence = online ? "online" : (player.away ?? "offline");
    return h(
        "div",
        { class: ["player", toMove && "to-move", result], "data-seat": seat },
        drawSide(board, seat),
        occupant && online !== null
            ? h("span", {
                  class: online ? "presence online" : "presence",
                  role: "img",
                  "aria-label": presence,
                  title: presence,
              })
            : null,
        h("span", { class: occupant ? "who" : "who nobody" }, h("bdi", null, occupantName(occupant)), player.mark),
        occupant?.kind === "ai"
            ? h("span", { class: "badge", title: aiTitle(occupant) }, player.levels?.[(occupant.level ?? 0) - 1] ?? "AI")
            : null,
        you ? h("span", { class: "badge you" }, "you") : null,
        player.score === undefined ? null : drawPoints(player.score, `${player.score} in this room`),
        h("span", { class: "side" }, sideName(board, seat)),
        board && player.pieces
            ? [drawCount(board, seat, player.pieces), drawAhead(board, seat, player.pieces)]
            : null,
        board ? drawHand(board, seat, player.hands) : null,
        player.actions ?? null,
        h("span", { class: "turn" }, drawTurn(player)),
        player.clock ?? null,
    );
}

/** The points of a match by its result. */
const POINTS = { won: "1", drawn: "½", lost: "0" };

/**
 * @param {string} points
 * @param {string | null} [text] what they are
 */
function drawPoints(points, text = null) {
    return h("b", { class: "points", role: text && "img", "aria-label": text, title: text }, `${points} pt${points === "1" ? "" : "s"}`);
}

/**
 * @param {Player} player
 */
function drawTurn({ toMove, thinking, prompt, result, score, isPast }) {
    if (result && score === undefined) return drawPoints(POINTS[result]);
    if (!toMove) return null;
    const now = isPast ? " now" : "";
    if (thinking) return h("span", { class: "pulse" }, `thinking${now}`);
    // The one or the other is shown, as there is room.
    return [prompt && h("span", { class: "pulse prompt" }, prompt), h("span", null, `to move${now}`)];
}

/**
 * The number of the side's pieces on the board, in games where it matters.
 * @param {BoardView} board
 * @param {number} seat
 * @param {Record<string, string>} pieces
 */
function drawCount({ kinds, counted, stores }, seat, pieces) {
    if (!counted) return null;
    const count = stores?.length
        ? (stores[seat] ?? []).reduce((sum, cell) => sum + (kinds[pieces[cell] ?? ""]?.count ?? 0), 0)
        : Object.values(pieces).filter((kind) => kinds[kind]?.side === seat).length;
    return h("span", { class: "count" }, stores?.length ? `store ${count}` : plural(count, counted));
}

/**
 * The pieces by which the side is ahead, in games whose pieces differ: for each kind, as many as the
 * opponent has fewer.
 * @param {BoardView} board
 * @param {number} seat
 * @param {Record<string, string>} pieces
 */
function drawAhead(board, seat, pieces) {
    const count = (/** @type {number} */ side, /** @type {string} */ sprite) =>
        Object.values(pieces).filter((kind) => board.kinds[kind]?.side === side && board.kinds[kind]?.sprite === sprite)
            .length;
    const taken = Object.entries(board.kinds).flatMap(([kind, { side, sprite, name }]) => {
        const ahead = side === 1 - seat && sprite ? count(seat, sprite) - count(side, sprite) : 0;
        return ahead > 0 ? [{ kind, name, ahead }] : [];
    });
    if (taken.length === 0) return null;
    const text = `Ahead by: ${taken.map(({ name, ahead }) => `${ahead} ${name}`).join(", ")}`;
    return h(
        "span",
        { class: "hand ahead", role: "img", "aria-label": text, title: text },
        taken.map(({ kind, ahead }) => drawHandPieces(board, kind, ahead)),
    );
}

/** Maximum number of pieces in hand that are drawn one by one; their number is always shown. */
const MAX_HAND_PIECES = 9;
/** The distance between overlapping pieces in hand, in cells. */
const HAND_STEP_CELLS = 0.42;

/**
 * The pieces in hand of a side.
 * @param {BoardView} board
 * @param {number} seat
 * @param {Record<string, number>} hands
 */
function drawHand(board, seat, hands) {
    const held = Object.entries(hands).filter(([kind, count]) => count > 0 && (board.kinds[kind]?.side ?? 0) === seat);
    if (held.length === 0) return null;
    const text = held.map(([kind, count]) => `${count} ${board.kinds[kind]?.name ?? kind}`).join(", ");
    return h(
        "span",
        { class: "hand", role: "img", "aria-label": `in hand: ${text}`, title: `In hand: ${text}` },
        held.map(([kind, count]) => [drawHandPieces(board, kind, Math.min(count, MAX_HAND_PIECES)), h("b", null, count)]),
    );
}

/**
 * @param {BoardView} board
 * @param {string} kind
 * @param {number} count
 */
function drawHandPieces(board, kind, count) {
    const colours = { "--side-0": board.seats[0]?.colour ?? "", "--side-1": board.seats[1]?.colour ?? "" };
    const width = 1 + HAND_STEP_CELLS * (count - 1);
    const pieces = Array.from({ length: count }, (_, i) =>
        h("g", { transform: `translate(${(HAND_STEP_CELLS * i).toFixed(2)} 0)` }, drawPiece(board.kinds[kind])),
    );
    const size = { "--hand-width": width.toFixed(2) };
    const box = `-.5 -.5 ${width.toFixed(2)} 1`;
    // On a narrow window only the beginning of the row is shown, with the number beside it.
    const cut = { viewBox: box, preserveAspectRatio: "xMinYMid slice" };
    return h("svg", { class: `board ${board.board.style ?? "plain"}`, ...cut, ...colours, ...size }, pieces);
}
