import { EMPTY_MODEL, apply, follow, headPly, isClosed, withViews } from "/client/web/shell/model.js";
import { withThoughts } from "/client/web/ui/thoughts.js";
import { arrowsOf } from "/client/web/pages/room/answers.js";
import { legalMoves, mySeat, permits } from "/client/web/pages/room/viewer.js";
import { countText, moveText, pointsText, resultText, scoreText, durationText } from "/client/web/shell/words.js";
import { drawActions, statusText } from "/client/web/pages/room/actions.js";
import { assert, assertEqual, test } from "./testing.js";

const ROOM = "r7Kq2";

async function golden(name) {
    return (await fetch(`/tests/data/messages/${name}.json`)).json();
}

/** The room of the golden frames, after its snapshot at v 4. */
async function joined() {
    const names = ["welcome", "joined", "snapshot", "view", "presence"];
    const messages = await Promise.all(names.map((name) => golden(`server-${name}`)));
    return messages.reduce(apply, follow(EMPTY_MODEL, ROOM));
}

test("the model reads a golden frame of each kind", async () => {
    const kinds = "ack error joined lobby may notification pong presence snapshot thinking turn view welcome".split(" ");
    let model = follow(EMPTY_MODEL, ROOM);
    for (const kind of kinds) model = apply(model, await golden(`server-${kind}`));
    assertEqual(
        [model.you, model.epoch, model.room.v, headPly(model.room), mySeat(model)],
        [{ identity: "g-ada", name: "Ada" }, "e-1", 4, 1, 0],
    );
    assertEqual(
        [model.room.presence.watching, model.room.chat[0].text, model.room.views[1].text],
        [7, "hello", "Yellow to move"],
    );
});

test("the golden events make the expected room", async () => {
    const kinds = "created seat_taken started moved said hidden finished offered declined seat_left".split(" ");
    let model = apply(follow(EMPTY_MODEL, ROOM), await golden("server-welcome"));
    for (const kind of kinds) model = apply(model, await golden(`event-${kind}`));
    const { v, gap, match, offers, chat, seats } = model.room;
    assertEqual(
        [v, gap, match.moves, match.over.reason, offers, seats],
        [
            10,
            false,
            [{ move: "d", text: "d1", number: "1." }],
            "Red resigned",
            [],
            [null, { identity: "ai", name: "AI level 5", kind: "ai", level: 5 }],
        ],
    );
    assertEqual(chat, [{ v: 5, at: 1760000000005, identity: "g-kim", name: "Kim", text: "a good <i>move</i>?" }]);
});

test("the arrows of an answer stand while the match has the moves of then, and no other match shows them", async () => {
    const answer = await golden("server-answer");
    const model = apply(await joined(), answer);
    assertEqual(arrowsOf(model.room), answer.arrows);
    const { match } = model.room;
    const at = (moves, id = match.id) => arrowsOf({ ...model.room, match: { ...match, id, moves } });
    assertEqual(at([{ ...match.moves[0] }]), answer.arrows); // a snapshot after an outage
    assertEqual(at([...match.moves, { move: "a" }]), null);
    assertEqual(at([{ move: "a" }]), null); // taken back, and another move
    assertEqual(at(match.moves, "the-next"), null);
});

test("a pass that the server played is shown as forced", async () => {
    const model = await joined();
    const { match } = model.room;
    const moved = { t: "event", room: ROOM, v: 5, at: 1, kind: "moved", match: match.id, ply: 1, seat: 1 };
    const after = apply(model, { ...moved, move: "pass", digest: "0", forced: true });
    assertEqual(after.room.match.moves.map(moveText), ["d1", "pass (forced)"]);
    assertEqual(moveText({ move: "pass" }), "pass");
});

test("a repeated event changes nothing, and after a missing one the room waits for a snapshot", async () => {
    const model = await joined();
    const said = await golden("event-said");
    const once = apply(model, said);
    assert(apply(once, said) === once || apply(once, said).room === once.room, "the second is ignored");
    const gapped = apply(once, await golden("event-finished"));
    assertEqual([gapped.room.gap, gapped.room.v, gapped.room.match.over], [true, 5, undefined]);
    const repaired = apply(gapped, { ...(await golden("server-snapshot")), v: 9 });
    assertEqual([repaired.room.gap, repaired.room.v], [false, 9]);
});

test("messages about rooms that are not followed are ignored", async () => {
    const model = await joined();
    const other = { ...(await golden("event-said")), room: "other" };
    assert(apply(model, other).room === model.room, "another room's event changes nothing");
    assertEqual(apply(EMPTY_MODEL, await golden("server-snapshot")).room, null);
});

test("a welcome with another epoch empties the room, one with the same epoch does not", async () => {
    const model = await joined();
    const welcome = await golden("server-welcome");
    assertEqual(apply(model, welcome).room.v, 4);
    assertEqual(apply(model, { ...welcome, epoch: "e-2" }).room.v, 0);
});

test("the legal moves are valid only at the ply for which they were sent", async () => {
    let model = await joined();
    model = apply(model, await golden("server-turn"));
    assertEqual(legalMoves(model.room), []);
    model = apply(model, { ...(await golden("server-turn")), ply: 1 });
    assertEqual(legalMoves(model.room).length, 1);
    model = apply(model, { ...(await golden("event-finished")), v: 5 });
    assertEqual(legalMoves(model.room), []);
});

test("a new match begins without the views, thoughts and offers of the old one", async () => {
    let model = apply(await joined(), await golden("server-thinking"));
    model = apply(model, { ...(await golden("event-offered")), v: 5 });
    model = apply(model, { ...(await golden("event-started")), v: 6, match: "m2", number: 2 });
    assertEqual([model.room.views, model.room.thoughts, model.room.offers, model.room.match.moves], [{}, {}, [], []]);
    model = apply(model, await golden("server-view"));
    assertEqual(model.room.views, {});
});

test("a thinking message without a depth leaves the earlier search in the model", async () => {
    const thinking = await golden("server-thinking");
    let model = apply(await joined(), thinking);
    model = apply(model, { t: "thinking", room: ROOM, match: thinking.match, ply: 1, seat: 1, state: "done" });
    assertEqual(
        [model.room.thoughts[1].state, model.room.thoughts[1].depth, model.room.thoughts[1].pv],
        ["done", 9, ["d", "d", "c"]],
    );
    model = apply(model, { t: "thinking", room: ROOM, match: thinking.match, ply: 1, seat: 1, state: "done", ready: 40 });
    assertEqual([model.room.thoughts[1].ready, model.room.thoughts[1].depth, model.room.thoughts[1].warming], [40, 9, false]);
    model = apply(model, { t: "thinking", room: ROOM, match: thinking.match, ply: 1, seat: 1, state: "done" });
    assertEqual(model.room.thoughts[1].ready, null);
    const read = withThoughts(model.room, thinking.match, {
        1: { depth: 1, score: 0, nodes: 1, nps: 1, time_ms: 1, pv: [] },
        3: { depth: 2, score: 0, nodes: 1, nps: 1, time_ms: 1, pv: [] },
    });
    assertEqual([read.thoughts[1].depth, read.thoughts[3].depth, read.thoughts[3].moves], [9, 2, []]);
    assert(withViews(model.room, "another", { 7: {} }) === model.room, "views of another match are ignored");
});

test("changes of the lobby are ignored until the whole list arrives", async () => {
    const change = await golden("server-lobby");
    assertEqual(apply(EMPTY_MODEL, change).lobby, null);
    const full = apply(EMPTY_MODEL, { t: "lobby", full: true, rooms: [{ ...change.rooms[0], room: "gone1" }] });
    assertEqual([Object.keys(full.lobby), Object.keys(apply(full, change).lobby)], [["gone1"], [ROOM]]);
    assertEqual(Object.keys(apply(full, { t: "lobby", full: true }).lobby), []);
});

test("a full room says that it can be read, also while it waits for a player", async () => {
    const model = await joined();
    const full = apply(model, { ...(await golden("server-joined")), frozen: "room.full", may: [] });
    const sentence = "This room is full: it takes no more events, but it can be read. Open a new room to play on";
    assertEqual(statusText(full, { ...full.room, match: null }), sentence);
    assertEqual(drawActions({ model: full, command: () => {} }, { ...full.room, match: null }, null), null);
});

test("a room whose game is not played says so before its first match, and after it", async () => {
    const model = await joined();
    const joinedMessage = await golden("server-joined");
    const frozen = (code, match) => ({ ...apply(model, { ...joinedMessage, frozen: code, may: [] }).room, match });
    const over = { winner: 0, how: "verdict", reason: "" };
    const codes = ["game.hung", "game.unknown", "option.unknown", "game.fault"];
    const texts = codes.map((code) => statusText(model, frozen(code, null)));
    const gone = "This room can be read but not played: the server no longer has its rules";
    const hung = "This game is out of order: one of its rules did not return. It can be played again after a restart of the server";
    assertEqual(texts, [hung, gone, gone, gone]);
    assertEqual(codes.map((code) => isClosed(frozen(code, null))), [true, true, true, true]);
    const { match } = model.room;
    assertEqual(statusText(model, frozen("game.hung", match)), hung.replace("It can be played again", "The match can go on"));
    // Another match is played by the rules of now.
    const ended = [...codes, "game.changed"].map((code) => isClosed(frozen(code, { ...match, over })));
    assertEqual(ended, [true, true, true, false, false]);
});

test("a room of a newer version is shown with the reason, and offers no action", async () => {
    const model = await joined();
    const newer = apply(model, { ...(await golden("server-joined")), frozen: "room.newer", may: [] });
    const sentence = "This room was made by a newer Plyroom; it can be read here and played elsewhere";
    const actions = (model) => [drawActions({ model, command: () => {} }, model.room, null)].flat(Infinity).filter(Boolean);
    assertEqual(statusText(newer, newer.room), sentence);
    assertEqual(statusText(newer, { ...newer.room, match: null }), sentence);
    assertEqual(actions(newer), []);
    assert(actions(model).length > 0, "other rooms have actions");
    const over = { winner: null, how: "verdict", reason: "the arbiter ended it" };
    const ended = { ...newer.room, match: { ...newer.room.match, over } };
    assertEqual(statusText(newer, ended), "Match over: the arbiter ended it");
    const offered = apply(newer, { t: "event", room: ROOM, v: 5, at: 1, kind: "offered", seat: 1, what: "takeback" });
    assertEqual([offered.room.v, offered.room.offers], [5, []]);
});

test("scores, counts, durations and results have these texts", () => {
    assertEqual(
        [12, -3, 0, 29995, -29990].map((score) => scoreText(score)),
        ["+12", "−3", "0", "win in 5", "loss in 10"],
    );
    assertEqual([scoreText(-40, "upper"), scoreText(7, "lower")], ["≤ −40", "≥ +7"]);
    assertEqual([7, 812, 4840, 48211, 3100000, 2e9].map(countText), ["7", "812", "4.84 k", "48.2 k", "3.10 M", "2.00 G"]);
    assertEqual([85, 1200].map(durationText), ["85 ms", "1.2 s"]);
    const board = { seats: [{ name: "Red" }, { name: "Noughts" }] };
    const over = (winner, how) => ({ winner, how, reason: "" });
    assertEqual(
        [over(0, "board"), over(1, "resign"), over(null, "board"), over(null, "abort"), over(null, "failure")].map(
            (result) => resultText(result, board),
        ),
        ["Red wins", "Noughts win", "Draw", "Aborted", "No result"],
    );
    const withPoints = [over(1, "board"), over(null, "board")].map((result) => ({ ...result, points: [3, 5] }));
    assertEqual(withPoints.map((result) => resultText(result, board)), ["Noughts win 5 to 3", "Draw"]);
    assertEqual(resultText({ ...over(null, "board"), points: [4, 4] }, board), "Draw 4 to 4");
    assertEqual(withPoints.map(pointsText), ["3 – 5", "3 – 5"]);
    assertEqual([over(1, "flag"), over(null, "adjudication")].map((result) => resultText(result, board)), [
        "Noughts win",
        "Match over",
    ]);
});

test("the model has the latest list of permitted commands", async () => {
    const model = await joined();
    assertEqual(model.room.may, ["resign", "abort", "offer_draw", "see_thinking", "chat"]);
    assert(permits(model, "abort"), "a listed command is permitted");
    assert(!permits(model, "sit"), "a command that is not listed is not permitted to a player");
    const later = apply(model, await golden("server-may"));
    assertEqual(later.room.may, ["resign", "offer_draw", "see_thinking", "chat"]);
    assertEqual(apply(later, { t: "may", room: "another", v: 9, may: [] }), later);
});

test("with a server of an earlier version, which sends no list, every command is offered", async () => {
    const { may, ...earlier } = await golden("server-joined");
    const model = apply(await joined(), earlier);
    assert(may !== undefined && permits(model, "rematch"), "the server decides");
});

test("a spectator is offered a seat that became free after they joined", async () => {
    const model = { ...(await joined()), you: { identity: "g-kim", name: "Kim" } };
    const watching = apply(model, { t: "may", room: ROOM, v: 4, may: ["chat"] });
    assert(permits(watching, "sit") && !permits(watching, "resign"), "only a player may resign");
    const frozen = { ...watching, room: { ...watching.room, frozen: "game.unknown" } };
    assert(!permits(frozen, "sit"), "no command is permitted in a frozen room");
});

test("messages and events of a newer server change nothing but v", async () => {
    const { room } = await joined();
    const model = { ...EMPTY_MODEL, room };
    assertEqual(apply(model, { t: "forecast", room: ROOM, v: 5 }), model);
    const event = { t: "event", room: ROOM, v: 5, at: 1, kind: "postponed" };
    assertEqual(apply(model, event).room, { ...room, v: 5 });
});

test("what waits in another room is told once, the latest first, until it is entered", () => {
    const tell = (room, what) => ({ t: "notification", room, ...(what && { what, text: `${what} in ${room}` }) });
    const rooms = (model) => model.waiting.map(({ room, what }) => `${room} ${what}`);
    let model = [tell("a", "turn"), tell("b", "rematch"), tell("a", "draw")].reduce(apply, EMPTY_MODEL);
    assertEqual(rooms(model), ["a draw", "b rematch"]);
    assertEqual(rooms(apply(model, tell("a"))), ["b rematch"]);
    model = follow(model, "a");
    assertEqual(rooms(model), ["b rematch"]);
    assertEqual(rooms(apply(model, tell("a", "turn"))), ["b rematch"]);
    assertEqual(rooms(apply(model, { t: "welcome", identity: "g", name: "G", epoch: "e" })), []);
});
