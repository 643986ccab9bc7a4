import { codeOf } from "/client/web/glass/text/code.js";
import { stateAt } from "/client/web/glass/trace/search-state.js";
import { drawCounters } from "/client/web/glass/viewer/counters.js";
import { Controls, SPEEDS } from "/client/web/glass/viewer/controls.js";
import { NodeBoards } from "/client/web/glass/trace/boards.js";
import { cutWords, nameOf } from "/client/web/glass/text/facts.js";
import { nodeName, stepSentence } from "/client/web/glass/text/sentences.js";
import { SearchTrace } from "/client/web/glass/trace/trace.js";
import { toJson, toLog } from "/client/web/glass/viewer/export.js";
import { SearchViewer } from "/client/web/glass/viewer/viewer.js";
import { render } from "/client/web/shell/elements.js";
import { drawText } from "/client/web/lesson/text.js";
import { traceOf } from "./glass_traces.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

/** A clock that a test turns. */
class Clock {
    #now = 0;
    #timers = new Map();
    #count = 0;
    now = () => this.#now;
    after = (ms, callback) => {
        this.#timers.set(++this.#count, [this.#now + ms, callback]);
        return this.#count;
    };
    cancel = (timer) => this.#timers.delete(timer);

    pass(ms) {
        const end = this.#now + ms;
        for (;;) {
            const due = [...this.#timers].filter(([, [at]]) => at <= end).sort(([, [a]], [, [b]]) => a - b)[0];
            if (!due) break;
            this.#timers.delete(due[0]);
            this.#now = due[1][0];
            due[1][1]();
        }
        this.#now = end;
    }
}

/** Controls of 20 steps, which record what is announced. */
function controlled(count = 20) {
    const clock = new Clock();
    const said = [];
    const shown = { step: 0 };
    const controls = new Controls(
        {
            app: { update: () => {}, announce: (text) => said.push(text) },
            count: () => count,
            step: () => shown.step,
            go: (step) => (shown.step = step),
            next: (step, unit, direction) => (unit === "end" ? (direction > 0 ? count : 0) : Math.max(0, Math.min(count, step + direction * (unit === "step" ? 1 : 5)))),
            text: () => `step ${shown.step}`,
        },
        clock,
    );
    const press = (key, rest = {}) => controls.onKey(new KeyboardEvent("keydown", { key, cancelable: true, ...rest }));
    return { controls, clock, said, shown, press };
}

test("each key of the controls leads to its step, and no other key is taken", () => {
    const { shown, press } = controlled();
    const steps = ["ArrowRight", "ArrowRight", "n", "p", "ArrowLeft", "End", "Home"].map((key) => {
        assert(press(key), `${key} is handled`);
        return shown.step;
    });
    assertEqual(steps, [1, 2, 7, 2, 1, 20, 0]);
    press("ArrowRight", { shiftKey: true });
    assertEqual(shown.step, 5);
    for (const key of ["f", "Tab", "Enter", "Escape", "ArrowUp"]) assert(!press(key), `${key} is left to others`);
    assert(!press("n", { ctrlKey: true }), "the browser's own keys are left to it");
});

test("the steps play at the chosen speed to the end, and are announced seldom", () => {
    const { controls, clock, said, shown, press } = controlled();
    press(" ");
    assert(controls.isPlaying, "Space starts the playing");
    clock.pass(1000);
    assertEqual(shown.step, SPEEDS[2]);
    press("+");
    clock.pass(2000);
    assertEqual(shown.step, 9);
    press(" ");
    clock.pass(5000);
    assertEqual([shown.step, controls.isPlaying], [9, false]);
    press(" ");
    clock.pass(60_000);
    assertEqual([shown.step, controls.isPlaying, said.at(-1)], [20, false, "step 20"]);
    assert(said.filter((text) => text.startsWith("step")).length < 6, "not every step is announced");
    press(" ");
    assertEqual(shown.step, 0);
    press("ArrowRight");
    assertEqual([shown.step, controls.isPlaying], [1, false]);
    press(" ");
    controls.stop();
    clock.pass(60_000);
    assertEqual(shown.step, 1);
});

/** A trace of a MAX root with two leaves: 20, 15. */
async function smallTrace(head = {}) {
    const trace = new SearchTrace({ algorithm: "minimax", form: "flat", title: "A tree", game: "", view: "root", board: null, start: null, ...head });
    const add = (row, move, kind) => ({
        parent: [row === 0 ? -1 : 0], move: [move], kind: [kind], depth: [row && 1], alpha: [null], beta: [null], sign: [1], turn: [kind], status: ["ongoing"],
    });
    const leaf = (row, move, value, low, high) => ({
        nodes: add(row, move, "leaf"),
        left: { row: [row], value: [value], bound: ["exact"], reason: ["leaf"] },
        steps: { what: [0, 4, 1], node: [row, row, row], low: [null, value, low], high: [null, value, high] },
    });
    trace.add({ nodes: add(0, "", "max"), steps: { what: [0], node: [0], low: [null], high: [null] } });
    trace.add(leaf(1, "A", 20, 20, null));
    return { trace, more: () => trace.add(leaf(2, "B", 15, 20, 20)) };
}

function viewerOf(trace, options = {}) {
    const node = document.createElement("main");
    document.body.append(node);
    const steps = [];
    const app = { update: () => render(node, viewer.draw()), announce: () => {} };
    const viewer = new SearchViewer({ app, trace, onStep: (step) => steps.push(step), ...options });
    app.update();
    return { node, viewer, steps, sentence: () => node.querySelector(".sentence").textContent };
}

test("a viewer at the end of a growing trace follows it, any other keeps its step", async () => {
    const { trace, more } = await smallTrace();
    const [last, first] = [viewerOf(trace), viewerOf(trace, { step: 1 })];
    assertEqual(last.sentence(), "A returns 20. MAX has at least 20 at the root.");
    more();
    for (const { viewer } of [last, first]) viewer.onGrow();
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    assertEqual(last.sentence(), "B returns 15. The value at the root is 20.");
    assertEqual(first.sentence(), "The search begins at the root, where MAX chooses.");
});

test("a viewer tells its page the user's steps, and not those of the page", async () => {
    const { trace } = await smallTrace();
    const { node, viewer, steps, sentence } = viewerOf(trace, { step: 0 });
    viewer.onKey(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    node.querySelector("[aria-label='One step forward']").click();
    viewer.goTo(4);
    assertEqual([steps, viewer.step, sentence()], [[1, 2], 4, "A returns 20. MAX has at least 20 at the root."]);
    assertEqual(node.querySelector(".code-lines .current").textContent, "add minimax(node after move, depth − 1) to the values");
});

test("code and counts say nothing of chance and of cut-offs where there are none", () => {
    const codes = ["flat", "table"].flatMap((form) => [false, true].map((hasChance) => codeOf({ algorithm: "minimax", form }, hasChance).lines.join()));
    assertEqual(codes.map((code) => code.includes("chance")), [false, true, false, true]);
    const texts = ["minimax", "alphabeta"].map((algorithm) => {
        const trace = traceOf([12, 3], algorithm === "alphabeta");
        trace.head = { ...trace.head, algorithm };
        trace.end = { ...trace.end, counts: { nodes: 3, leaves: 2, plain_nodes: 3, plain_leaves: 2, minimum_leaves: 2, ordering: 0 } };
        render(document.body, drawCounters(trace, stateAt(trace, 0)));
        return document.body.textContent;
    });
    assertEqual(texts.map((text) => text.includes("Minimum")), [false, true]);
    assert(texts.every((text) => text.match(/leaves: 2 moves at each node, 1 level(?!s)/)), texts.join());
});

test("a search that was stopped says why at its end", async () => {
    const { trace } = await smallTrace();
    trace.add({ end: { counts: { nodes: 2 }, value: null, line: [], meaning: "it took 5 seconds", truncated: true } });
    const { viewer, sentence } = viewerOf(trace);
    assert(sentence().endsWith("The search was stopped here: it took 5 seconds."), sentence());
    viewer.goTo(1);
    assertEqual(sentence(), "The search begins at the root, where MAX chooses.");
});

test("boards are requested ahead, once, and again only after a while if the request failed", async () => {
    const { trace, more } = await smallTrace({ game: "hex", board: {}, start: { id: 0 } });
    more();
    const requests = [];
    let isFailing = false;
    let changes = 0;
    const request = async (lines) => {
        requests.push(lines.map((line) => line.join(" ")));
        if (isFailing) throw new Error("the server does not answer");
        return lines.map((line) => ({ id: line.join(" ") }));
    };
    const boards = new NodeBoards(trace, () => changes++, request);
    boards.prefetch(0, 0);
    boards.prefetch(1, 0);
    await flushPromises();
    assertEqual([requests, changes], [[["A", "B"]], 1]);
    assertEqual([0, 1, 2].map((row) => boards.positionOf(row)?.id), [0, "A", "B"]);
    boards.prefetch(2, 0);
    assertEqual(requests.length, 1);
    isFailing = true;
    const failing = new NodeBoards(trace, () => failing.prefetch(1, 0), request);
    failing.prefetch(1, 0);
    await flushPromises();
    await flushPromises();
    assertEqual([requests.length, failing.failure], [2, "the server does not answer"]);
    failing.prefetch(2, 0);
    await flushPromises();
    assertEqual(requests.length, 2);
    failing.stop();
});

test("a move has one name on the page, and only a key scrolls the page to the tree", async () => {
    const { trace, more } = await smallTrace({ game: "chess", notation: { A: "Qxf7#", B: "Nf3" } });
    more();
    trace.add({ nodes: { parent: [2], move: ["e7e5"], kind: ["leaf"], depth: [2], alpha: [null], beta: [null], sign: [1], turn: ["max"], status: ["ongoing"] } });
    assertEqual(nodeName(trace, 3), "B e7e5", "all moves are tokens until all are written");
    assertEqual(trace.lineTo(3), ["B", "e7e5"]);
    const cut = { skipped: { parent: [2, 2], move: ["g8f6", "e7e6"], below: [null, null] }, steps: { what: [3], node: [2], low: [3], high: [2] } };
    const growth = trace.stepCount;
    trace.add(cut);
    trace.add({ written: { nodes: { row: [], move: [] }, skipped: { row: [0], move: ["Nf6"] } }, rest: 1 });
    assertEqual([nodeName(trace, 3), trace.skipped(2)[0].written], ["B e7e5", "g8f6"]);
    trace.add({ written: { nodes: { row: [3], move: ["e5"] }, skipped: { row: [], move: [] } }, rest: 0 });
    assertEqual(nodeName(trace, 3), "Nf3 e5", "they do not wait for the count of plain minimax");
    trace.add({ end: { counts: {}, value: 20, line: ["B", "e7e5"], written: ["Nf3", "e5"], meaning: "", truncated: false } });
    assertEqual([nodeName(trace, 3), nameOf(trace, 3), trace.lineTo(3)], ["Nf3 e5", "e5", ["B", "e7e5"]]);
    assertEqual(trace.skipped(2).map(({ move, written }) => [move, written]), [["g8f6", "Nf6"], ["e7e6", "e7e6"]]);
    assertEqual(cutWords(trace.skipped(2)), "cut off, never visited: Nf6, e7e6");
    const [, tree, result] = toLog(trace, "tree").split("\n\n");
    assert(tree.includes("Nf3") && !tree.includes("e7e5") && result.includes("best line: Nf3 e5"), "the text writes moves alike");
    const columns = JSON.parse(toJson(trace));
    assertEqual([columns.nodes.move[3], columns.skipped.move, columns.line], ["e7e5", ["g8f6", "e7e6"], ["B", "e7e5"]]);
    assert(stepSentence(trace, stateAt(trace, growth + 1)).includes("(Nf6, e7e6)"), "the sentence of a cut-off writes moves alike");
    const { node, viewer, steps } = viewerOf(trace, { step: 1 });
    let scrolls = 0;
    node.querySelector(".tree").scrollIntoView = () => scrolls++;
    node.querySelector('[aria-label="One step forward"]').click();
    assertEqual([steps.length, scrolls], [1, 0]);
    viewer.onKey(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    viewer.onKey(new KeyboardEvent("keydown", { key: "ArrowRight" }));
    assertEqual([steps.length > 1, scrolls], [true, 1]);
    viewer.stop();
    node.remove();
});

test("the text of a lesson is whole; a long one is folded after a sentence", () => {
    const parts = (/** @type {string} */ page) => {
        const node = document.createElement("main");
        render(node, drawText({ page }));
        return [...node.querySelectorAll("p")].map(({ textContent }) => textContent);
    };
    const sentence = "A tree has a root, at the top: the position now. ";
    assertEqual(parts(sentence.repeat(9)), [sentence.repeat(9)]);
    const long = sentence.repeat(12);
    const [shown, rest] = parts(long);
    assertEqual([`${shown} ${rest}`, shown.endsWith(": the position now."), shown.length < 300], [long, true, true]);
});

test("someone who drags through a search makes few requests for boards, the last for where they stop", async () => {
    const { trace } = await smallTrace({ game: "hex", board: {}, start: { id: 0 } });
    const leaf = (row) => ({
        nodes: { parent: [0], move: [`m${row}`], kind: ["leaf"], depth: [1], alpha: [null], beta: [null], sign: [1], turn: ["min"], status: ["ongoing"] },
    });
    for (let row = 2; row < 2000; row++) trace.add(leaf(row));
    const clock = new Clock();
    const requests = [];
    const request = async (lines) => {
        requests.push(lines);
        return lines.map((line) => ({ id: line.at(-1) }));
    };
    const boards = new NodeBoards(trace, () => {}, request, clock);
    for (let row = 0; row < 2000; row += 10) {
        boards.prefetch(row, 0);
        await flushPromises();
        clock.pass(10);
    }
    clock.pass(400);
    await flushPromises();
    assert(requests.length <= 7, `${requests.length} requests in 2 s`);
    assertEqual(boards.positionOf(1990).id, "m1990");
    assert(requests.every((lines) => lines.length <= 64), "a request is not too long");
    boards.prefetch(1000, 0);
    boards.stop();
    clock.pass(1000);
    assert(requests.length <= 8, "nothing is requested any more");
});
