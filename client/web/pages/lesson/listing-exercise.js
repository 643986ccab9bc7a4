/**
 * The exercise with a listing, of which a line is at fault: the reader chooses a line.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {ListingLine} from "../../lesson/listing.js"
 */

import { indentOf } from "../../lesson/listing.js";
import { h } from "../../shell/elements.js";

/** @typedef {{kind: "listing", text: string, lines: ListingLine[], reason: string}} ListingExerciseBody */

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
            h("div", { role: "status" }, this.#drawVerdict()),
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
            { key: index, class: isMarked && "fault", "--indent": indentOf(line) },
            h(
                "button",
                { "aria-pressed": String(isChosen), onclick: () => this.#choose(index) },
                parts.map(([text, isAdded], place) => (isAdded ? h("span", { key: place, class: "added" }, text) : text)),
            ),
        );
    }

    /** @param {number} index */
    #choose(index) {
        this.#chosen = index;
        if (this.#body.lines[index]?.is_fault) this.#onSolved();
        this.#app.update();
    }

    #show() {
        this.#isShown = true;
        this.#app.update();
    }

    #drawVerdict() {
        const line = this.#chosen === null ? null : this.#body.lines[this.#chosen];
        const isRight = line?.is_fault === true;
        if (!isRight && this.#isShown) return h("p", null, this.#body.reason);
        if (!line) return null;
        return h(
            "p",
            { class: ["verdict", isRight ? "is-right" : "is-wrong"] },
            h("strong", null, isRight ? "✓ Right. " : "✗ Not this line. "),
            isRight ? this.#body.reason : "Try another one.",
        );
    }
}
