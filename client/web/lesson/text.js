/**
 * The texts of a lesson around its searches.
 *
 * @import {LessonBody} from "../glass/trace/requests.js"
 * @import {VNode} from "../shell/elements.js"
 */

import { h } from "../shell/elements.js";

/** A longer text of a lesson is folded after the first sentence that ends beyond the second number of characters. */
const [LONG_TEXT, SHOWN_TEXT] = [500, 240];

/**
 * The text of a lesson; of a long one the first sentences, so that the search is in view.
 * @param {LessonBody} lesson
 * @returns {VNode}
 */
export function drawText({ page }) {
    const shown = page.length > LONG_TEXT ? page.slice(0, SHOWN_TEXT + page.slice(SHOWN_TEXT).search(/(?<=[.?!])\s|$/)) : page;
    const rest = page.slice(shown.length).trimStart();
    return h(
        "div",
        { class: "lesson-text" },
        h("p", null, shown),
        rest ? h("details", null, h("summary", null, "Read on"), h("p", null, rest)) : null,
    );
}

/**
 * What to look for, and the solution of an exercise, folded away.
 * @param {LessonBody} lesson
 * @returns {VNode}
 */
export function drawNotes({ look_for, solution }) {
    return h(
        "section",
        { class: "card notes", "aria-labelledby": "notes-title" },
        h("h2", { id: "notes-title" }, "What to look for"),
        h(
            "ul",
            null,
            look_for.map((text) => h("li", { key: text }, text)),
        ),
        solution.length > 0
            ? h(
                  "details",
                  null,
                  h("summary", null, "Solution"),
                  solution.map((text) => h("p", { key: text }, text)),
              )
            : null,
    );
}

/**
 * The links to the lessons before and after.
 * @param {LessonBody} lesson
 * @returns {VNode}
 */
export function drawNext({ previous, next }) {
    const link = (/** @type {{name: string, title: string} | null} */ lesson, /** @type {string} */ rel) =>
        lesson
            ? h(
                  "a",
                  { class: `card ${rel}`, href: `/learn/${lesson.name}`, rel },
                  h("span", { class: "muted" }, rel === "next" ? "Next lesson →" : "← Previous lesson"),
                  h("span", { class: "name" }, lesson.title),
              )
            : h("span", { class: rel });
    return h("nav", { class: "lesson-next", "aria-label": "Lessons before and after" }, link(previous, "prev"), link(next, "next"));
}
