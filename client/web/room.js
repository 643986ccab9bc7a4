/**
 * A room: the current match, for its players and spectators.
 *
 * @import {App, Page} from "./app.js"
 * @import {MoveView, PositionView} from "./protocol.js"
 * @import {Content} from "./elements.js"
 * @import {Model, Room} from "./model.js"
 * @import {Player} from "./players.js"
 */

import { canFlip, isFlipped } from "./board-geometry.js";
import { drawChat } from "./chat.js";
import { h } from "./elements.js";
import { headPly, legalMoves, mySeat } from "./model.js";
import { drawMoves, drawStepper, plyForKey, scrollToShown } from "./moves.js";
import { drawActions, drawSeatActions, statusText } from "./room-actions.js";
import { MissingParts } from "./room-missing.js";
import { describePly, drawInfo, drawInvite, drawRefusal } from "./room-parts.js";
import { drawShare } from "./share.js";
import { drawFlip, drawTable, hasAi, resultFor } from "./table.js";
import { drawThinking, thoughtFor, thoughtHeading } from "./thinking.js";
import { occupantName, sideName, versus } from "./words.js";

/** @type {MoveView[]} */
const NO_MOVES = [];

/** @implements {Page} */
export class RoomPage {
    #app;
    #id;
    /** The earlier ply that is shown; null follows the match. @type {number | null} */
    #shown = null;
    #turned = false;
    /**
     * A move on its way to the server. @type {{match: string, ply: number, move: MoveView} | null}
     */
    #sending = null;
    #missing;
    /** The position on the board, until its successor is known. @type {PositionView | null} */
    #drawnPosition = null;
    #announced = "";
    #chatAtEnd = true;
    #scrolledTo = "";
    #wantsSeat = false;
    /** The action that waits for a second click. @type {"resign" | "abort" | null} */
    #confirming = null;

    /**
     * @param {App} app
     * @param {string} id
     */
    constructor(app, id) {
        this.#app = app;
        this.#id = id;
        this.#missing = new MissingParts(app);
    }

    start() {
        // A visitor by "Join" takes the first free seat, once: not again after a reload.
        this.#wantsSeat = history.state?.sit === true;
        history.replaceState(null, "");
        this.#app.session.followRoom(this.#id);
    }

    stop() {
        this.#app.session.followRoom(null);
    }

    title() {
        const { room } = this.#app.model;
        if (!room?.description) return "Plyroom";
        const names = room.seats.filter((occupant) => occupant !== null);
        const subject = `${room.description.title}${names.length > 0 ? `: ${versus(names)}` : ""}`;
        return `${legalMoves(room).length > 0 ? "Your turn – " : ""}${subject} – Plyroom`;
    }

    /** @param {Model} before */
    changed(before) {
        const { room } = this.#app.model;
        if (!room) return;
        if (before.room?.match?.id !== room.match?.id) this.#newMatch();
        if (this.#sending && !this.#isStill(this.#sending, room)) this.#sending = null;
        if (before.room !== room) this.#announce(room);
        this.#missing.ask(room, this.#shown ?? headPly(room));
        if (this.#wantsSeat && room.v > 0) this.#takeSeat(room);
    }

    /**
     * Whether a sent move still waits for its place in the match.
     * @param {{match: string, ply: number}} sending
     * @param {Room} room
     */
    #isStill(sending, room) {
        return sending.match === room.match?.id && sending.ply === headPly(room) && !room.match.over;
    }

    /** @param {Room} room */
    #takeSeat(room) {
        this.#wantsSeat = false;
        const seat = room.seats.indexOf(null);
        if (seat >= 0 && mySeat(this.#app.model) === null) void this.#app.command({ t: "sit", room: room.id, seat });
    }

    #newMatch() {
        this.#shown = null;
        this.#confirming = null;
        this.#drawnPosition = null;
    }

    /** @param {KeyboardEvent} event */
    key(event) {
        const { room } = this.#app.model;
        if (!room) return;
        const ply = plyForKey(event.key, this.#shown ?? headPly(room), headPly(room));
        if (ply === null) return;
        event.preventDefault();
        this.#go(ply);
    }

    drawn() {
        const list = document.querySelector(".moves");
        const { room } = this.#app.model;
        const at = `${room?.match?.id} ${this.#shown ?? (room ? headPly(room) : 0)}`;
        if (list && at !== this.#scrolledTo) {
            this.#scrolledTo = at;
            scrollToShown(list);
        }
        const lines = document.querySelector(".chat .lines");
        if (lines && this.#chatAtEnd) lines.scrollTop = lines.scrollHeight;
    }

    /** @returns {Content} */
    draw() {
        const { session, model } = this.#app;
        const { room } = model;
        if (session.refusal) return drawRefusal(session.refusal.message);
        if (!room?.description || room.v === 0)
            return h("p", { class: "loading", key: "loading" }, "Joining the room…");
        const { description } = room;
        const title = room.match ? `${description.title}, match ${room.match.number}` : description.title;
        return h(
            "div",
            { class: "match-page", key: room.id },
            h("h1", { class: "unseen" }, `${title}: ${room.seats.map(occupantName).join(" against ")}`),
            this.#drawTable(room),
            h("div", { class: "right" }, this.#drawState(room), this.#drawThinking(room), this.#drawMoves(room)),
            h("div", { class: "left" }, drawInfo(room, this.#drawShare()), this.#drawChat(room)),
        );
    }

    /** @param {Room} room */
    #drawTable(room) {
        const board = room.description?.view ?? null;
        const shown = this.#shown ?? headPly(room);
        const live = this.#shown === null;
        this.#drawnPosition = room.views[shown] ?? this.#drawnPosition;
        const mine = mySeat(this.#app.model);
        const bottom = this.#turned ? 1 - (mine ?? 0) : (mine ?? 0);
        const sending = live ? (this.#sending?.move ?? null) : null;
        const scene = board && {
            board,
            position: room.match ? this.#drawnPosition : null,
            moves: live && !sending ? movesOrNone(room) : NO_MOVES,
            pending: sending,
            flip: isFlipped(board.board, mine, this.#turned),
            label: `${room.description?.title} board`,
        };
        const players = /** @type {[Player, Player]} */ ([0, 1].map((seat) => this.#player(room, seat)));
        const waiting = room.match === null && room.seats.some((occupant) => occupant === null);
        return drawTable({
            scene,
            players,
            bottom,
            play: (move) => void this.#play(move),
            say: (text) => this.#app.announce(text),
            over: waiting ? drawInvite(this.#drawShare()) : null,
        });
    }

    /**
     * @param {Room} room
     * @param {number} seat
     * @returns {Player}
     */
    #player(room, seat) {
        const running = room.match !== null && !room.match.over;
        const ply = headPly(room);
        const toMove = running && room.views[ply]?.turn === seat;
        const { thoughts, presence } = room;
        return {
            seat,
            occupant: room.seats[seat],
            board: room.description?.view ?? null,
            online: presence ? (presence.seats[seat] ?? null) : null,
            hands: (room.match ? this.#drawnPosition?.hands : null) ?? {},
            toMove,
            thinking:
                toMove &&
                room.seats[seat]?.kind === "ai" &&
                thoughts[ply] !== undefined &&
                thoughts[ply].state !== "absent" &&
                thoughts[ply].state !== "done",
            you: mySeat(this.#app.model) === seat,
            result: resultFor(room.match?.over, seat),
            actions: drawSeatActions(this.#app, room, seat),
        };
    }

    #drawShare() {
        const copied = (/** @type {boolean} */ worked) =>
            this.#app.announce(worked ? "Link copied" : "Copy the link by hand");
        return drawShare({ label: "Link to this room", path: `/room/${this.#id}`, copied });
    }

    /** @param {Room} room */
    #drawState(room) {
        const { match } = room;
        const board = room.description?.view ?? null;
        const over = match?.over ?? null;
        const mine = mySeat(this.#app.model);
        const flip = board && (canFlip(board.board) || mine === null);
        const state = {
            confirming: this.#confirming,
            confirm: (/** @type {"resign" | "abort" | null} */ what) => this.#confirm(what),
        };
        return h(
            "section",
            {
                class: ["card", "state", over && "over", over && mine !== null && (resultFor(over, mine) ?? "")],
                "aria-label": "Match",
            },
            h(
                "div",
                { class: "head" },
                h("p", { class: "status" }, statusText(this.#app.model, room)),
                flip ? drawFlip(() => this.#turn()) : null,
            ),
            h("div", { class: "actions" }, drawActions(this.#app, room, state)),
        );
    }

    /** @param {Room} room */
    #drawThinking(room) {
        const { match, description } = room;
        if (!hasAi(match?.seats ?? room.seats)) return null;
        const shown = this.#shown ?? headPly(room);
        const live = this.#shown === null && !match?.over;
        const found = match ? thoughtFor(room.thoughts, shown, live) : null;
        if (!match || !found) return drawThinking({ thought: null, heading: "", played: null });
        const seat = found.thought.seat ?? room.views[found.ply]?.turn ?? found.ply % 2;
        const played = match.moves[found.ply];
        const heading = thoughtHeading(sideName(description?.view, seat), found, played);
        return drawThinking({ thought: found.thought, heading, played: played?.move ?? null });
    }

    /** @param {Room} room */
    #drawMoves(room) {
        const head = headPly(room);
        const shown = this.#shown ?? head;
        const sides = [0, 1].map((seat) => sideName(room.description?.view, seat));
        const go = (/** @type {number} */ ply) => this.#go(ply);
        const back = h("button", { class: "to-live", onclick: () => this.#go(head) }, "Back to the match");
        return h(
            "section",
            { class: "card move-card", "aria-label": "Moves" },
            drawStepper({ shown, head, go }),
            this.#shown === null ? null : back,
            drawMoves({ moves: room.match?.moves ?? [], shown, go, sides }),
        );
    }

    /** @param {Room} room */
    #drawChat(room) {
        const say = (/** @type {string} */ text, /** @type {"room" | "spectators"} */ to) =>
            void this.#app.command({ t: "chat", room: room.id, text, to });
        const scrolled = (/** @type {boolean} */ atEnd) => (this.#chatAtEnd = atEnd);
        return drawChat({ lines: room.chat, say, spectator: mySeat(this.#app.model) === null, scrolled });
    }

    /** @param {number} ply */
    #go(ply) {
        const { room } = this.#app.model;
        if (!room) return;
        const head = headPly(room);
        this.#shown = ply >= head ? null : Math.max(0, ply);
        this.#missing.ask(room, this.#shown ?? headPly(room));
        this.#app.announce(describePly(room, this.#shown ?? head));
    }

    #turn() {
        this.#turned = !this.#turned;
        this.#app.update();
    }

    /** @param {"resign" | "abort" | null} what */
    #confirm(what) {
        this.#confirming = what;
        this.#app.update();
    }

    /** @param {MoveView} move */
    async #play(move) {
        const { room } = this.#app.model;
        if (!room?.match || this.#sending) return;
        const sending = { match: room.match.id, ply: headPly(room), move };
        this.#sending = sending;
        this.#app.update();
        const ack = await this.#app.command({ t: "move", room: room.id, ply: sending.ply, move: move.id });
        if (ack === null && this.#sending === sending) this.#sending = null;
        this.#app.update();
    }

    /** @param {Room} room */
    #announce(room) {
        const { match } = room;
        const ply = headPly(room);
        if (!match || !room.views[ply]) return;
        const key = `${match.id} ${ply} ${match.over?.how ?? ""}`;
        if (key === this.#announced) return;
        this.#announced = key;
        this.#app.announce(`${describePly(room, ply)} ${statusText(this.#app.model, room)}`);
    }
}

/** @param {Room} room */
function movesOrNone(room) {
    const moves = legalMoves(room);
    return moves.length > 0 ? moves : NO_MOVES;
}
