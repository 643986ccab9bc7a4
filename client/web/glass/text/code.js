/**
 * The algorithms as pseudo-code, and the line that each step of a search executes.
 *
 * @import {SearchTrace, TraceHead} from "../trace/trace.js"
 */

import { CUT, ENTER, LEAVE, NARROWED, RETURNED } from "../trace/trace.js";

/**
 * A line and the events that it executes: `enter`, `leaf`, `table`, `returned`, `narrowed`, `cut`
 * and `leave`, for one kind of node as in `leave:max`.
 * @typedef {[string, string?]} Line
 */
/**
 * @typedef {object} Code
 * @property {string[]} lines
 * @property {(what: number, kind?: string, reason?: string | null) => number} lineFor the index of the
 *     line that a step executes, at a node of a kind; `reason` is why a step LEAVE ends the node
 */

/** The names of the events. @type {Record<number, string>} */
const EVENTS = { [ENTER]: "enter", [RETURNED]: "returned", [NARROWED]: "narrowed", [CUT]: "cut", [LEAVE]: "leave" };
/** The events of the reasons for leaving a node that have a line of their own. @type {Record<string, string>} */
const LEAVING = { leaf: "leaf", depth: "leaf", table: "table" };

/** @type {Line} */
const STOP = ["    if node is a leaf or depth = 0: return its value", "leaf"];
/** @type {Line} */
const LOOP = ["    for each move of node:"];
/** The line for nodes of chance, which few trees have. @type {Line} */
const IF_CHANCE = ["           the mean if chance decides", "leave:mean"];
/** @type {Line[]} */
const RETURN_BEST = [
    ["    return the greatest of the values if MAX chooses,", "leave leave:max"],
    ["           the least if MIN chooses", "leave:min"],
    IF_CHANCE,
];

/** @type {Line[]} */
const MINIMAX = [
    ["minimax(node, depth):", "enter"],
    STOP,
    LOOP,
    ["        add minimax(node after move, depth − 1) to the values", "returned"],
    ...RETURN_BEST,
];

/** @type {Line[]} */
const NEGAMAX = [
    ["negamax(node, depth):", "enter"],
    ["    if node is a leaf or depth = 0:"],
    ["        return its value for the side to move", "leaf"],
    LOOP,
    ["        add −negamax(node after move, depth − 1) to the values", "returned"],
    ["    return the greatest of the values", "leave"],
];

/**
 * Alpha-beta; the arguments are the expressions in which its variants differ.
 * @param {{below?: string, hasEnough?: string, result?: string}} variant
 * @returns {Line[]}
 */
function alphabeta({ below = "α, β", hasEnough = "α ≥ β", result = "the best value found" } = {}) {
    return [
        ["alphabeta(node, depth, α, β):", "enter"],
        STOP,
        LOOP,
        [`        value ← alphabeta(node after move, depth − 1, ${below})`, "returned"],
        ["        if MAX chooses: α ← the greater of α and value", "narrowed narrowed:max"],
        ["        if MIN chooses: β ← the less of β and value", "narrowed:min"],
        [`        if ${hasEnough}: skip the other moves`, "cut"],
        [`    return ${result}`, "leave"],
    ];
}

/** @type {Line[]} */
const AVERAGE = [
    ["average(node, depth):", "enter"],
    STOP,
    LOOP,
    ["        add average(node after move, depth − 1) to the values", "returned"],
    ["    return the greatest of the values at MAX's moves,", "leave leave:max"],
    ["           the least at MIN's,", "leave:min"],
    ["           the mean where the opponent moves at random", "leave:mean"],
];

/** @type {Line[]} */
const MAX_N = [
    ["max-n(node, depth):", "enter"],
    ["    if node is a leaf or depth = 0: return its numbers", "leaf"],
    LOOP,
    ["        numbers ← max-n(node after move, depth − 1)", "returned"],
    ["    return the numbers that are best for the player to move", "leave"],
];

/** @type {Line[]} */
const PARANOID = [
    ["paranoid(node, depth):", "enter"],
    STOP,
    LOOP,
    ["        add paranoid(node after move, depth − 1) to the values", "returned"],
    ["    return the greatest of the values if the player moves,", "leave leave:max"],
    ["           the least if anyone else does", "leave:min"],
];

/** @type {Line[]} */
const GREEDY = [
    ["greedy(position):", "enter"],
    ["    for each move of position:"],
    ["        value ← estimate of position after move", "leaf"],
    ["        keep the best value and its move", "returned"],
    ["    return the best value", "leave"],
];

/** @type {Line[]} */
const OPTIMISTIC = [
    ["optimistic(node, depth, best):", "enter"],
    STOP,
    LOOP,
    ["        value ← optimistic(node after move, depth − 1, best)", "returned"],
    ["        best ← the greater of best and value", "narrowed"],
    ["        if best ≥ goal: skip the other moves", "cut"],
    ["    return the greatest value found", "leave"],
];

/** @type {Line[]} */
const RANDOM = [
    ["random(position):", "enter"],
    ["    if the game is over: return its value", "leaf"],
    ["    choose one of the moves at random", "leave"],
];

/**
 * The template method: the classes of the sides supply what differs.
 * @param {boolean} prunes
 * @param {boolean} isHard whether a node returns its own bound of the window
 * @returns {Line[]}
 */
function nodes(prunes, isHard) {
    const [max, min] = isHard ? ["AlphaBetaMax", "AlphaBetaMin"] : ["MaxNode", "MinNode"];
    const score = isHard ? ["; the score is α", "; the score is β"] : ["", ""];
    return [
        ["Node.value(state, depth):", "enter"],
        ["    if state is final or depth = 0: return its score", "leaf"],
        ["    for each move of state:"],
        ["        value ← successor(move).value(state after move, depth − 1)", "returned"],
        ["        take(value)"],
        .../** @type {Line[]} */ (prunes ? [["        narrow(value)"], ["        if α ≥ β: skip the other moves", "cut"]] : []),
        ["    return score", "leave leave:max leave:min leave:mean"],
        [""],
        [`${max}: take keeps the greater score; ${prunes ? "narrow raises α; " : ""}`, "narrowed narrowed:max"],
        [`         the opposite is ${min}${score[0]}`],
        [`${min}: take keeps the lesser score; ${prunes ? "narrow lowers β; " : ""}`, "narrowed:min"],
        [`         the opposite is ${max}${score[1]}`],
    ];
}

/**
 * One of the functions of the form `pair`.
 * @param {"max" | "min"} side
 * @param {boolean} prunes
 * @param {string} other the function of the other side
 * @returns {Line[]}
 */
function oneSide(side, prunes, other) {
    const [best, bound] = side === "max" ? ["greater", "α"] : ["lesser", "β"];
    const window = prunes ? ", α, β" : "";
    const isFirst = side === "max";
    return [
        [`${side}_value(board, depth${window}):`, `${isFirst ? "enter " : ""}enter:${side}`],
        ["    if the game is over or depth = 0: return the value", `${isFirst ? "leaf " : ""}leaf:${side}`],
        ["    for each move of board:"],
        [`        play the move; value ← ${other}(board, depth − 1${window})`],
        [`        take the move back; best ← the ${best} of best and value`, `returned:${side}`],
        .../** @type {Line[]} */ (
            prunes
                ? [
                      [`        ${bound} ← the ${best} of ${bound} and value`, `narrowed:${side}`],
                      ["        if α ≥ β: skip the other moves", `cut:${side}`],
                  ]
                : []
        ),
        ["    return best", `leave:${side}`],
    ];
}

/** @type {Line[]} */
const MEAN_VALUE = [
    ["mean_value(board, depth):", "enter:mean"],
    ["    if the game is over or depth = 0: return the value", "leaf:mean"],
    ["    for each move of board:"],
    ["        play the move; add the value of the next function", "returned:mean"],
    ["        take the move back"],
    ["    return the mean of the values", "leave:mean"],
];

/**
 * @param {string} algorithm
 * @returns {Line[]}
 */
function pair(algorithm) {
    if (algorithm === "average") return [...oneSide("max", false, "mean_value"), [""], ...MEAN_VALUE];
    const prunes = algorithm === "alphabeta";
    return [...oneSide("max", prunes, "min_value"), [""], ...oneSide("min", prunes, "max_value")];
}

/**
 * The form `map`: a map over the moves into an accumulator.
 * @param {boolean} prunes
 * @returns {Line[]}
 */
function map(prunes) {
    return [
        ["search(board, depth, best):", "enter"],
        ["    if the game is over or depth = 0: return the value", "leaf"],
        ["    board.map(moves, board accepts updateBest, best):"],
        ["        won, lost, drawn: value ← 1, −1, 0, or the chosen score"],
        ["        goes on: value ← search(board, depth − 1, best.successor)", "returned"],
        ["        best.take(move, value)", "narrowed"],
        .../** @type {Line[]} */ (prunes ? [["        best.has_enough: the board ends the map", "cut"]] : []),
        ["    return best.value", "leave"],
    ];
}

/**
 * The form `table`: states that were searched before are remembered.
 * @param {boolean} prunes
 * @returns {Line[]}
 */
function table(prunes) {
    const lines = prunes ? alphabeta() : MINIMAX;
    const end = lines.findIndex(([, events]) => events?.startsWith("leave"));
    return [
        ...lines.slice(0, 2),
        ["    if the table knows enough of node: return that", "table"],
        ...lines.slice(2, end),
        ["    store the value of node in the table"],
        ...lines.slice(end),
    ];
}

/** The flat forms by algorithm. @type {Record<string, Line[]>} */
const FLAT = {
    minimax: MINIMAX,
    negamax: NEGAMAX,
    alphabeta: alphabeta(),
    "fail-soft": alphabeta(),
    "fail-hard": alphabeta({ result: "α if MAX chooses, β if MIN chooses" }),
    strict: alphabeta({ hasEnough: "α > β" }),
    "one-bound": alphabeta({ below: "own best only", hasEnough: "value is beyond the bound and not the first" }),
    "one-bound-early": alphabeta({ below: "own best only", hasEnough: "value is beyond the bound" }),
    "parent-bound": alphabeta({ below: "own best only", hasEnough: "value is beyond the bound or equal" }),
    accumulators: map(true),
    average: AVERAGE,
    "max-n": MAX_N,
    paranoid: PARANOID,
    greedy: GREEDY,
    optimistic: OPTIMISTIC,
    random: RANDOM,
};

/**
 * @param {string} algorithm
 * @param {string} form
 * @returns {Line[]}
 */
function linesOf(algorithm, form) {
    const prunes = algorithm === "alphabeta";
    const isHard = algorithm === "fail-hard";
    if (form === "nodes") return nodes(prunes || isHard, isHard);
    if (form === "pair") return pair(algorithm);
    if (form === "map") return map(prunes);
    if (form === "table") return table(prunes);
    return FLAT[algorithm] ?? MINIMAX;
}

/**
 * The pseudo-code of a search.
 * @param {Pick<TraceHead, "algorithm" | "form">} head
 * @param {boolean} hasChance whether a node of chance was visited
 * @returns {Code}
 */
export function codeOf({ algorithm, form }, hasChance) {
    const lines = linesOf(algorithm, form).filter((line) => hasChance || line !== IF_CHANCE);
    /** @type {Map<string, number>} */
    const byEvent = new Map();
    lines.forEach(([, events = ""], index) => events.split(" ").forEach((event) => event && byEvent.set(event, index)));
    const lineFor = (/** @type {number} */ what, kind = "", /** @type {string | null} */ reason = "") => {
        const event = (what === LEAVE && LEAVING[reason ?? ""]) || EVENTS[what];
        return byEvent.get(`${event}:${kind}`) ?? byEvent.get(event) ?? -1;
    };
    return { lines: lines.map(([text]) => text), lineFor };
}

/**
 * The index of the line that a step of a search executes, -1 for none. A returned value belongs to the
 * parent's code, and a leaf to the code of the side that would choose there.
 * @param {Code} code
 * @param {SearchTrace} trace
 * @param {number} step
 */
export function lineOfStep(code, trace, step) {
    const what = trace.stepWhat(step);
    const node = trace.stepNode(step);
    const row = what === RETURNED ? trace.parent(node) : node;
    const kind = trace.kind(row) === "leaf" ? trace.turn(row) : trace.kind(row);
    return code.lineFor(what, kind, what === LEAVE ? trace.reason(row) : "");
}
