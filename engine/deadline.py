"""A time limit for a search or a solver: a timer thread ends the computation."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX, Timer


@contextmanager
def expiring(expire: Callable[[], None], seconds: float) -> Iterator[None]:
    """Calls `expire` from a timer thread after `seconds`, unless the block ends first."""
    timer = Timer(min(seconds, TIMEOUT_MAX), expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
