/**
 * The board of a search's current node. This module is loaded only for searches of games.
 *
 * @import {PositionView} from "../../shell/protocol.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import "../../board/board.js";
import { boardAspect } from "../../board/geometry.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { sentenceOf } from "../../shell/words.js";
import { NodeBoards } from "../trace/boards.js";
import { nodeName } from "../text/sentences.js";

await loadStyleSheet("board/board.css").catch(() => {}); // before anything is shown

/** One empty list for all scenes: a scene with another list would be drawn again. @type {never[]} */
const NO_MOVES = [];

export class NodeBoard {
    #trace;
    #boards;
    /** The last position that was drawn. @type {PositionView | null} */
    #position = null;

    /**
     * @param {SearchTrace} trace
     * @param {() => void} onChange called when positions have arrived
     */
    constructor(trace, onChange) {
        this.#trace = trace;
        this.#boards = new NodeBoards(trace, onChange);
    }

    /** Cancels all requests. */
    stop() {
        this.#boards.stop();
    }

    /**
     * Requests the positions of the next nodes, also while the board is folded.
     * @param {SearchState} state
     */
    prefetch(state) {
        this.#boards.prefetch(Math.max(0, state.row), state.cuts);
    }

    /**
     * The board of the current node; until its position arrives, the last board and a message.
     * @param {SearchState} state
     * @returns {Content}
     */
    draw(state) {
        const { board } = this.#trace.head;
        if (!board) return null;
        const row = Math.max(0, state.row);
        const position = this.#boards.positionOf(row);
        this.#position = position ?? this.#position;
        const where = row === 0 ? "At the root" : `After ${nodeName(this.#trace, row)}`;
        const scene = { board, position: this.#position, moves: NO_MOVES, pending: null, flip: false, label: `Board: ${where}` };
        return [
            h(
                "div",
                { class: ["position", !position && "waiting"], "--board-aspect": boardAspect(board.board) },
                h("ply-board", { ".scene": scene, managesChildren: true }),
            ),
            h("p", { class: "muted" }, position ? where : `${where}: ${this.#reason()}`),
        ];
    }

    /** Why there is no position yet. */
    #reason() {
        const { failure } = this.#boards;
        return failure === null ? "loading the board …" : sentenceOf(failure);
    }
}
