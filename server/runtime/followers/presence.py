"""Tells the followers of a room which players are connected, and who has gone for how long."""

import asyncio
from collections.abc import Callable, Container

from msgspec import Struct
from msgspec.structs import replace

from server.bus.base import PageClosed, PresenceReport
from server.events import Occupant
from server.ids import IdentityId, RoomId
from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms.model import Room
from server.runtime.followers.absences import Absences
from server.runtime.followers.bus_flow import BusFlow
from server.runtime.followers.connections import Connections
from server.runtime.followers.followers import Followers

#: Shared by the rooms from which nobody has gone: a node may have 10,000 rooms. Never changed.
NOBODY_GONE: dict[str, int] = {}
#: What a room seeks that seeks nobody.
NOBODY_SOUGHT: frozenset[str] = frozenset()

#: Changes of presence within this time are sent together, in seconds.
PRESENCE_DELAY_S = 0.1


class _Presence(Struct, frozen=True):
    """What a `presence` message says to players. It has times in ms of `Ports.uptime_ms`, since
    the time that is left differs from message to message.
    """

    seats: tuple[bool, ...]
    watching: int
    claimable_at_ms: tuple[int | None, ...]
    elsewhere: tuple[int, ...]
    #: The holders of the seats: a change of them makes players of spectators, and the reverse.
    holders: tuple[Occupant | None, ...]

    def as_seen(self, is_player: bool) -> "_Presence":
        """What it says to a player or to a spectator, who does not read who is elsewhere."""
        return self if is_player or not self.elsewhere else replace(self, elsewhere=())


def _do_nothing() -> None:
    pass


class Presence:
    """The followers of a room, the absences of its players, and the `presence` messages about them.

    `get_room` returns the newest state that this node has, or None before the room is loaded.
    `on_change` is called with the room's id when the presence has changed.
    """

    __slots__ = (
        "_connections",
        "_get_room",
        "_gone_since_ms",
        "_joined_with",
        "_last",
        "_on_change",
        "_ports",
        "_room_id",
        "_sought",
        "_timer",
        "absences",
        "followers",
        "on_absence_change",
    )

    def __init__(
        self,
        room_id: RoomId,
        ports: Ports,
        flow: BusFlow,
        connections: Connections,
        get_room: Callable[[], Room | None],
        on_change: Callable[[RoomId], None],
    ) -> None:
        self._room_id = room_id
        self._ports = ports
        self._connections = connections
        self._get_room = get_room
        self._on_change = on_change
        #: Called when the times have changed at which players may claim.
        self.on_absence_change: Callable[[], None] = _do_nothing
        self.followers = Followers(room_id, ports, self.schedule)
        self.absences = Absences(flow, ports.settings)
        self._timer: asyncio.TimerHandle | None = None
        self._last: _Presence | None = None
        #: While the room waits for a player: since when each person of a seat has no connection, in
        #: ms of `Ports.uptime_ms`.
        self._gone_since_ms: dict[str, int] = NOBODY_GONE
        #: The people whom `_seek` seeks: the absent players, while another player is here.
        self._sought: frozenset[str] = NOBODY_SOUGHT
        #: What the followers received that joined after `_last` was sent.
        self._joined_with: dict[Follower, _Presence] = {}

    def schedule(self) -> None:
        """Schedules a `presence` message to this node's followers, if it differs from the last."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PRESENCE_DELAY_S, self._send)

    def at_join(self, follower: Follower, room: Room) -> wire.Presence:
        """The message for a joining follower.

        The follower receives the next presence message only if it differs from this one.
        """
        presence = self._joined_with[follower] = self._update(room)
        return self._message(presence.as_seen(room.has_player(follower.identity)))

    def on_page_closed(self, identity: IdentityId) -> None:
        """Notes that a player has closed the page, and reports it to the other nodes, unless the
        player has another connection.
        """
        room = self._get_room()
        if room is None or not room.has_player(identity) or self.followers.has_identity(identity):
            return
        self.absences.on_page_closed(identity)
        self._ports.bus.publish(PageClosed(self._room_id, self._ports.node, identity))

    def absent_ms(self, room: Room) -> dict[int, int]:
        """For how long the people of a room that waits for a player have had no connection to it on
        any node, by seat, in ms. Seats of those who have one are left out.
        """
        self._note_gone(room, self.followers.identities())
        now_ms, gone = self._ports.uptime_ms(), self._gone_since_ms
        return {
            seat: now_ms - gone[occupant.identity]
            for seat, occupant in enumerate(room.seats)
            if occupant is not None and occupant.identity in gone
        }

    def _note_gone(self, room: Room, present: Container[str]) -> None:
        """Notes who has no connection. Who had none since this node opened the room may have left
        at its last event.
        """
        if room.match is not None:
            self._gone_since_ms = NOBODY_GONE
            return
        people = {each.identity for each in room.seats if each is not None and each.kind != "ai"}
        absent = [identity for identity in people if identity not in present]
        since_ms = self._ports.uptime_ms()
        if self._last is None:
            since_ms -= max(0, self._ports.now_ms() - room.changed_ms)
        self._gone_since_ms = {
            identity: self._gone_since_ms.get(identity, since_ms) for identity in absent
        } or NOBODY_GONE

    def receive_report(self, report: PresenceReport) -> None:
        """Merges another node's report."""
        self.absences.on_present(report.identities)
        self.followers.receive_report(report)

    def receive_page_closed(self, message: PageClosed) -> None:
        """Notes that a player has closed the page on another node."""
        self.absences.on_page_closed(IdentityId(message.identity))
        self.followers.receive_page_closed(message)  # which drops an absence that is none

    def restart_absences(self) -> None:
        """Begins the times of all absences anew: bus messages about the room were lost."""
        self.absences.restart()
        self.on_delay()

    def on_delay(self) -> None:
        """Sends the new times of absences: the bus was interrupted or flows again, or this node
        could not hear the players for a while.
        """
        if self.absences:
            self.schedule()

    def ask_for_reports(self) -> None:
        """Asks the other nodes for their reports, in case one about an absent player was lost."""
        if self.absences:
            self.followers.publish_presence(asks=True)

    def close(self) -> None:
        """Cancels the scheduled message, if any, and seeks nobody any more."""
        self._seek(NOBODY_SOUGHT)
        if self._timer is not None:
            self._timer.cancel()

    def _update(self, room: Room) -> _Presence:
        """Notes who has gone, seeks those who have, and returns the presence of now."""
        present = self.followers.identities()
        self.absences.update(room, present)
        self._note_gone(room, present)
        seats = tuple(
            occupant is not None and (occupant.kind == "ai" or occupant.identity in present)
            for occupant in room.seats
        )
        absent = {
            seat: occupant.identity
            for seat, (occupant, is_here) in enumerate(zip(room.seats, seats, strict=True))
            if occupant is not None and not is_here
        }
        if not self.followers.has_player:  # whoever else reads does not learn who is on the server
            absent = {}
        self._seek(frozenset(absent.values()) if absent else NOBODY_SOUGHT)
        elsewhere = [seat for seat, each in absent.items() if self._connections.has(each)]
        return _Presence(
            seats, self.followers.watching, self.absences.claimable_at_ms(room), tuple(elsewhere),
            room.seats,
        )  # fmt: skip

    def _seek(self, identities: frozenset[str]) -> None:
        """Seeks these people from now on, and nobody else: the players who are here read who of
        them has a connection to the server.
        """
        before, self._sought = self._sought, identities
        if before != identities:
            self._connections.seek(identities - before, self.schedule)
            self._connections.give_up(before - identities, self.schedule)

    def _message(self, presence: _Presence) -> wire.Presence:
        now_ms = self._ports.uptime_ms()
        gone_ms = tuple(
            [
                None if at_ms is None else max(0, at_ms - now_ms)
                for at_ms in presence.claimable_at_ms
            ]
        )
        return wire.Presence(
            room=self._room_id, seats=presence.seats, watching=presence.watching, gone_ms=gone_ms,
            elsewhere=presence.elsewhere,
        )  # fmt: skip

    def _send(self) -> None:
        """Sends the presence to each follower whose last message differs."""
        self._timer = None
        room = self._get_room()
        if room is None:
            return
        presence = self._update(room)
        last, self._last = self._last, presence
        joined_with, self._joined_with = self._joined_with, {}
        public = presence.as_seen(is_player=False)
        to_players = Outbound(self._message(presence))
        to_spectators = to_players if public is presence else Outbound(self._message(public))
        for follower, is_player in self.followers:
            before = joined_with.get(follower, last)
            if before is None or before.as_seen(is_player) != presence.as_seen(is_player):
                follower.send_ephemeral(to_players if is_player else to_spectators)
        # Nor does a message to the lobby's watchers tell when a player comes to the server.
        if last is not None and last.as_seen(is_player=False) == public:
            return
        self._on_change(self._room_id)
        if last is None or presence.claimable_at_ms != last.claimable_at_ms:
            self.on_absence_change()
