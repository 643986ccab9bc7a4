"""How the moves of a match are numbered and counted where people see them, as the game's
`NUMBERING` says.

One place decides, so that a list of moves, a replay, a terminal and the lobby say the same. A ply
counts from 0.
"""

from engine.game import Game


def move_number(game: Game, ply: int, seat: int) -> str:
    """The number before a move: "3." for the first side, "3..." for the second; "6." where each ply
    has its own.

    A match that the second side begins has "1..." as its first move.
    """
    if game.numbering == "ply":
        return f"{ply + 1}."
    ahead = (seat - ply) % 2  # 1: the second side began
    return f"{(ply + ahead) // 2 + 1}{'...' if seat else '.'}"


def length_text(game: Game | None, plies: int, first: int = 0) -> str:
    """How long a match is: "23 moves", the last of which may be half a one; `first` is the seat
    that began.

    Of a game that is not here only the plies are known: "45 plies".
    """
    if game is None:
        return f"{plies} pl{'y' if plies == 1 else 'ies'}"
    count = plies if game.numbering == "ply" or not plies else (plies + first + 1) // 2
    return f"{count} move{'' if count == 1 else 's'}"
