/**
 * The app's only connection and its model. After every connect and reconnect the session joins its
 * room and watches the lobby again.
 *
 * @import {Ack, EventMessage, HiddenMessage, Join, Message} from "./protocol.js"
 * @import {Command, ConnectionStatus, Settings} from "./connection.js"
 * @import {Model, Room} from "./model.js"
 */

import { CommandError, Connection } from "./connection.js";
import { EMPTY_MODEL, apply, follow } from "./model.js";

/**
 * @typedef {object} Listeners
 * @property {(before: Model) => void} onchange called when the model or the status has changed
 * @property {(event: EventMessage | HiddenMessage, before: Model) => void} onevent called with each new
 *     event of the room, after `onchange`
 * @property {(code: string, message: string) => void} onerror called for an error that is not the
 *     answer to a command or a join
 */

/** Codes of refused joins that may succeed later. */
const RETRY_JOIN_CODES = new Set(["store.retry", "room.busy", "room.limit", "rate.exceeded"]);
/** The session joins again after one to two times this many milliseconds. */
const RETRY_JOIN_MS = 1000;

export class Session {
    /** @type {Model} */
    model = EMPTY_MODEL;
    /** @type {ConnectionStatus} */
    status = { state: "connecting", attempt: 0, lag_ms: null, reason: null };
    /** The server's refusal of the last join. @type {{code: string, message: string} | null} */
    refusal = null;
    #watchesLobby = false;
    /** The room that was left last, for a user who comes back while there is no connection. @type {Room | null} */
    #leftRoom = null;
    /** @type {string | null} */
    #joinId = null;
    #connection;
    #listeners;
    #clock;
    #random;

    /**
     * @param {Pick<Settings, "openSocket" | "identify" | "readRefusalReason" | "clock" | "random">} settings
     * @param {Listeners} listeners
     */
    constructor(settings, listeners) {
        this.#listeners = listeners;
        this.#clock = settings.clock;
        this.#random = settings.random;
        this.#connection = new Connection({
            ...settings,
            onmessage: (message) => this.#onMessage(message),
            onsocketchange: () => this.#onSocketChange(),
            onstatus: (status) => {
                this.status = status;
                listeners.onchange(this.model);
            },
        });
    }

    start() {
        this.#connection.start();
    }

    /** The server's time in ms since 1970, as its last messages say. */
    serverTime_ms() {
        return this.#connection.serverTime_ms;
    }

    retry() {
        this.#connection.retry();
    }

    loseNetwork() {
        this.#connection.loseNetwork();
    }

    leavePage() {
        this.#connection.leavePage();
    }

    renew() {
        this.#connection.renew();
    }

    /**
     * Whether the server is away, as the banner says.
     */
    get isAway() {
        return /lost|replaced/.test(this.status.state);
    }

    /**
     * Sends a command. Resolves with its ack once it is committed; rejects with CommandError. While the
     * server is away, a move and a line of chat wait for it; nobody expects other commands later.
     * @param {Command} command
     * @returns {Promise<Ack>}
     */
    async command(command) {
        if (this.isAway && !["move", "chat"].includes(command.t)) throw new CommandError("store.retry", "Not connected");
        return this.#connection.command(command);
    }

    /**
     * Opens sockets for this room from now on: its page is being loaded, and will follow it.
     * @param {string | null} id
     */
    expectRoom(id) {
        this.#connection.enterRoom(id);
    }

    /**
     * Leaves the current room and joins another one; null joins none. Without a connection the room
     * that was left last is shown as it was, and goes on from there.
     * @param {string | null} id
     */
    followRoom(id) {
        const left = this.model.room;
        if (left !== null && left.v > 0 && left.id !== id) this.#leftRoom = left;
        const before = left?.id;
        if (before !== undefined && before !== id) this.#connection.sendOnce({ t: "leave", room: before });
        this.refusal = null;
        this.#connection.enterRoom(id);
        const kept = this.status.state !== "open" && this.#leftRoom?.id === id ? this.#leftRoom : null;
        this.#setModel(kept ? { ...this.model, room: { ...kept, presence: null } } : follow(this.model, id));
        this.#join();
    }

    /** @param {boolean} on */
    watchLobby(on) {
        this.#watchesLobby = on;
        this.#connection.sendOnce({ t: "watch_lobby", on });
    }

    /**
     * Changes the model, for parts that do not come over the socket (views, thoughts).
     * @param {(model: Model) => Model} update
     */
    updateModel(update) {
        this.#setModel(update(this.model));
    }

    /**
     * Joins the room after its last event, or from 0 if events are missing. Until the answer
     * arrives, the model does not change.
     */
    #join() {
        const message = this.#joinMessage();
        if (message !== null) this.#joinId = this.#connection.sendOnce(message);
    }

    /** @returns {Omit<Join, "id"> | null} */
    #joinMessage() {
        const { room, epoch } = this.model;
        return room && { t: "join", room: room.id, since: room.gap ? 0 : room.v, epoch };
    }

    /** @param {Message} message */
    #onMessage(message) {
        if (message.t === "error") return this.#onError(message.id, message.code, message.message);
        const before = this.model;
        const hadGap = before.room?.gap ?? false;
        this.#setModel(apply(before, message));
        if (message.t === "event" && this.model.room?.v === message.v && before.room?.v !== message.v)
            this.#listeners.onevent(message, before);
        if (message.t === "welcome") this.#resubscribe();
        else if (!hadGap && this.model.room?.gap) this.#join();
        else if (message.t === "snapshot" && message.room === this.model.room?.id) this.#joinOnOwnSocket();
    }

    /** Called after a snapshot: now another socket can continue after the last event. */
    #joinOnOwnSocket() {
        const message = this.#joinMessage();
        if (message !== null && message.since) this.#connection.joinOnOwnSocket(message);
    }

    /** Subscribes to the lobby on the new socket, and joins the room again if events are missing. */
    #onSocketChange() {
        if (this.model.room?.gap) this.#join();
        this.#watchLobbyAgain();
    }

    #resubscribe() {
        this.#join();
        this.#watchLobbyAgain();
    }

    #watchLobbyAgain() {
        if (this.#watchesLobby) this.#connection.sendOnce({ t: "watch_lobby", on: true });
    }

    /**
     * @param {string | null} id
     * @param {string} code
     * @param {string} message
     */
    #onError(id, code, message) {
        if (id === null || id !== this.#joinId) return this.#listeners.onerror(code, message);
        if (RETRY_JOIN_CODES.has(code))
            return void this.#clock.after(RETRY_JOIN_MS * (1 + this.#random()), () => this.#join());
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
