/**
 * A search for other programs: its drawing as SVG, its trace as JSON, its log as text.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {SearchTrace} from "../trace/trace.js"
 * @import {TreeScene} from "../drawing/shapes.js"
 */

import { classicLines } from "../text/classic-log.js";
import { drawPicture } from "../drawing/picture.js";
import { formatTree } from "../text/tree-log.js";

/** The formats in which a search can be saved: name, suffix, media type, label. @type {[string, string, string, string][]} */
export const FILES = [
    ["svg", "svg", "image/svg+xml", "Picture (SVG)"],
    ["json", "json", "application/json", "Trace (JSON)"],
    ["log", "txt", "text/plain", "Tree (text)"],
    ["classic", "txt", "text/plain", "Classic log (text)"],
];
/** The names of the steps in the order of their numbers. */
const STEPS = ["enter", "returned", "narrowed", "cut", "leave"];
/** The attributes of all text. */
const TEXT = { fill: "#22282c", "font-family": "system-ui, sans-serif", "text-anchor": "middle" };
const HALO = { stroke: "#ffffff", "stroke-width": 4, "stroke-linejoin": "round", "paint-order": "stroke" };
/**
 * The light colours and the lines of glass.css as attributes. A rule applies to an element with the
 * second class inside elements with all of the first classes; later rules win.
 * @type {[string[], string, Record<string, string | number>][]}
 */
const RULES = [
    [[], "shape", { fill: "#ffffff", stroke: "#59636a", "stroke-width": 1.6, "stroke-linejoin": "round" }],
    [[], "value", { "font-size": 13, "font-weight": 600 }],
    [[], "move-label", { "font-size": 12, ...HALO }],
    [[], "note", { "font-size": 12, ...HALO, fill: "#5a646c" }],
    [[], "count", { "font-size": 12, fill: "#5a646c" }],
    [[], "name", { "font-size": 12, fill: "#5a646c" }],
    [[], "cut", { fill: "#b3261a", "font-weight": 600 }],
    [["max"], "shape", { fill: "#dbe8fb", stroke: "#2b5fa8" }],
    [["min"], "shape", { fill: "#fbe5d8", stroke: "#a9501f" }],
    [["mean"], "shape", { fill: "#fbf1c8", stroke: "#7d6300" }],
    [["of-player"], "shape", { fill: "#ece4f8", stroke: "#6a45a3" }],
    [["skipped"], "shape", { fill: "#ffffff", stroke: "#b3261a", "stroke-width": 1.2, "stroke-dasharray": "4 3" }],
    [["differs"], "shape", { stroke: "#6a1fb0" }],
    [["open"], "shape", { "stroke-dasharray": "4 2.5" }],
    [["future"], "shape", { fill: "#ffffff", stroke: "#c9cdcf", "stroke-width": 1.2 }],
    [["future"], "move-label", { fill: "#5a646c" }],
    [["future"], "value", { fill: "#5a646c", "font-weight": 400 }],
    [["unseen"], "shape", { fill: "#ffffff", stroke: "#b3261a", "stroke-width": 1.2, "stroke-dasharray": "4 3" }],
    [["unseen"], "value", { fill: "#5a646c", "font-weight": 400 }],
    [["unseen"], "move-label", { fill: "#5a646c" }],
    [[], "line", { fill: "none", stroke: "#858f96", "stroke-width": 1.4 }],
    [["edge", "future"], "line", { stroke: "#c9cdcf", "stroke-width": 1.2 }],
    [["edge", "best"], "line", { stroke: "#22282c", "stroke-width": 3 }],
    [["edge", "path"], "line", { stroke: "#14655b", "stroke-width": 3.5 }],
    [["best"], "shape", { "stroke-width": 3 }],
    [["node", "path"], "shape", { stroke: "#14655b", "stroke-width": 2.6 }],
    [["node", "path"], "move-label", { fill: "#14655b", "font-weight": 700 }],
    [["current"], "shape", { fill: "#dcebe7", "stroke-width": 3, "stroke-dasharray": "none" }],
    [[], "halo", { fill: "none", stroke: "#14655b", "stroke-width": 12, "stroke-linejoin": "round", "stroke-opacity": 0.28 }],
    [["skipped"], "line", { stroke: "#b3261a", "stroke-dasharray": "4 4", opacity: 0.7 }],
    [[], "bars", { fill: "none", stroke: "#b3261a", "stroke-width": 2, "stroke-linecap": "round" }],
    [[], "cross", { fill: "none", stroke: "#b3261a", "stroke-width": 2, "stroke-linecap": "round" }],
    [["skipped"], "move-label", { fill: "#5a646c" }],
    [["skipped"], "count", { fill: "#b3261a", "font-weight": 600 }],
    [[], "fan", { fill: "#f6f5f1", stroke: "#858f96", "stroke-width": 1 }],
    [["future"], "fan", { fill: "#ffffff", stroke: "#c9cdcf", "stroke-width": 1.2 }],
    [[], "ring", { fill: "#ffffff", stroke: "#6a1fb0", "stroke-width": 1.4 }],
    [[], "unequal", { fill: "none", stroke: "#6a1fb0", "stroke-width": 1.3 }],
];
/** The attributes that a picture keeps. */
const KEPT_ATTRIBUTES = /^(viewBox|width|height|transform|d|x|y|cx|cy|r|rx)$/;

/**
 * The drawing as an SVG document in light colours, without a style sheet.
 * @param {TreeScene & {limit?: number}} scene
 */
export function toSvg(scene) {
    const picture = drawPicture(scene);
    const { trace } = scene;
    const [x, y] = String(picture.attributes.viewBox).split(" ");
    const title = [trace.head.title, trace.head.algorithm].filter(Boolean).join(", ");
    const ground = `<title>${escape(title)}</title><rect x="${x}" y="${y}" width="100%" height="100%" fill="#ffffff"/>`;
    const body = picture.children.map((child) => markup(child, [])).join("\n");
    return `<svg xmlns="http://www.w3.org/2000/svg"${attributes(picture.attributes)}${attributes({ ...TEXT }, /./)}>\n${ground}\n${body}\n</svg>\n`;
}

/**
 * A virtual node as text, its classes as attributes.
 * @param {VNode | string} node
 * @param {string[]} groups the classes of the elements around it
 * @returns {string}
 */
function markup(node, groups) {
    if (typeof node === "string") return escape(node);
    const classes = [node.attributes.class].flat().filter(Boolean).flatMap((name) => String(name).split(" "));
    const inside = [...groups, ...classes];
    const children = node.children.map((child) => markup(child, inside)).join("");
    const style = node.tag === "g" || node.tag === "title" ? {} : styleOf(classes, groups);
    return `<${node.tag}${attributes(node.attributes)}${attributes(style, /./)}>${children}</${node.tag}>`;
}

/**
 * @param {string[]} classes
 * @param {string[]} groups
 * @returns {Record<string, unknown>}
 */
function styleOf(classes, groups) {
    const rules = RULES.filter(([around, name]) => classes.includes(name) && around.every((group) => groups.includes(group)));
    return Object.assign({}, ...rules.map((rule) => rule[2]));
}

/**
 * @param {Record<string, unknown>} values
 * @param {RegExp} kept
 */
function attributes(values, kept = KEPT_ATTRIBUTES) {
    const known = Object.entries(values).filter(([name, value]) => kept.test(name) && value !== null && value !== undefined);
    return known.map(([name, value]) => ` ${name}="${escape(String(value))}"`).join("");
}

/** @param {string} text */
function escape(text) {
    return text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/**
 * The trace as JSON, in the format of `python -m engine.teach --json`.
 * @param {SearchTrace} trace
 */
export function toJson(trace) {
    const { head, end } = trace;
    const { title, position, algorithm, form, depth, order, evaluator, seed, view, cut_off, player, fresh, game } = head;
    const { value = null, line = [], counts = null, meaning = "", truncated = true } = end ?? {};
    return JSON.stringify({
        ...{ title, position, algorithm, form, depth, order, evaluator, seed, view, value: finite(value), line, counts },
        nodes: nodeColumns(trace),
        skipped: skippedColumns(trace),
        steps: stepColumns(trace),
        ...{ truncated, cut_off, player, fresh, meaning, game },
    });
}

/** @param {SearchTrace} trace */
function nodeColumns(trace) {
    const rows = Array.from({ length: trace.count }, (_, row) => row);
    return {
        parent: rows.map((row) => trace.parent(row)),
        move: rows.map((row) => trace.move(row)),
        kind: rows.map((row) => trace.kind(row)),
        depth: rows.map((row) => trace.depth(row)),
        alpha: rows.map((row) => lowEnd(trace.alpha(row))),
        beta: rows.map((row) => highEnd(trace.beta(row))),
        value: rows.map((row) => finite(trace.value(row))),
        bound: rows.map((row) => trace.bound(row) ?? "none"),
        reason: rows.map((row) => trace.reason(row) ?? "all"),
        sign: rows.map((row) => trace.sign(row)),
        turn: rows.map((row) => trace.turn(row)),
        status: rows.map((row) => trace.status(row)),
    };
}

/** @param {SearchTrace} trace */
function skippedColumns(trace) {
    const parent = Array.from({ length: trace.skippedCount }, (_, entry) => trace.skippedParent(entry));
    /** @type {Map<number, number>} */
    const used = new Map();
    const moves = parent.map((row) => {
        const index = used.get(row) ?? 0;
        used.set(row, index + 1);
        return trace.skipped(row)[index];
    });
    return { parent, move: moves.map(({ move }) => move), below: moves.map(({ below }) => below) };
}

/** @param {SearchTrace} trace */
function stepColumns(trace) {
    const steps = Array.from({ length: trace.stepCount }, (_, step) => step);
    return {
        what: steps.map((step) => STEPS[trace.stepWhat(step)]),
        node: steps.map((step) => trace.stepNode(step)),
        low: steps.map((step) => lowEnd(trace.stepLow(step))),
        high: steps.map((step) => highEnd(trace.stepHigh(step))),
    };
}

/** The lower end of a window or an interval; null is open. @param {number} end */
function lowEnd(end) {
    return end === -Infinity ? null : finite(end);
}

/** The upper end of a window or an interval; null is open. @param {number} end */
function highEnd(end) {
    return end === Infinity ? null : finite(end);
}

/**
 * A value, with text in place of infinite numbers.
 * @param {number | number[] | null} value
 * @returns {unknown}
 */
function finite(value) {
    if (Array.isArray(value)) return value.map(finite);
    if (typeof value !== "number" || Number.isFinite(value)) return value;
    return value > 0 ? "inf" : "-inf";
}

/**
 * The log of a search: the classic one, or its tree with the task and the result.
 * @param {SearchTrace} trace
 * @param {"classic" | "tree"} log
 */
export function toLog(trace, log) {
    return log === "classic" ? `${[...classicLines(trace)].join("\n")}\n` : formatTree(trace);
}
