"""A server without a pool, and engine workers in their own processes that start, die and stop."""

import asyncio
import random
import signal
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from client.connection import Connection, connect
from client.messages import LoggedEvent, RoomMessage
from engine.rules.registry import load_game
from engine.search.job import Info, Result
from engine.search.levels import TIME_MS
from server.bus import work
from server.bus.broker import Broker
from server.bus.link import open_link
from server.bus.work import ReadyGame
from server.commands import AiSeat, MySeat
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.events import Finished, Moved
from server.protocol.messages import MatchResult, Thinking
from tests.oracle.journal import Journal, read_logs
from tests.server.test_remote_engines import ScriptedWorker
from tests.support.players import make_room
from tests.support.server_process import (
    NO_RATE_LIMITS,
    ROOT,
    assert_no_traceback,
    eventually,
    serving,
)
from tests.support.worker_process import WorkerProcess, working
from tests.system.test_workers import Opponent, is_move

pytestmark = pytest.mark.usefixtures("warm_engine")

#: The time that an AI may take beyond its thinking time when its worker dies, in seconds.
LATE_S = 3.0
#: A game whose top level searches from the first move on, because it has no precomputed moves.
GAME = "breakthrough"
ACL = ROOT / "server" / "deploy" / "mosquitto.acl"


def bus_settings(broker: Broker) -> dict[str, Any]:
    return {
        "bus": f"mqtt://{broker.host}:{broker.port}",
        "workers": 0,
        "ai_pace_ms": 0,
        "ai_duel_pace_ms": 0,
    }


async def wait_for_state(person: Opponent, state: str) -> None:
    await person.until(lambda message: isinstance(message, Thinking) and message.state == state)


async def test_a_room_without_engines_waits_for_a_worker(tmp_path: Path) -> None:
    """The room shows that there is no engine, and continues when a worker starts.

    The same holds after that worker has stopped cleanly.
    """
    async with (
        mosquitto(tmp_path) as broker,
        serving(tmp_path / "data", **bus_settings(broker.address), **NO_RATE_LIMITS) as server,
        connect(server.url) as ada,
    ):
        room = await make_room(ada, GAME, {}, (MySeat(), AiSeat(level=3)))
        async with aclosing(ada.follow(room)) as messages:
            person = Opponent(ada, room, messages)
            await person.move()
            await wait_for_state(person, "absent")
            async with working(tmp_path, broker.address, "late", GAME) as worker:
                await person.until(is_move)
                await person.move()
                await person.until(is_move)
                assert await worker.stop() == 0
                assert "Traceback" not in worker.errors, worker.errors
            await person.move()
            await wait_for_state(person, "absent")
        assert await server.stop() == 0
        assert_no_traceback(server)


async def test_a_frozen_worker_does_not_stop_the_ai(tmp_path: Path) -> None:
    """If a worker is frozen (SIGSTOP) during a search, the AI moves with another worker."""
    async with (
        mosquitto(tmp_path) as broker,
        working(tmp_path, broker.address, "one", GAME) as frozen,
        serving(tmp_path / "data", **bus_settings(broker.address), **NO_RATE_LIMITS) as server,
        connect(server.url) as ada,
    ):
        room = await make_room(ada, GAME, {}, (MySeat(), AiSeat(level=load_game(GAME).levels)))
        async with aclosing(ada.follow(room)) as messages:
            person = Opponent(ada, room, messages)
            await person.move()
            await person.until(is_move)
            async with working(tmp_path, broker.address, "two", GAME):
                await person.move()
                await wait_for_state(person, "searching")
                frozen.send_signal(signal.SIGSTOP)
                await person.until(is_move)
        assert await server.stop() == 0
    assert Journal().violations(read_logs(server.data)) == []
    assert_no_traceback(server)


async def test_a_broker_that_starts_late_and_is_killed(tmp_path: Path) -> None:
    """The server starts without its broker and reports that without the password.

    With the broker the AI plays under the shipped access list. After SIGKILL of the broker it plays
    again as soon as the broker is back.
    """
    users = {"server": "s3cret-of-servers", "worker": "s3cret-of-workers"}
    broker = Mosquitto(tmp_path, users, ACL)
    settings = {
        **bus_settings(broker.address),
        "bus": f"mqtt://server:{users['server']}@127.0.0.1:{broker.port}",
    }
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            serving(tmp_path / "data", **settings, **NO_RATE_LIMITS)
        )
        ada = await stack.enter_async_context(connect(server.url))
        room = await make_room(ada, "tic-tac-toe", {}, (AiSeat(level=1), MySeat()))
        person = Opponent(ada, room, await stack.enter_async_context(aclosing(ada.follow(room))))
        await eventually(
            lambda: "broker away" in server.errors, "the server logs that its broker is away"
        )
        await broker.start()
        stack.push_async_callback(broker.kill)
        worker = await stack.enter_async_context(
            working(tmp_path, broker.address_of("worker"), "w", "tic-tac-toe")
        )
        while not person.model.moves:
            await person.until(lambda message: True)
        await broker.kill()
        await person.move()
        await wait_for_state(person, "absent")
        await broker.start()
        await person.until(is_move)
        assert await server.stop() == 0
        assert await worker.stop() == 0
    for errors in (server.errors, worker.errors):
        assert "Traceback" not in errors, errors
        assert "s3cret" not in errors


async def advertise_repeatedly(worker: ScriptedWorker) -> None:
    """Publishes the worker's advert every second, as real workers do, until cancelled."""
    while True:
        worker.advertise()
        await asyncio.sleep(1)


async def test_a_match_with_a_worker_that_lies(tmp_path: Path) -> None:
    """A worker that lies about its capacity and answers an illegal move is not used again.

    Without the good worker the match in another room ends as a failure. The reason contains no text
    of the worker that lies.
    """
    hostile_text = "an evil word"
    game = load_game("tic-tac-toe")
    async with (
        mosquitto(tmp_path) as broker,
        working(tmp_path, broker.address, "good", game.id) as good,
        serving(tmp_path / "data", **bus_settings(broker.address), **NO_RATE_LIMITS) as server,
        open_link(broker.address, "liar", work.worker_topic("liar")) as link,
        connect(server.url) as ada,
    ):
        bad_worker = ScriptedWorker(link, 64, {game.id: ReadyGame(game.digest, 10**9)})
        adverts = asyncio.create_task(advertise_repeatedly(bad_worker))
        bad_worker.script = lambda order: [
            work.Answered(
                order.id, order.attempt, Result(hostile_text, Info(1, 0, 1, 1, 1, (hostile_text,)))
            )
        ]
        known = [f'"worker": "{name}"' for name in (good.id, "liar")]
        await eventually(
            lambda: all(entry in server.errors for entry in known),
            "the server has logged both workers",
        )
        first, second = [
            await make_room(ada, game.id, {}, (MySeat(), AiSeat(level=1))) for _ in range(2)
        ]
        async with aclosing(ada.follow(first)) as messages:
            person = Opponent(ada, first, messages)
            for _ in range(2):
                await person.move()
                await person.until(is_move)
        assert len(bad_worker.commands) == 1
        await good.kill()
        async with aclosing(ada.follow(second)) as messages:
            person = Opponent(ada, second, messages)
            await person.move()
            await person.until(
                lambda message: (
                    isinstance(message, LoggedEvent) and isinstance(message.event, Finished)
                )
            )
            assert person.model.match is not None
            assert person.model.match.over == MatchResult(
                None, "failure", "the AI could not move: no engine found a move"
            )
        adverts.cancel()
        assert await server.stop() == 0
    assert server.errors.count("worker not asked any more") == len(bad_worker.commands) == 1
    assert hostile_text not in server.errors
    assert_no_traceback(server)


class Adverts:
    """The adverts of workers at a broker."""

    def __init__(self) -> None:
        self.by_name: dict[str, work.Advert] = {}
        self.changed = asyncio.Event()

    def __call__(self, topic: str, payload: bytes) -> None:
        if payload:
            advert = work.parse_advert(topic, payload)
            self.by_name[advert.worker] = advert
        else:
            self.by_name = {
                name: advert
                for name, advert in self.by_name.items()
                if work.worker_topic(name) != topic
            }
        self.changed.set()

    async def wait_for_busy(
        self, workers: list[WorkerProcess], rng: random.Random, duels: "list[asyncio.Task[None]]"
    ) -> WorkerProcess | None:
        """Waits for a searching worker and returns it; returns None when a duel is over."""
        async with asyncio.timeout(60):
            while not any(task.done() for task in duels):
                known = [w for w in workers if w.is_running and w.id in self.by_name]
                busy = [worker for worker in known if self.by_name[worker.id].running]
                if busy:
                    return rng.choice(busy)
                self.changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), 0.1)
        return None


class Duel:
    """Two AI seats against each other, and the times of their moves."""

    def __init__(self, messages: AsyncGenerator[RoomMessage, None]) -> None:
        self.plies: list[int] = []
        self.moved_s: list[float] = []
        self.absent_s: list[float] = []
        self.over: Finished | None = None
        self._messages = messages

    async def watch(self) -> None:
        """Follows the match to its end."""
        async for message in self._messages:
            if isinstance(message, Thinking) and message.state == "absent":
                self.absent_s.append(time.perf_counter())
            if isinstance(message, LoggedEvent) and isinstance(message.event, Moved):
                self.plies.append(message.event.ply)
                self.moved_s.append(time.perf_counter())
            if isinstance(message, LoggedEvent) and isinstance(message.event, Finished):
                self.over = message.event
                return

    def slow_moves(self, kills_s: list[float]) -> list[tuple[float, int]]:
        """Returns the moves that took too long: their durations in seconds and numbers of kills.

        A move may take TIME_MS, and LATE_S once or for each kill during it. Moves during which the
        room had no engine are left out.
        """
        slow = []
        for before, after in pairwise(self.moved_s):
            kills = sum(before < kill_s < after for kill_s in kills_s)
            absent = any(before < absent_s < after for absent_s in self.absent_s)
            if not absent and after - before > TIME_MS / 1000 + LATE_S * max(1, kills):
                slow.append((after - before, kills))
        return slow


async def start_duel(
    connection: Connection, stack: AsyncExitStack
) -> tuple[Duel, "asyncio.Task[None]"]:
    """Creates a room for a duel; returns the duel and the task that watches it."""
    room = await make_room(connection, GAME, {}, (AiSeat(level=load_game(GAME).levels),) * 2)
    messages = await stack.enter_async_context(aclosing(connection.follow(room)))
    duel = Duel(messages)
    return duel, asyncio.create_task(duel.watch())


async def wait_until_all_moved(duels: list[tuple[Duel, "asyncio.Task[None]"]]) -> None:
    """Waits until every duel has continued, or is over."""
    before = [len(duel.plies) for duel, _ in duels]
    async with asyncio.timeout(60):
        while any(
            len(duel.plies) == plies and not task.done()
            for (duel, task), plies in zip(duels, before, strict=True)
        ):
            await asyncio.sleep(0.02)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kills", [50])
async def test_workers_killed_while_the_ai_plays(kills: int, tmp_path: Path) -> None:
    """I16: every turn gets one move although searching workers keep being killed.

    19 of 20 moves arrive in their time plus 3 s for each kill during them, and no match fails.
    """
    starting: list[asyncio.Task[None]] = []
    kills_s: list[float] = []
    slow: list[tuple[float, int]] = []
    rng, adverts = random.Random(11), Adverts()
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        server = await stack.enter_async_context(
            serving(tmp_path / "data", **bus_settings(broker.address), **NO_RATE_LIMITS)
        )
        workers = [
            await stack.enter_async_context(working(tmp_path, broker.address, f"w{number}", GAME))
            for number in range(3)
        ]
        link = await stack.enter_async_context(
            open_link(broker.address, "watcher", "plyroom/1/watcher")
        )
        link.subscribe(f"{work.WORKERS_TOPIC}/+", adverts)
        ada = await stack.enter_async_context(connect(server.url))
        duels, finished = [await start_duel(ada, stack) for _ in range(2)], []
        while len(kills_s) < kills:
            finished += [(duel, task) for duel, task in duels if task.done()]
            duels = [
                await start_duel(ada, stack) if task.done() else (duel, task)
                for duel, task in duels
            ]
            victim = await adverts.wait_for_busy(workers, rng, [task for _, task in duels])
            if victim is None:
                continue
            await asyncio.sleep(rng.random() * 0.3)
            kills_s.append(time.perf_counter())
            await victim.kill()
            starting.append(asyncio.create_task(victim.start()))
            # A search fails when three workers in a row die during it.
            await wait_until_all_moved(duels)
        await asyncio.gather(*starting)
        for _, task in duels + finished:
            task.cancel()
        await asyncio.gather(*(task for _, task in duels + finished), return_exceptions=True)
        for duel, _ in duels + finished:
            assert duel.plies == list(range(len(duel.plies))), "one move a turn"
            assert duel.over is None or duel.over.how == "board", duel.over
            slow += duel.slow_moves(kills_s)
        moves = sum(len(duel.plies) for duel, _ in duels + finished)
        assert moves >= kills // 2
        # The restarts of workers take CPU time from the other processes.
        assert len(slow) <= moves // 20, slow
        assert await server.stop() == 0
        for worker in workers:
            assert "Traceback" not in worker.errors, worker.errors
    assert_no_traceback(server)
