/**
 * The graph of the chance to win, ply by ply, with the time that each move took below it, and the bar
 * of the chance beside the board. A click or a key on the graph shows a ply. A table has the same
 * figures.
 *
 * @import {Content, VNode} from "../../shell/elements.js"
 * @import {MatchResult} from "../../shell/protocol.js"
 */

import { h } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { durationText, isDraw } from "../../shell/words.js";

/** How much a move lost, with its sign and its word. @typedef {{sign: string, word: "inaccuracy" | "mistake" | "blunder"}} MoveMark */
/**
 * What the graph shows. `chances` are those of the first side, in percent, by ply; null where the
 * chance is not known. `marks` are those of the moves that led to a ply.
 * @typedef {object} ChanceGraphContent
 * @property {(number | null)[]} chances
 * @property {Record<number, MoveMark>} [marks]
 * @property {number[]} [spent_ms] the time that each move took, in ms
 * @property {number} shown the ply on the board
 * @property {(ply: number) => void} go shows another ply
 * @property {(ply: number) => string} textOf the move that led to a ply, with its number
 * @property {string} side the name of the first side
 * @property {string} [unknown] what stands for a chance that is not known
 * @property {(ply: number) => number} seatOf the seat that played the move after a ply
 */

/** The width of the graph, in SVG units. */
const WIDTH = 300;
/** The height of the curve, in SVG units. */
const HEIGHT = 96;
/** The height of the times below the curve, in SVG units. */
const TIMES_HEIGHT = 26;
/** The space beside the first and the last ply, in SVG units. */
const SIDE_MARGIN = 10;
/** The space above and below the chances of 100 % and 0 %, in SVG units. */
const MARGIN = 6;
/** The least height of a bar of a time above 0, in SVG units. */
const MIN_BAR = 1;
/** The greatest number of plies without a chance that the curve bridges. */
const MAX_GAP = 1;

await loadStyleSheet("ui/thinking/chance-graph.css").catch(() => {}); // before anything is shown

export class ChanceGraph {
    #update;
    #hasTable = false;

    /** @param {() => void} update draws the page again */
    constructor(update) {
        this.#update = update;
    }

    /**
     * @param {ChanceGraphContent} content
     * @returns {VNode}
     */
    draw(content) {
        const hasTimes = (content.spent_ms?.length ?? 0) > 0;
        const hasCurve = curveOf(content.chances, Number).includes("L");
        const onToggle = (/** @type {Event} */ event) => {
            if (!(event.currentTarget instanceof HTMLDetailsElement) || event.currentTarget.open === this.#hasTable) return;
            this.#hasTable = event.currentTarget.open;
            this.#update();
        };
        return h(
            "div",
            { class: "chance-graph", key: "chance-graph" },
            drawGraph(content, hasTimes),
            (hasCurve || hasTimes) &&
                h("p", { class: "axes" }, hasCurve && `Above the dashed line ${content.side} is better. `, hasTimes && "Bars: the time for each move."),
            h("p", { class: "caption" }, captionOf(content)),
            h(
                "details",
                { class: "as-table", open: this.#hasTable, ontoggle: onToggle },
                h("summary", null, "As a table"),
                this.#hasTable ? drawAsTable(content, hasTimes) : null,
            ),
        );
    }
}

/** The place of the bar: as high as the frame of the board, without its letters, and close to its drawing. */
class ChanceBar extends HTMLElement {
    #observer = new ResizeObserver(() => this.#fit());

    connectedCallback() {
        if (this.parentElement) this.#observer.observe(this.parentElement);
    }

    disconnectedCallback() {
        this.#observer.disconnect();
    }

    #fit() {
        const frame = this.parentElement?.querySelector("ply-board .frame");
        const drawing = frame?.closest("svg");
        const matrix = drawing?.getScreenCTM();
        if (!frame || !drawing || !matrix) return;
        const place = /** @type {Element} */ (this.parentElement).getBoundingClientRect();
        const { top, bottom } = frame.getBoundingClientRect();
        const left = drawing.viewBox.baseVal.x * matrix.a + matrix.e;
        for (const [name, px] of Object.entries({ top: top - place.top, bottom: place.bottom - bottom, left: left - place.left }))
            this.style.setProperty(`--${name}`, `${px.toFixed(1)}px`);
    }
}

customElements.define("chance-bar", ChanceBar);

/**
 * The bar of the chance to win beside the board. Its lower part belongs to the side below the board.
 * @param {{chance: number | null, bottom: number, names: string[], colours: string[]}} bar `chance` is that
 *     of the first side in percent
 * @returns {VNode | null}
 */
export function drawChanceBar({ chance, bottom, names, colours }) {
    if (chance === null) return null;
    const below = bottom === 0 ? chance : 100 - chance;
    const label = `Chance to win: ${names[0]} ${chance} %, ${names[1]} ${100 - chance} %`;
    return h(
        "chance-bar",
        { key: "chance-bar", class: "chance-bar", role: "img", "aria-label": label, title: label, "--above": colours[1 - bottom] ?? null },
        h("span", { "--fraction": (below / 100).toFixed(2), "--below": colours[bottom] ?? null }),
    );
}

/**
 * What the bar shows at the end of a match: the chance of the first side, in percent; null where the
 * match has no result.
 * @param {MatchResult} over
 * @returns {number | null}
 */
export function chanceAtEnd(over) {
    if (over.winner !== null) return over.winner === 0 ? 100 : 0;
    return isDraw(over) ? 50 : null;
}

/**
 * @param {ChanceGraphContent} content
 * @param {boolean} hasTimes
 */
function drawGraph(content, hasTimes) {
    const { chances, marks = {}, spent_ms = [], shown, go, seatOf } = content;
    const last = chances.length - 1;
    const x = (/** @type {number} */ ply) => SIDE_MARGIN + ((WIDTH - 2 * SIDE_MARGIN) * ply) / Math.max(1, last);
    const height = HEIGHT + (hasTimes ? TIMES_HEIGHT : 0);
    const onClick = (/** @type {MouseEvent} */ event) => {
        if (!(event.currentTarget instanceof Element)) return;
        const { left, width } = event.currentTarget.getBoundingClientRect();
        const at = ((event.clientX - left) / width) * WIDTH;
        go(Math.max(0, Math.min(last, Math.round(((at - SIDE_MARGIN) / (WIDTH - 2 * SIDE_MARGIN)) * last))));
    };
    return h(
        "svg",
        {
            viewBox: `0 0 ${WIDTH} ${height}`,
            role: "slider",
            tabindex: 0,
            "aria-label": `${content.side}: chance to win, move by move`,
            "aria-valuemin": 0,
            "aria-valuemax": last,
            "aria-valuenow": shown,
            "aria-valuetext": captionOf(content),
            onclick: onClick,
        },
        h("path", { class: "area", d: areaOf(chances, x) }),
        h("line", { class: "even", x1: 0, x2: WIDTH, y1: yOf(50), y2: yOf(50) }),
        h("path", { class: "curve", d: curveOf(chances, x) }),
        h("line", { class: "shown", x1: x(shown).toFixed(1), x2: x(shown).toFixed(1), y1: 0, y2: height }),
        Object.entries(marks).map(([ply, mark]) => drawMark(x(Number(ply)), chances[Number(ply)] ?? null, mark)),
        hasTimes ? drawTimes(spent_ms, x, seatOf) : null,
    );
}

/** @param {number} chance in percent */
function yOf(chance) {
    return MARGIN + ((HEIGHT - 2 * MARGIN) * (100 - chance)) / 100;
}

/**
 * The points of each unbroken part of the curve.
 * @param {(number | null)[]} chances
 * @param {(ply: number) => number} x
 */
function partsOf(chances, x) {
    /** @type {[number, number][][]} */
    const parts = [];
    let last = -Infinity;
    chances.forEach((chance, ply) => {
        if (chance === null) return;
        if (ply - last > MAX_GAP + 1) parts.push([]);
        parts.at(-1)?.push([+x(ply).toFixed(1), +yOf(chance).toFixed(1)]);
        last = ply;
    });
    return parts;
}

/**
 * @param {(number | null)[]} chances
 * @param {(ply: number) => number} x
 */
export function curveOf(chances, x) {
    // A lone point is a line without length, which is drawn as a dot.
    return partsOf(chances, x)
        .map((points) => `M${points.map((point) => point.join(" ")).join("L")}${points.length === 1 ? "h0" : ""}`)
        .join("");
}

/**
 * The area between the curve and the line of even chances.
 * @param {(number | null)[]} chances
 * @param {(ply: number) => number} x
 */
function areaOf(chances, x) {
    return partsOf(chances, x)
        .map((points) => `M${points[0]?.[0]} ${yOf(50)}L${points.map((point) => point.join(" ")).join("L")}V${yOf(50)}z`)
        .join("");
}

/**
 * A mark: a circle, a square or a triangle, so that it differs by more than colour.
 * @param {number} x
 * @param {number | null} chance
 * @param {MoveMark} mark
 */
function drawMark(x, chance, { word }) {
    if (chance === null) return null;
    const y = yOf(chance);
    const shapes = {
        inaccuracy: `M${x - 3} ${y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z`,
        mistake: `M${x - 3} ${y - 3}h6v6h-6z`,
        blunder: `M${x - 4.5} ${y - 3.5}h9l-4.5 8z`,
    };
    return h("path", { class: `mark-${word}`, d: shapes[word] });
}

/**
 * A bar for the time of each move, below the ply to which the move led. One path for each side.
 * @param {number[]} spent_ms
 * @param {(ply: number) => number} x
 * @param {(ply: number) => number} seatOf
 */
function drawTimes(spent_ms, x, seatOf) {
    const longest = Math.max(1, ...spent_ms);
    const width = Math.max(1, Math.min(6, (x(1) - x(0)) * 0.7));
    const bottom = HEIGHT + TIMES_HEIGHT;
    const barOf = (/** @type {number} */ ply) => {
        const bar = Math.max(MIN_BAR, ((TIMES_HEIGHT - 4) * (spent_ms[ply] ?? 0)) / longest);
        return `M${(x(ply + 1) - width / 2).toFixed(1)} ${bottom}v${(-bar).toFixed(1)}h${width.toFixed(1)}V${bottom}z`;
    };
    return [0, 1].map((seat) =>
        h("path", { class: `time of-seat-${seat}`, d: spent_ms.map((_, ply) => (seatOf(ply) === seat ? barOf(ply) : "")).join("") }),
    );
}

/**
 * The shown ply in a line: "12. Nf3: White 62 %, mistake, 4.2 s".
 * @param {ChanceGraphContent} content
 */
function captionOf({ chances, marks = {}, spent_ms = [], shown, textOf, side, unknown = "" }) {
    const chance = chances[shown] ?? null;
    const spent = shown > 0 ? spent_ms[shown - 1] : undefined;
    const facts = [
        chance === null ? unknown : `${side} ${chance} %`,
        marks[shown]?.word ?? "",
        spent === undefined ? "" : durationText(spent),
    ];
    return [textOf(shown), facts.filter(Boolean).join(", ")].filter(Boolean).join(": ");
}

/**
 * @param {ChanceGraphContent} content
 * @param {boolean} hasTimes
 * @returns {Content}
 */
function drawAsTable({ chances, marks = {}, spent_ms = [], textOf, side }, hasTimes) {
    const hasMarks = Object.keys(marks).length > 0;
    const rows = chances.map((chance, ply) =>
        h(
            "tr",
            { key: ply },
            h("th", { scope: "row" }, textOf(ply)),
            h("td", null, chance === null ? "–" : `${chance} %`),
            hasTimes ? h("td", null, ply > 0 ? durationText(spent_ms[ply - 1] ?? 0) : "") : null,
            hasMarks ? h("td", null, marks[ply]?.word ?? "") : null,
        ),
    );
    const heads = ["Move", `${side} to win`, hasTimes ? "Time" : "", hasMarks ? "Mark" : ""].filter(Boolean);
    return h(
        "div",
        { class: "rows", tabindex: 0, role: "group", "aria-label": "Chances to win" },
        h(
            "table",
            null,
            h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, head)))),
            h("tbody", null, rows),
        ),
    );
}
