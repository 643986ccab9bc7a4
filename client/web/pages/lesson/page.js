/**
 * A lesson: its text, its searches in viewers, what to look for, the quiz and the exercise. The
 * address has the search and the step that are shown.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {LessonBody} from "../../glass/trace/requests.js"
 * @import {Shown} from "../../lesson/runs.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Practice, QuizBody} from "./practice.js"
 */

import { LessonRuns, queryOf, shownIn } from "../../lesson/runs.js";
import { drawNext, drawNotes, drawText } from "../../lesson/text.js";
import { readLesson, readQuiz } from "../../glass/trace/requests.js";
import { ApiError } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";

/** Milliseconds for which the address waits for further steps: browsers limit its changes. */
const ADDRESS_MS = 250;

/** @implements {Page} */
export class LessonPage {
    #app;
    #name;
    /** @type {LessonBody | null} */
    #lesson = null;
    /** Why the lesson or its quiz could not be loaded. @type {string | null} */
    #failure = null;
    #isMissing = false;
    /** @type {LessonRuns | null} */
    #runs = null;
    /** The quiz and the exercise, once they are loaded. @type {Practice | null} */
    #practice = null;
    #isStopped = false;
    /** Whether the reader has asked to see the searches that solve the exercise. */
    #isSolutionShown = false;
    /** Whether the sheet on paper shows the answers. */
    #hasAnswers = false;
    #addressTimer = 0;

    /**
     * @param {App} app
     * @param {string} name
     */
    constructor(app, name) {
        this.#app = app;
        this.#name = name;
    }

    start() {
        void loadStyleSheet("pages/lesson/print.css").catch(() => {});
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
        if (this.#areRunsShown && this.#runs?.onKey(event)) event.preventDefault();
    }

    afterDraw() {
        this.#practice?.afterDraw();
    }

    title() {
        if (this.#isMissing) return "There is nothing here – Plyroom";
        return `${this.#lesson?.title ?? "Lesson"} – Plyroom`;
    }

    async #load() {
        this.#failure = null;
        this.#app.update();
        try {
            const [lesson] = await Promise.all([this.#lesson ?? this.#loadLesson()]);
            await this.#loadPractice(lesson);
        } catch (error) {
            this.#isMissing = error instanceof ApiError && error.code === "lesson.unknown";
            this.#failure = error instanceof Error ? error.message : String(error);
        }
        this.#app.update();
    }

    async #loadLesson() {
        const lesson = await readLesson(this.#name);
        if (this.#isStopped) return lesson;
        this.#lesson = lesson;
        this.#runs = new LessonRuns({
            app: this.#app,
            lesson: this.#name,
            runs: lesson.runs,
            shown: shownIn(new URLSearchParams(location.search), lesson.compares),
            onChange: (shown) => this.#keepInAddress(shown),
        });
        this.#app.update();
        return lesson;
    }

    /** @param {LessonBody} lesson */
    async #loadPractice(lesson) {
        /** @type {Promise<QuizBody>} */
        const request = readQuiz(this.#name);
        const styles = loadStyleSheet("pages/lesson/practice.css");
        const listing = loadStyleSheet("lesson/listing.css");
        const [body, module] = await Promise.all([request, import("./practice.js"), styles, listing]);
        if (this.#isStopped || this.#runs === null) return;
        this.#practice = new module.Practice(this.#app, lesson, body, this.#runs);
    }

    /**
     * Writes what is shown into the address, once no further step follows.
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
        if (lesson === null)
            return h("div", { class: "page lesson" }, h("h1", null, "Lesson"), this.#drawFailure() ?? drawLoading());
        return [
            h(
                "div",
                { class: "page lesson" },
                this.#drawHead(lesson),
                this.#practice?.sharing.draw(lesson.title),
                drawText(lesson),
                this.#drawFailure(),
                this.#drawParts(lesson),
                drawNext(lesson),
            ),
            this.#practice?.drawHandout(this.#hasAnswers),
        ];
    }

    /**
     * The searches, the notes, the quiz and the exercise. An open quiz is shown alone.
     * @param {LessonBody} lesson
     */
    #drawParts(lesson) {
        const practice = this.#practice;
        if (practice?.isQuizOpen) return h("div", { class: "asked", key: "asked" }, practice.drawQuiz());
        return [
            practice?.drawFirst(),
            this.#drawRuns(),
            // The notes come last, and once the quiz has arrived: they and the solution would answer it.
            practice || this.#failure !== null
                ? h("div", { class: "below", key: "below" }, practice?.drawQuiz(), practice?.drawOrder(), drawNotes(lesson))
                : null,
        ];
    }

    #drawFailure() {
        if (this.#failure === null) return null;
        return h(
            "div",
            { class: "card failed", role: "alert", key: "failure" },
            h("p", null, this.#failure),
            h("button", { onclick: () => void this.#load() }, "Try again"),
        );
    }

    /** @param {LessonBody} lesson */
    #drawHead({ title }) {
        return h(
            "header",
            { class: "lesson-head" },
            h("nav", { class: "way", "aria-label": "Path" }, h("a", { href: "/learn" }, "All lessons")),
            h("h1", null, title),
            h(
                "div",
                { class: "buttons" },
                h("a", { class: "button", href: this.#glassAddress() }, "Open in the glass box"),
                this.#practice?.sharing.drawButton(),
                h("button", { onclick: () => this.#print(false) }, "Print"),
                h("button", { onclick: () => this.#print(true) }, "Print with answers"),
            ),
        );
    }

    /** The address of the shown search and step in the glass box. */
    #glassAddress() {
        const query = new URLSearchParams({ lesson: this.#name });
        const shown = this.#runs?.shown;
        if (shown?.run) query.set("run", String(shown.run));
        if (shown && shown.step !== null && shown.beside === null) query.set("step", String(shown.step));
        return `/glass?${query}`;
    }

    /**
     * Whether the searches are shown: not beside an open quiz, and not if they solve an unsolved exercise,
     * unless the reader asks for them. Until the exercise is loaded, a lesson with a solution has one.
     */
    get #areRunsShown() {
        const practice = this.#practice;
        if (practice === null) return this.#lesson?.solution.length === 0;
        return !practice.isQuizOpen && (this.#isSolutionShown || !practice.isSpoiled);
    }

    #drawRuns() {
        if (this.#areRunsShown) return this.#runs?.draw();
        // Whether the searches solve an exercise is not known before it has come.
        if (this.#practice === null && this.#failure === null) return drawLoading();
        const show = () => {
            this.#isSolutionShown = true;
            this.#app.update();
        };
        return h("p", null, h("button", { onclick: show }, "Show the search step by step (it solves the exercise)"));
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

function drawLoading() {
    return h("p", { class: "muted", role: "status" }, "Loading the lesson…");
}

/** The page of a lesson that does not exist. */
function drawMissing() {
    return h(
        "div",
        { class: "notice card" },
        h("h1", null, "There is nothing here"),
        h("p", null, "There is no lesson of this name."),
        h("p", null, h("a", { href: "/learn" }, "To the lessons")),
    );
}
