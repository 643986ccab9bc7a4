import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { drawActions, drawSeatActions, statusText } from "/client/web/pages/room/actions.js";
import { createCommand } from "/client/web/pages/lobby/choices.js";
import { drawAgain } from "/client/web/pages/room/after.js";
import { describePly } from "/client/web/pages/room/descriptions.js";
import { drawAiForm } from "/client/web/pages/room/ai-form.js";
import { endMatch } from "/client/web/pages/room/questions.js";
import { Opponent } from "/client/web/pages/room/opponent.js";
import { h, render } from "/client/web/shell/elements.js";
import { closeQuestions } from "/client/web/ui/dialogs.js";
import { allowsHelp, permits } from "/client/web/pages/room/viewer.js";
import { aiFields, parseStrategy, strategyChoice } from "/client/web/shell/words.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const AI = { identity: "ai", name: "AI level 1", kind: "ai", level: 1 };
const BOARD = {
    board: { kind: "grid", cols: 1, rows: 1 },
    kinds: {},
    seats: [
        { name: "Red", colour: "#c00" },
        { name: "Yellow", colour: "#cc0" },
    ],
};
const OVER = { winner: null, how: "agreement", reason: "both sides agreed to it" };

/** Returns Ada's model of a room in which `may` lists her permitted commands. */
function roomWith({ may, seats = [ADA, BEN], match = {}, offers = [], present = [true, true] }) {
    const fullMatch = match && { id: "m", number: 1, start: "", rules: "", seats, moves: [], ...match };
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "zoe", levels: 3, view: BOARD }, may },
        { t: "snapshot", room: "r", v: 9, seats, match: fullMatch, offers },
        { t: "presence", room: "r", seats: present, watching: 0 },
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
}

/** Returns the texts of the elements that `draw` makes for a room. */
function textsOf(draw, state) {
    const model = roomWith(state);
    const parent = document.createElement("div");
    render(parent, draw({ model, command: async () => null, update: () => {} }, model.room));
    const elements = parent.querySelectorAll("button, a, p");
    return [...elements].map((element) => element.ariaLabel ?? element.textContent);
}

const actions = (state) =>
    textsOf((app, room) => [drawActions(app, room, drawAgain(app, room)), new Opponent(app).drawOffers(room)], state);
const drawSeat = (app, room, seat) =>
    drawSeatActions(app, room, seat, () => drawAiForm(app, room, seat, () => {}));
const seatActions = (state) => [0, 1].map((seat) => textsOf((app, room) => drawSeat(app, room, seat), state));

test("the list of AIs has each name once, and a game without levels has the strategy that plays at random", () => {
    const names = (levels) => {
        const { room, ...model } = roomWith({ may: ["add_ai"] });
        const parent = document.createElement("div");
        const described = { ...room, description: { ...room.description, levels } };
        render(parent, drawAiForm({ model, update() {} }, described, 0, () => {}));
        return [...parent.querySelectorAll("option")].map((option) => option.textContent);
    };
    assertEqual([names(3), names(0)].map((each) => each.filter((name) => name === "Random").length), [1, 1]);
    assertEqual(new Set(names(3)).size, names(3).length);
});

test("after a declined offer of a draw its button stays in its place, grey until the server allows another", () => {
    const buttons = (state, hasOffered = true) => {
        const page = { model: roomWith(state), command: async () => null, update: () => {} };
        const parent = document.createElement("div");
        render(parent, h("div", null, drawActions(page, page.model.room, null, hasOffered)));
        return [...parent.querySelectorAll("button")].map(({ textContent, disabled }) => [textContent, disabled]);
    };
    const others = (isGrey, label = "Offer a draw") => [["Ask to take back", false], [label, isGrey], ["Resign", false]];
    const may = ["takeback", "resign"];
    assertEqual(buttons({ may }, false), [["Ask to take back", false], ["Resign", false]]);
    assertEqual(buttons({ may: [...may, "decline"], offers: [0] }), others(true));
    assertEqual(buttons({ may }), others(true, "Offer a draw again later"));
    assertEqual(buttons({ may: [...may, "offer_draw"] }), others(false));
});

test("at the start the status says what a press does, where the board does not show it", () => {
    const status = (kinds, moves) => {
        const state = roomWith({ may: [], match: { moves } });
        const room = { ...state.room, views: { 0: { turn: 0 }, 1: { turn: 0 } } };
        room.description = { ...room.description, view: { ...BOARD, kinds } };
        return statusText({ ...state, room }, room);
    };
    const lines = { "-": { name: "line", shape: "line" } };
    assertEqual(status(lines, []), "Your turn: press between two dots");
    assertEqual(status({ s: { name: "stick", shape: "stick" } }, []), "Your turn: a press takes to the row's end");
    assertEqual([status(lines, [{ move: "a" }]), status({ x: { name: "cross" } }, [])], ["Your turn again", "Your turn"]);
});

test("the status says that the side moves again which made the last move", () => {
    const status = (moves, turn) => {
        const state = roomWith({ may: [], match: { moves } });
        const room = { ...state.room, views: { [moves.length]: { turn } } };
        return statusText({ ...state, room }, room);
    };
    const [a, b, again] = [{ move: "a" }, { move: "b" }, { move: "c", seat: 1 }];
    assertEqual([status([a], 1), status([a, b], 0)], ["Ben to move", "Your turn"]);
    assertEqual([status([a], 0), status([a, b], 1), status([a, b, again], 1)], ["Your turn again", "Ben moves again", "Ben moves again"]);
});

test("the status names the player, and on one screen the side of a player without a name", () => {
    const texts = (names, more = {}) => {
        const made = createCommand({ opponent: "screen", names }, 0).seats.map(({ name }) => ({ ...ADA, name }));
        const { room: state, ...model } = roomWith({ may: [], seats: more.seats ?? made });
        const room = { ...state, description: { ...state.description, one_screen: !more.seats }, views: { 0: { turn: 0 } } };
        return [0, 1].map((turn) => statusText({ ...model, room }, { ...room, views: { 0: { turn } } }));
    };
    assertEqual(texts(["", ""]), ["Red to move", "Yellow to move"]);
    assertEqual(texts(["Mia", ""]), ["Mia to move", "Yellow to move"]);
    const [cyd, dan] = [{ identity: "c", name: "Player 1" }, { identity: "d", name: "Dan" }];
    assertEqual(texts([], { seats: [cyd, dan] }), ["Player 1 to move", "Dan to move"]);
});

test("the buttons of a running match are those that the server permits", () => {
    assertEqual(actions({ may: [] }), []);
    assertEqual(actions({ may: ["resign", "abort", "offer_draw"] }), ["Abort"]);
    assertEqual(actions({ may: ["resign", "offer_draw"] }), ["Offer a draw", "Resign"]);
    assertEqual(actions({ may: ["resign"] }), ["Resign"]);
    assertEqual(actions({ may: ["resign", "decline"], offers: [0] }), ["Offer a draw", "Resign", "You offered a draw.", "Withdraw"]);
    const offered = { may: ["resign", "offer_draw", "accept", "decline"], offers: [1] };
    const watched = { may: [], seats: [{ identity: "cyd", name: "Cyd" }, { identity: "dan", name: "Dan" }] };
    assert(actions(watched)[0].startsWith("You are watching."), "a player may be in another browser");
    assertEqual(actions({ may: [], seats: [watched.seats[0], AI] }), []);
    // No button moves when the offer comes.
    assertEqual(actions(offered), ["Offer a draw", "Resign", "Ben offers a draw.", "Accept", "Decline"]);
});

test("the buttons after a match are those that the server permits", () => {
    const match = { over: OVER, moves: [{ move: "a1" }] };
    assertEqual(actions({ match: { over: OVER }, may: ["stand"] }), []);
    assertEqual(actions({ match, may: ["stand"] }), ["Replay", "Analyse"]);
    assertEqual(actions({ match, may: ["stand", "rematch"] }), ["Offer a rematch", "Replay", "Analyse"]);
    assertEqual(actions({ match, may: ["rematch"], seats: [AI, AI] }), ["Play again", "Replay", "Analyse"]);
    assertEqual(actions({ match, may: ["decline"], offers: [0] }), ["Replay", "Analyse", "You offered a rematch.", "Withdraw"]);
    const absent = { match, may: ["decline"], offers: [0], present: [true, false] };
    const waits = "You offered a rematch. Ben is not in the room now; the offer waits.";
    assertEqual(actions(absent), ["Replay", "Analyse", waits, "Withdraw"]);
    const offered = { match, may: ["rematch", "accept", "decline"], offers: [1] };
    assertEqual(actions(offered), ["Replay", "Analyse", "Ben offers a rematch.", "Accept", "Decline"]);
});

test("an offer that is over is not shown, even before the new list of permitted commands arrives", () => {
    const may = ["resign", "offer_draw", "accept", "decline"];
    assertEqual(actions({ match: { over: OVER, moves: [{ move: "a1" }] }, may }), ["Replay", "Analyse"]);
    assertEqual(actions({ may }), ["Offer a draw", "Resign"]);
});

test("the buttons of a seat are those that the server permits", () => {
    assertEqual(seatActions({ may: [] }), [[], []]);
    assertEqual(seatActions({ may: ["stand"] }), [["Leave the seat"], []]);
    assertEqual(seatActions({ may: ["stand", "add_ai"], seats: [ADA, null] }), [["Leave the seat"], ["Add AI"]]);
    assertEqual(seatActions({ may: ["sit", "add_ai"], seats: [null, BEN] }), [["Sit here", "Add AI"], []]);
    assertEqual(seatActions({ may: ["remove_ai"], seats: [AI, AI] }), [["Remove the AI"], ["Remove the AI"]]);
});

/** Clicks on a seat's button, then on a button of the dialog; returns the sent commands. */
async function answer(button, state) {
    const model = roomWith(state);
    const sent = [];
    const parent = document.createElement("div");
    document.body.replaceChildren(parent);
    render(parent, drawSeat({ model, command: async (command) => sent.push(command.t), update: () => {} }, model.room, 1));
    parent.querySelector("button").click();
    await import("/client/web/pages/room/questions.js"); // the question is loaded with the click
    await flushPromises();
    const dialog = document.querySelector("dialog");
    assert(dialog.matches(":modal") && dialog.contains(document.activeElement), "the question has the focus");
    const closed = new Promise((resolve) => dialog.addEventListener("close", resolve));
    [...dialog.querySelectorAll("button")].find(({ textContent }) => textContent === button).click();
    await closed;
    await flushPromises();
    assertEqual(document.querySelector("dialog"), null);
    return sent;
}

test("an AI is removed only after a question, which names it", async () => {
    const state = { may: ["remove_ai"], seats: [ADA, AI], match: { over: OVER } };
    assertEqual(await answer("Keep it", state), []);
    assertEqual(await answer("Remove now", state), ["remove_ai"]);
});

test("a question about a match ends no other one, and none is asked about a match that is over", async () => {
    const running = roomWith({ may: ["resign"] });
    const ended = roomWith({ may: [], match: { over: OVER } });
    const next = roomWith({ may: ["resign"], match: { id: "next", number: 2 } });
    const sent = [];
    const app = { model: running, command: async (command) => sent.push(command) };
    const resign = async (meanwhile) => {
        app.model = running;
        const done = endMatch(app, "m", "resign");
        meanwhile();
        [...document.querySelectorAll("dialog button")].find(({ textContent }) => textContent === "Resign now")?.click();
        await done;
    };
    for (const model of [ended, next, { ...running, room: null }]) await resign(() => (app.model = model));
    await resign(closeQuestions);
    assertEqual(sent, []);
    for (const model of [ended, next]) {
        app.model = model;
        await endMatch(app, "m", "resign");
    }
    assertEqual(document.querySelector("dialog"), null);
    await resign(() => {});
    assertEqual(sent, [{ t: "resign", room: "r" }]);
});

test("a running match that is rated, or of two people, has help only by the server's rule", () => {
    const allows = (state, more = {}) => {
        const { room } = roomWith({ may: [], ...state });
        return allowsHelp({ ...room, ...more, description: { ...room.description, ...more.description } });
    };
    const kept = { ...AI, kept_for: BEN };
    assertEqual([allows({}), allows({ seats: [ADA, AI] }), allows({ seats: [ADA, kept] })], [false, true, false]);
    assertEqual([allows({}, { help: true }), allows({}, { description: { one_screen: true } })], [true, true]);
    assertEqual([allows({ seats: [ADA, AI] }, { help: true, description: { rated: true } })], [false]);
    assertEqual([allows({ match: null }), allows({ match: { over: OVER } }, { description: { rated: true } })], [true, true]);
    // The seats of the match count, not those of the room.
    assertEqual(allows({}, { seats: [ADA, AI] }), false);
});

test("a player reads a result as their own, and a spectator reads who won", () => {
    const text = (winner, seats, more = {}) => {
        const over = { winner, how: "board", reason: "four in a row", ...more };
        const model = roomWith({ may: [], seats, match: { over } });
        return statusText(model, model.room);
    };
    assertEqual(text(0, [ADA, BEN]), "You won: four in a row");
    assertEqual(text(1, [ADA, BEN]), "You lost: four in a row");
    assertEqual(text(1, [BEN, AI]), "AI level 1 (Yellow) wins: four in a row");
    assertEqual(text(null, [ADA, BEN]), "Draw: four in a row");
    const resigned = { how: "resign", reason: "Red resigned" };
    assertEqual(text(1, [ADA, BEN], resigned), "You lost: you resigned");
    assertEqual(text(1, [BEN, ADA], resigned), "You won: Ben resigned");
    assertEqual(text(1, [BEN, AI], resigned), "AI level 1 (Yellow) wins: Ben (Red) resigned");
    assertEqual(text(1, [BEN, AI], { reason: "Yellow has joined both edges" }), "AI level 1 (Yellow) wins: joined both edges");
    assertEqual(text(1, [BEN, BEN]), "Yellow wins: four in a row"); // of one name
    assertEqual(text(1, [{ ...BEN, name: "Yellow" }, AI], resigned), "AI level 1 (Yellow) wins: Yellow (Red) resigned");
    const fallen = { how: "flag", reason: "Red ran out of time" };
    assertEqual(text(1, [ADA, BEN], fallen), "You lost: out of time");
    assertEqual(text(1, [BEN, ADA], fallen), "You won: Ben ran out of time");
    // Who sat down after the match has not won it.
    const over = { winner: 0, how: "board", reason: "four in a row" };
    const newcomer = roomWith({ may: [], seats: [ADA, BEN], match: { over, seats: [{ identity: "cyd", name: "Cyd" }, BEN] } });
    assertEqual(statusText(newcomer, newcomer.room), "Cyd (Red) wins: four in a row");
});

test("on one screen the result has the names of the two people, as one person each", () => {
    const names = [{ identity: "ada", name: "Lars" }, { identity: "ada", name: "Mia" }];
    const over = { winner: 0, how: "resign", reason: "Yellow resigned" };
    const { room, ...model } = roomWith({ may: [], seats: names, match: { over } });
    const shared = { ...room, description: { ...room.description, one_screen: true } };
    assertEqual(statusText({ ...model, room: shared }, shared), "Lars wins: Mia resigned");
});

test("a move that ends a match is announced with the reason once", () => {
    const over = { winner: 1, how: "board", reason: "four in a row" };
    const moves = [{ move: "c4", forced: false }];
    const { room } = roomWith({ may: [], match: { moves, over } });
    const ended = { ...room, views: [{ turn: 0 }, { turn: null, text: "four in a row" }] };
    assertEqual(describePly(ended, 1), "Red played 1. c4. four in a row.");
    assertEqual(describePly(ended, 1, "Yellow wins: four in a row"), "Red played 1. c4.");
});

test("a result has the points of a game that counts them, the viewer's first", () => {
    const text = (winner, seats) => {
        const over = { winner, how: "board", reason: "the board is full", points: [3, -20] };
        const model = roomWith({ may: [], seats, match: { over } });
        return statusText(model, model.room);
    };
    assertEqual(text(0, [ADA, BEN]), "You won 3 to −20: the board is full");
    assertEqual(text(1, [ADA, BEN]), "You lost 3 to −20: the board is full");
    assertEqual(text(1, [BEN, ADA]), "You won −20 to 3: the board is full");
    assertEqual(text(1, [BEN, AI]), "AI level 1 (Yellow) wins −20 to 3: the board is full");
    assertEqual(text(null, [ADA, BEN]), "Draw: the board is full");
});

test("an AI has a level or a persona; in a game without levels it has a strategy", () => {
    const choices = ["5", "random", strategyChoice("random"), strategyChoice("fewest-replies", 12)];
    assertEqual(choices.map(aiFields), [
        { level: 5 },
        { persona: "random" },
        { strategy: "random" },
        { strategy: "fewest-replies", depth: 12 },
    ]);
    assertEqual(parseStrategy("strategy:minimax:4"), { strategy: "minimax", depth: 4 });
    assertEqual(["5", "random", "strategy:", "strategy:a b"].map(parseStrategy), [null, null, null, null]);
});

test("the host frees a seat after a question, by the identity of its holder", async () => {
    const sent = [];
    const answer = async (pressed) => {
        const model = roomWith({ may: ["abort", "bar"] });
        const parent = document.createElement("div");
        const app = { model, update: () => {}, command: async (command) => sent.push(command) };
        render(parent, new Opponent(app).drawBarring(model.room));
        const [button] = parent.querySelectorAll("button");
        assertEqual(button.textContent, "Not this person");
        assertEqual(button.getAttribute("aria-description"), "You expect someone else? This frees Ben's seat; it asks first");
        button.click();
        while (!document.querySelector("dialog.confirm[open]")) await flushPromises(); // its module arrives
        const dialog = document.querySelector("dialog.confirm");
        assert(dialog.textContent.includes("Free Ben's seat?"), "the question names the person");
        const closed = new Promise((resolve) => dialog.addEventListener("close", resolve));
        [...dialog.querySelectorAll("button")].find(({ textContent }) => textContent === pressed).click();
        await closed;
        await flushPromises();
    };
    await answer("Keep playing");
    assertEqual(sent, []);
    await answer("Free the seat");
    assertEqual(sent, [{ t: "bar", room: "r", identity: "ben" }]);
    const bars = (state) => textsOf((app, room) => new Opponent(app).drawBarring(room), state);
    assertEqual(bars({ may: ["abort"] }), []);
    assertEqual(bars({ may: ["bar"], seats: [BEN, { identity: "cyd", name: "Cyd" }], match: null }), ["Not Ben", "Not Cyd"]);
});

test("whose opponent has left after a match reads how to call somebody", () => {
    const alone = { may: [], seats: [ADA, null], match: { over: OVER, seats: [ADA, BEN] } };
    assert(actions(alone)[0].startsWith("The other seat is empty"), "who sits alone");
    assert(!actions({ may: [], match: { over: OVER } }).join().includes("empty"), "not two people");
    const spectator = { may: [], seats: [BEN, null], match: { over: OVER, seats: [BEN, ADA] } };
    assert(!actions(spectator).join().includes("empty"), "not a spectator");
});

test("a person who was barred reads it, and is offered no seat", () => {
    const model = roomWith({ may: [], seats: [BEN, null], match: { over: { winner: null, how: "abort", reason: "" } } });
    const barred = apply(model, { t: "event", room: "r", v: 10, at: 1, kind: "barred", identity: "ada", name: "Ada" });
    assertEqual(barred.room.barred, [ADA]);
    assert(statusText(barred, barred.room).startsWith("The host keeps this seat for someone else"), "the sentence");
    assertEqual([permits(model, "sit"), permits(barred, "sit")], [true, false]);
    const buttons = document.createElement("div");
    render(buttons, h("div", null, drawActions({ model: barred }, barred.room)));
    assertEqual(buttons.querySelector("a[href='/']")?.textContent, "Play another game");
    const empty = roomWith({ may: [], seats: [null, null], match: null });
    assertEqual(statusText(empty, empty.room), "Two seats are free");
});
