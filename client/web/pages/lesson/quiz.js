/**
 * The quiz of a lesson: questions about its searches, one after the other. After a wrong answer the
 * reader gets the hint, after a second one the reason. The score is stored in this browser only.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {Answer, Question} from "./answers.js"
 * @import {FigureNode} from "./figure.js"
 * @import {Outcome} from "../../lesson/progress/progress.js"
 * @import {Ends} from "../../glass/trace/search-state.js"
 * @import {SearchTrace} from "../../glass/trace/trace.js"
 */

import { h } from "../../shell/elements.js";
import { keyOf } from "../../shell/keys.js";
import { isRight, readNumber } from "./answers.js";
import { drawFigure } from "./figure.js";
import { SearchState, stateAt } from "../../glass/trace/search-state.js";
import { lessonProgress, progressText, storeProgress } from "../../lesson/progress/progress.js";
import { drawTree } from "../../glass/drawing/tree.js";

/**
 * @typedef {object} QuizOptions
 * @property {{update: () => void, announce: (text: string) => void}} app
 * @property {string} lesson
 * @property {Question[]} questions
 * @property {(run: number) => SearchTrace | null} traceOf the trace of a run; null while it is
 *     loading, which `load` begins
 * @property {(run: number) => void} load
 */

export class Quiz {
    #options;
    #index = 0;
    #isOpen = false;
    #hasHint = false;
    /** The number of wrong answers to this question. */
    #tries = 0;
    /** The outcome of this question; null while it is open. @type {Outcome | null} */
    #outcome = null;
    /** The reader's last answer to this question. @type {Answer | null} */
    #given = null;
    /** The message if an answer cannot be read. @type {string | null} */
    #problem = null;
    /** The content of the field. */
    #text = "";
    /** The chosen names. @type {Set<string>} */
    #names = new Set();
    /** The selector of the element that gets the focus after the next draw. @type {string | null} */
    #focus = null;
    #progress;
    /** The rows that the reader has opened or closed in the tree. */
    #opened = new Set();
    #closed = new Set();

    /** @param {QuizOptions} options */
    constructor(options) {
        this.#options = options;
        this.#progress = lessonProgress(options.lesson);
    }

    /** Whether the reader answers questions now. */
    get isOpen() {
        return this.#isOpen;
    }

    get #question() {
        return this.#options.questions[this.#index];
    }

    /** @returns {VNode | null} */
    draw() {
        const { questions } = this.#options;
        if (questions.length === 0) return null;
        const question = this.#question;
        return h(
            "section",
            { class: "card quiz", "aria-labelledby": "quiz-title", onkeydown: (/** @type {KeyboardEvent} */ event) => this.#onKey(event) },
            h(
                "header",
                null,
                h("h2", { id: "quiz-title" }, "Quiz"),
                h("span", { class: "score", "aria-live": "polite" }, progressText(this.#progress)),
                this.#isOpen ? h("button", { class: "small", onclick: () => this.#close() }, "Back to the lesson") : null,
            ),
            !this.#isOpen
                ? this.#drawStart(questions.length)
                : question
                  ? this.#drawQuestion(question)
                  : this.#drawEnd(),
        );
    }

    /** Moves the focus to the next thing to do. */
    afterDraw() {
        if (this.#focus === null) return;
        const part = document.querySelector(`.quiz ${this.#focus}`);
        this.#focus = null;
        if (!(part instanceof HTMLElement)) return;
        part.focus({ preventScroll: true });
        part.scrollIntoView({ block: "nearest" });
    }

    /** @param {number} count */
    #drawStart(count) {
        const answered = Object.keys(this.#progress.answers).length;
        const first = this.#firstOpen();
        return h(
            "div",
            { class: "start" },
            h("p", null, `${count === 1 ? "One question" : `${count} questions`} about the search above. The search stops before it decides, and you say what it does.`),
            h(
                "p",
                { class: "buttons" },
                h(
                    "button",
                    { class: "main", onclick: () => this.#open(first) },
                    answered === 0 ? "Start the quiz" : first < count ? "Go on" : "Answer again",
                ),
                answered > 0 && first < count ? h("button", { onclick: () => this.#restart() }, "Start again") : null,
            ),
        );
    }

    /** The first question without an answer; the number of questions if all have one. */
    #firstOpen() {
        const { questions } = this.#options;
        const first = questions.findIndex((_, index) => !(index in this.#progress.answers));
        return first < 0 ? questions.length : first;
    }

    #restart() {
        this.#progress = { ...this.#progress, answers: {} };
        this.#open(0);
    }

    #close() {
        this.#isOpen = false;
        this.#focus = ".start button";
        this.#options.app.update();
    }

    /** @param {number} index */
    #open(index) {
        if (index >= this.#options.questions.length) return this.#restart();
        this.#isOpen = true;
        this.#goTo(index);
    }

    /** @param {number} index */
    #goTo(index) {
        this.#index = index;
        this.#tries = 0;
        this.#hasHint = false;
        this.#outcome = null;
        this.#problem = null;
        this.#text = "";
        this.#names = new Set();
        this.#opened = new Set();
        this.#closed = new Set();
        this.#focus = "[data-first], .quiz [data-leaf]";
        if (this.#question) this.#options.load(this.#question.run);
        this.#options.app.update();
    }

    /** @param {Question} question */
    #drawQuestion(question) {
        const number = `Question ${this.#index + 1} of ${this.#options.questions.length}`;
        return h(
            "div",
            { class: "question", key: `question-${this.#index}` },
            h("p", { class: "muted" }, number),
            h("p", { class: "text", id: "quiz-question" }, question.text),
            this.#drawSearch(question),
            this.#outcome === null ? this.#drawAnswer(question) : null,
            this.#drawVerdict(question),
        );
    }

    /**
     * The search at the step of the question; after the answer one step further.
     * @param {Question} question
     */
    #drawSearch(question) {
        if (question.figure) return this.#drawLeaves(question, question.figure);
        const trace = this.#options.traceOf(question.run);
        if (trace === null || trace.end === null)
            // The same element as later: a field that has the focus must not move.
            return h("div", { class: "tree-box", key: "tree" }, h("p", { class: "muted" }, "Loading the search…"));
        const isOpen = this.#outcome === null;
        const state = isOpen ? new QuestionState(trace, question.step) : stateAt(trace, question.step + 1);
        const select = { opened: this.#opened, closed: this.#closed };
        return h(
            "div",
            { class: "tree-box", key: "tree" },
            drawTree({
                trace,
                state,
                view: "window",
                ...select,
                hidesFuture: true,
                label: "The search at this question",
                onToggle: (/** @type {number} */ row, /** @type {boolean} */ isToOpen) => {
                    (isToOpen ? this.#opened : this.#closed).add(row);
                    (isToOpen ? this.#closed : this.#opened).delete(row);
                    this.#options.app.update();
                },
                onSelect: () => {},
            }),
        );
    }

    /**
     * The whole tree, whose leaves the reader crosses out; after the answer with the right leaves crossed.
     * @param {Question} question
     * @param {FigureNode} root
     */
    #drawLeaves({ answer }, root) {
        const isOpen = this.#outcome === null;
        const names = isOpen || !Array.isArray(answer) ? this.#names : new Set(answer);
        return drawFigure({
            root,
            label: "The tree",
            isCrossed: ({ name }) => names.has(name),
            onLeaf: isOpen ? ({ name }) => this.#toggle(name) : null,
        });
    }

    /** @param {Question} question */
    #drawAnswer(question) {
        return h(
            "div",
            { class: "answer", key: "answer" },
            question.kind === "yes_no" ? this.#drawYesNo() : null,
            question.kind === "number" ? this.#drawNumber() : null,
            question.kind === "names" ? this.#drawNames() : null,
            this.#hasHint ? null : h("button", { class: "hint", onclick: () => this.#showHint() }, "Hint"),
            this.#problem ? h("p", { class: "field-error", id: "quiz-problem", role: "alert" }, this.#problem) : null,
        );
    }

    #drawYesNo() {
        return h(
            "div",
            { class: "buttons", role: "group", "aria-labelledby": "quiz-question" },
            h("button", { "data-first": true, onclick: () => this.#answer(true), "aria-keyshortcuts": "y" }, "Yes"),
            h("button", { onclick: () => this.#answer(false), "aria-keyshortcuts": "n" }, "No"),
        );
    }

    #drawNumber() {
        const submit = (/** @type {SubmitEvent} */ event) => {
            event.preventDefault();
            const number = readNumber(this.#text);
            if (number !== null) return this.#answer(number);
            this.#problem = "Type a number, such as 10 or −1.";
            this.#options.app.update();
        };
        const type = (/** @type {Event} */ event) => {
            if (event.target instanceof HTMLInputElement) this.#text = event.target.value;
        };
        return h(
            "form",
            { class: "buttons", onsubmit: submit },
            h("input", {
                "data-first": true,
                "aria-labelledby": "quiz-question",
                "aria-invalid": this.#problem !== null,
                "aria-describedby": this.#problem === null ? null : "quiz-problem",
                autocomplete: "off",
                ".value": this.#text,
                oninput: type,
                size: 6,
            }),
            h("button", { class: "main" }, "Check"),
        );
    }

    #drawNames() {
        return h(
            "div",
            { class: "buttons" },
            h("p", { class: "muted" }, "Click on these leaves in the tree: a click crosses a leaf out."),
            h("button", { class: "main", onclick: () => this.#answer([...this.#names]) }, "Check"),
        );
    }

    /** @param {string} name */
    #toggle(name) {
        if (!this.#names.delete(name)) this.#names.add(name);
        this.#options.app.update();
    }

    /** @param {Question} question */
    #drawVerdict(question) {
        const isLast = this.#index === this.#options.questions.length - 1;
        const hint = this.#hasHint && this.#outcome === null;
        return [
            hint ? h("p", { class: "hint-text", key: "hint" }, h("strong", null, "Hint: "), question.hint) : null,
            this.#outcome === null && this.#tries > 0
                ? h("p", { class: "verdict is-wrong", key: "wrong", role: "status" }, h("strong", null, "✗ Not right. "), "Try once more.")
                : null,
            this.#outcome === null
                ? null
                : h(
                      "div",
                      { class: "outcome", key: "outcome" },
                      h(
                          "p",
                          { class: `verdict is-${this.#outcome}`, role: "status" },
                          h("strong", null, this.#outcome === "wrong" ? "✗ Not right. " : "✓ Right. "),
                          this.#givenText(),
                          question.reason,
                      ),
                      h(
                          "button",
                          { class: "main next", onclick: () => this.#goTo(this.#index + 1) },
                          isLast ? "Finish" : "Next question",
                      ),
                  ),
        ];
    }

    /** The reader's answer, which its buttons or its field no longer show. */
    #givenText() {
        const given = this.#given;
        if (given === true || given === false) return `Your answer: ${given ? "Yes" : "No"}. `;
        if (Array.isArray(given)) return `Your answer: ${given.join(", ") || "none"}. `;
        return `Your answer: ${String(given).replace("-", "−").replace("Infinity", "∞")}. `;
    }

    #drawEnd() {
        return h(
            "div",
            { class: "end" },
            h("p", { class: "text" }, `${progressText(this.#progress)}.`),
            h("p", { class: "buttons" }, h("button", { "data-first": true, onclick: () => this.#restart() }, "Answer again")),
        );
    }

    #showHint() {
        this.#hasHint = true;
        this.#focus = "[data-first], .quiz [data-leaf]";
        this.#options.app.announce(`Hint: ${this.#question?.hint}`);
        this.#options.app.update();
    }

    /**
     * Checks an answer: the first wrong one shows the hint, the second one ends the question.
     * @param {Answer} answer
     */
    #answer(answer) {
        const question = this.#question;
        if (!question || this.#outcome !== null) return;
        this.#problem = null;
        this.#given = answer;
        if (isRight(question, answer)) return this.#finish(this.#hasHint ? "hinted" : "right");
        this.#tries += 1;
        if (this.#tries > 1 || question.kind === "yes_no") return this.#finish("wrong");
        this.#hasHint = true;
        this.#focus = "[data-first], .quiz [data-leaf]";
        this.#options.app.update();
    }

    /** @param {Outcome} outcome */
    #finish(outcome) {
        const { lesson, questions, app } = this.#options;
        this.#outcome = outcome;
        const answers = { ...this.#progress.answers, [this.#index]: outcome };
        this.#progress = { ...lessonProgress(lesson), answers, count: questions.length };
        storeProgress(lesson, this.#progress);
        this.#focus = ".next";
        app.update();
    }

    /**
     * Answers yes or no by a key.
     * @param {KeyboardEvent} event
     */
    #onKey(event) {
        if (!this.#isOpen || this.#outcome !== null || this.#question?.kind !== "yes_no") return;
        const key = keyOf(event);
        if (event.altKey || event.ctrlKey || event.metaKey || !["y", "n"].includes(key)) return;
        event.preventDefault();
        this.#answer(key === "y");
    }
}

/**
 * The state of a search as a question shows it: the node of the question and the nodes above it have the
 * window that they received, and open intervals.
 */
class QuestionState extends SearchState {
    /**
     * @param {number} row the number of a node
     * @override
     * @returns {Ends}
     */
    window(row) {
        return this.isOnPath(row) ? [this.trace.alpha(row), this.trace.beta(row)] : super.window(row);
    }

    /**
     * @param {number} row the number of a node
     * @override
     * @returns {Ends}
     */
    interval(row) {
        return this.isOnPath(row) ? [-Infinity, Infinity] : super.interval(row);
    }
}
