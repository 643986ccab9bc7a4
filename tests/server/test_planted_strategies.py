"""Planted faults in strategies: the test listed with each one fails."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from engine.search.job import Limit
from engine.strategies import built_in, reasons
from engine.strategies.contract import StrategyFailed
from engine.strategies.names import player_name
from server.events import SeatTaken
from server.rooms import rules, seats
from server.rooms.model import Room
from server.seats import ai, answers, strategies
from server.seats.answers import Checker
from server.seats.remote import RemoteEngines
from server.seats.workers import RemoteWorker
from server.worker import EngineWorker
from tests.engine.strategies import test_strategies as test_built_in
from tests.server import test_strategies, test_strategy_seats

Patch = pytest.MonkeyPatch


def the_log_requires_nothing(patch: Patch) -> None:
    for module in (rules, seats):
        patch.setattr(module, "seat_events", lambda seat, occupant: [SeatTaken(seat, occupant)])


def the_depth_is_lost(patch: Patch) -> None:
    patch.setattr(ai, "Limit", lambda depth=None, time_ms=None: Limit(time_ms=time_ms))


def both_strategies_are_number_one(patch: Patch) -> None:
    real = player_name
    patch.setattr(seats, "player_name", lambda name, depth, number: real(name, depth))


def games_are_compiled_for_strategies(patch: Patch) -> None:
    patch.setattr(Room, "needs_search", Room.has_ai)


def choices_are_not_checked(patch: Patch) -> None:
    patch.setattr(Checker, "check_result", lambda self, result: result)


def texts_are_not_cleaned(patch: Patch) -> None:
    patch.setattr(answers, "clean_text", lambda text: text)


def a_strategy_is_tried_again(patch: Patch) -> None:
    class Other(Exception):
        """Nobody raises it."""

    patch.setattr(ai, "StrategyFailed", Other)


def a_full_queue_is_a_failure(patch: Patch) -> None:
    def fail(message: str) -> Exception:
        return StrategyFailed(message)

    patch.setattr(strategies, "EngineUnavailable", fail)


def every_worker_gets_strategies(patch: Patch) -> None:
    patch.setattr(
        RemoteWorker, "offer_for", lambda self, job: self.advert.games.get(job.game)
    )  # fmt: skip


def the_nodes_own_pool_gets_strategies(patch: Patch) -> None:
    def offers(self: RemoteEngines, search: Any) -> Any:
        found = self._workers.offers(search.job, self._dispatcher.places.running_at)
        return [*found, self._own.offer(search.job)] if self._own else found

    patch.setattr(RemoteEngines, "_offers", offers)


def workers_choose_the_reason(patch: Patch) -> None:
    class All:
        """Contains every text."""

        def __contains__(self, text: object) -> bool:
            return True

    patch.setattr(reasons, "REASONS", All())


def a_worker_passes_strategies_to_its_pool(patch: Patch) -> None:
    real = EngineWorker.__init__

    def init(self: EngineWorker, *arguments: Any) -> None:
        real(self, *arguments)
        self._engines = self._pool  # type: ignore[assignment]

    patch.setattr(EngineWorker, "__init__", init)


def the_log_has_all_levels(patch: Patch) -> None:
    patch.setattr(built_in, "MAX_LOG_BYTES", 1 << 30)


def the_search_stops_a_ply_early(patch: Patch) -> None:
    real = built_in.trace_of
    patch.setattr(
        built_in, "trace_of", lambda name, turn, depth: real(name, turn, max(1, depth - 1))
    )


def the_log_is_not_sent(patch: Patch) -> None:
    real = ai.ThinkingReporter._thinking

    def without_log(self: Any, info: Any, state: str) -> Any:
        return real(self, info, "searching" if state == "done" else state)

    patch.setattr(ai.ThinkingReporter, "_thinking", without_log)


def cheats() -> None:
    reason = reasons.ILLEGAL
    test_strategies.test_a_strategy_that_cheats(test_strategies.illegal_move, reason)


def fails_at_a_worker() -> None:
    reason = reasons.FAILED
    test_strategies.test_a_strategy_that_fails_at_a_worker("<b>free money</b>", reason)


def older_program() -> None:
    with pytest.MonkeyPatch.context() as patch:
        test_strategy_seats.test_an_older_program_only_reads_the_room(patch)


FAULTS: list[tuple[Callable[[Patch], None], Callable[[], Any]]] = [
    (the_log_requires_nothing, older_program),
    (the_depth_is_lost, test_strategy_seats.test_the_job_of_a_strategy),
    (both_strategies_are_number_one, test_strategy_seats.test_two_strategies_have_numbers),
    (games_are_compiled_for_strategies, test_strategies.test_a_match_between_strategies),
    (choices_are_not_checked, cheats),
    (a_strategy_is_tried_again, cheats),
    (texts_are_not_cleaned, test_strategies.test_the_text_of_a_strategy_is_cleaned),
    (a_full_queue_is_a_failure, test_strategies.test_a_full_queue_is_waited_for),
    (
        every_worker_gets_strategies,
        test_strategies.test_a_strategy_goes_only_to_a_worker_that_lists_it,
    ),
    (
        the_nodes_own_pool_gets_strategies,
        test_strategies.test_a_strategy_goes_only_to_a_worker_that_lists_it,
    ),
    (workers_choose_the_reason, fails_at_a_worker),
    (a_worker_passes_strategies_to_its_pool, test_strategies.test_a_worker_with_strategies),
    (the_log_has_all_levels, test_built_in.test_a_large_search_has_a_short_log),
    (the_search_stops_a_ply_early, test_built_in.test_a_choice_after_each_depth),
    (the_log_is_not_sent, test_strategies.test_the_log_of_a_search_is_sent),
]


def run(test: Callable[[], Any]) -> None:
    """Runs a test, asynchronous or not."""
    if inspect.iscoroutinefunction(test):
        asyncio.run(test())
    else:
        test()


@pytest.mark.long
@pytest.mark.parametrize(("fault", "test"), FAULTS, ids=lambda function: function.__name__)
def test_the_fault_is_found(
    fault: Callable[[Patch], None], test: Callable[[], Any], monkeypatch: Patch
) -> None:
    """The listed test, which passes in its own module, fails with the planted fault."""
    names = ["minimax", "random", "scripted"]
    if test.__module__ == test_strategies.__name__ or test is cheats:
        monkeypatch.setattr(seats, "strategy_names", lambda: names)
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, TimeoutError, BaseExceptionGroup)):
        run(test)
