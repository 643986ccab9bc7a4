"""Time management: soft and hard bounds, and after each depth the decision to start another."""

from dataclasses import dataclass

from engine.search.job import Limit

#: The cost of a move outside of the search, in milliseconds; it is deducted from the clock.
OVERHEAD_MS = 10
#: No depth is begun after this share of a fixed time: it would hardly be completed.
NEXT_DEPTH_SHARE = 0.6
#: No depth is begun after this share of a move's share of a clock. The move may exceed its share,
#: and the best move of an incomplete depth counts.
CLOCK_SHARE = 0.9
#: The moves that a match is expected to last when no `moves_to_go` is given.
EXPECTED_MOVES = 25
#: A move may take this many times its share when its depth is not complete or its best move
#: changed.
HARD_FACTOR = 4
#: One move never takes more than this share of the clock, even as the last before the next control.
MOST_OF_CLOCK = 0.7
#: A move is easy when it stayed the best for more than this many depths.
EASY_DEPTHS = 7
#: Factors of the soft bound for an easy move, for a best move that changed with the last depth, and
#: for a score that fell.
EASY, UNSTABLE, FALLING = 0.75, 1.6, 1.4
#: A score fell when it is at least this much below that of the depth before.
FALL = 30


@dataclass(frozen=True, slots=True)
class Budget:
    """The time for one move, in milliseconds: no depth starts after the soft bound, none continues
    after the hard one.

    A flexible budget comes from a clock: time saved on one move is left for the others, so the soft
    bound follows the search.
    """

    soft_ms: float
    hard_ms: float
    flexible: bool = False


def budget(limit: Limit) -> Budget | None:
    """The time that a limit gives for one move, or None without a limit of time.

    Where the limit has both a time and a clock, the smaller budget counts.
    """
    given = [found for found in (_fixed(limit), _from_clock(limit)) if found is not None]
    return min(given, key=lambda found: found.hard_ms, default=None)


def _fixed(limit: Limit) -> Budget | None:
    if limit.time_ms is None:
        return None
    return Budget(limit.time_ms * NEXT_DEPTH_SHARE, limit.time_ms)


def _from_clock(limit: Limit) -> Budget | None:
    """An even share of the time left until the next control, plus most of the increment."""
    if limit.clock_ms is None:
        return None
    left = max(limit.clock_ms - OVERHEAD_MS, 1)
    moves = max(limit.moves_to_go or EXPECTED_MOVES, 1)
    increment = max(limit.increment_ms - OVERHEAD_MS, 0)
    share = left / moves + 0.8 * increment
    hard = min(share * HARD_FACTOR, left * MOST_OF_CLOCK)
    return Budget(min(share * CLOCK_SHARE, hard), hard, flexible=True)


class Pace:
    """Follows a search from depth to depth and decides when it has used enough time."""

    def __init__(self, given: Budget | None, move_count: int) -> None:
        self._budget = given
        self._is_forced = move_count == 1
        self._move: int | None = None
        self._score = 0
        self._same = 0

    def is_enough(self, milliseconds: float, move: int, score: int) -> bool:
        """True if, after a depth with this best move and score, another is not worth its time."""
        changed = self._move is not None and move != self._move
        fallen = self._move is not None and score <= self._score - FALL
        self._same = 0 if changed else self._same + 1
        self._move, self._score = move, score
        if self._budget is None:
            return False
        if not self._budget.flexible:
            return milliseconds >= self._budget.soft_ms
        if self._is_forced:
            return True
        factor = EASY if self._same > EASY_DEPTHS else 1.0
        factor = UNSTABLE if changed else factor
        factor *= FALLING if fallen else 1.0
        return milliseconds >= min(self._budget.soft_ms * factor, self._budget.hard_ms)
