"""Nothing stays for ever: guests who never sat at a table, and rooms that never had a match, go
when nobody has seen them for long.

Every node looks over both tables, a page at a time and all over again, and notes the day of what is
open on it. So a room that is open on some node, or a guest who is connected to one, was seen
yesterday at the latest. What a node deletes, another one may delete at the same moment: it goes
once.
"""

from collections.abc import Collection, Sequence

import structlog

from server.ports import Ports
from server.protocol import messages as wire
from server.store.base import DaySpan, RoomHead, StoredEvent, batched, day_of

log = structlog.get_logger()

#: A guest who never sat goes when unseen for so many days.
GUEST_DAYS = 30
#: A room without a match goes when unseen for so many days.
ROOM_DAYS = 7
#: Rows of each table in one look.
PAGE = 500
#: How the log entry of a match that begins begins.
STARTED = b'{"kind":"started"'
#: Between two looks: 720,000 rows of each table a day.
LOOK_S = 60.0


async def note_opened(
    ports: Ports, room: str, head: RoomHead, events: Sequence[StoredEvent]
) -> bool:
    """Whether the room, of which these were read, is still there; from here on it stays, as those
    with a match do.
    """
    if any(event.body.startswith(STARTED) for event in events):
        return True
    today = day_of(ports.now_ms())
    if head.seen_day is not None and head.seen_day >= today:
        return True
    return bool(await ports.store.saw_rooms([room], today))


async def note_seated(ports: Ports, events: Sequence[wire.RoomEvent]) -> None:
    """Before these events are written: no seat that they give belongs to a guest who goes."""
    for event in events:
        if isinstance(event, wire.SeatTaken) and event.occupant.kind != "ai":
            await ports.store.mark_sat(event.occupant.identity)


class Expiry:
    """One node's part in it; `look` is one step."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._rooms_after: str | None = None
        self._guests_after: str | None = None
        self._noted_day: int | None = None

    async def look(self, open_rooms: Collection[str], clock_ahead_ms: int) -> tuple[str, ...]:
        """Notes the rooms that are open here, once a day, then looks over a page of guests and one
        of rooms; returns the rooms that are gone. StoreError when the store fails: the next look
        goes on from there.
        """
        store = self._ports.store
        today = day_of(self._ports.now_ms() - clock_ahead_ms)
        if today != self._noted_day:
            for batch in batched(sorted(open_rooms)):
                await store.saw_rooms(batch, today)
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
