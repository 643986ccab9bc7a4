import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { drawActions } from "/client/web/pages/room/actions.js";
import { logLine, toastText } from "/client/web/pages/room/events.js";
import { neededParts } from "/client/web/pages/room/later.js";
import { Opponent } from "/client/web/pages/room/opponent.js";
import { RoomClock } from "/client/web/pages/room/clock.js";
import { drawAgain, drawScore, scoreBetween, scorePoints, seriesOf } from "/client/web/pages/room/after.js";
import { createCommand, validChoices } from "/client/web/pages/lobby/choices.js";
import { render } from "/client/web/shell/elements.js";
import { assertEqual, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const LEVEL_2 = { identity: "ai", name: "AI level 2", kind: "ai", level: 2 };
const BOARD = {
    board: { kind: "grid", cols: 1, rows: 1 },
    kinds: {},
    seats: [
        { name: "White", colour: "#fff" },
        { name: "Black", colour: "#000" },
    ],
};
const OVER = { winner: 1, how: "resign", reason: "White resigned" };
const PROPOSAL = { seat: 1, what: "next", v: 12, game: "othello", options: { size: "6" }, seats: [1, 0], title: "Othello" };

/** Ada's model of a room after its first match, with these fields of the snapshot. */
function modelWith({ seats = [ADA, BEN], may = [], over = OVER, ...snapshot }) {
    const match = { id: "m", number: 1, start: "", rules: "", seats, moves: [], over };
    const description = { game: "chess", options: {}, host: "ada", levels: 3, level_names: ["Easy", "", ""], view: BOARD };
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 12, epoch: "e", description, may },
        { t: "snapshot", room: "r", v: 12, seats, match, ...snapshot },
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
}

/** The texts of the actions of a model, and the commands that a click on each button sends. */
function actionsOf(model) {
    const parent = document.createElement("div");
    const sent = [];
    const app = { model, command: async (command) => void sent.push(command), update: () => {} };
    const clocks = new RoomClock(app, () => {});
    const offers = new Opponent(app).drawOffers(model.room, clocks.proposedControl(model.room));
    clocks.stop();
    render(parent, [drawActions(app, model.room, drawAgain(app, model.room)), offers]);
    const buttons = Object.fromEntries([...parent.querySelectorAll("button")].map((each) => [each.textContent, each]));
    const click = (text) => (buttons[text].click(), sent.at(-1));
    return { texts: [...parent.querySelectorAll("p, button")].map((each) => each.textContent), click };
}

test("the opponent's proposal of the next game is accepted by its version", () => {
    const may = ["accept", "decline", "next_game", "rematch"];
    const model = modelWith({ may, proposals: [PROPOSAL] });
    const { texts, click } = actionsOf(model);
    assertEqual(texts, [
        "Offer a rematch",
        "Next game…",
        "Ben proposes Othello (size 6). Ben begins.",
        "Accept",
        "Decline",
    ]);
    assertEqual(click("Accept"), { t: "accept", room: "r", what: "next", v: 12 });
    assertEqual(click("Decline"), { t: "decline", room: "r", what: "next" });
    assertEqual(neededParts(model, model.room).includes("opponent"), true);
});

test("a proposal and an offer of a rematch name the time control, also one that stays", () => {
    const textWith = (clock) => actionsOf(modelWith({ proposals: [{ ...PROPOSAL, clock }] })).texts.find((text) => text.startsWith("Ben"));
    assertEqual(["300+3", "-", null].map(textWith), [
        "Ben proposes Othello (size 6), with 5+3 on the clock. Ben begins.",
        "Ben proposes Othello (size 6), without a clock. Ben begins.",
        "Ben proposes Othello (size 6). Ben begins.",
    ]);
    const told = (state) => actionsOf(modelWith({ clock: "60+0", ...state })).texts.find((text) => text.startsWith("Ben"));
    assertEqual(told({ proposals: [PROPOSAL] }), "Ben proposes Othello (size 6), with 1+0 on the clock. Ben begins.");
    assertEqual(told({ offers: [1], may: ["accept"] }), "Ben offers a rematch, with 1+0 on the clock.");
});

test("one's own proposal can be withdrawn, and a spectator only reads it", () => {
    const own = { ...PROPOSAL, seat: 0, seats: [0, 1], level: 3 };
    const { texts, click } = actionsOf(modelWith({ may: ["decline"], proposals: [own] }));
    assertEqual(texts, ["You propose Othello (size 6), level 3. You begin.", "Withdraw"]);
    assertEqual(click("Withdraw"), { t: "decline", room: "r", what: "next" });
    const watched = modelWith({ seats: [{ identity: "cyd", name: "Cyd" }, BEN], proposals: [PROPOSAL] });
    assertEqual(actionsOf(watched).texts, ["Ben proposes Othello (size 6). Ben begins."]);
});

test("after a loss against a level another one is offered, as far as the game has it", () => {
    const may = ["rematch", "next_game"];
    const { texts, click } = actionsOf(modelWith({ seats: [ADA, LEVEL_2], may }));
    assertEqual(texts, ["Easier", "Same again", "Harder", "Next game…"]);
    assertEqual(click("Harder"), { t: "next_game", room: "r", game: "chess", options: {}, seats: [1, 0], level: 3 });
    assertEqual(click("Easier").level, 1);
    assertEqual(click("Same again"), { t: "rematch", room: "r" });
    const highest = { ...LEVEL_2, level: 3 };
    assertEqual(actionsOf(modelWith({ seats: [ADA, highest], may })).texts, ["Easier", "Same again", "Next game…"]);
    const won = modelWith({ seats: [ADA, LEVEL_2], may, over: { ...OVER, winner: 0 } });
    assertEqual(actionsOf(won).texts, ["Play again", "Next game…"]);
});

test("the log and the toasts name the next game", () => {
    const { room } = modelWith({ proposals: [PROPOSAL] });
    const text = (event, seat) => [logLine(event, room, seat), toastText(event, room, seat)];
    assertEqual(text({ kind: "offered", ...PROPOSAL }, null), ["Ben proposed Othello as the next game", null]);
    assertEqual(text({ kind: "declined", seat: 0, what: "next" }, 1), ["Ada declined Othello", "Othello was declined"]);
    assertEqual(text({ kind: "declined", seat: 1, what: "next" }, 0), ["Ben withdrew the proposal of Othello", "Ben withdrew the proposal of Othello"]);
    const started = { kind: "started", match: "n", number: 2, seats: [BEN, ADA], title: "Othello" };
    assertEqual(text(started, 0), ["You accepted the next game. Match 2 started: Othello", "Next game: Othello"]);
});

test("the score goes by players, not by seats", () => {
    const series = [{ players: ["ben", "ada"], half_points: [5, 2] }];
    const model = modelWith({ series });
    const { room } = model;
    assertEqual(scoreBetween(room), [2, 5]);
    const parent = document.createElement("div");
    const shownTo = (you) => (render(parent, drawScore({ ...model, you }, room)), parent.textContent);
    assertEqual(["ada", "ben", "kim"].map((identity) => shownTo({ identity })), ["Ada 1 : 2½ Ben", "Ben 2½ : 1 Ada", "Ben 2½ : 1 Ada"]);
    assertEqual([0, 1, 2, 3].map(scorePoints), ["0", "½", "1", "1½"]);
    const computer = modelWith({ seats: [LEVEL_2, ADA], series: [{ players: ["ada", "ai"], half_points: [0, 2] }] });
    render(parent, drawScore(computer, computer.room));
    assertEqual(parent.textContent, "Ada 0 : 1 the computer");
    assertEqual([drawScore(model, modelWith({}).room), scoreBetween(modelWith({ seats: [ADA, null], series }).room)], [null, null]);
});

test("a result counts after the snapshot, and an aborted match does not", () => {
    const { room } = modelWith({ series: [{ players: ["ben", "ada"], half_points: [5, 2] }] });
    const ended = (over) => ({ ...room, results: [...room.results, { ...room.match, over }] });
    assertEqual(scoreBetween(ended(OVER)), [2, 7]);
    assertEqual(scoreBetween(ended({ winner: null, how: "agreement", reason: "" })), [3, 6]);
    assertEqual(seriesOf(ended({ winner: null, how: "abort", reason: "" })), room.series);
});

test("two people on one screen have names, and without one a number", () => {
    const game = { id: "hex", levels: 3, options: {}, title: "Hex" };
    const choices = (names) => createCommand({ ...validChoices(game, { opponent: "screen", names }) }, 0);
    const expected = { t: "create", game: "hex", options: {}, visibility: "unlisted", one_screen: true };
    assertEqual(choices(["Mia", " Tom "]), { ...expected, seats: [{ who: "me", name: "Mia" }, { who: "me", name: "Tom" }] });
    assertEqual(choices(["Mia", " "]), { ...expected, seats: [{ who: "me", name: "Mia" }, { who: "me", name: "Player 2" }] });
    assertEqual(choices(undefined).seats.map(({ name }) => name), ["Player 1", "Player 2"]);
});
