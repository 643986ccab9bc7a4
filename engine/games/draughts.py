"""English draughts (American checkers): short kings on 64 squares, compulsory captures."""

import re
from collections.abc import Mapping

import numpy as np

from engine.game import LOST, ONGOING, Option, State, may_run_out_of_moves
from engine.games.draughts_parts import board as board_part
from engine.games.draughts_parts import evaluation, movement, tables
from engine.games.draughts_parts import notation as notation_part
from engine.games.draughts_parts.board import (
    COUNTED_PLIES,
    DRAW_PLIES,
    NUMBER,
    ONE,
    ROW_BITS,
    ZERO,
    turn,
)
from engine.games.draughts_parts.evaluation import evaluate
from engine.games.draughts_parts.movement import (
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
from engine.games.draughts_parts.notation import (
    format_move,
    format_position,
    notation,
    numbers_of,
    parse_move,
    parse_position,
    path_of,
    sides_of,
)
from engine.games.draughts_parts.tables import (
    SLICES,
    TABLE_BYTES,
    TABLE_PIECES,
    TABLES_OFFSET,
    probe,
    table_index,
)
from engine.jit import U, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

__all__ = [
    "MAX_MOVES",
    "SLICES",
    "TABLES_OFFSET",
    "TABLE_BYTES",
    "TABLE_PIECES",
    "count",
    "evaluate",
    "format_move",
    "format_position",
    "moves",
    "notation",
    "parse_move",
    "parse_position",
    "play",
    "probe",
    "rank",
    "table_index",
    "tactical",
    "turn",
    "unstable",
]  # fmt: skip

NAME = "draughts"
TITLE = "Draughts"
#: The pieces of the side to move, those of the other side, the kings of both; then in bit 0 the
#: side to move (0 Black) and from bit 1 the plies since a capture or a man's move.
WORDS = 4
LEVELS = 8
LEVEL_TABLE = (
    (1, 24, 50),
    (100, 20, 700),
    (1_000, 10, 460),
    (5_000, 5, 300),
    (13_000, 3, 195),
    (25_000, 2, 100),
    (50_000, 1, 27),
)
ALIASES = ("checkers",)
OPTIONS: Mapping[str, Option] = {}
DATA = ("data/draughts.txt",)
PARTS = (board_part, movement, evaluation, tables, notation_part)
SOLVER = "engine.solvers.draughts"
SOLVER_NODES = 1  # the tables need no search
REPETITION = 3
#: Quiescence already plays out captures; with extensions for them the tree was 15 times as large. A
#: table probe at each quiescence node costs more time than it saves. For malus see
#: docs/reference/ablations.md.
DISABLED = ("extensions", "quiet-table", "malus")
GOAL = "Capture or block all pieces of the other side."
RULES = """Twelve men a side stand on the dark squares of the three rows nearest to their player.
The dark squares are numbered: 1 to 12 are Black's at the start, 21 to 32 are White's. Black
begins, and the sides take turns.

A man moves one square forward along a diagonal. A man that reaches the last row becomes a king,
and its move ends there. A king moves one square along a diagonal, forward or backward.

A piece captures an adjacent piece of the other side by jumping over it to the free square behind
it: men only forward, kings in all four directions. If it can then jump again it must, in the
same move, until it can jump no more; all pieces that it jumped over are taken off. A player who
can capture must capture. With several captures to choose from you may take any of them, also one
that takes fewer pieces, but you must finish the one that you began.

A player who has no move, because no piece is left or all are blocked, loses.

The match is drawn when the same position with the same side to move occurs for the third time,
and when both sides have made 40 moves in a row in which nothing was captured and no man moved.
By the rules of the World Checkers/Draughts Federation a player has to claim these draws; here
they are automatic.

A move is written with the numbers of its squares: 11-15, and 22x15 for a capture, 1x10x17 with
two jumps."""
#: `can_win` searches positions of at most so many pieces, and at most so many positions: two kings
#: reach 1,024.
SEARCHED_PIECES, SEARCHED_STATES = 4, 1100
#: Multipliers of the hash.
MIX_1, MIX_2 = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93)

NAMES = ("Black", "White")


def init(options: Mapping[str, str]) -> State:
    black, white = (U(sum(ROW_BITS[row] for row in rows)) for rows in (range(3), range(5, 8)))
    return (black, white, ZERO, ZERO)


@rule
def status(s: State) -> int:
    return ONGOING if s[0] else LOST


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def drawn(s: State) -> int:
    return 1 if (s[3] >> ONE) >= U(DRAW_PLIES) and can_move(s) else 0


@rule
def hash_state(s: State, counts: np.uint64) -> np.uint64:
    h = s[0] * MIX_1
    h = ((h ^ (h >> U(32))) + s[1]) * MIX_2
    h = ((h ^ (h >> U(29))) + s[2] + (counts << U(40))) * MIX_1
    h ^= h >> U(32)
    return h if h != ZERO else ONE


@rule
def key(s: State) -> np.uint64:
    return hash_state(s, s[3] if (s[3] >> ONE) >= U(COUNTED_PLIES) else s[3] & ONE)


@rule
def repetition(s: State) -> np.uint64:
    return hash_state(s, s[3] & ONE)


@rule
def reversible(s: State) -> int:
    return int(np.int64(s[3] >> ONE))


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
    if drawn(s):
        return "40 moves each without a capture or a man's move"
    return "no move is left" if s[0] else "no piece is left"


def _row_names(row: int) -> tuple[str | None, ...]:
    """The cell names of a row, left to right with Black at the bottom: 4 to 1 on the first row."""
    numbers = [str(4 * row + 4 - i) for i in range(4)]
    cells = [
        cell for number in numbers for cell in ((number, None) if row % 2 == 0 else (None, number))
    ]
    return tuple(cells)


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(
            cols=8,
            rows=8,
            names=tuple(_row_names(row) for row in range(8)),
            style="checker",
            flips=True,
        ),
        kinds={
            "b": Kind(name="black man", side=0, text="b"),
            "B": Kind(name="black king", side=0, shape="stack", text="B"),
            "w": Kind(name="white man", side=1, text="w"),
            "W": Kind(name="white king", side=1, shape="stack", text="W"),
        },
        seats=(SeatView(NAMES[0], "#2f2b28"), SeatView(NAMES[1], "#f3ead6")),
        counted="piece",
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    black, white = sides_of(s)
    kings = int(s[2])
    pieces = {str(number): "B" if kings & bit else "b" for number, bit in numbers_of(black)}
    pieces.update({str(number): "W" if kings & bit else "w" for number, bit in numbers_of(white)})
    last_path = tuple([str(NUMBER[bit]) for bit in path_of(last[1])]) if last else ()
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
