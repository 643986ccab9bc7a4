"""The dispatcher: how often a search is tried, in which time, and what its answer is.

Time is a number that each test chooses.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest

from engine.dispatch.dispatcher import (
    MAX_ATTEMPTS,
    TRIES,
    QueueFull,
    WorkersLost,
)
from engine.dispatch.search import MIN_RETRY_S
from engine.search.job import MATE, Info, SearchFailed
from tests.support.dispatching import (
    GRACE_S,
    OWN,
    World,
    depth_of,
    info_at,
    result_at,
    search_of,
)

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


@pytest.mark.parametrize("time_counts", [False, True])
def test_lost_time_before_the_start(time_counts: bool) -> None:
    """The transport says whether time counts that passed before the place began to search."""
    world = World("a", "b")
    world.admit()
    first = world.must_assign()
    world.now_s += 0.6
    world.lose(first, time_counts=time_counts)
    assert world.must_assign().time_ms == (400 if time_counts else None)


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


def test_the_end_of_the_time() -> None:
    """It is fixed once the time has begun, but an attempt gets MIN_RETRY_S even at the end."""
    search = search_of()
    assert search.end_s() is None
    search.begun_s = 100.0
    assert (search.end_s(), search.end_s(100.5)) == (101.0, 101.0)
    assert search.end_s(100.95) == 100.95 + MIN_RETRY_S
    assert search_of(time_ms=None).end_s(100.0) is None


def test_a_job_that_others_have_tried() -> None:
    """`set_time_left` sets the job's remaining time; a job without a limit ignores it."""
    search, unlimited = search_of(), search_of(time_ms=None)
    search.set_time_left(100.0, 250)
    unlimited.set_time_left(100.0, 250)
    assert (search.left_s(100.0), unlimited.left_s(100.0)) == (0.25, None)
    assert (search.time_ms(100.1), unlimited.time_ms(100.1)) == (150, None)
    search.set_time_left(100.0, None)
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
    world.dispatcher.places.pause("a", world.now_s + 0.25)
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
    assert dispatcher.on_lost(stale, 0.0, time_counts=True) is None
    assert (search.best, search.begun_s, search.losses) == (None, None, 1)
    assert search.failed_at == frozenset()
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


def test_the_tries_are_those_of_the_promise() -> None:
    """R12: a search is given up after three tries."""
    assert TRIES == 3
