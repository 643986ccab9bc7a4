/**
 * Requests the parts of a room that the socket does not send: views from before the join, and the
 * AI's earlier searches.
 *
 * @import {App} from "./app.js"
 * @import {Room} from "./model.js"
 */

import { ApiError, readMatch, readViews } from "./api.js";
import { headPly, withThoughts, withViews } from "./model.js";
import { hasAi } from "./table.js";

/** Milliseconds to wait for the view of the newest position before requesting it. */
const VIEW_LATE_MS = 600;
/** Plies on each side of the shown one that are requested with it. */
const VIEWS_AROUND = 40;

export class MissingParts {
    #app;
    /** @type {Set<string>} */
    #asked = new Set();

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * Requests everything missing to show a ply: each part once, again only after a network
     * failure.
     * @param {Room} room
     * @param {number} shown
     */
    ask(room, shown) {
        const { match } = room;
        if (!match) return;
        const head = headPly(room);
        if (!room.views[shown]) {
            if (shown === head) this.#once(`late ${match.id} ${head}`, () => this.#readLateView(match.id, head));
            else this.#once(`views ${match.id} ${shown}`, () => this.#readViews(match.id, shown, head));
        }
        if (head > 0 && hasAi(match.seats)) this.#once(`thoughts ${match.id}`, () => this.#readThoughts(match.id));
    }

    /**
     * @param {string} key
     * @param {() => Promise<void>} read
     */
    #once(key, read) {
        if (this.#asked.has(key)) return;
        this.#asked.add(key);
        read().catch((error) => {
            if (error instanceof ApiError) this.#app.toast(error.message);
            else this.#asked.delete(key);
        });
    }

    /**
     * @param {string} match
     * @param {number} ply
     */
    async #readLateView(match, ply) {
        await new Promise((resolve) => setTimeout(resolve, VIEW_LATE_MS));
        const { room } = this.#app.model;
        if (room?.match?.id === match && !room.views[ply]) await this.#readViews(match, ply, ply);
    }

    /**
     * @param {string} match
     * @param {number} ply
     * @param {number} head
     */
    async #readViews(match, ply, head) {
        const views = await readViews(match, Math.max(0, ply - VIEWS_AROUND), Math.min(head, ply + VIEWS_AROUND));
        this.#change((room) => withViews(room, match, views));
    }

    /** @param {string} match */
    async #readThoughts(match) {
        const { thoughts } = await readMatch(match);
        this.#change((room) => withThoughts(room, match, thoughts));
    }

    /** @param {(room: Room) => Room} change */
    #change(change) {
        this.#app.session.change((model) => (model.room ? { ...model, room: change(model.room) } : model));
    }
}
