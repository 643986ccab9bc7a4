/**
 * The score of the players of a room against each other, over its matches. Pure functions.
 *
 * @import {MatchState, Occupant, Score} from "../../shell/protocol.js"
 * @import {Room} from "../../shell/model.js"
 */

import { isDraw } from "../../shell/words.js";

/** Maximum number of pairs of players that have a score, the latest pair last. */
const MAX_SCORES = 20;

/**
 * The keys of the players on both seats: the identity of a person, and "ai" for every AI. Two sides of
 * one person have their names as keys. Null if they have no score against each other.
 * @param {(Occupant | null)[]} seats
 * @returns {[string, string] | null}
 */
function playerKeys(seats) {
    const [first, second] = seats.map((occupant) => occupant?.kept_for ?? occupant);
    if (!first || !second) return null;
    if (first.identity !== second.identity) return [first.identity, second.identity];
    return seats[0]?.kind === "ai" || first.name === second.name ? null : [first.name, second.name];
}

/**
 * The scores after another match (server/series.py has the same rule).
 * @param {Score[]} series
 * @param {MatchState} match
 * @returns {Score[]}
 */
function withResult(series, { seats, over }) {
    const keys = playerKeys(seats);
    if (!keys || !over || (over.winner === null && !isDraw(over))) return series;
    const before = series.find(({ players }) => keys.every((key) => players.includes(key)));
    const players = before?.players ?? keys;
    const gained = keys.map((_, seat) => (over.winner === null ? 1 : over.winner === seat ? 2 : 0));
    const half_points = /** @type {[number, number]} */ (
        players.map((key, i) => (before?.half_points[i] ?? 0) + gained[keys.indexOf(key)])
    );
    return [...series.filter((score) => score !== before), { players, half_points }].slice(-MAX_SCORES);
}

/**
 * The points of the room's players against each other, over all its matches.
 * @param {Room} room
 */
export function seriesOf({ series, results }) {
    return results.reduce(withResult, series);
}

/**
 * The half points of the players on both seats against each other, by seat; null without any.
 * @param {Room} room
 * @returns {number[] | null}
 */
export function scoreBetween(room) {
    const keys = playerKeys(room.seats);
    const score = keys && seriesOf(room).find(({ players }) => keys.every((key) => players.includes(key)));
    return score ? keys.map((key) => score.half_points[score.players.indexOf(key)]) : null;
}

/**
 * Whether the player who sat first in the first match of the two now sits second.
 * @param {Room} room
 */
export function isSwapped(room) {
    const keys = playerKeys(room.seats);
    const score = keys && seriesOf(room).find(({ players }) => keys.every((key) => players.includes(key)));
    return score?.players[0] === keys?.[1] && score !== undefined;
}

/**
 * Half points as points: "2", "½", "2½".
 * @param {number} halves
 */
export function scorePoints(halves) {
    const whole = Math.floor(halves / 2);
    return halves % 2 === 0 ? String(whole) : `${whole || ""}½`;
}
