"""The pool of strategies: a bounded queue, fair among rooms, before a few processes.

    async with StrategyPool() as pool:
        result = await pool.search(job)

A process starts when it is first needed, and ends after IDLE_S without a job. The built-in
strategies share processes; one of another package has processes of its own, so that it cannot
change what others play. A process whose strategy fails, hangs or needs too much memory is killed,
and the next job starts another.
"""

import asyncio
from collections.abc import Callable
from types import TracebackType

from msgspec import Struct
from msgspec.structs import replace

from engine.child_process.idle import IdleProcesses
from engine.dispatch.dispatcher import QueueFull
from engine.dispatch.fair_queue import FairQueue
from engine.search.job import Info, Job, Load, Result, SearchError
from engine.search.report import nodes_per_second
from engine.strategies import reasons
from engine.strategies.contract import MAX_LOG_BYTES, Choice, StrategyFailed
from engine.strategies.registry import BUILT_IN, strategy_names
from engine.strategy_pool.process import StrategyProcess

#: The default number of processes.
PROCESSES = 2
#: The default limit of a process's address space, in bytes.
MEMORY_BYTES = 512 << 20
#: Maximum number of jobs that wait for a process.
QUEUE_SIZE = 256
#: The group of the built-in strategies. No strategy of another package has this name.
BUILT_IN_GROUP = ""
#: Seconds after which a process without a job ends.
IDLE_S = 60.0

OnInfo = Callable[[Info], None]


class StrategyPoolClosed(SearchError):
    """The pool closed before the strategy chose a move."""


class PendingJob(Struct, eq=False):
    """A job that waits for a process, or runs in one."""

    job: Job
    on_info: OnInfo
    answer: asyncio.Future[Result]
    number: int
    task: asyncio.Task[None] | None = None

    @property
    def affinity(self) -> str:
        return self.job.affinity


class StrategyPool:
    """Runs the strategies of jobs in at most `size` processes, each with `memory_bytes`."""

    def __init__(self, size: int = PROCESSES, memory_bytes: int = MEMORY_BYTES) -> None:
        self._size = size
        self._memory_bytes = memory_bytes
        self._queue: FairQueue[PendingJob] = FairQueue(QUEUE_SIZE)
        self._running: set[PendingJob] = set()
        self._idle: IdleProcesses[StrategyProcess] = IdleProcesses(IDLE_S)
        self._admitted_count = 0
        self._is_open = False
        #: The number of processes that were killed while they ran a job.
        self.killed_count = 0

    async def __aenter__(self) -> "StrategyPool":
        self._is_open = True
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Ends all jobs with StrategyPoolClosed, and leaves no process behind."""
        self._is_open = False
        for pending in [*self._queue, *self._running]:
            self._queue.remove(pending)
            if not pending.answer.done():
                pending.answer.set_exception(StrategyPoolClosed("the strategies have ended"))
        tasks = [pending.task for pending in self._running if pending.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._idle.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies that run here: none without processes."""
        return tuple(strategy_names()) if self._size else ()

    def load(self) -> Load:
        """The numbers of running and waiting jobs, and of processes."""
        return Load(len(self._running), len(self._queue), self._size)

    @property
    def pids(self) -> list[int]:
        """The process ids of the idle processes."""
        return self._idle.pids

    async def search(self, job: Job, on_info: OnInfo = lambda info: None) -> Result:
        """Returns the choice of the job's strategy; calls `on_info` with each earlier choice.

        If the time is over, the last choice so far is the answer, unless the strategy does not stop
        then. Raises StrategyFailed, with a reason for players, RulesChanged, QueueFull or
        StrategyPoolClosed. Cancelling the call kills the process.
        """
        if not self._is_open:
            raise StrategyPoolClosed("the strategies have ended")
        if self._queue.is_full:
            raise QueueFull(f"{self._queue.size} strategies are waiting already")
        self._admitted_count += 1
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        pending = PendingJob(job, on_info, answer, self._admitted_count)
        self._queue.put(pending)
        self._dispatch()
        try:
            return await answer
        except asyncio.CancelledError:
            self._queue.remove(pending)
            if pending.task is not None:
                pending.task.cancel()
            raise

    def _dispatch(self) -> None:
        """Starts waiting jobs while there is a process for them."""
        while self._is_open and len(self._running) < self._size:
            pending = self._queue.take(lambda _: True)
            if pending is None:
                return
            self._running.add(pending)
            pending.task = asyncio.create_task(self._serve(pending), name="strategy")

    async def _serve(self, pending: PendingJob) -> None:
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

    async def _run(self, pending: PendingJob) -> Result:
        """Runs a job in a process, and keeps the process only if the job ended as it should."""
        job = pending.job
        process = self._take_process(group_of(job))

        def report(choice: Choice) -> None:
            pending.on_info(info_of(choice, _now_s() - process.begun_s))

        is_usable = False
        try:
            if process.pid is None:
                await process.start()
            choice, is_late = await process.run(job, report)
            # What was interrupted may be in any state, but the teaching search has none.
            is_usable = not is_late or process.group == BUILT_IN_GROUP
        except OSError as error:
            raise StrategyFailed(reasons.ENDED) from error
        finally:
            if is_usable and self._is_open:
                self._idle.keep(process)
            else:
                self.killed_count += 1
                self._idle.end(process)
        choice = with_note(choice) if is_late else choice
        return Result(choice.move, info_of(choice, _now_s() - process.begun_s))

    def _take_process(self, group: str) -> StrategyProcess:
        """Returns an idle process of the group, or a new one in place of an idle one."""
        process = self._idle.take(lambda process: process.group == group)
        if process is not None:
            return process
        if self._idle and len(self._idle) + len(self._running) > self._size:
            self._idle.end(next(iter(self._idle)))
        return StrategyProcess(group, self._memory_bytes)


def group_of(job: Job) -> str:
    """Returns the group of a job's strategy: the built-in ones share processes."""
    return BUILT_IN_GROUP if job.strategy in BUILT_IN else str(job.strategy)


def info_of(choice: Choice, seconds: float) -> Info:
    """Returns what a strategy reports as the info of a search."""
    return Info(
        choice.depth, choice.score, choice.nodes, nodes_per_second(choice.nodes, seconds),
        round(seconds * 1000), choice.line or (choice.move,), value=choice.value, log=choice.log,
    )  # fmt: skip


def with_note(choice: Choice) -> Choice:
    """Returns a choice whose log says that the time was over before the search was complete."""
    note = "(the time for a move was over: this is the last complete search)"
    log = f"{note}\n{choice.log}".encode()[:MAX_LOG_BYTES].decode("utf-8", "ignore")
    return replace(choice, log=log)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
