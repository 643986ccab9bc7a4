import { drawArrows } from "/client/web/board/arrows.js";
import { layOut } from "/client/web/board/geometry.js";
import { render } from "/client/web/shell/elements.js";
import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { assessed, thoughtsOf, withThoughts } from "/client/web/ui/thoughts.js";
import { ThinkingPanel, drawThinkingSetting, thoughtFor } from "/client/web/ui/thinking/panel.js";
import { assert, assertEqual, test } from "./testing.js";

const ROOM = "r7Kq2";

async function golden(name) {
    return (await fetch(`/tests/data/messages/${name}.json`)).json();
}

async function thoughtOf(name) {
    let model = follow(EMPTY_MODEL, ROOM);
    for (const message of ["server-joined", "server-snapshot", name]) model = apply(model, await golden(message));
    return model.room.thoughts[1];
}

/** A panel in a page, drawn again on each update; `panel.arrows` are those of the board. */
function mount(thought, more = {}) {
    const node = document.createElement("div");
    document.body.replaceChildren(node);
    const draw = () => render(node, panel.draw({ thought, side: "Yellow", heading: "Yellow, 2.", ...more }));
    const panel = new ThinkingPanel(draw);
    localStorage.clear();
    draw();
    return { node, panel, draw };
}

test("the panel shows the server's words, and the engine's figures only under All moves", async () => {
    const { node } = mount(await thoughtOf("server-thinking-assessed"), { played: "c" });
    const { assessment } = await golden("server-thinking-assessed");
    assertEqual(node.querySelector(".sentence").textContent.replaceAll("\u00a0", " "), assessment.sentence);
    assertEqual(node.querySelector(".note").textContent, assessment.note);
    assertEqual(node.querySelector(".chance").getAttribute("aria-label"), "Yellow: 44 % to win");
    const candidates = [...node.querySelectorAll(".candidate")].map((button) => button.textContent);
    assertEqual(candidates, ["d244 %", "c1 playedworse than 32 %"]);
    const outside = [...node.querySelectorAll(".figures, table")].filter((part) => !part.closest("details.all-moves"));
    assertEqual([outside.length, node.querySelector("details").open], [0, false]);
});

test("a bound has a bar of its own look, and no bar where it says nothing", async () => {
    const thought = await thoughtOf("server-thinking-assessed");
    const [best, other] = thought.assessment.candidates;
    const unknown = { move: "a", text: "a1", says: "no faster win", bound: "upper" };
    const { node } = mount({ ...thought, assessment: { ...thought.assessment, candidates: [best, other, unknown] } });
    const bars = [...node.querySelectorAll(".candidate .meter")].map((meter) => meter.firstElementChild?.className ?? null);
    assertEqual(bars, ["bar", "bar bound", null]);
});

test("a forced win as a bound has no score and no full bar in the engine's table", async () => {
    const thought = await thoughtOf("server-thinking-assessed");
    const moves = [
        { move: "d", score: 29_999 },
        { move: "c", score: 29_999, bound: "upper" },
        { move: "a", score: -29_990, bound: "upper" },
    ];
    const { node } = mount({ ...thought, score: 29_999, moves });
    const rows = [...node.querySelectorAll("tbody tr")].map((row) => [
        row.children[1].textContent,
        row.querySelector(".bar") !== null,
    ]);
    assertEqual(rows, [
        ["win in 1", true],
        ["no better", false],
        ["≤ loss in 10", true],
    ]);
});

test("pointing at a candidate, or focusing it, shows its move on the board until it ends", async () => {
    const thought = await thoughtOf("server-thinking-assessed");
    const { node, panel } = mount(thought);
    const second = () => node.querySelectorAll(".candidate")[1];
    assertEqual(panel.arrows, []);
    for (const [begin, end] of [
        ["pointerenter", "pointerleave"],
        ["focus", "blur"],
    ]) {
        second().dispatchEvent(new Event(begin));
        assertEqual(panel.arrows, [["c1"]]);
        assert(panel.arrows === panel.arrows, "the board is drawn again only for other arrows");
        second().dispatchEvent(new Event(end));
        assertEqual(panel.arrows, []);
    }
});

test("an arrow leads along the cells of a move, and a square, which is no piece, marks a placed one", () => {
    const node = document.createElement("div");
    const layout = layOut({ kind: "grid", cols: 3, rows: 3 }, false);
    render(node, drawArrows(layout, [["a1", "c1"], ["b2"], ["z9"]]));
    assertEqual(node.querySelectorAll(".shaft").length, 1);
    assertEqual(node.querySelectorAll(".head").length, 1);
    assertEqual([node.querySelectorAll("rect.target").length, node.querySelectorAll("circle").length], [1, 0]);
    assert(node.querySelector(".head").getAttribute("points").startsWith("2,2 "), "the tip is on the last cell");
});

test("the choice to hide the panel is kept", async () => {
    const thought = await thoughtOf("server-thinking-assessed");
    const { node } = mount(thought);
    node.querySelector(".toggle").click();
    assertEqual([node.querySelector(".sentence"), node.querySelector(".toggle").textContent], [null, "Show"]);
    const again = document.createElement("div");
    render(again, new ThinkingPanel(() => {}).draw({ thought }));
    assertEqual(again.querySelector(".sentence"), null);
    node.querySelector(".toggle").click();
    assert(node.querySelector(".sentence") !== null, "the panel is shown again");
});

test("thinking that the server withholds is replaced by its reason", async () => {
    const thought = await thoughtOf("server-thinking-withheld");
    const { node } = mount(thought);
    assertEqual(node.querySelector(".empty").textContent, "What the AI thinks is shown after the match.");
    assertEqual(node.querySelector("details"), null);
    const room = { match: { id: "m" }, thoughts: { 1: thought } };
    const read = withThoughts(room, "m", { 1: { depth: 4, score: 1, nodes: 1, nps: 1, time_ms: 1, pv: ["d"] } });
    assertEqual([read.thoughts[1].depth, read.thoughts[1].withheld], [4, ""]);
});

test("beside a person's move nothing of another position is shown", () => {
    const thoughts = thoughtsOf({ 1: { depth: 4, score: 1, nodes: 1, nps: 1, time_ms: 1, pv: ["d"] } });
    assertEqual(thoughtFor(thoughts, 2, false).ply, 1);
    assertEqual(thoughtFor(thoughts, 3, false), null);
    assertEqual(thoughtFor(thoughts, 3, true).ply, 1);
    const words = assessed(thoughts, { 1: { sentence: "…" }, 5: { sentence: "unknown ply" } });
    assertEqual([words[1].assessment.sentence, words[5]], ["…", undefined]);
});

test("the host's setting follows the events, and the control names it", async () => {
    let model = follow(EMPTY_MODEL, ROOM);
    for (const message of ["server-joined", "server-snapshot"]) model = apply(model, await golden(message));
    assertEqual(model.room.thinking, "all");
    model = apply(model, { ...(await golden("event-configured")), v: 5 });
    assertEqual(model.room.thinking, "spectators");
    const node = document.createElement("div");
    const chosen = [];
    render(node, drawThinkingSetting("spectators", (setting) => chosen.push(setting)));
    const select = node.querySelector("select");
    assertEqual(select.value, "spectators");
    select.value = "after";
    select.dispatchEvent(new Event("change"));
    assertEqual(chosen, ["after"]);
});

/** Waits until a condition holds: a module is loaded, an event has come. */
async function until(condition) {
    while (!condition()) await new Promise(requestAnimationFrame);
}

/** A panel whose picture is open and drawn. */
async function mountPicture(thought, more = {}) {
    const mounted = mount(thought, more);
    const details = mounted.node.querySelector(".search-picture");
    details.open = true;
    await until(() => details.querySelector(".depth-chart") !== null);
    return { ...mounted, details };
}

test("the picture of the search loads when it is opened, and says that it is a summary", async () => {
    const { node, details } = await mountPicture(await thoughtOf("server-thinking-depths"), { glass: "/glass?match=m&ply=1" });
    assert(details.textContent.includes("a summary of the search, not its whole tree"), "it says what it is");
    assertEqual(details.querySelector("a").getAttribute("href"), "/glass?match=m&ply=1");
    assert(details.textContent.includes("3,412 branches cut off, 91 % of them by the first move tried"), "the counts");
    const chart = details.querySelector(".depth-chart").getAttribute("aria-label");
    assertEqual(chart, "Yellow, the best move and its chance to win by depth: depth 1 d2 52 %, depth 2 c1 49 %, depth 3 d2 44 %");
    const depths = [...details.querySelectorAll(".depth-moves li")].map((row) => row.textContent);
    assertEqual(depths, ["depth 3d244 %", "depth 2c149 %", "depth 1d252 %"]);
    const rows = [...details.querySelectorAll(".searched-moves li")].map((row) =>
        ["move-text", "expected", "says", "history", "share"].map((name) => (row.querySelector(`.${name}`)?.textContent ?? "").trim().replaceAll("\u00a0", " ")),
    );
    assertEqual(rows, [
        ["d2", "3. d3 4. c1", "44 %", "best since depth 3", "83 %"],
        ["c1", "3. d2", "worse than 32 %", "exact at depth 2, refuted once since", "17 %"],
        ["e1", "", "worse than 25 %", "refuted 3 times", "0 %"],
        ["a1", "", "worse than 20 %", "refuted 3 times", "0 %"],
    ]);
    assert(!node.querySelector(".figures").closest(".search-picture"), "raw figures stay under All moves");
});

test("the picture follows the search while it is open, and closes", async () => {
    const thought = await thoughtOf("server-thinking-depths");
    const { assessment } = thought;
    const { details, draw } = await mountPicture(thought);
    const moved = { ...assessment.depths[2], move: "c", text: "c1" };
    Object.assign(thought, { assessment: { ...assessment, depths: [...assessment.depths.slice(0, 2), moved], candidates: [...assessment.candidates].reverse() } });
    draw();
    assert(details.open, "it stays open");
    assertEqual(details.querySelector(".searched-moves .move-text").textContent, "e1");
    details.open = false;
    await until(() => details.querySelector(".depth-chart") === null);
});

test("a search without depths has no picture", async () => {
    const { node } = mount(await thoughtOf("server-thinking-assessed"));
    assertEqual(node.querySelector(".search-picture"), null);
});

test("the strip of a move has a square for each depth, full where its value was exact", async () => {
    const { details } = await mountPicture(await thoughtOf("server-thinking-depths"));
    const squares = [...details.querySelectorAll("li .strip")].map((strip) =>
        ["exact", "refuted"].map((name) => strip.querySelector(`.${name}`).getAttribute("d").split("M").length - 1),
    );
    assertEqual(squares, [
        [2, 1],
        [1, 2],
        [0, 3],
        [0, 3],
    ]);
});

test("since when a move is best, and how often another was refuted", async () => {
    const { lastComplete, scaleOf, bestWords, otherWords } = await import("/client/web/ui/thinking/search-picture.js");
    const depths = ["a", "b", "b"].map((move, i) => ({ depth: i + 1, move, text: move, chance: 50 }));
    assertEqual(bestWords("b", depths, 3), "best since depth 2");
    assertEqual(bestWords("a", depths, 4), "best at depth 4 so far");
    assertEqual(bestWords("a", depths.slice(0, 1), 1), "best at depth 1, the only one");
    assertEqual(bestWords("b", [{ ...depths[1], depth: 1 }, depths[2]], 3), "best at every depth");
    assertEqual(otherWords({ exact: [1, 3] }, 3), "exact at depth 3");
    assertEqual(otherWords({ exact: [1] }, 3), "exact at depth 1, refuted twice since");
    assertEqual(otherWords(undefined, 1), "refuted once");
    assertEqual([lastComplete({ depth: 4 }, depths), lastComplete({ depth: 2 }, depths)], [3, 2]);
    assertEqual([[50], [0, 100], [99, 97], [3], [41, 73]].map(scaleOf), [[50, 70], [0, 100], [80, 100], [0, 20], [40, 80]]);
});

test("a search that waits for its game to be compiled says how far that is, also while it is queued", async () => {
    const thought = { ...(await thoughtOf("server-thinking-assessed")), depth: 0, assessment: null, wait: "" };
    const state = (more) => mount({ ...thought, ...more }).node.querySelector(".state")?.textContent;
    assertEqual(state({ state: "warming", ready: 40 }), "getting ready 40 %");
    assertEqual(state({ state: "queued", ready: 7 }), "getting ready 7 %");
    assertEqual(state({ state: "queued", ready: null }), "about to think");
    for (const ready of [null, 7]) {
        assertEqual(state({ state: "queued", ready, wait: "waits for a free search process" }), "waiting");
        assertEqual(document.querySelector(".empty")?.textContent, "Yellow waits for a free search process.");
    }
});
