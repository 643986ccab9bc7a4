/**
 * `<ply-board>` draws the board of any game from its views, and turns clicks, drags, touches and keys
 * into moves. It contains no rules.
 *
 * Set `scene`; listen to `ply-move` (detail: the chosen MoveView), `ply-announce` (detail: a text for
 * screen readers) and `ply-prompt` (detail: what the player must choose to complete a move, or "", as
 * `text`; and as `placed` the cell and the kind of a piece that its first part has set from the hand).
 *
 * @import {BoardView, MoveView, PositionView} from "../shell/protocol.js"
 * @import {BoardArrow} from "./arrows.js"
 * @import {Layout, Place} from "./geometry.js"
 */

import { candidates, clickResult, continuations, linesFrom, nextCells, placedPiece } from "./clicks.js";
import { drawBoard, markText } from "./drawing.js";
import { layOut, neighbour, onUprightChange, placeAt } from "./geometry.js";
import { h, render } from "../shell/elements.js";
import { setting } from "../shell/settings.js";
import { takeText } from "../shell/words.js";

/**
 * What a board shows.
 * @typedef {object} Scene
 * @property {BoardView} board
 * @property {PositionView | null} position null draws the empty board
 * @property {MoveView[]} moves the legal moves; with an empty list the board is read-only
 * @property {MoveView | null} pending the move that was sent and is not in the match yet
 * @property {boolean} flip whether to turn the board by 180 degrees
 * @property {string} label the board's name for screen readers
 * @property {BoardArrow[]} [arrows] the moves that are shown with an arrow
 */

/**
 * A press that has not ended: its pointer, and the cell and the position where it began. `selected`
 * says whether the press selected the cell.
 * @typedef {{pointer: number, cell: string, x: number, y: number, selected: boolean, dragging:
 *     boolean}} Gesture
 */

/** The directions of the arrow keys. @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
/** The distance beyond which a press becomes a drag, in cells. */
const MIN_DRAG_CELLS = 0.25;

/** Labels without cells as what a side did. @type {Record<string, string>} */
export const PAST = { pass: "passed", swap: "swapped" };
/**
 * The width of a cell below which a touch must be confirmed, in pixels, because a finger covers
 * several cells.
 */
const SMALL_CELL_PX = 30;
/** The smallest height of a label on the screen, in pixels. */
const LEAST_LABEL_PX = 12;
/** The greatest height of a label on a board with large cells, in pixels. */
const MOST_LABEL_PX = 18;
/** The width of a cell below which a piece leaves no room for a label, in pixels. */
const LABELLED_CELL_PX = 48;

/**
 * Draws a scene and animates its differences from a position. The module that animates is loaded with
 * the first board; until it has arrived, changes are only drawn.
 * @type {typeof import("./animation.js").animate}
 */
let animate = (_host, _layout, _scene, _before, draw) => draw();
let isAnimationRequested = false;

function loadAnimation() {
    if (isAnimationRequested) return;
    isAnimationRequested = true;
    void import("./animation.js").then((module) => (animate = module.animate), () => (isAnimationRequested = false));
}

export class PlyBoard extends HTMLElement {
    /** @type {Scene | null} */
    #scene = null;
    /** @type {Layout | null} */
    #layout = null;
    /** The layout to whose scale the sizes of the labels are limited. @type {Layout | null} */
    #limited = null;
    /** @type {string[]} */
    #selection = [];
    /** The cell that Tab leads to. @type {string | null} */
    #current = null;
    /** The cell under the pointer or with the keyboard's focus. @type {string | null} */
    #hovered = null;
    #isFocusVisible = false;
    /** The small cell that a finger has touched and not confirmed yet. @type {string | null} */
    #aim = null;
    /** The first dot of a line, which waits for the second. @type {string | null} */
    #dot = null;
    /** @type {Gesture | null} */
    #gesture = null;
    /** Whether the playable cells are marked, after a press without effect. */
    #showsHints = false;
    /** What the player must choose to complete the move, or "". */
    #prompt = "";
    /** The cell of the piece from the hand that the first part of a move has set. @type {string | undefined} */
    #placed;
    /** Whether the board has its coordinates. */
    #hasLabels = true;
    #isDrawing = false;
    #isStale = false;
    #stopListening = () => {};

    connectedCallback() {
        this.#stopListening = onUprightChange(() => this.#layOutAgain());
        if (this.dataset.ready) return;
        this.dataset.ready = "yes";
        this.addEventListener("keydown", (event) => this.#onKey(event));
        this.addEventListener("focusin", (event) => this.#onFocusIn(event));
        this.addEventListener("focusout", () => this.#onFocusOut());
        this.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
        this.addEventListener("pointermove", (event) => this.#onPointerMove(event));
        this.addEventListener("pointerup", (event) => this.#onPointerUp(event));
        this.addEventListener("pointercancel", () => this.#endGesture());
        this.addEventListener("pointerleave", () => this.#hover(null));
        new ResizeObserver(() => this.#limitLabels()).observe(this);
    }

    disconnectedCallback() {
        this.#stopListening();
    }

    /** Keeps the labels between LEAST_LABEL_PX and MOST_LABEL_PX, in the units of the drawing. */
    #limitLabels() {
        const drawing = this.querySelector("svg");
        const scale = drawing instanceof SVGSVGElement && drawing.getScreenCTM()?.a;
        if (!scale) return;
        this.#limited = this.#layout;
        this.style.setProperty("--least-size", `${LEAST_LABEL_PX / scale}px`);
        this.style.setProperty("--most-size", `${MOST_LABEL_PX / scale}px`);
        this.style.setProperty("--taken", scale < LABELLED_CELL_PX ? "none" : "inline");
    }

    /** Draws the board anew, lying or standing. */
    #layOutAgain() {
        if (!this.#scene) return;
        this.#layout = this.#layOut(this.#scene);
        this.#draw();
    }

    /** @param {Scene} scene */
    #layOut({ board, flip }) {
        const layout = layOut(board.board, flip);
        return this.#hasLabels ? layout : { ...layout, labels: [], box: layout.frame };
    }

    get scene() {
        return this.#scene;
    }

    /**
     * Draws a scene; does nothing for null, or if every part of the scene and the setting of the
     * coordinates are the same as before.
     */
    set scene(scene) {
        const before = this.#scene;
        const hasLabels = setting("coordinates") === "on";
        const isLabelled = hasLabels === this.#hasLabels;
        if (scene === null || (before && isSameScene(before, scene) && isLabelled)) return;
        this.#scene = scene;
        this.#hasLabels = hasLabels;
        if (!this.#layout || before?.board !== scene.board || before.flip !== scene.flip || !isLabelled) {
            this.#layout = this.#layOut(scene);
        }
        if (before?.moves !== scene.moves || before.position !== scene.position) this.#dot = null;
        if (before?.moves !== scene.moves) {
            this.#selection = [];
            this.#aim = null;
            this.#showsHints = false;
            this.#setPrompt("");
        }
        const { places, byId } = this.#layout;
        if (this.#current === null || !byId.has(this.#current)) this.#current = places[0]?.id ?? null;
        const position = before?.board === scene.board && before.flip === scene.flip ? before.position : null;
        animate(this, this.#layout, scene, position, () => this.#draw());
        loadAnimation();
    }

    /**
     * Draws the scene. Removing a focused button calls `#draw` again through `focusout`; the loop
     * then draws once more.
     */
    #draw() {
        this.#isStale = true;
        if (this.#isDrawing) return;
        this.#isDrawing = true;
        const hadFocus = this.contains(document.activeElement);
        while (this.#isStale) {
            this.#isStale = false;
            this.#drawOnce();
        }
        this.#isDrawing = false;
        if (hadFocus && !this.contains(document.activeElement)) this.#focusBoard();
    }

    /** Moves the focus to the current cell, after the focused button was removed. */
    #focusBoard() {
        const node = this.#cellNode(this.#current ?? "");
        if (node instanceof SVGElement) node.focus({ preventScroll: true });
    }

    #drawOnce() {
        if (!this.#scene || !this.#layout) return;
        const { moves, pending, board } = this.#scene;
        const targets = board.targets ?? {};
        const lines = this.#dot === null ? null : this.#linesFrom(this.#dot);
        const next = lines ? new Set([...lines.keys(), ...lines.values()]) : nextCells(moves, this.#selection, targets);
        const state = {
            selection: this.#dot === null ? this.#selection : [this.#dot],
            current: this.#current,
            focus: this.#isFocusVisible ? this.#current : null,
            next,
            hovered: this.#hovered !== null && next.has(this.#hovered) ? this.#hovered : null,
            preview: pending ?? this.#preview(),
            placed: placedPiece(moves, this.#selection, targets),
            aim: this.#aim,
            showHints: this.#showsHints,
        };
        this.classList.toggle("playable", moves.length > 0);
        render(this, drawBoard(this.#scene, this.#layout, state), this.#drawButtons(next));
        if (this.#limited !== this.#layout) this.#limitLabels();
    }

    /**
     * The buttons beside the board: for labels without cells, and to confirm a touched cell. Marks on
     * such labels are shown there too.
     * @param {Set<string>} next
     */
    #drawButtons(next) {
        if (!this.#scene) return null;
        const { moves, board, position } = this.#scene;
        const labels = Object.entries(board.targets ?? {}).flatMap(([label, cells]) => (cells.length > 0 ? [] : [label]));
        if (labels.length === 0 && this.#aim === null) return null;
        const marked = Object.entries(position?.marks ?? {}).flatMap(([name, places]) =>
            places.filter((place) => labels.includes(place)).map((label) => this.#drawLabelMark(label, name)),
        );
        const buttons = labels.filter((label) => next.has(label)).map((label) => this.#drawLabelButton(label, moves));
        const aim = this.#aim;
        const confirmation =
            aim !== null &&
            h("button", { key: `aim ${aim}`, class: "only", onclick: () => this.#click(aim) }, `Play ${this.#meant(aim)}`);
        return h("div", { class: "beside", key: "beside" }, marked, buttons, confirmation);
    }

    /**
     * A mark on a label without cells; that of the last move says who made it: "Black passed".
     * @param {string} label
     * @param {string} name
     */
    #drawLabelMark(label, name) {
        const turn = this.#scene?.position?.turn;
        const mover = turn == null ? null : this.#scene?.board.seats[1 - turn]?.name;
        const text = name === "last" && mover ? `${mover} ${PAST[label] ?? `played ${label}`}` : `${label}: ${markText(name)}`;
        return h("span", { key: `${name} ${label}`, class: `marked ${name}` }, text);
    }

    /**
     * @param {string} label
     * @param {MoveView[]} moves
     */
    #drawLabelButton(label, moves) {
        const next = continuations(moves, this.#selection, label, {});
        const text = next.length === 1 ? next[0].text : label;
        const isOnlyMove = moves.length === 1;
        return h("button", { key: label, "data-label": label, class: isOnlyMove ? "only" : null, onclick: () => this.#click(label) }, text);
    }

    /** The move that a click on the hovered cell would continue, if there is exactly one. */
    #preview() {
        if (!this.#scene || this.#hovered === null) return null;
        const { moves, board } = this.#scene;
        const next = continuations(moves, this.#selection, this.#meant(this.#hovered), board.targets ?? {});
        return next.length === 1 ? next[0] : null;
    }

    /**
     * The lines from a dot, by the dot at their other end.
     * @param {string} dot
     */
    #linesFrom(dot) {
        return linesFrom(this.#scene?.moves ?? [], dot, this.#layout?.byId ?? new Map());
    }

    /**
     * What a click on a cell stands for: on a second dot for the line between the two, as on paper,
     * otherwise for the cell itself.
     * @param {string} cell
     */
    #meant(cell) {
        return (this.#dot !== null && this.#linesFrom(this.#dot).get(cell)) || cell;
    }

    /** @param {string} cell */
    #click(cell) {
        if (!this.#scene) return;
        const { moves, board } = this.#scene;
        this.#aim = null;
        const result = clickResult(moves, this.#selection, this.#meant(cell), board.targets ?? {});
        const isUnselected = cell === this.#dot;
        const hasEffect = this.#selection.length + result.selection.length + result.finished.length > 0;
        const lines = hasEffect || isUnselected ? 0 : this.#linesFrom(cell).size;
        this.#dot = lines > 0 ? cell : null;
        this.#showsHints = moves.length > 0 && !hasEffect && !isUnselected && lines === 0;
        const isUnchanged = result.finished.length === 0 && this.#selection.length > 0 && result.selection === this.#selection;
        this.#select(result.selection);
        if (isUnchanged && this.#prompt) this.#announce(this.#prompt);
        if (lines > 0) this.#announceSelected(cell, lines);
        if (this.#showsHints) this.#refuse(cell);
        if (result.finished.length === 1) this.#play(result.finished[0]);
        else if (result.finished.length > 1) this.#openChoice(result.finished);
    }

    /**
     * Says that nothing can be played on a cell, and why if the moves tell it.
     * @param {string} cell
     */
    #refuse(cell) {
        const say = () => this.#announce(this.#prompt || `Nothing can be played on ${cell}`);
        void import("./choices.js").then(({ captureText }) => this.#showsHints && (this.#setPrompt(captureText(this.#scene)), say()), say);
    }

    #unselect() {
        this.#dot = null;
        this.#aim = null;
        this.#select([]);
    }

    /** @param {string[]} selection */
    #select(selection) {
        const hasChanged = selection.join(" ") !== this.#selection.join(" ");
        this.#selection = selection;
        if (selection.length > 0) this.#dot = null;
        this.#setPrompt(this.#nextPrompt());
        this.#draw();
        if (!hasChanged || !this.#scene || selection.length === 0) return;
        void import("./choices.js").catch(() => {}); // at hand if the next click must ask
        const { moves, board } = this.#scene;
        const count = candidates(moves, selection, board.targets ?? {}).length;
        if (this.#prompt) this.#announce(this.#prompt);
        else this.#announceSelected(selection.at(-1) ?? "", count);
    }

    /**
     * @param {string} cell
     * @param {number} count of the moves that continue with it
     */
    #announceSelected(cell, count) {
        this.#announce(`${cell} selected, ${count} ${count === 1 ? "move" : "moves"}`);
    }

    /** What the player must choose next: a piece to take, if every possible move takes the next cell's. */
    #nextPrompt() {
        if (!this.#scene) return "";
        const { moves, board, position } = this.#scene;
        const targets = board.targets ?? {};
        if (!placedPiece(moves, this.#selection, targets)) return "";
        const possible = candidates(moves, this.#selection, targets);
        const next = possible.map(({ path }) => path[this.#selection.length]);
        if (!possible.every(({ affects = [] }, i) => affects.includes(next[i]))) return "";
        return takeText(board, position?.pieces[next[0]] ?? "");
    }

    /** @param {string} prompt */
    #setPrompt(prompt) {
        const { moves = [], board } = this.#scene ?? {};
        const piece = placedPiece(moves, this.#selection, board?.targets ?? {});
        const placed = piece && piece.from === null ? [piece.cell, piece.kind] : null;
        if (prompt === this.#prompt && placed?.[0] === this.#placed) return;
        this.#prompt = prompt;
        this.#placed = placed?.[0];
        this.dispatchEvent(new CustomEvent("ply-prompt", { detail: { text: prompt, placed }, bubbles: true }));
    }

    /** @param {MoveView} move */
    #play(move) {
        this.dispatchEvent(new CustomEvent("ply-move", { detail: move, bubbles: true }));
    }

    /** @param {string} text */
    #announce(text) {
        this.dispatchEvent(new CustomEvent("ply-announce", { detail: text, bubbles: true }));
    }

    /**
     * Opens a dialog to choose between moves with the same path, and plays the chosen one.
     * @param {MoveView[]} moves
     */
    #openChoice(moves) {
        if (!this.#scene) return;
        const { board } = this.#scene;
        const dialog = document.createElement("dialog");
        dialog.className = "choice";
        dialog.setAttribute("aria-label", "Which move?");
        dialog.addEventListener("close", () => {
            dialog.remove();
            const chosen = moves.find((move) => move.id === dialog.returnValue);
            if (chosen) this.#play(chosen);
        });
        void import("./choices.js").then(({ drawChoices }) => {
            render(dialog, drawChoices(board, moves));
            document.body.append(dialog);
            dialog.showModal();
        }, () => this.#announce("The server did not answer"));
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        if (!this.#layout || this.#current === null || event.altKey || event.ctrlKey || event.metaKey) return;
        if (event.target instanceof HTMLButtonElement) return;
        // After a click the board has the focus invisibly; the arrows then step through the match.
        const arrow = this.#isFocusVisible ? ARROWS[event.key] : undefined;
        if (arrow) this.#moveFocus(arrow);
        else if (event.key === "Enter" || event.key === " ") this.#click(this.#current);
        else if (event.key === "Escape" && (this.#selection.length > 0 || this.#dot !== null)) this.#unselect();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** @param {[number, number]} direction */
    #moveFocus(direction) {
        const from = this.#layout?.byId.get(this.#current ?? "");
        const to = this.#layout && from ? neighbour(this.#layout, from, direction) : null;
        if (to) this.#focus(to.id);
    }

    /** @param {string} cell */
    #focus(cell) {
        this.#current = cell;
        this.#draw();
        const node = this.#cellNode(cell);
        if (node instanceof SVGElement) node.focus({ preventScroll: true });
    }

    /** @param {FocusEvent} event */
    #onFocusIn(event) {
        const node = event.target;
        if (!(node instanceof SVGElement) || !node.dataset.cell) return;
        this.#current = node.dataset.cell;
        this.#isFocusVisible = node.matches(":focus-visible");
        if (this.#isFocusVisible) this.#hovered = this.#current;
        this.#draw();
    }

    #onFocusOut() {
        this.#isFocusVisible = false;
        this.#hover(null);
        this.#draw();
    }

    /** @param {string} cell */
    #cellNode(cell) {
        return this.querySelector(`[role=gridcell][data-cell="${CSS.escape(cell)}"]`);
    }

    /** @param {string | null} cell */
    #hover(cell) {
        if (this.#aim !== null && cell === null) cell = this.#aim;
        if (cell === this.#hovered) return;
        this.#hovered = cell;
        this.#draw();
    }

    /**
     * The pointer's position in cells, and the place under it.
     * @param {PointerEvent} event
     * @returns {{x: number, y: number, place: Place | null}}
     */
    #locate(event) {
        const svg = this.querySelector("svg");
        const matrix = svg?.getScreenCTM();
        if (!matrix || !this.#layout) return { x: 0, y: 0, place: null };
        const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
        return { x, y, place: placeAt(this.#layout.places, x, y) };
    }

    /**
     * A press selects its cell at once if the cell begins or continues a move, so that the piece can
     * be dragged. The release finishes a move.
     * @param {PointerEvent} event
     */
    #onPointerDown(event) {
        if (event.target instanceof Element && event.target.closest("button")) return;
        const { x, y, place } = this.#locate(event);
        if (!this.#scene || !place || event.button !== 0 || this.#gesture) return;
        this.#gesture = { pointer: event.pointerId, cell: place.id, x, y, selected: false, dragging: false };
        this.setPointerCapture(event.pointerId);
        this.#hovered = place.id;
        const { moves, board } = this.#scene;
        const cell = this.#meant(place.id);
        const result = clickResult(moves, this.#selection, cell, board.targets ?? {});
        if (result.selection.at(-1) === cell && result.finished.length === 0) {
            this.#gesture.selected = true;
            this.#select(result.selection);
        } else this.#draw();
    }

    /** @param {PointerEvent} event */
    #onPointerMove(event) {
        const { x, y, place } = this.#locate(event);
        if (event.pointerType !== "touch" || this.#gesture) this.#hover(place?.id ?? null);
        const gesture = this.#gesture;
        if (!gesture || !gesture.selected || gesture.pointer !== event.pointerId) return;
        gesture.dragging ||= Math.hypot(x - gesture.x, y - gesture.y) > MIN_DRAG_CELLS;
        if (gesture.dragging) this.#dragTo(gesture, `translate(${x}px, ${y}px)`);
    }

    /**
     * @param {Gesture} gesture
     * @param {string} transform
     */
    #dragTo(gesture, transform) {
        const piece = this.querySelector(`.pieces [data-at="${CSS.escape(gesture.cell)}"]`);
        if (piece instanceof SVGElement) piece.style.transform = transform;
        piece?.classList.toggle("dragged", transform !== "");
    }

    /** @param {PointerEvent} event */
    #onPointerUp(event) {
        const gesture = this.#gesture;
        if (!gesture || gesture.pointer !== event.pointerId) return;
        this.#endGesture();
        const { place } = this.#locate(event);
        if (event.pointerType === "touch") this.#hover(null);
        if (!place) return;
        this.#current = place.id;
        if (event.pointerType === "touch" && this.#mustConfirm(place.id)) return this.#aimAt(place.id);
        if (!gesture.selected || (gesture.dragging && place.id !== gesture.cell)) this.#click(place.id);
        else this.#draw();
    }

    /**
     * Whether the first touch of this cell must not play a move yet: the cells are small, and the user
     * may have meant a neighbouring cell.
     * @param {string} cell
     */
    #mustConfirm(cell) {
        const cellPx = this.querySelector("svg")?.getScreenCTM()?.a ?? SMALL_CELL_PX;
        if (!this.#scene || cellPx >= SMALL_CELL_PX || cell === this.#aim) return false;
        const { moves, board } = this.#scene;
        return clickResult(moves, this.#selection, this.#meant(cell), board.targets ?? {}).finished.length > 0;
    }

    /** @param {string} cell */
    #aimAt(cell) {
        this.#aim = cell;
        this.#hovered = cell;
        this.#draw();
        this.#announce(`${this.#meant(cell)} chosen; touch it again or press Play`);
    }

    #endGesture() {
        if (this.#gesture?.dragging) this.#dragTo(this.#gesture, "");
        this.#gesture = null;
    }
}

/**
 * @param {Scene} a
 * @param {Scene} b
 */
function isSameScene(a, b) {
    return (
        a.board === b.board &&
        a.position === b.position &&
        a.moves === b.moves &&
        a.pending === b.pending &&
        a.flip === b.flip &&
        a.label === b.label &&
        a.arrows === b.arrows
    );
}

customElements.define("ply-board", PlyBoard);
