/**
 * `SearchTrace` has the trace of a search, complete or while the server streams it. Its columns are
 * growing typed arrays; there is no object for each node.
 *
 * A node is named by its row, in the order of the visits; the root is row 0. A step is named by its
 * index. An open end of a window or an interval is -Infinity or Infinity.
 *
 * @import {BoardView, PositionView} from "../../shell/protocol.js"
 * @import {StreamLine} from "./stream.js"
 */

import { floats, ints, smallInts } from "./column.js";
import { TraceError, errorOf, readLines } from "./stream.js";

/** One number, one for each player, or none. @typedef {number | number[] | null} Value */
/**
 * The head of a trace: what is known before the search begins.
 * @typedef {object} TraceHead
 * @property {string} title
 * @property {string} position
 * @property {string} algorithm
 * @property {string} [algorithm_title] its name for people
 * @property {string} form
 * @property {number | null} depth
 * @property {string} order
 * @property {string} evaluator
 * @property {number} seed
 * @property {"root" | "mover"} view whose values these are: the root player's, or at each node those
 *     of the side to move (negamax)
 * @property {string} cut_off
 * @property {number} player
 * @property {boolean} fresh
 * @property {string} game "" for a tree or a graph
 * @property {Record<string, string>} [options] of the game
 * @property {number} max_nodes
 * @property {BoardView | null} board
 * @property {PositionView | null} start
 * @property {Record<string, string>} [notation] the first moves as players write them, by token,
 *     where that differs
 */
/**
 * @typedef {{nodes: number, leaves: number, plain_nodes: number | null, plain_leaves: number | null,
 *     minimum_leaves: number | null, ordering: number}} Counts
 */
/**
 * The end of a trace: what is known when the search has ended.
 * @typedef {{counts: Counts, value: Value, line: string[], meaning: string, truncated: boolean,
 *     written?: string[]}} TraceEnd `written` is the line as players write it, where a game has a notation
 */
/**
 * A move that the search skipped, as its token and as the pages write it, and the number of nodes below it.
 * In an explicit tree also what stands there: who chooses, the value of a leaf, and the moves.
 * @typedef {{move: string, written: string, below: number | null, kind?: string, value?: Value,
 *     children?: Skipped[]}} Skipped
 */

// The numbers of the events of a search.
export const ENTER = 0;
export const RETURNED = 1;
export const NARROWED = 2;
export const CUT = 3;
export const LEAVE = 4;
const KINDS = ["max", "min", "mean", "leaf", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"];
const BOUNDS = ["exact", "lower", "upper", "none"];
const REASONS = ["all", "cut", "leaf", "depth", "table", "chosen"];
const STATUSES = ["won", "lost", "drawn", "ongoing"];
/** The algorithms whose nodes have a window. */
const WINDOWED = "alphabeta fail-soft fail-hard strict one-bound one-bound-early parent-bound accumulators optimistic".split(" ");

export class SearchTrace {
    /** @type {TraceHead} */
    head;
    /** The end of the trace; null while it grows. @type {TraceEnd | null} */
    end = null;
    /** The number of nodes. */
    count = 0;
    stepCount = 0;
    /** The number of skipped moves. */
    skippedCount = 0;
    /**
     * Whether the moves are known as players write them, which they are when the search is over; no page
     * shows both before.
     */
    isWritten = false;
    /** The number of cut-offs. */
    cutCount = 0;
    /** Whether a node of chance was visited, whose value is a mean. */
    hasChance = false;

    // The nodes. `-1` stands for no row, and for a code or a step that is not known.
    #parents = ints(-1);
    #depths = ints();
    #plies = ints();
    #sizes = ints();
    #firstChildren = ints(-1);
    #lastChildren = ints(-1);
    #nextSiblings = ints(-1);
    #kinds = smallInts();
    #turns = smallInts();
    #statuses = smallInts();
    #signs = smallInts();
    #alphas = floats();
    #betas = floats();
    /** @type {string[]} */
    #moves = [];
    /** The moves that players write otherwise, by row. @type {string[]} */
    #written = [];
    /** The number of leaves up to each row, itself included. */
    #leafCounts = ints();
    #values = floats();
    #bounds = smallInts(-1);
    #reasons = smallInts(-1);
    /** The values that are not numbers. @type {Map<number, Value>} */
    #otherValues = new Map();
    #enterSteps = ints(-1);
    #leaveSteps = ints(-1);
    #cutSteps = ints(-1);
    #lastWindowSteps = ints(-1);
    #lastIntervalSteps = ints(-1);

    // The skipped moves; those of a node are linked.
    #skippedParents = ints();
    #skippedBelow = ints(-1);
    /** @type {string[]} */
    #skippedMoves = [];
    /** Those that players write otherwise, by their numbers. @type {string[]} */
    #skippedWritten = [];
    /** What stands below them in an explicit tree. @type {any[]} */
    #subtrees = [];
    #firstSkipped = ints(-1);
    #lastSkipped = ints(-1);
    #nextSkipped = ints(-1);

    // The steps; those that change the same window or the same interval are linked.
    #whats = smallInts();
    #nodes = ints();
    #lows = floats();
    #highs = floats();
    #stepsBefore = ints(-1);
    #cuts = ints();

    /** @param {TraceHead} head */
    constructor(head) {
        this.head = head;
    }

    /**
     * Reads a trace from a response; resolves when it is complete. Throws a TraceError if the server
     * refuses it, or if the stream ends early.
     * @param {Response} response
     * @param {(trace: SearchTrace) => void} [onGrow] called after each line, first without a node
     * @param {AbortSignal} [signal] ends the reading; the promise is then rejected with its reason
     * @returns {Promise<SearchTrace>}
     */
    static async load(response, onGrow, signal) {
        if (!response.ok || !response.body) throw await errorOf(response);
        /** @type {{trace: SearchTrace | null}} */
        const found = { trace: null };
        const onLine = (/** @type {StreamLine} */ line) => {
            if (line.error) throw new TraceError(line.error);
            if (found.trace === null) found.trace = new SearchTrace(line.head);
            else found.trace.add(line);
            onGrow?.(found.trace);
        };
        await readLines(response.body, onLine, signal);
        const { trace } = found;
        if (trace === null || trace.end === null)
            throw new TraceError({ code: "trace.incomplete", message: "the answer ended before the search did" });
        return trace;
    }

    /** Whether the nodes of this search have windows. */
    get isWindowed() {
        return WINDOWED.includes(this.head.algorithm);
    }

    // --- nodes

    /** The row of the parent, -1 for the root. @param {number} row */
    parent(row) {
        return this.#parents.at(row);
    }

    /** The move that leads to a node, "" for the root. @param {number} row */
    move(row) {
        return this.#moves[row] ?? "";
    }

    /**
     * The move that leads to a node as the pages write it: in the game's notation once all moves have it.
     * @param {number} row
     */
    written(row) {
        return (this.isWritten && this.#written[row]) || this.#writtenAt(this.parent(row), this.move(row));
    }

    /**
     * A move at a node as the head has it.
     * @param {number} row
     * @param {string} move
     */
    #writtenAt(row, move) {
        return (row === 0 && this.isWritten && this.head.notation?.[move]) || move;
    }

    /** The best line as the pages write it; empty until the search has ended. */
    get writtenBestLine() {
        const { line = [], written } = this.end ?? {};
        return written ?? line.map((move, ply) => this.#writtenAt(ply, move));
    }

    /** Who chooses: max, min, mean, p1 to p8, or nobody (leaf). @param {number} row */
    kind(row) {
        return KINDS[this.#kinds.at(row)];
    }

    /** Who would choose here, also at a leaf. @param {number} row */
    turn(row) {
        return KINDS[this.#turns.at(row)];
    }

    /** Whose value it is: 1 is the player at the root, -1 (negamax only) the opponent. @param {number} row */
    sign(row) {
        return this.#signs.at(row);
    }

    /** The ply as the search counts it. @param {number} row */
    depth(row) {
        return this.#depths.at(row);
    }

    /** The number of moves from the root. @param {number} row */
    ply(row) {
        return this.#plies.at(row);
    }

    /** The lower end of the window that a node receives. @param {number} row */
    alpha(row) {
        return this.#alphas.at(row);
    }

    /** The upper end of the window that a node receives. @param {number} row */
    beta(row) {
        return this.#betas.at(row);
    }

    /**
     * The value that a node returns; null until it is known.
     * @param {number} row
     * @returns {Value}
     */
    value(row) {
        if (this.#bounds.at(row) < 0) return null;
        const other = this.#otherValues.get(row);
        return other === undefined ? this.#values.at(row) : other;
    }

    /**
     * A node's value from its parent's point of view: negamax negates it where the side changes.
     * @param {number} row
     * @returns {Value}
     */
    valueForParent(row) {
        const value = this.value(row);
        const parent = this.parent(row);
        if (typeof value !== "number" || parent < 0 || this.#signs.at(row) === this.#signs.at(parent)) return value;
        return value === 0 ? 0 : -value;
    }

    /**
     * How the value relates to the true value: exact, lower, upper or none; null until it is known.
     * @param {number} row
     */
    bound(row) {
        return BOUNDS[this.#bounds.at(row)] ?? null;
    }

    /**
     * Why a node ended: all, cut, leaf, depth, table or chosen; null until it is known.
     * @param {number} row
     */
    reason(row) {
        return REASONS[this.#reasons.at(row)] ?? null;
    }

    /** MAX's status: won, lost, drawn or ongoing. @param {number} row */
    status(row) {
        return STATUSES[this.#statuses.at(row)];
    }

    /** The number of nodes below a node so far, itself included. @param {number} row */
    size(row) {
        return this.#sizes.at(row);
    }

    /** The number of leaves among the first rows. @param {number} count */
    leavesAmong(count) {
        return count > 0 ? this.#leafCounts.at(count - 1) : 0;
    }

    /** The row of the first child, -1 without one. @param {number} row */
    firstChild(row) {
        return this.#firstChildren.at(row);
    }

    /** The row of the next child of the same parent, -1 without one. @param {number} row */
    nextSibling(row) {
        return this.#nextSiblings.at(row);
    }

    /**
     * The rows of the children, in the order of their visits.
     * @param {number} row
     */
    children(row) {
        const rows = [];
        for (let child = this.firstChild(row); child >= 0; child = this.nextSibling(child)) rows.push(child);
        return rows;
    }

    /**
     * The moves that the search skipped, in their order.
     * @param {number} row
     * @returns {Skipped[]}
     */
    skipped(row) {
        const moves = [];
        for (let entry = this.#firstSkipped.at(row); entry >= 0; entry = this.#nextSkipped.at(entry)) {
            const below = this.#skippedBelow.at(entry);
            const move = this.#skippedMoves[entry];
            const subtree = this.#subtrees[entry];
            const written = (this.isWritten && this.#skippedWritten[entry]) || this.#writtenAt(row, move);
            moves.push({ ...(subtree && readSubtree([move, ...subtree])), move, written, below: below < 0 ? null : below });
        }
        return moves;
    }

    /** The row that skipped a move, by the number of the entry. @param {number} entry */
    skippedParent(entry) {
        return this.#skippedParents.at(entry);
    }

    /**
     * The moves from the root to a node.
     * @param {number} row
     */
    lineTo(row) {
        return this.#rowsTo(row).map((at) => this.move(at));
    }

    /**
     * The same moves as the pages write them, so that each has one name on the page.
     * @param {number} row
     */
    writtenLine(row) {
        return this.#rowsTo(row).map((at) => this.written(at));
    }

    /** @param {number} row */
    #rowsTo(row) {
        const rows = [];
        for (let at = row; at > 0; at = this.parent(at)) rows.push(at);
        return rows.reverse();
    }

    // --- steps

    /** The number of a step's event: ENTER, RETURNED, NARROWED, CUT or LEAVE. @param {number} step */
    stepWhat(step) {
        return this.#whats.at(step);
    }

    /** The row that a step names. @param {number} step */
    stepNode(step) {
        return this.#nodes.at(step);
    }

    /** @param {number} step */
    stepLow(step) {
        return this.#lows.at(step);
    }

    /** @param {number} step */
    stepHigh(step) {
        return this.#highs.at(step);
    }

    /** The step before that changed the same window or interval, -1 without one. @param {number} step */
    stepBefore(step) {
        return this.#stepsBefore.at(step);
    }

    /** The step that enters a node, -1 until it is known. @param {number} row */
    enterStep(row) {
        return this.#enterSteps.at(row);
    }

    /** The step that leaves a node, -1 until it is known. @param {number} row */
    leaveStep(row) {
        return this.#leaveSteps.at(row);
    }

    /** The step that cuts off the rest of a node's moves, -1 without one. @param {number} row */
    cutStep(row) {
        return this.#cutSteps.at(row);
    }

    /** The last step that changed a node's window, -1 without one. @param {number} row */
    lastWindowStep(row) {
        return this.#lastWindowSteps.at(row);
    }

    /** The last step that changed a node's interval, -1 without one. @param {number} row */
    lastIntervalStep(row) {
        return this.#lastIntervalSteps.at(row);
    }

    /** The step of a cut-off, by the number of the cut-off. @param {number} index */
    cut(index) {
        return this.#cuts.at(index);
    }

    // --- growth

    /**
     * Adds a line of the stream.
     * @param {StreamLine} line
     */
    add({ nodes, left, skipped, steps, written, rest, end }) {
        for (let i = 0; i < nodes?.parent.length; i++) this.#addNode(nodes, i);
        for (let i = 0; i < left?.row.length; i++) this.#addLeft(left.row[i], left, i);
        for (let i = 0; i < skipped?.parent.length; i++) this.#addSkipped(skipped, i);
        for (let i = 0; i < steps?.what.length; i++) this.#addStep(steps, i);
        if (written) this.#addWritten(written);
        // A search whose time is up leaves the rest of its moves unwritten.
        this.isWritten ||= rest === 0 || !!end;
        if (end) this.end = { ...end, value: readValue(end.value) };
    }

    /** @param {StreamLine} written */
    #addWritten({ nodes, skipped }) {
        for (const i in nodes.row) this.#written[nodes.row[i]] = nodes.move[i];
        for (const i in skipped.row) this.#skippedWritten[skipped.row[i]] = skipped.move[i];
    }

    /**
     * @param {StreamLine} nodes
     * @param {number} i
     */
    #addNode(nodes, i) {
        const row = this.count++;
        this.#moves.push(nodes.move[i]);
        this.#depths.set(row, nodes.depth[i]);
        this.#kinds.set(row, KINDS.indexOf(nodes.kind[i]));
        this.hasChance ||= nodes.kind[i] === "mean";
        this.#turns.set(row, KINDS.indexOf(nodes.turn[i]));
        this.#statuses.set(row, STATUSES.indexOf(nodes.status[i]));
        this.#signs.set(row, nodes.sign[i]);
        this.#alphas.set(row, readEnd(nodes.alpha[i], -Infinity));
        this.#betas.set(row, readEnd(nodes.beta[i], Infinity));
        this.#leafCounts.set(row, this.leavesAmong(row) + (nodes.kind[i] === "leaf" ? 1 : 0));
        this.#link(row, nodes.parent[i]);
    }

    /**
     * Makes a node the last child of its parent.
     * @param {number} row
     * @param {number} parent
     */
    #link(row, parent) {
        this.#parents.set(row, parent);
        this.#sizes.set(row, 1);
        for (let above = parent; above >= 0; above = this.parent(above)) this.#sizes.set(above, this.size(above) + 1);
        if (parent < 0) return;
        this.#plies.set(row, this.ply(parent) + 1);
        const last = this.#lastChildren.at(parent);
        if (last < 0) this.#firstChildren.set(parent, row);
        else this.#nextSiblings.set(last, row);
        this.#lastChildren.set(parent, row);
    }

    /**
     * @param {number} row
     * @param {StreamLine} left
     * @param {number} i
     */
    #addLeft(row, left, i) {
        const value = readValue(left.value[i]);
        this.#bounds.set(row, BOUNDS.indexOf(left.bound[i]));
        this.#reasons.set(row, REASONS.indexOf(left.reason[i]));
        if (typeof value === "number") this.#values.set(row, value);
        else this.#otherValues.set(row, value);
    }

    /**
     * @param {StreamLine} skipped
     * @param {number} i
     */
    #addSkipped(skipped, i) {
        const entry = this.skippedCount++;
        const parent = skipped.parent[i];
        this.#skippedParents.set(entry, parent);
        this.#skippedMoves.push(skipped.move[i]);
        this.#subtrees.push(skipped.subtree?.[i]);
        this.#skippedBelow.set(entry, skipped.below[i] ?? -1);
        const last = this.#lastSkipped.at(parent);
        if (last < 0) this.#firstSkipped.set(parent, entry);
        else this.#nextSkipped.set(last, entry);
        this.#lastSkipped.set(parent, entry);
    }

    /**
     * @param {StreamLine} steps
     * @param {number} i
     */
    #addStep(steps, i) {
        const step = this.stepCount++;
        const what = steps.what[i];
        const row = steps.node[i];
        this.#whats.set(step, what);
        this.#nodes.set(step, row);
        this.#lows.set(step, readEnd(steps.low[i], -Infinity));
        this.#highs.set(step, readEnd(steps.high[i], Infinity));
        if (what === CUT) return this.#addCut(step, row);
        if (what === ENTER) this.#enterSteps.set(row, step);
        if (what === LEAVE) this.#leaveSteps.set(row, step);
        const last = what === ENTER || what === NARROWED ? this.#lastWindowSteps : this.#lastIntervalSteps;
        const changed = what === RETURNED ? this.parent(row) : row;
        this.#stepsBefore.set(step, last.at(changed));
        last.set(changed, step);
    }

    /**
     * @param {number} step
     * @param {number} row
     */
    #addCut(step, row) {
        this.#cutSteps.set(row, step);
        this.#cuts.set(this.cutCount++, step);
    }
}

/**
 * The end of a window or an interval; null is open.
 * @param {number | string | null} end
 * @param {number} open
 */
function readEnd(end, open) {
    if (typeof end === "number") return end;
    if (end === null) return open;
    return end === "inf" ? Infinity : -Infinity;
}

/**
 * A node that the search skipped, and what stands below it.
 * @param {any[]} node
 * @returns {Skipped}
 */
function readSubtree([move, kind, value, children]) {
    return { move, written: move, below: null, kind, value: readValue(value), children: children.map(readSubtree) };
}

/**
 * @param {any} value
 * @returns {Value}
 */
function readValue(value) {
    if (value === null) return null;
    return Array.isArray(value) ? value.map((number) => readEnd(number, 0)) : readEnd(value, 0);
}
