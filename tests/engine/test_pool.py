"""The pool with real processes: progress, cancelling, and the replacement of workers."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from msgspec.structs import replace

from engine.compiler import code_cache
from engine.games import tic_tac_toe
from engine.pool.messages import CompileCommand, Compiled, NotCompiled, SearchCommand, WorkerCommand
from engine.pool.pool import Pool, PoolBusy, PoolClosed
from engine.pool.process import WorkerProcess
from engine.pool.quarantine import FAULTS_IN_A_ROW
from engine.pool.warmer import WarmState
from engine.pool.worker import IDLE_NICE
from engine.rules.registry import load_game
from engine.search.job import GameQuarantined, Info, Job, Limit, Result, RulesChanged, SearchFailed
from engine.search.levels import TIME_MS
from engine.search.report import level_of_job
from tests.support.clock import stopped_clock, until

#: The root of the repository.
ROOT = Path(__file__).parents[2]
#: The rules of tic-tac-toe under the name "planted".
SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"')
#: A search without a limit.
UNLIMITED = Limit()
#: The legal first moves of othello.
FIRST_MOVES = load_game("othello").start().tokens()

pytestmark = pytest.mark.asyncio(loop_scope="module")


def job_of(
    game_id: str = "othello",
    room: str = "room",
    *,
    limit: Limit = UNLIMITED,
    level: int | None = None,
) -> Job:
    """Returns a job for a search from the start of a game."""
    game = load_game(game_id)
    start = game.start()
    return Job(
        game.id, game.digest, dict(start.options), start.text(), (), room, level=level, limit=limit
    )


def timed_job(milliseconds: int, room: str = "room") -> Job:
    """Returns a job with a time limit."""
    return job_of(room=room, limit=Limit(time_ms=milliseconds))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    """Yields a pool with two workers for all tests of this module."""
    async with Pool(workers=2, warm=["othello"]) as shared:
        await shared.warm("othello")
        yield shared


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def idle_workers(pool: Pool) -> AsyncIterator[None]:
    """Waits for both workers before each test, and for the end of all searches after it."""
    await until(lambda: pool.ready_workers == 2)
    yield
    await until(lambda: pool.running == pool.waiting == 0)


def without_time(result: Result) -> tuple[object, ...]:
    """Returns the fields of a result that do not depend on time."""
    return result.move, result.info.depth, result.info.nodes, result.info.moves


async def start_search(pool: Pool, job: Job) -> tuple[asyncio.Task[Result], int, list[Info]]:
    """Starts a search and waits for its first report; returns task, process id and reports."""
    reports: list[Info] = []
    task = asyncio.create_task(pool.search(job, reports.append))
    await until(lambda: bool(reports) or task.done())
    return task, pid_of(pool, job), reports


def pid_of(pool: Pool, job: Job) -> int:
    """Returns the process id of the worker that runs a job."""
    return next(
        pid
        for slot in pool._slots
        if slot.pending and slot.pending.job == job and (pid := slot.process.pid)
    )


async def test_a_search_reports_progress(pool: Pool) -> None:
    """The pool reports each completed depth and node counts in between, then returns the result."""
    reports: list[Info] = []
    result = await pool.search(job_of(limit=Limit(depth=18)), reports.append)
    depths = [info.depth for info in reports]
    assert depths == sorted(depths)
    assert set(depths) == set(range(1, 19))
    assert [info.nodes for info in reports] == sorted(info.nodes for info in reports)
    assert result.info in reports
    assert result.move == result.info.pv[0] == result.info.moves[0].move
    assert len(reports) > len(set(depths)), "node counts come between the depths"


async def test_levels_keep_to_their_limits(pool: Pool) -> None:
    """A low level ends at its node limit; the worker itself ends the top level after its time.

    The pool's clock stands still, so the pool neither kills the worker nor retries the search.
    """
    game = load_game("othello")
    low, top = level_of_job(job_of(level=1), game).limit, level_of_job(job_of(level=8), game).limit
    async with stopped_clock():
        result = await pool.search(job_of(level=1))
        assert low.nodes == 1
        assert result.info.depth == 1
        before = (pool.counts.ended, pool.counts.retried)
        assert top.time_ms == TIME_MS
        assert (await pool.search(job_of(level=8))).move in FIRST_MOVES
        assert (pool.counts.ended, pool.counts.retried) == before


async def test_cancelling_the_caller_ends_the_search(pool: Pool) -> None:
    """A cancelled search ends without killing its worker, and the next search works."""
    async with stopped_clock():
        task, pid, _ = await start_search(pool, job_of())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        await until(lambda: not any(slot.is_busy for slot in pool._slots))
        assert pid in pool.pids
    assert (await pool.search(timed_job(50))).move


async def test_a_job_survives_a_killed_worker(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After SIGKILL of a searching worker another one gets the job with the remaining time.

    Other searches are not disturbed.
    """
    sent: list[WorkerCommand] = []
    send = WorkerProcess.send

    def record(process: WorkerProcess, command: WorkerCommand) -> None:
        sent.append(command)
        send(process, command)

    async with stopped_clock() as clock:
        other = asyncio.create_task(pool.search(timed_job(1500, "other")))
        task, pid, _ = await start_search(pool, timed_job(1500))
        await until(lambda: pool.running == 2)
        untouched = pid_of(pool, timed_job(1500, "other"))
        monkeypatch.setattr(WorkerProcess, "send", record)
        clock.advance(1.1)
        os.kill(pid, signal.SIGKILL)
        result = await task
        assert [command.time_ms for command in sent if isinstance(command, SearchCommand)] == [400]
        assert result.move in FIRST_MOVES
        await other
    await until(lambda: pool.ready_workers == 2)
    assert untouched in pool.pids
    assert pid not in pool.pids


async def test_the_event_loop_does_not_wait_for_processes(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker processes are started and joined in other threads, not in the event loop."""
    threads: dict[str, set[int]] = {"start": set(), "join": set()}

    def record_thread(name: str) -> None:
        call = getattr(BaseProcess, name)

        def recorded(process: BaseProcess, *arguments: Any) -> Any:
            threads[name].add(threading.get_ident())
            return call(process, *arguments)

        monkeypatch.setattr(BaseProcess, name, recorded)

    record_thread("start")
    record_thread("join")
    pid = pool.pids[0]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in pool.pids and pool.ready_workers == 2 and all(threads.values()))
    assert threading.get_ident() not in threads["start"] | threads["join"]


@pytest.mark.long
async def test_two_hundred_kills(pool: Pool) -> None:
    """Whenever a worker is killed, each job is answered once, within its time plus 1 s."""
    rng = random.Random(10)
    delays_s = []
    for _ in range(200):
        started_s = time.perf_counter()
        task = asyncio.create_task(pool.search(timed_job(200)))
        await asyncio.sleep(rng.random() * 0.2)
        if pool.pids:
            os.kill(rng.choice(pool.pids), signal.SIGKILL)
        assert (await task).move in FIRST_MOVES
        delays_s.append(time.perf_counter() - started_s - 0.2)
    assert sorted(delays_s)[-3] < 1.0, "two of the delays may be due to a busy machine"
    await until(lambda: pool.ready_workers == 2)


async def test_a_hung_worker_is_replaced(pool: Pool) -> None:
    """A worker that hangs (SIGSTOP) is killed within its time plus 1 s; its last move counts."""
    async with stopped_clock() as clock:
        task, pid, reports = await start_search(pool, timed_job(600))
        os.kill(pid, signal.SIGSTOP)
        clock.advance(0.6 + 1.0)
        result = await task
    assert result.move == reports[-1].pv[0]
    await until(lambda: pool.ready_workers == 2)
    assert pid not in pool.pids


async def test_an_idle_worker_that_hangs_is_replaced(pool: Pool) -> None:
    """A worker that hung while idle is replaced when it does not answer its next job for 1 s."""
    await asyncio.gather(pool.search(timed_job(50, "one")), pool.search(timed_job(50, "other")))
    pids = pool.pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    async with stopped_clock() as clock:
        task = asyncio.create_task(pool.search(timed_job(500)))
        for _ in pids:  # the pool tries one worker after the other
            await until(lambda: pool.running == 1 and pid_of(pool, timed_job(500)) in pids)
            hung = pid_of(pool, timed_job(500))
            clock.advance(1.0)
            await until(lambda hung=hung: hung not in pool.pids)  # type: ignore[misc]
        assert (await task).move
    for pid in set(pids) & set(pool.pids):
        os.kill(pid, signal.SIGCONT)
    await until(lambda: pool.ready_workers == 2)


async def test_a_stalled_search_without_a_time_limit_moves(pool: Pool) -> None:
    """An analysis without limits moves to another worker when its node count stands still."""
    task, pid, reports = await start_search(pool, job_of())
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: pid not in pool.pids)
    before = len(reports)
    await until(lambda: len(reports) > before + 20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_idle_worker_that_dies_is_replaced(pool: Pool) -> None:
    """An idle worker that dies is replaced at once, not at its next job."""
    pid = pool.pids[0]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in pool.pids)
    await until(lambda: pool.ready_workers == 2)


async def test_a_job_is_tried_on_three_workers(pool: Pool) -> None:
    """A job whose three workers died fails or is answered from its reports."""
    job = job_of(limit=Limit(depth=60))
    task = asyncio.create_task(pool.search(job))
    killed: set[int] = set()
    while not task.done() and len(killed) < 10:
        pids = [
            slot.process.pid for slot in pool._slots if slot.pending and slot.pending.job == job
        ]
        if pids and pids[0] is not None and pids[0] not in killed:
            killed.add(pids[0])
            os.kill(pids[0], signal.SIGKILL)
        await asyncio.sleep(0)
    (answer,) = await asyncio.gather(task, return_exceptions=True)
    has_move = isinstance(answer, Result)
    assert has_move or (isinstance(answer, SearchFailed) and "3 workers" in str(answer))
    assert len(killed) == 3
    await until(lambda: pool.ready_workers == 2)
    assert (await pool.search(timed_job(50))).move


async def test_a_room_stays_with_its_worker(pool: Pool) -> None:
    """A room's jobs go to the worker that has its table, or to another if that one is busy."""
    pids = set()
    for room in ("first", "second", "first", "second", "first"):
        task, pid, _ = await start_search(pool, timed_job(200, room))
        await task
        pids.add((room, pid))
    assert len(pids) == 2
    assert len({pid for _, pid in pids}) == 2
    busy, pid, _ = await start_search(pool, timed_job(800, "first"))
    other, other_pid, _ = await start_search(pool, timed_job(200, "first"))
    assert pid != other_pid
    await asyncio.gather(busy, other)


async def test_a_room_reuses_its_table(pool: Pool) -> None:
    """A second search of a position in the same room needs fewer nodes for the same depth."""
    job = job_of(room="table", limit=Limit(depth=10))
    first, second = await pool.search(job), await pool.search(job)
    assert second.info.nodes < first.info.nodes
    assert second.info.depth >= first.info.depth


async def test_a_full_queue_refuses_jobs() -> None:
    """A full queue refuses another job at once, and the queued ones are answered."""
    async with Pool(workers=1, queue_size=3, warm=()) as own_pool:
        await own_pool.warm("othello")
        await until(lambda: own_pool.ready_workers == 1)
        tasks = [
            asyncio.create_task(own_pool.search(timed_job(50, f"{room}"))) for room in range(4)
        ]
        await until(lambda: own_pool.running == 1 and own_pool.waiting == 3)
        with pytest.raises(PoolBusy, match="3 searches"):
            await own_pool.search(timed_job(50))
        assert all(result.move for result in await asyncio.gather(*tasks))


async def test_rooms_take_turns() -> None:
    """A room with many queued jobs does not delay a room that comes later."""
    answered: list[str] = []

    async def search(pool: Pool, room: str) -> None:
        await pool.search(job_of(room=room, limit=Limit(depth=4)))
        answered.append(room)

    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("othello")
        async with asyncio.TaskGroup() as group:
            for room in "aaaaab":
                group.create_task(search(own_pool, room))
    assert answered.index("b") <= 2


async def test_closing_ends_searches_and_workers() -> None:
    """Closing the pool ends all searches with PoolClosed, and all processes."""
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("othello")
        running, _, _ = await start_search(own_pool, job_of())
        waiting = asyncio.create_task(own_pool.search(job_of()))
        await until(lambda: own_pool.waiting == 1)
        pids = own_pool.pids
    for task in (running, waiting):
        with pytest.raises(PoolClosed):
            await task
    with pytest.raises(PoolClosed):
        await own_pool.search(job_of())
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no process can be started, jobs fail after a few tries; later ones are answered again."""

    def refuse(process: WorkerProcess) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("engine.pool.pool.START_BACKOFF_S", (0.0, 0.01, 0.02))
    with monkeypatch.context() as patch:
        patch.setattr(WorkerProcess, "_launch", refuse)
        pool = Pool(workers=1, warm=())
        await pool.__aenter__()
        with pytest.raises(SearchFailed, match="do not start"):
            await pool.search(timed_job(50))
    assert (await pool.search(timed_job(50))).move
    await pool.__aexit__(None, None, None)


async def test_no_replacement_starts_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose worker died is answered from its reports if no other worker starts in time."""

    def refuse(process: WorkerProcess) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("engine.pool.pool.START_BACKOFF_S", (0.0, 600.0))
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("othello")
        task, pid, reports = await start_search(own_pool, timed_job(600))
        monkeypatch.setattr(WorkerProcess, "_launch", refuse)
        os.kill(pid, signal.SIGKILL)
        assert (await task).move == reports[-1].pv[0]
        assert own_pool.waiting == own_pool.running == 0


async def test_a_retried_job_keeps_its_deepest_report(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that lost two workers is answered from the deepest report of both."""
    monkeypatch.setattr("engine.pool.pool.TRIES", 2)
    job = job_of(room="twice", limit=Limit(depth=60))
    task, pid, reports = await start_search(pool, job)
    await until(lambda: reports[-1].depth >= 14)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: reports[-1].depth < 14)
    deepest = max(info.depth for info in reports)
    os.kill(pid_of(pool, job), signal.SIGKILL)
    assert (await task).info.depth >= deepest


async def test_a_pool_can_be_closed_at_once() -> None:
    """Closing the pool while its workers start leaves no process behind."""
    async with Pool(workers=2):
        pass
    async with Pool(workers=2):
        await asyncio.sleep(0.1)


async def test_invalid_jobs(pool: Pool) -> None:
    """An unknown game or level, a bad position or move, or other rules raise an error.

    The workers survive.
    """
    pids = set(pool.pids)
    valid = job_of()
    cases: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"game": "chequers"}, SearchFailed),
        ({"level": 9}, SearchFailed),
        ({"start": "nonsense"}, SearchFailed),
        ({"moves": ("a", "x")}, SearchFailed),
        ({"moves": tuple("abababa")}, SearchFailed),
        ({"moves": ("a",) * 70_000}, SearchFailed),
        ({"rules": "0" * 16}, RulesChanged),
    ]
    for changes, expected in cases:
        with pytest.raises(expected):
            await pool.search(replace(valid, **changes))
    assert set(pool.pids) == pids


async def test_a_failing_listener_fails_its_own_search(pool: Pool) -> None:
    """An exception in `on_info` ends that search and is raised from it."""

    def fail(info: Info) -> None:
        raise LookupError("the listener failed")

    with pytest.raises(LookupError, match="listener"):
        await pool.search(job_of(), fail)
    await until(lambda: not any(slot.is_busy for slot in pool._slots))
    assert (await pool.search(timed_job(50))).move


# Compiling takes seconds, and the code cache keeps the last three versions of a game. The tests of
# planted games are in an order in which they find code that earlier tests have compiled.
#: Faulty bodies of `evaluate`.
FAULTY = {
    "raises": "    if s[0] & FULL and s[1]:\n        raise ValueError('faulty')\n    return 0\n",
    "does not compile": "    return {}.get(s[0], 0)\n",
}


@pytest.mark.parametrize("fault", FAULTY)
async def test_a_faulty_game_fails_alone(plug_in: Callable[[str, str], Path], fault: str) -> None:
    """Rules that raise or do not compile fail only the jobs of their game."""
    plug_in("planted", SOURCE.replace("    return 0\n", FAULTY[fault]))
    async with Pool(workers=1, warm=()) as own_pool:
        for _ in range(2):
            with pytest.raises(SearchFailed, match=r"faulty|do not compile"):
                await own_pool.search(job_of("planted", limit=Limit(depth=3)))
        pids = set(own_pool.pids)
        assert (await own_pool.search(timed_job(50))).move
        assert pids <= set(own_pool.pids)
        assert own_pool.warm_state("planted") == ("warm" if fault == "raises" else "failed")


async def test_a_game_that_cannot_be_loaded_fails_alone(
    plug_in: Callable[[str, str], Path],
) -> None:
    """A rules file with a syntax error fails only its own jobs; other games are still compiled."""
    plug_in("planted", "this is not a rules file")
    async with Pool(workers=1, warm=["planted", "tic-tac-toe"]) as own_pool:
        with pytest.raises(SearchFailed, match="SyntaxError"):
            await own_pool.warm("planted")
        with pytest.raises(SearchFailed, match="planted cannot be loaded: SyntaxError"):
            await own_pool.search(replace(job_of(), game="planted"))
        await own_pool.warm("tic-tac-toe")
        assert (await own_pool.search(job_of("tic-tac-toe", level=1))).move


async def test_a_game_that_keeps_failing_is_quarantined(
    plug_in: Callable[[str, str], Path],
) -> None:
    """After three consecutive faults all searches of a game fail, including waiting ones.

    Other games are not affected, invalid jobs do not count, an answer resets the count, and so do
    edited rules.
    """
    plug_in("planted", SOURCE.replace("    return 0\n", FAULTY["raises"]))
    failing, working = (
        job_of("planted", limit=Limit(depth=3)),
        job_of("planted", limit=Limit(depth=1)),
    )
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
        with pytest.raises(GameQuarantined, match=r"planted gets no more searches.*faulty"):
            await own_pool.search(working)
        assert (await own_pool.search(timed_job(50))).move
        plug_in("planted", SOURCE)
        os.kill(own_pool.pids[0], signal.SIGKILL)  # this worker has the old rules
        assert (await own_pool.search(job_of("planted", limit=Limit(depth=3)))).move


async def test_a_compiler_that_dies_is_restarted(plug_in: Callable[[str, str], Path]) -> None:
    """The death of the compiling process delays a game but does not fail it."""
    plug_in("planted", SOURCE.replace("    return 0\n", "    return 3\n"))
    async with Pool(workers=1, warm=()) as own_pool:
        waiting = asyncio.create_task(own_pool.search(job_of("planted", limit=Limit(depth=2))))
        await until(lambda: own_pool.warm_state("planted") == "warming")
        process = own_pool._warmer.process
        assert process is not None
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        assert (await waiting).info.score == 3


async def test_rules_that_never_return_are_killed(plug_in: Callable[[str, str], Path]) -> None:
    """An endless loop in compiled rules gets its worker killed; the job fails after three tries."""
    plug_in(
        "planted",
        SOURCE.replace(
            "    return 0\n", "    n = 1\n    while n > 0:\n        n = (n & 7) + 1\n    return n\n"
        ),
    )
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("planted")
        with pytest.raises(SearchFailed, match="3 workers"):
            await own_pool.search(job_of("planted", limit=Limit(time_ms=100)))
        assert (await own_pool.search(timed_job(50))).move


async def test_a_cold_game_is_compiled_on_demand(plug_in: Callable[[str, str], Path]) -> None:
    """A game's first job starts its compilation, and a job with its own limits waits for it."""
    plug_in("planted", f"{SOURCE}# only for {os.getpid()}\n")
    states: list[tuple[str, WarmState]] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append((game_id, state))
    ) as own_pool:
        assert own_pool.warm_state("planted") == "cold"
        result = await own_pool.search(job_of("planted", limit=Limit(depth=9)))
        assert (result.info.score, result.info.depth, result.info.warming) == (0, 9, False)
        assert states == [("planted", "warming"), ("planted", "warm")]


async def test_a_cold_game_is_played_uncompiled(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A game that is not compiled yet plays its low levels as usual.

    Its other levels search less deeply and set `warming` until the game is compiled.
    """
    plug_in("planted", f"{SOURCE}# held back by {os.getpid()}\n")
    held: list[tuple[WorkerProcess, WorkerCommand]] = []
    send = WorkerProcess.send

    def hold(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, CompileCommand):
            held.append((process, command))
        else:
            send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", hold)
    async with Pool(workers=1, warm=()) as own_pool:
        low = [await own_pool.search(job_of("planted", level=level)) for level in (1, 2)]
        level_3 = await own_pool.search(job_of("planted", level=3))
        random_move = await own_pool.search(replace(job_of("planted"), persona="random"))
        average = await own_pool.search(replace(job_of("planted"), persona="average"))
        assert [result.info.warming for result in (*low, level_3, random_move, average)] == [
            False,
            False,
            True,
            False,
            True,
        ]
        assert own_pool.warm_state("planted") == "warming"
        assert own_pool.warm_percent("planted") < 100
        assert [command for _, command in held] == [
            CompileCommand("planted", load_game("planted").digest, idle=False)
        ]
        send(*held.pop())
        await own_pool.warm("planted")
        assert own_pool.warm_percent("planted") == 100
        again = [await own_pool.search(job_of("planted", level=level)) for level in (1, 2)]
        for before, after in zip(low, again, strict=True):
            assert without_time(before) == without_time(after)
        assert not (await own_pool.search(job_of("planted", level=3))).info.warming


@pytest.mark.parametrize("loss", ["damaged", "missing"])
async def test_a_game_that_the_cache_has_lost(
    plug_in: Callable[[str, str], Path], loss: str
) -> None:
    """A game that the cache has lost is compiled again and meanwhile played uncompiled."""
    plug_in("planted", f"{SOURCE}# this is lost\n")
    game = load_game("planted")
    states: list[WarmState] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append(state)
    ) as own_pool:
        await own_pool.warm("planted")
        folder, tag = code_cache.cache_folder(), code_cache.tag_of("planted", game.digest)
        files = code_cache.code_files(folder, tag)
        assert files
        for file in files:
            if loss == "damaged":
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()
        result = await own_pool.search(job_of("planted", level=3))
        assert result.info.warming
        await own_pool.warm("planted")
        assert not (await own_pool.search(job_of("planted", level=3))).info.warming
        assert states[-4:] == ["warm", "cold", "warming", "warm"]


async def test_a_worker_with_its_own_cache_compiles(
    plug_in: Callable[[str, str], Path], monkeypatch: Any
) -> None:
    """A worker with its own cache compiles a game itself after the second cache miss."""
    plug_in("planted", f"{SOURCE}# apart\n")
    sent: list[SearchCommand] = []
    send = WorkerProcess.send

    def record(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, SearchCommand):
            sent.append(command)
            slot = own_pool._slot_of(process)
            if not command.uncompiled and not command.may_compile:
                assert slot is not None
                asyncio.get_running_loop().call_soon(
                    own_pool._on_message, process, NotCompiled(command.number)
                )
                return
        send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", record)
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("planted")
        results = [await own_pool.search(job_of("planted", level=3)) for _ in range(3)]
    assert not results[-1].info.warming
    assert sent[-1].may_compile


async def test_idle_compilations_have_low_priority(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle compilation runs in a low-priority process, a requested one in another process."""
    cold = f"{SOURCE}# never compiled\n"
    plug_in("planted", cold)
    plug_in("second", cold.replace('"planted"', '"second"'))
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
        await own_pool.warm("planted", idle=True)
        await own_pool.warm("second")
    assert commands == [("planted", True, False), ("second", False, False)]


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


async def test_a_game_is_compiled_while_others_play(plug_in: Callable[[str, str], Path]) -> None:
    """The only worker answers jobs while another process compiles a game."""
    plug_in("planted", f"{SOURCE}# not compiled before in this run\n")
    states: list[WarmState] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append(state)
    ) as own_pool:
        await own_pool.warm("othello")
        await until(lambda: own_pool.ready_workers == 1)
        states.clear()
        cold = asyncio.create_task(own_pool.search(job_of("planted", limit=Limit(depth=3))))
        await until(lambda: own_pool.warm_state("planted") == "warming")
        played = 0
        while own_pool.warm_state("planted") == "warming":
            played += bool((await own_pool.search(timed_job(20, "other"))).move)
        assert played > 3
        assert states == ["warming", "warm"]
        assert (await cold).move


#: A program that starts a pool and waits.
PARENT = """
import asyncio, sys
from engine.pool.pool import Pool
async def main():
    async with Pool(workers=2, warm=()) as pool:
        while pool.ready_workers < 2:
            await asyncio.sleep(0.01)
        print(*pool.pids, flush=True)
        assert "numba" not in sys.modules and "llvmlite" not in sys.modules
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            print("interrupted", flush=True)
try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
"""


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Runs PARENT, a program without `if __name__ == "__main__"`, in its own process group."""
    program = tmp_path / "program.py"
    program.write_text(PARENT)
    with subprocess.Popen(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def is_alive(pid: int) -> bool:
    """Returns whether a process runs; zombies do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the process may end between open and read
        return False


async def test_workers_end_with_their_parent(parent: subprocess.Popen[str]) -> None:
    """SIGKILL of the server ends its workers, which do not run the main program again."""
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await asyncio.to_thread(parent.stdout.readline)).split()]
    assert len(pids) == 2
    assert all(map(is_alive, pids))
    parent.kill()
    await until(lambda: not any(map(is_alive, pids)))
    rest, errors = parent.communicate()
    assert (rest, errors) == ("", "")


async def test_ctrl_c_ends_the_program(parent: subprocess.Popen[str]) -> None:
    """SIGINT to the process group ends the program and its workers without a traceback."""
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await asyncio.to_thread(parent.stdout.readline)).split()]
    os.killpg(parent.pid, signal.SIGINT)
    rest, errors = await asyncio.to_thread(parent.communicate, timeout=20)
    assert (rest, errors) == ("interrupted\n", "")
    assert parent.returncode == 0
    assert not any(map(is_alive, pids))
