"""One socket: hello, one answer for each message, rate limits, and slow readers."""

import asyncio
import json
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import msgspec
import pytest
import structlog.testing

from server.commands import (
    AiFailure,
    AiMove,
    AiReply,
    BotLine,
    ClientCommand,
    Hold,
    Rename,
    Tick,
)
from server.net import session as session_module
from server.net.session import MAX_UNSENT_BYTES, MAX_UNSENT_EPHEMERAL_BYTES, Session
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.codes import Close, Code
from server.protocol.outbound import Outbound
from server.rooms.rules import RULES
from server.runtime.room.room_runner import RoomRunner
from server.store.base import StoreUnavailable
from tests.support.clock import ends_within, until
from tests.support.fake_server import FakeServer
from tests.support.node import Node, serve

ME, OPEN, AI1 = {"who": "me"}, {"who": "open"}, {"who": "ai", "level": 1}


def session_of(node: Node, identity: str) -> Session:
    """Returns the session of a client's socket."""
    (session,) = [
        candidate for candidate in node.running.sessions._open if candidate.identity == identity
    ]
    return session


# --- hello ----------------------------------------------------------------------------------------


async def test_hello_makes_a_guest() -> None:
    """`welcome` has the identity, its name, the epoch, the protocol and the secret token."""
    async with serve() as node, node.socket() as client:
        welcome = await client.hello(name="  Ada\u202e ")
        assert welcome["name"] == "Ada"
        assert welcome["epoch"] == node.fake.store.epoch
        assert welcome["protocol"] == wire.PROTOCOL
        assert len(welcome["token"]) >= 40
        async with node.socket() as other:
            again = await other.hello()
            assert again["identity"] != welcome["identity"]
            assert again["name"].startswith("Guest ")


async def test_a_token_restores_its_identity() -> None:
    """A token restores its identity, under a new name if hello has one.

    The token is not sent again and the store does not contain it.
    """
    async with serve() as node, node.guest(name="Ada") as client:
        assert client.token
        for name, shown in ((None, "Ada"), ("Countess", "Countess"), (None, "Countess")):
            async with node.socket() as other:
                welcome = await other.hello(client.token, name)
                assert (welcome["identity"], welcome["name"]) == (client.identity, shown)
                assert "token" not in welcome
        assert client.token not in str(vars(node.fake.store))


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ('{"t":"hello","protocol":1,"token":"nobody\'s"}', Code.TOKEN_UNKNOWN),
        ('{"t":"hello","protocol":1,"token":""}', Code.TOKEN_UNKNOWN),
        ('{"t":"hello","protocol":2}', Code.PROTOCOL_UNSUPPORTED),
        ('{"t":"hello","protocol":0}', Code.PROTOCOL_UNSUPPORTED),
        ('{"t":"hello","protocol":1,"name":"\\u202e"}', Code.NAME_REFUSED),
        (json.dumps({"t": "hello", "protocol": 1, "name": "x" * 25}), Code.NAME_REFUSED),
        ('{"t":"hello"}', Code.MESSAGE_MALFORMED),
        ('{"t":"ping","id":"1"}', Code.HELLO_EXPECTED),
        ('{"t":"join","id":"1","room":"r"}', Code.HELLO_EXPECTED),
        ('{"t":"dance"}', Code.MESSAGE_UNKNOWN),
        ("hello", Code.FRAME_MALFORMED),
        (b"hello", Code.FRAME_BINARY),
    ],
)
async def test_a_hello_that_is_refused(first: str | bytes, code: Code) -> None:
    """A refused hello gets a typed error, then 1008."""
    async with serve() as node, node.socket() as client:
        await client.send(first)
        assert (await client.expect("error"))["code"] == code
        assert (await client.wait_closed())[0] == Close.POLICY
        assert node.fake.store.memory.tables.identities == {}


async def test_a_connection_without_hello_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that sends no hello in time is closed with 1008."""
    monkeypatch.setattr(session_module, "HELLO_TIMEOUT_S", 0.05)
    async with serve() as node, node.socket() as client:
        assert await client.wait_closed() == (Close.POLICY, "say hello")


async def test_a_second_hello_is_refused() -> None:
    """A second hello is an error, and the connection keeps its identity."""
    async with serve() as node, node.guest() as client:
        await client.send(wire.Hello(protocol=1, name="Somebody else"))
        assert (await client.expect("error"))["code"] == Code.HELLO_TWICE
        await client.send(wire.Ping(id="p"))
        await client.expect("pong", id="p")


async def test_hello_without_a_store() -> None:
    """If the store fails, hello gets store.retry, and the connection is closed with 1012."""
    fake = FakeServer()
    async with serve(fake) as node, node.socket() as client:
        fake.store.fail("add_guest")
        await client.send(wire.Hello(protocol=1))
        assert (await client.expect("error"))["code"] == Code.STORE_RETRY
        assert (await client.wait_closed())[0] == Close.RESTARTING


# --- messages -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "code", "key"),
    [
        ("{", Code.FRAME_MALFORMED, None),
        (b"\x00\x01", Code.FRAME_BINARY, None),
        ('{"t":"ping","x":' + "[" * 20 + "]" * 20 + "}", Code.FRAME_TOO_DEEP, None),
        ('{"t":"dance","id":"7"}', Code.MESSAGE_UNKNOWN, "7"),
        ('{"t":"move","id":"7","room":"r"}', Code.MESSAGE_MALFORMED, "7"),
        ('{"t":"welcome","id":"7"}', Code.MESSAGE_UNKNOWN, "7"),
        ('{"t":"leave","id":"7","room":"nowhere"}', Code.ROOM_UNKNOWN, "7"),
        ('{"t":"create","id":"7","game":"chess-960"}', Code.GAME_UNKNOWN, "7"),
    ],
)
async def test_a_bad_message_is_answered(frame: str | bytes, code: Code, key: str | None) -> None:
    """A bad message gets an error with its id; the connection stays open and nothing changes."""
    async with serve() as node, node.guest() as client:
        await client.send(frame)
        error = await client.receive()
        assert (error["t"], error["code"], error["id"]) == ("error", code, key)
        await client.send(wire.Ping(id="p"))
        await client.expect("pong", id="p")
        assert node.fake.store.memory.tables.rooms == {}


async def test_the_servers_own_commands_are_unknown_to_clients() -> None:
    """A client that gives a command of the server itself gets message.unknown.

    Every command that is not in ClientCommand is tried, as a whole, in a room of the client.
    """
    own = (
        Tick("1", 0),
        Rename("2", "somebody", "Eve"),
        AiMove("3", "m", 1, "d", "a1"),
        AiFailure("4", "m", 1, "d", "no move"),
        AiReply("5", "m", 1, True),
        BotLine("6", "I lose", 1),
        Hold("7", "m", 0, "outage"),
    )
    assert {type(command) for command in own} == RULES.keys() - {*ClientCommand.__args__}
    async with serve() as node, node.guest() as client:
        await client.send({"t": "create", "id": "c", "game": "tic-tac-toe", "seats": [ME, AI1]})
        room = (await client.expect("ack", id="c"))["room"]
        for command in own:
            await client.send({"room": room, **msgspec.to_builtins(command)})
            error = await client.expect("error")
            assert (error["code"], error["id"]) == (Code.MESSAGE_UNKNOWN, command.id)


async def test_a_frame_that_is_too_big_closes_the_connection() -> None:
    """A frame that is too big closes the connection with 1009 before it is read completely."""
    async with serve() as node, node.guest() as client:
        await client.send('{"t":"ping","x":"' + "x" * wire.MAX_FRAME_BYTES + '"}')
        assert (await client.wait_closed())[0] == Close.TOO_BIG


async def test_every_command_is_answered_once() -> None:
    """I19: each of many commands that are sent at once gets one answer, in order for each room.

    Some of the commands are refused.
    """
    async with serve() as node, node.guest() as client:
        rooms = [(await client.ack("create", game="sticks"))["room"] for _ in range(3)]
        for room in rooms:
            await client.ack("join", room=room)
        keys = [f"k{n}" for n in range(120)]
        for n, key in enumerate(keys):
            room = [*rooms, "nowhere"][n % 4]
            await client.send({"t": "chat", "id": key, "room": room, "text": "x" if n % 5 else ""})
        answers: list[str] = []
        while len(answers) < len(keys):
            message = await client.receive()
            answers += [message["id"]] if message["t"] in ("ack", "error") else []
        assert sorted(answers) == sorted(keys)
        for n in range(4):
            assert [key for key in answers if key in keys[n::4]] == keys[n::4]
        await client.send(wire.Ping(id="p"))
        await client.expect("pong")


async def test_nobody_speaks_in_a_room_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that has only the link of a room is refused there until it joins, and after it
    left; also after a join that the store refused.
    """

    async def fail(*_: Any) -> None:
        raise StoreUnavailable("the store is down")

    async with serve() as node, node.guest() as ada, node.guest() as cyd:
        room = (await ada.ack("create", game="sticks"))["room"]
        for n in range(2):
            assert await cyd.expect_refusal("chat", room=room, text="boo") == Code.CHAT_OUTSIDE
            await cyd.ack("join", room=room)
            await cyd.ack("chat", room=room, text=f"hello {n}")
            await cyd.ack("leave", room=room)
        await ada.ack("join", room=room)  # which keeps it in memory
        with monkeypatch.context() as change:
            change.setattr(RoomRunner, "_join", fail)
            assert await cyd.expect_refusal("join", room=room) == Code.STORE_RETRY
        assert await cyd.expect_refusal("chat", room=room, text="boo") == Code.CHAT_OUTSIDE


async def test_a_match_by_socket() -> None:
    """Two clients play and a third watches: all receive every event in order.

    Only the player to move receives the legal moves.
    """
    async with (
        serve() as node,
        node.guest(name="Ada") as ada,
        node.guest(name="Ben") as ben,
        node.guest() as cyd,
    ):
        room = (await ada.ack("create", game="tic-tac-toe"))["room"]
        for client in (ada, ben, cyd):
            await client.ack("join", room=room)
        await ben.ack("sit", room=room, seat=1)
        for ply, cell in enumerate(("a1", "b1", "a2", "b2", "a3")):
            mover = (ada, ben)[ply % 2]
            await mover.ack("move", room=room, ply=ply, move=cell)
        for client in (ada, ben, cyd):
            if not any(m.get("kind") == "finished" for m in client.messages):
                await client.expect("event", kind="finished")
            assert [m["v"] for m in client.messages if m["t"] == "event"] == list(range(3, 11))
        assert [m["ply"] for m in ada.messages if m["t"] == "turn"] == [0, 2, 4]
        assert [m["ply"] for m in ben.messages if m["t"] == "turn"] == [1, 3]
        assert not any(m["t"] == "turn" for m in cyd.messages)


async def test_a_closed_socket_is_removed() -> None:
    """A closed socket is removed from its rooms, lobby and sessions; presence reports it."""
    async with serve() as node, node.guest() as ada:
        room = (await ada.ack("create", game="sticks"))["room"]
        await ada.ack("join", room=room)
        async with node.guest() as cyd:
            await cyd.ack("watch_lobby", on=True)
            await cyd.ack("join", room=room)
            await ada.expect("presence", watching=1)
        await ada.expect("presence", watching=0)
        assert len(node.running.sessions) == 1
        assert node.hub.lobby._watchers == set()


async def test_the_lobby_by_socket() -> None:
    """The lobby sends an ack, the list and its changes, and nothing after unsubscribing.

    If the store fails, the subscription gets an error instead of an ack.
    """
    async with serve() as node, node.guest() as ada, node.guest() as eve:
        await eve.ack("watch_lobby")
        assert (await eve.expect("lobby"))["full"] is True
        room = (await ada.ack("create", game="sticks"))["room"]
        hidden = (await ada.ack("create", game="sticks", visibility="unlisted"))["room"]
        change = await eve.expect("lobby")
        assert [entry["room"] for entry in change["rooms"]] == [room]
        await eve.ack("watch_lobby", on=False)
        received = len(eve.messages)
        await ada.ack("create", game="sticks")
        node.fake.store.fail("rooms")
        assert await eve.expect_refusal("watch_lobby") == Code.STORE_RETRY
        await eve.ack("watch_lobby")
        assert hidden not in json.dumps(eve.messages)
        assert [m["t"] for m in eve.messages[received:]] == ["error", "ack"]


# --- limits ---------------------------------------------------------------------------------------


async def test_messages_beyond_the_rate_are_refused() -> None:
    """Each message beyond the burst is refused with its id.

    Later messages are served again.
    """
    async with serve(messages_burst=20, messages_per_s=50) as node, node.guest() as client:
        for n in range(60):
            await client.send(wire.Ping(id=f"p{n}"))
        answers = [await client.receive() for _ in range(60)]
        assert [m["id"] for m in answers] == [f"p{n}" for n in range(60)]
        refused = [m for m in answers if m["t"] == "error"]
        assert {m["code"] for m in refused} == {Code.RATE_EXCEEDED}
        assert 20 <= len(refused) <= 40
        while (await client.ask("leave", room="nowhere"))["code"] == Code.RATE_EXCEEDED:
            pass


async def test_a_client_that_floods_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that keeps sending beyond the rate limit is closed with 1008."""
    monkeypatch.setattr(session_module, "MAX_EXCESS", 30)
    async with serve(messages_burst=5, messages_per_s=1) as node, node.guest() as client:
        for _ in range(100):
            await client.send(wire.Ping())
        code, _ = await client.wait_closed()
        assert code in (Close.POLICY, 1006)
        assert len(client.messages) <= 40


async def test_bad_frames_count_as_messages() -> None:
    """Malformed frames count towards the rate limit."""
    async with serve(messages_burst=5, messages_per_s=1) as node, node.guest() as client:
        for _ in range(10):
            await client.send("nonsense")
        codes = [(await client.receive())["code"] for _ in range(10)]
        assert codes == [Code.FRAME_MALFORMED] * 5 + [Code.RATE_EXCEEDED] * 5


async def test_rooms_of_a_connection_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection follows a limited number of rooms.

    After leaving one it may join another; joining the same one again does not count, nor a join
    that is refused at once.
    """
    monkeypatch.setattr(session_module, "MAX_ROOMS", 2)
    async with serve() as node, node.guest() as client:
        rooms = [(await client.ack("create", game="sticks"))["room"] for _ in range(3)]
        with monkeypatch.context() as change:
            change.setattr(RoomRunner, "submit", lambda *_: False)
            assert await client.expect_refusal("join", room=rooms[2]) == Code.ROOM_BUSY
        for room in rooms[:2]:
            await client.ack("join", room=room)
        assert await client.expect_refusal("join", room=rooms[2]) == Code.ROOM_LIMIT
        await client.ack("join", room=rooms[0])
        await client.ack("leave", room=rooms[0])
        await client.ack("join", room=rooms[2])


async def test_a_refused_leave_is_repeated_when_the_connection_closes() -> None:
    """A client whose leave a busy room refused is still removed when its connection closes."""
    fake = FakeServer()
    async with serve(fake, messages_burst=1000) as node, node.guest() as ada, node.guest() as cyd:
        room = (await ada.ack("create", game="sticks"))["room"]
        await cyd.ack("join", room=room)
        await ada.ack("join", room=room)
        gate = fake.store.hold("append")
        await ada.send({"t": "chat", "id": "first", "room": room, "text": "x"})
        await fake.store.waiting["append"].wait()  # from now on the mailbox fills
        for n in range(300):
            await ada.send({"t": "chat", "id": f"k{n}", "room": room, "text": "x"})
        while (await ada.expect("error"))["code"] != Code.ROOM_BUSY:
            pass
        assert await cyd.expect_refusal("leave", room=room) == Code.ROOM_BUSY
        runner = node.hub.runner(room)
        assert runner is not None
        assert runner.followers.watching == 1
        await cyd.connection.close()
        await ada.send({"t": "join", "id": "j", "room": room})
        gate.set()
        await until(lambda: not runner.followers.watching)


@asynccontextmanager
async def client_that_does_not_read(node: Node) -> AsyncIterator[Session]:
    """Connects a client that reads nothing after hello, with small buffers; yields its session."""
    reader, writer = await asyncio.open_connection("127.0.0.1", node.running.port, limit=1024)
    writer.get_extra_info("socket").setsockopt(sockets.SOL_SOCKET, sockets.SO_RCVBUF, 4096)
    writer.write(
        f"GET /ws HTTP/1.1\r\nHost: {node.host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    await reader.readuntil(b"\r\n\r\n")
    hello = format_message(wire.Hello(protocol=1, name="Slow"))
    writer.write(bytes((0x81, 0x80 | len(hello), 0, 0, 0, 0)) + hello)
    welcome = await reader.readuntil(b"}")
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    session = session_of(node, json.loads(welcome[welcome.index(b"{") :])["identity"])
    session._transport.get_extra_info("socket").setsockopt(
        sockets.SOL_SOCKET, sockets.SO_SNDBUF, 4096
    )
    try:
        yield session
    finally:
        writer.close()


async def test_a_slow_reader_skips_ephemeral_messages_and_is_cut_off() -> None:
    """A client with 64 KiB unsent receives no ephemeral frames, and above 256 KiB it is cut off.

    Other clients are not affected.
    """
    async with serve() as node, node.guest() as healthy, client_that_does_not_read(node) as session:
        transport, frame = session._transport, message_of("x" * 4000)
        with structlog.testing.capture_logs() as logs:
            while transport.get_write_buffer_size() <= MAX_UNSENT_EPHEMERAL_BYTES:
                session.send_ephemeral(frame)
            unsent_bytes = transport.get_write_buffer_size()
            for _ in range(50):
                session.send_ephemeral(frame)
            assert transport.get_write_buffer_size() == unsent_bytes, "the rest is skipped"
            while not session.closed:
                assert transport.get_write_buffer_size() <= MAX_UNSENT_BYTES
                session.send(frame)
        assert [line["event"] for line in logs] == ["slow reader cut off"]
        session.send(frame)
        session.send_ephemeral(frame)
        while len(node.running.sessions) > 1:
            await healthy.send(wire.Ping(id="p"))
            await healthy.expect("pong", id="p")


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_shutdown_does_not_wait_for_a_slow_reader(loop: str) -> None:
    """A client that does not read does not delay the server's end."""

    async def main() -> None:
        async with AsyncExitStack() as clients, AsyncExitStack() as nodes:
            node = await nodes.enter_async_context(serve())
            session = await clients.enter_async_context(client_that_does_not_read(node))
            while session._transport.get_write_buffer_size() <= MAX_UNSENT_EPHEMERAL_BYTES:
                session.send(message_of("x" * 4000))
            await ends_within(nodes.aclose(), 6)

    run_on(loop, main)


def message_of(text: str) -> Outbound:
    return Outbound(wire.Error(None, Code.SERVER_FAULT, text))


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_only_a_silent_connection_is_closed(loop: str) -> None:
    """A silent connection is closed with 1008 and a reason; a connection that pings is not."""

    async def main() -> None:
        async with (
            serve(silence_s=0.4, messages_burst=100_000) as node,
            node.guest() as silent,
            node.guest() as lively,
        ):
            closing = asyncio.create_task(silent.wait_closed())
            while not closing.done():
                await lively.send(wire.Ping(id="p"))
                await lively.expect("pong")
            assert closing.result() == (Close.POLICY, "silent")
            await lively.send(wire.Ping(id="q"))
            await lively.expect("pong", id="q")

    run_on(loop, main)


def run_on(loop: str, main: Any) -> None:
    """Runs a coroutine function on this kind of event loop."""
    import uvloop

    factory = uvloop.new_event_loop if loop == "uvloop" else asyncio.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(asyncio.wait_for(main(), 60))


async def test_no_secret_is_logged_or_sent() -> None:
    """I14: a token is in no log line, in no message except its `welcome`, and in no error."""
    with structlog.testing.capture_logs() as logs:
        async with serve() as node, node.guest(name="Ada") as ada, node.guest() as ben:
            assert ada.token
            room = (await ada.ack("create", game="sticks", seats=[ME, OPEN]))["room"]
            for client in (ada, ben):
                await client.ack("join", room=room)
            await ben.ack("sit", room=room, seat=1)
            await ben.ack("chat", room=room, text="hello")
            await ada.ack("chat", room=room, text="hello")
            async with node.socket() as wrong:
                await wrong.send(wire.Hello(protocol=1, token=ada.token + "x"))
                await wrong.wait_closed()
            everything = json.dumps(
                [ben.messages, wrong.messages, ada.messages[1:], logs], default=str
            )
            assert ada.token not in everything
            assert ben.token is not None
            assert ben.token not in json.dumps([ada.messages, logs], default=str)
