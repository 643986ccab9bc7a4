/**
 * The AI's search: its depth, its expected line, and every move with its score.
 *
 * @import {Played, RootMove} from "./protocol.js"
 * @import {Content, Description} from "./elements.js"
 * @import {Thought} from "./model.js"
 */

import { h } from "./elements.js";
import { countText, moveNumber, numberedMove, scoreText, spanText } from "./words.js";

/** @type {Record<Thought["state"], string>} */
const STATES = { absent: "no engine", warming: "getting ready", queued: "queued", searching: "thinking", done: "" };
/** Scores beyond this fill the whole bar. */
const FULL_BAR = 100;

/**
 * The search that belongs to a position: the current one, or otherwise the one before the AI's last
 * move.
 * @param {Record<number, Thought>} thoughts
 * @param {number} shown
 * @param {boolean} live whether the position is the current one
 * @returns {{ply: number, thought: Thought} | null}
 */
export function thoughtFor(thoughts, shown, live) {
    for (const ply of live ? [shown, shown - 1, shown - 2] : [shown - 1, shown - 2]) {
        if (thoughts[ply]) return { ply, thought: thoughts[ply] };
    }
    return null;
}

/**
 * The side and the move of a search: "Black, 3..." before the move is made, then "Black, 3... Nf6".
 * @param {string} side
 * @param {{ply: number, thought: Thought}} found
 * @param {Played | undefined} played
 */
export function thoughtHeading(side, { ply, thought }, played) {
    return `${side}, ${played ? numberedMove(played, ply) : (thought.number ?? moveNumber(played, ply))}`;
}

/**
 * @param {{thought: Thought | null, heading: string, played: string | null}} panel `played` is the
 *     move that followed
 * @returns {Description}
 */
export function drawThinking({ thought, heading, played }) {
    const busy = thought !== null && thought.state !== "done";
    return h(
        "section",
        {
            class: ["card thinking", thought?.ready != null && "getting-ready"],
            "aria-label": "What the AI thinks",
            "data-state": thought?.state ?? "none",
        },
        h(
            "h2",
            null,
            "Thinking",
            h("span", { class: "muted" }, heading),
            busy ? h("span", { class: "pulse state" }, STATES[thought.state]) : null,
        ),
        thought?.ready != null ? drawReady(thought.ready, thought.warming) : null,
        drawBody(thought, played),
    );
}

/**
 * How much of the game is compiled, which happens once per installation.
 * @param {number} ready in percent
 * @param {boolean} warming whether this search was shorter than the level's because of it
 */
function drawReady(ready, warming) {
    return h(
        "p",
        { class: "ready" },
        h("span", null, "Getting ready, once per installation"),
        h("progress", { max: 100, value: ready, "aria-label": "Getting ready" }),
        warming ? h("span", { class: "muted" }, "Until then it looks less far than its level does.") : null,
    );
}

/**
 * @param {Thought | null} thought
 * @param {string | null} played
 * @returns {Content}
 */
function drawBody(thought, played) {
    if (thought === null) return h("p", { class: "muted none" }, "The AI has not thought yet.");
    if (thought.state === "absent") {
        return h("p", { class: "muted none" }, "No engine is there now. The match goes on as soon as one comes.");
    }
    if (thought.depth === 0) return h("p", { class: "muted none" }, "…");
    return [drawFigures(thought), drawLine(thought.pv), drawTable(thought, played)];
}

/** @param {Thought} thought */
function drawFigures({ depth, score, nodes, nps, time_ms }) {
    const figure = (/** @type {string} */ name, /** @type {string} */ value) =>
        h("div", { class: `figure ${name}` }, h("dt", null, name), h("dd", null, value));
    return h(
        "dl",
        { class: "figures" },
        figure("score", scoreText(score)),
        figure("depth", String(depth)),
        figure("positions", countText(nodes)),
        figure("per second", countText(nps)),
        figure("time", spanText(time_ms)),
    );
}

/** @param {string[]} pv */
function drawLine(pv) {
    return h(
        "p",
        { class: "line", title: "The play that it expects" },
        h("span", { class: "muted" }, "expects "),
        pv.join(" "),
    );
}

/**
 * @param {Thought} thought
 * @param {string | null} played
 */
function drawTable({ moves, pv }, played) {
    if (moves.length === 0) return null;
    const order = [...moves].sort((a, b) => Number(b.move === pv[0]) - Number(a.move === pv[0]) || b.score - a.score);
    const rows = order.map((move) => drawRow(move, move.move === pv[0], move.move === played));
    return h(
        "div",
        { class: "root-moves", tabindex: 0, role: "group", "aria-label": "Moves and their scores" },
        h(
            "table",
            null,
            h(
                "thead",
                null,
                h(
                    "tr",
                    null,
                    h("th", null, "move"),
                    h("th", null, "score"),
                    h("th", { class: "unseen-head" }, "how good"),
                ),
            ),
            h("tbody", null, rows),
        ),
    );
}

/**
 * @param {RootMove} move
 * @param {boolean} best
 * @param {boolean} played
 */
function drawRow({ move, score, bound = "exact" }, best, played) {
    const part = Math.min(1, Math.abs(score) / FULL_BAR);
    const title = { exact: "exact", upper: "at most this: it was cut off as not better", lower: "at least this" }[
        bound
    ];
    return h(
        "tr",
        { key: move, class: [best && "best", played && "played"] },
        h("td", null, move, played ? h("span", { class: "mark", title: "played" }, " played") : null),
        h("td", { class: "number", title }, scoreText(score, bound)),
        h(
            "td",
            { class: "meter" },
            h("span", { class: ["bar", score < 0 && "minus", bound !== "exact" && "cut"], "--part": part.toFixed(3) }),
        ),
    );
}
