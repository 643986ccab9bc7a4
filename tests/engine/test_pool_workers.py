"""The pool with real processes: workers that die, hang or do not start are replaced."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from engine.pool.messages import SearchCommand, WorkerCommand
from engine.pool.pool import Pool
from engine.pool.process import WorkerProcess
from engine.search.job import Limit, Result, SearchFailed
from tests.support.clock import stopped_clock, until
from tests.support.pools import (
    FIRST_MOVES,
    idle_workers,
    job_of,
    pid_of,
    pool,
    start_search,
    timed_job,
)

__all__ = ["idle_workers", "pool"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The root of the repository.
ROOT = Path(__file__).parents[2]


async def test_a_job_survives_a_killed_worker(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a worker is killed, another one gets its job with the remaining time.

    Other searches are not disturbed.
    """
    sent: list[WorkerCommand] = []
    send = WorkerProcess.send

    def record(process: WorkerProcess, command: WorkerCommand) -> None:
        sent.append(command)
        send(process, command)

    async with stopped_clock() as clock:
        other, other_pid, _ = await start_search(pool, timed_job(1500, "other"))
        task, pid, _ = await start_search(pool, timed_job(1500))
        monkeypatch.setattr(WorkerProcess, "send", record)
        clock.advance(1.1)
        os.kill(pid, signal.SIGKILL)
        result = await task
        # More than one, while another process locks the game's code.
        assert {command.time_ms for command in sent if isinstance(command, SearchCommand)} == {400}
        assert result.move in FIRST_MOVES
        await other
    await until(lambda: pool.ready_worker_count == 2)
    assert other_pid in pool.pids
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
    await until(
        lambda: pid not in pool.pids and pool.ready_worker_count == 2 and all(threads.values())
    )
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
    await until(lambda: pool.ready_worker_count == 2)


async def test_a_hung_worker_is_replaced(pool: Pool) -> None:
    """A worker that hangs (SIGSTOP) is killed within its time plus 1 s.

    The job is answered from its last report.
    """
    async with stopped_clock() as clock:
        task, pid, reports = await start_search(pool, timed_job(600))
        os.kill(pid, signal.SIGSTOP)
        clock.advance(0.6 + 1.0)
        result = await task
    assert result.move == reports[-1].pv[0]
    await until(lambda: pool.ready_worker_count == 2)
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
            await until(lambda: pool.running_count == 1 and pid_of(pool, timed_job(500)) in pids)
            hung = pid_of(pool, timed_job(500))
            clock.advance(1.0)
            await until(lambda hung=hung: hung not in pool.pids)  # type: ignore[misc]
        assert (await task).move
    for pid in set(pids) & set(pool.pids):
        os.kill(pid, signal.SIGCONT)
    await until(lambda: pool.ready_worker_count == 2)


async def test_a_stalled_analysis_moves_to_another_worker(pool: Pool) -> None:
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
    await until(lambda: pool.ready_worker_count == 2)


async def test_a_job_is_tried_on_three_workers(pool: Pool) -> None:
    """A job whose three workers died fails, or is answered from its reports."""
    job = job_of(limit=Limit(depth=60))
    task = asyncio.create_task(pool.search(job))
    killed: set[int] = set()
    while not task.done() and len(killed) < 10:
        pids = [
            slot.process.pid
            for slot in pool._workers.slots
            if slot.pending and slot.pending.job == job
        ]
        if pids and pids[0] is not None and pids[0] not in killed:
            killed.add(pids[0])
            os.kill(pids[0], signal.SIGKILL)
        await asyncio.sleep(0)
    (answer,) = await asyncio.gather(task, return_exceptions=True)
    has_move = isinstance(answer, Result)
    assert has_move or (isinstance(answer, SearchFailed) and "3 workers" in str(answer))
    assert len(killed) == 3
    await until(lambda: pool.ready_worker_count == 2)
    assert (await pool.search(timed_job(50))).move


async def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs fail while no process can be started, and are answered again afterwards."""

    def refuse(process: WorkerProcess) -> None:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr("engine.pool.workers.START_BACKOFF_S", (0.0, 0.01, 0.02))
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

    monkeypatch.setattr("engine.pool.workers.START_BACKOFF_S", (0.0, 600.0))
    async with Pool(workers=1, warm=()) as own_pool:
        await own_pool.warm("othello")
        task, pid, reports = await start_search(own_pool, timed_job(600))
        monkeypatch.setattr(WorkerProcess, "_launch", refuse)
        os.kill(pid, signal.SIGKILL)
        assert (await task).move == reports[-1].pv[0]
        assert own_pool.waiting_count == own_pool.running_count == 0


async def test_a_retried_job_keeps_its_deepest_report(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that lost two workers is answered from the deepest report of both."""
    monkeypatch.setattr("engine.dispatch.dispatcher.TRIES", 2)
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


#: A program that starts a pool and waits.
PARENT = """
import asyncio, sys
from engine.pool.pool import Pool
async def main():
    async with Pool(workers=2, warm=()) as pool:
        while pool.ready_worker_count < 2:
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
    """SIGKILL of the program ends its workers, which never run the program's main code."""
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
