"""The history checker on a match whose player goes: it accepts a correct history, and no other."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from server.commands import LetAiPlay, ReclaimSeat, Resign
from server.protocol.codec import event_frame
from server.rooms.model import Absence
from tests.oracle.history import MIN_GONE_S, READER, History, Message, check
from tests.support.room_log import ADA, BEN, ROOM, plain, seated

#: A change of the recorded history, which plants a fault.
Change = Callable[["Recording"], None]
#: The version of the event that a test changes or adds.
TOOK_OVER_V, RETURNED_V = 8, 9
#: The moves before them: both players have moved, and Ben is to move.
MOVES = "a1 b1 a2"


class Recording:
    """A match that Ben leaves and comes back to, as the clients record it: the committed events,
    the times at which Ben was connected, and what Ben received besides.
    """

    def __init__(self) -> None:
        played = seated()
        played.moves(MOVES)
        played.find_absence = lambda identity: Absence(0, 0) if identity == BEN.identity else None
        played.do(ADA, plain(LetAiPlay))
        played.do(BEN, plain(ReclaimSeat))
        played.do(ADA, plain(Resign))
        self.events: list[Message] = [
            json.loads(event_frame(ROOM, v, at_ms, body))
            for v, (at_ms, body) in enumerate(played.log, 1)
        ]
        self.connected_s = [(0.0, 10.0), (100.0, 200.0)]
        self.claimed_s = 10.0 + MIN_GONE_S + 1
        self.claim, self.claimed_v = "let_ai_play", TOOK_OVER_V
        self.shown_to_ben: list[Message] = []

    def history(self) -> History:
        records: list[tuple[float, str, int, Any, Message]] = []

        def add(at_s: float, client: str, session: int, direction: Any, **message: Any) -> None:
            records.append((at_s, client, session, direction, message))

        def join(at_s: float, client: str, session: int, since: int) -> None:
            add(at_s, client, session, "out", t="join", id="j", room=ROOM, since=since)
            add(at_s, client, session, "in", t="ack", id="j", v=None)
            add(at_s, client, session, "in", **joined, description=description)

        joined = {"t": "joined", "room": ROOM, "v": len(self.events), "epoch": "e"}
        description = {"game": "tic-tac-toe", "options": {}}
        for client, session in (("ada", 1), (READER, 9)):
            add(0.0, client, session, "in", t="welcome", identity=client, epoch="e")
        join(0.0, "ada", 1, 4)
        for session, (since_s, until_s) in enumerate(self.connected_s, 2):
            add(since_s, "ben", session, "in", t="welcome", identity="ben", epoch="e")
            join(since_s, "ben", session, 4)
            add(until_s, "ben", session, "close")
        for message in self.shown_to_ben:
            add(110.0, "ben", 3, "in", **message)
        for ply, move in enumerate(MOVES.split()):
            client, session = (("ada", 1), ("ben", 2))[ply % 2]
            key = f"m{ply}"
            add(1.0 + ply, client, session, "out", t="move", id=key, room=ROOM, ply=ply, move=move)
            add(1.0 + ply, client, session, "in", t="ack", id=key, v=5 + ply)
        claim = {"t": self.claim, "id": "c", "room": ROOM}
        add(self.claimed_s, "ada", 1, "out", **claim)
        add(self.claimed_s, "ada", 1, "in", t="ack", id="c", v=self.claimed_v)
        join(300.0, READER, 9, 1)
        for event in self.events[1:]:
            add(300.0, READER, 9, "in", **event)
        history = History()
        for at_s, client, session, direction, message in sorted(records, key=lambda r: r[0]):
            history.add(at_s, client, session, direction, message)
        return history


def faults(change: Change) -> set[str]:
    recording = Recording()
    change(recording)
    return {fault.split(":")[0] for fault in check(recording.history())}


def test_a_correct_history_is_accepted() -> None:
    """A player who has gone for long enough, and returns later, is no fault."""
    assert faults(lambda recording: None) == set()


def claimed_too_early(recording: Recording) -> None:
    recording.claimed_s = 10.0 + MIN_GONE_S - 1


def claimed_while_connected(recording: Recording) -> None:
    recording.claimed_s = 5.0


def another_person_returned(recording: Recording) -> None:
    recording.events[RETURNED_V - 1]["occupant"] = {"identity": "cyd", "name": "Cyd"}


def kept_for_another_person(recording: Recording) -> None:
    recording.events[TOOK_OVER_V - 1]["occupant"]["kept_for"]["identity"] = "cyd"


def a_person_took_over(recording: Recording) -> None:
    recording.events[TOOK_OVER_V - 1]["occupant"]["kind"] = "guest"


def count_again(recording: Recording) -> None:
    """Gives the events the versions of their order."""
    for v, event in enumerate(recording.events, 1):
        event["v"] = v


def claimed_on_ones_own_move(recording: Recording) -> None:
    """Ben moves before he goes, so Ada is to move when she claims."""
    moved = {**recording.events[TOOK_OVER_V - 2], "ply": 3, "seat": 1, "move": "b2"}
    recording.events.insert(TOOK_OVER_V - 1, moved)
    count_again(recording)
    recording.claimed_v = TOOK_OVER_V + 1


def drawn_on_ones_own_move(recording: Recording) -> None:
    """The event does not say who called the draw: the ack of the claim does."""
    claimed_on_ones_own_move(recording)
    match, winner = recording.events[TOOK_OVER_V]["match"], None
    finished = {"kind": "finished", "match": match, "winner": winner, "how": "gone", "reason": ""}
    head = {key: recording.events[TOOK_OVER_V][key] for key in ("t", "room", "v", "at")}
    recording.events[TOOK_OVER_V:] = [{**head, **finished}]
    recording.claim = "call_draw"


def claimed_before_both_had_moved(recording: Recording) -> None:
    """Only Ada has moved."""
    del recording.events[TOOK_OVER_V - 3 : TOOK_OVER_V - 1]
    count_again(recording)
    recording.claimed_v = TOOK_OVER_V - 2


def a_line_of_spectators_was_shown(recording: Recording) -> None:
    """While the AI keeps Ben's seat, Ben receives a line for spectators."""
    body = {"kind": "said", "identity": "cyd", "name": "Cyd", "text": "psst", "to": "spectators"}
    shown: Message = {"t": "event", "room": ROOM, "v": RETURNED_V, "at": 1, **body}
    recording.events.insert(RETURNED_V - 1, shown)
    count_again(recording)
    recording.shown_to_ben = [recording.events[TOOK_OVER_V - 1], shown]


@pytest.mark.parametrize(
    ("change", "invariant"),
    [
        (claimed_too_early, "I33"),
        (claimed_while_connected, "I33"),
        (claimed_on_ones_own_move, "I34"),
        (drawn_on_ones_own_move, "I34"),
        (claimed_before_both_had_moved, "I35"),
        (another_person_returned, "I12"),
        (kept_for_another_person, "I12"),
        (a_person_took_over, "I12"),
        (a_line_of_spectators_was_shown, "I14"),
    ],
)
def test_the_fault_is_found(change: Change, invariant: str) -> None:
    """The checker reports the planted fault under its invariant."""
    assert invariant in faults(change)
