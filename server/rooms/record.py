"""The record of a match: the moves of its log that were not taken back."""

from collections.abc import Iterable

from msgspec import Struct

from server.events import Moved, RoomEvent, TookBack


class RecordedMove(Struct, frozen=True):
    """A move of the record, with the version of its event in the room's log."""

    v: int
    event: Moved


def moves_of(events: Iterable[tuple[int, RoomEvent]], match: str) -> list[RecordedMove]:
    """The moves of a match that were not taken back, in the order of their plies.

    `events` are the room's events with their versions, in the order of the log; those of other
    matches are ignored. A move at the ply of an earlier one replaces it and the moves after it, so
    the moves that an unknown event of a newer version took back are left out too.
    """
    moves: list[RecordedMove] = []
    for v, event in events:
        if isinstance(event, Moved) and event.match == match:
            del moves[max(0, event.ply) :]
            moves.append(RecordedMove(v, event))
        elif isinstance(event, TookBack) and event.match == match:
            del moves[max(0, event.to_ply) :]
    return moves
