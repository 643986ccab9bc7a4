/**
 * Turns clicks into moves: every move is a path of clicks, and a selection is the beginning of one.
 * One rule covers placing, from-to moves, multi-jumps, columns and promotions. Pure.
 *
 * @import {MoveView} from "./protocol.js"
 */

/**
 * @typedef {Record<string, string[]>} Targets labels that stand for several cells, such as a column
 */
/**
 * @typedef {{selection: string[], finished: MoveView[]}} Step several finished moves differ in the
 *     choice only
 */

/**
 * Whether a click on a cell matches this element of a path.
 * @param {string} element
 * @param {string} cell
 * @param {Targets} targets
 */
export function hits(element, cell, targets) {
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
        selection.every((cell, i) => path[i] !== undefined && hits(path[i], cell, targets)),
    );
}

/**
 * The moves that a click on the cell would continue.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {string} cell
 * @param {Targets} targets
 */
export function continuations(moves, selection, cell, targets) {
    const at = selection.length;
    return candidates(moves, selection, targets).filter(
        ({ path }) => path[at] !== undefined && hits(path[at], cell, targets),
    );
}

/**
 * Every cell that can be clicked next.
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
 * The effect of a click on a cell: it lengthens the selection, finishes a move, starts another
 * selection or clears it.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @param {string} cell
 * @param {Targets} targets
 * @returns {Step}
 */
export function click(moves, selection, cell, targets) {
    const next = continuations(moves, selection, cell, targets);
    if (next.length > 0) return lengthen(next, [...selection, cell]);
    if (selection.length === 0) return { selection: [], finished: [] };
    const begun = candidates(moves, selection, targets);
    if (selection.at(-1) === cell) {
        return { selection: [], finished: begun.filter(({ path }) => path.length === selection.length) };
    }
    const short = begun.filter(({ path }) => hits(path.at(-1) ?? "", cell, targets));
    if (short.length > 0) return shortcut(short, selection);
    return click(moves, [], cell, targets);
}

/**
 * @param {MoveView[]} next
 * @param {string[]} selection
 * @returns {Step}
 */
function lengthen(next, selection) {
    if (next.every(({ path }) => path.length === selection.length)) return { selection: [], finished: next };
    return { selection, finished: [] };
}

/**
 * Accepts a click on the last cell of a long path when only one path leads there.
 * @param {MoveView[]} moves
 * @param {string[]} selection
 * @returns {Step}
 */
function shortcut(moves, selection) {
    const ways = new Set(moves.map(({ path }) => path.join(" ")));
    return ways.size === 1 ? { selection: [], finished: moves } : { selection, finished: [] };
}
