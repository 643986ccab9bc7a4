/**
 * The lines of a room's log for events from before the viewer joined. Pure functions.
 *
 * @import {EventMessage, HiddenMessage} from "../../shell/protocol.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { apply, follow } from "../../shell/model.js";
import { mySeat } from "../../shell/viewer.js";
import { logLine } from "./events.js";

/**
 * The lines for consecutive events, the earliest first, up to the number `lastV`.
 * @param {Model} model the viewer, and the room as it is now
 * @param {(EventMessage | HiddenMessage)[]} events
 * @param {number} lastV
 * @returns {{v: number, text: string}[]}
 */
export function historyLines(model, events, lastV) {
    const { room } = model;
    if (!room || events.length === 0) return [];
    let past = roomBefore(model, room, events[0]);
    return events
        .filter(({ v }) => v <= lastV)
        .flatMap((event) => {
            const before = past;
            past = apply(past, event);
            const seat = mySeat(before) ?? mySeat(past);
            const text = before.room && logLine(event, before.room, seat);
            return text ? [{ v: event.v, text }] : [];
        });
}

/**
 * The model before the first of the events: an empty room, or the players of the match that starts.
 * @param {Model} model
 * @param {Room} room
 * @param {EventMessage | HiddenMessage} first
 * @returns {Model}
 */
function roomBefore(model, room, first) {
    const empty = follow(model, room.id);
    if (!empty.room) return empty;
    const seats = first.kind === "started" ? first.seats : empty.room.seats;
    return { ...empty, room: { ...empty.room, description: room.description, seats, v: first.v - 1 } };
}
