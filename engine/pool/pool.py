"""The search pool: long-lived worker processes behind one asyncio front.

    async with Pool(workers=2) as pool:
        result = await pool.search(job, on_info=print)

The pool kills a worker that hangs or is late, replaces each worker that ends, and gives its job to
another worker with the time that is left, up to TRIES tries in all. If the time runs out before
another worker is ready, the best move so far is the answer. Cancelling the task that waits in
`search` ends the search.

A separate process compiles the games (`Warmer`). Until a game is compiled, its levels and personas
are searched uncompiled (`engine.search.uncompiled`), and jobs with their own limits wait. Search
workers compile only a game that they have repeatedly missed in the cache. The process that holds
the pool does not load the compiler.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from engine.game import GameError
from engine.pool.fair_queue import FairQueue
from engine.pool.messages import (
    Accepted,
    Answered,
    Failed,
    NotCompiled,
    Progress,
    Ready,
    SearchCommand,
    SearchStarted,
    WorkerMessage,
)
from engine.pool.process import DEFAULT_START, StartMethod, WorkerProcess, default_workers
from engine.pool.quarantine import Quarantine
from engine.pool.slot import PendingSearch, WorkerSlot
from engine.pool.warmer import Warmer, WarmState
from engine.rules.registry import game_ids, load_game
from engine.search.job import Info, Job, Load, Result, RulesChanged, SearchError, SearchFailed
from engine.search.report import best_so_far, level_of_job
from engine.search.uncompiled import may_answer_uncompiled

#: Number of workers that may try a job before it fails.
TRIES = 3
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
#: Seconds that a retry needs; with less time left the best move so far is the answer.
MIN_RETRY_S = 0.1
#: Pauses before a start in seconds, by the number of workers that died before they were ready.
START_BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 5.0)
#: How often the warmer recompiles a game that a worker has missed in the cache. After one more miss
#: the workers may compile it themselves.
MISSES_BEFORE_COMPILING = 1
#: Maximum number of rooms for which the pool remembers the worker that holds their table.
MAX_HOME_SLOTS = 10_000


class PoolBusy(SearchError):
    """The pool's queue is full."""


class PoolClosed(SearchError):
    """The pool closed before the search ended."""


@dataclass(slots=True)
class PoolCounters:
    """Counts since the pool was opened.

    Searches were answered, failed or retried. `ended` counts the worker and compiling processes
    that died or were killed.
    """

    answered: int = 0
    failed: int = 0
    retried: int = 0
    ended: int = 0


class Pool:
    """Searches jobs on `workers` processes. A pool belongs to one event loop and is entered once.

    `queue_size` is the number of jobs that may wait, and `table_bytes` the size of the tables that
    each worker keeps, in bytes. The pool compiles the games in `warm` (by default all games) at
    idle priority when no other game is requested. It calls `on_warm(game, state)` when the state of
    a game's search changes.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        queue_size: int = 256,
        table_bytes: int = 64 << 20,
        warm: Iterable[str] | None = None,
        on_warm: Callable[[str, WarmState], None] | None = None,
        start_method: StartMethod = DEFAULT_START,
    ) -> None:
        self._size = default_workers() if workers is None else workers
        if self._size < 1:
            raise ValueError("a pool has at least one worker")
        self._waiting: FairQueue[PendingSearch] = FairQueue(queue_size)
        self._table_bytes = table_bytes
        self._method: StartMethod = start_method
        self._on_warm = on_warm
        self._warmer = Warmer(
            lambda on_message, on_end: WorkerProcess(start_method, 0, on_message, on_end),
            game_ids() if warm is None else warm,
            self._on_change,
            self._on_settled,
            self._on_warmer_end,
        )
        self._cache_misses: Counter[str] = Counter()
        self._slots: list[WorkerSlot] = []
        self._home_slots: dict[str, WorkerSlot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._failed_starts = 0
        self._quarantine = Quarantine()
        self._is_open = False
        self.counts = PoolCounters()

    # --- what the server calls

    async def __aenter__(self) -> "Pool":
        """Returns at once; the workers start in the background, and jobs wait for them."""
        self._is_open = True
        for index in range(self._size):
            self._slots.append(WorkerSlot(self._new_process()))
            self._spawn(self._start(self._slots[index]), f"search-worker-{index}")
        self._spawn(self._warmer.run(), "search-warmer")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Fails all waiting and running searches with PoolClosed, and leaves no process behind."""
        self._is_open = False
        for pending in [
            *self._waiting,
            *(slot.pending for slot in self._slots if slot.pending is not None),
        ]:
            self._fail(pending, PoolClosed("the search pool is closed"))
        for slot in self._slots:
            slot.unwatch()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(slot.process.close() for slot in self._slots))
        self._slots.clear()

    async def search(
        self, job: Job, on_info: Callable[[Info], None] | None = None, time_ms: int | None = None
    ) -> Result:
        """Searches a job and returns its result.

        The loop calls `on_info` after each depth and several times a second. If another pool has
        already tried the job, `time_ms` is the time that is left to it; waiting uses it up too.

        Raises RulesChanged, PoolBusy, PoolClosed, GameQuarantined or another SearchFailed.
        Cancelling the caller ends the search within milliseconds.
        """
        pending = self._admit(job, on_info)
        if time_ms is not None and pending.level.limit.time_ms is not None:
            pending.begun_s = (
                asyncio.get_running_loop().time()
                - max(0, pending.level.limit.time_ms - time_ms) / 1000
            )
        self._waiting.put(pending)
        self._request_compilation(job)
        self._dispatch()
        try:
            return await pending.answer
        except asyncio.CancelledError:
            self._drop(pending)
            raise

    async def warm(self, game_id: str, *, idle: bool = False) -> None:
        """Compiles a game and returns when its search is ready; raises SearchFailed if it fails.

        The pool compiles it before all other cold games. With `idle` it compiles the game at idle
        priority, once no other game is requested.
        """
        if idle:
            self._warmer.add_idle_game(game_id)
        else:
            self._warmer.request(game_id)
        await self._warmer.settled(game_id)
        if self.warm_state(game_id) == "failed":
            raise self._warmer.error(game_id)

    def expect(self, game_id: str) -> None:
        """Announces searches of this game, so that it is compiled before unrequested games."""
        self._warmer.request(game_id)

    def warm_state(self, game_id: str) -> WarmState:
        """The state of a game's search: cold (not compiled yet), warming, warm or failed."""
        return self._warmer.state(game_id)

    def is_warm(self, game_id: str) -> bool:
        """Whether a game's search is compiled.

        Until then its levels play uncompiled, and all but the lowest levels are weaker.
        """
        return self.warm_state(game_id) == "warm"

    def warm_percent(self, game_id: str) -> int:
        """How far the compilation of a game's search is; 100 also when it has failed."""
        return self._warmer.percent(game_id)

    @property
    def waiting(self) -> int:
        """The number of jobs that wait for a worker or for their game."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The number of running searches."""
        return sum(slot.pending is not None for slot in self._slots)

    @property
    def ready_workers(self) -> int:
        """The number of workers that accept commands."""
        return sum(slot.is_ready for slot in self._slots)

    def load(self) -> Load:
        """The numbers of running and waiting searches and of ready workers."""
        return Load(self.running, self.waiting, self.ready_workers)

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers that are ready."""
        return [
            slot.process.pid
            for slot in self._slots
            if slot.is_ready and slot.process.pid is not None
        ]

    # --- jobs

    def _admit(self, job: Job, on_info: Callable[[Info], None] | None) -> PendingSearch:
        if not self._is_open:
            raise PoolClosed("the search pool is closed")
        if self._waiting.is_full:
            raise PoolBusy(f"{self._waiting.size} searches are waiting already")
        try:
            game = load_game(job.game)
        except GameError as error:
            raise SearchFailed(str(error)) from error
        except Exception as error:  # a plug-in's file may raise anything while it is imported
            raise SearchFailed(
                f"{job.game} cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if job.rules != game.digest:
            raise RulesChanged(
                f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}"
            )
        quarantined = self._quarantine.error(job.game, job.rules)
        if quarantined is not None:
            raise quarantined
        if self._is_refused(job):
            raise self._warmer.error(job.game)
        level = level_of_job(job, game)
        return PendingSearch(job, level, on_info, asyncio.get_running_loop().create_future())

    def _dispatch(self) -> None:
        """Assigns waiting jobs to idle workers.

        A job goes to the worker that holds its room's table if that worker is idle, else to the
        least recently used one.
        """
        while self._is_open and (
            idle := [slot for slot in self._slots if slot.is_ready and not slot.is_busy]
        ):
            pending = self._waiting.take(
                lambda pending: self._is_uncompiled(pending.job) is not None
            )
            if pending is None:
                return
            home = self._home_slots.get(pending.affinity)
            slot = home if home in idle else min(idle, key=lambda slot: slot.assigned_s)
            try:
                self._assign(pending, slot)
            except SearchError as error:
                self._release(slot)
                self._fail(pending, error)

    def _assign(self, pending: PendingSearch, slot: WorkerSlot) -> None:
        now = asyncio.get_running_loop().time()
        left_s = pending.left_s(now)
        self._home_slots[pending.affinity] = slot
        if len(self._home_slots) > MAX_HOME_SLOTS:
            del self._home_slots[next(iter(self._home_slots))]
        slot.command_number += 1
        slot.pending, slot.is_busy, slot.is_loading = pending, True, True
        slot.nodes, slot.deadline_s, slot.assigned_s = -1, None, now
        slot.is_uncompiled = self._is_uncompiled(pending.job) or self._has_only_old_rules(
            pending.job, slot
        )
        pending.tries += 1
        slot.watch(now + ACCEPT_S, self._kill_hung)
        time_ms = (
            None if left_s is None or pending.begun_s is None else max(1, round(left_s * 1000))
        )
        may_compile = self._may_compile(pending.job.game)
        slot.process.send(
            SearchCommand(
                slot.command_number, pending.job, time_ms, slot.is_uncompiled, may_compile
            )
        )

    def _on_message(self, process: WorkerProcess, message: WorkerMessage) -> None:
        slot = self._slot_of(process)
        if slot is None:
            return
        match message:
            case Ready():
                slot.is_ready = True
                self._failed_starts = 0
                self._dispatch()
            case Accepted(number=number) if number == slot.command_number:
                self._on_accepted(slot)
            case SearchStarted(number=number) if number == slot.command_number:
                self._on_started(slot)
            case Progress(number=number, info=info) if number == slot.command_number:
                self._on_progress(slot, info)
            case Answered(number=number, result=result) if number == slot.command_number:
                self._on_answer(slot, result)
            case Failed(number=number) as failed if number == slot.command_number:
                self._on_failure(slot, failed)
            case NotCompiled(number=number) if number == slot.command_number:
                self._on_not_compiled(slot)
            case _:
                pass  # a stale message of an earlier job

    def _on_accepted(self, slot: WorkerSlot) -> None:
        """Extends the deadline of a worker that still has to load the game."""
        if slot.pending is not None and slot.is_loading and slot.load_key not in slot.loaded_keys:
            stalled = asyncio.get_running_loop().time() + STALL_S
            slot.watch(min(stalled, slot.assigned_s + LOAD_S), self._kill_hung)

    def _on_started(self, slot: WorkerSlot) -> None:
        if slot.pending is None:
            return
        slot.is_loading = False
        slot.loaded_keys.add(slot.load_key)
        now = asyncio.get_running_loop().time()
        if slot.pending.begun_s is None:
            slot.pending.begun_s = now
        left_s = slot.pending.left_s(now)
        # Uncompiled, a level that searches all its nodes may take longer than its time.
        if left_s is not None and not slot.is_uncompiled:
            slot.deadline_s = now + max(0.0, left_s) + GRACE_S
        self._watch_search(slot, now)

    def _watch_search(self, slot: WorkerSlot, now: float) -> None:
        stalled = now + (UNCOMPILED_STALL_S if slot.is_uncompiled else STALL_S)
        slot.watch(
            stalled if slot.deadline_s is None else min(stalled, slot.deadline_s), self._kill_hung
        )

    def _on_progress(self, slot: WorkerSlot, info: Info) -> None:
        pending = slot.pending
        if pending is None:
            return
        # An earlier try may have searched deeper.
        if pending.latest is None or info.depth >= pending.latest.depth:
            pending.latest = info
        if info.nodes > slot.nodes:
            slot.nodes = info.nodes
            self._watch_search(slot, asyncio.get_running_loop().time())
        if pending.on_info is not None and not pending.answer.done():
            try:
                pending.on_info(info)
            except Exception as error:
                self._fail(pending, error)
                self._stop(slot)

    def _on_answer(self, slot: WorkerSlot, result: Result) -> None:
        if slot.pending is not None and not slot.pending.answer.done():
            self.counts.answered += 1
            self._quarantine.record_answer(slot.pending.job.game, slot.pending.job.rules)
            slot.pending.answer.set_result(result)
        self._release(slot)
        self._dispatch()

    def _on_failure(self, slot: WorkerSlot, failed: Failed) -> None:
        if failed.reason == "rules_changed" and self._retry_uncompiled(slot):
            return
        if slot.pending is not None:
            kind = RulesChanged if failed.reason == "rules_changed" else SearchFailed
            self._fail(slot.pending, kind(failed.message or "the search was cancelled"))
            if failed.reason == "fault":
                self._record_fault(slot.pending.job, failed.message)
        self._release(slot)
        self._dispatch()

    def _release(self, slot: WorkerSlot) -> None:
        slot.unwatch()
        slot.pending, slot.is_busy = None, False

    def _fail(self, pending: PendingSearch, error: Exception) -> None:
        if not pending.answer.done():
            self.counts.failed += 1
            pending.answer.set_exception(error)

    def _drop(self, pending: PendingSearch) -> None:
        """Withdraws a search whose caller was cancelled."""
        self._waiting.remove(pending)
        for slot in self._slots:
            if slot.pending is pending:
                self._stop(slot)

    def _stop(self, slot: WorkerSlot) -> None:
        """Cancels a running search; its worker stays busy until it has stopped or is killed."""
        slot.pending = None
        slot.process.cancel()
        slot.watch(asyncio.get_running_loop().time() + CANCEL_TIMEOUT_S, self._kill_hung)

    # --- workers that die or hang

    def _kill_hung(self, slot: WorkerSlot) -> None:
        if slot.pending is not None and slot.pending.begun_s is None:
            slot.pending.begun_s = slot.assigned_s  # the next try does not get the lost time back
        slot.process.kill()

    def _on_end(self, process: WorkerProcess) -> None:
        slot = self._slot_of(process)
        if slot is None or not self._is_open:
            return
        self.counts.ended += 1
        if not slot.is_ready:
            self._failed_starts += 1
        pending = slot.pending
        self._release(slot)
        self._slots[self._slots.index(slot)] = replacement = WorkerSlot(self._new_process())
        self._spawn(self._replace(process, replacement), "search-worker-replacement")
        self._fail_waiting_without_workers()
        if pending is not None and not pending.answer.done():
            self._retry(pending)

    def _retry(self, pending: PendingSearch) -> None:
        now = asyncio.get_running_loop().time()
        left_s = pending.left_s(now)
        is_late = left_s is not None and left_s < MIN_RETRY_S
        if pending.latest is not None and (pending.tries >= TRIES or is_late):
            self._answer_from(pending, pending.latest)
        elif pending.tries >= TRIES:
            message = f"{pending.tries} workers died or hung over this job"
            self._fail(pending, SearchFailed(message))
            self._record_fault(pending.job, message)
        else:
            self.counts.retried += 1
            if left_s is not None and pending.latest is not None:
                asyncio.get_running_loop().call_at(
                    now + left_s + GRACE_S, self._answer_when_late, pending
                )
            self._waiting.put_first(pending)
            self._dispatch()

    def _answer_when_late(self, pending: PendingSearch) -> None:
        """Answers a search that lost its worker with its best move so far when its time is over.

        It does not wait for another worker, which may take any time to become ready.
        """
        if pending.latest is not None and not pending.answer.done():
            self._waiting.remove(pending)
            self._answer_from(pending, pending.latest)

    def _record_fault(self, job: Job, message: str) -> None:
        """Counts a fault of a game; if that quarantines the game, its waiting searches fail now."""
        if not self._quarantine.record_fault(job.game, job.rules, message):
            return
        error = self._quarantine.error(job.game, job.rules)
        assert error is not None, "it was quarantined just now"
        for pending in [
            pending
            for pending in self._waiting
            if (pending.job.game, pending.job.rules) == (job.game, job.rules)
        ]:
            self._waiting.remove(pending)
            self._fail(pending, error)

    def _answer_from(self, pending: PendingSearch, info: Info) -> None:
        """Answers with the move that the level would choose from the lost worker's last report."""
        try:
            result = best_so_far(pending.job, load_game(pending.job.game), info)
        except SearchError as error:
            self._fail(pending, error)
            return
        self.counts.answered += 1
        pending.answer.set_result(result)

    def _new_process(self) -> WorkerProcess:
        return WorkerProcess(self._method, self._table_bytes, self._on_message, self._on_end)

    async def _start(self, slot: WorkerSlot) -> None:
        """Starts a slot's process, after a pause if the previous starts failed."""
        await asyncio.sleep(START_BACKOFF_S[min(self._failed_starts, len(START_BACKOFF_S) - 1)])
        await slot.process.start()

    async def _replace(self, old: WorkerProcess, slot: WorkerSlot) -> None:
        """Frees the resources of a dead worker and starts another one in its place."""
        closing = asyncio.create_task(old.close(), name="search-worker-close")
        await self._start(slot)
        await closing

    def _fail_waiting_without_workers(self) -> None:
        """Fails all waiting searches after many failed starts; the pool keeps trying to start."""
        if self._failed_starts >= len(START_BACKOFF_S):
            for waiting in list(self._waiting):
                self._waiting.remove(waiting)
                self._fail(waiting, SearchFailed("the search workers do not start"))

    def _slot_of(self, process: WorkerProcess) -> WorkerSlot | None:
        return next((slot for slot in self._slots if slot.process is process), None)

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- compiling

    def _request_compilation(self, job: Job) -> None:
        """Requests the compilation of every step that would improve the job's answer."""
        self._warmer.request(job.game)
        if job.persona not in (None, "random"):
            self._warmer.request(job.game, "persona")
        elif job.level is None or job.level == load_game(job.game).levels:
            self._warmer.request(job.game, "solver")

    def _is_uncompiled(self, job: Job) -> bool | None:
        """Whether the job is searched uncompiled; None while it waits for the compiled search."""
        state = self._warmer.state(job.game)
        if state == "warm" and (
            job.persona is None or self._warmer.is_settled(job.game, "persona")
        ):
            return False
        return True if may_answer_uncompiled(job) else None

    def _is_refused(self, job: Job) -> bool:
        """Whether the job must fail, because its game cannot be compiled.

        If the only reason is that the game's files have been edited, a worker that loaded the old
        rules may still search them uncompiled.
        """
        if self._warmer.state(job.game) != "failed":
            return False
        return not (
            isinstance(self._warmer.error(job.game), RulesChanged) and may_answer_uncompiled(job)
        )

    def _has_only_old_rules(self, job: Job, slot: WorkerSlot) -> bool:
        """Whether this worker holds rules from before an edit, which run only uncompiled."""
        return job.game in slot.only_uncompiled and may_answer_uncompiled(job)

    def _retry_uncompiled(self, slot: WorkerSlot) -> bool:
        """Puts the job back into the queue for an uncompiled search; false if that is impossible.

        The worker holds the rules but cannot load their compiled search, because the game's files
        have been edited.
        """
        pending = slot.pending
        if (
            pending is None
            or pending.answer.done()
            or slot.is_uncompiled
            or not may_answer_uncompiled(pending.job)
        ):
            return False
        slot.only_uncompiled.add(pending.job.game)
        pending.tries -= 1
        self._release(slot)
        self._waiting.put_first(pending)
        self._dispatch()
        return True

    def _on_not_compiled(self, slot: WorkerSlot) -> None:
        """Recompiles a game that the cache has lost; until then jobs are searched uncompiled.

        If the workers miss it again, because they share no cache folder, they compile it
        themselves.
        """
        pending = slot.pending
        self._release(slot)
        if pending is not None and not pending.answer.done():
            game_id = pending.job.game
            self._cache_misses[game_id] += 1
            if not self._may_compile(game_id) and self._warmer.state(game_id) == "warm":
                self._warmer.forget(game_id)
            pending.tries -= 1
            self._waiting.put_first(pending)
        self._dispatch()

    def _may_compile(self, game_id: str) -> bool:
        return self._cache_misses[game_id] > MISSES_BEFORE_COMPILING

    def _on_change(self, game_id: str, state: WarmState) -> None:
        if self._on_warm is not None:
            asyncio.get_running_loop().call_soon(self._on_warm, game_id, state)

    def _on_settled(self, game_id: str) -> None:
        """Fails the waiting jobs that need a compilation that failed, and dispatches the others."""
        for pending in [
            pending
            for pending in self._waiting
            if pending.job.game == game_id and self._is_refused(pending.job)
        ]:
            self._waiting.remove(pending)
            self._fail(pending, self._warmer.error(game_id))
        self._dispatch()

    def _on_warmer_end(self) -> None:
        self.counts.ended += 1
