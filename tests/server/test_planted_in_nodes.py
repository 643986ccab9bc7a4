"""Planted faults in the death of nodes, take-over and clocks: the test beside each one finds it."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from server.net import session as session_module
from server.runtime import room_runner as runner_module
from server.runtime.hub import Hub
from server.runtime.requests import Resync, TakeOver
from server.runtime.room_runner import RoomRunner
from server.store import memory
from server.store.base import StoreError
from tests.server import test_hub, test_nodes_that_die, test_stopping

Patch = pytest.MonkeyPatch


def first_of(*values: Any) -> Any:
    """Replaces `max`: returns the first value."""
    return values[0]


async def nothing(*_: object) -> None:
    """Replaces a duty: does nothing."""


def a_death_is_no_news(patch: Patch) -> None:
    patch.setattr(Hub, "_doubt", lambda *_: None)


def one_look_is_enough(patch: Patch) -> None:
    def look(self: Hub, node: str) -> None:
        self.on_gap(None)

    patch.setattr(Hub, "_doubt", look)


def only_the_bus_knows_of_nodes(patch: Patch) -> None:
    patch.setattr(Hub, "_check_silent_nodes", nothing)


def a_look_that_failed_is_done(patch: Patch) -> None:
    real = Hub.compare_heads

    async def once(self: Hub, rooms: set[str] | None = None) -> None:
        try:
            await real(self, rooms)
        except StoreError:
            return

    patch.setattr(Hub, "compare_heads", once)
    patch.setattr(Hub, "_check_silent_nodes", nothing)


def what_is_found_is_told_here_only(patch: Patch) -> None:
    real = RoomRunner._catch_up

    async def quiet(self: RoomRunner) -> None:
        bus: Any = self._ports.bus
        bus.cut = True
        await real(self)
        bus.cut = False

    patch.setattr(RoomRunner, "_catch_up", quiet)


def an_open_room_is_not_taken_over(patch: Patch) -> None:
    real = RoomRunner.submit

    def loaded_does_not_listen(self: RoomRunner, request: Any) -> bool:
        return (isinstance(request, TakeOver) and self.room is not None) or real(self, request)

    patch.setattr(RoomRunner, "submit", loaded_does_not_listen)


def who_takes_over_only_looks(patch: Patch) -> None:
    real = RoomRunner._serve

    async def looks(self: RoomRunner, item: Any) -> None:
        await real(self, Resync() if isinstance(item, TakeOver) else item)

    patch.setattr(RoomRunner, "_serve", looks)


def events_have_the_time_of_the_clock(patch: Patch) -> None:
    patch.setattr(runner_module, "max", first_of, raising=False)


def wake_ups_wait_for_the_clock(patch: Patch) -> None:
    patch.setattr(memory, "max", first_of, raising=False)


def heartbeats_of_any_time_count(patch: Patch) -> None:
    patch.setattr(memory, "MAX_HEARTBEAT_MS", 10**12)


def closing_handshakes_are_waited_for(patch: Patch) -> None:
    patch.setattr(session_module, "CLOSE_TIMEOUT_S", 60.0)


def a_start_gives_up_what_is_due(patch: Patch) -> None:
    async def once(self: Hub) -> None:
        with suppress(StoreError):
            await self.take_over_due_rooms(all_nodes=True)

    patch.setattr(Hub, "take_over_all_due_rooms", once)


DIES = test_nodes_that_die
SILENT = partial(
    DIES.test_a_move_that_a_dying_node_committed_reaches_the_others, is_told=False, within_s=6.0
)
LANDS = partial(
    DIES.test_a_commit_that_lands_after_its_node_was_reported_dead, late_s=1.9, has_run_out=True
)
TAKEN = partial(DIES.test_an_open_room_is_taken_over, is_told=True, is_behind=False)
SET_BACK = partial(
    DIES.test_rooms_that_are_due_do_not_wait_for_a_clock_that_was_set_back, is_sole=False
)


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        (a_death_is_no_news, SILENT),
        (one_look_is_enough, LANDS),
        (only_the_bus_knows_of_nodes, DIES.test_a_node_that_was_never_heard_on_the_bus_is_in_doubt),
        (
            a_look_that_failed_is_done,
            DIES.test_heads_are_compared_again_if_the_store_fails_after_a_gap,
        ),
        (what_is_found_is_told_here_only, DIES.test_commits_that_a_node_discovers_are_published),
        (an_open_room_is_not_taken_over, TAKEN),
        (who_takes_over_only_looks, TAKEN),
        (events_have_the_time_of_the_clock, DIES.test_the_times_of_events_never_go_back),
        (wake_ups_wait_for_the_clock, SET_BACK),
        (heartbeats_of_any_time_count, SET_BACK),
        (
            closing_handshakes_are_waited_for,
            partial(test_stopping.test_sessions_that_do_not_answer_their_close_are_aborted, 1),
        ),
        (
            a_start_gives_up_what_is_due,
            test_hub.test_a_start_does_not_wait_for_the_rooms_that_are_due,
        ),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_the_fault_in_a_node_is_found(
    fault: Callable[[Patch], None], test: Callable[[], None], monkeypatch: Patch
) -> None:
    """The test, which passes without the fault, fails with it."""
    fault(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        test()
