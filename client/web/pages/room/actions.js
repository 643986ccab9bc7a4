/**
 * The buttons for what the viewer may do in a room, and the text about the room's state.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Command} from "../../shell/connection.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {BoardView} from "../../shell/protocol.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly } from "../../shell/model.js";
import { claimReason, isBarred, isInviting, isOneScreen, mySeat, permits, playerName, playerWithSide, resultSeat, viewerSeat } from "./viewer.js";
import { seatOf } from "../../ui/moves.js";
import { hasAi } from "../../ui/table.js";
import { frozenText, occupantName, resultSentence } from "../../shell/words.js";

/**
 * The state of the room or of its match in a few words.
 * @param {Model} model
 * @param {Room} room
 */
export function statusText(model, room) {
    const { match, seats } = room;
    const board = room.description?.view;
    if (isBarred(model) && isInviting(room)) return BARRED_TEXT;
    if (match?.over) {
        const mine = resultSeat(model);
        return resultSentence(match.over, board, mine, (mine === null ? playerWithSide : playerName).bind(null, { ...room, seats: match.seats }));
    }
    if (room.frozen) return frozenText(room.frozen, match !== null);
    if (!match) {
        const free = seats.filter((occupant) => occupant === null).length;
        return ["", mySeat(model) === null ? "A seat is free" : "Waiting for a second player", "Two seats are free"][free] ?? "";
    }
    const ply = headPly(room);
    const turn = room.views[ply]?.turn;
    if (turn == null) return "";
    const again = ply > 0 && seatOf(match.moves, ply - 1) === turn;
    if (turn === viewerSeat(model)) return `Your turn${again ? " again" : ply === 0 ? pressText(board) : ""}`;
    if (seats[turn]?.kind !== "ai") return `${playerName(room, turn)} ${again ? "moves again" : "to move"}`;
    return `${occupantName(seats[turn])} ${doing(room.thoughts[headPly(room)])}`;
}

/**
 * What a press does, where nothing on the board of the start shows it.
 * @param {BoardView | null | undefined} board
 */
function pressText(board) {
    const [shape] = Object.values(board?.kinds ?? {}).map((kind) => kind.shape);
    return shape === "line" ? ": press between two dots" : shape === "stick" ? ": a press takes to the row's end" : "";
}

/**
 * What an AI does whose turn it is: a game that is not compiled yet is getting ready.
 * @param {Room["thoughts"][number] | undefined} thought
 */
function doing(thought) {
    if (thought?.state === "absent") return "waits for an engine";
    const isWaiting = thought?.state === "warming" || thought?.state === "queued";
    return isWaiting && thought.ready != null && !thought.wait ? `is getting ready: ${thought.ready} %` : "is thinking";
}

/** For whom the seat was not meant. */
export const BARRED_TEXT = "The host keeps this seat for someone else. You may watch";

/**
 * The buttons for what the viewer may do in the match, and the links to its replay. Open offers stand
 * below them, so that no button moves away under a pointer.
 * @param {App} app
 * @param {Room} room
 * @param {Content} [again] the buttons for another match
 * @param {boolean} [hasOffered] whether you have offered a draw in this match
 * @returns {Content}
 */
export function drawActions(app, room, again = null, hasOffered = false) {
    const { match } = room;
    if (isBarred(app.model) && isInviting(room)) return h("a", { key: "other", class: "button", href: "/" }, "Play another game");
    if (!match) return null;
    if (!match.over)
        return [
            drawTakeback(app, room),
            drawDrawButtons(app, room, hasOffered),
            drawEndButton(app, room),
        ];
    return [
        again,
        match.moves.length > 0 && h("a", { key: "replay", class: "button", href: `/match/${match.id}` }, "Replay"),
        match.moves.length > 0 && h("a", { key: "analyse", class: "button", href: `/match/${match.id}?analyse` }, "Analyse"),
    ];
}

/**
 * The button to take a move back, or to ask for it.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawTakeback(app, room) {
    // While a request is open the button keeps its place: another one would come under the pointer.
    const isOpen = mySeat(app.model) !== null && room.takebacks.length > 0;
    if (!isOpen && !permits(app.model, "takeback")) return null;
    const send = () => void app.command({ t: "takeback", room: room.id, ply: headPly(room) });
    const isAtOnce = hasAi(room.seats) || isOneScreen(room);
    return h("button", { key: "takeback", disabled: isOpen, onclick: send }, icon("undo"), isAtOnce ? "Take back" : "Ask to take back");
}

/**
 * The buttons to claim a draw and to offer one. A match that can still be aborted needs no offer. After
 * an offer that was declined or withdrawn the server allows no other one for some turns.
 * @param {App} app
 * @param {Room} room
 * @param {boolean} hasOffered
 * @returns {Content}
 */
function drawDrawButtons(app, room, hasOffered) {
    const { model } = app;
    const send = (/** @type {"claim" | "offer_draw"} */ t) => () => void app.command({ t, room: room.id });
    const reason = claimReason(room);
    const claim = reason && h("button", { key: "claim", class: "main", onclick: send("claim") }, `Claim a draw: ${reason}`);
    const isOpen = mySeat(model) !== null && room.offers.length > 0;
    const isAllowed = !permits(model, "abort") && permits(model, "offer_draw");
    const isLater = !isOpen && !isAllowed;
    if (isLater && (!hasOffered || mySeat(model) === null)) return claim;
    const label = isOneScreen(room) ? "Agree on a draw" : isLater ? "Offer a draw again later" : "Offer a draw";
    return [claim, h("button", { key: "draw", disabled: isOpen || isLater, onclick: send("offer_draw") }, icon("draw"), label)];
}

/**
 * The button to abort, or else to resign; it asks first.
 * @param {App} app
 * @param {Room} room
 */
function drawEndButton(app, room) {
    const action = permits(app.model, "abort") ? "abort" : "resign";
    const match = room.match?.id;
    if (!match || !permits(app.model, action)) return null;
    const ask = () => void asking(app, (questions) => questions.endMatch(app, match, action));
    const [name, text] = action === "abort" ? /** @type {const} */ (["cross", "Abort"]) : /** @type {const} */ (["flag", "Resign"]);
    return h("button", { key: action, onclick: ask }, icon(name), text);
}

/**
 * The buttons for one seat: to take it, to give it to an AI, or to leave it.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 * @param {() => Content} drawAiForm draws the form that puts an AI on the seat
 * @returns {Content}
 */
export function drawSeatActions(app, room, seat, drawAiForm) {
    const { model } = app;
    const occupant = room.seats[seat];
    const send = (/** @type {Command} */ command) => () => void app.command(command);
    if (!occupant) {
        const sit = send({ t: "sit", room: room.id, seat });
        return [
            permits(model, "sit") ? h("button", { class: "small main", onclick: sit, ...app.offline }, "Sit here") : null,
            // Where the room invites, the card has these buttons.
            !isInviting(room) && permits(model, "add_ai") ? drawAiForm() : null,
        ];
    }
    if (seat === mySeat(model) && permits(model, "stand"))
        return drawLeaveButton(app, "Leave the seat", send({ t: "stand", room: room.id }));
    if (occupant.kind === "ai" && permits(model, "remove_ai"))
        return drawLeaveButton(app, "Remove the AI", () => void asking(app, (questions) => questions.removeAi(app, room, seat)));
    return null;
}

/**
 * @param {App} app
 * @param {string} label
 * @param {() => void} leave
 */
function drawLeaveButton(app, label, leave) {
    return h("button", { class: "icon-button small", "aria-label": label, title: label, onclick: leave, ...app.offline }, icon("stand"));
}

/**
 * Asks a question of the module that is loaded with the first one, and at the same time the dialog.
 * @param {App} app
 * @param {(questions: typeof import("./questions.js")) => Promise<void>} ask
 */
export async function asking(app, ask) {
    const [questions] = await Promise.all([import("./questions.js"), import("../../ui/dialogs.js")]).catch(() => [null]);
    if (questions) await ask(questions);
    else app.missing();
}
