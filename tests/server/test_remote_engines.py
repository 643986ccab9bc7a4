"""server/seats/remote.py with scripted workers, over a real broker or a broker in memory.

The server owns a search: it moves the search to another worker when the first one dies or falls
silent, and accepts one answer, that of the current attempt.
"""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiomqtt
import msgspec
import pytest

from engine.dispatch.dispatcher import TRIES, WorkersLost
from engine.rules.registry import load_game
from engine.search.job import (
    GameQuarantined,
    Info,
    Job,
    Limit,
    Load,
    Result,
    RootMove,
    RulesChanged,
    SearchFailed,
)
from server.bus import work
from server.bus.link import Link, open_link
from server.bus.work import Advert, ReadyGame
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.ports import EngineUnavailable, OnInfo
from server.seats import broker_transport, workers
from server.seats.remote import RemoteEngines
from tests.support.fake_server import ScriptedEngines, virtual
from tests.support.memory_links import MemoryBroker

GAME = load_game("connect-four")
#: Time limit of a wait in these tests, in seconds.
TIMEOUT_S = 60.0
DEPLOYED_CONFIG = Path(work.__file__).parents[1] / "deploy" / "mosquitto.conf"


def job(
    affinity: str = "r1", game: str = GAME.id, moves: tuple[str, ...] = (), level: int | None = None
) -> Job:
    """Returns a job with a limit of one second, or with the level's limit."""
    rules = load_game(game)
    limit = Limit(time_ms=1000) if level is None else Limit()
    return Job(
        game, rules.digest, {}, rules.start().text(), moves, affinity, level=level, limit=limit
    )


def now_s() -> float:
    return asyncio.get_running_loop().time()


def info(move: str = "d", time_ms: int = 50, depth: int = 3) -> Info:
    return Info(depth, 7, 100, 2000, time_ms, (move,), (RootMove(move, 7),))


class ScriptedWorker:
    """A worker whose `script` returns its replies; `commands` are the searches that it received."""

    def __init__(self, link: Link, cores: int, games: dict[str, ReadyGame]) -> None:
        self.link = link
        self.name = link.name
        self.commands: list[work.Search] = []
        self.stopped: list[work.Stop] = []
        self.expected: list[str] = []
        self.script: Callable[[work.Search], list[work.WorkerMessage]] = lambda command: []
        self.advert = Advert(link.name, cores, games)
        self._received = asyncio.Event()
        link.subscribe(work.commands_topic(link.name), self._on_command)
        link.set_status(work.encode(self.advert))

    def _on_command(self, topic: str, payload: bytes) -> None:
        command = work.parse_command(payload)
        if isinstance(command, work.Stop):
            self.stopped.append(command)
        elif isinstance(command, work.Expect):
            self.expected.append(command.game)
        else:
            self.commands.append(command)
            for message in self.script(command):
                self.send(command, message)
        self._received.set()

    def send(self, command: work.Search, message: work.WorkerMessage) -> None:
        """Sends a message to the server that sent the command."""
        self.link.publish(work.answers_topic(command.server), work.encode(message), reliable=True)

    def advertise(
        self, running: int = 0, waiting: int = 0, games: dict[str, ReadyGame] | None = None
    ) -> None:
        """Publishes another advert."""
        self.advert = Advert(
            self.name, self.advert.cores, games or self.advert.games, running, waiting
        )
        self.link.set_status(work.encode(self.advert))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until the condition holds; checks it after each received command."""
        async with asyncio.timeout(TIMEOUT_S):
            while not holds():
                self._received.clear()
                await self._received.wait()


def advert_of(network: "Network", worker: ScriptedWorker) -> Advert:
    """Returns the worker's last advert that has reached the engines."""
    return network.engines._workers.known[worker.name].advert


def accepted(command: work.Search) -> list[work.WorkerMessage]:
    """Returns the reply of a worker that accepts a search and sends nothing more."""
    return [work.Taken(command.id, command.attempt)]


def answers(move: str) -> Callable[[work.Search], list[work.WorkerMessage]]:
    """Returns the script of a worker that sends progress and answers with the move."""

    def script(command: work.Search) -> list[work.WorkerMessage]:
        result = Result(move, info(move))
        return [*accepted(command), work.Progress(command.id, command.attempt, info(move)),
                work.Answered(command.id, command.attempt, result)]  # fmt: skip

    return script


def refuses(reason: str, left_ms: int = 0) -> Callable[[work.Search], list[work.WorkerMessage]]:
    """Returns the script of a worker that refuses each search for the reason."""
    return lambda command: [
        work.Refused(command.id, command.attempt, reason, "because", left_ms=left_ms)  # type: ignore[arg-type]
    ]


class LocalPool(ScriptedEngines):
    """A local pool that always answers "g" at once, and records the time limits."""

    def __init__(self) -> None:
        super().__init__()
        self.time_limits_ms: list[int | None] = []

    def load(self) -> Load:
        return Load(0, 0, 1)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        self.time_limits_ms.append(time_ms)
        self.jobs.append(job)
        return Result("g", info("g"))


@dataclass
class Network:
    """The engines of a server, its link to a broker, and the workers."""

    stack: AsyncExitStack
    connect: Callable[[str, str], Awaitable[Link]]
    engines: RemoteEngines
    link: Link
    workers: list[ScriptedWorker] = field(default_factory=list)

    async def add_worker(
        self, cores: int = 1, games: dict[str, ReadyGame] | None = None
    ) -> ScriptedWorker:
        """Adds a worker and waits until the engines have received its advert."""
        name = f"worker-{secrets.token_hex(3)}"
        link = await self.connect(name, work.worker_topic(name))
        worker = ScriptedWorker(link, cores, games or {GAME.id: ReadyGame(GAME.digest, 1000)})
        self.workers.append(worker)
        await self.until(lambda: link.is_up and name in self.engines._workers.known)
        return worker

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(TIMEOUT_S):
            while not holds():
                await asyncio.sleep(0.005)

    async def search(self, search: Job | None = None) -> Result:
        async with asyncio.timeout(TIMEOUT_S):
            return await self.engines.search(search or job(), lambda info: None)

    async def keep_alive(self) -> None:
        """Repeats the adverts of live workers; scripted workers do not repeat them."""
        while True:
            for worker in self.workers:
                worker.link.set_status(work.encode(worker.advert))
            await asyncio.sleep(0.5)


@dataclass
class BrokerNetwork(Network):
    """A Network with a real broker."""

    broker: Mosquitto = field(kw_only=True)


@asynccontextmanager
async def open_broker_network(
    folder: Path, local: LocalPool | None = None
) -> AsyncIterator[BrokerNetwork]:
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(folder))

        async def connect(name: str, status_topic: str) -> Link:
            return await stack.enter_async_context(open_link(broker.address, name, status_topic))

        link = await connect("server-1", "plyroom/1/nodes/server-1")
        engines = RemoteEngines(link, "server-1", load_game, local)
        network = BrokerNetwork(stack, connect, engines, link, broker=broker)
        await network.until(lambda: link.is_up)
        heartbeats = asyncio.create_task(network.keep_alive())
        stack.callback(heartbeats.cancel)
        yield network


@asynccontextmanager
async def open_memory_network(
    broker: MemoryBroker, local: LocalPool | None = None
) -> AsyncIterator[Network]:
    """Opens a Network on virtual time, in which messages arrive at once."""

    async def connect(name: str, status_topic: str) -> Link:
        return broker.link(name, status_topic)

    async with AsyncExitStack() as stack:
        link = await connect("server-1", "plyroom/1/nodes/server-1")
        network = Network(stack, connect, RemoteEngines(link, "server-1", load_game, local), link)
        heartbeats = asyncio.create_task(network.keep_alive())
        stack.callback(heartbeats.cancel)
        yield network


async def test_a_worker_answers(tmp_path: Path) -> None:
    """Progress arrives during the search, then the answer.

    The command is the job with the attempt, but without the room's id, which would admit anyone to
    an unlisted room.
    """
    async with open_broker_network(tmp_path) as network:
        worker = await network.add_worker()
        worker.script = answers("d")
        infos: list[Info] = []
        result = await network.engines.search(sent := job("unlisted-room"), infos.append)
        assert (result, infos) == (Result("d", info("d")), [info("d")])
        (command,) = worker.commands
        assert (command.attempt, command.server, command.time_ms) == (1, "server-1", None)
        assert msgspec.structs.replace(command.job, affinity="") == msgspec.structs.replace(
            sent, affinity=""
        )
        assert sent.affinity not in command.job.affinity
        assert network.engines.is_warm(GAME.id)
        assert not network.engines.is_warm("othello")


async def test_packets_are_sent_without_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nagle's algorithm is off in the client and in the shipped broker's configuration.

    With it, an answer would wait twice for 40 ms for the previous packet's acknowledgement.
    """
    clients: list[aiomqtt.Client] = []
    real = Link._client

    def recorded(link: Link) -> aiomqtt.Client:
        clients.append(real(link))
        return clients[-1]

    monkeypatch.setattr(Link, "_client", recorded)
    async with open_broker_network(tmp_path):
        connected: Any = clients[0]._client.socket()
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert "set_tcp_nodelay true" in DEPLOYED_CONFIG.read_text("utf-8").splitlines()


async def test_no_suitable_worker(tmp_path: Path) -> None:
    """Without a worker for the game a search raises EngineUnavailable at once.

    That also holds with workers of other games or rules, and while the broker is down. A job with
    other rules than the server's raises RulesChanged.
    """
    async with open_broker_network(tmp_path) as network:
        with pytest.raises(EngineUnavailable):
            await network.search()
        await network.add_worker(games={"othello": ReadyGame("x")})
        assert network.engines.load().other_rules == 1
        await network.add_worker(
            games={GAME.id: ReadyGame("another digest"), "whist": ReadyGame("unknown")}
        )
        assert network.engines.load().other_rules == 2
        with pytest.raises(EngineUnavailable):
            await network.search()
        with pytest.raises(RulesChanged):
            await network.search(Job(GAME.id, "old", {}, "", (), "r1"))
        worker = await network.add_worker()
        worker.script = answers("d")
        assert (await network.search()).move == "d"
        await network.broker.kill()
        await network.until(lambda: not network.link.is_up)
        with pytest.raises(EngineUnavailable):
            await network.search()


async def test_late_repeated_and_foreign_answers_are_dropped(tmp_path: Path) -> None:
    """I16: only the current attempt of a search answers it, and only once."""
    async with open_broker_network(tmp_path) as network:
        first, second = await network.add_worker(), await network.add_worker()
        first.script = accepted
        second.script = accepted
        searching = asyncio.create_task(network.search())
        await network.until(lambda: bool(first.commands or second.commands))
        lost, other = (first, second) if first.commands else (second, first)
        command = lost.commands[0]
        network.engines._on_advert(work.worker_topic(lost.name), b"")  # as its will does
        await other.until(lambda: bool(other.commands))
        second_command = other.commands[0]
        assert (second_command.id, second_command.attempt) == (command.id, 2)
        # The lost worker is still alive and answers.
        lost.send(command, work.Answered(command.id, 1, Result("a", info("a"))))
        other.send(second_command, work.Answered(second_command.id, 3, Result("b", info("b"))))
        other.send(second_command, work.Answered("another search", 2, Result("c", info("c"))))
        for _ in range(2):
            other.send(second_command, work.Answered(second_command.id, 2, Result("d", info("d"))))
        assert (await searching).move == "d"
        await network.until(lambda: network.engines.counts.late >= 4)
        assert network.engines.counts.answered == 1
        await lost.until(lambda: bool(lost.stopped))


@virtual
async def test_a_worker_that_dies_is_replaced_at_once() -> None:
    """A dead worker's will moves the search at once; the next worker gets the remaining time."""
    async with open_memory_network(broker := MemoryBroker()) as network:
        first = await network.add_worker()
        first.script = lambda command: [
            *accepted(command),
            work.Progress(command.id, command.attempt, info(time_ms=400)),
        ]
        searching = asyncio.create_task(network.search())
        await first.until(lambda: bool(first.commands))
        started_s = now_s()
        second = await network.add_worker()
        second.script = answers("e")
        await asyncio.sleep(0.35)
        died_s = now_s()
        network.workers.remove(first)
        broker.end(first.link)  # type: ignore[arg-type]
        assert (await searching).move == "e"
        assert now_s() == died_s
        assert (second.commands[0].attempt, second.commands[0].id) == (2, first.commands[0].id)
        assert second.commands[0].time_ms == 1000 - 400 - round(1000 * (died_s - started_s))


@pytest.mark.parametrize("has_begun", [False, True])
@virtual
async def test_a_worker_that_falls_silent(has_begun: bool) -> None:
    """If a worker falls silent, the search is answered within its time plus 3 s.

    The answer is the best move so far, or that of another worker if there is no move yet.
    """
    async with open_memory_network(MemoryBroker()) as network:
        first = await network.add_worker()
        if has_begun:
            first.script = lambda command: [
                *accepted(command),
                work.Progress(command.id, command.attempt, info("c")),
            ]
        second = await network.add_worker(cores=4)
        second.advertise(running=8)
        second.script = answers("e")
        await network.until(lambda: advert_of(network, second).running > 1)
        started_s = now_s()
        result = await network.search()
        assert result.move == ("c" if has_begun else "e")
        assert now_s() - started_s < 1.0 + 3.0
        assert (len(first.commands), len(second.commands)) == (1, 0 if has_begun else 1)
        await first.until(lambda: bool(first.stopped))


async def test_after_three_attempts_the_local_pool_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that three workers have lost goes to the local pool, or fails without one."""
    monkeypatch.setattr(broker_transport, "ACCEPT_S", 0.15)
    async with open_broker_network(tmp_path, pool := LocalPool()) as network:
        workers = [await network.add_worker() for _ in range(4)]
        assert (await network.search()).move == "g"
        assert sorted(len(worker.commands) for worker in workers) == [0, 1, 1, 1]
        assert pool.time_limits_ms[0] is not None
        assert pool.time_limits_ms[0] < 700
        network.engines._own = network.engines._dispatcher.own = None
        with pytest.raises(SearchFailed):
            await network.search()
        assert sum(len(worker.commands) for worker in workers) == 6


@virtual
async def test_without_a_broker_the_local_pool_continues() -> None:
    """The local pool takes over a remote search as soon as the broker is known to be down."""
    async with open_memory_network(broker := MemoryBroker(), LocalPool()) as network:
        worker = await network.add_worker()
        worker.script = accepted
        searching = asyncio.create_task(network.search())
        await worker.until(lambda: bool(worker.commands))
        down_s = now_s()
        broker.disconnect_all()
        assert (await searching).move == "g"
        assert now_s() == down_s


async def test_cancelling_stops_the_worker(tmp_path: Path) -> None:
    """Cancelling a search sends a stop to the worker."""
    async with open_broker_network(tmp_path) as network:
        worker = await network.add_worker()
        worker.script = accepted
        searching = asyncio.create_task(network.search())
        await worker.until(lambda: bool(worker.commands))
        searching.cancel()
        await worker.until(lambda: bool(worker.stopped))
        command, stop = worker.commands[0], worker.stopped[0]
        assert (stop.id, stop.attempt) == (command.id, command.attempt)
        assert network.engines.load().running == 0


async def test_the_choice_of_a_worker(tmp_path: Path) -> None:
    """The room's last worker comes first if it has a free core, then the least loaded worker.

    The local pool comes before a worker with a queue.
    """
    async with open_broker_network(tmp_path, pool := LocalPool()) as network:
        big, small = await network.add_worker(cores=4), await network.add_worker()
        big.script, small.script = answers("b"), answers("c")
        big.advertise(running=1)
        await network.until(lambda: advert_of(network, big).running > 0)
        assert (await network.search(job("room"))).move == "c"
        big.advertise(running=0)
        small.advertise(running=0)
        await network.until(lambda: advert_of(network, big).running == 0)
        for _ in range(3):
            assert (await network.search(job("room"))).move == "c", (
                "its table has the room's positions"
            )
        small.advertise(running=1)
        await network.until(lambda: advert_of(network, small).running > 0)
        assert (await network.search(job("room"))).move == "b"
        big.advertise(running=4)
        await network.until(lambda: advert_of(network, big).running >= 4)
        assert (await network.search(job("room"))).move == "g"
        assert pool.time_limits_ms == [None]


async def test_a_refused_search_goes_to_another_worker(tmp_path: Path) -> None:
    """A search goes to another worker if one is busy, has other rules or fails.

    If all are busy, the search is sent again later. If all fail, it fails with the server's own
    text.
    """
    async with open_broker_network(tmp_path) as network:
        first, second = await network.add_worker(), await network.add_worker(cores=2)
        second.advertise(running=1)
        await network.until(lambda: advert_of(network, second).running > 0)
        known, places = network.engines._workers.known, network.engines._dispatcher.places
        for reason in ("busy", "game.changed"):
            first.script, second.script = refuses(reason), answers("d")
            assert (await network.search(job(reason))).move == "d"
            await network.until(
                lambda: first.name in known and first.name not in places.paused(now_s())
            )
        assert len(first.commands) == 2
        first.script = second.script = refuses("busy")
        searching = asyncio.create_task(network.search(job("r2")))
        await first.until(lambda: len(first.commands) >= 4)
        first.script = second.script = answers("e")
        assert (await searching).move == "e"
        first.script = second.script = refuses("failed")
        with pytest.raises(
            SearchFailed, match=f"no worker that offers {GAME.id} gave a usable answer"
        ):
            await network.search()
        second.script = answers("f")
        assert (await network.search(job("r3"))).move == "f"


@virtual
async def test_a_search_that_failed_after_its_progress() -> None:
    """If the only worker fails, the search fails at once, even after a report with a move."""
    async with open_memory_network(MemoryBroker()) as network:
        worker = await network.add_worker()
        worker.script = lambda command: [
            work.Progress(command.id, command.attempt, info("c")),
            work.Refused(command.id, command.attempt, "failed", "because"),
        ]
        started_s = now_s()
        with pytest.raises(SearchFailed, match="usable answer"):
            await network.search()
        assert now_s() == started_s


@virtual
async def test_a_quarantine_at_the_only_worker() -> None:
    """One that ends says when; one without an end is a failed search, and nobody waits for it."""
    for left_ms in (90_000, 0):
        async with open_memory_network(MemoryBroker()) as network:
            worker = await network.add_worker()
            worker.script = refuses("quarantined", left_ms)
            with pytest.raises(SearchFailed) as failed:
                await network.search()
            assert isinstance(failed.value, GameQuarantined) == bool(left_ms)
            if isinstance(failed.value, GameQuarantined):
                assert failed.value.left_s == pytest.approx(90, abs=0.1)


@pytest.mark.parametrize("worker_count", [1, 2])
@virtual
async def test_a_search_that_workers_have_lost(worker_count: int) -> None:
    """A worker whose processes died over a search says so, and the search goes to another one.

    When it is lost TRIES times, the error says that the workers were lost, not that it failed.
    """
    async with open_memory_network(MemoryBroker()) as network:
        for _ in range(worker_count):
            worker = await network.add_worker()
            worker.script = lambda command: [
                work.Refused(command.id, command.attempt, "failed", "3 workers died", lost=True)
            ]
        if worker_count == 1:
            with pytest.raises(WorkersLost, match=f"{TRIES} workers"):
                await network.search()
            assert len(worker.commands) == TRIES
        else:
            worker.script = answers("f")
            assert (await network.search()).move == "f"


async def test_two_workers_with_different_games(tmp_path: Path) -> None:
    """Each worker receives only searches of games that it offers."""
    async with open_broker_network(tmp_path) as network:
        sticks = load_game("sticks")
        four_worker, sticks_worker = (
            await network.add_worker(),
            await network.add_worker(games={"sticks": ReadyGame(sticks.digest)}),
        )
        (token, *_) = sticks.start().tokens()
        four_worker.script, sticks_worker.script = answers("f"), answers(token)
        for _ in range(3):
            assert (await network.search(job(secrets.token_hex(4)))).move == "f"
            assert (
                await network.search(job(secrets.token_hex(4), "sticks", level=3))
            ).move == token


async def test_malformed_messages_are_counted_and_dropped(tmp_path: Path) -> None:
    """Malformed, huge and foreign adverts and messages are counted and dropped.

    The search continues.
    """
    async with open_broker_network(tmp_path) as network:
        worker = await network.add_worker()
        worker.script = accepted
        searching = asyncio.create_task(network.search())
        await worker.until(lambda: bool(worker.commands))
        command = worker.commands[0]
        good = work.encode(work.Answered(command.id, 1, Result("a", info("a"))))
        other = good.replace(command.id.encode(), b"another")
        bad = [b"", b"{", b"null", b"[" * 5000, b"\xff", good[:-1],
               other.replace(b'"depth":3', b'"depth":"3"'),
               b'{"type":"Answered","x":1}', b" " * (work.MAX_BYTES + 1) + other]  # fmt: skip
        for payload in bad:
            worker.link.publish(work.answers_topic("server-1"), payload, reliable=True)
            worker.link.publish(work.worker_topic("worker-enemy"), payload or b"{}", reliable=True)
        worker.link.publish(
            work.worker_topic("worker-enemy"), work.encode(worker.advert), reliable=True
        )
        worker.send(command, work.Answered(command.id, 1, Result("d", info("d"))))
        assert (await searching).move == "d"
        assert network.engines.counts.malformed == 2 * len(bad) + 1
        assert "worker-enemy" not in network.engines._workers.known


async def test_a_worker_with_an_old_advert_gets_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen worker, whose will is not published, gets no searches once its advert is old."""
    async with open_broker_network(tmp_path) as network:
        await network.add_worker()
        network.workers.clear()
        monkeypatch.setattr(workers, "ADVERT_EXPIRY_S", 0.1)
        await network.until(lambda: not network.engines.is_warm(GAME.id))
        with pytest.raises(EngineUnavailable):
            await network.search()
