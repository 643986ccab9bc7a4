/**
 * The chat of a room in the model: lines of the log, private answers of the bot, and muted people.
 * Pure functions.
 *
 * @import {Answer, ChatLine, EventMessage, Player} from "./protocol.js"
 * @import {Room} from "./model.js"
 */

/** Maximum number of lines, and of answers, in the model; older ones are dropped. */
const MAX_CHAT_LINES = 300;

/**
 * A private answer of the bot, with the version and the ply of the room at its arrival.
 * @typedef {Answer & {at_v: number, ply: number}} RoomAnswer
 */

/**
 * The room with one more line, or with a person whom the host has muted or unmuted.
 * @param {Room} room
 * @param {Extract<EventMessage, {kind: "said" | "muted" | "unmuted"}>} event
 * @returns {Room}
 */
export function withChatEvent(room, event) {
    if (event.kind === "said") {
        const { t, room: _, kind, ...line } = event;
        return { ...room, chat: [...room.chat, /** @type {ChatLine} */ (line)].slice(-MAX_CHAT_LINES) };
    }
    const { identity, name } = event;
    const others = room.muted.filter((person) => person.identity !== identity);
    return { ...room, muted: event.kind === "muted" ? [...others, { identity, name }] : others };
}

/**
 * The room with one more private answer.
 * @param {Room} room
 * @param {Answer} answer
 * @returns {Room}
 */
export function withAnswer(room, answer) {
    const placed = { ...answer, at_v: room.v, ply: room.match?.moves.length ?? 0 };
    return { ...room, answers: [...room.answers, placed].slice(-MAX_CHAT_LINES) };
}
