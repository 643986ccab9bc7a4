"""The pool of strategies: processes with limits, which are replaced after any failure."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import psutil
import pytest
import pytest_asyncio
from msgspec.structs import replace

from engine.dispatch.dispatcher import QueueFull
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Limit, Result, RulesChanged
from engine.strategies import reasons
from engine.strategies.contract import MAX_LOG_BYTES, Choice, StrategyFailed
from engine.strategies.registry import load_strategy, strategy_names
from engine.strategy_pool import pool as pool_module
from engine.strategy_pool.pool import StrategyPool, StrategyPoolClosed
from engine.strategy_pool.process import GRACE_S, StrategyProcess
from tests.engine.strategies.installed import NAMES, installed_strategies
from tests.support.clock import stopped_clock, until

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: The first two moves of tic-tac-toe, and the last one, in the order of the rules.
FIRST, SECOND, *_, LAST = load_game("tic-tac-toe").start().tokens()
#: A time for a move that no test reaches, in ms.
LONG_MS = 600_000


def job_of(strategy: str, room: str = "room", time_ms: int = LONG_MS, **fields: Any) -> Job:
    """Returns the job of a strategy at the start of tic-tac-toe."""
    game = load_game("tic-tac-toe")
    start = game.start()
    return Job(
        game.id, fields.get("rules", game.digest), dict(start.options), start.text(), (), room,
        limit=Limit(depth=2, time_ms=time_ms), strategy=strategy, evaluator="zero",
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Installs the strategies of the test's package."""
    with installed_strategies(tmp_path_factory.mktemp("site")):
        yield


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool(installed: None) -> AsyncIterator[StrategyPool]:
    """Yields a pool with two processes for all tests of the module."""
    async with StrategyPool(2) as shared:
        yield shared


def running_pid(pool: StrategyPool) -> int:
    """Returns the process id of the only process that runs a job."""
    pids = {child.pid for child in psutil.Process().children()} - set(pool.pids)
    (pid,) = [pid for pid in pids if "engine.strategy_pool.child" in psutil.Process(pid).cmdline()]
    return pid


# --- the registry


async def test_strategies_of_other_packages() -> None:
    """Their names follow the built-in ones; bad names and those of built-in ones are left out."""
    assert set(strategy_names()) >= {*NAMES, "last-move", "fewest-replies"}
    assert "Bad_Name" not in strategy_names()
    assert strategy_names().count("minimax") == 1
    assert "partial" in repr(load_strategy("minimax"))


# --- answers


async def test_strategies_of_all_kinds(pool: StrategyPool) -> None:
    """A built-in strategy, a class, and the function of the documentation choose a move."""
    minimax = await pool.search(job_of("minimax"))
    assert (minimax.move, minimax.info.depth, minimax.info.value) == (FIRST, 2, "0")
    assert minimax.info.log.endswith("MINIMAX score for next move = 0")
    for count in (1, 2):
        result = await pool.search(job_of("last-move"))
        assert (result.move, result.info.log) == (LAST, f"move {count}")
    result = await pool.search(job_of("fewest-replies"))
    assert (result.move, result.info.nodes) == (FIRST, 9)
    assert (result.info.value, result.info.depth) == ("0", 1), "it is not a move at random"
    at_random = await pool.search(job_of("random"))
    assert (at_random.info.value, at_random.info.depth) == ("", 0)
    assert result.info.log.splitlines()[0] == f"{FIRST}: 8 replies"


async def test_a_choice_when_the_time_is_over(pool: StrategyPool) -> None:
    """The last choice counts; its log says that the time was over. Earlier ones are reported."""
    reports: list[Info] = []
    result = await pool.search(job_of("late", time_ms=1000), reports.append)
    assert (result.move, result.info.depth) == (SECOND, 2) or (result.move, result.info.depth) == (
        FIRST, 1
    )  # fmt: skip
    assert result.info.log.splitlines()[0].startswith("(the time for a move was over")
    assert [report.depth for report in reports][:1] == [1]


async def test_a_strategy_that_writes_and_reads(pool: StrategyPool) -> None:
    """Its output is lost, its input is empty, and its log has a limit."""
    result = await pool.search(job_of("chatty"))
    assert result.move == FIRST
    assert len(result.info.log.encode()) == MAX_LOG_BYTES


async def test_what_a_process_inherits(pool: StrategyPool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process inherits no socket but its own, and no variable but those of the list."""
    monkeypatch.setenv("PLYROOM_DATABASE", "postgresql://ada:secret@host/plyroom")
    async with StrategyPool(1) as fresh:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.set_inheritable(True)
            result = await fresh.search(job_of("spy"))
        environment, files, pid = json.loads(result.info.log)
        assert not [name for name in environment if name.startswith("PLYROOM")]
        # Its commands and its replies, on one socket; the spy has no other.
        sockets = [file for file in files if file.startswith("socket:")]
        assert len(sockets) == 2
        assert len({*sockets}) == 1
        assert os.getsid(pid) == pid != os.getsid(0)


# --- failures


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        ("wrong", reasons.FAILED), ("leave", reasons.FAILED), ("nothing", reasons.ENDED),
        ("crash", reasons.ENDED), ("leak", reasons.MEMORY), ("not-installed", reasons.MISSING),
    ],
)  # fmt: skip
async def test_failures(pool: StrategyPool, strategy: str, reason: str) -> None:
    """A strategy that fails has a reason in our words; its process ends, and another follows."""
    ended_before = pool.killed_count
    with pytest.raises(StrategyFailed) as failed:
        await pool.search(job_of(strategy))
    assert str(failed.value) == reason
    assert reason in reasons.REASONS
    assert pool.killed_count == ended_before + 1
    assert (await pool.search(job_of("minimax"))).move == FIRST


async def test_the_message_of_a_failure_is_for_the_log(pool: StrategyPool) -> None:
    """What the strategy raised is the cause, which players do not see."""
    with pytest.raises(StrategyFailed) as failed:
        await pool.search(job_of("fail"))
    assert "secret" not in str(failed.value)
    assert str(failed.value.__cause__) == "ZeroDivisionError: the secret of the author"


async def test_other_rules(pool: StrategyPool) -> None:
    """A job for other rules is refused."""
    with pytest.raises(RulesChanged):
        await pool.search(job_of("minimax", rules="0" * 16))


async def test_a_strategy_that_takes_too_long(pool: StrategyPool) -> None:
    """A strategy without a choice in its time has failed."""
    with pytest.raises(StrategyFailed, match="more time than a move may take"):
        await pool.search(job_of("slow", time_ms=200))


async def test_a_strategy_that_hangs_is_killed(pool: StrategyPool) -> None:
    """Others go on while a strategy hangs; after its time its process is killed and replaced."""
    ended_before = pool.killed_count
    reports: list[Info] = []
    async with stopped_clock() as clock:
        hanging = asyncio.create_task(pool.search(job_of("hang", "first room"), reports.append))
        await until(lambda: bool(reports))  # it has begun
        pid = running_pid(pool)
        assert (await pool.search(job_of("minimax", "second room"))).move == FIRST
        clock.advance(LONG_MS / 1000 + GRACE_S - 1)
        assert (await pool.search(job_of("minimax", "second room"))).move == FIRST
        assert not hanging.done(), "its time is not over"
        clock.advance(2)
        await until(hanging.done)
    with pytest.raises(StrategyFailed, match="more time than a move may take"):
        await hanging
    assert pool.killed_count == ended_before + 1
    await until(lambda: not psutil.pid_exists(pid))
    assert (await pool.search(job_of("last-move"))).move == LAST


async def test_a_strategy_cannot_change_others(pool: StrategyPool) -> None:
    """A strategy of another package shares no process with the built-in ones."""
    async with StrategyPool(1) as single:
        for strategy in ("minimax", "vandal", "minimax"):
            assert (await single.search(job_of(strategy))).move == FIRST


async def test_a_cancelled_job(pool: StrategyPool) -> None:
    """Cancelling the caller kills the process; a job that waits leaves the queue."""
    async with StrategyPool(1) as single:
        running = asyncio.create_task(single.search(job_of("hang")))
        waiting = asyncio.create_task(single.search(job_of("minimax")))
        await until(lambda: single.load().running == single.load().waiting == 1)
        waiting.cancel()
        await until(lambda: single.load().waiting == 0)
        running.cancel()
        await until(lambda: single.load().running == 0)
        assert (await single.search(job_of("minimax"))).move == FIRST
        assert single.killed_count == 1


async def test_the_end_of_the_pool(pool: StrategyPool) -> None:
    """The end of the pool ends all jobs and leaves no process."""
    async with StrategyPool(1) as single:
        assert single.names == tuple(strategy_names())
        jobs = [asyncio.create_task(single.search(job_of("hang", room))) for room in "ab"]
        await until(lambda: single.load().running == single.load().waiting == 1)
    for job in jobs:
        with pytest.raises(StrategyPoolClosed):
            await job
    with pytest.raises(StrategyPoolClosed):
        await single.search(job_of("minimax"))
    assert StrategyPool(0).names == ()


# --- the queue, with processes in memory


class FakeProcess(StrategyProcess):
    """A process that answers when the test releases it."""

    pids = iter(range(1_000_000))
    running: list[tuple[str, asyncio.Future[None]]]

    async def start(self) -> None:
        self.fake_pid = next(self.pids)

    @property
    def pid(self) -> int | None:
        return getattr(self, "fake_pid", None)

    async def run(self, job: Job, on_choice: Any) -> tuple[Choice, bool]:
        released = asyncio.get_running_loop().create_future()
        self.running.append((job.affinity, released))
        await released
        return Choice("a1"), False

    async def close(self) -> None:
        pass


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, asyncio.Future[None]]]:
    """Replaces the processes; the list has the room of each started job."""
    FakeProcess.running = []
    monkeypatch.setattr(pool_module, "StrategyProcess", FakeProcess)
    return FakeProcess.running


async def test_jobs_are_fair_among_rooms(
    running: list[tuple[str, asyncio.Future[None]]],
) -> None:
    """A room with many jobs waits for its turn after each; none waits longer than a round.

    Matches between AIs come after those with people, however long those wait.
    """
    async with StrategyPool(1) as single:
        first = job_of("minimax", "a")
        jobs = [first, *(replace(first, affinity=f"ais{n}", priority=2) for n in range(5))]
        jobs += [job_of("minimax", room) for room in ("a", "a", "a", "b", "c")]
        tasks = [asyncio.create_task(single.search(job)) for job in jobs]
        for number in range(len(tasks)):
            await until(lambda number=number: len(running) > number)  # type: ignore[misc]
            running[number][1].set_result(None)
        await asyncio.gather(*tasks)
        rooms = [room for room, _ in running]
        assert rooms == ["a", "a", "b", "c", "a", "a", *(f"ais{n}" for n in range(5))]


async def test_the_queue_is_bounded(
    running: list[tuple[str, asyncio.Future[None]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond its size the queue refuses jobs; matches between AIs have one of their own."""
    monkeypatch.setattr(pool_module, "QUEUE_SIZE", 2)
    async with StrategyPool(1) as single:
        tasks = [asyncio.create_task(single.search(job_of("minimax", room))) for room in "abcd"]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        (refused,) = done
        with pytest.raises(QueueFull):
            await refused
        between_ais = replace(job_of("minimax", "e"), priority=1)
        tasks.append(asyncio.create_task(single.search(between_ais)))
        await asyncio.sleep(0)
        assert single.load().waiting == 3
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def test_an_idle_process_ends(
    running: list[tuple[str, asyncio.Future[None]]],
) -> None:
    """A process ends after a minute without a job, and not before."""
    async with StrategyPool(1) as single, stopped_clock() as clock:
        task: asyncio.Task[Result] = asyncio.create_task(single.search(job_of("minimax")))
        await until(lambda: bool(running))
        running[0][1].set_result(None)
        await task
        (pid,) = single.pids
        await clock.run(pool_module.IDLE_S - 1)
        assert single.pids == [pid]
        await clock.run(2)
        assert single.pids == []
