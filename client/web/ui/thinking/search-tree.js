/**
 * The tree of a strategy's search. What draws it is loaded for the first search of a strategy.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Occupant} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Thought} from "../../shell/model.js"
 */

/** Draws the search for the move of a strategy at a ply of a match. @typedef {{draw: (match: string, ply: number, seat: Occupant, thought: Thought) => Content, stop: () => void}} SeatTree */

export class SearchTree {
    #app;
    #load;
    /** @type {SeatTree | null} */
    #tree = null;
    #isWanted = false;

    /**
     * @param {App} app
     * @param {() => Promise<{SeatTree: new (app: App) => SeatTree}>} load
     */
    constructor(app, load) {
        this.#app = app;
        this.#load = load;
    }

    stop() {
        this.#tree?.stop();
    }

    /**
     * The tree of a strategy's search; nothing for any other search.
     * @param {string} match
     * @param {number} ply
     * @param {Occupant | null | undefined} seat
     * @param {Thought} thought
     * @returns {Content}
     */
    draw(match, ply, seat, thought) {
        if (!seat?.strategy || !thought.value || thought.withheld) return null;
        if (!this.#isWanted) void this.#start();
        return this.#tree?.draw(match, ply, seat, thought) ?? null;
    }

    async #start() {
        this.#isWanted = true;
        const loaded = await this.#load().catch(() => null);
        if (loaded) this.#tree = new loaded.SeatTree(this.#app);
        this.#app.update();
    }
}
