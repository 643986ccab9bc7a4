"""The turns of a match: in games with extra turns, a side may make several moves in one turn."""

from server.rooms.model import Match


def seat_at(match: Match, ply: int) -> int:
    """The seat that made the move at a ply."""
    seat = match.moves[ply].seat
    return ply % 2 if seat is None else seat


def turns_since(match: Match, ply: int) -> int:
    """The number of turns that began at this ply or later; a negative ply counts as 0."""
    return sum(
        later == 0 or seat_at(match, later) != seat_at(match, later - 1)
        for later in range(max(ply, 0), match.ply)
    )


def second_turn_ply(match: Match) -> int | None:
    """The ply of the first move of the side that moved second; None before it."""
    for ply in range(1, match.ply):
        if seat_at(match, ply) != seat_at(match, 0):
            return ply
    return None
