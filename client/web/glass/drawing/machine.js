/**
 * The state machine of a search: each state once, shared states too, with what the search knows of them
 * at the shown step. The server lays it out; the terminal's picture is the same drawing.
 *
 * @import {VNode} from "../../shell/elements.js"
 * @import {SearchState} from "../trace/search-state.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { h } from "../../shell/elements.js";
import { plural } from "../../shell/words.js";
import { finalText } from "../text/facts.js";
import { countText } from "../text/notation.js";
import { SHAPE_DIGITS } from "../text/measures.js";

/**
 * A state: its box (x is its middle), the lines in it, who moves, and where each move leads.
 * @typedef {{name: string, lines: string[], kind: string, x: number, y: number, width: number, height:
 *     number, moves: Record<string, string>}} MachineState
 */
/** An arrow: its line, its head, and its label with its place. @typedef {{start: string, end: string, label: string, line: string, head: string, x: number, y: number, is_back: boolean}} MachineArrow */
/** @typedef {{states: MachineState[], arrows: MachineArrow[], left: number, width: number, height: number}} Machine */

/** The height of a line of text, and the margin around the drawing, in pixels. */
const LINE_PX = 16;
const MARGIN_PX = 16;
/** The state of each row, by machine and trace. @type {WeakMap<Machine, {trace: SearchTrace, names: string[]}>} */
const known = new WeakMap();

/**
 * @param {Machine} machine
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @returns {VNode}
 */
export function drawMachine(machine, trace, state) {
    const names = namesOf(machine, trace);
    /** @type {Map<string, number>} */
    const visits = new Map();
    /** @type {Map<string, string>} */
    const values = new Map();
    for (let row = 0; row < trace.count && state.isEntered(row); row++) {
        visits.set(names[row], (visits.get(names[row]) ?? 0) + 1);
        if (state.isLeft(row)) values.set(names[row], finalText(trace, row, SHAPE_DIGITS));
    }
    const path = state.path.map((row) => names[row]);
    const { left, width, height } = machine;
    const viewBox = [left - MARGIN_PX, -MARGIN_PX, width + 2 * MARGIN_PX, height + 2 * MARGIN_PX].map(Math.round).join(" ");
    const size = { width: Math.round(width + 2 * MARGIN_PX), height: Math.round(height + 2 * MARGIN_PX) };
    const shared = machine.states.filter(({ name }) => (visits.get(name) ?? 0) > 1).length;
    const seen = `${countText(visits.size)} of ${plural(machine.states.length, "state")} visited, ${countText(shared)} of them more than once.`;
    return h(
        "div",
        { class: "machine" },
        h("p", { class: "muted" }, seen),
        h(
            "div",
            { class: "machine-frame", tabindex: 0, role: "group", "aria-label": "State machine" },
            h(
                "svg",
                { viewBox, ...size, role: "img", "aria-label": `State machine: ${seen}` },
                h("g", null, machine.arrows.map((arrow) => drawArrow(arrow, path))),
                h("g", null, machine.states.map((each) => drawState(each, visits.get(each.name) ?? 0, values.get(each.name) ?? "", path))),
                h("g", null, machine.arrows.map(({ start, end, label, x, y }) => (label ? h("text", { key: `${start} ${end}`, class: "label", x, y }, label) : null))),
            ),
        ),
    );
}

/**
 * The state of each row: where the moves to it lead.
 * @param {Machine} machine
 * @param {SearchTrace} trace
 */
function namesOf(machine, trace) {
    let found = known.get(machine);
    if (found?.trace !== trace) found = { trace, names: [] };
    known.set(machine, found);
    const { names } = found;
    const states = new Map(machine.states.map((state) => [state.name, state]));
    for (let row = names.length; row < trace.count; row++) {
        const parent = trace.parent(row);
        names.push(parent < 0 ? machine.states[0].name : (states.get(names[parent])?.moves[trace.move(row)] ?? ""));
    }
    return names;
}

/**
 * @param {MachineArrow} arrow
 * @param {string[]} path
 */
function drawArrow({ start, end, line, head, is_back }, path) {
    const isOnPath = path.some((name, index) => name === start && path[index + 1] === end);
    return h(
        "g",
        { key: `${start} ${end}`, class: ["arrow", is_back && "back", isOnPath && "path"] },
        h("path", { class: "line", d: line }),
        h("path", { class: "head", d: head }),
    );
}

/**
 * @param {MachineState} state
 * @param {number} visits
 * @param {string} value
 * @param {string[]} path
 */
function drawState({ name, lines, kind, x, y, width, height }, visits, value, path) {
    const kindClass = kind.startsWith("p") ? "of-player" : kind;
    const isCurrent = path.at(-1) === name;
    const known = value !== "" && kind !== "leaf" ? `${lines[1]} ${value}` : lines[1].replaceAll("-", "−");
    const words = `${name}: ${known}, ${visits === 0 ? "not visited yet" : plural(visits, "visit")}`;
    return h(
        "g",
        { key: name, class: ["state", kindClass, visits === 0 && "future", path.includes(name) && "path", isCurrent && "current"] },
        h("title", null, words),
        h("rect", { x: x - width / 2, y, width, height, rx: kind === "leaf" ? 3 : 9 }),
        h("text", { x, y: y + LINE_PX }, lines[0]),
        h("text", { x, y: y + 2 * LINE_PX, class: "value" }, known),
        visits > 1 ? h("text", { class: "visits", x: x + width / 2, y: y - 3 }, `×${visits}`) : null,
    );
}
