/**
 * The glass box: the form with what to search and how, and the search itself, step by step. Everything
 * that the page shows is in its address.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {GameDescription} from "../../shell/api.js"
 * @import {Address} from "../../glass/address.js"
 * @import {LessonRun, LessonSummary, TraceChoices} from "../../glass/requests.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Subject} from "./search.js"
 */

import { readAddress } from "../../glass/address.js";
import { SearchPair } from "../../glass/pair.js";
import { readChoices, readLesson, readLessons } from "../../glass/requests.js";
import { TraceError } from "../../glass/stream.js";
import { SearchViewer } from "../../glass/viewer.js";
import { listGames } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { sentenceOf } from "../../shell/words.js";
import { Share } from "../../ui/share.js";
import { openKeysHelp } from "../../ui/sheets.js";
import { AddressBar } from "./address-bar.js";
import { BoardMaker } from "./board-maker.js";
import { drawFields } from "./fields.js";
import { drawFailure, drawStopped } from "./failure.js";
import { Run } from "../../glass/run.js";
import { NO_SUBJECT, requestOf, secondOf, stateOfRequest, subjectOf, valuesOf, withChanges } from "./search.js";
import { drawSecond } from "./second.js";
import { drawSubject } from "./subject.js";
import { EXAMPLES } from "./text-field.js";

/** @implements {Page} */
export class GlassPage {
    #app;
    /** @type {Address} */
    #state;
    #bar;
    #share;
    #maker;
    /** The first and the second search. @type {[Run, Run]} */
    #runs;
    /** @type {TraceChoices | null} */
    #choices = null;
    /** @type {GameDescription[]} */
    #games = [];
    /** The lessons by topic; null until they are needed and have arrived. @type {{title: string, lessons: LessonSummary[]}[] | null} */
    #topics = null;
    /** The searches of the shown lesson. @type {{lesson: string, runs: LessonRun[]} | null} */
    #lesson = null;
    /** Why the choices could not be loaded. @type {Error | null} */
    #failure = null;
    #isFormOpen;
    /** @type {SearchViewer | null} */
    #viewer = null;
    /** @type {SearchPair | null} */
    #pair = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        this.#bar = new AddressBar();
        this.#state = this.#bar.read();
        this.#isFormOpen = subjectOf(this.#state) === null;
        if (this.#isFormOpen) this.#state = { ...this.#state, tree: EXAMPLES.tree };
        const update = () => app.update();
        this.#share = new Share("Link to this step", "/glass", update, (text) => app.announce(text));
        this.#maker = new BoardMaker(update);
        const onChange = () => this.#onTrace();
        this.#runs = [new Run(onChange), new Run(onChange)];
    }

    start() {
        void this.#share.load();
        void this.#load();
        if (subjectOf(this.#state) === "lesson") void this.#loadLesson();
        this.#search();
    }

    stop() {
        for (const run of this.#runs) run.stop();
        this.#maker.stop();
        this.#bar.stop();
        this.#closeViewers();
    }

    onModelChange() {}

    onReconnect() {
        if (this.#choices === null) void this.#load();
        for (const run of this.#runs) if (run.error) run.retry();
    }

    title() {
        const title = this.#runs[0].trace?.head.title;
        return title ? `${title} – Glass box – Plyroom` : "Glass box – Plyroom";
    }

    afterDraw() {}

    /** @param {KeyboardEvent} event */
    onKey(event) {
        if (event.key === "?") openKeysHelp(this.#app);
        else if (!(this.#pair ?? this.#viewer)?.onKey(event)) return;
        event.preventDefault();
    }

    async #load() {
        this.#failure = null;
        try {
            [this.#choices, this.#games] = await Promise.all([readChoices(), listGames()]);
        } catch (error) {
            this.#failure = error instanceof Error ? error : new Error(String(error));
        }
        this.#app.update();
    }

    /** Loads the lessons, and the searches of the chosen one. */
    async #loadLesson() {
        const { lesson } = this.#state;
        try {
            this.#topics ??= (await readLessons()).topics;
            if (lesson !== null && this.#lesson?.lesson !== lesson)
                this.#lesson = { lesson, runs: (await readLesson(lesson)).runs };
            this.#search();
        } catch (error) {
            this.#app.toast(sentenceOf(error instanceof Error ? error.message : String(error)));
        }
        this.#app.update();
    }

    /** The state of the first search: that of a lesson's search as if it had been typed. */
    get #searched() {
        const { lesson, run } = this.#state;
        if (lesson === null) return this.#state;
        const request = this.#lesson?.lesson === lesson ? this.#lesson.runs[run ?? 0]?.request : null;
        return request ? stateOfRequest(this.#state, request) : null;
    }

    /** Requests the searches of the state. */
    #search() {
        const { lesson, run } = this.#state;
        const request = requestOf(this.#state);
        this.#runs[0].want(lesson !== null ? { lesson, run: run ?? 0 } : request ? { request } : null);
        const second = this.#searched && secondOf(this.#searched);
        const secondRequest = second && requestOf(second);
        this.#runs[1].want(secondRequest ? { request: secondRequest } : null);
        this.#showTraces();
    }

    /**
     * Changes what is searched, or how, and searches it.
     * @param {Partial<Address>} changes
     */
    #change(changes) {
        const isSubject = Object.keys(changes).some((name) => name in NO_SUBJECT || name === "with");
        const before = isSubject ? this.#state : (this.#searched ?? this.#state);
        const changed = { ...before, step: null };
        this.#state = this.#choices ? withChanges(this.#choices, changed, changes) : { ...changed, ...changes };
        this.#bar.write(this.#state);
        this.#search();
        if (subjectOf(this.#state) === "lesson") void this.#loadLesson();
        this.#app.update();
    }

    /** @param {Subject} subject */
    #choose(subject) {
        const head = this.#runs[0].trace?.head;
        /** @type {Record<Subject, Partial<Address>>} */
        const starts = {
            game: { game: head?.game || this.#choices?.games[0]?.id || null },
            tree: { tree: EXAMPLES.tree },
            graph: { graph: EXAMPLES.graph },
            lesson: { lesson: this.#topics?.[0]?.lessons[0]?.name ?? "" },
        };
        if (subject === "lesson" && this.#topics === null) {
            void readLessons().then(
                ({ topics }) => {
                    this.#topics = topics;
                    this.#choose("lesson");
                },
                (error) => this.#app.toast(sentenceOf(error.message)),
            );
            return;
        }
        this.#change({ ...NO_SUBJECT, ...starts[subject] });
    }

    #onTrace() {
        this.#showTraces();
        this.#app.update();
    }

    /** Shows the traces that have arrived: both in step once they are complete, otherwise the first. */
    #showTraces() {
        const [first, second] = this.#runs;
        const isPair = this.#state.with !== null && first.isComplete && second.isComplete;
        const step = this.#state.step;
        const onStep = (/** @type {number} */ shown) => this.#onStep(shown);
        if (isPair && first.trace && second.trace) {
            if (this.#pair?.left === first.trace && this.#pair.right === second.trace) return;
            this.#closeViewers();
            this.#pair = new SearchPair({ app: this.#app, left: first.trace, right: second.trace, step, onStep });
            return;
        }
        if (this.#pair) this.#closeViewers();
        if (!first.trace || this.#viewer?.trace === first.trace) return this.#viewer?.onGrow();
        this.#closeViewers();
        this.#viewer = new SearchViewer({ app: this.#app, trace: first.trace, step, onStep });
    }

    #closeViewers() {
        this.#viewer?.stop();
        this.#pair?.stop();
        this.#viewer = this.#pair = null;
    }

    /** @param {number} step */
    #onStep(step) {
        this.#state = { ...this.#state, step };
        this.#bar.writeSoon(this.#state);
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        return h(
            "div",
            { class: ["page glass-page", this.#pair && "has-pair"], key: "glass" },
            this.#drawHead(),
            this.#isFormOpen ? this.#drawForm() : null,
            this.#drawStatus(),
            this.#drawSearch(),
        );
    }

    #drawHead() {
        const head = this.#runs[0].trace?.head;
        const toggle = () => {
            this.#isFormOpen = !this.#isFormOpen;
            this.#app.update();
        };
        return h(
            "div",
            { class: "glass-head", key: "head" },
            h("h1", null, "Glass box"),
            h("p", { class: "what muted" }, head ? describeSearch(head) : ""),
            h(
                "button",
                { class: "toggle-form", "aria-expanded": this.#isFormOpen, "aria-controls": "glass-form", onclick: toggle },
                icon("gear"),
                this.#isFormOpen ? "Hide the form" : "Change the search",
            ),
            this.#bar.isTooLong
                ? h("p", { class: "muted too-long" }, "This text is too long for a link: save it as a file to pass it on.")
                : this.#share.draw(this.#bar.query),
        );
    }

    #drawForm() {
        const choices = this.#choices;
        if (this.#failure)
            return h(
                "section",
                { class: "card form-card", id: "glass-form", key: "form" },
                h("p", { class: "refusal", role: "alert" }, sentenceOf(this.#failure.message)),
                h("button", { onclick: () => void this.#load() }, "Try again"),
            );
        if (!choices) return h("section", { class: "card form-card", id: "glass-form", key: "form" }, h("p", { class: "muted" }, "Loading the choices…"));
        const searched = this.#searched;
        const change = (/** @type {Partial<Address>} */ changes) => this.#change(changes);
        const [first, second] = this.#runs;
        const head = first.trace?.head ?? null;
        const fields = searched && {
            id: "first",
            choices,
            state: searched,
            values: valuesOf(searched, choices, first.isStale || first.isRunning ? null : head),
            sides: this.#sides(),
            kinds: choices.games.find(({ id }) => id === (searched.game ?? head?.game))?.kinds ?? [],
            change,
        };
        return h(
            "section",
            { class: "card form-card", id: "glass-form", key: "form", "aria-label": "What to search, and how" },
            h("div", { class: "part" }, h("h2", null, "What"), drawSubject({
                subject: subjectOf(this.#state) ?? "game",
                state: this.#state,
                choices,
                games: this.#games,
                topics: this.#topics,
                runs: this.#lesson?.lesson === this.#state.lesson ? this.#lesson.runs : null,
                head,
                textError: first.error instanceof TraceError && first.error.line !== null ? first.error : null,
                maker: this.#maker,
                choose: (subject) => this.#choose(subject),
                change,
                announce: (text) => this.#app.announce(text),
            })),
            h("div", { class: "part" }, h("h2", null, "How"), fields ? drawFields(fields) : h("p", { class: "muted" }, "The search of this lesson cannot be changed.")),
            h("div", { class: "part" }, h("h2", null, "Two side by side"), fields ? drawSecond(fields, second.trace?.head ?? null, change) : null),
        );
    }

    /** The names of the players of what is searched. */
    #sides() {
        const head = this.#runs[0].trace?.head;
        const names = head?.board?.seats.map(({ name }) => name) ?? this.#maker.sides;
        if (names.length > 0) return names;
        const { players = 2 } = this.#choices?.subjects[subjectOf(this.#state) ?? ""] ?? {};
        return Array.from({ length: players }, (_, i) => `player ${i + 1}`);
    }

    /** What the searches say besides their trees: that they run, or why there is none. */
    #drawStatus() {
        const runs = this.#runs.filter((_, i) => i === 0 || this.#state.with !== null);
        const retry = () => {
            for (const run of runs) if (run.error) run.retry();
            this.#app.update();
        };
        const failed = runs.filter(({ error }) => error !== null);
        const isRunning = runs.some((run) => run.isRunning);
        return h(
            "div",
            { class: "glass-status", role: "status", key: "status" },
            failed.map((run) => (run.error ? (run.isStale || !run.trace ? drawFailure(run.error, retry) : drawStopped(run.error)) : null)),
            isRunning ? h("p", { class: "muted running" }, "Searching…") : null,
        );
    }

    #drawSearch() {
        const shown = this.#pair ?? this.#viewer;
        const isStale = this.#runs[0].isStale;
        return h("div", { class: ["glass-search", isStale && "stale"], key: "search" }, shown?.draw() ?? null);
    }
}

/**
 * A search in a few words: "Chess: alphabeta, depth 3, estimate".
 * @param {import("../../glass/trace.js").TraceHead} head
 */
function describeSearch({ title, algorithm, form, depth, evaluator, order }) {
    const parts = [
        algorithm,
        form === "flat" ? "" : form,
        depth === null ? "to the end" : `depth ${depth}`,
        evaluator,
        order === "game" ? "" : `order ${order}`,
    ];
    return `${title ? `${title}: ` : ""}${parts.filter(Boolean).join(", ")}`;
}
