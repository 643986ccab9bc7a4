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
 * Resigns or aborts a match, after a question. Does nothing unless that match runs before the question
 * and after it: the next one is not meant.
 * @param {App} app
 * @param {string} match its id
 * @param {keyof typeof END_QUESTIONS} action
 */
export async function endMatch(app, match, action) {
    const room = roomOfRunning(app, match);
    if (!room) return;
    const question = END_QUESTIONS[action];
    const text = action === "resign" && isOneScreen(room) ? "The side to move loses this match." : question.text;
    if ((await askToConfirm({ ...question, text })) && roomOfRunning(app, match)) void app.command({ t: action, room: room.id });
}

/**
 * The room, while this match runs in it; otherwise null.
 * @param {App} app
 * @param {string} match
 * @returns {Room | null}
 */
function roomOfRunning({ model: { room } }, match) {
    return room?.match?.id === match && !room.match.over ? room : null;
}

/**
 * Removes the AI from a seat, after a question. Does nothing unless that AI has the seat before the
 * question and after it.
 * @param {App} app
 * @param {Room} asked the room for which the question is asked
 * @param {number} seat
 */
export async function removeAi(app, asked, seat) {
    const ai = asked.seats[seat];
    const isThere = () => app.model.room?.id === asked.id && app.model.room.seats[seat]?.identity === ai?.identity;
    if (!ai || !isThere()) return;
    const question = {
        title: "Remove the AI?",
        text: `The seat of ${occupantName(ai)} becomes free.`,
        yes: "Remove now",
        no: "Keep it",
    };
    if ((await askToConfirm(question)) && isThere()) void app.command({ t: "remove_ai", room: asked.id, seat });
}

/**
 * Frees the seat of a person for whom it was not meant, after a question.
 * @param {App} app
 * @param {Room} room
 * @param {Room["seats"][number]} other who sits there
 */
export async function bar(app, room, other) {
    const name = occupantName(other);
    const ends = room.match && !room.match.over ? "The match ends without a result. " : "";
    const text = `${ends}${name} may watch, but not sit in this room again. Your friend can take the seat by the link.`;
    const question = { title: `Free ${name}'s seat?`, text, yes: "Free the seat", no: "Keep playing" };
    if (other && (await askToConfirm(question))) void app.command({ t: "bar", room: room.id, identity: other.identity });
}
