/**
 * What the viewer of a room holds and may do, from the model.
 *
 * @import {MoveView} from "../../shell/protocol.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { occupantName, sideName } from "../../shell/words.js";

/**
 * The seat that you hold, or null.
 * @param {Model} model
 * @returns {number | null}
 */
export function mySeat(model) {
    const { you, room } = model;
    if (you === null || room === null) return null;
    const seat = room.seats.findIndex((occupant) => occupant?.kind !== "ai" && occupant?.identity === you.identity);
    return seat < 0 ? null : seat;
}

/**
 * The seat that an AI keeps for you, or null.
 * @param {Model} model
 * @returns {number | null}
 */
export function keptSeat({ you, room }) {
    const seat = room?.seats.findIndex((occupant) => occupant?.kept_for && occupant.kept_for.identity === you?.identity);
    return seat === undefined || seat < 0 ? null : seat;
}

/**
 * Whether one player holds both seats of the room.
 * @param {Room} room
 */
export function isOneScreen(room) {
    return room.description?.one_screen ?? false;
}

/**
 * Whether the room allows help with the positions of its match. The server's `position_help` has the
 * same rule: nobody gets help in a running match that is rated, or that two people play unless the
 * host allows it. An AI that keeps a seat for a person counts as that person.
 * @param {Room} room
 */
export function allowsHelp(room) {
    const { match, description, help } = room;
    if (match === null || match.over) return true;
    if (description?.rated) return false;
    return help || isOneScreen(room) || match.seats.some(({ kind, kept_for }) => kind === "ai" && !kept_for);
}

/**
 * The seat whose side the viewer takes, or null: on one screen the viewer takes neither.
 * @param {Model} model
 * @returns {number | null}
 */
export function viewerSeat(model) {
    return model.room !== null && isOneScreen(model.room) ? null : mySeat(model);
}

/**
 * The seat whose result is the viewer's own, or null: who sat down after the match has not played it.
 * @param {Model} model
 * @returns {number | null}
 */
export function resultSeat(model) {
    const seat = viewerSeat(model);
    const player = seat === null ? null : model.room?.match?.seats[seat];
    const identity = player?.kept_for?.identity ?? player?.identity;
    return identity !== undefined && identity === model.you?.identity ? seat : null;
}

/**
 * The player of a seat by name. It is the side where both have one name, and on one screen for a
 * player without one, whom the clients number: "Player 1".
 * @param {Room} room
 * @param {number} seat
 */
export function playerName(room, seat) {
    const name = occupantName(room.seats[seat]);
    const isUnnamed = name === occupantName(room.seats[1 - seat]) || (isOneScreen(room) && /^Player [12]$/.test(name));
    return isUnnamed ? sideName(room.description?.view, seat) : name;
}

/**
 * A player with the side, for those who watch: "Ada (White)". On one screen the name is enough.
 * @param {Room} room
 * @param {number} seat
 */
export function playerWithSide(room, seat) {
    const name = playerName(room, seat);
    const side = sideName(room.description?.view, seat);
    return name === side || isOneScreen(room) ? name : `${name} (${side})`;
}

/**
 * Whether the host keeps the seats of the room for others: you may watch, but not sit here.
 * @param {Model} model
 */
export function isBarred({ you, room }) {
    return room !== null && you !== null && room.barred.some(({ identity }) => identity === you.identity);
}

/**
 * Whether the room waits for the second player of a match, who may still be expected: before the first
 * match, and after one that was aborted.
 * @param {Room} room
 */
export function isInviting({ match, seats, frozen }) {
    return frozen === null && seats.includes(null) && (match === null || match.over?.how === "abort");
}

/** The commands that are offered to every spectator. */
const OPEN_TO_SPECTATORS = new Set(["sit", "chat"]);

/**
 * Whether a command is offered to you. The server may still refuse it.
 *
 * Spectators receive their list of commands only when they join, and a seat may become free later.
 * So the commands of OPEN_TO_SPECTATORS are always offered to them, unless the room is frozen.
 * @param {Model} model
 * @param {string} command
 */
export function permits(model, command) {
    const { room } = model;
    if (room === null || (command === "sit" && isBarred(model))) return false;
    if (room.may === null || room.may.includes(command)) return true;
    const isSpectator = mySeat(model) === null && keptSeat(model) === null;
    return OPEN_TO_SPECTATORS.has(command) && isSpectator && room.frozen === null;
}

/**
 * The reason that lets you claim a draw now, or null.
 * @param {Room} room
 */
export function claimReason(room) {
    return legalMoves(room).length > 0 ? (room.turn?.claim ?? null) : null;
}

/** One empty list for all: a board with another list would be drawn again. @type {MoveView[]} */
export const NO_MOVES = [];

/**
 * Your legal moves in the current position; NO_MOVES when it is not your turn.
 * @param {Room} room
 * @returns {MoveView[]}
 */
export function legalMoves(room) {
    const { match, turn } = room;
    if (!match || match.over || room.frozen || turn?.match !== match.id || turn.ply !== match.moves.length) return NO_MOVES;
    return turn.moves;
}
