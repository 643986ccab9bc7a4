"""server/worker.py with a fake pool, and AI matches on two nodes while workers die."""

import asyncio
import math
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import structlog
from msgspec.structs import replace as replace_fields

from engine.pool.pool import Pool
from engine.pool.warmer import CompilesTooLong
from engine.rules.registry import load_game
from engine.search.job import (
    GameQuarantined,
    Info,
    Job,
    Load,
    Result,
    RootMove,
    SearchError,
    SearchFailed,
    SearchLost,
)
from engine.search.report import resolve
from server import __main__ as main_module
from server import worker as worker_module
from server.bus import work
from server.bus.broker import Broker
from server.bus.link import Link, open_link
from server.bus.mqtt import open_mqtt_bus
from server.commands import AiSeat, Rematch
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.protocol import messages as wire
from server.runtime.node.duties import open_hub
from server.runtime.node.hub import Hub
from server.seats.remote import RemoteEngines
from server.settings import Settings
from server.worker import ADVERT_S, PROGRESS_S, STATUS_S, EngineWorker
from tests.server.test_bus_contract import KEY, until_bus_is_up
from tests.server.test_remote_engines import GAME, TIMEOUT_S, job
from tests.support.fake_server import Client, FakeServer
from tests.support.memory_links import MemoryBroker
from tests.support.virtual_time import run_virtual

AI1 = AiSeat(level=1)


class FakePool(Pool):
    """A pool that reports progress and answers with a random legal move after `delay_s`.

    With `hang`, a search ends only when it is cancelled; an `error` ends each one.
    """

    def __init__(self, delay_s: float = 0.1) -> None:
        super().__init__(1, warm=())
        self.delay_s = delay_s
        self.hang = False
        self.error: SearchError | None = None
        self.jobs: list[Job] = []
        self.cancelled = 0
        self._running = 0

    def is_warm(self, game_id: str) -> bool:
        return True

    async def warm(self, game_id: str, *, idle: bool = False) -> None:
        await asyncio.sleep(0)

    def load(self) -> Load:
        return Load(self._running, 0, 1)

    async def search(
        self, job: Job, on_info: Callable[[Info], None] | None = None, time_ms: int | None = None
    ) -> Result:
        self.jobs.append(job)
        if self.error is not None:
            raise self.error
        position = resolve(job, load_game(job.game))
        move = random.choice(list(position.tokens()))
        self._running += 1
        try:
            for step in range(1, 4):
                await asyncio.sleep(1000 if self.hang else self.delay_s / 3)
                info = Info(step, 0, 100 * step, 1000, step * 100, (move,), (RootMove(move, 0),))
                if on_info is not None:
                    on_info(info)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self._running -= 1
        return Result(move, info)


class WorkerHandle:
    """A worker in this process that a test can kill."""

    def __init__(
        self, worker: EngineWorker, pool: FakePool, tasks: list["asyncio.Task[None]"]
    ) -> None:
        self.worker = worker
        self.pool = pool
        self._tasks = tasks

    async def kill(self) -> None:
        """Ends the worker as SIGKILL would: its connection ends without a DISCONNECT."""
        self.worker.link.health.is_up = False  # otherwise it clears its status
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self.worker.close()


def start_worker(
    broker: Mosquitto, name: str, cores: int = 1, games: tuple[str, ...] = (GAME.id,)
) -> WorkerHandle:
    """Starts a worker that connects to the broker."""
    link = Link(broker.address, name, work.worker_topic(name))
    pool = FakePool()
    worker = EngineWorker(link, pool, cores, games)
    return WorkerHandle(
        worker, pool, [asyncio.create_task(link.run()), asyncio.create_task(worker.run())]
    )


class Server:
    """A server as a worker sees it: `messages` are those that the worker sent."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self.messages: list[work.WorkerMessage] = []
        self.adverts: dict[str, work.Advert] = {}
        link.subscribe(
            work.answers_topic(link.name),
            lambda topic, payload: self.messages.append(work.parse_worker_message(payload)),
        )
        link.subscribe(f"{work.WORKERS_TOPIC}/+", self._on_advert)
        link.set_status(b"{}")

    def _on_advert(self, topic: str, payload: bytes) -> None:
        if payload:
            advert = work.parse_advert(topic, payload)
            self.adverts[advert.worker] = advert

    def send_search(
        self,
        worker: str,
        key: str,
        search: Job | None = None,
        attempt: int = 1,
        deadline_ms: int = 60_000,
    ) -> None:
        command = work.Search(key, attempt, self.link.name, search or job(), deadline_ms)
        self.link.publish(work.commands_topic(worker), work.encode(command), reliable=True)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while not holds():
                await asyncio.sleep(0.005)

    def of(self, kind: type[work.WorkerMessage], key: str) -> list[Any]:
        """Returns the messages of that type about the search."""
        return [
            message for message in self.messages if isinstance(message, kind) and message.id == key
        ]


@asynccontextmanager
async def server_and_worker(
    folder: Path, cores: int = 1
) -> AsyncIterator[tuple[Server, WorkerHandle]]:
    """Starts a worker, and a server that has received its advert."""
    async with (
        mosquitto(folder) as broker,
        open_link(broker.address, "s1", "plyroom/1/nodes/s1") as link,
    ):
        server = Server(link)
        handle = start_worker(broker, "w1", cores)
        try:
            await server.until(
                lambda: bool(link.is_up and "w1" in server.adverts and handle.worker.link.is_up)
            )
            yield server, handle
        finally:
            await handle.kill()


async def test_a_search_command_is_served(tmp_path: Path) -> None:
    """A search is accepted at once, then there is progress and one answer.

    A repeated command changes nothing.
    """
    async with server_and_worker(tmp_path) as (server, handle):
        for _ in range(3):
            server.send_search("w1", "a")
        await server.until(lambda: bool(server.of(work.Answered, "a")))
        server.send_search("w1", "a")
        server.send_search("w1", "b")
        await server.until(lambda: bool(server.of(work.Answered, "b")))
        assert isinstance(server.messages[0], work.Taken)
        assert server.of(work.Progress, "a")
        assert len(server.of(work.Answered, "a")) == 1
        assert len(handle.pool.jobs) == 2
        await server.until(lambda: server.adverts["w1"].games[GAME.id].nps == 1000)


async def test_progress_is_sent_at_most_ten_times_a_second(tmp_path: Path) -> None:
    """Progress is sent at most ten times a second."""
    async with server_and_worker(tmp_path) as (server, handle):
        command = work.Search("a", 1, "s1", job(), 1000)
        report = handle.worker._progress_reporter(command)
        for _ in range(100):
            report(Info(1, 0, 1, 1, 1, ("d",)))
        await asyncio.sleep(0.11)
        report(Info(2, 0, 1, 1, 1, ("d",)))
        await server.until(lambda: len(server.of(work.Progress, "a")) >= 2)
        assert len(server.of(work.Progress, "a")) == 2


def test_the_log_has_the_searches_by_class() -> None:
    """Once a minute a worker logs its searches by class, unless nothing has changed since."""

    async def minutes() -> None:
        worker = EngineWorker(Link(Broker("127.0.0.1", 1), "w1", "w"), FakePool(), 1, ())
        running = asyncio.create_task(worker.run())
        await asyncio.sleep(STATUS_S + 1)
        for name, use in (("a", "ask"), ("b", "live"), ("c", "ask")):
            search = work.Search(name, 1, "s1", replace_fields(job(), use=use), 1000)
            await worker._serve(search)
        await asyncio.sleep(3 * STATUS_S)
        running.cancel()
        await asyncio.wait([running])

    with structlog.testing.capture_logs() as logs:
        run_virtual(minutes())
    none, some = (line for line in logs if line["event"] == "searches")
    counted = {name: count for name, count in some.items() if name.endswith("_answered")}
    assert counted == {"live_answered": 1, "ask_answered": 2, "study_answered": 0}
    assert none.keys() - {"event", "log_level"} == {
        f"{use}_{state}"
        for use in ("live", "ask", "study")
        for state in ("running", "waiting", "preempted", "answered")
    }


def test_a_game_that_is_compiled_later_is_advertised_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A worker's advert follows each change of a game's state in its pool, also after a pause.

    Its log names each step of a game that pauses, and so does a server's.
    """
    pools: list[Any] = []

    class PoolWithCallback(FakePool):
        def __init__(self, cores: int, *, warm: Any, on_warm: Any, on_compile_error: Any) -> None:
            super().__init__()
            self.on_warm, self.on_compile_error = on_warm, on_compile_error
            pools.append(self)

        async def __aenter__(self) -> "PoolWithCallback":
            return self

        async def __aexit__(self, *error: object) -> None:
            pass

    @asynccontextmanager
    async def open_memory_link(broker: Any, name: str, topic: str) -> AsyncIterator[Link]:
        yield MemoryBroker().link(name, topic)

    monkeypatch.setattr(worker_module, "Pool", PoolWithCallback)
    monkeypatch.setattr(worker_module, "open_link", open_memory_link)
    monkeypatch.setattr(worker_module, "make_strategies", lambda settings: nullcontext())

    async def scenario() -> None:
        async with worker_module.open_worker(Broker("memory", 0), "w", 1, (GAME.id,)) as worker:
            await asyncio.sleep(ADVERT_S / 2)
            adverts: list[bytes] = []
            monkeypatch.setattr(worker.link, "set_status", adverts.append)
            await asyncio.sleep(2 * PROGRESS_S)
            assert not adverts
            pools[0].on_warm(GAME.id, "warm")
            await asyncio.sleep(2 * PROGRESS_S)
            assert len(adverts) == 1
            server_pool = main_module._pool(replace(Settings(), workers=1))
            assert isinstance(server_pool, Pool)
            for on_error in (pools[0].on_compile_error, server_pool._on_compile_error):
                assert on_error is not None
                with structlog.testing.capture_logs() as logs:
                    on_error(GAME.id, "solver", SearchFailed("again after 60 s"))
                assert [(line["event"], line["step"], line["error"]) for line in logs] == [
                    ("game not compiled", "solver", "again after 60 s")
                ]

    run_virtual(scenario())


async def test_a_game_that_takes_too_long_to_compile_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels play it uncompiled; a game whose rules do not compile is not offered."""
    async with server_and_worker(tmp_path) as (server, handle):
        monkeypatch.setattr(handle.pool, "is_warm", lambda game: False)
        monkeypatch.setattr(handle.pool, "warm_state", lambda game: "failed")
        monkeypatch.setattr(handle.pool, "warm_percent", lambda game: 100)
        errors: list[SearchError] = [CompilesTooLong("600 s")]
        monkeypatch.setattr(handle.pool, "compile_error", lambda game: errors[-1])
        handle.worker.on_warm()
        await server.until(lambda: GAME.id in server.adverts["w1"].warming)
        errors.append(SearchFailed("no"))
        handle.worker.on_warm()
        await server.until(lambda: GAME.id not in server.adverts["w1"].warming)
        assert not server.adverts["w1"].games


async def test_a_workers_refusals(tmp_path: Path) -> None:
    """A worker refuses other rules, another game, another position, and more than it can queue."""
    async with server_and_worker(tmp_path) as (server, handle):
        server.send_search("w1", "rules", msgspec.structs.replace(job(), rules="0" * 16))
        server.send_search("w1", "game", job(game="sticks"))
        server.send_search("w1", "digest", msgspec.structs.replace(job(), digest="0" * 16))
        server.send_search("w1", "moves", job(moves=("zz",)))
        await server.until(
            lambda: (
                len([message for message in server.messages if isinstance(message, work.Refused)])
                == 4
            )
        )
        reasons = {
            message.id: message.reason
            for message in server.messages
            if isinstance(message, work.Refused)
        }
        assert reasons == {
            "rules": "game.changed",
            "game": "failed",
            "digest": "failed",
            "moves": "failed",
        }
        for key, error in (("raised", SearchFailed("a fault")), ("lost", SearchLost("died"))):
            handle.pool.error = error
            server.send_search("w1", key)
            await server.until(lambda key=key: bool(server.of(work.Refused, key)))  # type: ignore[misc]
            (refusal,) = server.of(work.Refused, key)
            assert (refusal.reason, refusal.lost) == ("failed", key == "lost")
        for key, left_s, left_ms in (("a while", 60.0, 60_000), ("for good", math.inf, 0)):
            handle.pool.error = GameQuarantined("too many failed", left_s)
            server.send_search("w1", key)
            await server.until(lambda key=key: bool(server.of(work.Refused, key)))  # type: ignore[misc]
            (refusal,) = server.of(work.Refused, key)
            assert (refusal.reason, refusal.left_ms) == ("quarantined", left_ms)
        handle.pool.error, handle.pool.hang = None, True
        for number in range(4):
            server.send_search("w1", f"many{number}")
        await server.until(lambda: bool(server.of(work.Refused, "many3")))
        assert server.of(work.Refused, "many3")[0].reason == "busy"
        assert handle.worker.advert().running == 3
        for payload in (b"", b"{", b"[" * 9000, b'{"type":"Search"}', b"x" * (work.MAX_BYTES + 1)):
            server.link.publish(work.commands_topic("w1"), payload, reliable=True)
        await server.until(lambda: handle.worker.link.counts.refused == 5)


async def test_a_stop_ends_the_search(tmp_path: Path) -> None:
    """A stop, the deadline, or the end of its server ends a search.

    A stop that arrives before its search prevents it.
    """
    async with server_and_worker(tmp_path, cores=4) as (server, handle):
        handle.pool.hang = True
        server.send_search("w1", "a")
        server.send_search("w1", "b", deadline_ms=50)
        server.send_search("w1", "c")
        await server.until(lambda: handle.pool.cancelled == 1)
        server.link.publish(
            work.commands_topic("w1"), work.encode(work.Stop("a", 2)), reliable=True
        )
        server.link.publish(
            work.commands_topic("w1"), work.encode(work.Stop("a", 1)), reliable=True
        )
        await server.until(lambda: handle.pool.cancelled == 2)
        server.link.publish(
            work.commands_topic("w1"), work.encode(work.Stop("late", 1)), reliable=True
        )
        server.send_search("w1", "late")
        server.link.publish("plyroom/1/nodes/s1", b"", reliable=True)
        await server.until(lambda: handle.pool.cancelled == 3)
        await server.until(lambda: handle.worker.advert().running == 0)
        assert len(handle.pool.jobs) == 3


# --- matches --------------------------------------------------------------------------------------


class Duel:
    """Two AI seats in a room, and the host, who follows it."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.host = Client(hub, name)
        self.room = ""

    async def start(self) -> None:
        self.room = await self.host.create(GAME.id, seats=(AI1, AI1))
        await self.host.ack(self.host.join(self.room))

    async def play(self) -> None:
        """Starts a rematch after each match."""
        while True:
            since = len(self.host.messages)
            await self.host.event("finished", since)
            await self.host.ack(wire.CommandFrame(self.room, Rematch(id=self.host.new_id())))

    def check(self) -> int:
        """Checks that every ply came once and in order, and that no match failed.

        Returns the number of moves.
        """
        ply = 0
        for event in self.host.events():
            match event["kind"]:
                case "started":
                    ply = 0
                case "moved":
                    assert event["ply"] == ply, "one move per ply"
                    ply += 1
                case "finished":
                    assert event["how"] == "board", event
        return sum(event["kind"] == "moved" for event in self.host.events())


@asynccontextmanager
async def node(
    fake: FakeServer, broker: Mosquitto, name: str
) -> AsyncIterator[tuple[Hub, RemoteEngines]]:
    """Opens a hub whose searches are done by workers; yields it and its engines."""
    async with open_mqtt_bus(broker.address, name, KEY) as bus:
        engines = RemoteEngines(bus.link, name, load_game, None)
        await until_bus_is_up(bus)
        async with open_hub(fake.ports(name, bus=bus, engines=engines)) as hub:
            yield hub, engines


@pytest.mark.parametrize(
    "kills", [20, pytest.param(200, marks=[pytest.mark.long, pytest.mark.timeout(600)])]
)
async def test_ai_matches_while_workers_die(kills: int, tmp_path: Path) -> None:
    """I16: workers keep dying during the searches of four AI matches on two nodes.

    Every ply gets one move, no match fails, and all matches continue.
    """
    fake, rng = FakeServer(), random.Random(3)
    fake.settings = replace(fake.settings, rooms_burst=100, ai_duel_pace_ms=0)
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        nodes = [await stack.enter_async_context(node(fake, broker, name)) for name in ("n1", "n2")]
        handles = {name: start_worker(broker, name) for name in ("w0", "w1", "w2")}
        duels = [Duel(nodes[number % 2][0], f"host{number}") for number in range(4)]
        for duel in duels:
            await duel.start()
        playing = [asyncio.create_task(duel.play()) for duel in duels]
        for number in range(kills):
            name = await find_busy_worker(handles)
            await asyncio.sleep(rng.random() * 0.1)
            await handles.pop(name).kill()
            handles[f"w{number + 3}"] = start_worker(broker, f"w{number + 3}")
        event_counts = [len(duel.host.events()) for duel in duels]
        async with asyncio.timeout(TIMEOUT_S):
            while any(
                len(duel.host.events()) < before + 4
                for duel, before in zip(duels, event_counts, strict=True)
            ):
                await asyncio.sleep(0.01)
        for task in playing:
            task.cancel()
        assert sum(duel.check() for duel in duels) > kills
        assert sum(engines.counts.lost for _, engines in nodes) >= kills // 2
        for handle in handles.values():
            await handle.kill()


async def find_busy_worker(handles: dict[str, WorkerHandle]) -> str:
    """Waits until a worker searches; returns its name."""
    async with asyncio.timeout(TIMEOUT_S):
        while not (names := [name for name, handle in handles.items() if handle.worker._running]):
            await asyncio.sleep(0.002)
    return names[0]
