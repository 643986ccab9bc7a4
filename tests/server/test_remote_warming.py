"""Workers on the broker that have not compiled a game yet: the choice of an engine, and the
progress of the compilation.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.rules.registry import load_game, production_ids
from engine.search.job import Result
from server.bus import work
from server.bus.work import CompilingGame, ReadyGame
from server.ports import EngineUnavailable
from server.worker import EngineWorker
from tests.server.test_remote_engines import (
    GAME,
    LocalPool,
    Network,
    ScriptedWorker,
    advert_of,
    answers,
    info,
    open_broker_network,
    open_memory_network,
)
from tests.support.fake_server import virtual
from tests.support.memory_links import MemoryBroker


async def add_uncompiled_worker(
    network: Network, rules: str = GAME.digest, percent: int = 30
) -> ScriptedWorker:
    """Adds a worker that is still compiling its only game."""
    worker = await network.add_worker(games={"othello": ReadyGame("x")})
    worker.advert = work.Advert(
        worker.name, 1, {}, warming={GAME.id: CompilingGame(rules, percent)}
    )
    worker.link.set_status(work.encode(worker.advert))
    await network.until(lambda: bool(advert_of(network, worker).warming))
    return worker


async def test_an_uncompiled_worker_is_the_last_choice(tmp_path: Path) -> None:
    """A worker that has not compiled the game searches only if there is no other worker.

    A worker with other rules gets no search.
    """
    async with open_broker_network(tmp_path) as network:
        await add_uncompiled_worker(network, rules="another digest")
        with pytest.raises(EngineUnavailable):
            await network.search()
        uncompiled = await add_uncompiled_worker(network)
        uncompiled.script = answers("c")
        assert (await network.search()).move == "c"
        assert not network.engines.is_warm(GAME.id)
        warm = await network.add_worker()
        warm.script = answers("a")
        assert (await network.search()).move == "a"
        assert len(uncompiled.commands) == 1


async def test_the_local_pool_comes_before_an_uncompiled_worker(tmp_path: Path) -> None:
    """The local pool comes before workers that have not compiled the game.

    A busy worker with the game compiled comes before the pool, unless the pool has compiled it too.
    """
    async with open_broker_network(tmp_path, pool := LocalPool()) as network:
        pool.warm = False
        uncompiled = await add_uncompiled_worker(network)
        assert (await network.search()).move == "g"
        assert uncompiled.commands == []
        warm = await network.add_worker()
        warm.script = answers("a")
        warm.advertise(running=1)
        await network.until(lambda: advert_of(network, warm).running > 0)
        assert (await network.search()).move == "a"
        pool.warm = True
        warm.advertise(running=1)
        await network.until(lambda: advert_of(network, warm).running > 0)
        assert (await network.search()).move == "g"


async def test_the_progress_of_the_compilation(tmp_path: Path) -> None:
    """The progress is that of the most advanced engine, and 100 only when one is ready."""
    async with open_broker_network(tmp_path, pool := LocalPool()) as network:
        pool.warm, pool.percent = False, 10
        assert network.engines.warm_percent(GAME.id) == 10
        await add_uncompiled_worker(network, percent=30)
        assert network.engines.warm_percent(GAME.id) == 30
        await network.add_worker()
        assert network.engines.warm_percent(GAME.id) == 100


async def test_an_expected_game_is_announced(tmp_path: Path) -> None:
    """`expect` reaches the local pool and the workers that have not compiled the game.

    Workers that have compiled the game receive no message.
    """
    async with open_broker_network(tmp_path, pool := LocalPool()) as network:
        warm, uncompiled = await network.add_worker(), await add_uncompiled_worker(network)
        network.engines.expect(GAME.id)
        await uncompiled.until(lambda: uncompiled.expected == [GAME.id])
        assert pool.expected == [GAME.id]
        assert warm.expected == []


@pytest.mark.parametrize("is_compiled", [True, False])
@virtual
async def test_an_uncompiled_search_may_exceed_its_time(is_compiled: bool) -> None:
    """An uncompiled search may exceed its time as long as its worker sends messages.

    A compiled search that exceeds its time is answered with its best move so far.
    """
    async with open_memory_network(MemoryBroker()) as network:
        worker = await (network.add_worker() if is_compiled else add_uncompiled_worker(network))
        worker.script = lambda command: [
            work.Progress(command.id, command.attempt, info("c")),
        ]
        searching = asyncio.create_task(network.search())
        await worker.until(lambda: bool(worker.commands))
        (command,) = worker.commands
        for _ in range(6):
            await asyncio.sleep(0.5)
            worker.send(command, work.Taken(command.id, command.attempt))
        worker.send(command, work.Answered(command.id, command.attempt, Result("d", info("d"))))
        assert (await searching).move == ("c" if is_compiled else "d")


class LinkStub:
    """The part of a link that a worker needs for its advert."""

    name = "w1"

    def subscribe(self, *arguments: Any) -> None:
        pass


class PoolWithStates(LocalPool):
    """A pool in which a test sets the state of each game."""

    def __init__(self, states: dict[str, str]) -> None:
        super().__init__()
        self.states = states

    def is_warm(self, game_id: str) -> bool:
        return self.states[game_id] == "warm"

    def warm_state(self, game_id: str) -> str:
        return self.states[game_id]

    def compile_error(self, game_id: str) -> None:
        return None

    def warm_percent(self, game_id: str) -> int:
        return {"warm": 100, "warming": 42}.get(self.states[game_id], 0)


def test_an_advert_lists_compiled_games() -> None:
    """The advert lists compiled games, and games that are being or will be compiled.

    It does not list failed games. When all are compiled, it has the format of earlier versions.
    """
    games = ("chess", "hex", "gomoku", "sticks")
    pool = PoolWithStates(dict(zip(games, ("warm", "warming", "cold", "failed"), strict=True)))
    worker = EngineWorker(LinkStub(), pool, 2, games)  # type: ignore[arg-type]
    advert = worker.advert()
    assert advert.games == {"chess": ReadyGame(load_game("chess").digest)}
    hex_digest, gomoku_digest = load_game("hex").digest, load_game("gomoku").digest
    assert advert.warming == {
        "hex": CompilingGame(hex_digest, 42),
        "gomoku": CompilingGame(gomoku_digest),
    }
    pool.states = dict.fromkeys(production_ids(), "warm")
    assert b"warming" not in work.encode(worker.advert())
    worker._on_command("", work.encode(work.Expect("hex")))
    worker._on_command("", work.encode(work.Expect("tic-tac-toe")))
    assert pool.expected == ["hex"], "it does not offer other games"
