/**
 * A board on which the user places pieces for a start position: a piece is chosen below the board,
 * and a click on a cell puts it there.
 *
 * @import {StartPosition} from "../../shell/api.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {BoardView, MoveView} from "../../shell/protocol.js"
 */

import "../../board/board.js";
import { layOut } from "../../board/geometry.js";
import { drawPiece } from "../../board/pieces.js";
import { h } from "../../shell/elements.js";
import { sentence, sideName } from "../../shell/words.js";

/** The choice that takes pieces off the board. */
const REMOVE = "";

export class PositionEditor {
    #onChange;
    #redraw;
    /** @type {BoardView | null} */
    #board = null;
    /** The kinds of the pieces, by cell. @type {Record<string, string>} */
    #pieces = {};
    #turn = 0;
    /** The kind of the piece that a click puts on a cell, or REMOVE. */
    #chosen = REMOVE;
    /** One move for each cell of the board. @type {MoveView[]} */
    #cells = [];

    /**
     * @param {(pieces: Record<string, string>, turn: number) => void} onChange called when the user has
     *     changed the position
     * @param {() => void} redraw called when the editor must be drawn again
     */
    constructor(onChange, redraw) {
        this.#onChange = onChange;
        this.#redraw = redraw;
    }

    /**
     * Shows a position.
     * @param {StartPosition} position
     */
    set({ board, view }) {
        if (JSON.stringify(board) !== JSON.stringify(this.#board)) {
            this.#board = { ...board, targets: {} }; // a click is one on a cell, not one on its column
            this.#cells = layOut(board.board, false).places.map(({ id }) => ({ id, path: [id], text: id }));
            this.#chosen = Object.keys(board.kinds)[0] ?? REMOVE;
        }
        this.#pieces = { ...view.pieces };
        this.#turn = view.turn ?? 0;
    }

    /** @returns {VNode | null} */
    draw() {
        const board = this.#board;
        if (board === null) return null;
        const scene = {
            board,
            position: { pieces: this.#pieces, turn: this.#turn, text: "", marks: {} },
            moves: this.#cells,
            pending: null,
            flip: false,
            label: "The start position",
        };
        const onMove = (/** @type {CustomEvent<MoveView>} */ { detail }) => this.#put(detail.id);
        return h(
            "div",
            { class: "editor" },
            h("ply-board", { managesChildren: true, ".scene": scene, "onply-move": onMove }),
            this.#drawPalette(board),
            h(
                "div",
                { class: "editor-tools" },
                this.#drawTurn(board),
                h("button", { type: "button", class: "small", onclick: () => this.#change({}) }, "Clear the board"),
            ),
        );
    }

    /** @param {BoardView} board */
    #drawPalette(board) {
        const colours = { "--side-0": board.seats[0]?.colour ?? "", "--side-1": board.seats[1]?.colour ?? "" };
        const style = board.board.style ?? "plain";
        const choices = [...Object.entries(board.kinds), /** @type {const} */ ([REMOVE, null])];
        return h(
            "fieldset",
            { class: "palette" },
            h("legend", null, "A click on the board puts"),
            choices.map(([key, kind]) =>
                h(
                    "label",
                    { key, class: "segment", title: kind ? sentence(kind.name) : "Nothing: it removes a piece" },
                    h("input", {
                        type: "radio",
                        name: "placed-piece",
                        value: key,
                        "aria-label": kind ? kind.name : "nothing",
                        ".checked": key === this.#chosen,
                        onchange: () => this.#choose(key),
                    }),
                    kind
                        ? h("svg", { class: `side-piece board ${style}`, viewBox: "-.5 -.5 1 1", "aria-hidden": "true", ...colours }, drawPiece(kind))
                        : h("span", null, "Nothing"),
                ),
            ),
        );
    }

    /** @param {BoardView} board */
    #drawTurn(board) {
        const onChange = (/** @type {Event} */ { currentTarget }) => {
            if (!(currentTarget instanceof HTMLSelectElement)) return;
            this.#turn = Number(currentTarget.value);
            this.#change(this.#pieces);
        };
        return h(
            "label",
            null,
            "To move ",
            h(
                "select",
                { class: "small", onchange: onChange },
                [0, 1].map((seat) => h("option", { value: seat, selected: seat === this.#turn }, sideName(board, seat))),
            ),
        );
    }

    /** @param {string} kind */
    #choose(kind) {
        this.#chosen = kind;
        this.#redraw();
    }

    /** @param {string} cell */
    #put(cell) {
        const { [cell]: before, ...others } = this.#pieces;
        const isRemoved = this.#chosen === REMOVE || this.#chosen === before;
        this.#change(isRemoved ? others : { ...others, [cell]: this.#chosen });
    }

    /** @param {Record<string, string>} pieces */
    #change(pieces) {
        this.#pieces = pieces;
        this.#onChange(pieces, this.#turn);
    }
}
