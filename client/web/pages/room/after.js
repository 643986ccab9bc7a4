/**
 * What a room shows after a match: the score of its players, and the buttons for the next match. The
 * page loads this module with the first match.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {MatchState, Occupant, Score} from "../../shell/protocol.js"
 * @import {Share} from "../../ui/share.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { isInviting, isOneScreen, permits, viewerSeat } from "./viewer.js";
import { isDraw, occupantName } from "../../shell/words.js";
import { hasAi } from "../../ui/table.js";

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

/**
 * "Ada 2 : 1 Ben": the score of the players on the seats over the matches of the room, your own first;
 * null without one. Others see it in the same order in each match, whoever plays which side.
 * @param {Model} model
 * @param {Room} room
 * @returns {Content}
 */
export function drawScore(model, room) {
    const score = scoreBetween(room);
    if (score === null) return null;
    const first = viewerSeat(model) ?? Number(isSwapped(room));
    const second = 1 - first;
    const name = (/** @type {number} */ seat) => h("bdi", null, playerName(room.seats[seat] ?? null));
    return h(
        "p",
        { class: "series", key: "series", title: "The score over the matches of this room" },
        name(first),
        h("b", null, ` ${scorePoints(score[first] ?? 0)} : ${scorePoints(score[second] ?? 0)} `),
        name(second),
    );
}

/**
 * The points of a seat over the matches of the room, for its bar; undefined without a score.
 * @param {Room} room
 * @param {number} seat
 */
export function pointsOf(room, seat) {
    const halves = scoreBetween(room)?.[seat];
    return halves === undefined ? undefined : scorePoints(halves);
}

/**
 * Who has taken a seat since the last match: nothing starts before both agree on it. Null if the players
 * are those of the match.
 * @param {Room} room
 * @returns {Content}
 */
export function drawNewcomer({ match, seats }) {
    if (!match?.over || match.over.how === "abort" || !seats.every((each) => each && each.kind !== "ai")) return null;
    const names = newcomers({ match, seats }).map(occupantName);
    if (names.length === 0) return null;
    return h("p", { class: "muted", key: "newcomer" }, `${names.join(" and ")} ${names.length > 1 ? "have" : "has"} taken the seat. The next match starts when both want it.`);
}

/**
 * The people on the seats who have not played the room's last match.
 * @param {Pick<Room, "match" | "seats">} room
 */
function newcomers({ match, seats }) {
    const played = new Set(match?.seats.map((each) => (each.kept_for ?? each).identity));
    return seats.filter((each) => each && each.kind !== "ai" && !played.has(each.identity));
}

/**
 * The player of a seat in the score, in which all AIs are one.
 * @param {Room["seats"][number]} occupant
 */
function playerName(occupant) {
    if (occupant?.kind !== "ai") return occupantName(occupant);
    return occupant.kept_for ? occupantName({ ...occupant.kept_for }) : "the computer";
}

/**
 * The buttons for the next match: of the same game, after a loss against a level also with another
 * level, and of any game. Where the other seat is empty, the room's link.
 * @param {App} app
 * @param {Room} room
 * @param {Share} [share]
 * @returns {Content}
 */
export function drawAgain(app, room, share) {
    const isAlone = viewerSeat(app.model) !== null && room.seats.includes(null) && !isInviting(room);
    return [
        isAlone && h("p", { key: "alone", class: "muted" }, "The other seat is empty. Send the room's link again."),
        isAlone && share?.draw("", true),
        drawSame(app, room),
        drawNextGame(app, room),
    ];
}

/**
 * @param {App} app
 * @param {Room} room
 * @returns {Content}
 */
function drawSame(app, room) {
    if (room.offers.length > 0 && permits(app.model, "decline")) return null;
    if (!permits(app.model, "rematch")) return null;
    const send = () => void app.command({ t: "rematch", room: room.id });
    // The answer to an open proposal is the main button then.
    const main = room.next === null && "main";
    const button = (/** @type {string} */ text) => h("button", { key: "rematch", class: [main], onclick: send }, icon("again"), text);
    const level = lostAgainst(app, room);
    if (level === null) return button(hasAi(room.seats) || isOneScreen(room) ? "Play again" : newcomers(room).length > 0 ? "Offer a match" : "Offer a rematch");
    return [drawLevel(app, room, "Easier", level - 1), button("Same again"), drawLevel(app, room, "Harder", level + 1)];
}

/**
 * The level of the AI against which the viewer has lost; null after any other match.
 * @param {App} app
 * @param {Room} room
 */
function lostAgainst({ model }, { match, seats }) {
    const seat = viewerSeat(model);
    if (seat === null || match?.over?.winner !== 1 - seat) return null;
    const opponent = seats[1 - seat];
    return opponent?.kind === "ai" && !opponent.kept_for ? (opponent.level ?? null) : null;
}

/**
 * @param {App} app
 * @param {Room} room
 * @param {string} text
 * @param {number} level
 */
function drawLevel(app, { id, description }, text, level) {
    if (!description || level < 1 || level > description.levels || !permits(app.model, "next_game")) return null;
    const { game, options } = description;
    const send = () => void app.command({ t: "next_game", room: id, game, options, seats: [1, 0], level });
    return h("button", { key: text, title: `Level ${level} ${description.level_names?.[level - 1] ?? ""}`, onclick: send }, text);
}

/**
 * The button that opens the choice of the next game.
 * @param {App} app
 * @param {Room} room
 */
function drawNextGame(app, room) {
    if (!permits(app.model, "next_game")) return null;
    return h("button", { key: "next", onclick: () => opens(app, import("./next-game.js"), (m) => m.openNextGame(app, room)) }, "Next game…");
}

/**
 * The button that opens the list of the room's matches; null before the end of the first one.
 * @param {App} app
 * @param {Room} room
 */
export function drawEveningButton(app, room) {
    if (!room.match || (room.match.number === 1 && !room.match.over)) return null;
    const open = () => opens(app, import("./evening.js"), (module) => module.openEvening(room, drawScore(app.model, room)));
    return h("button", { class: "small", key: "evening", onclick: open }, "All matches");
}

/**
 * Opens what a module has, when it has arrived.
 * @template Module
 * @param {App} app
 * @param {Promise<Module>} module
 * @param {(module: Module) => Promise<void>} open
 */
function opens(app, module, open) {
    module.then(open).catch(() => app.missing());
}
