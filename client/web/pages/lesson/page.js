/**
 * A lesson: its text, its searches in viewers, what to look for, the quiz and the exercise. The
 * address has the search and the step that are shown.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {LessonBody} from "../../glass/requests.js"
 * @import {Shown} from "../../glass/lesson-runs.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Question} from "../../glass/answers.js"
 * @import {FigureNode} from "../../glass/figure.js"
 * @import {FigureExerciseBody} from "./figure-exercise.js"
 * @import {OrderExerciseBody} from "./order-exercise.js"
 */

import { LessonRuns } from "../../glass/lesson-runs.js";
import { drawNext, drawNotes } from "../../glass/lesson-text.js";
import { lessonProgress, storeProgress } from "../../glass/progress.js";
import { Quiz } from "../../glass/quiz.js";
import { readLesson, readQuiz } from "../../glass/requests.js";
import { ApiError } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { FigureExercise } from "./figure-exercise.js";
import { drawHandout } from "./handout.js";
import { OrderExercise } from "./order-exercise.js";
import { LessonSharing } from "./sharing.js";

/** Milliseconds for which the address waits for further steps: browsers limit its changes. */
const ADDRESS_MS = 250;

/**
 * The questions and the exercise of a lesson, and its whole tree if it is a small one.
 * @typedef {{questions: Question[], exercise: FigureExerciseBody | OrderExerciseBody | null, figure:
 *     FigureNode | null}} QuizBody
 */

/** @implements {Page} */
export class LessonPage {
    #app;
    #name;
    /** @type {LessonBody | null} */
    #lesson = null;
    /** @type {QuizBody | null} */
    #body = null;
    /** Why the lesson could not be loaded. @type {string | null} */
    #failure = null;
    #isMissing = false;
    /** @type {LessonRuns | null} */
    #runs = null;
    /** @type {Quiz | null} */
    #quiz = null;
    /** @type {FigureExercise | OrderExercise | null} */
    #exercise = null;
    #sharing;
    #isStopped = false;
    /** Whether the reader wants to see the searches that solve the exercise. */
    #isSolutionShown = false;
    /** Whether the sheet on paper shows the answers. */
    #hasAnswers = false;
    /** The sheet, as long as nothing on it changes. @type {{key: string, node: VNode} | null} */
    #handout = null;
    #addressTimer = 0;

    /**
     * @param {App} app
     * @param {string} name
     */
    constructor(app, name) {
        this.#app = app;
        this.#name = name;
        this.#sharing = new LessonSharing(app, name);
    }

    start() {
        void this.#load();
    }

    stop() {
        this.#isStopped = true;
        clearTimeout(this.#addressTimer);
        this.#runs?.stop();
    }

    onModelChange() {}

    onReconnect() {
        if (this.#failure !== null) void this.#load();
    }

    /** @param {KeyboardEvent} event */
    onKey(event) {
        if (this.#runs?.onKey(event)) event.preventDefault();
    }

    afterDraw() {
        this.#quiz?.afterDraw();
        if (this.#exercise instanceof OrderExercise) this.#exercise.afterDraw();
    }

    title() {
        if (this.#isMissing) return "There is nothing here – Plyroom";
        return `${this.#lesson?.title ?? "Lesson"} – Plyroom`;
    }

    async #load() {
        this.#failure = null;
        this.#app.update();
        try {
            const lesson = await readLesson(this.#name);
            if (this.#isStopped) return;
            this.#lesson = lesson;
            this.#runs = new LessonRuns({
                app: this.#app,
                lesson: this.#name,
                runs: lesson.runs,
                shown: shownIn(new URLSearchParams(location.search)),
                onChange: (shown) => this.#keepInAddress(shown),
            });
            this.#app.update();
            this.#open(await readQuiz(this.#name));
        } catch (error) {
            this.#isMissing = error instanceof ApiError && error.code === "lesson.unknown";
            this.#failure = error instanceof Error ? error.message : String(error);
        }
        this.#app.update();
    }

    /** @param {QuizBody} body */
    #open(body) {
        this.#body = body;
        const runs = this.#runs;
        if (runs === null || this.#isStopped) return;
        this.#quiz = new Quiz({
            app: this.#app,
            lesson: this.#name,
            questions: body.questions,
            traceOf: (run) => runs.traceOf(run),
            load: (run) => void runs.load(run),
        });
        const solved = () => this.#keepSolved();
        if (body.exercise?.kind === "figure") this.#exercise = new FigureExercise(this.#app, body.exercise, solved);
        if (body.exercise?.kind === "order") this.#exercise = new OrderExercise(this.#app, body.exercise, solved);
    }

    #keepSolved() {
        storeProgress(this.#name, { ...lessonProgress(this.#name), isSolved: true });
    }

    /**
     * Puts what is shown into the address, when no further step follows.
     * @param {Shown} shown
     */
    #keepInAddress(shown) {
        clearTimeout(this.#addressTimer);
        this.#addressTimer = window.setTimeout(() => {
            history.replaceState(history.state, "", `${location.pathname}${queryOf(shown)}`);
        }, ADDRESS_MS);
    }

    /** @returns {Content} */
    draw() {
        if (this.#isMissing) return drawMissing();
        const lesson = this.#lesson;
        if (lesson === null) return this.#drawWaiting();
        return [
            h(
                "div",
                { class: "page lesson" },
                this.#drawHead(lesson),
                this.#sharing.draw(lesson.title),
                h("p", { class: "lesson-text" }, lesson.page),
                this.#exercise instanceof FigureExercise ? this.#drawExercise() : null,
                this.#drawRuns(),
                h("div", { class: "below" }, drawNotes(lesson), this.#quiz?.draw()),
                this.#exercise instanceof OrderExercise ? this.#drawExercise() : null,
                drawNext(lesson),
            ),
            this.#drawHandout(lesson),
        ];
    }

    #drawWaiting() {
        return h(
            "div",
            { class: "page lesson" },
            h("h1", null, "Lesson"),
            this.#failure === null
                ? h("p", { class: "muted", role: "status" }, "Loading the lesson…")
                : h(
                      "div",
                      { class: "card failure", role: "alert" },
                      h("p", null, this.#failure),
                      h("button", { onclick: () => void this.#load() }, "Try again"),
                  ),
        );
    }

    /** @param {LessonBody} lesson */
    #drawHead({ title }) {
        return h(
            "header",
            { class: "lesson-head" },
            h("nav", { class: "path", "aria-label": "Path" }, h("a", { href: "/learn" }, "All lessons")),
            h("h1", null, title),
            h(
                "div",
                { class: "buttons tools" },
                h("a", { class: "button", href: this.#glassAddress() }, "Open in the glass box"),
                this.#sharing.drawButton(),
                h("button", { onclick: () => this.#print(false) }, "Print"),
                h("button", { onclick: () => this.#print(true) }, "Print with answers"),
            ),
        );
    }

    /** The address of what is shown, in the glass box. */
    #glassAddress() {
        const query = new URLSearchParams({ lesson: this.#name });
        const shown = this.#runs?.shown;
        if (shown?.run) query.set("run", String(shown.run));
        if (shown && shown.step !== null && shown.beside === null) query.set("step", String(shown.step));
        return `/glass?${query}`;
    }

    /** The searches; those that solve the exercise are shown when the reader asks for them. */
    #drawRuns() {
        const isHidden = this.#exercise instanceof FigureExercise && !this.#exercise.isSolved && !this.#isSolutionShown;
        if (!isHidden) return this.#runs?.draw();
        const show = () => {
            this.#isSolutionShown = true;
            this.#app.update();
        };
        return h("p", null, h("button", { onclick: show }, "Show the search step by step (it solves the exercise)"));
    }

    #drawExercise() {
        return h(
            "section",
            { class: "card exercise", "aria-labelledby": "exercise-title" },
            h("h2", { id: "exercise-title" }, "Exercise"),
            this.#exercise?.draw(),
        );
    }

    /** @param {LessonBody} lesson */
    #drawHandout(lesson) {
        if (this.#body === null) return null;
        const { exercise } = this.#body;
        const trace = this.#runs?.traceOf(exercise?.kind === "figure" ? exercise.run : 0) ?? null;
        const key = `${this.#hasAnswers} ${trace !== null}`;
        if (this.#handout?.key !== key) {
            const address = `${location.origin}/learn/${this.#name}`;
            const options = { lesson, body: this.#body, trace, hasAnswers: this.#hasAnswers, address };
            this.#handout = { key, node: drawHandout(options) };
        }
        return this.#handout.node;
    }

    /**
     * Prints the sheet for the class, or the one with the answers.
     * @param {boolean} hasAnswers
     */
    #print(hasAnswers) {
        this.#hasAnswers = hasAnswers;
        this.#app.update();
        // The sheet is drawn in a microtask.
        setTimeout(() => print());
    }
}

/** For a lesson that does not exist. */
function drawMissing() {
    return h(
        "div",
        { class: "notice card" },
        h("h1", null, "There is nothing here"),
        h("p", null, "There is no lesson of this name."),
        h("p", null, h("a", { href: "/learn" }, "To the lessons")),
    );
}

/**
 * What an address shows.
 * @param {URLSearchParams} query
 * @returns {Shown}
 */
function shownIn(query) {
    const read = (/** @type {string} */ name) => (/^\d{1,6}$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null);
    return { run: read("run") ?? 0, beside: read("beside"), step: read("step") };
}

/** @param {Shown} shown */
function queryOf({ run, beside, step }) {
    const query = new URLSearchParams();
    if (run > 0) query.set("run", String(run));
    if (beside !== null) query.set("beside", String(beside));
    if (step !== null) query.set("step", String(step));
    return query.size > 0 ? `?${query}` : "";
}
