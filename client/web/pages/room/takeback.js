/**
 * The buttons to take a move back, and to answer the opponent's request for it.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly, isOneScreen, mySeat, permits } from "../../shell/model.js";
import { sideName } from "../../shell/words.js";
import { hasAi } from "../../ui/table.js";

/**
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
export function drawTakeback(app, room) {
    const { model } = app;
    const ply = headPly(room);
    const seat = mySeat(model);
    const request = seat === null ? null : room.takebacks.find((each) => each.seat !== seat);
    if (request && permits(model, "accept")) return drawRequest(app, room, request.seat);
    if (room.takebacks.some((each) => each.seat === seat))
        return h("span", { key: "asked", class: "muted" }, "Takeback asked for");
    if (!permits(model, "takeback")) return null;
    const isAtOnce = hasAi(room.seats) || isOneScreen(room);
    return h(
        "button",
        { key: "takeback", onclick: () => void app.command({ t: "takeback", room: room.id, ply }) },
        icon("undo"),
        isAtOnce ? "Take back" : "Ask to take back",
    );
}

/**
 * The opponent's request, with the buttons to answer it.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat the opponent's
 * @returns {Content}
 */
function drawRequest(app, room, seat) {
    const ply = headPly(room);
    const accept = () => void app.command({ t: "accept", room: room.id, what: "takeback", ply });
    const decline = () => void app.command({ t: "decline", room: room.id, what: "takeback" });
    const name = room.seats[seat]?.name ?? sideName(room.description?.view, seat);
    return h(
        "div",
        { key: "takeback-request", class: "request", role: "group", "aria-label": "Takeback" },
        h("p", { class: "muted" }, `${name} asks to take a move back.`),
        h("button", { class: "main", onclick: accept }, icon("undo"), "Allow"),
        h("button", { onclick: decline }, "Decline"),
    );
}
