"""A search that the pool has accepted, and the slot of a worker process that may run it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.pool.process import WorkerProcess
from engine.search.job import Info, Job, Result
from engine.search.levels import Level


@dataclass(eq=False, slots=True)
class PendingSearch:
    """A search that the pool has accepted and not yet answered."""

    job: Job
    level: Level
    on_info: Callable[[Info], None] | None
    answer: asyncio.Future[Result]
    #: Loop time in seconds at which the job's time began; None before its first search.
    begun_s: float | None = None
    #: The number of tries that count towards the pool's `TRIES`.
    tries: int = 0
    #: The deepest report of any try.
    latest: Info | None = None

    @property
    def affinity(self) -> str:
        return self.job.affinity

    def left_s(self, now: float) -> float | None:
        """The rest of the job's time in seconds; None when the job has no time limit.

        The job's time begins with its first search.
        """
        if self.level.limit.time_ms is None:
            return None
        return self.level.limit.time_ms / 1000 - (now - (self.begun_s or now))


@dataclass(eq=False, slots=True)
class WorkerSlot:
    """A worker process with its present job and deadline; a new process takes a new slot."""

    process: WorkerProcess
    #: The worker has started and accepts commands.
    is_ready: bool = False
    #: The number of the last command; messages with another number are stale.
    command_number: int = 0
    #: The search that the worker runs; None also until a cancelled search has stopped.
    pending: PendingSearch | None = None
    is_busy: bool = False
    is_loading: bool = False
    is_uncompiled: bool = False
    #: The games whose files changed after this worker loaded their rules: it cannot load their
    #: compiled search.
    only_uncompiled: set[str] = field(default_factory=set)
    #: The `load_key` of every job that this worker has started to search.
    loaded_keys: set[tuple[str, bool, bool, bool]] = field(default_factory=set)
    #: The highest node count that the running search has reported.
    nodes: int = -1
    #: Loop time in seconds after which the running search is late.
    deadline_s: float | None = None
    alarm: asyncio.TimerHandle | None = None
    #: Loop time in seconds at which the pool assigned the last job.
    assigned_s: float = 0.0

    @property
    def load_key(self) -> tuple[str, bool, bool, bool]:
        """What the job needs loaded: the game, whether uncompiled, its solver, its personas."""
        assert self.pending is not None, "the slot has a job"
        job = self.pending.job
        return (
            job.game,
            self.is_uncompiled,
            self.pending.level.limit.nodes is None,
            job.persona is not None,
        )

    def watch(self, at: float, call: Callable[["WorkerSlot"], None]) -> None:
        """Calls `call` with the slot at loop time `at`; replaces an earlier alarm."""
        self.unwatch()
        self.alarm = asyncio.get_running_loop().call_at(at, call, self)

    def unwatch(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None
