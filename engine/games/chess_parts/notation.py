"""Chess moves as text: coordinates (UCI) and standard algebraic notation (SAN)."""

import re

from engine.game import State
from engine.games.chess_parts.board import (
    DIAGONALS,
    KING,
    KINGS,
    KNIGHTS,
    ONE,
    OWN,
    PAWN,
    PAWNS,
    STRAIGHTS,
    THEIRS,
    in_check,
    kind_at,
    turn,
)
from engine.games.chess_parts.fen import (
    CELLS,
    LETTERS,
)
from engine.games.chess_parts.movement import (
    MAX_MOVES,
    count_moves,
    moves,
    play,
)
from engine.jit import U

#: A move that is never legal; the result of a well-formed text that matches no legal move.
NO_MOVE = 0
UCI = re.compile("([a-h][1-8])([a-h][1-8])([nbrq]?)")
SAN = re.compile("([KQRBN]?)([a-h]?)([1-8]?)[x-]?([a-h][1-8])(?:=?([QRBN]))?[+#]?")
CASTLING = re.compile("(?:O-O|0-0)(-[O0])?[+#]?")


def parse_move(s: State, text: str) -> int:
    uci = UCI.fullmatch(text)
    if uci:
        origin, target, kind = uci.groups()
        return (
            CELLS.index(origin)
            | CELLS.index(target) << 6
            | (".nbrq".index(kind) if kind else 0) << 12
        )
    castling = CASTLING.fullmatch(text)
    if castling:
        origin, step = 60 if turn(s) else 4, -2 if castling[1] else 2
        return origin | origin + step << 6 if int(s[KINGS] & s[OWN]) >> origin & 1 else NO_MOVE
    san = SAN.fullmatch(text)
    if not san:
        raise ValueError("a move is written like e2e4, e7e8q, Nf3, exd5, e8=Q or O-O")
    return _find_move(s, *san.groups())


def _find_move(
    s: State, letter: str, file: str, rank: str, target: str, promotion: str | None
) -> int:
    """The legal move that matches, or NO_MOVE; ValueError if several match."""
    kind, promoted = "PNBRQK".index(letter or "P"), ".NBRQ".index(promotion or ".")
    matching = [
        m
        for m in _legal_moves(s)
        if CELLS[m >> 6 & 63] == target
        and m >> 12 == promoted
        and kind_at(s, ONE << U(m & 63)) == kind
        and not is_castling(kind, m)
        and CELLS[m & 63][0] == (file or CELLS[m & 63][0])
        and CELLS[m & 63][1] == (rank or CELLS[m & 63][1])
    ]
    if len(matching) > 1:
        raise ValueError("several pieces can go there: say from which row or column")
    return matching[0] if matching else NO_MOVE


def _legal_moves(s: State) -> list[int]:
    buffer = [0] * MAX_MOVES
    return buffer[: moves(s, buffer)]


def is_castling(kind: int, m: int) -> bool:
    return kind == KING and abs((m & 63) - (m >> 6 & 63)) == 2


def format_move(s: State, m: int) -> str:
    return CELLS[m & 63] + CELLS[m >> 6 & 63] + ("", "n", "b", "r", "q")[m >> 12]


def notation(s: State, m: int) -> str:
    """The move in standard algebraic notation."""
    after = play(s, m)
    mark = "" if not in_check(after) else "+" if count_moves(after) else "#"
    kind = kind_at(s, ONE << U(m & 63))
    if is_castling(kind, m):
        return ("O-O-O" if m & 63 > m >> 6 & 63 else "O-O") + mark
    origin, target = CELLS[m & 63], CELLS[m >> 6 & 63]
    if kind == PAWN:
        captures = origin[0] != target[0]
        promoted = "=" + LETTERS[m >> 12] if m >> 12 else ""
        return (f"{origin[0]}x" if captures else "") + target + promoted + mark
    captures = bool(s[THEIRS] >> U(m >> 6 & 63) & ONE)
    return LETTERS[kind] + _disambiguation(s, m, kind) + ("x" if captures else "") + target + mark


def _disambiguation(s: State, m: int, kind: int) -> str:
    """The disambiguation of a move: its column, else its row, else both; empty if it is unique."""
    diagonals, straights = s[DIAGONALS], s[STRAIGHTS]
    same_kind = int(
        s[OWN] & (s[PAWNS], s[KNIGHTS], diagonals, straights, diagonals & straights, s[KINGS])[kind]
    )
    if same_kind & same_kind - 1 == 0:  # skip the slow list of moves
        return ""
    rivals = [
        CELLS[other & 63]
        for other in _legal_moves(s)
        if other >> 6 == m >> 6 and other != m and kind_at(s, ONE << U(other & 63)) == kind
    ]
    origin = CELLS[m & 63]
    if not rivals:
        return ""
    if all(rival[0] != origin[0] for rival in rivals):
        return origin[0]
    if all(rival[1] != origin[1] for rival in rivals):
        return origin[1]
    return origin
