"""The time for a move: a clock never runs out, and difficult moves take longer than easy ones."""

import pytest

from engine.search.job import Limit
from engine.search.timeman import EASY_DEPTHS, OVERHEAD_MS, Budget, Pace, budget


def test_a_fixed_time_is_the_limit() -> None:
    """A fixed time is the hard limit, and no depth starts after 60 % of it."""
    assert budget(Limit(depth=3, nodes=5)) is None
    fixed = budget(Limit(time_ms=1000))
    assert fixed == Budget(600, 1000)
    pace = Pace(fixed, 20)
    assert [pace.is_enough(ms, 1, 0) for ms in (10, 599, 600, 700)] == [False, False, True, True]
    assert not Pace(None, 1).is_enough(1e9, 1, 0)


@pytest.mark.parametrize("increment_ms", [0, 50, 1000])
@pytest.mark.parametrize("moves_to_go", [None, 1, 5, 40])
@pytest.mark.parametrize("clock_ms", [40, 300, 3_000, 60_000])
def test_a_clock_never_runs_out(clock_ms: int, moves_to_go: int | None, increment_ms: int) -> None:
    """A player who uses the hard limit of each move has time left after 300 moves."""
    left_ms = float(clock_ms)
    for move in range(300):
        to_go = None if moves_to_go is None else moves_to_go - move % moves_to_go
        move_budget = budget(
            Limit(clock_ms=round(left_ms), increment_ms=increment_ms, moves_to_go=to_go)
        )
        assert move_budget is not None
        assert 0 < move_budget.soft_ms <= move_budget.hard_ms
        left_ms -= move_budget.hard_ms + OVERHEAD_MS / 4
        if left_ms <= OVERHEAD_MS:  # the overhead of a move alone exceeds the clock
            return
        left_ms += increment_ms
        if to_go == 1:
            left_ms += clock_ms
    assert left_ms > 0


def test_a_clock_is_used() -> None:
    """A minute for the rest of the match gives a move about a second.

    The last move before the time control gets most of the minute, an increment adds time, and a
    fixed time takes precedence over a longer clock.
    """
    usual = budget(Limit(clock_ms=60_000))
    assert usual is not None
    assert 800 < usual.soft_ms < 2_500
    assert usual.hard_ms > 3 * usual.soft_ms
    last = budget(Limit(clock_ms=60_000, moves_to_go=1))
    assert last is not None
    assert last.hard_ms > 40_000
    with_increment = budget(Limit(clock_ms=60_000, increment_ms=2_000))
    assert with_increment is not None
    assert with_increment.soft_ms > usual.soft_ms + 800
    assert budget(Limit(clock_ms=60_000, time_ms=100)) == budget(Limit(time_ms=100))


def test_the_pace_follows_the_search() -> None:
    """A single legal move takes no time; a new best move or a falling score takes more."""
    flexible = Budget(1000, 4000, flexible=True)

    def stop_ms(depths: list[tuple[int, int]], moves: int = 20) -> float:
        """Returns the time after which no depth starts after these depths, in ms."""
        for ms in range(0, 5000, 50):
            pace = Pace(flexible, moves)
            if [
                pace.is_enough(ms if i == len(depths) - 1 else 0, *depth)
                for i, depth in enumerate(depths)
            ][-1]:
                return ms
        raise AssertionError("the search never ends")

    steady = stop_ms([(1, 0)] * 3)
    assert stop_ms([(1, 0)], moves=1) == 0
    assert stop_ms([(1, 0)] * (EASY_DEPTHS + 2)) < steady
    assert stop_ms([(1, 0), (1, 0), (2, 0)]) > steady
    assert stop_ms([(1, 0), (1, 0), (1, -80)]) > steady
    assert stop_ms([(1, 0), (1, 0), (2, -5000)]) <= flexible.hard_ms
    assert not Pace(Budget(1000, 4000), 1).is_enough(1, 1, 0), (
        "a fixed time is also used for a single move"
    )
