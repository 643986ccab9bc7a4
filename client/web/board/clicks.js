/**
 * Turns clicks into moves: every move has a path of clicks, and the selection is the beginning of a
 * path. This covers placements, moves from cell to cell, multiple jumps, columns and promotions.
 * Pure functions.
 *
 * @import {MoveView} from "../shell/protocol.js"
 * @import {Place} from "./geometry.js"
 */

/**
 * @typedef {Record<string, string[]>} Targets the cells of each label, such as those of a column
 */
/**
 * The new selection, and the moves that the click finished. Several finished moves have the same
 * path and differ in their `choice`.
 * @typedef {{selection: string[], finished: MoveView[]}} ClickResult
 */

/**
 * Whether an element of a path is the cell, or a label that contains it.
 * @param {string} element
 * @param {string} cell
 * @param {Targets} targets
 */
export function matchesCell(element, cell, targets) {
    return element === cell || (targets[element]?.includes(cell) ?? false);
}

/**
 * The moves that begin with the selection.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {Targets} targets
 */
export function candidates(moves, selection, targets) {
    return moves.filter(({ path }) =>
        selection.every((cell, i) => path[i] !== undefined && matchesCell(path[i], cell, targets)),
    );
}

/**
 * The moves whose paths continue with this cell after the selection.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {string} cell
 * @param {Targets} targets
 */
export function continuations(moves, selection, cell, targets) {
    const index = selection.length;
    return candidates(moves, selection, targets).filter(
        ({ path }) => path[index] !== undefined && matchesCell(path[index], cell, targets),
    );
}

/**
 * The cells and labels that can be clicked next.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {Targets} targets
 * @returns {Set<string>}
 */
export function nextCells(moves, selection, targets) {
    const elements = candidates(moves, selection, targets).map(({ path }) => path[selection.length]);
    return new Set(
        elements.flatMap((element) => (element === undefined ? [] : [element, ...(targets[element] ?? [])])),
    );
}

/**
 * The lines from a dot that can be played, by the dot at their other end: the line between the dots a1
 * and b1 is the place a1b1 or b1a1. A dot that begins a move itself, such as a point of nine men's
 * morris, is no end of a line.
 * @param {MoveView[]} moves
 * @param {string} dot
 * @param {Map<string, Place>} places
 * @returns {Map<string, string>}
 */
export function linesFrom(moves, dot, places) {
    const begins = new Set(moves.map(({ path }) => path[0]));
    const isDot = (/** @type {string} */ id) => places.get(id)?.shape === "point" && !begins.has(id);
    const isLine = (/** @type {string} */ id) => begins.has(id) && places.has(id) && places.get(id)?.shape !== "point";
    if (!isDot(dot)) return new Map();
    const ends = [...places.keys()].filter((id) => id !== dot && isDot(id));
    return new Map(
        ends.flatMap((end) => [dot + end, end + dot].filter(isLine).map((line) => /** @type {[string, string]} */ ([end, line]))),
    );
}

/**
 * The piece that the selection has already put on the board, before its move is complete: all
 * possible moves put the same piece on the same selected cell, and differ in what follows, such as
 * the piece that they take.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {Targets} targets
 * @returns {{cell: string, kind: string, from: string | null} | null} `from` is the cell that the
 *     piece has left
 */
export function placedPiece(moves, selection, targets) {
    const [first, ...others] = candidates(moves, selection, targets);
    if (!first?.ghost) return null;
    const [cell, kind] = first.ghost;
    if (selection.at(-1) !== cell || first.path.length === selection.length) return null;
    if (others.some(({ ghost }) => ghost?.[0] !== cell || ghost[1] !== kind)) return null;
    return { cell, kind, from: selection.length > 1 ? selection[0] : null };
}

/**
 * The result of a click on a cell: it extends the selection, finishes a move, starts another
 * selection or clears the selection. If the selection has put a piece on the board, only a click on
 * that piece takes it back.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {string} cell
 * @param {Targets} targets
 * @returns {ClickResult}
 */
export function clickResult(moves, selection, cell, targets) {
    const next = continuations(moves, selection, cell, targets);
    if (next.length > 0) return extendOrFinish(next, [...selection, cell]);
    if (selection.length === 0) return { selection: [], finished: [] };
    const possible = candidates(moves, selection, targets);
    if (selection.at(-1) === cell) {
        return { selection: [], finished: possible.filter(({ path }) => path.length === selection.length) };
    }
    const ending = possible.filter(({ path }) => matchesCell(path.at(-1) ?? "", cell, targets));
    if (ending.length > 0) return finishAtEnd(ending, selection);
    if (placedPiece(moves, selection, targets)) return { selection, finished: [] };
    return clickResult(moves, [], cell, targets);
}

/**
 * Finishes the moves if the selection is the whole path of each; otherwise extends the selection.
 * @param {MoveView[]} next
 * @param {string[]} selection
 * @returns {ClickResult}
 */
function extendOrFinish(next, selection) {
    if (next.every(({ path }) => path.length === selection.length)) return { selection: [], finished: next };
    return { selection, finished: [] };
}

/**
 * Accepts a click on the last cell of a longer path if only one path ends there.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @returns {ClickResult}
 */
function finishAtEnd(moves, selection) {
    const paths = new Set(moves.map(({ path }) => path.join(" ")));
    return paths.size === 1 ? { selection: [], finished: moves } : { selection, finished: [] };
}
