/**
 * What a player sees when the opponent has gone, and when an AI keeps the player's own seat.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Room} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { keptSeat, mySeat, permits } from "../../shell/viewer.js";
import { occupantName } from "../../shell/words.js";

/** The milliseconds between two steps of the countdown. */
const STEP_MS = 1000;

/** Counts down the time until the match may be claimed, and whether the player waits instead. */
export class Absence {
    #now;
    #onstep;
    /** The end of the countdown for each seat. @type {(number | null)[]} */
    #ends_ms = [];
    /** @type {ReturnType<typeof setInterval> | null} */
    #timer = null;
    /** Whether the player has chosen to wait; it ends when the opponent is back. */
    isWaiting = false;

    /**
     * @param {() => number} now a monotonic time in milliseconds
     * @param {() => void} onstep called at each step while a player has gone
     */
    constructor(now, onstep) {
        this.#now = now;
        this.#onstep = onstep;
    }

    /**
     * Starts the countdowns of a `presence` message.
     * @param {(number | null)[]} gone_ms
     */
    set(gone_ms) {
        this.#ends_ms = gone_ms.map((ms) => (ms === null ? null : this.#now() + ms));
        const hasGone = this.#ends_ms.some((end_ms) => end_ms !== null);
        if (!hasGone) this.stop();
        else this.#timer ??= setInterval(this.#onstep, STEP_MS);
    }

    /**
     * The whole seconds until the seat's opponent may claim the match; null if nobody may.
     * @param {number} seat
     */
    secondsLeft(seat) {
        const end_ms = this.#ends_ms[seat] ?? null;
        return end_ms === null ? null : Math.max(0, Math.ceil((end_ms - this.#now()) / 1000));
    }

    stop() {
        if (this.#timer !== null) clearInterval(this.#timer);
        this.#timer = null;
        this.#ends_ms = [];
        this.isWaiting = false;
    }
}

/**
 * The sentence about the opponent who has gone and the buttons to claim the match; for a player whose
 * seat an AI keeps, the button to take it back.
 * @param {App} app
 * @param {Room} room
 * @param {Absence} absence
 * @returns {Content}
 */
export function drawGone(app, room, absence) {
    const { model } = app;
    const send = (/** @type {"claim_win" | "call_draw" | "let_ai_play" | "reclaim_seat"} */ t) => () =>
        void app.command({ t, room: room.id });
    const kept = keptSeat(model);
    if (kept !== null && permits(model, "reclaim_seat")) {
        return h(
            "div",
            { class: "gone", key: "kept" },
            h("p", null, `${room.seats[kept]?.name} plays for you.`),
            h("button", { class: "main", onclick: send("reclaim_seat") }, "Take your seat back"),
        );
    }
    const text = goneText(app, room, absence);
    if (text === null) return null;
    if (!permits(model, "claim_win") || absence.isWaiting) return h("p", { class: "gone", key: "gone" }, text);
    const wait = () => {
        absence.isWaiting = true;
        app.update();
    };
    return h(
        "div",
        { class: "gone", key: "gone", role: "group", "aria-label": text },
        h("p", null, text),
        h("button", { class: "main", onclick: send("claim_win") }, "Claim the win"),
        permits(model, "call_draw") ? h("button", { onclick: send("call_draw") }, "Call it a draw") : null,
        permits(model, "let_ai_play") ? h("button", { onclick: send("let_ai_play") }, "Let the AI play on") : null,
        h("button", { onclick: wait }, "Wait"),
    );
}

/**
 * The sentence about a player who has gone, or null.
 * @param {App} app
 * @param {Room} room
 * @param {Absence} absence
 */
function goneText(app, room, absence) {
    const viewerSeat = mySeat(app.model);
    const seat = [0, 1].find((each) => each !== viewerSeat && absence.secondsLeft(each) !== null);
    if (seat === undefined || !room.match || room.match.over) return null;
    const name = occupantName(room.seats[seat]);
    const seconds = absence.secondsLeft(seat) ?? 0;
    if (viewerSeat === null || permits(app.model, "claim_win")) return `${name} has gone.`;
    return `${name} has gone. You may claim the match in ${seconds} s.`;
}
