/**
 * The sheet that a lesson is printed as: the text, the tree, questions with lines to write on, and the
 * address of the lesson. It is seen on paper only.
 *
 * @import {Question} from "../../glass/answers.js"
 * @import {FigureNode} from "../../glass/figure.js"
 * @import {SearchTrace} from "../../glass/trace.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { drawFigure } from "../../glass/figure.js";
import { Fold } from "../../glass/fold.js";
import { drawPicture } from "../../glass/tree.js";
import { h } from "../../shell/elements.js";

/** Maximum number of questions on a sheet. */
const MAX_QUESTIONS = 7;
/** Maximum number of nodes of a picture on a sheet. */
const MAX_NODES = 150;

/**
 * @typedef {object} HandoutOptions
 * @property {{title: string, page: string, look_for: string[], solution: string[]}} lesson
 * @property {Question[]} questions
 * @property {FigureNode | null} figure the whole tree without values of inner nodes
 * @property {SearchTrace | null} trace the search to draw
 * @property {boolean} hasAnswers whether the sheet shows the answers
 * @property {string} address
 */

/**
 * @param {HandoutOptions} options
 * @returns {VNode}
 */
export function drawHandout({ lesson, questions, figure, trace, hasAnswers, address }) {
    return h(
        "article",
        { class: "handout", "aria-hidden": "true" },
        h("h1", null, lesson.title),
        h("p", { class: "for-names" }, hasAnswers ? "With answers" : "Name: ", hasAnswers ? null : h("span", { class: "rule" })),
        h("p", null, lesson.page),
        drawTreeOf(figure, trace, hasAnswers),
        questions.length > 0 ? h("h2", null, "Questions") : null,
        h(
            "ol",
            { class: "questions" },
            chosen(questions).map((question, index) =>
                h("li", { key: index }, h("p", null, question.text), drawAnswer(question, hasAnswers)),
            ),
        ),
        hasAnswers ? drawNotes([...lesson.look_for, ...lesson.solution]) : null,
        h("footer", null, address),
    );
}

/**
 * Questions from all of the search, in their order.
 * @param {Question[]} questions
 */
function chosen(questions) {
    if (questions.length <= MAX_QUESTIONS) return questions;
    const step = (questions.length - 1) / (MAX_QUESTIONS - 1);
    return Array.from({ length: MAX_QUESTIONS }, (_, index) => /** @type {Question} */ (questions[Math.round(index * step)]));
}

/**
 * The tree: with its answers as the search left it, otherwise without the values of inner nodes.
 * @param {FigureNode | null} figure
 * @param {SearchTrace | null} trace
 * @param {boolean} hasAnswers
 * @returns {Content}
 */
function drawTreeOf(figure, trace, hasAnswers) {
    if (figure !== null && !hasAnswers) return drawFigure({ root: figure, label: "The tree" });
    if (trace === null || trace.end === null) return null;
    const step = hasAnswers || figure === null ? trace.stepCount : 0;
    const state = new Fold(trace).at(step);
    return h("div", { class: "picture" }, drawPicture({ trace, state, view: "window", limit: MAX_NODES }));
}

/**
 * @param {Question} question
 * @param {boolean} hasAnswers
 */
function drawAnswer({ kind, reason }, hasAnswers) {
    if (hasAnswers) return h("p", { class: "reason" }, reason);
    const lines = kind === "yes_no" ? ["Yes ☐   No ☐   because", ""] : kind === "names" ? ["", ""] : [""];
    return lines.map((text, index) => h("p", { class: "line", key: index }, text));
}

/** @param {string[]} notes */
function drawNotes(notes) {
    return h(
        "ul",
        { class: "notes" },
        notes.map((note) => h("li", { key: note }, note)),
    );
}
