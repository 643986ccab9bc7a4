"""Searches that begin while the other side thinks."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from threading import Event

from engine.deadline import expiring
from engine.search import layout
from engine.search.driver import Cancelled, Control, Searcher
from engine.search.report import Report

Around = Callable[[], AbstractContextManager[None]]


class Pondering:
    """The search of the position that is expected, in a thread of its own, from when the other side
    begins to think.

    Nobody else may use the searcher until it was ended (`end`, `cancel`). `begin` is given a
    control block, and what the search goes on within; it is to search as `pondering`.
    """

    def __init__(
        self,
        searcher: Searcher,
        expected: Sequence[str],
        begin: Callable[[Control, Around], Report],
    ) -> None:
        self._searcher = searcher
        self.expected = tuple(expected)
        self._control = Control()
        self._has_begun = Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ponder")
        self.search = self._thread.submit(self._run, begin)

    def end(self, moves: Sequence[str], seconds: float) -> Report | None:
        """What it finds in so much time from now on, if the moves of the game are those that were
        expected; None at once if they are not.
        """
        if tuple(moves) != self.expected:
            self.cancel()
            return None
        self._has_begun.wait()
        self._searcher.ponderhit()
        with expiring(self._searcher.expire, seconds), self._thread:
            return self.search.result()

    def cancel(self) -> None:
        """Ends it at once; what it stored in the table stays."""
        self._control.memory.array[layout.CANCEL] = 1
        with self._thread:
            if not isinstance(self.search.exception(), Cancelled):
                self.search.result()  # raises what went wrong there

    def _run(self, begin: Callable[[Control, Around], Report]) -> Report:
        try:
            return begin(self._control, self._under_way)
        finally:
            self._has_begun.set()

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        """From here on a hit counts: before, the search would forget it."""
        self._has_begun.set()
        yield
