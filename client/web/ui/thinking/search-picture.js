/**
 * A picture of the AI's search: the chance to win from depth to depth, and for each of the best moves
 * its line, at which depths its value was exact, and its share of the work.
 *
 * @import {Assessment, Candidate, DepthWords, RootMove} from "../../shell/protocol.js"
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {Thought} from "../../shell/model.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";

/**
 * A search to draw. `played` is the token of the move that was played, `glass` the address of the
 * position in the glass box; it is empty where there is none. `handlersOf` has the listeners of a
 * button that shows a move on the board.
 * @typedef {{thought: Thought, assessment: Assessment, side: string, played: string | null, glass: string,
 *     handlersOf?: (move: string, cells: string[]) => Record<string, () => void>}} PicturedSearch
 */

/** The size of the chart, and the room around its line, in SVG units. */
const WIDTH = 270;
const HEIGHT = 86;
const MARGIN = { top: 19, right: 12, bottom: 16, left: 42 };
/** The least span of the chart's scale, in percent: smaller changes say little. */
const MIN_SPAN = 20;
/** The least distance of two labels of the chart, in SVG units for each character. */
const LABEL_WIDTH = 7.5;
/** A depth in the strip beside a move: its step and the side of its square, in SVG units. */
const STEP = 7;
const SQUARE = 5;
/** The maximum number of depths in a strip; the server sends no more exact depths of a move. */
const MAX_STRIP_DEPTHS = 24;

await loadStyleSheet("ui/thinking/search-picture.css").catch(() => {}); // before anything is shown

/**
 * @param {PicturedSearch} search
 * @returns {Content}
 */
export function drawSearchPicture({ thought, assessment, side, played, glass, handlersOf = () => ({}) }) {
    const { candidates = [], others = [], depths = [], work = "" } = assessment;
    const rows = [...candidates, ...others];
    const scored = new Map(thought.moves.map((move) => [move.move, move]));
    const allNodes = thought.moves.reduce((sum, { nodes = 0 }) => sum + nodes, 0);
    const last = lastComplete(thought, depths);
    const more = thought.moves.length - rows.length;
    return [
        depths.length > 1 ? drawChart(side, depths) : null,
        depths.length > 1 ? drawDepths(depths, rows, handlersOf) : null,
        h(
            "ol",
            { class: "searched-moves", "aria-label": "The moves as the search deepened" },
            rows.map((row, i) => {
                const move = scored.get(row.move);
                const history = i === 0 ? bestWords(row.move, depths, thought.depth) : otherWords(move, last);
                const share = allNodes > 0 ? (move?.nodes ?? 0) / allNodes : null;
                return drawMove(row, { exact: move?.exact ?? [], last, history, share, isPlayed: row.move === played });
            }),
        ),
        more > 0 ? h("p", { class: "muted" }, `${more} more ${more === 1 ? "move" : "moves"}: see All moves.`) : null,
        drawKey(),
        work ? h("p", { class: "work" }, work) : null,
        h(
            "p",
            { class: "muted" },
            "This is a summary of the search, not its whole tree. ",
            glass ? h("a", { href: glass }, "See a whole tree in the glass box") : null,
        ),
    ];
}

/**
 * The best move of each depth, the last depth first. Pointing at one shows its move on the board, if
 * the server has sent its cells.
 * @param {DepthWords[]} depths
 * @param {Candidate[]} known
 * @param {NonNullable<PicturedSearch["handlersOf"]>} handlersOf
 */
function drawDepths(depths, known, handlersOf) {
    const cells = new Map(known.map((candidate) => [candidate.move, candidate.cells ?? []]));
    return h(
        "ol",
        { class: "depth-moves", tabindex: 0, "aria-label": "The best move at each depth" },
        [...depths].reverse().map(({ depth, move, text, chance }) =>
            h(
                "li",
                { key: depth },
                h(
                    "button",
                    { class: "depth-move", title: "Show on the board", ...handlersOf(move, cells.get(move) ?? []) },
                    h("span", { class: "muted" }, `depth ${depth}`),
                    h("span", { class: "move-text" }, text),
                    h("span", { class: "says" }, `${chance} %`),
                ),
            ),
        ),
    );
}

/**
 * The last depth that the search has completed.
 * @param {Thought} thought
 * @param {DepthWords[]} depths
 */
export function lastComplete(thought, depths) {
    return Math.min(thought.depth, depths.at(-1)?.depth ?? thought.depth);
}

/**
 * The depth since which a move is the best one, in words.
 * @param {string} move
 * @param {DepthWords[]} depths
 * @param {number} depth the depth that the search has reached
 */
export function bestWords(move, depths, depth) {
    const since = depths.findLastIndex((each) => each.move !== move) + 1;
    const first = depths[since];
    if (depths.length === 1 && first) return `best at depth ${first.depth}, the only one`;
    if (!first) return `best at depth ${depth} so far`;
    return since === 0 && first.depth === 1 ? "best at every depth" : `best since depth ${first.depth}`;
}

/**
 * The depths at which a move other than the best one had an exact value, in words.
 * @param {RootMove | undefined} move
 * @param {number} last the last complete depth
 */
export function otherWords(move, last) {
    const exact = move?.exact ?? [];
    const lastExact = exact.filter((depth) => depth <= last).at(-1);
    const times = (/** @type {number} */ count) => ["", "once", "twice"][count] ?? `${count} times`;
    if (lastExact === undefined) return `refuted ${times(last)}`;
    if (lastExact === last) return `exact at depth ${last}`;
    return `exact at depth ${lastExact}, refuted ${times(last - lastExact)} since`;
}

/**
 * A move of the search: its notation, line and chance, then its strip, its history over the depths, and its share.
 * @param {Candidate} candidate
 * @param {{exact: number[], last: number, history: string, share: number | null, isPlayed: boolean}} facts
 */
function drawMove({ move, text, says, line = "" }, { exact, last, history, share, isPlayed }) {
    return h(
        "li",
        { key: move },
        h("span", { class: "move-text" }, text, isPlayed ? h("span", { class: "mark" }, " played") : null),
        h("span", { class: "says" }, says),
        line ? h("span", { class: "expected" }, unbroken(line)) : null,
        h("span", { class: "history" }, drawStrip(exact, last), " ", history),
        share === null ? null : drawShare(share),
    );
}

/**
 * A line in which no row of text ends between the number of a move and the move.
 * @param {string} line
 */
function unbroken(line) {
    return line.replace(/(\d\.) /g, "$1\u00a0");
}

/** @param {number} share of the positions that the search looked at */
function drawShare(share) {
    const percent = share > 0 && share < 0.005 ? "under 1 %" : `${Math.round(100 * share)} %`;
    const label = `${percent} of the positions`;
    return h("span", { class: "share", role: "img", "aria-label": label, title: label }, drawBar(share), percent);
}

/** @param {number} share */
function drawBar(share) {
    return h("span", { class: "track" }, h("span", { class: "bar", "--fraction": share.toFixed(3) }));
}

/**
 * A square for each depth, the last depths only: full where the value of the move was exact.
 * @param {number[]} exact
 * @param {number} last
 */
function drawStrip(exact, last) {
    const count = Math.min(last, MAX_STRIP_DEPTHS);
    const known = new Set(exact);
    const depths = Array.from({ length: count }, (_, i) => last - count + 1 + i);
    const squares = (/** @type {boolean} */ full) =>
        depths.map((depth, i) => (known.has(depth) === full ? squareAt(i * STEP, full) : "")).join("");
    return h(
        "svg",
        { class: "strip", width: count * STEP, height: SQUARE + 2, "aria-hidden": "true" },
        h("path", { class: "exact", d: squares(true) }),
        h("path", { class: "refuted", d: squares(false) }),
    );
}

/**
 * The path of a square; an empty one is smaller by half the width of its outline.
 * @param {number} x
 * @param {boolean} full
 */
function squareAt(x, full) {
    const side = full ? SQUARE + 1 : SQUARE;
    const inset = full ? 0 : 0.5;
    return `M${x + inset} ${inset}h${side}v${side}h${-side}z`;
}

/** The key to the signs beside a move. */
function drawKey() {
    const drawSquare = (/** @type {boolean} */ full) =>
        h(
            "svg",
            { class: "strip", width: STEP, height: SQUARE + 2 },
            h("path", { class: full ? "exact" : "refuted", d: squareAt(0, full) }),
        );
    return h(
        "p",
        { class: "key", "aria-hidden": "true" },
        h("span", null, drawSquare(true), " depth with an exact value"),
        h("span", null, drawSquare(false), " depth that refuted the move"),
        h("span", { class: "share" }, drawBar(0.5), "share of the positions"),
    );
}

/**
 * The chance to win from depth to depth. A label names the move wherever the best move changed.
 * @param {string} side
 * @param {DepthWords[]} depths
 * @returns {VNode}
 */
function drawChart(side, depths) {
    const [low, high] = scaleOf(depths.map(({ chance }) => chance));
    const yOf = (/** @type {number} */ chance) =>
        MARGIN.top + ((HEIGHT - MARGIN.top - MARGIN.bottom) * (high - chance)) / (high - low);
    const points = depths.map(({ chance }, i) => ({ x: xOf(i, depths.length), y: yOf(chance) }));
    const text = depths.map(textOf).join(", ");
    const changed = depths.map((depth, i) => i === 0 || depth.move !== depths[i - 1]?.move);
    const labels = placeLabels(depths, points, changed);
    const line = points.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");
    const first = depths[0]?.depth;
    const last = depths.at(-1)?.depth;
    return h(
        "svg",
        {
            class: "depth-chart",
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            role: "img",
            "aria-label": `${side}, the best move and its chance to win by depth: ${text}`,
        },
        [high, (low + high) / 2, low].map((chance) => [
            h("line", { class: "grid", x1: MARGIN.left, x2: WIDTH - MARGIN.right, y1: yOf(chance), y2: yOf(chance) }),
            h("text", { class: "axis", x: MARGIN.left - 4, y: yOf(chance) + 4, "text-anchor": "end" }, `${chance} %`),
        ]),
        h("polyline", { class: "curve", points: line }),
        points.map(({ x, y }, i) =>
            h(
                "circle",
                { class: changed[i] ? "change" : "point", cx: x.toFixed(1), cy: y.toFixed(1), r: changed[i] ? 3.5 : 2 },
                h("title", null, textOf(depths[i])),
            ),
        ),
        labels.map(({ x, y, text, anchor }) => h("text", { class: "label", x, y, "text-anchor": anchor }, text)),
        h("text", { class: "axis", x: MARGIN.left, y: HEIGHT - 2 }, `depth ${first}`),
        h("text", { class: "axis", x: WIDTH - MARGIN.right, y: HEIGHT - 2, "text-anchor": "end" }, `depth ${last}`),
    );
}

/** @param {DepthWords | undefined} best */
function textOf(best) {
    return best ? `depth ${best.depth} ${best.text} ${best.chance} %` : "";
}

/**
 * The labels of the points where the best move changed, from the last to the first, as far as they do
 * not overlap.
 * @param {DepthWords[]} depths
 * @param {{x: number, y: number}[]} points
 * @param {boolean[]} changed
 */
function placeLabels(depths, points, changed) {
    const labels = [];
    let limit = WIDTH;
    for (let i = depths.length - 1; i >= 0; i -= 1) {
        const point = points[i];
        const text = depths[i]?.text ?? "";
        if (!changed[i] || !point) continue;
        const width = text.length * LABEL_WIDTH;
        const left = Math.max(MARGIN.left, Math.min(point.x - width / 2, WIDTH - width));
        if (left + width > limit) continue;
        limit = left - LABEL_WIDTH;
        const y = point.y > MARGIN.top + 8 ? point.y - 7 : point.y + 14;
        labels.push({ x: (left + width / 2).toFixed(1), y: y.toFixed(1), text, anchor: "middle" });
    }
    return labels;
}

/**
 * @param {number} i
 * @param {number} count
 */
function xOf(i, count) {
    const width = WIDTH - MARGIN.left - MARGIN.right;
    return MARGIN.left + (width * i) / (count - 1);
}

/**
 * The ends of a scale that holds these chances, in steps of 10 %.
 * @param {number[]} chances in percent
 * @returns {[number, number]}
 */
export function scaleOf(chances) {
    const low = Math.floor(Math.min(...chances) / 10) * 10;
    const high = Math.max(Math.ceil(Math.max(...chances) / 10) * 10, low + MIN_SPAN);
    const excess = Math.max(0, high - 100);
    return [low - excess, high - excess];
}
