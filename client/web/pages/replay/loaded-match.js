/**
 * A stored match with its views and the AI's searches, requested as the page needs them.
 *
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {PositionView} from "../../shell/protocol.js"
 * @import {Thought} from "../../shell/model.js"
 */

import { MAX_ASSESSED_PLIES, MAX_VIEWS_PER_REQUEST, readAssessments, readMatch, readViews } from "../../shell/api.js";
import { assessed, thoughtsOf } from "../../ui/thoughts.js";

export class LoadedMatch {
    #id;
    #update;
    /** @type {StoredMatch | null} */
    #match = null;
    /** @type {Record<number, PositionView>} */
    #views = {};
    /** @type {Record<number, Thought>} */
    #thoughts = {};
    /** The first ply of each request for assessments. @type {Set<number>} */
    #requestedPlies = new Set();

    /**
     * @param {string} id
     * @param {() => void} update draws the page again
     */
    constructor(id, update) {
        this.#id = id;
        this.#update = update;
    }

    /** The match; null before it has arrived. */
    get match() {
        return this.#match;
    }

    /** The AI's searches by ply. */
    get thoughts() {
        return this.#thoughts;
    }

    /**
     * The position at a ply; undefined before it has arrived.
     * @param {number} ply
     */
    view(ply) {
        return this.#views[ply];
    }

    /**
     * Reads the match and then all its views, those around a ply first.
     * @param {number} ply
     * @param {(match: StoredMatch) => void} onMatch called when the match has arrived
     */
    async load(ply, onMatch) {
        const match = await readMatch(this.#id);
        this.#match = match;
        this.#thoughts = thoughtsOf(match.thoughts);
        onMatch(match);
        if (match.view === null) return;
        const shown = Math.min(ply, match.moves.length);
        this.requestAssessments(shown);
        // The views around the shown ply come first, then all others, so that stepping never waits.
        const lastRequest = Math.floor(match.moves.length / MAX_VIEWS_PER_REQUEST);
        const shownRequest = Math.floor(shown / MAX_VIEWS_PER_REQUEST);
        for (const index of new Set([shownRequest, ...Array(lastRequest + 1).keys()])) await this.#loadViews(match, index);
        if (Object.keys(match.thoughts).length === 0) return;
        for (let ply = 1; ply <= match.moves.length; ply += MAX_ASSESSED_PLIES) this.requestAssessments(ply);
    }

    /**
     * Requests MAX_VIEWS_PER_REQUEST views, or those that remain.
     * @param {StoredMatch} match
     * @param {number} index which of the match's requests, counted from 0
     */
    async #loadViews(match, index) {
        const from = index * MAX_VIEWS_PER_REQUEST;
        const views = await readViews(match.match, from, Math.min(match.moves.length, from + MAX_VIEWS_PER_REQUEST - 1));
        this.#views = { ...this.#views, ...views };
        this.#update();
    }

    /**
     * Requests the assessments around a ply, once.
     * @param {number} shown
     */
    requestAssessments(shown) {
        if (!this.#match || this.#match.view === null) return;
        const searched = Math.max(0, shown - 1);
        const first = searched - (searched % MAX_ASSESSED_PLIES);
        if (this.#requestedPlies.has(first)) return;
        this.#requestedPlies.add(first);
        readAssessments(this.#id, first, first + MAX_ASSESSED_PLIES - 1).then(
            (assessments) => {
                this.#thoughts = assessed(this.#thoughts, assessments);
                this.#update();
            },
            () => this.#requestedPlies.delete(first),
        );
    }
}
