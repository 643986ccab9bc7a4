/**
 * The positions of a search's nodes, requested from the server some nodes ahead, so that stepping
 * does not wait for them.
 *
 * @import {PositionView} from "../shell/protocol.js"
 * @import {SearchTrace} from "./trace.js"
 */

import { readBoards } from "./requests.js";

/** How many nodes before and after the current one are requested. */
const [BEFORE, AHEAD] = [8, 40];
/** A request is made when one of this many nodes ahead has no position. */
const ENOUGH_AHEAD = 16;
/** How many cut-offs ahead and back have their positions, for the keys that lead to them. */
const CUTS = 3;
/** The server answers at most this many lines of moves. */
const MAX_LINES = 64;
/** After a failure no request is made for this time. */
const PAUSE_MS = 2000;
/** Positions of more nodes than this are forgotten. */
const MAX_POSITIONS = 4000;

/** Requests the positions after lines of moves. @typedef {(lines: string[][], signal: AbortSignal) => Promise<PositionView[]>} RequestBoards */

export class NodeBoards {
    #trace;
    #onChange;
    #request;
    /** @type {Map<number, PositionView>} */
    #positions = new Map();
    /** The rows of the request that is under way. @type {Set<number>} */
    #requested = new Set();
    #controller = new AbortController();
    /** Why the last request failed. @type {string | null} */
    failure = null;
    /** The row at which the last request failed, and when. */
    #failed = { row: -1, at_ms: -Infinity };

    /**
     * @param {SearchTrace} trace
     * @param {() => void} onChange called when positions have arrived, or a request has failed
     * @param {RequestBoards} [request]
     */
    constructor(trace, onChange, request) {
        this.#trace = trace;
        this.#onChange = onChange;
        this.#request = request ?? ((lines, signal) => this.#read(lines, signal));
        if (trace.head.start) this.#positions.set(0, trace.head.start);
    }

    /** Ends the requests. */
    stop() {
        this.#controller.abort();
    }

    /**
     * The position of a node; null if it is not there yet.
     * @param {number} row
     */
    positionOf(row) {
        return this.#positions.get(row) ?? null;
    }

    /**
     * Requests the positions around a node if the next ones are missing.
     * @param {number} row the current node
     * @param {number} cuts the number of cut-offs before it
     */
    prefetch(row, cuts) {
        if (row < 0 || this.#requested.size > 0 || this.#mustWait(row)) return;
        const isNear = (/** @type {number} */ near) => near >= row && near <= row + ENOUGH_AHEAD;
        const missing = this.#wanted(row, cuts).filter((near) => !this.#positions.has(near));
        if (missing.some((near) => isNear(near) || near < row)) void this.#load(row, missing.slice(0, MAX_LINES));
    }

    /**
     * Whether the last request failed for this node, or a moment ago.
     * @param {number} row
     */
    #mustWait(row) {
        return row === this.#failed.row || performance.now() - this.#failed.at_ms < PAUSE_MS;
    }

    /**
     * The rows that are likely to be shown next, the likeliest first.
     * @param {number} row
     * @param {number} cuts
     */
    #wanted(row, cuts) {
        const trace = this.#trace;
        const rows = new Set([row]);
        for (let above = trace.parent(row); above >= 0; above = trace.parent(above)) rows.add(above);
        for (let cut = Math.max(0, cuts - CUTS); cut < Math.min(trace.cutCount, cuts + CUTS); cut++) rows.add(trace.stepNode(trace.cut(cut)));
        for (let near = row - BEFORE; near <= row + AHEAD; near++) rows.add(near);
        return [...rows].filter((near) => near >= 0 && near < trace.count);
    }

    /**
     * @param {number} current the current node
     * @param {number[]} rows
     */
    async #load(current, rows) {
        this.#requested = new Set(rows);
        const { signal } = this.#controller;
        try {
            const positions = await this.#request(rows.map((row) => this.#trace.lineTo(row)), signal);
            if (this.#positions.size > MAX_POSITIONS) this.#positions.clear();
            rows.forEach((row, index) => this.#positions.set(row, positions[index]));
            this.failure = null;
            this.#failed = { row: -1, at_ms: -Infinity };
        } catch (error) {
            this.#failed = { row: current, at_ms: performance.now() };
            this.failure = error instanceof Error ? error.message : String(error);
        }
        this.#requested.clear();
        if (!signal.aborted) this.#onChange();
    }

    /**
     * @param {string[][]} lines
     * @param {AbortSignal} signal
     */
    async #read(lines, signal) {
        const { game, options = {}, position } = this.#trace.head;
        return (await readBoards({ game, options, position, lines }, signal)).positions;
    }
}
