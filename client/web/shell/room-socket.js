/**
 * Opens a socket for a room beside the current one, and joins the room there. In a cluster the proxy
 * sends the sockets of a room to the same node.
 *
 * @import {Join, Message, Welcome} from "./protocol.js"
 * @import {Clock, Settings} from "./connection.js"
 */

/** Milliseconds within which the room must be joined, from the opening of the socket. */
export const JOIN_TIMEOUT_MS = 5000;

/** @typedef {ReturnType<Settings["openSocket"]>} Socket */

export class RoomSocket {
    #socket;
    #clock;
    #timer;

    /**
     * Opens the socket and says hello. Calls `onjoined` at the ack of the join, before the messages
     * that follow it; `onfailed` when the server does not accept the hello or the join.
     * @param {Socket} socket
     * @param {object} hello
     * @param {Join} join
     * @param {Welcome} welcome the current socket's: the new one must have the same identity and epoch
     * @param {Clock} clock
     * @param {{onjoined: (socket: Socket) => void, onfailed: () => void}} listeners
     */
    constructor(socket, hello, join, welcome, clock, { onjoined, onfailed }) {
        const fail = () => {
            this.close();
            onfailed();
        };
        this.#socket = socket;
        this.#clock = clock;
        this.#timer = clock.after(JOIN_TIMEOUT_MS, fail);
        socket.onopen = () => socket.send(JSON.stringify(hello));
        socket.onclose = fail;
        socket.onmessage = (event) => {
            const message = /** @type {Message} */ (JSON.parse(String(event.data)));
            if (message.t === "error") return fail();
            if (message.t === "welcome") {
                const isSame = message.identity === welcome.identity && message.epoch === welcome.epoch;
                return isSame ? socket.send(JSON.stringify(join)) : fail();
            }
            if (message.t !== "ack" || message.id !== join.id) return;
            clock.cancel(this.#timer);
            onjoined(socket);
        };
    }

    /** Gives up: closes the socket without calling a listener. */
    close() {
        this.#clock.cancel(this.#timer);
        this.#socket.onopen = this.#socket.onmessage = this.#socket.onclose = null;
        this.#socket.close();
    }
}
