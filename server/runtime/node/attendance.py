"""Records in the store which listed rooms people are in, so that abandoned ones leave the lobby.

The store keeps one time for each room. A node moves it when the last of its followers leaves and
every REFRESH_MS before that, never for a move. So the lobby of any node, also after a restart,
lists the rooms that people were in lately.
"""

import structlog

from server.ids import RoomId
from server.ports import Ports
from server.runtime.node.open_rooms import OpenRooms
from server.runtime.projections import is_listed
from server.store.base import StoreError

log = structlog.get_logger()

#: Time between two records of a room that has followers, in ms.
REFRESH_MS = 4 * 60_000


class Attendance:
    """Records the rooms of this node that have followers; a duty calls `record` periodically."""

    def __init__(self, ports: Ports, rooms: OpenRooms) -> None:
        self._ports = ports
        self._rooms = rooms
        #: The listed rooms with followers on this node, and the time of each one's last record.
        self._recorded_ms: dict[RoomId, int] = {}

    async def record(self) -> None:
        """Records the rooms that are due. After a failure of the store the next call repeats it."""
        now_ms = self._ports.now_ms()
        followed = {
            runner.room_id: runner.room.created_ms
            for runner in self._rooms
            if len(runner.followers) and runner.room is not None and is_listed(runner.room)
        }
        left = self._recorded_ms.keys() - followed.keys()
        due = {
            room_id
            for room_id, created_ms in followed.items()
            if now_ms - self._recorded_ms.setdefault(room_id, created_ms) >= REFRESH_MS
        }
        if not (left or due):
            return
        try:
            await self._ports.store.projections.mark_rooms_followed(sorted(left | due), now_ms)
        except StoreError as error:
            log.warning("store unavailable", duty="attendance", error=str(error))
            return
        for room_id in left:
            del self._recorded_ms[room_id]
        self._recorded_ms.update(dict.fromkeys(due, now_ms))
