/**
 * What the events of a room mean to a viewer: lines for the room's log, toasts and sounds. Pure
 * functions. `room` is the room before the event, and `seat` the viewer's seat (null: a spectator).
 *
 * @import {EventMessage, HiddenMessage, Occupant} from "../../shell/protocol.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {Sound} from "./sounds.js"
 */

import { PAST } from "../../board/board.js";
import { isolated } from "../../shell/isolation.js";
import { apply, follow, headPly } from "../../shell/model.js";
import { heldText } from "./held.js";
import { isOneScreen, legalMoves, mySeat, playerWithSide } from "./viewer.js";
import { resultFor } from "../../ui/table.js";
import { occupantName, plural, resultSentence, sideName } from "../../shell/words.js";

/**
 * The line of the room's log for an event; null for events that are shown elsewhere, such as chat and
 * most moves.
 * @param {EventMessage | HiddenMessage} event
 * @param {Room} room
 * @param {number | null} seat
 * @returns {string | null}
 */
export function logLine(event, room, seat) {
    const board = room.description?.view;
    switch (event.kind) {
        case "seat_taken":
            return `${event.seat === seat ? "You" : isolated(event.occupant.name)} joined as ${sideName(board, event.seat)}`;
        case "seat_left":
            return event.seat === seat ? "You no longer have the seat" : `${subjectOf(room, event.seat, seat)} left the seat`;
        case "started": {
            const [offerer] = room.offers;
            const start = `Match ${event.number} started${event.title ? `: ${event.title}` : ""}`;
            if (room.next && (event.title || offerer === undefined))
                return `${subjectOf(room, 1 - room.next.seat, seat)} accepted the next game. ${start}`;
            return offerer === undefined ? start : `${subjectOf(room, 1 - offerer, seat)} accepted the rematch. ${start}`;
        }
        case "offered":
            if (event.what === "takeback") return `${subjectOf(room, event.seat, seat)} asked for a takeback`;
            if (event.what === "next") return `${subjectOf(room, event.seat, seat)} proposed ${event.title} as the next game`;
            return `${subjectOf(room, event.seat, seat)} offered a ${event.what ?? "rematch"}`;
        case "declined": {
            const { what = "rematch" } = event;
            if (what === "takeback") {
                const isAnswer = room.takebacks.some((request) => request.seat !== event.seat);
                const action = isAnswer ? "declined the takeback" : "withdrew the request for a takeback";
                return `${subjectOf(room, event.seat, seat)} ${action}`;
            }
            if (what === "next") {
                const action = room.next?.seat === event.seat ? "withdrew the proposal of" : "declined";
                return `${subjectOf(room, event.seat, seat)} ${action} ${room.next?.title ?? "the next game"}`;
            }
            const action = room.offers.includes(event.seat) ? `withdrew the ${what} offer` : `declined the ${what}`;
            return `${subjectOf(room, event.seat, seat)} ${action}`;
        }
        case "ai_took_over":
            return `${event.occupant.name} plays on for ${isolated(event.occupant.kept_for?.name ?? subjectOf(room, event.seat, seat))}`;
        case "player_returned":
            return `${isolated(event.occupant.name)} is back and plays on`;
        case "configured":
            if (event.help == null || event.help === room.help) return null;
            return event.help ? "The bot may help both players now" : "The bot no longer helps with positions";
        case "muted":
        case "unmuted":
            return `The host has ${event.kind} ${isolated(event.name)}`;
        case "barred":
            return `The host keeps the seat for someone else; ${isolated(event.name)} may watch`;
        case "renamed": {
            const before = room.seats.map((each) => each?.kept_for ?? each).find((each) => each?.identity === event.identity);
            return `${isolated(before?.name ?? "A player")} is now ${isolated(event.name)}`;
        }
        case "moved":
            if (declinesTakeback(event, room)) return `${subjectOf(room, event.seat, seat)} moved and so declined the takeback`;
            return declinesDraw(event, room) ? `${subjectOf(room, event.seat, seat)} moved and so declined the draw` : null;
        case "took_back":
            return `${subjectOf(room, event.seat, seat)} took back ${plural(headPly(room) - event.to_ply, "move")}`;
        case "time_added":
            return `${subjectOf(room, 1 - event.seat, seat)} gave ${event.seat === seat ? "you" : occupantName(room.seats[event.seat])} ${event.ms / 1000} seconds`;
        case "held":
            return heldText(event.why);
        case "released":
            return "The clock runs again; the time between costs nobody";
        case "finished": {
            const [offerer] = room.offers;
            if (event.how === "agreement" && offerer !== undefined)
                return `${subjectOf(room, 1 - offerer, seat)} accepted the draw`;
            return resultSentence(event, board, null, playerWithSide.bind(null, { ...room, seats: room.match?.seats ?? room.seats }));
        }
        default:
            return null;
    }
}

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

/**
 * The toast for an event that concerns the viewer. It is null for other events, and for those that
 * the viewer has caused.
 * @param {EventMessage | HiddenMessage} event
 * @param {Room} room
 * @param {number | null} seat
 * @returns {string | null}
 */
export function toastText(event, room, seat) {
    if (seat === null) return null;
    const { targets } = room.description?.view ?? {};
    switch (event.kind) {
        case "seat_taken":
            return event.seat === seat || movesAi(event.occupant, room, seat) ? null : logLine(event, room, seat);
        case "seat_left":
            return event.seat === seat || movesAi(room.seats[event.seat], room, seat) ? null : logLine(event, room, seat);
        case "started": {
            const side = event.seats.findIndex(({ identity }) => identity === room.seats[seat]?.identity);
            if (event.title) return `Next game: ${event.title}`;
            if (isOneScreen(room)) return event.number > 1 ? "New match" : null;
            return event.number > 1 ? `New match: you play ${sideName(room.description?.view, side)}` : null;
        }
        case "offered": // its box may be below the window
            return event.seat === seat ? null : logLine(event, room, seat);
        case "declined":
            if (event.seat === seat) return null;
            if (event.what === "takeback")
                return room.takebacks.some((request) => request.seat === seat) ? TAKEBACK_DECLINED : logLine(event, room, seat);
            if (event.what === "next")
                return room.next?.seat === seat ? `${room.next.title} was declined` : logLine(event, room, seat);
            return room.offers.includes(seat)
                ? `Your ${event.what ?? "rematch"} offer was declined`
                : logLine(event, room, seat);
        case "took_back":
            return event.seat === seat ? null : logLine(event, room, seat);
        case "moved":
            if (event.seat === seat || isOneScreen(room)) return null;
            if (declinesTakeback(event, room)) return TAKEBACK_DECLINED;
            if (declinesDraw(event, room)) return "Your draw offer was declined";
            // Such a move has no cell on the board, where the player looks.
            if (targets?.[event.move]?.length !== 0) return null;
            return `${subjectOf(room, event.seat, seat)} ${PAST[event.move] ?? `played ${event.move}`}`;
        case "time_added":
            return event.seat === seat ? logLine(event, room, seat) : null;
        case "ai_took_over":
        case "configured":
        case "released":
            return logLine(event, room, seat);
        case "player_returned":
            return event.seat === seat ? null : logLine(event, room, seat);
        case "finished":
            return event.how === "abort" ? "The match was aborted" : null;
        default:
            return null;
    }
}

/** The toast for the player whose request was declined. */
const TAKEBACK_DECLINED = "Your request for a takeback was declined";

/**
 * Whether a move makes the opponent's request for a takeback lapse.
 * @param {Extract<EventMessage, {kind: "moved"}>} event
 * @param {Room} room
 */
function declinesTakeback(event, room) {
    return room.takebacks.some((request) => request.seat === 1 - event.seat);
}

/**
 * Whether the viewer has put this AI on a seat, or removed it: only the host does that.
 * @param {Occupant | null | undefined} occupant
 * @param {Room} room
 * @param {number} seat
 */
function movesAi(occupant, room, seat) {
    return occupant?.kind === "ai" && room.seats[seat]?.identity === room.description?.host;
}

/**
 * Whether a move makes the opponent's offer of a draw lapse.
 * @param {Extract<EventMessage, {kind: "moved"}>} event
 * @param {Room} room
 */
function declinesDraw(event, room) {
    return room.offers.includes(1 - event.seat);
}

/**
 * @param {Room} room
 * @param {number} number the seat of the subject
 * @param {number | null} seat
 */
function subjectOf(room, number, seat) {
    return number === seat ? "You" : occupantName(room.seats[number]);
}

/**
 * The sounds for the change from one state of a room to the next. The view of a position arrives
 * after its move, and the sound of the move comes with the view.
 * @param {Room} before
 * @param {Room} after
 * @param {number | null} seat
 * @returns {Sound[]}
 */
export function soundsFor(before, after, seat) {
    if (before.match === null || before.match.id !== after.match?.id) return [];
    /** @type {Sound[]} */
    const sounds = [];
    const ply = headPly(after);
    if (ply > 0 && after.views[ply] && !before.views[ply]) sounds.push(isCapture(after, ply) ? "capture" : "move");
    if (!before.match.over && after.match.over) {
        const result = seat === null ? null : resultFor(after.match.over, seat);
        sounds.push(result === "won" || result === "lost" ? result : "end");
    } else if (ply > 0 && !isOneScreen(after) && isTurnNew(before, after)) sounds.push("turn");
    return sounds;
}

/**
 * Whether it has become the viewer's turn.
 * @param {Room} before
 * @param {Room} after
 */
export function isTurnNew(before, after) {
    return legalMoves(after).length > 0 && legalMoves(before).length === 0;
}

/**
 * Whether a move took a piece of the other side, or turned it over.
 * @param {Room} room
 * @param {number} ply the ply of the position after the move
 */
function isCapture({ description, views }, ply) {
    const [before, after] = [views[ply - 1], views[ply]];
    const kinds = description?.view?.kinds ?? {};
    if (!before || !after || before.turn === null) return false;
    const opponent = 1 - before.turn;
    return Object.entries(before.pieces).some(([cell, kind]) => kinds[kind]?.side === opponent && after.pieces[cell] !== kind);
}

/** Where the player of a seat is: in the room, on another page of this server, or on none. @typedef {"here" | "elsewhere" | "gone"} Whereabouts */

/**
 * Where the player of a seat is.
 * @param {NonNullable<Room["presence"]>} presence
 * @param {number} seat
 * @returns {Whereabouts}
 */
export function whereabouts({ seats, elsewhere }, seat) {
    if (seats[seat]) return "here";
    return elsewhere.includes(seat) ? "elsewhere" : "gone";
}

/**
 * The seats whose players have come or gone, with where they are now.
 * @param {Room["presence"]} before null when unknown
 * @param {NonNullable<Room["presence"]>} after
 * @returns {{seat: number, where: Whereabouts}[]}
 */
export function presenceChanges(before, after) {
    if (before === null) return [];
    const seats = after.seats.map((_, seat) => ({ seat, where: whereabouts(after, seat) }));
    return seats.filter(({ seat, where }) => where !== whereabouts(before, seat));
}
