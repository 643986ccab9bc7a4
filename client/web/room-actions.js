/**
 * The buttons for what the viewer may do in a room, and the text about the room's state.
 *
 * @import {App} from "./app.js"
 * @import {Content} from "./elements.js"
 * @import {Model, Room} from "./model.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";
import { claimReason, headPly, isNewer, mySeat } from "./model.js";
import { hasAi } from "./table.js";
import { PERSONAS, aiFields, frozenText, occupantName, resultText, sideName } from "./words.js";

/** From this ply on, a player may resign and offer draws; before, the player may only abort. */
const ABORT_PLIES = 2;

/**
 * The action that the user must confirm, and the function that sets it.
 * @typedef {{confirming: "resign" | "abort" | null, confirm: (action: "resign" | "abort" | null) =>
 *     void}} Confirmation
 */

/**
 * The state of the room or of its match in a few words.
 * @param {Model} model
 * @param {Room} room
 */
export function statusText(model, room) {
    const { match, seats } = room;
    const board = room.description?.view;
    if (match?.over) return `${resultText(match.over, board)}: ${match.over.reason}`;
    if (room.frozen && (match || isNewer(room))) return frozenText(room.frozen);
    if (!match) return seats.some((occupant) => occupant === null) ? "Waiting for a second player" : "";
    const turn = room.views[headPly(room)]?.turn;
    if (turn == null) return "";
    if (turn === mySeat(model)) return "Your turn";
    if (seats[turn]?.kind !== "ai") return `${sideName(board, turn)} to move`;
    const isAbsent = room.thoughts[headPly(room)]?.state === "absent";
    return `${occupantName(seats[turn])} ${isAbsent ? "waits for an engine" : "is thinking"}`;
}

/**
 * The buttons for a player of the match, or for the host of a match between AIs.
 * @param {App} app
 * @param {Room} room
 * @param {Confirmation} confirmation
 * @returns {Content}
 */
export function drawActions(app, room, confirmation) {
    const { match } = room;
    const viewerSeat = mySeat(app.model);
    const isHost = app.model.you?.identity === room.description?.host;
    const holdsSeats = viewerSeat !== null || (isHost && room.seats.every((occupant) => occupant?.kind === "ai"));
    const mayAct = holdsSeats && !isNewer(room);
    if (!match) return null;
    if (!match.over)
        return mayAct ? [drawDrawButtons(app, room, viewerSeat), drawEndButton(app, room, viewerSeat, confirmation)] : null;
    return [
        mayAct ? drawRematch(app, room, viewerSeat) : null,
        h("a", { class: "button", href: `/match/${match.id}` }, "Replay"),
    ];
}

/**
 * The buttons about a draw: claim, offer, accept or decline.
 * @param {App} app
 * @param {Room} room
 * @param {number | null} viewerSeat
 * @returns {Content}
 */
function drawDrawButtons(app, room, viewerSeat) {
    if (viewerSeat === null) return null;
    const send = (/** @type {"claim" | "offer_draw" | "accept" | "decline"} */ t) => () =>
        void app.command({ t, room: room.id });
    const reason = claimReason(room);
    const claim = reason && h("button", { key: "claim", class: "main", onclick: send("claim") }, `Claim a draw: ${reason}`);
    if (room.offers.includes(1 - viewerSeat)) {
        return [
            claim,
            h("button", { key: "accept", class: "main", onclick: send("accept") }, icon("draw"), "Accept the draw"),
            h("button", { key: "decline", onclick: send("decline") }, "Decline"),
        ];
    }
    if (room.offers.includes(viewerSeat)) return [claim, h("span", { class: "muted" }, "Draw offered")];
    const mayAbort = headPly(room) < ABORT_PLIES;
    return [claim, mayAbort ? null : h("button", { key: "draw", onclick: send("offer_draw") }, icon("draw"), "Offer a draw")];
}

/**
 * The button to resign or abort, which asks for confirmation in place.
 * @param {App} app
 * @param {Room} room
 * @param {number | null} viewerSeat
 * @param {Confirmation} confirmation
 */
function drawEndButton(app, room, viewerSeat, { confirming, confirm }) {
    const action = viewerSeat === null || headPly(room) < ABORT_PLIES ? "abort" : "resign";
    const label = action === "abort" ? "Abort" : "Resign";
    const send = () => {
        confirm(null);
        void app.command({ t: action, room: room.id });
    };
    if (confirming !== action)
        return h(
            "button",
            { key: action, onclick: () => confirm(action) },
            icon(action === "abort" ? "cross" : "flag"),
            label,
        );
    return h(
        "span",
        { key: "confirm", class: "confirm", role: "group", "aria-label": `${label}?` },
        h("button", { class: "danger", autofocus: true, onclick: send }, `${label} now`),
        h("button", { onclick: () => confirm(null) }, "Play on"),
    );
}

/**
 * @param {App} app
 * @param {Room} room
 * @param {number | null} viewerSeat
 */
function drawRematch(app, room, viewerSeat) {
    if (room.seats.some((occupant) => occupant === null)) return null;
    const offer = () => void app.command({ t: "rematch", room: room.id });
    const decline = () => void app.command({ t: "decline", room: room.id });
    if (viewerSeat !== null && room.offers.includes(viewerSeat)) {
        return [h("span", { class: "muted" }, "Rematch offered"), h("button", { onclick: decline }, "Withdraw")];
    }
    if (viewerSeat !== null && room.offers.includes(1 - viewerSeat)) {
        return [
            h("button", { class: "main", onclick: offer }, icon("again"), "Accept the rematch"),
            h("button", { onclick: decline }, "Decline"),
        ];
    }
    return h(
        "button",
        { class: "main", onclick: offer },
        icon("again"),
        hasAi(room.seats) ? "Play again" : "Offer a rematch",
    );
}

/**
 * The buttons for one seat: to take it, to give it to an AI, or to leave it.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 * @returns {Content}
 */
export function drawSeatActions(app, room, seat) {
    const occupant = room.seats[seat];
    const viewerSeat = mySeat(app.model);
    const isHost = app.model.you?.identity === room.description?.host;
    if (room.frozen || (room.match && !room.match.over)) return null;
    if (occupant === null || occupant === undefined) {
        return [
            viewerSeat === null
                ? h(
                      "button",
                      { class: "small main", onclick: () => void app.command({ t: "sit", room: room.id, seat }) },
                      "Sit here",
                  )
                : null,
            isHost ? drawAddAi(app, room, seat) : null,
        ];
    }
    if (seat === viewerSeat) return drawLeaveButton("Leave the seat", () => void app.command({ t: "stand", room: room.id }));
    return occupant.kind === "ai" && isHost
        ? drawLeaveButton("Remove the AI", () => void app.command({ t: "remove_ai", room: room.id, seat }))
        : null;
}

/**
 * @param {string} label
 * @param {() => void} leave
 */
function drawLeaveButton(label, leave) {
    return h("button", { class: "icon-button small", "aria-label": label, title: label, onclick: leave }, icon("stand"));
}

/**
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 */
function drawAddAi(app, room, seat) {
    const levels = Array.from({ length: room.description?.levels ?? 1 }, (_, i) => i + 1);
    const defaultLevel = Math.ceil(levels.length / 2);
    const submit = (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        if (!(event.currentTarget instanceof HTMLFormElement)) return;
        const level = String(new FormData(event.currentTarget).get("level"));
        void app.command({ t: "add_ai", room: room.id, seat, ...aiFields(level) });
    };
    const options = [
        ...levels.map((level) => h("option", { value: level, selected: level === defaultLevel }, `level ${level}`)),
        ...Object.entries(PERSONAS).map(([key, { name }]) => h("option", { value: key }, name.toLowerCase())),
    ];
    return h(
        "form",
        { class: "add-ai", onsubmit: submit },
        h("select", { name: "level", class: "small", "aria-label": "Level or character of the AI" }, options),
        h("button", { class: "small" }, "Add AI"),
    );
}
