import { ApiError } from "/client/web/api.js";
import { BACKOFF_MOST_MS, BUSY_MS, Connection, PING_MS, PONG_MS } from "/client/web/connection.js";
import { holds, promise, same, settled } from "./promises.js";

const WELCOME = { t: "welcome", protocol: 1, identity: "me", name: "Me", epoch: "e", at: 0 };

/** Sockets, time and chance that do what the test says. */
class World {
    now_ms = 0;
    timers = [];
    sockets = [];
    heard = [];
    links = [];
    identified = 0;
    /** @type {Error | null} */
    identifyFails = null;
    /** Why the server refuses sockets. */
    reason = null;
    chance = 0.5;

    constructor() {
        this.connection = new Connection({
            open: () => this.#open(),
            identify: async () => {
                this.identified++;
                if (this.identifyFails) throw this.identifyFails;
            },
            why: async () => this.reason,
            onmessage: (message) => this.onmessage(message),
            onlink: (link) => this.links.push(link),
            clock: {
                now: () => this.now_ms,
                after: (ms, call) => this.timers.push({ at: this.now_ms + ms, call }),
                cancel: (timer) => delete this.timers[timer - 1],
            },
            random: () => this.chance,
        });
    }

    onmessage(message) {
        this.heard.push(message.t);
    }

    #open() {
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
        return this.links.at(-1)?.state;
    }

    tell(message, socket = this.socket) {
        socket.onmessage?.({ data: JSON.stringify(message) });
    }

    async pass(ms) {
        const end = this.now_ms + ms;
        for (;;) {
            const due = this.timers.filter((timer) => timer && timer.at <= end).sort((a, b) => a.at - b.at)[0];
            if (!due) break;
            delete this.timers[this.timers.indexOf(due)];
            this.now_ms = Math.max(this.now_ms, due.at);
            due.call();
            await settled();
        }
        this.now_ms = end;
    }

    async welcomed() {
        this.connection.start();
        await settled();
        this.welcome();
    }

    welcome() {
        this.socket.onopen();
        this.tell(WELCOME);
    }

    sent(type) {
        return this.socket.sent.filter((message) => message.t === type);
    }
}

promise("it says hello first, and commands only after the welcome", async () => {
    const world = new World();
    void world.connection.command({ t: "resign", room: "r" });
    world.connection.start();
    await settled();
    world.socket.onopen();
    same(
        world.socket.sent.map((message) => message.t),
        ["hello"],
    );
    world.tell({ t: "welcome", protocol: 1, identity: "me", name: "Me", epoch: "e", at: 0 });
    same(
        world.socket.sent.map((message) => message.t),
        ["hello", "resign"],
    );
    same(world.state, "open");
});

promise(
    "a command without an answer is sent again with the same id after every reconnect, and answered once",
    async () => {
        const world = new World();
        await world.welcomed();
        const answers = [];
        void world.connection.command({ t: "move", room: "r", ply: 0, move: "d" }).then((ack) => answers.push(ack.v));
        const { id } = world.sent("move")[0];
        for (let times = 0; times < 3; times++) {
            world.socket.onclose({ code: 1006 });
            await world.pass(BACKOFF_MOST_MS);
            world.welcome();
            same(world.sent("move"), [{ t: "move", room: "r", ply: 0, move: "d", id }]);
        }
        world.tell({ t: "ack", id, v: 5 });
        world.tell({ t: "ack", id, v: 5 });
        await settled();
        same(answers, [5]);
        world.socket.onclose({ code: 1006 });
        await world.pass(BACKOFF_MOST_MS);
        world.welcome();
        same(world.sent("move"), []);
    },
);

promise("what was followed is asked for again before unanswered commands are", async () => {
    const world = new World();
    world.onmessage = (message) =>
        message.t === "welcome" && world.connection.follow({ t: "join", room: "r", since: 7 });
    await world.welcomed();
    void world.connection.command({ t: "chat", room: "r", text: "hi" });
    world.socket.onclose({ code: 1006 });
    await world.pass(BACKOFF_MOST_MS);
    world.welcome();
    same(
        world.socket.sent.map((message) => message.t),
        ["hello", "join", "chat"],
    );
});

promise("a refused command rejects with its code, and is not sent again", async () => {
    const world = new World();
    await world.welcomed();
    const refused = world.connection
        .command({ t: "sit", room: "r", seat: 0 })
        .catch((error) => [error.code, error.message]);
    world.tell({ t: "error", id: world.sent("sit")[0].id, code: "seat.taken", message: "somebody sits there already" });
    same(await refused, ["seat.taken", "somebody sits there already"]);
    world.socket.onclose({ code: 1006 });
    await world.pass(BACKOFF_MOST_MS);
    world.welcome();
    same(world.sent("sit"), []);
});

/** Refuses every command of that type as it comes, until it is told to stop; how often it did. */
async function refuseFor(world, type, code, ms) {
    const end = world.now_ms + ms;
    let refused = 0;
    while (world.now_ms < end) {
        for (const { id } of world.sent(type).slice(refused)) {
            refused++;
            world.tell({ t: "error", id, code, message: "not now" });
        }
        await world.pass(100);
    }
    return refused;
}

promise("a command that the server is too busy for is asked again with the same id, and answered once", async () => {
    for (const code of ["store.retry", "room.busy"]) {
        const world = new World();
        await world.welcomed();
        const acked = world.connection.command({ t: "move", room: "r", ply: 0, move: "d" });
        const tries = await refuseFor(world, "move", code, BUSY_MS - 5000);
        holds(tries >= 10 && tries < 60, `it was asked ${tries} times`);
        await world.pass(BACKOFF_MOST_MS);
        same(new Set(world.sent("move").map((message) => message.id)).size, 1);
        same(world.sent("move").length, tries + 1);
        world.tell({ t: "ack", id: world.sent("move")[0].id, v: 5 });
        same((await acked).v, 5);
        await world.pass(BACKOFF_MOST_MS);
        same(world.sent("move").length, tries + 1);
    }
});

promise("after a minute the user is told that the server is busy", async () => {
    const world = new World();
    await world.welcomed();
    const refused = world.connection.command({ t: "resign", room: "r" }).catch((error) => error.code);
    const tries = await refuseFor(world, "resign", "store.retry", BUSY_MS + BACKOFF_MOST_MS + 1000);
    same(await refused, "store.retry");
    same(world.sent("resign").length, tries);
});

promise("a first too fast is for the user, and a cut while it waits sends a command once", async () => {
    const world = new World();
    await world.welcomed();
    const fast = world.connection.command({ t: "chat", room: "r", text: "hi" }).catch((error) => error.code);
    world.tell({ t: "error", id: world.sent("chat")[0].id, code: "rate.exceeded", message: "slowly" });
    same(await fast, "rate.exceeded");
    void world.connection.command({ t: "move", room: "r", ply: 0, move: "d" });
    world.tell({ t: "error", id: world.sent("move")[0].id, code: "store.retry", message: "not now" });
    world.chance = 0;
    world.socket.onclose({ code: 1006 });
    await world.pass(1);
    world.welcome();
    await world.pass(BACKOFF_MOST_MS);
    same(world.sent("move").length, 1);
});

promise("a link over which nothing comes back for 9 s is given up, and an answered one is kept", async () => {
    const world = new World();
    await world.welcomed();
    for (let pings = 1; pings <= 10; pings++) {
        await world.pass(PING_MS);
        same(world.sent("ping").length, pings);
        world.tell({ t: "pong", at: 0 });
    }
    same([world.sockets.length, world.state], [1, "open"]);
    await world.pass(PING_MS + PONG_MS + PING_MS);
    holds(world.sockets[0].closed, "the silent socket was closed");
    same(
        world.links.some((link) => link.state === "lost"),
        true,
    );
});

promise("a link that never gets a welcome is given up too", async () => {
    const world = new World();
    world.connection.start();
    await settled();
    await world.pass(PONG_MS + PING_MS);
    holds(world.sockets[0].closed, "the socket was closed");
});

promise("attempts come after 0 to 1, 2, then 4 s, by chance, for ever", async () => {
    const world = new World();
    world.chance = 0.999;
    await world.welcomed();
    const waits = [];
    for (let attempt = 0; attempt < 5; attempt++) {
        const [lost_at, sockets] = [world.now_ms, world.sockets.length];
        world.socket.onclose({ code: 1006 });
        while (world.sockets.length === sockets) await world.pass(1);
        waits.push(Math.round((world.now_ms - lost_at) / 100) / 10);
    }
    same(waits, [1, 2, 4, 4, 4]);
    world.welcome();
    world.socket.onclose({ code: 1006 });
    same(world.links.at(-1).attempt, 1);
});

promise("without a server it goes on trying, and says that it is lost", async () => {
    const world = new World();
    world.identifyFails = new Error("no server");
    world.connection.start();
    await settled();
    await world.pass(60_000);
    same([world.sockets.length, world.state], [0, "lost"]);
    holds(world.identified >= 15, "it tried all the time");
    world.identifyFails = null;
    await world.pass(BACKOFF_MOST_MS);
    world.welcome();
    same(world.state, "open");
});

promise("a token that nobody knows any more makes it ask who it is again", async () => {
    const world = new World();
    world.connection.start();
    await settled();
    world.socket.onopen();
    world.tell({ t: "error", id: null, code: "token.unknown", message: "nobody has that token" });
    await world.pass(BACKOFF_MOST_MS);
    same([world.identified, world.sockets.length], [2, 2]);
});

promise("a cookie whose guest has gone is renewed: one more socket, and then the same guest at each", async () => {
    const world = new World();
    await world.welcomed();
    world.socket.onclose({ code: 1006 });
    await world.pass(BACKOFF_MOST_MS);
    same(world.identified, 1);
    world.socket.onopen();
    world.tell({ ...WELCOME, identity: "new", token: "not in the cookie" });
    await settled();
    same([world.identified, world.sockets.length, world.state], [2, 3, "connecting"]);
    same(world.heard, ["welcome"]);
    world.welcome();
    same([world.identified, world.sockets.length, world.state], [2, 3, "open"]);
});

promise("a browser that keeps no cookies is welcome as whoever it is", async () => {
    const world = new World();
    world.connection.start();
    await settled();
    for (let times = 0; times < 3; times++) {
        world.socket.onopen();
        world.tell({ ...WELCOME, token: "once" });
        await settled();
        if (world.state !== "open") {
            world.socket.onopen();
            world.tell({ ...WELCOME, token: "once more" });
        }
        same(world.state, "open");
        world.socket.onclose({ code: 1006 });
        await world.pass(BACKOFF_MOST_MS);
    }
});

promise("the user is told why there is no guest for them, and gets in later", async () => {
    const world = new World();
    world.identifyFails = new ApiError("rate.exceeded", "too many; try again in 5 s");
    world.connection.start();
    await settled();
    same([world.state, world.links.at(-1).reason], ["lost", "too many; try again in 5 s"]);
    world.identifyFails = null;
    await world.pass(BACKOFF_MOST_MS);
    world.welcome();
    same([world.state, world.links.at(-1).reason], ["open", null]);
});

promise("the user is told why their socket is refused, and is not where the server just does not answer", async () => {
    const world = new World();
    world.reason = "your address has 2000 connections open; try again in 10 s";
    world.connection.start();
    await settled();
    for (let times = 0; times < 3; times++) {
        world.socket.onclose({ code: 1006 });
        await settled();
        same([world.state, world.links.at(-1).reason], ["lost", world.reason]);
        await world.pass(BACKOFF_MOST_MS);
    }
    world.reason = null;
    world.socket.onclose({ code: 1006 });
    await settled();
    same([world.state, world.links.at(-1).reason], ["lost", null]);
    await world.pass(BACKOFF_MOST_MS);
    world.welcome();
    world.reason = "asked though the socket was open";
    world.socket.onclose({ code: 1006 });
    await settled();
    same(world.links.at(-1).reason, null);
});

promise("a hello that is refused is told", async () => {
    const world = new World();
    world.connection.start();
    await settled();
    world.socket.onopen();
    world.tell({ t: "error", id: null, code: "rate.exceeded", message: "too many guests; try again in 3 s" });
    same([world.state, world.links.at(-1).reason], ["lost", "too many guests; try again in 3 s"]);
});

promise("a replaced connection stays away until the user wants it back", async () => {
    const world = new World();
    await world.welcomed();
    world.socket.onclose({ code: 4001 });
    await world.pass(60_000);
    same([world.sockets.length, world.state], [1, "replaced"]);
    world.connection.retry();
    await settled();
    same(world.sockets.length, 2);
});

promise("nothing is heard from a socket that was given up", async () => {
    const world = new World();
    await world.welcomed();
    const old = world.socket;
    const hear = old.onmessage;
    old.onclose({ code: 1006 });
    hear({ data: '{"t":"presence","room":"r","seats":[true,true],"watching":0}' });
    same(world.heard, ["welcome"]);
});
