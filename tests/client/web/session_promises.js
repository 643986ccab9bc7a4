import { Session } from "/client/web/session.js";
import { promise, same, settled } from "./promises.js";

const ROOM = "r7Kq2";

async function golden(name) {
    return (await fetch(`/tests/data/messages/${name}.json`)).json();
}

/** A session whose server is the test. */
class World {
    sockets = [];
    timers = [];
    errors = [];

    constructor() {
        const clock = {
            now: () => 0,
            after: (ms, call) => this.timers.push({ ms, call }),
            cancel: (timer) => delete this.timers[timer - 1],
        };
        const open = () => {
            const socket = { sent: [], send: (frame) => socket.sent.push(JSON.parse(frame)), close() {} };
            this.sockets.push(socket);
            return socket;
        };
        this.session = new Session(
            { open, identify: async () => {}, why: async () => null, clock, random: () => 0 },
            { onchange() {}, onerror: (code) => this.errors.push(code) },
        );
    }

    get socket() {
        return this.sockets.at(-1);
    }

    async tell(...names) {
        for (const name of names) this.say(await golden(name));
    }

    say(message) {
        this.socket.onmessage({ data: JSON.stringify(message) });
    }

    /** What was sent on this socket since the hello, without ids. */
    sent() {
        return this.socket.sent.slice(1).map(({ id, ...message }) => message);
    }

    async connect() {
        this.session.start();
        await settled();
        this.socket.onopen();
        await this.tell("server-welcome");
    }

    async reconnect(welcome = {}) {
        this.socket.onclose({ code: 1006 });
        this.timers.findLast((timer) => timer).call();
        await settled();
        this.socket.onopen();
        this.say({ ...(await golden("server-welcome")), token: null, ...welcome });
    }

    async inRoom() {
        this.session.followRoom(ROOM);
        await this.connect();
        await this.tell("server-joined", "server-snapshot");
    }
}

promise("a room is joined from the start, and after a reconnect from where one left off", async () => {
    const world = new World();
    await world.inRoom();
    same(world.sent(), [{ t: "join", room: ROOM, since: 0, epoch: "e-1" }]);
    await world.tell("event-said");
    await world.reconnect();
    same(world.sent(), [{ t: "join", room: ROOM, since: 5, epoch: "e-1" }]);
});

promise("after a restored backup a room is joined from the start", async () => {
    const world = new World();
    await world.inRoom();
    await world.reconnect({ epoch: "e-2" });
    same(world.sent(), [{ t: "join", room: ROOM, since: 0, epoch: "e-2" }]);
});

promise("a missing event makes it join from the start, once, and again after a reconnect", async () => {
    const world = new World();
    await world.inRoom();
    await world.tell("event-finished", "event-offered");
    const again = { t: "join", room: ROOM, since: 0, epoch: "e-1" };
    same(world.sent().slice(1), [again]);
    await world.reconnect();
    same(world.sent(), [again]);
    await world.tell("server-snapshot", "event-said");
    same(world.session.model.room.v, 5);
});

promise("the lobby is watched again after a reconnect, until it is left", async () => {
    const world = new World();
    world.session.watchLobby(true);
    await world.connect();
    await world.reconnect();
    same(world.sent(), [{ t: "watch_lobby", on: true }]);
    world.session.watchLobby(false);
    await world.reconnect();
    same(world.sent(), []);
});

promise("another room takes the place of the one before", async () => {
    const world = new World();
    await world.inRoom();
    world.session.followRoom("other");
    same(world.sent().slice(1), [
        { t: "leave", room: ROOM },
        { t: "join", room: "other", since: 0, epoch: "e-1" },
    ]);
    await world.tell("event-said");
    same([world.session.model.room.id, world.session.model.room.v], ["other", 0]);
});

promise("a room that cannot be joined is refused for good, or asked for again where that may help", async () => {
    const world = new World();
    world.session.followRoom(ROOM);
    await world.connect();
    world.say({ t: "error", id: world.socket.sent.at(-1).id, code: "store.retry", message: "try again" });
    same(world.session.refusal, null);
    world.timers.findLast((timer) => timer?.ms === 1000).call();
    same(world.sent().length, 2);
    world.say({ t: "error", id: world.socket.sent.at(-1).id, code: "room.unknown", message: "there is no such room" });
    same(world.session.refusal, { code: "room.unknown", message: "there is no such room" });
    same(world.errors, []);
});
