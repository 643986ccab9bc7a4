/**
 * The analysis of a match, which the server makes in the background: its request, its progress and its
 * result.
 *
 * @import {Candidate} from "../../shell/protocol.js"
 */

import { ApiError, NetworkError, request } from "../../shell/api.js";

/** How much a move lost, in words. @typedef {"inaccuracy" | "mistake" | "blunder"} Mark */
/**
 * A position of the match. `chance` is that of seat 0, in percent. The best move is missing where the
 * match is over on the board, and `loss` after the last move. `says_mark` is a sentence about the move
 * that was played, if it has a mark.
 * @typedef {{ply: number, chance: number, says: string, seat: number, best?: string, text?: string, pv?: string[], line?: string,
 *     candidates?: Candidate[], depth?: number, only?: boolean, loss?: number, mark?: Mark | null, says_mark?: string}} AnalysedPly
 */
/** @typedef {{inaccuracy: number, mistake: number, blunder: number}} MarkCounts */
/**
 * @typedef {object} AnalysisSummary
 * @property {(number | null)[]} accuracy of each seat, in percent
 * @property {MarkCounts[]} counts of each seat
 * @property {{ply: number, seat?: number, sentence: string}[]} turning_points
 */
/**
 * `plies` is the number of positions, and `done_plies` the number of those that are done. `moves` has
 * the positions that are done, in order. `ahead` is the number of analyses before this one.
 * @typedef {{state: "none" | "queued" | "running" | "done" | "failed" | "refused", reason?: string, ahead?: number, plies: number,
 *     done_plies: number, nodes: number, engine?: string, moves: AnalysedPly[], summary: AnalysisSummary | null}} Analysis
 */

/** Pause before the next request for the progress after a lost connection, in ms. */
const RETRY_MS = 1000;

/** The sign of each mark in a list of moves, as in chess books. @type {Record<Mark, string>} */
export const SIGNS = { inaccuracy: "?!", mistake: "?", blunder: "??" };

export class MatchAnalysis {
    #path;
    #update;
    /** @type {Analysis | null} */
    #analysis = null;
    /** The analysed positions by ply. @type {Map<number, AnalysedPly>} */
    #byPly = new Map();
    /** Why the server refused the request, or empty. */
    #refusal = "";
    #isRequesting = false;
    #isFollowing = false;
    #stopping = new AbortController();

    /**
     * @param {string} match
     * @param {() => void} update draws the page again
     */
    constructor(match, update) {
        this.#path = `/api/matches/${encodeURIComponent(match)}/analysis`;
        this.#update = update;
    }

    /** The analysis as far as it has arrived; null before the first answer. */
    get latest() {
        return this.#analysis;
    }

    /** Why the server refused the last request for an analysis, or empty. */
    get refusal() {
        return this.#refusal;
    }

    /** Whether a request for the analysis is under way. */
    get isRequesting() {
        return this.#isRequesting;
    }

    /** Whether the server is making the analysis, or will. */
    get isUnderWay() {
        return this.#analysis?.state === "queued" || this.#analysis?.state === "running";
    }

    /**
     * The analysed position at a ply.
     * @param {number} ply
     */
    at(ply) {
        return this.#byPly.get(ply) ?? null;
    }

    /** Reads the analysis, and follows it if it is under way. */
    async load() {
        try {
            this.#set(merge(null, await request(this.#path)));
        } catch (error) {
            if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
            this.#refusal = error.message;
            this.#update();
        }
        if (this.isUnderWay) void this.#follow();
    }

    /** Asks the server for the analysis, and follows it. */
    async ask() {
        if (this.#isRequesting) return;
        this.#isRequesting = true;
        this.#refusal = "";
        this.#update();
        try {
            this.#set(merge(null, await request(this.#path, { method: "POST" })));
        } catch (error) {
            if (!(error instanceof ApiError || error instanceof NetworkError)) throw error;
            this.#refusal = error.message;
        }
        this.#isRequesting = false;
        this.#update();
        if (this.isUnderWay) void this.#follow();
    }

    stop() {
        this.#stopping.abort();
    }

    /** Reads streams of progress until the analysis has ended. */
    async #follow() {
        if (this.#isFollowing) return;
        this.#isFollowing = true;
        const { signal } = this.#stopping;
        while (this.isUnderWay && !signal.aborted) {
            const isRead = await this.#readProgress(signal).catch(() => false);
            if (!isRead && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
        this.#isFollowing = false;
    }

    /**
     * Reads one stream of progress to its end. Resolves with false if the server sent none.
     * @param {AbortSignal} signal
     */
    async #readProgress(signal) {
        const response = await fetch(`${this.#path}?follow`, { credentials: "same-origin", signal });
        if (!response.ok || !response.body) return false;
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let rest = "";
        for (let part = await reader.read(); !part.done; part = await reader.read()) {
            const lines = (rest + part.value).split("\n");
            rest = lines.pop() ?? "";
            for (const line of lines) if (line.trim() !== "") this.#set(merge(this.#analysis, JSON.parse(line)));
        }
        return true;
    }

    /** @param {Analysis} analysis */
    #set(analysis) {
        this.#analysis = analysis;
        this.#byPly = new Map(analysis.moves.map((entry) => [entry.ply, entry]));
        this.#update();
    }
}

/**
 * An analysis with an update applied, which has the changed fields and the new positions.
 * @param {Analysis | null} before
 * @param {Partial<Analysis>} update
 * @returns {Analysis}
 */
export function merge(before, update) {
    const moves = new Map([...(before?.moves ?? []), ...(update.moves ?? [])].map((entry) => [entry.ply, entry]));
    const empty = { state: /** @type {const} */ ("none"), plies: 0, done_plies: 0, nodes: 0, summary: null };
    const { summary = null } = update;
    return { ...empty, ...before, ...update, summary, moves: [...moves.values()].sort((a, b) => a.ply - b.ply) };
}

/**
 * The ply of the position after the next move with a mark, or the previous one; null if there is none.
 * @param {AnalysedPly[]} moves
 * @param {number} shown
 * @param {1 | -1} direction
 */
export function nextMarked(moves, shown, direction) {
    const marked = moves.flatMap(({ ply, mark }) => (mark ? [ply + 1] : []));
    const found = direction > 0 ? marked.find((ply) => ply > shown) : marked.findLast((ply) => ply < shown);
    return found ?? null;
}
