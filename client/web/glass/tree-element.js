/**
 * `<glass-tree>` shows a search tree that the user can move by dragging, zoom by wheel, pinch, keys and
 * buttons, and walk through by the arrow keys. It keeps the current node in view. Set `scene`.
 *
 * @import {Camera} from "./camera.js"
 * @import {Item, Layout} from "./layout.js"
 * @import {Drawn, TreeScene} from "./shapes.js"
 */

import { h, render } from "../shell/elements.js";
import { begin, fit, reveal, zoom } from "./camera.js";
import { LEVEL_PX, LOW_LEVEL_PX, layOut } from "./layout.js";
import { measure } from "./measures.js";
import { drawItems, itemMeasure } from "./shapes.js";
import { MAX_SHAPES, MAX_WHOLE_WIDTH, canBeWhole, shownNodes } from "./shown.js";

/**
 * What the element shows, and what it calls: `onSelect` when the user chooses a node, `onToggle` when
 * a node (or `~row`, the rest of its children) becomes open or closed.
 * @typedef {TreeScene & {onSelect: (row: number) => void, onToggle: (row: number, isOpen: boolean) =>
 *     void, label?: string}} InteractiveScene
 */
/** A pointer that is down: where it is. @typedef {{x: number, y: number}} Point */

/** How much a press of a key or a button zooms. */
const ZOOM_STEP = 1.25;
/** How much the wheel zooms by pixel. */
const WHEEL_ZOOM = 0.0015;
/** The distance beyond which a press becomes a drag, in pixels. */
const MIN_DRAG_PX = 5;
/** The duration of a movement of the view, in milliseconds. */
const GLIDE_MS = 160;
/** Below this scale the drawing leaves out what is too small to read. */
const FAR_SCALE = 0.5;
const KEYS_TEXT = "The arrow keys lead from node to node, Enter goes to a node, Space opens and closes it.";

export class GlassTree extends HTMLElement {
    /** @type {InteractiveScene | null} */
    #scene = null;
    /** @type {Layout | null} */
    #layout = null;
    /** What decides the layout, as a text. */
    #structure = "";
    /** @type {Drawn} */
    #drawn = new Map();
    /** @type {Camera} */
    #camera = { x: 0, y: 0, scale: 1 };
    #screen = { width: 0, height: 0 };
    /** The most shapes side by side of a tree that is drawn whole. */
    #maxWidth = MAX_WHOLE_WIDTH;
    /** Whether the user has moved or zoomed the drawing. */
    #isMoved = false;
    /** The key of the item that the user has focused, or "". */
    #focused = "";
    /** The current row and the number of nodes when the view followed last, as a text. */
    #followed = "";
    /** The key of the item that the user has opened or closed, which stays where it is, or "". */
    #anchor = "";
    /** @type {Map<number, Point>} */
    #pointers = new Map();
    #isDragging = false;
    /** The running movement of the view. */
    #glide = 0;
    #observer = new ResizeObserver(() => this.#onResize());
    // Its `matches` would make the browser compute styles at once.
    #motion = matchMedia("(prefers-reduced-motion: reduce)");
    #hasLessMotion = this.#motion.matches;
    #onMotion = () => (this.#hasLessMotion = this.#motion.matches);

    connectedCallback() {
        this.#observer.observe(this);
        this.#motion.addEventListener("change", this.#onMotion);
        if (this.dataset.ready) return;
        this.dataset.ready = "yes";
        this.addEventListener("click", (event) => this.#onClick(event));
        this.addEventListener("keydown", (event) => this.#onKey(event));
        this.addEventListener("focusin", (event) => this.#onFocus(event));
        this.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
        this.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
        this.addEventListener("pointermove", (event) => this.#onPointerMove(event));
        for (const type of ["pointerup", "pointercancel"])
            this.addEventListener(type, (event) => this.#onPointerEnd(/** @type {PointerEvent} */ (event)));
    }

    disconnectedCallback() {
        this.#observer.disconnect();
        this.#motion.removeEventListener("change", this.#onMotion);
        cancelAnimationFrame(this.#glide);
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
     * Shows the whole drawing. A tree that is folded only because it is wide is drawn whole first, and
     * folded again the next time.
     */
    showAll() {
        const { trace } = this.#scene ?? {};
        const isWide = trace && canBeWhole(trace, MAX_SHAPES) && !canBeWhole(trace, MAX_SHAPES, MAX_WHOLE_WIDTH);
        this.#maxWidth = isWide && this.#maxWidth < Infinity ? Infinity : MAX_WHOLE_WIDTH;
        this.#isMoved = false;
        this.#update();
        this.#draw();
        if (this.#layout) this.#glideTo(this.#maxWidth < Infinity ? this.#first() : fit(this.#layout, this.#screen));
    }

    /** Forgets what belongs to the trace before. */
    #forget() {
        this.#drawn.clear();
        this.#structure = this.#focused = this.#followed = this.#anchor = "";
        this.#maxWidth = MAX_WHOLE_WIDTH;
        this.#isMoved = false;
    }

    /** Lays the tree out again if other nodes are drawn. */
    #update() {
        const scene = this.#scene;
        if (!scene || scene.trace.count === 0) return;
        const level = this.#levelPx(measure(scene.trace).levels.length);
        const structure = `${structureOf(scene)} ${this.#maxWidth} ${level}`;
        if (structure === this.#structure) return;
        const isFirst = this.#structure === "";
        const anchor = this.#item(this.#anchor);
        this.#structure = structure;
        const shown = shownNodes(scene.trace, scene.state, { ...scene, maxWidth: this.#maxWidth });
        this.#layout = shown && layOut(shown, itemMeasure(scene.trace, scene.view), level);
        if (isFirst) this.#begin();
        if (anchor) this.#hold(anchor);
        this.#anchor = "";
    }

    /**
     * The distance of two levels: on a low screen the tree is lower, so that its text is larger.
     * @param {number} levels
     */
    #levelPx(levels) {
        return levels * LEVEL_PX > this.#screen.height ? LOW_LEVEL_PX : LEVEL_PX;
    }

    /**
     * Keeps an item where it was on the screen.
     * @param {Item} before
     */
    #hold(before) {
        const after = this.#item(before.key);
        const { x, y, scale } = this.#camera;
        if (after) this.#camera = { x: x + (before.x - after.x) * scale, y: y + (before.y - after.y) * scale, scale };
    }

    /** Shows the drawing as it is at first. */
    #begin() {
        if (this.#screen.width > 0) this.#camera = this.#first();
    }

    /** The camera at first: with room for the levels that the search will reach. */
    #first() {
        if (!this.#scene || !this.#layout) return this.#camera;
        const levels = measure(this.#scene.trace).levels.length;
        const isWhole = this.#layout.items.length >= this.#scene.trace.count;
        const height = isWhole ? this.#layout.bottom : Math.max(this.#layout.bottom, levels * this.#levelPx(levels));
        return begin(this.#layout, this.#screen, height);
    }

    /** Brings the current node into view when it has changed, and while the search grows. */
    #follow() {
        if (!this.#scene || this.#screen.width === 0) return;
        const { trace, state } = this.#scene;
        const followed = `${state.row} ${trace.count} ${trace.end !== null}`;
        if (followed === this.#followed) return;
        this.#followed = followed;
        this.#reveal(this.#item(`node ${state.row}`));
    }

    /** @param {Item | undefined} item */
    #reveal(item) {
        if (!item || !this.#layout) return;
        const camera = reveal(this.#camera, this.#layout, item, this.#screen);
        if (camera !== this.#camera) this.#glideTo(camera);
    }

    #onResize() {
        this.#screen = { width: this.clientWidth, height: this.clientHeight };
        this.#update();
        if (!this.#layout) return;
        if (!this.#isMoved) this.#begin();
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
                drawButton("Zoom in", "M8 3.5v9M3.5 8h9", () => this.#zoomBy(ZOOM_STEP)),
                drawButton("Zoom out", "M3.5 8h9", () => this.#zoomBy(1 / ZOOM_STEP)),
                drawButton("Show the whole tree", "M6 2.5H2.5V6M10 2.5h3.5V6M6 13.5H2.5V10M10 13.5h3.5V10", () => this.showAll()),
            ),
        );
        this.#mark();
    }

    /** The key of the item that Tab leads to. */
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
        const { x, y, scale } = this.#camera;
        return `translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${scale.toFixed(4)})`;
    }

    /** Moves the drawing to where the camera shows it. */
    #place() {
        this.querySelector(".world")?.setAttribute("transform", this.#transform());
        this.#mark();
    }

    /** Marks how far away the drawing is, and whether all of it is in view, for the style sheet. */
    #mark() {
        if (!this.#layout) return;
        const { x, y, scale } = this.#camera;
        const { left, right, top, bottom } = this.#layout;
        const { width, height } = this.#screen;
        const isWhole = x + left * scale >= 0 && x + right * scale <= width && y + top * scale >= 0 && y + bottom * scale <= height;
        this.toggleAttribute("data-whole", isWhole);
        this.toggleAttribute("data-far", scale < FAR_SCALE);
    }

    // --- the view

    /**
     * Moves the view, in a moment or at once if the user wants less motion.
     * @param {Camera} target
     */
    #glideTo(target) {
        cancelAnimationFrame(this.#glide);
        if (this.#hasLessMotion || this.#screen.width === 0) return this.#show(target);
        const from = this.#camera;
        const start = performance.now();
        const frame = (/** @type {number} */ now) => {
            const part = Math.min(1, Math.max(0, now - start) / GLIDE_MS);
            const eased = 1 - (1 - part) ** 3;
            this.#show({
                x: from.x + (target.x - from.x) * eased,
                y: from.y + (target.y - from.y) * eased,
                scale: from.scale + (target.scale - from.scale) * eased,
            });
            if (part < 1) this.#glide = requestAnimationFrame(frame);
        };
        this.#glide = requestAnimationFrame(frame);
    }

    /** @param {Camera} camera */
    #show(camera) {
        this.#camera = camera;
        this.#place();
    }

    /** @param {number} factor */
    #zoomBy(factor) {
        this.#isMoved = true;
        const { width, height } = this.#screen;
        this.#glideTo(zoom(this.#camera, { x: width / 2, y: height / 2 }, factor));
    }

    /** @param {WheelEvent} event */
    #onWheel(event) {
        // Where the page scrolls, the wheel zooms only with Ctrl (as a pinch on a trackpad does) or
        // when the drawing has the focus.
        const page = document.documentElement;
        const isScrolling = page.scrollHeight > page.clientHeight + 1;
        if (isScrolling && !event.ctrlKey && !event.metaKey && !this.contains(document.activeElement)) return;
        event.preventDefault();
        this.#isMoved = true;
        cancelAnimationFrame(this.#glide);
        const pixels = event.deltaY * (event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1) * (event.ctrlKey ? 4 : 1);
        this.#show(zoom(this.#camera, this.#point(event), Math.exp(-pixels * WHEEL_ZOOM)));
    }

    /**
     * Where an event is, from the corner of the element.
     * @param {MouseEvent} event
     * @returns {Point}
     */
    #point(event) {
        const box = this.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    /** @param {PointerEvent} event */
    #onPointerDown(event) {
        if (event.button !== 0 || (/** @type {Element} */ (event.target)).closest(".zoom")) return;
        if (this.#pointers.size === 0) this.#isDragging = false;
        this.#pointers.set(event.pointerId, this.#point(event));
    }

    /** @param {PointerEvent} event */
    #onPointerMove(event) {
        const before = this.#pointers.get(event.pointerId);
        if (!before) return;
        const point = this.#point(event);
        if (!this.#isDragging && Math.hypot(point.x - before.x, point.y - before.y) < MIN_DRAG_PX) return;
        if (!this.#isDragging) this.setPointerCapture(event.pointerId);
        this.#isDragging = this.#isMoved = true;
        cancelAnimationFrame(this.#glide);
        const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
        this.#pointers.set(event.pointerId, point);
        const moved = { ...this.#camera, x: this.#camera.x + point.x - before.x, y: this.#camera.y + point.y - before.y };
        this.#show(other ? pinch(this.#camera, before, point, other) : moved);
    }

    /** @param {PointerEvent} event */
    #onPointerEnd(event) {
        this.#pointers.delete(event.pointerId);
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
        if (!item || this.#isDragging) return;
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
        if (this.#pointers.size === 0) this.#reveal(item);
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
        if (key === "+" || key === "=") this.#zoomBy(ZOOM_STEP);
        else if (key === "-") this.#zoomBy(1 / ZOOM_STEP);
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
        if (item) /** @type {SVGElement | null} */ (this.querySelector(`[data-key="${item.key}"]`))?.focus({ preventScroll: true });
    }
}

/**
 * The view after one finger of two has moved: both stay on what they touch.
 * @param {Camera} camera
 * @param {Point} before
 * @param {Point} after
 * @param {Point} other
 * @returns {Camera}
 */
function pinch(camera, before, after, other) {
    const factor = Math.hypot(after.x - other.x, after.y - other.y) / Math.max(1, Math.hypot(before.x - other.x, before.y - other.y));
    return zoom(camera, other, factor);
}

/**
 * The item to which an arrow key leads: the parent, the first child, or the next one of the level.
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
 * What decides which nodes are drawn and how large they are, as a text.
 * @param {TreeScene} scene
 */
function structureOf({ trace, state, view, opened, closed }) {
    const growth = [trace.count, trace.skippedCount, trace.stepCount, trace.end !== null];
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
