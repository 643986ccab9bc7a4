"""Planted faults in limits and expiry: the test beside each one finds it.

A passing test counts only after a planted fault has made it fail.
"""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from server.limits.by_address import LimitExceeded, RateLimit, RoomSlots, SocketLimit
from server.limits.rate import Bucket
from server.net.session import Session, Sessions
from server.protocol.codes import Code
from server.rooms import chat
from server.rooms.model import Room
from server.runtime import expiry
from server.runtime import hub as hub_module
from server.runtime.expiry import Expiry
from server.runtime.hub import Hub
from server.store.memory import MemoryStore
from tests.server import test_expiry, test_limits, test_room_chat
from tests.support.fake_server import FaultyStore

Patch = pytest.MonkeyPatch


def nothing(*_arguments: Any, **_options: Any) -> None:
    """Replaces an action: does nothing."""


def a_hello_is_not_counted(patch: Patch) -> None:
    patch.setattr(Session, "_address", property(lambda _self: "", lambda _self, _value: None))


def every_address_is_kept(patch: Patch) -> None:
    patch.setattr(RateLimit, "_forget", nothing)


def the_oldest_is_kept(patch: Patch) -> None:
    """Using a bucket does not move it to the end, so an address in constant use is forgotten."""

    def take(self: RateLimit, address: str, now_s: float) -> None:
        self._buckets.setdefault(address, Bucket(self._per_minute / 60, self._burst, now_s))
        taken = self._buckets[address].take(now_s)
        self._forget(now_s)
        if not taken:
            raise LimitExceeded(Code.RATE_EXCEEDED, "no", 1)

    patch.setattr(RateLimit, "take", take)


def sockets_that_went_count(patch: Patch) -> None:
    patch.setattr(SocketLimit, "leave", nothing)


def rooms_that_went_count(patch: Patch) -> None:
    patch.setattr(RoomSlots, "free", nothing)


def only_makers_count(patch: Patch) -> None:
    """Opening old rooms is not limited."""
    real = Hub._make_place

    def lenient(self: Hub, address: str) -> None:
        caller = inspect.stack()[1].function
        real(self, "" if caller == "_open" else address)

    patch.setattr(Hub, "_make_place", lenient)


def no_place_is_promised(patch: Patch) -> None:
    patch.setattr(hub_module, "RESERVED_S", 0.0)


def places_are_taken_after_the_commit(patch: Patch) -> None:
    real = RoomSlots.take

    def late(self: RoomSlots, room: str, address: str) -> None:
        if inspect.stack()[1].function == "_open":
            real(self, room, address)

    patch.setattr(RoomSlots, "take", late)


def a_place_is_not_given_back(patch: Patch) -> None:
    real = RoomSlots.free

    def forgetful(self: RoomSlots, room: str) -> None:
        if inspect.stack()[1].function != "create":
            real(self, room)

    patch.setattr(RoomSlots, "free", forgetful)


def chat_is_not_judged(patch: Patch) -> None:
    patch.setattr(chat, "check_pace", nothing)


def chat_is_judged_for_all_together(patch: Patch) -> None:
    real = chat.check_pace

    def lenient(room: Room, _identity: str, now_ms: int, lines: int, room_lines: int) -> None:
        real(room, "", now_ms, lines, room_lines)

    patch.setattr(chat, "check_pace", lenient)


def a_room_is_opened_without_a_note(patch: Patch) -> None:
    patch.setattr(expiry, "STARTED", b"")


def open_rooms_are_not_noted(patch: Patch) -> None:
    real = Expiry.run_step

    async def careless(self: Expiry, _open_rooms: Any, clock_ahead_ms: int) -> Any:
        return await real(self, (), clock_ahead_ms)

    patch.setattr(Expiry, "run_step", careless)


def the_nodes_own_clock_counts(patch: Patch) -> None:
    real = Expiry.run_step

    async def careless(self: Expiry, open_rooms: Any, _clock_ahead_ms: int) -> Any:
        return await real(self, open_rooms, 0)

    patch.setattr(Expiry, "run_step", careless)


def who_stays_connected_is_not_noted(patch: Patch) -> None:
    async def careless(_self: Sessions, _day: int) -> bool:
        return True

    patch.setattr(Sessions, "_mark_present", careless)


def nobody_is_noted_to_have_sat(patch: Patch) -> None:
    async def careless(_self: MemoryStore, _identity: str) -> None:
        """Marks nobody."""

    patch.setattr(FaultyStore, "mark_permanent", careless)


def who_has_gone_is_known(patch: Patch) -> None:
    """Marking a guest as seen always seems to succeed."""
    real = MemoryStore.mark_identities_seen

    async def believing(self: MemoryStore, identities: Any, day: int) -> frozenset[str]:
        await real(self, identities, day)
        return frozenset(identities)

    patch.setattr(MemoryStore, "mark_identities_seen", believing)


FOUND: list[tuple[Callable[[Patch], None], Callable[[], Any]]] = [
    (a_hello_is_not_counted, test_limits.test_guests_without_end_are_refused),
    (every_address_is_kept, test_limits.test_a_million_addresses_fill_no_memory),
    (the_oldest_is_kept, test_limits.test_a_million_addresses_fill_no_memory),
    (sockets_that_went_count, test_limits.test_an_address_that_is_gone_leaves_nothing),
    (rooms_that_went_count, test_limits.test_one_address_cannot_fill_the_server),
    (only_makers_count, test_limits.test_one_address_cannot_fill_the_server),
    (no_place_is_promised, test_limits.test_a_room_that_was_made_can_be_joined),
    (
        places_are_taken_after_the_commit,
        test_limits.test_of_many_at_once_no_more_get_a_place_than_there_are,
    ),
    (a_place_is_not_given_back, test_limits.test_a_room_that_nobody_joined_makes_place),
    (chat_is_not_judged, test_room_chat.test_a_flood_is_refused),
    (chat_is_judged_for_all_together, test_room_chat.test_it_holds_across_nodes_and_restarts),
    (a_room_is_opened_without_a_note, test_expiry.test_somebody_opens_a_room_before_it_goes),
    (open_rooms_are_not_noted, test_expiry.test_a_room_that_is_open_stays),
    (the_nodes_own_clock_counts, test_expiry.test_a_clock_that_is_ahead_lets_nothing_go),
    (who_stays_connected_is_not_noted, test_expiry.test_who_stays_connected_is_seen),
    (nobody_is_noted_to_have_sat, test_expiry.test_guests_who_sat_stay),
    (who_has_gone_is_known, test_expiry.test_a_guest_who_says_hello_at_that_moment),
]


def run(test: Callable[[], Any]) -> None:
    """Runs a test, asynchronous or not."""
    if inspect.iscoroutinefunction(test):
        asyncio.run(test())
    else:
        test()


@pytest.mark.parametrize(("fault", "test"), FOUND, ids=lambda one: one.__name__)
def test_the_fault_is_found(
    fault: Callable[[Patch], None], test: Callable[[], Any], monkeypatch: Patch
) -> None:
    """The test fails with the fault. It passes in its own module without it."""
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, TimeoutError, BaseExceptionGroup)):
        run(test)
