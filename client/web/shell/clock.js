/**
 * The clock of a match in the model, and what events do to it. Pure functions: the events have all
 * times, and nothing here computes one that the server decides.
 *
 * @import {ClockState, EventMessage, MatchState} from "./protocol.js"
 */

/** `held_ms` is the time up to which a held clock charges; a snapshot's has charged. @typedef {ClockState & {held_ms?: number}} FoldedClock */

/** A control that counts turns or periods: of several stages, or with overtime. */
const COUNTS = /:|\+\d+[x/]\d+$/;
/** What it counts first: the turns of its first stage, or else its periods of byo-yomi. */
const FIRST_COUNT = /^(\d+)\/|\+(\d+)x\d+$/;

/**
 * The clock of a match that starts; null without one.
 * @param {Extract<EventMessage, {kind: "started"}>} event
 * @returns {{clock: ClockState} | null}
 */
export function startedClock({ clock: control, clocks_ms: left_ms, first_ms, at: since_ms }) {
    if (!control || !left_ms) return null;
    const [, turns, periods] = FIRST_COUNT.exec(control) ?? [];
    const count = Number(turns ?? periods ?? 0);
    const counts = /** @type {Partial<ClockState>} */ (COUNTS.test(control) && { stages: [0, 0], periods: [count, count] });
    return { clock: { control, left_ms, since_ms, running: null, used_ms: 0, held: null, ...counts, ...(first_ms && { first_ms }) } };
}

/**
 * The match with its clock after an event.
 * @param {MatchState} match with the moves after the event
 * @param {EventMessage} event
 * @param {number} [turn] the seat to move after moves were taken back
 * @returns {MatchState}
 */
export function withClock(match, event, turn = 0) {
    return match.clock ? { ...match, clock: clockAfter(match, match.clock, event, turn) } : match;
}

/**
 * @param {MatchState} match
 * @param {FoldedClock} clock
 * @param {EventMessage} event
 * @param {number} turn
 * @returns {FoldedClock | null}
 */
function clockAfter(match, clock, event, turn) {
    const { left_ms, since_ms, used_ms = 0, move_ms = 0, held_ms = since_ms, stages, periods } = clock;
    switch (event.kind) {
        case "moved": {
            const { seat, goes_on } = event;
            if (event.clock_ms == null) return null; // a clock without times would be invented
            return {
                ...clock,
                left_ms: put(left_ms, seat, event.clock_ms),
                stages: put(stages, seat, event.stage),
                periods: put(periods, seat, event.periods),
                since_ms: event.at,
                running: runningAfter(match, goes_on ? seat : 1 - seat),
                // The move's time has what a hold has counted of it.
                used_ms: goes_on ? used_ms - move_ms + (event.spent_ms ?? 0) : 0,
                move_ms: 0,
            };
        }
        case "time_added":
            return { ...clock, left_ms: put(left_ms, event.seat, (left_ms[event.seat] ?? 0) + event.ms) };
        case "held":
            return { ...clock, held: event.why, held_ms: event.since_ms };
        case "took_back":
        case "released":
        case "finished": {
            if (!event.clocks_ms) return clock;
            const after = { ...clock, left_ms: event.clocks_ms };
            if (event.kind === "finished") return { ...after, running: null, used_ms: 0, move_ms: 0, held: null };
            const counted = { ...after, stages: event.stages ?? stages, periods: event.periods ?? periods };
            if (event.kind === "released") {
                const spent_ms = held_ms - since_ms;
                return { ...counted, held: null, since_ms: event.from_ms, used_ms: used_ms + spent_ms, move_ms: move_ms + spent_ms };
            }
            return { ...counted, since_ms: Math.max(event.at, since_ms), running: runningAfter(match, turn), used_ms: event.used_ms ?? 0, move_ms: 0 };
        }
        default:
            return clock;
    }
}

/**
 * A pair with another number for a seat; unchanged if the event has none.
 * @template {[number, number] | null | undefined} Pair
 * @param {Pair} pair
 * @param {number} seat
 * @param {number | null | undefined} number
 * @returns {Pair}
 */
function put(pair, seat, number) {
    if (!pair || number == null) return pair;
    return /** @type {Pair} */ (pair.map((before, i) => (i === seat ? number : before)));
}

/**
 * The seat to move if both sides have finished their first turn; null before.
 * @param {MatchState} match
 * @param {number} turn the seat to move
 */
function runningAfter({ moves }, turn) {
    const movers = moves.map(({ seat }, ply) => seat ?? ply % 2);
    const ended = new Set(movers.filter((mover, ply) => mover !== (movers[ply + 1] ?? turn)));
    return ended.size === 2 ? turn : null;
}
