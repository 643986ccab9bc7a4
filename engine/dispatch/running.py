"""The running attempts of a dispatcher, by class."""

from collections import Counter
from collections.abc import Callable, Collection
from typing import Any, Generic, TypeVar

from engine.dispatch.search import Attempt, P, PendingSearch
from engine.search.job import USES, Use

S = TypeVar("S", bound=PendingSearch[Any])


class RunningAttempts(Generic[S, P]):
    """The attempts that places have, each with its search; counts them by class."""

    def __init__(self) -> None:
        self._searches: dict[Attempt[P], S] = {}
        self._counts: Counter[Use] = Counter()

    def __len__(self) -> int:
        return len(self._searches)

    def count(self, use: Use) -> int:
        """The number of attempts of a class."""
        return self._counts[use]

    def begin(self, attempt: Attempt[P], search: S) -> None:
        """Adds an attempt."""
        self._searches[attempt] = search
        self._counts[search.use] += 1

    def get(self, attempt: Attempt[P]) -> S | None:
        """The search of an attempt; None if the attempt is stale."""
        return self._searches.get(attempt)

    def end(self, attempt: Attempt[P]) -> S | None:
        """Removes an attempt; returns its search, or None if the attempt is stale."""
        search = self._searches.pop(attempt, None)
        if search is not None:
            self._counts[search.use] -= 1
        return search

    def find_preemptible(
        self, uses: Collection[Use], is_slow: Callable[[Attempt[P]], bool]
    ) -> Attempt[P] | None:
        """The attempt of the classes `uses` to stop first; None if there is none.

        It is the youngest attempt of the last class. Within a class, attempts that are slow to stop
        (`is_slow`) come last.
        """
        if not any(self._counts[use] for use in uses):
            return None
        candidates = [attempt for attempt, search in self._searches.items() if search.use in uses]
        return max(
            reversed(candidates),  # the first of equals counts
            key=lambda attempt: (
                USES.index(self._searches[attempt].use), not is_slow(attempt), attempt.sent_s,
            ),
        )  # fmt: skip
