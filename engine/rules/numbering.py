"""Move numbers and match lengths as text, by the game's `NUMBERING`.

Move lists, replays, the terminal and the lobby all use this module, so they agree. Plies count
from 0.
"""

from engine.game import Game


def move_number(game: Game, ply: int, seat: int) -> str:
    """Returns the number before a move: "3." for the first side, "3..." for the second; "6." in a
    game that numbers plies.

    A match that the second side begins starts with "1...".
    """
    if game.rules.NUMBERING == "ply":
        return f"{ply + 1}."
    offset = (seat - ply) % 2  # 1 if the second side began
    return f"{(ply + offset) // 2 + 1}{'...' if seat else '.'}"


def length_text(game: Game | None, plies: int, first: int = 0) -> str:
    """Returns the length of a match: "23 moves", or "45 plies" if the game is unknown.

    A last move that only one side has made counts as a move; `first` is the seat that began.
    """
    if game is None:
        return f"{plies} pl{'y' if plies == 1 else 'ies'}"
    count = plies if game.rules.NUMBERING == "ply" or not plies else (plies + first + 1) // 2
    return f"{count} move{'' if count == 1 else 's'}"
