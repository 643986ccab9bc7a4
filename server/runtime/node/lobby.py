"""The lobby: the list of public rooms, and the connections that watch it."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
import structlog

from server.bus.base import LobbyChanged
from server.codes import Code
from server.ids import RoomId
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms.model import Room
from server.runtime.observers import RoomCommit, changes_board, changes_seats
from server.runtime.projections import is_listed, summary
from server.runtime.room.room_runner import RoomRunner
from server.store.base import StoreError

log = structlog.get_logger()

#: Maximum number of rooms in the list.
MAX_LISTED = 100

#: Maximum number of entries that a node keeps in memory, its own and those of other nodes.
MAX_ENTRIES = 4 * MAX_LISTED

#: Time after which a room that everyone has left leaves the list, in ms.
LEFT_ROOM_MS = 10 * 60_000

#: Time between two comparisons of the list with the store while it has watchers, in seconds.
COMPARE_S = 5.0
#: Time within which changes are collected and sent together, in seconds.
PERIOD_S = 0.25

_decode = msgspec.json.Decoder(wire.RoomSummary).decode


class Lobby:
    """Sends changes of public rooms on any node to its watchers. `run` is its task."""

    def __init__(self, ports: Ports, get_runner: Callable[[RoomId], RoomRunner | None]) -> None:
        self._ports = ports
        self._get_runner = get_runner
        self._watchers: set[Follower] = set()
        #: For each new watcher whose list is still being read, the messages to send after the list.
        self._held_back: list[list[Outbound]] = []
        self._changed_rooms: set[RoomId] = set()
        #: The entry that this node or another one last reported for each room.
        self._entries: dict[str, wire.RoomSummary] = {}
        self._has_changes = asyncio.Event()

    async def rooms(self) -> tuple[wire.RoomSummary, ...]:
        """Returns the listed rooms, those that people are in or have left last first."""
        since_ms = self._ports.now_ms() - LEFT_ROOM_MS
        rows = await self._ports.store.projections.rooms(MAX_LISTED, since_ms)
        return tuple(self._with_live_counts(_decode(row.summary)) for row in rows)

    async def watch(self, follower: Follower, ack: wire.Ack) -> None:
        """Sends the ack and the list, and from then on every change.

        Raises StoreError when the list cannot be read.
        """
        held_back: list[Outbound] = []
        self._held_back.append(held_back)
        try:
            rooms = await self.rooms()
        finally:
            self._held_back = [held for held in self._held_back if held is not held_back]
        if not follower.closed:
            self._watchers.add(follower)
            full = wire.Lobby(full=True, rooms=rooms)
            follower.send(Outbound(ack), Outbound(full), *held_back)

    def leave(self, follower: Follower) -> None:
        """Stops sending the list to a follower."""
        self._watchers.discard(follower)

    def on_commit(self, commit: RoomCommit) -> None:
        """Schedules an update of the room's entry if the commit changed it."""
        if changes_board(commit.events) or changes_seats(commit.events):
            self.on_room_changed(commit.after.id)

    def on_room_changed(self, room_id: RoomId) -> None:
        """Schedules an update of the room's entry."""
        if self._watchers or self._held_back or not self._ports.settings.is_sole_node:
            self._changed_rooms.add(room_id)
            self._has_changes.set()

    def remove_rooms(self, rooms: Sequence[str]) -> None:
        """Removes the entries of deleted rooms."""
        if rooms:
            self._ports.bus.publish(LobbyChanged(self._ports.node, (), tuple(rooms)))
            self._update_entries((), rooms)

    def on_lobby_changed(self, message: LobbyChanged) -> None:
        """Applies another node's changes, except for rooms that are open on this node."""
        rooms = [entry for entry in message.rooms if self._open_room(entry.room) is None]
        self._update_entries(
            rooms, [room_id for room_id in message.gone if self._open_room(room_id) is None]
        )

    async def run(self) -> None:
        """Sends changes until cancelled."""
        loop = asyncio.get_running_loop()
        last_compared_s = loop.time()
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(last_compared_s + COMPARE_S):
                    await self._has_changes.wait()
                    await asyncio.sleep(PERIOD_S)
            self._has_changes.clear()
            changed, self._changed_rooms = self._changed_rooms, set()
            self._send_changes(changed)
            if loop.time() >= last_compared_s + COMPARE_S:
                last_compared_s = loop.time()
                try:
                    await self._compare()
                except StoreError as error:
                    log.warning("store unavailable", duty="lobby", error=str(error))

    async def _compare(self) -> None:
        """Compares the list with the store and sends changes: rooms that everyone has left long
        ago, and changes that the bus has lost.
        """
        if not self._watchers:
            return
        before = self._entries
        rooms = {entry.room: entry for entry in await self.rooms()}

        def is_unreported(room_id: str) -> bool:
            """Whether no update of the entry arrived during the comparison, and none is due."""
            return (
                before.get(room_id) is self._entries.get(room_id)
                and room_id not in self._changed_rooms
            )

        changed = [
            entry
            for room_id, entry in rooms.items()
            if before.get(room_id) != entry and is_unreported(room_id)
        ]
        is_complete = len(rooms) < MAX_LISTED
        gone = [
            room_id
            for room_id in before.keys() - rooms.keys()
            if is_complete and is_unreported(room_id)
        ]
        self._update_entries(changed, gone)

    def _send_changes(self, changed: set[RoomId]) -> None:
        """Sends the entries of changed rooms to the watchers and to the other nodes."""
        rooms: list[wire.RoomSummary] = []
        gone: list[str] = []
        for room_id in sorted(changed):
            open_room = self._open_room(room_id)
            if open_room is None:
                continue
            runner, room = open_room
            if is_listed(room) and self._is_current(runner, room):
                rooms.append(self._with_live_counts(summary(room)))
            elif room.visibility == "public":
                gone.append(room_id)
        if rooms or gone:
            self._ports.bus.publish(LobbyChanged(self._ports.node, tuple(rooms), tuple(gone)))
            self._update_entries(rooms, gone)

    def _is_current(self, runner: RoomRunner, room: Room) -> bool:
        """Whether an open room has followers, or had some within LEFT_ROOM_MS.

        If it had none since it was opened, the store decides, and the list has its decision.
        """
        followers = runner.followers
        if len(followers) or followers.are_elsewhere:
            return True
        if followers.left_ms is not None:
            return self._ports.uptime_ms() - followers.left_ms < LEFT_ROOM_MS
        age_ms = self._ports.now_ms() - room.created_ms
        return room.id in self._entries or age_ms < LEFT_ROOM_MS

    def _update_entries(self, rooms: Sequence[wire.RoomSummary], gone: Sequence[str]) -> None:
        """Stores these entries in memory and sends them to the watchers."""
        if not (rooms or gone):
            return
        entries = {
            room_id: entry for room_id, entry in self._entries.items() if room_id not in gone
        }
        for entry in rooms:
            entries.pop(entry.room, None)
            entries[entry.room] = entry
        self._entries = dict(list(entries.items())[-MAX_ENTRIES:])
        if self._watchers or self._held_back:
            change = Outbound(wire.Lobby(full=False, rooms=tuple(rooms), gone=tuple(gone)))
            for held_back in self._held_back:
                held_back.append(change)
            for follower in tuple(self._watchers):
                follower.send_ephemeral(change)

    def _open_room(self, room_id: str) -> tuple[RoomRunner, Room] | None:
        """Returns a room that is open on this node, with its runner.

        Returns None for a room with events of a newer version: this node cannot tell its state, so
        its entry comes from the store and from newer nodes.
        """
        runner = self._get_runner(RoomId(room_id))
        room = runner.room if runner is not None else None
        if runner is None or room is None or room.frozen is Code.ROOM_NEWER:
            return None
        return runner, room

    def _with_live_counts(self, entry: wire.RoomSummary) -> wire.RoomSummary:
        """Returns the entry with the current ply, length and number of watchers.

        Only nodes on which the room is open have these numbers.
        """
        if (open_room := self._open_room(entry.room)) is not None:
            runner, room = open_room
            live = summary(room)
            return msgspec.structs.replace(
                entry, ply=live.ply, length=live.length, watching=runner.followers.watching
            )
        reported = self._entries.get(entry.room)
        if reported is not None and (reported.state, reported.seats) == (entry.state, entry.seats):
            return msgspec.structs.replace(
                entry, ply=reported.ply, length=reported.length, watching=reported.watching
            )
        return entry
