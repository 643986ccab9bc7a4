/**
 * A variation: a line of moves that branches off from the match, and is shown step by step.
 *
 * @import {Played, PositionView} from "../../shell/protocol.js"
 */

import { request } from "../../shell/api.js";

/**
 * The server's answer: `views` begin with the position at `ply`, `start` is the last position as text,
 * and `over` says why the match would be over in that position. `withheld` says why no match against an
 * AI may start from there.
 * @typedef {{ply: number, start: string, moves: Played[], views: PositionView[], over: string | null, withheld?: string}} VariationAnswer
 */

/**
 * Reads a line that branches off at a ply of a match; without moves, the position at that ply.
 * @param {string} match
 * @param {number} ply
 * @param {string[]} moves the tokens
 * @returns {Promise<VariationAnswer>}
 */
export function readVariation(match, ply, moves) {
    const query = new URLSearchParams({ ply: String(ply), moves: moves.join(" ") });
    return request(`/api/matches/${encodeURIComponent(match)}/variation?${query}`);
}

export class Variation {
    #match;
    #update;
    /** @type {VariationAnswer | null} */
    #line = null;
    /** The number of moves of the line that are on the board. */
    #at = 0;
    /** Answers to earlier requests than this one are dropped. */
    #request = 0;
    #isOpening = false;

    /**
     * @param {string} match
     * @param {() => void} update draws the page again
     */
    constructor(match, update) {
        this.#match = match;
        this.#update = update;
    }

    get isOpen() {
        return this.#line !== null;
    }

    /** Whether a line is on its way from the server. */
    get isOpening() {
        return this.#isOpening;
    }

    /** The moves of the line. */
    get moves() {
        return this.#line?.moves ?? [];
    }

    /** The tokens of the moves that are on the board. */
    get played() {
        return this.moves.slice(0, this.#at).map(({ move }) => move);
    }

    /** The ply of the match at which the line begins. */
    get ply() {
        return this.#line?.ply ?? 0;
    }

    /** The number of moves of the line that are on the board. */
    get at() {
        return this.#at;
    }

    /** The position on the board; null without a line. */
    get view() {
        return this.#line?.views[this.#at] ?? null;
    }

    /**
     * Opens a line and shows its first move. Rejects with an ApiError or a NetworkError.
     * @param {number} ply
     * @param {string[]} moves
     */
    async open(ply, moves) {
        const request = ++this.#request;
        this.#isOpening = true;
        this.#update();
        try {
            const line = await readVariation(this.#match, ply, moves);
            if (request !== this.#request) return;
            this.#line = line;
            this.#at = Math.min(1, line.moves.length);
        } finally {
            if (request === this.#request) this.#isOpening = false;
            this.#update();
        }
    }

    /**
     * Shows the position after `at` moves of the line.
     * @param {number} at
     */
    show(at) {
        this.#at = Math.max(0, Math.min(this.moves.length, at));
        this.#update();
    }

    close() {
        this.#request += 1;
        this.#isOpening = false;
        this.#line = null;
        this.#update();
    }
}
