/**
 * The lists of the lobby: your matches, the rooms that wait for a player, and those with a running
 * match.
 *
 * @import {GameDescription, MatchSummary, MyMatches} from "../../shell/api.js"
 * @import {App} from "../../shell/app.js"
 * @import {ClockState, Occupant, RoomSummary} from "../../shell/protocol.js"
 * @import {Choices} from "./choices.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Model} from "../../shell/model.js"
 */

import { drawPicture } from "../../board/pictures/picture.js";
import { h } from "../../shell/elements.js";
import { isolated } from "../../shell/isolation.js";
import { icon } from "../../shell/icons.js";
import { SPEEDS, controlText, readingOf, wholeTimeText } from "../../ui/clock/clock.js";
import { agoText, isDraw, occupantName, optionsText, sideName } from "../../shell/words.js";

/**
 * The rooms of other people.
 * @param {Model} model
 * @param {GameDescription[]} games
 * @param {(room: string) => void} join
 * @param {Times} times
 * @param {App["offline"]} [offline] the attributes of buttons that need the server
 * @returns {VNode}
 */
export function drawPublic({ lobby, you }, games, join, times, offline = false) {
    const rooms = Object.values(lobby ?? {}).sort((a, b) => b.created_ms - a.created_ms);
    const all = rooms.filter((room) => !hasSeat(room, you?.identity));
    const others = all.filter((room) => times.speed === "" || (room.speed ?? "untimed") === times.speed);
    const open = others.filter((room) => room.state === "open");
    const playing = others.filter((room) => room.state === "playing");
    const draw = (/** @type {RoomSummary} */ room) => drawRoom(room, gameOf(games, room.game), join, times.now_ms, offline);
    return h(
        "section",
        { class: "rooms", "aria-label": "Public rooms", key: "public" },
        h("h2", { id: "waiting-heading", tabindex: -1 }, "Waiting for a player", all.some(({ clock }) => clock) || times.speed ? drawSpeeds(times) : null),
        open.length > 0
            ? h("ul", { class: "card list open", key: "open" }, open.map(draw))
            : h("p", { class: ["muted empty", lobby === null && "awaited"], key: "no open" }, times.speed ? `No ${times.speed} room waits for a player.` : emptyText(lobby !== null, playing.length > 0)),
        playing.length > 0 ? h("h2", null, "Being played") : null,
        playing.length > 0 ? h("ul", { class: "card list playing", key: "playing" }, playing.map(draw)) : null,
    );
}

/**
 * How many people wait for a player in the rooms of others, as a button that leads to the list of
 * these rooms; null if nobody waits.
 * @param {Model} model
 * @returns {VNode | null}
 */
export function drawWaiting({ lobby, you }) {
    const rooms = Object.values(lobby ?? {}).filter((room) => isJoinable(room) && !hasSeat(room, you?.identity));
    const people = new Set(rooms.flatMap(peopleThere).map(({ identity }) => identity)).size;
    if (people === 0) return null;
    const onclick = () => {
        const heading = document.getElementById("waiting-heading");
        heading?.scrollIntoView({ block: "start" });
        heading?.focus({ preventScroll: true });
    };
    return h("button", { class: "who-waits", key: "waiting", onclick }, people === 1 ? "1 person waits for a player" : `${people} people wait for a player`);
}

/**
 * The people with a seat who are in the room.
 * @param {RoomSummary} room
 * @returns {Occupant[]}
 */
function peopleThere({ seats, away = [] }) {
    return seats.flatMap((occupant, seat) => (occupant === null || occupant.kind === "ai" || away.includes(seat) ? [] : occupant));
}

/**
 * Whether one may sit down beside someone. Whoever waits must be there: nobody should sit down before
 * an empty chair. By the link one may.
 * @param {RoomSummary} room
 */
function isJoinable(room) {
    return room.state === "open" && room.seats.includes(null) && peopleThere(room).length > 0;
}

/**
 * What the lists need of clocks: the server's time, and the class of time controls whose rooms are
 * shown, "" for all.
 * @typedef {{now_ms: number, speed: string, pick: (speed: string) => void}} Times
 */

/** @param {Times} times */
function drawSpeeds({ speed, pick }) {
    const onchange = (/** @type {Event} */ { currentTarget }) =>
        currentTarget instanceof HTMLSelectElement && pick(currentTarget.value);
    return h(
        "select",
        { class: "small", key: "speed", "aria-label": "Rooms with this time", ".value": speed, onchange },
        Object.entries(SPEEDS).map(([value, title]) => h("option", { key: `o${value}`, value }, title)),
    );
}

/**
 * What a side has left in a running match, for a list; null without a clock.
 * @param {ClockState | null | undefined} clock
 * @param {number} seat
 * @param {number} now_ms the server's time
 * @returns {VNode | null}
 */
function drawLeft(clock, seat, now_ms) {
    if (!clock) return null;
    const { left_ms, runs } = readingOf(clock, seat, now_ms);
    return h("span", { class: ["left-time", runs && "runs"], key: `time ${seat}` }, wholeTimeText(left_ms));
}

/**
 * @param {RoomSummary} room
 * @param {string | undefined} you
 */
function hasSeat(room, you) {
    return room.seats.some((occupant) => occupant?.identity === you);
}

/**
 * The text in place of the rooms that wait for a player.
 * @param {boolean} isLoaded
 * @param {boolean} isPlayed whether a match can be watched
 */
function emptyText(isLoaded, isPlayed) {
    if (!isLoaded) return "Loading the rooms…";
    if (isPlayed) return "No room waits for a player. You can watch a match, or start your own.";
    return "No public match is open now. Start one: your friends join by its link, and others find it here.";
}

/**
 * @param {GameDescription[]} games
 * @param {string} id
 */
function gameOf(games, id) {
    return games.find((game) => game.id === id);
}

/**
 * Your rooms with a running match, those that wait for a player, and your last matches; null if you
 * have none.
 * @param {Model} model
 * @param {GameDescription[]} games
 * @param {MyMatches | null} mine null until they are loaded
 * @param {number} server_ms the server's time
 * @returns {Content}
 */
export function drawMine({ lobby, you: person, waiting }, games, mine, server_ms) {
    const you = person?.identity;
    const rooms = Object.values(lobby ?? {}).filter((room) => hasSeat(room, you));
    const now_ms = Date.now();
    const whatWaits = new Map(waiting.map(({ room, what }) => [room, what ?? ""]));
    const between = mine?.rooms ?? [];
    const inRooms = new Set(between.map(({ room }) => room));
    // The rooms list their matches.
    const finished = (mine?.finished ?? []).filter(({ room }) => !inRooms.has(room));
    const over = new Set(finished.map(({ match }) => match));
    const running = (mine?.running ?? []).filter(({ match, room }) => !over.has(match) && !inRooms.has(room));
    const started = new Set(running.map(({ room }) => room));
    const known = [...rooms, ...(mine?.waiting ?? [])].filter(({ room }) => !started.has(room) && !inRooms.has(room));
    const isOffered = (/** @type {RoomSummary} */ { room }) => isOfferOfMatch(whatWaits.get(room));
    const drawBetween = (/** @type {RoomSummary} */ room) => drawMyRoom(room, you, gameOf(games, room.game), whatWaits.get(room.room));
    const unique = [...new Map(known.map((room) => [room.room, room])).values()];
    const lines = [
        ...between.filter(isOffered).map(drawBetween),
        ...running.map((match) => drawMyMatch(match, you, gameOf(games, match.game), now_ms, lobby?.[match.room]?.times ?? match.times, server_ms, whatWaits.get(match.room))),
        ...unique.map((room) => drawMyRoom(room, you, gameOf(games, room.game))),
        ...between.filter((room) => !isOffered(room)).map(drawBetween),
        ...finished.map((match) => drawMyMatch(match, you, gameOf(games, match.game), now_ms)),
    ];
    if (lines.length === 0) return null;
    return h(
        "section",
        { class: "rooms mine", "aria-label": "Your matches", key: "mine" },
        h("h2", null, "Your matches"),
        h("ul", { class: "card list" }, lines),
    );
}

/** @param {string | undefined} what waits for you in a room */
function isOfferOfMatch(what) {
    return what === "rematch" || what === "next";
}

/**
 * Your running matches, and your rooms that wait for a player or have an offer of another match.
 * @param {Model} model
 * @param {MyMatches | null} mine
 * @returns {(MatchSummary | RoomSummary)[]}
 */
export function currentOf({ lobby, you, waiting }, mine) {
    const rooms = Object.values(lobby ?? {}).filter((room) => room.state !== "finished" && hasSeat(room, you?.identity));
    const offered = new Set(waiting.filter(({ what }) => isOfferOfMatch(what)).map(({ room }) => room));
    return [...rooms, ...(mine?.running ?? []), ...(mine?.waiting ?? []), ...(mine?.rooms ?? []).filter(({ room }) => offered.has(room))];
}

/**
 * Whether one of your rooms is already what a choice of a friend or of one screen would make again. An
 * unfinished match against an AI stands in nobody's way.
 * @param {Choices} choices
 * @param {(MatchSummary | RoomSummary)[]} current
 */
export function isAlreadyThere({ game, opponent }, current) {
    return current.some((each) => {
        const hasAi = each.seats.some((occupant) => occupant?.kind === "ai" && !occupant.kept_for);
        return each.game === game && !hasAi && opponent === (isOneScreen(each) ? "screen" : "friend");
    });
}

/**
 * @param {MatchSummary} match
 * @param {string | undefined} you
 * @param {GameDescription | undefined} game
 * @param {number} now_ms
 * @param {ClockState | null} [clock] of a running match
 * @param {number} [server_ms] the server's time
 * @param {string} [waits] what waits for you in its room
 */
function drawMyMatch(match, you, game, now_ms, clock = null, server_ms = 0, waits = "") {
    const seat = Math.max(0, match.seats.findIndex((occupant) => occupant.identity === you));
    const { over } = match;
    const time_ms = match.finished_ms ?? match.started_ms;
    const isYourTurn = match.turn === seat || (match.turn != null && isOneScreen(match));
    const isAwaited = !over && (OFFERS[waits] !== undefined || isYourTurn);
    return h(
        "li",
        { key: match.match, "data-match": match.match, "data-room": match.room },
        h(
            "a",
            { href: over ? `/match/${match.match}` : `/room/${match.room}` },
            game ? drawPicture(game) : null,
            drawTitle(match.title, [isOneScreen(match) ? "on one screen" : `against ${occupantName(match.seats[1 - seat])}`, match.clock && controlText(match.clock)].filter(Boolean).join(" · ")),
            clock ? h("span", { class: "left-times", key: "times" }, drawLeft(clock, seat, server_ms), drawLeft(clock, 1 - seat, server_ms)) : null,
            clock || isAwaited ? null : h("time", { class: "muted", datetime: new Date(time_ms).toISOString() }, agoText(time_ms, now_ms)),
            over
                ? h("span", { class: "hint muted" }, resultText(over, seat, match, game))
                : drawHint(OFFERS[waits] ?? turnText(match, seat, game), isAwaited),
        ),
    );
}

/**
 * What there is to do in a room: like a button where the other one waits for you.
 * @param {string | undefined} text
 * @param {boolean} isAwaited
 */
function drawHint(text, isAwaited) {
    return h("span", { class: ["hint", isAwaited && "awaits"] }, text);
}

/** What the opponent offers in a room, in a few words. @type {Record<string, string | undefined>} */
const OFFERS = { draw: "Offers a draw", takeback: "Asks to take back", rematch: "Offers a rematch", next: "Proposes a game" };

/**
 * Whose turn it is in a running match: "Your turn", "Their turn"; on one screen "White to move".
 * @param {MatchSummary} match
 * @param {number} seat your seat
 * @param {GameDescription | undefined} game
 */
function turnText(match, seat, game) {
    const { turn } = match;
    if (turn == null) return "Play on";
    if (isOneScreen(match)) return `${sideName(game?.view, turn)} to move`;
    return turn === seat ? "Your turn" : "Their turn";
}

/**
 * Whether one player plays both sides.
 * @param {{seats: (Occupant | null)[]}} match
 */
export function isOneScreen({ seats }) {
    return seats[0]?.kind !== "ai" && seats[0]?.identity === seats[1]?.identity;
}

/**
 * @param {NonNullable<MatchSummary["over"]>} over
 * @param {number} seat your seat
 * @param {MatchSummary} match
 * @param {GameDescription | undefined} game
 */
function resultText(over, seat, match, game) {
    if (over.winner !== null && isOneScreen(match)) return `${sideName(game?.view, over.winner)} won`;
    if (over.winner !== null) return over.winner === seat ? "You won" : "You lost";
    return isDraw(over) ? "Draw" : "No result";
}

/**
 * @param {RoomSummary} room
 * @param {string | undefined} you
 * @param {GameDescription | undefined} game
 * @param {string} [waits] what waits for you in the room
 */
function drawMyRoom(room, you, game, waits = "") {
    const opponent = room.seats.find((occupant) => occupant && occupant.identity !== you);
    const state = { playing: "Play on", open: "Invite", finished: "Play again" }[room.state];
    return h(
        "li",
        { key: room.room, "data-room": room.room },
        h(
            "a",
            { href: `/room/${room.room}` },
            game ? drawPicture(game) : null,
            drawTitle(room.title, [roomText(room, opponent?.name), room.clock && controlText(room.clock)].filter(Boolean).join(" · ")),
            drawHint(OFFERS[waits] ?? state, OFFERS[waits] !== undefined),
        ),
    );
}

/**
 * @param {RoomSummary} room
 * @param {string | undefined} opponent
 */
function roomText(room, opponent) {
    if (opponent !== undefined) return `against ${isolated(opponent)}`;
    return isOneScreen(room) ? "on one screen" : "waits for a second player";
}

/**
 * @param {string} title
 * @param {string} facts
 */
function drawTitle(title, facts) {
    return h("span", { class: "room-title" }, h("b", { class: "game" }, title), h("span", { class: "muted" }, facts));
}

/**
 * @param {RoomSummary} room
 * @param {GameDescription | undefined} game
 * @param {(room: string) => void} join
 * @param {number} now_ms the server's time
 * @param {App["offline"]} offline
 * @returns {VNode}
 */
function drawRoom(room, game, join, now_ms, offline) {
    const watching = room.watching ?? 0;
    const facts = [optionsText(room), room.clock ? controlText(room.clock) : "", room.length ?? ""].filter(Boolean).join(" · ");
    const away = new Set(room.away ?? []);
    const canJoin = isJoinable(room);
    const isLeft = room.state === "open" && peopleThere(room).length === 0;
    return h(
        "li",
        { key: room.room, "data-room": room.room, class: isLeft && "host-away" },
        h(
            "a",
            { href: `/room/${room.room}` },
            game ? drawPicture(game) : null,
            drawTitle(room.title, facts),
            h(
                "span",
                { class: "players" },
                room.seats.map((occupant, seat) =>
                    h(
                        "span",
                        { class: ["player-name", !occupant && "nobody", away.has(seat) && "away"] },
                        h("bdi", null, occupantName(occupant)),
                        drawLeft(room.times, seat, now_ms),
                    ),
                ),
            ),
            watching > 0 ? h("span", { class: "watching muted", title: "Spectators" }, icon("eye"), watching) : null,
            canJoin ? null : isLeft && away.size > 0 ? h("span", { class: "hint muted" }, "Host away") : h("span", { class: "hint way-in" }, isLeft ? "Look in" : "Watch"),
        ),
        canJoin
            ? h(
                  "button",
                  { class: "main small", "aria-label": `Join ${room.title}`, onclick: () => join(room.room), ...offline },
                  "Join",
              )
            : null,
    );
}
