/**
 * The page of a room with its current match, for players and spectators.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {MoveView, PositionView} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {Player} from "../../ui/players.js"
 */

import { canFlip, isFlipped } from "../../board/geometry.js";
import { drawChat } from "./chat.js";
import { h } from "../../shell/elements.js";
import { Invitation } from "./invitation.js";
import { headPly, isNewer, legalMoves, mySeat, permits } from "../../shell/model.js";
import { drawMoves, drawStepper, plyForKey, scrollToShown, seatOf } from "../../ui/moves.js";
import { drawActions, drawSeatActions, statusText } from "./actions.js";
import { MissingParts } from "./missing.js";
import { describePly, drawInfo, drawRefusal } from "./parts.js";
import { Share } from "../../ui/share.js";
import { drawFlip, drawTable, hasAi, resultFor } from "../../ui/table.js";
import { drawThinking, thoughtFor, thoughtHeading } from "../../ui/thinking.js";
import { frozenText, occupantName, sideColours, sideName, versus } from "../../shell/words.js";

/** One empty list for all scenes, because a scene with another list is drawn again. @type {MoveView[]} */
const NO_MOVES = [];

/** @implements {Page} */
export class RoomPage {
    #app;
    #id;
    /** The earlier ply that is shown; null shows the newest position. @type {number | null} */
    #shown = null;
    #isTurned = false;
    /**
     * The move that was sent and is not in the match yet.
     * @type {{match: string, ply: number, move: MoveView} | null}
     */
    #sentMove = null;
    #missingParts;
    #share;
    #invitation;
    /** The last drawn position; it stays until the next view arrives. @type {PositionView | null} */
    #drawnPosition = null;
    /** The position that was last announced to screen readers: match, ply and result. */
    #announcedKey = "";
    #isChatAtEnd = true;
    /** The match and the ply to which the list of moves was last scrolled. */
    #scrolledTo = "";
    /** Whether to take the first free seat when the room has arrived. */
    #wantsSeat = false;
    /** The action that the user must confirm. @type {"resign" | "abort" | null} */
    #actionToConfirm = null;

    /**
     * @param {App} app
     * @param {string} id
     */
    constructor(app, id) {
        this.#app = app;
        this.#id = id;
        this.#missingParts = new MissingParts(app);
        this.#share = new Share("Link to this room", `/room/${id}`, () => app.update(), (text) => app.announce(text));
        this.#invitation = new Invitation(app, this.#share);
    }

    start() {
        // After a click on "Join" the user takes the first free seat, but not again after a reload.
        this.#wantsSeat = history.state?.sit === true;
        history.replaceState(null, "");
        this.#app.session.followRoom(this.#id);
        void this.#share.load();
    }

    stop() {
        this.#app.session.followRoom(null);
    }

    title() {
        const { room } = this.#app.model;
        if (!room?.description) return "Plyroom";
        const players = room.seats.filter((occupant) => occupant !== null);
        const subject = `${room.description.title}${players.length > 0 ? `: ${versus(players)}` : ""}`;
        return `${legalMoves(room).length > 0 ? "Your turn – " : ""}${subject} – Plyroom`;
    }

    /** @param {Model} before */
    onModelChange(before) {
        const { room } = this.#app.model;
        if (!room) return;
        if (before.room?.match?.id !== room.match?.id) this.#resetForMatch();
        if (this.#sentMove && !this.#isUnconfirmed(this.#sentMove, room)) this.#sentMove = null;
        if (before.room !== room) this.#announce(room);
        this.#missingParts.request(room, this.#shown ?? headPly(room));
        if (this.#wantsSeat && room.v > 0) this.#takeSeat(room);
    }

    /**
     * Whether a sent move may still become the next move of the match.
     * @param {{match: string, ply: number}} sentMove
     * @param {Room} room
     */
    #isUnconfirmed(sentMove, room) {
        return sentMove.match === room.match?.id && sentMove.ply === headPly(room) && !room.match.over;
    }

    /** @param {Room} room */
    #takeSeat(room) {
        this.#wantsSeat = false;
        const seat = room.seats.indexOf(null);
        if (seat >= 0 && permits(this.#app.model, "sit")) void this.#app.command({ t: "sit", room: room.id, seat });
    }

    #resetForMatch() {
        this.#shown = null;
        this.#actionToConfirm = null;
        this.#drawnPosition = null;
    }

    /** @param {KeyboardEvent} event */
    onKey(event) {
        const { room } = this.#app.model;
        if (!room) return;
        const ply = plyForKey(event.key, this.#shown ?? headPly(room), headPly(room));
        if (ply === null) return;
        event.preventDefault();
        this.#showPly(ply);
    }

    afterDraw() {
        const list = document.querySelector(".moves");
        const { room } = this.#app.model;
        const shownKey = `${room?.match?.id} ${this.#shown ?? (room ? headPly(room) : 0)}`;
        if (list && shownKey !== this.#scrolledTo) {
            this.#scrolledTo = shownKey;
            scrollToShown(list);
        }
        const lines = document.querySelector(".chat .lines");
        if (lines && this.#isChatAtEnd) lines.scrollTop = lines.scrollHeight;
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
            h("h1", { class: "visually-hidden" }, `${title}: ${room.seats.map(occupantName).join(" against ")}`),
            this.#drawTable(room),
            h("div", { class: "right" }, this.#drawState(room), this.#drawThinking(room), this.#drawMoves(room)),
            h("div", { class: "left" }, drawInfo(room, this.#share.draw()), this.#drawChat(room)),
        );
    }

    /** @param {Room} room */
    #drawTable(room) {
        const board = room.description?.view ?? null;
        const shown = this.#shown ?? headPly(room);
        const isLive = this.#shown === null;
        this.#drawnPosition = room.views[shown] ?? this.#drawnPosition;
        const viewerSeat = mySeat(this.#app.model);
        const bottom = this.#isTurned ? 1 - (viewerSeat ?? 0) : (viewerSeat ?? 0);
        const sentMove = isLive ? (this.#sentMove?.move ?? null) : null;
        const scene = board && {
            board,
            position: room.match ? this.#drawnPosition : room.start,
            moves: isLive && !sentMove ? movesOrNone(room) : NO_MOVES,
            pending: sentMove,
            flip: isFlipped(board.board, viewerSeat, this.#isTurned),
            label: `${room.description?.title} board`,
        };
        const players = /** @type {[Player, Player]} */ ([0, 1].map((seat) => this.#player(room, seat)));
        return drawTable({
            scene,
            players,
            bottom,
            play: (move) => void this.#play(move),
            announce: (text) => this.#app.announce(text),
            overlay: this.#invitation.draw(room),
        });
    }

    /**
     * @param {Room} room
     * @param {number} seat
     * @returns {Player}
     */
    #player(room, seat) {
        const isRunning = room.match !== null && !room.match.over;
        const ply = headPly(room);
        const toMove = isRunning && room.views[ply]?.turn === seat;
        const { thoughts, presence } = room;
        return {
            seat,
            occupant: room.seats[seat],
            board: room.description?.view ?? null,
            online: presence ? (presence.seats[seat] ?? null) : null,
            hands: (room.match ? this.#drawnPosition : room.start)?.hands ?? {},
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

    /** @param {Room} room */
    #drawState(room) {
        const { match } = room;
        const board = room.description?.view ?? null;
        const over = match?.over ?? null;
        const viewerSeat = mySeat(this.#app.model);
        const canTurn = board && (canFlip(board.board) || viewerSeat === null);
        const confirmation = {
            actionToConfirm: this.#actionToConfirm,
            setActionToConfirm: (/** @type {"resign" | "abort" | null} */ action) => this.#setActionToConfirm(action),
        };
        return h(
            "section",
            {
                class: ["card", "state", over && "over", over && viewerSeat !== null && (resultFor(over, viewerSeat) ?? "")],
                "aria-label": "Match",
            },
            h(
                "div",
                { class: "head" },
                h("p", { class: "status" }, statusText(this.#app.model, room)),
                canTurn ? drawFlip(() => this.#turnBoard()) : null,
            ),
            over && isNewer(room) ? h("p", { class: "muted" }, frozenText("room.newer")) : null,
            h("div", { class: "actions" }, drawActions(this.#app, room, confirmation)),
        );
    }

    /** @param {Room} room */
    #drawThinking(room) {
        const { match, description } = room;
        if (!hasAi(match?.seats ?? room.seats)) return null;
        const shown = this.#shown ?? headPly(room);
        const isLive = this.#shown === null && !match?.over;
        const search = match ? thoughtFor(room.thoughts, shown, isLive) : null;
        if (!match || !search) return drawThinking({ thought: null, heading: "", played: null });
        const seat = search.thought.seat ?? room.views[search.ply]?.turn ?? seatOf(match.moves, search.ply);
        const played = match.moves[search.ply];
        const heading = thoughtHeading(sideName(description?.view, seat), search, played);
        return drawThinking({ thought: search.thought, heading, played: played?.move ?? null });
    }

    /** @param {Room} room */
    #drawMoves(room) {
        const head = headPly(room);
        const shown = this.#shown ?? head;
        const sides = [0, 1].map((seat) => sideName(room.description?.view, seat));
        const colours = sideColours(room.description?.view);
        const go = (/** @type {number} */ ply) => this.#showPly(ply);
        const back = h("button", { class: "to-live", onclick: () => this.#showPly(head) }, "Back to the match");
        return h(
            "section",
            { class: "card move-card", "aria-label": "Moves" },
            drawStepper({ shown, head, go }),
            this.#shown === null ? null : back,
            drawMoves({ moves: room.match?.moves ?? [], shown, go, sides, colours }),
        );
    }

    /** @param {Room} room */
    #drawChat(room) {
        const send = async (/** @type {string} */ text, /** @type {"room" | "spectators"} */ to) =>
            (await this.#app.command({ t: "chat", room: room.id, text, to })) !== null;
        const onScroll = (/** @type {boolean} */ isAtEnd) => (this.#isChatAtEnd = isAtEnd);
        const isSpectator = mySeat(this.#app.model) === null;
        return drawChat({ lines: room.chat, send, isSpectator, onScroll });
    }

    /** @param {number} ply */
    #showPly(ply) {
        const { room } = this.#app.model;
        if (!room) return;
        const head = headPly(room);
        this.#shown = ply >= head ? null : Math.max(0, ply);
        this.#missingParts.request(room, this.#shown ?? headPly(room));
        this.#app.announce(describePly(room, this.#shown ?? head));
    }

    #turnBoard() {
        this.#isTurned = !this.#isTurned;
        this.#app.update();
    }

    /** @param {"resign" | "abort" | null} action */
    #setActionToConfirm(action) {
        this.#actionToConfirm = action;
        this.#app.update();
    }

    /** @param {MoveView} move */
    async #play(move) {
        const { room } = this.#app.model;
        if (!room?.match || this.#sentMove) return;
        const sentMove = { match: room.match.id, ply: headPly(room), move };
        this.#sentMove = sentMove;
        this.#app.update();
        const ack = await this.#app.command({ t: "move", room: room.id, ply: sentMove.ply, move: move.id });
        if (ack === null && this.#sentMove === sentMove) this.#sentMove = null;
        this.#app.update();
    }

    /** @param {Room} room */
    #announce(room) {
        const { match } = room;
        const ply = headPly(room);
        if (!match || !room.views[ply]) return;
        const key = `${match.id} ${ply} ${match.over?.how ?? ""}`;
        if (key === this.#announcedKey) return;
        this.#announcedKey = key;
        this.#app.announce(`${describePly(room, ply)} ${statusText(this.#app.model, room)}`);
    }
}

/**
 * The legal moves, or NO_MOVES.
 * @param {Room} room
 */
function movesOrNone(room) {
    const moves = legalMoves(room);
    return moves.length > 0 ? moves : NO_MOVES;
}
