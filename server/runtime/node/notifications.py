"""Tells players what waits for them in rooms that they are not in."""

from collections.abc import Callable

from server.bus.base import NodeMessage, NotificationSent
from server.ids import IdentityId, RoomId
from server.ports import Ports
from server.protocol import notifications
from server.protocol.messages import Notification
from server.protocol.outbound import Outbound
from server.rooms.model import Room
from server.runtime.followers.connections import Connections
from server.runtime.log import Cause
from server.runtime.observers import RoomCommit
from server.runtime.room.room_runner import RoomRunner


class Notifications:
    """The messages to the connections of players who are elsewhere.

    A commit costs a look at the connections of the two players; a stranger's connection costs an
    entry in a dictionary.
    """

    def __init__(
        self,
        ports: Ports,
        connections: Connections,
        get_runner: Callable[[RoomId], RoomRunner | None],
    ) -> None:
        self._ports = ports
        self._connections = connections
        self._get_runner = get_runner

    def on_commit(self, commit: RoomCommit) -> None:
        """Tells the players who are not in the room what has begun or ceased to wait for them.

        Nothing waits for a player in the room: what the player was told before is taken back.
        """
        before, after = commit.before, commit.after
        runner = self._get_runner(after.id)
        if before is None or runner is None:
            return
        seats = (*before.seats, *(after.seats if after.seats is not before.seats else ()))
        players = {each.identity for each in seats if each is not None and each.kind != "ai"}
        for identity in players:
            is_in, is_cleared = self._is_in(runner, identity), identity in runner.cleared
            if is_in and is_cleared:
                continue
            if is_cleared:
                runner.cleared = tuple(each for each in runner.cleared if each != identity)
            is_here = bool(self._connections.of(identity))
            is_sole = self._ports.settings.is_sole_node
            if not is_here and (is_sole or commit.cause is not Cause.COMMITTED):
                continue
            if is_in:
                # Former players go here, since no later commit looks at them.
                seated = (each for each in runner.cleared if each in players)
                runner.cleared = (*seated, identity)
            message = _change(before, after, identity, is_in)
            if message is None:
                continue
            self._send(IdentityId(identity), message)
            if commit.cause is Cause.COMMITTED:
                sent = NotificationSent(self._ports.node, identity, message)
                self._ports.bus.publish(sent)

    def on_message(self, message: NodeMessage) -> None:
        """Sends another node's notification to this node's connections of the player.

        A node that has the room open sends its own, after the commit.
        """
        if not isinstance(message, NotificationSent) or message.node == self._ports.node:
            return
        identity = IdentityId(message.identity)
        runner = self._get_runner(RoomId(message.notification.room))
        if runner is None or runner.room is None:
            self._send(identity, message.notification)

    def _is_in(self, runner: RoomRunner, identity: str) -> bool:
        """Whether a connection of the identity follows the room, on any node."""
        followers = runner.followers
        for follower in self._connections.of(identity):
            if follower in followers:
                return True
        return followers.is_elsewhere(identity)

    def _send(self, identity: IdentityId, message: Notification) -> None:
        outbound = Outbound(message)
        for follower in self._connections.of(identity):
            follower.send_ephemeral(outbound)


def _change(before: Room, after: Room, identity: str, is_in: bool) -> Notification | None:
    """What a player's connections elsewhere must be told after a commit; None for nothing."""
    if is_in:  # whether the player was told of it, perhaps by another node, nobody remembers
        may_show = notifications.of_room(before, identity, has_ended=True).what
        return Notification(room=after.id) if may_show else None
    has_ended = before.running_match is not None and after.running_match is None
    message = notifications.of_room(after, identity, has_ended=has_ended)
    return None if message == notifications.of_room(before, identity) else message
