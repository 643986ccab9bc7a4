/**
 * The buttons for what the viewer may do in a room, and the text about the room's state.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Command} from "../../shell/connection.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { claimReason, headPly, isNewer, mySeat, permits } from "../../shell/model.js";
import { hasAi } from "../../ui/table.js";
import { PERSONAS, aiFields, frozenText, occupantName, resultText, sideName } from "../../shell/words.js";

/**
 * The action that the user must confirm, and the function that sets it.
 * @typedef {{actionToConfirm: "resign" | "abort" | null, setActionToConfirm: (action: "resign" |
 *     "abort" | null) => void}} Confirmation
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
 * The buttons for what the viewer may do in the match, and the link to its replay.
 * @param {App} app
 * @param {Room} room
 * @param {Confirmation} confirmation
 * @returns {Content}
 */
export function drawActions(app, room, confirmation) {
    const { match } = room;
    if (!match) return null;
    if (!match.over) return [drawDrawButtons(app, room), drawEndButton(app, room, confirmation)];
    return [drawRematch(app, room), h("a", { class: "button", href: `/match/${match.id}` }, "Replay")];
}

/**
 * The buttons about a draw: claim, offer, accept or decline. A match that can still be aborted needs
 * no offer.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawDrawButtons(app, room) {
    const { model } = app;
    const send = (/** @type {"claim" | "offer_draw" | "accept" | "decline"} */ t) => () =>
        void app.command({ t, room: room.id });
    const isOffered = room.offers.length > 0;
    const reason = claimReason(room);
    const claim = reason && h("button", { key: "claim", class: "main", onclick: send("claim") }, `Claim a draw: ${reason}`);
    if (isOffered && permits(model, "accept")) {
        return [
            claim,
            h("button", { key: "accept", class: "main", onclick: send("accept") }, icon("draw"), "Accept the draw"),
            h("button", { key: "decline", onclick: send("decline") }, "Decline"),
        ];
    }
    if (isOffered && permits(model, "decline")) return [claim, h("span", { class: "muted" }, "Draw offered")];
    if (permits(model, "abort") || !permits(model, "offer_draw")) return claim;
    return [claim, h("button", { key: "draw", onclick: send("offer_draw") }, icon("draw"), "Offer a draw")];
}

/**
 * The button to abort, or else to resign, which asks for confirmation in place.
 * @param {App} app
 * @param {Room} room
 * @param {Confirmation} confirmation
 */
function drawEndButton(app, room, { actionToConfirm, setActionToConfirm }) {
    const action = permits(app.model, "abort") ? "abort" : "resign";
    if (!permits(app.model, action)) return null;
    const label = action === "abort" ? "Abort" : "Resign";
    const send = () => {
        setActionToConfirm(null);
        void app.command({ t: action, room: room.id });
    };
    if (actionToConfirm !== action)
        return h(
            "button",
            { key: action, onclick: () => setActionToConfirm(action) },
            icon(action === "abort" ? "cross" : "flag"),
            label,
        );
    return h(
        "span",
        { key: "confirm", class: "confirm", role: "group", "aria-label": `${label}?` },
        h("button", { class: "danger", autofocus: true, onclick: send }, `${label} now`),
        h("button", { onclick: () => setActionToConfirm(null) }, "Play on"),
    );
}

/**
 * The buttons about another match: offer, accept, decline, or withdraw one's own offer.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawRematch(app, room) {
    const { model } = app;
    const isOffered = room.offers.length > 0;
    const sendRematch = () => void app.command({ t: "rematch", room: room.id });
    const sendDecline = () => void app.command({ t: "decline", room: room.id });
    if (isOffered && permits(model, "accept")) {
        return [
            h("button", { class: "main", onclick: sendRematch }, icon("again"), "Accept the rematch"),
            h("button", { onclick: sendDecline }, "Decline"),
        ];
    }
    if (isOffered && permits(model, "decline"))
        return [h("span", { class: "muted" }, "Rematch offered"), h("button", { onclick: sendDecline }, "Withdraw")];
    if (!permits(model, "rematch")) return null;
    return h(
        "button",
        { class: "main", onclick: sendRematch },
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
    const { model } = app;
    const occupant = room.seats[seat];
    const send = (/** @type {Command} */ command) => () => void app.command(command);
    if (!occupant) {
        const sit = send({ t: "sit", room: room.id, seat });
        return [
            permits(model, "sit") ? h("button", { class: "small main", onclick: sit }, "Sit here") : null,
            // Before the first match the invitation has these buttons.
            room.match && permits(model, "add_ai") ? drawAddAi(app, room, seat) : null,
        ];
    }
    if (seat === mySeat(model) && permits(model, "stand"))
        return drawLeaveButton("Leave the seat", send({ t: "stand", room: room.id }));
    if (occupant.kind === "ai" && permits(model, "remove_ai"))
        return drawLeaveButton("Remove the AI", send({ t: "remove_ai", room: room.id, seat }));
    return null;
}

/**
 * @param {string} label
 * @param {() => void} leave
 */
function drawLeaveButton(label, leave) {
    return h("button", { class: "icon-button small", "aria-label": label, title: label, onclick: leave }, icon("stand"));
}

/**
 * The form that puts an AI on a seat.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 */
export function drawAddAi(app, room, seat) {
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
