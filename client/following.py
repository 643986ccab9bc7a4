"""Which messages of a followed room are handed on: each event once, in order and without a gap.
Pure.
"""

from enum import Enum

from client.messages import Happened, RoomMessage
from server.protocol.messages import Join, Joined, Snapshot


class Verdict(Enum):
    """What to do with a message: hand it on, drop it, or join again because something is missing
    before it.
    """

    PASS = "pass"
    DROP = "drop"
    GAP = "gap"


class Following:
    """One room as far as it was handed on: up to event v of an epoch, or not at all while a
    snapshot is wanted.

    Between a join and its `joined` everything is dropped: it belongs to an earlier join.
    """

    def __init__(self, room: str) -> None:
        self.room = room
        self.join_id: str | None = None
        self._v = 0
        self._epoch: str | None = None
        self._wants_snapshot = True

    def join(self, command_id: str) -> Join:
        """The command that starts or resumes the following."""
        self.join_id = command_id
        if self._wants_snapshot:
            return Join(id=command_id, room=self.room)
        return Join(id=command_id, room=self.room, since=self._v, epoch=self._epoch)

    def start_anew(self) -> None:
        """The next join is from 0."""
        self._wants_snapshot = True

    def judge(self, message: RoomMessage) -> Verdict:
        """What to do with the next message of this room."""
        match message:
            case Joined():
                return self._joined(message)
            case _ if self.join_id is not None:
                return Verdict.DROP
            case Snapshot():
                self._v = message.v
                self._wants_snapshot = False
                return Verdict.PASS
            case _ if self._wants_snapshot:
                return Verdict.DROP
            case Happened():
                return self._happened(message.v)
            case _:
                return Verdict.PASS

    def _joined(self, message: Joined) -> Verdict:
        self.join_id = None
        if self._epoch not in (None, message.epoch):
            self._wants_snapshot = True
        self._epoch = message.epoch
        return Verdict.PASS

    def _happened(self, v: int) -> Verdict:
        if v <= self._v:
            return Verdict.DROP
        if v > self._v + 1:
            self._wants_snapshot = True
            return Verdict.GAP
        self._v = v
        return Verdict.PASS
