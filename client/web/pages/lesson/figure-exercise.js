/**
 * The exercise with a figure to complete: numbers to type, a relation to choose, leaves to cross out.
 *
 * @import {Answer, Question} from "./answers.js"
 * @import {FigureNode} from "./figure.js"
 * @import {VNode} from "../../shell/elements.js"
 */

import { isRight, readNumber } from "./answers.js";
import { drawFigure } from "./figure.js";
import { h } from "../../shell/elements.js";

/**
 * @typedef {{kind: "figure", text: string, run: number, root: FigureNode, gaps: string, questions:
 *     Question[]}} FigureExerciseBody
 */
/** The labels of the relations. @type {Record<string, string>} */
const RELATIONS = { "=": "= exactly", ">=": "≥ at least", "<=": "≤ at most" };

export class FigureExercise {
    #app;
    #body;
    #onSolved;
    /** What is typed or chosen, by question. @type {string[]} */
    #texts;
    /** The crossed leaves. @type {Set<string>} */
    #crossed = new Set();
    /** Whether each answer was right at the last check; null before it. @type {boolean[] | null} */
    #checked = null;
    #checks = 0;
    #isSolutionShown = false;

    /**
     * @param {{update: () => void, announce: (text: string) => void}} app
     * @param {FigureExerciseBody} body
     * @param {() => void} onSolved
     */
    constructor(app, body, onSolved) {
        this.#app = app;
        this.#body = body;
        this.#onSolved = onSolved;
        this.#texts = body.questions.map(() => "");
    }

    get isSolved() {
        return this.#checked?.every((isRight) => isRight) ?? false;
    }

    /** @returns {VNode} */
    draw() {
        const { text, root } = this.#body;
        const submit = (/** @type {SubmitEvent} */ event) => {
            event.preventDefault();
            this.#check();
        };
        return h(
            "form",
            { class: "figure-exercise", onsubmit: submit },
            h("p", null, text, " Click the leaves that the search never sees; click again to undo."),
            drawFigure({
                root,
                label: "The figure",
                isCrossed: ({ name }) => this.#crossed.has(name),
                onLeaf: ({ name }) => this.#toggle(name),
                below: (node) => this.#drawGaps(node),
            }),
            h(
                "p",
                { class: "buttons" },
                h("button", { class: "main" }, "Check"),
                this.#checks > 0 && !this.isSolved && !this.#isSolutionShown
                    ? h("button", { type: "button", onclick: () => this.#showSolution() }, "Show the solution")
                    : null,
                this.#drawCrossed(),
            ),
            this.#drawVerdict(),
        );
    }

    /**
     * The fields of a node.
     * @param {FigureNode} node
     */
    #drawGaps(node) {
        const { gaps, root, questions } = this.#body;
        if (node !== root && node.name !== gaps) return null;
        const own = questions.flatMap((question, index) =>
            question.kind !== "names" && (question.row === 0) === (node === root) ? [{ question, index }] : [],
        );
        return h(
            "span",
            { class: "gaps" },
            own.map(({ question, index }) =>
                h("label", { key: index }, h("span", null, question.text), this.#drawField(question, index), this.#drawMark(index)),
            ),
        );
    }

    /**
     * @param {Question} question
     * @param {number} index
     */
    #drawField({ kind, choices }, index) {
        const change = (/** @type {Event} */ event) => {
            const { target } = event;
            if (target instanceof HTMLInputElement || target instanceof HTMLSelectElement) this.#texts[index] = target.value;
            this.#checked = null;
            this.#app.update();
        };
        const invalid = this.#checked !== null && !this.#checked[index] && !this.#isMissing(index);
        if (kind === "choice")
            return h(
                "select",
                { ".value": this.#texts[index] ?? "", onchange: change, "aria-invalid": invalid },
                h("option", { value: "" }, "…"),
                choices.map((choice) => h("option", { value: choice }, RELATIONS[choice] ?? choice)),
            );
        return h("input", {
            ".value": this.#texts[index] ?? "",
            oninput: change,
            "aria-invalid": invalid,
            autocomplete: "off",
            size: 4,
        });
    }

    /** The crossed leaves, and after a check whether they are right. */
    #drawCrossed() {
        const { questions } = this.#body;
        const index = questions.findIndex(({ kind }) => kind === "names");
        if (index < 0 || this.#checked === null) return null;
        return h("span", { class: "muted" }, `${questions[index].text}: ${[...this.#crossed].join(", ") || "none"} `, this.#drawMark(index));
    }

    /**
     * Whether a question has no answer.
     * @param {number} index
     */
    #isMissing(index) {
        if (this.#checked?.[index]) return false;
        return this.#body.questions[index]?.kind === "names" ? this.#crossed.size === 0 : (this.#texts[index] ?? "").trim() === "";
    }

    /** @param {number} index */
    #drawMark(index) {
        const isRight = this.#checked?.[index];
        if (isRight === undefined) return h("span", { class: "mark" });
        if (this.#isMissing(index)) return h("span", { class: "mark muted", title: "missing" }, "?");
        return h("span", { class: `mark ${isRight ? "is-right" : "is-wrong"}` }, isRight ? "✓" : "✗");
    }

    #drawVerdict() {
        if (this.#checked === null) return null;
        const { questions } = this.#body;
        if (this.isSolved && !this.#isSolutionShown) {
            const reasons = [...new Set(questions.map(({ reason }) => reason))];
            return h(
                "div",
                { class: "outcome", key: "solved" },
                h("p", { class: "verdict is-right", role: "status" }, h("strong", null, "✓ All right.")),
                reasons.map((reason) => h("p", { key: reason }, reason)),
            );
        }
        if (this.#isSolutionShown) return h("p", { class: "muted", role: "status" }, "This is the solution; the reasons are below.");
        const wrong = questions.filter((_, index) => !this.#checked?.[index]);
        const right = questions.length - wrong.length;
        const missing = questions.filter((_, index) => this.#isMissing(index)).length;
        const isWrong = right + missing < questions.length;
        return h(
            "div",
            { class: "outcome", key: "wrong" },
            h(
                "p",
                { class: ["verdict", isWrong && "is-wrong"], role: "status" },
                h("strong", null, `${isWrong ? "✗ " : ""}${right} of ${questions.length} ${right === 1 ? "is" : "are"} right${missing > 0 ? `, ${missing} missing` : ""}.`),
                " Hints for the others:",
            ),
            h(
                "ul",
                { class: "hints" },
                wrong.map(({ text, hint }) => h("li", { key: text }, h("strong", null, `${text}: `), hint)),
            ),
        );
    }

    /** @param {string} name */
    #toggle(name) {
        if (!this.#crossed.delete(name)) this.#crossed.add(name);
        this.#checked = null;
        this.#app.update();
    }

    #check() {
        const isOwn = !this.#isSolutionShown;
        this.#checked = this.#body.questions.map((question, index) => {
            const answer = this.#answer(question, this.#texts[index] ?? "");
            return answer !== null && isRight(question, answer);
        });
        this.#checks += 1;
        if (this.isSolved && isOwn) this.#onSolved();
        this.#app.update();
    }

    /**
     * The reader's answer; null if it cannot be read.
     * @param {Question} question
     * @param {string} text
     * @returns {Answer | null}
     */
    #answer({ kind }, text) {
        if (kind === "names") return [...this.#crossed];
        return kind === "choice" ? text : readNumber(text);
    }

    #showSolution() {
        this.#texts = this.#body.questions.map(({ answer }) => (Array.isArray(answer) ? "" : String(answer)));
        const leaves = this.#body.questions.map(({ answer }) => answer).find(Array.isArray);
        this.#crossed = new Set(leaves);
        this.#isSolutionShown = true;
        this.#check();
    }
}
