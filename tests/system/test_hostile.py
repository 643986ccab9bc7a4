"""Hostile clients: malformed input changes no room, and causes no lasting cost or traceback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from client.connection import Connection, connect
from server.commands import Chat, Create, Move, Resign, Sit, Takeback
from server.protocol.messages import CommandFrame, Join, Ping
from tests.oracle.journal import read_logs
from tests.support.malformed_input import MalformedInput
from tests.support.players import make_room
from tests.support.raw_websocket import NO_CLOSE_FRAME, RawSocket, frame, raw_socket
from tests.support.server_process import NO_RATE_LIMITS, ServerProcess, assert_no_traceback, serving

#: The maximum number of messages that an attacker sends on one connection.
BATCH = 50
#: The types of messages that answer a message.
ANSWERS = ("ack", "error", "pong")
#: The number of attackers at once.
CLIENTS = 4
#: The time limit of a wait for an answer, in seconds; only a test that hangs reaches it.
TIMEOUT_S = 60.0
#: The growth of resident memory that an attack may cause, in bytes. In the long form the page
#: caches of SQLite's five connections are full (2 MB each), and so is the cache of clean names; the
#: rest is what malloc does not return. 300 bytes that stay for each greeting exceed it.
GROWTH_BYTES = {1_500: 4 * 2**20, 1_000_000: 24 * 2**20}
#: The percentage of each kind of input.
SHARES = {"messages": 80, "bad frames": 10, "odd frames": 2, "greetings": 8}


@dataclass(frozen=True, slots=True)
class Victims:
    """Two clients, and their rooms, which the attackers must not change."""

    ada: Connection
    bob: Connection
    rooms: list[str]


@asynccontextmanager
async def victims(server: ServerProcess) -> AsyncIterator[Victims]:
    """Opens two matches in progress and a third one that was resigned."""
    async with connect(server.url) as ada, connect(server.url) as bob:
        rooms = [await make_room(ada, "tic-tac-toe") for _ in range(3)]
        for room in rooms:
            await bob.command(CommandFrame(room, Sit(id="sit", seat=1)))
            await ada.command(CommandFrame(room, Move(id="1", ply=0, move="b2")))
        await bob.command(CommandFrame(rooms[1], Resign(id="2")))
        yield Victims(ada, bob, rooms)


async def snapshots(server: ServerProcess, rooms: list[str]) -> list[dict[str, Any]]:
    """Returns the snapshot of each room that a new client receives."""
    received = []
    async with raw_socket(server.port) as newcomer:
        await newcomer.hello()
        for room in rooms:
            newcomer.send_message(Join(id=room, room=room))
            while (message := await newcomer.message())["t"] != "snapshot":
                pass
            received.append(message)
    return received


class Attacker:
    """Sends inputs in sequence, over as many connections as it needs."""

    def __init__(self, port: int, source: MalformedInput) -> None:
        self._port = port
        self._source = source

    async def attack(self, input_count: int) -> None:
        """Sends `input_count` inputs in the proportions of SHARES, and checks each answer."""
        left = {kind: input_count * share // 100 for kind, share in SHARES.items()}
        for _ in range(left["greetings"]):
            await self._greet(self._source.greeting())
        while any(left[kind] > 0 for kind in ("messages", "bad frames", "odd frames")):
            async with raw_socket(self._port) as socket:
                await socket.hello()
                count = min(BATCH, left["messages"])
                left["messages"] -= count
                await self._assert_answered(socket, [self._source.message() for _ in range(count)])
                for _ in range(min(2, left["odd frames"])):
                    left["odd frames"] -= 1
                    socket.writer.write(self._source.odd_frames())
                    await self._assert_answered(socket, [])
                left["bad frames"] -= 1
            for _ in range(6):
                left["bad frames"] -= 1
                await self._assert_closed(self._source.bad_frames())

    async def _assert_answered(self, socket: RawSocket, messages: list[bytes]) -> None:
        """Asserts that every message has exactly one answer."""
        socket.writer.write(b"".join(frame(message) for message in messages))
        socket.send_message(Ping(id="the last"))
        answer_count, is_last_answered = 0, False
        async with asyncio.timeout(TIMEOUT_S):
            while answer_count < len(messages) or not is_last_answered:
                message = await socket.message()
                if message["t"] == "pong" and message.get("id") == "the last":
                    is_last_answered = True
                elif message["t"] in ANSWERS:
                    answer_count += 1

    async def _assert_closed(self, frames: bytes) -> None:
        """Asserts that the server closes the connection, with a close frame if it still can."""
        async with raw_socket(self._port) as socket:
            await socket.hello()
            socket.writer.write(frames)
            async with asyncio.timeout(TIMEOUT_S):
                code = await socket.wait_closed()
            assert code in (1000, 1002, 1005, 1007, 1009, NO_CLOSE_FRAME), (code, frames[:80])

    async def _greet(self, greeting: bytes) -> None:
        """Asserts that the server closes the connection when the client does."""
        async with raw_socket(self._port) as socket:
            try:
                socket.writer.write(greeting)
                await socket.writer.drain()
                socket.writer.write_eof()
                async with asyncio.timeout(TIMEOUT_S):
                    while await socket.reader.read(65536):
                        pass
            except ConnectionError:
                return


async def attack_at_once(
    server: ServerProcess, rooms: list[str], input_count: int, seed: int
) -> None:
    """Runs several attackers at once."""
    async with asyncio.TaskGroup() as attackers:
        for n in range(CLIENTS):
            attacker = Attacker(server.port, MalformedInput(seed * 100 + n, rooms))
            attackers.create_task(attacker.attack(input_count // CLIENTS))


async def chat_until(done: "asyncio.Task[None]", who: Connection, room: str) -> int:
    """Sends chat lines until `done`; returns the number of acknowledged lines.

    The room is one for one screen. It takes 2,000 events without a move, so in between a move is
    played and taken back.
    """
    lines = 0
    while not done.done():
        if lines % 1_000 == 999:
            await who.command(CommandFrame(room, Move(id=who.new_id(), ply=0, move="b2")))
            await who.command(CommandFrame(room, Takeback(id=who.new_id(), ply=1)))
        await who.command(CommandFrame(room, Chat(id=who.new_id(), text="still there?")))
        lines += not done.done()
    return lines


@pytest.mark.parametrize(
    "input_count",
    [1_500, pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.timeout(7200)])],
)
async def test_malformed_input_of_every_kind_changes_nothing(
    tmp_path: Path, input_count: int
) -> None:
    """Thousands of random and mutated inputs change no room and disturb no other client.

    They range from invalid handshakes to commands in rooms of others. Each message gets one answer,
    and each invalid frame ends its connection. There is no traceback, memory hardly grows, and
    another client is served all the time.
    """
    settings = NO_RATE_LIMITS | {"rooms_burst": 3, "rooms_per_minute": 1, "room_idle_s": 1}
    async with serving(tmp_path / "data", **settings) as server, victims(server) as people:
        before = read_logs(server.data)
        snapshots_before = await snapshots(server, people.rooms)
        await attack_at_once(server, people.rooms, 2_000, seed=1)
        rss_before = server.rss
        attack = asyncio.create_task(attack_at_once(server, people.rooms, input_count, seed=2))
        async with connect(server.url) as cyd:
            create = Create(id=cyd.new_id(), game="tic-tac-toe", one_screen=True)
            room = str((await cyd.command(create)).room)
            lines = await chat_until(attack, cyd, room)
        await attack
        assert lines > input_count // 500, "a client is served during the attack"
        growth = server.rss - rss_before
        after = read_logs(server.data)
        assert {room: after[room] for room in people.rooms} == {
            room: before[room] for room in people.rooms
        }
        assert await snapshots(server, people.rooms) == snapshots_before
        ack = await people.bob.command(
            CommandFrame(people.rooms[0], Move(id="3", ply=1, move="a1"))
        )
        assert ack.v == 6
        assert growth < GROWTH_BYTES[input_count], f"{growth / 2**20:.1f} MiB"
        assert await server.stop() == 0
    assert_no_traceback(server)
