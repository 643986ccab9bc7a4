"""The list of public rooms, and the connections that watch it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
import structlog

from server.bus.base import LobbyChanged
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.codec import format_message
from server.protocol.frames import text_frame
from server.runtime.projections import listed, summary
from server.runtime.room_runner import RoomRunner
from server.store.base import StoreError

log = structlog.get_logger()

#: Rooms in the list.
LISTED = 100

#: Entries that a node remembers of what it and other nodes reported.
KEPT = 4 * LISTED

#: Time between two comparisons of the list with the store while it is watched, in seconds.
COMPARE_S = 5.0
#: Changes within this time are sent together, in seconds.
PERIOD_S = 0.25

_decode = msgspec.json.Decoder(wire.RoomSummary).decode


class Lobby:
    """Sends changes of public rooms on any node to its watchers. `run` is its task."""

    def __init__(self, ports: Ports, runner: Callable[[str], RoomRunner | None]) -> None:
        self._ports = ports
        self._runner = runner
        self._watchers: set[Follower] = set()
        #: For each watcher whose list is still being read, the frames to send after it.
        self._joining: list[list[bytes]] = []
        self._changed: set[str] = set()
        #: The entry last reported for each room, by this node or another one.
        self._shown: dict[str, wire.RoomSummary] = {}
        self._update_search = asyncio.Event()

    async def rooms(self) -> tuple[wire.RoomSummary, ...]:
        """The public rooms that are open or being played, most recently changed first."""
        found = [_decode(row.summary) for row in await self._ports.store.rooms(LISTED)]
        return tuple(self._live(one) for one in found)

    async def watch(self, follower: Follower, ack: bytes) -> None:
        """Sends the ack and the list, and from then on every change.

        Raises StoreError when the list cannot be read.
        """
        late: list[bytes] = []
        self._joining.append(late)
        try:
            rooms = await self.rooms()
        finally:
            self._joining = [one for one in self._joining if one is not late]
        if not follower.closed:
            self._watchers.add(follower)
            full = text_frame(format_message(wire.Lobby(full=True, rooms=rooms)))
            follower.send(ack + full + b"".join(late))

    def leave(self, follower: Follower) -> None:
        """Stops sending the list to a follower."""
        self._watchers.discard(follower)

    def changed(self, room_id: str) -> None:
        """Schedules an update of the room's entry."""
        if self._watchers or self._joining or not self._ports.settings.alone:
            self._changed.add(room_id)
            self._update_search.set()

    def gone(self, rooms: Sequence[str]) -> None:
        """Removes the entries of deleted rooms."""
        if rooms:
            self._ports.bus.publish(LobbyChanged(self._ports.node, (), tuple(rooms)))
            self._show((), rooms)

    def heard(self, listed: LobbyChanged) -> None:
        """Takes another node's entries, except for rooms that are open here."""
        rooms = [one for one in listed.rooms if not self._is_open(one.room)]
        self._show(rooms, [one for one in listed.gone if not self._is_open(one)])

    async def run(self) -> None:
        """Sends changes until cancelled."""
        loop = asyncio.get_running_loop()
        compared_s = loop.time()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(compared_s + COMPARE_S):
                    await self._update_search.wait()
                    await asyncio.sleep(PERIOD_S)
            self._update_search.clear()
            changed, self._changed = self._changed, set()
            self._tell(changed)
            if loop.time() >= compared_s + COMPARE_S:
                compared_s = loop.time()
                try:
                    await self._compare()
                except StoreError as error:
                    log.warning("store unavailable", duty="lobby", error=str(error))

    async def _compare(self) -> None:
        """Compares the list with the store, in case the bus lost a change, and sends changes."""
        if not self._watchers or self._ports.settings.alone:
            return
        before = self._shown
        rooms = {one.room: one for one in await self.rooms()}

        def is_news(room_id: str) -> bool:
            """Whether the entry was not sent meanwhile and is not about to be."""
            return before.get(room_id) is self._shown.get(room_id) and room_id not in self._changed

        different = [
            one for room_id, one in rooms.items() if before.get(room_id) != one and is_news(room_id)
        ]
        is_all = len(rooms) < LISTED
        gone = [room_id for room_id in before.keys() - rooms.keys() if is_all and is_news(room_id)]
        self._show(different, gone)

    def _tell(self, changed: set[str]) -> None:
        """Sends the entries of rooms that are open here to the watchers and to the other nodes."""
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
            self._ports.bus.publish(LobbyChanged(self._ports.node, tuple(rooms), tuple(gone)))
            self._show(rooms, gone)

    def _show(self, rooms: Sequence[wire.RoomSummary], gone: Sequence[str]) -> None:
        """Remembers these entries and sends them to the watchers."""
        if not (rooms or gone):
            return
        shown = {room_id: one for room_id, one in self._shown.items() if room_id not in gone}
        for one in rooms:
            shown.pop(one.room, None)
            shown[one.room] = one
        self._shown = dict(list(shown.items())[-KEPT:])
        if self._watchers or self._joining:
            frame = text_frame(
                format_message(wire.Lobby(full=False, rooms=tuple(rooms), gone=tuple(gone)))
            )
            for late in self._joining:
                late.append(frame)
            for follower in tuple(self._watchers):
                follower.send_ephemeral(frame)

    def _is_open(self, room_id: str) -> bool:
        runner = self._runner(room_id)
        return runner is not None and runner.room is not None

    def _live(self, one: wire.RoomSummary) -> wire.RoomSummary:
        """The entry with the ply, length and watchers that only a node with the open room knows."""
        runner = self._runner(one.room)
        if runner is not None and runner.room is not None:
            live = summary(runner.room)
            return msgspec.structs.replace(
                one, ply=live.ply, length=live.length, watching=runner.watching
            )
        reported = self._shown.get(one.room)
        if reported is not None and (reported.state, reported.seats) == (one.state, one.seats):
            return msgspec.structs.replace(
                one, ply=reported.ply, length=reported.length, watching=reported.watching
            )
        return one
