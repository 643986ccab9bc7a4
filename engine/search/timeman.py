"""Time management: soft and hard bounds, and after each depth the decision to start another."""

from dataclasses import dataclass

from engine.search.job import Limit

#: The time that a move takes outside the search, in milliseconds; it is deducted from the clock.
OVERHEAD_MS = 10
#: No depth starts after this share of a fixed time, because it would hardly be completed.
NEXT_DEPTH_SHARE = 0.6
#: No depth starts after this part of a move's share of the clock. It is high because the move may
#: exceed its share, and because the best move of an incomplete depth counts.
CLOCK_SHARE = 0.9
#: The moves that a match is expected to last when no `moves_to_go` is given.
EXPECTED_MOVES = 25
#: A move may take this many times its share when its depth is not complete or its best move
#: changed.
HARD_FACTOR = 4
#: One move never takes more than this share of the clock, even the last before a time control.
MAX_CLOCK_SHARE = 0.7
#: A move is easy when it stayed the best for more than this many depths.
EASY_DEPTHS = 7
#: The factor of the soft bound for an easy move.
EASY_FACTOR = 0.75
#: The factor of the soft bound when the best move changed with the last depth.
CHANGED_FACTOR = 1.6
#: The factor of the soft bound when the score fell.
FALLING_FACTOR = 1.4
#: A score has fallen when it is at least this much below that of the depth before, in the
#: evaluation's units.
SCORE_FALL = 30


@dataclass(frozen=True, slots=True)
class Budget:
    """The time for one move, in milliseconds: no depth starts after the soft bound, and none
    continues after the hard one.

    A flexible budget comes from a clock. Its soft bound varies with the search, because time saved
    on one move is left for the others.
    """

    soft_ms: float
    hard_ms: float
    flexible: bool = False


def budget(limit: Limit) -> Budget | None:
    """The budget of a limit for one move, or None without a time limit.

    Where the limit has both a time and a clock, the smaller budget counts.
    """
    budgets = [each for each in (_fixed(limit), _from_clock(limit)) if each is not None]
    return min(budgets, key=lambda each: each.hard_ms, default=None)


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
    hard = min(share * HARD_FACTOR, left * MAX_CLOCK_SHARE)
    return Budget(min(share * CLOCK_SHARE, hard), hard, flexible=True)


class Pace:
    """Decides after each depth whether a search has used enough time."""

    def __init__(self, time_budget: Budget | None, move_count: int) -> None:
        self._budget = time_budget
        self._is_only_move = move_count == 1
        self._move: int | None = None
        self._score = 0
        self._unchanged_depths = 0

    def is_enough(self, milliseconds: float, move: int, score: int) -> bool:
        """True if no further depth should start after one with this best move and score."""
        has_changed = self._move is not None and move != self._move
        has_fallen = self._move is not None and score <= self._score - SCORE_FALL
        self._unchanged_depths = 0 if has_changed else self._unchanged_depths + 1
        self._move, self._score = move, score
        if self._budget is None:
            return False
        if not self._budget.flexible:
            return milliseconds >= self._budget.soft_ms
        if self._is_only_move:
            return True
        factor = EASY_FACTOR if self._unchanged_depths > EASY_DEPTHS else 1.0
        factor = CHANGED_FACTOR if has_changed else factor
        factor *= FALLING_FACTOR if has_fallen else 1.0
        return milliseconds >= min(self._budget.soft_ms * factor, self._budget.hard_ms)
