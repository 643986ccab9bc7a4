import { emptyAddress } from "/client/web/glass/trace/address.js";
import { Run } from "/client/web/glass/trace/run.js";
import { drawFields, evaluatorText, weightsOf } from "/client/web/pages/glass/fields.js";
import { requestOf, secondOf, stateOfRequest, valuesOf, withChanges } from "/client/web/pages/glass/search.js";
import { drawTextField, excerptAt, indexAt } from "/client/web/pages/glass/text-field.js";
import { TraceError } from "/client/web/glass/trace/stream.js";
import { render } from "/client/web/shell/elements.js";
import { assert, assertEqual, test } from "./testing.js";

const ONLY_PLAIN = "only minimax and alphabeta have a table";
const NO_PLAYER = "max-n has a value for each player";
const CHOICES = {
    algorithms: [
        { name: "minimax", text: "plain" },
        { name: "alphabeta", text: "with a window" },
        { name: "max-n", text: "for several players", refuses: { form: { table: ONLY_PLAIN }, player: { "*": NO_PLAYER } } },
    ],
    forms: [
        { name: "flat", text: "one function" },
        { name: "table", text: "remembers states" },
    ],
    orders: [{ name: "game" }, { name: "given", moves: true }],
    evaluators: [{ name: "estimate" }, { name: "material", weights: true }],
    cut_offs: [{ name: "depth" }],
    subjects: { tree: { refuses: { evaluator: { material: "a tree has no pieces" } } } },
    games: [{ id: "chess", title: "Chess", depth: 3, evaluator: "estimate", kinds: ["queen", "rook"] }],
    defaults: { algorithm: "alphabeta", form: "flat", order: "game", cut_off: "depth", seed: 0, player: 0, fresh: false },
    limits: { depth: 64, nodes: 20_000, seconds: 5, text_bytes: 65_536 },
};
const CHESS = { ...emptyAddress(), game: "chess" };

/** Draws the fields of a state; returns the parent and the changes made. */
function openFields(state) {
    const parent = document.createElement("div");
    document.body.append(parent);
    const changes = [];
    const change = (made) => changes.push(made);
    const values = valuesOf(state, CHOICES, null);
    render(parent, drawFields({ id: "f", choices: CHOICES, state, values, sides: ["White", "Black"], kinds: ["queen", "rook"], change }));
    return { parent, changes };
}

function input(field, value) {
    field.value = value;
    field.dispatchEvent(new Event(field.localName === "select" ? "change" : "input"));
}

test("what conflicts with the chosen algorithm is greyed with the server's reason", () => {
    const { parent } = openFields({ ...CHESS, algorithm: "max-n" });
    const table = parent.querySelector("#f-form option[value=table]");
    assertEqual([table.disabled, table.textContent], [true, `table (${ONLY_PLAIN})`]);
    const player = parent.querySelector("#f-player");
    const about = parent.querySelector(`#${player.getAttribute("aria-describedby")}`);
    assertEqual([player.disabled, about.textContent], [true, NO_PLAYER]);
    assertEqual(openFields(CHESS).parent.querySelectorAll(":disabled").length, 0);
});

test("a chosen value gives way to an algorithm that it conflicts with", () => {
    const before = { ...CHESS, form: "table", player: 2, depth: 4 };
    const { algorithm, form, player, depth } = withChanges(CHOICES, before, { algorithm: "max-n" });
    assertEqual([algorithm, form, player, depth], ["max-n", null, null, 4]);
    assertEqual(withChanges(CHOICES, before, { algorithm: "minimax" }).form, "table");
});

test("the fields show the defaults of the server and of the game, and change what is chosen", () => {
    const { parent, changes } = openFields(CHESS);
    const value = (id) => parent.querySelector(`#f-${id}`).value;
    assertEqual(["algorithm", "form", "depth", "evaluator"].map(value), ["alphabeta", "flat", "3", "estimate"]);
    input(parent.querySelector("#f-depth"), "5");
    input(parent.querySelector("#f-player"), "2");
    input(parent.querySelector("#f-player"), "");
    parent.querySelector("#f-end").click();
    assertEqual(changes, [{ depth: 5 }, { player: 2 }, { player: null }, { depth: "end" }]);
});

test("a weight of a piece is part of the evaluator's text", () => {
    const { parent, changes } = openFields({ ...CHESS, evaluator: "material:queen=9" });
    assertEqual(parent.querySelector("#f-weight-queen").value, "9");
    input(parent.querySelector("#f-weight-rook"), "5");
    input(parent.querySelector("#f-weight-queen"), "");
    assertEqual(changes, [{ evaluator: "material:queen=9,rook=5" }, { evaluator: "material" }]);
    assertEqual([weightsOf("material:a=1,b=20"), evaluatorText("material", {})], [{ a: 1, b: 20 }, "material"]);
});

test("a request has what is chosen, and only that", () => {
    assertEqual(requestOf(emptyAddress()), null);
    assertEqual(requestOf({ ...CHESS, moves: ["e2e4"], depth: "end", cutOff: "quiet" }), { game: "chess", moves: ["e2e4"], depth: null, cut_off: "quiet" });
    assertEqual(requestOf({ ...CHESS, game: null, match: "m1", ply: 0, depth: 2 }), { match: "m1", ply: 0, depth: 2 });
    assertEqual(requestOf({ ...CHESS, game: null, tree: " " }), null);
    const two = { ...CHESS, depth: 2, with: { algorithm: "minimax" } };
    assertEqual(requestOf(secondOf(two)), { game: "chess", algorithm: "minimax", depth: 2 });
    const request = { tree: "max(1, 2)", algorithm: "minimax", depth: null };
    assertEqual(requestOf(stateOfRequest({ ...two, with: null }, request)), request);
});

test("a mistake in a text is shown by line and column, and the caret goes there", () => {
    const text = "max(\n  A: 1,\n  B: foo)";
    const parent = document.createElement("div");
    document.body.append(parent);
    const error = new TraceError({ code: "trace.text", message: "line 3, column 6: a number was expected", line: 3, column: 6 });
    render(parent, drawTextField({ kind: "tree", text, maxLength: 100, error, change() {}, announce() {} }));
    const area = parent.querySelector("textarea");
    assertEqual(area.getAttribute("aria-invalid"), "true");
    assertEqual(parent.querySelector(".refusal").textContent, "Line 3, column 6 A number was expected.");
    assertEqual(parent.querySelector(".excerpt").textContent, "  B: foo)\n     ^");
    parent.querySelector(".refusal button").click();
    assertEqual([document.activeElement === area, area.selectionStart], [true, text.indexOf("foo")]);
    parent.remove();
    assertEqual(indexAt("a\nbc", 9, 9), 4);
    const long = excerptAt("x".repeat(200), 1, 150);
    assertEqual([long.text.length, long.column], [60, 30]);
});

/** A response that streams lines; an open one ends only when its signal is aborted. */
function stream(lines, isOpen = false, signal = undefined) {
    const body = new ReadableStream({
        start(controller) {
            signal?.addEventListener("abort", () => isOpen && controller.error(signal.reason));
            for (const line of lines) controller.enqueue(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
            if (!isOpen) controller.close();
        },
    });
    return new Response(body, { headers: { "Content-Type": "application/x-ndjson" } });
}

const NODES = { parent: [-1], move: [""], kind: ["leaf"], depth: [0], alpha: [null], beta: [null], sign: [1], turn: ["max"], status: ["ongoing"] };
const CHUNK = { nodes: NODES, left: { row: [], value: [], bound: [], reason: [] }, skipped: { parent: [], move: [], below: [] }, steps: { what: [0], node: [0], low: [null], high: [null] } };
const END = { end: { counts: { nodes: 1, leaves: 1, plain_nodes: 1, plain_leaves: 1, minimum_leaves: 1, ordering: 0 }, value: 1, line: [], meaning: "", truncated: false } };

async function until(holds) {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve));
}

test("a new search cancels the one before it, and the earlier tree stays until it arrives", async () => {
    const signals = [];
    const answers = [[[{ head: { title: "one" } }, CHUNK], true], [[{ head: { title: "two" } }, CHUNK, END]]];
    window.fetch = async (_, { signal }) => {
        const [lines, isOpen] = answers[signals.push(signal) - 1];
        return stream(lines, isOpen, signal);
    };
    const run = new Run(() => {}, 0);
    run.request({ request: { tree: "1" } });
    run.request({ request: { tree: "1" } });
    await until(() => run.trace?.head.title === "one");
    assertEqual([signals.length, run.isComplete, run.isRunning], [1, false, true]);
    run.request({ request: { tree: "2" } });
    assertEqual([signals[0].aborted, run.trace.head.title], [true, "one"]);
    await until(() => run.isComplete);
    assertEqual([run.trace.head.title, run.isRunning, run.error], ["two", false, null]);
});

test("a search that stops keeps what it saw, and a refusal keeps the earlier tree", async () => {
    const stopped = { error: { code: "trace.too_large", message: "stopped after 5 s" } };
    const refusal = { code: "trace.text", message: "a number was expected", line: 1, column: 2 };
    const answers = [stream([{ head: { title: "one" } }, CHUNK, stopped]), new Response(JSON.stringify(refusal), { status: 400 })];
    window.fetch = async () => answers.shift();
    const run = new Run(() => {}, 0);
    run.request({ request: { tree: "1" } });
    await until(() => run.error !== null);
    assertEqual([run.trace.count, run.isStale, run.error.message], [1, false, "stopped after 5 s"]);
    run.request({ request: { tree: "x" } });
    await until(() => run.error !== null);
    assertEqual([run.trace.head.title, run.isStale, run.error.line, run.error.column], ["one", true, 1, 2]);
    assert(!run.isRunning, "it does not run any more");
});
