/**
 * The printed sheet of a lesson: the text, the tree, questions with lines to write on, and the lesson's
 * address. It is visible on paper only.
 *
 * @import {Question} from "./answers.js"
 * @import {FigureNode} from "./figure.js"
 * @import {FigureExerciseBody} from "./figure-exercise.js"
 * @import {ListingLine} from "../../lesson/listing.js"
 * @import {QuizBody} from "./practice.js"
 * @import {SearchTrace} from "../../glass/trace/trace.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 */

import { drawFigure } from "./figure.js";
import { stateAt } from "../../glass/trace/search-state.js";
import { drawPicture } from "../../glass/drawing/picture.js";
import { h } from "../../shell/elements.js";

/** Maximum number of questions of a quiz on a sheet: with a picture they fill a page. */
const MAX_QUESTIONS = 6;
/** Maximum number of nodes of a picture on a sheet. */
const MAX_NODES = 150;
/** The numbers of lines to write on, for an answer of each kind. */
const LINES = { yes_no: 1, true_false: 2, number: 1, names: 1, choice: 1, text: 3 };

/** What stands on the first line of an answer that chooses. @type {Partial<Record<keyof typeof LINES, string>>} */
const CHOICES = { yes_no: "Yes ☐   No ☐   because", true_false: "True ☐   False ☐   because" };

/** A question of a sheet. @typedef {{text: string, kind: keyof typeof LINES, reason: string}} Asked */
/**
 * @typedef {object} HandoutOptions
 * @property {{title: string, page: string, look_for: string[], solution: string[], runs: {caption: string}[]}} lesson
 * @property {QuizBody} body
 * @property {SearchTrace | null} trace the search to draw
 * @property {boolean} hasAnswers whether the sheet shows the answers
 * @property {string} address
 */

/**
 * @param {HandoutOptions} options
 * @returns {VNode}
 */
export function drawHandout({ lesson, body, trace, hasAnswers, address }) {
    const asked = questionsOf(body, lesson.runs);
    return h(
        "article",
        { class: "handout", "aria-hidden": "true" },
        h("h1", null, lesson.title),
        hasAnswers
            ? h("p", null, h("strong", null, "With answers"))
            : h("p", { class: "for-names" }, "Name: ", h("span", { class: "rule" })),
        h("p", null, lesson.page),
        hasAnswers && body.exercise?.kind !== "listing" ? drawSearch(trace) : drawGiven(body, trace, hasAnswers),
        asked.length > 0 ? h("h2", null, "Questions") : null,
        h(
            "ol",
            { class: "questions" },
            asked.map((question, index) =>
                h("li", { key: index }, h("p", null, question.text), drawAnswer(question, hasAnswers)),
            ),
        ),
        hasAnswers ? drawNotes([...lesson.look_for, ...lesson.solution], asked) : null,
        h("footer", null, address),
    );
}

/**
 * The questions of a sheet: those of the exercise, or some of the quiz.
 * @param {QuizBody} body
 * @param {{caption: string}[]} runs
 * @returns {Asked[]}
 */
function questionsOf({ questions, exercise }, runs) {
    if (exercise?.kind === "figure") {
        const reasons = [...new Set(exercise.questions.map(({ reason }) => reason))];
        return [{ text: `${exercise.text} Cross out the leaves that are never seen.`, kind: "text", reason: reasons.join(" ") }];
    }
    if (exercise?.kind === "order") {
        const { leaves, least_leaves, all_leaves } = exercise;
        return [
            { text: `How many of the ${all_leaves} leaves does alpha-beta see in this order?`, kind: "number", reason: `${leaves}.` },
            { text: "Write the tree in an order in which it sees as few leaves as possible.", kind: "text", reason: `The least possible is ${least_leaves}.` },
        ];
    }
    if (exercise?.kind === "listing") return [{ text: exercise.text, kind: "text", reason: exercise.reason }];
    if (exercise?.kind === "statements")
        return exercise.statements.map(({ text, is_true, reason }) => ({ text, kind: "true_false", reason: `${is_true ? "True" : "False"}. ${reason}` }));
    const step = (questions.length - 1) / (MAX_QUESTIONS - 1);
    const some = () => Array.from({ length: MAX_QUESTIONS }, (_, index) => /** @type {Question} */ (questions[Math.round(index * step)]));
    const chosen = questions.length <= MAX_QUESTIONS ? questions : some();
    // Where the questions are about several searches, each says which one it means.
    const isOfOne = chosen.every(({ run }) => run === chosen[0]?.run);
    return isOfOne ? chosen : chosen.map((question) => ({ ...question, text: `${runs[question.run]?.caption}: ${question.text}` }));
}

/**
 * The tree without values of inner nodes, with gaps for an exercise; for a game the search as outlines.
 * @param {QuizBody} body
 * @param {SearchTrace | null} trace
 * @param {boolean} hasAnswers
 * @returns {Content}
 */
function drawGiven({ questions, exercise, figure }, trace, hasAnswers) {
    if (exercise?.kind === "listing") return drawListing(exercise.lines, hasAnswers);
    if (exercise?.kind === "statements") return null;
    const root = exercise?.root ?? figure ?? questions.find((question) => question.figure)?.figure;
    if (!root) return [drawSearch(trace, 0), trace && h("p", null, `Position: ${trace.head.position}`)];
    const below = exercise?.kind === "figure" ? (/** @type {FigureNode} */ node) => drawGaps(node, exercise) : undefined;
    return drawFigure({ root, label: "The tree", below });
}

/**
 * A listing, whose lines have numbers.
 * @param {ListingLine[]} lines
 * @param {boolean} hasAnswers whether the line at fault is marked
 */
function drawListing(lines, hasAnswers) {
    const text = (/** @type {ListingLine} */ { parts }) => parts.map(([part, isAdded]) => (isAdded ? h("span", { class: "added" }, part) : part));
    const line = (/** @type {ListingLine} */ each, /** @type {number} */ index) =>
        h("li", { key: index, class: hasAnswers && each.is_fault && "fault" }, h("code", null, text(each)));
    return h("ol", { class: "listing" }, lines.map(line));
}

/**
 * The gaps of a node, as lines to write on.
 * @param {FigureNode} node
 * @param {FigureExerciseBody} exercise
 */
function drawGaps(node, { root, gaps, questions }) {
    if (node !== root && node.name !== gaps) return null;
    const own = questions.filter(({ kind, row }) => kind !== "names" && (row === 0) === (node === root));
    return h(
        "span",
        { class: "gaps" },
        own.map(({ text, kind }) =>
            h("span", { class: "gap-line", key: text }, kind === "choice" ? `${text}  =  ≥  ≤` : `${text}: `, h("span", { class: "rule" })),
        ),
    );
}

/**
 * The search as it stands after some steps, at its end without a number.
 * @param {SearchTrace | null} trace
 * @param {number} [step]
 * @returns {Content}
 */
function drawSearch(trace, step) {
    if (trace === null || trace.end === null) return null;
    const state = stateAt(trace, step ?? trace.stepCount);
    return h("div", { class: "picture" }, drawPicture({ trace, state, view: "window", limit: MAX_NODES }));
}

/**
 * @param {Asked} question
 * @param {boolean} hasAnswers
 */
function drawAnswer({ kind, reason }, hasAnswers) {
    if (hasAnswers) return h("p", { class: "solution" }, reason);
    return Array.from({ length: LINES[kind] }, (_, index) =>
        h("p", { class: "line", key: index }, index > 0 ? "" : (CHOICES[kind] ?? "")),
    );
}

/**
 * @param {string[]} notes
 * @param {Asked[]} asked whose answers say some of the notes already
 */
function drawNotes(notes, asked) {
    const rest = notes.filter((note) => !asked.some(({ reason }) => reason.includes(note)));
    return h(
        "ul",
        { class: "notes" },
        rest.map((note) => h("li", { key: note }, note)),
    );
}
