/**
 * A lesson in a frame of another page: its text, and its searches to step through. It opens no socket
 * and makes no guest, so that the browser stores no cookie.
 *
 * @import {LessonBody} from "../glass/trace/requests.js"
 * @import {Content} from "../shell/elements.js"
 */

import { LessonRuns, shownIn } from "../lesson/runs.js";
import { drawNotes, drawText } from "../lesson/text.js";
import { readLesson } from "../glass/trace/requests.js";
import { h, render } from "../shell/elements.js";

/** Draws a lesson into an element; serves as the app of the viewers. */
class EmbeddedLesson {
    #root;
    #name;
    /** @type {LessonBody | null} */
    #lesson = null;
    /** @type {LessonRuns | null} */
    #runs = null;
    /** Why the lesson could not be loaded. @type {string | null} */
    #failure = null;
    #isDrawn = true;
    #announcement = "";

    /**
     * @param {Element} root
     * @param {string} name
     */
    constructor(root, name) {
        this.#root = root;
        this.#name = name;
    }

    start() {
        addEventListener("keydown", (event) => this.#onKey(event));
        void this.#load();
    }

    /** Draws the page again, once for all changes in the current task. */
    update() {
        if (!this.#isDrawn) return;
        this.#isDrawn = false;
        queueMicrotask(() => {
            this.#isDrawn = true;
            this.#root.removeAttribute("aria-busy");
            render(this.#root, this.#draw());
        });
    }

    /**
     * Makes screen readers speak a text.
     * @param {string} text
     */
    announce(text) {
        this.#announcement = text;
        this.update();
    }

    /**
     * Shows why something failed.
     * @param {string} text
     */
    toast(text) {
        this.announce(text);
    }

    async #load() {
        this.#failure = null;
        try {
            const lesson = await readLesson(this.#name);
            this.#lesson = lesson;
            const shown = shownIn(new URLSearchParams(location.search), lesson.compares);
            const { runs } = lesson;
            this.#runs = new LessonRuns({ app: this, lesson: this.#name, runs, shown, onChange() {}, isReadOnly: true });
        } catch (error) {
            this.#failure = error instanceof Error ? error.message : String(error);
        }
        this.update();
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        const handlesKeys = event.target instanceof Element && event.target.closest("input, textarea, select, summary");
        if (handlesKeys || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
        if (this.#runs?.onKey(event)) event.preventDefault();
    }

    /** @returns {Content} */
    #draw() {
        if (this.#failure !== null)
            return h(
                "div",
                { class: "card failed", role: "alert" },
                h("p", null, this.#failure),
                h("button", { onclick: () => void this.#load() }, "Try again"),
            );
        if (this.#lesson === null) return h("p", { class: "muted" }, "Loading the lesson…");
        const { title } = this.#lesson;
        return [
            h(
                "header",
                null,
                h("h1", null, title),
                h("a", { href: `/learn/${this.#name}`, target: "_blank", rel: "noopener" }, "Open in Plyroom"),
            ),
            drawText(this.#lesson),
            this.#runs?.draw(),
            drawNotes(this.#lesson),
            h("div", { class: "visually-hidden", role: "status" }, this.#announcement),
        ];
    }
}

const root = document.getElementById("embed");
const name = location.pathname.split("/")[3];
if (root && name) new EmbeddedLesson(root, name).start();
