/**
 * A room in which one player plays both sides: the button that lets the board turn to the side to
 * move. The choice is kept in this browser. The page loads this module for such a room.
 *
 * @import {App} from "../../shell/app.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { headPly } from "../../shell/model.js";
import { browserStorage } from "./muted.js";
import { isOneScreen, mySeat } from "./viewer.js";

/** The key of the choice in the browser's storage. */
const KEY = "plyroom-turn-board";

export class OneScreen {
    #app;
    /** Whether the board turns to the side to move. */
    #turns = browserStorage()?.getItem(KEY) === "yes";

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /**
     * The seat from whose side the board is drawn.
     * @param {Room} room
     */
    side(room) {
        return sideOfBoard(this.#app.model, room, this.#turns);
    }

    /** The button that switches the turning on and off. */
    draw() {
        return drawTurning(this.#turns, (turns) => {
            this.#turns = turns;
            this.#app.update();
        });
    }
}

/** @param {boolean} turns */
function keepChoice(turns) {
    try {
        browserStorage()?.setItem(KEY, turns ? "yes" : "no");
    } catch {
        // Without storage the choice ends with the page.
    }
}

/**
 * The seat from whose side the board is drawn: the viewer's own, and on one screen that of the side
 * to move if the board turns. Null for spectators.
 * @param {Model} model
 * @param {Room} room
 * @param {boolean} turns
 * @returns {number | null}
 */
export function sideOfBoard(model, room, turns) {
    const seat = mySeat(model);
    if (seat === null || !isOneScreen(room) || !turns || room.match?.over) return seat;
    return room.views[headPly(room)]?.turn ?? seat;
}

/**
 * @param {boolean} turns
 * @param {(turns: boolean) => void} onChange
 * @returns {VNode}
 */
function drawTurning(turns, onChange) {
    const label = "Turn the board to the side to move";
    const change = () => {
        keepChoice(!turns);
        onChange(!turns);
    };
    return h(
        "button",
        { class: "icon-button small", "aria-label": label, "aria-pressed": turns, title: label, onclick: change },
        icon("again"),
    );
}
