"""A deadline for a computation that another thread can end: a search, a solver."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import TIMEOUT_MAX, Timer


@contextmanager
def expiring(expire: Callable[[], None], seconds: float) -> Iterator[None]:
    """Calls `expire` from another thread after this many seconds, unless the block ends first."""
    timer = Timer(min(seconds, TIMEOUT_MAX), expire)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
