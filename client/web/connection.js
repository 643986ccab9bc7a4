/**
 * A WebSocket that reconnects by itself. Each command gets an id and a promise; after every
 * reconnect the connection sends unanswered commands again with the same ids, so that the server
 * executes each once. Time, randomness and sockets are arguments, and constructing it starts
 * nothing.
 *
 * @import {Ack, ClientMessage, Code, Join, Leave, Message, WatchLobby,
 *     Welcome} from "./protocol.js"
 */

import { ApiError } from "./api.js";

export const PROTOCOL = 1;
export const PING_MS = 2500;
export const PONG_MS = 9000;
export const BACKOFF_FIRST_MS = 1000;
export const BACKOFF_MOST_MS = 4000;
/** How long a command is repeated on one socket while the server is busy or has lost its store. */
export const BUSY_MS = 60_000;
const BUSY = new Set(["store.retry", "room.busy"]);
/** Close code: another socket took this one's place, and only the user may take it back. */
const REPLACED = 4001;

/**
 * @typedef {object} Clock
 * @property {() => number} now monotonic time in milliseconds
 * @property {(ms: number, call: () => void) => number} after
 * @property {(timer: number) => void} cancel
 */

/**
 * @typedef {object} Settings
 * @property {() => Pick<WebSocket, "send" | "close" | "onopen" | "onmessage" | "onclose">} open
 *     makes a socket
 * @property {() => Promise<unknown>} identify requests the cookie before the first socket,
 *     and again after a refusal
 * @property {() => Promise<string | null>} why asks the server why it refused a socket; null
 *     when it gives no reason
 * @property {(message: Message) => void} onmessage receives all messages but the answers to
 *     commands and the pongs; call `follow` again at each welcome
 * @property {(link: Link) => void} onlink
 * @property {Clock} clock
 * @property {() => number} random in [0, 1)
 */

/**
 * `reason` is the server's explanation of why there is no link.
 * @typedef {{state: "connecting" | "open" | "lost" | "replaced", attempt: number, lag_ms: number |
 *     null, reason: string | null}} Link
 */
/**
 * @typedef {ClientMessage extends infer M ? M extends {id: string} ? Omit<M, "id"> : never : never}
 *     Command
 */
/**
 * @typedef {{message: Command & {id: string}, resolve: (ack: Ack) => void, reject: (error:
 *     CommandError) => void, sent: boolean, tries: number, busy_since: number | null}} Pending
 */

/** The server refused a command, or the link was lost before it could be sent again. */
export class CommandError extends Error {
    /**
     * @param {Code | "link.lost"} code
     * @param {string} message
     */
    constructor(code, message) {
        super(message);
        this.name = "CommandError";
        this.code = code;
    }
}

/** A unique id of 16 characters; unlike randomUUID this works on a page without TLS. */
export function newId() {
    const words = crypto.getRandomValues(new Uint32Array(3));
    return Array.from(words, (word) => word.toString(36).padStart(7, "0"))
        .join("")
        .slice(0, 20);
}

/**
 * The message of a server that answered with a refusal.
 * @param {unknown} error
 */
const refusalIn = (error) => (error instanceof ApiError ? error.message : null);

export class Connection {
    /** @type {Settings} */
    #settings;
    /** @type {ReturnType<Settings["open"]> | null} */
    #socket = null;
    /** @type {Map<string, Pending>} */
    #pending = new Map();
    /** @type {Link} */
    #link = { state: "connecting", attempt: 0, lag_ms: null, reason: null };
    #welcomed = false;
    #identified = false;
    /** Whether the identity was requested just before this socket. */
    #identifies = false;
    /** Whether the server has accepted this socket. */
    #opened = false;
    #stopped = true;
    /** @type {number | null} */
    #timer = null;
    /** When the oldest unanswered ping was sent, or null. @type {number | null} */
    #waiting_since = null;

    /** @param {Settings} settings */
    constructor(settings) {
        this.#settings = settings;
    }

    /** Connects, and keeps connecting until `stop`. */
    start() {
        if (!this.#stopped) return;
        this.#stopped = false;
        void this.#connect();
    }

    /** Closes for good; pending commands stay unanswered. */
    stop() {
        this.#stopped = true;
        this.#drop();
    }

    /** Connects at once instead of waiting for the next attempt. */
    retry() {
        if (this.#stopped || this.#socket !== null) return;
        this.#setTimer(null);
        void this.#connect();
    }

    /** Replaces the socket, so that the server sees the current cookie. */
    renew() {
        this.#drop();
        this.#setLink({ state: "connecting", attempt: 0, lag_ms: null, reason: null });
        this.retry();
    }

    /**
     * Sends a command now or when the link is back, and resolves with its ack; rejects with
     * CommandError.
     * @param {Command} command
     * @returns {Promise<Ack>}
     */
    command(command) {
        return new Promise((resolve, reject) => {
            const pending = { message: { ...command, id: newId() }, resolve, reject, sent: false, tries: 0, busy_since: null };
            this.#pending.set(pending.message.id, pending);
            if (this.#welcomed) this.#sendPending(pending);
        });
    }

    async #connect() {
        const identifies = !this.#identified;
        try {
            if (identifies) await this.#settings.identify();
        } catch (error) {
            if (!this.#stopped && this.#socket === null) this.#later(refusalIn(error));
            return;
        }
        if (this.#stopped || this.#socket !== null) return;
        this.#identified = true;
        this.#identifies = identifies;
        this.#opened = false;
        const socket = this.#settings.open();
        this.#socket = socket;
        this.#waiting_since = this.#settings.clock.now();
        socket.onopen = () => {
            this.#opened = true;
            socket.send(JSON.stringify({ t: "hello", protocol: PROTOCOL }));
        };
        socket.onmessage = (event) => this.#hear(socket, String(event.data));
        socket.onclose = (event) => this.#lost(socket, event.code);
        this.#watch();
    }

    /**
     * @param {ReturnType<Settings["open"]>} socket
     * @param {string} frame
     */
    #hear(socket, frame) {
        if (socket !== this.#socket) return;
        const message = /** @type {Message} */ (JSON.parse(frame));
        if (message.t === "pong") return this.#pong();
        this.#waiting_since = null;
        if (message.t === "ack" || message.t === "error") return this.#answer(message);
        if (message.t === "welcome") return this.#welcome(message);
        this.#settings.onmessage(message);
    }

    #pong() {
        const { clock } = this.#settings;
        const lag_ms = this.#waiting_since === null ? this.#link.lag_ms : Math.round(clock.now() - this.#waiting_since);
        this.#waiting_since = null;
        if (this.#link.lag_ms !== lag_ms) this.#setLink({ ...this.#link, lag_ms });
    }

    /** @param {Welcome} welcome */
    #welcome(welcome) {
        // The guest of our cookie no longer exists, and the server made another one for this socket
        // only: request a cookie. A browser that keeps no cookies has just done so and stays
        // without.
        if (welcome.token && !this.#identifies) {
            this.#identified = false;
            return this.renew();
        }
        this.#welcomed = true;
        this.#setLink({ state: "open", attempt: 0, lag_ms: this.#link.lag_ms, reason: null });
        this.#settings.onmessage(welcome);
        for (const pending of this.#pending.values()) if (!pending.sent) this.#sendPending(pending);
    }

    /**
     * Sends a message for the current socket only: it is never sent again. Returns its id, which an
     * error passed to `onmessage` may carry; null when there is no link.
     * @param {Omit<Join, "id"> | Omit<Leave, "id"> | Omit<WatchLobby, "id">} message
     * @returns {string | null}
     */
    follow(message) {
        if (!this.#welcomed) return null;
        const id = newId();
        this.#send({ ...message, id });
        return id;
    }

    /** @param {Extract<Message, {t: "ack" | "error"}>} message */
    #answer(message) {
        const pending = message.id === null ? undefined : this.#pending.get(message.id);
        if (pending && message.t === "error" && this.#isForNow(pending, message.code)) return this.#askAgain(pending);
        if (pending) this.#pending.delete(pending.message.id);
        if (message.t === "ack") return pending?.resolve(message);
        if (message.code === "token.unknown") this.#identified = false;
        if (pending) return pending.reject(new CommandError(message.code, message.message));
        this.#settings.onmessage(message);
        // Without a welcome this socket will never work.
        if (!this.#welcomed && this.#socket !== null) this.#lost(this.#socket, 0, message.message);
    }

    /**
     * Whether the refusal is temporary, so that only sending again can settle the command. The user
     * receives a first "too fast": the server executed nothing.
     * @param {Pending} pending
     * @param {Code} code
     */
    #isForNow(pending, code) {
        if (!BUSY.has(code) && (code !== "rate.exceeded" || pending.tries === 1)) return false;
        const now = this.#settings.clock.now();
        pending.busy_since ??= now;
        return now - pending.busy_since < BUSY_MS;
    }

    /** @param {Pending} pending */
    #askAgain(pending) {
        const { clock, random } = this.#settings;
        pending.sent = false;
        clock.after(random() * Math.min(BACKOFF_MOST_MS, BACKOFF_FIRST_MS * 2 ** pending.tries), () => {
            if (this.#welcomed && !pending.sent && this.#pending.has(pending.message.id)) this.#sendPending(pending);
        });
    }

    /** @param {Pending} pending */
    #sendPending(pending) {
        pending.sent = true;
        pending.tries++;
        this.#send(pending.message);
    }

    /** @param {object} message */
    #send(message) {
        this.#socket?.send(JSON.stringify(message));
    }

    /**
     * Pings every PING_MS while there is a socket, and drops it after PONG_MS without an answer.
     */
    #watch() {
        this.#setTimer(PING_MS, () => {
            const { clock } = this.#settings;
            if (this.#socket === null) return;
            if (this.#waiting_since !== null && clock.now() - this.#waiting_since >= PONG_MS)
                return this.#lost(this.#socket, 0);
            if (this.#welcomed) {
                this.#waiting_since ??= clock.now();
                this.#send({ t: "ping" });
            }
            this.#watch();
        });
    }

    /**
     * @param {ReturnType<Settings["open"]>} socket
     * @param {number} code
     * @param {string | null} [reason]
     */
    #lost(socket, code, reason = null) {
        if (socket !== this.#socket) return;
        const refused = !this.#opened;
        this.#drop();
        if (this.#stopped) return;
        if (code === REPLACED) return this.#setLink({ state: "replaced", attempt: 0, lag_ms: null, reason: null });
        this.#later(reason ?? (refused ? this.#link.reason : null));
        if (refused) void this.#askWhy();
    }

    /** Asks the server why it refused, because a browser hides the response to a handshake. */
    async #askWhy() {
        const reason = await this.#settings.why().catch(() => null);
        if (this.#stopped || this.#welcomed || reason === this.#link.reason) return;
        this.#setLink({ ...this.#link, state: reason === null ? this.#link.state : "lost", reason });
    }

    /** Drops the socket in any state; later messages on it are ignored. */
    #drop() {
        const socket = this.#socket;
        this.#socket = null;
        this.#welcomed = false;
        this.#waiting_since = null;
        this.#setTimer(null);
        for (const pending of this.#pending.values()) {
            pending.sent = false;
            pending.busy_since = null;
        }
        if (socket) {
            socket.onopen = socket.onmessage = socket.onclose = null;
            socket.close();
        }
    }

    /**
     * Schedules the next attempt after 0 to 1 s, then 0 to 2, then 0 to 4: full jitter spreads a
     * herd of reconnecting clients.
     * @param {string | null} reason
     */
    #later(reason) {
        const { attempt, state } = this.#link;
        const most = Math.min(BACKOFF_MOST_MS, BACKOFF_FIRST_MS * 2 ** attempt);
        this.#setTimer(this.#settings.random() * most, () => void this.#connect());
        this.#setLink({
            state: state === "connecting" && attempt < 1 && reason === null ? "connecting" : "lost",
            attempt: attempt + 1,
            lag_ms: null,
            reason,
        });
    }

    /** @param {Link} link */
    #setLink(link) {
        this.#link = link;
        this.#settings.onlink(link);
    }

    /**
     * @param {number | null} ms
     * @param {() => void} [call]
     */
    #setTimer(ms, call) {
        const { clock } = this.#settings;
        if (this.#timer !== null) clock.cancel(this.#timer);
        this.#timer = ms === null || !call ? null : clock.after(ms, call);
    }
}
