"""Deletes guests who never took a seat, and rooms that never had a match, if not seen for long.

Every node scans both tables again and again, a page at a time, and once a day marks the rooms that
are open on it as seen. So a room that is open on any node, or a guest who is connected to one, was
seen yesterday at the latest. Two nodes may try to delete the same row at the same moment; it is
deleted once.
"""

from collections.abc import Collection, Sequence

import structlog

from server.ports import Ports
from server.protocol import messages as wire
from server.store.base import DaySpan, RoomHead, StoredEvent, batched, day_of

log = structlog.get_logger()

#: Days without being seen after which a guest who never sat is deleted.
GUEST_DAYS = 30
#: Days without being seen after which a room without a match is deleted.
ROOM_DAYS = 7
#: Rows of each table in one step of the scan.
PAGE = 500
#: The first bytes of the log entry of a `started` event.
STARTED = b'{"kind":"started"'
#: Time between two steps, in seconds: 720,000 rows of each table a day.
LOOK_S = 60.0


async def note_opened(
    ports: Ports, room: str, head: RoomHead, events: Sequence[StoredEvent]
) -> bool:
    """Marks a room that was just read as seen today.

    Returns False if it has been deleted meanwhile.

    Rooms with a match are kept for ever and need no mark.
    """
    if any(event.body.startswith(STARTED) for event in events):
        return True
    today = day_of(ports.now_ms())
    if head.seen_day is not None and head.seen_day >= today:
        return True
    return bool(await ports.store.mark_rooms_seen([room], today))


async def note_seated(ports: Ports, events: Sequence[wire.RoomEvent]) -> None:
    """Marks the players whom these events seat as permanent, before the events are written."""
    for event in events:
        if isinstance(event, wire.SeatTaken) and event.occupant.kind != "ai":
            await ports.store.mark_sat(event.occupant.identity)


class Expiry:
    """One node's share of the expiry. `look` is one step of it."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._rooms_after: str | None = None
        self._guests_after: str | None = None
        self._noted_day: int | None = None

    async def look(self, open_rooms: Collection[str], clock_ahead_ms: int) -> tuple[str, ...]:
        """Marks the open rooms as seen once a day, then scans a page of guests and a page of rooms.

        Returns the ids of the deleted rooms. Raises StoreError when the store fails; the next step
        continues from there.
        """
        store = self._ports.store
        today = day_of(self._ports.now_ms() - clock_ahead_ms)
        if today != self._noted_day:
            for batch in batched(sorted(open_rooms)):
                await store.mark_rooms_seen(batch, today)
            self._noted_day = today
        guests = await store.expire_identities(
            self._guests_after or "", DaySpan(today, today - GUEST_DAYS), PAGE
        )
        self._guests_after = guests.next
        rooms = await store.expire_rooms(
            self._rooms_after or "", DaySpan(today, today - ROOM_DAYS), PAGE
        )
        self._rooms_after = rooms.next
        if guests.gone or rooms.gone:
            log.info("unseen for long", guests=len(guests.gone), rooms=len(rooms.gone))
        return rooms.gone
