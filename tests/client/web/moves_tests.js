import { drawMoves, rowsOf } from "/client/web/moves.js";
import { render } from "/client/web/elements.js";
import { thoughtHeading } from "/client/web/thinking.js";
import { numberedMove } from "/client/web/words.js";
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
