"""Games whose files are edited while a pool runs: old and new rules, and old and new data, never
mix.
"""

import asyncio
import os
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from engine.compiler.interpreted import interpret_game
from engine.pool.messages import CompileCommand, WorkerCommand
from engine.pool.pool import Pool
from engine.pool.process import WorkerProcess
from engine.rules import registry
from engine.rules.registry import load_game
from engine.search.job import Limit, Result, RulesChanged
from tests.support.clock import until
from tests.support.pools import SOURCE as PLANTED
from tests.support.pools import job_of

#: The original method, which the fixture `compiler` replaces.
send = WorkerProcess.send
#: The rules of a game that no other module plants: the code cache keeps the last three versions of
#: a game, and those of other modules would drop these.
NAMED = PLANTED.replace('"planted"', '"edited"')
#: The same game; its evaluation is the first word of a data file.
SOURCE = NAMED.replace("DATA = ()", 'DATA = ("edited.bin",)').replace(
    "    return 0\n", "    return data[0]\n"
)
#: The content of the data file, and an edit of it.
TEN, TWENTY = (struct.pack("<qB", word, 0) for word in (10, 20))
#: What no earlier run has compiled.
RUN = uuid4().hex
#: An edit of the rules: the evaluation returns 3.
EDIT = ("    return data[0]\n", "    return 3\n")


class HeldCompiler:
    """Holds the pool's CompileCommands back until the test releases them."""

    def __init__(self) -> None:
        self.held: list[tuple[WorkerProcess, WorkerCommand]] = []

    def hold(self, process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, CompileCommand):
            self.held.append((process, command))
        else:
            send(process, command)

    def release(self) -> None:
        send(*self.held.pop())


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> HeldCompiler:
    """Returns a compiler that holds back compilations in this test."""
    compiler = HeldCompiler()
    monkeypatch.setattr(
        WorkerProcess, "send", lambda process, command: compiler.hold(process, command)
    )
    return compiler


@pytest.fixture
def install(plug_in: Callable[[str, str], Path]) -> Callable[[str], Path]:
    """Returns a function that installs a version of the game with its data and returns its file."""

    def installed(source: str) -> Path:
        file = plug_in("edited", source)
        file.with_name("edited.bin").write_bytes(TEN)
        return file

    return installed


#: The rules that are compiled before the edit, and after it.
COMPILED = {
    when: f"{SOURCE}# compiled {when} {RUN}\n" for when in ("before the edit", "after the edit")
}


@pytest.mark.parametrize("compiled", COMPILED)
async def test_a_worker_with_the_old_rules_searches_uncompiled(
    install: Callable[[str], Path], compiler: HeldCompiler, compiled: str
) -> None:
    """A worker that loaded the old rules before the edit searches levels uncompiled.

    It cannot load their compiled search after the edit, and it refuses jobs with their own limits.
    """
    file = install(COMPILED[compiled])
    jobs = [job_of("edited", level=level) for level in (1, 3)]
    job_with_limit = job_of("edited", limit=Limit(depth=2))
    async with Pool(workers=1, warm=()) as own_pool:
        assert (await own_pool.search(jobs[0])).move
        if compiled == "before the edit":
            compiler.release()
            await own_pool.warm("edited")
        file.write_text(file.read_text().replace(*EDIT))
        if compiled == "after the edit":
            compiler.release()
            with pytest.raises(RulesChanged):
                await own_pool.warm("edited")
        assert [(await own_pool.search(job)).info.warming for job in jobs] == [False, True]
        assert own_pool.warm_percent("edited") == 100, "no compilation is pending"
        with pytest.raises(RulesChanged):
            await own_pool.search(job_with_limit)
        scores = [(await own_pool.search(job)).info.score for job in jobs]
        assert abs(scores[0]) == 10
        assert abs(scores[1]) in (0, 10), "level 3 may see the draw"
        os.kill(own_pool.pids[0], signal.SIGKILL)
        with pytest.raises(RulesChanged):
            await own_pool.search(jobs[0])


async def test_edited_rules_are_refused(
    install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that started after an edit refuses jobs for the old rules."""
    source = COMPILED["before the edit"]  # which the test before has compiled
    file = install(source)
    old = job_of("edited", limit=Limit(depth=2))
    async with Pool(workers=1, warm=()) as own_pool:
        assert (await own_pool.search(old)).info.score == 10
        file.write_text(source.replace(*EDIT))
        assert (await own_pool.search(old)).info.score == 10, (
            "the worker has the old rules, as this process does"
        )
        os.kill(own_pool.pids[0], signal.SIGKILL)
        with pytest.raises(RulesChanged):
            await own_pool.search(old)
        install(file.read_text())
        compiler = HeldCompiler()
        monkeypatch.setattr(
            WorkerProcess, "send", lambda process, command: compiler.hold(process, command)
        )
        uncompiled = await own_pool.search(job_of("edited", level=1))
        assert abs(uncompiled.info.score) == 3


async def test_edited_data_under_a_running_pool(
    install: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker keeps the data that it started with.

    A worker that starts after the edit refuses jobs for the old data.
    """
    numbers = install(COMPILED["before the edit"]).with_name("edited.bin")  # compiled above
    old = job_of("edited", limit=Limit(depth=1))
    async with Pool(workers=1, warm=()) as pool:
        assert abs((await pool.search(old)).info.score) == 10
        numbers.write_bytes(TWENTY)
        assert abs((await pool.search(old)).info.score) == 10, (
            "the worker has the old data, as this process does"
        )
        for _ in range(2):
            answers = asyncio.gather(*(pool.search(old) for _ in range(3)), return_exceptions=True)
            os.kill(await worker_pid(pool), signal.SIGKILL)
            for answer in await answers:
                if isinstance(answer, Result):
                    assert abs(answer.info.score) == 10
                else:
                    assert isinstance(answer, RulesChanged)
        with pytest.raises(RulesChanged):
            await pool.search(old)
        registry.clear()
        compiler = HeldCompiler()  # compiling the search of the new rules would take seconds
        monkeypatch.setattr(
            WorkerProcess, "send", lambda process, command: compiler.hold(process, command)
        )
        uncompiled = job_of("edited", level=1)
        assert uncompiled.rules != old.rules
        assert abs((await pool.search(uncompiled)).info.score) == 20


async def worker_pid(pool: Pool) -> int:
    """Returns the process id of the only worker, once it is ready."""
    await until(lambda: bool(pool.pids))
    return pool.pids[0]


def test_edited_data_is_not_searched_uncompiled(
    plug_in: Callable[[str, str], Path],
) -> None:
    """If DATA was edited after the rules were loaded, an uncompiled search raises RulesChanged."""
    numbers = plug_in("edited", NAMED).with_name("edited.txt")
    numbers.write_text("worth: 1\n")
    plug_in("edited", NAMED.replace("DATA = ()", 'DATA = ("edited.txt",)'))
    game = load_game("edited")
    assert interpret_game(game).data.array.tolist() == [1]
    numbers.write_text("worth: 2\n")
    with pytest.raises(RulesChanged):
        interpret_game(game)
