"""The list of public rooms, and those who watch it."""

import asyncio
from collections.abc import Callable

import msgspec
import structlog

from server import protocol as wire
from server.frames import text_frame
from server.ports import Follower, Ports
from server.projections import listed, summary
from server.runner import RoomRunner
from server.store.base import StoreError

log = structlog.get_logger()

LISTED = 100
"""Rooms in the list."""

PERIOD_S = 0.25
"""Changes within so long are told at once."""

_decode = msgspec.json.Decoder(wire.RoomSummary).decode


class Lobby:
    """Tells its watchers about public rooms; `run` is its task."""

    def __init__(self, ports: Ports, runner: Callable[[str], RoomRunner | None]) -> None:
        self._ports = ports
        self._runner = runner
        self._watchers: set[Follower] = set()
        self._joining = 0
        self._changed: set[str] = set()
        self._wake = asyncio.Event()

    async def rooms(self) -> tuple[wire.RoomSummary, ...]:
        """The public rooms that are open or being played, those first that changed last."""
        found = [_decode(row.summary) for row in await self._ports.store.rooms(LISTED)]
        return tuple(self._live(one) for one in found)

    async def watch(self, follower: Follower, ack: bytes) -> None:
        """Sends the ack and the list now, and its changes from now on; StoreError when there is none to send."""
        self._joining += 1
        try:
            rooms = await self.rooms()
        finally:
            self._joining -= 1
        if not follower.closed:
            self._watchers.add(follower)
            follower.send(ack + text_frame(wire.format_message(wire.Lobby(full=True, rooms=rooms))))

    def leave(self, follower: Follower) -> None:
        """The follower wants no more of it."""
        self._watchers.discard(follower)

    def changed(self, room_id: str) -> None:
        """The room's entry may be different now."""
        if self._watchers or self._joining:
            self._changed.add(room_id)
            self._wake.set()

    async def run(self) -> None:
        """Tells of changes, until cancelled."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(PERIOD_S)
            self._wake.clear()
            changed, self._changed = self._changed, set()
            if self._joining:  # whoever is reading the list may read it as it was before, and is told again
                self._changed |= changed
                self._wake.set()
            try:
                await self._tell(changed)
            except StoreError as error:
                log.warning("store unavailable", duty="lobby", error=str(error))

    async def _tell(self, changed: set[str]) -> None:
        rooms: list[wire.RoomSummary] = []
        gone: list[str] = []
        for room_id in sorted(changed):
            runner = self._runner(room_id)
            room = runner.room if runner else None
            if room is None:
                continue
            if listed(room):
                rooms.append(self._live(summary(room)))
            elif room.visibility == "public":
                gone.append(room_id)
        if rooms or gone:
            frame = text_frame(wire.format_message(wire.Lobby(full=False, rooms=tuple(rooms), gone=tuple(gone))))
            for follower in tuple(self._watchers):
                follower.send_ephemeral(frame)

    def _live(self, one: wire.RoomSummary) -> wire.RoomSummary:
        """The entry with what only an open room knows."""
        runner = self._runner(one.room)
        if runner is None or runner.room is None:
            return one
        ply = runner.room.match.ply if runner.room.match else 0
        return msgspec.structs.replace(one, ply=ply, watching=runner.watching)
