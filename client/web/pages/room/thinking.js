/**
 * What the AI thinks, in a room where one sits or sat: the panel with its search and the chances to
 * win, the bar beside the board, and the host's choice of who may see them. The page loads this
 * module for such a room only.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 * @import {LiveChance} from "../../ui/thinking/live-chance.js"
 */

import { headPly } from "../../shell/model.js";
import { permits } from "./viewer.js";
import { sideName } from "../../shell/words.js";
import { glassPath, seatOf } from "../../ui/moves.js";
import { hasAi } from "../../ui/table.js";
import { NOT_SEARCHED, ThinkingPanel, drawThinkingSetting, thoughtFor, thoughtHeading } from "../../ui/thinking/panel.js";
import { SearchTree } from "../../ui/thinking/search-tree.js";

export class RoomThinking {
    #app;
    #go;
    #panel;
    #tree;
    #chances;

    /**
     * @param {App} app
     * @param {(ply: number) => void} go shows a ply
     */
    constructor(app, go) {
        this.#app = app;
        this.#go = go;
        this.#panel = new ThinkingPanel(() => app.update());
        this.#tree = new SearchTree(app, () => import("../../glass/viewer/seat-tree.js"));
        this.#chances = new Chances(app);
    }

    /** The arrows to draw on the board: the cells of the move that the user points at. */
    get arrows() {
        return this.#panel.arrows;
    }

    stop() {
        this.#tree.stop();
    }

    /**
     * The panel.
     * @param {Room} room
     * @param {number | null} earlier the earlier ply that is shown; null shows the newest position
     * @returns {VNode | null} null in a room without an AI
     */
    draw(room, earlier) {
        const { match, description } = room;
        if (!hasAi(match?.seats ?? room.seats)) return null;
        const shown = earlier ?? headPly(room);
        const isLive = earlier === null && !match?.over;
        const search = match ? thoughtFor(room.thoughts, shown, isLive) : null;
        const setting = permits(this.#app.model, "configure") && room.may !== null ? this.#drawSetting(room) : null;
        if (!match || !search) {
            const isPersonsMove = match && !isLive && shown > 0;
            return this.#panel.draw({ thought: null, setting, ...(isPersonsMove ? { empty: NOT_SEARCHED } : null) });
        }
        const seat = search.thought.seat ?? room.views[search.ply]?.turn ?? seatOf(match.moves, search.ply);
        const played = match.moves[search.ply];
        const side = sideName(description?.view, seat);
        const heading = thoughtHeading(side, search, played);
        const tree = [
            this.#drawChances(room, earlier, 0)?.graph,
            this.#tree.draw(match.id, search.ply, match.seats[seat], search.thought),
        ];
        const glass = glassPath(match.id, search.ply);
        return this.#panel.draw({ thought: search.thought, side, heading, played: played?.move ?? null, setting, glass, tree });
    }

    /**
     * The bar with the chance to win, beside the board.
     * @param {Room} room
     * @param {number | null} earlier
     * @param {number} bottom the seat whose bar is below the board
     * @returns {Content}
     */
    drawBar(room, earlier, bottom) {
        return this.#drawChances(room, earlier, bottom)?.bar ?? null;
    }

    /**
     * @param {Room} room
     * @param {number | null} earlier
     * @param {number} bottom
     */
    #drawChances(room, earlier, bottom) {
        return this.#chances.draw(room, { shown: earlier ?? headPly(room), go: this.#go, bottom });
    }

    /** @param {Room} room */
    #drawSetting(room) {
        return drawThinkingSetting(
            room.thinking,
            (thinking) => void this.#app.command({ t: "configure", room: room.id, thinking }),
        );
    }
}

/** The chances to win of the room's match. What draws them is loaded with the first one. */
class Chances {
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
        const loaded = await import("../../ui/thinking/live-chance.js").catch(() => null);
        if (loaded) this.#live = new loaded.LiveChance(this.#app);
        this.#app.update();
    }
}
