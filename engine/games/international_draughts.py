"""International draughts: flying kings on 100 squares; the largest capture is compulsory."""

import re
from collections.abc import Mapping

import numpy as np

from engine.game import LOST, ONGOING, Option, State, may_run_out_of_moves
from engine.games.international_draughts_parts import board as board_part
from engine.games.international_draughts_parts import evaluation, movement
from engine.games.international_draughts_parts import notation as notation_part
from engine.games.international_draughts_parts.board import (
    COUNTED_PLIES,
    KING_PLIES,
    NUMBER,
    ONE,
    PLIES,
    ROW_BITS,
    THREE_PLIES,
    TWO_PLIES,
    ZERO,
    turn,
)
from engine.games.international_draughts_parts.evaluation import evaluate
from engine.games.international_draughts_parts.movement import (
    MAX_MOVES,
    can_move,
    captured_squares,
    count,
    moves,
    play,
    rank,
    tactical,
    unstable,
)
from engine.games.international_draughts_parts.notation import (
    format_move,
    format_position,
    notation,
    numbers_of,
    parse_move,
    parse_position,
    path_of,
    sides_of,
)
from engine.jit import U, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

__all__ = [
    "MAX_MOVES",
    "count",
    "evaluate",
    "format_move",
    "format_position",
    "moves",
    "notation",
    "parse_move",
    "parse_position",
    "play",
    "rank",
    "tactical",
    "turn",
    "unstable",
]  # fmt: skip

NAME = "international-draughts"
TITLE = "International draughts"
#: The pieces of the side to move, those of the other side, the kings of both; then the side to move
#: with three counts of plies (see the board part).
WORDS = 4
LEVELS = 8
LEVEL_TABLE = (
    (1, 32, 80),
    (100, 15, 770),
    (600, 10, 405),
    (4_000, 5, 265),
    (10_000, 3, 140),
    (25_000, 2, 70),
    (48_000, 1, 24),
)
DISABLED = ("extensions", "replies")  # see docs/reference/ablations.md
OPTIONS: Mapping[str, Option] = {}
DATA = ("data/international_draughts.txt",)
PARTS = (board_part, movement, evaluation, notation_part)
REPETITION = 3
GOAL = "Capture or block all pieces of the other side."
RULES = """Twenty men a side stand on the dark squares of the four rows nearest to their player.
The dark squares are numbered: 1 to 20 are Black's at the start, 31 to 50 are White's. White
begins, and the sides take turns.

A man moves one square forward along a diagonal. A man whose move ends on the last row becomes a
king. A king moves any number of free squares along a diagonal, forward or backward.

A man captures an adjacent piece of the other side, forward or backward, by jumping over it to
the free square behind. A king captures a piece at any distance along a diagonal, if all squares
in between are free, and may land on any free square behind it as far as the next piece. If the
same piece can then jump again it must, in the same move. Pieces that were jumped over are taken
off when the move is over: until then they stand in the way, and none may be jumped over twice. A
man that passes the last row and captures on from there stays a man.

A player who can capture must capture, and must take as many pieces as possible; men and kings
count the same. Between captures of equally many you may choose. Ways that begin and end on the
same squares and take the same pieces are one move.

A player who has no move, because no piece is left or all are blocked, loses.

The match is drawn when the same position with the same side to move occurs for the third time;
when both sides have made 25 moves in a row with kings and without a capture; when both have made
16 moves since one side was left with a single king against three pieces with a king among them;
and when both have made 5 moves since it was left against one or two such pieces.

A move is written with the numbers of its squares: 32-28, and 28x19 for a capture, 28x19x10 with
two jumps."""
#: `can_win` searches positions of at most so many pieces, and at most so many positions.
SEARCHED_PIECES, SEARCHED_STATES = 3, 1000
#: Multipliers of the hash.
MIX_1, MIX_2 = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93)

NAMES = ("White", "Black")


def init(options: Mapping[str, str]) -> State:
    black, white = (U(sum(ROW_BITS[row] for row in rows)) for rows in (range(4), range(6, 10)))
    return (white, black, ZERO, ZERO)


@rule
def status(s: State) -> int:
    return ONGOING if s[0] else LOST


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def is_count_reached(s: State) -> bool:
    """True if one of the three counts of plies has reached its draw."""
    quiet, against_three, against_two = (
        (s[3] >> ONE) & PLIES,
        (s[3] >> U(9)) & PLIES,
        (s[3] >> U(17)) & PLIES,
    )
    return bool(
        quiet >= U(KING_PLIES) or against_three >= U(THREE_PLIES) or against_two >= U(TWO_PLIES)
    )


@rule
def drawn(s: State) -> int:
    return 1 if is_count_reached(s) and can_move(s) else 0


@rule
def hash_state(s: State, counts: np.uint64) -> np.uint64:
    h = s[0] * MIX_1
    h = ((h ^ (h >> U(32))) + s[1]) * MIX_2
    h = ((h ^ (h >> U(29))) + s[2]) * MIX_1
    h = ((h ^ (h >> U(32))) + counts) * MIX_2
    h ^= h >> U(29)
    return h if h != ZERO else ONE


@rule
def key(s: State) -> np.uint64:
    counts_matter = (s[3] >> U(9)) != ZERO or ((s[3] >> ONE) & PLIES) >= U(COUNTED_PLIES)
    return hash_state(s, s[3] if counts_matter else s[3] & ONE)


@rule
def repetition(s: State) -> np.uint64:
    return hash_state(s, s[3] & ONE)


@rule
def reversible(s: State) -> int:
    return int(np.int64((s[3] >> ONE) & PLIES))


def placement(s: State) -> tuple[int, ...]:
    """The pieces and the side to move."""
    return *map(int, s[:3]), turn(s)


def can_win(s: State, seat: int) -> bool:
    """Whether the other seat can be left without a move: its last pieces are taken or blocked.

    A search tells where few pieces are left. It is too generous with more pieces that block each
    other for good, where it ends undecided, and shortly before a draw by a count of moves.
    """
    if popcount(s[0] | s[1]) > SEARCHED_PIECES:
        return True
    return may_run_out_of_moves(
        s, 1 - seat, moves, play, turn, placement, MAX_MOVES, SEARCHED_STATES
    )


def ending(s: State) -> str:
    if not drawn(s):
        return "no move is left" if s[0] else "no piece is left"
    counts = int(s[3])
    if counts >> 1 & 255 >= KING_PLIES:
        return "25 king moves each without a capture"
    return f"{5 if counts >> 17 & 255 >= TWO_PLIES else 16} moves each against a single king"


def _row_names(row: int) -> tuple[str | None, ...]:
    """The cell names of a row, left to right with White at the bottom: 46 to 50 on the lowest."""
    numbers = [str(46 - 5 * row + i) for i in range(5)]
    return tuple(
        [
            cell
            for number in numbers
            for cell in ((number, None) if row % 2 == 0 else (None, number))
        ]
    )


def board(options: Mapping[str, str]) -> BoardView:
    names = tuple(_row_names(row) for row in range(10))
    return BoardView(
        board=Grid(cols=10, rows=10, names=names, style="checker", flips=True),
        kinds={
            "w": Kind(name="white man", side=0, text="w"),
            "W": Kind(name="white king", side=0, shape="stack", text="W"),
            "b": Kind(name="black man", side=1, text="b"),
            "B": Kind(name="black king", side=1, shape="stack", text="B"),
        },
        seats=(SeatView(NAMES[0], "#f3ead6"), SeatView(NAMES[1], "#2f2b28")),
        counted="piece",
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    white, black = sides_of(s)
    kings = int(s[2])
    pieces = {str(number): "W" if kings & bit else "w" for number, bit in numbers_of(white)}
    pieces.update({str(number): "B" if kings & bit else "b" for number, bit in numbers_of(black)})
    last_path = tuple([str(NUMBER[bit]) for bit in path_of(*last)]) if last else ()
    marks = {"last": last_path}
    side = turn(s)
    if not can_move(s):
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", marks, last_path)
    if drawn(s):
        return PositionView(pieces, None, "Draw", marks, last_path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", marks, last_path)


def move_view(s: State, m: int) -> MoveView:
    token = format_move(s, m)
    affects = tuple([str(number) for number, _ in numbers_of(int(captured_squares(m)))])
    return MoveView(id=token, path=tuple(re.split("[-x]", token)), text=token, affects=affects)
