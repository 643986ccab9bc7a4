/**
 * The panel with the AI's search: its depth, its principal variation, and each move's score.
 *
 * @import {Played, RootMove} from "../shell/protocol.js"
 * @import {Content, VNode} from "../shell/elements.js"
 * @import {Thought} from "../shell/model.js"
 */

import { h } from "../shell/elements.js";
import { countText, durationText, moveNumber, numberedMove, scoreText } from "../shell/words.js";

/** The texts for the states of a search. @type {Record<Thought["state"], string>} */
const STATE_TEXTS = { absent: "no engine", warming: "getting ready", queued: "queued", searching: "thinking", done: "" };
/** A score of this size or more fills its bar. */
const FULL_BAR_SCORE = 100;

/**
 * The search to show beside a position: the one in this position if it is live, otherwise that of the
 * AI's last move.
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
 * The side and the move of a search: "Black, 3..." before the move is played, then "Black, 3... Nf6".
 * @param {string} side
 * @param {{ply: number, thought: Thought}} search
 * @param {Played | undefined} played
 */
export function thoughtHeading(side, { ply, thought }, played) {
    return `${side}, ${played ? numberedMove(played, ply) : (thought.number ?? moveNumber(played, ply))}`;
}

/**
 * @param {{thought: Thought | null, heading: string, played: string | null}} panel `played` is the
 *     token of the move that was played
 * @returns {VNode}
 */
export function drawThinking({ thought, heading, played }) {
    const isRunning = thought !== null && thought.state !== "done";
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
            isRunning ? h("span", { class: "pulse state" }, STATE_TEXTS[thought.state]) : null,
        ),
        thought?.ready != null ? drawProgress(thought.ready, thought.warming) : null,
        drawSearch(thought, played),
    );
}

/**
 * The progress of compiling the game, which happens once per installation.
 * @param {number} ready in percent
 * @param {boolean} warming whether this search was less deep because the game is not compiled yet
 */
function drawProgress(ready, warming) {
    return h(
        "p",
        { class: "ready" },
        h("span", null, "Getting ready, once per installation"),
        h("progress", { max: 100, value: ready, "aria-label": "Getting ready" }),
        warming ? h("span", { class: "muted" }, "Until then it plays below its level.") : null,
    );
}

/**
 * @param {Thought | null} thought
 * @param {string | null} played
 * @returns {Content}
 */
function drawSearch(thought, played) {
    if (thought === null) return h("p", { class: "muted empty" }, "The AI has not searched yet.");
    if (thought.state === "absent") {
        return h("p", { class: "muted empty" }, "No engine is connected. The match continues when one connects.");
    }
    if (thought.depth === 0) return h("p", { class: "muted empty" }, "…");
    return [drawFigures(thought), drawPv(thought.pv), drawRootMoves(thought, played)];
}

/** @param {Thought} thought */
function drawFigures({ depth, score, nodes, nps, time_ms }) {
    const drawFigure = (/** @type {string} */ name, /** @type {string} */ value) =>
        h("div", { class: `figure ${name}` }, h("dt", null, name), h("dd", null, value));
    return h(
        "dl",
        { class: "figures" },
        drawFigure("score", scoreText(score)),
        drawFigure("depth", String(depth)),
        drawFigure("positions", countText(nodes)),
        drawFigure("per second", countText(nps)),
        drawFigure("time", durationText(time_ms)),
    );
}

/** @param {string[]} pv */
function drawPv(pv) {
    return h(
        "p",
        { class: "line", title: "The moves that the AI expects" },
        h("span", { class: "muted" }, "expects "),
        pv.join(" "),
    );
}

/**
 * @param {Thought} thought
 * @param {string | null} played
 */
function drawRootMoves({ moves, pv }, played) {
    if (moves.length === 0) return null;
    const order = [...moves].sort((a, b) => Number(b.move === pv[0]) - Number(a.move === pv[0]) || b.score - a.score);
    const rows = order.map((move) => drawRootMove(move, move.move === pv[0], move.move === played));
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
                    h("th", { class: "hidden-text" }, "score as a bar"),
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
function drawRootMove({ move, score, bound = "exact" }, best, played) {
    const fraction = Math.min(1, Math.abs(score) / FULL_BAR_SCORE);
    const title = { exact: "exact", upper: "at most this: the search found it no better", lower: "at least this" }[
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
            h("span", { class: ["bar", score < 0 && "minus", bound !== "exact" && "bound"], "--fraction": fraction.toFixed(3) }),
        ),
    );
}
