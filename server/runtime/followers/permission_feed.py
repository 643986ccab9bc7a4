"""Sends the players of a room and its host what they are permitted, after each change."""

from collections.abc import Callable

from server.ports import Follower, Ports
from server.protocol import messages as wire
from server.protocol.outbound import Outbound
from server.protocol.views import format_permissions
from server.rooms import permissions
from server.rooms.model import FindAbsence, Room
from server.rooms.permissions import Permission
from server.rooms.thinking import reason_to_withhold
from server.runtime.followers.followers import Followers
from server.runtime.requests import Wake

#: What a viewer is permitted: commands, and to see the thinking.
Permissions = tuple[Permission, ...]


class PermissionFeed:
    """The permissions that this node last sent to each player and to the host.

    Spectators receive their list in `joined`, and when the room begins or ceases to show the
    thinking to them. No other commit costs a message for each of them. `submit` puts a wake-up into
    the room's mailbox.
    """

    __slots__ = (
        "_find_absence",
        "_followers",
        "_last_sent",
        "_ports",
        "_spectators_see_thinking",
        "_submit",
        "next_change_ms",
    )  # fmt: skip

    def __init__(
        self,
        ports: Ports,
        followers: Followers,
        find_absence: FindAbsence,
        submit: Callable[[Wake], object],
    ) -> None:
        self._ports = ports
        self._followers = followers
        self._find_absence = find_absence
        self._submit = submit
        #: The list that each connection of a player or of the host last received.
        self._last_sent: dict[Follower, Permissions] = {}
        #: Whether spectators may see the thinking, by their lists.
        self._spectators_see_thinking = True
        #: The time at which a list changes without an event, in ms of `Ports.uptime_ms`; None for
        #: never.
        self.next_change_ms: int | None = None

    def list_at_join(self, room: Room, follower: Follower) -> tuple[str, ...]:
        """Returns the list for the follower's `joined` message."""
        now_ms = self._ports.now_ms()
        if _is_player_or_host(room, follower):
            permitted = self._last_sent[follower] = self._permitted(room, follower, now_ms)
        else:
            self.forget(follower)
            self._spectators_see_thinking = _spectators_see_thinking(room)
            permitted = permissions.permitted(
                room, follower.identity, now_ms, self._ports.settings, self._find_absence
            )
        return format_permissions(permitted)

    def forget(self, follower: Follower) -> None:
        """Forgets a follower that has left."""
        self._last_sent.pop(follower, None)

    def on_absence_change(self) -> None:
        """Makes the room send the changed lists, after a player has gone or come back."""
        self.next_change_ms = self._ports.uptime_ms()
        self._submit(Wake(change_ms=self.next_change_ms))

    def send_due_changes(self, room: Room, change_ms: int) -> None:
        """Sends the lists that change without an event by the time `change_ms`."""
        if self.next_change_ms is not None and self.next_change_ms <= change_ms:
            for follower, message in self.collect_changes(room).items():
                follower.send(message)

    def collect_changes(self, room: Room) -> dict[Follower, Outbound]:
        """Returns a `may` message for each follower whose list has changed.

        The caller must send them.
        """
        now_ms = self._ports.now_ms()
        self.next_change_ms = None
        last_sent = self._last_sent
        saw_thinking = self._spectators_see_thinking
        self._spectators_see_thinking = _spectators_see_thinking(room)
        concerns_all = self._spectators_see_thinking != saw_thinking
        changes: dict[Follower, Outbound] = {}
        messages: dict[Permissions, Outbound] = {}
        for follower, is_player in self._followers:
            # A player who has just sat down is not in `last_sent` yet; a player who has just stood
            # up still is, and needs the new list.
            if not (is_player or follower in last_sent or concerns_all):
                continue
            permitted = self._permitted(room, follower, now_ms)
            if last_sent.get(follower) != permitted:
                if permitted not in messages:
                    may = wire.May(room=room.id, v=room.v, may=format_permissions(permitted))
                    messages[permitted] = Outbound(may)
                changes[follower] = messages[permitted]
            if _is_player_or_host(room, follower):
                last_sent[follower] = permitted
            else:
                self.forget(follower)
        return changes

    def _permitted(self, room: Room, follower: Follower, now_ms: int) -> Permissions:
        """Returns what a follower is permitted, and updates `next_change_ms`."""
        arguments = room, follower.identity, now_ms, self._ports.settings, self._find_absence
        wait_ms = permissions.next_change_in_ms(*arguments)
        if wait_ms is not None:
            change_ms = self._ports.uptime_ms() + wait_ms
            if self.next_change_ms is None or change_ms < self.next_change_ms:
                self.next_change_ms = change_ms
        return permissions.permitted(*arguments)


def _spectators_see_thinking(room: Room) -> bool:
    match = room.match
    return match is None or reason_to_withhold(match, is_player=False) is None


def _is_player_or_host(room: Room, follower: Follower) -> bool:
    """Whether a follower receives its list after changes. The host does too: it manages the AIs."""
    return follower.identity == room.host or room.has_player(follower.identity)
