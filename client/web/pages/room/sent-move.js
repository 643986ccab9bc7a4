/**
 * The move that the viewer has sent and that is not in the match yet.
 *
 * @import {App} from "../../shell/app.js"
 * @import {MoveView} from "../../shell/protocol.js"
 * @import {Room} from "../../shell/model.js"
 */

/** From this time on, an unconfirmed move is reported, in milliseconds. */
const SLOW_AFTER_MS = 250;

export class SentMove {
    #app;
    /** @type {{match: string, ply: number, move: MoveView, isSlow: boolean} | null} */
    #sent = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
    }

    /** The move, or null. */
    get move() {
        return this.#sent?.move ?? null;
    }

    /**
     * Sends a move; resolves when the server has answered.
     * @param {string} room
     * @param {string} match
     * @param {number} ply
     * @param {MoveView} move
     */
    async send(room, match, ply, move) {
        const sent = { match, ply, move, isSlow: false };
        this.#sent = sent;
        setTimeout(() => {
            sent.isSlow = true;
            if (this.#sent === sent) this.#app.update();
        }, SLOW_AFTER_MS);
        this.#app.update();
        const ack = await this.#app.command({ t: "move", room, ply, move: move.id });
        if (ack === null && this.#sent === sent) this.#sent = null;
        this.#app.update();
    }

    /**
     * Forgets the move unless it may still become the next move of the match.
     * @param {Room} room
     */
    forgetUnlessOpen({ match }) {
        const isOpen = match && !match.over && this.#sent?.match === match.id && this.#sent.ply === match.moves.length;
        if (!isOpen) this.#sent = null;
    }

    /** What a viewer reads about the move while it is slow, or "". */
    text() {
        if (!this.#sent?.isSlow) return "";
        const isOpen = this.#app.session.status.state === "open";
        return isOpen ? "Sending your move…" : "Your move is sent when the connection is back";
    }
}
