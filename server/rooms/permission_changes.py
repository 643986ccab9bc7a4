"""Which events leave the permissions of all viewers as they are."""

from collections.abc import Sequence

from engine.view import SEATS
from server.events import Moved, RoomEvent
from server.rooms.model import Match, Room

#: The draw offers of a match in which none was made.
NO_DRAW_OFFERS = (-1,) * SEATS


def leaves_permissions_unchanged(events: Sequence[RoomEvent], room: Room) -> bool:
    """Whether these events, which led to this state of the room, certainly change no result of
    `permitted`, for any identity, if the room was full before them exactly if it is full now.

    It recognizes most moves of a match, and is much faster than `permitted`.
    """
    match = room.match
    return (
        len(events) == 1
        and type(events[0]) is Moved
        and match is not None
        and match.over is None
        and match.draw_offers == NO_DRAW_OFFERS
        and len(match.moves) - 1 not in match.takeback_requests
        and _has_moved_before(match)
        and room.frozen is None
        and match.position is not None
        and not match.substitutions
    )


def _has_moved_before(match: Match) -> bool:
    """Whether the side that moved last had chosen the last but one move before, too.

    It then had a move to take back already, and its first move had ended the right to abort. A seat
    is None where it is that of the ply.
    """
    if len(match.moves) <= SEATS:
        return False
    last, earlier = match.moves[-1], match.moves[-1 - SEATS]
    return (last.seat is None) == (earlier.seat is None) and not earlier.forced
