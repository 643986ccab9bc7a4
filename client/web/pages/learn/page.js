/**
 * The lessons by topic, each as a card with a small picture of its search.
 *
 * @import {Page} from "../../shell/app.js"
 * @import {LessonSummary} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { listLessons } from "../../shell/api.js";
import { h } from "../../shell/elements.js";
import { ReadPage } from "../../ui/reading/read-page.js";
import { clientFile } from "../../shell/style-sheets.js";
import { countText } from "../../shell/words.js";
import { lessonProgress, progressText } from "../../lesson/progress/progress.js";

/** @implements {Page} */
export class LearnPage extends ReadPage {
    /** @type {{title: string, lessons: LessonSummary[]}[] | null} */
    #topics = null;
    /** The words with their lessons, once the reader has opened them. @type {Record<string, [string, string]> | null} */
    #words = null;

    title() {
        return "Learn – Plyroom";
    }

    /** @override */
    async read() {
        this.#topics = await listLessons();
    }

    /** @returns {Content} */
    draw() {
        return h(
            "div",
            { class: "page learn" },
            h(
                "header",
                { class: "intro" },
                h("h1", null, "Learn how a computer searches a game"),
                h(
                    "p",
                    null,
                    "Each lesson steps through a whole search: what it looks at, what it leaves out, and why. New to this? Start with ",
                    h("a", { href: "/learn/what-is-minimax" }, "What is minimax?"),
                    "; it needs no other lesson. You can also ",
                    h("a", { href: "/glass" }, "search a position or a tree of your own"),
                    ".",
                ),
                h(
                    "p",
                    { class: "muted" },
                    "The numbers 000 to 004 in a lesson name one of five lectures on game search: the game of sticks (000), a board with map (001), negamax (002), look-ahead and averages (003), state machines and the coin friends (004). If a printed algorithm gives you another number, see ",
                    h("a", { href: "/listings" }, "the printed listings, and what to correct in them"),
                    ".",
                ),
            ),
            this.#drawTopics(),
        );
    }

    #drawTopics() {
        if (this.failure !== null) return this.drawFailure();
        if (this.#topics === null) return h("p", { class: "muted", role: "status" }, "Loading the lessons…");
        let number = 0;
        const topics = this.#topics.map(({ title, lessons }, topic) =>
            h(
                "section",
                { class: "topic", key: title, "aria-labelledby": `topic-${topic}` },
                h("h2", { id: `topic-${topic}` }, title),
                h(
                    "ul",
                    { class: "lessons" },
                    lessons.map((lesson) => drawLesson(lesson, ++number)),
                ),
            ),
        );
        return [...topics, this.#drawWords()];
    }

    /** The words of the founding texts, each with the lesson that defines it. */
    #drawWords() {
        const open = (/** @type {Event} */ event) => {
            if (event.currentTarget instanceof HTMLDetailsElement && event.currentTarget.open) void this.#loadWords();
        };
        return h(
            "details",
            { class: "topic words", key: "words", ontoggle: open },
            h("summary", null, h("h2", null, "The words, and where they are explained")),
            h(
                "dl",
                null,
                Object.entries(this.#words ?? {}).map(([word, [lesson, sentence]]) =>
                    h("div", { key: word }, h("dt", null, h("a", { href: `/learn/${lesson}` }, word)), h("dd", null, sentence)),
                ),
            ),
        );
    }

    async #loadWords() {
        try {
            this.#words ??= (await import("../../glass/text/words.js")).WORDS;
        } catch {
            this.failure = "The server did not send this part of the page.";
        }
        this.app.update();
    }
}

/**
 * A title, in which "H_L" has its subscript.
 * @param {string} title
 */
function drawTitle(title) {
    return title.split(/_(\w)/).map((part, index) => (index % 2 ? h("sub", { key: index }, part) : part));
}

/**
 * @param {LessonSummary} lesson
 * @param {number} number in the recommended order
 */
function drawLesson({ name, title, summary, is_exercise, nodes }, number) {
    const progress = lessonProgress(name);
    const score = progress.isSolved ? "solved" : progressText(progress);
    return h(
        "li",
        { key: name },
        h(
            "a",
            { class: "card lesson-card", href: `/learn/${name}` },
            h("img", {
                src: clientFile(`pages/learn/pictures/${name}.svg`),
                alt: "",
                width: 240,
                height: 132,
                loading: number > 8 ? "lazy" : null,
            }),
            h("span", { class: "name" }, `${number}. `, drawTitle(title)),
            h("span", { class: "summary" }, summary),
            h(
                "span",
                { class: "lesson-facts" },
                h("span", null, `${countText(nodes)} ${nodes === 1 ? "node" : "nodes"}`),
                is_exercise ? h("span", { class: "badge" }, "exercise") : null,
                score ? h("span", { class: "score" }, score) : null,
            ),
        ),
    );
}
