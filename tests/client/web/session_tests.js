import { JOIN_TIMEOUT_MS } from "/client/web/shell/room-socket.js";
import { Session } from "/client/web/shell/session.js";
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
        const openSocket = (room) => {
            const socket = {
                room,
                sent: [],
                isClosed: false,
                send: (frame) => socket.sent.push(JSON.parse(frame)),
                close: () => (socket.isClosed = true),
            };
            this.sockets.push(socket);
            return socket;
        };
        this.session = new Session(
            { openSocket, identify: async () => {}, readRefusalReason: async () => null, clock, random: () => 0 },
            { onchange() {}, onevent() {}, onerror: (code) => this.errors.push(code) },
        );
    }

    get socket() {
        return this.sockets.at(-1);
    }

    async sendGolden(...names) {
        for (const name of names) this.send(await golden(name));
    }

    send(message, socket = this.socket) {
        socket.onmessage?.({ data: JSON.stringify(message) });
    }

    /** The rooms for which sockets were opened. */
    get rooms() {
        return this.sockets.map((socket) => socket.room);
    }

    /** Connects to one node of two, then enters the room; a socket of the room is opened. */
    async enterRoomOfCluster(welcome = {}) {
        this.session.start();
        await flushPromises();
        this.socket.onopen();
        this.send({ ...(await golden("server-welcome")), token: null, nodes: 2, ...welcome });
        this.session.followRoom(ROOM);
        await this.sendGolden("server-joined", "server-snapshot");
    }

    /** Welcomes the newest socket of a cluster. */
    async welcomeSocket(welcome = {}) {
        this.socket.onopen();
        this.send({ ...(await golden("server-welcome")), token: null, nodes: 2, ...welcome });
    }

    /** The messages that the client sent on the newest socket after the hello, without their ids. */
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

test("a room whose page comes later than the socket has the first socket, and no other", async () => {
    const server = new FakeServer();
    server.session.expectRoom(ROOM);
    server.session.start();
    await flushPromises();
    await server.welcomeSocket();
    server.session.followRoom(ROOM);
    await server.sendGolden("server-joined", "server-snapshot");
    assertEqual(server.rooms, [ROOM]);
    assertEqual(server.clientMessages(), [{ t: "join", room: ROOM, since: 0, epoch: "e-1" }]);
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
    for (const [number, code] of ["store.retry", "rate.exceeded"].entries()) {
        server.send({ t: "error", id: server.socket.sent.at(-1).id, code, message: "try again" });
        assertEqual(server.session.refusal, null);
        server.timers.findLast((timer) => timer?.ms === 1000).call();
        assertEqual(server.clientMessages().length, 2 + number);
    }
    server.send({ t: "error", id: server.socket.sent.at(-1).id, code: "room.unknown", message: "there is no such room" });
    assertEqual(server.session.refusal, { code: "room.unknown", message: "there is no such room" });
    assertEqual(server.errors, []);
});

test("while the server is away a move and a line of chat wait for it, other commands are refused", async () => {
    const server = new FakeServer();
    await server.connect();
    assertEqual(server.session.isAway, false);
    server.session.loseNetwork();
    assertEqual(server.session.isAway, true);
    const refused = [];
    void server.session.command({ t: "resign", room: ROOM }).catch(({ message }) => refused.push(message));
    for (const t of ["move", "chat"]) void server.session.command({ t, room: ROOM });
    await flushPromises();
    assertEqual(refused, ["Not connected"]);
    server.session.retry();
    await flushPromises();
    await server.welcomeSocket();
    const sent = server.clientMessages().map(({ t }) => t);
    assertEqual(sent.filter((t) => ["resign", "move", "chat"].includes(t)), ["move", "chat"]);
});

test("in a cluster a room is joined on a socket of its own, which then replaces the first", async () => {
    const server = new FakeServer();
    server.session.watchLobby(true);
    await server.enterRoomOfCluster();
    const [first, second] = server.sockets;
    assertEqual(server.rooms, [null, ROOM]);
    const acks = [];
    void server.session.command({ t: "resign", room: ROOM }).then((ack) => acks.push(ack.v));
    const resign = first.sent.at(-1);
    await server.welcomeSocket();
    const join = second.sent.at(-1);
    assertEqual([join.t, join.room, join.since, join.epoch], ["join", ROOM, 4, "e-1"]);
    server.send(await golden("event-said"), first);
    assertEqual([server.session.model.room.v, first.isClosed], [5, false]);
    server.send({ t: "ack", id: join.id, v: null });
    assertEqual([first.isClosed, second.isClosed], [true, false]);
    assertEqual(second.sent.at(-1), resign);
    assertEqual(second.sent.at(-2).t, "watch_lobby");
    const before = server.session.model;
    server.send({ t: "ack", id: resign.id, v: 9 }, first);
    await server.sendGolden("event-said");
    assertEqual(server.session.model.room, before.room);
    server.send({ t: "ack", id: resign.id, v: 6 });
    await flushPromises();
    assertEqual(acks, [6]);
    assertEqual(server.session.status.state, "open");
});

test("a lone node, a room's own socket and a guest without a cookie get no second socket", async () => {
    const lone = new FakeServer();
    await lone.enterRoomOfCluster({ nodes: 1 });
    assertEqual(lone.rooms, [null]);
    const bound = new FakeServer();
    await bound.enterRoomOfCluster({ token: "secret" });
    assertEqual(bound.rooms, [null]);
    const direct = new FakeServer();
    direct.session.followRoom(ROOM);
    await direct.enterRoomOfCluster();
    assertEqual(direct.rooms, [ROOM]);
});

test("a second socket that fails changes nothing, and is tried once for each entry of a room", async () => {
    const failures = [
        (server) => server.socket.onclose({ code: 1006 }),
        (server) => server.timers.findLast((timer) => timer?.ms === JOIN_TIMEOUT_MS).call(),
        (server) => server.welcomeSocket({ identity: "g-other" }),
        (server) => server.welcomeSocket({ epoch: "e-2" }),
        async (server) => {
            await server.welcomeSocket();
            server.send({ t: "error", id: server.socket.sent.at(-1).id, code: "room.busy", message: "busy" });
        },
    ];
    for (const fail of failures) {
        const server = new FakeServer();
        await server.enterRoomOfCluster();
        const [first, second] = server.sockets;
        await fail(server);
        assertEqual([first.isClosed, second.isClosed], [false, true]);
        server.send(await golden("event-said"), first);
        server.send(await golden("server-snapshot"), first);
        assertEqual(server.rooms, [null, ROOM]);
        assertEqual([server.session.status.state, server.session.refusal, server.errors], ["open", null, []]);
        server.session.followRoom(null);
        server.session.followRoom(ROOM);
        server.send(await golden("server-snapshot"), first);
        assertEqual(server.rooms, [null, ROOM, ROOM]);
    }
});

test("leaving the room while its socket opens closes that socket", async () => {
    const server = new FakeServer();
    await server.enterRoomOfCluster();
    const [first, second] = server.sockets;
    server.session.followRoom(null);
    assertEqual([first.isClosed, second.isClosed], [false, true]);
});

test("after a loss the socket is opened for the room that the user is in", async () => {
    const server = new FakeServer();
    await server.enterRoomOfCluster();
    const [first, second] = server.sockets;
    first.onclose({ code: 1006 });
    assertEqual(second.isClosed, true);
    server.timers.findLast((timer) => timer).call();
    await flushPromises();
    assertEqual(server.rooms, [null, ROOM, ROOM]);
    await server.welcomeSocket();
    assertEqual(server.clientMessages(), [{ t: "join", room: ROOM, since: 4, epoch: "e-1" }]);
});

test("a room that was left is shown as it was while there is no connection, and goes on from there", async () => {
    const server = new FakeServer();
    await server.connect();
    server.session.followRoom(ROOM);
    await server.sendGolden("server-joined", "server-snapshot");
    const { v, seats } = server.session.model.room;
    server.session.followRoom(null);
    server.session.followRoom(ROOM);
    assertEqual(server.session.model.room.v, 0);
    await server.sendGolden("server-joined", "server-snapshot");
    server.session.followRoom(null);
    server.socket.onclose({ code: 1006 });
    server.session.followRoom("another");
    assertEqual(server.session.model.room.v, 0);
    server.session.followRoom(ROOM);
    const { room } = server.session.model;
    assertEqual([room.v, room.seats, room.presence], [v, seats, null]);
    server.timers.findLast((timer) => timer).call();
    await flushPromises();
    await server.welcomeSocket();
    const joined = server.clientMessages().find(({ t }) => t === "join");
    assertEqual([joined.room, joined.since], [ROOM, v]);
});
