/**
 * Numbers, values, windows and intervals of a search as text. An open end is -Infinity or Infinity.
 *
 * @import {SearchTrace, Value} from "../trace/trace.js"
 */

/** The signs before a value that is a bound. @type {Record<string, string>} */
const BOUND_SIGNS = { lower: "≥", upper: "≤" };
/** The sides; players p1, p2, … keep their names. @type {Record<string, string>} */
const SIDES = { max: "MAX", min: "MIN", mean: "chance" };
/** The narrow characters; all others but the wide ones are about as wide as a digit. */
const NARROW = /[\s.,:;'|!()[\]ijlft]/;
/** The wide characters. */
const WIDE = /[mwMW∞…%@⟨⟩]/;

/**
 * A number with a minus sign. With decimals it has at most six significant digits, as in the texts of
 * the engine.
 * @param {number} number
 * @param {number} [digits] the most significant digits of a number with decimals
 */
export function numberText(number, digits = 6) {
    if (number === Infinity) return "∞";
    if (number === -Infinity) return "−∞";
    const isWhole = Number.isInteger(number) || Math.abs(number) >= 10 ** digits;
    const rounded = isWhole ? Math.round(number) : Number(number.toPrecision(digits));
    return String(rounded).replace("-", "−");
}

/**
 * A value: a number, the numbers of several players as ⟨1, 2, 3⟩, or "".
 * @param {Value} value
 * @param {number} [digits]
 */
export function valueText(value, digits = 6) {
    if (value === null) return "";
    if (Array.isArray(value)) return `⟨${value.map((number) => numberText(number, digits)).join(", ")}⟩`;
    return numberText(value, digits);
}

/** The value of a win at once, with the game's own estimates; each ply more costs one. */
const WIN = 30_000;
/** A value nearer to a win or a loss than this stands for the end of the game. */
const MAX_PLIES = 1000;

/**
 * A value that stands for the end of a game, searched with the game's own estimates: "win" or "loss";
 * null for any other value.
 * @param {SearchTrace} trace
 * @param {number} row
 */
export function endingText(trace, row) {
    return endingOf(trace, trace.value(row));
}

/**
 * @param {SearchTrace} trace
 * @param {Value} value
 */
function endingOf(trace, value) {
    if (trace.head.game === "" || trace.head.evaluator !== "estimate" || typeof value !== "number") return null;
    if (Math.abs(value) > WIN || Math.abs(value) <= WIN - MAX_PLIES) return null;
    return value > 0 ? "win" : "loss";
}

/**
 * A limit of values in a drawing: a number, or "win" and "loss" as the nodes have it.
 * @param {SearchTrace} trace
 * @param {number} value
 */
export function limitText(trace, value) {
    return endingOf(trace, value) ?? numberText(value);
}

/**
 * A window: (−∞, 10).
 * @param {readonly [number, number]} window
 */
export function windowText([alpha, beta]) {
    return `(${numberText(alpha)}, ${numberText(beta)})`;
}

/**
 * An interval: [3, 5], or (−∞, 5] without a lower limit.
 * @param {readonly [number, number]} interval
 */
export function intervalText([low, high]) {
    const left = low === -Infinity ? "(−∞" : `[${numberText(low)}`;
    const right = high === Infinity ? "∞)" : `${numberText(high)}]`;
    return `${left}, ${right}`;
}

/**
 * The relation of a node's true value to the returned one: "" (equal), "≥", "≤", or "~" for an
 * estimate.
 * @param {SearchTrace} trace
 * @param {number} row
 */
export function relationOf(trace, row) {
    if (trace.reason(row) === "depth") return "~";
    return BOUND_SIGNS[trace.bound(row) ?? ""] ?? "";
}

/**
 * Who chooses: MAX, MIN, chance, p1 to p8; "" for a leaf.
 * @param {string} kind
 */
export function sideText(kind) {
    return kind === "leaf" ? "" : (SIDES[kind] ?? kind);
}

/**
 * A count with separators: 18,297.
 * @param {number} count
 */
export function countText(count) {
    return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * The approximate width of a text, in pixels.
 * @param {string} text
 * @param {number} size_px the size of the font
 */
export function textWidth(text, size_px) {
    let ems = 0;
    for (const letter of text) ems += NARROW.test(letter) ? 0.36 : WIDE.test(letter) ? 0.98 : 0.66;
    return ems * size_px;
}
