"""Tells the players of a room, and its host, what they may do whenever that changes."""

from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.commands import format_kinds
from server.protocol.outbound import Outbound
from server.rooms import permissions
from server.rooms.commands import Command
from server.rooms.model import Room
from server.runtime.followers import Followers

#: The types of commands that a viewer may give.
Kinds = tuple[type[Command], ...]


class PermissionFeed:
    """The commands that the players and the host on this node were last told to be permitted.

    Spectators receive their list in `joined` and are not told again, so that a commit costs no
    message for each of them.
    """

    __slots__ = ("_followers", "_ports", "_told", "next_change_ms")

    def __init__(self, ports: Ports, followers: Followers) -> None:
        self._ports = ports
        self._followers = followers
        #: What each player's and the host's connection was last told.
        self._told: dict[Follower, Kinds] = {}
        #: The time at which time alone changes what one of them may do; None for never.
        self.next_change_ms: int | None = None

    def at_join(self, room: Room, follower: Follower) -> tuple[str, ...]:
        """The list for a `joined` of a follower."""
        now_ms = self._ports.now_ms()
        if _is_concerned(room, follower):
            kinds = self._told[follower] = self._permitted(room, follower, now_ms)
        else:
            self.forget(follower)
            kinds = permissions.permitted(room, follower.identity, now_ms, self._ports.settings)
        return format_kinds(kinds)

    def forget(self, follower: Follower) -> None:
        """Forgets a follower that has left."""
        self._told.pop(follower, None)

    def on_time(self, room: Room, at_ms: int) -> None:
        """Sends what the time has changed by `at_ms`."""
        if self.next_change_ms is not None and self.next_change_ms <= at_ms:
            for follower, message in self.changes(room).items():
                follower.send(message)

    def changes(self, room: Room) -> dict[Follower, Outbound]:
        """The messages for those whose list is not the one that they were last sent."""
        now_ms = self._ports.now_ms()
        self.next_change_ms = None
        told = self._told
        changes: dict[Follower, Outbound] = {}
        messages: dict[Kinds, Outbound] = {}
        for follower, is_player in self._followers:
            # A player who has just sat down was not told yet; one who has just left was.
            if not (is_player or follower in told):
                continue
            kinds = self._permitted(room, follower, now_ms)
            if told.get(follower) != kinds:
                if kinds not in messages:
                    may = wire.May(room=room.id, v=room.v, may=format_kinds(kinds))
                    messages[kinds] = Outbound(may)
                changes[follower] = messages[kinds]
            if _is_concerned(room, follower):
                told[follower] = kinds
            else:
                self.forget(follower)
        return changes

    def _permitted(self, room: Room, follower: Follower, now_ms: int) -> Kinds:
        """What a follower may do. Keeps the time at which that changes by itself."""
        subject = room, follower.identity, now_ms, self._ports.settings
        change_ms = permissions.next_change_ms(*subject)
        if change_ms is not None and (
            self.next_change_ms is None or change_ms < self.next_change_ms
        ):
            self.next_change_ms = change_ms
        return permissions.permitted(*subject)


def _is_concerned(room: Room, follower: Follower) -> bool:
    """Whether a follower is told of changes: players are, and the host, who rules the AI seats."""
    return follower.identity == room.host or room.seat_of(follower.identity) is not None
