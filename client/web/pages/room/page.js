/**
 * The page of a room with its current match, for players and spectators.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {EventMessage, HiddenMessage, MoveView, PositionView} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Model, Room} from "../../shell/model.js"
 * @import {Player} from "../../ui/players.js"
 * @import {RoomFeedback} from "./feedback.js"
 * @import {Hints} from "./hints.js"
 * @import {BoardArrow} from "../../board/arrows.js"
 */

import { drawBell } from "./bell.js";
import { boardAspect, canFlip, isFlipped, isWide } from "../../board/geometry.js";
import { drawChat } from "./chat.js";
import { h } from "../../shell/elements.js";
import { keyOf } from "../../shell/keys.js";
import { headPly, isClosed } from "../../shell/model.js";
import { NO_MOVES, allowsHelp, isOneScreen, keptSeat, legalMoves, mySeat, permits, viewerSeat } from "./viewer.js";
import { drawGlassLink, drawMoves, drawStepper, plyForKey, scrollToShown } from "../../ui/moves.js";
import { drawActions, drawSeatActions, statusText } from "./actions.js";
import { PARTS, Part, expectedParts, neededParts } from "./later.js";
import { MissingParts } from "./missing.js";
import { Muted, browserStorage } from "./muted.js";
import { nameMarks } from "./names.js";
import { describePly, drawInfo, drawRefusal, drawStatus, pastText } from "./descriptions.js";
import { RoomTabs } from "./tabs.js";
import { SentMove } from "./sent-move.js";
import { Share } from "../../ui/share.js";
import { openKeysHelp } from "../../ui/sheets.js";
import { drawFlip, drawTable, resultFor } from "../../ui/table.js";
import { drawPanel, setWideBoard } from "../../ui/tabs.js";
import { frozenText, occupantName, sideColours, sideName, versus } from "../../shell/words.js";

/** One empty list for all scenes: a scene with another list would be drawn again. @type {BoardArrow[]} */
const NO_ARROWS = [];

/** Maximum number of things that wait for the module that tells them. */
const MAX_UNTOLD = 200;

/** @implements {Page} */
export class RoomPage {
    #isStopped = false;
    #app;
    #id;
    /** The earlier ply that is shown; null shows the newest position. @type {number | null} */
    #shown = null;
    #isTurned = false;
    #sentMove;
    #missingParts;
    /** The time of the last change of who is there, for the countdown of a player who has gone. */
    #presenceAt_ms = 0;
    /** The people whose lines of chat are hidden. */
    #muted = new Muted(browserStorage());
    /** Tells what happens; it is loaded after the first drawing. @type {RoomFeedback | null} */
    #feedback = null;
    /** What it tells when it has arrived. @type {((feedback: RoomFeedback) => void)[]} */
    #untold = [];
    #tabs;
    #share;
    #parts;
    /** Whether the room has been drawn: from then on the page waits for no part. */
    #isDrawn = false;
    /** The last drawn position; it stays until the next view arrives. @type {PositionView | null} */
    #drawnPosition = null;
    /** The position that was last announced to screen readers: match, ply and result. */
    #announcedKey = "";
    #isChatAtEnd = true;
    /** The match and the ply to which the list of moves was last scrolled, and the list's height. */
    #scrolledTo = "";
    /** Whether to take the first free seat when the room has arrived. */
    #wantsSeat = false;
    /** What the player must choose on the board to complete a move, or "". */
    #prompt = "";
    /** The cell and the kind of the piece from the hand that the first part of a move has set. @type {[string, string] | null} */
    #placed = null;
    /** @type {Hints | null} */
    #hints = null;
    /** Why the server refused the last line of chat. @type {string | null} */
    #chatError = null;

    /**
     * @param {App} app
     * @param {string} id
     */
    constructor(app, id) {
        this.#app = app;
        this.#id = id;
        this.#missingParts = new MissingParts(app, (events, lastV) => this.#tell((feedback) => feedback.addHistory(events, lastV)));
        this.#sentMove = new SentMove(app);
        this.#tabs = new RoomTabs(app);
        this.#share = new Share("Link to this room", `/room/${id}`, () => app.update(), (text) => app.announce(text));
        this.#parts = {
            after: new Part(app, PARTS.after, (module) => module),
            aiForm: new Part(app, PARTS.aiForm, ({ drawAiForm }) => drawAiForm),
            chat: new Part(app, PARTS.chat, ({ ChatExtras }) => new ChatExtras(app)),
            clock: new Part(app, PARTS.clock, ({ RoomClock }) => new RoomClock(app, () => (document.title = this.title()))),
            invitation: new Part(app, PARTS.invitation, ({ Invitation }) => new Invitation(app, this.#share)),
            oneScreen: new Part(app, PARTS.oneScreen, ({ OneScreen }) => new OneScreen(app)),
            opponent: new Part(app, PARTS.opponent, ({ Opponent }) => {
                const opponent = new Opponent(app);
                opponent.setGone(app.model.room?.presence?.gone_ms ?? [], this.#presenceAt_ms);
                return opponent;
            }),
            thinking: new Part(app, PARTS.thinking, ({ RoomThinking }) => new RoomThinking(app, (ply) => this.#showPly(ply))),
        };
    }

    /** Loads the parts that most rooms need which a browser opens next. */
    static preload() {
        for (const load of [PARTS.aiForm, PARTS.invitation, PARTS.thinking]) load().catch(() => {});
    }

    start() {
        // After a click on "Join" the user takes the first free seat, but not again after a reload.
        this.#wantsSeat = history.state?.sit === true;
        history.replaceState(null, "");
        this.#app.session.followRoom(this.#id);
        void this.#share.load();
        requestAnimationFrame(() => void this.#loadExtras());
    }

    async #loadExtras() {
        void this.#loadFeedback();
        const loaded = await import("./hints.js").catch(() => null);
        this.#hints = loaded && new loaded.Hints(this.#app);
        this.#app.update();
    }

    async #loadFeedback() {
        const loaded = await import("./feedback.js").catch(() => null);
        if (!loaded || this.#feedback || this.#isStopped) return;
        this.#feedback = new loaded.RoomFeedback(this.#app);
        for (const tell of this.#untold.splice(0)) tell(this.#feedback);
        this.#app.update();
    }

    /** @param {(feedback: RoomFeedback) => void} tell */
    #tell(tell) {
        if (this.#feedback) tell(this.#feedback);
        else this.#untold = [...this.#untold.slice(-MAX_UNTOLD), tell];
    }

    stop() {
        this.#isStopped = true;
        for (const part of Object.values(this.#parts)) part.stop();
        this.#feedback?.stop();
        this.#tabs.stop();
        this.#app.announce(""); // the next page has not said this
        this.#app.session.followRoom(null);
    }

    title() {
        const { room } = this.#app.model;
        if (!room?.description) return "Plyroom";
        const players = room.seats.filter((occupant) => occupant !== null);
        const subject = `${room.description.title}${players.length > 0 ? `: ${versus(players)}` : ""}`;
        // The title calls for a move only when the board is there to take it.
        const turn = legalMoves(room).length > 0 && this.#hasParts(room) ? `Your turn${this.#parts.clock.shown?.titleTime(room) ?? ""} – ` : "";
        return `${turn}${subject} – Plyroom`;
    }

    onReconnect() {
        for (const part of Object.values(this.#parts)) part.retry();
        if (!this.#feedback) void this.#loadFeedback();
    }

    /**
     * @param {EventMessage | HiddenMessage} event
     * @param {Model} before
     */
    onEvent(event, before) {
        this.#tell((feedback) => feedback.onEvent(event, before));
    }

    /** @param {Model} before */
    onModelChange(before) {
        const { room } = this.#app.model;
        if (!room) return;
        if (before.room?.presence !== room.presence) {
            this.#presenceAt_ms = performance.now();
            this.#parts.opponent.shown?.setGone(room.presence?.gone_ms ?? [], this.#presenceAt_ms);
        }
        if (before.room?.match?.id !== room.match?.id) this.#resetForMatch();
        if (this.#shown !== null && this.#shown >= headPly(room)) this.#shown = null; // moves were taken back
        this.#sentMove.forgetUnlessOpen(room);
        this.#parts.chat.shown?.keep(room); // a hidden page is not drawn
        const past = before.room;
        if (past !== room) {
            if (past) this.#tell((feedback) => feedback.onRoomChange(past, room));
            this.#announce(room);
        }
        this.#missingParts.request(room, this.#shown ?? headPly(room));
        if (room.v > 0 && (before.room?.v ?? 0) === 0) this.#missingParts.requestHistory(room);
        if (this.#wantsSeat && room.v > 0) this.#takeSeat(room);
    }

    /** @param {Room} room */
    #takeSeat(room) {
        this.#wantsSeat = false;
        const seat = room.seats.indexOf(null);
        if (seat >= 0 && permits(this.#app.model, "sit")) void this.#app.command({ t: "sit", room: room.id, seat });
    }

    #resetForMatch() {
        if (mySeat(this.#app.model) !== null) scrollTo(0, 0); // the chat may be in view
        this.#shown = null;
        this.#drawnPosition = null;
    }

    /** @param {KeyboardEvent} event */
    onKey(event) {
        const { room } = this.#app.model;
        if (!room) return;
        if (event.key === "?") openKeysHelp(this.#app);
        else if (keyOf(event) === "f" && this.#canTurnBoard(room)) this.#turnBoard();
        else {
            const ply = plyForKey(event.key, this.#shown ?? headPly(room), headPly(room));
            if (ply === null) return;
            this.#showPly(ply);
        }
        event.preventDefault();
    }

    afterDraw() {
        const list = document.querySelector(".moves");
        const { room } = this.#app.model;
        const shownKey = `${room?.match?.id} ${this.#shown ?? (room ? headPly(room) : 0)} ${list?.clientHeight}`;
        if (list && shownKey !== this.#scrolledTo) {
            this.#scrolledTo = shownKey;
            scrollToShown(list);
        }
        const lines = /** @type {HTMLElement | null} */ (document.querySelector(".chat .lines"));
        const chat = this.#parts.chat.shown;
        if (lines && chat) chat.scroll(lines, this.#isChatAtEnd);
        else if (this.#isChatAtEnd) lines?.scrollTo(0, lines.scrollHeight);
        this.#tabs.afterDraw();
        this.#parts.clock.shown?.show();
        if (room && this.#isDrawn) for (const name of expectedParts(this.#app.model, room)) this.#parts[name].request();
    }

    /** @returns {Content} */
    draw() {
        const { session, model } = this.#app;
        const { room } = model;
        if (session.refusal) return drawRefusal(session.refusal.message);
        if (!room?.description || room.v === 0 || !this.#hasParts(room))
            return h("p", { class: "loading", key: "loading" }, "Joining the room…");
        this.#isDrawn = true;
        const { description } = room;
        const board = description.view?.board ?? null;
        setWideBoard(isWide(board));
        const title = room.match ? `${description.title}, match ${room.match.number}` : description.title;
        const thinking = this.#parts.thinking.shown?.draw(room, this.#shown) ?? null;
        const selected = this.#tabs.selected(thinking !== null);
        return h(
            "div",
            { class: ["match-page", isWide(board) && "wide", isOneScreen(room) && "chess-clock"], key: room.id, "--board-aspect": boardAspect(board) },
            h("h1", { class: "visually-hidden" }, `${title}: ${room.seats.map(occupantName).join(" against ")}`),
            this.#drawTable(room),
            h(
                "div",
                { class: "right" },
                this.#drawState(room),
                this.#tabs.draw(thinking !== null),
                drawPanel("thinking", selected, thinking),
                drawPanel("moves", selected, this.#drawMoves(room)),
            ),
            h(
                "div",
                { class: "left" },
                drawPanel("room", selected, drawInfo(room, this.#share.draw(), this.#app, this.#parts.clock.shown?.controlOf(room) ?? "", this.#parts.after.shown?.drawEveningButton(this.#app, room))),
                drawPanel("chat", selected, this.#drawChat(room)),
            ),
        );
    }

    /**
     * Requests the parts that the room needs. Returns whether it can be drawn: the first drawing waits
     * for them, so that nothing appears late.
     * @param {Room} room
     */
    #hasParts(room) {
        const needed = neededParts(this.#app.model, room).map((name) => this.#parts[name]);
        for (const part of needed) part.request();
        return this.#isDrawn || needed.every((part) => part.isSettled);
    }

    /** @param {Room} room */
    #drawTable(room) {
        const board = room.description?.view ?? null;
        const shown = this.#shown ?? headPly(room);
        const isLive = this.#shown === null;
        this.#drawnPosition = room.views[shown] ?? this.#drawnPosition;
        const side = this.#parts.oneScreen.shown?.side(room) ?? mySeat(this.#app.model);
        const bottom = this.#isTurned ? 1 - (side ?? 0) : (side ?? 0);
        const sentMove = isLive ? this.#sentMove.move : null;
        const scene = board && {
            board,
            position: room.match ? this.#drawnPosition : room.start,
            moves: isLive && !sentMove ? legalMoves(room) : NO_MOVES,
            pending: sentMove,
            flip: isFlipped(board.board, side, this.#isTurned),
            label: `${room.description?.title} board`,
            arrows: this.#arrows(room),
        };
        const { invitation, thinking } = this.#parts;
        const players = /** @type {[Player, Player]} */ ([0, 1].map((seat) => this.#player(room, seat)));
        return drawTable({
            scene,
            players,
            bottom,
            play: (move) => void this.#play(move),
            announce: (text) => this.#app.announce(text),
            prompt: (text, placed) => {
                this.#prompt = text;
                this.#placed = placed;
                this.#app.update();
            },
            overlay: [invitation.shown?.draw(room, (seat) => this.#drawAiForm(room, seat), this.#parts.clock.shown?.controlOf(room)), thinking.shown?.drawBar(room, this.#shown, bottom)],
        });
    }

    /**
     * @param {Room} room
     * @param {number} seat
     */
    #drawAiForm(room, seat) {
        const { aiForm, thinking } = this.#parts;
        return aiForm.shown?.(this.#app, room, seat, () => thinking.request());
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
        const { thoughts } = room;
        const position = this.#countedPosition(room);
        // Without a connection nobody knows who is there.
        const presence = this.#app.session.status.state === "open" ? room.presence : null;
        return {
            seat,
            occupant: room.seats[seat],
            mark: nameMarks(room).get(room.seats[seat]?.identity ?? ""),
            board: room.description?.view ?? null,
            levels: room.description?.level_names,
            online: presence ? (presence.seats[seat] ?? null) : null,
            away: this.#feedback?.awayText(seat),
            hands: position?.hands ?? {},
            pieces: (room.match && position?.pieces) || null,
            toMove,
            isPast: this.#shown !== null,
            thinking:
                toMove &&
                room.seats[seat]?.kind === "ai" &&
                thoughts[ply] !== undefined &&
                thoughts[ply].state !== "absent" &&
                thoughts[ply].state !== "done",
            you: viewerSeat(this.#app.model) === seat,
            prompt: mySeat(this.#app.model) === seat ? this.#prompt : "",
            result: hasPlayed(room, seat) ? resultFor(room.match?.over, seat) : null,
            score: this.#parts.after.shown?.pointsOf(room, seat),
            clock: this.#parts.clock.shown?.draw(room, seat),
            actions: drawSeatActions(this.#app, room, seat, () => this.#drawAiForm(room, seat)),
        };
    }

    /**
     * The position that the bars count: with the piece that the first part of a move has set, also while
     * the whole move is on its way.
     * @param {Room} room
     */
    #countedPosition(room) {
        const position = room.match ? this.#drawnPosition : room.start;
        const { move } = this.#sentMove;
        const placed = move ? move.path[1] && move.path[0] === move.ghost?.[0] && move.ghost : this.#placed;
        if (!position || !placed || this.#shown !== null) return position;
        const { pieces, hands } = position;
        const [cell, kind] = placed;
        return { ...position, pieces: { ...pieces, [cell]: kind }, hands: { ...hands, [kind]: (hands?.[kind] ?? 1) - 1 } };
    }

    /** @param {Room} room */
    #drawState(room) {
        const over = room.match?.over ?? null;
        const opponent = this.#parts.opponent.shown;
        const seat = viewerSeat(this.#app.model);
        const result = over && resultFor(over, seat ?? over.winner ?? 0);
        const back = () => this.#showPly(headPly(room));
        const past = this.#shown;
        const text = past !== null ? pastText(room, past) : this.#sentMove.text() || this.#prompt || statusText(this.#app.model, room);
        return h(
            "section",
            { class: ["card state", over && "over", over && seat !== null && result], "aria-label": "Match" },
            h(
                "div",
                { class: "head" },
                drawStatus(text, past === null ? result : null),
                h(
                    "div",
                    { class: "tools" },
                    // In their place, so that the button for the next step back stays under the pointer.
                    past !== null
                        ? h("button", { key: "back", class: "small to-live", onclick: back }, "Back to the match")
                        : [
                              drawBell(() => this.#app.update()),
                              this.#canTurnBoard(room) && this.#parts.oneScreen.shown?.draw(),
                              this.#canTurnBoard(room) ? drawFlip(() => this.#turnBoard()) : null,
                          ],
                ),
            ),
            over ? [this.#parts.after.shown?.drawNewcomer(room), this.#parts.after.shown?.drawScore(this.#app.model, room)] : null,
            over && room.frozen !== null && isClosed(room) ? h("p", { class: "muted" }, frozenText(room.frozen, false)) : null,
            room.match && !over ? opponent?.drawGone(room) : null,
            this.#parts.clock.shown?.drawState(room),
            h("fieldset", { class: "actions", key: "actions", ...this.#app.offline }, drawActions(this.#app, room, this.#parts.after.shown?.drawAgain(this.#app, room, this.#share), this.#feedback?.hasOfferedDraw), opponent?.drawBarring(room), this.#hints?.draw(room), opponent?.drawOffers(room, this.#parts.clock.shown?.proposedControl(room))),
        );
    }

    /** @param {Room} room */
    #canTurnBoard(room) {
        const board = room.description?.view;
        return board != null && (canFlip(board.board) || mySeat(this.#app.model) === null);
    }

    /** @param {Room} room */
    #drawMoves(room) {
        const head = headPly(room);
        const shown = this.#shown ?? head;
        const sides = [0, 1].map((seat) => sideName(room.description?.view, seat));
        const colours = sideColours(room.description?.view);
        const go = (/** @type {number} */ ply) => this.#showPly(ply);
        return h(
            "section",
            { class: "card move-card", "aria-label": "Moves" },
            drawStepper({ shown, head, go }),
            drawMoves({ moves: room.match?.moves ?? [], shown, go, sides, colours, goal: room.description?.goal }),
            room.match && allowsHelp(room) && permits(this.#app.model, "see_thinking")
                ? drawGlassLink(room.match.id, shown)
                : null,
        );
    }

    /** @param {Room} room */
    #drawChat(room) {
        const refuse = (/** @type {string | null} */ message) => {
            this.#chatError = message;
            this.#app.update();
        };
        const send = async (/** @type {string} */ text, /** @type {"room" | "spectators"} */ to) => {
            const onAck = this.#parts.chat.shown?.onSend();
            this.#isChatAtEnd = true;
            const ack = await this.#app.command({ t: "chat", room: room.id, text, to }, refuse);
            onAck?.(ack);
            return ack !== null;
        };
        return drawChat({
            room,
            extras: this.#parts.chat.shown,
            log: this.#feedback?.lines ?? [],
            error: this.#chatError,
            clearError: () => this.#chatError !== null && refuse(null),
            send,
            isSpectator: mySeat(this.#app.model) === null && keptSeat(this.#app.model) === null,
            onScroll: (isAtEnd) => (this.#isChatAtEnd = isAtEnd),
            me: this.#app.model.you?.identity ?? null,
            marks: nameMarks(room),
            muted: this.#muted,
            redraw: () => this.#app.update(),
        });
    }

    /**
     * The arrows on the board: the move of the AI's search that the user points at, or the bot's answer
     * to them, while the board shows the position of then.
     * @param {Room} room
     * @returns {BoardArrow[]}
     */
    #arrows(room) {
        const pointed = this.#parts.thinking.shown?.arrows ?? NO_ARROWS;
        if (pointed.length > 0) return pointed;
        return (this.#shown === null && this.#parts.chat.shown?.arrowsOf(room)) || NO_ARROWS;
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

    /** @param {MoveView} move */
    async #play(move) {
        const { room } = this.#app.model;
        if (!room?.match || this.#sentMove.move) return;
        await this.#sentMove.send(room.id, room.match.id, headPly(room), move);
    }

    /** @param {Room} room */
    #announce(room) {
        const { match } = room;
        const ply = headPly(room);
        if (!match || !room.views[ply]) return;
        const key = `${match.id} ${ply} ${match.over?.how ?? ""}`;
        if (key === this.#announcedKey) return;
        this.#announcedKey = key;
        const status = statusText(this.#app.model, room);
        this.#app.announce(`${describePly(room, ply, status)} ${status}`);
    }
}

/**
 * Whether the player on a seat has played the room's last match there: somebody else may have sat down.
 * @param {Room} room
 * @param {number} seat
 */
function hasPlayed({ match, seats }, seat) {
    const [player, sitting] = [match?.seats[seat], seats[seat]].map((each) => each?.kept_for ?? each);
    return !sitting || player?.identity === sitting.identity;
}
