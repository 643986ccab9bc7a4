"""A job on its way through the pool, and the place of a worker process that may run it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.pool.process import WorkerProcess
from engine.search.job import Info, Job, Result
from engine.search.levels import Level


@dataclass(eq=False, slots=True)
class PendingSearch:
    """A job on its way through the pool."""

    job: Job
    level: Level
    on_info: Callable[[Info], None] | None
    answer: asyncio.Future[Result]
    begun: float | None = None
    tries: int = 0
    latest: Info | None = None

    @property
    def affinity(self) -> str:
        return self.job.affinity

    def left(self, now: float) -> float | None:
        """The seconds that are left of the job's time, which begins with its first search."""
        if self.level.limit.time_ms is None:
            return None
        return self.level.limit.time_ms / 1000 - (now - (self.begun or now))


@dataclass(eq=False, slots=True)
class WorkerSlot:
    """A place for one worker process: what it is doing, and until when it may."""

    process: WorkerProcess
    ready: bool = False
    number: int = 0
    pending: PendingSearch | None = None
    busy: bool = False
    is_loading: bool = False
    is_uncompiled: bool = False
    #: The games whose files changed after this worker loaded their rules: it cannot load their
    #: compiled search.
    only_uncompiled: set[str] = field(default_factory=set)
    loaded: set[tuple[str, bool, bool, bool]] = field(default_factory=set)
    nodes: int = -1
    ends: float | None = None
    alarm: asyncio.TimerHandle | None = None
    used: float = 0.0

    @property
    def wanted(self) -> tuple[str, bool, bool, bool]:
        """What the job needs to have loaded: the game, compiled or not, its solver, its personas."""
        assert self.pending is not None, "asked of a seat with a job"
        job = self.pending.job
        return (
            job.game,
            self.is_uncompiled,
            self.pending.level.limit.nodes is None,
            job.persona is not None,
        )

    def watch(self, at: float, call: Callable[["WorkerSlot"], None]) -> None:
        """Replaces the seat's one alarm."""
        self.unwatch()
        self.alarm = asyncio.get_running_loop().call_at(at, call, self)

    def unwatch(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None
