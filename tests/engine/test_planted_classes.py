"""Planted faults in the classes of searches: the test listed with each one fails."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, settings

from engine.dispatch.dispatcher import Dispatcher, RunningAttempts
from engine.dispatch.fair_queue import FairQueue, RankedQueue
from engine.dispatch.search import PendingSearch
from engine.pool.transport import PipeTransport
from engine.pool.workers import Workers
from engine.search import driver
from engine.search.job import RANKS, RIVALS, USES, Job, SearchError
from tests.engine import test_dispatch, test_levels, test_search_classes

Patch = pytest.MonkeyPatch


def nothing_is_preempted(patch: Patch) -> None:
    patch.setattr(PipeTransport, "_preempt", lambda self: None)


def preempt_with(patch: Patch, change: Callable[[Any, Any], None]) -> None:
    """Changes what the dispatcher does to each search that it preempts."""
    real = Dispatcher.preempt

    def preempt(self: Any, *arguments: Any) -> Any:
        attempts = real(self, *arguments)
        for search in list(self._waiting):
            if search.preemptions and attempts:
                change(self, search)
        return attempts

    patch.setattr(Dispatcher, "preempt", preempt)


def a_preempted_search_is_lost(patch: Patch) -> None:
    preempt_with(patch, lambda dispatcher, search: dispatcher._waiting.remove(search))


def a_preemption_is_a_loss(patch: Patch) -> None:
    def lose(dispatcher: Any, search: Any) -> None:
        search.losses += 1

    preempt_with(patch, lose)


def a_preempted_search_is_last(patch: Patch) -> None:
    def requeue(dispatcher: Any, search: Any) -> None:
        dispatcher._waiting.remove(search)
        dispatcher._waiting.put(search)

    preempt_with(patch, requeue)


def a_preemption_uses_up_time(patch: Patch) -> None:
    def begin(dispatcher: Any, search: Any) -> None:
        search.begun_s = 0.0

    preempt_with(patch, begin)


def a_preemption_is_an_attempt(patch: Patch) -> None:
    def count(dispatcher: Any, search: Any) -> None:
        search.attempt_count += 1

    preempt_with(patch, count)


def a_preemption_is_a_fault_of_the_game(patch: Patch) -> None:
    real = PipeTransport.stop

    def stop(self: Any, attempt: Any) -> None:
        job = attempt.place.pending.job if attempt.place.pending else None
        real(self, attempt)
        if job is not None:
            self._record_fault(job, "stopped")

    patch.setattr(PipeTransport, "stop", stop)


def the_worker_goes_on_searching(patch: Patch) -> None:
    patch.setattr(PipeTransport, "stop", lambda self, attempt: None)


def the_oldest_study_is_preempted(patch: Patch) -> None:
    def oldest(self: Any, uses: Any, is_slow: Any) -> Any:
        attempts = [attempt for attempt, search in self._searches.items() if search.use in uses]
        return attempts[0] if attempts else None

    patch.setattr(RunningAttempts, "find_preemptible", oldest)


def no_worker_is_left_free(patch: Patch) -> None:
    patch.setattr(Workers, "background_size", property(lambda self: self._size))


def studies_use_any_worker(patch: Patch) -> None:
    patch.setattr(Workers, "reluctance", lambda self, slot, job: 0.0)


def the_classes_wait_in_one_order(patch: Patch) -> None:
    def take(self: Any, is_wanted: Any, ranks: Any) -> Any:
        for search in sorted(self, key=lambda search: search.number):
            if search.rank in ranks and is_wanted(search):
                self.remove(search)
                return search
        return None

    patch.setattr(RankedQueue, "take", take)


def matches_between_ais_do_not_wait(patch: Patch) -> None:
    def rank(self: Any) -> int:
        return RANKS.index((self.job.use, 0))

    patch.setattr(PendingSearch, "rank", property(rank))


def the_classes_share_a_limit(patch: Patch) -> None:
    patch.setattr(RankedQueue, "is_full_for", lambda self, rank: len(self) >= self.size)


def one_room_has_all_turns(patch: Patch) -> None:
    real = FairQueue.take

    def take(self: Any, is_wanted: Any) -> Any:
        first = next(iter(self._by_affinity), None)
        item = real(self, is_wanted)
        if first in self._by_affinity:
            self._by_affinity.move_to_end(first, last=False)
        return item

    patch.setattr(FairQueue, "take", take)


def a_report_answers_a_study(patch: Patch) -> None:
    real = PendingSearch.record_info

    def record(self: Any, attempt: Any, info: Any) -> None:
        job = self.job
        self.job = Job(job.game, job.rules, {}, job.start, (), job.affinity)
        real(self, attempt, info)
        self.job = job

    patch.setattr(PendingSearch, "record_info", record)


def studies_use_the_tables_of_rooms(patch: Patch) -> None:
    real = driver.answer

    def answer(job: Any, *arguments: Any, **others: Any) -> Any:
        plain = Job(job.game, job.rules, {}, job.start, (), job.affinity, limit=job.limit)
        return real(plain, *arguments, **others)

    patch.setattr(driver, "answer", answer)


def a_question_waits_for_studies(patch: Patch) -> None:
    real = Dispatcher.preempt

    def preempt(self: Any, free_soon: int, may_run: Any, *others: Any) -> Any:
        return real(
            self, free_soon, lambda search: search.use == "live" and may_run(search), *others
        )

    patch.setattr(Dispatcher, "preempt", preempt)


CLASSES = test_search_classes
FAULTS: list[tuple[Callable[[Patch], None], Callable[[], Any]]] = [
    (nothing_is_preempted, CLASSES.test_any_history),
    (nothing_is_preempted, CLASSES.test_a_live_search_preempts_the_youngest_study_then_a_question),
    (nothing_is_preempted, CLASSES.test_studies_delay_a_live_search_by_the_time_of_a_stop),
    (a_preempted_search_is_lost, CLASSES.test_any_history),
    (a_preempted_search_is_lost, CLASSES.test_a_preempted_search_is_next_and_unchanged),
    (a_preemption_is_a_loss, CLASSES.test_a_preempted_search_is_next_and_unchanged),
    (a_preempted_search_is_last, CLASSES.test_a_preempted_search_is_next_and_unchanged),
    (a_preemption_uses_up_time, CLASSES.test_a_preempted_search_is_next_and_unchanged),
    (a_preemption_is_an_attempt, test_dispatch.test_preemptions_use_up_nothing),
    (
        a_preemption_is_a_fault_of_the_game,
        CLASSES.test_a_live_search_preempts_the_youngest_study_then_a_question,
    ),
    (the_worker_goes_on_searching, CLASSES.test_any_history),
    (
        the_oldest_study_is_preempted,
        CLASSES.test_a_live_search_preempts_the_youngest_study_then_a_question,
    ),
    (no_worker_is_left_free, CLASSES.test_background_searches_leave_a_worker_free),
    (no_worker_is_left_free, CLASSES.test_any_history),
    (studies_use_any_worker, CLASSES.test_a_room_keeps_its_worker_beside_studies),
    (the_classes_wait_in_one_order, CLASSES.test_the_order_is_fair_within_a_class),
    (matches_between_ais_do_not_wait, CLASSES.test_people_come_before_matches_between_ais),
    (the_classes_share_a_limit, CLASSES.test_each_class_has_its_own_queue),
    (one_room_has_all_turns, CLASSES.test_the_order_is_fair_within_a_class),
    (a_report_answers_a_study, CLASSES.test_a_report_of_an_ended_attempt_is_not_the_answer),
    (a_report_answers_a_study, test_dispatch.test_the_infos_of_a_study_are_no_answer),
    (studies_use_the_tables_of_rooms, test_levels.test_a_study_uses_no_table_of_a_room),
    (a_question_waits_for_studies, CLASSES.test_a_question_preempts_a_study),
    (a_question_waits_for_studies, CLASSES.test_any_history),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("plant", "check"), FAULTS, ids=[f"{plant.__name__}-{test.__name__}" for plant, test in FAULTS]
)
def test_a_planted_fault_is_found(
    plant: Callable[[Patch], None], check: Callable[[], Any], monkeypatch: Patch
) -> None:
    """Each planted fault makes its test fail."""
    plant(monkeypatch)
    if hasattr(check, "hypothesis"):  # the first example that fails is enough
        quick = settings(phases=[Phase.generate], database=None, deadline=None)
        monkeypatch.setattr(check, "_hypothesis_internal_use_settings", quick)
    with pytest.raises((AssertionError, SearchError, KeyError, AttributeError, ExceptionGroup)):
        check()


def test_every_class_has_rivals() -> None:
    """A class is its own rival, and only less urgent classes are rivals beside it."""
    for use in USES:
        assert use in RIVALS[use]
        assert all(USES.index(rival) <= USES.index(use) for rival in RIVALS[use])
