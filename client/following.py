"""Decides which messages of a followed room reach the reader: each event once, without a gap.

This module does no I/O.
"""

from enum import Enum

from client.messages import Happened, RoomMessage
from server.protocol.messages import Join, Joined, Snapshot


class Verdict(Enum):
    """What to do with a message: pass it on, drop it, or join again because events are missing."""

    PASS = "pass"
    DROP = "drop"
    GAP = "gap"


class Following:
    """The position in one room: up to event v of an epoch, or none while a snapshot is needed.

    Between a join and its `joined` every message is dropped: it belongs to an earlier join.
    """

    def __init__(self, room: str) -> None:
        self.room = room
        self.join_id: str | None = None
        self._v = 0
        self._epoch: str | None = None
        self._wants_snapshot = True

    def join(self, command_id: str) -> Join:
        """The command that starts or resumes the subscription."""
        self.join_id = command_id
        if self._wants_snapshot:
            return Join(id=command_id, room=self.room)
        return Join(id=command_id, room=self.room, since=self._v, epoch=self._epoch)

    def start_anew(self) -> None:
        """Makes the next join start from 0."""
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
