/**
 * The questions before a match is ended or a seat is freed.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Room} from "../../shell/model.js"
 */

import { askToConfirm } from "../../ui/dialogs.js";
import { isOneScreen } from "./viewer.js";
import { occupantName } from "../../shell/words.js";

/** The questions before a match is ended. */
const END_QUESTIONS = {
    resign: { title: "Resign?", text: "Your opponent wins this match.", yes: "Resign now", no: "Play on" },
    abort: { title: "Abort the match?", text: "The match ends without a result.", yes: "Abort now", no: "Play on" },
};

/**
 * Resigns or aborts the match, after a question.
 * @param {App} app
 * @param {Room} room
 * @param {keyof typeof END_QUESTIONS} action
 */
export async function endMatch(app, room, action) {
    const question = END_QUESTIONS[action];
    const text = action === "resign" && isOneScreen(room) ? "The side to move loses this match." : question.text;
    if (await askToConfirm({ ...question, text })) void app.command({ t: action, room: room.id });
}

/**
 * Removes the AI from a seat, after a question.
 * @param {App} app
 * @param {Room} room
 * @param {number} seat
 */
export async function removeAi(app, room, seat) {
    const question = {
        title: "Remove the AI?",
        text: `The seat of ${occupantName(room.seats[seat])} becomes free.`,
        yes: "Remove now",
        no: "Keep it",
    };
    if (await askToConfirm(question)) void app.command({ t: "remove_ai", room: room.id, seat });
}
