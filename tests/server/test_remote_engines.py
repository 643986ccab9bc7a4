"""server/seats/remote.py with scripted workers over a real broker.

The server owns a search, moves it elsewhere when its worker dies or falls silent, and takes one
answer, from the current attempt.
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

from engine.rules.registry import load_game
from engine.search.job import Info, Job, Limit, Load, Result, RootMove, RulesChanged, SearchFailed
from server.bus import work
from server.bus.link import Link, open_link
from server.bus.work import Advert, ReadyGame
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.ports import EngineUnavailable, OnInfo
from server.seats import remote
from server.seats.remote import RemoteEngines
from tests.support.fake_server import ScriptedEngines, virtual
from tests.support.memory_links import MemoryBroker

GAME = load_game("connect-four")
PATIENCE_S = 60.0
DEPLOYED = Path(work.__file__).parents[1] / "deploy" / "mosquitto.conf"


def job(
    affinity: str = "r1", game: str = GAME.id, moves: tuple[str, ...] = (), level: int | None = None
) -> Job:
    """A search of one second, unless it is for a level."""
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
    """A worker that sends what a test wants; `orders` are the orders that it received."""

    def __init__(self, link: Link, cores: int, games: dict[str, ReadyGame]) -> None:
        self.link = link
        self.name = link.name
        self.orders: list[work.Search] = []
        self.stopped: list[work.Stop] = []
        self.expected: list[str] = []
        self.news: Callable[[work.Search], list[work.WorkerMessage]] = lambda order: []
        self.advert = Advert(link.name, cores, games)
        self._heard = asyncio.Event()
        link.subscribe(work.commands_topic(link.name), self._on_order)
        link.set_status(work.encode(self.advert))

    def _on_order(self, topic: str, payload: bytes) -> None:
        order = work.parse_command(payload)
        if isinstance(order, work.Stop):
            self.stopped.append(order)
        elif isinstance(order, work.Expect):
            self.expected.append(order.game)
        else:
            self.orders.append(order)
            for one in self.news(order):
                self.say(order, one)
        self._heard.set()

    def say(self, order: work.Search, news: work.WorkerMessage) -> None:
        """Sends a message to the server that sent the order."""
        self.link.publish(work.answers_topic(order.server), work.encode(news), reliable=True)

    def advertise(
        self, running: int = 0, waiting: int = 0, games: dict[str, ReadyGame] | None = None
    ) -> None:
        """Publishes another advert."""
        self.advert = Advert(
            self.name, self.advert.cores, games or self.advert.games, running, waiting
        )
        self.link.set_status(work.encode(self.advert))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until the orders it received make the condition true."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._heard.clear()
                await self._heard.wait()


def taken(order: work.Search) -> list[work.WorkerMessage]:
    return [work.Taken(order.id, order.attempt)]


def answers(move: str) -> Callable[[work.Search], list[work.WorkerMessage]]:
    """The script of a worker that does its work."""

    def script(order: work.Search) -> list[work.WorkerMessage]:
        result = Result(move, info(move))
        return [*taken(order), work.Progress(order.id, order.attempt, info(move)),
                work.Answered(order.id, order.attempt, result)]  # fmt: skip

    return script


def refuses(reason: str) -> Callable[[work.Search], list[work.WorkerMessage]]:
    return lambda order: [work.Refused(order.id, order.attempt, reason, "because")]  # type: ignore[arg-type]


class Pool(ScriptedEngines):
    """A pool that answers at once with a move of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[int | None] = []

    def load(self) -> Load:
        return Load(0, 0, 1)

    async def search(self, job: Job, on_info: OnInfo, time_ms: int | None = None) -> Result:
        self.times.append(time_ms)
        self.jobs.append(job)
        return Result("g", info("g"))


@dataclass
class Network:
    """A broker, a server's engines and workers."""

    stack: AsyncExitStack
    connect: Callable[[str, str], Awaitable[Link]]
    engines: RemoteEngines
    link: Link
    workers: list[ScriptedWorker] = field(default_factory=list)

    async def add_worker(
        self, cores: int = 1, games: dict[str, ReadyGame] | None = None
    ) -> ScriptedWorker:
        """A worker that the engines know."""
        name = f"worker-{secrets.token_hex(3)}"
        link = await self.connect(name, work.worker_topic(name))
        worker = ScriptedWorker(link, cores, games or {GAME.id: ReadyGame(GAME.digest, 1000)})
        self.workers.append(worker)
        await self.until(lambda: link.is_up and name in self.engines._workers)
        return worker

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.005)

    async def search(self, one: Job | None = None) -> Result:
        async with asyncio.timeout(PATIENCE_S):
            return await self.engines.search(one or job(), lambda info: None)

    async def keep_alive(self) -> None:
        """Repeats the adverts of live workers, since a script sends none by itself."""
        while True:
            for worker in self.workers:
                worker.link.set_status(work.encode(worker.advert))
            await asyncio.sleep(0.5)


@dataclass
class BrokerNetwork(Network):
    """A Network with a real broker."""

    broker: Mosquitto = field(kw_only=True)


@asynccontextmanager
async def broker_network(folder: Path, local: Pool | None = None) -> AsyncIterator[BrokerNetwork]:
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(folder))

        async def connect(name: str, status_topic: str) -> Link:
            return await stack.enter_async_context(open_link(broker.address, name, status_topic))

        link = await connect("server-1", "plyroom/1/nodes/server-1")
        engines = RemoteEngines(link, "server-1", load_game, local)
        one = BrokerNetwork(stack, connect, engines, link, broker=broker)
        await one.until(lambda: link.is_up)
        beating = asyncio.create_task(one.keep_alive())
        stack.callback(beating.cancel)
        yield one


@asynccontextmanager
async def memory_network(broker: MemoryBroker, local: Pool | None = None) -> AsyncIterator[Network]:
    """A Network in virtual time, in which messages take no time."""

    async def connect(name: str, status_topic: str) -> Link:
        return broker.link(name, status_topic)

    async with AsyncExitStack() as stack:
        link = await connect("server-1", "plyroom/1/nodes/server-1")
        one = Network(stack, connect, RemoteEngines(link, "server-1", load_game, local), link)
        beating = asyncio.create_task(one.keep_alive())
        stack.callback(beating.cancel)
        yield one


async def test_a_worker_answers(tmp_path: Path) -> None:
    """Progress arrives during the search, then the answer.

    The order is the job with the attempt, without the room's name, by which anyone could enter an
    unlisted room.
    """
    async with broker_network(tmp_path) as here:
        worker = await here.add_worker()
        worker.news = answers("d")
        seen: list[Info] = []
        result = await here.engines.search(wanted := job("unlisted-room"), seen.append)
        assert (result, seen) == (Result("d", info("d")), [info("d")])
        (order,) = worker.orders
        assert (order.attempt, order.server, order.time_ms) == (1, "server-1", None)
        assert msgspec.structs.replace(order.job, affinity="") == msgspec.structs.replace(
            wanted, affinity=""
        )
        assert wanted.affinity not in order.job.affinity
        assert here.engines.is_warm(GAME.id)
        assert not here.engines.is_warm("othello")


async def test_packets_are_sent_without_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nagle's algorithm is off at both ends, also in our own broker.

    With it an answer waits twice for 40 ms for the previous packet's acknowledgement.
    """
    clients: list[aiomqtt.Client] = []
    client = Link._client

    def remembered(link: Link) -> aiomqtt.Client:
        clients.append(client(link))
        return clients[-1]

    monkeypatch.setattr(Link, "_client", remembered)
    async with broker_network(tmp_path):
        connected: Any = clients[0]._client.socket()
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert "set_tcp_nodelay true" in DEPLOYED.read_text("utf-8").splitlines()


async def test_no_suitable_worker(tmp_path: Path) -> None:
    """EngineUnavailable is raised at once without workers, with workers of other games or rules
    only, and while the broker is away.
    """
    async with broker_network(tmp_path) as here:
        with pytest.raises(EngineUnavailable):
            await here.search()
        await here.add_worker(games={"othello": ReadyGame("x")})
        assert here.engines.load().other_rules == 1
        await here.add_worker(
            games={GAME.id: ReadyGame("another digest"), "whist": ReadyGame("unknown")}
        )
        assert here.engines.load().other_rules == 2
        with pytest.raises(EngineUnavailable):
            await here.search()
        with pytest.raises(RulesChanged):
            await here.search(Job(GAME.id, "old", {}, "", (), "r1"))
        worker = await here.add_worker()
        worker.news = answers("d")
        assert (await here.search()).move == "d"
        await here.broker.kill()
        await here.until(lambda: not here.link.is_up)
        with pytest.raises(EngineUnavailable):
            await here.search()


async def test_late_doubled_and_foreign_answers_are_dropped(tmp_path: Path) -> None:
    """I16: only the current attempt of a search answers it, and only once."""
    async with broker_network(tmp_path) as here:
        first, second = await here.add_worker(), await here.add_worker()
        first.news = taken
        second.news = taken
        searching = asyncio.create_task(here.search())
        await here.until(lambda: bool(first.orders or second.orders))
        lost, other = (first, second) if first.orders else (second, first)
        order = lost.orders[0]
        here.engines._on_worker_gone(work.worker_topic(lost.name))  # what its will causes
        await other.until(lambda: bool(other.orders))
        again = other.orders[0]
        assert (again.id, again.attempt) == (order.id, 2)
        lost.say(
            order, work.Answered(order.id, 1, Result("a", info("a")))
        )  # it was alive after all
        other.say(again, work.Answered(again.id, 3, Result("b", info("b"))))
        other.say(again, work.Answered("another search", 2, Result("c", info("c"))))
        for _ in range(2):
            other.say(again, work.Answered(again.id, 2, Result("d", info("d"))))
        assert (await searching).move == "d"
        await here.until(lambda: here.engines.counts.late >= 4)
        assert here.engines.counts.answered == 1
        await lost.until(lambda: bool(lost.stopped))


@virtual
async def test_a_worker_that_dies_is_replaced_at_once() -> None:
    """A dead worker's will moves the search at once. The next worker gets the rest of the time."""
    async with memory_network(broker := MemoryBroker()) as here:
        first = await here.add_worker()
        first.news = lambda order: [
            *taken(order),
            work.Progress(order.id, order.attempt, info(time_ms=400)),
        ]
        searching = asyncio.create_task(here.search())
        await first.until(lambda: bool(first.orders))
        begun_s = now_s()
        second = await here.add_worker()
        second.news = answers("e")
        await asyncio.sleep(0.35)
        died_s = now_s()
        here.workers.remove(first)
        broker.end(first.link)  # type: ignore[arg-type]
        assert (await searching).move == "e"
        assert now_s() == died_s
        assert (second.orders[0].attempt, second.orders[0].id) == (2, first.orders[0].id)
        assert second.orders[0].time_ms == 1000 - 400 - round(1000 * (died_s - begun_s))


@pytest.mark.parametrize("has_begun", [False, True])
@virtual
async def test_a_worker_that_falls_silent(has_begun: bool) -> None:
    """After SIGSTOP another worker answers, or the best move so far does, within the time plus
    3 s.
    """
    async with memory_network(MemoryBroker()) as here:
        first = await here.add_worker()
        if has_begun:
            first.news = lambda order: [
                *taken(order),
                work.Progress(order.id, order.attempt, info("c")),
            ]
        second = await here.add_worker(cores=4)
        second.advertise(running=8)
        second.news = answers("e")
        await here.until(lambda: here.engines._workers[second.name].load > 1)
        begun_s = now_s()
        result = await here.search()
        assert result.move == ("c" if has_begun else "e")
        assert now_s() - begun_s < 1.0 + 3.0
        assert (len(first.orders), len(second.orders)) == (1, 0 if has_begun else 1)
        await first.until(lambda: bool(first.stopped))


async def test_after_three_attempts_the_local_pool_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After three workers lose the search, the local pool plays the move; without it the
    search fails.
    """
    monkeypatch.setattr(remote, "ACCEPT_S", 0.15)
    async with broker_network(tmp_path, pool := Pool()) as here:
        workers = [await here.add_worker() for _ in range(4)]
        assert (await here.search()).move == "g"
        assert sorted(len(one.orders) for one in workers) == [0, 1, 1, 1]
        assert pool.times[0] is not None
        assert pool.times[0] < 700
        here.engines._local = None
        with pytest.raises(SearchFailed):
            await here.search()
        assert sum(len(one.orders) for one in workers) == 6


@virtual
async def test_without_a_broker_the_local_pool_continues() -> None:
    """The local pool takes over a remote search as soon as the broker is known to be away."""
    async with memory_network(broker := MemoryBroker(), Pool()) as here:
        worker = await here.add_worker()
        worker.news = taken
        searching = asyncio.create_task(here.search())
        await worker.until(lambda: bool(worker.orders))
        away_s = now_s()
        broker.go()
        assert (await searching).move == "g"
        assert now_s() == away_s


async def test_cancelling_stops_the_worker(tmp_path: Path) -> None:
    """Cancelling a search sends a stop to the worker."""
    async with broker_network(tmp_path) as here:
        worker = await here.add_worker()
        worker.news = taken
        searching = asyncio.create_task(here.search())
        await worker.until(lambda: bool(worker.orders))
        searching.cancel()
        await worker.until(lambda: bool(worker.stopped))
        order, stop = worker.orders[0], worker.stopped[0]
        assert (stop.id, stop.attempt) == (order.id, order.attempt)
        assert here.engines.load().running == 0


async def test_the_choice_of_a_worker(tmp_path: Path) -> None:
    """The room's last worker comes first if it has a free core, then the least loaded one.

    The local pool comes before a queue elsewhere.
    """
    async with broker_network(tmp_path, pool := Pool()) as here:
        big, small = await here.add_worker(cores=4), await here.add_worker()
        big.news, small.news = answers("b"), answers("c")
        big.advertise(running=1)
        await here.until(lambda: here.engines._workers[big.name].load > 0)
        assert (await here.search(job("room"))).move == "c"
        big.advertise(running=0)
        small.advertise(running=0)
        await here.until(lambda: here.engines._workers[big.name].load == 0)
        for _ in range(3):
            assert (await here.search(job("room"))).move == "c", "it has the room's table"
        small.advertise(running=1)
        await here.until(lambda: here.engines._workers[small.name].load > 0)
        assert (await here.search(job("room"))).move == "b"
        big.advertise(running=4)
        await here.until(lambda: here.engines._workers[big.name].load >= 1)
        assert (await here.search(job("room"))).move == "g"
        assert pool.times == [None]


async def test_busy_failed_and_mismatched_workers_are_replaced(tmp_path: Path) -> None:
    """A busy worker is replaced, or asked later.

    One with other rules is replaced. One that failed is replaced, and without another the search
    fails in our words.
    """
    async with broker_network(tmp_path) as here:
        first, second = await here.add_worker(), await here.add_worker(cores=2)
        second.advertise(running=1)
        await here.until(lambda: here.engines._workers[second.name].load > 0)
        known = here.engines._workers
        for reason in ("busy", "game.changed"):
            first.news, second.news = refuses(reason), answers("d")
            assert (await here.search(job(reason))).move == "d"
            await here.until(
                lambda: first.name in known and known[first.name].busy_until_s < now_s()
            )
        assert len(first.orders) == 2
        first.news = second.news = refuses("busy")
        searching = asyncio.create_task(here.search(job("r2")))
        await first.until(lambda: len(first.orders) >= 4)
        first.news = second.news = answers("e")
        assert (await searching).move == "e"
        first.news = second.news = refuses("failed")
        with pytest.raises(
            SearchFailed, match=f"no worker that offers {GAME.id} gave a usable answer"
        ):
            await here.search()
        second.news = answers("f")
        assert (await here.search(job("r3"))).move == "f"


async def test_two_workers_with_different_games(tmp_path: Path) -> None:
    """Each worker receives games that it can play."""
    async with broker_network(tmp_path) as here:
        sticks = load_game("sticks")
        fours, other = (
            await here.add_worker(),
            await here.add_worker(games={"sticks": ReadyGame(sticks.digest)}),
        )
        (token, *_) = sticks.start().tokens()
        fours.news, other.news = answers("f"), answers(token)
        for _ in range(3):
            assert (await here.search(job(secrets.token_hex(4)))).move == "f"
            assert (await here.search(job(secrets.token_hex(4), "sticks", level=3))).move == token


async def test_malformed_messages_are_counted_and_dropped(tmp_path: Path) -> None:
    """Malformed, huge and foreign adverts and messages are counted and dropped, and the search
    continues.
    """
    async with broker_network(tmp_path) as here:
        worker = await here.add_worker()
        worker.news = taken
        searching = asyncio.create_task(here.search())
        await worker.until(lambda: bool(worker.orders))
        order = worker.orders[0]
        good = work.encode(work.Answered(order.id, 1, Result("a", info("a"))))
        other = good.replace(order.id.encode(), b"another")
        bad = [b"", b"{", b"null", b"[" * 5000, b"\xff", good[:-1],
               other.replace(b'"depth":3', b'"depth":"3"'),
               b'{"type":"Answered","x":1}', b" " * (work.MAX_BYTES + 1) + other]  # fmt: skip
        for payload in bad:
            worker.link.publish(work.answers_topic("server-1"), payload, reliable=True)
            worker.link.publish(work.worker_topic("worker-enemy"), payload or b"{}", reliable=True)
        worker.link.publish(
            work.worker_topic("worker-enemy"), work.encode(worker.advert), reliable=True
        )
        worker.say(order, work.Answered(order.id, 1, Result("d", info("d"))))
        assert (await searching).move == "d"
        assert here.engines.counts.malformed == 2 * len(bad) + 1
        assert "worker-enemy" not in here.engines._workers


async def test_a_worker_whose_advert_grows_old_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen worker, whose will does not fire, gets no searches once its advert is old."""
    async with broker_network(tmp_path) as here:
        await here.add_worker()
        here.workers.clear()
        monkeypatch.setattr(remote, "ADVERT_S", 0.1)
        await here.until(lambda: not here.engines.is_warm(GAME.id))
        with pytest.raises(EngineUnavailable):
            await here.search()
