/**
 * A WebSocket that reconnects by itself. Each command has an id and a promise. After every reconnect
 * the connection sends unanswered commands again with the same ids, so that the server executes each
 * once. Time, randomness and sockets are arguments, and the constructor starts nothing.
 *
 * @import {Ack, ClientMessage, Code, Join, Leave, Message, WatchLobby,
 *     Welcome} from "./protocol.js"
 */

import { ApiError } from "./api.js";
import { RoomSocket } from "./room-socket.js";

/** The protocol version. */
export const PROTOCOL = 1;
/** The first message of a socket. */
const HELLO = { t: "hello", protocol: PROTOCOL };
/** The number of answers to pings from which the connection reads the server's time. */
const TIMED_PONGS = 8;
/** Milliseconds between pings. */
export const PING_MS = 2500;
/** The connection drops a socket that has not answered for this many milliseconds. */
export const SILENCE_MS = 9000;
/**
 * The upper limit of the delay before the first retry, in milliseconds. It doubles with each attempt.
 */
export const FIRST_BACKOFF_MS = 1000;
/** The limit of the delay does not grow beyond this, in milliseconds. */
export const MAX_BACKOFF_MS = 4000;
/**
 * Milliseconds for which the connection repeats a command on one socket while the server is busy or
 * cannot use its database.
 */
export const BUSY_MS = 60_000;
/** Codes of refusals by a busy server. */
const BUSY_CODES = new Set(["store.retry", "room.busy"]);
/**
 * Close code: another socket of this identity replaced this one. The connection then waits until the
 * user reconnects.
 */
const CLOSE_REPLACED = 4001;
/** Close code: the user has closed the page. Others may then claim the match earlier. */
const CLOSE_PAGE_CLOSED = 4002;

/**
 * @typedef {object} Clock
 * @property {() => number} now monotonic time in milliseconds
 * @property {(ms: number, callback: () => void) => number} after starts a timer
 * @property {(timer: number) => void} cancel
 */

/**
 * @typedef {object} Settings
 * @property {(room: string | null) => Pick<WebSocket, "send" | "close" | "onopen" | "onmessage" |
 *     "onclose">} openSocket opens a socket for a room, or for none
 * @property {() => Promise<unknown>} identify requests the guest's cookie: before the first socket,
 *     and again when the server no longer has the guest
 * @property {() => Promise<string | null>} readRefusalReason asks the server why it refused a
 *     socket; null when it gives no reason
 * @property {(message: Message) => void} onmessage receives all messages except pongs and the
 *     answers to commands; it joins rooms again with `sendOnce` after each welcome
 * @property {() => void} onsocketchange called when a socket that has joined the room has replaced
 *     the current one; other subscriptions, such as that to the lobby, must be made again
 * @property {(status: ConnectionStatus) => void} onstatus
 * @property {Clock} clock
 * @property {() => number} random in [0, 1)
 */

/**
 * The status of the connection. `attempt` counts the attempts to reconnect, `lag_ms` is the time
 * from the last ping to its pong, and `reason` says why the server refuses a connection.
 * @typedef {{state: "connecting" | "open" | "lost" | "replaced", attempt: number, lag_ms: number |
 *     null, reason: string | null}} ConnectionStatus
 */
/**
 * A message that the server answers, without its id.
 * @typedef {ClientMessage extends infer M ? M extends {id: string} ? Omit<M, "id"> : never : never}
 *     Command
 */
/**
 * A command without an answer. `sent` says whether it was sent on the current socket, `attempts` how
 * often it was sent, and `busy_since_ms` when this socket's server first refused it as busy.
 * @typedef {{message: Command & {id: string}, resolve: (ack: Ack) => void, reject: (error:
 *     CommandError) => void, sent: boolean, attempts: number, busy_since_ms: number | null}} Pending
 */

/** The server refused a command. */
export class CommandError extends Error {
    /**
     * @param {Code} code
     * @param {string} message
     */
    constructor(code, message) {
        super(message);
        this.name = "CommandError";
        this.code = code;
    }
}

/** A random id of 20 characters; unlike randomUUID this works on a page without TLS. */
export function newId() {
    const numbers = crypto.getRandomValues(new Uint32Array(3));
    return Array.from(numbers, (number) => number.toString(36).padStart(7, "0"))
        .join("")
        .slice(0, 20);
}

/**
 * The server's message in an ApiError; null for other errors.
 * @param {unknown} error
 */
const refusalMessage = (error) => (error instanceof ApiError ? error.message : null);

/**
 * Closes a socket and ignores its later messages.
 * @param {ReturnType<Settings["openSocket"]>} socket
 */
function close(socket) {
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
}

export class Connection {
    /** @type {Settings} */
    #settings;
    /** @type {ReturnType<Settings["openSocket"]> | null} */
    #socket = null;
    /** @type {Map<string, Pending>} */
    #pending = new Map();
    /** @type {ConnectionStatus} */
    #status = { state: "connecting", attempt: 0, lag_ms: null, reason: null };
    /** The welcome of the current socket, or of the last one. @type {Welcome | null} */
    #welcome = null;
    #isWelcomed = false;
    /** The room that the user is in. @type {string | null} */
    #room = null;
    /** The room for which the current socket was opened. @type {string | null} */
    #socketRoom = null;
    /** The last room for which a socket was opened, successfully or not. @type {string | null} */
    #triedRoom = null;
    /** A socket that may replace the current one. @type {RoomSocket | null} */
    #next = null;
    #isIdentified = false;
    /** Whether `identify` was called just before this socket was opened. */
    #isFreshIdentity = false;
    /** Whether the WebSocket handshake of this socket succeeded. */
    #isOpen = false;
    #isStopped = true;
    /** @type {number | null} */
    #timer = null;
    /** When the oldest unanswered ping was sent or the socket opened. @type {number | null} */
    #unanswered_since_ms = null;
    /**
     * By how much the own clock was ahead of the server's time at the last pongs, with their way here.
     * @type {number[]}
     */
    #ahead_ms = [];

    /** @param {Settings} settings */
    constructor(settings) {
        this.#settings = settings;
    }

    /** Connects, and reconnects until `stop`. */
    start() {
        if (!this.#isStopped) return;
        this.#isStopped = false;
        void this.#connect();
    }

    /** Closes the socket and does not reconnect; pending commands stay unanswered. */
    stop() {
        this.#isStopped = true;
        this.#drop();
    }

    /**
     * Closes the socket because the user closes the page. If the browser shows the page again, the
     * connection reconnects.
     */
    leavePage() {
        this.#socket?.close(CLOSE_PAGE_CLOSED);
    }

    /** Connects now instead of at the next attempt. */
    retry() {
        if (this.#isStopped || this.#socket !== null) return;
        this.#setTimer(null);
        void this.#connect();
    }

    /**
     * Drops the socket because the device has lost its network: its silence would be noticed only
     * after SILENCE_MS. A server on this device is back with the first attempt to reconnect.
     */
    loseNetwork() {
        if (this.#socket !== null) this.#onClose(this.#socket, 0);
    }

    /** Replaces the socket, so that the server sees the current cookie. */
    renew() {
        this.#drop();
        this.#setStatus({ state: "connecting", attempt: 0, lag_ms: null, reason: null });
        this.retry();
    }

    /**
     * Sends a command now or after the next welcome. Resolves with its ack; rejects with
     * CommandError.
     * @param {Command} command
     * @returns {Promise<Ack>}
     */
    command(command) {
        return new Promise((resolve, reject) => {
            const pending = { message: { ...command, id: newId() }, resolve, reject, sent: false, attempts: 0, busy_since_ms: null };
            this.#pending.set(pending.message.id, pending);
            if (this.#isWelcomed) this.#sendPending(pending);
        });
    }

    /**
     * The server's time in ms since 1970: the pong with the shortest way here says it best. It is
     * -Infinity before the first welcome.
     */
    get serverTime_ms() {
        return this.#settings.clock.now() - Math.min(...this.#ahead_ms);
    }

    async #connect() {
        const isFreshIdentity = !this.#isIdentified;
        try {
            if (isFreshIdentity) await this.#settings.identify();
        } catch (error) {
            if (!this.#isStopped && this.#socket === null) this.#scheduleRetry(refusalMessage(error));
            return;
        }
        if (this.#isStopped || this.#socket !== null) return;
        this.#isIdentified = true;
        this.#isFreshIdentity = isFreshIdentity;
        this.#isOpen = false;
        const socket = this.#settings.openSocket(this.#room);
        this.#use(socket, this.#room);
        this.#unanswered_since_ms = this.#settings.clock.now();
        socket.onopen = () => {
            this.#isOpen = true;
            socket.send(JSON.stringify(HELLO));
        };
        this.#keepAlive();
    }

    /**
     * Makes a socket the current one.
     * @param {ReturnType<Settings["openSocket"]>} socket
     * @param {string | null} room
     */
    #use(socket, room) {
        this.#socket = socket;
        this.#socketRoom = this.#triedRoom = room;
        socket.onmessage = (event) => this.#onMessage(socket, String(event.data));
        socket.onclose = (event) => this.#onClose(socket, event.code);
    }

    /**
     * Sets the room that the user is in, or none: later sockets are opened for it.
     * @param {string | null} room
     */
    enterRoom(room) {
        this.#room = room;
        this.#triedRoom = this.#socketRoom;
        this.#closeNext();
    }

    /**
     * In a cluster, opens a socket for the room and joins there; it then replaces the current one. If
     * that fails, the current socket stays. It is tried once each time the user enters a room.
     * @param {Omit<Join, "id">} message
     */
    joinOnOwnSocket(message) {
        const welcome = this.#welcome;
        if (!this.#isWelcomed || welcome === null || (welcome.nodes ?? 1) < 2) return;
        // The guest of a browser that stores no cookies is bound to its socket.
        if (welcome.token || message.room === this.#triedRoom) return;
        this.#closeNext();
        this.#triedRoom = message.room;
        const { openSocket, clock } = this.#settings;
        const join = { ...message, id: newId() };
        this.#next = new RoomSocket(openSocket(message.room), HELLO, join, welcome, clock, {
            onjoined: (socket) => this.#replaceSocket(socket, message.room),
            onfailed: () => (this.#next = null),
        });
    }

    /**
     * Continues on a socket that has joined the room. Commands without an answer are sent again: the
     * server executes each once.
     * @param {ReturnType<Settings["openSocket"]>} socket
     * @param {string} room
     */
    #replaceSocket(socket, room) {
        const old = this.#socket;
        this.#next = null;
        this.#use(socket, room);
        this.#unanswered_since_ms = null;
        this.#markUnsent();
        this.#settings.onsocketchange();
        for (const pending of this.#pending.values()) this.#sendPending(pending);
        if (old) close(old);
    }

    #closeNext() {
        this.#next?.close();
        this.#next = null;
    }

    /**
     * @param {ReturnType<Settings["openSocket"]>} socket
     * @param {string} frame
     */
    #onMessage(socket, frame) {
        if (socket !== this.#socket) return;
        const message = /** @type {Message} */ (JSON.parse(frame));
        if (message.t === "pong") return this.#onPong(message.at);
        this.#unanswered_since_ms = null;
        if (message.t === "ack" || message.t === "error") return this.#onAnswer(message);
        if (message.t === "welcome") return this.#onWelcome(message);
        this.#settings.onmessage(message);
    }

    /** @param {number} at */
    #onPong(at) {
        const { clock } = this.#settings;
        this.#ahead_ms = [...this.#ahead_ms, clock.now() - at].slice(-TIMED_PONGS);
        const lag_ms = this.#unanswered_since_ms === null ? this.#status.lag_ms : Math.round(clock.now() - this.#unanswered_since_ms);
        this.#unanswered_since_ms = null;
        if (this.#status.lag_ms !== lag_ms) this.#setStatus({ ...this.#status, lag_ms });
    }

    /** @param {Welcome} welcome */
    #onWelcome(welcome) {
        // The guest of our cookie no longer exists, and the server created one for this socket only:
        // request a new cookie. If that was done just now, the browser stores no cookies, and
        // the connection uses the socket's guest.
        if (welcome.token && !this.#isFreshIdentity) {
            this.#isIdentified = false;
            return this.renew();
        }
        this.#ahead_ms = [this.#settings.clock.now() - welcome.at];
        this.#isWelcomed = true;
        this.#welcome = welcome;
        this.#setStatus({ state: "open", attempt: 0, lag_ms: this.#status.lag_ms, reason: null });
        this.#settings.onmessage(welcome);
        for (const pending of this.#pending.values()) if (!pending.sent) this.#sendPending(pending);
    }

    /**
     * Sends a message on the current socket and never again. Returns its id, which an error passed
     * to `onmessage` may have; null without a connection.
     * @param {Omit<Join, "id"> | Omit<Leave, "id"> | Omit<WatchLobby, "id">} message
     * @returns {string | null}
     */
    sendOnce(message) {
        if (!this.#isWelcomed) return null;
        const id = newId();
        this.#send({ ...message, id });
        return id;
    }

    /** @param {Extract<Message, {t: "ack" | "error"}>} message */
    #onAnswer(message) {
        const pending = message.id === null ? undefined : this.#pending.get(message.id);
        if (pending && message.t === "error" && this.#shouldRetry(pending, message.code)) return this.#resendLater(pending);
        if (pending) this.#pending.delete(pending.message.id);
        if (message.t === "ack") return pending?.resolve(message);
        if (message.code === "token.unknown") this.#isIdentified = false;
        if (pending) return pending.reject(new CommandError(message.code, message.message));
        this.#settings.onmessage(message);
        // The server refused the hello, so this socket cannot be used.
        if (!this.#isWelcomed && this.#socket !== null) this.#onClose(this.#socket, 0, message.message);
    }

    /**
     * Whether the refusal is temporary, so that the connection sends the command again. A
     * `rate.exceeded` for the first attempt is final: the server executed nothing, and the user can
     * decide. The first refusal of a busy server starts the time BUSY_MS.
     * @param {Pending} pending
     * @param {Code} code
     */
    #shouldRetry(pending, code) {
        if (!BUSY_CODES.has(code) && (code !== "rate.exceeded" || pending.attempts === 1)) return false;
        const now_ms = this.#settings.clock.now();
        pending.busy_since_ms ??= now_ms;
        return now_ms - pending.busy_since_ms < BUSY_MS;
    }

    /** @param {Pending} pending */
    #resendLater(pending) {
        const { clock, random } = this.#settings;
        pending.sent = false;
        clock.after(random() * Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** pending.attempts), () => {
            if (this.#isWelcomed && !pending.sent && this.#pending.has(pending.message.id)) this.#sendPending(pending);
        });
    }

    /** @param {Pending} pending */
    #sendPending(pending) {
        pending.sent = true;
        pending.attempts++;
        this.#send(pending.message);
    }

    /** @param {object} message */
    #send(message) {
        this.#socket?.send(JSON.stringify(message));
    }

    /**
     * Sends a ping every PING_MS, and drops the socket after SILENCE_MS without an answer.
     */
    #keepAlive() {
        this.#setTimer(PING_MS, () => {
            const { clock } = this.#settings;
            if (this.#socket === null) return;
            if (this.#unanswered_since_ms !== null && clock.now() - this.#unanswered_since_ms >= SILENCE_MS)
                return this.#onClose(this.#socket, 0);
            if (this.#isWelcomed) {
                this.#unanswered_since_ms ??= clock.now();
                this.#send({ t: "ping" });
            }
            this.#keepAlive();
        });
    }

    /**
     * @param {ReturnType<Settings["openSocket"]>} socket
     * @param {number} code
     * @param {string | null} [reason]
     */
    #onClose(socket, code, reason = null) {
        if (socket !== this.#socket) return;
        const isRefused = !this.#isOpen;
        this.#drop();
        if (this.#isStopped) return;
        if (code === CLOSE_REPLACED) return this.#setStatus({ state: "replaced", attempt: 0, lag_ms: null, reason: null });
        this.#scheduleRetry(reason ?? (isRefused ? this.#status.reason : null));
        if (isRefused) void this.#readRefusalReason();
    }

    /** Asks the server why it refused the socket, because a browser hides the handshake's response. */
    async #readRefusalReason() {
        const reason = await this.#settings.readRefusalReason().catch(() => null);
        if (this.#isStopped || this.#isWelcomed || reason === this.#status.reason) return;
        this.#setStatus({ ...this.#status, state: reason === null ? this.#status.state : "lost", reason });
    }

    /** Closes the socket and ignores its later messages; the commands stay pending. */
    #drop() {
        const socket = this.#socket;
        this.#socket = null;
        this.#isWelcomed = false;
        this.#unanswered_since_ms = null;
        this.#setTimer(null);
        this.#closeNext();
        this.#markUnsent();
        if (socket) close(socket);
    }

    /** Makes the next socket begin with all pending commands. */
    #markUnsent() {
        for (const pending of this.#pending.values()) {
            pending.sent = false;
            pending.busy_since_ms = null;
        }
    }

    /**
     * Schedules the next attempt after 0 to 1 s, then 0 to 2 s, then 0 to 4 s. The full jitter
     * spreads the clients that reconnect at the same time.
     * @param {string | null} reason
     */
    #scheduleRetry(reason) {
        const { attempt, state } = this.#status;
        const limit_ms = Math.min(MAX_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** attempt);
        this.#setTimer(this.#settings.random() * limit_ms, () => void this.#connect());
        this.#setStatus({
            state: state === "connecting" && attempt < 1 && reason === null ? "connecting" : "lost",
            attempt: attempt + 1,
            lag_ms: null,
            reason,
        });
    }

    /** @param {ConnectionStatus} status */
    #setStatus(status) {
        this.#status = status;
        this.#settings.onstatus(status);
    }

    /**
     * @param {number | null} ms
     * @param {() => void} [callback]
     */
    #setTimer(ms, callback) {
        const { clock } = this.#settings;
        if (this.#timer !== null) clock.cancel(this.#timer);
        this.#timer = ms === null || !callback ? null : clock.after(ms, callback);
    }
}
