/**
 * Requests to the server's HTTP API. A function throws an ApiError when the server answers with an
 * error.
 *
 * @import {Assessment, BoardView, ClockState, EventMessage, HiddenMessage, Info, Occupant, MatchResult,
 *     Notification, Played, PositionView, RoomSummary} from "./protocol.js"
 */

/** @typedef {{title: string, default: string, offered: string[], free?: boolean, phrases?: Record<string, string>}} GameOption */
/**
 * @typedef {{id: string, title: string, levels: number, level_names?: string[],
 *     aliases?: string[], goal?: string, search?: string, options: Record<string, GameOption>, rules: string,
 *     view: BoardView, start?: PositionView, formats?: FileFormat[]}} GameDescription
 * `goal` says in a sentence what a player tries to do. `search` is "teach" for a game for lessons.
 *
 * A format of files that matches of a game can be written in, the usual one first.
 * @typedef {{name: string, title: string, suffix: string}} FileFormat
 */
/**
 * @typedef {object} MatchSummary
 * @property {string} match
 * @property {string} room
 * @property {string} game
 * @property {string} title
 * @property {number} number
 * @property {Occupant[]} seats
 * @property {(MatchResult & {clocks_ms?: [number, number] | null}) | null} [over]
 * @property {number} plies
 * @property {string} length as text, such as "12 moves"; the game counts the moves
 * @property {number} started_ms
 * @property {number | null} [finished_ms]
 * @property {number | null} [turn] the seat to move, in your running matches
 * @property {ClockState | null} [times] the clock, in your running matches
 * @property {string | null} [clock] the text of the time control; null for none
 * @property {string} [speed] the class of the time control
 */
/**
 * @typedef {MatchSummary & {options: Record<string, string>, options_text?: string, start: string, moves: Played[], view:
 *     BoardView | null, thoughts: Record<string, Info>, withheld?: string, public?: boolean, spent_ms?: number[],
 *     left_ms?: (number | null)[], formats?: FileFormat[]}} StoredMatch
 * `spent_ms` has the time that each move took, and `left_ms` what its player's clock had after it.
 */

/**
 * Your matches, the latest first, the rooms in which you wait for a player, those of the last hours in
 * which another person still sits beside you, and what waits for you.
 * @typedef {{running: MatchSummary[], finished: MatchSummary[], waiting: RoomSummary[],
 *     rooms?: RoomSummary[], notifications?: Notification[]}} MyMatches
 */

/** Maximum number of plies whose assessments the server returns for one request. */
export const MAX_ASSESSED_PLIES = 40;
/** Maximum number of views that the server returns for one request. */
export const MAX_VIEWS_PER_REQUEST = 100;

/** The server answered a request with an error. */
export class ApiError extends Error {
    /**
     * @param {string} code
     * @param {string} message
     */
    constructor(code, message) {
        super(message);
        this.name = "ApiError";
        this.code = code;
    }
}

/** The server does not answer: fetch() failed, in words for people. */
export class NetworkError extends TypeError {
    constructor() {
        super("The server does not answer. Plyroom tries again when the connection is back.");
        this.name = "NetworkError";
    }
}

/**
 * The response's JSON; throws ApiError for an error response, and NetworkError without a response.
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
export async function request(path, init) {
    const response = await fetch(path, { credentials: "same-origin", ...init }).catch(() => {
        throw new NetworkError();
    });
    // A proxy or a login page of a network may answer 200 with a page of its own.
    const body = await response.json().catch(() => null);
    if (!response.ok || body === null)
        throw new ApiError(body?.code ?? "http.error", body?.message ?? `the server answered ${response.status}`);
    return body;
}

/**
 * Registers this browser as a guest, or renames its guest. The server sets a cookie that no script
 * can read. A `notice` says that the guest of the browser's cookie was not found.
 * @param {string} [name]
 * @returns {Promise<{identity: string, name: string, notice?: string}>}
 */
export function registerGuest(name) {
    const body = JSON.stringify(name === undefined ? {} : { name });
    return request("/api/guest", { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

/**
 * The server's message if it refuses sockets because this address has opened too many; otherwise
 * null. It is requested over HTTP, because a browser hides the response to a failed WebSocket
 * handshake.
 * @returns {Promise<string | null>}
 */
export async function readRefusalReason() {
    try {
        await request("/ws");
        return null;
    } catch (error) {
        return error instanceof ApiError && error.code === "rate.exceeded" ? error.message : null;
    }
}

/**
 * A position from which a match can start: its text as the server stores it, the board and the view.
 * `placeable` is there for the game's own start: whether `readPlaced` accepts pieces of this game.
 * `mended` says what the server put right in the text, as sentences.
 * @typedef {{start: string, board: BoardView, view: PositionView, placeable?: boolean, mended?: string[]}} StartPosition
 */

/**
 * The position of a text; null stands for the game's own start. An ApiError says what the server
 * expected.
 * @param {string} game
 * @param {Record<string, string>} options
 * @param {string | null} start
 * @returns {Promise<StartPosition>}
 */
export function readPosition(game, options, start) {
    const query = new URLSearchParams({ ...options, game, ...(start === null ? null : { start }) });
    return request(`/api/position?${query}`);
}

/**
 * The position with these pieces. An ApiError says why the game has none.
 * @param {string} game
 * @param {Record<string, string>} options
 * @param {Record<string, string>} pieces the kinds of the pieces, by cell
 * @param {number} turn the seat to move
 * @returns {Promise<StartPosition>}
 */
export function readPlaced(game, options, pieces, turn) {
    const text = Object.entries(pieces).map(([cell, kind]) => `${cell}:${kind}`);
    return request(`/api/position?${new URLSearchParams({ ...options, game, pieces: text.join(","), turn: String(turn) })}`);
}

/** The cached list of games. @type {Promise<GameDescription[]> | null} */
let games = null;

/**
 * All games of this server; requested once.
 * @returns {Promise<GameDescription[]>}
 */
export function listGames() {
    games ??= request("/api/games").then(
        (body) => body.games,
        (error) => {
            games = null;
            throw error;
        },
    );
    return games;
}

/**
 * A lesson in the list, with the number of nodes of its largest search.
 * @typedef {{name: string, title: string, summary: string, is_exercise: boolean, nodes: number}} LessonSummary
 * @typedef {{title: string, lessons: LessonSummary[]}} Topic
 */

/**
 * The lessons by topic, in the recommended order.
 * @returns {Promise<Topic[]>}
 */
export async function listLessons() {
    return (await request("/api/lessons")).topics;
}

/**
 * Finished matches, the latest first.
 * @param {number} limit
 * @param {Record<string, string>} [filter] the parameters of the request, without the empty ones:
 *     `before`, the `next` of another page, `after`, its `previous`, and the filters
 * @returns {Promise<{matches: MatchSummary[], next: string | null, previous?: string | null}>}
 */
export function listMatches(limit, filter = {}) {
    return request(`/api/matches?${new URLSearchParams({ limit: String(limit), ...filter })}`);
}

/**
 * The last matches of a room, the latest first; one that is running has no `over`.
 * @param {string} room
 * @returns {Promise<{matches: MatchSummary[]}>}
 */
export function listRoomMatches(room) {
    return request(`/api/rooms/${encodeURIComponent(room)}/matches`);
}

/**
 * The strategies of this server: a `fixed_depth` of null means that its seat says how deep it searches,
 * within the limits of `depth`, in plies.
 * @typedef {{strategies: {name: string, title: string, fixed_depth: number | null}[], depth: {default: number, max: number}}} StrategyList
 */

/** @returns {Promise<StrategyList>} */
export function listStrategies() {
    return request("/api/strategies");
}

/**
 * Your own matches, public or not.
 * @returns {Promise<MyMatches>}
 */
export function listMyMatches() {
    return request("/api/me/matches");
}

/**
 * The addresses of a room or match for other people, the most likely first; none if only this machine
 * can reach the server.
 * @param {string} path of the page, such as "/room/abc"
 * @returns {Promise<{links: string[], advice?: string}>} `advice` says why there is none, if the server knows
 */
export function listLinks(path) {
    return request(`/api/links${path}`);
}

/**
 * The path of the QR code of a page's first link.
 * @param {string} path
 */
export function qrCodePath(path) {
    return `/api/links${path}/qr.svg`;
}

/**
 * One match with its moves, and the AI's search report for each move of an AI.
 * @param {string} match
 * @returns {Promise<StoredMatch>}
 */
export function readMatch(match) {
    return request(`/api/matches/${encodeURIComponent(match)}`);
}

/**
 * The views of a match at plies `from` to `to`, inclusive; at most MAX_VIEWS_PER_REQUEST.
 * @param {string} match
 * @param {number} from
 * @param {number} to
 * @returns {Promise<Record<number, PositionView>>}
 */
export async function readViews(match, from, to) {
    /** @type {{views: {ply: number, view: PositionView}[]}} */
    const { views } = await request(`/api/matches/${encodeURIComponent(match)}/views?from=${from}&to=${to}`);
    return Object.fromEntries(views.map(({ ply, view }) => [ply, view]));
}

/**
 * The AI's searches in words for the moves at plies `from` to `to`, inclusive; at most
 * MAX_ASSESSED_PLIES. There are none at the plies of people.
 * @param {string} match
 * @param {number} from
 * @param {number} to
 * @returns {Promise<Record<number, Assessment>>}
 */
export async function readAssessments(match, from, to) {
    const { assessments } = await request(`/api/matches/${encodeURIComponent(match)}/assessments?from=${from}&to=${to}`);
    return assessments;
}

/**
 * The events around a match, from its start up to the room's next match, without chat.
 * @param {string} match
 * @param {string} room its room, which the server names only to players of an unlisted one
 * @returns {Promise<(EventMessage | HiddenMessage)[]>}
 */
export async function readEvents(match, room) {
    /** @type {{events: (EventMessage | HiddenMessage)[]}} */
    const { events } = await request(`/api/matches/${encodeURIComponent(match)}/events`);
    return events.map((event) => ({ ...event, room }));
}
