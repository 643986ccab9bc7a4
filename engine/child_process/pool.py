"""A pool of processes: a bounded queue of jobs, by rank and fair among affinities, before a few
processes.

A process starts when it is first needed, and ends after a while without a job.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from msgspec import Struct, field

from engine.dispatch.fair_queue import RankedQueue
from engine.search.job import Load

A = TypeVar("A")


class Closable(Protocol):
    """A process that the pool can close."""

    @property
    def pid(self) -> int | None:
        """The process id; None before the start and after the end."""

    async def close(self) -> None:
        """Kills the process and waits for its end."""


P = TypeVar("P", bound=Closable)


class PendingJob(Struct, Generic[A], eq=False, kw_only=True):
    """A job that waits for a process, or runs in one. Pools add fields of their own."""

    #: The room or the address whose job it is.
    affinity: str
    #: Jobs of rank 0 are served first.
    rank: int = 0
    answer: asyncio.Future[A] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    #: The job's number in the order of admission.
    number: int = 0
    #: The task that runs the job; None while it waits.
    task: asyncio.Task[None] | None = None


J = TypeVar("J", bound=PendingJob[Any])


class ProcessPool(ABC, Generic[P, J, A]):
    """Runs jobs in at most `size` processes; up to `queue_size` jobs of each of
    `ranks` ranks wait.

    A process without a job ends after `idle_s` seconds.
    """

    def __init__(self, size: int, queue_size: int, idle_s: float, ranks: int = 1) -> None:
        self._size = size
        self._queue: RankedQueue[J] = RankedQueue(queue_size, ranks)
        self._running: set[J] = set()
        self._idle: IdleProcesses[P] = IdleProcesses(idle_s)
        self._admitted_count = 0
        self._is_open = False
        #: The number of processes that were killed while they ran a job.
        self.killed_count = 0

    async def __aenter__(self) -> Self:
        self._is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends all jobs with an error, and leaves no process behind."""
        self._is_open = False
        for pending in [*self._queue, *self._running]:
            self._queue.remove(pending)
            if not pending.answer.done():
                pending.answer.set_exception(self._closed_error())
        tasks = [pending.task for pending in self._running if pending.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._idle.close()

    def load(self) -> Load:
        """Returns the numbers of running and waiting jobs, and of processes."""
        return Load(len(self._running), len(self._queue), self._size)

    @property
    def pids(self) -> list[int]:
        """The process ids of the idle processes."""
        return self._idle.pids

    async def _submit(self, pending: J) -> A:
        """Queues a job and returns its answer. Cancelling the call cancels the job.

        The caller checks first that the pool is open and the queue has room.
        """
        self._admitted_count += 1
        pending.number = self._admitted_count
        self._queue.put(pending)
        self._dispatch()
        try:
            answer: A = await pending.answer
        except asyncio.CancelledError:
            self._queue.remove(pending)
            self._cancel(pending)
            raise
        return answer

    def _dispatch(self) -> None:
        """Starts waiting jobs while there is a process for them."""
        while self._is_open and len(self._running) < self._size:
            pending = self._queue.take(self._may_run)
            if pending is None:
                return
            self._running.add(pending)
            name = f"job of {type(self).__name__}"
            pending.task = asyncio.create_task(self._serve(pending), name=name)

    async def _serve(self, pending: J) -> None:
        """Runs a job to its end, then starts the next one."""
        try:
            answer = await self._run(pending)
            if not pending.answer.done():
                pending.answer.set_result(answer)
        except Exception as error:
            if not pending.answer.done():
                pending.answer.set_exception(error)
        finally:
            self._running.discard(pending)
            self._dispatch()

    def _release(self, process: P, *, is_usable: bool) -> None:
        """Keeps a process for the next job; kills one that is in an unknown state."""
        if is_usable and self._is_open:
            self._idle.keep(process)
        else:
            self.killed_count += 1
            self._idle.end(process)

    # --- what a pool decides

    @abstractmethod
    async def _run(self, pending: J) -> A:
        """Runs a job in a process, which it then releases; returns the answer."""

    @abstractmethod
    def _closed_error(self) -> Exception:
        """Returns the error of a job that the end of the pool interrupts."""

    def _may_run(self, pending: J) -> bool:
        """Returns whether a waiting job may have a process now."""
        return True

    def _cancel(self, pending: J) -> None:
        """Ends a job whose caller has left, if it runs."""
        if pending.task is not None:
            pending.task.cancel()


class IdleProcesses(Generic[P]):
    """The idle processes of a pool, the longest idle one first. Each ends after `idle_s`."""

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._timers: dict[P, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._timers)

    def __iter__(self) -> Iterator[P]:
        return iter(self._timers)

    @property
    def pids(self) -> list[int]:
        """Their process ids."""
        return [process.pid for process in self._timers if process.pid is not None]

    def keep(self, process: P) -> None:
        """Adds a process whose job has ended."""
        loop = asyncio.get_running_loop()
        self._timers[process] = loop.call_later(self._idle_s, self.end, process)

    def take(self, fits: Callable[[P], bool] = lambda process: True) -> P | None:
        """Removes and returns the most recently used process that fits; None if there is none."""
        process = next((process for process in reversed(self._timers) if fits(process)), None)
        if process is not None:
            self._timers.pop(process).cancel()
        return process

    def end(self, process: P) -> None:
        """Kills a process, idle or not, without waiting for its end."""
        timer = self._timers.pop(process, None)
        if timer is not None:
            timer.cancel()
        task = asyncio.create_task(process.close(), name="end of a process")
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Kills all processes, and waits for the end of all that were killed."""
        for process in list(self._timers):
            self.end(process)
        await asyncio.gather(*self._closing)
