"""Pondering: searches in the opponent's time."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from threading import Event

from engine.deadline import expiring
from engine.search import layout
from engine.search.driver import Cancelled, Control, Searcher
from engine.search.report import Report

Timer = Callable[[], AbstractContextManager[None]]


class Pondering:
    """The search of the expected position, in a thread of its own, during the opponent's time.

    No other search may use the searcher until `end` or `cancel`. `begin` receives a control block
    and a context manager to run the search in; it must search with `pondering`.
    """

    def __init__(
        self,
        searcher: Searcher,
        expected: Sequence[str],
        begin: Callable[[Control, Timer], Report],
    ) -> None:
        self._searcher = searcher
        self.expected = tuple(expected)
        self._control = Control()
        self._has_begun = Event()
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="ponder")
        self.future = self._executor.submit(self._run, begin)

    def end(self, moves: Sequence[str], seconds: float) -> Report | None:
        """The report of the search after `seconds` more, if the expected moves were played.

        If they were not, it cancels the search and returns None at once.
        """
        if tuple(moves) != self.expected:
            self.cancel()
            return None
        self._has_begun.wait()
        self._searcher.ponderhit()
        with expiring(self._searcher.expire, seconds), self._executor:
            return self.future.result()

    def cancel(self) -> None:
        """Ends the search at once; its entries stay in the table."""
        self._control.memory.array[layout.CANCEL] = 1
        with self._executor:
            if not isinstance(self.future.exception(), Cancelled):
                self.future.result()  # raises the search's own error

    def _run(self, begin: Callable[[Control, Timer], Report]) -> Report:
        try:
            return begin(self._control, self._mark_begun)
        finally:
            self._has_begun.set()

    @contextmanager
    def _mark_begun(self) -> Iterator[None]:
        """Marks the search as begun, and runs it; a ponder hit that came earlier would be lost."""
        self._has_begun.set()
        yield
