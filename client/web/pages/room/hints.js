/**
 * The button for a hint, and the hint in words. The first press names the piece to move, the second
 * the move, and the third the three best moves; arrows on the board show the moves, too. The page
 * loads it after its first drawing.
 *
 * @import {App} from "../../shell/app.js"
 * @import {RoomAnswer} from "../../shell/chat-lines.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly } from "../../shell/model.js";
import { loadStyleSheet } from "../../shell/router.js";
import { legalMoves, permits } from "../../shell/viewer.js";

void loadStyleSheet("pages/room/hints.css").catch(() => {});

/** The levels of help, the least one first, each with the label of its button. */
const LEVELS = /** @type {const} */ ([
    ["piece", "Hint"],
    ["move", "Show the move"],
    ["moves", "Show the best moves"],
]);

/**
 * A request for a hint: the match and the ply, the level of help, the last hint before it, and why
 * it was refused.
 * @typedef {{match: string, ply: number, level: number, before: RoomAnswer | undefined, refusal: string}} Asked
 */

export class Hints {
    #app;
    /** The last request. @type {Asked | null} */
    #asked = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * The button, while it is the viewer's turn and the room allows help; and the hint.
     * @param {Room} room
     * @returns {Content}
     */
    draw(room) {
        if (!permits(this.#app.model, "hint") || legalMoves(room).length === 0) return null;
        const asked = this.#current(room);
        const text = asked && this.#text(room, asked);
        const isWaiting = asked !== null && text === "";
        const next = asked ? asked.level + (isWaiting || asked.refusal ? 0 : 1) : 0;
        const isAll = next >= LEVELS.length;
        const [, label] = LEVELS[isAll ? LEVELS.length - 1 : next] ?? LEVELS[0];
        const attributes = {
            key: "hint",
            "aria-busy": String(isWaiting),
            // A disabled button would lose the keyboard's focus.
            "aria-disabled": isAll ? "true" : null,
            onclick: () => isAll || void this.#ask(room, next),
        };
        return [
            h("button", attributes, icon("bulb"), label),
            h("p", { key: "hint-text", class: ["hint", !asked && "empty"], role: "status" }, asked ? text || "Looking for a hint…" : ""),
        ];
    }

    /**
     * The request for the current position; null without one.
     * @param {Room} room
     */
    #current(room) {
        const asked = this.#asked;
        return asked !== null && asked.match === room.match?.id && asked.ply === headPly(room) ? asked : null;
    }

    /**
     * The hint or the refusal in words; "" while the server searches.
     * @param {Room} room
     * @param {Asked} asked
     */
    #text(room, asked) {
        if (asked.refusal) return asked.refusal;
        const hint = lastHint(room);
        return hint === asked.before ? "" : (hint?.text ?? "");
    }

    /**
     * @param {Room} room
     * @param {number} level
     */
    async #ask(room, level) {
        const asked = { match: room.match?.id ?? "", ply: headPly(room), level, before: lastHint(room), refusal: "" };
        this.#asked = asked;
        this.#app.update();
        const [what] = LEVELS[level] ?? LEVELS[2];
        const refuse = (/** @type {string} */ message) => (asked.refusal = message);
        await this.#app.command({ t: "hint", room: room.id, ply: asked.ply, what }, refuse);
        this.#app.update();
    }
}

/** @param {Room} room */
function lastHint(room) {
    return room.answers.findLast((answer) => answer.about === "hint");
}
