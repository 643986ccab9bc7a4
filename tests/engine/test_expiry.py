"""engine/deadline.py: the deadlines of searches and solvers."""

import math
import threading

from engine.deadline import expiring


def test_the_callback_runs_once_after_the_deadline() -> None:
    """The callback runs once after the deadline, and never after the end of the block."""
    calls: list[threading.Thread] = []
    expired = threading.Event()

    def expire() -> None:
        calls.append(threading.current_thread())
        expired.set()

    before = set(threading.enumerate())
    with expiring(expire, 600):
        pass
    assert set(threading.enumerate()) <= before
    with expiring(expire, 0.001):
        assert expired.wait(60)
    assert len(calls) == 1
    assert calls[0] is not threading.current_thread()


def test_a_very_long_time_does_not_expire() -> None:
    """A time beyond the range of a timer is accepted and never expires."""
    with expiring(lambda: None, math.inf):
        pass
