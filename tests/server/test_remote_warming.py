"""Workers that have not compiled a game yet: who searches, and what the room learns of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from engine.rules.registry import game_ids, load_game
from engine.search.job import Result
from engine.search.report import level_for
from server.bus import work
from server.bus.work import Offer, Warming
from server.ports import EnginesAway
from server.seats import remote
from server.worker import EngineWorker
from tests.server.test_remote_engines import (
    GAME,
    Fleet,
    Pool,
    ScriptedWorker,
    answers,
    info,
    job,
    open_fleet,
)


async def hire_cold(fleet: Fleet, rules: str = GAME.digest, percent: int = 30) -> ScriptedWorker:
    """Starts a worker that offers only this game, and has not compiled it."""
    worker = await fleet.hire(games={"othello": Offer("x")})
    worker.advert = work.Advert(worker.name, 1, {}, warming={GAME.id: Warming(rules, percent)})
    worker.link.set_status(work.encode(worker.advert))
    await fleet.until(lambda: bool(fleet.engines._workers[worker.name].advert.warming))
    return worker


async def test_a_cold_worker_is_the_last_choice(tmp_path: Path) -> None:
    """A cold worker searches uncompiled if no other worker can.

    One with other rules is not asked, and one that has compiled the game is preferred.
    """
    async with open_fleet(tmp_path) as fleet:
        await hire_cold(fleet, rules="another digest")
        with pytest.raises(EnginesAway):
            await fleet.search()
        cold = await hire_cold(fleet)
        cold.news = answers("c")
        assert (await fleet.search()).move == "c"
        assert not fleet.engines.is_warm(GAME.id)
        warm = await fleet.hire()
        warm.news = answers("a")
        assert (await fleet.search()).move == "a"
        assert len(cold.orders) == 1


async def test_the_own_pool_is_preferred_to_cold_workers(tmp_path: Path) -> None:
    """The server's own pool is preferred to cold workers, even if it is cold too.

    A busy worker that has compiled the game is preferred to a cold pool.
    """
    async with open_fleet(tmp_path, pool := Pool()) as fleet:
        pool.warm = False
        cold = await hire_cold(fleet)
        assert (await fleet.search()).move == "g"
        assert cold.orders == []
        warm = await fleet.hire()
        warm.news = answers("a")
        warm.advertise(running=1)
        await fleet.until(lambda: fleet.engines._workers[warm.name].load > 0)
        assert (await fleet.search()).move == "a"
        pool.warm = True
        warm.advertise(running=1)
        await fleet.until(lambda: fleet.engines._workers[warm.name].load > 0)
        assert (await fleet.search()).move == "g"


async def test_the_progress_of_compilation(tmp_path: Path) -> None:
    """The progress is the greatest of all; it is 100 only where the game is ready."""
    async with open_fleet(tmp_path, pool := Pool()) as fleet:
        pool.warm, pool.percent = False, 10
        assert fleet.engines.warm_percent(GAME.id) == 10
        await hire_cold(fleet, percent=30)
        assert fleet.engines.warm_percent(GAME.id) == 30
        await fleet.hire()
        assert fleet.engines.warm_percent(GAME.id) == 100


async def test_the_game_of_a_room_is_compiled_first(tmp_path: Path) -> None:
    """The pool and the cold workers are told which game to compile first.

    A worker of an older version gets no such message.
    """
    async with open_fleet(tmp_path, pool := Pool()) as fleet:
        warm, cold = await fleet.hire(), await hire_cold(fleet)
        fleet.engines.expect(GAME.id)
        await cold.until(lambda: cold.expected == [GAME.id])
        assert pool.expected == [GAME.id]
        assert warm.expected == []


@pytest.mark.parametrize("is_compiled", [True, False])
async def test_a_cold_search_may_take_longer_than_its_time(
    tmp_path: Path, is_compiled: bool
) -> None:
    """A cold search may exceed its time as long as its worker is alive.

    An uncompiled search of full strength counts as neither late nor lost.
    """
    async with open_fleet(tmp_path) as fleet:
        now_s = asyncio.get_running_loop().time()
        wanted = replace(job(), level=1)
        ticket = remote._Ticket(
            "t", wanted, GAME, level_for(wanted, GAME), lambda info: None, begun_s=now_s - 60
        )
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        answer.set_result(Result("d", info("d")))
        attempt = remote._Attempt(ticket, "w", answer, now_s + 60, is_compiled=is_compiled)
        if is_compiled:
            with pytest.raises(remote._Lost, match="late"):
                await fleet.engines._watched(attempt, now_s - 60)
        else:
            assert (await fleet.engines._watched(attempt, now_s - 60)).move == "d"


class Link:
    """The part of a link that a worker needs for its adverts."""

    name = "w1"

    def subscribe(self, *arguments: Any) -> None:
        pass


class States(Pool):
    """A pool in which the test sets the state of each game."""

    def __init__(self, states: dict[str, str]) -> None:
        super().__init__()
        self.states = states

    def is_warm(self, game_id: str) -> bool:
        return self.states[game_id] == "warm"

    def warm_state(self, game_id: str) -> str:
        return self.states[game_id]

    def warm_percent(self, game_id: str) -> int:
        return {"warm": 100, "warming": 42}.get(self.states[game_id], 0)


def test_a_worker_says_what_is_compiled_and_what_is_not() -> None:
    """An advert says which games are compiled and omits games that failed.

    Once all are compiled, it is the advert of older versions.
    """
    games = ("chess", "hex", "gomoku", "sticks")
    pool = States(dict(zip(games, ("warm", "warming", "cold", "failed"), strict=True)))
    worker = EngineWorker(Link(), pool, 2, games)  # type: ignore[arg-type]
    advert = worker.advert()
    assert advert.games == {"chess": Offer(load_game("chess").digest)}
    hex_digest, gomoku_digest = load_game("hex").digest, load_game("gomoku").digest
    assert advert.warming == {"hex": Warming(hex_digest, 42), "gomoku": Warming(gomoku_digest)}
    pool.states = dict.fromkeys(game_ids(), "warm")
    assert b"warming" not in work.encode(worker.advert())
    worker._on_order("", work.encode(work.Expect("hex")))
    worker._on_order("", work.encode(work.Expect("tic-tac-toe")))
    assert pool.expected == ["hex"], "the worker has no other games"
