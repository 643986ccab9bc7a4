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
from server.runtime.observers import RoomCommit, changes_board, changes_clock, changes_seats
from server.runtime.projections import is_listed, summary, times
from server.runtime.room.room_runner import RoomRunner
from server.store.base import StoreError

log = structlog.get_logger()

#: Maximum number of rooms in the list.
MAX_LISTED = 100

#: Maximum number of entries that a node keeps in memory, its own and those of other nodes.
MAX_ENTRIES = 4 * MAX_LISTED

#: Time after which a room that everyone has left leaves the list, in ms.
LEFT_ROOM_MS = 10 * 60_000

#: Time without a connection after which the player of a room that waits for another one counts as
#: away, in ms. A reload of the page is shorter.
AWAY_MS = 30_000

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
        #: The nodes that have reported each of these rooms and may have it open.
        self._reporters: dict[str, set[str]] = {}
        #: When the last of a room's reporters went down, in ms of `Ports.uptime_ms`.
        self._unreported_ms: dict[str, int] = {}
        #: When a player of a room that was open on this node will have been away for AWAY_MS, in ms
        #: of `Ports.uptime_ms`.
        self._away_at_ms: dict[RoomId, int] = {}
        self._has_changes = asyncio.Event()

    async def rooms(self) -> tuple[wire.RoomSummary, ...]:
        """Returns the listed rooms, those that people are in or have left last first."""
        since_ms = self._ports.now_ms() - LEFT_ROOM_MS
        rows = await self._ports.store.projections.rooms(MAX_LISTED, since_ms)
        return tuple(self._with_live_facts(_decode(row.summary)) for row in rows)

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
        events = commit.events
        if changes_board(events) or changes_seats(events) or changes_clock(events):
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

    def announce(self, runner: RoomRunner) -> None:
        """Reports a room that waits for a player to the other nodes again: a node is new, or may
        have missed the last report.
        """
        room = runner.room
        if room is not None and room.match is None and is_listed(room) and len(runner.followers):
            self.on_room_changed(room.id)

    def on_node_down(self, node: str) -> None:
        """Notes that a node no longer reports its rooms: unless another one does, their players are
        away if they do not come back.
        """
        now_ms = self._ports.uptime_ms()
        for room_id, nodes in tuple(self._reporters.items()):
            nodes.discard(node)
            if not nodes:
                del self._reporters[room_id]
                self._unreported_ms[room_id] = now_ms

    def on_lobby_changed(self, message: LobbyChanged) -> None:
        """Applies another node's changes, except for rooms that are open on this node."""
        for entry in message.rooms:
            self._note_report(entry.room, message.node)
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
            self._send_changes(changed | self._take_away_rooms())
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
                entry = self._entries.get(room_id)
                if entry is not None and self._reporters.get(room_id) == {self._ports.node}:
                    # Its players left and did not return.
                    rooms.append(self._with_live_facts(entry))
                continue
            runner, room = open_room
            if is_listed(room) and self._is_current(runner, room):
                rooms.append(self._with_live_facts(summary(room)))
                self._note_report(room_id, self._ports.node)
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
        for facts in (self._reporters, self._unreported_ms):
            if len(facts) > MAX_ENTRIES:
                for room_id in facts.keys() - self._entries.keys():
                    del facts[room_id]
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

    def _with_live_facts(self, entry: wire.RoomSummary) -> wire.RoomSummary:
        """Returns the entry with the current ply, length, clock and number of watchers, and with
        the seats whose players are away.

        Only nodes on which the room is open know these.
        """
        if (open_room := self._open_room(entry.room)) is not None:
            runner, room = open_room
            live = summary(room)
            return msgspec.structs.replace(
                entry, ply=live.ply, length=live.length, watching=runner.followers.watching,
                away=self._away_from_open_room(runner, room), times=times(room),
            )  # fmt: skip
        reported = self._entries.get(entry.room)
        if reported is None or (reported.state, reported.seats) != (entry.state, entry.seats):
            reported = entry
        return msgspec.structs.replace(
            entry, ply=reported.ply, length=reported.length, watching=reported.watching,
            away=self._away_from_unopened_room(reported), times=reported.times,
        )  # fmt: skip

    def _away_from_open_room(self, runner: RoomRunner, room: Room) -> tuple[int, ...]:
        """The seats whose players are away, and notes when the next one will be."""
        if room.match is not None:
            return ()
        absent_ms = runner.presence.absent_ms(room)
        waits_ms = [AWAY_MS - ms for ms in absent_ms.values() if ms < AWAY_MS]
        if waits_ms:
            self._away_at_ms[room.id] = self._ports.uptime_ms() + min(waits_ms)
        return tuple([seat for seat, ms in absent_ms.items() if ms >= AWAY_MS])

    def _away_from_unopened_room(self, entry: wire.RoomSummary) -> tuple[int, ...]:
        """The seats whose players are away from a room that is not open on this node.

        If no other node has it open either, nobody is in it.
        """
        if entry.state != "open":
            return ()
        if self._reporters.get(entry.room, set()) - {self._ports.node}:
            return entry.away
        unreported_ms = self._unreported_ms.get(entry.room)
        if unreported_ms is None:
            gone_ms = self._ports.now_ms() - entry.created_ms
        else:
            gone_ms = self._ports.uptime_ms() - unreported_ms
        if gone_ms < AWAY_MS:
            return entry.away
        people = [each is not None and each.kind != "ai" for each in entry.seats]
        return tuple([seat for seat, is_person in enumerate(people) if is_person])

    def _note_report(self, room_id: str, node: str) -> None:
        """Notes that a node has the room open."""
        self._reporters.setdefault(room_id, set()).add(node)
        self._unreported_ms.pop(room_id, None)

    def _take_away_rooms(self) -> set[RoomId]:
        """Returns the rooms of which a player is away now, and forgets them."""
        now_ms = self._ports.uptime_ms()
        away = {room_id for room_id, at_ms in self._away_at_ms.items() if at_ms <= now_ms}
        for room_id in away:
            del self._away_at_ms[room_id]
        return away
