"""The pool with real processes: progress, limits, cancellation, the queue and rooms."""

import asyncio
import os
from typing import Any

import pytest
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.pool.pool import Pool, PoolClosed
from engine.rules.registry import load_game, production_ids
from engine.search.job import Info, Limit, RulesChanged, SearchFailed
from engine.search.levels import TIME_MS
from engine.search.report import level_of_job
from tests.support.clock import stopped_clock, until
from tests.support.pools import (
    FIRST_MOVES,
    idle_workers,
    job_of,
    pool,
    start_search,
    timed_job,
)

__all__ = ["idle_workers", "pool"]

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_search_reports_progress(pool: Pool) -> None:
    """The pool reports each completed depth, and node counts in between, before it answers."""
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
        await until(lambda: not any(slot.is_busy for slot in pool._workers.slots))
        assert pid in pool.pids
    assert (await pool.search(timed_job(50))).move


async def test_a_room_stays_with_its_worker(pool: Pool) -> None:
    """A room's jobs go to the worker that has its table, or to another if that one is busy."""
    rooms_and_pids = set()
    for room in ("first", "second", "first", "second", "first"):
        task, pid, _ = await start_search(pool, timed_job(200, room))
        await task
        rooms_and_pids.add((room, pid))
    assert len(rooms_and_pids) == 2
    assert len({pid for _, pid in rooms_and_pids}) == 2
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


async def test_a_preempted_study_has_the_result_of_an_undisturbed_one(pool: Pool) -> None:
    """A study with fixed nodes that gave way to live searches has the same moves and scores.

    It neither uses nor changes the tables of rooms.
    """
    study = replace(job_of(room="table", limit=Limit(nodes=150_000)), use="study")
    undisturbed = await pool.search(study)
    task = asyncio.create_task(pool.search(study))
    await until(lambda: pool.load().of("study").running == 1)
    before = pool.load().of("study").preempted
    live = [asyncio.create_task(pool.search(job_of(room=f"live {n}"))) for n in range(2)]
    await until(lambda: pool.load().of("live").running == 2)
    assert pool.load().of("study").preempted == before + 1
    assert pool.load().of("study").waiting == 1
    for search in live:
        search.cancel()
    preempted = await task
    assert preempted.move == undisturbed.move
    for field in ("depth", "score", "nodes", "pv", "moves"):
        assert getattr(preempted.info, field) == getattr(undisturbed.info, field)
    assert (pool.counts.retried, pool._quarantine._records) == (0, {})


async def test_a_full_queue_refuses_jobs() -> None:
    """A full queue refuses another job at once; the queued jobs are answered."""
    async with Pool(workers=1, queue_size=3, warm=()) as own_pool:
        await own_pool.warm("othello")
        await until(lambda: own_pool.ready_worker_count == 1)
        tasks = [
            asyncio.create_task(own_pool.search(timed_job(50, f"{room}"))) for room in range(4)
        ]
        await until(lambda: own_pool.running_count == 1 and own_pool.waiting_count == 3)
        with pytest.raises(QueueFull, match="3 searches"):
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
        await until(lambda: own_pool.waiting_count == 1)
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


async def test_invalid_jobs(pool: Pool) -> None:
    """An unknown game or level, an invalid position or move, or other rules raise an error.

    No worker ends because of it.
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


async def test_a_teaching_game_is_never_searched(pool: Pool) -> None:
    """A game with SEARCH = "teach" is not compiled, and a search of it is refused."""
    game = load_game("coin-friends")
    job = replace(job_of(), game=game.id, rules=game.digest, start="start", moves=())
    with pytest.raises(SearchFailed, match="Coin friends has no levels"):
        await pool.search(job)
    assert not {"coin-friends", "rock-paper-scissors"} & set(production_ids())


async def test_a_failing_listener_fails_its_own_search(pool: Pool) -> None:
    """An exception in `on_info` ends that search and is raised from it."""

    def fail(info: Info) -> None:
        raise LookupError("the listener failed")

    with pytest.raises(LookupError, match="listener"):
        await pool.search(job_of(), fail)
    await until(lambda: not any(slot.is_busy for slot in pool._workers.slots))
    assert (await pool.search(timed_job(50))).move
