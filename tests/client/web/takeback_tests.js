import { EMPTY_MODEL, apply, follow, headPly } from "/client/web/shell/model.js";
import { legalMoves, viewerSeat } from "/client/web/pages/room/viewer.js";
import { drawActions, statusText } from "/client/web/pages/room/actions.js";
import { logLine, toastText } from "/client/web/pages/room/events.js";
import { Opponent } from "/client/web/pages/room/opponent.js";
import { sideOfBoard } from "/client/web/pages/room/one-screen.js";
import { render } from "/client/web/shell/elements.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const AI = { identity: "ai", name: "AI level 1", kind: "ai", level: 1 };
const BOARD = {
    board: { kind: "grid", cols: 1, rows: 1, flips: true },
    kinds: {},
    seats: [
        { name: "White", colour: "#fff" },
        { name: "Black", colour: "#000" },
    ],
};
const MOVES = ["a1", "b1", "c1"].map((move) => ({ move }));
const EVENT = { t: "event", room: "r", at: 1, match: "m" };
const view = (ply) => ({ t: "view", room: "r", v: 9, match: "m", ply, view: { pieces: {}, turn: ply % 2, text: "" } });
const thinking = (ply) => ({ t: "thinking", room: "r", match: "m", ply, seat: 1, state: "done", depth: 3 });
const turn = (ply) => ({ t: "turn", room: "r", v: 9, match: "m", ply, moves: [{ id: "d1", path: ["d1"], text: "d1" }] });

/** Returns Ada's model of a match after three moves and these messages. */
function modelAfter(messages = [], { seats = [ADA, BEN], may = ["takeback"], ...description } = {}) {
    const match = { id: "m", number: 1, start: "", rules: "", seats, moves: MOVES };
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "ada", levels: 3, view: BOARD, ...description }, may },
        { t: "snapshot", room: "r", v: 9, seats, match },
        ...messages,
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
}

/** Returns the elements that the actions of a model draw, and the commands that a click sends. */
function actionsOf(model) {
    const parent = document.createElement("div");
    const sent = [];
    const app = { model, command: async (command) => sent.push(command) };
    render(parent, [drawActions(app, model.room), new Opponent(app).drawOffers(model.room)]);
    return { parent, sent, texts: [...parent.querySelectorAll("button, p")].map((element) => element.textContent) };
}

async function click(parent, text) {
    [...parent.querySelectorAll("button")].find((button) => button.textContent === text).click();
    await flushPromises();
}

const ASKED = { ...EVENT, v: 10, kind: "offered", seat: 1, what: "takeback", to_ply: 1 };
const TOOK_BACK = { ...EVENT, v: 10, kind: "took_back", to_ply: 1, seat: 1, digest: "d" };

test("a takeback removes moves, views, legal moves, thoughts and offers", () => {
    const before = modelAfter([...[0, 1, 2, 3].map(view), ...[1, 3].map(thinking), turn(3), { ...ASKED, v: 10 }]);
    assertEqual([legalMoves(before.room).length, before.room.takebacks.length], [1, 1]);
    const { room } = apply(before, { ...TOOK_BACK, v: 11 });
    assertEqual([headPly(room), Object.keys(room.views), Object.keys(room.thoughts)], [1, ["0", "1"], []]);
    assertEqual([room.turn, room.takebacks, room.offers, legalMoves(room)], [null, [], [], []]);
});

test("an impossible takeback changes nothing but v", () => {
    const { room } = modelAfter();
    for (const change of [{ to_ply: 3 }, { to_ply: -1 }, { match: "another" }, { to_ply: "one" }])
        assertEqual(apply(modelAfter(), { ...TOOK_BACK, ...change }).room, { ...room, v: 10 });
});

test("after a snapshot, the views and thoughts of the moves that are the same stay", () => {
    const before = modelAfter([...[0, 1, 2, 3].map(view), ...[0, 1, 2].map(thinking)]);
    const match = { ...before.room.match, moves: [{ move: "a1" }, { move: "x1" }, { move: "c1" }] };
    const snapshot = { t: "snapshot", room: "r", v: 20, seats: [ADA, BEN], match };
    const { room } = apply(before, snapshot);
    assertEqual([Object.keys(room.views), Object.keys(room.thoughts)], [["0", "1"], ["0"]]);
    const longer = { ...before.room.match, moves: [...MOVES, { move: "d1" }] };
    const after = apply(before, { ...snapshot, match: longer }).room;
    assertEqual([Object.keys(after.views), Object.keys(after.thoughts)], [["0", "1", "2", "3"], ["0", "1", "2"]]);
});

test("against an AI a click takes the move back, and another person is asked", async () => {
    const { parent, sent, texts } = actionsOf(modelAfter([], { seats: [ADA, AI] }));
    assertEqual(texts, ["Take back"]);
    await click(parent, "Take back");
    assertEqual(sent, [{ t: "takeback", room: "r", ply: 3 }]);
    assertEqual(actionsOf(modelAfter()).texts, ["Ask to take back"]);
    assertEqual(actionsOf(modelAfter([], { may: [] })).texts, []);
});

test("a request is answered with its kind and its ply", async () => {
    const asked = modelAfter([ASKED], { may: ["accept", "decline"] });
    const { parent, sent, texts } = actionsOf(asked);
    assertEqual(texts, ["Ask to take back", "Ben asks to take 2 moves back.", "Accept", "Decline"]);
    assert(parent.querySelector("button").disabled, "it only keeps its place");
    await click(parent, "Accept");
    await click(parent, "Decline");
    assertEqual(sent, [
        { t: "accept", room: "r", what: "takeback", ply: 3 },
        { t: "decline", room: "r", what: "takeback" },
    ]);
    const own = modelAfter([{ ...ASKED, seat: 0, to_ply: 2 }], { may: ["decline"] });
    assertEqual(actionsOf(own).texts, ["Ask to take back", "You asked to take a move back.", "Withdraw"]);
    const watched = modelAfter([ASKED], { may: [], seats: [{ identity: "cyd", name: "Cyd" }, BEN] });
    assertEqual(actionsOf(watched).texts.slice(1), []); // after the word that they watch
});

test("takebacks are logged, and the player whom they concern is told", () => {
    const { room } = modelAfter();
    const asked = modelAfter([ASKED]).room;
    const declined = { ...EVENT, kind: "declined", seat: 0, what: "takeback" };
    const texts = (event, state) => [0, 1].map((seat) => [logLine(event, state, seat), toastText(event, state, seat)]);
    assertEqual(texts(ASKED, room)[0], ["Ben asked for a takeback", "Ben asked for a takeback"]);
    assertEqual(texts(TOOK_BACK, room), [
        ["Ben took back 2 moves", "Ben took back 2 moves"],
        ["You took back 2 moves", null],
    ]);
    const refusal = "Your request for a takeback was declined";
    assertEqual(texts(declined, asked), [
        ["You declined the takeback", null],
        ["Ada declined the takeback", refusal],
    ]);
    assertEqual(logLine({ ...declined, seat: 1 }, asked, 0), "Ben withdrew the request for a takeback");
    const moved = { ...EVENT, kind: "moved", ply: 3, seat: 0, move: "d1" };
    assertEqual(texts(moved, asked)[1], ["Ada moved and so declined the takeback", refusal]);
});

test("on one screen nobody is asked, and the board may turn to the side to move", () => {
    const model = modelAfter([view(3)], {
        seats: [ADA, ADA],
        may: ["takeback", "resign", "offer_draw"],
        one_screen: true,
    });
    assertEqual(actionsOf(model).texts, ["Take back", "Agree on a draw", "Resign"]);
    assertEqual([statusText(model, model.room), viewerSeat(model)], ["Black to move", null]);
    assertEqual([false, true].map((turns) => sideOfBoard(model, model.room, turns)), [0, 1]);
    const ordinary = modelAfter([view(3)]);
    assertEqual([sideOfBoard(ordinary, ordinary.room, true), viewerSeat(ordinary)], [0, 0]);
});
