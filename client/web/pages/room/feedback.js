/**
 * Tells a viewer what happens in a room: by lines in the room's log, toasts, sounds, and a notice
 * when it is their turn.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {EventMessage, HiddenMessage} from "../../shell/protocol.js"
 */

import { playSound } from "./bell.js";
import { setting } from "../../shell/settings.js";
import { BARRED_TEXT } from "./actions.js";
import { isOneScreen, mySeat, viewerSeat } from "./viewer.js";
import { historyLines, isTurnNew, logLine, presenceChanges, soundsFor, toastText } from "./events.js";
import { occupantName, versus } from "../../shell/words.js";

/** A line of the log, after the event with the number `v`. @typedef {{v: number, key: string, text: string}} LogLine */

/** Maximum number of lines in the log; older lines are dropped. */
const MAX_LOG_LINES = 100;
/** A player counts as gone after this time without a connection, in milliseconds, because a reload is short. */
const GONE_AFTER_MS = 4000;

export class RoomFeedback {
    /** The lines of the log, the latest last. @type {LogLine[]} */
    lines = [];
    #app;
    #lineCount = 0;
    /** The timers of the seats whose players have just lost their connection. @type {Map<number, number>} */
    #timers = new Map();
    /** The seats whose players are gone. @type {Set<number>} */
    #gone = new Set();

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    stop() {
        for (const timer of this.#timers.values()) clearTimeout(timer);
        this.#timers.clear();
    }

    /**
     * Writes the lines for events from before the join, which have numbers up to `lastV`.
     * @param {(EventMessage | HiddenMessage)[]} events
     * @param {number} lastV
     */
    addHistory(events, lastV) {
        const past = historyLines(this.#app.model, events, lastV).map((line) => ({ ...line, key: `past ${line.v}` }));
        this.lines = [...past, ...this.lines].slice(-MAX_LOG_LINES);
        this.#app.update();
    }

    /**
     * Writes a line and shows a toast for an event. `before` is the model before it.
     * @param {EventMessage | HiddenMessage} event
     * @param {Model} before
     */
    onEvent(event, before) {
        const { room } = before;
        if (!room) return;
        const seat = mySeat(before) ?? mySeat(this.#app.model);
        const line = logLine(event, room, seat);
        if (line !== null) this.#addLine(event.v, line);
        const isMine = event.kind === "barred" && event.identity === this.#app.model.you?.identity;
        const toast = isMine ? BARRED_TEXT : toastText(event, room, seat);
        if (toast !== null) this.#app.toast(toast);
    }

    /**
     * @param {Room} before
     * @param {Room} room
     */
    onRoomChange(before, room) {
        for (const sound of soundsFor(before, room, viewerSeat(this.#app.model))) playSound(sound);
        if (room.match && !isOneScreen(room) && isTurnNew(before, room))
            notifyTurn(room.id, `${room.description?.title ?? ""}: ${versus(room.match.seats)}`);
        if (room.presence !== before.presence && room.presence)
            for (const { seat, isOnline } of presenceChanges(before.presence?.seats ?? null, room.presence.seats))
                this.#onPresence(seat, isOnline);
    }

    /**
     * @param {number} seat
     * @param {boolean} isOnline
     */
    #onPresence(seat, isOnline) {
        clearTimeout(this.#timers.get(seat));
        this.#timers.delete(seat);
        if (seat === mySeat(this.#app.model)) return;
        if (this.#app.model.room?.seats[seat]?.kind === "ai") return void this.#gone.delete(seat); // it keeps the seat
        if (!isOnline) this.#timers.set(seat, window.setTimeout(() => this.#writeGone(seat), GONE_AFTER_MS));
        else if (this.#gone.delete(seat)) this.#writePresence(seat, "is back");
    }

    /** @param {number} seat */
    #writeGone(seat) {
        this.#timers.delete(seat);
        this.#gone.add(seat);
        this.#writePresence(seat, "has no connection");
    }

    /**
     * @param {number} seat
     * @param {string} text
     */
    #writePresence(seat, text) {
        const { room } = this.#app.model;
        if (!room?.seats[seat]) return;
        this.#addLine(room.v, `${occupantName(room.seats[seat])} ${text}`);
        this.#app.update();
    }

    /**
     * @param {number} v
     * @param {string} text
     */
    #addLine(v, text) {
        this.lines = [...this.lines, { v, key: `log ${this.#lineCount++}`, text }].slice(-MAX_LOG_LINES);
    }
}

/**
 * Shows the browser's notice that it is the user's turn, if the bell is on, the page is hidden and
 * the user permits notices. A later notice of the same room replaces it.
 * @param {string} room
 * @param {string} text
 */
function notifyTurn(room, text) {
    if (setting("sound") !== "on" || !document.hidden) return;
    if (!("Notification" in window) || Notification.permission !== "granted") return;
    try {
        const notice = new Notification("Your turn", { body: text, tag: room });
        notice.onclick = () => {
            window.focus();
            notice.close();
        };
    } catch {
        // Browsers on phones show notices only for service workers.
    }
}
