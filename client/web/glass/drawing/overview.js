/**
 * `<glass-overview>` shows a whole search at once: where it spent its nodes, and where it cut off. Set
 * `scene`; the event `glass-step` has the step that the user chooses (`detail.step`).
 *
 * Two bitmaps have all nodes: one in the colours of visited nodes, one pale. A step copies the visited
 * part of each level from the first and the rest from the second, and paints the path.
 *
 * @import {Icicle, Scale} from "./icicle.js"
 * @import {SearchTrace} from "../trace/trace.js"
 * @import {SearchState} from "../trace/search-state.js"
 */

import { h, render } from "../../shell/elements.js";
import { finalText, nameOf } from "../text/facts.js";
import { maxValue, nodeAt, placeIcicle, scaleOf, scaleTexts, visitedPart } from "./icicle.js";
import { countText, sideText } from "../text/notation.js";

/**
 * What the overview shows. `hidesFuture` hides the nodes that are not visited yet; `label` is its name
 * for screen readers.
 * @typedef {{trace: SearchTrace, state: SearchState, isReadOnly?: boolean, hidesFuture?: boolean, label?:
 *     string}} OverviewScene
 */
/** A colour: red, green and blue, from 0 to 255. @typedef {number[]} Colour */
/** @typedef {Record<"max" | "min" | "middle" | "cut" | "pale" | "path" | "paper", Colour>} Colours */

/** The height of the whole picture, and of one level, in pixels. */
const HEIGHT_PX = 96;
const [MIN_LEVEL_PX, MAX_LEVEL_PX] = [8, 18];
/** The least width of a rectangle with a gap or a mark of a cut-off, in pixels. */
const MIN_MARKED_PX = 3;
/** The colours that stand for no value, and what they mean. */
const INKS = [
    ["cut", "cut-off"],
    ["path", "path"],
    ["pale", "not visited yet"],
    ["paper", ""],
];
/** The number of colours on each side of the middle. */
const TONES = 12;
/** How far Page Up and Page Down go, as a share of all nodes. */
const PAGE = 0.05;

export class GlassOverview extends HTMLElement {
    /** @type {OverviewScene | null} */
    #scene = null;
    /** @type {Icicle | null} */
    #icicle = null;
    /** @type {Scale} */
    #scale = { low: -1, middle: 0, high: 1, tone: Math.sign };
    /** Which part of the trace is painted, as a text. */
    #painted = "";
    #visitedMap = document.createElement("canvas");
    #paleMap = document.createElement("canvas");
    /** @type {Colour} */
    #pathColour = [0, 0, 0];
    #width = 0;
    /** The node under the pointer, -1 without one. */
    #hovered = -1;
    #resize = new ResizeObserver(() => this.#onResize());
    #theme = new MutationObserver(() => this.#repaint());
    #scheme = matchMedia("(prefers-color-scheme: dark)");
    #onScheme = () => this.#repaint();

    connectedCallback() {
        this.#resize.observe(this);
        this.#theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
        this.#scheme.addEventListener("change", this.#onScheme);
    }

    disconnectedCallback() {
        this.#resize.disconnect();
        this.#theme.disconnect();
        this.#scheme.removeEventListener("change", this.#onScheme);
    }

    get scene() {
        return this.#scene;
    }

    set scene(scene) {
        if (scene === null) return;
        this.#scene = scene;
        this.#place();
        this.#draw();
        this.#paint();
    }

    /** Places the nodes again when the trace has grown. */
    #place() {
        const trace = this.#scene?.trace;
        if (!trace || (this.#painted !== "" && this.#painted === paintedKey(trace))) return;
        this.#icicle = placeIcicle(trace);
        this.#scale = scaleOf(trace);
        this.#painted = "";
    }

    #onResize() {
        const width = this.querySelector("canvas")?.clientWidth ?? 0;
        if (width === this.#width) return;
        this.#width = width;
        this.#repaint();
    }

    #repaint() {
        this.#painted = "";
        this.#paint();
    }

    // --- the elements around the canvas

    #draw() {
        if (!this.#scene) return;
        const { isReadOnly } = this.#scene;
        render(
            this,
            h("canvas", {
                ...this.#sliderAttributes(),
                class: "icicle",
                onpointerdown: isReadOnly ? null : (/** @type {PointerEvent} */ event) => this.#onPointer(event),
                onpointermove: (/** @type {PointerEvent} */ event) => this.#onPointerMove(event),
                onpointerleave: () => this.#hover(-1),
                onkeydown: isReadOnly ? null : (/** @type {KeyboardEvent} */ event) => this.#onKey(event),
            }),
            h("div", { class: "key" }, this.#drawScale(), h("span", { class: "at" }, this.#text())),
        );
    }

    #sliderAttributes() {
        const { trace, state, isReadOnly, label = "The whole search" } = /** @type {OverviewScene} */ (this.#scene);
        if (isReadOnly) return { role: "img", "aria-label": `${label}: ${this.#text()}` };
        return {
            role: "slider",
            tabindex: 0,
            "aria-label": label,
            "aria-valuemin": 0,
            "aria-valuemax": trace.count,
            "aria-valuenow": state.visited,
            "aria-valuetext": state.row < 0 ? "before the search" : nodeText(trace, state, state.row),
        };
    }

    /** The colours and what they mean. */
    #drawScale() {
        const { trace } = /** @type {OverviewScene} */ (this.#scene);
        const { low, middle, high } = scaleTexts(trace, this.#scale);
        const root = trace.count > 0 ? trace.kind(0) : "max";
        const players = root.startsWith("p") ? [`bad for ${root}`, `good for ${root}`] : ["good for MIN", "good for MAX"];
        return h(
            "span",
            { class: "scale" },
            `${players[0]} ${low}`,
            h("span", { class: "ink min" }),
            h("span", { class: "ink middle" }),
            h("span", { class: "ink max" }),
            `${high} ${players[1]}`,
            h("span", { class: "visually-hidden" }, `, ${middle} in the middle`),
            INKS.map(([ink, meaning]) => h("span", { class: "entry", key: ink }, h("span", { class: ["ink", ink] }), meaning)),
        );
    }

    /** The node under the pointer, or the progress of the search, in words. */
    #text() {
        const { trace, state } = /** @type {OverviewScene} */ (this.#scene);
        if (this.#hovered >= 0) return nodeText(trace, state, this.#hovered);
        return `${countText(state.visited)} of ${countText(trace.count)} nodes, ${countText(state.cuts)} of ${countText(trace.cutCount)} cut-offs`;
    }

    // --- painting

    #paint() {
        const canvas = this.querySelector("canvas");
        if (!canvas || !this.#scene || !this.#icicle || this.#icicle.count === 0) return;
        this.#width ||= canvas.clientWidth;
        if (this.#width === 0) return;
        if (this.#painted === "") this.#paintAll(canvas);
        this.#paintStep(canvas);
    }

    /**
     * Paints the bitmaps.
     * @param {HTMLCanvasElement} canvas
     */
    #paintAll(canvas) {
        const { trace } = /** @type {OverviewScene} */ (this.#scene);
        const icicle = /** @type {Icicle} */ (this.#icicle);
        const levelPx = Math.max(MIN_LEVEL_PX, Math.min(HEIGHT_PX / icicle.rows.length, MAX_LEVEL_PX));
        const height = Math.round(levelPx * icicle.rows.length);
        for (const bitmap of [canvas, this.#visitedMap, this.#paleMap]) {
            bitmap.width = Math.round(this.#width * devicePixelRatio);
            bitmap.height = Math.round(height * devicePixelRatio);
        }
        canvas.style.height = `${height}px`;
        const colours = this.#colours();
        this.#pathColour = colours.path;
        const tones = toneTexts(colours);
        paintMap(this.#visitedMap, icicle, (row) => {
            const value = maxValue(trace, row);
            return tones[value === null ? TONES : TONES + Math.round(this.#scale.tone(value) * TONES)];
        });
        paintCuts(this.#visitedMap, icicle, trace, colourText(colours.cut));
        paintMap(this.#paleMap, icicle, () => colourText(colours.pale));
        this.#painted = paintedKey(trace);
    }

    /**
     * Paints the state of a step.
     * @param {HTMLCanvasElement} canvas
     */
    #paintStep(canvas) {
        const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
        const { state, hidesFuture } = /** @type {OverviewScene} */ (this.#scene);
        const icicle = /** @type {Icicle} */ (this.#icicle);
        const { width, height } = canvas;
        const level = height / icicle.rows.length;
        context.clearRect(0, 0, width, height);
        if (!hidesFuture) context.drawImage(this.#paleMap, 0, 0);
        for (let ply = 0; ply < icicle.rows.length; ply++) {
            const part = Math.round(visitedPart(icicle, ply, state.visited) * width);
            const [top, bottom] = [Math.round(ply * level), Math.round((ply + 1) * level)];
            if (part > 0) {
                context.clearRect(0, top, part, bottom - top);
                context.drawImage(this.#visitedMap, 0, top, part, bottom - top, 0, top, part, bottom - top);
            }
        }
        this.#paintPath(context, level);
    }

    /**
     * Paints the path: an outline around each of its nodes, the current one filled.
     * @param {CanvasRenderingContext2D} context
     * @param {number} level the height of a level
     */
    #paintPath(context, level) {
        const { state } = /** @type {OverviewScene} */ (this.#scene);
        const { starts, widths } = /** @type {Icicle} */ (this.#icicle);
        const { width } = context.canvas;
        const line = Math.max(2, Math.round(2 * devicePixelRatio));
        context.fillStyle = colourText(this.#pathColour);
        state.path.forEach((row, ply) => {
            const [left, right] = [starts[row] * width, Math.max(starts[row] * width + line, (starts[row] + widths[row]) * width)];
            const top = Math.round(ply * level);
            const isCurrent = row === state.row;
            if (!isCurrent && !state.isLeft(row)) context.clearRect(left, top, right - left - 1, level - 1);
            context.fillRect(left, top, right - left - 1, isCurrent ? level - 1 : line);
            if (!isCurrent) context.fillRect(left, top, line, level - 1);
        });
    }

    /**
     * The colours of the style sheet, read from the inks of the key.
     * @returns {Colours}
     */
    #colours() {
        const names = /** @type {const} */ (["max", "min", "middle", "cut", "pale", "path", "paper"]);
        const colours = names.map((name) => {
            const ink = /** @type {Element} */ (this.querySelector(`.ink.${name}`));
            return [name, (getComputedStyle(ink).backgroundColor.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number)];
        });
        return Object.fromEntries(colours);
    }

    // --- input

    /**
     * The node at an event.
     * @param {PointerEvent} event
     */
    #nodeOf(event) {
        const canvas = this.querySelector("canvas");
        if (!canvas || !this.#icicle) return -1;
        const box = canvas.getBoundingClientRect();
        const ply = Math.floor(((event.clientY - box.top) / box.height) * this.#icicle.rows.length);
        const place = Math.max(0, Math.min((event.clientX - box.left) / box.width, 1));
        return nodeAt(this.#icicle, place, Math.max(0, ply));
    }

    /** @param {PointerEvent} event */
    #onPointer(event) {
        if (event.button !== 0) return;
        /** @type {Element} */ (event.target).setPointerCapture(event.pointerId);
        this.#goTo(this.#nodeOf(event));
    }

    /** @param {PointerEvent} event */
    #onPointerMove(event) {
        const row = this.#nodeOf(event);
        this.#hover(row);
        if (event.buttons === 1 && !this.#scene?.isReadOnly && row !== this.#scene?.state.row) this.#goTo(row);
    }

    /** @param {number} row */
    #hover(row) {
        if (row === this.#hovered || (this.#scene?.hidesFuture && !this.#scene.state.isEntered(row) && row >= 0)) return;
        this.#hovered = row;
        this.#draw();
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        const { trace, state } = /** @type {OverviewScene} */ (this.#scene);
        const page = Math.max(1, Math.round(trace.count * PAGE));
        const last = state.visited - 1;
        const row = {
            ArrowRight: last + 1,
            ArrowUp: last + 1,
            ArrowLeft: last - 1,
            ArrowDown: last - 1,
            PageUp: last + page,
            PageDown: last - page,
            Home: 0,
            End: trace.count - 1,
        }[event.key];
        if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        if (event.key === "End") this.#send(trace.stepCount);
        else this.#goTo(Math.max(0, Math.min(row, trace.count - 1)));
    }

    /** @param {number} row */
    #goTo(row) {
        const step = row < 0 ? -1 : (this.#scene?.trace.enterStep(row) ?? -1);
        if (step >= 0) this.#send(step + 1);
    }

    /** @param {number} step */
    #send(step) {
        this.dispatchEvent(new CustomEvent("glass-step", { detail: { step }, bubbles: true }));
    }
}

/**
 * The painted part of a trace, as a text.
 * @param {SearchTrace} trace
 */
function paintedKey(trace) {
    return `${trace.count} ${trace.stepCount} ${trace.end !== null}`;
}

/**
 * A node in a few words: its line of moves, its value, its number of nodes.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number} row
 */
function nodeText(trace, state, row) {
    const line = trace.writtenLine(row).join(" ") || nameOf(trace, row);
    const value = state.isLeft(row) ? finalText(trace, row) : state.isEntered(row) ? "open" : "not visited yet";
    const side = sideText(trace.kind(row));
    return `${line}: ${[side, value].filter(Boolean).join(" ")}, ${countText(trace.size(row))} ${trace.size(row) === 1 ? "node" : "nodes"}`;
}

/**
 * Paints each node of an icicle in its colour.
 * @param {HTMLCanvasElement} bitmap
 * @param {Icicle} icicle
 * @param {(row: number) => string} colourOf
 */
function paintMap(bitmap, { starts, widths, rows }, colourOf) {
    const context = /** @type {CanvasRenderingContext2D} */ (bitmap.getContext("2d"));
    const { width, height } = bitmap;
    rows.forEach((level, ply) => {
        const [top, bottom] = [Math.round((ply * height) / rows.length), Math.round(((ply + 1) * height) / rows.length)];
        for (const row of level) {
            const wide = widths[row] * width;
            context.fillStyle = colourOf(row);
            context.fillRect(starts[row] * width, top, Math.max(wide > MIN_MARKED_PX ? wide - 1 : wide, 0.5), bottom - top - 1);
        }
    });
}

/**
 * Marks the nodes that were cut off, at their right end.
 * @param {HTMLCanvasElement} bitmap
 * @param {Icicle} icicle
 * @param {SearchTrace} trace
 * @param {string} colour
 */
function paintCuts(bitmap, { count, starts, widths, rows }, trace, colour) {
    const context = /** @type {CanvasRenderingContext2D} */ (bitmap.getContext("2d"));
    const { width } = bitmap;
    const level = bitmap.height / rows.length;
    context.fillStyle = colour;
    for (let row = 0; row < count; row++) {
        const wide = widths[row] * width;
        if (trace.cutStep(row) < 0 || wide < MIN_MARKED_PX) continue;
        const mark = Math.max(1, Math.min(wide / 3, 3 * devicePixelRatio));
        context.fillRect((starts[row] + widths[row]) * width - mark - 1, Math.round(trace.ply(row) * level), mark, Math.round(level) - 1);
    }
}

/**
 * The colours from the best value for MIN to the best for MAX, as texts.
 * @param {Colours} colours
 */
function toneTexts({ min, max, middle }) {
    return Array.from({ length: 2 * TONES + 1 }, (_, index) => {
        const tone = index / TONES - 1;
        const end = tone < 0 ? min : max;
        return colourText(middle.map((part, i) => part + (end[i] - part) * Math.abs(tone)));
    });
}

/** @param {Colour} colour */
function colourText(colour) {
    return `rgb(${colour.map(Math.round).join(" ")})`;
}

customElements.define("glass-overview", GlassOverview);
