import { PositionField } from "/client/web/pages/lobby/position-field.js";
import { render } from "/client/web/shell/elements.js";
import { assert, assertEqual, test } from "./testing.js";

const BOARD = {
    board: { kind: "grid", cols: 2, rows: 1 },
    kinds: { X: { name: "cross", side: 0, text: "X" } },
    seats: [
        { name: "Crosses", colour: "#c00" },
        { name: "Noughts", colour: "#00c" },
    ],
};
const GAME = { id: "tic-tac-toe", title: "Tic-tac-toe", levels: 1, options: {}, rules: "", view: BOARD };
const POSITION = { start: "X.", board: BOARD, view: { pieces: { a1: "X" }, turn: 1, text: "", marks: {} } };
const EXAMPLE = { ...POSITION, start: ".." };

/** Draws the field in a page; `answers` has the server's answer to each text. */
function openField(answers) {
    const parent = document.createElement("div");
    document.body.append(parent);
    const asked = [];
    window.fetch = async (path) => {
        const query = new URL(path, location.origin).searchParams;
        const start = query.get("start") ?? query.get("pieces");
        asked.push(start);
        const body = start === null ? (answers.example ?? EXAMPLE) : answers[start];
        return new Response(JSON.stringify(body), { status: "code" in body ? 400 : 200 });
    };
    const field = new PositionField(() => draw(), 0);
    const draw = () => render(parent, field.draw(GAME, {}));
    draw();
    return { field, parent, asked };
}

/** Waits until a condition holds; fails after many turns of the event loop. */
async function until(holds) {
    for (let turns = 0; !holds(); turns++) {
        assert(turns < 2000, `never: ${holds}`);
        await new Promise((resolve) => setTimeout(resolve));
    }
}

/** Types a text and waits for the answer. */
async function type(parent, text) {
    const area = parent.querySelector("textarea");
    area.value = text;
    area.dispatchEvent(new Event("input"));
    await until(() => parent.querySelector("#position-result").textContent !== "");
}

async function open(parent) {
    parent.querySelector("details").open = true;
    await until(() => parent.querySelector("textarea").placeholder !== "");
}

test("a closed field asks nothing, and an open one has the game's own start as an example", async () => {
    const { field, parent, asked } = openField({});
    assertEqual([asked, field.start], [[], null]);
    await open(parent);
    assertEqual([asked, parent.querySelector("textarea").placeholder, field.start], [[null], "..", null]);
});

test("a position is shown with the side to move", async () => {
    const { field, parent } = openField({ "X.": POSITION });
    await open(parent);
    await type(parent, " X. ");
    assertEqual([field.start, parent.querySelector(".preview").textContent], ["X.", "Noughts to move"]);
    assert(parent.querySelector(".preview svg") !== null, "the board is drawn");
});

test("a refusal stands at the field and goes with the next key", async () => {
    const { parent } = openField({ XX: { code: "position.refused", message: "as many crosses as noughts" }, X: POSITION });
    await open(parent);
    await type(parent, "XX");
    const area = parent.querySelector("textarea");
    const result = parent.querySelector(`#${area.getAttribute("aria-describedby")}`);
    assertEqual([result.textContent, area.getAttribute("aria-invalid")], ["As many crosses as noughts", "true"]);
    area.value = "X";
    area.dispatchEvent(new Event("input"));
    assertEqual([result.textContent, area.getAttribute("aria-invalid")], ["", "false"]);
});

test("only the server's refusal of the text holds the match back, and no other error", async () => {
    const busy = { code: "rate.exceeded", message: "too many requests; try again in 5 s" };
    const { field, parent } = openField({ XX: { code: "position.refused", message: "too many crosses" }, X: busy });
    await open(parent);
    await type(parent, "XX");
    assertEqual(field.refusal, "Too many crosses");
    await type(parent, "X");
    await until(() => parent.querySelector("#position-result").textContent === "Too many requests; try again in 5 s");
    assertEqual([field.refusal, field.start], ["", "X"]);
});

test("a refusal is hidden when its field is left, and keeps its place", async () => {
    const { field, parent } = openField({ XX: { code: "position.refused", message: "too many crosses" } });
    await open(parent);
    await type(parent, "XX");
    const area = parent.querySelector("textarea");
    const error = parent.querySelector(".refusal");
    area.focus();
    area.blur();
    assertEqual([error.classList.contains("past"), area.getAttribute("aria-invalid")], [true, "false"]);
    field.refuse("the match would be over");
    assertEqual([error.className, error.textContent], ["refusal", "The match would be over"]);
    assertEqual([area.getAttribute("aria-invalid"), document.activeElement], ["true", area]);
});

test("pieces are placed and removed by clicks, and their position stands in the text", async () => {
    const refusal = { code: "position.refused", message: "there is no cross" };
    const empty = { ...EXAMPLE, view: { ...EXAMPLE.view, pieces: {} }, placeable: true };
    const answers = { example: empty, "a1:X": POSITION, "": refusal };
    const { field, parent, asked } = openField(answers);
    const button = (text) => [...parent.querySelectorAll("button")].find(({ textContent }) => textContent === text);
    const put = (cell) => parent.querySelector("ply-board").dispatchEvent(new CustomEvent("ply-move", { detail: { id: cell } }));
    await open(parent);
    await until(() => button("Place pieces on a board"));
    button("Place pieces on a board").click();
    assertEqual(parent.querySelector("[name=placed-piece]:checked").value, "X");
    put("a1");
    await until(() => field.start !== null);
    assertEqual([field.start, field.isRefused, field.turn], ["X.", false, 1]);
    put("a1");
    await until(() => field.isRefused);
    assertEqual(parent.querySelector("#position-result").textContent, "There is no cross");
    assertEqual(asked, [null, "a1:X", ""]);
});

test("a game that needs more than pieces has no board to place them on", async () => {
    const { parent } = openField({});
    await open(parent);
    assertEqual(parent.querySelectorAll("button").length, 0);
});
