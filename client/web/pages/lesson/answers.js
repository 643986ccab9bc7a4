/**
 * The questions of lessons, and the check of their answers. Pure functions.
 *
 * @import {FigureNode} from "./figure.js"
 */

/** @typedef {boolean | number | string | string[]} Answer */
/**
 * A question about a run of a lesson, asked after `step` steps of it, about the node in `row`.
 * @typedef {object} Question
 * @property {number} run
 * @property {number} step
 * @property {number} row
 * @property {string} text
 * @property {"yes_no" | "number" | "names" | "choice"} kind
 * @property {string[]} choices
 * @property {string} hint shown before the answer
 * @property {Answer} answer
 * @property {string} reason shown after the answer
 * @property {FigureNode | null} [figure] the whole tree, if the question is about all of it
 */

/** A number, perhaps after a relation such as "<=" or "≥"; a comma may stand for the decimal point. */
const NUMBER = /^[<>=≤≥\s]*([+\-−]?(?:\d+(?:[.,]\d+)?|inf|∞))\s*$/i;
/** The greatest difference from a right number: values are shown with few digits. */
const TOLERANCE = 0.005;

/**
 * Parses the number in a text; null without one.
 * @param {string} text
 * @returns {number | null}
 */
export function readNumber(text) {
    const found = NUMBER.exec(text.trim());
    if (!found) return null;
    const digits = String(found[1]).toLowerCase().replace("−", "-").replace(",", ".").replace("∞", "inf");
    return Number(digits.replace("inf", "Infinity"));
}

/**
 * Whether an answer is right. An infinite value is the text "inf" or "-inf".
 * @param {Question} question
 * @param {Answer} answer
 */
export function isRight({ answer: right }, answer) {
    if (Array.isArray(right))
        return Array.isArray(answer) && answer.length === right.length && right.every((name) => answer.includes(name));
    if (typeof answer !== "number") return answer === right;
    const expected = typeof right === "number" ? right : readNumber(String(right));
    return expected !== null && (answer === expected || Math.abs(answer - expected) <= TOLERANCE);
}
