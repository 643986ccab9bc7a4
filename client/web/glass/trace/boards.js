/**
 * The positions of a search's nodes, prefetched from the server, so that a step does not wait for
 * them.
 *
 * @import {PositionView} from "../../shell/protocol.js"
 * @import {Clock} from "./clock.js"
 * @import {SearchTrace} from "./trace.js"
 */

import { windowClock } from "./clock.js";
import { readBoards } from "./requests.js";

/** How many nodes before and after the current one are requested. */
const [BEFORE, AHEAD] = [8, 40];
/** A request is due when one of this many nodes ahead has no position. */
const ENOUGH_AHEAD = 16;
/** How many cut-offs ahead and back are prefetched, for the keys that go to them. */
const CUTS = 3;
/** Maximum number of lines of moves in a request. */
const MAX_LINES = 64;
/** The least time between two requests: dragging the slider causes only a few. */
const INTERVAL_MS = 400;
/** After a failure no request is made for this time. */
const PAUSE_MS = 2000;
/** Maximum number of positions in memory. */
const MAX_POSITIONS = 4000;

/** Requests the positions after lines of moves. @typedef {(lines: string[][], signal: AbortSignal) => Promise<PositionView[]>} RequestBoards */

export class NodeBoards {
    #trace;
    #onChange;
    #request;
    #clock;
    /** @type {Map<number, PositionView>} */
    #positions = new Map();
    /** The rows of the request that is under way. @type {Set<number>} */
    #requested = new Set();
    #controller = new AbortController();
    /** Why the last request failed. @type {string | null} */
    failure = null;
    /** The earliest time of the next request. */
    #next_ms = -Infinity;
    /** The timer of the next request, and the node and the number of cut-offs that it is for. */
    #timer = 0;
    #latest = { row: -1, cuts: 0 };
    /** The row at which the last request failed, -1 after a success. */
    #failedRow = -1;

    /**
     * @param {SearchTrace} trace
     * @param {() => void} onChange called when positions have arrived, or a request has failed
     * @param {RequestBoards} [request]
     * @param {Clock} [clock]
     */
    constructor(trace, onChange, request, clock = windowClock) {
        this.#trace = trace;
        this.#onChange = onChange;
        this.#request = request ?? ((lines, signal) => this.#read(lines, signal));
        this.#clock = clock;
        if (trace.head.start) this.#positions.set(0, trace.head.start);
    }

    /** Cancels all requests. */
    stop() {
        this.#clock.cancel(this.#timer);
        this.#controller.abort();
    }

    /**
     * The position of a node; null until it has arrived.
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
        this.#latest = { row, cuts };
        if (row < 0 || this.#requested.size > 0 || this.#timer !== 0 || row === this.#failedRow) return;
        if (this.#missing().length === 0) return;
        const wait_ms = this.#next_ms - this.#clock.now();
        if (wait_ms <= 0) return void this.#load();
        this.#timer = this.#clock.after(wait_ms, () => {
            this.#timer = 0;
            void this.#load();
        });
    }

    /** The rows whose positions to request; none while enough are known. */
    #missing() {
        const { row, cuts } = this.#latest;
        const missing = this.#wanted(row, cuts).filter((near) => !this.#positions.has(near));
        return missing.some((near) => near <= row + ENOUGH_AHEAD) ? missing.slice(0, MAX_LINES) : [];
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

    async #load() {
        const rows = this.#missing();
        if (rows.length === 0) return;
        const { row } = this.#latest;
        const { signal } = this.#controller;
        this.#requested = new Set(rows);
        this.#next_ms = this.#clock.now() + INTERVAL_MS;
        try {
            const positions = await this.#request(rows.map((wanted) => this.#trace.lineTo(wanted)), signal);
            if (this.#positions.size > MAX_POSITIONS) this.#positions.clear();
            rows.forEach((wanted, index) => this.#positions.set(wanted, positions[index]));
            this.failure = null;
            this.#failedRow = -1;
        } catch (error) {
            this.failure = error instanceof Error ? error.message : String(error);
            this.#failedRow = row;
            this.#next_ms = this.#clock.now() + PAUSE_MS;
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
