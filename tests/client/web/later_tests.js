import { Part, expectedParts, neededParts } from "/client/web/pages/room/later.js";
import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { assertEqual, flushPromises, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const AI = { identity: "ai", name: "AI level 1", kind: "ai", level: 1 };
const KEPT = { ...AI, kept_for: ADA };

/** Returns Ada's model of a room. */
function modelOf({ seats = [ADA, BEN], hasMatch = true, may = [], description = {}, ...snapshot } = {}) {
    const match = hasMatch ? { id: "m", number: 1, start: "", rules: "", seats, moves: [{ move: "a1" }] } : null;
    return [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "ada", levels: 3, view: null, ...description }, may },
        { t: "snapshot", room: "r", v: 9, seats, match, ...snapshot },
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
}

const needed = (state) => {
    const model = modelOf(state);
    return neededParts(model, model.room);
};
const expected = (state) => {
    const model = modelOf(state);
    return expectedParts(model, model.room);
};

test("a room needs only the parts that it shows", () => {
    assertEqual(needed(), []);
    assertEqual(needed({ seats: [ADA, null], hasMatch: false }), ["invitation"]);
    assertEqual(needed({ seats: [ADA, null], hasMatch: false, may: ["add_ai"] }), ["aiForm", "invitation"]);
    assertEqual(needed({ seats: [ADA, null], may: ["add_ai"] }), ["aiForm"]);
    assertEqual(needed({ seats: [AI, null], hasMatch: false }), ["invitation", "thinking"]);
    assertEqual(needed({ seats: [ADA, AI] }), ["thinking"]);
    assertEqual(needed({ seats: [ADA, ADA], description: { one_screen: true } }), ["oneScreen"]);
    assertEqual(needed({ seats: [KEPT, BEN] }), ["thinking", "opponent"]);
    assertEqual(needed({ offers: [1] }), ["opponent"]);
    assertEqual(needed({ proposals: [{ seat: 1, what: "takeback", to_ply: 0 }] }), ["opponent"]);
    const gone = apply(modelOf(), { t: "presence", room: "r", seats: [true, false], watching: 0, gone_ms: [null, 9] });
    assertEqual(neededParts(gone, gone.room), ["opponent"]);
});

test("every room expects the chat's part, and only a match between two people the opponent's", () => {
    assertEqual(expected(), ["chat", "after", "opponent"]);
    assertEqual(expected({ may: ["let_ai_play"] }), ["chat", "after", "opponent", "thinking"]);
    assertEqual(expected({ seats: [ADA, AI] }), ["chat", "after", "thinking"]);
    assertEqual(expected({ hasMatch: false }), ["chat"]);
});

test("a room with a clock needs it, and loads the AI's thinking after it", () => {
    const timed = { seats: [ADA, AI], hasMatch: false, clock: "300+3" };
    assertEqual([needed(timed), expected(timed)], [["clock"], ["chat", "thinking"]]);
});

/** Returns a part whose loads end as `outcomes` say, and what it does to the page. */
function partWith(...outcomes) {
    const done = [];
    const app = { missing: () => done.push("missing"), update: () => done.push("update") };
    const load = async () => {
        done.push("load");
        if (!outcomes.shift()) throw new Error("no answer");
        return { name: "module" };
    };
    const part = new Part(app, load, ({ name }) => ({ name, stop: () => done.push("stop") }));
    return { part, done };
}

test("a part is loaded once", async () => {
    const { part, done } = partWith(true);
    assertEqual([part.shown, part.isSettled], [null, false]);
    part.request();
    part.request();
    await flushPromises();
    part.request();
    part.retry();
    assertEqual([part.shown.name, part.isSettled, done], ["module", true, ["load", "update"]]);
    part.stop();
    assertEqual(done.at(-1), "stop");
});

test("a part that does not arrive is announced, does not hold the page up, and can be tried again", async () => {
    const { part, done } = partWith(false, true);
    part.request();
    await flushPromises();
    assertEqual([part.shown, part.isSettled, done], [null, true, ["load", "missing", "update"]]);
    part.request();
    await flushPromises();
    assertEqual(done.length, 3, "a drawing does not load it again");
    part.retry();
    await flushPromises();
    assertEqual([part.shown.name, part.isSettled], ["module", true]);
});

test("a part that arrives after its page has gone is not made", async () => {
    const { part, done } = partWith(true);
    part.request();
    part.stop();
    await flushPromises();
    assertEqual([part.shown, done], [null, ["load"]]);
});
