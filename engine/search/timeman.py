"""How long to think about one move: from a limit to a soft and a hard bound, and after each depth
whether to go on.
"""

from dataclasses import dataclass

from engine.search.job import Limit

#: What a move costs outside of the search: it is not given away.
OVERHEAD_MS = 10
#: A depth is not begun when this much of a fixed time is gone: it would hardly be completed.
NEXT_DEPTH_SHARE = 0.6
#: The same of a move's share of a clock, which may be exceeded; what is found before the depth is
#: complete counts.
CLOCK_SHARE = 0.9
#: So many more moves of a match are reckoned with where nobody says how many.
EXPECTED_MOVES = 25
#: How much more than its share one move may take, when its depth is not complete or the best move
#: changed.
HARD_FACTOR = 4
#: However few moves are left until the next control, one of them never takes more of the clock.
MOST_OF_CLOCK = 0.7
#: A best move that stayed the same for so many depths is not thought about any longer than needed.
EASY_DEPTHS = 7
#: What an easy move, a best move that changed with the last depth, and a score that fell have of
#: the soft bound.
EASY, UNSTABLE, FALLING = 0.75, 1.6, 1.4
#: A score that is so much below that of the depth before is news.
FALL = 30


@dataclass(frozen=True, slots=True)
class Budget:
    """No depth is begun after the soft bound, and none is continued after the hard one.

    A flexible budget comes from a clock: what one move saves another one may use, so the soft bound
    follows the search.
    """

    soft_ms: float
    hard_ms: float
    flexible: bool = False


def budget(limit: Limit) -> Budget | None:
    """The time that a limit gives for one move, the smaller one where it gives a time and a clock;
    None for none.
    """
    given = [found for found in (_fixed(limit), _from_clock(limit)) if found is not None]
    return min(given, key=lambda found: found.hard_ms, default=None)


def _fixed(limit: Limit) -> Budget | None:
    if limit.time_ms is None:
        return None
    return Budget(limit.time_ms * NEXT_DEPTH_SHARE, limit.time_ms)


def _from_clock(limit: Limit) -> Budget | None:
    """An even share of what is left until the next control, most of the increment with it."""
    if limit.clock_ms is None:
        return None
    left = max(limit.clock_ms - OVERHEAD_MS, 1)
    moves = max(limit.moves_to_go or EXPECTED_MOVES, 1)
    increment = max(limit.increment_ms - OVERHEAD_MS, 0)
    share = left / moves + 0.8 * increment
    hard = min(share * HARD_FACTOR, left * MOST_OF_CLOCK)
    return Budget(min(share * CLOCK_SHARE, hard), hard, flexible=True)


class Pace:
    """Follows a search from depth to depth and says when it has used enough time."""

    def __init__(self, given: Budget | None, move_count: int) -> None:
        self._budget = given
        self._is_forced = move_count == 1
        self._move: int | None = None
        self._score = 0
        self._same = 0

    def is_enough(self, milliseconds: float, move: int, score: int) -> bool:
        """After a depth, with its best move and score: is another one not worth its time?"""
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
