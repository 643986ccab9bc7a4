"""The entries of a move list: each move's number and, in games that have one, its notation.

The `moved` events of older logs lack both. This module computes them, so that all clients show the
same list.
"""

from engine.game import Game, GameError, GameFault, Position
from engine.rules.numbering import length_text, move_number
from server.events import Moved
from server.rooms.model import Match, Played


def played_move(event: Moved, game: Game | None, after: Position | None) -> Played:
    """The entry of a move that led to the position `after`.

    Without a game or a position, it has only the fields of the event.
    """
    text, number = event.text, event.number
    if text is None and after is not None:
        try:
            text = after.played() or None
        except GameFault:
            text = None
    if number is None and game is not None:
        number = move_number(game, event.ply, event.seat)
    seat = event.seat if event.seat != event.ply % 2 else None
    return Played(event.move, text, number, event.forced, seat)


def match_length(game: Game | None, match: Match) -> str:
    """Returns the length of a match in words; "" before its first move."""
    return length_text(game, match.ply, match.first_seat) if match.ply else ""


def first_seat(game: Game, start: str, options: dict[str, str]) -> int:
    """The seat that moves first from a start position; 0 if the rules can no longer parse it."""
    try:
        return game.position(start, options).turn
    except (GameError, GameFault):
        return 0
