"""Planted faults in dying nodes, takeovers and clocks: the test listed with each one fails."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from server.net import session as session_module
from server.runtime import log as log_module
from server.runtime.log import EventLog
from server.runtime.node.hub import Hub
from server.runtime.node.membership import Membership
from server.runtime.requests import Resync, TakeOver
from server.runtime.room.room_runner import RoomRunner
from server.store.base import StoreError
from tests.server import test_hub, test_stopping
from tests.server import test_nodes_that_die as dying_nodes
from tests.support import memory_store

Patch = pytest.MonkeyPatch


def first_of(*values: Any) -> Any:
    """Returns the first value, in place of `max`."""
    return values[0]


async def do_nothing(*_: object) -> None:
    """Does nothing, in place of a method."""


def deaths_are_ignored(patch: Patch) -> None:
    patch.setattr(Membership, "_doubt", lambda *_: None)


def heads_are_compared_once(patch: Patch) -> None:
    def compare_once(self: Membership, node: str) -> None:
        self.on_gap(None)

    patch.setattr(Membership, "_doubt", compare_once)


def heartbeats_in_the_store_are_ignored(patch: Patch) -> None:
    patch.setattr(Membership, "check_silent_nodes", do_nothing)


def failed_comparisons_are_not_repeated(patch: Patch) -> None:
    real = Membership.compare_heads

    async def try_once(self: Membership, rooms: set[str] | None = None) -> None:
        try:
            await real(self, rooms)
        except StoreError:
            return

    patch.setattr(Membership, "compare_heads", try_once)
    patch.setattr(Membership, "check_silent_nodes", do_nothing)


def discovered_events_are_not_published(patch: Patch) -> None:
    real = EventLog.catch_up

    async def catch_up_without_bus(self: EventLog[Any, Any, Any]) -> None:
        bus: Any = self._ports.bus
        bus.cut = True
        await real(self)
        bus.cut = False

    patch.setattr(EventLog, "catch_up", catch_up_without_bus)


def an_open_room_is_not_taken_over(patch: Patch) -> None:
    real = RoomRunner.submit

    def refuse_if_loaded(self: RoomRunner, request: Any) -> bool:
        return (isinstance(request, TakeOver) and self.room is not None) or real(self, request)

    patch.setattr(RoomRunner, "submit", refuse_if_loaded)


def a_takeover_only_resyncs(patch: Patch) -> None:
    real = RoomRunner._serve

    async def resync_only(self: RoomRunner, item: Any) -> None:
        await real(self, Resync() if isinstance(item, TakeOver) else item)

    patch.setattr(RoomRunner, "_serve", resync_only)


def events_have_the_time_of_the_clock(patch: Patch) -> None:
    patch.setattr(log_module, "max", first_of, raising=False)


def due_times_depend_on_the_clock(patch: Patch) -> None:
    patch.setattr(memory_store, "max", first_of, raising=False)


def heartbeats_hold_for_any_time(patch: Patch) -> None:
    patch.setattr(memory_store, "MAX_HEARTBEAT_MS", 10**12)


def closing_handshakes_are_waited_for(patch: Patch) -> None:
    patch.setattr(session_module, "CLOSE_TIMEOUT_S", 60.0)


def due_rooms_are_taken_over_at_the_start_only(patch: Patch) -> None:
    real = Hub.take_over_due_rooms
    started: set[Hub] = set()

    async def try_once(self: Hub, all_nodes: bool) -> int:
        if self in started:
            return 0
        started.add(self)
        return await real(self, all_nodes)

    patch.setattr(Hub, "take_over_due_rooms", try_once)


SILENT_DEATH = partial(
    dying_nodes.test_a_move_that_a_dying_node_committed_reaches_the_others,
    is_reported=False,
    within_s=6.0,
)
LATE_COMMIT = partial(
    dying_nodes.test_a_commit_after_the_report_of_its_nodes_death,
    late_s=1.9,
    is_expired=True,
)
TAKEOVER = partial(dying_nodes.test_an_open_room_is_taken_over, is_reported=True, is_behind=False)
CLOCK_SET_BACK = partial(
    dying_nodes.test_due_rooms_do_not_wait_for_a_clock_that_was_set_back,
    is_sole=False,
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (deaths_are_ignored, SILENT_DEATH),
        (heads_are_compared_once, LATE_COMMIT),
        (
            heartbeats_in_the_store_are_ignored,
            dying_nodes.test_a_node_without_a_message_on_the_bus_is_in_doubt,
        ),
        (
            failed_comparisons_are_not_repeated,
            dying_nodes.test_heads_are_compared_again_if_the_store_fails_after_a_gap,
        ),
        (
            discovered_events_are_not_published,
            dying_nodes.test_events_of_an_unanswered_commit_are_published,
        ),
        (an_open_room_is_not_taken_over, TAKEOVER),
        (a_takeover_only_resyncs, TAKEOVER),
        (
            events_have_the_time_of_the_clock,
            dying_nodes.test_the_times_of_events_never_go_back,
        ),
        (due_times_depend_on_the_clock, CLOCK_SET_BACK),
        (heartbeats_hold_for_any_time, CLOCK_SET_BACK),
        (
            closing_handshakes_are_waited_for,
            partial(test_stopping.test_sessions_that_do_not_answer_their_close_are_aborted, 1),
        ),
        (
            due_rooms_are_taken_over_at_the_start_only,
            test_hub.test_a_start_does_not_wait_for_the_rooms_that_are_due,
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_fault_in_a_node_is_found(
    fault: Callable[[Patch], None], test: Callable[[], None], monkeypatch: Patch
) -> None:
    """With the planted fault the listed test fails; it passes in its own module."""
    fault(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        test()
