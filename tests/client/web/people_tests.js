import { Muted } from "/client/web/pages/room/muted.js";
import { nameMarks } from "/client/web/pages/room/names.js";
import { Opponent } from "/client/web/pages/room/opponent.js";
import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { render } from "/client/web/shell/elements.js";
import { assertEqual, test } from "./testing.js";

const ADA = { identity: "ada", name: "Ada" };
const BEN = { identity: "ben", name: "Ben" };
const KEPT = { identity: "ai", name: "AI level 2", kind: "ai", level: 2, kept_for: ADA };
const CLAIMS = ["claim_win", "call_draw", "let_ai_play"];

/** Returns the texts that Ada sees about a player who has gone. */
function seen({ seats = [ADA, BEN], may = [], gone_ms = [], elsewhere = [], waited_ms = 0, isWaiting = false, isMyMove = false, state = "open" }) {
    const turn = { t: "turn", room: "r", v: 9, match: "m", ply: 0, moves: [{ id: "a1", path: ["a1"], text: "a1" }] };
    const match = { id: "m", number: 1, start: "", rules: "", seats, moves: [] };
    const model = [
        { t: "welcome", protocol: 1, identity: "ada", name: "Ada", epoch: "e", at: 1 },
        { t: "joined", room: "r", v: 9, epoch: "e", description: { host: "zoe", levels: 3, view: null }, may },
        { t: "snapshot", room: "r", v: 9, seats, match },
        { t: "presence", room: "r", seats: [true, false], watching: 0, gone_ms, elsewhere },
        ...(isMyMove ? [turn] : []),
    ].reduce(apply, follow(EMPTY_MODEL, "r"));
    const opponent = new Opponent({ model, command: async () => null, update() {}, session: { status: { state } } }, () => 1000);
    opponent.setGone(gone_ms, 1000 - waited_ms);
    const parent = document.createElement("div");
    const draw = () => render(parent, opponent.drawGone(model.room));
    draw();
    if (isWaiting) [...parent.querySelectorAll("button")].find(({ textContent }) => textContent === "Wait").click();
    draw();
    opponent.stop();
    const leaves = [...parent.querySelectorAll("p, button")];
    return leaves.map((element) => element.textContent);
}

test("a player sees the time until the match may be claimed, and then the claims", () => {
    assertEqual(seen({}), []);
    assertEqual(seen({ gone_ms: [null, 39_001] }), ["Ben has gone. You may claim the match in 40 s."]);
    const later = "Ben has gone. You may claim the match in 36 s.";
    assertEqual(seen({ gone_ms: [null, 39_001], waited_ms: 4000 }), [later]);
    const claims = ["Wait", "Claim the win", "Call it a draw", "Let the AI play on"];
    assertEqual(seen({ gone_ms: [null, 0], may: CLAIMS }), ["Ben has gone.", ...claims]);
    assertEqual(seen({ gone_ms: [null, 0], may: CLAIMS, isWaiting: true }), ["Ben has gone."]);
    assertEqual(seen({ gone_ms: [0, null] }), []);
    assertEqual(seen({ gone_ms: [null, 39_001], state: "waiting" }), []); // it may be the server that went
});

test("a spectator reads who has gone, both if both have", () => {
    const spectator = (gone_ms) => seen({ seats: [BEN, { identity: "cyd", name: "Cyd" }], gone_ms });
    assertEqual(spectator([null, 9000]), ["Cyd has gone."]);
    assertEqual(spectator([9000, 9000]), ["Ben has gone. Cyd has gone."]);
});

test("a player sees what a claim waits for besides the time, and the claims that there are", () => {
    const gone_ms = [null, 39_001];
    const started = "Ben has gone. You may abort the match.";
    assertEqual(seen({ gone_ms, may: ["abort"] }), [started]);
    assertEqual(seen({ gone_ms: [null, 0], may: ["abort"], isMyMove: true }), [started]);
    const both = "Ben has gone. You may claim the match in 40 s and after your move.";
    assertEqual(seen({ gone_ms, isMyMove: true }), [both]);
    const move = "Ben has gone. You may claim the match after your move.";
    assertEqual(seen({ gone_ms: [null, 0], isMyMove: true }), [move]);
    const drawn = "Ben has gone. Your side cannot win any more.";
    const claims = ["Call it a draw", "Let the AI play on"];
    assertEqual(seen({ gone_ms: [null, 0], may: CLAIMS.slice(1) }), [drawn, "Wait", ...claims]);
    assertEqual(seen({ gone_ms: [null, 0], may: ["claim_win"] }), ["Ben has gone.", "Wait", "Claim the win"]);
});

test("who reads another page of this server has not gone", () => {
    const [gone_ms, elsewhere] = [[null, 39_001], [1]];
    const near = "Ben is on another page of this server.";
    assertEqual(seen({ gone_ms, elsewhere }), [`${near} You may claim the match in 40 s.`]);
    assertEqual(seen({ gone_ms, elsewhere, may: ["abort"] }), [`${near} You may abort the match.`]);
    assertEqual(seen({ gone_ms: [null, 0], elsewhere, may: ["claim_win"] }), [near, "Wait", "Claim the win"]);
    const seats = [BEN, { identity: "cyd", name: "Cyd" }];
    assertEqual(seen({ seats, gone_ms: [9, 9], elsewhere }), ["Ben has gone. Cyd is on another page of this server."]);
});

test("a player whose seat the AI keeps may take it back", () => {
    const may = ["reclaim_seat"];
    assertEqual(seen({ seats: [KEPT, BEN], may }), ["AI level 2 plays for you.", "Take your seat back"]);
    assertEqual(seen({ seats: [KEPT, BEN] }), []);
});

test("people of one name are numbered, by seats and then by lines of chat", () => {
    const chat = [
        { v: 1, at: 1, identity: "zoe", name: "ADA", text: "x" },
        { v: 2, at: 2, identity: "ben", name: "Ben", text: "y" },
        { v: 3, at: 3, name: "Ada", text: "of an earlier server" },
    ];
    const marks = nameMarks({ seats: [KEPT, { identity: "kim", name: "ada" }], chat });
    assertEqual([...marks], [["ada", ""], ["kim", " (2)"], ["zoe", " (3)"], ["ben", ""]]);
});

test("the muted people stay in the browser's storage", () => {
    const stored = new Map();
    const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
    const muted = new Muted(storage);
    muted.add(ADA);
    muted.add(BEN);
    muted.remove("ben");
    const again = new Muted(storage);
    assertEqual([again.has("ada"), again.has("ben"), again.has(undefined)], [true, false, false]);
    stored.set("muted", "{");
    assertEqual(new Muted(storage).has("ada"), false);
});
