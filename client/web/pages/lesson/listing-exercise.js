/**
 * The exercise with a listing, of which a line is at fault: the reader chooses a line.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {ListingLine} from "../../lesson/listing.js"
 */

import { indentOf } from "../../lesson/listing.js";
import { h } from "../../shell/elements.js";

/** @typedef {{kind: "listing", text: string, lines: ListingLine[], reason: string}} ListingExerciseBody */

const RIGHT = "✓ Right. ";
const WRONG = "✗ Not this line. Try another one.";

export class ListingExercise {
    #app;
    #body;
    #onSolved;
    /** The index of the chosen line; null before. @type {number | null} */
    #chosen = null;
    #isShown = false;

    /**
     * @param {{update: () => void, announce: (text: string) => void}} app
     * @param {ListingExerciseBody} body
     * @param {() => void} onSolved
     */
    constructor(app, body, onSolved) {
        this.#app = app;
        this.#body = body;
        this.#onSolved = onSolved;
    }

    /** @returns {VNode} */
    draw() {
        const { text, lines } = this.#body;
        const isSolved = this.#chosen !== null && lines[this.#chosen]?.is_fault;
        return h(
            "div",
            { class: "listing-exercise" },
            h("p", null, text),
            h("p", { class: "muted" }, "Press the line at fault."),
            h("ol", { class: "listing" }, lines.map((line, index) => this.#drawLine(line, index))),
            isSolved ? null : h("p", { key: "show", class: "buttons" }, h("button", { onclick: () => this.#show() }, "Show the fault")),
        );
    }

    /**
     * @param {ListingLine} line
     * @param {number} index
     */
    #drawLine(line, index) {
        const { parts, is_fault } = line;
        const isChosen = this.#chosen === index;
        const isMarked = is_fault && (isChosen || this.#isShown);
        return h(
            "li",
            { key: index, class: isMarked && (isChosen ? "fault found" : "fault"), "--indent": indentOf(line) },
            h(
                "button",
                { "aria-pressed": String(isChosen), onclick: () => this.#choose(index) },
                parts.map(([text, isAdded], place) => (isAdded ? h("span", { key: place, class: "added" }, text) : text)),
            ),
            this.#drawVerdict(line, isChosen),
        );
    }

    /** @param {number} index */
    #choose(index) {
        this.#chosen = index;
        const isRight = this.#body.lines[index]?.is_fault === true;
        this.#app.announce(isRight ? RIGHT + this.#body.reason : WRONG);
        if (isRight) this.#onSolved();
        this.#app.update();
    }

    #show() {
        this.#isShown = true;
        this.#app.announce(this.#body.reason);
        this.#app.update();
    }

    /**
     * What the reader learns of a line, below it: a phone does not show the end of a long listing.
     * @param {ListingLine} line
     * @param {boolean} isChosen
     */
    #drawVerdict({ is_fault }, isChosen) {
        if (isChosen && !is_fault) return h("p", { class: "verdict is-wrong" }, WRONG);
        if (isChosen) return h("p", { class: "verdict is-right" }, h("strong", null, RIGHT), this.#body.reason);
        return is_fault && this.#isShown ? h("p", { class: "verdict" }, this.#body.reason) : null;
    }
}
