"""The pool of study processes: a bounded queue of jobs, fair among addresses.

    async with StudyPool() as pool:
        reply = await pool.run(job, address, on_part)

With two or more processes, searches that users chose leave one free, so that lessons and boards
never wait for the searches of others.
"""

from collections.abc import Callable

from msgspec import structs

from engine.child_process.pool import PendingJob, ProcessPool
from engine.dispatch.dispatcher import QueueFull
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
#: The limit of a lesson's processor time, in seconds: its searches are known, and their traces are
#: complete.
LESSON_S = 60.0
#: Maximum number of jobs that wait for a process.
QUEUE_SIZE = 256
#: Maximum number of jobs of one address that wait.
QUEUE_SIZE_PER_ADDRESS = 64
#: Seconds after which a process without a job ends.
IDLE_S = 60.0

OnPart = Callable[[Part], None]


class PendingStudy(PendingJob[Ended | Refused], kw_only=True):
    """A study job that waits for a process, or runs in one; its affinity is the address."""

    job: StudyJob
    on_part: OnPart
    #: The process that runs it.
    process: StudyProcess | None = None

    @property
    def is_search(self) -> bool:
        return isinstance(self.job, SEARCHES)


class StudyPool(ProcessPool[StudyProcess, PendingStudy, Ended | Refused]):
    """Runs study jobs in at most `size` processes, each with `memory_bytes`."""

    def __init__(
        self,
        size: int = PROCESSES,
        memory_bytes: int = MEMORY_BYTES,
        limits: Limits = LIMITS,
    ) -> None:
        super().__init__(size, QUEUE_SIZE, IDLE_S)
        self._memory_bytes = memory_bytes
        self._limits = limits

    @property
    def is_on(self) -> bool:
        """Whether there are study processes."""
        return self._size > 0

    @property
    def limits(self) -> Limits:
        """The limits of a job that is no lesson."""
        return self._limits

    async def run(self, job: StudyJob, address: str, on_part: OnPart) -> Ended | Refused:
        """Runs a job of an address; calls `on_part` with each part of its document.

        Returns the last reply. Raises StudyUnavailable, QueueFull or StudyFailed. Cancelling the
        call ends the job early.
        """
        if not self._is_open or not self.is_on:
            raise StudyUnavailable("this server has no study processes")
        waiting = sum(pending.affinity == address for pending in self._queue)
        if self._queue.is_full_for(0) or waiting >= QUEUE_SIZE_PER_ADDRESS:
            raise QueueFull(f"{waiting} searches of this address are waiting already")
        return await self._submit(PendingStudy(job=job, affinity=address, on_part=on_part))

    def _may_run(self, pending: PendingStudy) -> bool:
        """Returns whether a job may have a process now; searches leave one free for other jobs."""
        searches = sum(running.is_search for running in self._running)
        return not pending.is_search or searches < max(1, self._size - 1)

    async def _run(self, pending: PendingStudy) -> Ended | Refused:
        """Runs a job in a process, and keeps the process only if the job ended normally."""
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
            self._release(process, is_usable=is_usable)

    def _cancel(self, pending: PendingStudy) -> None:
        """Interrupts a job whose caller has left: its process ends it, and stays usable."""
        if pending.process is not None:
            pending.process.interrupt()

    def _closed_error(self) -> Exception:
        return StudyUnavailable("the server is stopping")

    def _limits_of(self, job: StudyJob) -> Limits:
        is_lesson = isinstance(job, LESSON_JOBS)
        return structs.replace(self._limits, seconds=LESSON_S) if is_lesson else self._limits
