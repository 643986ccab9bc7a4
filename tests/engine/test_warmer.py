"""The order in which the warmer compiles, with fake processes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from engine.compiler import code_cache
from engine.pool.messages import CompileCommand, Compiled, Compiling, Step, WorkerMessage
from engine.pool.process import WorkerProcess
from engine.pool.warmer import TRIES, Warmer, WarmState
from engine.rules.registry import load_game
from engine.search import uncompiled as cold
from engine.search.job import RulesChanged, SearchError, SearchFailed

Key = tuple[str, Step]


class Compiler:
    """A fake process that compiles what it is sent when the test says so."""

    def __init__(
        self, pool: "FakePool", on_message: Callable[..., None], on_end: Callable[..., None]
    ) -> None:
        self.pool = pool
        self.on_message = on_message
        self.on_end = on_end
        self.pid = len(pool.processes) + 1
        self.closed = False
        self.given_way = False
        pool.processes.append(self)

    async def start(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        self.closed = True
        await asyncio.sleep(0)

    def send(self, command: CompileCommand) -> None:
        assert not self.closed
        assert command.idle or not self.given_way, "a request needs a process of normal priority"
        self.given_way = self.given_way or command.idle
        self.pool.commands.append((command.game, command.step))
        self.pool.changed.set()

    def says(self, message: WorkerMessage) -> None:
        self.on_message(self, message)

    def dies(self) -> None:
        self.on_end(self)


class FakePool:
    """A warmer with fake processes and a fake cache."""

    def __init__(self, spare: tuple[str, ...], cached: set[Key]) -> None:
        self.cached = cached
        self.processes: list[Compiler] = []
        self.commands: list[Key] = []
        self.changes: list[tuple[str, WarmState]] = []
        self.settled: list[str] = []
        self.deaths = 0
        self.changed = asyncio.Event()
        self.warmer = Warmer(
            lambda on_message, on_end: cast(WorkerProcess, Compiler(self, on_message, on_end)),
            spare,
            lambda game_id, state: self.changes.append((game_id, state)),
            self.settled.append,
            self.died,
        )

    def died(self) -> None:
        self.deaths += 1

    async def ordered(self) -> Key:
        """The next command."""
        number = len(self.commands)
        while len(self.commands) == number:
            self.changed.clear()
            await self.changed.wait()
        return self.commands[-1]

    def compiled(self, error: str | None = None, is_changed: bool = False) -> None:
        """Ends the running compilation."""
        key = self.commands[-1]
        if error is None:
            self.cached.add(key)
        self.processes[-1].says(Compiled(key[0], error, is_changed))


async def a_moment() -> None:
    """Lets everything run that does not wait for a message."""
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.fixture
def warming(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts a warmer for a test."""

    @asynccontextmanager
    async def begin(*spare: str, cached: set[Key] | None = None) -> AsyncIterator[FakePool]:
        pool = FakePool(spare, cached if cached is not None else set())

        def is_ready(game_id: str, digest: str, step: str) -> bool:
            assert digest == load_game(game_id).digest
            return (game_id, step) in pool.cached

        monkeypatch.setattr(code_cache, "is_ready", is_ready)
        task = asyncio.create_task(pool.warmer.run())
        try:
            async with asyncio.timeout(60):
                yield pool
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return begin


async def test_searches_come_before_solvers_and_personas(warming: Any) -> None:
    """The searches of all games are compiled before any addition, at idle priority too."""
    async with warming("chess", "connect-four") as pool:
        found = []
        for _ in range(3):
            found.append(await pool.ordered())
            pool.compiled()
        assert found == [
            ("chess", "search"),
            ("connect-four", "search"),
            ("connect-four", "solver"),
        ]
        await a_moment()
        assert len(pool.commands) == 3, "nobody has asked for a persona"
        pool.warmer.request("chess", "persona")
        assert await pool.ordered() == ("chess", "persona")
        assert [change for change in pool.changes if change[1] == "warm"] == [
            ("chess", "warm"), ("connect-four", "warm"),
        ]  # fmt: skip


async def test_what_is_asked_for_ends_an_idle_compilation(warming: Any) -> None:
    """A request ends an idle compilation, which starts anew after it."""
    async with warming("chess", "hex") as pool:
        assert await pool.ordered() == ("chess", "search")
        pool.warmer.request("gomoku")
        assert await pool.ordered() == ("gomoku", "search")
        assert [process.closed for process in pool.processes] == [True, False]
        assert pool.warmer.state("chess") == "cold"
        pool.processes[0].says(Compiled("chess", None))  # too late
        await a_moment()
        assert pool.warmer.state("chess") == "cold"
        assert pool.warmer.state("gomoku") == "warming"
        pool.compiled()
        assert await pool.ordered() == ("chess", "search")
        assert pool.deaths == 0


async def test_what_is_asked_for_while_the_process_starts(warming: Any) -> None:
    """A request while the process starts prevents the idle compilation."""
    async with warming("chess") as pool:
        pool.warmer.add_idle_game("hex")
        while not pool.processes:
            await asyncio.sleep(0)
        pool.warmer.request("gomoku")
        assert await pool.ordered() == ("gomoku", "search")


async def test_those_that_are_asked_for_take_turns(warming: Any) -> None:
    """Requests are served first come, first served, and do not end each other."""
    async with warming() as pool:
        pool.warmer.request("chess")
        assert await pool.ordered() == ("chess", "search")
        pool.warmer.request("hex")
        pool.warmer.request("gomoku")
        pool.compiled()
        assert await pool.ordered() == ("hex", "search")
        pool.compiled()
        assert await pool.ordered() == ("gomoku", "search")
        assert len(pool.processes) == 1


async def test_a_search_ends_what_is_less(warming: Any) -> None:
    """A requested solver waits for its game's search, and any requested search preempts it."""
    async with warming() as pool:
        pool.warmer.request("othello", "solver")
        pool.warmer.request("othello")
        assert await pool.ordered() == ("othello", "search")
        pool.compiled()
        assert await pool.ordered() == ("othello", "solver")
        pool.warmer.request("chess")
        assert await pool.ordered() == ("chess", "search")
        pool.compiled()
        assert await pool.ordered() == ("othello", "solver")


async def test_wanting_a_solver_does_not_end_the_search_of_its_game(warming: Any) -> None:
    """A requested solver does not end the compilation of its own game's search, even if idle."""
    async with warming("othello") as pool:
        assert await pool.ordered() == ("othello", "search")
        pool.warmer.request("othello")
        pool.warmer.request("othello", "solver")
        pool.warmer.request("othello", "persona")
        await a_moment()
        assert pool.warmer.state("othello") == "warming"
        pool.compiled()
        assert await pool.ordered() == ("othello", "solver")
        assert pool.commands.count(("othello", "search")) == 1
        assert [process.closed for process in pool.processes] == [True, False], (
            "the first one gives way"
        )


async def test_what_the_cache_holds_is_settled_at_once(warming: Any) -> None:
    """A step in the cache is settled before `request` returns, and needs no process."""
    cached: set[Key] = {("hex", "search"), ("hex", "persona")}
    async with warming("chess", cached=cached) as pool:
        await pool.ordered()
        pool.warmer.request("hex")
        assert pool.warmer.state("hex") == "warm"
        assert pool.settled == ["hex"]
        assert pool.warmer.state("chess") == "warming"
        assert not pool.processes[0].closed
    async with warming("hex", cached=cached) as pool:
        await asyncio.wait_for(pool.warmer.settled("hex"), 60)
        await a_moment()
        assert pool.processes == []


async def test_a_bar_by_the_processors_time(warming: Any) -> None:
    """The percentage rises, restarts with its compilation, and is 100 only for a settled game."""
    async with warming("chess") as pool:
        await pool.ordered()
        told = [pool.warmer.percent("chess")]
        for cpu_s in (cold.CPU_S["chess"] / 4, cold.CPU_S["chess"] * 20):
            pool.processes[-1].says(Compiling("chess", round(cpu_s * 1000)))
            told.append(pool.warmer.percent("chess"))
        assert told == [0, 25, 99]
        pool.warmer.request("hex")
        await pool.ordered()
        assert pool.warmer.percent("chess") == 0
        pool.compiled()
        await pool.ordered()
        pool.compiled()
        await pool.warmer.settled("chess")
        assert pool.warmer.percent("chess") == pool.warmer.percent("hex") == 100


async def test_a_compiler_that_dies_is_tried_again_and_then_no_more(warming: Any) -> None:
    """After TRIES deaths the game has failed, and the next one is compiled."""
    async with warming("chess", "hex") as pool:
        for _ in range(TRIES):
            assert await pool.ordered() == ("chess", "search")
            pool.processes[-1].dies()
        assert await pool.ordered() == ("hex", "search")
        assert pool.warmer.state("chess") == "failed"
        assert "died" in str(pool.warmer.error("chess"))
        assert pool.deaths == TRIES


@pytest.mark.parametrize(("is_changed", "kind"), [(False, SearchFailed), (True, RulesChanged)])
async def test_a_game_that_does_not_compile(
    warming: Any, is_changed: bool, kind: type[SearchError]
) -> None:
    """A game whose search does not compile has failed, and none of its other steps are compiled.

    Its error says whether its files were edited.
    """
    async with warming("draughts", "othello") as pool:
        await pool.ordered()
        pool.compiled("these rules do not compile", is_changed)
        assert await pool.ordered() == ("othello", "search")
        pool.compiled()
        assert await pool.ordered() == ("othello", "solver")
        error = pool.warmer.error("draughts")
        assert (type(error), str(error)) == (kind, "these rules do not compile")


async def test_what_the_cache_has_lost_is_compiled_anew(warming: Any) -> None:
    """A game that the cache has lost is compiled anew, before all games without a request."""
    async with warming("hex", cached={("chess", "search")}) as pool:
        pool.warmer.request("chess")
        await pool.ordered()
        pool.cached.clear()
        pool.warmer.forget("chess")
        assert pool.warmer.state("chess") == "cold"
        assert await pool.ordered() == ("chess", "search")
