import { stateAt } from "/client/web/glass/trace/search-state.js";
import { COUSIN_GAP_PX, SIBLING_GAP_PX, layOut } from "/client/web/glass/drawing/layout.js";
import { itemMeasure } from "/client/web/glass/drawing/shapes.js";
import { bestLine, shownNodes } from "/client/web/glass/drawing/shown-nodes.js";
import { assert, assertEqual, test } from "./testing.js";
import { randomNumbers, randomTree, someSteps, traceOf } from "./glass_traces.js";

const random = randomNumbers(11);
/** Searches of all shapes: small and whole, large, with long lists of children, deep. */
const TRACES = [
    ...Array.from({ length: 12 }, () => traceOf(randomTree(random, 4 + random(300), 6, 5))),
    ...Array.from({ length: 6 }, () => traceOf([...Array(3).keys()].map(() => randomTree(random, 900, 9, 6)))),
    traceOf([...Array(120).keys()].map(() => Array.from({ length: 90 }, () => random(50))), false),
    traceOf([...Array(3).keys()].map(() => Array.from({ length: 40 }, () => Array.from({ length: 30 }, () => random(9)))), false),
    traceOf(Array.from({ length: 63 }).reduce((tree) => [random(9), random(9), tree, random(9), 3], 1), false),
];

/** A random set of rows. */
function someRows(trace, count) {
    return new Set(Array.from({ length: count }, () => (random(5) === 0 ? ~random(trace.count) : random(trace.count))));
}

function everyRow(trace) {
    const rows = [...Array(trace.count).keys()];
    return new Set(random(2) === 0 ? rows : rows.flatMap((row) => [row, ~row]));
}

/** The drawn trees at some steps of a trace, some with nodes that the user has opened or closed. */
function* shownTrees(trace, count) {
    for (const step of someSteps(random, trace, count)) {
        const state = stateAt(trace, step);
        const closed = new Set([...someRows(trace, random(4)), ...state.path.filter(() => random(6) === 0)]);
        const choice = random(2) === 0 ? {} : { opened: random(2) === 0 ? everyRow(trace) : someRows(trace, random(40)), closed };
        const limit = [4 * 65, 280 + random(20), Math.max(4 * 65, Math.min(trace.count, 400))][random(3)];
        yield { state, choice, limit, shown: shownNodes(trace, state, { ...choice, limit }) };
    }
}

function rowsOf(node) {
    return [node.row, ...node.children.flatMap(rowsOf)];
}

test("a drawn tree never has more shapes than the limit, and always the path", () => {
    for (const trace of TRACES)
        for (const { state, limit, shown } of shownTrees(trace, 12)) {
            assert(countShapes(shown) <= limit, `${countShapes(shown)} shapes at step ${state.step}, at most ${limit}`);
            const rows = new Set(rowsOf(shown));
            assert(state.path.every((row) => rows.has(row)), `the path ${state.path} is drawn at step ${state.step}`);
        }
});

test("every node of a search is drawn or counted in a fold, and every cut-off move is drawn or folded", () => {
    const total = (node) => (node.row < 0 ? 0 : 1) + node.fold + node.children.reduce((sum, child) => sum + total(child), 0);
    for (const trace of TRACES)
        for (const { shown } of shownTrees(trace, 8)) {
            assertEqual(total(shown), trace.count);
            for (const node of nodesOf(shown)) {
                const moves = node.cut.flat().map(({ move }) => move);
                const isOpen = node.isOpen && node.row >= 0;
                assertEqual(moves, isOpen ? trace.skipped(node.row).map(({ move }) => move) : []);
            }
        }
});

function nodesOf(node) {
    return [node, ...node.children.flatMap(nodesOf)];
}

test("the placed items do not overlap, keep their order, and a parent is above the middle of its children", () => {
    for (const trace of TRACES)
        for (const view of ["window", "interval"])
            for (const { shown } of shownTrees(trace, 4)) checkLayout(layOut(shown, itemMeasure(trace, view)));
});

function checkLayout({ items, left, right, bottom }) {
    const levels = Map.groupBy(items, (item) => item.ply);
    for (const level of levels.values())
        level.slice(1).forEach((item, i) => {
            const before = level[i];
            const gap = item.parent === before.parent ? SIBLING_GAP_PX : COUSIN_GAP_PX;
            const free = item.x - item.width / 2 - before.x - before.width / 2;
            assert(free >= gap - 1e-6, `${item.key} is ${free} px from ${before.key}, at least ${gap}`);
            assertEqual(item.y, before.y);
        });
    items.forEach((item, index) => {
        assert(item.x - item.width / 2 >= left - 1e-6 && item.x + item.width / 2 <= right + 1e-6, `${item.key} is inside`);
        assert(item.y + item.height <= bottom, `${item.key} ends above the bottom`);
        const children = items.filter((child) => child.parent === index);
        if (children.length === 0) return;
        assert(children.every((child) => child.y >= item.y + item.height), `the children are below ${item.key}`);
        const middle = (children[0].x + children.at(-1).x) / 2;
        assert(Math.abs(item.x - middle) < 1e-6, `${item.key} is above the middle of its children`);
    });
    assertEqual([items[0].x, new Set(items.map((item) => item.key)).size], [0, items.length]);
}

/** The number of shapes of a drawn tree. */
function countShapes(node) {
    return node.children.reduce((sum, child) => sum + countShapes(child), 1 + node.cut.length);
}

test("a node stays where it is as long as it is drawn, and the node of a step is drawn, from step to step", () => {
    for (const trace of TRACES) {
        const second = trace.enterStep(trace.children(0)[1] ?? 0);
        for (const first of [Math.max(1, second - 20), 1 + random(trace.stepCount)]) {
            let before = new Map();
            for (let step = first; step < Math.min(trace.stepCount, first + 40); step++) {
                const { items } = layOut(shownNodes(trace, stateAt(trace, step)), itemMeasure(trace, "window"));
                for (const { key, x, y } of items)
                    if (before.has(key)) assertEqual([step, key, x, y], [step, key, ...before.get(key)]);
                before = new Map(items.map(({ key, x, y }) => [key, [x, y]]));
                assert(before.has(`node ${trace.stepNode(step - 1)}`), `the node of step ${step} is drawn`);
            }
        }
    }
});

test("a list of children that is too long has its rest folded, which the user can open", () => {
    const trace = TRACES.find((one) => one.children(0).length === 120);
    const shown = shownNodes(trace, stateAt(trace, 1));
    const hidden = (tree) => tree.children.filter((child) => child.row < 0).map((child) => child.hidden.length);
    assert(hidden(shown)[0] > 10, "some children are hidden");
    assertEqual(hidden(shownNodes(trace, stateAt(trace, 1), { opened: new Set([~0]) })), []);
    const late = shownNodes(trace, stateAt(trace, trace.enterStep(trace.children(0)[110]) + 1));
    assertEqual(late.children.map((child) => child.row).includes(trace.children(0)[110]), true);
});

test("after a large search the best line is drawn, also before its end has arrived", () => {
    for (const trace of TRACES.filter((one) => one.end)) {
        const { end } = trace;
        const drawn = () => {
            const shown = [shownNodes(trace, stateAt(trace, trace.stepCount), { maxWidth: 20 })];
            for (const { children } of shown) shown.push(...children);
            return shown.map(({ row }) => row);
        };
        const last = drawn();
        trace.end = null;
        const [early, line] = [drawn(), bestLine(trace)];
        trace.end = end;
        assertEqual(early, last);
        for (const row of line) assert(early.includes(row) && trace.value(row) === trace.value(0), "the value of the root is in sight");
    }
});
