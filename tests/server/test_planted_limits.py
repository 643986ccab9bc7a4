"""Planted faults in limits and expiry: the test listed with each one fails."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from server.ids import RoomId
from server.limits.by_address import LimitExceeded, RateLimit, RoomSlots, SocketLimit
from server.limits.rate import Bucket
from server.net.session import Session, Sessions
from server.protocol.codes import Code
from server.rooms import chat
from server.rooms.model import Room
from server.runtime.node import open_rooms
from server.runtime.node.open_rooms import OpenRooms
from server.runtime.room import room_runner
from server.runtime.room.expiry import Expiry
from tests.server import test_expiry, test_limits, test_room_chat
from tests.support.memory_store import MemoryExpiry

Patch = pytest.MonkeyPatch


def do_nothing(*_arguments: Any, **_options: Any) -> None:
    """Does nothing, in place of a method."""


def guests_by_hello_are_not_counted(patch: Patch) -> None:
    patch.setattr(Session, "_address", property(lambda _self: "", lambda _self, _value: None))


def no_address_is_forgotten(patch: Patch) -> None:
    patch.setattr(RateLimit, "_forget", do_nothing)


def addresses_in_use_are_forgotten(patch: Patch) -> None:
    """Using a bucket does not move it to the end, so an address in constant use is forgotten."""

    def take(self: RateLimit, address: str, now_s: float) -> None:
        self._buckets.setdefault(address, Bucket(self._per_minute / 60, self._burst, now_s))
        taken = self._buckets[address].take(now_s)
        self._forget(now_s)
        if not taken:
            raise LimitExceeded(Code.RATE_EXCEEDED, "no", 1)

    patch.setattr(RateLimit, "take", take)


def closed_sockets_are_counted(patch: Patch) -> None:
    patch.setattr(SocketLimit, "leave", do_nothing)


def closed_rooms_are_counted(patch: Patch) -> None:
    patch.setattr(RoomSlots, "free", do_nothing)


def opened_rooms_are_not_counted(patch: Patch) -> None:
    """Opening old rooms is not limited."""
    real = OpenRooms.make_place

    def replacement(self: OpenRooms, address: str) -> None:
        caller = inspect.stack()[1].function
        real(self, "" if caller == "open" else address)

    patch.setattr(OpenRooms, "make_place", replacement)


def places_are_not_reserved(patch: Patch) -> None:
    patch.setattr(open_rooms, "RESERVED_S", 0.0)


def places_are_taken_after_the_commit(patch: Patch) -> None:
    real = RoomSlots.take

    def replacement(self: RoomSlots, room: RoomId, address: str) -> None:
        if inspect.stack()[1].function == "_open":
            real(self, room, address)

    patch.setattr(RoomSlots, "take", replacement)


def places_of_failed_creates_are_not_freed(patch: Patch) -> None:
    real = RoomSlots.free

    def replacement(self: RoomSlots, room: RoomId) -> None:
        if inspect.stack()[1].function != "create":
            real(self, room)

    patch.setattr(RoomSlots, "free", replacement)


def chat_is_not_limited(patch: Patch) -> None:
    patch.setattr(chat, "check_rate_limits", do_nothing)


def chat_has_one_limit_for_all(patch: Patch) -> None:
    real = chat.check_rate_limits

    def replacement(room: Room, _identity: str, now_ms: int, lines: int, room_lines: int) -> None:
        real(room, "", now_ms, lines, room_lines)

    patch.setattr(chat, "check_rate_limits", replacement)


def opened_rooms_are_not_marked(patch: Patch) -> None:
    async def keep(*_: object) -> bool:
        return True

    patch.setattr(room_runner, "mark_opened", keep)


def open_rooms_are_not_marked(patch: Patch) -> None:
    real = Expiry.run_step

    async def replacement(self: Expiry, _open_rooms: Any, clock_ahead_ms: int) -> Any:
        return await real(self, (), clock_ahead_ms)

    patch.setattr(Expiry, "run_step", replacement)


def the_clock_difference_is_ignored(patch: Patch) -> None:
    real = Expiry.run_step

    async def replacement(self: Expiry, open_rooms: Any, _clock_ahead_ms: int) -> Any:
        return await real(self, open_rooms, 0)

    patch.setattr(Expiry, "run_step", replacement)


def connected_guests_are_not_marked(patch: Patch) -> None:
    async def replacement(_self: Sessions, _day: int) -> bool:
        return True

    patch.setattr(Sessions, "_mark_guests_seen", replacement)


def guests_who_sat_are_not_marked(patch: Patch) -> None:
    async def replacement(_self: MemoryExpiry, _identity: str) -> None:
        """Marks no guest."""

    patch.setattr(MemoryExpiry, "mark_permanent", replacement)


def deleted_guests_are_marked(patch: Patch) -> None:
    """Marking a guest as seen always seems to succeed."""
    real = MemoryExpiry.mark_identities_seen

    async def replacement(self: MemoryExpiry, identities: Any, day: int) -> frozenset[str]:
        await real(self, identities, day)
        return frozenset(identities)

    patch.setattr(MemoryExpiry, "mark_identities_seen", replacement)


FAULTS: list[tuple[Callable[[Patch], None], Callable[[], Any]]] = [
    (guests_by_hello_are_not_counted, test_limits.test_too_many_guests_of_an_address_are_refused),
    (no_address_is_forgotten, test_limits.test_many_addresses_fill_no_memory),
    (addresses_in_use_are_forgotten, test_limits.test_many_addresses_fill_no_memory),
    (closed_sockets_are_counted, test_limits.test_closed_sockets_and_rooms_are_forgotten),
    (closed_rooms_are_counted, test_limits.test_one_address_cannot_fill_the_server),
    (opened_rooms_are_not_counted, test_limits.test_one_address_cannot_fill_the_server),
    (places_are_not_reserved, test_limits.test_a_created_room_can_be_joined),
    (
        places_are_taken_after_the_commit,
        test_limits.test_concurrent_creates_cannot_exceed_max_rooms,
    ),
    (
        places_of_failed_creates_are_not_freed,
        test_limits.test_a_room_that_nobody_joined_loses_its_place,
    ),
    (chat_is_not_limited, test_room_chat.test_a_flood_is_refused),
    (
        chat_has_one_limit_for_all,
        test_room_chat.test_the_limit_holds_across_nodes_and_restarts,
    ),
    (opened_rooms_are_not_marked, test_expiry.test_an_opened_room_does_not_expire),
    (open_rooms_are_not_marked, test_expiry.test_a_room_that_is_open_stays),
    (the_clock_difference_is_ignored, test_expiry.test_a_clock_that_is_ahead_expires_nothing),
    (connected_guests_are_not_marked, test_expiry.test_a_connected_guest_does_not_expire),
    (guests_who_sat_are_not_marked, test_expiry.test_guests_who_sat_stay),
    (deleted_guests_are_marked, test_expiry.test_a_guest_who_is_deleted_during_hello),
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
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception, TimeoutError, BaseExceptionGroup)):
        run(test)
