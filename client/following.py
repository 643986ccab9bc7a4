"""Filters the messages of a followed room: each event passes once, in order and without a gap.

This module does no I/O.
"""

from enum import Enum

from client.messages import LoggedEvent, RoomMessage
from server.protocol.messages import Join, Joined, Snapshot


class Verdict(Enum):
    """What the connection does with a message.

    PASS hands it to the reader, DROP ignores it, and GAP means that events are missing: the
    connection joins again.
    """

    PASS = "pass"
    DROP = "drop"
    GAP = "gap"


class Subscription:
    """The position in one room's log: the last event that passed, and the log's epoch.

    Between a `join` and its `joined` every message is dropped, because it belongs to an earlier
    join. After a gap every message except `joined` is dropped until a snapshot arrives.
    """

    def __init__(self, room: str) -> None:
        self.room = room
        self.join_id: str | None = None
        self._v = 0
        self._epoch: str | None = None
        self._needs_snapshot = True

    def join(self, command_id: str) -> Join:
        """Returns the command that starts the subscription, or resumes it after the last event."""
        self.join_id = command_id
        if self._needs_snapshot:
            return Join(id=command_id, room=self.room)
        return Join(id=command_id, room=self.room, since=self._v, epoch=self._epoch)

    @property
    def may_resume(self) -> bool:
        """Whether a join can continue after the last event: no event is missing or on its way."""
        return self.join_id is None and not self._needs_snapshot

    def join_elsewhere(self, command_id: str) -> Join:
        """Returns the command that joins the room on another socket, after the last event.

        Unlike after `join`, the messages that arrive on the current socket are still passed on.
        """
        return Join(id=command_id, room=self.room, since=self._v, epoch=self._epoch)

    def require_snapshot(self) -> None:
        """Makes the next join start from event 0, so that the server sends a snapshot."""
        self._needs_snapshot = True

    def check(self, message: RoomMessage) -> Verdict:
        """Returns what to do with the next message of this room, and records its position."""
        match message:
            case Joined():
                return self._check_joined(message)
            case _ if self.join_id is not None:
                return Verdict.DROP
            case Snapshot():
                self._v = message.v
                self._needs_snapshot = False
                return Verdict.PASS
            case _ if self._needs_snapshot:
                return Verdict.DROP
            case LoggedEvent():
                return self._check_event(message.v)
            case _:
                return Verdict.PASS

    def _check_joined(self, message: Joined) -> Verdict:
        self.join_id = None
        if self._epoch not in (None, message.epoch):
            self._needs_snapshot = True
        self._epoch = message.epoch
        return Verdict.PASS

    def _check_event(self, v: int) -> Verdict:
        if v <= self._v:
            return Verdict.DROP
        if v > self._v + 1:
            self._needs_snapshot = True
            return Verdict.GAP
        self._v = v
        return Verdict.PASS
