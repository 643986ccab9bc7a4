import { drawMoves, rowsOf } from "/client/web/ui/moves.js";
import { render } from "/client/web/shell/elements.js";
import { thoughtHeading } from "/client/web/ui/thinking/panel.js";
import { numberedMove } from "/client/web/shell/words.js";
import { assertEqual, test } from "./testing.js";

const CHESS = [
    { move: "e2e4", text: "e4", number: "1." },
    { move: "e7e5", text: "e5", number: "1..." },
    { move: "g1f3", text: "Nf3", number: "2." },
];
const CONNECT_FOUR = [
    { move: "d", number: "1." },
    { move: "c", number: "2." },
    { move: "d", number: "3." },
];

function cells(moves) {
    const node = document.createElement("div");
    render(node, drawMoves({ moves, shown: 1, go: () => {}, sides: ["White", "Black"] }));
    return [...node.querySelectorAll("li")].map((row) => [...row.children].map((cell) => cell.textContent));
}

test("moves are listed in rows as their game numbers them", () => {
    assertEqual(cells(CHESS), [
        ["1.", "e4", "e5"],
        ["2.", "Nf3"],
    ]);
    assertEqual(cells(CONNECT_FOUR), [
        ["1.", "d", "2.", "c"],
        ["3.", "d"],
    ]);
    assertEqual(
        cells([
            { move: "e7e5", text: "e5", number: "1..." },
            { move: "g1f3", text: "Nf3", number: "2." },
            { move: "b8c6", text: "Nc6", number: "2..." },
        ]),
        [
            ["1...", "e5"],
            ["2.", "Nf3", "Nc6"],
        ],
    );
    assertEqual(rowsOf([]), []);
});

test("texts about a move have its number and its side", () => {
    assertEqual([numberedMove(CHESS[1], 1), numberedMove(CONNECT_FOUR[1], 1)], ["1... e5", "2. c"]);
    assertEqual(numberedMove({ move: "d" }, 4), "5. d");
    const thought = { number: "1..." };
    assertEqual(thoughtHeading("Black", { ply: 1, thought }, undefined), "Black, 1...");
    assertEqual(thoughtHeading("Black", { ply: 1, thought }, CHESS[1]), "Black, 1... e5");
    const node = document.createElement("div");
    render(node, drawMoves({ moves: CHESS, shown: 2, go: () => {}, sides: ["White", "Black"] }));
    assertEqual(node.querySelector(".shown").getAttribute("aria-label"), "Black, 1... e5");
});

test("where sides may move again, each move has its side's name and colour", () => {
    const node = document.createElement("div");
    const draw = (moves) =>
        render(node, drawMoves({ moves, shown: 0, go: () => {}, sides: ["South", "North"], colours: ["red", "blue"] }));
    draw([
        { move: "c1", number: "1." },
        { move: "f1", number: "2.", seat: 0 },
        { move: "a2", number: "3.", seat: 1 },
        { move: "b1", number: "4.", seat: 0 },
    ]);
    const buttons = [...node.querySelectorAll(".move")];
    assertEqual(
        buttons.map((button) => button.getAttribute("aria-label")),
        ["South, 1. c1", "South, 2. f1", "North, 3. a2", "South, 4. b1"],
    );
    assertEqual(
        buttons.map((button) => button.style.getPropertyValue("--side")),
        ["red", "red", "blue", "red"],
    );
    draw(CONNECT_FOUR);
    assertEqual(node.querySelector(".of-side"), null);
});
