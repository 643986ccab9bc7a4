"""Time for one move: the clock never runs out, easy moves take less time, and unclear ones more."""

import pytest

from engine.search.job import Limit
from engine.search.timeman import EASY_DEPTHS, OVERHEAD_MS, Budget, Pace, budget


def test_a_fixed_time_is_kept() -> None:
    """A fixed time is the hard bound, and no depth starts when most of it is used. Without a time
    limit there is no budget.
    """
    assert budget(Limit(depth=3, nodes=5)) is None
    found = budget(Limit(time_ms=1000))
    assert found == Budget(600, 1000)
    pace = Pace(found, 20)
    assert [pace.is_enough(ms, 1, 0) for ms in (10, 599, 600, 700)] == [False, False, True, True]
    assert not Pace(None, 1).is_enough(1e9, 1, 0)


@pytest.mark.parametrize("increment_ms", [0, 50, 1000])
@pytest.mark.parametrize("moves_to_go", [None, 1, 5, 40])
@pytest.mark.parametrize("clock_ms", [40, 300, 3_000, 60_000])
def test_a_clock_never_runs_out(clock_ms: int, moves_to_go: int | None, increment_ms: int) -> None:
    """A player that uses the hard bound of every move, and loses some more time, has time left
    after each of 300 moves.
    """
    left = float(clock_ms)
    for move in range(300):
        to_go = None if moves_to_go is None else moves_to_go - move % moves_to_go
        found = budget(Limit(clock_ms=round(left), increment_ms=increment_ms, moves_to_go=to_go))
        assert found is not None
        assert 0 < found.soft_ms <= found.hard_ms
        left -= found.hard_ms + OVERHEAD_MS / 4
        if left <= OVERHEAD_MS:  # the overhead of a move alone exceeds the clock
            return
        left += increment_ms
        if to_go == 1:
            left += clock_ms
    assert left > 0


def test_a_clock_is_used() -> None:
    """With a minute for the rest of the match a move gets about a second; the last one before the
    time control gets most of the minute. The increment is used, and the smaller of a clock and a
    fixed time counts.
    """
    found = budget(Limit(clock_ms=60_000))
    assert found is not None
    assert 800 < found.soft_ms < 2_500
    assert found.hard_ms > 3 * found.soft_ms
    last = budget(Limit(clock_ms=60_000, moves_to_go=1))
    assert last is not None
    assert last.hard_ms > 40_000
    with_increment = budget(Limit(clock_ms=60_000, increment_ms=2_000))
    assert with_increment is not None
    assert with_increment.soft_ms > found.soft_ms + 800
    assert budget(Limit(clock_ms=60_000, time_ms=100)) == budget(Limit(time_ms=100))


def test_the_pace_follows_the_search() -> None:
    """The only legal move is played at once and an easy one sooner; a new best move or a falling
    score gets more time.
    """
    clock_budget = Budget(1000, 4000, flexible=True)

    def until(depths: list[tuple[int, int]], moves: int = 20) -> float:
        """The time after which no depth starts, after these depths, in milliseconds."""
        for ms in range(0, 5000, 50):
            pace = Pace(clock_budget, moves)
            if [
                pace.is_enough(ms if i == len(depths) - 1 else 0, *depth)
                for i, depth in enumerate(depths)
            ][-1]:
                return ms
        raise AssertionError("it never ends")

    steady = until([(1, 0)] * 3)
    assert until([(1, 0)], moves=1) == 0
    assert until([(1, 0)] * (EASY_DEPTHS + 2)) < steady
    assert until([(1, 0), (1, 0), (2, 0)]) > steady
    assert until([(1, 0), (1, 0), (1, -80)]) > steady
    assert until([(1, 0), (1, 0), (2, -5000)]) <= clock_budget.hard_ms
    assert not Pace(Budget(1000, 4000), 1).is_enough(1, 1, 0), (
        "a fixed time is used for the only legal move too"
    )
