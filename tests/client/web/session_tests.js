import { Session } from "/client/web/session.js";
import { assertEqual, flushPromises, test } from "./testing.js";

const ROOM = "r7Kq2";

async function golden(name) {
    return (await fetch(`/tests/data/messages/${name}.json`)).json();
}

/** A session, and the server's side of its sockets. */
class FakeServer {
    sockets = [];
    timers = [];
    errors = [];

    constructor() {
        const clock = {
            now: () => 0,
            after: (ms, call) => this.timers.push({ ms, call }),
            cancel: (timer) => delete this.timers[timer - 1],
        };
        const openSocket = () => {
            const socket = { sent: [], send: (frame) => socket.sent.push(JSON.parse(frame)), close() {} };
            this.sockets.push(socket);
            return socket;
        };
        this.session = new Session(
            { openSocket, identify: async () => {}, readRefusalReason: async () => null, clock, random: () => 0 },
            { onchange() {}, onerror: (code) => this.errors.push(code) },
        );
    }

    get socket() {
        return this.sockets.at(-1);
    }

    async sendGolden(...names) {
        for (const name of names) this.send(await golden(name));
    }

    send(message) {
        this.socket.onmessage({ data: JSON.stringify(message) });
    }

    /** What the client sent on this socket after the hello, without ids. */
    clientMessages() {
        return this.socket.sent.slice(1).map(({ id, ...message }) => message);
    }

    async connect() {
        this.session.start();
        await flushPromises();
        this.socket.onopen();
        await this.sendGolden("server-welcome");
    }

    async reconnect(welcome = {}) {
        this.socket.onclose({ code: 1006 });
        this.timers.findLast((timer) => timer).call();
        await flushPromises();
        this.socket.onopen();
        this.send({ ...(await golden("server-welcome")), token: null, ...welcome });
    }

    async connectInRoom() {
        this.session.followRoom(ROOM);
        await this.connect();
        await this.sendGolden("server-joined", "server-snapshot");
    }
}

test("a room is joined from 0, and after a reconnect from its last event", async () => {
    const server = new FakeServer();
    await server.connectInRoom();
    assertEqual(server.clientMessages(), [{ t: "join", room: ROOM, since: 0, epoch: "e-1" }]);
    await server.sendGolden("event-said");
    await server.reconnect();
    assertEqual(server.clientMessages(), [{ t: "join", room: ROOM, since: 5, epoch: "e-1" }]);
});

test("a welcome with another epoch makes the session join from 0", async () => {
    const server = new FakeServer();
    await server.connectInRoom();
    await server.reconnect({ epoch: "e-2" });
    assertEqual(server.clientMessages(), [{ t: "join", room: ROOM, since: 0, epoch: "e-2" }]);
});

test("after a missing event the session joins from 0 once, and again after a reconnect", async () => {
    const server = new FakeServer();
    await server.connectInRoom();
    await server.sendGolden("event-finished", "event-offered");
    const again = { t: "join", room: ROOM, since: 0, epoch: "e-1" };
    assertEqual(server.clientMessages().slice(1), [again]);
    await server.reconnect();
    assertEqual(server.clientMessages(), [again]);
    await server.sendGolden("server-snapshot", "event-said");
    assertEqual(server.session.model.room.v, 5);
});

test("the lobby is watched again after a reconnect, unless the user has left it", async () => {
    const server = new FakeServer();
    server.session.watchLobby(true);
    await server.connect();
    await server.reconnect();
    assertEqual(server.clientMessages(), [{ t: "watch_lobby", on: true }]);
    server.session.watchLobby(false);
    await server.reconnect();
    assertEqual(server.clientMessages(), []);
});

test("following another room leaves the one before", async () => {
    const server = new FakeServer();
    await server.connectInRoom();
    server.session.followRoom("other");
    assertEqual(server.clientMessages().slice(1), [
        { t: "leave", room: ROOM },
        { t: "join", room: "other", since: 0, epoch: "e-1" },
    ]);
    await server.sendGolden("event-said");
    assertEqual([server.session.model.room.id, server.session.model.room.v], ["other", 0]);
});

test("a join is repeated while the server is busy; any other refusal is final", async () => {
    const server = new FakeServer();
    server.session.followRoom(ROOM);
    await server.connect();
    server.send({ t: "error", id: server.socket.sent.at(-1).id, code: "store.retry", message: "try again" });
    assertEqual(server.session.refusal, null);
    server.timers.findLast((timer) => timer?.ms === 1000).call();
    assertEqual(server.clientMessages().length, 2);
    server.send({ t: "error", id: server.socket.sent.at(-1).id, code: "room.unknown", message: "there is no such room" });
    assertEqual(server.session.refusal, { code: "room.unknown", message: "there is no such room" });
    assertEqual(server.errors, []);
});
