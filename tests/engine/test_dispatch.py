"""The dispatcher: the attempts at a search, their time limits, and the search's answer.

Each test sets the time itself.
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
from engine.search.job import BACKGROUND, MATE, ClassLoad, Info, Result, SearchFailed
from tests.support.dispatching import (
    GRACE_S,
    OWN,
    FakeTransport,
    depth_of,
    info_at,
    result_at,
    search_of,
)

# --- the remaining time


def test_the_first_attempt_has_the_jobs_full_time() -> None:
    """Neither waiting for a place nor loading there takes from a job's time."""
    transport = FakeTransport("a")
    search = transport.admit()
    transport.now_s += 60
    attempt = transport.assign_next()
    assert attempt.time_ms is None
    transport.dispatcher.on_begun(attempt, transport.now_s + 5)
    assert search.left_s(transport.now_s + 5.25) == 0.75


@pytest.mark.parametrize("time_counts", [False, True])
def test_lost_time_before_the_start(time_counts: bool) -> None:
    """With `time_counts` a lost attempt uses up time even if its place never began to search."""
    transport = FakeTransport("a", "b")
    transport.admit()
    first = transport.assign_next()
    transport.now_s += 0.6
    transport.lose(first, time_counts=time_counts)
    assert transport.assign_next().time_ms == (400 if time_counts else None)


def test_a_retry_gets_the_remaining_time() -> None:
    """Each attempt gets the time that earlier ones have left, but at least MIN_RETRY_S."""
    transport = FakeTransport("a", "b", "c")
    transport.admit()
    times = []
    for passed_s in (0.3, 0.65, 0.0):
        attempt = transport.assign_next()
        times.append(attempt.time_ms)
        transport.dispatcher.on_begun(attempt, transport.now_s)
        transport.now_s += passed_s
        transport.lose(attempt)
    assert times == [None, 700, MIN_RETRY_S * 1000]


def test_when_the_time_ends() -> None:
    """The end is fixed once the time has begun, but a late attempt still gets MIN_RETRY_S."""
    search = search_of()
    assert search.end_s() is None
    search.begun_s = 100.0
    assert (search.end_s(), search.end_s(100.5)) == (101.0, 101.0)
    assert search.end_s(100.95) == 100.95 + MIN_RETRY_S
    assert search_of(time_ms=None).end_s(100.0) is None


def test_set_time_left() -> None:
    """`set_time_left` sets a job's remaining time; a job without a limit ignores it."""
    search, unlimited = search_of(), search_of(time_ms=None)
    search.set_time_left(100.0, 250)
    unlimited.set_time_left(100.0, 250)
    assert (search.left_s(100.0), unlimited.left_s(100.0)) == (0.25, None)
    assert (search.time_ms(100.1), unlimited.time_ms(100.1)) == (150, None)
    search.set_time_left(100.0, None)
    assert search.left_s(100.0) == 0.25


# --- tries


def test_a_search_is_tried_three_times() -> None:
    """After TRIES losses without a move the search fails, and no further attempt begins."""
    transport = FakeTransport("a", "b", "c", "d")
    transport.admit()
    tried = []
    settled = None
    for _ in range(TRIES):
        assert settled is None
        attempt = transport.assign_next()
        tried.append(attempt.place)
        settled = transport.lose(attempt)
    assert settled is not None
    assert isinstance(settled.outcome, WorkersLost)
    assert len(set(tried)) == TRIES
    assert transport.assign() is None
    assert (transport.dispatcher.waiting_count, transport.dispatcher.running_count) == (0, 0)


def test_a_lost_search_is_next() -> None:
    """A lost search is assigned before untried searches of its own room and of other rooms."""
    transport = FakeTransport("a")
    first = transport.admit(search_of("x"))
    transport.admit(search_of("y"))
    transport.admit(search_of("x"))
    transport.lose(transport.assign_next())
    assigned = transport.dispatcher.assign(transport.now_s, transport.offers)
    assert assigned is not None
    assert assigned[0] is first


def test_a_place_that_failed_never_gets_the_search_again() -> None:
    """A failed search waits for another place; other searches may still go to the faulty one.

    A failure does not count as a loss.
    """
    transport = FakeTransport("a")
    search = transport.admit()
    attempt = transport.assign_next()
    transport.running.clear()
    assert transport.dispatcher.put_back(attempt, SearchFailed("no")) is None
    assert transport.assign() is None
    transport.admit(search_of("other"))
    assert transport.assign_next().place == "a"
    transport.places.append("b")
    assert transport.assign_next().place == "b"
    assert (search.losses, search.attempt_count) == (0, 2)


def test_a_place_that_lost_a_search_gets_it_last() -> None:
    """The same place gets a lost search again only if no other place offers itself."""
    transport = FakeTransport("a")
    transport.admit()
    transport.lose(transport.assign_next())
    transport.places.append("b")
    assert transport.assign_next().place == "b"
    transport.lose(transport.running["b"])
    transport.places.remove("b")
    assert transport.assign_next().place == "a"


def test_a_busy_place_rests() -> None:
    """A place that was busy gets no search until it has rested; being busy is no loss."""
    transport = FakeTransport("a")
    search = transport.admit()
    attempt = transport.assign_next()
    transport.running.clear()
    transport.dispatcher.places.pause("a", transport.now_s + 0.25)
    transport.dispatcher.put_back(attempt)
    assert transport.assign() is None
    assert transport.dispatcher.next_deadline_s() == transport.now_s + 0.25
    transport.now_s += 0.25
    assert transport.assign_next().number == 2
    assert search.losses == 0


def test_attempts_of_all_kinds_are_limited() -> None:
    """A search that every place keeps refusing fails after MAX_ATTEMPTS."""
    transport = FakeTransport("a")
    transport.admit()
    settled = None
    while settled is None:
        attempt = transport.assign_next()
        transport.running.clear()
        settled = transport.dispatcher.put_back(attempt)
    assert attempt.number == MAX_ATTEMPTS
    assert isinstance(settled.outcome, SearchFailed)


def test_the_callers_own_engine_gets_a_search_that_others_have_lost() -> None:
    """After TRIES losses only the caller's own engine gets the search; its error ends it."""
    transport = FakeTransport("a", "b", "c", "d", own=OWN)
    transport.admit()
    for _ in range(TRIES):
        assert transport.lose(transport.assign_next()) is None
    attempt = transport.assign_next()
    assert attempt.place == OWN
    error = SearchFailed("this engine failed too")
    settled = transport.dispatcher.put_back(attempt, error)
    assert settled is not None
    assert settled.outcome is error


# --- the best move so far


def test_the_deepest_report_is_the_answer() -> None:
    """After the last loss the search is answered from the deepest report of any attempt."""
    transport = FakeTransport("a", "b", "c")
    transport.admit()
    settled = None
    for depth in (3, 9, 6):
        attempt = transport.assign_next()
        assert transport.dispatcher.on_progress(attempt, info_at(depth))
        settled = transport.lose(attempt)
    assert depth_of(settled) == 9


def test_a_search_lost_near_its_end_is_answered_at_once() -> None:
    """A search that is lost with less than MIN_RETRY_S left is answered if it has a move."""
    for has_move in (True, False):
        transport = FakeTransport("a", "b")
        transport.admit()
        attempt = transport.assign_next()
        transport.dispatcher.on_begun(attempt, transport.now_s)
        if has_move:
            transport.dispatcher.on_progress(attempt, info_at(4))
        transport.now_s += 0.95
        settled = transport.lose(attempt)
        assert (settled is not None) == has_move
        if has_move:
            assert depth_of(settled) == 4


@pytest.mark.parametrize("is_running", [False, True])
def test_a_lost_search_is_answered_when_its_time_is_over(is_running: bool) -> None:
    """At the end of its time a lost search is answered with its best move so far.

    That holds whether it waits or runs again. A running attempt is returned, to be stopped.
    """
    transport = FakeTransport("a")
    search = transport.admit()
    attempt = transport.assign_next()
    transport.dispatcher.on_begun(attempt, transport.now_s)
    transport.dispatcher.on_progress(attempt, info_at(5))
    transport.now_s += 0.2
    transport.lose(attempt)
    second = transport.assign_next() if is_running else None
    end_s = 100.0 + 1.0 + GRACE_S
    assert transport.dispatcher.next_deadline_s() == end_s
    assert transport.dispatcher.expire(end_s - 0.01) == []
    (settled,) = transport.dispatcher.expire(end_s)
    assert settled.search is search
    assert settled.running_attempt is second
    assert depth_of(settled) == 5
    assert transport.dispatcher.next_deadline_s() is None
    if second is not None:
        assert transport.dispatcher.on_answer(second, result_at(9)) is None


def test_a_search_without_a_limit_has_no_end() -> None:
    """An analysis without a time limit is never answered early."""
    transport = FakeTransport("a")
    transport.admit(search_of(time_ms=None))
    attempt = transport.assign_next()
    transport.dispatcher.on_begun(attempt, transport.now_s)
    transport.dispatcher.on_progress(attempt, info_at(5))
    transport.lose(attempt)
    assert transport.dispatcher.next_deadline_s() is None
    assert transport.dispatcher.expire(1e9) == []


@dataclass
class LaterAnswer:
    """The second attempt's answer, after a first attempt was lost at depth 9."""

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
    ids=["less deep", "equally deep", "deeper", "a win", "a loss", "a persona"],
)
def test_a_shallower_later_answer(case: LaterAnswer) -> None:
    """A later answer replaces a deeper report only if it is a proven result or a persona's move."""
    transport = FakeTransport("a", "b")
    transport.admit(search_of(**case.job))
    first = transport.assign_next()
    transport.dispatcher.on_progress(first, info_at(9))
    transport.lose(first)
    settled = transport.dispatcher.on_answer(
        transport.assign_next(), result_at(case.depth, case.score)
    )
    assert depth_of(settled) == case.expected


def test_an_answer_overrides_reports_of_the_same_attempt() -> None:
    """An attempt's answer stands even if the attempt reported a greater depth before."""
    transport = FakeTransport("a")
    transport.admit()
    attempt = transport.assign_next()
    transport.dispatcher.on_progress(attempt, info_at(9))
    assert depth_of(transport.dispatcher.on_answer(attempt, result_at(8))) == 8


def test_a_report_without_moves_gives_no_answer() -> None:
    """A report without moves or without a line is never the best so far."""
    transport = FakeTransport("a")
    search = transport.admit()
    attempt = transport.assign_next()
    transport.dispatcher.on_progress(attempt, Info(9, 0, 1, 1, 1, ()))
    transport.dispatcher.on_progress(attempt, Info(9, 0, 1, 1, 1, ("d",)))
    assert search.best is None


def test_stale_reports_change_nothing() -> None:
    """A message about an ended attempt changes nothing, whether start, report, answer or loss."""
    transport = FakeTransport("a", "b")
    search = transport.admit()
    stale = transport.assign_next()
    transport.lose(stale)
    transport.assign_next()
    dispatcher = transport.dispatcher
    dispatcher.on_begun(stale, 5.0)
    assert not dispatcher.on_progress(stale, info_at(20))
    assert dispatcher.on_answer(stale, result_at(20)) is None
    assert dispatcher.put_back(stale, SearchFailed("stale")) is None
    assert dispatcher.on_lost(stale, 0.0, time_counts=True) is None
    assert (search.best, search.begun_s, search.losses) == (None, None, 1)
    assert search.failed_at == frozenset()
    assert (dispatcher.waiting_count, dispatcher.running_count) == (0, 1)


# --- classes of searches


def test_preemptions_use_up_nothing() -> None:
    """A search that was preempted MAX_ATTEMPTS times may still be put back and lost TRIES times."""
    transport = FakeTransport("a")
    dispatcher = transport.dispatcher
    search = transport.admit(search_of("x", use="study"))
    transport.admit(search_of("y"))
    live = transport.assign_next()
    for count in range(MAX_ATTEMPTS):
        transport.running.clear()
        assert dispatcher.put_back(live) is None
        study = dispatcher.assign(transport.now_s, transport.offers, uses=BACKGROUND)
        assert study is not None
        assert dispatcher.preempt(0, lambda search: True) == [study[1]]
        assert dispatcher.preempt(1, lambda search: True) == []
        live = transport.assign_next()
        assert search.preemptions == count + 1
        dispatcher.on_answer(live, result_at(3))
        transport.admit(search_of("y"))
        transport.running.clear()
        live = transport.assign_next()
    assert dispatcher.load_of("study") == ClassLoad(0, 1, MAX_ATTEMPTS)
    dispatcher.on_answer(live, result_at(3))
    transport.running.clear()
    assert dispatcher.put_back(transport.assign_next()) is None
    assert (search.losses, search.is_settled) == (0, False)


def test_the_infos_of_a_study_are_no_answer() -> None:
    """A study that was lost too often fails, though it has reported moves: they are not its result.

    A live search is answered with its deepest report.
    """
    for use, outcome in (("live", Result), ("ask", WorkersLost), ("study", WorkersLost)):
        transport = FakeTransport("a")
        transport.admit(search_of(use=use))
        settled = None
        for _ in range(TRIES):
            attempt = transport.assign_next()
            transport.dispatcher.on_progress(attempt, info_at(7))
            settled = transport.lose(attempt)
        assert settled is not None
        assert isinstance(settled.outcome, outcome)


# --- admission and the end


def test_a_full_queue_refuses() -> None:
    """At most `queue_size` new searches wait; running and retried searches do not count."""
    transport = FakeTransport("a", queue_size=2)
    transport.admit()
    attempt = transport.assign_next()
    transport.admit()
    transport.admit()
    with pytest.raises(QueueFull, match="2 searches"):
        transport.admit()
    transport.lose(attempt)
    assert transport.dispatcher.waiting_count == 3


def test_a_withdrawn_search_leaves_no_trace() -> None:
    """A waiting or running search can be withdrawn; a running one's attempt is returned."""
    transport = FakeTransport("a")
    running, waiting = transport.admit(search_of("x")), transport.admit(search_of("y"))
    attempt = transport.assign_next()
    assert transport.dispatcher.withdraw(waiting) is None
    assert transport.dispatcher.withdraw(running) is attempt
    assert transport.dispatcher.withdraw(running) is None
    assert (transport.dispatcher.waiting_count, transport.dispatcher.running_count) == (0, 0)
    assert transport.dispatcher.on_answer(attempt, result_at(3)) is None


def test_closing_ends_every_search() -> None:
    """Waiting and running searches end with the error; running attempts are returned."""
    transport = FakeTransport("a")
    searches = [transport.admit(search_of(room)) for room in "xyz"]
    attempt = transport.assign_next()
    settled = transport.dispatcher.close(SearchFailed("closed"))
    assert [end.search for end in settled] == searches
    assert [end.running_attempt for end in settled] == [attempt, None, None]
    assert transport.dispatcher.fail(searches[0], SearchFailed("again")) is None


def test_fail_waiting() -> None:
    """`fail_waiting` ends the waiting searches that have an error, and no running search."""
    transport = FakeTransport("a")
    for room in "xyz":
        transport.admit(search_of(room))
    transport.assign_next()
    error = SearchFailed("no place")
    settled = transport.dispatcher.fail_waiting(
        lambda search: error if search.affinity in "xz" else None
    )
    assert [end.search.affinity for end in settled] == ["z"]
    assert (transport.dispatcher.waiting_count, transport.dispatcher.running_count) == (1, 1)


def test_the_number_of_tries() -> None:
    """R12: a search fails after three lost attempts."""
    assert TRIES == 3
