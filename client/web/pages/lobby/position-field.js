/**
 * The field for the position from which a match starts: as text, a FEN for chess, or by placing pieces
 * on a board where the game allows it. The server checks it, and the field shows the board, or what
 * the server expected.
 *
 * @import {GameDescription, StartPosition} from "../../shell/api.js"
 * @import {VNode} from "../../shell/elements.js"
 */

import { drawBoard } from "../../board/drawing.js";
import { layOut } from "../../board/geometry.js";
import { ApiError, readPlaced, readPosition } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { sentence, sideName } from "../../shell/words.js";
import { PositionEditor } from "./position-editor.js";

/** The default delay of a check, in ms. */
const CHECK_AFTER_MS = 250;
/** The code of a refusal of the text; any other error says nothing about it. */
const REFUSED = "position.refused";
/** Maximum length of the text, in characters (server/commands.py). */
const MAX_TEXT = 1000;

export class PositionField {
    #onChange;
    #delay_ms;
    #text = "";
    #isOpen = false;
    /** The game and options for which the text was checked last. */
    #checkedFor = "";
    /** The position of the text, null while it is unknown. @type {StartPosition | null} */
    #position = null;
    /** The text of the game's own start, as an example. */
    #example = "";
    #error = "";
    /** Whether the user has left the field since the error came; it is then hidden. */
    #isErrorLeft = false;
    /** Whether the error is the server's word on the text. */
    #isWrong = false;
    #timer = 0;
    /** The board for placing pieces; null where the game needs more than pieces. @type {PositionEditor | null} */
    #editor = null;
    #isEditing = false;
    /** Whether the pieces on that board make no position. */
    #isRefused = false;
    /** Answers to earlier requests than this one are dropped. */
    #request = 0;

    /**
     * @param {() => void} onChange called when the field must be drawn again
     * @param {number} [delay_ms] milliseconds without a key press after which the text is checked
     */
    constructor(onChange, delay_ms = CHECK_AFTER_MS) {
        this.#onChange = onChange;
        this.#delay_ms = delay_ms;
    }

    /** The text to send as `start`; null for the game's own start. @returns {string | null} */
    get start() {
        return this.#isOpen && this.#text.trim() !== "" ? this.#text.trim() : null;
    }

    /** Why the server has refused the text, or "". */
    get refusal() {
        return this.start !== null && this.#isWrong ? this.#error : "";
    }

    /** Whether the pieces that the user has placed make no position, so that no match can start. */
    get isRefused() {
        return this.#isOpen && this.#isRefused;
    }

    /** The seat that moves first from the text's position; null while it is unknown. @returns {number | null} */
    get turn() {
        return this.start === null ? null : (this.#position?.view.turn ?? null);
    }

    /**
     * Shows the server's refusal of the text at the field, and leads the user there.
     * @param {string} message
     */
    refuse(message) {
        this.#isOpen = true;
        this.#setError(message);
        this.#onChange();
        document.getElementById("position-text")?.focus();
        showResult();
    }

    /**
     * @param {string} message why the text is no position, or ""
     * @param {boolean} [isWrong] whether the server has said so
     */
    #setError(message, isWrong = message !== "") {
        this.#error = sentence(message);
        this.#isWrong = isWrong;
        this.#isErrorLeft = false;
    }

    #leaveError() {
        if (this.#error === "") return;
        this.#isErrorLeft = true;
        this.#onChange();
    }

    /**
     * @param {GameDescription} game
     * @param {Record<string, string>} options
     * @returns {VNode}
     */
    draw(game, options) {
        const checkedFor = JSON.stringify([game.id, options]);
        if (this.#isOpen && checkedFor !== this.#checkedFor) this.#restart(checkedFor, game.id, options);
        const onToggle = (/** @type {Event} */ event) => {
            const { currentTarget } = event;
            if (!(currentTarget instanceof HTMLDetailsElement) || currentTarget.open === this.#isOpen) return;
            this.#isOpen = currentTarget.open;
            this.#onChange();
        };
        const onInput = (/** @type {Event} */ event) => {
            if (!(event.currentTarget instanceof HTMLTextAreaElement)) return;
            this.#text = event.currentTarget.value;
            this.#isRefused = false;
            this.#setError("");
            this.#position = null;
            this.#check(game.id, options, this.#delay_ms);
            this.#onChange();
        };
        const field = {
            id: "position-text",
            rows: 2,
            maxlength: MAX_TEXT,
            spellcheck: false,
            autocapitalize: "off",
            autocomplete: "off",
            placeholder: this.#example,
            ".value": this.#text,
            "aria-invalid": this.#error !== "" && !this.#isErrorLeft,
            "aria-describedby": "position-result",
            oninput: onInput,
            onblur: () => this.#leaveError(),
        };
        return h(
            "details",
            { key: "position", class: "position", open: this.#isOpen, ontoggle: onToggle },
            h("summary", null, "Start from a position"),
            h("label", null, "Position as text", h("textarea", field)),
            h("div", { id: "position-result", role: "status" }, this.#drawResult()),
            this.#drawEditor(),
        );
    }

    #drawEditor() {
        if (!this.#editor) return null;
        const toggle = () => {
            this.#isEditing = !this.#isEditing;
            this.#onChange();
        };
        const text = this.#isEditing ? "Hide the board" : "Place pieces on a board";
        return [
            h("button", { key: "edit", type: "button", "aria-expanded": this.#isEditing, onclick: toggle }, text),
            this.#isEditing ? this.#editor.draw() : null,
        ];
    }

    #drawResult() {
        // It keeps its place when it is hidden: the button that the user clicks must not move.
        if (this.#error) return h("p", { key: "error", class: ["refusal", this.#isErrorLeft && "past"] }, this.#error);
        if (!this.#position) return null;
        const { board, view, mended } = this.#position;
        const toMove = view.turn == null ? "" : `${sideName(board, view.turn)} to move`;
        const said = mended ? `${toMove}. Put right: ${mended.join("; ")}` : toMove;
        const preview = this.#isEditing ? null : drawPreview(this.#position);
        return h("p", { key: "preview", class: "preview" }, preview, h("span", null, said));
    }

    /**
     * Reads the example of another game or other options, and checks the text again.
     * @param {string} checkedFor
     * @param {string} game
     * @param {Record<string, string>} options
     */
    #restart(checkedFor, game, options) {
        this.#checkedFor = checkedFor;
        this.#example = "";
        this.#position = null;
        this.#setError("");
        this.#isRefused = false;
        this.#editor = null;
        readPosition(game, options, null).then(
            (example) => {
                if (checkedFor !== this.#checkedFor) return;
                this.#example = example.start;
                if (example.placeable) {
                    const place = (/** @type {Record<string, string>} */ pieces, /** @type {number} */ turn) =>
                        void this.#place(game, options, pieces, turn);
                    this.#editor = new PositionEditor(place, this.#onChange);
                    this.#editor.set(this.#position ?? example);
                }
                this.#onChange();
            },
            () => {}, // without an example the field has no placeholder
        );
        this.#check(game, options, 0);
    }

    /**
     * Checks the text after a delay.
     * @param {string} game
     * @param {Record<string, string>} options
     * @param {number} delay_ms
     */
    #check(game, options, delay_ms) {
        clearTimeout(this.#timer);
        const request = ++this.#request;
        const text = this.#text.trim();
        if (text === "") return;
        this.#timer = window.setTimeout(async () => {
            const answer = await readPosition(game, options, text).catch((error) => error);
            if (request !== this.#request) return;
            this.#accept(answer);
            if (this.#position) this.#editor?.set(this.#position);
            this.#onChange();
            showResult();
        }, delay_ms);
    }

    /**
     * Asks the server for the position with these pieces, whose text then stands in the field.
     * @param {string} game
     * @param {Record<string, string>} options
     * @param {Record<string, string>} pieces
     * @param {number} turn
     */
    async #place(game, options, pieces, turn) {
        clearTimeout(this.#timer);
        const request = ++this.#request;
        this.#onChange();
        const answer = await readPlaced(game, options, pieces, turn).catch((error) => error);
        if (request !== this.#request) return;
        this.#position = null;
        this.#setError("");
        this.#accept(answer);
        this.#isRefused = answer instanceof Error;
        if (!(answer instanceof Error)) this.#text = answer.start;
        this.#onChange();
    }

    /** @param {StartPosition | Error} answer */
    #accept(answer) {
        if (answer instanceof ApiError) this.#setError(answer.message, answer.code === REFUSED);
        else if (answer instanceof Error) this.#setError("The server does not answer; try again", false);
        else this.#position = answer;
    }
}

/** Scrolls the sheet to what the server says about the text, which may be below the fold. */
function showResult() {
    document.getElementById("position-result")?.scrollIntoView({ block: "nearest" });
}

/**
 * A small picture of a position.
 * @param {StartPosition} position
 * @returns {VNode}
 */
function drawPreview({ board, view }) {
    const scene = { board, position: view, moves: [], pending: null, flip: false, label: "The position" };
    const layout = layOut(board.board, false);
    const state = { selection: [], current: null, focus: null, next: new Set(), hovered: null, preview: null };
    return h(
        "span",
        { class: "thumbnail", "aria-hidden": "true" },
        drawBoard(scene, { ...layout, labels: [], box: layout.frame }, state),
    );
}
