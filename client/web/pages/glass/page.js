/**
 * The glass box: a search step by step, and the form to change it. Everything that the page shows is in
 * its address.
 *
 * @import {App, Page} from "../../shell/app.js"
 * @import {Address} from "../../glass/trace/address.js"
 * @import {SearchPair} from "../../glass/viewer/pair.js"
 * @import {LessonRun} from "../../glass/trace/requests.js"
 * @import {SearchTrace} from "../../glass/trace/trace.js"
 * @import {StoredMatch} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 * @import {Share} from "../../ui/share.js"
 * @import {SearchForm} from "./form.js"
 */

import { readLesson } from "../../glass/trace/requests.js";
import { Run } from "../../glass/trace/run.js";
import { SearchViewer, VIEWS } from "../../glass/viewer/viewer.js";
import { readMatch } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { icon } from "../../shell/icons.js";
import { sentenceOf } from "../../shell/words.js";
import { AddressBar } from "./address-bar.js";
import { EXAMPLES } from "./examples.js";
import { drawFailure, drawStopped, drawTruncated, isAtField, isCorrectable } from "./failure.js";
import { requestOf, secondOf, stateOfRequest, subjectOf } from "./search.js";

/** On wide windows an empty page opens with its form; form.css has the same width. */
const wideWindow = matchMedia("(min-width: 1100px)");

/** @implements {Page} */
export class GlassPage {
    #app;
    /** @type {Address} */
    #state;
    #bar;
    /** The field with the link, once it has arrived. @type {Share | null} */
    #share = null;
    /** The first and the second search. @type {[Run, Run]} */
    #runs;
    /** The title and the searches of the shown lesson. @type {{lesson: string, title: string, runs: LessonRun[]} | null} */
    #lesson = null;
    /** The match of the address, if it is running. @type {StoredMatch | null} */
    #running = null;
    #isFormOpen;
    /** The form, once it has been opened and has arrived. @type {SearchForm | null} */
    #form = null;
    /** @type {SearchViewer | null} */
    #viewer = null;
    /** @type {SearchPair | null} */
    #pair = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        this.#bar = new AddressBar();
        this.#state = this.#bar.read();
        const isEmpty = subjectOf(this.#state) === null;
        if (isEmpty) this.#state = { ...this.#state, tree: EXAMPLES.tree };
        this.#isFormOpen = isEmpty && wideWindow.matches;
        const onChange = () => this.#onTrace();
        this.#runs = [new Run(onChange), new Run(onChange)];
    }

    start() {
        void this.#loadShare();
        if (this.#isFormOpen) void this.#openForm();
        if (subjectOf(this.#state) === "lesson") void this.#loadLesson();
        void this.#readMatch();
        this.#search();
    }

    stop() {
        for (const run of this.#runs) run.stop();
        this.#form?.stop();
        this.#bar.stop();
        this.#closeViewers();
    }

    onModelChange() {}

    onReconnect() {
        void this.#form?.load();
        for (const run of this.#runs) if (run.error) run.retry();
    }

    title() {
        const title = this.#subjectTitle;
        return title ? `${title} – Glass box – Plyroom` : "Glass box – Plyroom";
    }

    afterDraw() {}

    /** @param {KeyboardEvent} event */
    onKey(event) {
        if ((this.#pair ?? this.#viewer)?.onKey(event)) event.preventDefault();
    }

    async #loadShare() {
        const loaded = await import("../../ui/share.js").catch(() => null);
        if (loaded === null) return;
        const app = this.#app;
        this.#share = new loaded.Share("Link to this step", "/glass", () => app.update(), (text) => app.announce(text));
        void this.#share.load();
        app.update();
    }

    async #openForm() {
        this.#isFormOpen = true;
        this.#app.update();
        if (this.#form) return;
        const loaded = await import("./form.js").catch(() => null);
        if (loaded === null) return this.#app.missing();
        this.#form ??= new loaded.SearchForm(this.#app);
        this.#app.update();
    }

    /** Asks whether the match of the address is still running. Without an answer the link leads to its replay. */
    async #readMatch() {
        const { match } = this.#state;
        if (match === null || this.#running?.match === match) return;
        const read = await readMatch(match).catch(() => null);
        if (this.#state.match !== match) return; // another search has begun
        this.#running = read && !read.over ? read : null;
        this.#app.update();
    }

    /** Loads the searches of the chosen lesson. */
    async #loadLesson() {
        const { lesson } = this.#state;
        if (lesson === null || this.#lesson?.lesson === lesson) return;
        try {
            const { title, runs } = await readLesson(lesson);
            this.#lesson = { lesson, title, runs };
            this.#search();
        } catch (error) {
            this.#app.toast(sentenceOf(error instanceof Error ? error.message : String(error)));
        }
        this.#app.update();
    }

    /** What is searched: the lesson, or the title of the search. */
    get #subjectTitle() {
        const { lesson } = this.#state;
        const head = this.#runs[0].trace?.head;
        return head && lesson !== null && this.#lesson?.lesson === lesson ? this.#lesson.title : head?.title;
    }

    /** The state of the first search; that of a lesson's search has its subject and fields. */
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
        this.#runs[0].request(lesson !== null ? { lesson, run: run ?? 0 } : request ? { request } : null);
        const second = this.#searched && secondOf(this.#searched);
        const secondRequest = second && requestOf(second);
        this.#runs[1].request(secondRequest ? { request: secondRequest } : null);
        this.#showTraces();
    }

    /**
     * Shows another state: writes its address, and requests its searches.
     * @param {Address} state
     */
    #show(state) {
        this.#state = state;
        this.#bar.write(state);
        this.#search();
        void this.#loadLesson();
        void this.#readMatch();
        this.#app.update();
    }

    #onTrace() {
        const { trace, error } = this.#runs[0];
        if (!trace && error && isCorrectable(error) && !this.#isFormOpen) void this.#openForm();
        this.#showTraces();
        this.#app.update();
    }

    /** Shows the arrived traces: both in step once they are complete, otherwise the first one. */
    #showTraces() {
        const [first, second] = this.#runs;
        if (this.#state.with !== null && first.isComplete && second.isComplete && first.trace && second.trace)
            return void this.#showPair(first.trace, second.trace);
        if (this.#pair) this.#closeViewers();
        if (!first.trace || this.#viewer?.trace === first.trace) return this.#viewer?.onGrow();
        this.#closeViewers();
        this.#viewer = new SearchViewer({ app: this.#app, trace: first.trace, request: this.#subject, ...this.#viewing });
    }

    /**
     * Shows two complete traces in step.
     * @param {SearchTrace} left
     * @param {SearchTrace} right
     */
    async #showPair(left, right) {
        if (this.#pair?.left === left && this.#pair.right === right) return;
        const loaded = await import("../../glass/viewer/pair.js").catch(() => null);
        if (loaded === null) return this.#app.missing();
        const [first, second] = this.#runs;
        if (first.trace !== left || second.trace !== right || this.#pair?.left === left) return;
        this.#closeViewers();
        this.#pair = new loaded.SearchPair({ app: this.#app, left, right, ...this.#viewing });
        this.#app.update();
    }

    #closeViewers() {
        this.#viewer?.stop();
        this.#pair?.stop();
        this.#viewer = this.#pair = null;
    }

    /** The request of the first search; null for a lesson's, and for a match, whose moves the server has. */
    get #subject() {
        const request = requestOf(this.#state);
        return request && request.match === undefined ? request : null;
    }

    /** The options of the viewers: the first step and view, and the callbacks for others. */
    get #viewing() {
        return {
            step: this.#state.step,
            view: VIEWS.find(([view]) => view === this.#state.view)?.[0] ?? "window",
            onStep: (/** @type {number} */ step) => this.#note({ step }),
            onView: (/** @type {string} */ view) => this.#note({ view }),
        };
    }

    /**
     * Writes the viewers' step or view into the address.
     * @param {Partial<Address>} changes
     */
    #note(changes) {
        this.#state = { ...this.#state, ...changes };
        this.#bar.writeSoon(this.#state);
        this.#app.update();
    }

    /** @returns {Content} */
    draw() {
        return h(
            "div",
            { class: ["page glass-page", this.#isFormOpen && "has-form"], key: "glass" },
            this.#drawHead(),
            this.#isFormOpen ? this.#drawForm() : null,
            h("div", { class: "glass-main", key: "main" }, this.#drawStatus(), this.#drawSearch()),
        );
    }

    #drawHead() {
        const head = this.#runs[0].trace?.head;
        const title = this.#subjectTitle ?? "";
        const what = !head ? "" : this.#pair ? `${title}: ${this.#pair.names.join(" and ")}` : describeSearch({ ...head, title });
        const { match, ply } = this.#state;
        const isOpen = this.#isFormOpen;
        const toggle = () => {
            if (!isOpen) return void this.#openForm();
            this.#isFormOpen = false;
            this.#app.update();
        };
        return h(
            "div",
            { class: "glass-head", key: "head" },
            h("h1", null, "Glass box"),
            h("p", { class: "what muted", title: what }, what),
            match === null ? null : this.#drawWayBack(match, ply),
            h(
                "button",
                { class: "toggle-form", "aria-expanded": isOpen, "aria-controls": isOpen ? "glass-form" : null, onclick: toggle },
                icon("gear"),
                isOpen ? "Hide the form" : "Change the search",
            ),
            this.#bar.isTooLong
                ? h("p", { class: "muted too-long" }, "This text is too long for a link: save it as a file to pass it on.")
                : (this.#share?.draw(this.#bar.query) ?? h("div", { class: "share" })),
        );
    }

    /**
     * The link to the match: to its room while it is running, where its players go on, and else to its
     * replay.
     * @param {string} match
     * @param {number | null} ply
     */
    #drawWayBack(match, ply) {
        const { room, seats = [] } = this.#running?.match === match ? this.#running : {};
        if (!room) return h("a", { class: "button to-match", href: `/match/${match}?ply=${ply ?? ""}` }, "The match");
        const isMine = seats.some((player) => (player.kept_for ?? player).identity === this.#app.model.you?.identity);
        return h("a", { class: "button to-match", href: `/room/${room}` }, isMine ? "Back to your match" : "Back to the match");
    }

    #drawForm() {
        const [first, second] = this.#runs;
        if (!this.#form)
            return h("section", { class: "card form-card", id: "glass-form", key: "form" }, h("p", { class: "muted" }, "Loading the form…"));
        return this.#form.draw({
            state: this.#state,
            searched: this.#searched,
            first,
            second,
            runs: this.#lesson?.lesson === this.#state.lesson ? this.#lesson.runs : null,
            search: (state) => this.#show(state),
        });
    }

    /** The status of the searches: running, failed, stopped or truncated. */
    #drawStatus() {
        const runs = this.#runs.filter((_, i) => i === 0 || this.#state.with !== null);
        const retry = () => {
            for (const run of runs) if (run.error) run.retry();
            this.#app.update();
        };
        const failed = runs.filter(({ error }) => error !== null && !(this.#isFormOpen && isAtField(error)));
        // The server still counts plain minimax's nodes when the root has its value.
        const isSearching = runs.some(({ isRunning, trace }) => isRunning && !(trace?.end === null && trace.bound(0) !== null));
        return h(
            "div",
            { class: "glass-status", role: "status", key: "status" },
            failed.map((run) => (run.error ? (run.isStale || !run.trace ? drawFailure(run.error, retry) : drawStopped(run.error.message)) : null)),
            runs.map((run) => (run.error || run.isRunning ? null : drawTruncated(run.trace?.end ?? null, run.trace?.count ?? 0))),
            runs[0]?.isStale ? h("p", { class: "muted", key: "stale" }, "The tree below is that of the last search that succeeded.") : null,
            failed.length === 0 && !runs[0]?.trace && runs[0]?.error
                ? h("p", { class: "muted" }, "No search yet: correct the marked field of the form.")
                : null,
            isSearching ? h("p", { class: "muted running" }, "Searching…") : null,
        );
    }

    #drawSearch() {
        const shown = this.#pair ?? this.#viewer;
        const isStale = this.#runs[0].isStale;
        return h("div", { class: ["glass-search", isStale && "stale"], key: "search" }, shown?.draw() ?? null);
    }
}

/**
 * A search in a few words: "Chess: alpha-beta, depth 3, estimate".
 * @param {import("../../glass/trace/trace.js").TraceHead} head
 */
function describeSearch({ title, algorithm, algorithm_title, form, depth, evaluator, order }) {
    const parts = [
        algorithm_title ?? algorithm,
        form === "flat" ? "" : form,
        depth === null ? "to the end" : `depth ${depth}`,
        evaluator,
        order === "game" ? "" : `order ${order}`,
    ];
    return `${title ? `${title}: ` : ""}${parts.filter(Boolean).join(", ")}`;
}
