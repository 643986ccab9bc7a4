/**
 * The form of a search: its subject, its fields, and a second search. It is loaded when it is opened.
 *
 * @import {App} from "../../shell/app.js"
 * @import {GameDescription} from "../../shell/api.js"
 * @import {Address} from "../../glass/trace/address.js"
 * @import {LessonRun, LessonSummary, TraceChoices} from "../../glass/trace/requests.js"
 * @import {Run} from "../../glass/trace/run.js"
 * @import {VNode} from "../../shell/elements.js"
 * @import {Fields} from "./fields.js"
 * @import {Subject} from "./search.js"
 */

import { readChoices, readLessons } from "../../glass/trace/requests.js";
import { TraceError } from "../../glass/trace/stream.js";
import { listGames } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { sentenceOf } from "../../shell/words.js";
import { MoveBoard } from "./move-board.js";
import { EXAMPLES } from "./examples.js";
import { REFUSED_POSITION } from "./failure.js";
import { drawFields } from "./fields.js";
import { NO_SUBJECT, subjectOf, valuesOf, withChanges } from "./search.js";
import { drawSecond } from "./second.js";
import { drawSubject } from "./subject.js";

await loadStyleSheet("pages/glass/form.css").catch(() => {}); // before anything is shown

/**
 * The contents and the callback of the form. `searched` is the state of the first search; a lesson's
 * search has the state with its subject and fields, null if there is none. `runs` are those of the
 * shown lesson.
 * @typedef {object} Shown
 * @property {Address} state
 * @property {Address | null} searched
 * @property {Run} first
 * @property {Run} second
 * @property {LessonRun[] | null} runs
 * @property {(state: Address) => void} search shows another state
 */

export class SearchForm {
    #app;
    #moveBoard;
    /** @type {TraceChoices | null} */
    #choices = null;
    /** @type {GameDescription[]} */
    #games = [];
    /** The lessons by topic; null until they are needed and have arrived. @type {{title: string, lessons: LessonSummary[]}[] | null} */
    #topics = null;
    /** Whether the lessons have been requested. */
    #wantsTopics = false;
    /** Why the choices could not be loaded. @type {Error | null} */
    #failure = null;

    /** @param {App} app */
    constructor(app) {
        this.#app = app;
        this.#moveBoard = new MoveBoard(() => app.update());
        void this.load();
    }

    stop() {
        this.#moveBoard.stop();
    }

    /** Loads the choices and the games, once. */
    async load() {
        if (this.#choices !== null) return;
        this.#failure = null;
        try {
            [this.#choices, this.#games] = await Promise.all([readChoices(), listGames()]);
        } catch (error) {
            this.#failure = error instanceof Error ? error : new Error(String(error));
        }
        this.#app.update();
    }

    /** @param {Shown} shown */
    draw(shown) {
        const parts = this.#choices ? this.#drawParts(shown, this.#choices) : this.#drawLoading();
        return h("section", { class: "card form-card", id: "glass-form", key: "form", "aria-label": "What to search, and how" }, parts);
    }

    #drawLoading() {
        if (!this.#failure) return [h("p", { class: "muted" }, "Loading the choices…")];
        return [
            h("p", { class: "refusal", role: "alert" }, sentenceOf(this.#failure.message)),
            h("button", { onclick: () => void this.load() }, "Try again"),
        ];
    }

    /**
     * @param {Shown} shown
     * @param {TraceChoices} choices
     * @returns {VNode[]}
     */
    #drawParts(shown, choices) {
        const { searched, first, second } = shown;
        const head = first.trace?.head ?? null;
        const change = (/** @type {Partial<Address>} */ changes) => shown.search(changed(shown, choices, changes));
        /** @type {Fields | null} */
        const fields = searched && {
            id: "first",
            choices,
            state: searched,
            values: valuesOf(searched, choices, first.isStale || first.isRunning ? null : head),
            sides: this.#sides(shown, choices),
            kinds: choices.games.find(({ id }) => id === (searched.game ?? head?.game))?.kinds ?? [],
            change,
        };
        const how = fields ? drawFields(fields) : h("p", { class: "muted" }, "The search of this lesson cannot be changed.");
        return [
            h("div", { class: "part", key: "what" }, h("h2", null, "What"), this.#drawSubject(shown, choices, change)),
            h("div", { class: "part", key: "how" }, h("h2", null, "How"), how),
            h(
                "div",
                { class: "part", key: "two" },
                h("h2", null, "Two side by side"),
                fields ? drawSecond(fields, second.trace?.head ?? null, change) : null,
            ),
        ];
    }

    /**
     * @param {Shown} shown
     * @param {TraceChoices} choices
     * @param {(changes: Partial<Address>) => void} change
     */
    #drawSubject({ state, first, runs }, choices, change) {
        const { error } = first;
        const subject = subjectOf(state) ?? "game";
        if (subject === "lesson" && !this.#wantsTopics) this.#loadTopics();
        return drawSubject({
            subject,
            state,
            choices,
            games: this.#games,
            topics: this.#topics,
            runs,
            head: first.trace?.head ?? null,
            textError: error instanceof TraceError && error.line !== null ? error : null,
            positionError: error instanceof TraceError && error.code === REFUSED_POSITION ? sentenceOf(error.message) : "",
            moveBoard: this.#moveBoard,
            choose: (chosen) => this.#choose(chosen, first.trace?.head.game ?? "", choices, change),
            change,
            announce: (text) => this.#app.announce(text),
        });
    }

    /**
     * Shows a subject of another kind.
     * @param {Subject} subject
     * @param {string} game the game of the search before, or ""
     * @param {TraceChoices} choices
     * @param {(changes: Partial<Address>) => void} change
     */
    #choose(subject, game, choices, change) {
        if (subject === "lesson") {
            this.#loadTopics((lesson) => change({ ...NO_SUBJECT, lesson, run: 0 }));
            return;
        }
        const starts = {
            game: { game: game || choices.games[0]?.id || null },
            tree: { tree: EXAMPLES.tree },
            graph: { graph: EXAMPLES.graph },
        };
        change({ ...NO_SUBJECT, ...starts[subject] });
    }

    /**
     * Loads the lessons, and then calls `use` with the name of the first one.
     * @param {(lesson: string) => void} [use]
     */
    #loadTopics(use) {
        this.#wantsTopics = true;
        readLessons().then(
            ({ topics }) => {
                this.#topics = topics;
                const lesson = topics[0]?.lessons[0]?.name;
                if (use && lesson) use(lesson);
                this.#app.update();
            },
            (error) => this.#app.toast(sentenceOf(error.message)),
        );
    }

    /**
     * The names of the players in the subject of the search.
     * @param {Shown} shown
     * @param {TraceChoices} choices
     */
    #sides({ first, state }, choices) {
        const names = first.trace?.head.board?.seats.map(({ name }) => name) ?? [];
        if (names.length > 0) return names;
        const { players = 2 } = choices.subjects[subjectOf(state) ?? ""] ?? {};
        return Array.from({ length: players }, (_, i) => `player ${i + 1}`);
    }
}

/**
 * The state after changes. A change of a field turns a lesson's search into one of the user's own.
 * @param {Shown} shown
 * @param {TraceChoices} choices
 * @param {Partial<Address>} changes
 * @returns {Address}
 */
function changed({ state, searched }, choices, changes) {
    const isSubject = Object.keys(changes).some((name) => name in NO_SUBJECT || name === "with");
    const before = isSubject ? state : (searched ?? state);
    return withChanges(choices, { ...before, step: null }, changes);
}
