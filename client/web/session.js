/**
 * The page's one connection and the model that it feeds. After every (re)connect the session
 * follows its room again, from the start where events are missing.
 *
 * @import {Ack, Message} from "./protocol.js"
 * @import {Command, Link, Settings} from "./connection.js"
 * @import {Model} from "./model.js"
 */

import { Connection } from "./connection.js";
import { EMPTY, apply, follow } from "./model.js";

/**
 * @typedef {object} Listeners
 * @property {(before: Model) => void} onchange the model or the link has changed
 * @property {(code: string, message: string) => void} onerror an error that answers no command
 */

/** Refusals of a join that a later attempt can overcome. */
const TRANSIENT = new Set(["store.retry", "room.busy", "room.limit", "rate.exceeded"]);
const JOIN_AGAIN_MS = 1000;

export class Session {
    /** @type {Model} */
    model = EMPTY;
    /** @type {Link} */
    link = { state: "connecting", attempt: 0, lag_ms: null, reason: null };
    /** Why the room cannot be followed. @type {{code: string, message: string} | null} */
    refusal = null;
    #watchingLobby = false;
    /** @type {string | null} */
    #joinId = null;
    #connection;
    #listeners;
    #clock;
    #random;

    /**
     * @param {Pick<Settings, "open" | "identify" | "why" | "clock" | "random">} settings
     * @param {Listeners} listeners
     */
    constructor(settings, listeners) {
        this.#listeners = listeners;
        this.#clock = settings.clock;
        this.#random = settings.random;
        this.#connection = new Connection({
            ...settings,
            onmessage: (message) => this.#hear(message),
            onlink: (link) => {
                this.link = link;
                listeners.onchange(this.model);
            },
        });
    }

    start() {
        this.#connection.start();
    }

    retry() {
        this.#connection.retry();
    }

    renew() {
        this.#connection.renew();
    }

    /**
     * Sends a command; resolves once it is committed, rejects with CommandError.
     * @param {Command} command
     * @returns {Promise<Ack>}
     */
    command(command) {
        return this.#connection.command(command);
    }

    /**
     * Follows a room, or none.
     * @param {string | null} id
     */
    followRoom(id) {
        const before = this.model.room?.id;
        if (before !== undefined && before !== id) this.#connection.follow({ t: "leave", room: before });
        this.refusal = null;
        this.#setModel(follow(this.model, id));
        this.#join();
    }

    /** @param {boolean} on */
    watchLobby(on) {
        this.#watchingLobby = on;
        this.#connection.follow({ t: "watch_lobby", on });
    }

    /**
     * Lets the page add parts from other sources (views, thoughts) to the model.
     * @param {(model: Model) => Model} change
     */
    change(change) {
        this.#setModel(change(this.model));
    }

    /**
     * Joins from the last event, or from the start where events are missing; the page keeps its
     * content.
     */
    #join() {
        const { room, epoch } = this.model;
        if (room === null) return;
        const since = room.gap ? 0 : room.v;
        this.#joinId = this.#connection.follow({ t: "join", room: room.id, since, epoch });
    }

    /** @param {Message} message */
    #hear(message) {
        if (message.t === "error") return this.#refused(message.id, message.code, message.message);
        const hadGap = this.model.room?.gap ?? false;
        this.#setModel(apply(this.model, message));
        if (message.t === "welcome") this.#followAgain();
        else if (!hadGap && this.model.room?.gap) this.#join();
    }

    #followAgain() {
        this.#join();
        if (this.#watchingLobby) this.#connection.follow({ t: "watch_lobby", on: true });
    }

    /**
     * @param {string | null} id
     * @param {string} code
     * @param {string} message
     */
    #refused(id, code, message) {
        if (id === null || id !== this.#joinId) return this.#listeners.onerror(code, message);
        if (TRANSIENT.has(code))
            return void this.#clock.after(JOIN_AGAIN_MS * (1 + this.#random()), () => this.#join());
        this.refusal = { code, message };
        this.#listeners.onchange(this.model);
    }

    /** @param {Model} model */
    #setModel(model) {
        const before = this.model;
        if (model === before) return;
        this.model = model;
        this.#listeners.onchange(before);
    }
}
