import { EMPTY, apply, follow, headPly, legalMoves, mySeat, withThoughts, withViews } from "/client/web/model.js";
import { countText, moveText, resultText, scoreText, spanText } from "/client/web/words.js";
import { holds, promise, same } from "./promises.js";

const ROOM = "r7Kq2";

async function golden(name) {
    return (await fetch(`/tests/data/messages/${name}.json`)).json();
}

/** The room of the golden frames, after its snapshot at v 4. */
async function joined() {
    const names = ["welcome", "joined", "snapshot", "view", "presence"];
    const messages = await Promise.all(names.map((name) => golden(`server-${name}`)));
    return messages.reduce(apply, follow(EMPTY, ROOM));
}

promise("a golden frame of every kind is understood", async () => {
    const kinds = "ack error joined lobby pong presence snapshot thinking turn view welcome".split(" ");
    let model = follow(EMPTY, ROOM);
    for (const kind of kinds) model = apply(model, await golden(`server-${kind}`));
    same(
        [model.you, model.epoch, model.room.v, headPly(model.room), mySeat(model)],
        [{ identity: "g-ada", name: "Ada" }, "e-1", 4, 1, 0],
    );
    same(
        [model.room.presence.watching, model.room.chat[0].text, model.room.views[1].text],
        [7, "hello", "Yellow to move"],
    );
});

promise("the golden events make the room that they tell of", async () => {
    const kinds = "created seat_taken started moved said hidden finished offered declined seat_left".split(" ");
    let model = apply(follow(EMPTY, ROOM), await golden("server-welcome"));
    for (const kind of kinds) model = apply(model, await golden(`event-${kind}`));
    const { v, gap, match, offers, chat, seats } = model.room;
    same(
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
    same(chat, [{ v: 5, at: 1760000000005, name: "Kim", text: "a good <i>move</i>?" }]);
});

promise("a pass that the server played is told as forced", async () => {
    const model = await joined();
    const { match } = model.room;
    const moved = { t: "event", room: ROOM, v: 5, at: 1, kind: "moved", match: match.id, ply: 1, seat: 1 };
    const after = apply(model, { ...moved, move: "pass", digest: "0", forced: true });
    same(after.room.match.moves.map(moveText), ["d1", "pass (forced)"]);
    same(moveText({ move: "pass" }), "pass");
});

promise("an event twice changes nothing, a missing one stops the room until a snapshot comes", async () => {
    const model = await joined();
    const said = await golden("event-said");
    const once = apply(model, said);
    holds(apply(once, said) === once || apply(once, said).room === once.room, "the second is ignored");
    const gapped = apply(once, await golden("event-finished"));
    same([gapped.room.gap, gapped.room.v, gapped.room.match.over], [true, 5, undefined]);
    const healed = apply(gapped, { ...(await golden("server-snapshot")), v: 9 });
    same([healed.room.gap, healed.room.v], [false, 9]);
});

promise("messages about other rooms, and about none that is followed, are ignored", async () => {
    const model = await joined();
    const other = { ...(await golden("event-said")), room: "other" };
    holds(apply(model, other).room === model.room, "another room's event changes nothing");
    same(apply(EMPTY, await golden("server-snapshot")).room, null);
});

promise("another epoch forgets the room, the same epoch keeps it", async () => {
    const model = await joined();
    const welcome = await golden("server-welcome");
    same(apply(model, welcome).room.v, 4);
    same(apply(model, { ...welcome, epoch: "e-2" }).room.v, 0);
});

promise("your moves are only good for the position that they were sent for", async () => {
    let model = await joined();
    model = apply(model, await golden("server-turn"));
    same(legalMoves(model.room), []);
    model = apply(model, { ...(await golden("server-turn")), ply: 1 });
    same(legalMoves(model.room).length, 1);
    model = apply(model, { ...(await golden("event-finished")), v: 5 });
    same(legalMoves(model.room), []);
});

promise("a new match begins without the old one's drawings, thoughts and offers", async () => {
    let model = apply(await joined(), await golden("server-thinking"));
    model = apply(model, { ...(await golden("event-offered")), v: 5 });
    model = apply(model, { ...(await golden("event-started")), v: 6, match: "m2", number: 2 });
    same([model.room.views, model.room.thoughts, model.room.offers, model.room.match.moves], [{}, {}, [], []]);
    model = apply(model, await golden("server-view"));
    same(model.room.views, {});
});

promise("a thought is kept while the AI only says how far it is", async () => {
    const thinking = await golden("server-thinking");
    let model = apply(await joined(), thinking);
    model = apply(model, { t: "thinking", room: ROOM, match: thinking.match, ply: 1, seat: 1, state: "done" });
    same(
        [model.room.thoughts[1].state, model.room.thoughts[1].depth, model.room.thoughts[1].pv],
        ["done", 9, ["d", "d", "c"]],
    );
    model = apply(model, { t: "thinking", room: ROOM, match: thinking.match, ply: 1, seat: 1, state: "done", ready: 40 });
    same([model.room.thoughts[1].ready, model.room.thoughts[1].depth, model.room.thoughts[1].warming], [40, 9, false]);
    model = apply(model, { t: "thinking", room: ROOM, match: thinking.match, ply: 1, seat: 1, state: "done" });
    same(model.room.thoughts[1].ready, null);
    const read = withThoughts(model.room, thinking.match, {
        1: { depth: 1, score: 0, nodes: 1, nps: 1, time_ms: 1, pv: [] },
        3: { depth: 2, score: 0, nodes: 1, nps: 1, time_ms: 1, pv: [] },
    });
    same([read.thoughts[1].depth, read.thoughts[3].depth, read.thoughts[3].moves], [9, 2, []]);
    holds(withViews(model.room, "another", { 7: {} }) === model.room, "drawings of another match are not taken");
});

promise("the lobby is a list and its changes, once the list came", async () => {
    const change = await golden("server-lobby");
    same(apply(EMPTY, change).lobby, null);
    const full = apply(EMPTY, { t: "lobby", full: true, rooms: [{ ...change.rooms[0], room: "gone1" }] });
    same([Object.keys(full.lobby), Object.keys(apply(full, change).lobby)], [["gone1"], [ROOM]]);
    same(Object.keys(apply(full, { t: "lobby", full: true }).lobby), []);
});

promise("numbers and results read well", () => {
    same(
        [12, -3, 0, 29995, -29990].map((score) => scoreText(score)),
        ["+12", "−3", "0", "win in 5", "loss in 10"],
    );
    same([scoreText(-40, "upper"), scoreText(7, "lower")], ["≤ −40", "≥ +7"]);
    same([7, 812, 4840, 48211, 3100000, 2e9].map(countText), ["7", "812", "4.84 k", "48.2 k", "3.10 M", "2.00 G"]);
    same([85, 1200].map(spanText), ["85 ms", "1.2 s"]);
    const board = { seats: [{ name: "Red" }, { name: "Noughts" }] };
    const over = (winner, how) => ({ winner, how, reason: "" });
    same(
        [over(0, "board"), over(1, "resign"), over(null, "board"), over(null, "abort")].map((one) =>
            resultText(one, board),
        ),
        ["Red wins", "Noughts win", "Draw", "Aborted"],
    );
});
