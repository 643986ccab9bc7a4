"""A deadline for something that computes until it is told to stop: a search, a solver."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX, Timer


@contextmanager
def expiring(expire: Callable[[], None], seconds: float) -> Iterator[None]:
    """Calls `expire` after so many seconds, from a thread of its own, unless the block was left
    before.
    """
    timer = Timer(min(seconds, TIMEOUT_MAX), expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
