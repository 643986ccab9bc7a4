"""Tells the players of a room, and its host, what they may do whenever that changes."""

import asyncio
from collections.abc import Callable, Mapping

from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.rooms import permissions
from server.rooms.model import ChatLimits, Room
from server.runtime.followers import Followers

#: Messages for single followers, when there are none.
NO_MESSAGES: Mapping[Follower, Outbound] = {}


class PermissionFeed:
    """The commands that the players and the host on this node were last told to be permitted.

    `get_room` returns the room as this node last saw it, None before it is loaded. Spectators
    receive their list in `joined` and are not told again, so that a commit costs no message for
    each of them.
    """

    __slots__ = ("_followers", "_get_room", "_limits", "_ports", "_timer", "_told")

    def __init__(
        self, ports: Ports, followers: Followers, get_room: Callable[[], Room | None]
    ) -> None:
        self._ports = ports
        self._followers = followers
        self._get_room = get_room
        self._limits = ChatLimits(ports.settings.limit_chat, ports.settings.limit_chat_room)
        #: The list that each player's and the host's connection was last sent.
        self._told: dict[Follower, tuple[str, ...]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def at_join(self, follower: Follower, room: Room) -> tuple[str, ...]:
        """The list for the `joined` of a follower."""
        names = self._permitted(room, follower.identity, self._ports.now_ms())
        if _is_concerned(room, follower.identity):
            self._told[follower] = names
        return names

    def forget(self, follower: Follower) -> None:
        """Forgets a follower that has left."""
        self._told.pop(follower, None)

    def after_events(self, before: Room | None, room: Room) -> Mapping[Follower, Outbound]:
        """The messages for those whose list events have changed."""
        if before is not None and permissions.permits_the_same(before, room):
            return NO_MESSAGES
        return self._changes(room)

    def close(self) -> None:
        """Stops the timer, if any."""
        if self._timer is not None:
            self._timer.cancel()

    def _changes(self, room: Room) -> dict[Follower, Outbound]:
        """The messages for those whose list is not the one that they were last sent."""
        now_ms = self._ports.now_ms()
        told = self._told
        changes: dict[Follower, Outbound] = {}
        newest: tuple[str, ...] | None = None
        for follower, is_player in self._followers:
            # A player who has just sat down was not told yet; one who has just left, or the host,
            # was.
            if not (is_player or follower in told):
                continue
            names = self._permitted(room, follower.identity, now_ms)
            if told.get(follower) != names:
                told[follower] = names
                if names != newest:  # the players' lists are mostly the same
                    newest = names
                    message = Outbound(wire.May(room=room.id, v=room.v, may=names))
                changes[follower] = message
            if not is_player and follower.identity != room.host:
                del told[follower]
        return changes

    def _permitted(self, room: Room, identity: str, now_ms: int) -> tuple[str, ...]:
        """The list of an identity; if time alone will change it, that is looked at again then."""
        names = permissions.permitted(room, identity, now_ms, self._limits)
        if "chat" not in names and _is_concerned(room, identity):
            due_ms = permissions.next_change_ms(room, identity, now_ms, self._limits)
            if due_ms is not None:
                self._look_again((due_ms - now_ms) / 1000)
        return names

    def _look_again(self, delay_s: float) -> None:
        """Sends what has changed after a time; the earliest of several times counts."""
        loop = asyncio.get_running_loop()
        if self._timer is not None:
            if self._timer.when() <= loop.time() + delay_s:
                return
            self._timer.cancel()
        self._timer = loop.call_later(delay_s, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        room = self._get_room()
        if room is not None:
            for follower, message in self._changes(room).items():
                follower.send(message)


def _is_concerned(room: Room, identity: str) -> bool:
    """Whether an identity is told of changes: players are, and the host, who rules the AI seats."""
    return identity == room.host or room.seat_of(identity) is not None
