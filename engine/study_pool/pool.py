"""The pool of study processes: a bounded queue, fair among addresses, before a few processes.

    async with StudyPool() as pool:
        reply = await pool.run(job, address, on_part)

A process starts when it is first needed, and ends after IDLE_S without a job. With two or more
processes one is free for other jobs than searches that users chose, so that lessons and boards
never wait for the searches of others.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType

from msgspec import Struct, structs

from engine.child_process.idle import IdleProcesses
from engine.dispatch.dispatcher import QueueFull
from engine.dispatch.fair_queue import FairQueue
from engine.search.job import Load
from engine.study_pool.errors import StudyFailed, StudyUnavailable
from engine.study_pool.messages import (
    LESSON_JOBS,
    SEARCHES,
    Ended,
    Limits,
    Part,
    Refused,
    StudyJob,
)
from engine.study_pool.process import StudyProcess, StudyProcessLost

#: The default number of processes.
PROCESSES = 2
#: The default limit of a process's address space, in bytes.
MEMORY_BYTES = 512 << 20
#: The default limits of a job.
LIMITS = Limits(seconds=5.0, max_nodes=300_000)
#: The time limit of a lesson, in seconds: its searches are known, and their traces are whole.
LESSON_S = 60.0
#: Maximum number of jobs that wait for a process.
QUEUE_SIZE = 256
#: Maximum number of jobs of one address that wait.
QUEUE_SIZE_PER_ADDRESS = 64
#: Seconds after which a process without a job ends.
IDLE_S = 60.0

OnPart = Callable[[Part], None]


class PendingStudy(Struct, eq=False):
    """A job that waits for a process, or runs in one."""

    job: StudyJob
    #: The address whose job it is.
    affinity: str
    on_part: OnPart
    answer: asyncio.Future[Ended | Refused]
    number: int
    task: asyncio.Task[None] | None = None
    #: The process that runs it.
    process: StudyProcess | None = None

    @property
    def is_search(self) -> bool:
        return isinstance(self.job, SEARCHES)


class StudyPool:
    """Runs study jobs in at most `size` processes, each with `memory_bytes`."""

    def __init__(
        self,
        size: int = PROCESSES,
        memory_bytes: int = MEMORY_BYTES,
        limits: Limits = LIMITS,
    ) -> None:
        self._size = size
        self._memory_bytes = memory_bytes
        self._limits = limits
        self._queue: FairQueue[PendingStudy] = FairQueue(QUEUE_SIZE)
        self._running: set[PendingStudy] = set()
        self._idle: IdleProcesses[StudyProcess] = IdleProcesses(IDLE_S)
        self._admitted_count = 0
        self._is_open = False
        #: The number of processes that were killed while they ran a job.
        self.killed_count = 0

    async def __aenter__(self) -> "StudyPool":
        self._is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends all jobs with StudyUnavailable, and leaves no process behind."""
        self._is_open = False
        for pending in [*self._queue, *self._running]:
            self._queue.remove(pending)
            if not pending.answer.done():
                pending.answer.set_exception(StudyUnavailable("the server is stopping"))
        tasks = [pending.task for pending in self._running if pending.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._idle.close()

    @property
    def is_on(self) -> bool:
        """Whether there are study processes."""
        return self._size > 0

    @property
    def limits(self) -> Limits:
        return self._limits

    def load(self) -> Load:
        """The numbers of running and waiting jobs, and of processes."""
        return Load(len(self._running), len(self._queue), self._size)

    @property
    def pids(self) -> list[int]:
        """The process ids of the idle processes."""
        return self._idle.pids

    async def run(self, job: StudyJob, address: str, on_part: OnPart) -> Ended | Refused:
        """Runs a job of an address; calls `on_part` with each part of its document.

        Returns the last reply. Raises StudyUnavailable, QueueFull or StudyFailed. Cancelling the
        call ends the job early.
        """
        if not self._is_open or not self.is_on:
            raise StudyUnavailable("this server has no study processes")
        waiting = sum(pending.affinity == address for pending in self._queue)
        if self._queue.is_full or waiting >= QUEUE_SIZE_PER_ADDRESS:
            raise QueueFull(f"{waiting} searches of this address are waiting already")
        self._admitted_count += 1
        answer: asyncio.Future[Ended | Refused] = asyncio.get_running_loop().create_future()
        pending = PendingStudy(job, address, on_part, answer, self._admitted_count)
        self._queue.put(pending)
        self._dispatch()
        try:
            return await answer
        except asyncio.CancelledError:
            self._queue.remove(pending)
            if pending.process is not None:
                pending.process.interrupt()
            raise

    def _dispatch(self) -> None:
        """Starts waiting jobs while there is a process for them."""
        while self._is_open and len(self._running) < self._size:
            pending = self._queue.take(self._may_run)
            if pending is None:
                return
            self._running.add(pending)
            pending.task = asyncio.create_task(self._serve(pending), name="study")

    def _may_run(self, pending: PendingStudy) -> bool:
        """Whether a job may have a process now; searches leave one free for other jobs."""
        searches = sum(running.is_search for running in self._running)
        return not pending.is_search or searches < max(1, self._size - 1)

    async def _serve(self, pending: PendingStudy) -> None:
        """Runs a job to its end, then starts the next one."""
        try:
            result = await self._run(pending)
            if not pending.answer.done():
                pending.answer.set_result(result)
        except Exception as error:
            if not pending.answer.done():
                pending.answer.set_exception(error)
        finally:
            self._running.discard(pending)
            self._dispatch()

    async def _run(self, pending: PendingStudy) -> Ended | Refused:
        """Runs a job in a process, and keeps the process only if the job ended as it should."""
        process = pending.process = self._idle.take() or StudyProcess(self._memory_bytes)
        is_usable = False
        try:
            if process.pid is None:
                await process.start()
            reply = await process.run(pending.job, self._limits_of(pending.job), pending.on_part)
            is_usable = not (isinstance(reply, Refused) and reply.kind == "memory")
            return reply
        except (OSError, StudyProcessLost) as error:
            raise StudyFailed(str(error)) from error
        finally:
            if is_usable and self._is_open:
                self._idle.keep(process)
            else:
                self.killed_count += 1
                self._idle.end(process)

    def _limits_of(self, job: StudyJob) -> Limits:
        is_lesson = isinstance(job, LESSON_JOBS)
        return structs.replace(self._limits, seconds=LESSON_S) if is_lesson else self._limits
