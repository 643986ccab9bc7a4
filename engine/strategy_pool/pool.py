"""The pool of strategies: a bounded queue of jobs, fair among rooms.

    async with StrategyPool() as pool:
        result = await pool.search(job)

The built-in strategies share processes; one of another package has processes of its own, so that it
cannot change what others play. A process whose strategy fails, hangs or needs too much memory is
killed, and the next job starts another.
"""

import asyncio
from collections.abc import Callable

from msgspec.structs import replace

from engine.child_process.pool import PendingJob, ProcessPool
from engine.dispatch.dispatcher import QueueFull
from engine.search.job import PRIORITIES, Info, Job, Result, SearchError
from engine.search.report import nodes_per_second
from engine.strategies import reasons
from engine.strategies.contract import MAX_LOG_BYTES, Choice, StrategyFailed
from engine.strategies.names import BUILT_IN
from engine.strategies.registry import strategy_names
from engine.strategy_pool.process import StrategyProcess

#: The default number of processes.
PROCESSES = 2
#: The default limit of a process's address space, in bytes.
MEMORY_BYTES = 512 << 20
#: Maximum number of jobs of each priority that wait for a process.
QUEUE_SIZE = 256
#: The group of the built-in strategies. No strategy of another package has this name.
BUILT_IN_GROUP = ""
#: Seconds after which a process without a job ends.
IDLE_S = 60.0

OnInfo = Callable[[Info], None]


class StrategyPoolClosed(SearchError):
    """The pool closed before the strategy chose a move."""


class PendingStrategy(PendingJob[Result], kw_only=True):
    """A job that waits for a process, or runs in one; its affinity is the room."""

    job: Job
    on_info: OnInfo


class StrategyPool(ProcessPool[StrategyProcess, PendingStrategy, Result]):
    """Runs the strategies of jobs in at most `size` processes, each with `memory_bytes`."""

    def __init__(self, size: int = PROCESSES, memory_bytes: int = MEMORY_BYTES) -> None:
        super().__init__(size, QUEUE_SIZE, IDLE_S, PRIORITIES)
        self._memory_bytes = memory_bytes

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the strategies that run here: none without processes."""
        return tuple(strategy_names()) if self._size else ()

    async def search(self, job: Job, on_info: OnInfo = lambda info: None) -> Result:
        """Returns the choice of the job's strategy; calls `on_info` with each earlier choice.

        When the time is up, the last choice so far is the answer, unless the strategy does not stop
        then. Raises StrategyFailed, with a reason for players, RulesChanged, QueueFull or
        StrategyPoolClosed. Cancelling the call kills the process.
        """
        if not self._is_open:
            raise self._closed_error()
        if self._queue.is_full_for(job.priority):
            raise QueueFull(f"{self._queue.size} strategies are waiting already")
        pending = PendingStrategy(
            job=job, affinity=job.affinity, rank=job.priority, on_info=on_info
        )
        return await self._submit(pending)

    async def _run(self, pending: PendingStrategy) -> Result:
        """Runs a job in a process, and keeps the process only if the job ended normally."""
        job = pending.job
        process = self._take_process(group_of(job))

        def report(choice: Choice) -> None:
            pending.on_info(info_of(choice, _now_s() - process.begun_s))

        is_usable = False
        try:
            if process.pid is None:
                await process.start()
            choice, is_late = await process.run(job, report)
            # An interrupted strategy may be in any state, but the teaching search keeps none.
            is_usable = not is_late or process.group == BUILT_IN_GROUP
        except OSError as error:
            raise StrategyFailed(reasons.ENDED) from error
        finally:
            self._release(process, is_usable=is_usable)
        choice = with_note(choice) if is_late else choice
        return Result(choice.move, info_of(choice, _now_s() - process.begun_s))

    def _closed_error(self) -> Exception:
        return StrategyPoolClosed("the strategies have ended")

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
    """Returns a strategy's choice as the info of a search."""
    return Info(
        choice.depth, choice.score, choice.nodes, nodes_per_second(choice.nodes, seconds),
        round(seconds * 1000), choice.line or (choice.move,), value=choice.value, log=choice.log,
    )  # fmt: skip


def with_note(choice: Choice) -> Choice:
    """Returns a choice whose log says that the time was up before the search was complete."""
    note = "(the time for a move was over: this is the last complete search)"
    log = f"{note}\n{choice.log}".encode()[:MAX_LOG_BYTES].decode("utf-8", "ignore")
    return replace(choice, log=log)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
