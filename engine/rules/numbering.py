"""Move numbers and match lengths as people see them, by the game's `NUMBERING`.

One module decides, so that move lists, replays, the terminal and the lobby agree. Plies count from
0.
"""

from engine.game import Game


def move_number(game: Game, ply: int, seat: int) -> str:
    """The number before a move: "3." for the first side, "3..." for the second; "6." where each ply
    has its own number.

    A match that the second side begins has "1..." as its first move.
    """
    if game.rules.NUMBERING == "ply":
        return f"{ply + 1}."
    ahead = (seat - ply) % 2  # 1 if the second side began
    return f"{(ply + ahead) // 2 + 1}{'...' if seat else '.'}"


def length_text(game: Game | None, plies: int, first: int = 0) -> str:
    """The length of a match: "23 moves", or "45 plies" where the game is unknown.

    The last move may be half a one; `first` is the seat that began.
    """
    if game is None:
        return f"{plies} pl{'y' if plies == 1 else 'ies'}"
    count = plies if game.rules.NUMBERING == "ply" or not plies else (plies + first + 1) // 2
    return f"{count} move{'' if count == 1 else 's'}"
