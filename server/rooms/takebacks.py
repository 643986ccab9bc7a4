"""Which moves a takeback takes back, and whether another player must agree. Pure functions."""

from server.rooms.model import Match, Room, TakebackOffer


def takeback_ply(room: Room, match: Match, seat: int) -> int | None:
    """The ply to which a takeback of a seat returns; None if there is no move to take back.

    It is that of the last move that the seat chose itself: two plies back if the opponent has
    answered, one if not, and more after extra turns. On one screen it is the last move of either
    side.
    """
    return match.last_ply_of(None if room.one_screen else seat)


def takes_back_at_once(room: Room, match: Match, seat: int) -> bool:
    """Whether a seat takes its move back without asking: against an AI, and on one screen."""
    return room.one_screen or match.seats[1 - seat].kind == "ai"


def takeback_offer_of(room: Room, seat: int) -> TakebackOffer | None:
    """The open request of a seat to take moves back, or None."""
    return next((offer for offer in room.takeback_offers if offer.seat == seat), None)


def takes_back_absent_move(match: Match, seat: int, to_ply: int) -> bool:
    """Whether a takeback would undo a move of the opponent, for whom an AI plays on.

    The opponent is away and cannot agree; the moves of the AI may be undone.
    """
    if match.seats[1 - seat].kept_for is None:
        return False
    plies = (each.ply for each in match.substitutions if each.seat == 1 - seat)
    taken_over = max(plies, default=0)
    return any(match.mover(ply) == 1 - seat for ply in range(to_ply, taken_over))
