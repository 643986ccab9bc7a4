"""The guarantees of server/seats/remote.py, with scripted workers over a real broker.

A server owns its search, sends it to another worker if the first one dies or falls silent, and
accepts one answer, from the current attempt.
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
from server.bus.work import Advert, Offer
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.ports import EnginesAway, OnInfo
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
    """Returns a search of one second, or one of a level."""
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
    """A worker that follows the test's script; `orders` holds the searches that it received."""

    def __init__(self, link: Link, cores: int, games: dict[str, Offer]) -> None:
        self.link = link
        self.name = link.name
        self.orders: list[work.Search] = []
        self.stopped: list[work.Stop] = []
        self.expected: list[str] = []
        self.news: Callable[[work.Search], list[work.News]] = lambda order: []
        self.advert = Advert(link.name, cores, games)
        self._heard = asyncio.Event()
        link.subscribe(work.order_topic(link.name), self._on_order)
        link.set_status(work.encode(self.advert))

    def _on_order(self, topic: str, payload: bytes) -> None:
        order = work.parse_order(payload)
        if isinstance(order, work.Stop):
            self.stopped.append(order)
        elif isinstance(order, work.Expect):
            self.expected.append(order.game)
        else:
            self.orders.append(order)
            for one in self.news(order):
                self.say(order, one)
        self._heard.set()

    def say(self, order: work.Search, news: work.News) -> None:
        """Sends a message to the server that sent the order."""
        self.link.publish(work.news_topic(order.server), work.encode(news), kept=True)

    def advertise(
        self, running: int = 0, waiting: int = 0, games: dict[str, Offer] | None = None
    ) -> None:
        """Publishes another advert."""
        self.advert = Advert(
            self.name, self.advert.cores, games or self.advert.games, running, waiting
        )
        self.link.set_status(work.encode(self.advert))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until the orders received make the condition true."""
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._heard.clear()
                await self._heard.wait()


def taken(order: work.Search) -> list[work.News]:
    return [work.Taken(order.id, order.attempt)]


def answers(move: str) -> Callable[[work.Search], list[work.News]]:
    """Returns the script of a worker that searches and answers."""

    def script(order: work.Search) -> list[work.News]:
        result = Result(move, info(move))
        return [*taken(order), work.Progress(order.id, order.attempt, info(move)),
                work.Answered(order.id, order.attempt, result)]  # fmt: skip

    return script


def refuses(reason: str) -> Callable[[work.Search], list[work.News]]:
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
class Fleet:
    """A broker with a server's engines and workers."""

    stack: AsyncExitStack
    connect: Callable[[str, str], Awaitable[Link]]
    engines: RemoteEngines
    link: Link
    workers: list[ScriptedWorker] = field(default_factory=list)

    async def hire(self, cores: int = 1, games: dict[str, Offer] | None = None) -> ScriptedWorker:
        """Starts a worker and waits until the engines know it."""
        name = f"worker-{secrets.token_hex(3)}"
        link = await self.connect(name, work.worker_topic(name))
        worker = ScriptedWorker(link, cores, games or {GAME.id: Offer(GAME.digest, 1000)})
        self.workers.append(worker)
        await self.until(lambda: link.flows and name in self.engines._workers)
        return worker

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.005)

    async def search(self, one: Job | None = None) -> Result:
        async with asyncio.timeout(PATIENCE_S):
            return await self.engines.search(one or job(), lambda info: None)

    async def keep_alive(self) -> None:
        """Repeats the adverts, as live workers do, for scripted workers do not."""
        while True:
            for worker in self.workers:
                worker.link.set_status(work.encode(worker.advert))
            await asyncio.sleep(0.5)


@dataclass
class BrokerFleet(Fleet):
    """The same with a real broker."""

    broker: Mosquitto = field(kw_only=True)


@asynccontextmanager
async def open_fleet(folder: Path, local: Pool | None = None) -> AsyncIterator[BrokerFleet]:
    """Yields a fleet over a real broker; `local` is the server's own pool."""
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(folder))

        async def connect(name: str, status_topic: str) -> Link:
            return await stack.enter_async_context(open_link(broker.address, name, status_topic))

        link = await connect("server-1", "plyroom/1/nodes/server-1")
        engines = RemoteEngines(link, "server-1", load_game, local)
        fleet = BrokerFleet(stack, connect, engines, link, broker=broker)
        await fleet.until(lambda: link.flows)
        beating = asyncio.create_task(fleet.keep_alive())
        stack.callback(beating.cancel)
        yield fleet


@asynccontextmanager
async def open_memory_fleet(
    broker: MemoryBroker, local: Pool | None = None
) -> AsyncIterator[Fleet]:
    """Yields the same for virtual time: messages take no time."""

    async def connect(name: str, status_topic: str) -> Link:
        return broker.link(name, status_topic)

    async with AsyncExitStack() as stack:
        link = await connect("server-1", "plyroom/1/nodes/server-1")
        fleet = Fleet(stack, connect, RemoteEngines(link, "server-1", load_game, local), link)
        beating = asyncio.create_task(fleet.keep_alive())
        stack.callback(beating.cancel)
        yield fleet


async def test_a_worker_answers(tmp_path: Path) -> None:
    """Progress comes during the search, then the answer.

    The order is the job with the attempt, but without the room's name, which would give access to
    an unlisted room.
    """
    async with open_fleet(tmp_path) as fleet:
        worker = await fleet.hire()
        worker.news = answers("d")
        seen: list[Info] = []
        result = await fleet.engines.search(wanted := job("unlisted-room"), seen.append)
        assert (result, seen) == (Result("d", info("d")), [info("d")])
        (order,) = worker.orders
        assert (order.attempt, order.server, order.time_ms) == (1, "server-1", None)
        assert msgspec.structs.replace(order.job, affinity="") == msgspec.structs.replace(
            wanted, affinity=""
        )
        assert wanted.affinity not in order.job.affinity
        assert fleet.engines.is_warm(GAME.id)
        assert not fleet.engines.is_warm("othello")


async def test_no_packet_waits_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nagle's algorithm is off at both ends, and in the broker that we ship.

    With it an answer would wait twice for 40 ms, for the acknowledgement of the packet before.
    """
    clients: list[aiomqtt.Client] = []
    client = Link._client

    def remembered(link: Link) -> aiomqtt.Client:
        clients.append(client(link))
        return clients[-1]

    monkeypatch.setattr(Link, "_client", remembered)
    async with open_fleet(tmp_path):
        connected: Any = clients[0]._client.socket()
        assert connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) == 1
    assert "set_tcp_nodelay true" in DEPLOYED.read_text("utf-8").splitlines()


async def test_without_workers_a_search_fails_at_once(tmp_path: Path) -> None:
    """Without a suitable worker or a broker a search raises EnginesAway at once.

    A worker with other games or other rules is not suitable.
    """
    async with open_fleet(tmp_path) as fleet:
        with pytest.raises(EnginesAway):
            await fleet.search()
        await fleet.hire(games={"othello": Offer("x")})
        await fleet.hire(games={GAME.id: Offer("another digest")})
        with pytest.raises(EnginesAway):
            await fleet.search()
        with pytest.raises(RulesChanged):
            await fleet.search(Job(GAME.id, "old", {}, "", (), "r1"))
        worker = await fleet.hire()
        worker.news = answers("d")
        assert (await fleet.search()).move == "d"
        await fleet.broker.kill()
        await fleet.until(lambda: not fleet.link.flows)
        with pytest.raises(EnginesAway):
            await fleet.search()


async def test_late_doubled_and_foreign_answers_are_dropped(tmp_path: Path) -> None:
    """I16: only the current attempt of a pending search can answer it, and only once."""
    async with open_fleet(tmp_path) as fleet:
        first, second = await fleet.hire(), await fleet.hire()
        first.news = taken
        second.news = taken
        searching = asyncio.create_task(fleet.search())
        await fleet.until(lambda: bool(first.orders or second.orders))
        lost, other = (first, second) if first.orders else (second, first)
        order = lost.orders[0]
        # As if the worker's will had come.
        fleet.engines._gone(work.worker_topic(lost.name))
        await other.until(lambda: bool(other.orders))
        again = other.orders[0]
        assert (again.id, again.attempt) == (order.id, 2)
        # The lost worker is not dead after all.
        lost.say(order, work.Answered(order.id, 1, Result("a", info("a"))))
        other.say(again, work.Answered(again.id, 3, Result("b", info("b"))))
        other.say(again, work.Answered("another search", 2, Result("c", info("c"))))
        for _ in range(2):
            other.say(again, work.Answered(again.id, 2, Result("d", info("d"))))
        assert (await searching).move == "d"
        await fleet.until(lambda: fleet.engines.counts.late >= 4)
        assert fleet.engines.counts.answered == 1
        await lost.until(lambda: bool(lost.stopped))


@virtual
async def test_a_worker_that_dies_is_replaced_at_once() -> None:
    """A worker's will reports its death at once; the next worker gets the remaining time."""
    async with open_memory_fleet(broker := MemoryBroker()) as fleet:
        first = await fleet.hire()
        first.news = lambda order: [
            *taken(order),
            work.Progress(order.id, order.attempt, info(time_ms=400)),
        ]
        searching = asyncio.create_task(fleet.search())
        await first.until(lambda: bool(first.orders))
        begun_s = now_s()
        second = await fleet.hire()
        second.news = answers("e")
        await asyncio.sleep(0.35)
        died_s = now_s()
        fleet.workers.remove(first)
        broker.end(first.link)  # type: ignore[arg-type]
        assert (await searching).move == "e"
        assert now_s() == died_s
        assert (second.orders[0].attempt, second.orders[0].id) == (2, first.orders[0].id)
        assert second.orders[0].time_ms == 1000 - 400 - round(1000 * (died_s - begun_s))


@pytest.mark.parametrize("has_begun", [False, True])
@virtual
async def test_a_worker_that_falls_silent(has_begun: bool) -> None:
    """R13: after SIGSTOP there is an answer within the time plus 3 s.

    It comes from another worker, or is the best move so far.
    """
    async with open_memory_fleet(MemoryBroker()) as fleet:
        first = await fleet.hire()
        if has_begun:
            first.news = lambda order: [
                *taken(order),
                work.Progress(order.id, order.attempt, info("c")),
            ]
        second = await fleet.hire(cores=4)
        second.advertise(running=8)
        second.news = answers("e")
        await fleet.until(lambda: fleet.engines._workers[second.name].load > 1)
        begun_s = now_s()
        result = await fleet.search()
        assert result.move == ("c" if has_begun else "e")
        assert now_s() - begun_s < 1.0 + 3.0
        assert (len(first.orders), len(second.orders)) == (1, 0 if has_begun else 1)
        await first.until(lambda: bool(first.stopped))


async def test_after_three_attempts_the_own_pool_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R12: after three workers lose the search, the server's own pool plays the move.

    Without a pool the search fails.
    """
    monkeypatch.setattr(remote, "TAKE_S", 0.15)
    async with open_fleet(tmp_path, pool := Pool()) as fleet:
        workers = [await fleet.hire() for _ in range(4)]
        assert (await fleet.search()).move == "g"
        assert sorted(len(one.orders) for one in workers) == [0, 1, 1, 1]
        assert pool.times[0] is not None
        assert pool.times[0] < 700
        fleet.engines._local = None
        with pytest.raises(SearchFailed):
            await fleet.search()
        assert sum(len(one.orders) for one in workers) == 6


@virtual
async def test_without_a_broker_the_own_pool_takes_over() -> None:
    """If the broker fails during a search, the server's own pool takes the search over at once."""
    async with open_memory_fleet(broker := MemoryBroker(), Pool()) as fleet:
        worker = await fleet.hire()
        worker.news = taken
        searching = asyncio.create_task(fleet.search())
        await worker.until(lambda: bool(worker.orders))
        away_s = now_s()
        broker.go()
        assert (await searching).move == "g"
        assert now_s() == away_s


async def test_cancelling_stops_the_worker(tmp_path: Path) -> None:
    """A cancelled search sends a stop to its worker."""
    async with open_fleet(tmp_path) as fleet:
        worker = await fleet.hire()
        worker.news = taken
        searching = asyncio.create_task(fleet.search())
        await worker.until(lambda: bool(worker.orders))
        searching.cancel()
        await worker.until(lambda: bool(worker.stopped))
        order, stop = worker.orders[0], worker.stopped[0]
        assert (stop.id, stop.attempt) == (order.id, order.attempt)
        assert fleet.engines.load().running == 0


async def test_the_choice_of_a_worker(tmp_path: Path) -> None:
    """The room's own worker is preferred if it has a free core, then the least loaded one.

    The server's own pool comes before a queue at a worker.
    """
    async with open_fleet(tmp_path, pool := Pool()) as fleet:
        big, small = await fleet.hire(cores=4), await fleet.hire()
        big.news, small.news = answers("b"), answers("c")
        big.advertise(running=1)
        await fleet.until(lambda: fleet.engines._workers[big.name].load > 0)
        assert (await fleet.search(job("room"))).move == "c"
        big.advertise(running=0)
        small.advertise(running=0)
        await fleet.until(lambda: fleet.engines._workers[big.name].load == 0)
        for _ in range(3):
            assert (await fleet.search(job("room"))).move == "c", "it has the room's table"
        small.advertise(running=1)
        await fleet.until(lambda: fleet.engines._workers[small.name].load > 0)
        assert (await fleet.search(job("room"))).move == "b"
        big.advertise(running=4)
        await fleet.until(lambda: fleet.engines._workers[big.name].load >= 1)
        assert (await fleet.search(job("room"))).move == "g"
        assert pool.times == [None]


async def test_refusals(tmp_path: Path) -> None:
    """After a refusal the search goes to another worker.

    "Busy": or to the same one later. "Failed": without another worker the search fails, with our
    own reason.
    """
    async with open_fleet(tmp_path) as fleet:
        first, second = await fleet.hire(), await fleet.hire(cores=2)
        second.advertise(running=1)
        await fleet.until(lambda: fleet.engines._workers[second.name].load > 0)
        known = fleet.engines._workers
        for reason in ("busy", "game.changed"):
            first.news, second.news = refuses(reason), answers("d")
            assert (await fleet.search(job(reason))).move == "d"
            await fleet.until(
                lambda: first.name in known and known[first.name].busy_until_s < now_s()
            )
        assert len(first.orders) == 2
        first.news = second.news = refuses("busy")
        searching = asyncio.create_task(fleet.search(job("r2")))
        await first.until(lambda: len(first.orders) >= 4)
        first.news = second.news = answers("e")
        assert (await searching).move == "e"
        first.news = second.news = refuses("failed")
        with pytest.raises(
            SearchFailed, match=f"no worker that offers {GAME.id} gives an answer that can be used"
        ):
            await fleet.search()
        second.news = answers("f")
        assert (await fleet.search(job("r3"))).move == "f"


async def test_two_workers_with_different_games(tmp_path: Path) -> None:
    """Each worker gets searches of the games that it offers."""
    async with open_fleet(tmp_path) as fleet:
        sticks = load_game("sticks")
        fours, other = await fleet.hire(), await fleet.hire(games={"sticks": Offer(sticks.digest)})
        (token, *_) = sticks.start().tokens()
        fours.news, other.news = answers("f"), answers(token)
        for _ in range(3):
            assert (await fleet.search(job(secrets.token_hex(4)))).move == "f"
            assert (await fleet.search(job(secrets.token_hex(4), "sticks", level=3))).move == token


async def test_nonsense_is_counted_and_dropped(tmp_path: Path) -> None:
    """Broken, oversized and foreign messages are counted and dropped; the search continues."""
    async with open_fleet(tmp_path) as fleet:
        worker = await fleet.hire()
        worker.news = taken
        searching = asyncio.create_task(fleet.search())
        await worker.until(lambda: bool(worker.orders))
        order = worker.orders[0]
        good = work.encode(work.Answered(order.id, 1, Result("a", info("a"))))
        other = good.replace(order.id.encode(), b"another")
        bad = [b"", b"{", b"null", b"[" * 5000, b"\xff", good[:-1],
               other.replace(b'"depth":3', b'"depth":"3"'),
               b'{"type":"Answered","x":1}', b" " * (work.MAX_BYTES + 1) + other]  # fmt: skip
        for payload in bad:
            worker.link.publish(work.news_topic("server-1"), payload, kept=True)
            worker.link.publish(work.worker_topic("worker-enemy"), payload or b"{}", kept=True)
        worker.link.publish(
            work.worker_topic("worker-enemy"), work.encode(worker.advert), kept=True
        )
        worker.say(order, work.Answered(order.id, 1, Result("d", info("d"))))
        assert (await searching).move == "d"
        assert fleet.engines.counts.malformed == 2 * len(bad) + 1
        assert "worker-enemy" not in fleet.engines._workers


async def test_a_worker_with_an_old_advert_gets_no_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker with an old advert gets no search: a frozen one sends nothing, nor its will."""
    async with open_fleet(tmp_path) as fleet:
        await fleet.hire()
        fleet.workers.clear()
        monkeypatch.setattr(remote, "ADVERT_S", 0.1)
        await fleet.until(lambda: not fleet.engines.is_warm(GAME.id))
        with pytest.raises(EnginesAway):
            await fleet.search()
