"""The dispatcher: who gets a search, how often, in which time, and what its answer is.

Time is a number that each test chooses.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.dispatch import dispatcher as dispatcher_module
from engine.dispatch import placing
from engine.dispatch.dispatcher import (
    MAX_ATTEMPTS,
    TRIES,
    Dispatcher,
    QueueFull,
    Settled,
    WorkersLost,
)
from engine.dispatch.placing import Offer, Places, choose
from engine.dispatch.search import MIN_RETRY_S, Attempt, PendingSearch
from engine.rules.registry import load_game
from engine.search.job import MATE, Info, Job, Limit, Result, RootMove, SearchFailed
from engine.search.levels import Level

GAME = load_game("connect-four")
START = GAME.start().text()
#: How late an answer may be, in seconds.
GRACE_S = 0.5
#: The name of the caller's own engine.
OWN = "own"

Search = PendingSearch[str]


def search_of(room: str = "room", time_ms: int | None = 1000, **job: Any) -> Search:
    """A search that has not been admitted."""
    limit = Limit(time_ms=time_ms)
    the_job = Job(GAME.id, GAME.digest, {}, START, (), room, limit=limit, **job)
    return Search(job=the_job, game=GAME, level=Level(limit))


def info_at(depth: int, score: int = 0) -> Info:
    """What a search sees at this depth; its best move tells the depth."""
    move = "abcdefg"[depth % 7]
    return Info(depth, score, 1, 1, 1, (move,), (RootMove(move, score),))


def result_at(depth: int, score: int = 0) -> Result:
    info = info_at(depth, score)
    return Result(info.pv[0], info)


class World:
    """A dispatcher and its places, each of which takes one search at a time."""

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
        """Gives the next search to a place; returns its attempt."""
        assigned = self.dispatcher.assign(self.now_s, self.offers)
        if assigned is None:
            return None
        _, attempt = assigned
        assert attempt.place not in self.running
        self.running[attempt.place] = attempt
        return attempt

    def must_assign(self) -> Attempt[str]:
        attempt = self.assign()
        assert attempt is not None
        return attempt

    def lose(
        self, attempt: Attempt[str], *, was_silent: bool = False
    ) -> Settled[Search, str] | None:
        self.running.pop(attempt.place, None)
        return self.dispatcher.on_lost(attempt, self.now_s, was_silent=was_silent)


def depth_of(settled: Settled[Search, str] | None) -> int:
    """The depth of a search's answer."""
    assert settled is not None
    assert isinstance(settled.outcome, Result), settled.outcome
    assert settled.outcome.move == settled.outcome.info.pv[0]
    return settled.outcome.info.depth


# --- the time that is left


def test_the_first_attempt_has_the_jobs_own_time() -> None:
    """Waiting for a place, and loading there, costs a job no time."""
    world = World("a")
    search = world.admit()
    world.now_s += 60
    attempt = world.must_assign()
    assert attempt.time_ms is None
    world.dispatcher.on_begun(attempt, world.now_s + 5)
    assert search.left_s(world.now_s + 5.25) == 0.75


@pytest.mark.parametrize("was_silent", [False, True])
def test_only_silence_costs_time_before_the_start(was_silent: bool) -> None:
    """A place that dies before it searches costs nothing; one that is silent costs that time."""
    world = World("a", "b")
    world.admit()
    first = world.must_assign()
    world.now_s += 0.6
    world.lose(first, was_silent=was_silent)
    assert world.must_assign().time_ms == (400 if was_silent else None)


def test_the_rest_of_the_time_is_shared_by_all_attempts() -> None:
    """Each attempt gets what the ones before have left, and never less than MIN_RETRY_S."""
    world = World("a", "b", "c")
    world.admit()
    times = []
    for passed_s in (0.3, 0.65, 0.0):
        attempt = world.must_assign()
        times.append(attempt.time_ms)
        world.dispatcher.on_begun(attempt, world.now_s)
        world.now_s += passed_s
        world.lose(attempt)
    assert times == [None, 700, MIN_RETRY_S * 1000]


def test_a_job_that_others_have_tried() -> None:
    """`set_left` takes the time that others have used; a job without a limit has all the time."""
    search, unlimited = search_of(), search_of(time_ms=None)
    search.set_left(100.0, 250)
    unlimited.set_left(100.0, 250)
    assert (search.left_s(100.0), unlimited.left_s(100.0)) == (0.25, None)
    assert (search.time_ms(100.1), unlimited.time_ms(100.1)) == (150, None)
    search.set_left(100.0, None)
    assert search.left_s(100.0) == 0.25


# --- tries


def test_a_search_is_tried_three_times() -> None:
    """The last loss without a move fails the search, and no later attempt begins."""
    world = World("a", "b", "c", "d")
    world.admit()
    tried = []
    settled = None
    for _ in range(TRIES):
        assert settled is None
        attempt = world.must_assign()
        tried.append(attempt.place)
        settled = world.lose(attempt)
    assert settled is not None
    assert isinstance(settled.outcome, WorkersLost)
    assert len(set(tried)) == TRIES
    assert world.assign() is None
    assert (world.dispatcher.waiting, world.dispatcher.running) == (0, 0)


def test_a_lost_search_is_next() -> None:
    """A lost search goes before searches that have not been tried, of other rooms and its own."""
    world = World("a")
    first = world.admit(search_of("x"))
    world.admit(search_of("y"))
    world.admit(search_of("x"))
    world.lose(world.must_assign())
    assigned = world.dispatcher.assign(world.now_s, world.offers)
    assert assigned is not None
    assert assigned[0] is first


def test_a_place_that_failed_never_gets_the_search_again() -> None:
    """A failure is no loss; the search waits for another place, and others may go to this one."""
    world = World("a")
    search = world.admit()
    attempt = world.must_assign()
    world.running.clear()
    assert world.dispatcher.put_back(attempt, SearchFailed("no")) is None
    assert world.assign() is None
    world.admit(search_of("other"))
    assert world.must_assign().place == "a"
    world.places.append("b")
    assert world.must_assign().place == "b"
    assert (search.losses, search.attempts) == (0, 2)


def test_a_place_that_lost_a_search_gets_it_last() -> None:
    """The same place gets a lost search again only if there is no other."""
    world = World("a")
    world.admit()
    world.lose(world.must_assign())
    world.places.append("b")
    assert world.must_assign().place == "b"
    world.lose(world.running["b"])
    world.places.remove("b")
    assert world.must_assign().place == "a"


def test_a_busy_place_rests() -> None:
    """A place that was busy gets nothing until it has rested, and that costs no try."""
    world = World("a")
    search = world.admit()
    attempt = world.must_assign()
    world.running.clear()
    world.dispatcher.places.rest("a", world.now_s + 0.25)
    world.dispatcher.put_back(attempt)
    assert world.assign() is None
    assert world.dispatcher.next_deadline_s() == world.now_s + 0.25
    world.now_s += 0.25
    assert world.must_assign().number == 2
    assert search.losses == 0


def test_attempts_of_all_kinds_are_limited() -> None:
    """A search that every place keeps refusing fails after MAX_ATTEMPTS."""
    world = World("a")
    world.admit()
    settled = None
    while settled is None:
        attempt = world.must_assign()
        world.running.clear()
        settled = world.dispatcher.put_back(attempt)
    assert attempt.number == MAX_ATTEMPTS
    assert isinstance(settled.outcome, SearchFailed)


def test_the_own_engine_gets_what_others_have_lost() -> None:
    """After TRIES losses only the own engine gets the search, and then its error is the end."""
    world = World("a", "b", "c", "d", own=OWN)
    world.admit()
    for _ in range(TRIES):
        assert world.lose(world.must_assign()) is None
    attempt = world.must_assign()
    assert attempt.place == OWN
    error = SearchFailed("this engine failed too")
    settled = world.dispatcher.put_back(attempt, error)
    assert settled is not None
    assert settled.outcome is error


# --- the best move so far


def test_the_deepest_report_counts() -> None:
    """After the last loss the deepest report of any attempt is the answer."""
    world = World("a", "b", "c")
    world.admit()
    settled = None
    for depth in (3, 9, 6):
        attempt = world.must_assign()
        assert world.dispatcher.on_progress(attempt, info_at(depth))
        settled = world.lose(attempt)
    assert depth_of(settled) == 9


def test_without_time_the_best_move_counts_at_once() -> None:
    """A search that is lost with less than MIN_RETRY_S left is answered, if it has a move."""
    for has_move in (True, False):
        world = World("a", "b")
        world.admit()
        attempt = world.must_assign()
        world.dispatcher.on_begun(attempt, world.now_s)
        if has_move:
            world.dispatcher.on_progress(attempt, info_at(4))
        world.now_s += 0.95
        settled = world.lose(attempt)
        assert (settled is not None) == has_move
        if has_move:
            assert depth_of(settled) == 4


@pytest.mark.parametrize("is_running", [False, True])
def test_a_lost_search_is_answered_when_its_time_is_over(is_running: bool) -> None:
    """Whether it waits or runs again, the best move is the answer at the end of its time.

    An attempt that still runs is to be stopped.
    """
    world = World("a")
    search = world.admit()
    attempt = world.must_assign()
    world.dispatcher.on_begun(attempt, world.now_s)
    world.dispatcher.on_progress(attempt, info_at(5))
    world.now_s += 0.2
    world.lose(attempt)
    second = world.must_assign() if is_running else None
    end_s = 100.0 + 1.0 + GRACE_S
    assert world.dispatcher.next_deadline_s() == end_s
    assert world.dispatcher.expire(end_s - 0.01) == []
    (settled,) = world.dispatcher.expire(end_s)
    assert settled.search is search
    assert settled.running is second
    assert depth_of(settled) == 5
    assert world.dispatcher.next_deadline_s() is None
    if second is not None:
        assert world.dispatcher.on_answer(second, result_at(9)) is None


def test_a_search_without_a_limit_has_no_end() -> None:
    """An analysis without a time limit is never answered early."""
    world = World("a")
    world.admit(search_of(time_ms=None))
    attempt = world.must_assign()
    world.dispatcher.on_begun(attempt, world.now_s)
    world.dispatcher.on_progress(attempt, info_at(5))
    world.lose(attempt)
    assert world.dispatcher.next_deadline_s() is None
    assert world.dispatcher.expire(1e9) == []


@dataclass
class LaterAnswer:
    """A first attempt that saw depth 9 and was lost, and the second one's answer."""

    depth: int
    expected: int
    score: int = 0
    job: dict[str, Any] = field(default_factory=dict)


@pytest.mark.parametrize(
    "case",
    [
        LaterAnswer(5, expected=9),
        LaterAnswer(9, expected=9),
        LaterAnswer(12, expected=12),
        LaterAnswer(5, expected=5, score=MATE - 5),
        LaterAnswer(5, expected=5, score=5 - MATE),
        LaterAnswer(5, expected=5, job={"persona": "swindler"}),
    ],
    ids=["less", "as much", "more", "a win", "a loss", "a persona"],
)
def test_a_later_answer_that_saw_less(case: LaterAnswer) -> None:
    """It does not replace a deeper report, unless it is proven or the choice of a persona."""
    world = World("a", "b")
    world.admit(search_of(**case.job))
    first = world.must_assign()
    world.dispatcher.on_progress(first, info_at(9))
    world.lose(first)
    settled = world.dispatcher.on_answer(world.must_assign(), result_at(case.depth, case.score))
    assert depth_of(settled) == case.expected


def test_an_attempts_own_answer_counts() -> None:
    """The answer of one attempt is never replaced by its own earlier report."""
    world = World("a")
    world.admit()
    attempt = world.must_assign()
    world.dispatcher.on_progress(attempt, info_at(9))
    assert depth_of(world.dispatcher.on_answer(attempt, result_at(8))) == 8


def test_a_report_without_moves_gives_no_answer() -> None:
    """A report from which no move can be chosen is not the best so far."""
    world = World("a")
    search = world.admit()
    attempt = world.must_assign()
    world.dispatcher.on_progress(attempt, Info(9, 0, 1, 1, 1, ()))
    world.dispatcher.on_progress(attempt, Info(9, 0, 1, 1, 1, ("d",)))
    assert search.best is None


def test_stale_reports_change_nothing() -> None:
    """After its end an attempt neither begins nor reports, answers, fails or is lost."""
    world = World("a", "b")
    search = world.admit()
    stale = world.must_assign()
    world.lose(stale)
    world.must_assign()
    dispatcher = world.dispatcher
    dispatcher.on_begun(stale, 5.0)
    assert not dispatcher.on_progress(stale, info_at(20))
    assert dispatcher.on_answer(stale, result_at(20)) is None
    assert dispatcher.put_back(stale, SearchFailed("stale")) is None
    assert dispatcher.on_lost(stale, 0.0, was_silent=True) is None
    assert (search.best, search.begun_s, search.losses) == (None, None, 1)
    assert search.failed_at == set()
    assert (dispatcher.waiting, dispatcher.running) == (0, 1)


# --- admission and the end


def test_a_full_queue_refuses() -> None:
    """As many searches wait as may wait; running ones do not count, nor do those put back."""
    world = World("a", queue_size=2)
    world.admit()
    attempt = world.must_assign()
    world.admit()
    world.admit()
    with pytest.raises(QueueFull, match="2 searches"):
        world.admit()
    world.lose(attempt)
    assert world.dispatcher.waiting == 3


def test_a_withdrawn_search_leaves_nothing() -> None:
    """A caller who goes withdraws a waiting search, or a running one, whose attempt is returned."""
    world = World("a")
    running, waiting = world.admit(search_of("x")), world.admit(search_of("y"))
    attempt = world.must_assign()
    assert world.dispatcher.withdraw(waiting) is None
    assert world.dispatcher.withdraw(running) is attempt
    assert world.dispatcher.withdraw(running) is None
    assert (world.dispatcher.waiting, world.dispatcher.running) == (0, 0)
    assert world.dispatcher.on_answer(attempt, result_at(3)) is None


def test_closing_ends_every_search() -> None:
    """Waiting and running searches end with the error; running attempts are to be stopped."""
    world = World("a")
    searches = [world.admit(search_of(room)) for room in "xyz"]
    attempt = world.must_assign()
    settled = world.dispatcher.close(SearchFailed("closed"))
    assert [each.search for each in settled] == searches
    assert [each.running for each in settled] == [attempt, None, None]
    assert world.dispatcher.fail(searches[0], SearchFailed("again")) is None


def test_hopeless_searches_fail_alone() -> None:
    """`fail_waiting` ends the waiting searches that have an error, and no running one."""
    world = World("a")
    for room in "xyz":
        world.admit(search_of(room))
    world.must_assign()
    error = SearchFailed("no place")
    settled = world.dispatcher.fail_waiting(
        lambda search: error if search.affinity in "xz" else None
    )
    assert [each.search.affinity for each in settled] == ["z"]
    assert (world.dispatcher.waiting, world.dispatcher.running) == (1, 1)


# --- places


def choice(search: Search, *offers: Offer[str], **facts: Any) -> str | None:
    return choose(search, offers, **facts)


def test_the_order_of_places() -> None:
    """Each place is chosen over all that follow it here, in whatever order they are offered."""
    search = search_of()
    search.lost_at = {"lost"}
    search.failed_at = {"failed"}
    order = [
        Offer("home", load=0.5),
        Offer("idle"),
        Offer("used before", used_s=1.0),
        Offer("used", used_s=2.0, speed=5),
        Offer("used and slow", used_s=2.0, speed=4),
        Offer("loaded", load=0.9),
        Offer(OWN),
        Offer("busy", load=1.0),
        Offer("busier", load=2.0),
        Offer("lost"),
    ]
    never = [
        Offer("failed"), Offer("resting"), Offer("full", is_full=True),
        Offer("cold", is_compiled=False),
    ]  # fmt: skip
    while order:
        offers = [*reversed(order), *never]
        assert choice(search, *offers, home="home", resting={"resting"}, own=OWN) == order[0].place
        assert choice(search, *offers, own=OWN, only_own=True) == (
            OWN if Offer(OWN) in order else None
        )
        order.pop(0)
    assert choice(search, *never[:3], resting={"resting"}) is None


def test_a_place_that_has_not_compiled_the_game() -> None:
    """It gets the search only if no other place offers it, even if the others are busy."""
    search = search_of()
    cold, warm = Offer("cold", is_compiled=False), Offer("warm", load=1.0)
    own, cold_own = Offer(OWN, load=1.0), Offer(OWN, is_compiled=False)
    assert choice(search, cold) == "cold"
    assert choice(search, cold, warm) == "warm"
    assert choice(search, cold, warm, resting={"warm"}) is None
    assert choice(search, cold, own, own=OWN) == OWN
    assert choice(search, warm, cold_own, own=OWN) == "warm"
    assert choice(search, cold, cold_own, own=OWN) == OWN


def test_a_busy_home_is_not_waited_for() -> None:
    """The home of a room comes first only while it is free."""
    search = search_of()
    assert choice(search, Offer("home", load=1.0), Offer("other"), home="home") == "other"
    assert choice(search, Offer("home", load=1.0), Offer("other", load=1.5), home="home") == "home"


def test_rooms_have_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last place of each of the MAX_HOMES last rooms is remembered, until it is gone."""
    monkeypatch.setattr(placing, "MAX_HOMES", 2)
    places: Places[str] = Places()
    for room, place in (("x", "a"), ("y", "b"), ("x", "b"), ("z", "a")):
        places.begin(room, place, is_home=True)
    places.begin("z", OWN, is_home=False)
    assert [places.home(room) for room in "xyz"] == ["b", None, "a"]
    places.forget("b")
    assert [places.home(room) for room in "xyz"] == [None, None, "a"]
    assert (places.running_at("a"), places.running_at("b")) == (2, 2)


# --- any history


class Event:
    """What may happen next to the searches of a history."""

    ALL = (
        "admit", "assign", "assign", "begin", "report", "report", "answer", "die", "hang", "busy",
        "fail", "expire", "withdraw", "wait",
    )  # fmt: skip


class History:
    """Plays any events against a dispatcher, and checks what must always hold."""

    def __init__(self, own: str | None) -> None:
        self.world = World("a", "b", "c", own=own)
        self.own = own
        self.searches: list[Search] = []
        self.ended: Counter[Search] = Counter()
        self.deepest: dict[Search, int] = {}
        self.old: list[Attempt[str]] = []
        self.of: dict[Attempt[str], Search] = {}
        self.lost: Counter[Search] = Counter()

    def play(self, kind: str, number: int) -> None:
        world, dispatcher = self.world, self.world.dispatcher
        attempts = [*world.running.values(), *self.old]
        attempt = attempts[number % len(attempts)] if attempts else None
        match kind:
            case "admit":
                self.searches.append(world.admit(search_of("xyz"[number % 3])))
            case "wait":
                world.now_s += number / 50
            case "expire":
                for settled in dispatcher.expire(world.now_s):
                    self.settle(settled)
            case "withdraw" if self.searches:
                search = self.searches[number % len(self.searches)]
                if not search.is_settled:
                    self.release(dispatcher.withdraw(search))
                    self.ended[search] += 1
            case "assign":
                self.assign()
            case _ if attempt is not None:
                self.happen(kind, attempt, number)

    def assign(self) -> None:
        attempt = self.world.assign()
        if attempt is not None:
            search = next(each for each in self.searches if each.attempt is attempt)
            assert attempt.place not in search.failed_at, "never twice at a faulty place"
            assert search.losses < TRIES or attempt.place == self.own, "the tries are over"
            self.of[attempt] = search

    def happen(self, kind: str, attempt: Attempt[str], number: int) -> None:
        """Something happens to an attempt, which may be stale."""
        dispatcher, search = self.world.dispatcher, self.of[attempt]
        is_present = search.attempt is attempt
        before = (search.best, search.losses, search.begun_s)
        match kind:
            case "begin":
                dispatcher.on_begun(attempt, self.world.now_s)
            case "report":
                assert dispatcher.on_progress(attempt, info_at(number)) == is_present
                if is_present:
                    self.deepest[search] = max(number, self.deepest.get(search, 0))
            case "answer":
                if is_present:
                    self.deepest[search] = max(number, self.deepest.get(search, 0))
                # It reports its depth before it answers, as every engine does.
                dispatcher.on_progress(attempt, info_at(number))
                self.end(attempt, dispatcher.on_answer(attempt, result_at(number)))
            case "die" | "hang" if attempt.place != self.own:
                self.lost[search] += is_present
                self.end(attempt, self.world.dispatcher.on_lost(
                    attempt, self.world.now_s, was_silent=kind == "hang"
                ))  # fmt: skip
            case "busy":
                dispatcher.places.rest(attempt.place, self.world.now_s + 0.25)
                self.end(attempt, dispatcher.put_back(attempt))
            case "fail":
                self.end(attempt, dispatcher.put_back(attempt, SearchFailed("no")))
        if not is_present:
            assert (search.best, search.losses, search.begun_s) == before, "it is stale"

    def end(self, attempt: Attempt[str], settled: Settled[Search, str] | None) -> None:
        self.release(attempt)
        self.settle(settled)

    def release(self, attempt: Attempt[str] | None) -> None:
        if attempt is not None and self.world.running.get(attempt.place) is attempt:
            del self.world.running[attempt.place]
            self.old.append(attempt)

    def settle(self, settled: Settled[Search, str] | None) -> None:
        if settled is None:
            return
        self.release(settled.running)
        search, outcome = settled.search, settled.outcome
        self.ended[search] += 1
        if isinstance(outcome, Result):
            assert outcome.info.depth == self.deepest[search], "the answer is the deepest seen"
        else:
            assert search not in self.deepest, "a search that has seen a move has an answer"

    def check(self) -> None:
        """Checks what holds at every moment."""
        dispatcher = self.world.dispatcher
        unsettled = [search for search in self.searches if not search.is_settled]
        assert dispatcher.waiting + dispatcher.running == len(unsettled)
        assert dispatcher.running == len(self.world.running)
        assert all(self.ended[search] == search.is_settled for search in self.searches)
        for search in self.searches:
            assert search.losses == self.lost[search] <= TRIES
            assert search.attempts <= MAX_ATTEMPTS


EVENTS = st.lists(st.tuples(st.sampled_from(Event.ALL), st.integers(1, 20)), max_size=120)


def play_history(events: list[tuple[str, int]], has_own: bool) -> None:
    """Plays the events and closes the dispatcher."""
    history = History(OWN if has_own else None)
    for kind, number in events:
        history.play(kind, number)
        history.check()
    for settled in history.world.dispatcher.close(SearchFailed("closed")):
        history.release(settled.running)
        history.ended[settled.search] += 1
    assert all(history.ended[search] == 1 for search in history.searches), "one end each"


@given(events=EVENTS, has_own=st.booleans())
@settings(max_examples=300)
def test_any_history(events: list[tuple[str, int]], has_own: bool) -> None:
    """Whatever happens, every admitted search ends once, within its tries.

    Its answer is the deepest that any of its attempts saw, and stale attempts change nothing.
    """
    play_history(events, has_own)


@given(
    rooms=st.lists(st.sampled_from("abcd"), max_size=40),
    losses=st.lists(st.booleans(), max_size=40),
)
def test_the_order_is_fair(rooms: list[str], losses: list[bool]) -> None:
    """A room's searches are served in order, and no other room is served twice in between.

    That holds from the moment at which a search waits, and a lost search is next.
    """
    world = World("a", queue_size=100)
    for room in rooms:
        world.admit(search_of(room))
    served: list[Search] = []
    waiting = {room: rooms.count(room) for room in rooms}
    since_served = dict.fromkeys(waiting, 0)
    lose = iter([*losses, *[False] * len(rooms)])
    while world.dispatcher.waiting:
        assigned = world.dispatcher.assign(world.now_s, world.offers)
        assert assigned is not None
        search, attempt = assigned
        if next(lose, False):
            world.dispatcher.on_lost(attempt, world.now_s, was_silent=False)
            again = world.dispatcher.assign(world.now_s, world.offers)
            assert again is not None
            assert again[0] is search, "a lost search is next"
            attempt = again[1]
        world.dispatcher.on_answer(attempt, result_at(3))
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


def test_the_tries_are_those_of_the_promise() -> None:
    """R12: a search is given up after three tries."""
    assert dispatcher_module.TRIES == 3
