"""What is compiled in which order, with processes that only pretend to."""

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
    """A process that is told what to compile, and compiles it when the test says so."""

    def __init__(
        self, house: "House", on_message: Callable[..., None], on_end: Callable[..., None]
    ) -> None:
        self.house = house
        self.on_message = on_message
        self.on_end = on_end
        self.pid = len(house.processes) + 1
        self.closed = False
        self.given_way = False
        house.processes.append(self)

    async def start(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        self.closed = True
        await asyncio.sleep(0)

    def send(self, command: CompileCommand) -> None:
        assert not self.closed
        assert command.idle or not self.given_way, "what somebody waits for does not give way"
        self.given_way = self.given_way or command.idle
        self.house.commands.append((command.game, command.step))
        self.house.changed.set()

    def says(self, message: WorkerMessage) -> None:
        self.on_message(self, message)

    def dies(self) -> None:
        self.on_end(self)


class House:
    """A warmer with pretended processes and a cache that holds what a test says."""

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
        """The next thing that is compiled."""
        number = len(self.commands)
        while len(self.commands) == number:
            self.changed.clear()
            await self.changed.wait()
        return self.commands[-1]

    def compiled(self, error: str | None = None, is_changed: bool = False) -> None:
        """What is being compiled is done."""
        key = self.commands[-1]
        if error is None:
            self.cached.add(key)
        self.processes[-1].says(Compiled(key[0], error, is_changed))


async def a_moment() -> None:
    """All that can go on without news has gone on after this."""
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.fixture
def warming(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Starts a warmer for a test."""

    @asynccontextmanager
    async def begin(*spare: str, cached: set[Key] | None = None) -> AsyncIterator[House]:
        house = House(spare, cached if cached is not None else set())

        def is_ready(game_id: str, digest: str, step: str) -> bool:
            assert digest == load_game(game_id).digest
            return (game_id, step) in house.cached

        monkeypatch.setattr(code_cache, "is_ready", is_ready)
        task = asyncio.create_task(house.warmer.run())
        try:
            async with asyncio.timeout(60):
                yield house
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return begin


async def test_searches_come_before_solvers_and_personas(warming: Any) -> None:
    """At idle priority too: the kernels of all games, then what makes them better."""
    async with warming("chess", "connect-four") as house:
        found = []
        for _ in range(3):
            found.append(await house.ordered())
            house.compiled()
        assert found == [
            ("chess", "search"),
            ("connect-four", "search"),
            ("connect-four", "solver"),
        ]
        await a_moment()
        assert len(house.commands) == 3, "nobody has asked for a persona"
        house.warmer.request("chess", "persona")
        assert await house.ordered() == ("chess", "persona")
        assert [change for change in house.changes if change[1] == "warm"] == [
            ("chess", "warm"), ("connect-four", "warm"),
        ]  # fmt: skip


async def test_what_is_asked_for_ends_an_idle_compilation(warming: Any) -> None:
    """Its process goes, the game that is asked for is next, and what was ended begins anew."""
    async with warming("chess", "hex") as house:
        assert await house.ordered() == ("chess", "search")
        house.warmer.request("gomoku")
        assert await house.ordered() == ("gomoku", "search")
        assert [process.closed for process in house.processes] == [True, False]
        assert house.warmer.state("chess") == "cold"
        house.processes[0].says(Compiled("chess", None))  # too late
        await a_moment()
        assert house.warmer.state("chess") == "cold"
        assert house.warmer.state("gomoku") == "warming"
        house.compiled()
        assert await house.ordered() == ("chess", "search")
        assert house.deaths == 0


async def test_what_is_asked_for_while_the_process_starts(warming: Any) -> None:
    """No idle compilation begins then."""
    async with warming("chess") as house:
        house.warmer.add_spare("hex")
        while not house.processes:
            await asyncio.sleep(0)
        house.warmer.request("gomoku")
        assert await house.ordered() == ("gomoku", "search")


async def test_those_that_are_asked_for_take_turns(warming: Any) -> None:
    """First come, first compiled: one that somebody waits for does not end another one."""
    async with warming() as house:
        house.warmer.request("chess")
        assert await house.ordered() == ("chess", "search")
        house.warmer.request("hex")
        house.warmer.request("gomoku")
        house.compiled()
        assert await house.ordered() == ("hex", "search")
        house.compiled()
        assert await house.ordered() == ("gomoku", "search")
        assert len(house.processes) == 1


async def test_a_search_ends_what_is_less(warming: Any) -> None:
    """A solver that somebody wants waits for the search of its game, and gives way to that of any
    other.
    """
    async with warming() as house:
        house.warmer.request("othello", "solver")
        house.warmer.request("othello")
        assert await house.ordered() == ("othello", "search")
        house.compiled()
        assert await house.ordered() == ("othello", "solver")
        house.warmer.request("chess")
        assert await house.ordered() == ("chess", "search")
        house.compiled()
        assert await house.ordered() == ("othello", "solver")


async def test_wanting_a_solver_does_not_end_the_search_of_its_game(warming: Any) -> None:
    """Nor of the one that is compiled at idle priority."""
    async with warming("othello") as house:
        assert await house.ordered() == ("othello", "search")
        house.warmer.request("othello")
        house.warmer.request("othello", "solver")
        house.warmer.request("othello", "persona")
        await a_moment()
        assert house.warmer.state("othello") == "warming"
        house.compiled()
        assert await house.ordered() == ("othello", "solver")
        assert house.commands.count(("othello", "search")) == 1
        assert [process.closed for process in house.processes] == [True, False], (
            "the first one gives way"
        )


async def test_what_the_cache_holds_is_settled_at_once(warming: Any) -> None:
    """Before `ask` returns, whatever is being compiled; and without a process when nothing else is
    wanted.
    """
    cached: set[Key] = {("hex", "search"), ("hex", "persona")}
    async with warming("chess", cached=cached) as house:
        await house.ordered()
        house.warmer.request("hex")
        assert house.warmer.state("hex") == "warm"
        assert house.settled == ["hex"]
        assert house.warmer.state("chess") == "warming"
        assert not house.processes[0].closed
    async with warming("hex", cached=cached) as house:
        await asyncio.wait_for(house.warmer.settled("hex"), 60)
        await a_moment()
        assert house.processes == []


async def test_a_bar_by_the_processors_time(warming: Any) -> None:
    """It moves, begins anew when its compilation does, and is full when the game is ready only."""
    async with warming("chess") as house:
        await house.ordered()
        told = [house.warmer.percent("chess")]
        for cpu_s in (cold.CPU_S["chess"] / 4, cold.CPU_S["chess"] * 20):
            house.processes[-1].says(Compiling("chess", round(cpu_s * 1000)))
            told.append(house.warmer.percent("chess"))
        assert told == [0, 25, 99]
        house.warmer.request("hex")
        await house.ordered()
        assert house.warmer.percent("chess") == 0
        house.compiled()
        await house.ordered()
        house.compiled()
        await house.warmer.settled("chess")
        assert house.warmer.percent("chess") == house.warmer.percent("hex") == 100


async def test_a_compiler_that_dies_is_tried_again_and_then_no_more(warming: Any) -> None:
    """After so many deaths the game has failed, and the next one is compiled."""
    async with warming("chess", "hex") as house:
        for _ in range(TRIES):
            assert await house.ordered() == ("chess", "search")
            house.processes[-1].dies()
        assert await house.ordered() == ("hex", "search")
        assert house.warmer.state("chess") == "failed"
        assert "died" in str(house.warmer.error("chess"))
        assert house.deaths == TRIES


@pytest.mark.parametrize(("is_changed", "kind"), [(False, SearchFailed), (True, RulesChanged)])
async def test_a_game_that_does_not_compile(
    warming: Any, is_changed: bool, kind: type[SearchError]
) -> None:
    """It has failed, and nothing more of it is compiled; its searches are told when its files were
    edited.
    """
    async with warming("draughts", "othello") as house:
        await house.ordered()
        house.compiled("these rules do not compile", is_changed)
        assert await house.ordered() == ("othello", "search")
        house.compiled()
        assert await house.ordered() == ("othello", "solver")
        error = house.warmer.error("draughts")
        assert (type(error), str(error)) == (kind, "these rules do not compile")


async def test_what_the_cache_has_lost_is_compiled_anew(warming: Any) -> None:
    """Before all that nobody asked for."""
    async with warming("hex", cached={("chess", "search")}) as house:
        house.warmer.request("chess")
        await house.ordered()
        house.cached.clear()
        house.warmer.forget("chess")
        assert house.warmer.state("chess") == "cold"
        assert await house.ordered() == ("chess", "search")
