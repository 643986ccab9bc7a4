/**
 * A match in a frame of another page: its board, players, result and moves. It opens no socket and
 * makes no guest, so that the browser stores no cookie. A running match is read again every ten
 * seconds, as long as somebody can see it.
 *
 * The address says `?ply=`, the position shown first (by default the last), `flip=1` for the board
 * from the second side, and `theme=light` or `theme=dark` (by default the system's).
 *
 * @import {StoredMatch} from "../shell/api.js"
 * @import {PositionView} from "../shell/protocol.js"
 * @import {Content} from "../shell/elements.js"
 */

import "../board/board.js";
import { boardAspect, isFlipped } from "../board/geometry.js";
import { drawSide } from "../board/pieces.js";
import { MAX_VIEWS_PER_REQUEST, readMatch, readViews } from "../shell/api.js";
import { h, render } from "../shell/elements.js";
import { icon } from "../shell/icons.js";
import { keyOf } from "../shell/keys.js";
import { moveText, numberedMove, occupantName, pointsText, resultSentence, sideName, versus } from "../shell/words.js";

/** Milliseconds between two looks at a running match. */
const POLL_MS = 10_000;
/** The least distance of a swipe over the board, in pixels. */
const SWIPE_PX = 40;
/** One empty list for all scenes. @type {never[]} */
const NO_MOVES = [];

class EmbeddedMatch {
    #root;
    #id;
    /** @type {StoredMatch | null} */
    #match = null;
    /** @type {Record<number, PositionView>} */
    #views = {};
    /** The position that was drawn last: it stays until the next one has arrived. @type {PositionView | null} */
    #drawn = null;
    /** The ply on the board; null is the last one, also when further moves are played. @type {number | null} */
    #ply;
    #isTurned;
    /** @type {string | null} */
    #failure = null;
    /** Where a pointer went down on the board. @type {number | null} */
    #pressedX = null;
    #announcement = "";
    #isDrawn = true;

    /**
     * @param {HTMLElement} root
     * @param {string} id
     */
    constructor(root, id) {
        this.#root = root;
        this.#id = id;
        const wanted = new URLSearchParams(location.search);
        const theme = wanted.get("theme");
        if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
        const ply = wanted.get("ply") ?? "";
        this.#ply = /^\d{1,6}$/.test(ply) ? Number(ply) : null;
        this.#isTurned = ["1", "true"].includes(wanted.get("flip") ?? "");
    }

    start() {
        addEventListener("keydown", (event) => this.#onKey(event));
        document.addEventListener("visibilitychange", () => document.hidden || void this.#load());
        setInterval(() => !document.hidden && void this.#load(), POLL_MS);
        void this.#load();
    }

    /** Reads the match, and the views that are new. */
    async #load() {
        if (this.#match?.over) return; // it never changes again
        try {
            const before = this.#match;
            const match = await readMatch(this.#id);
            this.#match = match;
            this.#failure = null;
            const same = before?.moves.findIndex(({ move }, index) => match.moves[index]?.move !== move) ?? 0;
            // A move that was taken back has another view.
            const known = before === null ? -1 : same < 0 ? before.moves.length : same;
            for (const ply of Object.keys(this.#views)) if (Number(ply) > known) delete this.#views[Number(ply)];
            this.#update();
            if (match.view !== null) await this.#loadViews(match, known + 1);
        } catch (error) {
            // What is shown already stays: the next look may succeed.
            if (this.#match === null) this.#failure = error instanceof Error ? error.message : String(error);
        }
        this.#update();
    }

    /**
     * @param {StoredMatch} match
     * @param {number} first ply that is missing
     */
    async #loadViews(match, first) {
        const head = match.moves.length;
        const parts = [];
        for (let from = first; from <= head; from += MAX_VIEWS_PER_REQUEST) parts.push(from);
        const at = this.#shownIn(match);
        parts.sort((a, b) => Number(a > at || at >= a + MAX_VIEWS_PER_REQUEST) - Number(b > at || at >= b + MAX_VIEWS_PER_REQUEST));
        for (const from of parts) {
            const to = Math.min(head, from + MAX_VIEWS_PER_REQUEST - 1);
            this.#views = { ...this.#views, ...(await readViews(match.match, from, to)) };
            this.#update();
        }
    }

    /** @param {StoredMatch} match */
    #shownIn(match) {
        return Math.min(this.#ply ?? match.moves.length, match.moves.length);
    }

    /** @param {number} ply */
    #go(ply) {
        const match = this.#match;
        if (!match) return;
        const shown = Math.max(0, Math.min(match.moves.length, ply));
        this.#ply = shown === match.moves.length && !match.over ? null : shown;
        const played = match.moves[shown - 1];
        this.#announcement = played ? numberedMove(played, shown - 1) : "Start position";
        this.#update();
    }

    /** @param {number} by */
    #step(by) {
        if (this.#match) this.#go(this.#shownIn(this.#match) + by);
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        if (event.altKey || event.ctrlKey || event.metaKey || !this.#match) return;
        /** @type {Record<string, () => void>} */
        const actions = {
            ArrowLeft: () => this.#step(-1),
            ArrowRight: () => this.#step(1),
            Home: () => this.#go(0),
            End: () => this.#go(Infinity),
            f: () => this.#turn(),
        };
        const key = keyOf(event);
        if (!Object.hasOwn(actions, key)) return;
        event.preventDefault();
        // The board has arrow keys of its own, for its cells.
        event.stopPropagation();
        actions[key]?.();
    }

    #turn() {
        this.#isTurned = !this.#isTurned;
        this.#update();
    }

    /** Draws the page again, once for all changes in the current task. */
    #update() {
        if (!this.#isDrawn) return;
        this.#isDrawn = false;
        queueMicrotask(() => {
            this.#isDrawn = true;
            this.#root.removeAttribute("aria-busy");
            render(this.#root, this.#draw());
            this.#root.querySelector(".moves [aria-current]")?.scrollIntoView({ block: "nearest" });
        });
    }

    /** @returns {Content} */
    #draw() {
        const match = this.#match;
        if (this.#failure !== null)
            return h(
                "div",
                { class: "failure", role: "alert" },
                h("p", null, this.#failure),
                h("button", { onclick: () => void this.#load() }, "Try again"),
            );
        if (match === null) return h("p", { class: "muted" }, "Loading the match…");
        const shown = this.#shownIn(match);
        const top = this.#isTurned ? 0 : 1;
        return [
            h("h1", { class: "visually-hidden" }, `${match.title}: ${versus(match.seats)}`),
            h(
                "div",
                { class: "table", "--board-aspect": boardAspect(match.view?.board ?? null) },
                this.#drawPlayer(match, top, shown),
                this.#drawBoard(match, shown),
                this.#drawPlayer(match, 1 - top, shown),
            ),
            h("div", { class: "side" }, this.#drawSteps(match, shown), this.#drawMoves(match, shown), this.#drawEnd(match)),
            h("div", { class: "visually-hidden", role: "status" }, this.#announcement),
        ];
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #drawBoard(match, shown) {
        if (match.view === null) return h("p", { class: "muted" }, "The rules of this game are no longer here.");
        this.#drawn = this.#views[shown] ?? this.#drawn;
        const scene = {
            board: match.view,
            position: this.#drawn,
            moves: NO_MOVES,
            pending: null,
            flip: isFlipped(match.view.board, null, this.#isTurned),
            label: `${match.title} board`,
        };
        return h("ply-board", {
            ".scene": scene,
            managesChildren: true,
            onpointerdown: (/** @type {PointerEvent} */ event) => {
                this.#pressedX = event.clientX;
            },
            onpointerup: (/** @type {PointerEvent} */ event) => {
                const moved = this.#pressedX === null ? 0 : event.clientX - this.#pressedX;
                this.#pressedX = null;
                if (Math.abs(moved) >= SWIPE_PX) this.#step(moved < 0 ? 1 : -1);
            },
        });
    }

    /**
     * @param {StoredMatch} match
     * @param {number} seat
     * @param {number} shown
     */
    #drawPlayer(match, seat, shown) {
        const isAtEnd = shown === match.moves.length && Boolean(match.over);
        const won = isAtEnd && match.over?.winner === seat;
        const toMove = !isAtEnd && this.#drawn?.turn === seat;
        return h(
            "p",
            { class: ["player", toMove && "to-move"] },
            drawSide(match.view, seat),
            h("bdi", { class: "who" }, occupantName(match.seats[seat] ?? null)),
            h("span", { class: "muted" }, sideName(match.view, seat)),
            won ? h("b", { class: "won" }, "won") : null,
            toMove ? h("span", { class: "muted" }, "to move") : null,
        );
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #drawSteps(match, shown) {
        const head = match.moves.length;
        const button = (/** @type {"first" | "back" | "forward" | "last" | "flip"} */ name, /** @type {string} */ label, /** @type {() => void} */ act, isOff = false) =>
            h("button", { class: "icon-button", "aria-label": label, title: label, disabled: isOff, onclick: act }, icon(name));
        return h(
            "div",
            { class: "steps", role: "group", "aria-label": "Steps" },
            button("first", "Start position", () => this.#go(0), shown === 0),
            button("back", "One move back", () => this.#step(-1), shown === 0),
            button("forward", "One move forward", () => this.#step(1), shown === head),
            button("last", "Last position", () => this.#go(head), shown === head),
            button("flip", "Turn the board", () => this.#turn()),
            h("a", { href: `/match/${match.match}?ply=${shown}`, target: "_blank", rel: "noopener" }, "Open in Plyroom"),
        );
    }

    /**
     * @param {StoredMatch} match
     * @param {number} shown
     */
    #drawMoves(match, shown) {
        if (match.moves.length === 0) return h("p", { class: "muted" }, "No move has been played yet.");
        return h(
            "div",
            { class: "moves", role: "group", "aria-label": "Moves", tabindex: 0 },
            match.moves.map((played, index) =>
                h(
                    "button",
                    { key: index, "aria-current": index + 1 === shown ? "true" : null, onclick: () => this.#go(index + 1) },
                    h("span", { class: "muted" }, played.number?.endsWith("...") ? "" : played.number),
                    moveText(played),
                ),
            ),
        );
    }

    /** @param {StoredMatch} match */
    #drawEnd(match) {
        const { over } = match;
        if (!over) return h("p", { class: "muted" }, "The match is running.");
        return h("p", { class: "result" }, h("b", null, pointsText(over)), ` ${resultSentence(over, match.view)}`);
    }
}

const root = document.getElementById("match");
const id = location.pathname.split("/")[3];
if (root && id) new EmbeddedMatch(root, id).start();
