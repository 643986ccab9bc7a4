import { App } from "/client/web/shell/app.js";
import { EMPTY_MODEL, apply, follow } from "/client/web/shell/model.js";
import { withWaiting } from "/client/web/shell/waiting.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

const tell = (room, text, what = "turn") => ({ t: "notification", room, ...(text && { what, text }) });
const entry = (room, text = `turn in ${room}`) => ({ room, what: "turn", text });
const texts = (model) => model.waiting.map(({ text }) => text);

/** The texts of what waits after an answer to a request that was sent at `before`. */
function afterAnswer(model, before, notifications, rooms = []) {
    return texts(withWaiting(model, before, { running: rooms.map((room) => ({ room })), notifications }));
}

test("an answer about what waits replaces what is known, except what was told since its request", () => {
    const before = [tell("a", "turn in a"), tell("b", "turn in b")].reduce(apply, EMPTY_MODEL);
    assertEqual(afterAnswer(before, before, [entry("a")], ["a", "b"]), ["turn in a"]);
    assertEqual(afterAnswer(before, before, [entry("c"), entry("a", "draw in a"), entry("b")]), ["turn in b", "draw in a", "turn in c"]);
    const told = [tell("d", "turn in d"), tell("b")].reduce(apply, before);
    assertEqual(afterAnswer(told, before, [entry("b"), entry("c")]), ["turn in d", "turn in c"]);
    assertEqual(afterAnswer(told, told, [entry("b"), entry("c")]), ["turn in b", "turn in c"]);
    const inside = follow(before, "a");
    assertEqual(afterAnswer(inside, inside, [entry("a"), entry("b")]), ["turn in b"]);
    const same = withWaiting(before, before, { running: [], notifications: [entry("a"), entry("b")] });
    assert(same === before, "the same answer makes no other model");
});

test("what only the server tells stays as long as no answer contradicts it", () => {
    for (const what of ["started", "draw", "takeback"]) {
        const model = apply(EMPTY_MODEL, tell("a", "news", what));
        assertEqual([afterAnswer(model, model, [entry("a")], ["a"]), afterAnswer(model, model, [])], [["news"], []]);
    }
    const over = apply(EMPTY_MODEL, tell("a", "over", "over"));
    assertEqual([afterAnswer(over, over, []), afterAnswer(over, over, [entry("a", "rematch")]), afterAnswer(over, over, [], ["a"])], [["over"], ["rematch"], []]);
});

test("what waits survives a reconnect, and not another identity", () => {
    const welcome = (identity) => ({ t: "welcome", protocol: 1, identity, name: "G", epoch: "e", at: 1 });
    const model = [welcome("g"), tell("a", "turn in a")].reduce(apply, EMPTY_MODEL);
    assertEqual([texts(apply(model, welcome("g"))), texts(apply(model, welcome("h")))], [["turn in a"], []]);
});

/** A page of a room or another one, which only follows its room. */
class TestPage {
    constructor(app, id) {
        Object.assign(this, { app, id });
    }
    start() {
        if (location.pathname.startsWith("/room/")) this.app.session.followRoom(this.id);
    }
    stop() {
        if (location.pathname !== `/room/${this.id}`) this.app.session.followRoom(null);
    }
    title = () => "Test";
    draw = () => null;
    onModelChange() {}
    afterDraw() {}
    onKey() {}
}

test("the bar is right in a room, after a reconnect and after going back", async () => {
    const address = location.pathname;
    const sockets = [];
    const answer = { running: [], waiting: [], notifications: [entry("a"), entry("b")] };
    let requests = 0;
    const realFetch = window.fetch;
    window.fetch = async (path, ...more) => {
        if (path === "/api/me/matches") return (requests += 1, Response.json(answer));
        return String(path).startsWith("/api/") ? Response.json({ identity: "g", name: "G" }) : realFetch(path, ...more);
    };
    window.WebSocket = function () {
        Object.assign(this, { send() {}, close() {} });
        sockets.push(this);
    };
    const settled = async (text) => {
        for (let i = 0; i < 200 && document.querySelector(".waiting .go span")?.textContent !== text; i++) await flushPromises();
        assertEqual(document.querySelector(".waiting .go span")?.textContent, text);
    };
    const welcomed = async () => {
        const count = requests;
        for (let i = 0; i < 200 && !sockets.at(-1)?.onopen; i++) await flushPromises();
        sockets.at(-1).onopen();
        sockets.at(-1).onmessage({ data: JSON.stringify({ t: "welcome", protocol: 1, identity: "g", name: "G", epoch: "e", at: 1 }) });
        for (let i = 0; i < 200 && requests === count; i++) await flushPromises();
        assertEqual(requests, count + 1);
    };
    history.replaceState(null, "", "/room/a");
    try {
        const load = async () => TestPage;
        const app = new App(document.body, [[/^\/room\/(\w+)$/, load, []], [/^\/other$/, load, []], [/^\/$/, load, []]], "/room/");
        app.start();
        await welcomed();
        await settled("turn in b");
        answer.notifications = [entry("c")]; // the turn in b was played in another tab
        sockets.at(-1).onclose({ code: 1006 });
        app.session.retry();
        await welcomed();
        await settled("turn in c");
        answer.notifications = [entry("d")];
        history.replaceState(null, "", "/other");
        dispatchEvent(new PopStateEvent("popstate"));
        await settled("turn in d");
        const count = requests;
        app.navigate("/");
        await flushPromises();
        assertEqual(requests, count); // the lobby requests more by itself
    } finally {
        history.replaceState(null, "", address);
    }
});
