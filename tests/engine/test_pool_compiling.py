"""The pool with real processes: games that are faulty, not yet compiled, or lost by the cache."""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from engine.compiler import code_cache
from engine.compiler.native import compile_game
from engine.game import Game
from engine.pool import transport
from engine.pool.compile_queue import WarmState
from engine.pool.messages import CompileCommand, Compiled, NotCompiled, SearchCommand, WorkerCommand
from engine.pool.pool import Pool
from engine.pool.process import WorkerProcess
from engine.pool.quarantine import FAULTS_IN_A_ROW
from engine.pool.worker import IDLE_NICE
from engine.rules.registry import load_game
from engine.search.job import GameQuarantined, Job, Limit, Result, SearchFailed
from tests.support.clock import until
from tests.support.pools import SOURCE as PLANTED
from tests.support.pools import job_of, timed_job

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: What no earlier run has compiled.
RUN = uuid4().hex
#: The root of the repository.
ROOT = Path(__file__).parents[2]


def faulty_job(depth: int) -> Job:
    """Returns a job from the start at which the evaluation raises, if the rules compile."""
    return replace(job_of("pooled", limit=Limit(depth=depth)), start="fault")


def without_time(result: Result) -> tuple[object, ...]:
    """Returns the fields of a result that do not depend on time."""
    return result.move, result.info.depth, result.info.nodes, result.info.moves


# Compiling takes seconds, and the code cache keeps the last three versions of a game. The first
# test compiles one version, and the others use its code.
#: What `evaluate` does after the start "fault": it raises once both sides have a piece, and never
#: returns once the side on turn has two.
RAISES = """\
    n = 0
    if (s[0] | s[1]) & FAULT and s[0] & FULL and s[1] & FULL:
        n = 1 if s[0] & FULL & ((s[0] & FULL) - ONE) else 0
        while n > 0:
            n = (n & 7) + 1
        raise ValueError('faulty')
    return 0
"""
#: The rules of a game that no other module plants, because these tests expect its lock to be free.
SOURCE = (
    PLANTED.replace('"planted"', '"pooled"')
    .replace("NONE = U(0)\n", "NONE = U(0)\nFAULT = U(1 << 10)\n")
    .replace("    return 0\n", RAISES)
    .replace(
        "    if len(text) != 9",
        "    if text == 'fault':\n        return NONE, FAULT\n    if len(text) != 9",
    )
)
#: The same rules, compiled once for several tests.
ONCE = f"{SOURCE}# once in {RUN}\n"
#: Rules with other scores, which only uncompiled searches use.
SCORES_3 = SOURCE.replace("    return 0\n", "    return 3\n") + f"# scores 3 in {RUN}\n"
#: Rules with a faulty evaluation.
FAULTY = {
    "raises": ONCE,
    "does not compile": SOURCE.replace(RAISES, "    return {}.get(s[0], 0)\n"),
}


async def test_a_cold_game_is_played_uncompiled(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game's first job starts its compilation; until its end low levels are played as usual.

    Other levels search less deeply and set `warming`, and a job with its own limits waits. The only
    worker answers the jobs of other games while another process compiles.
    """
    plug_in("pooled", ONCE)
    states: list[WarmState] = []
    held: list[tuple[WorkerProcess, WorkerCommand]] = []
    send = WorkerProcess.send

    def hold(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, CompileCommand):
            held.append((process, command))
        else:
            send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", hold)
    async with Pool(
        workers=1,
        warm=(),
        on_warm=lambda game_id, state: states.append(state) if game_id == "pooled" else None,
    ) as own_pool:
        assert own_pool.warm_state("pooled") == "cold"
        low = [await own_pool.search(job_of("pooled", level=level)) for level in (1, 2)]
        level_3 = await own_pool.search(job_of("pooled", level=3))
        random_move = await own_pool.search(replace(job_of("pooled"), persona="random"))
        average = await own_pool.search(replace(job_of("pooled"), persona="average"))
        assert [result.info.warming for result in (*low, level_3, random_move, average)] == [
            False,
            False,
            True,
            False,
            True,
        ]
        assert own_pool.warm_state("pooled") == "warming"
        assert own_pool.warm_percent("pooled") < 100
        assert [command for _, command in held] == [
            CompileCommand("pooled", load_game("pooled").digest, idle=False)
        ]
        waiting = asyncio.create_task(own_pool.search(job_of("pooled", limit=Limit(depth=9))))
        await until(lambda: own_pool.waiting_count == 1)
        send(*held.pop())
        for _ in range(4):
            assert (await own_pool.search(job_of("tic-tac-toe", "other", level=1))).move
        assert own_pool.warm_state("pooled") == "warming"
        info = (await waiting).info
        assert (info.score, info.depth, info.warming) == (0, 9, False)
        assert states == ["warming", "warm"]
        assert own_pool.warm_percent("pooled") == 100
        again = [await own_pool.search(job_of("pooled", level=level)) for level in (1, 2)]
        for before, after in zip(low, again, strict=True):
            assert without_time(before) == without_time(after)
        assert not (await own_pool.search(job_of("pooled", level=3))).info.warming


def code_of(game: Game) -> dict[Path, bytes]:
    """Returns the files of a game's code in the cache, with their contents."""
    folder, tag = code_cache.code_folder(), code_cache.tag_of(game.id, game.digest)
    files = [*code_cache.code_files(folder, tag), *folder.glob(f"{tag}.sums")]
    assert len(files) > 2
    return {file: file.read_bytes() for file in files}


async def test_a_locked_game_is_played_uncompiled(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process holds the lock of a game's files: no live job waits for it.

    While it is compiled, and after it was compiled, the game is played uncompiled, and other games
    are compiled in the meantime. A job that needs the compiled search waits. The death of the
    compiling process delays that job but does not fail it.

    The files of the first test come back when the next process is told to compile.
    """
    plug_in("pooled", ONCE)
    game = load_game("pooled")
    compile_game(game).function("root")
    content = code_of(game)
    for file in content:
        file.unlink()
    killed: list[WorkerProcess] = []
    send = WorkerProcess.send

    def restore(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, CompileCommand) and killed:
            for file, code in content.items():
                file.write_bytes(code)
        send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", restore)
    states: list[tuple[str, WarmState]] = []
    async with Pool(
        workers=2, warm=(), on_warm=lambda game_id, state: states.append((game_id, state))
    ) as own_pool:
        with code_cache.locked(code_cache.code_folder(), "pooled"):
            assert (await own_pool.search(job_of("pooled", level=3))).info.warming
            await own_pool.warm("tic-tac-toe")
            await until(lambda: states.count(("pooled", "cold")) > 0)
            assert own_pool.warm_state("pooled") != "warm"
        waiting = asyncio.create_task(own_pool.search(job_of("pooled", limit=Limit(depth=2))))
        await until(lambda: own_pool.warm_state("pooled") == "warming")
        compiler = own_pool._warmer.process
        assert compiler is not None
        assert compiler.pid is not None
        killed.append(compiler)
        os.kill(compiler.pid, signal.SIGKILL)
        info = (await waiting).info
        assert (info.score, info.depth, info.warming) == (0, 2, False)
        assert own_pool._warmer.process is not compiler
        loaded = set(own_pool.pids)
        for pid in loaded:
            os.kill(pid, signal.SIGKILL)  # the next workers have not loaded the game
        await until(lambda: own_pool.ready_worker_count == 2 and loaded.isdisjoint(own_pool.pids))
        with code_cache.locked(code_cache.code_folder(), "pooled"):
            assert (await own_pool.search(job_of("pooled", level=3))).info.warming
            waiting = asyncio.create_task(own_pool.search(job_of("pooled", limit=Limit(depth=2))))
            assert (await own_pool.search(job_of("pooled", level=3))).info.warming
            assert not waiting.done()
        assert (await waiting).info.depth == 2


@pytest.mark.parametrize("fault", FAULTY)
async def test_a_faulty_game_fails_alone(plug_in: Callable[[str, str], Path], fault: str) -> None:
    """Rules that raise or do not compile fail only the jobs of their game."""
    plug_in("pooled", FAULTY[fault])
    async with Pool(workers=1, warm=()) as own_pool:
        for _ in range(2):
            with pytest.raises(SearchFailed, match=r"faulty|do not compile"):
                await own_pool.search(faulty_job(3))
        pids = set(own_pool.pids)
        assert (await own_pool.search(timed_job(50))).move
        assert pids <= set(own_pool.pids)
        assert own_pool.warm_state("pooled") == ("warm" if fault == "raises" else "failed")


async def test_a_game_that_cannot_be_loaded_fails_alone(
    plug_in: Callable[[str, str], Path],
) -> None:
    """A rules file with a syntax error fails only its own jobs; other games are still compiled."""
    plug_in("pooled", "this is not a rules file")
    async with Pool(workers=1, warm=["pooled", "tic-tac-toe"]) as own_pool:
        with pytest.raises(SearchFailed, match="SyntaxError"):
            await own_pool.warm("pooled")
        with pytest.raises(SearchFailed, match="pooled cannot be loaded: SyntaxError"):
            await own_pool.search(replace(job_of(), game="pooled"))
        await own_pool.warm("tic-tac-toe")
        assert (await own_pool.search(job_of("tic-tac-toe", level=1))).move


async def test_a_game_that_keeps_failing_is_quarantined(
    plug_in: Callable[[str, str], Path],
) -> None:
    """After three consecutive faults all searches of a game fail, including waiting ones.

    Other games are not affected, invalid jobs do not count, an answer resets the count, and so do
    edited rules.
    """
    plug_in("pooled", ONCE)
    failing, working = faulty_job(3), faulty_job(1)
    async with Pool(workers=1, warm=()) as own_pool:
        for _ in range(FAULTS_IN_A_ROW):
            with pytest.raises(SearchFailed, match="nonsense"):
                await own_pool.search(replace(working, start="nonsense"))
        for _ in range(FAULTS_IN_A_ROW - 1):
            with pytest.raises(SearchFailed, match="faulty"):
                await own_pool.search(failing)
        assert (await own_pool.search(working)).move, (
            "a search of depth 1 does not raise, and its answer resets the count"
        )
        tasks = [asyncio.create_task(own_pool.search(failing)) for _ in range(FAULTS_IN_A_ROW + 2)]
        kinds = [type(error) for error in await asyncio.gather(*tasks, return_exceptions=True)]
        assert kinds == [SearchFailed] * FAULTS_IN_A_ROW + [GameQuarantined] * 2
        with pytest.raises(GameQuarantined, match=r"pooled gets no more searches.*faulty"):
            await own_pool.search(working)
        assert (await own_pool.search(timed_job(50))).move
        plug_in("pooled", SCORES_3)
        os.kill(own_pool.pids[0], signal.SIGKILL)  # this worker has the old rules
        assert abs((await own_pool.search(job_of("pooled", level=1))).info.score) == 3


async def test_rules_that_never_return_are_killed(plug_in: Callable[[str, str], Path]) -> None:
    """An endless loop in compiled rules gets its worker killed; the job fails after three tries."""
    plug_in("pooled", ONCE)
    moves = ("a1", "b1", "a2", "b2")
    job = replace(job_of("pooled", limit=Limit(time_ms=100)), start="fault", moves=moves)
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("pooled")
        with pytest.raises(SearchFailed, match="3 workers"):
            await own_pool.search(job)
        assert (await own_pool.search(timed_job(50))).move


async def test_a_game_whose_compiler_dies_is_played_uncompiled(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes that compile a game keep dying: its levels and personas play on, uncompiled.

    A job with its own limits fails and says why, and like `warm` does not wait for the next try.
    """
    plug_in("pooled", f"{SOURCE}# its compiler dies {RUN}\n")
    send = WorkerProcess.send

    def kill(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, CompileCommand):
            process.kill()
        else:
            send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", kill)
    errors: list[tuple[str, str, str]] = []
    async with Pool(
        workers=1,
        warm=(),
        on_compile_error=lambda *error: errors.append((*error[:2], str(error[2]))),
    ) as own_pool:
        waiting = asyncio.create_task(own_pool.search(job_of("pooled", limit=Limit(depth=2))))
        dying = "3 processes died or hung while compiling the search of pooled: .* again after 60 s"
        with pytest.raises(SearchFailed, match=dying):
            await own_pool.warm("pooled")
        with pytest.raises(SearchFailed, match=dying):
            await waiting
        for job in (job_of("pooled", level=3), replace(job_of("pooled"), persona="average")):
            result = await own_pool.search(job)
            assert result.move
            assert result.info.warming
        with pytest.raises(SearchFailed, match=dying):
            await own_pool.search(job_of("pooled", limit=Limit(depth=2)))
        warming = asyncio.create_task(own_pool.warm("pooled"))
        await asyncio.sleep(0)
        assert warming.done()
        with pytest.raises(SearchFailed, match=dying):
            await warming
        ((*key, error),) = errors
        assert key == ["pooled", "search"]
        assert re.match(dying, str(error))
        assert own_pool.warm_percent("pooled") < 100, "rooms say that it is not ready"


async def test_each_step_that_fails_is_reported(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An addition that does not compile is reported too, though its game's search is ready."""
    plug_in("pooled", f"{SOURCE}# its personas fail {RUN}\n")

    def send(process: WorkerProcess, command: WorkerCommand) -> None:
        assert isinstance(command, CompileCommand)
        error = None if command.step == "search" else f"no {command.step}"
        own_pool._warmer._on_message(process, Compiled(command.game, error))

    monkeypatch.setattr(WorkerProcess, "send", send)
    errors: list[tuple[str, str, str]] = []
    async with Pool(
        workers=1,
        warm=(),
        on_compile_error=lambda *error: errors.append((*error[:2], str(error[2]))),
    ) as own_pool:
        await own_pool.warm("pooled")
        own_pool._warmer.request("pooled", "persona")
        await until(lambda: bool(errors))
        ((*key, error),) = errors
        assert (key, str(error)) == (["pooled", "persona"], "no persona")


@pytest.mark.parametrize("loss", [pytest.param("damaged", marks=pytest.mark.long), "missing"])
async def test_a_game_that_the_cache_has_lost(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    """A game that the cache has lost is compiled again; until then it is played uncompiled.

    The missing files come back when the compiler is told to compile, which would take seconds.
    """
    plug_in("pooled", ONCE)
    game = load_game("pooled")
    states: list[WarmState] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append(state)
    ) as own_pool:
        await own_pool.warm("pooled")
        content = code_of(game)
        send = WorkerProcess.send

        def restore(process: WorkerProcess, command: WorkerCommand) -> None:
            if isinstance(command, CompileCommand):
                for file, code in content.items():
                    file.write_bytes(code)
            send(process, command)

        for file in content:
            if file.suffix == ".sums":
                continue
            if loss == "damaged":
                file.write_bytes(content[file][:-1])
            else:
                file.unlink()
                monkeypatch.setattr(WorkerProcess, "send", restore)
        result = await own_pool.search(job_of("pooled", level=3))
        assert result.info.warming
        await own_pool.warm("pooled")
        assert not (await own_pool.search(job_of("pooled", level=3))).info.warming
        assert states[-4:] == ["warm", "cold", "warming", "warm"]


async def test_a_worker_with_its_own_cache_compiles(
    plug_in: Callable[[str, str], Path], monkeypatch: Any
) -> None:
    """A worker with its own cache compiles a game itself after the second cache miss."""
    plug_in("pooled", ONCE)
    sent: list[SearchCommand] = []
    send = WorkerProcess.send

    def record(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, SearchCommand):
            sent.append(command)
            slot = own_pool._workers.slot_of(process)
            if not command.uncompiled and not command.may_compile:
                assert slot is not None
                asyncio.get_running_loop().call_soon(
                    own_pool._workers.on_message, process, NotCompiled(command.number)
                )
                return
        send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", record)
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("pooled")
        results = [await own_pool.search(job_of("pooled", level=3)) for _ in range(3)]
    assert not results[-1].info.warming
    assert sent[-1].may_compile


async def test_idle_compilations_have_low_priority(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle compilation runs in a low-priority process, a requested one in another process."""
    cold = f"{SOURCE}# never compiled\n"
    plug_in("pooled", cold)
    plug_in("second", cold.replace('"pooled"', '"second"'))
    commands: list[tuple[str, bool, bool]] = []
    low_priority: set[int] = set()

    def send(process: WorkerProcess, command: WorkerCommand) -> None:
        assert isinstance(command, CompileCommand)
        assert process.pid is not None
        if command.step == "search":
            commands.append((command.game, command.idle, process.pid in low_priority))
        if command.idle:
            low_priority.add(process.pid)
        own_pool._warmer._on_message(process, Compiled(command.game, None))

    monkeypatch.setattr(WorkerProcess, "send", send)
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("pooled", idle=True)
        await own_pool.warm("second")
    assert commands == [("pooled", True, False), ("second", False, False)]


async def test_lower_priority() -> None:
    """A second call of `lower_priority` does not lower the priority further."""
    code = (
        "import os; from engine.pool.worker import lower_priority as lower;"
        " lower(); lower(); print(os.nice(0))"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, env=environment, stdout=subprocess.PIPE
    )
    output, _ = await running.communicate()
    assert int(output) == max(IDLE_NICE, os.nice(0))


async def test_code_of_another_installation_is_not_used(
    plug_in: Callable[[str, str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another checkout has filled the cache: this one compiles for itself, and plays meanwhile.

    The other checkout's code is under its own source paths, where numba would not find it, although
    the digests of the rules are equal.
    """
    file = plug_in("pooled", f"{SOURCE}# in two checkouts {RUN}\n")
    cache, clone = tmp_path / "cache", tmp_path / "clone"
    shutil.copytree(
        ROOT / "engine", clone / "engine", ignore=shutil.ignore_patterns("__pycache__", "results")
    )
    code = (
        "from engine.compiler import code_cache; from engine.rules.registry import load_game;"
        "from engine.compiler.native import compile_game; game = load_game('pooled');"
        "compile_game(game).function('rule_status');"
        "code_cache.note_ready('pooled', game.digest, 'search'); print(game.digest)"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, cwd=clone, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": f"{clone}:{file.parent}", "PLYROOM_CACHE": str(cache)},
    )  # fmt: skip
    output, _ = await other.communicate()
    assert output.decode().strip() == load_game("pooled").digest, "both have the same rules"
    monkeypatch.setenv("PLYROOM_CACHE", str(cache))
    states: list[WarmState] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append(state),
        start_method="spawn",  # a fork server has the cache folder of its start
    ) as own_pool:  # fmt: skip
        result = await own_pool.search(job_of("pooled", level=3))
        assert result.info.warming, "the move did not wait for the compiler"
        await until(lambda: bool(states))
        assert states[0] == "warming"
    assert len(list(cache.glob("code-*"))) == 2


async def test_two_processes_load_one_game_at_the_same_time(
    plug_in: Callable[[str, str], Path],
) -> None:
    """Another process that loads a game, or may compile it, keeps no worker from loading it."""
    plug_in("pooled", ONCE)
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("pooled")
        with code_cache.locked(code_cache.code_folder(), "pooled", is_shared=True):
            compile_game(load_game("pooled")).function("root")
            assert not (await own_pool.search(job_of("pooled", level=3))).info.warming


async def test_not_all_workers_load_one_game(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one of two workers loads a game, the other one does not load it too.

    A live job waits a moment for the first worker, and is then searched uncompiled.
    """
    plug_in("pooled", ONCE)
    held: list[tuple[WorkerProcess, WorkerCommand]] = []
    sent: list[SearchCommand] = []
    send = WorkerProcess.send

    def hold_first(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, SearchCommand) and not held:
            held.append((process, command))
            slot = own_pool._workers.slot_of(process)
            assert slot is not None
            slot.unwatch()  # the worker is silent on purpose
            return
        if isinstance(command, SearchCommand):
            sent.append(command)
        send(process, command)

    monkeypatch.setattr(transport, "LOADING_PATIENCE_S", 1000.0)
    async with Pool(workers=2, warm=()) as own_pool:
        await own_pool.warm("pooled")
        await until(lambda: own_pool.ready_worker_count == 2)
        monkeypatch.setattr(WorkerProcess, "send", hold_first)
        first = asyncio.create_task(own_pool.search(job_of("pooled", "a", level=3)))
        await until(lambda: bool(held))
        second = asyncio.create_task(own_pool.search(job_of("pooled", "b", level=3)))
        await until(lambda: own_pool.waiting_count == 1)
        assert not sent, "the second worker waits for the first"
        monkeypatch.setattr(transport, "LOADING_PATIENCE_S", 0.0)
        own_pool._transport.dispatch()
        assert [command.uncompiled for command in sent] == [True]
        assert (await second).info.warming
        send(*held[0])
        assert not (await first).info.warming
