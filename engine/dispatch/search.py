"""A search that waits for its answer, and one attempt at it. Pure."""

from collections.abc import Hashable
from math import inf
from typing import Generic, TypeVar

from msgspec import Struct

from engine.game import Game
from engine.search.job import RANKS, Info, Job, Result, SearchError, Use
from engine.search.layout import MATE_BOUND
from engine.search.levels import Level
from engine.search.report import best_so_far

#: Minimum time of every attempt after the first, in seconds. A lost search with less time left is
#: answered with its best move so far, if it has one.
MIN_RETRY_S = 0.1

#: A place that runs searches, as its transport names it: a worker process, or a worker elsewhere.
P = TypeVar("P", bound=Hashable)


class PendingSearch(Struct, Generic[P], eq=False, kw_only=True):
    """A search that was admitted and is not yet answered. Transports add fields of their own."""

    job: Job
    game: Game
    level: Level
    #: The search's number in the order of admission.
    number: int = 0
    #: Loop time in seconds from which the job's time runs; None before it is first searched.
    begun_s: float | None = None
    #: The number of attempts, of all kinds.
    attempt_count: int = 0
    #: The number of attempts that ended because a more urgent search needed the place, or for
    #: another reason that passes by itself.
    preemptions: int = 0
    #: The number of lost attempts: the place died, or was silent or late.
    losses: int = 0
    #: The current attempt; None while the search waits.
    attempt: "Attempt[P] | None" = None
    #: The deepest info of any attempt.
    best: Info | None = None
    #: The number of the attempt that found it.
    best_attempt_number: int = 0
    #: Places that lost the search. They get it again only if there is no other place.
    lost_at: frozenset[P] = frozenset()
    #: Places that failed at the search. They do not get it again.
    failed_at: frozenset[P] = frozenset()
    #: Whether the search has its answer or its error.
    is_settled: bool = False

    @property
    def affinity(self) -> str:
        return self.job.affinity

    @property
    def use(self) -> Use:
        return self.job.use

    @property
    def rank(self) -> int:
        return RANKS.index((self.job.use, self.job.priority if self.job.use == "live" else 0))

    def set_time_left(self, now_s: float, time_ms: int | None) -> None:
        """Sets the rest of the job's time, `time_ms`, after attempts elsewhere; None: all of it."""
        if time_ms is not None and self.level.limit.time_ms is not None:
            self.begun_s = now_s - max(0, self.level.limit.time_ms - time_ms) / 1000

    def left_s(self, now_s: float) -> float | None:
        """The rest of the job's time in seconds; None when the job has no time limit.

        The job's time begins with its first search.
        """
        if self.level.limit.time_ms is None:
            return None
        begun_s = now_s if self.begun_s is None else self.begun_s
        return self.level.limit.time_ms / 1000 - (now_s - begun_s)

    def end_s(self, since_s: float = -inf) -> float | None:
        """Loop time in seconds at which the job's time ends, for an attempt begun at `since_s`.

        The attempt gets at least MIN_RETRY_S. None without a limit, and before the time has begun.
        """
        if self.level.limit.time_ms is None or self.begun_s is None:
            return None
        return max(self.begun_s + self.level.limit.time_ms / 1000, since_s + MIN_RETRY_S)

    @property
    def has_fallback_move(self) -> bool:
        """Whether a lost search has a move that becomes its answer when its time is over."""
        return self.losses > 0 and self.best is not None and self.end_s() is not None

    def fallback_s(self, grace_s: float) -> float | None:
        """Loop time at which the best move so far is the answer; None while that does not apply."""
        end_s = self.end_s() if self.has_fallback_move else None
        return None if end_s is None else end_s + grace_s

    def time_ms(self, now_s: float) -> int | None:
        """The time that an attempt may take, in ms; None when it has the job's whole time."""
        left_s = self.left_s(now_s)
        if left_s is None or self.begun_s is None:
            return None
        return round(max(left_s, MIN_RETRY_S) * 1000)

    def record_info(self, attempt: "Attempt[P]", info: Info) -> None:
        """Records the info if it is the deepest so far. An info without moves gives no answer.

        No info answers a search that is not live: its result depends on the job alone.
        """
        is_usable = bool(info.pv and info.moves) and self.use == "live"
        if is_usable and (self.best is None or info.depth >= self.best.depth):
            self.best, self.best_attempt_number = info, attempt.number

    def has_deeper_info(self, attempt: "Attempt[P]", result: Result) -> bool:
        """Whether an earlier attempt's info is deeper than this attempt's result.

        A proven win or loss is final at any depth. A persona's result always counts, because its
        move does not depend on the depth alone.
        """
        if (
            self.best is None
            or self.best_attempt_number == attempt.number
            or self.job.persona is not None
        ):
            return False
        return self.best.depth > result.info.depth and abs(result.info.score) <= MATE_BOUND


class Attempt(Struct, Generic[P], frozen=True, eq=False):
    """One attempt at a search, at one place."""

    place: P
    #: The attempt's number within its search, from 1 on.
    number: int
    #: Loop time in seconds at which the place got the search.
    sent_s: float
    #: The time that the attempt may take, in ms; None for the job's whole time.
    time_ms: int | None


def best_outcome(search: PendingSearch[P], error: Exception | None = None) -> Result | Exception:
    """The answer of a search that ended early: the move that its level chooses from the deepest
    info. Without an info it is the error.
    """
    if search.best is None:
        assert error is not None, "the caller checked that there is an info"
        return error
    try:
        return best_so_far(search.job, search.game, search.best)
    except SearchError as failure:
        return failure
