/**
 * The server's HTTP API, typed. Any request may be made at any time; an error response becomes an
 * ApiError.
 *
 * @import {BoardView, Info, Occupant, MatchResult, Played, PositionView} from "./protocol.js"
 */

/** @typedef {{title: string, default: string, offered: string[], free?: boolean}} GameOption */
/**
 * @typedef {{id: string, title: string, levels: number, options: Record<string, GameOption>, rules:
 *     string, view: BoardView, start?: PositionView}} GameDescription
 */
/**
 * @typedef {object} MatchSummary
 * @property {string} match
 * @property {string} room
 * @property {string} game
 * @property {string} title
 * @property {number} number
 * @property {Occupant[]} seats
 * @property {MatchResult | null} [over]
 * @property {number} plies
 * @property {string} length in words, as the game counts moves
 * @property {number} started_ms
 * @property {number | null} [finished_ms]
 */
/**
 * @typedef {MatchSummary & {options: Record<string, string>, start: string, moves: Played[], view:
 *     BoardView | null, thoughts: Record<string, Info>}} StoredMatch
 */

/** Views that one request may return. */
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

/**
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<any>}
 */
async function request(path, init) {
    const response = await fetch(path, { credentials: "same-origin", ...init });
    const body = await response
        .json()
        .catch(() => ({ code: "http.error", message: `the server answered ${response.status}` }));
    if (!response.ok)
        throw new ApiError(body.code ?? "http.error", body.message ?? `the server answered ${response.status}`);
    return body;
}

/**
 * Makes this browser a guest, or renames the guest that it is. The server sets a cookie that no
 * script can read.
 * @param {string} [name]
 * @returns {Promise<{identity: string, name: string}>}
 */
export function becomeGuest(name) {
    const body = JSON.stringify(name === undefined ? {} : { name });
    return request("/api/guest", { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

/**
 * Why the server refuses sockets, which the browser does not reveal; null when the server gives no
 * reason.
 * @returns {Promise<string | null>}
 */
export async function whyRefused() {
    try {
        await request("/ws");
        return null;
    } catch (error) {
        return error instanceof ApiError && error.code === "rate.exceeded" ? error.message : null;
    }
}

/** @type {Promise<GameDescription[]> | null} */
let games = null;

/**
 * Every game that this server has; requested once.
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
 * Finished matches, the latest first.
 * @param {number} limit
 * @param {string | null} [before] the `next` of the previous page
 * @returns {Promise<{matches: MatchSummary[], next: string | null}>}
 */
export function listMatches(limit, before = null) {
    const query = before === null ? "" : `&before=${encodeURIComponent(before)}`;
    return request(`/api/matches?limit=${limit}${query}`);
}

/**
 * One match with its moves and the AI's search before each of its own.
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
