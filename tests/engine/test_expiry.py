"""The deadlines of searches and solvers."""

import math
import threading

from engine.deadline import expiring


def test_who_is_in_time_is_left_alone_and_who_is_not_is_told_once() -> None:
    """The callback runs once after the deadline, and never after the block has been left."""
    calls: list[threading.Thread] = []
    told = threading.Event()

    def expire() -> None:
        calls.append(threading.current_thread())
        told.set()

    before = set(threading.enumerate())
    with expiring(expire, 600):
        pass
    assert set(threading.enumerate()) <= before
    with expiring(expire, 0.001):
        assert told.wait(60)
    assert len(calls) == 1
    assert calls[0] is not threading.current_thread()


def test_there_is_no_time_that_is_too_long() -> None:
    """A limit beyond the range of a timer counts as no limit."""
    with expiring(lambda: None, math.inf):
        pass
