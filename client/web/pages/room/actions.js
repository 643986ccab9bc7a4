/**
 * The buttons for what the viewer may do in a room, and the text about the room's state.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Command} from "../../shell/connection.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { askToConfirm } from "../../ui/dialogs.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly, isClosed } from "../../shell/model.js";
import { claimReason, isOneScreen, mySeat, permits, viewerSeat } from "../../shell/viewer.js";
import { hasAi } from "../../ui/table.js";
import { drawTakeback, drawTakebackRequest } from "./takeback.js";
import { drawDepth, knownStrategies, takesDepth } from "../../ui/strategies.js";
import { PERSONAS, aiFields, frozenText, occupantName, parseStrategy, resultForViewer, sideName, strategyChoice } from "../../shell/words.js";

/**
 * The state of the room or of its match in a few words.
 * @param {Model} model
 * @param {Room} room
 */
export function statusText(model, room) {
    const { match, seats } = room;
    const board = room.description?.view;
    if (match?.over) {
        const seat = viewerSeat(model);
        const hasResigned = match.over.how === "resign" && seat !== null && match.over.winner === 1 - seat;
        return `${resultForViewer(match.over, board, seat)}: ${hasResigned ? "you resigned" : match.over.reason}`;
    }
    if (room.frozen && (match || isClosed(room))) return frozenText(room.frozen);
    if (!match) return seats.some((occupant) => occupant === null) ? "Waiting for a second player" : "";
    const turn = room.views[headPly(room)]?.turn;
    if (turn == null) return "";
    if (turn === viewerSeat(model)) return "Your turn";
    if (seats[turn]?.kind !== "ai") return `${sideName(board, turn)} to move`;
    const isAbsent = room.thoughts[headPly(room)]?.state === "absent";
    return `${occupantName(seats[turn])} ${isAbsent ? "waits for an engine" : "is thinking"}`;
}

/**
 * The open offer as a sentence with its answers, the buttons for what the viewer may do in the match,
 * and the link to its replay.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
export function drawActions(app, room) {
    const { match } = room;
    if (!match) return null;
    if (!match.over)
        return [
            drawTakebackRequest(app, room),
            drawOffer(app, room, "draw", "accept"),
            drawTakeback(app, room),
            drawDrawButtons(app, room),
            drawEndButton(app, room),
        ];
    return [
        drawOffer(app, room, "rematch", "rematch"),
        drawRematch(app, room),
        match.moves.length > 0 && h("a", { key: "replay", class: "button", href: `/match/${match.id}` }, "Replay"),
        match.moves.length > 0 && h("a", { key: "analyse", class: "button", href: `/match/${match.id}?analyse` }, "Analyse"),
    ];
}

/**
 * The open offer: "Ada offers a draw." with the buttons to accept and decline it, or "You offered a
 * draw." with the button to withdraw it.
 * @param {App} app
 * @param {Room} room
 * @param {"draw" | "rematch"} noun what is offered
 * @param {"accept" | "rematch"} accept the command that accepts it
 * @returns {Content}
 */
function drawOffer(app, room, noun, accept) {
    const { model } = app;
    const send = (/** @type {"accept" | "rematch" | "decline"} */ t) => () =>
        void app.command(t === "rematch" ? { t, room: room.id } : { t, room: room.id, what: noun });
    if (room.offers.length === 0) return null;
    const offerer = room.offers.find((seat) => seat !== mySeat(model));
    const decline = (/** @type {string} */ text) => h("button", { key: "decline", onclick: send("decline") }, text);
    if (offerer !== undefined && permits(model, "accept"))
        return drawSentence(`${occupantName(room.seats[offerer])} offers a ${noun}.`, [
            h("button", { key: "accept", class: "main", onclick: send(accept) }, "Accept"),
            decline("Decline"),
        ]);
    if (!permits(model, "decline")) return null;
    return drawSentence(`You offered a ${noun}.`, decline("Withdraw"));
}

/**
 * @param {string} sentence
 * @param {Content} answers
 */
function drawSentence(sentence, answers) {
    return h("div", { key: "offer", class: "offer", role: "group", "aria-label": sentence }, h("p", null, sentence), answers);
}

/**
 * The buttons to claim a draw and to offer one. A match that can still be aborted needs no offer.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawDrawButtons(app, room) {
    const { model } = app;
    const send = (/** @type {"claim" | "offer_draw"} */ t) => () => void app.command({ t, room: room.id });
    const reason = claimReason(room);
    const claim = reason && h("button", { key: "claim", class: "main", onclick: send("claim") }, `Claim a draw: ${reason}`);
    if (room.offers.length > 0 || permits(model, "abort") || !permits(model, "offer_draw")) return claim;
    const label = isOneScreen(room) ? "Agree on a draw" : "Offer a draw";
    return [claim, h("button", { key: "draw", onclick: send("offer_draw") }, icon("draw"), label)];
}

/** The questions before a match is ended. */
const END_QUESTIONS = {
    resign: { title: "Resign?", text: "Your opponent wins this match.", yes: "Resign now", no: "Play on" },
    abort: { title: "Abort the match?", text: "The match ends without a result.", yes: "Abort now", no: "Play on" },
};

/**
 * The button to abort, or else to resign; it asks first.
 * @param {App} app
 * @param {Room} room
 */
function drawEndButton(app, room) {
    const action = permits(app.model, "abort") ? "abort" : "resign";
    if (!permits(app.model, action)) return null;
    const send = async () => {
        const question = END_QUESTIONS[action];
        const text = action === "resign" && isOneScreen(room) ? "The side to move loses this match." : question.text;
        if (await askToConfirm({ ...question, text })) void app.command({ t: action, room: room.id });
    };
    const [name, text] = action === "abort" ? /** @type {const} */ (["cross", "Abort"]) : /** @type {const} */ (["flag", "Resign"]);
    return h("button", { key: action, onclick: () => void send() }, icon(name), text);
}

/**
 * The button for another match.
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawRematch(app, room) {
    if (room.offers.length > 0 && permits(app.model, "decline")) return null;
    if (!permits(app.model, "rematch")) return null;
    const send = () => void app.command({ t: "rematch", room: room.id });
    const text = hasAi(room.seats) || isOneScreen(room) ? "Play again" : "Offer a rematch";
    return h("button", { key: "rematch", class: "main", onclick: send }, icon("again"), text);
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
        return drawLeaveButton("Remove the AI", () => void removeAi(app, room, seat));
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
 * Removes the AI from a seat, after a question.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 */
async function removeAi(app, room, seat) {
    const question = {
        title: "Remove the AI?",
        text: `The seat of ${occupantName(room.seats[seat])} becomes free.`,
        yes: "Remove now",
        no: "Keep it",
    };
    if (await askToConfirm(question)) void app.command({ t: "remove_ai", room: room.id, seat });
}

/**
 * The form that puts an AI on a seat. Its field for a depth is visible while a strategy is chosen that
 * takes one.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 */
export function drawAddAi(app, room, seat) {
    const { levels: count = 1, level_names: names = [] } = room.description ?? {};
    const levels = Array.from({ length: count }, (_, i) => i + 1);
    const defaultLevel = Math.ceil(levels.length / 2);
    const { titles, list } = knownStrategies(() => app.update());
    const submit = (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        if (!(event.currentTarget instanceof HTMLFormElement)) return;
        const data = new FormData(event.currentTarget);
        const level = String(data.get("level"));
        const strategy = parseStrategy(level)?.strategy;
        const depth = strategy !== undefined && takesDepth(strategy, list) ? { depth: Number(data.get("depth")) } : null;
        void app.command({ t: "add_ai", room: room.id, seat, ...aiFields(level), ...depth });
    };
    const drawLevel = (/** @type {number} */ level) =>
        h("option", { value: level, selected: level === defaultLevel }, `Level ${level} ${names[level - 1] ?? ""}`.trim());
    const strategies = Object.entries(titles).map(([name, title]) =>
        h("option", { value: strategyChoice(name), class: takesDepth(name, list) ? "takes-depth" : null }, title),
    );
    return h(
        "form",
        { class: "add-ai", onsubmit: submit },
        h(
            "select",
            { name: "level", class: "small", "aria-label": "Level, character or strategy of the AI" },
            // A game without levels has no characters either: strategies play it.
            count > 0
                ? [
                      h("optgroup", { label: "Levels" }, levels.map(drawLevel)),
                      h("optgroup", { label: "Characters" }, Object.entries(PERSONAS).map(([key, { name }]) => h("option", { value: key }, name))),
                  ]
                : null,
            h("optgroup", { label: "Strategies" }, strategies),
        ),
        list ? drawDepth(list, null) : null,
        h("button", { class: "small" }, "Add AI"),
    );
}
