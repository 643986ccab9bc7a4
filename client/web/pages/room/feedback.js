/**
 * Tells a viewer what happens in a room: by lines in the room's log, toasts, sounds, and a notice
 * when it is their turn. A question about a match that ends is closed.
 *
 * @import {App} from "../../shell/app.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {EventMessage, HiddenMessage} from "../../shell/protocol.js"
 * @import {Whereabouts} from "./events.js"
 */

import { awayText } from "./away.js";
import { playSound } from "./bell.js";
import { setting } from "../../shell/settings.js";
import { BARRED_TEXT } from "./actions.js";
import { isOneScreen, mySeat, viewerSeat } from "./viewer.js";
import { historyLines, isTurnNew, logLine, presenceChanges, soundsFor, toastText, whereabouts } from "./events.js";
import { occupantName, versus } from "../../shell/words.js";

/**
 * A line of the log, after the event with the number `v`. What is no event has its time `at`, in ms.
 * @typedef {{v: number, key: string, text: string, at?: number}} LogLine
 */

/** Maximum number of lines in the log; older lines are dropped. */
const MAX_LOG_LINES = 100;
/** A player counts as gone after this time without a connection, in milliseconds, because a reload is short. */
const GONE_AFTER_MS = 4000;

/** The events after which an offer is no longer open. */
const ANSWERS = new Set(["declined", "started", "moved", "took_back", "finished"]);

export class RoomFeedback {
    /** The lines of the log, the latest last. @type {LogLine[]} */
    lines = [];
    #app;
    #lineCount = 0;
    /** The number of the last toast about an offer. */
    #offer = -1;
    /** The match in which you have offered a draw last. @type {string | undefined} */
    #offeredIn;
    /** What keeps the room's next games for the lobby. @type {Promise<typeof import("./played.js") | null> | null} */
    #played = null;
    /** The timers of the seats whose players have just left the room. @type {Map<number, number>} */
    #timers = new Map();
    /** The seats of which the log says where the absent player is, and where. @type {Map<number, Whereabouts>} */
    #away = new Map();

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /** Whether you have offered a draw in the match. */
    get hasOfferedDraw() {
        const { room } = this.#app.model;
        return room?.match != null && room.match.id === this.#offeredIn;
    }

    /**
     * Where the player of a seat is who is not in the room.
     * @param {number} seat
     */
    awayText(seat) {
        return awayText(this.#app.model.room?.presence ?? null, seat);
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
        let match = events.some(({ kind }) => kind === "started") ? undefined : this.#app.model.room?.match?.id;
        for (const event of events.filter(({ v }) => v <= lastV)) {
            if (event.kind === "started") match = event.match;
            if (!this.hasOfferedDraw) this.#noteDrawOffer(event, match);
        }
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
        this.#noteDrawOffer(event, room.match?.id);
        const seat = mySeat(before) ?? mySeat(this.#app.model);
        const line = logLine(event, room, seat);
        if (line !== null) this.#addLine(event.v, line);
        const isMine = event.kind === "barred" && event.identity === this.#app.model.you?.identity;
        if (isMine) this.#app.announce(BARRED_TEXT); // which the status shows
        const toast = toastText(event, room, seat);
        if (ANSWERS.has(event.kind)) this.#app.dismiss(this.#offer);
        const key = toast === null ? -1 : this.#app.toast(toast);
        if (event.kind === "offered") this.#offer = key;
    }

    /**
     * @param {EventMessage | HiddenMessage} event
     * @param {string | undefined} match the one in which it happened
     */
    #noteDrawOffer(event, match) {
        if (event.kind === "offered" && event.what === "draw" && event.seat === mySeat(this.#app.model)) this.#offeredIn = match;
    }

    /**
     * @param {Room} before
     * @param {Room} room
     */
    onRoomChange(before, room) {
        if (before.match && !before.match.over && room.match?.over) void closeQuestions();
        void this.#keepPlayed(before, room);
        for (const sound of soundsFor(before, room, viewerSeat(this.#app.model))) playSound(sound);
        if (room.match && !isOneScreen(room) && isTurnNew(before, room))
            notifyTurn(room.id, `${room.description?.title ?? ""}: ${versus(room.match.seats)}`);
        if (room.presence !== before.presence && room.presence)
            for (const { seat, where } of presenceChanges(before.presence, room.presence)) this.#onPresence(seat, where);
    }

    /**
     * Keeps a game that is played next in the room for the lobby, with its first move. The module is
     * loaded before it: after the move the player may go to the lobby at once.
     * @param {Room} before
     * @param {Room} room
     */
    async #keepPlayed(before, { match }) {
        if (!match || match.number === 1) return;
        const { model } = this.#app;
        this.#played ??= import("./played.js").catch(() => null);
        const played = await this.#played;
        // The start and the first move may arrive together.
        const isFirst = before.match && (before.match.number < match.number || before.match.moves.length === 0);
        if (match.moves.length > 0 && isFirst) played?.keepPlayed(model);
    }

    /**
     * @param {number} seat
     * @param {Whereabouts} where
     */
    #onPresence(seat, where) {
        clearTimeout(this.#timers.get(seat));
        this.#timers.delete(seat);
        if (seat === mySeat(this.#app.model)) return;
        if (this.#app.model.room?.seats[seat]?.kind === "ai") return void this.#away.delete(seat); // it keeps the seat
        if (where !== "here") this.#writeLater(seat);
        else if (this.#away.delete(seat)) this.#writePresence(seat, where);
    }

    /** @param {number} seat */
    #writeLater(seat) {
        this.#timers.set(seat, window.setTimeout(() => this.#writeAway(seat), GONE_AFTER_MS));
    }

    /** @param {number} seat */
    #writeAway(seat) {
        this.#timers.delete(seat);
        const { room } = this.#app.model;
        // Without a connection nobody knows who is there: that comes to light when it is back.
        if (!room?.presence || this.#app.session.status.state !== "open") return this.#writeLater(seat);
        const where = whereabouts(room.presence, seat);
        if (where === (this.#away.get(seat) ?? "here")) return;
        if (where === "here") this.#away.delete(seat);
        else this.#away.set(seat, where);
        this.#writePresence(seat, where);
    }

    /**
     * @param {number} seat
     * @param {Whereabouts} where
     */
    #writePresence(seat, where) {
        const { room } = this.#app.model;
        if (!room?.seats[seat]) return;
        this.#addLine(room.v, `${occupantName(room.seats[seat])} ${where === "here" ? "is back" : this.awayText(seat)}`, Date.now());
        this.#app.update();
    }

    /**
     * @param {number} v
     * @param {string} text
     * @param {number} [at]
     */
    #addLine(v, text, at) {
        this.lines = [...this.lines, { v, key: `log ${this.#lineCount++}`, text, at }].slice(-MAX_LOG_LINES);
    }
}

/** Closes an open question about a match that is over. Without the module of the dialogs none is open. */
async function closeQuestions() {
    const dialogs = await import("../../ui/dialogs.js").catch(() => null);
    dialogs?.closeQuestions();
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
