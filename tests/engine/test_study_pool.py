"""The study processes: their documents, their limits, and the queue before them."""

import asyncio
import gzip
import os
import signal
import zlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import psutil
import pytest
import pytest_asyncio

from engine.dispatch.dispatcher import QueueFull
from engine.study_pool import pool as pool_module
from engine.study_pool import process as process_module
from engine.study_pool.errors import StudyFailed, StudyUnavailable
from engine.study_pool.messages import (
    BoardsJob,
    ChoicesJob,
    Ended,
    LessonJob,
    LessonListJob,
    LessonTraceJob,
    Limits,
    Part,
    QuizJob,
    Refused,
    StudyJob,
    TraceJob,
)
from engine.study_pool.pool import LESSON_S, StudyPool
from engine.study_pool.process import StudyProcess
from engine.teach.lessons.catalogue import lesson_traces
from engine.teach.requests.request import BoardsRequest, TraceRequest
from tests.support.clock import stopped_clock, until
from tests.support.traces import join_lines, lines_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: A search that takes minutes, and sends its first part at once.
ENDLESS = TraceJob(TraceRequest(game="othello", depth=5, algorithm="minimax"))
#: A search of a few nodes.
QUICK = TraceJob(TraceRequest(tree="max(1, min(2, 3))"))
#: Limits that no test reaches.
LONG = Limits(600, 10_000_000)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def pool() -> AsyncIterator[StudyPool]:
    """Yields a pool with one process for all tests of the module."""
    async with StudyPool(1, limits=LONG) as shared:
        yield shared


class Reader:
    """Collects the parts of a document."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.has_part = asyncio.Event()

    def __call__(self, part: Part) -> None:
        self.parts.append(part)
        self.has_part.set()

    @property
    def content(self) -> bytes:
        """What a client can decompress of the document so far."""
        inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        return b"".join(inflate.decompress(part.body) for part in self.parts)


async def start(pool: StudyPool, job: StudyJob) -> tuple[Reader, asyncio.Task[Any]]:
    """Starts a job, and returns when its first part is here."""
    reader = Reader()
    task = asyncio.create_task(pool.run(job, "ada", reader))
    await reader.has_part.wait()
    return reader, task


async def process_of(pool: StudyPool) -> psutil.Process:
    """Returns the process of the pool's next job."""
    await pool.run(QUICK, "ada", Reader())
    (pid,) = pool.pids
    return psutil.Process(pid)


# --- documents


async def test_documents_of_all_kinds(pool: StudyPool) -> None:
    """Lists, choices and boards are one part; what is wrong is refused with its kind and place."""
    for job in (LessonListJob(), ChoicesJob(), BoardsJob(BoardsRequest("chess", (("e2e4",),)))):
        reader = Reader()
        assert await pool.run(job, "ada", reader) == Ended(reader.parts[0].number, True)
        (part,) = reader.parts
        assert msgspec.json.decode(gzip.decompress(part.body))
    reply = await pool.run(TraceJob(TraceRequest(tree="max(1,\n 2")), "ada", Reader())
    assert isinstance(reply, Refused)
    assert (reply.kind, reply.line, reply.column) == ("text", 2, 3)
    illegal = BoardsJob(BoardsRequest("chess", (("e2e4", "e2e4"),)))
    assert (await pool.run(illegal, "ada", Reader())).kind == "move"  # type: ignore[union-attr]


async def test_each_part_can_be_read_at_once(pool: StudyPool) -> None:
    """A client decompresses whole lines after each part; the checksum is that of all so far."""
    reader = Reader()
    await pool.run(LessonTraceJob("tic-tac-toe", 0), "ada", reader)
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
    content = b""
    for part in reader.parts:
        content += inflate.decompress(part.body)
        assert content.endswith(b"\n")
        assert (part.length, part.crc) == (len(content), zlib.crc32(content))
    assert inflate.eof
    assert len(reader.parts) > 5
    assert join_lines(lines_of(content)) == lesson_traces("tic-tac-toe")[0]


# --- limits


async def test_the_time_of_a_search() -> None:
    """A search that its time ends has a trace: the beginning of the whole one, without a value.

    The time is that of the processor, however long the search waits for it.
    """
    whole = lesson_traces("tic-tac-toe")[0]
    job = TraceJob(TraceRequest(game="tic-tac-toe", depth=None, evaluator="zero"))
    async with StudyPool(1, limits=Limits(0.3, 300_000, elapsed_factor=200)) as pool:
        await pool.run(LessonListJob(), "ada", Reader())  # now the process is there
        reader = Reader()
        reply = await pool.run(job, "ada", reader)
        assert isinstance(reply, Ended)
        assert not reply.is_complete
        cut = join_lines(lines_of(reader.content))
        assert cut.truncated
        assert (cut.value, cut.line) == (None, ())
        assert "the search was stopped after 0.3 s: choose a smaller depth" in cut.meaning
        count = len(cut.nodes.parent)
        assert 0 < count < len(whole.nodes.parent)
        assert cut.nodes.move == whole.nodes.move[:count]
        assert cut.steps.node == whole.steps.node[: len(cut.steps.node)]
        steps = zip(cut.steps.what, cut.steps.node, strict=True)
        left = {node for what, node in steps if what == "leave"}
        for row in left:
            assert cut.nodes.value[row] == whole.nodes.value[row]
        assert isinstance(await pool.run(QUICK, "ada", Reader()), Ended)
        assert pool.killed_count == 0


async def test_a_search_that_waits_too_long_for_the_processor() -> None:
    """A search with processor time left ends when its time in all is over, and says so."""
    async with StudyPool(1, limits=Limits(600, 10_000_000, elapsed_factor=1 / 1200)) as pool:
        reader = Reader()
        job = TraceJob(TraceRequest(game="chess", depth=4, algorithm="minimax"))
        reply = await pool.run(job, "ada", reader)
        reason = "the server is busy, and the search was stopped after 0.5 s"
        if isinstance(reply, Refused):  # it had no node in that time
            assert reason in reply.message
        else:
            assert not reply.is_complete
            assert reason in join_lines(lines_of(reader.content)).meaning
        assert pool.killed_count == 0


async def test_the_nodes_of_a_search() -> None:
    """A search that is over its limit of nodes is refused before it starts, or ends early."""
    async with StudyPool(1, limits=Limits(600, 300)) as pool:
        reply = await pool.run(TraceJob(TraceRequest(game="chess", depth=6)), "ada", Reader())
        assert isinstance(reply, Refused)
        assert reply.kind == "too_large"
        assert "depth 1 takes about 21" in reply.message
        reader = Reader()
        job = TraceJob(TraceRequest(game="tic-tac-toe", depth=5))
        assert (await pool.run(job, "ada", reader)) == Ended(2, True)
        cut = join_lines(lines_of(reader.content))
        assert cut.truncated
        assert "more than 300 nodes" in cut.meaning


async def test_the_memory_of_a_search() -> None:
    """A search that needs too much memory is refused or ends its process; the next job works."""
    async with StudyPool(1, limits=LONG) as pool:
        process = await process_of(pool)
        little = process.memory_info().vms + (4 << 20)
        process.rlimit(psutil.RLIMIT_AS, (little, little))
        try:
            reply = await pool.run(LessonTraceJob("tic-tac-toe", 0), "ada", Reader())
        except StudyFailed:  # the interpreter itself had no memory left
            pass
        else:
            assert isinstance(reply, Refused)
            assert reply.kind == "memory"
        assert pool.killed_count == 1
        assert isinstance(await pool.run(QUICK, "ada", Reader()), Ended)


async def test_what_a_process_may_do(pool: StudyPool) -> None:
    """A process has a lower priority than the server, few threads, and a limit of memory."""
    process = await process_of(pool)
    assert process.nice() == psutil.Process().nice() + 10 or process.nice() == 19
    assert process.rlimit(psutil.RLIMIT_AS)[0] == pool_module.MEMORY_BYTES


# --- faults


async def test_a_killed_process(pool: StudyPool) -> None:
    """A process that is killed in the middle of a trace fails that job; the next one works."""
    process = await process_of(pool)
    reader, task = await start(pool, ENDLESS)
    process.kill()
    with pytest.raises(StudyFailed):
        await task
    assert lines_of(reader.content)[0].keys() == {"head"}
    assert isinstance(await pool.run(QUICK, "ada", Reader()), Ended)


async def test_a_process_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not end its job in its time is killed."""
    monkeypatch.setattr(process_module, "GRACE_S", 0.1)
    async with StudyPool(1, limits=Limits(0.5, 300_000)) as pool:
        hanging = await process_of(pool)
        hanging.suspend()
        monkeypatch.setattr(process_module, "START_S", 0.5)
        with pytest.raises(StudyFailed):
            await pool.run(QUICK, "ada", Reader())
        monkeypatch.undo()
        assert (await process_of(pool)).pid != hanging.pid


async def test_a_job_that_nobody_wants_any_more(pool: StudyPool) -> None:
    """Cancelling a job ends it early; its process goes on with the next one."""
    pid, killed = (await process_of(pool)).pid, pool.killed_count
    for _ in range(3):
        _, task = await start(pool, ENDLESS)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(await pool.run(QUICK, "ada", Reader()), Ended)
    assert (pool.pids, pool.killed_count) == ([pid], killed)


async def test_an_interrupt_between_jobs_is_harmless(pool: StudyPool) -> None:
    """A process that is interrupted without a job ignores it."""
    pid = (await process_of(pool)).pid
    os.kill(pid, signal.SIGALRM)
    assert isinstance(await pool.run(QUICK, "ada", Reader()), Ended)
    assert pool.pids == [pid]


async def test_the_end_of_a_pool() -> None:
    """A pool that closes ends its jobs and leaves no process behind; one of size 0 is off."""
    async with StudyPool(1, limits=LONG) as pool:
        pid = (await process_of(pool)).pid
        _, running = await start(pool, ENDLESS)
        waiting = asyncio.create_task(pool.run(QUICK, "ben", Reader()))
        await until(lambda: pool.load().waiting == 1)
    assert not psutil.pid_exists(pid)
    for task in (running, waiting):
        with pytest.raises(StudyUnavailable):
            await task
    with pytest.raises(StudyUnavailable):
        await pool.run(QUICK, "ada", Reader())
    async with StudyPool(0) as off:
        with pytest.raises(StudyUnavailable):
            await off.run(QUICK, "ada", Reader())


# --- the queue, with processes in memory


class FakeProcess(StudyProcess):
    """A process that answers when the test releases it."""

    pids = iter(range(1_000_000))
    running: list[tuple[Any, asyncio.Future[None]]]
    #: The limits of the last job.
    last_limits: Limits | None = None

    async def start(self) -> None:
        self.fake_pid = next(self.pids)

    @property
    def pid(self) -> int | None:
        return getattr(self, "fake_pid", None)

    async def run(self, job: StudyJob, limits: Limits, on_part: Any) -> Ended | Refused:
        released = asyncio.get_running_loop().create_future()
        self.running.append((job, released))
        FakeProcess.last_limits = limits
        await released
        return Ended(1, True)

    def interrupt(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, asyncio.Future[None]]]:
    """Returns the jobs that run, each with the future that ends it."""
    monkeypatch.setattr(pool_module, "StudyProcess", FakeProcess)
    FakeProcess.running = []
    return FakeProcess.running


def tree(number: int) -> TraceJob:
    """Returns a search that differs from those of other numbers."""
    return TraceJob(TraceRequest(tree=str(number)))


async def test_addresses_take_turns(running: list[tuple[Any, asyncio.Future[None]]]) -> None:
    """The jobs of one address wait for each other, and not those of another address for them."""
    async with StudyPool(1) as pool:
        crowd = [asyncio.create_task(pool.run(tree(n), "crowd", Reader())) for n in range(5)]
        await until(lambda: len(running) == 1)
        single = asyncio.create_task(pool.run(tree(100), "ada", Reader()))
        await until(lambda: pool.load().waiting == 5)
        while not all(task.done() for task in (*crowd, single)):
            if not running[-1][1].done():
                running[-1][1].set_result(None)
            await asyncio.sleep(0)
    order = [job.request.tree for job, _ in running]
    assert order.index("100") <= 2


@pytest.mark.parametrize(
    ("job", "seconds"),
    [
        (LessonJob("meaning"), LESSON_S), (QuizJob("meaning"), LESSON_S),
        (LessonTraceJob("meaning", 1), LESSON_S), (QUICK, 0.5), (ChoicesJob(), 0.5),
    ],
)  # fmt: skip
async def test_the_time_of_a_job(
    running: list[tuple[Any, asyncio.Future[None]]], job: StudyJob, seconds: float
) -> None:
    """A lesson has a minute, so that its trace is complete; any other job has the pool's time."""
    async with StudyPool(1, limits=Limits(0.5, 300)) as pool:
        task = asyncio.create_task(pool.run(job, "ada", Reader()))
        await until(lambda: len(running) == 1)
        assert FakeProcess.last_limits == Limits(seconds, 300)
        running[0][1].set_result(None)
        await task


async def test_the_queue_is_bounded(
    running: list[tuple[Any, asyncio.Future[None]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An address may have some jobs waiting, and all addresses together some more."""
    monkeypatch.setattr(pool_module, "QUEUE_SIZE", 4)
    monkeypatch.setattr(pool_module, "QUEUE_SIZE_PER_ADDRESS", 3)
    async with StudyPool(1) as pool:
        tasks = [asyncio.create_task(pool.run(tree(n), "crowd", Reader())) for n in range(4)]
        await until(lambda: pool.load().waiting == 3)
        with pytest.raises(QueueFull):
            await pool.run(tree(9), "crowd", Reader())
        tasks.append(asyncio.create_task(pool.run(tree(10), "ada", Reader())))
        await until(lambda: pool.load().waiting == 4)
        with pytest.raises(QueueFull):
            await pool.run(tree(11), "ben", Reader())
        tasks[1].cancel()
        await until(lambda: pool.load().waiting == 3)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        running[0][1].set_result(None)


async def test_lessons_and_boards_never_wait_for_searches(
    running: list[tuple[Any, asyncio.Future[None]]],
) -> None:
    """With two processes one is free for jobs other than chosen searches, whatever waits."""
    async with StudyPool(2) as pool:
        searches = [asyncio.create_task(pool.run(tree(n), "crowd", Reader())) for n in range(9)]
        await until(lambda: pool.load().waiting == 8)
        lesson = LessonTraceJob("alpha-cut", 0)
        boards = asyncio.create_task(pool.run(lesson, "ada", Reader()))
        await until(lambda: len(running) == 2)
        assert running[1][0] == lesson
        running[1][1].set_result(None)
        assert await boards == Ended(1, True)
        for task in searches:
            task.cancel()
        await asyncio.gather(*searches, return_exceptions=True)
        running[0][1].set_result(None)


async def test_processes_end_when_idle(
    running: list[tuple[Any, asyncio.Future[None]]],
) -> None:
    """A process ends a minute after its last job."""
    async with StudyPool(1) as pool, stopped_clock() as clock:
        task = asyncio.create_task(pool.run(QUICK, "ada", Reader()))
        await until(lambda: len(running) == 1)
        running[0][1].set_result(None)
        await task
        (pid,) = pool.pids
        await clock.run(pool_module.IDLE_S - 1)
        assert pool.pids == [pid]
        await clock.run(2)
        assert pool.pids == []
