"""The dispatcher assigns each search to a place, limits its attempts and their time, and decides
its answer.

It uses no process, network or clock. A transport carries out its decisions and reports the
outcomes: `engine.pool` over the pipes of worker processes, `server.seats` over a broker.

    search, attempt = dispatcher.assign(now_s, offers_of)  # the transport sends the attempt
    dispatcher.on_progress(attempt, info)                  # the place has reported an info
    settled = dispatcher.on_answer(attempt, result)        # the transport answers its caller

A search has at most one current attempt. A report from any other attempt is stale and changes
nothing.

Searches have classes (`engine.search.job.USES`) and ranks (`RANKS`). The first rank is assigned
first, and a search that waits for a place preempts the youngest one of the last class that runs
(`preempt`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from engine.dispatch.fair_queue import RankedQueue
from engine.dispatch.placing import Offer, Places, choose
from engine.dispatch.search import MIN_RETRY_S, Attempt, P, PendingSearch, best_outcome
from engine.search.job import (
    BACKGROUND,
    RANKS,
    USES,
    ClassLoad,
    Info,
    Result,
    SearchError,
    SearchLost,
    Use,
)

#: Lost attempts after which a search fails, or goes to the caller's own engine.
TRIES = 3
#: Maximum number of attempts at a search, of all kinds but those that were preempted.
MAX_ATTEMPTS = 200

S = TypeVar("S", bound=PendingSearch[Any])


class QueueFull(SearchError):
    """The queue of waiting searches is full."""


class WorkersLost(SearchLost):
    """Every worker that took the search died, hung or fell silent."""


class Settled(Struct, Generic[S, P], frozen=True, eq=False):
    """The end of a search: its answer or its error, for the transport to hand to the caller.

    If there is a `running_attempt`, its place still searches, and the transport stops it.
    """

    search: S
    outcome: Result | Exception
    running_attempt: Attempt[P] | None = None


class Dispatcher(Generic[S, P]):
    """Owns the searches from their admission to their answer.

    At most `queue_size` searches of each rank wait. An answer may be `grace_s` late; after that
    the best move so far is the answer. `own` is the caller's own engine among the places, if it has
    one: it gets the searches that others have lost TRIES times.
    """

    def __init__(self, queue_size: int, grace_s: float, own: P | None = None) -> None:
        self.own = own
        self.places: Places[P] = Places()
        self._grace_s = grace_s
        self._admitted_count = 0
        self._waiting: RankedQueue[S] = RankedQueue(queue_size, len(RANKS))
        self._searches: dict[S, None] = {}
        self._lost: dict[S, None] = {}
        self._running: RunningAttempts[S, P] = RunningAttempts()
        self._preempted_of: Counter[Use] = Counter()

    @property
    def waiting_count(self) -> int:
        """The number of searches that wait for a place."""
        return len(self._waiting)

    @property
    def running_count(self) -> int:
        """The number of searches that run at a place."""
        return len(self._running)

    def load_of(self, use: Use) -> ClassLoad:
        """The searches of a class."""
        waiting = sum(self._waiting.count(rank) for rank in _ranks_of((use,)))
        return ClassLoad(self._running.count(use), waiting, self._preempted_of[use])

    # --- admission

    def admit(self, search: S) -> None:
        """Takes a search into the queue of its rank, or raises QueueFull."""
        if self._waiting.is_full_for(search.rank):
            raise QueueFull(f"{self._waiting.size} searches are waiting already")
        self._admitted_count += 1
        search.number = self._admitted_count
        self._searches[search] = None
        self._waiting.put(search)

    def withdraw(self, search: S) -> Attempt[P] | None:
        """Removes a search that its caller cancelled.

        Returns its current attempt, which the transport stops; None if it waits.
        """
        return self._settle(search, SearchError("withdrawn")).running_attempt

    # --- decisions

    def assign(
        self,
        now_s: float,
        offers_of: Callable[[S], Iterable[Offer[P]]],
        uses: Collection[Use] = USES,
    ) -> tuple[S, Attempt[P]] | None:
        """Assigns the next search of the classes `uses` to one of the places that `offers_of`
        yields. The order is by rank, and fair within a rank.

        Returns the search and its new attempt, or None when no waiting search has a place.
        """
        if not self._waiting:
            return None
        paused = self.places.paused(now_s)
        chosen: list[P] = []

        def has_place(search: S) -> bool:
            place = choose(
                search, offers_of(search), home=self.places.home(search.affinity),
                paused=paused, own=self.own, only_own=search.losses >= TRIES,
            )  # fmt: skip
            if place is not None:
                chosen.append(place)
            return place is not None

        search = self._waiting.take(has_place, _ranks_of(uses))
        if search is None:
            return None
        search.attempt_count += 1
        attempt = Attempt(chosen[0], search.attempt_count, now_s, search.time_ms(now_s))
        search.attempt = attempt
        self._running.begin(attempt, search)
        is_home = search.use == "live" and attempt.place != self.own
        self.places.begin(search.affinity, attempt.place, search.use, is_home=is_home)
        return search, attempt

    def preempt(
        self,
        free_soon: int,
        may_run: Callable[[S], bool],
        is_slow: Callable[[Attempt[P]], bool] = lambda attempt: False,
    ) -> list[Attempt[P]]:
        """Ends attempts of less urgent classes to make room for the waiting searches that may run.

        The transport calls this when it has no place for them, and stops the attempts that are
        returned. `free_soon` is the number of places at which an attempt is being stopped. No live
        search is preempted. The last class is preempted first, then the youngest attempt, and one
        that `is_slow` to stop last. A preempted search waits again at the head of its queue. It
        begins anew, so that its result does not depend on the other searches; that counts neither
        as a loss nor as an attempt.
        """
        preempted: list[Attempt[P]] = []
        if not any(self._running.count(use) for use in BACKGROUND):
            return preempted
        for rank in range(len(RANKS) - 1):
            wanted = sum(map(may_run, self._waiting.of(rank)))
            later = [use for use, _ in RANKS[rank + 1 :] if use in BACKGROUND]
            for _ in range(wanted - free_soon):
                attempt = self._running.find_preemptible(later, is_slow)
                search = None if attempt is None else self._end(attempt)
                if attempt is None or search is None:
                    break
                search.preemptions += 1
                search.begun_s = None
                self._preempted_of[search.use] += 1
                self._waiting.put_back(search)
                preempted.append(attempt)
            free_soon = max(0, free_soon - wanted)
        return preempted

    def next_deadline_s(self) -> float | None:
        """Loop time in seconds at which to call `expire` and `assign` again; None for never."""
        ends_s = [
            late_s
            for search in self._lost
            if (late_s := search.fallback_s(self._grace_s)) is not None
        ]
        pause_end_s = self.places.next_pause_end_s()
        if pause_end_s is not None and self._waiting:
            ends_s.append(pause_end_s)
        return min(ends_s, default=None)

    # --- reports of the transport

    def on_begun(self, attempt: Attempt[P], begun_s: float) -> None:
        """Records that the place began to search at `begun_s`.

        The job's time runs from the first such moment on.
        """
        search = self._running.get(attempt)
        if search is not None and search.begun_s is None:
            search.begun_s = begun_s

    def on_progress(self, attempt: Attempt[P], info: Info) -> bool:
        """Records an attempt's info; returns false if the attempt is stale."""
        search = self._running.get(attempt)
        if search is None:
            return False
        search.record_info(attempt, info)
        return True

    def on_answer(self, attempt: Attempt[P], result: Result) -> Settled[S, P] | None:
        """Ends a search with the answer of its place, or with an earlier attempt's deeper info."""
        search = self._end(attempt)
        if search is None:
            return None
        if search.has_deeper_info(attempt, result):
            return self._settle(search, best_outcome(search))
        return self._settle(search, result)

    def on_lost(
        self, attempt: Attempt[P], now_s: float, *, time_counts: bool
    ) -> Settled[S, P] | None:
        """Ends an attempt that is lost, because its place died, or was silent or late.

        The search waits again at the head of the queue, with the time that is left. If
        `time_counts`, the job's time runs from the attempt's start at the latest. When no time or
        no try is left, the best move so far is the answer. Without such a move the search fails
        with WorkersLost after its last try.
        """
        search = self._end(attempt)
        if search is None:
            return None
        if time_counts and search.begun_s is None:
            search.begun_s = attempt.sent_s
        search.losses += 1
        search.lost_at |= {attempt.place}
        has_own = self.own is not None and self.own not in search.failed_at
        is_last = search.losses >= TRIES and not has_own
        left_s = search.left_s(now_s)
        is_late = left_s is not None and left_s < MIN_RETRY_S
        if is_last or (is_late and search.best is not None):
            message = f"{search.losses} workers died, hung or fell silent over this search"
            return self._settle(search, best_outcome(search, WorkersLost(message)))
        self._lost[search] = None
        self._waiting.put_back(search)
        return None

    def put_back(
        self,
        attempt: Attempt[P],
        failed_with: SearchError | None = None,
        *,
        is_counted: bool = True,
    ) -> Settled[S, P] | None:
        """Ends an attempt without a search: the place was busy, not ready, or `failed_with` an
        error.

        The search waits again at the head of the queue, up to MAX_ATTEMPTS times; an attempt that
        is not counted ended for a reason that passes by itself. An error of
        `own` ends a search that others have lost TRIES times.
        """
        search = self._end(attempt)
        if search is None:
            return None
        if failed_with is not None:
            search.failed_at |= {attempt.place}
            if search.losses >= TRIES:
                return self._settle(search, best_outcome(search, failed_with))
        search.preemptions += not is_counted
        if search.attempt_count - search.preemptions >= MAX_ATTEMPTS:
            error = SearchLost("no worker has room for this search")
            return self._settle(search, best_outcome(search, error))
        self._waiting.put_back(search)
        return None

    def fail(self, search: S, error: Exception) -> Settled[S, P] | None:
        """Ends a search with an error; None if it has ended already."""
        return None if search.is_settled else self._settle(search, error)

    def fail_waiting(self, error_of: Callable[[S], Exception | None]) -> list[Settled[S, P]]:
        """Ends those waiting searches for which `error_of` returns an error."""
        errors = [(search, error_of(search)) for search in list(self._waiting)]
        return [self._settle(search, error) for search, error in errors if error is not None]

    def expire(self, now_s: float) -> list[Settled[S, P]]:
        """Answers the lost searches whose time is over with their best move so far.

        They do not wait for another place, which may take any time to become ready.
        """
        late = [
            search
            for search in self._lost
            if (late_s := search.fallback_s(self._grace_s)) is not None and late_s <= now_s
        ]
        return [self._settle(search, best_outcome(search)) for search in late]

    def close(self, error: Exception) -> list[Settled[S, P]]:
        """Ends all searches with the error."""
        return [self._settle(search, error) for search in list(self._searches)]

    # --- one search

    def _end(self, attempt: Attempt[P]) -> S | None:
        """Ends an attempt; returns its search, or None if the attempt is stale."""
        search = self._running.end(attempt)
        if search is not None:
            search.attempt = None
            self.places.end(attempt.place, search.use)
        return search

    def _settle(self, search: S, outcome: Result | Exception) -> Settled[S, P]:
        running = search.attempt
        if running is not None:
            self._end(running)
        else:
            self._waiting.remove(search)
        self._searches.pop(search, None)
        self._lost.pop(search, None)
        search.is_settled = True
        return Settled(search, outcome, running)


def _ranks_of(uses: Collection[Use]) -> list[int]:
    """The ranks of these classes, the first one to be served first."""
    return [rank for rank, (use, _) in enumerate(RANKS) if use in uses]


class RunningAttempts(Generic[S, P]):
    """The attempts that places have, each with its search; counts them by class."""

    def __init__(self) -> None:
        self._searches: dict[Attempt[P], S] = {}
        self._counts: Counter[Use] = Counter()

    def __len__(self) -> int:
        return len(self._searches)

    def count(self, use: Use) -> int:
        """The number of attempts of a class."""
        return self._counts[use]

    def begin(self, attempt: Attempt[P], search: S) -> None:
        """Adds an attempt."""
        self._searches[attempt] = search
        self._counts[search.use] += 1

    def get(self, attempt: Attempt[P]) -> S | None:
        """The search of an attempt; None if the attempt is stale."""
        return self._searches.get(attempt)

    def end(self, attempt: Attempt[P]) -> S | None:
        """Removes an attempt; returns its search, or None if the attempt is stale."""
        search = self._searches.pop(attempt, None)
        if search is not None:
            self._counts[search.use] -= 1
        return search

    def find_preemptible(
        self, uses: Collection[Use], is_slow: Callable[[Attempt[P]], bool]
    ) -> Attempt[P] | None:
        """The attempt of the classes `uses` to stop first; None if there is none.

        It is the youngest attempt of the last class. Within a class, attempts that are slow to stop
        (`is_slow`) come last.
        """
        if not any(self._counts[use] for use in uses):
            return None
        candidates = [attempt for attempt, search in self._searches.items() if search.use in uses]
        return max(
            reversed(candidates),  # the first of equals counts
            key=lambda attempt: (
                USES.index(self._searches[attempt].use), not is_slow(attempt), attempt.sent_s,
            ),
        )  # fmt: skip
