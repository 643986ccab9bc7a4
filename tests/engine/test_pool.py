"""The pool with real processes: streaming, cancelling, and the replacement of workers."""

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
from engine.search.report import level_for
from tests.support.clock import stopped_clock, until

ROOT = Path(__file__).parents[2]
SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"')
FOREVER = Limit()
OPENING = load_game("othello").start().tokens()

pytestmark = pytest.mark.asyncio(loop_scope="module")


def job_of(
    game_id: str = "othello",
    room: str = "room",
    *,
    limit: Limit = FOREVER,
    level: int | None = None,
) -> Job:
    """A search from the start of a game, a position that no solver and no book knows."""
    game = load_game(game_id)
    start = game.start()
    return Job(
        game.id, game.digest, dict(start.options), start.text(), (), room, level=level, limit=limit
    )


def timed(milliseconds: int, room: str = "room") -> Job:
    return job_of(room=room, limit=Limit(time_ms=milliseconds))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[Pool]:
    """Two workers for all tests here; each test leaves them idle."""
    async with Pool(workers=2, warm=["othello"]) as shared:
        await shared.warm("othello")
        yield shared


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def idle(pool: Pool) -> AsyncIterator[None]:
    await until(lambda: pool.ready_workers == 2)
    yield
    await until(lambda: pool.running == pool.waiting == 0)


def seen(result: Result) -> tuple[object, ...]:
    """An info without its time."""
    return result.move, result.info.depth, result.info.nodes, result.info.moves


async def running_search(pool: Pool, job: Job) -> tuple[asyncio.Task[Result], int, list[Info]]:
    """A search that has reported progress, the process that runs it, and its reports."""
    told: list[Info] = []
    task = asyncio.create_task(pool.search(job, told.append))
    await until(lambda: bool(told) or task.done())
    return task, pid_of(pool, job), told


def pid_of(pool: Pool, job: Job) -> int:
    """The process id of the worker that runs a job."""
    return next(
        pid
        for slot in pool._slots
        if slot.pending and slot.pending.job == job and (pid := slot.process.pid)
    )


async def test_a_search_streams_and_answers(pool: Pool) -> None:
    """The pool reports each completed depth, and node counts in between; the result comes last."""
    told: list[Info] = []
    result = await pool.search(job_of(limit=Limit(depth=18)), told.append)
    depths = [info.depth for info in told]
    assert depths == sorted(depths)
    assert set(depths) == set(range(1, 19))
    assert [info.nodes for info in told] == sorted(info.nodes for info in told)
    assert result.info in told
    assert result.move == result.info.pv[0] == result.info.moves[0].move
    assert len(told) > len(set(depths)), "live counts come between the depths"


async def test_levels_keep_to_their_limits(pool: Pool) -> None:
    """A low level ends at its nodes, and the top one after its second, which its worker enforces.

    The pool's clock stands still meanwhile, so that nothing can end the search from outside; the
    worker is neither killed nor is the search retried.
    """
    game = load_game("othello")
    low, top = level_for(job_of(level=1), game).limit, level_for(job_of(level=8), game).limit
    async with stopped_clock():
        result = await pool.search(job_of(level=1))
        assert low.nodes == 1
        assert result.info.depth == 1
        before = (pool.counts.ended, pool.counts.retried)
        assert top.time_ms == TIME_MS
        assert (await pool.search(job_of(level=8))).move in OPENING
        assert (pool.counts.ended, pool.counts.retried) == before


async def test_cancelling_the_caller_ends_the_search(pool: Pool) -> None:
    """A cancelled search stops in its worker without a kill, and its next search is undisturbed."""
    async with stopped_clock():
        task, pid, _ = await running_search(pool, job_of())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        await until(lambda: not any(slot.is_busy for slot in pool._slots))
        assert pid in pool.pids
    assert (await pool.search(timed(50))).move


async def test_a_killed_worker_costs_nothing_but_time(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After SIGKILL in mid-search another worker gets the job at once, with the time that is left.

    The other search is not disturbed.
    """
    given: list[WorkerCommand] = []
    send = WorkerProcess.send

    def noted(process: WorkerProcess, command: WorkerCommand) -> None:
        given.append(command)
        send(process, command)

    async with stopped_clock() as clock:
        other = asyncio.create_task(pool.search(timed(1500, "other")))
        task, pid, _ = await running_search(pool, timed(1500))
        await until(lambda: pool.running == 2)
        untouched = pid_of(pool, timed(1500, "other"))
        monkeypatch.setattr(WorkerProcess, "send", noted)
        clock.turn(1.1)
        os.kill(pid, signal.SIGKILL)
        result = await task
        assert [command.time_ms for command in given if isinstance(command, SearchCommand)] == [400]
        assert result.move in OPENING
        await other
    await until(lambda: pool.ready_workers == 2)
    assert untouched in pool.pids
    assert pid not in pool.pids


async def test_the_loop_waits_for_no_process(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads start and end worker processes, so that the event loop is never blocked."""
    threads: dict[str, set[int]] = {"start": set(), "join": set()}

    def noted(name: str) -> None:
        call = getattr(BaseProcess, name)

        def on_a_thread(process: BaseProcess, *arguments: Any) -> Any:
            threads[name].add(threading.get_ident())
            return call(process, *arguments)

        monkeypatch.setattr(BaseProcess, name, on_a_thread)

    noted("start")
    noted("join")
    pid = pool.pids[0]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in pool.pids and pool.ready_workers == 2 and all(threads.values()))
    assert threading.get_ident() not in threads["start"] | threads["join"]


@pytest.mark.long
async def test_two_hundred_kills(pool: Pool) -> None:
    """Whenever a worker is killed, each job is answered once, within its time plus 1 s."""
    chance = random.Random(10)
    late = []
    for _ in range(200):
        begun = time.perf_counter()
        task = asyncio.create_task(pool.search(timed(200)))
        await asyncio.sleep(chance.random() * 0.2)
        if pool.pids:
            os.kill(chance.choice(pool.pids), signal.SIGKILL)
        assert (await task).move in OPENING
        late.append(time.perf_counter() - begun - 0.2)
    assert sorted(late)[-3] < 1.0, "one in a hundred may be the fault of a busy machine"
    await until(lambda: pool.ready_workers == 2)


async def test_a_hung_worker_is_replaced(pool: Pool) -> None:
    """A stopped worker (SIGSTOP) is killed within its time plus 1 s; its best move is played."""
    async with stopped_clock() as clock:
        task, pid, told = await running_search(pool, timed(600))
        os.kill(pid, signal.SIGSTOP)
        clock.turn(0.6 + 1.0)
        result = await task
    assert result.move == told[-1].pv[0]
    await until(lambda: pool.ready_workers == 2)
    assert pid not in pool.pids


async def test_an_idle_worker_that_hangs_is_found_out(pool: Pool) -> None:
    """A worker that was stopped while idle delays its next job by less than a second."""
    await asyncio.gather(pool.search(timed(50, "one")), pool.search(timed(50, "other")))
    pids = pool.pids
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    async with stopped_clock() as clock:
        task = asyncio.create_task(pool.search(timed(500)))
        for _ in pids:  # one after the other is asked
            await until(lambda: pool.running == 1 and pid_of(pool, timed(500)) in pids)
            asked = pid_of(pool, timed(500))
            clock.turn(1.0)
            await until(lambda asked=asked: asked not in pool.pids)  # type: ignore[misc]
        assert (await task).move
    for pid in set(pids) & set(pool.pids):
        os.kill(pid, signal.SIGCONT)
    await until(lambda: pool.ready_workers == 2)


async def test_a_search_without_a_time_limit_may_not_stall(pool: Pool) -> None:
    """An analysis without limits moves to another worker when its node count stands still."""
    task, pid, told = await running_search(pool, job_of())
    os.kill(pid, signal.SIGSTOP)
    await until(lambda: pid not in pool.pids)
    before = len(told)
    await until(lambda: len(told) > before + 20)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_an_idle_worker_that_dies_is_replaced(pool: Pool) -> None:
    """The death of an idle worker is noticed at once, not at its next job."""
    pid = pool.pids[0]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in pool.pids)
    await until(lambda: pool.ready_workers == 2)


async def test_three_dead_workers_are_enough(pool: Pool) -> None:
    """A job that has cost three workers fails or is answered from its reports."""
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
    has_shown_a_move = isinstance(answer, Result)
    assert has_shown_a_move or (isinstance(answer, SearchFailed) and "3 workers" in str(answer))
    assert len(killed) == 3
    await until(lambda: pool.ready_workers == 2)
    assert (await pool.search(timed(50))).move


async def test_a_room_stays_with_its_worker(pool: Pool) -> None:
    """Jobs of a room go to the worker that holds its table if that is idle, else to any other."""
    pids = set()
    for room in ("first", "second", "first", "second", "first"):
        task, pid, _ = await running_search(pool, timed(200, room))
        await task
        pids.add((room, pid))
    assert len(pids) == 2
    assert len({pid for _, pid in pids}) == 2
    busy, pid, _ = await running_search(pool, timed(800, "first"))
    other, other_pid, _ = await running_search(pool, timed(200, "first"))
    assert pid != other_pid
    await asyncio.gather(busy, other)


async def test_the_table_of_a_room_is_used_again(pool: Pool) -> None:
    """A second search of a position in the same room needs fewer nodes for the same depth."""
    job = job_of(room="table", limit=Limit(depth=10))
    first, second = await pool.search(job), await pool.search(job)
    assert second.info.nodes < first.info.nodes
    assert second.info.depth >= first.info.depth


async def test_a_long_queue_is_refused() -> None:
    """A full queue refuses further jobs at once; the queued ones are answered."""
    async with Pool(workers=1, queue_size=3, warm=()) as small:
        await small.warm("othello")
        await until(lambda: small.ready_workers == 1)
        tasks = [asyncio.create_task(small.search(timed(50, f"{room}"))) for room in range(4)]
        await until(lambda: small.running == 1 and small.waiting == 3)
        with pytest.raises(PoolBusy, match="3 searches"):
            await small.search(timed(50))
        assert all(result.move for result in await asyncio.gather(*tasks))


async def test_rooms_take_turns() -> None:
    """A room with many queued jobs does not delay a room that comes later."""
    command: list[str] = []

    async def ask(pool: Pool, room: str) -> None:
        await pool.search(job_of(room=room, limit=Limit(depth=4)))
        command.append(room)

    async with Pool(workers=1, warm=()) as small:
        await small.warm("othello")
        async with asyncio.TaskGroup() as group:
            for room in "aaaaab":
                group.create_task(ask(small, room))
    assert command.index("b") <= 2


async def test_closing_ends_everything() -> None:
    """Closing fails running and waiting searches with PoolClosed, and leaves no process."""
    async with Pool(workers=1, warm=()) as small:
        await small.warm("othello")
        running, _, _ = await running_search(small, job_of())
        waiting = asyncio.create_task(small.search(job_of()))
        await until(lambda: small.waiting == 1)
        pids = small.pids
    for task in (running, waiting):
        with pytest.raises(PoolClosed):
            await task
    with pytest.raises(PoolClosed):
        await small.search(job_of())
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_no_process_to_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no process can be started, jobs fail after a few tries; later ones are answered again."""

    def refuse(process: WorkerProcess) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("engine.pool.pool.START_BACKOFF_S", (0.0, 0.01, 0.02))
    with monkeypatch.context() as patch:
        patch.setattr(WorkerProcess, "_launch", refuse)
        pool = Pool(workers=1, warm=())
        await pool.__aenter__()
        with pytest.raises(SearchFailed, match="do not start"):
            await pool.search(timed(50))
    assert (await pool.search(timed(50))).move
    await pool.__aexit__(None, None, None)


async def test_no_other_process_to_be_had_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose worker died is answered from its reports if no other worker starts in time."""

    def refuse(process: WorkerProcess) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("engine.pool.pool.START_BACKOFF_S", (0.0, 600.0))
    async with Pool(workers=1, warm=()) as small:
        await small.warm("othello")
        task, pid, told = await running_search(small, timed(600))
        monkeypatch.setattr(WorkerProcess, "_launch", refuse)
        os.kill(pid, signal.SIGKILL)
        assert (await task).move == told[-1].pv[0]
        assert small.waiting == small.running == 0


async def test_what_an_earlier_try_has_seen_is_not_forgotten(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that lost two workers is answered from the deeper report of the two."""
    monkeypatch.setattr("engine.pool.pool.TRIES", 2)
    job = job_of(room="twice", limit=Limit(depth=60))
    task, pid, told = await running_search(pool, job)
    await until(lambda: told[-1].depth >= 14)
    os.kill(pid, signal.SIGKILL)
    await until(lambda: told[-1].depth < 14)
    deepest = max(info.depth for info in told)
    os.kill(pid_of(pool, job), signal.SIGKILL)
    assert (await task).info.depth >= deepest


async def test_a_pool_can_be_left_at_once() -> None:
    """Closing the pool while its workers start leaves no process behind."""
    async with Pool(workers=2):
        pass
    async with Pool(workers=2):
        await asyncio.sleep(0.1)


async def test_jobs_that_name_nothing(pool: Pool) -> None:
    """Unknown games, levels, positions and rules, and jobs without limits, raise typed errors.

    The workers survive.
    """
    pids = set(pool.pids)
    right = job_of()
    wrongs: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"game": "chequers"}, SearchFailed),
        ({"level": 9}, SearchFailed),
        ({"start": "nonsense"}, SearchFailed),
        ({"moves": ("a", "x")}, SearchFailed),
        ({"moves": tuple("abababa")}, SearchFailed),
        ({"moves": ("a",) * 70_000}, SearchFailed),
        ({"rules": "0" * 16}, RulesChanged),
    ]
    for wrong, expected in wrongs:
        with pytest.raises(expected):
            await pool.search(replace(right, **wrong))
    assert set(pool.pids) == pids


async def test_a_failing_listener_fails_its_own_search(pool: Pool) -> None:
    """An exception in `on_info` ends that search and is raised from it."""

    def fail(info: Info) -> None:
        raise LookupError("nobody listens")

    with pytest.raises(LookupError, match="nobody"):
        await pool.search(job_of(), fail)
    await until(lambda: not any(slot.is_busy for slot in pool._slots))
    assert (await pool.search(timed(50))).move


# Compiling takes seconds, and a code cache keeps the last three versions of a game: the tests of
# planted games stand in an order in which they find what others have compiled.
POISON = {
    "raises": "    if s[0] & FULL and s[1]:\n        raise ValueError('poison')\n    return 0\n",
    "does not compile": "    return {}.get(s[0], 0)\n",
}


@pytest.mark.parametrize("poison", POISON)
async def test_a_poisonous_game_fails_alone(
    plug_in: Callable[[str, str], Path], poison: str
) -> None:
    """Rules that raise, or do not compile, fail only their own jobs."""
    plug_in("planted", SOURCE.replace("    return 0\n", POISON[poison]))
    async with Pool(workers=1, warm=()) as small:
        for _ in range(2):
            with pytest.raises(SearchFailed, match=r"poison|do not compile"):
                await small.search(job_of("planted", limit=Limit(depth=3)))
        pids = set(small.pids)
        assert (await small.search(timed(50))).move
        assert pids <= set(small.pids)
        assert small.warm_state("planted") == ("warm" if poison == "raises" else "failed")


async def test_a_game_that_cannot_be_loaded_fails_alone(
    plug_in: Callable[[str, str], Path],
) -> None:
    """A rules file with a syntax error fails its own jobs only, and does not stop the warming."""
    plug_in("planted", "this is no rules file")
    async with Pool(workers=1, warm=["planted", "tic-tac-toe"]) as small:
        with pytest.raises(SearchFailed, match="SyntaxError"):
            await small.warm("planted")
        with pytest.raises(SearchFailed, match="planted cannot be loaded: SyntaxError"):
            await small.search(replace(job_of(), game="planted"))
        await small.warm("tic-tac-toe")
        assert (await small.search(job_of("tic-tac-toe", level=1))).move


async def test_a_game_that_keeps_failing_is_quarantined(
    plug_in: Callable[[str, str], Path],
) -> None:
    """After three consecutive faults all searches of a game fail at once, waiting ones included.

    Other games are not affected, wrong jobs and answered ones do not count, and edited rules start
    from zero.
    """
    plug_in("planted", SOURCE.replace("    return 0\n", POISON["raises"]))
    fails, works = job_of("planted", limit=Limit(depth=3)), job_of("planted", limit=Limit(depth=1))
    async with Pool(workers=1, warm=()) as small:
        for _ in range(FAULTS_IN_A_ROW):
            with pytest.raises(SearchFailed, match="nonsense"):
                await small.search(replace(works, start="nonsense"))
        for _ in range(FAULTS_IN_A_ROW - 1):
            with pytest.raises(SearchFailed, match="poison"):
                await small.search(fails)
        assert (await small.search(works)).move, (
            "it does not raise so early, and an answer makes good what was before"
        )
        asked = [asyncio.create_task(small.search(fails)) for _ in range(FAULTS_IN_A_ROW + 2)]
        kinds = [type(error) for error in await asyncio.gather(*asked, return_exceptions=True)]
        assert kinds == [SearchFailed] * FAULTS_IN_A_ROW + [GameQuarantined] * 2
        with pytest.raises(GameQuarantined, match=r"planted gets no more searches.*poison"):
            await small.search(works)
        assert (await small.search(timed(50))).move
        plug_in("planted", SOURCE)
        os.kill(small.pids[0], signal.SIGKILL)  # it has the old rules
        assert (await small.search(job_of("planted", limit=Limit(depth=3)))).move


async def test_a_compiler_that_dies_is_tried_again(plug_in: Callable[[str, str], Path]) -> None:
    """The death of the compiling process delays a game but does not fail it."""
    plug_in("planted", SOURCE.replace("    return 0\n", "    return 3\n"))
    async with Pool(workers=1, warm=()) as small:
        waiting = asyncio.create_task(small.search(job_of("planted", limit=Limit(depth=2))))
        await until(lambda: small.warm_state("planted") == "warming")
        process = small._warmer.process
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
    async with Pool(workers=1, warm=()) as small:
        await small.warm("planted")
        with pytest.raises(SearchFailed, match="3 workers"):
            await small.search(job_of("planted", limit=Limit(time_ms=100)))
        assert (await small.search(timed(50))).move


async def test_a_cold_game_warms_up_apart(plug_in: Callable[[str, str], Path]) -> None:
    """A game's first job starts its compilation, and a job with its own limits waits for it."""
    plug_in("planted", f"{SOURCE}# compiled by {os.getpid()} only\n")
    states: list[tuple[str, WarmState]] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append((game_id, state))
    ) as small:
        assert small.warm_state("planted") == "cold"
        result = await small.search(job_of("planted", limit=Limit(depth=9)))
        assert (result.info.score, result.info.depth, result.info.warming) == (0, 9, False)
        assert states == [("planted", "warming"), ("planted", "warm")]


async def test_a_cold_game_is_played_uncompiled(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cold game plays its low levels as always, and the others less deep and marked.

    Once it is warm, all levels play as they always do.
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
    async with Pool(workers=1, warm=()) as small:
        low = [await small.search(job_of("planted", level=level)) for level in (1, 2)]
        top = await small.search(job_of("planted", level=3))
        lot = await small.search(replace(job_of("planted"), persona="random"))
        average = await small.search(replace(job_of("planted"), persona="average"))
        assert [one.info.warming for one in (*low, top, lot, average)] == [
            False,
            False,
            True,
            False,
            True,
        ]
        assert small.warm_state("planted") == "warming"
        assert small.warm_percent("planted") < 100
        assert [command for _, command in held] == [
            CompileCommand("planted", load_game("planted").digest, idle=False)
        ]
        send(*held.pop())
        await small.warm("planted")
        assert small.warm_percent("planted") == 100
        again = [await small.search(job_of("planted", level=level)) for level in (1, 2)]
        for before, after in zip(low, again, strict=True):
            assert seen(before) == seen(after)
        assert not (await small.search(job_of("planted", level=3))).info.warming


@pytest.mark.parametrize("loss", ["damaged", "gone"])
async def test_a_cache_that_lost_a_game(plug_in: Callable[[str, str], Path], loss: str) -> None:
    """A game that the cache has lost is compiled anew, and played uncompiled meanwhile."""
    plug_in("planted", f"{SOURCE}# this is lost\n")
    game = load_game("planted")
    states: list[WarmState] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append(state)
    ) as small:
        await small.warm("planted")
        folder, tag = code_cache.cache_folder(), code_cache.tag_of("planted", game.digest)
        files = code_cache.code_files(folder, tag)
        assert files
        for file in files:
            if loss == "damaged":
                file.write_bytes(file.read_bytes()[:-1])
            else:
                file.unlink()
        result = await small.search(job_of("planted", level=3))
        assert result.info.warming
        await small.warm("planted")
        assert not (await small.search(job_of("planted", level=3))).info.warming
        assert states[-4:] == ["warm", "cold", "warming", "warm"]


async def test_workers_that_share_no_cache_compile(
    plug_in: Callable[[str, str], Path], monkeypatch: Any
) -> None:
    """A worker with a folder of its own compiles a game itself after the second cache miss."""
    plug_in("planted", f"{SOURCE}# apart\n")
    sent: list[SearchCommand] = []
    send = WorkerProcess.send

    def note(process: WorkerProcess, command: WorkerCommand) -> None:
        if isinstance(command, SearchCommand):
            sent.append(command)
            slot = small._slot_of(process)
            if not command.uncompiled and not command.may_compile:
                assert slot is not None
                asyncio.get_running_loop().call_soon(
                    small._on_message, process, NotCompiled(command.number)
                )
                return
        send(process, command)

    monkeypatch.setattr(WorkerProcess, "send", note)
    async with Pool(workers=1, warm=()) as small:
        await small.warm("planted")
        results = [await small.search(job_of("planted", level=3)) for _ in range(3)]
    assert not results[-1].info.warming
    assert sent[-1].may_compile


async def test_what_nobody_waits_for_is_compiled_by_a_process_that_gives_way(
    plug_in: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle compilation runs in a process of low priority, a requested one in another process."""
    cold = f"{SOURCE}# nobody has compiled this, nor does anybody here\n"
    plug_in("planted", cold)
    plug_in("second", cold.replace('"planted"', '"second"'))
    commands: list[tuple[str, bool, bool]] = []
    given_way: set[int] = set()

    def send(process: WorkerProcess, command: WorkerCommand) -> None:
        assert isinstance(command, CompileCommand)
        assert process.pid is not None
        if command.step == "search":
            commands.append((command.game, command.idle, process.pid in given_way))
        if command.idle:
            given_way.add(process.pid)
        small._warmer._on_message(process, Compiled(command.game, None))

    monkeypatch.setattr(WorkerProcess, "send", send)
    async with Pool(workers=1, warm=()) as small:
        await small.warm("planted", idle=True)
        await small.warm("second")
    assert commands == [("planted", True, False), ("second", False, False)]


async def test_lower_priority() -> None:
    """A second call does not lower the priority further."""
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
    """The only worker answers move after move while another process compiles a game."""
    plug_in("planted", f"{SOURCE}# like no other that was compiled in this run\n")
    states: list[WarmState] = []
    async with Pool(
        workers=1, warm=(), on_warm=lambda game_id, state: states.append(state)
    ) as small:
        await small.warm("othello")
        await until(lambda: small.ready_workers == 1)
        states.clear()
        cold = asyncio.create_task(small.search(job_of("planted", limit=Limit(depth=3))))
        await until(lambda: small.warm_state("planted") == "warming")
        played = 0
        while small.warm_state("planted") == "warming":
            played += bool((await small.search(timed(20, "other"))).move)
        assert played > 3
        assert states == ["warming", "warm"]
        assert (await cold).move


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
    """A program without the usual guard around its main part, in a process group of its own."""
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
    """Whether a process runs; zombies do not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between opening and reading
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


async def test_ctrl_c_is_the_parents_business(parent: subprocess.Popen[str]) -> None:
    """SIGINT to the process group ends the program in order and without a traceback."""
    assert parent.stdout is not None
    pids = [int(pid) for pid in (await asyncio.to_thread(parent.stdout.readline)).split()]
    os.killpg(parent.pid, signal.SIGINT)
    rest, errors = await asyncio.to_thread(parent.communicate, timeout=20)
    assert (rest, errors) == ("interrupted\n", "")
    assert parent.returncode == 0
    assert not any(map(is_alive, pids))
