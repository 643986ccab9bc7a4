"""The order in which the warmer compiles games, with fake processes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from msgspec.structs import replace

from engine.compiler import code_cache
from engine.pool.compile_queue import WarmState
from engine.pool.messages import CompileCommand, Compiled, Compiling, Step, WorkerMessage
from engine.pool.process import WorkerProcess
from engine.pool.readiness import Readiness
from engine.pool.slot import WorkerSlot
from engine.pool.warmer import (
    COMPILE_CPU_MS,
    COMPILE_TRIES,
    FIRST_PAUSE_S,
    MAX_PAUSE_S,
    STANDSTILL_CPU_MS,
    STANDSTILL_S,
    Warmer,
)
from engine.rules.measured import measured_of
from engine.rules.registry import load_game
from engine.search.job import Limit, RulesChanged, SearchError, SearchFailed
from tests.support.pools import job_of
from tests.support.virtual_time import run_virtual

#: The id of a game and a step of its compilation.
Key = tuple[str, Step]


class FakeCompiler:
    """A fake process; the test ends its compilations."""

    def __init__(
        self, pool: "FakePool", on_message: Callable[..., None], on_end: Callable[..., None]
    ) -> None:
        self.pool = pool
        self.on_message = on_message
        self.on_end = on_end
        self.pid = len(pool.processes) + 1
        self.is_closed = False
        self.is_idle = False
        pool.processes.append(self)

    async def start(self) -> None:
        await asyncio.sleep(0)

    async def close(self) -> None:
        self.is_closed = True
        await asyncio.sleep(0)

    def send(self, command: CompileCommand) -> None:
        assert not self.is_closed
        assert command.idle or not self.is_idle, "a request needs a process of normal priority"
        self.is_idle = self.is_idle or command.idle
        self.pool.commands.append((command.game, command.step))
        self.pool.changed.set()

    def report(self, message: WorkerMessage) -> None:
        self.on_message(self, message)

    def die(self) -> None:
        self.on_end(self)


class FakePool:
    """A warmer with fake processes and a fake cache."""

    def __init__(self, idle_games: tuple[str, ...], cached: set[Key]) -> None:
        self.cached = cached
        self.processes: list[FakeCompiler] = []
        self.commands: list[Key] = []
        self.changes: list[tuple[str, WarmState]] = []
        self.settled: list[str] = []
        self.deaths = 0
        self.changed = asyncio.Event()
        self.warmer = Warmer(
            lambda on_message, on_end: cast(WorkerProcess, FakeCompiler(self, on_message, on_end)),
            idle_games,
            lambda game_id, state: self.changes.append((game_id, state)),
            lambda game_id, step: self.settled.append(game_id),
            self.count_death,
        )

    def count_death(self) -> None:
        self.deaths += 1

    async def next_command(self) -> Key:
        """Waits for the next command and returns it."""
        number = len(self.commands)
        while len(self.commands) == number:
            self.changed.clear()
            await self.changed.wait()
        return self.commands[-1]

    def finish(self, error: str | None = None, is_changed: bool = False) -> None:
        """Ends the running compilation."""
        key = self.commands[-1]
        if error is None:
            self.cached.add(key)
        self.processes[-1].report(Compiled(key[0], error, is_changed))


async def run_pending_tasks() -> None:
    """Runs all tasks that do not wait for a message."""
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.fixture
def run_warmer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that runs a warmer with fake processes."""

    @asynccontextmanager
    async def run(*idle_games: str, cached: set[Key] | None = None) -> AsyncIterator[FakePool]:
        pool = FakePool(idle_games, cached if cached is not None else set())

        def is_ready(game_id: str, digest: str, step: str) -> bool:
            assert digest == load_game(game_id).digest
            return (game_id, step) in pool.cached

        monkeypatch.setattr(code_cache, "is_ready", is_ready)
        task = asyncio.create_task(pool.warmer.run())
        try:
            yield pool
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    return run


async def test_searches_come_before_solvers_and_personas(run_warmer: Any) -> None:
    """The searches of all games are compiled before any solver or persona."""
    async with run_warmer("chess", "connect-four") as pool:
        commands = []
        for _ in range(3):
            commands.append(await pool.next_command())
            pool.finish()
        assert commands == [
            ("chess", "search"),
            ("connect-four", "search"),
            ("connect-four", "solver"),
        ]
        await run_pending_tasks()
        assert len(pool.commands) == 3, "no persona was requested"
        pool.warmer.request("chess", "persona")
        assert await pool.next_command() == ("chess", "persona")
        assert [change for change in pool.changes if change[1] == "warm"] == [
            ("chess", "warm"), ("connect-four", "warm"),
        ]  # fmt: skip


async def test_a_request_ends_an_idle_compilation(run_warmer: Any) -> None:
    """A request ends an idle compilation, which is restarted afterwards."""
    async with run_warmer("chess", "hex") as pool:
        assert await pool.next_command() == ("chess", "search")
        pool.warmer.request("gomoku")
        assert await pool.next_command() == ("gomoku", "search")
        assert [process.is_closed for process in pool.processes] == [True, False]
        assert pool.warmer.state("chess") == "cold"
        pool.processes[0].report(Compiled("chess", None))  # too late
        await run_pending_tasks()
        assert pool.warmer.state("chess") == "cold"
        assert pool.warmer.state("gomoku") == "warming"
        pool.finish()
        assert await pool.next_command() == ("chess", "search")
        assert pool.deaths == 0


async def test_a_request_while_the_process_starts(run_warmer: Any) -> None:
    """A request while the process starts prevents the idle compilation."""
    async with run_warmer("chess") as pool:
        pool.warmer.add_idle_game("hex")
        while not pool.processes:
            await asyncio.sleep(0)
        pool.warmer.request("gomoku")
        assert await pool.next_command() == ("gomoku", "search")


async def test_requests_are_served_in_order(run_warmer: Any) -> None:
    """Requests are served in order of arrival and do not end each other's compilation."""
    async with run_warmer() as pool:
        pool.warmer.request("chess")
        assert await pool.next_command() == ("chess", "search")
        pool.warmer.request("hex")
        pool.warmer.request("gomoku")
        pool.finish()
        assert await pool.next_command() == ("hex", "search")
        pool.finish()
        assert await pool.next_command() == ("gomoku", "search")
        assert len(pool.processes) == 1


async def test_a_requested_search_comes_first(run_warmer: Any) -> None:
    """A requested solver waits for its game's search, and a requested search preempts a solver."""
    async with run_warmer() as pool:
        pool.warmer.request("othello", "solver")
        pool.warmer.request("othello")
        assert await pool.next_command() == ("othello", "search")
        pool.finish()
        assert await pool.next_command() == ("othello", "solver")
        pool.warmer.request("chess")
        assert await pool.next_command() == ("chess", "search")
        pool.finish()
        assert await pool.next_command() == ("othello", "solver")


async def test_a_requested_solver_does_not_end_its_search(run_warmer: Any) -> None:
    """A requested solver does not end the compilation of its own game's search, even if idle."""
    async with run_warmer("othello") as pool:
        assert await pool.next_command() == ("othello", "search")
        pool.warmer.request("othello")
        pool.warmer.request("othello", "solver")
        pool.warmer.request("othello", "persona")
        await run_pending_tasks()
        assert pool.warmer.state("othello") == "warming"
        pool.finish()
        assert await pool.next_command() == ("othello", "solver")
        assert pool.commands.count(("othello", "search")) == 1
        assert [process.is_closed for process in pool.processes] == [True, False], (
            "the idle process is closed after its compilation"
        )


async def test_a_cached_step_is_settled_at_once(run_warmer: Any) -> None:
    """A cached step is settled before `request` returns and needs no process."""
    cached: set[Key] = {("hex", "search"), ("hex", "persona")}
    async with run_warmer("chess", cached=cached) as pool:
        await pool.next_command()
        pool.warmer.request("hex")
        assert pool.warmer.state("hex") == "warm"
        assert pool.settled == ["hex"]
        assert pool.warmer.state("chess") == "warming"
        assert not pool.processes[0].is_closed
    async with run_warmer("hex", cached=cached) as pool:
        await asyncio.wait_for(pool.warmer.wait_until_settled("hex"), 60)
        await run_pending_tasks()
        assert pool.processes == []


async def test_progress_is_measured_in_processor_time(run_warmer: Any) -> None:
    """The percentage follows the processor time and is 100 only for a settled game."""
    async with run_warmer("chess") as pool:
        await pool.next_command()
        percentages = [pool.warmer.percent("chess")]
        usual_s = measured_of(load_game("chess")).compile_cpu_s
        for cpu_s in (usual_s / 4, usual_s * 20):
            pool.processes[-1].report(Compiling("chess", round(cpu_s * 1000)))
            percentages.append(pool.warmer.percent("chess"))
        assert percentages == [0, 25, 99]
        pool.warmer.request("hex")
        await pool.next_command()
        assert pool.warmer.percent("chess") == 0
        pool.finish()
        await pool.next_command()
        pool.finish()
        await pool.warmer.wait_until_settled("chess")
        assert pool.warmer.percent("chess") == pool.warmer.percent("hex") == 100


def test_a_compiler_that_dies_is_restarted_later(run_warmer: Any) -> None:
    """After COMPILE_TRIES deaths of its compiler a game pauses, and the next game is compiled.

    It is compiled again after the pause. Each further death doubles the pause, up to MAX_PAUSE_S.
    Who waits for the game does not wait for the end of a pause.
    """

    async def run() -> None:
        now_s = asyncio.get_running_loop().time
        async with run_warmer("chess", "hex") as pool:
            for number in range(COMPILE_TRIES):
                assert await pool.next_command() == ("chess", "search")
                waiting = asyncio.create_task(pool.warmer.wait_until_settled("chess"))
                await run_pending_tasks()
                assert not waiting.done(), number
                pool.processes[-1].die()
            assert await pool.next_command() == ("hex", "search")
            pool.finish()
            await waiting
            assert pool.deaths == COMPILE_TRIES
            pauses_s = []
            for number in range(8):
                assert pool.warmer.state("chess") == "cold"
                deaths = f"{COMPILE_TRIES + number} processes died"
                assert deaths in str(pool.warmer.error("chess"))
                begun_s = now_s()
                pool.warmer.request("chess")
                assert await pool.next_command() == ("chess", "search")
                assert pool.warmer.error("chess") is None
                pauses_s.append(now_s() - begun_s)
                pool.processes[-1].die()
                await run_pending_tasks()
            expected = [min(FIRST_PAUSE_S * 2**number, MAX_PAUSE_S) for number in range(8)]
            assert pauses_s == pytest.approx(expected)
            await pool.next_command()
            pool.finish()
            await pool.warmer.wait_until_settled("chess")
            assert pool.warmer.state("chess") == "warm"
            assert pool.settled[-1] == "chess"

    run_virtual(run())


def test_an_analysis_does_not_wait_for_a_solver_that_pauses(run_warmer: Any) -> None:
    """A job that asks the solver waits while it is compiled, but not for the end of its pause, nor
    for a try after it.
    """
    job = replace(job_of("othello", limit=Limit(depth=2)), use="analysis", solver_nodes=1000)

    async def run() -> None:
        async with run_warmer(cached={("othello", "search")}) as pool:
            readiness = Readiness(pool.warmer)
            readiness.request(job, load_game("othello"))
            for _ in range(COMPILE_TRIES):
                assert await pool.next_command() == ("othello", "solver")
                assert not readiness.is_searchable(job, 0.0)
                pool.processes[-1].die()
            await run_pending_tasks()
            assert readiness.error(job) is None
            assert readiness.is_searchable(job, 0.0)
            assert pool.settled[-1] == "othello", "the pool searches it now"
            assert await pool.next_command() == ("othello", "solver")
            assert readiness.is_searchable(job, 0.0)
            pool.finish()
            await run_pending_tasks()
            assert readiness.is_searchable(job, 0.0)

    run_virtual(run())


def test_a_request_goes_before_a_step_whose_processes_died(run_warmer: Any) -> None:
    """A step is tried again at once only if no other requested step waits; a request ends the try.

    Steps whose processes died do not end each other's tries.
    """

    async def run() -> None:
        async with run_warmer(cached={("othello", "search")}) as pool:
            pool.warmer.request("othello")
            pool.warmer.request("chess")
            assert await pool.next_command() == ("chess", "search")
            pool.warmer.request("hex")
            pool.processes[-1].die()
            assert await pool.next_command() == ("hex", "search")
            pool.processes[-1].die()
            assert await pool.next_command() == ("chess", "search")
            await run_pending_tasks()
            assert len(pool.commands) == 3
            for key in (("gomoku", "search"), ("othello", "solver")):
                pool.warmer.request(*key)
                assert await pool.next_command() == key
                assert pool.warmer.state("chess") == "cold"
                pool.finish()
                assert await pool.next_command() == ("chess", "search")
            pool.finish()
            assert await pool.next_command() == ("hex", "search")

    run_virtual(run())


@pytest.mark.parametrize("step", ["search", "persona"])
def test_a_compilation_without_end_has_failed(run_warmer: Any, step: Step) -> None:
    """A step that has used COMPILE_CPU_MS fails at once and is not tried again.

    The levels and personas of its game are searched uncompiled; other games are compiled.
    """
    persona = replace(job_of("chess"), persona="average")

    async def run() -> None:
        games = ("chess", "hex")
        cached: set[Key] = {(game, "search") for game in games if step == "persona"}
        async with run_warmer(cached=cached) as pool:
            readiness = Readiness(pool.warmer)
            readiness.request(persona, load_game("chess"))
            assert await pool.next_command() == ("chess", step)
            pool.warmer.request("hex")
            pool.warmer.request("hex", step)
            pool.processes[-1].report(Compiling("chess", COMPILE_CPU_MS))
            await run_pending_tasks()
            assert pool.warmer.error("chess", step) is None
            pool.processes[-1].report(Compiling("chess", COMPILE_CPU_MS + 1))
            assert await pool.next_command() == ("hex", step)
            assert [process.is_closed for process in pool.processes] == [True, False]
            pool.finish()
            await asyncio.sleep(2 * MAX_PAUSE_S)
            assert pool.commands.count(("chess", step)) == 1
            assert "600 s of processor time" in str(pool.warmer.error("chess", step))
            slot = WorkerSlot(cast(WorkerProcess, None))
            assert readiness.error(persona) is None
            assert readiness.is_searchable(persona, 0.0)
            assert readiness.is_uncompiled_at(slot, persona, 0.0)
            error = readiness.error(job_of("chess", limit=Limit(depth=2)))
            assert (error is None) == (step == "persona")

    run_virtual(run())


@pytest.mark.parametrize("is_idle", [True, False])
def test_a_slow_machine_compiles_as_long_as_it_needs(run_warmer: Any, is_idle: bool) -> None:
    """A compilation goes on for hours while its processor time grows, however slowly.

    A process that stands still for STANDSTILL_S is replaced.
    """

    async def run() -> None:
        async with run_warmer(*(["chess"] if is_idle else [])) as pool:
            if not is_idle:
                pool.warmer.request("chess")
            await pool.next_command()
            for beat in range(100):
                await asyncio.sleep(STANDSTILL_S - 1)
                pool.processes[-1].report(Compiling("chess", (beat + 1) * STANDSTILL_CPU_MS))
            assert len(pool.commands) == len(pool.processes) == 1
            # Its heartbeats are no progress.
            begun_s = asyncio.get_running_loop().time()
            next_command = asyncio.create_task(pool.next_command())
            while not next_command.done():
                pool.processes[-1].report(Compiling("chess", 101 * STANDSTILL_CPU_MS - 1))
                await asyncio.sleep(1)
            stood_s = asyncio.get_running_loop().time() - begun_s
            assert stood_s == pytest.approx(STANDSTILL_S, abs=1)
            assert [process.is_closed for process in pool.processes] == [True, False]
            pool.finish()
            await pool.warmer.wait_until_settled("chess")
            assert pool.warmer.state("chess") == "warm"

    run_virtual(run())


@pytest.mark.parametrize(("is_changed", "kind"), [(False, SearchFailed), (True, RulesChanged)])
async def test_a_game_that_does_not_compile(
    run_warmer: Any, is_changed: bool, kind: type[SearchError]
) -> None:
    """A game whose search does not compile has failed, and its other steps are not compiled.

    Its error is RulesChanged if its files were edited.
    """
    async with run_warmer("draughts", "othello") as pool:
        await pool.next_command()
        pool.finish("these rules do not compile", is_changed)
        assert await pool.next_command() == ("othello", "search")
        pool.finish()
        assert await pool.next_command() == ("othello", "solver")
        error = pool.warmer.error("draughts")
        assert (type(error), str(error)) == (kind, "these rules do not compile")


async def test_a_lost_step_is_compiled_again(run_warmer: Any) -> None:
    """A game that the cache has lost is compiled again, before games that were not requested."""
    async with run_warmer("hex", cached={("chess", "search")}) as pool:
        pool.warmer.request("chess")
        await pool.next_command()
        pool.cached.clear()
        pool.warmer.forget("chess")
        assert pool.warmer.state("chess") == "cold"
        assert await pool.next_command() == ("chess", "search")
