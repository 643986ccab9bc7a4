"""Pools with real processes, and jobs for them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from engine.games import tic_tac_toe
from engine.pool import readiness
from engine.pool.pool import Pool
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Limit, Result
from tests.support.clock import until

#: The rules of tic-tac-toe under the name "planted".
SOURCE = Path(tic_tac_toe.__file__).read_text("utf-8").replace('"tic-tac-toe"', '"planted"')
#: A search without a limit.
UNLIMITED = Limit()
#: The legal first moves of othello.
FIRST_MOVES = load_game("othello").start().tokens()


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
    """Yields a pool with two workers for all tests of a module.

    While another process has locked the game's code, as other tests do, it tries again at once: on
    a clock that stands still its usual pause would never end.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readiness, "LOCKED_S", 0.0)
        async with Pool(workers=2, warm=["othello"]) as shared:
            await shared.warm("othello")
            yield shared


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def idle_workers(pool: Pool) -> AsyncIterator[None]:
    """Waits for both workers before each test, and for the end of all searches after it."""
    await until(lambda: pool.ready_worker_count == 2)
    yield
    await until(lambda: pool.running_count == pool.waiting_count == 0)


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
        for slot in pool._workers.slots
        if slot.pending and slot.pending.job == job and (pid := slot.process.pid)
    )
