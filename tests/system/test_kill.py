"""kill -9 of the whole server during matches, searches and writes."""

import asyncio
import itertools
import json
import random
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import websockets
from click.testing import CliRunner

from client.connection import State, connect
from client.model import Model
from server.commands import AiSeat, CallDraw, ClaimWin, Create, Move, MySeat, OpenSeat, Sit
from server.events import Created
from server.ops import admin
from server.protocol.messages import PROTOCOL, ClientFrame, CommandFrame, Hello, Join
from tests.oracle.journal import Journal, StoredLog, read_logs
from tests.support.players import (
    LONG_STICKS,
    QUICK_TIMING,
    ai_and_ai,
    make_room,
    person_and_ai,
    two_people,
)
from tests.support.raw_websocket import RawSocket, handshake, raw_socket
from tests.support.server_process import (
    NO_RATE_LIMITS,
    ServerProcess,
    assert_no_traceback,
    eventually,
    serving,
)

#: The number of kills.
ROUNDS = 2
#: The time after which an absent player may be claimed, in ms, and the length of a suspension in
#: seconds. A busy machine may need most of the first one before the suspension begins.
GONE_MS, SUSPENDED_S = 10_000, 12.0
#: The time without a server after it was killed, in seconds.
DOWN_S = 30
#: The number of rooms that no client watches, in which the AI plays itself.
UNWATCHED = 6


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 12))]
)
@pytest.mark.usefixtures("warm_engine")
async def test_kill_9_in_the_middle_of_50_running_matches_loses_nothing(
    tmp_path: Path, seed: int
) -> None:
    """Repeated kill -9 and restarts at random moments lose no acknowledged command.

    No command is in the log twice, and v has no gap. AI seats move by themselves, even in rooms
    without clients, and all clients finish their matches without an error. No process of a killed
    server remains.
    """
    rng = random.Random(seed)
    journal, stop = Journal(), asyncio.Event()
    async with serving(
        tmp_path / "data", workers=2, ai_pace_ms=0, ai_duel_pace_ms=0, **NO_RATE_LIMITS
    ) as server:
        unwatched = await _unwatched_rooms(server)
        async with asyncio.TaskGroup() as tasks:
            creating = tasks.create_task(_create_rooms_until(stop, server.url))
            matches = [
                tasks.create_task(match) for match in _matches(server.url, journal, seed, stop)
            ]
            for _ in range(ROUNDS):
                await journal.wait_for_acks(rng.randrange(100, 400))
                helpers = server.descendants()
                await server.kill()
                assert psutil.wait_procs(helpers, timeout=60)[1] == []
                logs = read_logs(server.data)
                assert journal.violations(logs) == []
                await server.start()
                await _assert_ai_seats_move(server, {room: logs[room] for room in unwatched})
            stop.set()
        models = [match.result() for match in matches]
        assert await server.stop() == 0
    logs = read_logs(server.data)
    assert journal.violations(logs) == []
    assert journal.refused == []
    assert len(models) + UNWATCHED == 50
    host, rooms = creating.result()
    assert sorted(
        room for room, log in logs.items() if log.events[1] == _created_by(host)
    ) == sorted(rooms)
    assert all(model.match is not None and model.match.over is not None for model in models)
    assert_no_traceback(server)


def _matches(
    url: str, journal: Journal, seed: int, stop: asyncio.Event
) -> list[Coroutine[None, None, Model]]:
    """Returns 44 matches: between people, between a person and the AI, and between AI seats."""
    games: list[tuple[str, dict[str, str]]] = [
        ("sticks", LONG_STICKS),
        ("connect-four", {}),
        ("tic-tac-toe", {}),
    ]
    people = [two_people(url, *games[n % 3], journal, seed + 2 * n, stop) for n in range(30)]
    mixed = [
        person_and_ai(url, *games[n % 3], 1 + n % 2, journal, seed + n, stop) for n in range(10)
    ]
    engines = [ai_and_ai(url, *games[n % 3], 1, journal, stop) for n in range(4)]
    return [*people, *mixed, *engines]


def _created_by(host: str) -> Created:
    return Created("tic-tac-toe", {}, "public", host)


async def _create_rooms_until(stop: asyncio.Event, url: str) -> tuple[str, list[str]]:
    """Creates rooms until `stop` is set; returns the host's identity and the acknowledged rooms."""
    async with connect(url, timing=QUICK_TIMING) as host:
        rooms = []
        while not stop.is_set():
            rooms.append(await make_room(host, "tic-tac-toe"))
        return host.identity, rooms


async def _unwatched_rooms(server: ServerProcess) -> list[str]:
    """Creates rooms without clients in which AI seats play matches that outlast the test."""
    async with connect(server.url) as host:
        seats = (AiSeat(level=1), AiSeat(level=1))
        return [
            await make_room(host, "sticks", {"rows": "9-9-9-9-9-9"}, seats)
            for _ in range(UNWATCHED)
        ]


async def _assert_ai_seats_move(server: ServerProcess, before: dict[str, StoredLog]) -> None:
    """Asserts that every AI that was to move at the kill moves without a client."""
    due = {room: log.head for room, log in before.items() if log.is_due}

    def moved() -> bool:
        logs = read_logs(server.data)
        return all(logs[room].head > head for room, head in due.items())

    await eventually(moved, f"the AI moves in {sorted(due)}")


@pytest.mark.long
@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_suspended_server_grants_no_claim(tmp_path: Path, comes_back: bool) -> None:
    """Time in which the server was suspended does not count as absence. A claim that arrived
    meanwhile is refused: the opponent may be back, in a connection that is not read yet.
    """
    async with (
        serving(tmp_path / "data", gone_ms=GONE_MS, page_closed_ms=GONE_MS) as server,
        raw_socket(server.port) as ada,
        raw_socket(server.port) as back,
    ):
        await ada.hello()

        async def ask(socket: RawSocket, command: ClientFrame) -> dict[str, Any]:
            """Sends a message; returns its answer."""
            socket.send_message(command)
            while (message := await socket.message())["t"] not in ("ack", "error"):
                pass
            return message

        create = Create(id="1", game="tic-tac-toe", seats=(MySeat(), OpenSeat()))
        room = (await ask(ada, create))["room"]
        await ask(ada, Join(id="2", room=room))
        async with raw_socket(server.port) as ben:
            token = (await ben.hello())["token"]
            await ask(ben, Join(id="2", room=room))
            await ask(ben, CommandFrame(room, Sit(id="3", seat=1)))
            for ply, (player, text) in enumerate(((ada, "b2"), (ben, "a1"), (ada, "c2"))):
                frame = CommandFrame(room, Move(id=f"m{ply}", ply=ply, move=text))
                assert (await ask(player, frame))["t"] == "ack"
        while (message := await ada.message())["t"] != "presence" or message["seats"][1]:
            pass
        server.send_signal(signal.SIGSTOP)
        ada.send_message(CommandFrame(room, ClaimWin(id="4")))
        if comes_back:
            back.writer.write(handshake(f"127.0.0.1:{server.port}"))
            back.send_message(Hello(protocol=PROTOCOL, token=token))
            back.send_message(Join(id="5", room=room))
        await asyncio.sleep(SUSPENDED_S)
        server.send_signal(signal.SIGCONT)
        assert (await ask(ada, CommandFrame(room, ClaimWin(id="4"))))["code"] == "claim.none"
        if comes_back:
            await back.reader.readuntil(b"\r\n\r\n")
            await ask(back, Join(id="6", room=room))
            assert (await ask(ada, CommandFrame(room, CallDraw(id="7"))))["code"] == "claim.none"
            played = CommandFrame(room, Move(id="8", ply=3, move="a2"))
            assert (await ask(back, played))["t"] == "ack"
    assert_no_traceback(server)


async def test_a_suspended_server_loses_nothing(tmp_path: Path) -> None:
    """After the server was suspended during matches, clients reconnect and continue them."""
    journal, stop = Journal(), asyncio.Event()
    async with serving(tmp_path / "data", **NO_RATE_LIMITS) as server:
        states: asyncio.Queue[State] = asyncio.Queue()
        async with connect(server.url, timing=QUICK_TIMING, on_state=states.put_nowait):
            assert await states.get() is State.CONNECTED
            async with asyncio.TaskGroup() as tasks:
                for n in range(5):
                    tasks.create_task(
                        two_people(server.url, "sticks", LONG_STICKS, journal, n, stop)
                    )
                await journal.wait_for_acks(100)
                server.send_signal(signal.SIGSTOP)
                assert await states.get() is State.LOST
                server.send_signal(signal.SIGCONT)
                assert await states.get() is State.CONNECTED
                await journal.wait_for_acks(100)
                stop.set()
        assert await server.stop() == 0
    assert journal.violations(read_logs(server.data)) == []
    assert journal.refused == []
    assert_no_traceback(server)


@pytest.mark.long
async def test_kill_9_takes_no_time_from_clocks(tmp_path: Path) -> None:
    """Three matches with different clocks: after a kill -9 and half a minute without a server, each
    goes on with at least the time that it had, and its log says why.
    """
    clocks = ("60+5", "60d5", "10+3x30")
    async with serving(tmp_path / "data", workers=0, **NO_RATE_LIMITS) as server:
        async with _guest(server.url) as ada, _guest(server.url) as ben:
            rooms = []
            for clock in clocks:
                created = await ada.ask({"t": "create", "game": "tic-tac-toe", "clock": clock})
                rooms.append(created["room"])
                await ben.ask({"t": "sit", "room": rooms[-1], "seat": 1})
                for ply, (player, move) in enumerate(((ada, "a1"), (ben, "b1"))):
                    await player.ask({"t": "move", "room": rooms[-1], "ply": ply, "move": move})
            await asyncio.sleep(4)
            await server.kill()
            killed_ms = time.time_ns() // 1_000_000
        await asyncio.sleep(DOWN_S)
        await server.start()
        async with _guest(server.url, ada.token) as ada:
            for room, clock in zip(rooms, clocks, strict=True):
                await ada.ask({"t": "join", "room": room, "since": 1})
                await ada.read(lambda message: message.get("kind") == "released")
                events = {event["kind"]: event for event in ada.events if event["room"] == room}
                held, released = events["held"], events["released"]
                assert held["why"] == "outage"
                assert held["since_ms"] <= killed_ms
                assert released["from_ms"] >= killed_ms + 1000 * DOWN_S
                first_ms, second_ms = released["clocks_ms"]
                base_ms = 1000 * int(re.split("[+d]", clock)[0])
                used_ms = killed_ms - events["moved"]["at"]
                delay_ms = 5_000 if "d" in clock else 0
                assert first_ms >= base_ms - max(0, used_ms - delay_ms), "nobody lost time"
                assert second_ms == base_ms
                await ada.ask({"t": "move", "room": room, "ply": 2, "move": "a2"})
        assert await server.stop() == 0
    assert_no_traceback(server)
    verified = await asyncio.to_thread(
        CliRunner().invoke, admin.verify, ["--data", str(tmp_path / "data")]
    )
    assert verified.exit_code == 0, verified.output


class _Guest:
    """A guest on one socket."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.token: str | None = None
        self.events: list[dict[str, Any]] = []
        self._socket = socket
        self._ids = itertools.count(1)

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Sends a command that must be acknowledged, and returns the ack."""
        key = f"{id(self)}-{next(self._ids)}"
        await self._socket.send(json.dumps({"id": key, **message}))
        return await self.read(lambda answer: answer.get("id") == key)

    async def read(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Reads until a message, and keeps the events before it."""
        while True:
            message: dict[str, Any] = json.loads(await self._socket.recv())
            assert message["t"] != "error", message
            if message["t"] == "event":
                self.events.append(message)
            if is_wanted(message):
                return message


@asynccontextmanager
async def _guest(url: str, token: str | None = None) -> AsyncIterator[_Guest]:
    async with websockets.connect(f"{url.replace('http', 'ws')}/ws") as socket:
        guest = _Guest(socket)
        hello = {"t": "hello", "protocol": PROTOCOL, "token": token}
        await socket.send(json.dumps(hello))
        welcome = await guest.read(lambda message: message["t"] == "welcome")
        guest.token = str(welcome["token"]) if "token" in welcome else token
        yield guest
