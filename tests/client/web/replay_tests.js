import { clocksByPly, controlOf, drawClock, drawTimeGraph } from "/client/web/pages/replay/times.js";
import { render } from "/client/web/shell/elements.js";
import { drawMoves } from "/client/web/ui/moves.js";
import { ChanceGraph, chanceAtEnd, curveOf, drawChanceBar } from "/client/web/ui/thinking/chance-graph.js";
import { merge, nextMarked } from "/client/web/pages/replay/analysis.js";
import { plyIn } from "/client/web/pages/replay/navigation.js";
import { boundedStep } from "/client/web/pages/replay/playback.js";
import { addressOf, lengthText, parametersOf, parseFilter, withChanges } from "/client/web/pages/replays/filter.js";
import { peopleOf } from "/client/web/pages/replays/form.js";
import { momentOf, readPage } from "/client/web/pages/replays/reading.js";
import { drawVerdict } from "/client/web/pages/replay/verdict.js";
import { assert, assertEqual, test } from "./testing.js";

const MOVES = [
    { move: "e2e4", text: "e4", number: "1." },
    { move: "e7e5", text: "e5", number: "1..." },
    { move: "d1h5", text: "Qh5", number: "2." },
];
const BLUNDER = { sign: "??", word: "blunder" };

function mount(draw) {
    const node = document.createElement("div");
    document.body.replaceChildren(node);
    render(node, draw());
    return node;
}

test("the marks of moves are signs for the eye and words for screen readers", () => {
    const markOf = (ply) => (ply === 2 ? BLUNDER : null);
    const node = mount(() => drawMoves({ moves: MOVES, shown: 0, go: () => {}, sides: ["White", "Black"], markOf }));
    const labels = [...node.querySelectorAll(".move")].map((move) => [move.textContent, move.getAttribute("aria-label")]);
    assertEqual(labels, [
        ["e4", "White, 1. e4"],
        ["e5", "Black, 1... e5"],
        ["Qh5??", "White, 2. Qh5, blunder"],
    ]);
});

test("an analysis grows by the positions of its updates, in their order", () => {
    const entry = (ply, more = {}) => ({ ply, chance: 50, ...more });
    const begun = merge(null, { state: "running", plies: 4, done_plies: 1, moves: [entry(3)] });
    assertEqual([begun.summary, begun.moves.length], [null, 1]);
    const grown = merge(begun, { done_plies: 3, moves: [entry(2, { mark: "mistake" }), entry(1)] });
    assertEqual([grown.state, grown.done_plies, grown.moves.map(({ ply }) => ply)], ["running", 3, [1, 2, 3]]);
    assertEqual(merge(null, { state: "none", plies: 4, done_plies: 0, nodes: 9 }).moves, []);
    assertEqual([nextMarked(grown.moves, 0, 1), nextMarked(grown.moves, 3, 1), nextMarked(grown.moves, 9, -1)], [3, null, 3]);
});

test("a click on the graph shows its ply, and a table has the same figures", () => {
    const visited = [];
    const content = {
        chances: [50, null, 62, 8],
        marks: { 3: BLUNDER },
        spent_ms: [100, 4200, 900],
        shown: 3,
        go: (ply) => visited.push(ply),
        textOf: (ply) => (ply ? `ply ${ply}` : "Start"),
        side: "White",
        seatOf: (ply) => ply % 2,
    };
    const graph = new ChanceGraph(() => {});
    const node = mount(() => graph.draw(content));
    const slider = node.querySelector("[role=slider]");
    assertEqual(slider.getAttribute("aria-valuetext"), "ply 3: White 8 %, blunder, 900 ms");
    const { left, width, top } = slider.getBoundingClientRect();
    for (const at of [0, 0.34, 0.99]) slider.dispatchEvent(new MouseEvent("click", { clientX: left + at * width, clientY: top + 5 }));
    assertEqual(visited, [0, 1, 3]);
    const axes = (chances) => mount(() => new ChanceGraph(() => {}).draw({ ...content, chances })).querySelector(".axes").textContent;
    assertEqual(axes([null, 50, null, null]), "Bars: the time for each move.");
    assertEqual(axes(content.chances), "Above the dashed line White is better. Bars: the time for each move.");
    mount(() => []).append(node);
    const table = node.querySelector("details");
    table.open = true;
    table.dispatchEvent(new Event("toggle"));
    render(node, graph.draw(content));
    const rows = [...node.querySelectorAll("tbody tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    assertEqual(rows[0], ["Start", "50 %", "", ""]);
    assertEqual(rows[1], ["ply 1", "–", "100 ms", ""]);
    assertEqual(rows[3], ["ply 3", "8 %", "900 ms", "blunder"]);
});

test("the curve bridges one ply without a chance, and breaks at more", () => {
    const parts = (chances) => curveOf(chances, (ply) => ply).split("M").length - 1;
    assertEqual([parts([50, null, 60]), parts([50, null, null, 60]), parts([null, null])], [1, 2, 0]);
});

test("the bar beside the board rises with the side below it", () => {
    const bar = (chance, bottom) =>
        mount(() => drawChanceBar({ chance, bottom, names: ["White", "Black"], colours: ["#fff", "#000"] }) ?? []);
    assertEqual(bar(70, 0).querySelector("span").style.getPropertyValue("--fraction"), "0.70");
    assertEqual(bar(70, 1).querySelector("span").style.getPropertyValue("--fraction"), "0.30");
    assertEqual(bar(70, 1).firstChild.getAttribute("aria-label"), "Chance to win: White 70 %, Black 30 %");
    assertEqual(bar(null, 0).childElementCount, 0);
});

test("at the end of a match the bar has its result, not the last search's chance", () => {
    const ends = [{ winner: 0, how: "resign" }, { winner: 1, how: "board" }, { winner: null, how: "agreement" }, { winner: null, how: "abort" }];
    assertEqual(ends.map(chanceAtEnd), [100, 0, 50, null]);
});

test("a position is shown as long as it was played, within limits", () => {
    assertEqual([boundedStep(10), boundedStep(3000), boundedStep(60_000)], [250, 3000, 10_000]);
});

test("the address has the filter and the page of the list, and gives the same request", () => {
    const address = "/replays?game=hex&player=ada&result=won&min_plies=21&since=2026-11-01&until=2026-11-02&before=9-m";
    const filter = parseFilter(address.slice(address.indexOf("?")));
    assertEqual(addressOf(filter), address);
    const { since, until, ...same } = parametersOf(filter);
    assertEqual(same, { game: "hex", player: "ada", result: "won", min_plies: "21", before: "9-m" });
    assertEqual(Number(until) - Number(since), 2 * 86_400);
    assertEqual(addressOf(withChanges(filter, { game: "" })), address.replace("game=hex&", "").replace("&before=9-m", ""));
    assertEqual(withChanges(filter, { player: "" }).result, "");
    assert(!("since" in parametersOf({ ...filter, since: "yesterday" })), "a text that is no day filters nothing");
});

test("a length that only an address has is shown in words", () => {
    const words = ["min_plies=99999", "max_plies=41", "min_plies=21&max_plies=40", "min_plies=x"].map((query) => lengthText(parseFilter(`?${query}`)));
    assertEqual(words, ["At least 50000 moves each", "Up to 21 moves each", "11 to 20 moves each", "Another length"]);
});

/** A list of a server that looks at `looks` matches at a time, newest first; `wanted` fit the filter. */
function scannedList(count, looks, wanted) {
    const requests = [];
    const list = async (limit, { before, after, game }) => {
        requests.push(`${game} ${limit} ${before ?? after ?? ""}`);
        const all = Array.from({ length: count }, (_, index) => count - index);
        const isNewer = after !== undefined;
        const [key] = (before ?? after ?? `${count + 1}-`).split("-").map(Number);
        const seen = isNewer ? all.filter((at) => at > key).slice(-looks) : all.filter((at) => at < key).slice(0, looks);
        const found = seen.filter((at) => wanted.includes(at)).map((at) => ({ match: `m${at}` }));
        const [newest, oldest] = [seen.at(0) ?? key, seen.at(-1) ?? key];
        return {
            matches: isNewer ? found.slice(-limit) : found.slice(0, limit),
            next: oldest > 1 ? `${oldest}-` : null,
            ...(newest < count && (isNewer || before) ? { previous: `${newest}-` } : {}),
        };
    };
    return { list, requests };
}

const namesOf = ({ matches }) => matches.map(({ match }) => match);

test("the list goes on until a page of a rare kind is read to the end", async () => {
    const { list, requests } = scannedList(100, 20, [95, 41, 3]);
    const shown = [];
    const page = await readPage(list, parseFilter("?game=hex"), (part) => shown.push(namesOf(part).length) > 0);
    assertEqual([namesOf(page), page.next, shown], [["m95", "m41", "m3"], null, [1, 1, 2, 2]]);
    assertEqual(requests, ["hex 30 ", "hex 29 81-", "hex 29 61-", "hex 28 41-", "hex 28 21-"]);
});

test("the list goes on towards newer matches too, and ends with the newest page", async () => {
    const { list } = scannedList(100, 20, [95, 41]);
    const page = await readPage(list, parseFilter("?game=hex&after=10-"), () => true);
    assertEqual([namesOf(page), page.previous], [["m95", "m41"], undefined]);
});

test("the list stops looking after ten requests, or when the page is left", async () => {
    const { list, requests } = scannedList(1000, 20, [7]);
    const page = await readPage(list, parseFilter("?game=hex"), () => true);
    assertEqual([requests.length, page.matches.length, momentOf(page.next)], [10, 0, 801]);
    requests.length = 0;
    await readPage(list, parseFilter("?game=hex"), () => false);
    assertEqual(requests.length, 1);
});

test("the ply in an address is found where a text goes on behind it", () => {
    const found = ["?ply=12", "?ply=12).", "?ply=3,", "?ply=7%20", "?x=1&ply=007", "?ply=-1", "?ply=abc", "?ply=", "", "?ply=1a", "?ply=9999999"];
    assertEqual(found.map(plyIn), [12, 12, 3, 7, 7, 0, 0, 0, 0, 0, 0]);
});

test("the players of a list are chosen by name, each by the latest one", () => {
    const seats = (...names) => names.map((name) => ({ identity: name.slice(0, 3).toLowerCase(), name, kind: "guest" }));
    const ai = { identity: "ai", name: "AI level 3", kind: "ai", level: 3 };
    assertEqual(peopleOf([{ seats: seats("Adam", "Ben") }, { seats: [ai, ...seats("Ada")] }]), { ada: "Adam", ben: "Ben" });
});

test("the clocks of a replay are those after each move, and at the end those of the result", () => {
    const moves = [{ move: "a" }, { move: "b" }, { move: "c" }, { move: "pass" }];
    const match = { clock: "300+3", speed: "blitz", moves, left_ms: [299_000, 298_000, 250_000, null], over: { clocks_ms: [250_000, 0] } };
    assertEqual(clocksByPly(match), [[300_000, 300_000], [299_000, 300_000], [299_000, 298_000], [250_000, 298_000], [250_000, 0]]);
    assertEqual(clocksByPly({ ...match, over: null }).at(-1), [250_000, 298_000]);
    assertEqual([controlOf(match), controlOf({})], ["5+3 blitz", ""]);
    const gone = [];
    document.body.style.width = "400px";
    render(document.body, drawTimeGraph({ ...match, spent_ms: [1000, 2000, 48_000, 0], view: null }, 2, (ply) => gone.push(ply)), drawClock({ ...match, view: null }, 3, 1));
    assertEqual(document.querySelector("svg").getAttribute("aria-label"), "Time left: First from 5:00 to 4:10, Second from 5:00 to 0:00");
    const box = document.querySelector("svg").getBoundingClientRect();
    document.querySelector("svg").dispatchEvent(new MouseEvent("click", { clientX: box.left + box.width * 0.74 }));
    assertEqual([gone, document.querySelector(".digits").textContent], [[3], "4:58"]);
});

test("a move that is about as good as the best one is not corrected", () => {
    const ways = { showLine() {}, isOpening: false, playAgain: null };
    const verdictOf = (loss) => {
        const parent = document.createElement("div");
        render(parent, drawVerdict({ best: "e5", text: "e5", loss, pv: [] }, { move: "g5" }, ways));
        return parent.textContent;
    };
    assertEqual([0.019, 0.021].map(verdictOf), ["About as good as e5.", "Best was e5."]);
});
