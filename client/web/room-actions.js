/**
 * The actions that a viewer may take in a room now, and the room's state in a few words.
 *
 * @import {App} from "./app.js"
 * @import {Content} from "./elements.js"
 * @import {Model, Room} from "./model.js"
 */

import { h } from "./elements.js";
import { icon } from "./icons.js";
import { drawClaim, headPly, mySeat } from "./model.js";
import { hasAi } from "./table.js";
import { PERSONAS, aiOf, occupantName, resultText, sideName } from "./words.js";

/** Plies from which on a match can be resigned but not aborted. */
const ABORT_PLIES = 2;

/**
 * @typedef {{confirming: "resign" | "abort" | null, confirm: (what: "resign" | "abort" | null) =>
 *     void}} Confirmation
 */

/**
 * @param {Model} model
 * @param {Room} room
 */
export function statusText(model, room) {
    const { match, seats } = room;
    const board = room.description?.view;
    if (!match) return seats.some((occupant) => occupant === null) ? "Waiting for a second player" : "";
    if (match.over) return `${resultText(match.over, board)}: ${match.over.reason}`;
    if (room.frozen) return "This match can be read but not played on: its rules are not here any more";
    const turn = room.views[headPly(room)]?.turn;
    if (turn == null) return "";
    if (turn === mySeat(model)) return "Your turn";
    if (seats[turn]?.kind !== "ai") return `${sideName(board, turn)} to move`;
    const isAbsent = room.thoughts[headPly(room)]?.state === "absent";
    return `${occupantName(seats[turn])} ${isAbsent ? "waits for an engine" : "is thinking"}`;
}

/**
 * The buttons for a player, or for the host.
 * @param {App} app
 * @param {Room} room
 * @param {Confirmation} confirmation
 * @returns {Content}
 */
export function drawActions(app, room, confirmation) {
    const { match } = room;
    const mine = mySeat(app.model);
    const host = app.model.you?.identity === room.description?.host;
    const owner = mine !== null || (host && room.seats.every((occupant) => occupant?.kind === "ai"));
    if (!match) return null;
    if (!match.over)
        return owner ? [drawDraws(app, room, mine), drawEnding(app, room, mine, confirmation)] : null;
    return [
        owner ? drawRematch(app, room, mine) : null,
        h("a", { class: "button", href: `/match/${match.id}` }, "Replay"),
    ];
}

/**
 * The buttons about a draw: claim, offer, accept or decline.
 * @param {App} app
 * @param {Room} room
 * @param {number | null} mine
 * @returns {Content}
 */
function drawDraws(app, room, mine) {
    if (mine === null) return null;
    const give = (/** @type {"claim" | "offer_draw" | "accept" | "decline"} */ t) => () =>
        void app.command({ t, room: room.id });
    const reason = drawClaim(room);
    const claim = reason && h("button", { key: "claim", class: "main", onclick: give("claim") }, `Claim a draw: ${reason}`);
    if (room.offers.includes(1 - mine)) {
        return [
            claim,
            h("button", { key: "accept", class: "main", onclick: give("accept") }, icon("draw"), "Accept the draw"),
            h("button", { key: "decline", onclick: give("decline") }, "Decline"),
        ];
    }
    if (room.offers.includes(mine)) return [claim, h("span", { class: "muted" }, "Draw offered")];
    const early = headPly(room) < ABORT_PLIES;
    return [claim, early ? null : h("button", { key: "draw", onclick: give("offer_draw") }, icon("draw"), "Offer a draw")];
}

/**
 * The button to resign or abort, which asks for confirmation in place.
 * @param {App} app
 * @param {Room} room
 * @param {number | null} mine
 * @param {Confirmation} confirmation
 */
function drawEnding(app, room, mine, { confirming, confirm }) {
    const what = mine === null || headPly(room) < ABORT_PLIES ? "abort" : "resign";
    const label = what === "abort" ? "Abort" : "Resign";
    const act = () => {
        confirm(null);
        void app.command({ t: what, room: room.id });
    };
    if (confirming !== what)
        return h(
            "button",
            { key: what, onclick: () => confirm(what) },
            icon(what === "abort" ? "cross" : "flag"),
            label,
        );
    return h(
        "span",
        { key: "confirm", class: "confirm", role: "group", "aria-label": `${label}?` },
        h("button", { class: "danger", autofocus: true, onclick: act }, `${label} now`),
        h("button", { onclick: () => confirm(null) }, "Play on"),
    );
}

/**
 * @param {App} app
 * @param {Room} room
 * @param {number | null} mine
 */
function drawRematch(app, room, mine) {
    if (room.seats.some((occupant) => occupant === null)) return null;
    const ask = () => void app.command({ t: "rematch", room: room.id });
    const decline = () => void app.command({ t: "decline", room: room.id });
    if (mine !== null && room.offers.includes(mine)) {
        return [h("span", { class: "muted" }, "Rematch offered"), h("button", { onclick: decline }, "Withdraw")];
    }
    if (mine !== null && room.offers.includes(1 - mine)) {
        return [
            h("button", { class: "main", onclick: ask }, icon("again"), "Accept the rematch"),
            h("button", { onclick: decline }, "Decline"),
        ];
    }
    return h(
        "button",
        { class: "main", onclick: ask },
        icon("again"),
        hasAi(room.seats) ? "Play again" : "Offer a rematch",
    );
}

/**
 * The actions on one seat: take it, give it to the AI, leave it.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 * @returns {Content}
 */
export function drawSeatActions(app, room, seat) {
    const occupant = room.seats[seat];
    const mine = mySeat(app.model);
    const host = app.model.you?.identity === room.description?.host;
    if (room.frozen || (room.match && !room.match.over)) return null;
    if (occupant === null || occupant === undefined) {
        return [
            mine === null
                ? h(
                      "button",
                      { class: "small main", onclick: () => void app.command({ t: "sit", room: room.id, seat }) },
                      "Sit here",
                  )
                : null,
            host ? drawAddAi(app, room, seat) : null,
        ];
    }
    if (seat === mine) return drawLeave("Leave the seat", () => void app.command({ t: "stand", room: room.id }));
    return occupant.kind === "ai" && host
        ? drawLeave("Remove the AI", () => void app.command({ t: "remove_ai", room: room.id, seat }))
        : null;
}

/**
 * @param {string} label
 * @param {() => void} act
 */
function drawLeave(label, act) {
    return h("button", { class: "icon-button small", "aria-label": label, title: label, onclick: act }, icon("stand"));
}

/**
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 */
function drawAddAi(app, room, seat) {
    const levels = Array.from({ length: room.description?.levels ?? 1 }, (_, i) => i + 1);
    const usual = Math.ceil(levels.length / 2);
    const submit = (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        if (!(event.currentTarget instanceof HTMLFormElement)) return;
        const level = String(new FormData(event.currentTarget).get("level"));
        void app.command({ t: "add_ai", room: room.id, seat, ...aiOf(level) });
    };
    const options = [
        ...levels.map((level) => h("option", { value: level, selected: level === usual }, `level ${level}`)),
        ...Object.entries(PERSONAS).map(([key, { name }]) => h("option", { value: key }, name.toLowerCase())),
    ];
    return h(
        "form",
        { class: "add-ai", onsubmit: submit },
        h("select", { name: "level", class: "small", "aria-label": "Level or character of the AI" }, options),
        h("button", { class: "small" }, "Add AI"),
    );
}
