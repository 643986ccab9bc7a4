/**
 * The exercise with statements, some of which are true. The reader answers each; after the check each
 * shows why it is true or false.
 *
 * @import {VNode} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";

/** @typedef {{text: string, is_true: boolean, reason: string}} Statement */
/** @typedef {{kind: "statements", text: string, statements: Statement[]}} StatementsExerciseBody */

/** The answers with their words. @type {[boolean, string][]} */
const ANSWERS = [
    [true, "True"],
    [false, "False"],
];

export class StatementsExercise {
    #app;
    #body;
    #onSolved;
    /** The answers so far, by statement. @type {Map<number, boolean>} */
    #answers = new Map();
    #isChecked = false;

    /**
     * @param {{update: () => void, announce: (text: string) => void}} app
     * @param {StatementsExerciseBody} body
     * @param {() => void} onSolved
     */
    constructor(app, body, onSolved) {
        this.#app = app;
        this.#body = body;
        this.#onSolved = onSolved;
    }

    /** @returns {VNode} */
    draw() {
        const { text, statements } = this.#body;
        return h(
            "div",
            { class: "statements-exercise" },
            h("p", null, text),
            h("ol", null, statements.map((statement, index) => this.#drawStatement(statement, index))),
            h("p", { class: "buttons" }, h("button", { class: "main", onclick: () => this.#check() }, "Check")),
            h("p", { class: "verdict", role: "status" }, this.#isChecked ? this.#verdict() : ""),
        );
    }

    /**
     * @param {Statement} statement
     * @param {number} index
     */
    #drawStatement({ text, is_true, reason }, index) {
        const given = this.#answers.get(index);
        const isRight = given === is_true;
        const choose = (/** @type {boolean} */ answer) => {
            this.#answers.set(index, answer);
            this.#isChecked = false;
            this.#app.update();
        };
        return h(
            "li",
            { key: index },
            h("p", { id: `statement-${index}` }, text),
            h(
                "div",
                { class: "buttons", role: "group", "aria-labelledby": `statement-${index}` },
                ANSWERS.map(([answer, word]) =>
                    h("button", { key: word, class: "small", "aria-pressed": String(given === answer), onclick: () => choose(answer) }, word),
                ),
            ),
            this.#isChecked && given !== undefined
                ? h("p", { class: ["verdict", isRight ? "is-right" : "is-wrong"] }, h("strong", null, isRight ? "✓ Right. " : "✗ Not right. "), reason)
                : null,
        );
    }

    #check() {
        this.#isChecked = true;
        const { statements } = this.#body;
        if (statements.every(({ is_true }, index) => this.#answers.get(index) === is_true)) this.#onSolved();
        this.#app.update();
    }

    #verdict() {
        const { statements } = this.#body;
        const open = statements.length - this.#answers.size;
        if (open > 0) return open === 1 ? "One statement has no answer yet." : `${open} statements have no answer yet.`;
        const right = statements.filter(({ is_true }, index) => this.#answers.get(index) === is_true).length;
        return right === statements.length ? "All right. The model solution is below." : `${right} of ${statements.length} answers ${right === 1 ? "is" : "are"} right.`;
    }
}
