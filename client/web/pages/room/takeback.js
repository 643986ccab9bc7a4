/**
 * The button to take a move back, and the sentence with the answers to a request for it.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly } from "../../shell/model.js";
import { isOneScreen, mySeat, permits } from "../../shell/viewer.js";
import { occupantName } from "../../shell/words.js";
import { hasAi } from "../../ui/table.js";

/**
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
export function drawTakeback(app, room) {
    if (!permits(app.model, "takeback")) return null;
    const send = () => void app.command({ t: "takeback", room: room.id, ply: headPly(room) });
    const isAtOnce = hasAi(room.seats) || isOneScreen(room);
    return h("button", { key: "takeback", onclick: send }, icon("undo"), isAtOnce ? "Take back" : "Ask to take back");
}

/**
 * "Ada asks to take a move back." with the buttons to accept and decline, or "You asked to take a
 * move back." with the button to withdraw the request.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
export function drawTakebackRequest(app, room) {
    const { model } = app;
    const seat = mySeat(model);
    if (seat === null || room.takebacks.length === 0) return null;
    const request = room.takebacks.find((each) => each.seat !== seat);
    const accept = () => void app.command({ t: "accept", room: room.id, what: "takeback", ply: headPly(room) });
    const decline = () => void app.command({ t: "decline", room: room.id, what: "takeback" });
    const sentence = request
        ? `${occupantName(room.seats[request.seat])} asks to take a move back.`
        : "You asked to take a move back.";
    return h(
        "div",
        { key: "takeback-request", class: "offer", role: "group", "aria-label": sentence },
        h("p", null, sentence),
        request ? h("button", { key: "accept", class: "main", onclick: accept }, "Accept") : null,
        h("button", { key: "decline", onclick: decline }, request ? "Decline" : "Withdraw"),
    );
}
