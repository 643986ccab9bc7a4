"""Deletes temporary guests after a long absence, and unused rooms that never had a match.

A guest is temporary until it takes a seat or creates a room. Every node scans the tables of guests
and rooms continuously, a page at a time. Once a day it marks its open rooms as seen, and
`server.net.session` marks its connected guests, so neither expires while it is in use. If two nodes
delete the same row at the same time, one of them succeeds.
"""

from collections.abc import Collection, Sequence

import structlog

from server.events import RoomEvent, SeatTaken
from server.ids import IdentityId
from server.ports import Ports
from server.rooms.model import Room
from server.store.base import DaySpan, RoomHead, batched, day_of

log = structlog.get_logger()

#: Days after which an absent temporary guest is deleted.
GUEST_DAYS = 30
#: Days after which an unused room that never had a match is deleted.
ROOM_DAYS = 7
#: Rows of each table in one step of the scan.
PAGE = 500
#: Time between two steps of the scan, in seconds: a day covers 720,000 rows of each table.
EXPIRY_STEP_S = 60.0


async def mark_opened(ports: Ports, room: Room, head: RoomHead) -> bool:
    """Records that a room was opened today, unless it has had a match: such a room never expires.

    Returns False if the room has been deleted since it was read.
    """
    if room.match is not None:
        return True
    today = day_of(ports.now_ms())
    if head.seen_day is not None and head.seen_day >= today:
        return True
    return bool(await ports.store.expiry.mark_rooms_seen([room.id], today))


async def mark_seated(ports: Ports, events: Sequence[RoomEvent]) -> None:
    """Marks the people who take a seat in these events as permanent.

    The caller writes the events afterwards, so no seated guest can expire.
    """
    for event in events:
        if isinstance(event, SeatTaken) and event.occupant.kind != "ai":
            await ports.store.expiry.mark_permanent(IdentityId(event.occupant.identity))


class Expiry:
    """Scans for expired guests and rooms; the hub calls `run_step` every EXPIRY_STEP_S."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._rooms_after: str | None = None
        self._guests_after: str | None = None
        self._marked_day: int | None = None

    async def run_step(self, open_rooms: Collection[str], clock_ahead_ms: int) -> tuple[str, ...]:
        """Marks the open rooms as seen once a day, then scans a page of guests and a page of rooms.

        `clock_ahead_ms` is how far this node's clock is ahead of the store's. Returns the ids of
        the deleted rooms. Raises StoreError when the store fails; the next step then continues at
        the same page.
        """
        store = self._ports.store
        today = day_of(self._ports.now_ms() - clock_ahead_ms)
        if today != self._marked_day:
            for batch in batched(sorted(open_rooms)):
                await store.expiry.mark_rooms_seen(batch, today)
            self._marked_day = today
        guests = await store.expiry.expire_identities(
            self._guests_after or "", DaySpan(today, today - GUEST_DAYS), PAGE
        )
        self._guests_after = guests.next
        rooms = await store.expiry.expire_rooms(
            self._rooms_after or "", DaySpan(today, today - ROOM_DAYS), PAGE
        )
        self._rooms_after = rooms.next
        if guests.deleted or rooms.deleted:
            log.info("expired rows deleted", guests=len(guests.deleted), rooms=len(rooms.deleted))
        return rooms.deleted
