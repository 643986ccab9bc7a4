/**
 * Requests over HTTP the parts of a room that the socket does not send: the views and the events from
 * before the join, and the AI's earlier searches.
 *
 * @import {App} from "../../shell/app.js"
 * @import {EventMessage, HiddenMessage} from "../../shell/protocol.js"
 * @import {Room} from "../../shell/model.js"
 */

import { ApiError, MAX_ASSESSED_PLIES, readAssessments, readEvents, readMatch, readViews } from "../../shell/api.js";
import { headPly, withViews } from "../../shell/model.js";
import { hasAi } from "../../ui/table.js";
import { withAssessments, withThoughts } from "../../ui/thoughts.js";

/** Milliseconds to wait for the socket's view of the newest position before requesting it. */
const LATE_VIEW_MS = 600;
/** Maximum number of views before the shown ply, and after it, that are requested with it. */
const MAX_VIEWS_EACH_SIDE = 40;

export class MissingParts {
    #app;
    #onHistory;
    /** @type {Set<string>} */
    #requested = new Set();
    /** The newest ply at the last request; it falls when moves are taken back. */
    #head = 0;
    /** The number of takebacks so far. Parts that were requested before the last one are dropped. */
    #takebacks = 0;

    /**
     * @param {App} app
     * @param {(events: (EventMessage | HiddenMessage)[], lastV: number) => void} onHistory called once
     *     with the events around the match that runs, or was the last one, when the viewer joins;
     *     those up to the number `lastV` are from before the join
     */
    constructor(app, onHistory) {
        this.#app = app;
        this.#onHistory = onHistory;
    }

    /**
     * Requests the events from before the join, if there may be any that the room's log shows.
     * @param {Room} room the room as the viewer joins it
     */
    requestHistory({ id, match, v }) {
        if (!match || (match.number === 1 && match.moves.length === 0 && !match.over)) return;
        this.#requestOnce("history", async () => this.#onHistory(await readEvents(match.id, id), v));
    }

    /**
     * Requests the parts that are needed to show a ply and are missing. Each part is requested once,
     * and again only if the server could not be reached.
     * @param {Room} room
     * @param {number} shown
     */
    request(room, shown) {
        const { match } = room;
        if (!match) return;
        const head = headPly(room);
        if (head < this.#head) this.#onTakeback();
        this.#head = head;
        if (!room.views[shown]) {
            if (shown === head) this.#requestOnce(`late ${match.id} ${head}`, () => this.#readLateView(match.id, head));
            else this.#requestOnce(`views ${match.id} ${shown}`, () => this.#readViews(match.id, shown, head));
        }
        if (head > 0 && hasAi(match.seats)) {
            // Thoughts that were withheld during the match are shown after it.
            const isWithheldNow = !match.over && (match.thinking ?? "all") !== "all";
            this.#requestOnce(`thoughts ${match.id} ${isWithheldNow}`, () => this.#readThoughts(match.id));
            this.#requestWords(room, match.id, shown);
        }
    }

    /**
     * Requests the words for the searches around a ply, if the one that is shown beside it lacks them.
     * @param {Room} room
     * @param {string} match
     * @param {number} shown
     */
    #requestWords(room, match, shown) {
        const searched = [shown - 1, shown - 2].find((ply) => room.thoughts[ply]);
        if (searched === undefined) return;
        const { assessment, state, withheld } = room.thoughts[searched];
        if (assessment || state !== "done" || withheld) return;
        const first = searched - (searched % MAX_ASSESSED_PLIES);
        this.#requestOnce(`words ${match} ${first} ${room.match?.over ? "over" : searched}`, async () => {
            const assessments = await readAssessments(match, first, first + MAX_ASSESSED_PLIES - 1);
            this.#updateRoom((latest) => withAssessments(latest, match, assessments));
        });
    }

    /** Lets the parts be requested again: those of the later plies will be others. */
    #onTakeback() {
        this.#takebacks += 1;
        this.#requested.clear();
    }

    /**
     * @param {string} key
     * @param {() => Promise<void>} read
     */
    #requestOnce(key, read) {
        if (this.#requested.has(key)) return;
        this.#requested.add(key);
        read().catch((error) => {
            if (error instanceof ApiError) this.#app.toast(error.message);
            else this.#requested.delete(key);
        });
    }

    /**
     * @param {string} match
     * @param {number} ply
     */
    async #readLateView(match, ply) {
        await new Promise((resolve) => setTimeout(resolve, LATE_VIEW_MS));
        const { room } = this.#app.model;
        if (room?.match?.id === match && !room.views[ply]) await this.#readViews(match, ply, ply);
    }

    /**
     * @param {string} match
     * @param {number} ply
     * @param {number} head
     */
    async #readViews(match, ply, head) {
        const takebacks = this.#takebacks;
        const views = await readViews(match, Math.max(0, ply - MAX_VIEWS_EACH_SIDE), Math.min(head, ply + MAX_VIEWS_EACH_SIDE));
        if (takebacks === this.#takebacks) this.#updateRoom((room) => withViews(room, match, views));
    }

    /** @param {string} match */
    async #readThoughts(match) {
        const takebacks = this.#takebacks;
        const { thoughts } = await readMatch(match);
        if (takebacks === this.#takebacks) this.#updateRoom((room) => withThoughts(room, match, thoughts));
    }

    /** @param {(room: Room) => Room} update */
    #updateRoom(update) {
        this.#app.session.updateModel((model) => (model.room ? { ...model, room: update(model.room) } : model));
    }
}
