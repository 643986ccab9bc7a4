/**
 * What is behind the other doors of the first page: the lessons, the replays and the terminal.
 *
 * @import {LessonSummary, MatchSummary, Topic} from "../../shell/api.js"
 * @import {Content} from "../../shell/elements.js"
 */

import { h } from "../../shell/elements.js";
import { clientFile } from "../../shell/style-sheets.js";
import { drawMatch } from "../../ui/matches/matches.js";

/** The number of lessons that are shown, each the first of a topic. */
const SHOWN_LESSONS = 2;

/**
 * The lessons that need no other one, with their pictures.
 * @param {Topic[]} topics all lessons in the recommended order; empty before they arrive
 * @returns {Content}
 */
export function drawLearn(topics) {
    const count = topics.reduce((sum, { lessons }) => sum + lessons.length, 0);
    const all = count > 0 ? `All ${count} lessons` : "All lessons";
    return h(
        "section",
        { class: "rooms", "aria-label": "Learn", key: "learn" },
        h("h2", { class: "latest" }, "See how a computer thinks", h("a", { href: "/learn" }, all)),
        h(
            "ul",
            { class: "card list lessons-inside" },
            count > 0
                ? topics.slice(0, SHOWN_LESSONS).flatMap(({ lessons }) => lessons.slice(0, 1)).map(drawLesson)
                : [
                      h("li", { key: "none", class: "awaited" }, h("a", { href: "/learn" }, "Step through whole searches, from the first cut-off to whole games.")),
                      h("li", { key: "none too", class: "awaited" }),
                  ],
        ),
    );
}

/** @param {LessonSummary} lesson */
function drawLesson({ name, title, summary }) {
    return h(
        "li",
        { key: name },
        h(
            "a",
            { href: `/learn/${name}` },
            h("img", { class: "picture", src: clientFile(`pages/learn/pictures/${name}.svg`), alt: "", loading: "lazy" }),
            h("span", { class: "room-title" }, h("b", { class: "game" }, title), h("span", { class: "muted" }, summary)),
        ),
    );
}

/**
 * The latest finished matches.
 * @param {MatchSummary[] | null} latest null before they arrive
 * @param {number} now_ms
 * @returns {Content}
 */
export function drawLatest(latest, now_ms) {
    return h(
        "section",
        { class: "rooms", "aria-label": "Finished matches", key: "latest" },
        h("h2", { class: "latest" }, latest?.length ? "Just finished" : "Replays", h("a", { href: "/replays" }, "All replays")),
        latest?.length
            ? h("ul", { class: "card list matches" }, latest.map((match) => drawMatch(match, now_ms)))
            : latest === null
              ? h("p", { class: "muted empty awaited" }, "Loading the matches…")
              : h("p", { class: "muted empty" }, "Public matches come here when they are over: move by move, with what the AI thought and an analysis."),
    );
}

/** The command that plays here from a terminal. */
export function drawTerminal() {
    return h(
        "section",
        { class: "rooms in-terminal", "aria-label": "In a terminal", key: "terminal" },
        h("h2", null, "In a terminal"),
        h("p", null, h("code", null, `plyroom play chess --url ${location.origin}`)),
        h("p", { class: "muted" }, "In Plyroom's folder the program is ", h("code", null, ".venv/bin/plyroom"), "."),
    );
}
