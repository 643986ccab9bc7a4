/**
 * The viewport of a drawing: the user drags it, and zooms it by wheel, pinch, keys and buttons.
 *
 * @import {Camera, Screen} from "./camera.js"
 */

import { zoom } from "./camera.js";

/** The place of a pointer. @typedef {{x: number, y: number}} Point */

/** The zoom factor of a key or a button. */
export const ZOOM_STEP = 1.25;
/** The zoom of the wheel per pixel, and the factor by which a pinch on a trackpad exceeds it. */
const WHEEL_ZOOM = 0.0015;
const PINCH_FACTOR = 4;
/** The height of a line of the wheel, in pixels. */
const LINE_PX = 16;
/** The distance beyond which a press becomes a drag, in pixels. */
const MIN_DRAG_PX = 5;
/** The duration of a movement of the view, in milliseconds. */
const GLIDE_MS = 160;

export class Viewport {
    /** @type {Camera} */
    camera = { x: 0, y: 0, scale: 1 };
    /** The size of the element, zero until it is known. @type {Screen} */
    screen = { width: 0, height: 0, top: 0 };
    /** Whether the user has moved or zoomed the drawing. */
    isMoved = false;
    /** Whether the last press was a drag. */
    isDragging = false;
    #element;
    #onMove;
    /** @type {Map<number, Point>} */
    #pointers = new Map();
    /** The running movement. */
    #glide = 0;
    // Its `matches` would make the browser compute styles at once.
    #motion = matchMedia("(prefers-reduced-motion: reduce)");
    #hasLessMotion = this.#motion.matches;
    #onMotion = () => (this.#hasLessMotion = this.#motion.matches);

    /**
     * @param {HTMLElement} element
     * @param {() => void} onMove is called when the camera has changed
     */
    constructor(element, onMove) {
        this.#element = element;
        this.#onMove = onMove;
        element.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
        element.addEventListener("pointerdown", (event) => this.#onPointerDown(event));
        element.addEventListener("pointermove", (event) => this.#onPointerMove(event));
        for (const type of ["pointerup", "pointercancel"])
            element.addEventListener(type, (event) => this.#pointers.delete(/** @type {PointerEvent} */ (event).pointerId));
    }

    /** Whether a pointer is down. */
    get isPressed() {
        return this.#pointers.size > 0;
    }

    /** Starts listening to the user's wish for less motion. */
    start() {
        this.#motion.addEventListener("change", this.#onMotion);
    }

    stop() {
        this.#motion.removeEventListener("change", this.#onMotion);
        cancelAnimationFrame(this.#glide);
    }

    /**
     * Shows a part of the drawing at once.
     * @param {Camera} camera
     */
    show(camera) {
        cancelAnimationFrame(this.#glide);
        this.camera = camera;
        this.#onMove();
    }

    /**
     * Moves to a part of the drawing, animated unless the user wants less motion.
     * @param {Camera} target
     */
    glideTo(target) {
        if (this.#hasLessMotion || this.screen.width === 0) return this.show(target);
        cancelAnimationFrame(this.#glide);
        const from = this.camera;
        const start = performance.now();
        const frame = (/** @type {number} */ now) => {
            const part = Math.min(1, Math.max(0, now - start) / GLIDE_MS);
            const eased = 1 - (1 - part) ** 3;
            this.camera = between(from, target, eased);
            this.#onMove();
            if (part < 1) this.#glide = requestAnimationFrame(frame);
        };
        this.#glide = requestAnimationFrame(frame);
    }

    /**
     * Zooms around the middle.
     * @param {number} factor
     */
    zoomBy(factor) {
        this.isMoved = true;
        const { width, height } = this.screen;
        this.glideTo(zoom(this.camera, { x: width / 2, y: height / 2 }, factor));
    }

    /** @param {WheelEvent} event */
    #onWheel(event) {
        // Where the page scrolls, the wheel zooms only with Ctrl (as a pinch on a trackpad does) or
        // when the drawing has the focus.
        const page = document.documentElement;
        const isScrolling = page.scrollHeight > page.clientHeight + 1;
        const hasFocus = this.#element.contains(document.activeElement);
        if (isScrolling && !event.ctrlKey && !event.metaKey && !hasFocus) return;
        event.preventDefault();
        this.isMoved = true;
        const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
        const pixels = event.deltaY * lines * (event.ctrlKey ? PINCH_FACTOR : 1);
        this.show(zoom(this.camera, this.#point(event), Math.exp(-pixels * WHEEL_ZOOM)));
    }

    /**
     * The place of an event relative to the element.
     * @param {MouseEvent} event
     * @returns {Point}
     */
    #point(event) {
        const box = this.#element.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    /** @param {PointerEvent} event */
    #onPointerDown(event) {
        if (event.button !== 0 || /** @type {Element} */ (event.target).closest("button")) return;
        if (!this.isPressed) this.isDragging = false;
        this.#pointers.set(event.pointerId, this.#point(event));
    }

    /** @param {PointerEvent} event */
    #onPointerMove(event) {
        const before = this.#pointers.get(event.pointerId);
        if (!before) return;
        const point = this.#point(event);
        const [dx, dy] = [point.x - before.x, point.y - before.y];
        if (!this.isDragging && Math.hypot(dx, dy) < MIN_DRAG_PX) return;
        if (!this.isDragging) this.#element.setPointerCapture(event.pointerId);
        this.isDragging = this.isMoved = true;
        const other = [...this.#pointers].find(([id]) => id !== event.pointerId)?.[1];
        this.#pointers.set(event.pointerId, point);
        const { x, y, scale } = this.camera;
        this.show(other ? pinch(this.camera, before, point, other) : { x: x + dx, y: y + dy, scale });
    }
}

/**
 * The camera between two others.
 * @param {Camera} from
 * @param {Camera} to
 * @param {number} part of the way
 * @returns {Camera}
 */
function between(from, to, part) {
    const mix = (/** @type {number} */ a, /** @type {number} */ b) => a + (b - a) * part;
    return { x: mix(from.x, to.x), y: mix(from.y, to.y), scale: mix(from.scale, to.scale) };
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
    const [then, now] = [before, after].map((point) => Math.hypot(point.x - other.x, point.y - other.y));
    return zoom(camera, other, now / Math.max(1, then));
}
