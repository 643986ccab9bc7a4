"""The slot of a worker process: the search that it runs, and how long it may be silent."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.dispatch.search import Attempt, PendingSearch
from engine.pool.process import WorkerProcess
from engine.search.job import Info, Result
from engine.search.report import asks_solver

#: Seconds within which an idle worker accepts a command, or counts as hung.
ACCEPT_S = 0.6
#: Seconds that a game may take to load.
LOAD_S = 120.0
#: Seconds that an answer may be late before the worker counts as hung.
GRACE_S = 0.4
#: Seconds without a sign of progress after which a worker counts as hung. A worker that loads a
#: game or searches gives one at least twice a second.
STALL_S = 2.0
#: `STALL_S` for an uncompiled search, in seconds. It reports nothing before it has completed its
#: first depth, which takes less than a second on an idle machine.
UNCOMPILED_STALL_S = 10.0
#: Seconds within which a worker stops a cancelled search, or counts as hung.
CANCEL_TIMEOUT_S = 1.0


#: What a search needs loaded: the game, whether uncompiled, its solver, its personas.
LoadKey = tuple[str, bool, bool, bool]


class PoolSearch(PendingSearch["WorkerSlot"], eq=False, kw_only=True):
    """A search that a caller of the pool waits for."""

    answer: asyncio.Future[Result]
    on_info: Callable[[Info], None] | None = None
    #: Loop time in seconds at which a worker first got the search.
    first_sent_s: float | None = None
    #: Whether a worker was killed because it hung over this search, once it had loaded the game.
    has_hung: bool = False


def load_key(search: PoolSearch, is_uncompiled: bool) -> LoadKey:
    """What a search needs loaded."""
    job = search.job
    return job.game, is_uncompiled, asks_solver(job, search.game), job.persona is not None


@dataclass(eq=False, slots=True)
class WorkerSlot:
    """A worker process with its current search and deadline; a new process gets a new slot."""

    process: WorkerProcess
    #: The worker has started and accepts commands.
    is_ready: bool = False
    #: The worker was killed because it hung.
    is_hung: bool = False
    #: The number of the last command; messages with another number are stale.
    command_number: int = 0
    #: The search that the worker runs; None also until a cancelled search has stopped.
    pending: PoolSearch | None = None
    #: The cancelled search that the worker has not stopped yet.
    stopping: PoolSearch | None = None
    attempt: "Attempt[WorkerSlot] | None" = None
    is_busy: bool = False
    is_loading: bool = False
    is_uncompiled: bool = False
    #: The games whose files changed after this worker loaded their rules: it cannot load their
    #: compiled search.
    only_uncompiled: set[str] = field(default_factory=set)
    #: The `load_key` of every job that this worker has started to search.
    loaded_keys: set[LoadKey] = field(default_factory=set)
    #: The highest node count that the running search has reported.
    nodes: int = -1
    #: Loop time in seconds after which the running search is late.
    deadline_s: float | None = None
    alarm: asyncio.TimerHandle | None = None
    #: Loop time in seconds at which the pool assigned the last job.
    assigned_s: float = 0.0

    @property
    def is_idle(self) -> bool:
        return self.is_ready and not self.is_busy

    @property
    def is_stopping(self) -> bool:
        """Whether the worker still stops a search that was cancelled or preempted."""
        return self.is_busy and self.pending is None

    def has_loaded(self, game_id: str) -> bool:
        """Whether the worker has loaded the game's compiled search."""
        return any(key[:2] == (game_id, False) for key in self.loaded_keys)

    def is_loading_game(self, game_id: str) -> bool:
        """Whether the worker now loads the game's compiled code."""
        return (
            self.is_busy
            and self.is_loading
            and self.pending is not None
            and self.pending.job.game == game_id
            and not self.is_uncompiled
            and self.load_key not in self.loaded_keys
        )

    def has_loaded_for(self, search: PoolSearch) -> bool:
        """Whether the worker has loaded all compiled code that a search needs."""
        return load_key(search, is_uncompiled=False) in self.loaded_keys

    @property
    def load_key(self) -> LoadKey:
        """What the current search needs loaded."""
        assert self.pending is not None, "the slot has a job"
        return load_key(self.pending, self.is_uncompiled)

    # --- one search

    def begin(
        self, pending: PoolSearch, attempt: "Attempt[WorkerSlot]", is_uncompiled: bool
    ) -> None:
        """Takes a search; the worker must accept its command within ACCEPT_S."""
        self.command_number += 1
        self.pending, self.attempt = pending, attempt
        self.is_busy, self.is_loading, self.is_uncompiled = True, True, is_uncompiled
        self.nodes, self.deadline_s, self.assigned_s = -1, None, attempt.sent_s
        self.watch(attempt.sent_s + ACCEPT_S)

    def on_accepted(self, now_s: float) -> None:
        """Extends the deadline of a worker that still has to load the game.

        That holds for a search that is being stopped too: the worker's tables are worth more than
        the time.
        """
        if self.is_loading and (self.pending is None or self.load_key not in self.loaded_keys):
            self.watch(min(now_s + STALL_S, self.assigned_s + LOAD_S))

    def on_started(self, now_s: float) -> None:
        """Sets the deadline of a worker that has loaded the game and begins to search."""
        if self.pending is None:
            return
        self.is_loading = False
        self.loaded_keys.add(self.load_key)
        end_s = self.pending.end_s(now_s)
        # Uncompiled, a level that searches all its nodes may take longer than its time.
        if end_s is not None and not self.is_uncompiled:
            self.deadline_s = end_s + GRACE_S
        self._watch_search(now_s)

    def on_nodes(self, nodes: int, now_s: float) -> None:
        """Extends the deadline of a worker whose node count grows."""
        if nodes > self.nodes:
            self.nodes = nodes
            self._watch_search(now_s)

    def release(self) -> None:
        """Frees the slot after the worker has ended its search."""
        self.unwatch()
        self.pending, self.attempt, self.stopping, self.is_busy = None, None, None, False

    def stop(self, now_s: float) -> None:
        """Cancels the search; the worker stays busy until it has stopped or is killed."""
        self.stopping, self.pending, self.attempt = self.pending, None, None
        self.process.cancel()
        self.watch(now_s + CANCEL_TIMEOUT_S)

    # --- the deadline

    def _watch_search(self, now_s: float) -> None:
        stalled_s = now_s + (UNCOMPILED_STALL_S if self.is_uncompiled else STALL_S)
        self.watch(stalled_s if self.deadline_s is None else min(stalled_s, self.deadline_s))

    def watch(self, at_s: float) -> None:
        """Sets the loop time at which the worker is killed as hung, in place of an earlier one."""
        self.unwatch()
        self.alarm = asyncio.get_running_loop().call_at(at_s, self._kill)

    def unwatch(self) -> None:
        if self.alarm is not None:
            self.alarm.cancel()
            self.alarm = None

    def _kill(self) -> None:
        self.is_hung = True
        self.process.kill()
