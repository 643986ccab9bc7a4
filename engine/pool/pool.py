"""The search pool: long-lived worker processes behind one asyncio front.

    async with Pool(workers=2) as pool:
        result = await pool.search(job, on_info=print)

A worker that dies, hangs or is late is killed and replaced, and its job goes to another one, at most TRIES times, with
the time that is left; when that is over before another one is ready, the best move so far is the answer. Cancelling the
task that waits in `search` ends the search. A game is compiled by a process of its own (`Warmer`); until that is done
its levels and personas are searched uncompiled (`engine.search.uncompiled`), and jobs with limits of their own wait. No
search compiles, nor does this side, which loads no compiler.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from engine.game import GameError
from engine.pool.fair_queue import FairQueue
from engine.pool.messages import Answered, Cold, Failed, News, Progress, Ready, Run, Started, Taken
from engine.pool.process import DEFAULT_START, StartMethod, WorkerProcess, default_workers
from engine.pool.quarantine import Quarantine
from engine.pool.slot import Seat, Ticket
from engine.pool.warmer import Warmer, WarmState
from engine.rules.registry import game_ids, load_game
from engine.search.job import Info, Job, Load, Result, RulesChanged, SearchError, SearchFailed
from engine.search.report import best_so_far, level_for
from engine.search.uncompiled import is_answered_cold

TRIES = 3
TAKE_S = 0.6
"""An idle worker says within this time that it has an order, or it hangs."""
LOAD_S = 120.0
"""A game may take this long to load."""
GRACE_S = 0.4
"""How late an answer may be before the worker counts as hung."""
STALL_S = 2.0
"""A worker that loads a game or searches gives signs of progress twice a second; without any for so long it is hung."""
UNCOMPILED_STALL_S = 10.0
"""The same of an uncompiled search, which tells nothing before its first depth is complete: that takes under a second
where nothing else runs.
"""
IGNORED_CANCEL_S = 1.0
WORTH_A_TRY_S = 0.1
"""With less time left than this the best move so far is the answer."""
START_BACKOFF_S = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Pauses before a start, by the number of workers that died before they were ready."""
COLD_ONCE = 1
"""So often a worker may find a game missing in the cache before workers may compile it themselves."""


class PoolBusy(SearchError):
    """More jobs are waiting than the pool takes."""


class PoolClosed(SearchError):
    """The pool ended before the search did."""


@dataclass(slots=True)
class Counts:
    """Since the pool was opened: searches answered, failed and tried again, and workers that died or were killed."""

    answered: int = 0
    failed: int = 0
    retried: int = 0
    ended: int = 0


class Pool:
    """Searches jobs on `workers` processes; one event loop, one pool, entered once.

    `queue_size` jobs may wait, `table_bytes` of tables are kept by each worker. The games in `warm` (all there are,
    by default) are compiled at idle priority when no other game is asked for. `on_warm(game, state)` is called at
    each change.
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
        self._waiting: FairQueue[Ticket] = FairQueue(queue_size)
        self._table_bytes = table_bytes
        self._method: StartMethod = start_method
        self._on_warm = on_warm
        self._warmer = Warmer(
            lambda on_news, on_end: WorkerProcess(start_method, 0, on_news, on_end),
            game_ids() if warm is None else warm,
            self._on_change,
            self._on_settled,
            self._on_warmer_end,
        )
        self._cold_told: Counter[str] = Counter()
        self._seats: list[Seat] = []
        self._home: dict[str, Seat] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._bad_starts = 0
        self._quarantine = Quarantine()
        self._is_open = False
        self.counts = Counts()

    # --- what the house calls

    async def __aenter__(self) -> "Pool":
        """Returns at once; the workers start meanwhile, and jobs wait for them."""
        self._is_open = True
        for index in range(self._size):
            self._seats.append(Seat(self._new_process()))
            self._spawn(self._start(self._seats[index]), f"search-worker-{index}")
        self._spawn(self._warmer.run(), "search-warmer")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Fails what is waiting or running with PoolClosed, and leaves no process behind."""
        self._is_open = False
        for ticket in [*self._waiting, *(seat.ticket for seat in self._seats if seat.ticket is not None)]:
            self._fail(ticket, PoolClosed("the search pool is closed"))
        for seat in self._seats:
            seat.unwatch()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(seat.process.close() for seat in self._seats))
        self._seats.clear()

    async def search(
        self, job: Job, on_info: Callable[[Info], None] | None = None, time_ms: int | None = None
    ) -> Result:
        """The answer to a job; on_info is called in the loop after each depth and several times a second. `time_ms` is
        what is left of the job's time, waiting included, when somebody else has searched it before.

        Raises RulesChanged, PoolBusy, PoolClosed, GameQuarantined or another SearchFailed. Cancelling the caller ends
        the search within milliseconds.
        """
        ticket = self._admit(job, on_info)
        if time_ms is not None and ticket.level.limit.time_ms is not None:
            ticket.begun = asyncio.get_running_loop().time() - max(0, ticket.level.limit.time_ms - time_ms) / 1000
        self._waiting.put(ticket)
        self._ask_for(job)
        self._dispatch()
        try:
            return await ticket.answer
        except asyncio.CancelledError:
            self._drop(ticket)
            raise

    async def warm(self, game_id: str, *, idle: bool = False) -> None:
        """Compiles a game before all others that are cold, or at idle priority when no other is asked for; returns when
        it is ready, or raises SearchFailed.
        """
        if idle:
            self._warmer.add_spare(game_id)
        else:
            self._warmer.ask(game_id)
        await self._warmer.settled(game_id)
        if self.warm_state(game_id) == "failed":
            raise self._warmer.error(game_id)

    def expect(self, game_id: str) -> None:
        """Somebody will soon want searches of this game: it is compiled before those that nobody asked for."""
        self._warmer.ask(game_id)

    def warm_state(self, game_id: str) -> WarmState:
        """How far a game's search is: cold (nobody has asked yet), warming, warm or failed."""
        return self._warmer.state(game_id)

    def is_warm(self, game_id: str) -> bool:
        """Is a game's search compiled? Until then its levels are played uncompiled, and all but the low ones are
        weaker.
        """
        return self.warm_state(game_id) == "warm"

    def warm_percent(self, game_id: str) -> int:
        """How far a game's search is compiled; 100 when there is nothing to wait for, because it is or cannot be."""
        return self._warmer.percent(game_id)

    @property
    def waiting(self) -> int:
        """The jobs that wait for a worker or for their game."""
        return len(self._waiting)

    @property
    def running(self) -> int:
        """The searches that are under way."""
        return sum(seat.ticket is not None for seat in self._seats)

    @property
    def ready_workers(self) -> int:
        return sum(seat.ready for seat in self._seats)

    def load(self) -> Load:
        """How busy the pool is."""
        return Load(self.running, self.waiting, self.ready_workers)

    @property
    def pids(self) -> list[int]:
        """The processes of the workers that are ready."""
        return [seat.process.pid for seat in self._seats if seat.ready and seat.process.pid is not None]

    # --- jobs

    def _admit(self, job: Job, on_info: Callable[[Info], None] | None) -> Ticket:
        if not self._is_open:
            raise PoolClosed("the search pool is closed")
        if self._waiting.is_full:
            raise PoolBusy(f"{self._waiting.size} searches are waiting already")
        try:
            game = load_game(job.game)
        except GameError as error:
            raise SearchFailed(str(error)) from error
        except Exception as error:  # a plug-in's file may raise anything while it is imported
            raise SearchFailed(f"{job.game} cannot be loaded: {type(error).__name__}: {error}") from error
        if job.rules != game.digest:
            raise RulesChanged(f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}")
        quarantined = self._quarantine.error(job.game, job.rules)
        if quarantined is not None:
            raise quarantined
        if self._is_refused(job):
            raise self._warmer.error(job.game)
        level = level_for(job, game)
        return Ticket(job, level, on_info, asyncio.get_running_loop().create_future())

    def _dispatch(self) -> None:
        """Gives waiting jobs to idle workers: each to the one that holds its room's table, if that is idle."""
        while self._is_open and (idle := [seat for seat in self._seats if seat.ready and not seat.busy]):
            ticket = self._waiting.take(lambda ticket: self._is_uncompiled(ticket.job) is not None)
            if ticket is None:
                return
            home = self._home.get(ticket.affinity)
            seat = home if home in idle else min(idle, key=lambda seat: seat.used)
            try:
                self._give(ticket, seat)
            except SearchError as error:
                self._release(seat)
                self._fail(ticket, error)

    def _give(self, ticket: Ticket, seat: Seat) -> None:
        now = asyncio.get_running_loop().time()
        left = ticket.left(now)
        self._home[ticket.affinity] = seat
        if len(self._home) > 10_000:
            del self._home[next(iter(self._home))]
        seat.number += 1
        seat.ticket, seat.busy, seat.is_loading, seat.nodes, seat.ends, seat.used = ticket, True, True, -1, None, now
        seat.is_uncompiled = self._is_uncompiled(ticket.job) or self._must_go_on_uncompiled(ticket.job, seat)
        ticket.tries += 1
        seat.watch(now + TAKE_S, self._hung)
        time_ms = None if left is None or ticket.begun is None else max(1, round(left * 1000))
        may_compile = self._may_compile(ticket.job.game)
        seat.process.send(Run(seat.number, ticket.job, time_ms, seat.is_uncompiled, may_compile))

    def _on_news(self, process: WorkerProcess, news: News) -> None:
        seat = self._seat_of(process)
        if seat is None:
            return
        match news:
            case Ready():
                seat.ready = True
                self._bad_starts = 0
                self._dispatch()
            case Taken(number=number) if number == seat.number:
                self._on_taken(seat)
            case Started(number=number) if number == seat.number:
                self._on_started(seat)
            case Progress(number=number, info=info) if number == seat.number:
                self._on_progress(seat, info)
            case Answered(number=number, result=result) if number == seat.number:
                self._on_answer(seat, result)
            case Failed(number=number) as failed if number == seat.number:
                self._on_failure(seat, failed)
            case Cold(number=number) if number == seat.number:
                self._on_cold(seat)
            case _:
                pass  # late news of an earlier job

    def _on_taken(self, seat: Seat) -> None:
        """Time to load a game, for a worker that does not have it yet."""
        if seat.ticket is not None and seat.is_loading and seat.wanted not in seat.loaded:
            seat.watch(min(asyncio.get_running_loop().time() + STALL_S, seat.used + LOAD_S), self._hung)

    def _on_started(self, seat: Seat) -> None:
        if seat.ticket is None:
            return
        seat.is_loading = False
        seat.loaded.add(seat.wanted)
        now = asyncio.get_running_loop().time()
        if seat.ticket.begun is None:
            seat.ticket.begun = now
        left = seat.ticket.left(now)
        if left is not None and not seat.is_uncompiled:  # what is played in full uncompiled may take longer
            seat.ends = now + max(0.0, left) + GRACE_S
        self._watch_search(seat, now)

    def _watch_search(self, seat: Seat, now: float) -> None:
        stalled = now + (UNCOMPILED_STALL_S if seat.is_uncompiled else STALL_S)
        seat.watch(stalled if seat.ends is None else min(stalled, seat.ends), self._hung)

    def _on_progress(self, seat: Seat, info: Info) -> None:
        ticket = seat.ticket
        if ticket is None:
            return
        if ticket.latest is None or info.depth >= ticket.latest.depth:  # an earlier try may have seen further
            ticket.latest = info
        if info.nodes > seat.nodes:
            seat.nodes = info.nodes
            self._watch_search(seat, asyncio.get_running_loop().time())
        if ticket.on_info is not None and not ticket.answer.done():
            try:
                ticket.on_info(info)
            except Exception as error:
                self._fail(ticket, error)
                self._stop(seat)

    def _on_answer(self, seat: Seat, result: Result) -> None:
        if seat.ticket is not None and not seat.ticket.answer.done():
            self.counts.answered += 1
            self._quarantine.answered(seat.ticket.job.game, seat.ticket.job.rules)
            seat.ticket.answer.set_result(result)
        self._release(seat)
        self._dispatch()

    def _on_failure(self, seat: Seat, failed: Failed) -> None:
        if failed.reason == "rules_changed" and self._can_go_on_uncompiled(seat):
            return
        if seat.ticket is not None:
            kind = RulesChanged if failed.reason == "rules_changed" else SearchFailed
            self._fail(seat.ticket, kind(failed.message or "the search was cancelled"))
            if failed.reason == "fault":
                self._blame(seat.ticket.job, failed.message)
        self._release(seat)
        self._dispatch()

    def _release(self, seat: Seat) -> None:
        seat.unwatch()
        seat.ticket, seat.busy = None, False

    def _fail(self, ticket: Ticket, error: Exception) -> None:
        if not ticket.answer.done():
            self.counts.failed += 1
            ticket.answer.set_exception(error)

    def _drop(self, ticket: Ticket) -> None:
        """Nobody waits for this job any more."""
        self._waiting.remove(ticket)
        for seat in self._seats:
            if seat.ticket is ticket:
                self._stop(seat)

    def _stop(self, seat: Seat) -> None:
        """Cancels a running search; its worker stays busy until it says that it has stopped, or is killed."""
        seat.ticket = None
        seat.process.cancel()
        seat.watch(asyncio.get_running_loop().time() + IGNORED_CANCEL_S, self._hung)

    # --- workers that die or hang

    def _hung(self, seat: Seat) -> None:
        if seat.ticket is not None and seat.ticket.begun is None:
            seat.ticket.begun = seat.used  # what was lost here is not given to the next try
        seat.process.kill()

    def _on_end(self, process: WorkerProcess) -> None:
        seat = self._seat_of(process)
        if seat is None or not self._is_open:
            return
        self.counts.ended += 1
        if not seat.ready:
            self._bad_starts += 1
        ticket = seat.ticket
        self._release(seat)
        self._seats[self._seats.index(seat)] = replacement = Seat(self._new_process())
        self._spawn(self._replace(process, replacement), "search-worker-replacement")
        self._give_up_waiting()
        if ticket is not None and not ticket.answer.done():
            self._try_again(ticket)

    def _try_again(self, ticket: Ticket) -> None:
        now = asyncio.get_running_loop().time()
        left = ticket.left(now)
        is_late = left is not None and left < WORTH_A_TRY_S
        if ticket.latest is not None and (ticket.tries >= TRIES or is_late):
            self._answer_from(ticket, ticket.latest)
        elif ticket.tries >= TRIES:
            message = f"{ticket.tries} workers died or hung over this job"
            self._fail(ticket, SearchFailed(message))
            self._blame(ticket.job, message)
        else:
            self.counts.retried += 1
            if left is not None and ticket.latest is not None:
                asyncio.get_running_loop().call_at(now + left + GRACE_S, self._time_is_over, ticket)
            self._waiting.put_first(ticket)
            self._dispatch()

    def _time_is_over(self, ticket: Ticket) -> None:
        """A job that lost its worker waits for another one no longer than its time: nobody knows when that is ready."""
        if ticket.latest is not None and not ticket.answer.done():
            self._waiting.remove(ticket)
            self._answer_from(ticket, ticket.latest)

    def _blame(self, job: Job, message: str) -> None:
        """A game whose searches keep failing gets no more of them; what waits for it fails now."""
        if not self._quarantine.fault(job.game, job.rules, message):
            return
        error = self._quarantine.error(job.game, job.rules)
        assert error is not None, "it was quarantined just now"
        for ticket in [one for one in self._waiting if (one.job.game, one.job.rules) == (job.game, job.rules)]:
            self._waiting.remove(ticket)
            self._fail(ticket, error)

    def _answer_from(self, ticket: Ticket, info: Info) -> None:
        """The move that the level would choose by what the lost worker had told."""
        try:
            result = best_so_far(ticket.job, load_game(ticket.job.game), info)
        except SearchError as error:
            self._fail(ticket, error)
            return
        self.counts.answered += 1
        ticket.answer.set_result(result)

    def _new_process(self) -> WorkerProcess:
        return WorkerProcess(self._method, self._table_bytes, self._on_news, self._on_end)

    async def _start(self, seat: Seat) -> None:
        """Starts a seat's process, after a pause when the last ones did not come up."""
        await asyncio.sleep(START_BACKOFF_S[min(self._bad_starts, len(START_BACKOFF_S) - 1)])
        await seat.process.start()

    async def _replace(self, old: WorkerProcess, seat: Seat) -> None:
        """Closes what is left of a dead worker and starts another one in its place."""
        closing = asyncio.create_task(old.close(), name="search-worker-close")
        await self._start(seat)
        await closing

    def _give_up_waiting(self) -> None:
        """Fails what waits for a worker when none has come up in many tries; further tries go on."""
        if self._bad_starts >= len(START_BACKOFF_S):
            for waiting in list(self._waiting):
                self._waiting.remove(waiting)
                self._fail(waiting, SearchFailed("the search workers do not start"))

    def _seat_of(self, process: WorkerProcess) -> Seat | None:
        return next((seat for seat in self._seats if seat.process is process), None)

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
        if state == "warm" and (job.persona is None or self._warmer.is_settled(job.game, "persona")):
            return False
        return True if is_answered_cold(job) else None

    def _is_refused(self, job: Job) -> bool:
        """Is there no search for this job, because its game cannot be compiled? Where only the game's files are others
        now, a worker that has the rules from before may go on with them uncompiled.
        """
        if self._warmer.state(job.game) != "failed":
            return False
        return not (isinstance(self._warmer.error(job.game), RulesChanged) and is_answered_cold(job))

    def _must_go_on_uncompiled(self, job: Job, seat: Seat) -> bool:
        """Has this worker the rules from before, which it can search uncompiled only?"""
        return job.game in seat.only_uncompiled and is_answered_cold(job)

    def _can_go_on_uncompiled(self, seat: Seat) -> bool:
        """Gives the job back to a worker that has the rules and cannot load their compiled search: the game's files
        are others now.
        """
        ticket = seat.ticket
        if ticket is None or ticket.answer.done() or seat.is_uncompiled or not is_answered_cold(ticket.job):
            return False
        seat.only_uncompiled.add(ticket.job.game)
        ticket.tries -= 1
        self._release(seat)
        self._waiting.put_first(ticket)
        self._dispatch()
        return True

    def _on_cold(self, seat: Seat) -> None:
        """The cache has lost a game: it is compiled anew, and searched uncompiled meanwhile. Where the workers find
        nothing once more, because they share no folder, they compile.
        """
        ticket = seat.ticket
        self._release(seat)
        if ticket is not None and not ticket.answer.done():
            game_id = ticket.job.game
            self._cold_told[game_id] += 1
            if not self._may_compile(game_id) and self._warmer.state(game_id) == "warm":
                self._warmer.forget(game_id)
            ticket.tries -= 1
            self._waiting.put_first(ticket)
        self._dispatch()

    def _may_compile(self, game_id: str) -> bool:
        return self._cold_told[game_id] > COLD_ONCE

    def _on_change(self, game_id: str, state: WarmState) -> None:
        if self._on_warm is not None:
            asyncio.get_running_loop().call_soon(self._on_warm, game_id, state)

    def _on_settled(self, game_id: str) -> None:
        """The game is ready, or the jobs fail that need it to be."""
        for ticket in [one for one in self._waiting if one.job.game == game_id and self._is_refused(one.job)]:
            self._waiting.remove(ticket)
            self._fail(ticket, self._warmer.error(game_id))
        self._dispatch()

    def _on_warmer_end(self) -> None:
        self.counts.ended += 1
