/** Random trees, and the traces of their alpha-beta searches, for the tests of the drawing. */

import { SearchTrace } from "/client/web/glass/trace/trace.js";

/** Random numbers below a limit, the same ones in every run. */
export function randomNumbers(seed) {
    let state = seed;
    return (limit) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return (state >>> 8) % limit;
    };
}

/** A random tree of at most `nodes` nodes: a number for a leaf, a list of children for another node. */
export function randomTree(random, nodes, depth, width) {
    if (depth === 0 || nodes <= 1 || random(6) === 0) return random(41) - 20;
    const count = 1 + random(Math.min(width, nodes - 1));
    return Array.from({ length: count }, () => randomTree(random, Math.floor((nodes - 1) / count), depth - 1, width));
}

/** The trace of an alpha-beta search of a tree, with MAX at the root. */
export function traceOf(tree, isWindowed = true) {
    const nodes = { parent: [], move: [], kind: [], depth: [], alpha: [], beta: [], sign: [], turn: [], status: [] };
    const left = { row: [], value: [], bound: [], reason: [] };
    const skipped = { parent: [], move: [], below: [] };
    const steps = { what: [], node: [], low: [], high: [] };
    const end = (number) => (Number.isFinite(number) ? number : null);
    const step = (what, node, low, high) => [what, node, end(low), end(high)].forEach((part, i) => Object.values(steps)[i].push(part));

    function search(node, parent, move, depth, alpha, beta) {
        const row = nodes.parent.length;
        const side = depth % 2 === 0 ? "max" : "min";
        const isLeaf = typeof node === "number";
        const parts = [parent, move, isLeaf ? "leaf" : side, depth, end(alpha), end(beta), 1, side, "ongoing"];
        Object.values(nodes).forEach((column, i) => column.push(parts[i]));
        step(0, row, alpha, beta);
        let value = isLeaf ? node : side === "max" ? -Infinity : Infinity;
        let isCut = false;
        for (let i = 0; !isLeaf && i < node.length; i++) {
            if (isCut) {
                skipped.parent.push(row);
                skipped.move.push(`m${i}`);
                skipped.below.push(sizeOf(node[i]) - 1);
                continue;
            }
            const child = nodes.parent.length;
            const result = search(node[i], row, `m${i}`, depth + 1, alpha, beta);
            value = side === "max" ? Math.max(value, result) : Math.min(value, result);
            step(1, child, side === "max" ? value : -Infinity, side === "max" ? Infinity : value);
            if (side === "max" ? value > alpha : value < beta) {
                [alpha, beta] = side === "max" ? [value, beta] : [alpha, value];
                if (isWindowed) step(2, row, alpha, beta);
            }
            isCut = isWindowed && alpha >= beta && i < node.length - 1;
            if (isCut) step(3, row, alpha, beta);
        }
        const bound = isCut ? (side === "max" ? "lower" : "upper") : "exact";
        [row, value, bound, isLeaf ? "leaf" : isCut ? "cut" : "all"].forEach((part, i) => Object.values(left)[i].push(part));
        step(4, row, bound === "upper" ? -Infinity : value, bound === "lower" ? Infinity : value);
        return value;
    }

    const value = search(tree, -1, "", 0, -Infinity, Infinity);
    const algorithm = isWindowed ? "alphabeta" : "minimax";
    const trace = new SearchTrace({ algorithm, form: "flat", title: "Random", position: "root", game: "", view: "root", player: 0 });
    trace.add({ nodes, left, skipped, steps });
    const counts = { nodes: trace.count, leaves: 0, plain_nodes: null, plain_leaves: null, minimum_leaves: null, ordering: 0 };
    trace.add({ end: { counts, value, line: bestLine(trace), meaning: "", truncated: false } });
    return trace;
}

function sizeOf(node) {
    return typeof node === "number" ? 1 : node.reduce((sum, child) => sum + sizeOf(child), 1);
}

function bestLine(trace) {
    const line = [];
    for (let row = 0; trace.firstChild(row) >= 0; ) {
        row = trace.children(row).find((child) => trace.value(child) === trace.value(row) && trace.bound(child) === "exact") ?? trace.firstChild(row);
        line.push(trace.move(row));
    }
    return line;
}

/** Random steps of a trace with its first and its last one, in their order. */
export function someSteps(random, trace, count) {
    const steps = Array.from({ length: count }, () => random(trace.stepCount + 1));
    return [...new Set([0, ...steps, trace.stepCount])].sort((a, b) => a - b);
}
