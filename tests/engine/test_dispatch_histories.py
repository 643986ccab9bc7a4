"""After any history of events the dispatcher's invariants hold, and its order is fair."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.dispatch.dispatcher import (
    MAX_ATTEMPTS,
    TRIES,
    Settled,
)
from engine.dispatch.search import Attempt
from engine.search.job import Result, SearchFailed
from tests.support.dispatching import (
    OWN,
    FakeTransport,
    Search,
    info_at,
    result_at,
    search_of,
)

#: The kinds of events in a history; a kind that is listed twice comes twice as often.
KINDS = (
    "admit", "assign", "assign", "begin", "report", "report", "answer", "die", "hang", "busy",
    "fail", "expire", "withdraw", "wait",
)  # fmt: skip


class History:
    """Plays events against a dispatcher and checks its invariants."""

    def __init__(self, own: str | None) -> None:
        self.transport = FakeTransport("a", "b", "c", own=own)
        self.own = own
        self.searches: list[Search] = []
        self.ended: Counter[Search] = Counter()
        self.deepest: dict[Search, int] = {}
        self.ended_attempts: list[Attempt[str]] = []
        self.search_of_attempt: dict[Attempt[str], Search] = {}
        self.lost: Counter[Search] = Counter()
        #: The deepest report of each attempt.
        self.reported: Counter[Attempt[str]] = Counter()

    def play(self, kind: str, number: int) -> None:
        transport, dispatcher = self.transport, self.transport.dispatcher
        attempts = [*transport.running.values(), *self.ended_attempts]
        attempt = attempts[number % len(attempts)] if attempts else None
        match kind:
            case "admit":
                self.searches.append(transport.admit(search_of("xyz"[number % 3])))
            case "wait":
                transport.now_s += number / 50
            case "expire":
                for settled in dispatcher.expire(transport.now_s):
                    self.settle(settled)
            case "withdraw" if self.searches:
                search = self.searches[number % len(self.searches)]
                if not search.is_settled:
                    self.release(dispatcher.withdraw(search))
                    self.ended[search] += 1
            case "assign":
                self.assign()
            case _ if attempt is not None:
                self.act_on(kind, attempt, number)

    def assign(self) -> None:
        attempt = self.transport.assign()
        if attempt is not None:
            search = next(search for search in self.searches if search.attempt is attempt)
            assert attempt.place not in search.failed_at, "a faulty place gets it only once"
            assert search.losses < TRIES or attempt.place == self.own, "the tries are over"
            self.search_of_attempt[attempt] = search

    def act_on(self, kind: str, attempt: Attempt[str], number: int) -> None:
        """Plays an event of one attempt, which may be stale."""
        dispatcher, search = self.transport.dispatcher, self.search_of_attempt[attempt]
        is_current = search.attempt is attempt
        before = (search.best, search.losses, search.begun_s)
        match kind:
            case "begin":
                dispatcher.on_begun(attempt, self.transport.now_s)
            case "report":
                assert dispatcher.on_progress(attempt, info_at(number)) == is_current
                if is_current:
                    self.reported[attempt] = max(number, self.reported[attempt])
                    self.deepest[search] = max(number, self.deepest.get(search, 0))
            case "answer":
                # An engine's answer is at least as deep as its reports.
                depth = max(number, self.reported[attempt])
                if is_current:
                    self.deepest[search] = max(depth, self.deepest.get(search, 0))
                self.end(attempt, dispatcher.on_answer(attempt, result_at(depth)))
            case "die" | "hang" if attempt.place != self.own:
                self.lost[search] += is_current
                self.end(attempt, self.transport.dispatcher.on_lost(
                    attempt, self.transport.now_s, time_counts=kind == "hang"
                ))  # fmt: skip
            case "busy":
                dispatcher.places.pause(attempt.place, self.transport.now_s + 0.25)
                self.end(attempt, dispatcher.put_back(attempt))
            case "fail":
                self.end(attempt, dispatcher.put_back(attempt, SearchFailed("no")))
        if not is_current:
            assert (search.best, search.losses, search.begun_s) == before, "it is stale"

    def end(self, attempt: Attempt[str], settled: Settled[Search, str] | None) -> None:
        self.release(attempt)
        self.settle(settled)

    def release(self, attempt: Attempt[str] | None) -> None:
        if attempt is not None and self.transport.running.get(attempt.place) is attempt:
            del self.transport.running[attempt.place]
            self.ended_attempts.append(attempt)

    def settle(self, settled: Settled[Search, str] | None) -> None:
        if settled is None:
            return
        self.release(settled.running_attempt)
        search, outcome = settled.search, settled.outcome
        self.ended[search] += 1
        if isinstance(outcome, Result):
            assert outcome.info.depth == self.deepest[search], "the answer is the deepest seen"
        else:
            assert search not in self.deepest, "a search that has seen a move has an answer"

    def check(self) -> None:
        """Checks the invariants, which hold after every event."""
        dispatcher = self.transport.dispatcher
        unsettled = [search for search in self.searches if not search.is_settled]
        assert dispatcher.waiting_count + dispatcher.running_count == len(unsettled)
        assert dispatcher.running_count == len(self.transport.running)
        assert all(self.ended[search] == search.is_settled for search in self.searches)
        for search in self.searches:
            assert search.losses == self.lost[search] <= TRIES
            assert search.attempt_count <= MAX_ATTEMPTS


#: A history: the kinds of its events, each with a number that selects what the event concerns.
EVENTS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 20)), max_size=120)


def play_history(events: list[tuple[str, int]], has_own: bool) -> None:
    """Plays the events and closes the dispatcher."""
    history = History(OWN if has_own else None)
    for kind, number in events:
        history.play(kind, number)
        history.check()
    for settled in history.transport.dispatcher.close(SearchFailed("closed")):
        history.release(settled.running_attempt)
        history.ended[settled.search] += 1
    assert all(history.ended[search] == 1 for search in history.searches), "each ends once"


@given(events=EVENTS, has_own=st.booleans())
@settings(max_examples=300)
def test_any_history(events: list[tuple[str, int]], has_own: bool) -> None:
    """After any history every admitted search ends exactly once, within its tries.

    Its answer is the deepest that any of its attempts reported, and stale attempts change nothing.
    """
    play_history(events, has_own)


@given(
    rooms=st.lists(st.sampled_from("abcd"), max_size=40),
    losses=st.lists(st.booleans(), max_size=40),
)
def test_the_order_is_fair(rooms: list[str], losses: list[bool]) -> None:
    """A room's searches are served in order, and rooms with waiting searches take turns.

    While a room waits, no other room is served twice. A lost search is served next.
    """
    transport = FakeTransport("a", queue_size=100)
    for room in rooms:
        transport.admit(search_of(room))
    served: list[Search] = []
    waiting = {room: rooms.count(room) for room in rooms}
    since_served = dict.fromkeys(waiting, 0)
    loss_flags = iter([*losses, *[False] * len(rooms)])
    while transport.dispatcher.waiting_count:
        assigned = transport.dispatcher.assign(transport.now_s, transport.offers)
        assert assigned is not None
        search, attempt = assigned
        if next(loss_flags, False):
            transport.dispatcher.on_lost(attempt, transport.now_s, time_counts=False)
            again = transport.dispatcher.assign(transport.now_s, transport.offers)
            assert again is not None
            assert again[0] is search, "a lost search is next"
            attempt = again[1]
        transport.dispatcher.on_answer(attempt, result_at(3))
        served.append(search)
        waiting[search.affinity] -= 1
        since_served[search.affinity] = 0
        for room in waiting:
            if room != search.affinity and waiting[room]:
                since_served[room] += 1
                assert since_served[room] < len(waiting), "every other room once, then this one"
    for room in waiting:
        numbers = [search.number for search in served if search.affinity == room]
        assert numbers == sorted(numbers)
    assert len(served) == len(rooms)
