/**
 * The clocks of a room: their faces in the bars of the players, the words about them, and the warnings
 * when time is low. They run on the server's time, with a timer for the next text that they show, so
 * that they are right whenever the page is looked at. The page loads this module for a match with a
 * clock.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 * @import {ClockState} from "../../shell/protocol.js"
 * @import {Reading} from "../../ui/clock/clock.js"
 */

import { h, render } from "../../shell/elements.js";
import { headPly } from "../../shell/model.js";
import { isOneScreen, legalMoves, permits, playerName, viewerSeat } from "./viewer.js";
import { sideName } from "../../shell/words.js";
import {
    clockBefore,
    controlText,
    drawFace,
    firstTurnLeft_ms,
    noteOf,
    parseControl,
    readingOf,
    staysFor_ms,
    wholeTimeText,
} from "../../ui/clock/clock.js";
import { playSound } from "./bell.js";
import { heldText } from "./held.js";

/** The times that screen readers hear, with their words. @type {[number, string][]} */
const SPOKEN = [
    [60_000, "One minute"],
    [30_000, "30 seconds"],
    [10_000, "10 seconds"],
];
/** The time that a player gives the opponent, for the words of the button. */
const ADDED_S = 15;
/** A shown text is looked at again after this time at least, in ms: browsers delay timers. */
const MIN_WAIT_MS = 20;

export class RoomClock {
    #app;
    #retitle;
    #play;
    #timer = 0;
    #onVisible = () => this.show();
    /** The readings that were shown last, for the warnings. @type {Record<string, Reading>} */
    #shown = {};
    /** The warnings of this match that were given. @type {Set<string>} */
    #given = new Set();
    #match = "";

    /**
     * @param {App} app
     * @param {() => void} retitle sets the title of the page, which has the time on your turn
     * @param {(sound: "low") => void} [play]
     */
    constructor(app, retitle, play = playSound) {
        this.#app = app;
        this.#retitle = retitle;
        this.#play = play;
        document.addEventListener("visibilitychange", this.#onVisible);
    }

    stop() {
        clearTimeout(this.#timer);
        document.removeEventListener("visibilitychange", this.#onVisible);
    }

    /**
     * The clock of a seat, and beside the opponent's the button that gives time; null in a room without
     * one.
     * @param {Room} room
     * @param {number} seat
     * @returns {Content}
     */
    draw(room, seat) {
        const clock = clockOf(room);
        if (!clock) return null;
        const hours = Math.max(...clock.left_ms) >= 3_600_000;
        return [
            this.#drawAddTime(room, seat),
            h("span", { class: "clock", key: "clock", "data-clock": seat, "--clock-width": hours ? 6 : 4, managesChildren: true }),
        ];
    }

    /** Shows the time of now on the drawn clocks, and sets the timer for the next text. */
    show() {
        clearTimeout(this.#timer);
        const { room } = this.#app.model;
        const clock = room && clockOf(room);
        if (!room || !clock) return;
        const now_ms = this.#app.session.serverTime_ms();
        const control = parseControl(clock.control);
        const isOver = room.match?.over != null;
        const waits = [0, 1].map((seat) => {
            const reading = readingOf(clock, seat, now_ms);
            const place = document.querySelector(`[data-clock="${seat}"]`);
            const name = `${sideName(room.description?.view, seat)}'s clock`;
            if (place) render(place, drawFace(reading, isOver ? "" : noteOf(control, reading), name, isOver));
            this.#warn(room, seat, reading);
            return staysFor_ms(reading);
        });
        const first_ms = firstTurnLeft(room, clock, now_ms);
        for (const place of document.querySelectorAll(".first-turn time")) place.textContent = wholeTimeText(first_ms ?? 0);
        if (first_ms) waits.push((first_ms % 1000) + 1);
        this.#retitle();
        const wait_ms = Math.min(...waits.filter((ms) => ms !== null));
        if (wait_ms < Infinity) this.#timer = window.setTimeout(() => this.show(), Math.max(MIN_WAIT_MS, wait_ms));
    }

    /**
     * The time control in words, "" without one.
     * @param {Room} room
     */
    controlOf(room) {
        const control = clockOf(room)?.control;
        return control === undefined ? "" : controlText(control);
    }

    /**
     * The time control of the proposed game, or of the next match of this one, in words.
     * @param {Room} room
     */
    proposedControl({ next, clock }) {
        const control = next?.clock ?? clock;
        if (control === "-") return "without a clock";
        return control ? `with ${controlText(control)} on the clock` : "";
    }

    /**
     * The time of the viewer for the page's title, while it is their turn; "" otherwise.
     * @param {Room} room
     */
    titleTime(room) {
        const seat = viewerSeat(this.#app.model);
        const clock = room.match?.clock;
        if (seat === null || !clock || legalMoves(room).length === 0) return "";
        return ` ${wholeTimeText(readingOf(clock, seat, this.#app.session.serverTime_ms()).left_ms)}`;
    }

    /**
     * Why the clock stands, or until when the first move is due.
     * @param {Room} room
     * @returns {Content}
     */
    drawState(room) {
        const { match } = room;
        if (match === null && room.clock !== null)
            return h("p", { class: "clock-state muted", key: "control" }, `Time for each side: ${controlText(room.clock)}`);
        if (!match?.clock || match.over || room.frozen) return null;
        const { held } = match.clock;
        if (held != null)
            return h("p", { class: "clock-state", key: "held", role: "status" }, `${heldText(held)}. Nobody loses time.`);
        const left_ms = firstTurnLeft(room, match.clock, this.#app.session.serverTime_ms());
        if (left_ms === null) return null;
        const ply = headPly(room);
        const turn = room.views[ply]?.turn ?? 0;
        // In some games a player moves again at once.
        const move = ply > 0 && room.views[ply - 1]?.turn === turn ? "next move" : "first move";
        const text = `${legalMoves(room).length > 0 ? `Your ${move}` : `The ${move} of ${playerName(room, turn)}`} is due in `;
        const start = ". The clocks start after both moves.";
        return h("p", { class: "clock-state first-turn", key: "first" }, text, h("time", { managesChildren: true }), start);
    }

    /**
     * @param {Room} room
     * @param {number} seat
     */
    #drawAddTime(room, seat) {
        const mine = viewerSeat(this.#app.model);
        if (mine === null || mine === seat || room.may === null || !permits(this.#app.model, "add_time")) return null;
        const title = `Give ${ADDED_S} s to your opponent`;
        const send = () => void this.#app.command({ t: "add_time", room: room.id });
        return h("button", { key: "add-time", class: "small add-time", title, "aria-label": title, onclick: send, ...this.#app.offline }, h("span", null, "Give"), h("i", null, "+"), `${ADDED_S} s`);
    }

    /**
     * Speaks the times of SPOKEN, each once for a side and a stage of its control, and plays the sound
     * once for a side, when its time gets low.
     * @param {Room} room
     * @param {number} seat
     * @param {Reading} reading
     */
    #warn(room, seat, reading) {
        const { match } = room;
        if (!match) return;
        if (match.id !== this.#match) [this.#match, this.#shown, this.#given] = [match.id, {}, new Set()];
        const before = this.#shown[seat];
        this.#shown[seat] = reading;
        if (!before || before.stage !== reading.stage || !reading.runs) return;
        const mine = viewerSeat(this.#app.model);
        const passes = (/** @type {number} */ ms) => before.left_ms > ms && reading.left_ms <= ms;
        const spoken = SPOKEN.filter(([ms]) => passes(ms) && this.#isNew(`${seat} ${reading.stage} ${ms}`)).at(-1);
        if (spoken && (mine === null || mine === seat))
            this.#app.announce(`${mine === null ? `${sideName(room.description?.view, seat)}: ` : ""}${spoken[1]} left`);
        const isPlayed = mine === seat || (isOneScreen(room) && permits(this.#app.model, "resign"));
        if (passes(reading.low_ms) && isPlayed && this.#isNew(`${seat} low`)) this.#play("low");
    }

    /**
     * Whether a warning is given for the first time.
     * @param {string} warning
     */
    #isNew(warning) {
        return this.#given.size < this.#given.add(warning).size;
    }
}

/**
 * The clock of the match, or the one of the match to come; null without one. In a room that cannot be
 * played here it does not run.
 * @param {Room} room
 * @returns {ClockState | null}
 */
function clockOf({ match, clock, frozen }) {
    if (match?.clock && frozen !== null) return { ...match.clock, running: null };
    if (match) return match.clock ?? null;
    return clock === null ? null : clockBefore(clock);
}

/**
 * The time that is left of a first turn, if a person is to play it; null otherwise: no AI is late.
 * @param {Room} room
 * @param {ClockState} clock
 * @param {number} now_ms
 */
function firstTurnLeft(room, clock, now_ms) {
    const turn = room.views[headPly(room)]?.turn;
    if (!room.match || room.match.over || turn == null || isOneScreen(room) || room.seats[turn]?.kind === "ai") return null;
    return firstTurnLeft_ms(clock, now_ms);
}
