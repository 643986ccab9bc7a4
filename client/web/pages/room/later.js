/**
 * The parts of a room's page that not every room needs. Each is loaded when its room needs it.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { loadStyleSheet } from "../../shell/style-sheets.js";
import { isInviting, isOneScreen, keptSeat, permits } from "./viewer.js";
import { hasAi } from "../../ui/table.js";

/** @typedef {keyof typeof PARTS} PartName */

/**
 * Loads the module and the style sheets of each part. The server reads this table: it tells the
 * browser early what a room needs.
 */
export const PARTS = {
    after: () => load(import("./after.js"), "pages/room/after.css"),
    aiForm: () => load(import("./ai-form.js"), "pages/room/ai-form.css"),
    chat: () => load(import("./chat-extras.js"), "pages/room/chat-extras.css", "board/arrows.css"),
    clock: () => load(import("./clock.js"), "ui/clock/clock.css"),
    invitation: () => load(import("./invitation.js"), "pages/room/invitation.css"),
    oneScreen: () => load(import("./one-screen.js")),
    opponent: () => load(import("./opponent.js"), "pages/room/opponent.css"),
    thinking: () => load(import("./thinking.js"), "ui/thinking/panel.css", "board/arrows.css", import("../../ui/thinking/panel.js")),
};

/**
 * Waits for a module, and for the style sheets and other modules that it needs: they are loaded at the
 * same time.
 * @template Module
 * @param {Promise<Module>} module
 * @param {(string | Promise<unknown>)[]} others
 */
async function load(module, ...others) {
    const arrivals = others.map((other) => (typeof other === "string" ? loadStyleSheet(other) : other));
    const [loaded] = await Promise.all([module, ...arrivals]);
    return loaded;
}

/**
 * The parts that a room shows now.
 * @param {Model} model
 * @param {Room} room
 * @returns {PartName[]}
 */
export function neededParts(model, room) {
    const { match, seats, presence } = room;
    /** @type {PartName[]} */
    const needed = [];
    if (isOneScreen(room)) needed.push("oneScreen");
    if (seats.includes(null) && room.frozen === null) {
        if (permits(model, "add_ai")) needed.push("aiForm");
        if (isInviting(room)) needed.push("invitation");
    }
    if ((match ? match.clock : room.clock !== null) || room.next?.clock) needed.push("clock");
    if (match && (match.over || match.number > 1)) needed.push("after");
    if (!needed.includes("clock") && hasThinking(room)) needed.push("thinking");
    const hasGone = presence?.gone_ms?.some((ms) => ms !== null) ?? false;
    const hasOffer = room.offers.length > 0 || room.takebacks.length > 0 || room.next;
    if (hasGone || hasOffer || permits(model, "bar") || keptSeat(model) !== null) needed.push("opponent");
    return needed;
}

/**
 * The parts that a room may show next: they are loaded after its first drawing.
 * @param {Model} model
 * @param {Room} room
 * @returns {PartName[]}
 */
export function expectedParts(model, room) {
    const { match } = room;
    /** @type {PartName[]} */
    const expected = ["chat"];
    if (match) expected.push("after");
    if (match && !hasAi(match.seats) && !isOneScreen(room)) expected.push("opponent");
    // The clock comes first: with it the thinking would be more than a first load may take.
    if (permits(model, "let_ai_play") || hasThinking(room)) expected.push("thinking");
    return expected;
}

/** @param {Room} room */
function hasThinking({ match, seats, thoughts }) {
    return hasAi(match?.seats ?? seats) || Object.keys(thoughts).length > 0;
}

/**
 * A part of one page. The page works without it until it has arrived, and if it does not arrive.
 * @template Module
 * @template Shown
 */
export class Part {
    #app;
    #load;
    #create;
    /** The part; null before it has arrived. @type {Shown | null} */
    shown = null;
    /** @type {"unasked" | "loading" | "failed" | "arrived" | "stopped"} */
    #state = "unasked";

    /**
     * @param {App} app
     * @param {() => Promise<Module>} load
     * @param {(module: Module) => Shown} create
     */
    constructor(app, load, create) {
        this.#app = app;
        this.#load = load;
        this.#create = create;
    }

    /** Whether there is nothing to wait for: it has arrived, or has failed to. */
    get isSettled() {
        return this.#state === "arrived" || this.#state === "failed";
    }

    /** Loads the part, once; the page is drawn again when it has arrived or failed to. */
    request() {
        if (this.#state === "unasked") void this.#request();
    }

    /** Loads the part again if it has failed to arrive. */
    retry() {
        if (this.#state === "failed") void this.#request();
    }

    stop() {
        this.#state = "stopped";
        /** @type {{stop?: () => void} | null} */ (this.shown)?.stop?.();
    }

    async #request() {
        this.#state = "loading";
        const module = await this.#load().catch(() => null);
        if (this.#isStopped()) return;
        this.#state = module ? "arrived" : "failed";
        if (module) this.shown = this.#create(module);
        else this.#app.missing();
        this.#app.update();
    }

    #isStopped() {
        return this.#state === "stopped";
    }
}
