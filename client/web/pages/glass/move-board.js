/**
 * A board on which the user makes the moves to the position to search. The server has the legal moves.
 *
 * @import {BoardView, MoveView, PositionView} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 */

import "../../board/board.js";
import { readBoards } from "../../glass/trace/requests.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { sideName } from "../../shell/words.js";

await loadStyleSheet("board/board.css").catch(() => {}); // before anything is shown

/** One empty list for all scenes: a scene with another list would be drawn again. @type {MoveView[]} */
const NO_MOVES = [];

/** Maximum number of lines in a request. */
const MAX_LINES = 64;

/**
 * A game, its options, the position from which the moves are made, and the moves.
 * @typedef {{game: string, options: Record<string, string>, position: string | null, moves: string[]}} Line
 */

export class MoveBoard {
    #update;
    /** The line whose position is shown or requested, as text to compare. */
    #key = "";
    /** @type {{board: BoardView, position: PositionView, moves: MoveView[]} | null} */
    #shown = null;
    /** The last move of each line as players write it, by the line as text. @type {Map<string, string>} */
    #written = new Map();
    #hasFailed = false;
    /** @type {AbortController | null} */
    #request = null;

    /** @param {() => void} update draws the page again */
    constructor(update) {
        this.#update = update;
    }

    stop() {
        this.#request?.abort();
    }

    /**
     * @param {Line} line
     * @param {(moves: string[]) => void} change
     * @param {(text: string) => void} announce
     * @returns {Content}
     */
    draw(line, change, announce) {
        this.#load(line);
        const shown = this.#shown;
        // The page shows the refusal of a position beside its search.
        if (this.#hasFailed) return h("p", { class: "muted", key: "error" }, "There is no board for this position.");
        if (!shown) return h("p", { class: "muted", key: "loading" }, "Setting up the board…");
        const { board, position, moves } = shown;
        const isCurrent = this.#key === keyOf(line) && this.#request === null;
        const scene = {
            board,
            position,
            moves: isCurrent ? moves : NO_MOVES,
            pending: null,
            flip: false,
            label: "Board for your moves",
        };
        const play = (/** @type {CustomEvent} */ event) => change([...line.moves, event.detail.id]);
        const toMove = position.turn === null ? "The game is over" : `${sideName(board, position.turn)} to move`;
        const back = (/** @type {number} */ count) => () => change(line.moves.slice(0, count));
        return h(
            "div",
            { class: "move-board", key: "board" },
            h("ply-board", {
                managesChildren: true,
                ".scene": scene,
                "onply-move": play,
                "onply-announce": (/** @type {CustomEvent} */ event) => announce(event.detail),
            }),
            h(
                "div",
                { class: "row" },
                h("span", { class: "muted" }, toMove),
                h("span", { class: "gap" }),
                drawButton("undo", "Take back", line.moves.length === 0, back(line.moves.length - 1)),
                drawButton("first", "Reset", line.moves.length === 0, back(0)),
            ),
            line.moves.length > 0 ? h("p", { class: "line muted" }, this.#writtenMoves(line).join(" ")) : null,
        );
    }

    /**
     * The moves of a line as players write them, as far as that is known.
     * @param {Line} line
     */
    #writtenMoves(line) {
        return line.moves.map((move, index) => this.#written.get(keyAt(line, index + 1)) ?? move);
    }

    /**
     * Requests the position after the moves of a line, once.
     * @param {Line} line
     */
    #load(line) {
        const key = keyOf(line);
        if (key === this.#key) return;
        this.#request?.abort();
        const request = new AbortController();
        this.#request = request;
        this.#key = key;
        const { game, options, position, moves } = line;
        // The earlier positions, whose last moves are not known: of a line that the page begins with.
        const unknown = moves.map((_, index) => index).filter((count) => count > 0 && !this.#written.has(keyAt(line, count)));
        const lines = [moves, ...unknown.slice(0, MAX_LINES - 1).map((count) => moves.slice(0, count))];
        readBoards({ game, options, position, lines, legal: true }, request.signal).then(
            (answer) => {
                if (this.#request !== request) return;
                this.#request = null;
                this.#hasFailed = false;
                const [after] = answer.positions;
                answer.positions.forEach(({ played }, index) => {
                    const { length } = lines[index] ?? [];
                    this.#written.set(keyAt(line, length), played || moves[length - 1]);
                });
                this.#shown = after && answer.board ? { board: answer.board, position: after, moves: answer.moves?.[0] ?? [] } : null;
                this.#update();
            },
            () => {
                if (this.#request !== request) return;
                this.#request = null;
                this.#hasFailed = true;
                this.#update();
            },
        );
    }
}

/** @param {Line} line */
function keyOf({ game, options, position, moves }) {
    return JSON.stringify([game, options, position, moves]);
}

/**
 * The first moves of a line as text to compare.
 * @param {Line} line
 * @param {number} count
 */
function keyAt(line, count) {
    return keyOf({ ...line, moves: line.moves.slice(0, count) });
}

/**
 * @param {Parameters<typeof icon>[0]} name
 * @param {string} label
 * @param {boolean} disabled
 * @param {() => void} onclick
 */
function drawButton(name, label, disabled, onclick) {
    return h("button", { type: "button", class: "small", "aria-label": label, title: label, disabled, onclick }, icon(name));
}
