/**
 * `<glass-tree>` shows a search tree that the user can drag, zoom (by wheel, pinch, keys and buttons)
 * and walk through by the arrow keys. It keeps the current node in view. Set `scene`.
 *
 * @import {Item, Layout} from "./layout.js"
 * @import {Drawn, TreeScene} from "./shapes.js"
 * @import {ShownNode} from "./shown-nodes.js"
 * @import {SearchTrace} from "../trace/trace.js"
 */

import { h, render } from "../../shell/elements.js";
import { loadStyleSheet } from "../../shell/style-sheets.js";
import { LOW_SCALE, MIN_FIT, fitCamera, initialCamera, isTooHigh, leastText, reveal, sidesWithMore } from "./camera.js";
import { LEAST_LEVEL_PX, LEVEL_PX, LOW_LEVEL_PX, layOut } from "./layout.js";
import { measure } from "../text/measures.js";
import { drawItems, itemMeasure } from "./shapes.js";
import { MAX_SHAPES, MAX_WHOLE_WIDTH, canBeWhole, shownNodes } from "./shown-nodes.js";
import { Viewport, ZOOM_STEP } from "./viewport.js";

/**
 * The contents and the callbacks of the element: `onSelect` is called when the user chooses a node,
 * `onToggle` when the user opens or closes a node (`~row`: the rest of its children).
 * @typedef {TreeScene & {onSelect: (row: number) => void, onToggle: (row: number, isOpen: boolean) =>
 *     void, label?: string}} InteractiveScene
 */
/** Below this scale the drawing leaves out what is too small to read. */
const FAR_SCALE = 0.5;
/** The margin around the drawing on paper, in its own pixels. */
const PAPER_MARGIN_PX = 8;
const KEYS_TEXT = "The arrow keys move between nodes, Enter goes to a node, Space opens and closes it.";

void loadStyleSheet("glass/drawing/pointer.css").catch(() => {});

export class GlassTree extends HTMLElement {
    /** @type {InteractiveScene | null} */
    #scene = null;
    /** @type {Layout | null} */
    #layout = null;
    /** Everything that decides the layout, as a text to compare. */
    #structure = "";
    /** @type {Drawn} */
    #drawn = new Map();
    #viewport = new Viewport(this, () => this.#place());
    /** The most shapes side by side of a tree that is drawn whole. */
    #maxWidth = MAX_WHOLE_WIDTH;
    /** The key of the item that the user has focused, or "". */
    #focused = "";
    /** The current row and the size of the trace when the view last followed, as a text. */
    #followed = "";
    /** Whether the current node has changed since the first view, which has the root in view. */
    #hasStepped = false;
    /** The key of the item that the user has opened or closed, which keeps its place, or "". */
    #anchor = "";
    #observer = new ResizeObserver(() => this.#onResize());
    #onPrint = () => this.#fitPaper();
    #onPrinted = () => this.#place();

    connectedCallback() {
        this.#observer.observe(this);
        this.#viewport.start();
        addEventListener("beforeprint", this.#onPrint);
        addEventListener("afterprint", this.#onPrinted);
        if (this.dataset.ready) return;
        this.dataset.ready = "yes";
        this.addEventListener("click", (event) => this.#onClick(event));
        this.addEventListener("keydown", (event) => this.#onKey(event));
        this.addEventListener("focusin", (event) => this.#onFocus(event));
    }

    disconnectedCallback() {
        this.#observer.disconnect();
        this.#viewport.stop();
        removeEventListener("beforeprint", this.#onPrint);
        removeEventListener("afterprint", this.#onPrinted);
    }

    get scene() {
        return this.#scene;
    }

    set scene(scene) {
        if (scene === null) return;
        if (this.#scene && scene.trace !== this.#scene.trace) this.#forget();
        this.#scene = scene;
        this.#update();
        this.#follow();
        this.#draw();
    }

    /**
     * Shows the whole drawing, or the first view again if all of it is in view. If a tree is folded only
     * because it is wide, the first call unfolds it, and the next one folds it again.
     */
    showAll() {
        const { trace } = this.#scene ?? {};
        const isBack = this.#maxWidth === Infinity || "whole" in this.dataset;
        const isWide = trace && canBeWhole(trace, MAX_SHAPES) && !canBeWhole(trace, MAX_SHAPES, MAX_WHOLE_WIDTH);
        this.#maxWidth = isWide && this.#maxWidth < Infinity ? Infinity : MAX_WHOLE_WIDTH;
        this.#viewport.isMoved = false;
        this.#update();
        this.#draw();
        const isFirst = isBack && this.#maxWidth < Infinity;
        if (this.#layout) this.#viewport.glideTo(isFirst ? this.#first(this.#layout) : fitCamera(this.#layout, this.#viewport.screen));
    }

    /** Forgets the state of the earlier trace. */
    #forget() {
        this.#drawn.clear();
        this.#structure = this.#focused = this.#followed = this.#anchor = "";
        this.#maxWidth = MAX_WHOLE_WIDTH;
        this.#viewport.isMoved = this.#hasStepped = false;
    }

    /** Lays the tree out again if other nodes are drawn. */
    #update() {
        const scene = this.#scene;
        if (!scene || scene.trace.count === 0) return;
        const { width, height, top } = this.#viewport.screen;
        const structure = `${structureOf(scene)} ${this.#maxWidth} ${width} ${height} ${top}`;
        if (structure === this.#structure) return;
        const anchor = this.#item(this.#anchor);
        this.#structure = structure;
        const shown = shownNodes(scene.trace, scene.state, { ...scene, maxWidth: this.#maxWidth });
        this.#layout = shown && this.#layOut(scene, shown);
        if (anchor) this.#hold(anchor);
        this.#anchor = "";
    }

    /**
     * Places the tree: on a low screen with less room between the levels, so that its text is larger
     * and more levels are in view.
     * @param {InteractiveScene} scene
     * @param {ShownNode} shown
     */
    #layOut({ trace, view }, shown) {
        const isWhole = this.#isWhole(trace);
        const place = (/** @type {number} */ level, scale = 0) => {
            const layout = layOut(shown, itemMeasure(trace, view), level);
            const height = isWhole ? layout.bottom : measure(trace).levels.length * level;
            const width = isWhole ? layout.right - layout.left : 1;
            return scale > 0 && isTooHigh(width, height, this.#viewport.screen, scale) ? null : layout;
        };
        return place(LEVEL_PX, LOW_SCALE) ?? place(LOW_LEVEL_PX, MIN_FIT) ?? place(LEAST_LEVEL_PX);
    }

    /** @param {SearchTrace} trace */
    #isWhole(trace) {
        return canBeWhole(trace, MAX_SHAPES, this.#maxWidth);
    }

    /**
     * Keeps an item where it was on the screen.
     * @param {Item} before
     */
    #hold(before) {
        const after = this.#item(before.key);
        const { x, y, scale } = this.#viewport.camera;
        if (after) this.#viewport.camera = { x: x + (before.x - after.x) * scale, y: y + (before.y - after.y) * scale, scale };
    }

    /**
     * The first camera, with room for all levels of the search.
     * @param {Layout} layout
     */
    #first(layout) {
        const { trace } = /** @type {InteractiveScene} */ (this.#scene);
        const level = layout.items.find(({ ply }) => ply === 1)?.y ?? LEVEL_PX;
        const height = this.#isWhole(trace) ? layout.bottom : Math.max(layout.bottom, measure(trace).levels.length * level);
        return initialCamera(layout, this.#viewport.screen, height);
    }

    /** Brings a new current node into view; without animation while the trace grows. */
    #follow() {
        if (!this.#scene || !this.#layout || this.#viewport.screen.width === 0) return;
        const { trace, state } = this.#scene;
        const growth = `${trace.count} ${trace.end !== null}`;
        const isGrown = !this.#followed.endsWith(` ${growth}`);
        if (this.#followed === `${state.row} ${growth}`) return;
        this.#hasStepped ||= !isGrown;
        this.#followed = `${state.row} ${growth}`;
        if (isGrown && !this.#viewport.isMoved) this.#viewport.show(this.#first(this.#layout));
        this.#reveal(this.#item(`node ${state.row}`), isGrown);
    }

    /**
     * @param {Item | undefined} item
     * @param {boolean} [isAtOnce]
     */
    #reveal(item, isAtOnce = false) {
        if (!item || !this.#layout) return;
        const before = this.#viewport.camera;
        const camera = reveal(before, this.#layout, item, this.#viewport.screen);
        if (camera === before) return;
        // The first view begins with the root, also above a deep node.
        if (isAtOnce && !this.#hasStepped && !this.#viewport.isMoved) camera.y = before.y;
        if (isAtOnce) this.#viewport.show(camera);
        else this.#viewport.glideTo(camera);
    }

    #onResize() {
        const buttons = this.querySelector(".zoom")?.getBoundingClientRect().bottom ?? 0;
        const top = Math.max(0, buttons - this.getBoundingClientRect().top);
        this.#viewport.screen = { width: this.clientWidth, height: this.clientHeight, top };
        this.style.setProperty("--hint-top", `${top + 8}px`);
        this.#update();
        this.#followed = "";
        this.#follow();
        this.#draw();
    }

    // --- drawing

    #draw() {
        const scene = this.#scene;
        if (!scene) return;
        const label = scene.label ?? "Search tree";
        const content = this.#layout ? drawItems(scene, this.#layout, this.#drawn, this.#tabStop()) : [];
        render(
            this,
            h("svg", { class: "canvas", role: "group", "aria-label": `${label}. ${KEYS_TEXT}` }, h("g", { class: "world", transform: this.#transform() }, content)),
            h(
                "div",
                { class: "zoom" },
                drawButton("Zoom in", "M8 3.5v9M3.5 8h9", () => this.#viewport.zoomBy(ZOOM_STEP)),
                drawButton("Zoom out", "M3.5 8h9", () => this.#viewport.zoomBy(1 / ZOOM_STEP)),
                drawButton("Show the whole tree", "M6 2.5H2.5V6M10 2.5h3.5V6M6 13.5H2.5V10M10 13.5h3.5V10", () => this.showAll()),
            ),
        );
        this.#mark();
    }

    /** The key of the item that Tab focuses. */
    #tabStop() {
        if (this.#item(this.#focused)) return this.#focused;
        const current = `node ${this.#scene?.state.row}`;
        return this.#item(current) ? current : "node 0";
    }

    /**
     * @param {string} key
     * @returns {Item | undefined}
     */
    #item(key) {
        return this.#layout?.items.find((item) => item.key === key);
    }

    #transform() {
        const { x, y, scale } = this.#viewport.camera;
        return `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`;
    }

    /** Shows the whole drawing on paper, whatever its size. */
    #fitPaper() {
        if (!this.#layout) return;
        const { left, right, top, bottom } = this.#layout;
        const box = [left - PAPER_MARGIN_PX, top, right - left + 2 * PAPER_MARGIN_PX, bottom - top + PAPER_MARGIN_PX];
        this.querySelector(".canvas")?.setAttribute("viewBox", box.map(Math.round).join(" "));
        this.querySelector(".world")?.removeAttribute("transform");
    }

    /** Moves the drawing to where the camera shows it. */
    #place() {
        this.querySelector(".canvas")?.removeAttribute("viewBox");
        this.querySelector(".world")?.setAttribute("transform", this.#transform());
        this.#mark();
    }

    /** Marks how far away the drawing is, and where it goes on out of view, for the style sheet. */
    #mark() {
        if (!this.#layout) return;
        const { camera, screen, isMoved } = this.#viewport;
        const sides = sidesWithMore(camera, this.#layout, screen);
        this.toggleAttribute("data-whole", sides.length === 0);
        // Beside the root there is room for a hint.
        this.toggleAttribute("data-hint", sides.length > 0 && !isMoved && !sides.some(([, y]) => y === 1));
        this.toggleAttribute("data-left", camera.x < screen.width / 2);
        this.toggleAttribute("data-far", camera.scale < FAR_SCALE);
        this.style.setProperty("--edges", sides.map(([x, y]) => `inset ${16 * +x}px ${16 * +y}px 12px -12px var(--edge-shadow)`).join() || "none");
        this.style.setProperty("--least-text", `${leastText(camera).toFixed(1)}px`);
    }

    // --- nodes

    /** @param {Event} event */
    #itemOf(event) {
        const group = /** @type {Element} */ (event.target).closest("[data-key]");
        return group instanceof SVGElement ? this.#item(group.dataset.key ?? "") : undefined;
    }

    /** @param {MouseEvent} event */
    #onClick(event) {
        const item = this.#itemOf(event);
        if (!item || this.#viewport.isDragging) return;
        if ((/** @type {Element} */ (event.target)).closest("[data-fold]") || item.node.row < 0) this.#toggle(item);
        else this.#scene?.onSelect(item.node.row);
    }

    /** @param {Item} item */
    #toggle(item) {
        const { node } = item;
        if (node.row >= 0 && (this.#scene?.trace.firstChild(node.row) ?? -1) < 0) return;
        this.#anchor = item.key;
        this.#scene?.onToggle(node.row, !node.isOpen);
    }

    /** @param {FocusEvent} event */
    #onFocus(event) {
        const item = this.#itemOf(event);
        if (!item) return;
        this.#focused = item.key;
        this.#draw();
        // A click must not move the node from under the pointer.
        if (!this.#viewport.isPressed) this.#reveal(item);
    }

    /** @param {KeyboardEvent} event */
    #onKey(event) {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const item = this.#itemOf(event);
        if (!this.#zoomKey(event.key) && !(item && this.#nodeKey(event.key, item))) return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** @param {string} key */
    #zoomKey(key) {
        if (key === "+" || key === "=") this.#viewport.zoomBy(ZOOM_STEP);
        else if (key === "-") this.#viewport.zoomBy(1 / ZOOM_STEP);
        else if (key === "0") this.showAll();
        else return false;
        return true;
    }

    /**
     * @param {string} key
     * @param {Item} item
     */
    #nodeKey(key, item) {
        if (key === " ") this.#toggle(item);
        else if (key === "Enter") item.node.row < 0 ? this.#toggle(item) : this.#scene?.onSelect(item.node.row);
        else if (key.startsWith("Arrow")) this.#focus(this.#layout && neighbour(this.#layout, item, key));
        else return false;
        return true;
    }

    /** @param {Item | null | undefined} item */
    #focus(item) {
        const group = item && this.querySelector(`[data-key="${item.key}"]`);
        const button = group?.matches("[role=button]") ? group : group?.querySelector("[role=button]");
        if (button instanceof SVGElement) button.focus({ preventScroll: true });
    }
}

/**
 * The item to which an arrow key moves: the parent, the first child, or a neighbour on the level.
 * @param {Layout} layout
 * @param {Item} item
 * @param {string} key
 */
export function neighbour({ items }, item, key) {
    const index = items.indexOf(item);
    const isNode = (/** @type {Item} */ other) => other.cut === null;
    if (key === "ArrowUp") return items[item.parent];
    if (key === "ArrowDown") return items.find((other) => other.parent === index && isNode(other));
    const level = items.filter((other) => other.ply === item.ply && isNode(other)).sort((a, b) => a.x - b.x);
    return level[level.indexOf(item) + (key === "ArrowRight" ? 1 : -1)];
}

/**
 * Everything that decides which nodes are drawn and their sizes, as a text to compare.
 * @param {TreeScene} scene
 */
function structureOf({ trace, state, view, opened, closed }) {
    const growth = [trace.count, trace.skippedCount, trace.isWritten, trace.stepCount, trace.end !== null];
    return [...growth, view, state.path, state.isLeft(0), ...(opened ?? []), "/", ...(closed ?? [])].join(" ");
}

/**
 * @param {string} label
 * @param {string} path
 * @param {() => void} onclick
 */
function drawButton(label, path, onclick) {
    return h(
        "button",
        { type: "button", class: "icon-button small", "aria-label": label, title: label, onclick },
        h("svg", { class: "icon", viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: path })),
    );
}

customElements.define("glass-tree", GlassTree);
