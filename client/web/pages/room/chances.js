/**
 * The chances to win of the room's match. The page loads the drawing module with the first one.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Room} from "../../shell/model.js"
 * @import {LiveChance} from "../../ui/live-chance.js"
 */

export class Chances {
    #app;
    /** @type {LiveChance | null} */
    #live = null;
    #isRequested = false;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * The graph and the bar; null without a chance that this viewer may see.
     * @param {Room} room
     * @param {Parameters<LiveChance["draw"]>[1]} view
     */
    draw(room, view) {
        if (!Object.values(room.thoughts).some(({ assessment }) => assessment?.chance != null)) return null;
        if (!this.#isRequested) void this.#load();
        return this.#live?.draw(room, view) ?? null;
    }

    async #load() {
        this.#isRequested = true;
        const loaded = await import("../../ui/live-chance.js").catch(() => null);
        if (loaded) this.#live = new loaded.LiveChance(this.#app);
        this.#app.update();
    }
}
