/**
 * The camera: which part of a drawing is in view, and at which scale. A point (x, y) of the drawing is on the screen at
 * (x · scale + camera.x, y · scale + camera.y).
 *
 * @import {Item, Layout} from "./layout.js"
 */

/** The part of the drawing in view. @typedef {{x: number, y: number, scale: number}} Camera */
/** A size on the screen, in pixels. `top` is the room at the top that buttons cover. @typedef {{width: number, height: number, top: number}} Screen */

/** The least and the greatest scale to which the user can zoom. */
const MIN_SCALE = 0.08;
const MAX_SCALE = 3;
/** The least size of a name on the screen, and the greatest in the drawing: further away, a name shrinks. In pixels. */
const LEAST_TEXT_PX = 11;
const MAX_TEXT_PX = 14.4;
/** The largest scale of a drawing that fits, and the least at which its text can be read. */
const MAX_FIT = 1.35;
export const MIN_FIT = LEAST_TEXT_PX / MAX_TEXT_PX;
/** The greatest scale of a drawing that does not fit. */
const READABLE_SCALE = 0.8;
/** The margin around a drawing that fits, and around a node that is brought into view, in pixels. */
const FIT_MARGIN_PX = 16;
const VIEW_MARGIN_PX = 28;
/** Below this scale a drawing puts its levels closer together, for larger text. */
export const LOW_SCALE = 0.9;
/** A shorter movement is ignored, in pixels. */
const MIN_MOVE_PX = 0.01;
/** Maximum height of the room for buttons at the top, as a share of the screen. */
const MAX_TOP = 0.14;

/**
 * The camera that shows the whole drawing.
 * @param {Layout} layout
 * @param {Screen} screen
 * @returns {Camera}
 */
export function fitCamera(layout, screen) {
    const height = layout.bottom - layout.top;
    const wide = (screen.width - 2 * FIT_MARGIN_PX) / (layout.right - layout.left);
    const high = (screen.height - topOf(screen) - FIT_MARGIN_PX) / height;
    const scale = clamp(Math.min(wide, high, MAX_FIT));
    return { x: screen.width / 2 - ((layout.left + layout.right) / 2) * scale, y: centredShift(layout, height * scale, screen, scale), scale };
}

/**
 * The first camera of a drawing: it shows all of it if the text is readable then, otherwise its middle,
 * with all levels if the text is readable then, or its top.
 * @param {Layout} layout
 * @param {Screen} screen
 * @param {number} height the height that the drawing will have
 * @returns {Camera}
 */
export function initialCamera(layout, screen, height) {
    const whole = fitCamera({ ...layout, bottom: layout.top + height }, screen);
    if (whole.scale >= MIN_FIT) return whole;
    // It is smaller if all levels are in view then: sideways one expects more, but not above the first row.
    const high = (screen.height - topOf(screen) - FIT_MARGIN_PX) / height;
    const scale = Math.max(MIN_FIT, Math.min(high, READABLE_SCALE));
    return { x: screen.width / 2, y: centredShift(layout, height * scale, screen, scale), scale };
}

/**
 * Whether a drawing is so high for a screen that its levels should be closer together: its height, not
 * its width, keeps it from a scale, or some of its levels from view.
 * @param {number} width
 * @param {number} height
 * @param {Screen} screen
 * @param {number} scale
 */
export function isTooHigh(width, height, screen, scale) {
    const wide = (screen.width - 2 * FIT_MARGIN_PX) / width;
    const high = (screen.height - topOf(screen) - FIT_MARGIN_PX) / height;
    return screen.height > 0 && high < Math.max(MIN_FIT, Math.min(wide, scale));
}

/**
 * The height of the room for buttons.
 * @param {Screen} screen
 */
function topOf({ top, height }) {
    return Math.max(FIT_MARGIN_PX / 2, Math.min(top, height * MAX_TOP));
}

/**
 * The vertical shift that centres a drawing below the buttons, or shows its top if it is too high.
 * @param {Layout} layout
 * @param {number} height on the screen
 * @param {Screen} screen
 * @param {number} scale
 */
function centredShift(layout, height, screen, scale) {
    const top = topOf(screen);
    return top + Math.max(0, (screen.height - top - FIT_MARGIN_PX - height) / 2) - layout.top * scale;
}

/**
 * The camera after zooming by a factor around a point of the screen.
 * @param {Camera} camera
 * @param {{x: number, y: number}} point
 * @param {number} factor
 * @returns {Camera}
 */
export function zoom(camera, point, factor) {
    const scale = clamp(camera.scale * factor);
    const ratio = scale / camera.scale;
    return { x: point.x - (point.x - camera.x) * ratio, y: point.y - (point.y - camera.y) * ratio, scale };
}

/**
 * The size in the drawing that a text needs to be read on the screen, within limits.
 * @param {Camera} camera
 */
export function leastText({ scale }) {
    return Math.min(LEAST_TEXT_PX / scale, MAX_TEXT_PX);
}

/**
 * The sides at which the drawing goes on out of view, each as the direction from it to the middle.
 * @param {Camera} camera
 * @param {Layout} layout
 * @param {Screen} screen
 */
export function sidesWithMore({ x, y, scale }, { left, right, top, bottom }, { width, height }) {
    return [
        [1, 0, x + left * scale < 0],
        [-1, 0, x + right * scale > width],
        [0, 1, y + top * scale < 0],
        [0, -1, y + bottom * scale > height],
    ].filter(([, , hasMore]) => hasMore);
}

/**
 * Whether all of the drawing is in view.
 * @param {Camera} camera
 * @param {Layout} layout
 * @param {Screen} screen
 */
export function isWhole(camera, layout, screen) {
    return sidesWithMore(camera, layout, screen).length === 0;
}

/**
 * The camera that has an item and its children in view, moved as little as possible: not at all along
 * an axis on which they or all of the drawing are in view. Children without room are ignored.
 * @param {Camera} camera
 * @param {Layout} layout
 * @param {Item} item
 * @param {Screen} screen
 * @returns {Camera}
 */
export function reveal(camera, layout, item, screen) {
    // The margin around a node must not push the far end of the drawing out of view.
    const sides = sidesWithMore(camera, layout, screen);
    const { items } = layout;
    const index = items.indexOf(item);
    const family = [item, ...items.filter(({ parent }) => parent === index)];
    const { scale } = camera;
    const across = shiftIntoView(camera.x, spans(family, ({ x, width }) => [x - width / 2, x + width / 2], scale), screen.width);
    const top = Math.max(0, topOf(screen) - VIEW_MARGIN_PX / 2);
    const down = top + shiftIntoView(camera.y - top, spans(family, ({ y, height }) => [y, y + height], scale), screen.height - top);
    const x = sides.some(([side]) => side !== 0) ? across : camera.x;
    const y = sides.some(([, side]) => side !== 0) ? down : camera.y;
    return Math.hypot(x - camera.x, y - camera.y) < MIN_MOVE_PX ? camera : { x, y, scale };
}

/** A span on the screen. @typedef {[number, number]} Span */

/**
 * The span of the first item, and of all of them.
 * @param {Item[]} items
 * @param {(item: Item) => Span} spanOf
 * @param {number} scale
 * @returns {Span[]}
 */
function spans(items, spanOf, scale) {
    const all = items.map(spanOf);
    const from = Math.min(...all.map((span) => span[0]));
    const to = Math.max(...all.map((span) => span[1]));
    return [[all[0][0] * scale, all[0][1] * scale], [from * scale, to * scale]];
}

/**
 * The shift along one axis with which the larger span is in view if there is room, otherwise the
 * smaller one.
 * @param {number} shift
 * @param {Span[]} spans
 * @param {number} length of the view
 */
function shiftIntoView(shift, [small, large], length) {
    const [from, to] = large[1] - large[0] <= length - 2 * VIEW_MARGIN_PX ? large : small;
    const margin = Math.min(VIEW_MARGIN_PX, Math.max(0, (length - (to - from)) / 2));
    if (shift + from < margin) return margin - from;
    if (shift + to > length - margin) return length - margin - to;
    return shift;
}

/** @param {number} scale */
function clamp(scale) {
    return Math.max(MIN_SCALE, Math.min(scale, MAX_SCALE));
}
