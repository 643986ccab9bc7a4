/**
 * Chooses the nodes of a search to draw. A small search is drawn whole. The drawing of a large one, or
 * of one that is too wide to read, has the path to the current node with the siblings along it, the top
 * levels if they are narrow, and the nodes that the user has opened; everything else is folded.
 *
 * The drawing of a large search changes only where the path changes: the nodes beside the path have no
 * drawn children, so that the path's children never push them aside.
 *
 * @import {SearchTrace, Skipped} from "../trace/trace.js"
 * @import {SearchState} from "../trace/search-state.js"
 */

import { measure } from "../text/measures.js";

/** The default of the limit, in shapes. */
export const MAX_SHAPES = 300;
/** A tree with more shapes than this side by side is not drawn whole in a viewer. */
export const MAX_WHOLE_WIDTH = 40;
/** A node with more cut-off moves than this has one shape for all of them. */
export const MAX_CUT_SHAPES = 3;
/** The top levels of a large search are drawn whole up to this number of nodes side by side. */
const MAX_TOP_WIDTH = 16;
/**
 * The most children that a list of a large search shows unless the user opens the rest of it: about as
 * many as fit side by side in a wide window. A step draws a list of them for each level of the path.
 */
const MAX_PAGE = 14;
/** What a level of the path has besides its children, in shapes: two folded rests and the cuts. */
const REST_SHAPES = 2;
/** The least number of shapes of each level: a node, two rests, one shape for all cuts. */
const MIN_LEVEL_SHAPES = 4;

/**
 * A drawn node. `fold` is the number of nodes below it that are hidden, `cut` has the moves that were
 * cut off: each list is one shape. A negative row is no node but the rest of a list of children:
 * `~row` is their parent, `fold` the number of nodes that they have together, `hidden` the rows of the
 * children.
 * @typedef {{row: number, fold: number, cut: Skipped[][], children: ShownNode[], isOpen: boolean,
 *     hidden: number[]}} ShownNode
 */
/**
 * The rows that the user has opened and closed; `~row` opens all children of a row whose list is too
 * long. A tree of more than `limit` shapes, or more than `maxWidth` side by side, is not drawn whole.
 * @typedef {{opened?: ReadonlySet<number>, closed?: ReadonlySet<number>, limit?: number, maxWidth?:
 *     number}} Folding
 */
/** Which children of an open node are drawn: from the first index to before the second. @typedef {[number, number]} Range */

/** @type {ReadonlySet<number>} */
const NO_ROWS = new Set();

/**
 * The tree to draw; null while the trace has no node. It has at most `limit` shapes and always the
 * whole path; a limit below four shapes for each level of the path is raised to that.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {Folding} [folding]
 * @returns {ShownNode | null}
 */
export function shownNodes(trace, state, { opened = NO_ROWS, closed = NO_ROWS, limit = MAX_SHAPES, maxWidth = Infinity } = {}) {
    if (trace.count === 0) return null;
    const isWhole = canBeWhole(trace, limit, maxWidth);
    const path = isWhole ? state.path : focusPath(trace, state);
    return new Selection(trace, [...path, latestChild(trace, state, path)], opened, closed, isWhole ? Infinity : limit).tree();
}

/**
 * The child of a path's last node that the search has entered most recently; -1 without one.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @param {number[]} path
 */
function latestChild(trace, state, path) {
    return trace.children(path.at(-1) ?? 0).findLast((child) => state.isEntered(child)) ?? -1;
}

/**
 * Opens or closes a node by changing both sets.
 * @param {Set<number>} opened
 * @param {Set<number>} closed
 * @param {number} row
 * @param {boolean} isOpen whether the node becomes open
 */
export function toggle(opened, closed, row, isOpen) {
    const [add, remove] = isOpen ? [opened, closed] : [closed, opened];
    add.add(row);
    remove.delete(row);
}

/**
 * The open rows of a large search: the path to the current node, or the best line once the search has
 * ended.
 * @param {SearchTrace} trace
 * @param {SearchState} state
 * @returns {number[]}
 */
function focusPath(trace, state) {
    if (state.path.length > 1) return state.path;
    return state.row === 0 && state.isLeft(0) ? bestLine(trace) : [0];
}

/**
 * The rows of the best line, from the root; only the root until it is known. The server counts plain
 * minimax's nodes before it sends the line: meanwhile the line follows the root's value.
 * @param {SearchTrace} trace
 * @returns {number[]}
 */
export function bestLine(trace) {
    const { end } = trace;
    for (const rows = [0]; ; ) {
        const [above, next] = [rows.at(-1) ?? 0, end?.line[rows.length - 1]];
        const child = trace.children(above).find((row) => (end ? trace.move(row) === next : trace.bound(row) === "exact" && trace.valueForParent(row) === trace.value(above)));
        if (child === undefined) return rows;
        rows.push(child);
    }
}

/**
 * The cut-off moves of a node as they are drawn: each on its own, or all together.
 * @param {Skipped[]} cut
 * @param {number} max the most shapes
 * @returns {Skipped[][]}
 */
function cutGroups(cut, max = MAX_CUT_SHAPES) {
    if (cut.length === 0) return [];
    return cut.length <= max ? cut.map((move) => [move]) : [cut];
}

/**
 * Whether a search can be drawn whole.
 * @param {SearchTrace} trace
 * @param {number} limit the most shapes
 * @param {number} [maxWidth] the most shapes side by side
 */
export function canBeWhole(trace, limit, maxWidth = Infinity) {
    if (trace.count > limit) return false;
    const levels = [...measure(trace).levels, 0];
    for (let row = 0; row < trace.count; row++) addCuts(levels, cutGroups(trace.skipped(row)), trace.ply(row) + 1);
    return levels.reduce((sum, count) => sum + count) <= limit && Math.max(...levels) <= maxWidth;
}

/**
 * Adds the shapes of cut-off moves, and of what stands below them, to the numbers of shapes by level.
 * @param {number[]} levels
 * @param {Skipped[][]} cuts
 * @param {number} ply
 */
function addCuts(levels, cuts, ply) {
    if (cuts.length > 0) levels[ply] = (levels[ply] ?? 0) + cuts.length;
    for (const [{ children = [] }, ...others] of cuts)
        if (others.length === 0) addCuts(levels, children.map((child) => [child]), ply + 1);
}

/** The nodes that are open, and the ranges of their drawn children. */
class Selection {
    /** @type {Map<number, Range>} */
    #ranges = new Map();
    #trace;
    #opened;
    #closed;
    #path;
    #limit;
    /** The number of shapes chosen so far. */
    #shapes = 1;
    /** The most children that a list shows. */
    #page;
    /** The most shapes for the cut-off moves of a node. */
    #maxCuts;

    /**
     * @param {SearchTrace} trace
     * @param {number[]} path the open rows, and at its end the child that was visited last, or -1
     * @param {ReadonlySet<number>} opened
     * @param {ReadonlySet<number>} closed
     * @param {number} limit Infinity draws the whole search
     */
    constructor(trace, path, opened, closed, limit) {
        this.#trace = trace;
        this.#opened = opened;
        this.#closed = closed;
        this.#path = path;
        // The depth of the whole search, not of the path, so that the pages stay the same.
        const levels = measure(trace).levels.length;
        this.#limit = Math.max(limit, MIN_LEVEL_SHAPES * levels);
        const share = Math.floor(this.#limit / levels);
        this.#maxCuts = share >= 2 * MIN_LEVEL_SHAPES ? MAX_CUT_SHAPES : 1;
        this.#page = Math.min(share - REST_SHAPES - this.#maxCuts, MAX_PAGE);
    }

    /** @returns {ShownNode} */
    tree() {
        if (this.#limit < Infinity) this.#choose();
        return this.#build(0);
    }

    /** Opens the path, then the top levels, then what the user has opened, as far as the limit allows. */
    #choose() {
        for (let ply = 0; ply < this.#path.length - 1; ply++) this.#openOnPath(this.#path[ply], this.#path[ply + 1]);
        const top = this.#topLevels();
        for (let rows = [0]; rows.length > 0; rows = rows.flatMap((row) => this.#drawnChildren(row))) {
            for (const row of rows) {
                const isWanted = this.#trace.ply(row) < top || this.#opened.has(row);
                if (isWanted && !this.#ranges.has(row) && !this.#closed.has(row)) this.#openBeside(row);
                if (this.#opened.has(~row)) this.#extend(row);
            }
        }
    }

    /**
     * Opens a node of the path: the page of its children that has the next node of the path.
     * @param {number} row
     * @param {number} next -1 if no child has been visited
     */
    #openOnPath(row, next) {
        const children = this.#trace.children(row);
        const index = Math.max(0, children.indexOf(next));
        if (this.#closed.has(row)) {
            // A closed node on the path keeps the next node of the path.
            if (next >= 0 && next !== this.#path.at(-1)) this.#open(row, [index, index + 1]);
            return;
        }
        const page = index - (index % this.#page);
        const first = page > 0 && page === children.length - 1 ? page - this.#page : page;
        this.#open(row, [first, this.#endOf(first + this.#page, children.length)]);
    }

    /**
     * The end of a page. A page takes in a single last child, which needs no more room than "1 more".
     * @param {number} end
     * @param {number} count
     */
    #endOf(end, count) {
        return end >= count - 1 ? count : end;
    }

    /**
     * Opens a node beside the path if there is room.
     * @param {number} row
     */
    #openBeside(row) {
        const count = this.#trace.children(row).length;
        const room = this.#limit - this.#shapes - REST_SHAPES - this.#maxCuts;
        if (room >= Math.min(count, 2)) this.#open(row, [0, this.#endOf(Math.min(room, this.#page), count)]);
    }

    /**
     * Draws more children of an open node, as far as the limit allows.
     * @param {number} row
     */
    #extend(row) {
        const range = this.#ranges.get(row);
        if (!range) return;
        const room = this.#limit - this.#shapes;
        const count = this.#trace.children(row).length;
        const end = Math.min(count, range[1] + room);
        const first = Math.max(0, range[0] - (room - (end - range[1])));
        this.#shapes += end - range[1] + range[0] - first;
        this.#ranges.set(row, [first, end]);
    }

    /**
     * @param {number} row
     * @param {Range} range
     */
    #open(row, [first, end]) {
        this.#ranges.set(row, [first, end]);
        const rests = (first > 0 ? 1 : 0) + (end < this.#trace.children(row).length ? 1 : 0);
        this.#shapes += end - first + rests + this.#cut(row).length;
    }

    /**
     * @param {number} row
     * @returns {Skipped[][]}
     */
    #cut(row) {
        const cuts = cutGroups(this.#trace.skipped(row), this.#maxCuts);
        // Only a tree that is drawn whole shows what stands below a cut-off move.
        return this.#limit < Infinity ? cuts.map((cut) => cut.map(({ move, written, below }) => ({ move, written, below }))) : cuts;
    }

    /** The number of levels below the root that are narrow enough to be drawn whole. */
    #topLevels() {
        const { levels } = measure(this.#trace);
        const wide = levels.findIndex((count) => count > MAX_TOP_WIDTH);
        return wide < 0 ? levels.length : wide - 1;
    }

    /**
     * The rows of the children that are drawn.
     * @param {number} row
     */
    #drawnChildren(row) {
        const range = this.#range(row);
        return range ? this.#trace.children(row).slice(...range) : [];
    }

    /**
     * The range of the children that are drawn; null if the node is folded.
     * @param {number} row
     * @returns {Range | null}
     */
    #range(row) {
        if (this.#limit < Infinity) return this.#ranges.get(row) ?? null;
        const children = this.#trace.children(row);
        if (!this.#closed.has(row)) return [0, children.length];
        const index = children.findIndex((child) => this.#path.includes(child) && child !== this.#path.at(-1));
        return index < 0 ? null : [index, index + 1];
    }

    /**
     * @param {number} row
     * @returns {ShownNode}
     */
    #build(row) {
        const range = this.#range(row);
        if (!range) return foldedNode(row, this.#trace.size(row) - 1);
        const rows = this.#trace.children(row);
        const children = [
            ...this.#rest(row, rows.slice(0, range[0])),
            ...rows.slice(...range).map((child) => this.#build(child)),
            ...this.#rest(row, rows.slice(range[1])),
        ];
        const isOpen = !this.#closed.has(row);
        return { row, fold: 0, cut: isOpen ? this.#cut(row) : [], children, isOpen, hidden: [] };
    }

    /**
     * The children of a node that are not drawn, as one shape.
     * @param {number} row
     * @param {number[]} hidden
     * @returns {ShownNode[]}
     */
    #rest(row, hidden) {
        if (hidden.length === 0) return [];
        const fold = hidden.reduce((sum, child) => sum + this.#trace.size(child), 0);
        return [{ ...foldedNode(~row, fold), hidden }];
    }
}

/**
 * @param {number} row
 * @param {number} fold
 * @returns {ShownNode}
 */
function foldedNode(row, fold) {
    return { row, fold, cut: [], children: [], isOpen: false, hidden: [] };
}
