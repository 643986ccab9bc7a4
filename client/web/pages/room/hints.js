/**
 * The button for a hint, and the hint in words. The first press names the piece to move, the second
 * the move, and the third the three best moves. Arrows on the board show the moves. The page loads
 * this module after its first drawing.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room, RoomAnswer} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly } from "../../shell/model.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { isSamePosition } from "./answers.js";
import { legalMoves, permits } from "./viewer.js";

await loadStyleSheet("pages/room/hints.css").catch(() => {}); // before anything is shown

/** The levels of help, the least one first, each with the label of its button. */
const LEVELS = /** @type {const} */ ([
    ["piece", "Hint"],
    ["move", "Show the move"],
    ["moves", "Show the best moves"],
]);

/**
 * A request for a hint: the match at the request, the level of help, the last hint before it, and the
 * reason if it was refused.
 * @typedef {{match: Room["match"], level: number, before: RoomAnswer | undefined, refusal: string}} HintRequest
 */

export class Hints {
    #app;
    /** The last request. @type {HintRequest | null} */
    #request = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * The button, while it is the viewer's turn, and the hint. Where the room allows no help, the button
     * says why.
     * @param {Room} room
     * @returns {Content}
     */
    draw(room) {
        if (legalMoves(room).length === 0) return null;
        const request = this.#current(room);
        const isAllowed = permits(this.#app.model, "hint");
        // Who has read why there is none needs no button at each of the next moves.
        if (!isAllowed && !request && this.#request?.refusal && this.#request.match?.id === room.match?.id) return null;
        const text = request && this.#text(room, request);
        const isWaiting = request !== null && text === "";
        const next = request ? request.level + (isWaiting || request.refusal ? 0 : 1) : 0;
        const isAll = next >= LEVELS.length;
        const [, label] = LEVELS[next] ?? LEVELS[0];
        const attributes = {
            key: "hint",
            "aria-busy": String(isWaiting),
            // A disabled button would lose the keyboard's focus.
            "aria-disabled": isAll ? "true" : null,
            // It says why there is none.
            class: !isAllowed && "no-hint",
            onclick: () => isAll || void this.#ask(room, next),
        };
        return [
            h("button", attributes, icon("bulb"), label),
            h("p", { key: "hint-text", class: ["hint", !request && "empty"], role: "status" }, request ? text || "Looking for a hint…" : ""),
        ];
    }

    /**
     * The request for the current position; null without one.
     * @param {Room} room
     */
    #current(room) {
        const request = this.#request;
        return request !== null && isSamePosition(request.match, room.match) ? request : null;
    }

    /**
     * The hint or the refusal in words; "" while the server searches.
     * @param {Room} room
     * @param {HintRequest} request
     */
    #text(room, request) {
        if (request.refusal) return request.refusal;
        const hint = lastHint(room);
        return hint === request.before ? "" : (hint?.text ?? "");
    }

    /**
     * @param {Room} room
     * @param {number} level
     */
    async #ask(room, level) {
        const request = { match: room.match, level, before: lastHint(room), refusal: "" };
        this.#request = request;
        this.#app.update();
        const [what] = LEVELS[level] ?? LEVELS[2];
        const refuse = (/** @type {string} */ message) => (request.refusal = message);
        await this.#app.command({ t: "hint", room: room.id, ply: headPly(room), what }, refuse);
        this.#app.update();
    }
}

/** @param {Room} room */
function lastHint(room) {
    return room.answers.findLast((answer) => answer.about === "hint");
}
