import { ApiError } from "/client/web/shell/api.js";
import { BUSY_MS, Connection, MAX_BACKOFF_MS, PING_MS, SILENCE_MS } from "/client/web/shell/connection.js";
import { assert, assertEqual, flushPromises, test } from "./testing.js";

const WELCOME = { t: "welcome", protocol: 1, identity: "me", name: "Me", epoch: "e", at: 0 };

/** A connection, and the server's side of its sockets; the test controls time and randomness. */
class FakeServer {
    now_ms = 0;
    timers = [];
    sockets = [];
    /** The types of the messages that the connection has delivered. */
    delivered = [];
    statuses = [];
    identifyCalls = 0;
    /** @type {Error | null} */
    identifyError = null;
    /** Why the server refuses sockets. */
    reason = null;
    random = 0.5;

    constructor() {
        this.connection = new Connection({
            openSocket: () => this.#openSocket(),
            identify: async () => {
                this.identifyCalls++;
                if (this.identifyError) throw this.identifyError;
            },
            readRefusalReason: async () => this.reason,
            onmessage: (message) => this.onmessage(message),
            onstatus: (status) => this.statuses.push(status),
            clock: {
                now: () => this.now_ms,
                after: (ms, callback) => this.timers.push({ at_ms: this.now_ms + ms, callback }),
                cancel: (timer) => delete this.timers[timer - 1],
            },
            random: () => this.random,
        });
    }

    onmessage(message) {
        this.delivered.push(message.t);
    }

    #openSocket() {
        const socket = {
            sent: [],
            closed: false,
            send: (frame) => socket.sent.push(JSON.parse(frame)),
            close: () => (socket.closed = true),
        };
        this.sockets.push(socket);
        return socket;
    }

    get socket() {
        return this.sockets.at(-1);
    }

    get state() {
        return this.statuses.at(-1)?.state;
    }

    /** Sends a message to the client. */
    send(message, socket = this.socket) {
        socket.onmessage?.({ data: JSON.stringify(message) });
    }

    /** Lets time pass and runs the timers that are due. */
    async advance(ms) {
        const end_ms = this.now_ms + ms;
        for (;;) {
            const due = this.timers.filter((timer) => timer && timer.at_ms <= end_ms).sort((a, b) => a.at_ms - b.at_ms)[0];
            if (!due) break;
            delete this.timers[this.timers.indexOf(due)];
            this.now_ms = Math.max(this.now_ms, due.at_ms);
            due.callback();
            await flushPromises();
        }
        this.now_ms = end_ms;
    }

    /** Starts the connection and welcomes it. */
    async connect() {
        this.connection.start();
        await flushPromises();
        this.welcome();
    }

    /** Accepts the newest socket and sends the welcome. */
    welcome() {
        this.socket.onopen();
        this.send(WELCOME);
    }

    /** The messages of a type that the client sent on the newest socket. */
    clientMessages(type) {
        return this.socket.sent.filter((message) => message.t === type);
    }
}

test("the connection sends hello first, and commands after the welcome", async () => {
    const server = new FakeServer();
    void server.connection.command({ t: "resign", room: "r" });
    server.connection.start();
    await flushPromises();
    server.socket.onopen();
    assertEqual(
        server.socket.sent.map((message) => message.t),
        ["hello"],
    );
    server.send({ t: "welcome", protocol: 1, identity: "me", name: "Me", epoch: "e", at: 0 });
    assertEqual(
        server.socket.sent.map((message) => message.t),
        ["hello", "resign"],
    );
    assertEqual(server.state, "open");
});

test(
    "a command without an answer is sent again with the same id after every reconnect, and resolves once",
    async () => {
        const server = new FakeServer();
        await server.connect();
        const answers = [];
        void server.connection.command({ t: "move", room: "r", ply: 0, move: "d" }).then((ack) => answers.push(ack.v));
        const { id } = server.clientMessages("move")[0];
        for (let reconnects = 0; reconnects < 3; reconnects++) {
            server.socket.onclose({ code: 1006 });
            await server.advance(MAX_BACKOFF_MS);
            server.welcome();
            assertEqual(server.clientMessages("move"), [{ t: "move", room: "r", ply: 0, move: "d", id }]);
        }
        server.send({ t: "ack", id, v: 5 });
        server.send({ t: "ack", id, v: 5 });
        await flushPromises();
        assertEqual(answers, [5]);
        server.socket.onclose({ code: 1006 });
        await server.advance(MAX_BACKOFF_MS);
        server.welcome();
        assertEqual(server.clientMessages("move"), []);
    },
);

test("a lost network is shown at once, and its return reconnects at once", async () => {
    const server = new FakeServer();
    await server.connect();
    const acked = server.connection.command({ t: "chat", room: "r", text: "hi" });
    server.connection.loseNetwork();
    assertEqual([server.state, server.socket.closed, server.sockets.length], ["lost", true, 1]);
    server.connection.loseNetwork();
    server.connection.retry();
    await flushPromises();
    server.welcome();
    assertEqual([server.now_ms, server.state, server.sockets.length], [0, "open", 2]);
    server.send({ t: "ack", id: server.clientMessages("chat")[0].id, v: 5 });
    assertEqual((await acked).v, 5);
});

test("after a reconnect joins are sent before unanswered commands", async () => {
    const server = new FakeServer();
    server.onmessage = (message) =>
        message.t === "welcome" && server.connection.sendOnce({ t: "join", room: "r", since: 7 });
    await server.connect();
    void server.connection.command({ t: "chat", room: "r", text: "hi" });
    server.socket.onclose({ code: 1006 });
    await server.advance(MAX_BACKOFF_MS);
    server.welcome();
    assertEqual(
        server.socket.sent.map((message) => message.t),
        ["hello", "join", "chat"],
    );
});

test("a refused command rejects with its code, and is not sent again", async () => {
    const server = new FakeServer();
    await server.connect();
    const refused = server.connection
        .command({ t: "sit", room: "r", seat: 0 })
        .catch((error) => [error.code, error.message]);
    server.send({ t: "error", id: server.clientMessages("sit")[0].id, code: "seat.taken", message: "somebody sits there already" });
    assertEqual(await refused, ["seat.taken", "somebody sits there already"]);
    server.socket.onclose({ code: 1006 });
    await server.advance(MAX_BACKOFF_MS);
    server.welcome();
    assertEqual(server.clientMessages("sit"), []);
});

/** Refuses every command of a type for a time, and returns the number of refusals. */
async function refuseFor(server, type, code, ms) {
    const end_ms = server.now_ms + ms;
    let refused = 0;
    while (server.now_ms < end_ms) {
        for (const { id } of server.clientMessages(type).slice(refused)) {
            refused++;
            server.send({ t: "error", id, code, message: "not now" });
        }
        await server.advance(100);
    }
    return refused;
}

test("a command that a busy server refuses is sent again with the same id, and resolves once", async () => {
    for (const code of ["store.retry", "room.busy"]) {
        const server = new FakeServer();
        await server.connect();
        const acked = server.connection.command({ t: "move", room: "r", ply: 0, move: "d" });
        const attempts = await refuseFor(server, "move", code, BUSY_MS - 5000);
        assert(attempts >= 10 && attempts < 60, `${attempts} attempts are between 10 and 60`);
        await server.advance(MAX_BACKOFF_MS);
        assertEqual(new Set(server.clientMessages("move").map((message) => message.id)).size, 1);
        assertEqual(server.clientMessages("move").length, attempts + 1);
        server.send({ t: "ack", id: server.clientMessages("move")[0].id, v: 5 });
        assertEqual((await acked).v, 5);
        await server.advance(MAX_BACKOFF_MS);
        assertEqual(server.clientMessages("move").length, attempts + 1);
    }
});

test("a command is refused when the server has been busy for a minute", async () => {
    const server = new FakeServer();
    await server.connect();
    const refused = server.connection.command({ t: "resign", room: "r" }).catch((error) => error.code);
    const attempts = await refuseFor(server, "resign", "store.retry", BUSY_MS + MAX_BACKOFF_MS + 1000);
    assertEqual(await refused, "store.retry");
    assertEqual(server.clientMessages("resign").length, attempts);
});

test("a first `rate.exceeded` is final, and a reconnect during a retry's delay sends a command once", async () => {
    const server = new FakeServer();
    await server.connect();
    const refused = server.connection.command({ t: "chat", room: "r", text: "hi" }).catch((error) => error.code);
    server.send({ t: "error", id: server.clientMessages("chat")[0].id, code: "rate.exceeded", message: "slowly" });
    assertEqual(await refused, "rate.exceeded");
    void server.connection.command({ t: "move", room: "r", ply: 0, move: "d" });
    server.send({ t: "error", id: server.clientMessages("move")[0].id, code: "store.retry", message: "not now" });
    server.random = 0;
    server.socket.onclose({ code: 1006 });
    await server.advance(1);
    server.welcome();
    await server.advance(MAX_BACKOFF_MS);
    assertEqual(server.clientMessages("move").length, 1);
});

test("a socket that is silent for 9 s is dropped, and one with pongs is kept", async () => {
    const server = new FakeServer();
    await server.connect();
    for (let pings = 1; pings <= 10; pings++) {
        await server.advance(PING_MS);
        assertEqual(server.clientMessages("ping").length, pings);
        server.send({ t: "pong", at: 0 });
    }
    assertEqual([server.sockets.length, server.state], [1, "open"]);
    await server.advance(PING_MS + SILENCE_MS + PING_MS);
    assert(server.sockets[0].closed, "the silent socket was closed");
    assertEqual(
        server.statuses.some((status) => status.state === "lost"),
        true,
    );
});

test("a socket without a welcome is dropped after 9 s", async () => {
    const server = new FakeServer();
    server.connection.start();
    await flushPromises();
    await server.advance(SILENCE_MS + PING_MS);
    assert(server.sockets[0].closed, "the socket was closed");
});

test("the connection reconnects after random delays up to 1 s, 2 s, then always up to 4 s", async () => {
    const server = new FakeServer();
    server.random = 0.999;
    await server.connect();
    const delays_s = [];
    for (let attempt = 0; attempt < 5; attempt++) {
        const [lost_at_ms, sockets] = [server.now_ms, server.sockets.length];
        server.socket.onclose({ code: 1006 });
        while (server.sockets.length === sockets) await server.advance(1);
        delays_s.push(Math.round((server.now_ms - lost_at_ms) / 100) / 10);
    }
    assertEqual(delays_s, [1, 2, 4, 4, 4]);
    server.welcome();
    server.socket.onclose({ code: 1006 });
    assertEqual(server.statuses.at(-1).attempt, 1);
});

test("without a server the status is 'lost', and the connection keeps trying", async () => {
    const server = new FakeServer();
    server.identifyError = new Error("no server");
    server.connection.start();
    await flushPromises();
    await server.advance(60_000);
    assertEqual([server.sockets.length, server.state], [0, "lost"]);
    assert(server.identifyCalls >= 15, "it kept trying");
    server.identifyError = null;
    await server.advance(MAX_BACKOFF_MS);
    server.welcome();
    assertEqual(server.state, "open");
});

test("after `token.unknown` the connection requests the guest's cookie again", async () => {
    const server = new FakeServer();
    server.connection.start();
    await flushPromises();
    server.socket.onopen();
    server.send({ t: "error", id: null, code: "token.unknown", message: "nobody has that token" });
    await server.advance(MAX_BACKOFF_MS);
    assertEqual([server.identifyCalls, server.sockets.length], [2, 2]);
});

test("the cookie of a guest that no longer exists is renewed with one more socket", async () => {
    const server = new FakeServer();
    await server.connect();
    server.socket.onclose({ code: 1006 });
    await server.advance(MAX_BACKOFF_MS);
    assertEqual(server.identifyCalls, 1);
    server.socket.onopen();
    server.send({ ...WELCOME, identity: "new", token: "not in the cookie" });
    await flushPromises();
    assertEqual([server.identifyCalls, server.sockets.length, server.state], [2, 3, "connecting"]);
    assertEqual(server.delivered, ["welcome"]);
    server.welcome();
    assertEqual([server.identifyCalls, server.sockets.length, server.state], [2, 3, "open"]);
});

test("a browser that stores no cookies can connect and reconnect", async () => {
    const server = new FakeServer();
    server.connection.start();
    await flushPromises();
    for (let times = 0; times < 3; times++) {
        server.socket.onopen();
        server.send({ ...WELCOME, token: "once" });
        await flushPromises();
        if (server.state !== "open") {
            server.socket.onopen();
            server.send({ ...WELCOME, token: "once more" });
        }
        assertEqual(server.state, "open");
        server.socket.onclose({ code: 1006 });
        await server.advance(MAX_BACKOFF_MS);
    }
});

test("the status has the reason for which the server creates no guest, until it creates one", async () => {
    const server = new FakeServer();
    server.identifyError = new ApiError("rate.exceeded", "too many; try again in 5 s");
    server.connection.start();
    await flushPromises();
    assertEqual([server.state, server.statuses.at(-1).reason], ["lost", "too many; try again in 5 s"]);
    server.identifyError = null;
    await server.advance(MAX_BACKOFF_MS);
    server.welcome();
    assertEqual([server.state, server.statuses.at(-1).reason], ["open", null]);
});

test("the status has the server's reason for refusing the socket, and none if the server gives none", async () => {
    const server = new FakeServer();
    server.reason = "your address has 2000 connections open; try again in 10 s";
    server.connection.start();
    await flushPromises();
    for (let times = 0; times < 3; times++) {
        server.socket.onclose({ code: 1006 });
        await flushPromises();
        assertEqual([server.state, server.statuses.at(-1).reason], ["lost", server.reason]);
        await server.advance(MAX_BACKOFF_MS);
    }
    server.reason = null;
    server.socket.onclose({ code: 1006 });
    await flushPromises();
    assertEqual([server.state, server.statuses.at(-1).reason], ["lost", null]);
    await server.advance(MAX_BACKOFF_MS);
    server.welcome();
    server.reason = "requested although the socket was open";
    server.socket.onclose({ code: 1006 });
    await flushPromises();
    assertEqual(server.statuses.at(-1).reason, null);
});

test("the status has the reason for a refused hello", async () => {
    const server = new FakeServer();
    server.connection.start();
    await flushPromises();
    server.socket.onopen();
    server.send({ t: "error", id: null, code: "rate.exceeded", message: "too many guests; try again in 3 s" });
    assertEqual([server.state, server.statuses.at(-1).reason], ["lost", "too many guests; try again in 3 s"]);
});

test("a replaced connection reconnects only when the user asks for it", async () => {
    const server = new FakeServer();
    await server.connect();
    server.socket.onclose({ code: 4001 });
    await server.advance(60_000);
    assertEqual([server.sockets.length, server.state], [1, "replaced"]);
    server.connection.retry();
    await flushPromises();
    assertEqual(server.sockets.length, 2);
});

test("messages on a dropped socket are ignored", async () => {
    const server = new FakeServer();
    await server.connect();
    const old = server.socket;
    const onmessage = old.onmessage;
    old.onclose({ code: 1006 });
    onmessage({ data: '{"t":"presence","room":"r","seats":[true,true],"watching":0}' });
    assertEqual(server.delivered, ["welcome"]);
});

test("the server's time is that of the pong with the shortest way, of the last eight", async () => {
    const server = new FakeServer();
    assert(server.connection.serverTime_ms < 0, "before the welcome it is no time");
    server.connection.start();
    await flushPromises();
    server.socket.onopen();
    server.now_ms = 500; // the welcome takes 400 ms
    server.send({ ...WELCOME, at: 1_000_100 });
    assertEqual(server.connection.serverTime_ms, 1_000_100);
    const pong = (way_ms) => server.send({ t: "pong", at: 1_000_000 + server.now_ms - way_ms });
    for (const way_ms of [90, 20, 300, 70]) pong(way_ms);
    assertEqual(server.connection.serverTime_ms, 1_000_000 + server.now_ms - 20);
    for (let i = 0; i < 8; i++) pong(200);
    assertEqual(server.connection.serverTime_ms, 1_000_000 + server.now_ms - 200);
});

test("the next socket's server has its own time", async () => {
    const server = new FakeServer();
    await server.connect();
    server.send({ t: "pong", at: 5000 });
    server.socket.onclose({ code: 1006 });
    await server.advance(MAX_BACKOFF_MS);
    server.socket.onopen();
    server.send({ ...WELCOME, at: server.now_ms + 100 });
    assertEqual(server.connection.serverTime_ms, server.now_ms + 100);
});
