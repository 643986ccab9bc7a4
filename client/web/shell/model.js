/**
 * The browser's model: an immutable value, which `apply` updates with the server's messages. `apply`
 * is a pure function, so a room that was resumed equals one that was never left.
 *
 * @import {Answer, Assessment, BoardView, ChatLine, EventMessage, HiddenMessage, Info, Joined, Lobby,
 *     MatchState, Message, MoveView, Notification, Occupant, Played, Player, PositionView, Proposal, RoomDescription,
 *     RoomSummary, Score, Snapshot, Thinking, Turn} from "./protocol.js"
 */

import { startedClock, withClock } from "./clock.js";

/**
 * The AI's search for the move at one ply. `ready` is the progress of compiling the game, in percent,
 * and null when the game is compiled. `number` is the move's label in the list of moves, "3...".
 * `assessment` is the search in words, or null before it has arrived. `withheld` says why the server
 * does not show you the search; it is empty if it does. `wait` says what a queued search waits for.
 * @typedef {Required<Omit<Info, "counts" | "depths">> & {seat: number | null, state: Thinking["state"], ready: number | null,
 *     number?: string, assessment: Assessment | null, withheld: string, wait?: string}} Thought
 */

/**
 * A room as this viewer may see it. `v` is 0 until a snapshot arrives. `gap` means that events are
 * missing and the session must join again from 0. `frozen` is the code of the reason why the room
 * cannot be played, or null. `offers` has the seats with an open offer of a draw or a rematch, and
 * `takebacks` the open requests to take moves back. `may` names the commands that
 * the server permits you, besides those that come with `turn`; it is null if the server is of an
 * earlier version, which does not send them. `views` and `thoughts` are those of the current match, by
 * ply. `start` is the position in which the first match will start; null if the server has not sent
 * it.
 * @typedef {object} Room
 * @property {string} id
 * @property {number} v
 * @property {boolean} gap
 * @property {RoomDescription | null} description
 * @property {string | null} frozen
 * @property {string[] | null} may
 * @property {(Occupant | null)[]} seats
 * @property {MatchState | null} match
 * @property {number[]} offers
 * @property {Proposal[]} takebacks
 * @property {Proposal | null} next the open proposal of the next game
 * @property {Score[]} series the points of the players against each other, as of the last snapshot
 * @property {MatchState[]} results the matches that have ended since then
 * @property {ChatLine[]} chat
 * @property {{seats: boolean[], watching: number, gone_ms: (number | null)[], elsewhere: number[]} | null} presence
 *     `gone_ms` has for a player who has gone the time until the opponent may claim the match, as of
 *     the message
 * @property {{match: string, ply: number, moves: MoveView[], claim: string | null} | null} turn
 * @property {PositionView | null} start
 * @property {Record<number, PositionView>} views
 * @property {Record<number, Thought>} thoughts
 * @property {string} thinking who may see an AI's thinking during the next matches
 * @property {boolean} help whether people who play each other get help with positions
 * @property {string | null} clock the time control of the next matches; null for none
 * @property {Player[]} muted the people whom the host has muted
 * @property {Player[]} barred the people who may not sit in the room any more
 * @property {RoomAnswer[]} answers the bot's answers to you alone
 */

/**
 * @typedef {object} Model
 * @property {{identity: string, name: string} | null} you
 * @property {string | null} epoch
 * @property {Record<string, RoomSummary> | null} lobby the public rooms by id; null until the list
 *     arrives
 * @property {Room | null} room the followed room
 * @property {Notification[]} waiting what waits for you in rooms that you are not in, the latest first
 * @property {Record<string, number>} told how often the server has told what waits in a room
 */

/** The model before the first message. @type {Model} */
export const EMPTY_MODEL = Object.freeze({ you: null, epoch: null, lobby: null, room: null, waiting: [], told: {} });

/**
 * The model with another followed room, or none; `apply` ignores messages about other rooms.
 * @param {Model} model
 * @param {string | null} id
 * @returns {Model}
 */
export function follow(model, id) {
    return { ...model, room: id === null ? null : emptyRoom(id), waiting: model.waiting.filter(({ room }) => room !== id) };
}

/**
 * The model with a notification, in place of an earlier one about the same room; one that says nothing
 * only removes that one.
 * @param {Model} model
 * @param {Notification} notification
 * @returns {Model}
 */
export function notify(model, notification) {
    const { room, text } = notification;
    const others = model.waiting.filter((each) => each.room !== room);
    const waiting = text && room !== model.room?.id ? [notification, ...others] : others;
    return { ...model, waiting, told: { ...model.told, [room]: (model.told[room] ?? 0) + 1 } };
}

/**
 * A room before its first message.
 * @param {string} id
 * @returns {Room}
 */
function emptyRoom(id) {
    return {
        id,
        v: 0,
        gap: false,
        description: null,
        frozen: null,
        may: [],
        seats: [null, null],
        match: null,
        offers: [],
        takebacks: [],
        next: null,
        series: [],
        results: [],
        chat: [],
        presence: null,
        turn: null,
        start: null,
        views: {},
        thoughts: {},
        thinking: "all",
        help: false,
        clock: null,
        muted: [],
        barred: [],
        answers: [],
    };
}

/**
 * The model after a message of the server.
 * @param {Model} model
 * @param {Message} message
 * @returns {Model}
 */
export function apply(model, message) {
    switch (message.t) {
        case "welcome":
            return applyWelcome(model, message.identity, message.name, message.epoch);
        case "lobby":
            return { ...model, lobby: applyLobby(model.lobby, message) };
        case "notification":
            return notify(model, message);
        case "ack":
        case "error":
        case "pong":
            return model;
        default:
            if (model.room === null || model.room.id !== message.room) return model;
            return { ...model, room: applyToRoom(model.room, message) };
    }
}

/**
 * Applies a welcome. Another epoch means another history (a restored backup), so the room starts
 * again without content. What waits may have changed meanwhile: `listMyMatches` has it.
 * @param {Model} model
 * @param {string} identity
 * @param {string} name
 * @param {string} epoch
 * @returns {Model}
 */
function applyWelcome(model, identity, name, epoch) {
    const isNewEpoch = model.epoch !== null && model.epoch !== epoch;
    const room = model.room !== null && isNewEpoch ? emptyRoom(model.room.id) : model.room;
    return { ...model, you: { identity, name }, epoch, room, waiting: model.you?.identity === identity ? model.waiting : [] };
}

/**
 * @param {Record<string, RoomSummary> | null} lobby
 * @param {Lobby} message
 * @returns {Record<string, RoomSummary> | null}
 */
function applyLobby(lobby, message) {
    if (lobby === null && !message.full) return null;
    const rooms = message.full ? {} : { ...lobby };
    for (const summary of message.rooms ?? []) rooms[summary.room] = summary;
    for (const id of message.gone ?? []) delete rooms[id];
    return rooms;
}

/**
 * @param {Room} room
 * @param {Exclude<Message, {t: "welcome" | "lobby" | "notification" | "ack" | "error" | "pong"}>} message
 * @returns {Room}
 */
function applyToRoom(room, message) {
    switch (message.t) {
        case "joined":
            return applyJoined(room, message);
        case "may":
            return { ...room, may: message.may };
        case "snapshot":
            return applySnapshot(room, message);
        case "event":
            return applyEventMessage(room, message);
        case "view":
            return message.match === room.match?.id
                ? withViews(room, message.match, { [message.ply]: message.view })
                : room;
        case "turn":
            return { ...room, turn: turnOf(message) };
        case "thinking":
            return applyThinking(room, message);
        case "answer":
            return withAnswer(room, message);
        case "presence":
            return {
                ...room,
                presence: {
                    seats: message.seats,
                    watching: message.watching,
                    gone_ms: message.gone_ms ?? [],
                    elsewhere: message.elsewhere ?? [],
                },
            };
        default: // a newer server may send other types
            return room;
    }
}

/** @param {Turn} message */
function turnOf({ match, ply, moves, claim = null }) {
    return { match, ply, moves, claim };
}

/**
 * @param {Room} room
 * @param {Joined} message
 * @returns {Room}
 */
function applyJoined(room, message) {
    const { description, frozen = null, may = null, start_view = null } = message;
    return { ...room, description, frozen, may, start: start_view };
}

/**
 * Replaces the room. Views and thoughts stay where the moves are the same: the snapshot may lack moves
 * that were taken back.
 * @param {Room} room
 * @param {Snapshot} message
 * @returns {Room}
 */
function applySnapshot(room, message) {
    const common = commonPlies(room.match, message.match);
    const isPrefix = common === headPly(room);
    return {
        ...room,
        v: message.v,
        gap: false,
        seats: message.seats,
        match: message.match,
        offers: message.offers ?? [],
        takebacks: (message.proposals ?? []).filter(({ what }) => what === "takeback"),
        next: (message.proposals ?? []).find(({ what }) => what === "next") ?? null,
        series: message.series ?? [],
        results: [],
        chat: message.chat ?? [],
        views: upTo(room.views, common),
        thoughts: upTo(room.thoughts, isPrefix ? common : common - 1),
        thinking: message.thinking ?? "all",
        help: message.help ?? false,
        clock: message.clock ?? null,
        muted: message.muted ?? [],
        barred: message.barred ?? [],
    };
}

/**
 * The number of first plies that two states have in common; -1 if they are of different matches.
 * @param {MatchState | null} before
 * @param {MatchState | null} after
 */
function commonPlies(before, after) {
    if (before === null || after === null || before.id !== after.id) return -1;
    const first = before.moves.findIndex(({ move }, ply) => move !== after.moves[ply]?.move);
    return first < 0 ? before.moves.length : first;
}

/**
 * Applies the next event; ignores an old one; sets `gap` for one after a missing event. The gap ends
 * with the next snapshot.
 * @param {Room} room
 * @param {EventMessage | HiddenMessage} event
 * @returns {Room}
 */
function applyEventMessage(room, event) {
    if (event.v <= room.v) return room;
    if (event.v > room.v + 1) return { ...room, gap: true };
    return { ...(isReadable(event) ? applyEvent(room, event) : room), v: event.v };
}

/**
 * @param {Room} room
 * @param {EventMessage | HiddenMessage} event
 * @returns {Room}
 */
function applyEvent(room, event) {
    switch (event.kind) {
        case "configured":
            return { ...room, thinking: event.thinking, help: event.help ?? room.help, clock: clockText(event.clock, room.clock) };
        case "seat_taken":
            return { ...room, seats: withItem(room.seats, event.seat, event.occupant) };
        case "seat_left":
            return { ...room, seats: withItem(room.seats, event.seat, null), ...NO_OFFERS };
        case "started": {
            const { match: id, number, start, rules, seats, thinking } = event;
            const setting = thinking === undefined ? null : { thinking };
            return {
                ...room,
                match: { id, number, start, rules, seats, moves: [], ...setting, ...startedClock(event) },
                seats,
                clock: event.clock ?? null,
                ...NO_OFFERS,
                views: {},
                thoughts: {},
            };
        }
        case "moved": {
            if (room.match?.id !== event.match) return room;
            const moves = [...room.match.moves.slice(0, event.ply), playedOf(event)];
            // A move makes the other side's draw offer lapse.
            const offers = room.offers.filter((seat) => seat === event.seat);
            return { ...room, match: withClock({ ...room.match, moves }, event), offers, takebacks: [] };
        }
        case "took_back":
            return applyTookBack(room, event);
        case "time_added":
        case "held":
        case "released":
            if (room.match?.id !== event.match || room.match.over) return room;
            return { ...room, match: withClock(room.match, event) };
        case "finished": {
            if (room.match?.id !== event.match) return room;
            const { winner, how, reason, points } = event;
            const seats = room.seats.map(withoutKeeper);
            const match = withClock({ ...room.match, over: { winner, how, reason, ...(points && { points }) } }, event);
            return { ...room, seats, match, ...NO_OFFERS, results: [...room.results, match] };
        }
        case "ai_took_over":
        case "player_returned":
            return applySubstitution(room, event);
        case "renamed":
            return applyRenamed(room, event);
        case "offered":
            if (event.what === "takeback" && event.to_ply != null) {
                const request = { seat: event.seat, what: event.what, to_ply: event.to_ply };
                return { ...room, takebacks: [...room.takebacks, request] };
            }
            if (event.what === "next" && event.game) return { ...room, next: /** @type {Proposal} */ (event) };
            return isKnownOffer(event) ? { ...room, offers: [...room.offers, event.seat] } : room;
        case "declined":
            if (event.what === "takeback") return { ...room, takebacks: afterDecline(room.takebacks, event.seat) };
            if (event.what === "next") return { ...room, next: null };
            return isKnownOffer(event) ? { ...room, offers: [] } : room;
        case "said":
        case "muted":
        case "unmuted":
        case "barred":
            return withPersonEvent(room, event);
        default: // "created", "required", "hidden", and kinds that only a newer server sends
            return room;
    }
}

/**
 * The control that an event chooses: null for none, which the event calls "-", and the present one
 * where it chooses none.
 * @param {string | null | undefined} chosen
 * @param {string | null} present
 */
const clockText = (chosen, present) => (chosen == null ? present : chosen === "-" ? null : chosen);

/**
 * The occupant of a seat after a match: the player for whom an AI kept it.
 * @param {Occupant | null} occupant
 * @returns {Occupant | null}
 */
function withoutKeeper(occupant) {
    return occupant?.kept_for ? { identity: occupant.kept_for.identity, name: occupant.kept_for.name } : occupant;
}

/**
 * The room with another player on a seat of the running match.
 * @param {Room} room
 * @param {Extract<EventMessage, {kind: "ai_took_over" | "player_returned"}>} event
 * @returns {Room}
 */
function applySubstitution(room, { match: id, seat, ply, occupant }) {
    const { match } = room;
    if (!match || match.id !== id || match.over) return room;
    const substitutions = [...(match.substitutions ?? []), { ply, seat, occupant }];
    return {
        ...room,
        seats: withItem(room.seats, seat, occupant),
        match: { ...match, seats: withItem(match.seats, seat, occupant), substitutions },
        ...NO_OFFERS,
    };
}

/**
 * Removes the moves that were taken back, with their views, legal moves and thoughts.
 * @param {Room} room
 * @param {Extract<EventMessage, {kind: "took_back"}>} event
 * @returns {Room}
 */
function applyTookBack(room, event) {
    const { match: id, to_ply } = event;
    const { match } = room;
    if (match?.id !== id || match.over || to_ply < 0 || to_ply >= match.moves.length) return room;
    return {
        ...room,
        match: withClock(withMovesUpTo(match, to_ply), event, match.moves[to_ply]?.seat ?? to_ply % 2),
        ...NO_OFFERS,
        turn: null,
        views: upTo(room.views, to_ply),
        // The thought of a ply belongs to the move that followed it.
        thoughts: upTo(room.thoughts, to_ply - 1),
    };
}

/**
 * The room with another name on the seats that the player holds or that an AI keeps for the player.
 * @param {Room} room
 * @param {Extract<EventMessage, {kind: "renamed"}>} event
 * @returns {Room}
 */
function applyRenamed(room, event) {
    const seats = room.seats.map((occupant) => occupant && withName(occupant, event));
    const { match } = room;
    if (!match || match.over) return { ...room, seats };
    return { ...room, seats, match: { ...match, seats: match.seats.map((occupant) => withName(occupant, event)) } };
}

/**
 * @param {Occupant} occupant
 * @param {{identity: string, name: string}} renamed
 * @returns {Occupant}
 */
function withName(occupant, { identity, name }) {
    if (occupant.own_name) return occupant;
    if (occupant.kind !== "ai" && occupant.identity === identity) return { ...occupant, name };
    return occupant.kept_for?.identity === identity ? { ...occupant, kept_for: { identity, name } } : occupant;
}

/**
 * The match with the moves before a ply. Those who play it now have played since that ply at most.
 * @param {MatchState} match
 * @param {number} ply
 * @returns {MatchState}
 */
function withMovesUpTo(match, ply) {
    const moves = match.moves.slice(0, ply);
    if (!match.substitutions) return { ...match, moves };
    const substitutions = match.substitutions.map((each) => ({ ...each, ply: Math.min(each.ply, ply) }));
    return { ...match, moves, substitutions };
}

/**
 * The entries up to a ply.
 * @template T
 * @param {Record<number, T>} byPly
 * @param {number} lastPly
 * @returns {Record<number, T>}
 */
function upTo(byPly, lastPly) {
    return Object.fromEntries(Object.entries(byPly).filter(([ply]) => Number(ply) <= lastPly));
}

/**
 * The open requests without the opponent's; without one's own if the opponent has none.
 * @param {Proposal[]} takebacks
 * @param {number} seat the seat that declined or withdrew
 */
function afterDecline(takebacks, seat) {
    const own = takebacks.filter((request) => request.seat === seat);
    return own.length < takebacks.length ? own : [];
}

/** The room's fields after what ends every offer. */
const NO_OFFERS = Object.freeze({ offers: [], takebacks: [], next: null });

/** Why a room is read-only until it has another match. */
const MATCH_CODES = new Set(["game.changed", "game.fault"]);

/**
 * Whether no match can begin in the room here: a newer version of the server made it, it is full, or
 * the server does not play its game.
 * @param {Room} room
 */
export function isClosed({ frozen, match }) {
    return frozen !== null && (match === null || !MATCH_CODES.has(frozen));
}

/**
 * Whether this client can answer the offer; a newer server may know others.
 * @param {{what?: string}} event
 */
function isKnownOffer({ what = "rematch" }) {
    return what === "draw" || what === "rematch";
}

/**
 * The move of an event in the form that a snapshot has.
 * @param {Extract<EventMessage, {kind: "moved"}>} event
 * @returns {Played}
 */
function playedOf({ ply, seat, move, text, number, forced }) {
    return {
        move,
        ...(text == null ? null : { text }),
        ...(number == null ? null : { number }),
        ...(forced ? { forced } : null),
        ...(seat !== ply % 2 ? { seat } : null),
    };
}

/**
 * @template T
 * @param {T[]} list
 * @param {number} index
 * @param {T} item
 */
function withItem(list, index, item) {
    return list.map((old, i) => (i === index ? item : old));
}

/**
 * The room with views of a match, if it is the current match.
 * @param {Room} room
 * @param {string} match
 * @param {Record<number, PositionView>} views
 * @returns {Room}
 */
export function withViews(room, match, views) {
    return room.match?.id === match ? { ...room, views: { ...room.views, ...views } } : room;
}

/**
 * Applies a message about an AI's search. A message without a depth reports only the state, so the
 * earlier search stays.
 * @param {Room} room
 * @param {Thinking} message
 * @returns {Room}
 */
function applyThinking(room, message) {
    if (message.match !== room.match?.id) return room;
    const before = room.thoughts[message.ply];
    const { seat, state, depth = 0, score = 0, nodes = 0, nps = 0, time_ms = 0, pv = [], moves = [], number } = message;
    const { warming = false, ready = null, value = "", log = "", assessment = null, withheld = "", wait = "" } = message;
    const label = number ? { number } : null;
    const words = { value, log, assessment, withheld };
    const thought =
        depth === 0 && !assessment && before
            ? { ...before, seat, state, ready, withheld, wait }
            : { seat, state, depth, score, nodes, nps, time_ms, pv, moves, warming, ready, wait, ...words, ...label };
    return { ...room, thoughts: { ...room.thoughts, [message.ply]: thought } };
}

/**
 * The number of plies played in the current match.
 * @param {Room} room
 */
export function headPly(room) {
    return room.match?.moves.length ?? 0;
}

/** Maximum number of lines, and of answers, in the model; older ones are dropped. */
export const MAX_CHAT_LINES = 300;

/**
 * A private answer of the bot, with the version and the match of the room at its arrival.
 * @typedef {Answer & {at_v: number, match: MatchState | null}} RoomAnswer
 */

/**
 * The room with one more line, or with a person whom the host has muted, unmuted or barred.
 * @param {Room} room
 * @param {Extract<EventMessage, {kind: "said" | "muted" | "unmuted" | "barred"}>} event
 * @returns {Room}
 */
function withPersonEvent(room, event) {
    if (event.kind === "said") {
        const { t, room: _, kind, ...line } = event;
        return { ...room, chat: [...room.chat, /** @type {ChatLine} */ (line)].slice(-MAX_CHAT_LINES) };
    }
    const { identity, name } = event;
    const without = (/** @type {Player[]} */ people) => people.filter((person) => person.identity !== identity);
    if (event.kind === "barred") return { ...room, barred: [...without(room.barred), { identity, name }] };
    const others = without(room.muted);
    return { ...room, muted: event.kind === "muted" ? [...others, { identity, name }] : others };
}

/**
 * The room with one more private answer.
 * @param {Room} room
 * @param {Answer} answer
 * @returns {Room}
 */
function withAnswer(room, answer) {
    const placed = { ...answer, at_v: room.v, match: room.match };
    return { ...room, answers: [...room.answers, placed].slice(-MAX_CHAT_LINES) };
}

/**
 * Whether the event's fields have the types that this client expects. A newer server may send
 * others.
 * @param {EventMessage | HiddenMessage} event
 */
function isReadable(event) {
    switch (event.kind) {
        case "configured":
            return typeof event.thinking === "string";
        case "seat_taken":
        case "ai_took_over":
        case "player_returned":
            return Number.isInteger(event.seat) && typeof event.occupant?.name === "string";
        case "renamed":
        case "muted":
        case "unmuted":
        case "barred":
            return [event.identity, event.name].every((text) => typeof text === "string");
        case "seat_left":
        case "offered":
        case "declined":
            return Number.isInteger(event.seat);
        case "started":
            return Number.isInteger(event.number) && Array.isArray(event.seats);
        case "moved":
            return Number.isInteger(event.ply) && typeof event.move === "string";
        case "took_back":
            return Number.isInteger(event.to_ply);
        case "time_added":
            return Number.isInteger(event.seat) && Number.isInteger(event.ms);
        case "held":
            return Number.isInteger(event.since_ms);
        case "released":
            return Number.isInteger(event.from_ms) && Array.isArray(event.clocks_ms);
        case "finished":
            return (
                [event.how, event.reason].every((text) => typeof text === "string") &&
                (event.points == null || (Array.isArray(event.points) && event.points.length === 2))
            );
        case "said":
            return [event.name, event.text].every((text) => typeof text === "string");
        default:
            return true;
    }
}
