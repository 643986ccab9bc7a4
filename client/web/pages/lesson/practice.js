/**
 * The practice of a lesson: the quiz, the exercise, the printed sheet and the links to share. The page
 * loads it after the lesson's text and search.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {LessonBody} from "../../glass/trace/requests.js"
 * @import {LessonRuns} from "../../lesson/runs.js"
 * @import {Question} from "./answers.js"
 * @import {FigureNode} from "./figure.js"
 * @import {FigureExerciseBody} from "./figure-exercise.js"
 * @import {ListingExerciseBody} from "./listing-exercise.js"
 * @import {OrderExerciseBody} from "./order-exercise.js"
 * @import {StatementsExerciseBody} from "./statements-exercise.js"
 */

import { h } from "../../shell/elements.js";
import { lessonProgress, storeProgress } from "../../lesson/progress/progress.js";
import { FigureExercise } from "./figure-exercise.js";
import { drawHandout } from "./handout.js";
import { ListingExercise } from "./listing-exercise.js";
import { OrderExercise } from "./order-exercise.js";
import { Quiz } from "./quiz.js";
import { LessonSharing } from "./sharing.js";
import { StatementsExercise } from "./statements-exercise.js";

/** @typedef {FigureExerciseBody | OrderExerciseBody | StatementsExerciseBody | ListingExerciseBody} ExerciseBody */
/**
 * The questions and the exercise of a lesson, and its whole tree if it is a small one.
 * @typedef {{questions: Question[], exercise: ExerciseBody | null, figure: FigureNode | null}} QuizBody
 */

export class Practice {
    #lesson;
    #body;
    #runs;
    #quiz;
    /** @type {FigureExercise | OrderExercise | StatementsExercise | ListingExercise | null} */
    #exercise = null;
    /** The drawn sheet, and the key of its content. @type {{key: string, node: VNode} | null} */
    #handout = null;

    /**
     * @param {{update: () => void, announce: (text: string) => void}} app
     * @param {LessonBody} lesson
     * @param {QuizBody} body
     * @param {LessonRuns} runs
     */
    constructor(app, lesson, body, runs) {
        this.#lesson = lesson;
        this.#body = body;
        this.#runs = runs;
        this.sharing = new LessonSharing(app, lesson.name);
        this.#quiz = new Quiz({
            app,
            lesson: lesson.name,
            questions: body.questions,
            traceOf: (run) => runs.traceOf(run),
            load: (run) => void runs.load(run),
        });
        const solved = () => storeProgress(lesson.name, { ...lessonProgress(lesson.name), isSolved: true });
        if (body.exercise?.kind === "figure") this.#exercise = new FigureExercise(app, body.exercise, solved);
        if (body.exercise?.kind === "order") this.#exercise = new OrderExercise(app, body.exercise, solved);
        if (body.exercise?.kind === "listing") this.#exercise = new ListingExercise(app, body.exercise, solved);
        if (body.exercise?.kind === "statements") this.#exercise = new StatementsExercise(app, body.exercise, solved);
    }

    /** Whether the searches would solve an exercise that the reader has not solved yet. */
    get isSpoiled() {
        return this.#exercise instanceof FigureExercise && !this.#exercise.isSolved;
    }

    /** Whether the quiz is open, whose questions the searches would answer. */
    get isQuizOpen() {
        return this.#quiz.isOpen;
    }

    afterDraw() {
        this.#quiz.afterDraw();
        if (this.#exercise instanceof OrderExercise) this.#exercise.afterDraw();
    }

    drawQuiz() {
        return this.#quiz.draw();
    }

    /** The exercise that comes before the searches. */
    drawFirst() {
        return this.#exercise instanceof OrderExercise || this.#exercise === null ? null : this.#drawExercise();
    }

    /** The exercise that comes after the searches. */
    drawOrder() {
        return this.#exercise instanceof OrderExercise ? this.#drawExercise() : null;
    }

    #drawExercise() {
        return h(
            "section",
            { class: "card exercise", "aria-labelledby": "exercise-title" },
            h("h2", { id: "exercise-title" }, "Exercise"),
            this.#exercise?.draw(),
        );
    }

    /**
     * The sheet to print.
     * @param {boolean} hasAnswers
     */
    drawHandout(hasAnswers) {
        const { exercise } = this.#body;
        const trace = this.#runs.traceOf(exercise?.kind === "figure" ? exercise.run : 0);
        const key = `${hasAnswers} ${trace !== null}`;
        if (this.#handout?.key !== key) {
            const address = `${location.origin}/learn/${this.#lesson.name}`;
            const options = { lesson: this.#lesson, body: this.#body, trace, hasAnswers, address };
            this.#handout = { key, node: drawHandout(options) };
        }
        return this.#handout.node;
    }
}
