"""Strategies on a node: whole matches, logs, failures, and workers elsewhere."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Limit, Load, Result
from engine.search.report import resolve
from engine.strategies import reasons
from engine.strategies.contract import MAX_LOG_BYTES, StrategyFailed, Turn, choices_of
from engine.strategies.registry import load_strategy
from engine.strategy_pool.pool import info_of
from server.bus import work
from server.bus.work import ReadyGame, UncompiledGame
from server.commands import AiSeat, MySeat
from server.ports import EngineUnavailable, OnInfo
from server.seats.ai import ABSENT_RETRY_S
from server.seats.strategies import StrategyEngines
from server.worker import EngineWorker
from tests.server.test_api import get
from tests.server.test_engine_workers import FakePool
from tests.server.test_remote_engines import (
    GAME,
    LocalPool,
    Network,
    ScriptedWorker,
    advert_of,
    answers,
    job,
    open_memory_network,
)
from tests.support.fake_server import Client, FakeServer, ScriptedEngines, virtual
from tests.support.memory_links import MemoryBroker
from tests.support.node import serve

ME = MySeat()
MINIMAX = AiSeat(strategy="minimax", depth=2)


class LocalStrategies:
    """Runs built-in strategies in this process; a test scripts others with `scripts`.

    A script gets the result of minimax, which it may change, or raises.
    """

    names: tuple[str, ...] = ("minimax", "random", "scripted")

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.script: Callable[[Result], Result] = lambda result: result
        self.release: asyncio.Event | None = None

    def load(self) -> Load:
        return Load(1, 2, 2)

    async def search(self, job: Job, on_info: OnInfo) -> Result:
        self.jobs.append(job)
        name = "minimax" if job.strategy == "scripted" else str(job.strategy)
        turn = Turn(
            position=resolve(job, load_game(job.game)), seed=job.seed, evaluator=job.evaluator,
            depth=job.limit.depth or 1,
        )  # fmt: skip
        for choice in choices_of(load_strategy(name), turn):
            on_info(info_of(choice, 0.5))
        result = Result(choice.move, info_of(choice, 0.5))
        if job.strategy != "scripted":
            return result
        if self.release is not None:
            await self.release.wait()
        return self.script(result)


def fake_server(**options: Any) -> tuple[FakeServer, LocalStrategies]:
    """Returns a server whose engines are scripted, except for strategies."""
    fake, strategies = FakeServer(), LocalStrategies()
    engines: Any = StrategyEngines(fake.engines, strategies, load_game, **options)
    fake.engines = engines
    return fake, strategies


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the scripted strategy known to rooms."""
    names = ["minimax", "random", "scripted"]
    monkeypatch.setattr("server.rooms.seats.strategy_names", lambda: names)


# --- rooms


@virtual
async def test_a_match_between_strategies() -> None:
    """Two strategies play a whole match; the log of each search is stored with its move.

    Nothing is compiled for them.
    """
    fake, strategies = fake_server()
    scripted: Any = fake.engines
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        seats = (MINIMAX, AiSeat(strategy="random"))
        room = await ada.create("sticks", seats=seats)
        await ada.ack(ada.join(room))
        over = await ada.event("finished")
        assert over["how"] == "board"
        moves = [m for m in ada.events() if m["kind"] == "moved"]
        assert len(strategies.jobs) == len(moves)
        inner = scripted._engines
        assert (inner.jobs, inner.expected) == ([], [])
        match = ada.of("view")[-1]["match"]
        thoughts = await fake.store.projections.thoughts(match)
        bodies = [json.loads(thought.body) for thought in thoughts]
        assert [body["move"] for body in bodies] == [move["move"] for move in moves]
        assert bodies[0]["log"].endswith(f"MINIMAX score for next move = {bodies[0]['value']}")
        assert bodies[1]["log"].startswith("TOP MAX node... Random Move : ( Row = ")


@virtual
async def test_a_match_of_coin_friends_ends_in_points() -> None:
    """A game with the teaching search is played against a strategy, and ends in points."""
    fake, strategies = fake_server()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create("coin-friends", seats=(ME, MINIMAX))
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "one"))
        over = await ada.event("finished")
        assert (over["how"], over["winner"], over["points"]) == ("board", None, [10, 0])
        assert [job.evaluator for job in strategies.jobs] == ["zero"]


@virtual
async def test_the_log_of_a_search_is_sent() -> None:
    """`thinking` has the value of each search, and its log when it is done; none is compiling."""
    fake, _ = fake_server()
    scripted: Any = fake.engines
    scripted._engines.warm = False
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create("sticks", seats=(ME, MINIMAX))
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "3x3"))
        await ada.until(lambda m: m.get("kind") == "moved" and m["seat"] == 1)
        thinking = ada.of("thinking")
        assert [m["state"] for m in thinking][0 :: len(thinking) - 1] == ["queued", "done"]
        assert [m for m in thinking if "log" in m] == thinking[-1:]
        assert not [m for m in thinking if "ready" in m or m.get("warming")]
        done = thinking[-1]
        assert (done["value"], done["score"], done["pv"]) == ("101", 1, ["2x2"])
        assert done["log"].splitlines()[-1] == "I've got you now... ha ha ha !!!"


def illegal_move(result: Result) -> Result:
    return replace(result, move="z9")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (illegal_move, reasons.ILLEGAL),
        (lambda result: replace(result, move=""), reasons.ILLEGAL),
        (lambda result: replace(result, info=replace(result.info, nodes=-1)), reasons.ILLEGAL),
    ],
)
def test_a_strategy_that_cheats(script: Any, reason: str) -> None:
    """A strategy with an illegal move ends its own match, with a reason, and is not asked again."""

    @virtual
    async def cheated() -> None:
        fake, strategies = fake_server()
        strategies.script = script
        async with fake.hub() as hub:
            ada = Client(hub, "ada")
            room = await ada.create(seats=(ME, AiSeat(strategy="scripted", depth=1)))
            await ada.ack(ada.join(room))
            await ada.ack(ada.move(room, 0, "b2"))
            over = await ada.event("finished")
            assert (over["how"], over["winner"]) == ("failure", None)
            assert over["reason"] == f"the AI could not move: {reason}"
            assert len(strategies.jobs) == 1

    cheated()


@virtual
async def test_a_failure_harms_its_own_room_only() -> None:
    """While one room's strategy does nothing, another room's match goes on to its end.

    Then the first one fails, and its match ends with the reason.
    """
    fake, strategies = fake_server()
    strategies.release = asyncio.Event()

    def fail(result: Result) -> Result:
        raise StrategyFailed(reasons.LATE)

    strategies.script = fail
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        waiting = await ada.create(seats=(ME, AiSeat(strategy="scripted", depth=1)))
        await ada.ack(ada.join(waiting))
        await ada.ack(ada.move(waiting, 0, "b2"))
        other = await ben.create("sticks", seats=(MINIMAX, AiSeat(strategy="random")))
        await ben.ack(ben.join(other))
        assert (await ben.event("finished"))["how"] == "board"
        assert not [m for m in ada.events() if m["kind"] == "finished"]
        strategies.release.set()
        over = await ada.event("finished")
        assert (over["how"], over["reason"]) == (
            "failure",
            f"the AI could not move: {reasons.LATE}",
        )
        await ada.ack(ada.chat(waiting, "the room goes on"))


@virtual
async def test_a_full_queue_is_waited_for() -> None:
    """When too many strategies wait, a match waits too; it does not end."""
    fake, strategies = fake_server()
    fulls = [QueueFull("256 strategies are waiting already")] * 3

    def refuse(result: Result) -> Result:
        if fulls:
            raise fulls.pop()
        return result

    strategies.script = refuse
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(ME, AiSeat(strategy="scripted", depth=1)))
        await ada.ack(ada.join(room))
        before_s = asyncio.get_running_loop().time()
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m.get("kind") == "moved" and m["seat"] == 1)
        assert asyncio.get_running_loop().time() - before_s >= 3 * ABSENT_RETRY_S
        assert "absent" in [m["state"] for m in ada.of("thinking")]


async def test_the_text_of_a_strategy_is_cleaned() -> None:
    """Values and logs reach clients within their limits, and without control characters."""
    strategies = LocalStrategies()
    engines = StrategyEngines(ScriptedEngines(), strategies, load_game)
    strategies.script = lambda result: replace(
        result, info=replace(result.info, value="\u202e" * 99, log="a\x1b[2J\nb\t" * 9_999)
    )
    result = await engines.search(strategy_job("scripted"), lambda info: None)
    assert result.info.value == "?" * 80
    assert len(result.info.log) == MAX_LOG_BYTES
    assert result.info.log.splitlines()[:2] == ["a?[2J", "b?a?[2J"]


async def test_other_jobs_pass() -> None:
    """Levels go to the engines; a strategy that is not here goes there only with workers."""
    inner, strategies = ScriptedEngines(), LocalStrategies()
    engines = StrategyEngines(inner, strategies, load_game)
    await engines.search(strategy_job(None), lambda info: None)
    assert (len(inner.jobs), len(strategies.jobs)) == (1, 0)
    with pytest.raises(StrategyFailed, match="not installed here"):
        await engines.search(strategy_job("greedy"), lambda info: None)
    clustered = StrategyEngines(inner, strategies, load_game, has_workers=True)
    await clustered.search(strategy_job("greedy"), lambda info: None)
    assert (len(inner.jobs), len(strategies.jobs)) == (2, 0)
    await clustered.search(strategy_job("random"), lambda info: None)
    assert (len(inner.jobs), len(strategies.jobs)) == (2, 1)
    load = engines.load()
    assert (load.running, load.waiting, load.workers) == (3, 2, 1)


def strategy_job(strategy: str | None) -> Job:
    """Returns a job of the tests of remote engines, by a strategy."""
    return replace(job(), strategy=strategy, evaluator="zero", limit=Limit(depth=2, time_ms=2000))


# --- workers elsewhere


async def add_worker_with(
    network: Network, *strategies: str, uncompiled: bool = False
) -> ScriptedWorker:
    """Adds a worker whose advert lists these strategies."""
    worker = await network.add_worker()
    games = {} if uncompiled else {GAME.id: ReadyGame(GAME.digest)}
    worker.advert = replace(
        worker.advert, games=games, strategies=strategies,
        uncompiled={GAME.id: UncompiledGame(GAME.digest)} if uncompiled else {},
    )  # fmt: skip
    worker.link.set_status(work.encode(worker.advert))
    await network.until(lambda: advert_of(network, worker).strategies == strategies)
    return worker


@virtual
async def test_a_strategy_goes_only_to_a_worker_that_lists_it() -> None:
    """Workers of an older program, and those without the strategy, get no such job.

    Neither does the node's own pool. Without a worker the match waits.
    """
    async with open_memory_network(MemoryBroker(), pool := LocalPool()) as network:
        older = await network.add_worker()
        other = await add_worker_with(network, "random")
        with pytest.raises(EngineUnavailable):
            await network.search(strategy_job("minimax"))
        capable = await add_worker_with(network, "random", "minimax")
        capable.script = answers("c")
        assert (await network.search(strategy_job("minimax"))).move == "c"
        assert (older.commands, other.commands, pool.jobs) == ([], [], [])
        assert capable.commands[0].job.strategy == "minimax"


@virtual
async def test_a_game_that_is_not_compiled() -> None:
    """A worker plays a game that it cannot compile by strategies, and by nothing else."""
    async with open_memory_network(MemoryBroker()) as network:
        worker = await add_worker_with(network, "minimax", uncompiled=True)
        worker.script = answers("c")
        assert (await network.search(strategy_job("minimax"))).move == "c"
        with pytest.raises(EngineUnavailable):
            await network.search(strategy_job(None))


@pytest.mark.parametrize(
    ("text", "reason"), [(reasons.MEMORY, reasons.MEMORY), ("<b>free money</b>", reasons.FAILED)]
)
def test_a_strategy_that_fails_at_a_worker(text: str, reason: str) -> None:
    """The node ends the search with a reason of its own words; it goes on trusting the worker."""

    @virtual
    async def failed() -> None:
        async with open_memory_network(MemoryBroker()) as network:
            worker = await add_worker_with(network, "minimax")
            worker.script = lambda command: [
                work.Refused(command.id, command.attempt, "strategy", text)
            ]
            with pytest.raises(StrategyFailed) as failure:
                await network.search(strategy_job("minimax"))
            assert str(failure.value) == reason
            worker.script = answers("c")
            assert (await network.search(strategy_job(None))).move == "c"

    failed()


@virtual
async def test_a_worker_with_strategies() -> None:
    """A worker advertises its strategies and runs them; its pool gets none of these jobs.

    A strategy that fails or cheats there fails with the same reason as on the node itself.
    """
    async with open_memory_network(MemoryBroker()) as network:
        link = await network.connect("w9", work.worker_topic("w9"))
        strategies, pool = LocalStrategies(), FakePool()
        worker = EngineWorker(link, pool, 2, (GAME.id,), strategies)
        task = asyncio.create_task(worker.run())
        await network.until(lambda: "w9" in network.engines._workers.known)
        assert worker.advert().strategies == strategies.names
        assert (await network.search(strategy_job("random"))).info.log.startswith("TOP MAX node")
        strategies.script = lambda result: replace(result, move="z9")
        for script, reason in (
            (lambda result: replace(result, move="z9"), reasons.ILLEGAL),
            (fail_for_memory, reasons.MEMORY),
        ):
            strategies.script = script
            with pytest.raises(StrategyFailed) as failure:
                await network.search(strategy_job("scripted"))
            assert str(failure.value) == reason
        assert (await network.search(strategy_job("minimax"))).info.depth == 2
        assert pool.jobs == []
        assert network.engines._workers.is_advertised(strategy_job("minimax"))
        task.cancel()
        await asyncio.wait([task])
        await worker.close()


def fail_for_memory(result: Result) -> Result:
    raise StrategyFailed(reasons.MEMORY)


def test_adverts_without_strategies_are_unchanged() -> None:
    """An advert without strategies has the same bytes as before."""
    advert = work.Advert("w1", 2, {GAME.id: ReadyGame(GAME.digest)})
    assert b"strategies" not in work.encode(advert)
    assert b"uncompiled" not in work.encode(advert)
    assert b"strategy" not in work.encode(work.Search("i", 1, "n1", job(), 5000))
    assert b'"log"' not in work.encode(Info(1, 0, 1, 1, 1, ("a",)))


# --- HTTP


async def test_the_list_of_strategies() -> None:
    """GET /api/strategies lists the strategies with their titles, the depths and the evaluators."""
    async with serve() as node:
        answer = await get(node, "/api/strategies")
    by_name = {entry["name"]: entry for entry in answer["strategies"]}
    assert by_name["minimax"] == {"name": "minimax", "title": "MiniMax", "fixed_depth": None}
    assert by_name["greedy"]["fixed_depth"] == 1
    assert answer["depth"] == {"default": 3, "max": 30}
    assert answer["evaluators"] == ["estimate", "zero", "random", "material", "all-paths"]
