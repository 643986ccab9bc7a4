"""Planted faults in the classes of searches over a broker: the test listed with each one fails."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from engine.search.job import SearchError
from server.seats import background
from server.seats.background import BackgroundSearches
from server.seats.broker_transport import BrokerTransport
from server.seats.workers import RemoteWorker
from tests.server import test_background_searches as people
from tests.server import test_search_classes as classes

Patch = pytest.MonkeyPatch


def every_worker_gets_every_class(patch: Patch) -> None:
    patch.setattr(RemoteWorker, "offer_for", lambda self, job: self.advert.games.get(job.game))


def a_study_queues_behind_live_searches(patch: Patch) -> None:
    patch.setattr(RemoteWorker, "is_full_for", lambda self, use, running_at: False)


def a_late_study_is_lost(patch: Patch) -> None:
    def on_alarm(self: Any, sent: Any) -> None:
        sent.alarm = None
        self._lose(sent, "late")

    patch.setattr(BrokerTransport, "_on_alarm", on_alarm)


def nobody_waits_for_a_turn(patch: Patch) -> None:
    class Open:
        """A turn that everyone has."""

        def __init__(self, count: int) -> None: ...

        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *error: object) -> None: ...

    patch.setattr(asyncio, "Semaphore", Open)


def a_refusal_counts(patch: Patch) -> None:
    real = BackgroundSearches._enter

    def enter(self: Any, identity: Any) -> Any:
        self._count(identity)
        return real(self, identity)

    patch.setattr(BackgroundSearches, "_enter", enter)


def the_class_is_forgotten(patch: Patch) -> None:
    patch.setattr(background, "job_for_person", lambda job, identity: job)


def late_study() -> None:
    with pytest.MonkeyPatch.context() as patch:
        classes.test_a_late_study_is_no_loss(patch)


FAULTS: list[tuple[Callable[[Patch], None], Callable[[], Any]]] = [
    (every_worker_gets_every_class, classes.test_a_worker_without_classes_gets_live_searches_only),
    (a_study_queues_behind_live_searches, classes.test_a_study_waits_for_an_idle_core),
    (a_late_study_is_lost, late_study),
    (nobody_waits_for_a_turn, people.test_an_identity_has_one_search_running_and_five_waiting),
    (a_refusal_counts, people.test_a_refused_request_counts_for_nothing),
    (the_class_is_forgotten, people.test_an_identity_has_one_search_running_and_five_waiting),
]


@pytest.mark.long
@pytest.mark.parametrize(("plant", "check"), FAULTS, ids=[plant.__name__ for plant, _ in FAULTS])
def test_a_planted_fault_is_found(
    plant: Callable[[Patch], None], check: Callable[[], Any], monkeypatch: Patch
) -> None:
    """Each planted fault makes its test fail."""
    plant(monkeypatch)
    with pytest.raises((AssertionError, SearchError, TimeoutError, pytest.fail.Exception)):
        check()
