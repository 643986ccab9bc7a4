import { drawPlayer } from "/client/web/ui/players.js";
import { h, render } from "/client/web/shell/elements.js";
import { optionsText, takeText } from "/client/web/shell/words.js";
import { assertEqual, test } from "./testing.js";

const SEATS = [
    { name: "White", colour: "#fff" },
    { name: "Black", colour: "#000" },
];

/** Returns the bar of a seat with these pieces on its board. */
function barOf(seat, kinds, pieces, more = {}) {
    const board = { board: { kind: "grid", cols: 2, rows: 2 }, kinds, seats: SEATS, ...more };
    const player = { seat, occupant: null, board, online: null, hands: {}, pieces, toMove: false, thinking: false };
    const parent = document.createElement("div");
    render(parent, drawPlayer({ ...player, you: false, result: null }));
    return parent;
}

test("a bar counts the side's pieces in the games that say what is counted", () => {
    const kinds = { x: { name: "black", side: 0 }, o: { name: "white", side: 1 } };
    const text = (seat, more) => barOf(seat, kinds, { a1: "x", a2: "o", b1: "x" }, more).querySelector(".count")?.textContent;
    assertEqual([text(0, { counted: "disc" }), text(1, { counted: "disc" })], ["2 discs", "1 disc"]);
    assertEqual([text(0, { counted: "man" }), text(0, { counted: "box" })], ["2 men", "2 boxes"]);
    assertEqual(text(0), undefined);
});

test("a bar counts the seeds in the side's stores, and no others", () => {
    const kinds = { 5: { name: "5 seeds", count: 5 }, 7: { name: "7 seeds", count: 7 } };
    const more = { counted: "seed", stores: [["south"], ["north"]] };
    const text = (seat) => barOf(seat, kinds, { a1: "5", south: "7" }, more).querySelector(".count")?.textContent;
    assertEqual([text(0), text(1)], ["store 7", "store 0"]);
});

test("a bar shows the chess pieces by which the side is ahead", () => {
    const kinds = {
        P: { name: "white pawn", side: 0, sprite: "pawn" },
        p: { name: "black pawn", side: 1, sprite: "pawn" },
        r: { name: "black rook", side: 1, sprite: "rook" },
    };
    const ahead = (seat) => barOf(seat, kinds, { a1: "P", a2: "P", b1: "p", b2: "r" }).querySelector(".ahead")?.ariaLabel;
    assertEqual([ahead(0), ahead(1)], ["Ahead by: 1 black pawn", undefined]);
});

test("a bar has points in one form, and says now where the board shows an earlier position", () => {
    const player = { seat: 0, occupant: null, board: null, online: null, hands: {}, pieces: null, toMove: false, thinking: false, you: false };
    const textOf = (more) => {
        const parent = document.createElement("div");
        render(parent, drawPlayer({ ...player, result: null, ...more }));
        return parent.querySelector(more.score ? "b.points" : ".turn").textContent;
    };
    const points = ["won", "drawn", "lost"].map((result) => textOf({ result }));
    assertEqual([...points, textOf({ score: "1", result: "lost" }), textOf({ score: "2½" })], ["1 pt", "½ pts", "0 pts", "1 pt", "2½ pts"]);
    assertEqual([false, true].map((isPast) => textOf({ toMove: true, isPast })), ["to move", "to move now"]);
    assertEqual(textOf({ toMove: true, isPast: true, thinking: true }), "thinking now");
});

test("while a piece to take is chosen the bar has the question and, where that has no room, the turn", () => {
    const player = { seat: 0, occupant: null, board: null, online: null, hands: {}, pieces: null, toMove: true, thinking: false, you: true, result: null };
    const parent = document.createElement("div");
    render(parent, drawPlayer({ ...player, prompt: "Take one of Black's men" }));
    assertEqual([...parent.querySelectorAll(".turn > span")].map((span) => span.textContent), ["Take one of Black's men", "to move"]);
});

test("a bar says where an absent player is in the words of the log", () => {
    const title = (online, away) => {
        const player = { seat: 0, occupant: { name: "Ben" }, board: null, online, away, hands: {}, pieces: null, toMove: false, thinking: false, result: null };
        const parent = document.createElement("div");
        render(parent, drawPlayer(player));
        return parent.querySelector(".presence").title;
    };
    assertEqual([title(true, "has gone"), title(false, "has gone"), title(false)], ["online", "has gone", "offline"]);
});

test("the question for a piece to take names its side and its noun", () => {
    const kinds = { b: { name: "black man", side: 1 }, s: { name: "stick" } };
    assertEqual([takeText({ kinds, seats: SEATS }, "b"), takeText({ kinds, seats: SEATS }, "s")], [
        "Take one of Black's men",
        "Take one of the sticks",
    ]);
});

test("options are named where their values are not words", () => {
    const text = (options, options_text = undefined) => optionsText({ options, options_text });
    assertEqual(text({ swap: "yes" }, "With the swap rule"), "With the swap rule");
    assertEqual(text({ swap: "yes", flying: "no" }), "swap, no flying");
    assertEqual(text({ rows: "1-3-5-7" }), "1-3-5-7");
    assertEqual(text({ size: "4", win: "five-or-more" }), "size 4, five-or-more");
});

test("the row of a seat shows its clock and the player's name, whatever else stands in it", async () => {
    const paths = ["shell/base.css", "board/board.css", "ui/match.css", "ui/clock/clock.css"];
    const links = paths.map((path) => Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/client/web/${path}` }));
    const loaded = links.map((link) => new Promise((resolve) => (link.onload = resolve)));
    document.head.append(...links);
    await Promise.all(loaded);
    const kinds = { m: { name: "white man", side: 0 } };
    const board = { board: { kind: "sites", style: "points" }, kinds, seats: SEATS, counted: "man" };
    const clock = [
        h("button", { class: "small add-time" }, h("span", null, "Give"), h("i", null, "+"), "15 s"),
        h("div", { class: "clock" }, h("span", { class: "face runs" }, "5:00")),
    ];
    const player = { seat: 0, board, online: true, hands: { m: 9 }, pieces: { a1: "m" }, toMove: true, thinking: false, you: true, result: null };
    const occupant = { identity: "bart", name: "Bartholomew Longname" };
    const parent = document.createElement("div");
    document.body.append(parent);
    render(parent, drawPlayer({ ...player, occupant, score: "10½", clock }));
    for (const width of [340, 374, 470, 640, 800]) {
        parent.style.width = `${width}px`;
        assertEqual(parent.querySelector(".add-time").innerText.replaceAll(/\s/g, ""), width > 700 ? "Give15s" : "+15s");
        const [row, face, who, piece] = [".player", ".face", ".who", ".side-piece"].map((name) => parent.querySelector(name).getBoundingClientRect());
        assertEqual([width, face.right <= row.right, who.width >= 60, piece.width], [width, true, true, 24]);
    }
    // A narrow bar, and one with an empty seat and its button: the digits keep their ground.
    const sit = h("button", { class: "small main" }, "Sit here");
    for (const [width, more] of [[300, { occupant }], [300, { occupant: null, actions: sit, you: false, score: "1" }], [374, { occupant: null, actions: sit }]]) {
        render(parent, drawPlayer({ ...player, score: "10½", clock: clock[1], ...more }));
        parent.style.width = `${width}px`;
        const [row, face] = [".player", ".face"].map((name) => parent.querySelector(name).getBoundingClientRect());
        assertEqual([width, face.right <= row.right, face.height], [width, true, 32]);
    }
    // Without a clock the count of the game and "you" stay, and the points of the room yield.
    render(parent, drawPlayer({ ...player, hands: {}, board: { ...board, counted: "man" }, occupant, score: "1½" }));
    const visible = [".count", ".you", "b.points"].map((name) => parent.querySelector(name).getClientRects().length);
    assertEqual(visible, [1, 1, 0]);
    // Of the side's name a letter and an ellipsis stay, for eyes that do not tell the colours apart.
    parent.style.width = "374px";
    const side = parent.querySelector(".side").getBoundingClientRect();
    assertEqual(side.width, 30);
    // A name that has room is not cut by a part of a pixel.
    const seeds = { ...board, kinds: { 4: { name: "4 seeds", count: 4 } }, counted: "seed", stores: [["a1"], []], seats: [{ name: "South", colour: "#fff" }, SEATS[1]] };
    render(parent, drawPlayer({ ...player, hands: {}, pieces: {}, board: seeds, occupant: { identity: "g", name: "Guest 8567" } }));
    for (const width of [300, 374]) {
        parent.style.width = `${width}px`;
        const [who, name] = [".who", "bdi"].map((each) => parent.querySelector(each).getBoundingClientRect().width);
        assertEqual([width, name - who < 0.02], [width, true]);
    }
    parent.style.width = "374px";
    const ai = { kind: "ai", level: 1, name: "AI level 1" };
    const men = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`a${at}`, "m"]));
    render(parent, drawPlayer({ ...player, board: { ...board, counted: "piece" }, hands: {}, pieces: men, you: false, thinking: true, levels: ["Beginner"], occupant: ai }));
    parent.style.width = "374px";
    const [row, turn] = [".player", ".turn"].map((name) => parent.querySelector(name).getBoundingClientRect());
    assertEqual(turn.right <= row.right, true, "an AI that thinks, without a clock");
    // A stage with hours, and the large clocks of one screen.
    const stages = (clock) => h("div", { class: "clock", "--clock-width": 6 }, h("span", { class: "note" }, "12 turns to +30 min"), h("span", { class: "face runs" }, clock));
    const rows = [
        ["", [clock[0], stages("1:30:00")]],
        ["chess-clock", [h("div", { class: "clock", "--clock-width": 6 }, h("span", { class: "face runs" }, "1:30:00"))]],
        ["chess-clock", [stages("1:30:00")]],
    ];
    for (const [name, drawn] of rows) {
        parent.className = name;
        render(parent, drawPlayer({ ...player, occupant, you: name === "", hands: {}, clock: drawn }));
        for (const width of [360, 374]) {
            parent.style.width = `${width}px`;
            const [row, face, who] = [".player", ".face", ".who"].map((each) => parent.querySelector(each).getBoundingClientRect());
            assertEqual([name, width, face.right <= row.right - 3, who.width >= 20], [name, width, true, true]);
        }
    }
    parent.remove();
    links.forEach((link) => link.remove());
});
