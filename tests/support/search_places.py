"""The two transports of the dispatcher with fake places that a test controls, on virtual time.

async with transport(2, monkeypatch) as places:
    searching = places.search("room")
    sent = await places.next_attempt()
    await sent.report(5)
    await sent.die()
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol

import pytest

from engine.compiler import code_cache
from engine.pool import workers as pool_workers
from engine.pool.messages import (
    Accepted,
    Answered,
    CompileCommand,
    Progress,
    Ready,
    SearchCommand,
    SearchStarted,
)
from engine.pool.pool import Pool
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Limit, Load, Result, RootMove
from server.bus import work
from server.bus.work import ReadyGame
from server.seats import remote
from server.seats.remote import RemoteEngines
from tests.support.memory_links import MemoryBroker, MemoryLink

GAME = load_game("connect-four")
#: The time limit of a job by default, in ms.
TIME_MS = 1000


def job_of(room: str, seed: int = 0, time_ms: int | None = TIME_MS) -> Job:
    """Returns a job for the start of connect four, by default with a limit of TIME_MS."""
    limit, start = Limit(time_ms=time_ms), GAME.start().text()
    return Job(GAME.id, GAME.digest, {}, start, (), room, limit=limit, seed=seed)


def move_at(depth: int) -> str:
    """Returns the best move at this depth."""
    return "abcdefg"[depth % 7]


def info_at(depth: int, time_ms: int = 0, score: int = 0) -> Info:
    """Returns the info of a search at this depth."""
    move = move_at(depth)
    return Info(depth, score, 100 * depth, 1000, time_ms, (move,), (RootMove(move, score),))


def loop_s() -> float:
    """Returns the loop's time in seconds, which is virtual."""
    return asyncio.get_running_loop().time()


async def run_callbacks() -> None:
    """Runs the callbacks and tasks that can run without time passing."""
    for _ in range(20):
        await asyncio.sleep(0)


class SentAttempt(Protocol):
    """An attempt as its place received it."""

    place: str
    job: Job
    time_ms: int | None

    async def report(self, depth: int) -> None:
        """Reports a completed depth."""

    async def answer(self, depth: int, score: int = 0) -> None:
        """Answers with the best move at this depth."""

    async def die(self) -> None:
        """Ends the place at once."""

    async def stay_silent(self) -> None:
        """Waits until the place counts as hung or silent."""

    @property
    def was_stopped(self) -> bool:
        """Whether the place was ordered to stop."""


class Places:
    """The places of one transport; `sent` are the attempts that they received, in order."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.engines: Any = None
        #: Whether the places receive attempts without confirming them.
        self.are_unresponsive = False
        self._read_count = 0
        self._received = asyncio.Event()

    def search(
        self, room: str = "room", on_info: Callable[[Info], None] = lambda info: None, **job: Any
    ) -> "asyncio.Task[Result]":
        """Starts a search of `job_of(room, **job)`; a seed distinguishes searches of a room."""
        return asyncio.create_task(self.engines.search(job_of(room, **job), on_info))

    async def next_attempt(self) -> Any:
        """Waits for the next attempt that a place receives, and returns it."""
        while len(self.sent) <= self._read_count:
            self._received.clear()
            await self._received.wait()
        self._read_count += 1
        return self.sent[self._read_count - 1]

    def receive(self, sent: Any) -> None:
        self.sent.append(sent)
        self._received.set()

    @property
    def load(self) -> Load:
        load: Load = self.engines.load()
        return load

    def stop_replacements(self) -> None:
        """Prevents further places from becoming ready."""
        raise NotImplementedError

    def replace_dead(self) -> None:
        """Adds a place for one that has died, if the transport does not do so itself."""


Transport = Callable[..., AbstractAsyncContextManager[Places]]

# --- the pool


class ProcessAttempt:
    """An attempt at a fake worker process."""

    def __init__(self, process: "FakeProcess", command: SearchCommand) -> None:
        self.process = process
        self.place = process.name
        self.number = command.number
        self.job = command.job
        self.time_ms = command.time_ms

    async def report(self, depth: int) -> None:
        self.process.on_message(self.process, Progress(self.number, info_at(depth)))
        await run_callbacks()

    async def answer(self, depth: int, score: int = 0) -> None:
        result = Result(move_at(depth), info_at(depth, score=score))
        self.process.on_message(self.process, Answered(self.number, result))
        await run_callbacks()

    async def die(self) -> None:
        self.process.kill()
        await run_callbacks()

    async def stay_silent(self) -> None:
        await asyncio.sleep(3.0)

    @property
    def was_stopped(self) -> bool:
        return self.process.is_cancelled or self.process.is_ended


class FakeProcess:
    """A `WorkerProcess` without a process."""

    places: "PoolPlaces"

    def __init__(self, method: str, table_bytes: int, on_message: Any, on_end: Any) -> None:
        self.on_message = on_message
        self.on_end = on_end
        self.name = f"process {self.places.count}"
        self.places.count += 1
        self.pid: int | None = None
        self.is_cancelled = False
        self.is_ended = False

    async def start(self) -> None:
        await self.places.may_start.wait()
        self.pid = 1
        self.on_message(self, Ready(1))

    def send(self, command: SearchCommand | CompileCommand) -> None:
        assert isinstance(command, SearchCommand), "the cache has every game"
        self.is_cancelled = False
        self.places.receive(ProcessAttempt(self, command))
        if self.places.are_unresponsive:
            return
        loop = asyncio.get_running_loop()
        loop.call_soon(self.on_message, self, Accepted(command.number))
        loop.call_soon(self.on_message, self, SearchStarted(command.number))

    def cancel(self) -> None:
        self.is_cancelled = True

    def kill(self) -> None:
        if not self.is_ended:
            self.is_ended = True
            asyncio.get_running_loop().call_soon(self.on_end, self)

    async def close(self) -> None:
        self.is_ended = True


class PoolPlaces(Places):
    """A pool with fake processes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.may_start = asyncio.Event()
        self.may_start.set()

    def stop_replacements(self) -> None:
        self.may_start.clear()


@asynccontextmanager
async def pool_places(
    count: int, monkeypatch: pytest.MonkeyPatch, queue_size: int = 256
) -> AsyncIterator[Places]:
    """Opens a pool with `count` fake processes that have every game compiled."""
    places = PoolPlaces()
    monkeypatch.setattr(FakeProcess, "places", places, raising=False)
    monkeypatch.setattr(pool_workers, "WorkerProcess", FakeProcess)
    monkeypatch.setattr(code_cache, "is_ready", lambda *step: True)
    async with Pool(count, warm=(), queue_size=queue_size) as pool:
        places.engines = pool
        await run_callbacks()
        yield places


# --- the broker


class WorkerAttempt:
    """An attempt at a worker on the broker."""

    def __init__(self, worker: "FakeWorker", command: work.Search) -> None:
        self.worker = worker
        self.place = worker.link.name
        self.command = command
        self.job = command.job
        self.time_ms = command.time_ms
        self.sent_s = loop_s()
        self.was_stopped = False

    def _elapsed_ms(self) -> int:
        return round(1000 * (loop_s() - self.sent_s))

    async def report(self, depth: int) -> None:
        info = info_at(depth, self._elapsed_ms())
        self.worker.send(work.Progress(self.command.id, self.command.attempt, info))
        await run_callbacks()

    async def answer(self, depth: int, score: int = 0) -> None:
        result = Result(move_at(depth), info_at(depth, self._elapsed_ms(), score))
        self.worker.send(work.Answered(self.command.id, self.command.attempt, result))
        await run_callbacks()

    async def die(self) -> None:
        if self.worker.link in self.worker.broker.links:
            self.worker.broker.end(self.worker.link)
        await run_callbacks()

    async def stay_silent(self) -> None:
        await asyncio.sleep(3.0)


class FakeWorker:
    """A worker on the broker that accepts every search."""

    def __init__(self, places: "BrokerPlaces", name: str) -> None:
        self.places = places
        self.broker = places.broker
        self.link: MemoryLink = self.broker.link(name, work.worker_topic(name))
        self.link.subscribe(work.commands_topic(name), self._on_command)
        self.advert = work.Advert(name, 1, {GAME.id: ReadyGame(GAME.digest)})
        self.link.set_status(work.encode(self.advert))

    def _on_command(self, topic: str, payload: bytes) -> None:
        command = work.parse_command(payload)
        if isinstance(command, work.Search):
            self.places.receive(WorkerAttempt(self, command))
            if not self.places.are_unresponsive:
                self.send(work.Taken(command.id, command.attempt))
        elif isinstance(command, work.Stop):
            for sent in self.places.sent:
                if (sent.command.id, sent.command.attempt) == (command.id, command.attempt):
                    sent.was_stopped = True

    def send(self, message: work.WorkerMessage) -> None:
        # A message that was on its way arrives even after the worker's will.
        self.broker.send(work.answers_topic("node"), work.encode(message))


class BrokerPlaces(Places):
    """A node with workers on a broker in memory."""

    def __init__(self) -> None:
        super().__init__()
        self.broker = MemoryBroker()
        self.workers: list[FakeWorker] = []

    def add_worker(self) -> FakeWorker:
        self.workers.append(FakeWorker(self, f"worker {len(self.workers)}"))
        return self.workers[-1]

    async def keep_alive(self) -> None:
        """Repeats the adverts of the workers that have not ended."""
        while True:
            await asyncio.sleep(0.5)
            for worker in self.workers:
                if worker.link in self.broker.links:
                    worker.link.set_status(work.encode(worker.advert))

    def stop_replacements(self) -> None:
        """Does nothing: a worker that has ended does not come back."""

    def replace_dead(self) -> None:
        self.add_worker()


@asynccontextmanager
async def broker_places(
    count: int, monkeypatch: pytest.MonkeyPatch, queue_size: int = 10_000
) -> AsyncIterator[Places]:
    """Opens a node without a pool, and `count` workers of one core that queue nothing."""
    places = BrokerPlaces()
    monkeypatch.setattr(remote, "QUEUE_SIZE", queue_size)
    monkeypatch.setattr(work, "QUEUED_PER_CORE", 0)
    link = places.broker.link("node", "plyroom/1/nodes/node")
    places.engines = RemoteEngines(link, "node", load_game, None)
    for _ in range(count):
        places.add_worker()
    await run_callbacks()
    heartbeats = asyncio.create_task(places.keep_alive())
    try:
        yield places
    finally:
        heartbeats.cancel()
