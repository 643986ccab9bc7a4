"""The search pool: long-lived worker processes behind one asyncio front.

    async with Pool(workers=2) as pool:
        result = await pool.search(job, on_info=print)

A worker that dies, hangs or is late is killed and replaced, and its job goes to another one, at
most TRIES times, with the time that is left; when that is over before another one is ready, the
best move so far is the answer. Cancelling the task that waits in `search` ends the search. A game
is compiled by a process of its own (`Warmer`); until that is done its levels and personas are
searched uncompiled (`engine.search.uncompiled`), and jobs with limits of their own wait. No search
compiles, nor does this side, which loads no compiler.
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
from engine.search.report import best_so_far, level_for
from engine.search.uncompiled import is_answered_cold

TRIES = 3
#: An idle worker says within this time that it has an order, or it hangs.
TAKE_S = 0.6
#: A game may take this long to load.
LOAD_S = 120.0
#: How late an answer may be before the worker counts as hung.
GRACE_S = 0.4
#: A worker that loads a game or searches gives signs of progress twice a second; without any for so
#: long it is hung.
STALL_S = 2.0
#: The same of an uncompiled search, which tells nothing before its first depth is complete: that
#: takes under a second where nothing else runs.
UNCOMPILED_STALL_S = 10.0
IGNORED_CANCEL_S = 1.0
#: With less time left than this the best move so far is the answer.
WORTH_A_TRY_S = 0.1
#: Pauses before a start, by the number of workers that died before they were ready.
START_BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 5.0)
#: So often a worker may find a game missing in the cache before workers may compile it themselves.
COLD_ONCE = 1


class PoolBusy(SearchError):
    """More jobs are waiting than the pool takes."""


class PoolClosed(SearchError):
    """The pool ended before the search did."""


@dataclass(slots=True)
class PoolCounters:
    """Since the pool was opened: searches answered, failed and tried again, and workers that died
    or were killed.
    """

    answered: int = 0
    failed: int = 0
    retried: int = 0
    ended: int = 0


class Pool:
    """Searches jobs on `workers` processes; one event loop, one pool, entered once.

    `queue_size` jobs may wait, `table_bytes` of tables are kept by each worker. The games in `warm`
    (all there are, by default) are compiled at idle priority when no other game is asked for.
    `on_warm(game, state)` is called at each change.
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
        self._cold_told: Counter[str] = Counter()
        self._slots: list[WorkerSlot] = []
        self._home: dict[str, WorkerSlot] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._bad_starts = 0
        self._quarantine = Quarantine()
        self._is_open = False
        self.counts = PoolCounters()

    # --- what the house calls

    async def __aenter__(self) -> "Pool":
        """Returns at once; the workers start meanwhile, and jobs wait for them."""
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
        """Fails what is waiting or running with PoolClosed, and leaves no process behind."""
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
        """The answer to a job; on_info is called in the loop after each depth and several times a
        second. `time_ms` is what is left of the job's time, waiting included, when somebody else
        has searched it before.

        Raises RulesChanged, PoolBusy, PoolClosed, GameQuarantined or another SearchFailed.
        Cancelling the caller ends the search within milliseconds.
        """
        pending = self._admit(job, on_info)
        if time_ms is not None and pending.level.limit.time_ms is not None:
            pending.begun = (
                asyncio.get_running_loop().time()
                - max(0, pending.level.limit.time_ms - time_ms) / 1000
            )
        self._waiting.put(pending)
        self._ask_for(job)
        self._dispatch()
        try:
            return await pending.answer
        except asyncio.CancelledError:
            self._drop(pending)
            raise

    async def warm(self, game_id: str, *, idle: bool = False) -> None:
        """Compiles a game before all others that are cold, or at idle priority when no other is
        asked for; returns when it is ready, or raises SearchFailed.
        """
        if idle:
            self._warmer.add_spare(game_id)
        else:
            self._warmer.ask(game_id)
        await self._warmer.settled(game_id)
        if self.warm_state(game_id) == "failed":
            raise self._warmer.error(game_id)

    def expect(self, game_id: str) -> None:
        """Somebody will soon want searches of this game: it is compiled before those that nobody
        asked for.
        """
        self._warmer.ask(game_id)

    def warm_state(self, game_id: str) -> WarmState:
        """How far a game's search is: cold (nobody has asked yet), warming, warm or failed."""
        return self._warmer.state(game_id)

    def is_warm(self, game_id: str) -> bool:
        """Is a game's search compiled? Until then its levels are played uncompiled, and all but the
        low ones are weaker.
        """
        return self.warm_state(game_id) == "warm"

    def warm_percent(self, game_id: str) -> int:
        """How far a game's search is compiled; 100 when there is nothing to wait for, because it is
        or cannot be.
        """
        return self._warmer.percent(game_id)

    @property
    def waiting(self) -> int:
        """The jobs that wait for a worker or for their game."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The searches that are under way."""
        return sum(slot.pending is not None for slot in self._slots)

    @property
    def ready_workers(self) -> int:
        return sum(slot.ready for slot in self._slots)

    def load(self) -> Load:
        """How busy the pool is."""
        return Load(self.running, self.waiting, self.ready_workers)

    @property
    def pids(self) -> list[int]:
        """The processes of the workers that are ready."""
        return [
            slot.process.pid for slot in self._slots if slot.ready and slot.process.pid is not None
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
        level = level_for(job, game)
        return PendingSearch(job, level, on_info, asyncio.get_running_loop().create_future())

    def _dispatch(self) -> None:
        """Gives waiting jobs to idle workers: each to the one that holds its room's table, if that
        is idle.
        """
        while self._is_open and (
            idle := [slot for slot in self._slots if slot.ready and not slot.busy]
        ):
            pending = self._waiting.take(
                lambda pending: self._is_uncompiled(pending.job) is not None
            )
            if pending is None:
                return
            home = self._home.get(pending.affinity)
            slot = home if home in idle else min(idle, key=lambda slot: slot.used)
            try:
                self._give(pending, slot)
            except SearchError as error:
                self._release(slot)
                self._fail(pending, error)

    def _give(self, pending: PendingSearch, slot: WorkerSlot) -> None:
        now = asyncio.get_running_loop().time()
        left = pending.left(now)
        self._home[pending.affinity] = slot
        if len(self._home) > 10_000:
            del self._home[next(iter(self._home))]
        slot.number += 1
        slot.pending, slot.busy, slot.is_loading, slot.nodes, slot.ends, slot.used = (
            pending,
            True,
            True,
            -1,
            None,
            now,
        )
        slot.is_uncompiled = self._is_uncompiled(pending.job) or self._must_go_on_uncompiled(
            pending.job, slot
        )
        pending.tries += 1
        slot.watch(now + TAKE_S, self._hung)
        time_ms = None if left is None or pending.begun is None else max(1, round(left * 1000))
        may_compile = self._may_compile(pending.job.game)
        slot.process.send(
            SearchCommand(slot.number, pending.job, time_ms, slot.is_uncompiled, may_compile)
        )

    def _on_message(self, process: WorkerProcess, message: WorkerMessage) -> None:
        slot = self._slot_of(process)
        if slot is None:
            return
        match message:
            case Ready():
                slot.ready = True
                self._bad_starts = 0
                self._dispatch()
            case Accepted(number=number) if number == slot.number:
                self._on_taken(slot)
            case SearchStarted(number=number) if number == slot.number:
                self._on_started(slot)
            case Progress(number=number, info=info) if number == slot.number:
                self._on_progress(slot, info)
            case Answered(number=number, result=result) if number == slot.number:
                self._on_answer(slot, result)
            case Failed(number=number) as failed if number == slot.number:
                self._on_failure(slot, failed)
            case NotCompiled(number=number) if number == slot.number:
                self._on_cold(slot)
            case _:
                pass  # late news of an earlier job

    def _on_taken(self, slot: WorkerSlot) -> None:
        """Time to load a game, for a worker that does not have it yet."""
        if slot.pending is not None and slot.is_loading and slot.wanted not in slot.loaded:
            slot.watch(
                min(asyncio.get_running_loop().time() + STALL_S, slot.used + LOAD_S), self._hung
            )

    def _on_started(self, slot: WorkerSlot) -> None:
        if slot.pending is None:
            return
        slot.is_loading = False
        slot.loaded.add(slot.wanted)
        now = asyncio.get_running_loop().time()
        if slot.pending.begun is None:
            slot.pending.begun = now
        left = slot.pending.left(now)
        if (
            left is not None and not slot.is_uncompiled
        ):  # what is played in full uncompiled may take longer
            slot.ends = now + max(0.0, left) + GRACE_S
        self._watch_search(slot, now)

    def _watch_search(self, slot: WorkerSlot, now: float) -> None:
        stalled = now + (UNCOMPILED_STALL_S if slot.is_uncompiled else STALL_S)
        slot.watch(stalled if slot.ends is None else min(stalled, slot.ends), self._hung)

    def _on_progress(self, slot: WorkerSlot, info: Info) -> None:
        pending = slot.pending
        if pending is None:
            return
        if (
            pending.latest is None or info.depth >= pending.latest.depth
        ):  # an earlier try may have seen further
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
            self._quarantine.answered(slot.pending.job.game, slot.pending.job.rules)
            slot.pending.answer.set_result(result)
        self._release(slot)
        self._dispatch()

    def _on_failure(self, slot: WorkerSlot, failed: Failed) -> None:
        if failed.reason == "rules_changed" and self._can_go_on_uncompiled(slot):
            return
        if slot.pending is not None:
            kind = RulesChanged if failed.reason == "rules_changed" else SearchFailed
            self._fail(slot.pending, kind(failed.message or "the search was cancelled"))
            if failed.reason == "fault":
                self._blame(slot.pending.job, failed.message)
        self._release(slot)
        self._dispatch()

    def _release(self, slot: WorkerSlot) -> None:
        slot.unwatch()
        slot.pending, slot.busy = None, False

    def _fail(self, pending: PendingSearch, error: Exception) -> None:
        if not pending.answer.done():
            self.counts.failed += 1
            pending.answer.set_exception(error)

    def _drop(self, pending: PendingSearch) -> None:
        """Nobody waits for this job any more."""
        self._waiting.remove(pending)
        for slot in self._slots:
            if slot.pending is pending:
                self._stop(slot)

    def _stop(self, slot: WorkerSlot) -> None:
        """Cancels a running search; its worker stays busy until it says that it has stopped, or is
        killed.
        """
        slot.pending = None
        slot.process.cancel()
        slot.watch(asyncio.get_running_loop().time() + IGNORED_CANCEL_S, self._hung)

    # --- workers that die or hang

    def _hung(self, slot: WorkerSlot) -> None:
        if slot.pending is not None and slot.pending.begun is None:
            slot.pending.begun = slot.used  # what was lost here is not given to the next try
        slot.process.kill()

    def _on_end(self, process: WorkerProcess) -> None:
        slot = self._slot_of(process)
        if slot is None or not self._is_open:
            return
        self.counts.ended += 1
        if not slot.ready:
            self._bad_starts += 1
        pending = slot.pending
        self._release(slot)
        self._slots[self._slots.index(slot)] = replacement = WorkerSlot(self._new_process())
        self._spawn(self._replace(process, replacement), "search-worker-replacement")
        self._give_up_waiting()
        if pending is not None and not pending.answer.done():
            self._try_again(pending)

    def _try_again(self, pending: PendingSearch) -> None:
        now = asyncio.get_running_loop().time()
        left = pending.left(now)
        is_late = left is not None and left < WORTH_A_TRY_S
        if pending.latest is not None and (pending.tries >= TRIES or is_late):
            self._answer_from(pending, pending.latest)
        elif pending.tries >= TRIES:
            message = f"{pending.tries} workers died or hung over this job"
            self._fail(pending, SearchFailed(message))
            self._blame(pending.job, message)
        else:
            self.counts.retried += 1
            if left is not None and pending.latest is not None:
                asyncio.get_running_loop().call_at(
                    now + left + GRACE_S, self._time_is_over, pending
                )
            self._waiting.put_first(pending)
            self._dispatch()

    def _time_is_over(self, pending: PendingSearch) -> None:
        """A job that lost its worker waits for another one no longer than its time: nobody knows
        when that is ready.
        """
        if pending.latest is not None and not pending.answer.done():
            self._waiting.remove(pending)
            self._answer_from(pending, pending.latest)

    def _blame(self, job: Job, message: str) -> None:
        """A game whose searches keep failing gets no more of them; what waits for it fails now."""
        if not self._quarantine.fault(job.game, job.rules, message):
            return
        error = self._quarantine.error(job.game, job.rules)
        assert error is not None, "it was quarantined just now"
        for pending in [
            one for one in self._waiting if (one.job.game, one.job.rules) == (job.game, job.rules)
        ]:
            self._waiting.remove(pending)
            self._fail(pending, error)

    def _answer_from(self, pending: PendingSearch, info: Info) -> None:
        """The move that the level would choose by what the lost worker had told."""
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
        """Starts a seat's process, after a pause when the last ones did not come up."""
        await asyncio.sleep(START_BACKOFF_S[min(self._bad_starts, len(START_BACKOFF_S) - 1)])
        await slot.process.start()

    async def _replace(self, old: WorkerProcess, slot: WorkerSlot) -> None:
        """Closes what is left of a dead worker and starts another one in its place."""
        closing = asyncio.create_task(old.close(), name="search-worker-close")
        await self._start(slot)
        await closing

    def _give_up_waiting(self) -> None:
        """Fails what waits for a worker when none has come up in many tries; further tries go on."""
        if self._bad_starts >= len(START_BACKOFF_S):
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

    def _ask_for(self, job: Job) -> None:
        """Has compiled what the job's answer would be better with."""
        self._warmer.ask(job.game)
        if job.persona not in (None, "random"):
            self._warmer.ask(job.game, "persona")
        elif job.level is None or job.level == load_game(job.game).levels:
            self._warmer.ask(job.game, "solver")

    def _is_uncompiled(self, job: Job) -> bool | None:
        """Is the job searched uncompiled? None while it must wait for the compiled search."""
        state = self._warmer.state(job.game)
        if state == "warm" and (
            job.persona is None or self._warmer.is_settled(job.game, "persona")
        ):
            return False
        return True if is_answered_cold(job) else None

    def _is_refused(self, job: Job) -> bool:
        """Is there no search for this job, because its game cannot be compiled? Where only the
        game's files are others now, a worker that has the rules from before may go on with them
        uncompiled.
        """
        if self._warmer.state(job.game) != "failed":
            return False
        return not (
            isinstance(self._warmer.error(job.game), RulesChanged) and is_answered_cold(job)
        )

    def _must_go_on_uncompiled(self, job: Job, slot: WorkerSlot) -> bool:
        """Has this worker the rules from before, which it can search uncompiled only?"""
        return job.game in slot.only_uncompiled and is_answered_cold(job)

    def _can_go_on_uncompiled(self, slot: WorkerSlot) -> bool:
        """Gives the job back to a worker that has the rules and cannot load their compiled search:
        the game's files are others now.
        """
        pending = slot.pending
        if (
            pending is None
            or pending.answer.done()
            or slot.is_uncompiled
            or not is_answered_cold(pending.job)
        ):
            return False
        slot.only_uncompiled.add(pending.job.game)
        pending.tries -= 1
        self._release(slot)
        self._waiting.put_first(pending)
        self._dispatch()
        return True

    def _on_cold(self, slot: WorkerSlot) -> None:
        """The cache has lost a game: it is compiled anew, and searched uncompiled meanwhile. Where
        the workers find nothing once more, because they share no folder, they compile.
        """
        pending = slot.pending
        self._release(slot)
        if pending is not None and not pending.answer.done():
            game_id = pending.job.game
            self._cold_told[game_id] += 1
            if not self._may_compile(game_id) and self._warmer.state(game_id) == "warm":
                self._warmer.forget(game_id)
            pending.tries -= 1
            self._waiting.put_first(pending)
        self._dispatch()

    def _may_compile(self, game_id: str) -> bool:
        return self._cold_told[game_id] > COLD_ONCE

    def _on_change(self, game_id: str, state: WarmState) -> None:
        if self._on_warm is not None:
            asyncio.get_running_loop().call_soon(self._on_warm, game_id, state)

    def _on_settled(self, game_id: str) -> None:
        """The game is ready, or the jobs fail that need it to be."""
        for pending in [
            one for one in self._waiting if one.job.game == game_id and self._is_refused(one.job)
        ]:
            self._waiting.remove(pending)
            self._fail(pending, self._warmer.error(game_id))
        self._dispatch()

    def _on_warmer_end(self) -> None:
        self.counts.ended += 1
