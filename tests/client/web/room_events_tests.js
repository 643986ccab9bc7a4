import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { historyLines, logLine, presenceChanges, soundsFor, toastText } from "/client/web/pages/room/events.js";
import { RoomFeedback } from "/client/web/pages/room/feedback.js";
import { assertEqual, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const CLEO = { identity: "cleo", name: "Cleo" };
const BOARD = {
    board: { kind: "grid", cols: 2, rows: 2 },
    kinds: { w: { name: "white man", side: 0 }, b: { name: "black man", side: 1 } },
    seats: [
        { name: "White", colour: "#fff" },
        { name: "Black", colour: "#000" },
    ],
};
const MOVED = { t: "event", room: "r", kind: "moved", match: "m", ply: 0, seat: 0, move: "a1", digest: "" };

/** Returns the room in which Ada and Ben play, after these messages. */
function roomAfter(messages = [], snapshot = {}) {
    const match = { id: "m", number: 1, start: "", rules: "", seats: [ADA, BEN], moves: [] };
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "ada", levels: 3, view: BOARD }, may: [] },
        { t: "snapshot", room: "r", v: 9, seats: [ADA, BEN], match, ...snapshot },
        ...messages,
    ].reduce(apply, follow(EMPTY_MODEL, "r")).room;
}

/** Returns the log line and the toast that an event makes for Ada, Ben and a spectator. */
function textsOf(event, snapshot) {
    const room = roomAfter([], snapshot);
    return [0, 1, null].map((seat) => [logLine(event, room, seat), toastText(event, room, seat)]);
}

test("an offer and its answer are logged, and the offerer is told of a refusal", () => {
    assertEqual(textsOf({ kind: "offered", seat: 0, what: "draw" }), [
        ["You offered a draw", null],
        ["Ada offered a draw", "Ada offered a draw"],
        ["Ada offered a draw", null],
    ]);
    assertEqual(textsOf({ kind: "declined", seat: 1, what: "draw" }, { offers: [0] }), [
        ["Ben declined the draw", "Your draw offer was declined"],
        ["You declined the draw", null],
        ["Ben declined the draw", null],
    ]);
    assertEqual(textsOf({ kind: "declined", seat: 0, what: "rematch" }, { offers: [0] })[1], [
        "Ada withdrew the rematch offer",
        "Ada withdrew the rematch offer",
    ]);
    const agreed = { kind: "finished", match: "m", winner: null, how: "agreement", reason: "both sides agreed to it" };
    assertEqual(textsOf(agreed, { offers: [0] })[2], ["Ben accepted the draw", null]);
    const resigned = { kind: "finished", match: "m", winner: 1, how: "resign", reason: "White resigned" };
    assertEqual(textsOf(resigned).map(([line]) => line), Array(3).fill("Ben (Black) wins: Ada (White) resigned"));
    assertEqual(textsOf(resigned, { seats: [CLEO, BEN] })[2][0], "Ben (Black) wins: Ada (White) resigned"); // who has left
});

test("a move without cells is told to the other side, in any game", () => {
    const toasts = (move, targets, more = {}) => {
        const room = roomAfter();
        room.description = { ...room.description, ...more, view: { ...BOARD, targets } };
        return [0, 1, null].map((seat) => toastText({ ...MOVED, seat: 1, move }, room, seat));
    };
    const none = [null, null, null];
    assertEqual(toasts("swap", { swap: [] }), ["Ben swapped", null, null]);
    assertEqual(toasts("roll", { roll: [] }), ["Ben played roll", null, null]);
    assertEqual([toasts("swap", {}), toasts("swap", { swap: ["a1"] }), toasts("swap", { swap: [] }, { one_screen: true })], [none, none, none]);
});

test("a move declines the opponent's offer of a draw", () => {
    assertEqual(textsOf({ ...MOVED, seat: 1 }, { offers: [0] }), [
        ["Ben moved and so declined the draw", "Your draw offer was declined"],
        ["You moved and so declined the draw", null],
        ["Ben moved and so declined the draw", null],
    ]);
    assertEqual(textsOf({ ...MOVED, seat: 0 }, { offers: [0] })[0], [null, null]);
});

test("players who join, leave or abort are logged, and the other player is told", () => {
    assertEqual(textsOf({ kind: "seat_taken", seat: 1, occupant: CLEO }, { seats: [ADA, null] })[0], [
        "Cleo joined as Black",
        "Cleo joined as Black",
    ]);
    assertEqual(textsOf({ kind: "seat_left", seat: 1 }).slice(0, 2), [
        ["Ben left the seat", "Ben left the seat"],
        ["You no longer have the seat", null],
    ]);
    const ai = { identity: "ai", name: "AI level 1", kind: "ai", level: 1 };
    assertEqual(textsOf({ kind: "seat_taken", seat: 1, occupant: ai }, { seats: [ADA, null] })[0], [
        "AI level 1 joined as Black",
        null,
    ]);
    const aborted = { kind: "finished", match: "m", winner: null, how: "abort", reason: "the match was aborted" };
    assertEqual(textsOf(aborted)[1], ["The match was aborted", "The match was aborted"]);
    const rematch = { kind: "started", match: "n", number: 2, seats: [BEN, ADA] };
    assertEqual(textsOf(rematch, { offers: [0] })[0], [
        "Ben accepted the rematch. Match 2 started",
        "New match: you play Black",
    ]);
    assertEqual(textsOf({ kind: "hidden" }), Array(3).fill([null, null]));
});

test("both players are told what the bot may do from now on, wherever they look", () => {
    const told = "The bot may help both players now";
    assertEqual(textsOf({ kind: "configured", help: true }), [
        [told, told],
        [told, told],
        [told, null],
    ]);
});

test("a move, a capture, the turn and the end have their sounds, each once", () => {
    const view = (ply, pieces, turn) => ({ t: "view", room: "r", v: 10, match: "m", ply, view: { pieces, turn, text: "" } });
    const messages = [
        view(0, { a1: "w", b2: "b" }, 0),
        { ...MOVED, v: 10, at: 1 },
        view(1, { b1: "w", b2: "b" }, 1),
        { ...MOVED, v: 11, at: 1, ply: 1, seat: 1 },
        view(2, { b1: "b" }, 0),
        { t: "turn", room: "r", v: 11, match: "m", ply: 2, moves: [{ id: "x", path: ["x"], text: "x" }] },
        { t: "event", room: "r", v: 12, at: 1, kind: "finished", match: "m", winner: 1, how: "resign", reason: "" },
    ];
    const rooms = messages.map((_, i) => roomAfter(messages.slice(0, i + 1)));
    const sounds = (seat) => rooms.slice(1).flatMap((room, i) => soundsFor(rooms[i], room, seat));
    assertEqual(sounds(0), ["move", "capture", "turn", "lost"]);
    assertEqual(sounds(1), ["move", "capture", "turn", "won"]);
    assertEqual(sounds(null), ["move", "capture", "turn", "end"]);
    assertEqual(soundsFor(roomAfter(), rooms.at(-1), 0).length < 3, true);
});

test("players who lose the connection and come back are noticed", () => {
    const [both, gone, near] = [[true, true], [true, false], [true, false]].map((seats) => ({ seats, elsewhere: [] }));
    near.elsewhere.push(1);
    assertEqual(presenceChanges(null, gone), []);
    assertEqual(presenceChanges(both, gone), [{ seat: 1, where: "gone" }]);
    assertEqual(presenceChanges(gone, near), [{ seat: 1, where: "elsewhere" }]);
    assertEqual(presenceChanges(near, both), [{ seat: 1, where: "here" }]);
});

test("after a reload the page knows whether you have offered a draw in this match", () => {
    const room = roomAfter();
    const [started, offered] = [
        { v: 3, kind: "started", match: "m", seats: room.seats },
        { v: 4, kind: "offered", what: "draw", seat: 0 },
    ];
    const after = (...events) => {
        const model = { ...EMPTY_MODEL, you: { identity: "ada" }, room };
        const app = { model, update() {}, toast() {}, session: { status: { state: "open" } } };
        const feedback = new RoomFeedback(app);
        feedback.addHistory(events, 9);
        return { app, feedback };
    };
    const knows = (...events) => after(...events).feedback.hasOfferedDraw;
    assertEqual([knows(started), knows(started, offered)], [false, true]);
    assertEqual([knows(started, { ...offered, seat: 1 }), knows(started, { ...offered, what: "takeback" })], [false, false]);
    assertEqual([knows(started, { ...offered, v: 10 }), knows(offered, { ...started, v: 5 })], [false, false]);
    // A snapshot may bring another match without its event.
    const { app, feedback } = after(started, offered);
    app.model = { ...app.model, room: { ...room, match: { ...room.match, id: "n" } } };
    assertEqual(feedback.hasOfferedDraw, false);
});

test("a lost connection of the opponent is logged after a while, and so is their return", () => {
    const timers = new Map();
    const { setTimeout, clearTimeout } = window;
    window.setTimeout = (call) => (timers.set(timers.size + 1, call), timers.size);
    window.clearTimeout = (timer) => timers.delete(timer);
    const app = { model: { you: { identity: "ada" }, room: roomAfter() }, update() {}, toast() {}, session: { status: { state: "open" } } };
    const feedback = new RoomFeedback(app);
    const connect = (isAda, isBen, elsewhere = []) => {
        const before = app.model.room;
        const presence = { seats: [isAda, isBen], watching: 0, elsewhere };
        app.model = { ...app.model, room: { ...before, presence } };
        feedback.onRoomChange(before, app.model.room);
    };
    const wait = () => {
        const calls = [...timers.values()];
        timers.clear();
        calls.forEach((call) => call());
    };
    const texts = () => feedback.lines.map(({ text }) => text);
    connect(true, true);
    connect(true, false);
    connect(true, true);
    wait();
    assertEqual(texts(), []);
    connect(false, false);
    wait();
    assertEqual(texts(), ["Ben has gone"]);
    connect(true, true);
    assertEqual(texts(), ["Ben has gone", "Ben is back"]);
    app.session.status.state = "lost"; // the server has gone, and Ben's connection with it
    connect(true, false);
    wait();
    app.session.status.state = "open";
    connect(true, true);
    assertEqual([texts().length, timers.size], [2, 0]);
    connect(true, false);
    app.session.status.state = "connecting"; // Ben's four seconds end while the page is offline
    wait();
    assertEqual(texts().length, 2);
    app.session.status.state = "open";
    wait();
    connect(true, true);
    assertEqual(texts().slice(2), ["Ben has gone", "Ben is back"]);
    feedback.lines = feedback.lines.slice(0, 2);
    connect(true, false);
    connect(true, false, [1]);
    wait();
    connect(true, false);
    connect(true, false, [1]);
    wait();
    assertEqual(texts().slice(2), ["Ben is on another page of this server"]);
    connect(true, false);
    wait();
    assertEqual(texts().slice(3), ["Ben has gone"]);
    Object.assign(window, { setTimeout, clearTimeout });
});

test("the lines from before the join are those that a viewer of that time has seen", () => {
    const events = [
        { kind: "seat_taken", seat: 0, occupant: ADA },
        { kind: "seat_taken", seat: 1, occupant: BEN },
        { kind: "started", match: "m", number: 1, start: "", rules: "", seats: [ADA, BEN] },
        { ...MOVED, ply: 0 },
        { kind: "hidden" },
        { kind: "offered", seat: 1, what: "draw" },
        { ...MOVED, ply: 1, seat: 1 },
        { ...MOVED, ply: 2, seat: 0 },
        { kind: "renamed", identity: "ben", name: "Benjamin" },
        { kind: "took_back", match: "m", seat: 1, to_ply: 1 },
        { kind: "offered", seat: 1, what: "draw" },
    ].map((event, i) => ({ t: "event", room: "r", at: 1, ...event, v: i + 2 }));
    const textsFor = (identity, from = 0) =>
        historyLines({ ...EMPTY_MODEL, you: { identity }, room: roomAfter() }, events.slice(from), 11).map(({ v, text }) => [v, text]);
    assertEqual(textsFor("ada"), [
        [2, "You joined as White"],
        [3, "Ben joined as Black"],
        [4, "Match 1 started"],
        [7, "Ben offered a draw"],
        [9, "You moved and so declined the draw"],
        [10, "Ben is now Benjamin"],
        [11, "Benjamin took back 2 moves"],
    ]);
    assertEqual(textsFor("cleo", 2)[1], [7, "Ben offered a draw"]);
    assertEqual(historyLines({ ...EMPTY_MODEL, room: roomAfter() }, [], 11), []);
});
