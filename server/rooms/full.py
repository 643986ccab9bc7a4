"""Which commands a full room still takes: those that let its running match end."""

from server.commands import (
    Abort,
    Accept,
    CallDraw,
    Claim,
    ClaimWin,
    Decline,
    Hint,
    Move,
    OfferDraw,
    ReclaimSeat,
    Resign,
    Stand,
)
from server.rooms.model import MAX_EVENTS, Room
from server.rooms.refusals import FULL, FULL_WITHOUT_MOVE, Refusal

#: What a full room takes from people while its match is running. Each of them ends the match, or
#: needs a move or an offer that was made before, so that their number is finite. A hint makes no
#: events. A takeback is not among them: it would make the match endless.
DURING_MATCH = frozenset(
    {
        Move, Resign, Abort, Claim, OfferDraw, Accept, Decline,
        ClaimWin, CallDraw, ReclaimSeat, Hint,
    }
)  # fmt: skip


def refusal_if_full(room: Room, command: type) -> Refusal | None:
    """The reason to refuse a type of command of a person, or a person's new name: the room is full.

    A player may leave the seat of a full room, once: nobody can sit down again.
    """
    if not room.is_full or command is Stand:
        return None
    if command in DURING_MATCH and room.running_match is not None:
        return None
    return FULL if room.v >= MAX_EVENTS else FULL_WITHOUT_MOVE
