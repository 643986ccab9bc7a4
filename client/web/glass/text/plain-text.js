/**
 * Numbers and lines of the logs, in exactly the characters of the command `python -m engine.teach`,
 * without typographic signs.
 *
 * @import {SearchTrace, Value} from "../trace/trace.js"
 */

/** The width of a log, in columns. */
export const WIDTH = 80;
/** The deepest level that is indented; deeper lines begin with the number of their level. */
const DEEPEST_INDENT = 20;
/** The sides; players p1, p2, … keep their names. @type {Record<string, string>} */
const SIDES = { max: "MAX", min: "MIN", mean: "MEAN" };
/** What a value says about the true value, by its bound. @type {Record<string, string>} */
const RELATIONS = { exact: "=", lower: ">=", upper: "<=", none: "=" };

/** A line of a log. @typedef {{level: number, text: string}} Line */

/** @param {number} number */
export function plainNumber(number) {
    if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
    return Number.isInteger(number) ? String(number) : String(Number(number.toPrecision(6)));
}

/** @param {Value} value */
export function plainValue(value) {
    if (value === null) return "none";
    return Array.isArray(value) ? `<${value.map(plainNumber).join(", ")}>` : plainNumber(value);
}

/** An interval: [3, 5], or (-inf, 5] without a lower limit. @param {readonly [number, number]} interval */
export function plainInterval([low, high]) {
    const left = low === -Infinity ? "(-inf" : `[${plainNumber(low)}`;
    const right = high === Infinity ? "inf)" : `${plainNumber(high)}]`;
    return `${left}, ${right}`;
}

/** @param {string} kind */
export function plainSide(kind) {
    return SIDES[kind] ?? kind;
}

/**
 * How a node's true value relates to the value that it returned: =, >=, <=, or ~ for an estimate.
 * @param {SearchTrace} trace
 * @param {number} row
 */
export function plainRelation(trace, row) {
    return trace.reason(row) === "depth" ? "~" : RELATIONS[trace.bound(row) ?? "none"];
}

/**
 * Lines, each indented by its level. A line that is too long continues on the next one.
 * @param {Iterable<Line>} lines
 */
export function indented(lines) {
    return [...lines].flatMap(({ level, text }) => {
        const indent = level <= DEEPEST_INDENT ? "  ".repeat(level) : `${"  ".repeat(DEEPEST_INDENT)}[ply ${level}] `;
        return wrapped(text, WIDTH - indent.length, "  ").map((part) => indent + part);
    });
}

/**
 * A text in lines of at most `width` columns; all but the first begin with `indent`.
 * @param {string} text
 * @param {number} width
 * @param {string} indent
 * @returns {string[]}
 */
export function wrapped(text, width, indent) {
    const lines = [];
    let line = "";
    let start = "";
    for (let chunk of text.match(/\s+|\S+/g) ?? []) {
        const isSpace = chunk.trim() === "";
        if (isSpace && line === "" && lines.length > 0) continue;
        while (start.length + line.length + chunk.length > width && !isSpace) {
            if (line.trim() === "") {
                const room = Math.max(1, width - start.length);
                lines.push(start + chunk.slice(0, room));
                chunk = chunk.slice(room);
            } else lines.push(start + line.trimEnd());
            [line, start] = ["", indent];
        }
        if (!isSpace || start.length + line.length + chunk.length <= width) line += chunk;
    }
    if (line.trim() !== "" || lines.length === 0) lines.push(start + line.trimEnd());
    return lines;
}
