"""A dispatcher with a fake transport: the test chooses the places and the time."""

from typing import Any

from engine.dispatch.dispatcher import (
    Dispatcher,
    Settled,
)
from engine.dispatch.placing import Offer
from engine.dispatch.search import Attempt, PendingSearch
from engine.rules.registry import load_game
from engine.search.job import Info, Job, Limit, Result, RootMove
from engine.search.levels import Level

GAME = load_game("connect-four")
START = GAME.start().text()
#: How late an answer may be before the best move so far counts, in seconds.
GRACE_S = 0.5
#: The name of the place that is the caller's own engine.
OWN = "own"

Search = PendingSearch[str]


def search_of(room: str = "room", time_ms: int | None = 1000, **job: Any) -> Search:
    """Returns a search that has not been admitted."""
    limit = Limit(time_ms=time_ms)
    full_job = Job(GAME.id, GAME.digest, {}, START, (), room, limit=limit, **job)
    return Search(job=full_job, game=GAME, level=Level(limit))


def info_at(depth: int, score: int = 0) -> Info:
    """Returns the info of a search at this depth; its best move depends on the depth."""
    move = "abcdefg"[depth % 7]
    return Info(depth, score, 1, 1, 1, (move,), (RootMove(move, score),))


def result_at(depth: int, score: int = 0) -> Result:
    info = info_at(depth, score)
    return Result(info.pv[0], info)


class FakeTransport:
    """A dispatcher, its clock and its places; each place takes one search at a time."""

    def __init__(self, *places: str, queue_size: int = 100, own: str | None = None) -> None:
        self.now_s = 100.0
        self.places = [*places, *([own] if own else [])]
        self.dispatcher: Dispatcher[Search, str] = Dispatcher(queue_size, GRACE_S, own)
        self.running: dict[str, Attempt[str]] = {}

    def admit(self, search: Search | None = None) -> Search:
        search = search or search_of()
        self.dispatcher.admit(search)
        return search

    def offers(self, search: Search) -> list[Offer[str]]:
        return [Offer(place) for place in self.places if place not in self.running]

    def assign(self) -> Attempt[str] | None:
        """Gives the next search to a place; returns the attempt, or None if no place is free."""
        assigned = self.dispatcher.assign(self.now_s, self.offers)
        if assigned is None:
            return None
        _, attempt = assigned
        assert attempt.place not in self.running
        self.running[attempt.place] = attempt
        return attempt

    def assign_next(self) -> Attempt[str]:
        """Gives the next search to a place, which must exist; returns the attempt."""
        attempt = self.assign()
        assert attempt is not None
        return attempt

    def lose(
        self, attempt: Attempt[str], *, time_counts: bool = False
    ) -> Settled[Search, str] | None:
        """Frees the attempt's place and reports the attempt as lost."""
        self.running.pop(attempt.place, None)
        return self.dispatcher.on_lost(attempt, self.now_s, time_counts=time_counts)


def depth_of(settled: Settled[Search, str] | None) -> int:
    """Returns the depth of a search's answer."""
    assert settled is not None
    assert isinstance(settled.outcome, Result), settled.outcome
    assert settled.outcome.move == settled.outcome.info.pv[0]
    return settled.outcome.info.depth
