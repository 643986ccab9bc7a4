"""Connect four: four in a row on seven columns of six cells; discs fall to the lowest free cell."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, Option, State
from engine.jit import U, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "connect-four"
TITLE = "Connect four"
#: The discs of the side to move, then all discs; bit = row + 7 * column. The seventh bit of each
#: column stays empty.
WORDS = 2
MAX_MOVES = 7
LEVELS = 8
LEVEL_TABLE = (
    (1, 6, 350),
    (2, 8, 0),
    (60, 3, 200),
    (120, 2, 200),
    (1_300, 1, 85),
    (5_500, 1, 50),
    (30_000, 1, 12),
)
NUMBERING = "ply"
OPTIONS: Mapping[str, Option] = {}
DATA = ("data/connect_four_book.bin",)
SOLVER = "engine.solvers.connect_four"
SOLVER_NODES = 300_000
TOP_LEVEL_TIME_MS = 3000
DISABLED = ("iir", "mate-distance")  # see docs/reference/ablations.md
GOAL = "Get four of your discs in a row."
RULES = """Red and Yellow take turns to drop a disc into a column; it falls to the lowest free cell.
Red begins. The first player with four discs in a row, across, up or diagonally, wins.
A full board without such a row is a draw."""

ONE = U(1)
#: The bottom cells of all columns.
BOTTOM = U(0x0040810204081)
#: The top cells of all columns.
TOP = U(0x0040810204081 << 5)
#: All cells.
BOARD = U(0x0040810204081 * 63)
#: The middle column.
CENTRE = U(63 << 21)
COLUMN_ORDER = (3, 2, 4, 1, 5, 0, 6)  # from the centre: most rows of four pass through it

COLUMNS = "abcdefg"
#: The name and the bit of each cell.
BITS = tuple(
    (f"{column}{row + 1}", row + 7 * i) for i, column in enumerate(COLUMNS) for row in range(6)
)
CELL_OF_BIT = {bit: cell for cell, bit in BITS}
#: The bits of each row of a position text, the top row first.
TEXT_BITS = tuple(tuple(row + 7 * column for column in range(7)) for row in reversed(range(6)))
STEPS = (1, 6, 7, 8)  # up, down to the right, across, up to the right


def init(options: Mapping[str, str]) -> State:
    return (U(0), U(0))


@rule
def has_four(p: np.uint64) -> bool:
    """True if `p` has four discs in a row."""
    m = p & (p >> U(7))
    if m & (m >> U(14)):
        return True
    m = p & (p >> U(6))
    if m & (m >> U(12)):
        return True
    m = p & (p >> U(8))
    if m & (m >> U(16)):
        return True
    m = p & (p >> U(1))
    return bool(m & (m >> U(2)))


@rule
def status(s: State) -> int:
    if has_four(s[0] ^ s[1]):
        return LOST
    if s[1] == BOARD:
        return DRAWN
    return ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    n = 0
    for column in COLUMN_ORDER:
        if not s[1] & (ONE << U(column * 7 + 5)):
            buf[n] = column
            n += 1
    return n


@rule
def play(s: State, m: int) -> State:
    return (s[0] ^ s[1], s[1] | (s[1] + (ONE << U(m * 7))))


@rule
def no_moves_result(s: State) -> int:
    return DRAWN


@rule
def key(s: State) -> np.uint64:
    return s[0] + s[1] + BOTTOM


@rule
def winning_cells(p: np.uint64, all_discs: np.uint64) -> np.uint64:
    """The empty cells where a disc would complete a row of four of `p`."""
    cells = (p << U(1)) & (p << U(2)) & (p << U(3))
    pairs = (p << U(7)) & (p << U(14))
    cells |= pairs & (p << U(21))
    cells |= pairs & (p >> U(7))
    pairs = (p >> U(7)) & (p >> U(14))
    cells |= pairs & (p << U(7))
    cells |= pairs & (p >> U(21))
    pairs = (p << U(6)) & (p << U(12))
    cells |= pairs & (p << U(18))
    cells |= pairs & (p >> U(6))
    pairs = (p >> U(6)) & (p >> U(12))
    cells |= pairs & (p << U(6))
    cells |= pairs & (p >> U(18))
    pairs = (p << U(8)) & (p << U(16))
    cells |= pairs & (p << U(24))
    cells |= pairs & (p >> U(8))
    pairs = (p >> U(8)) & (p >> U(16))
    cells |= pairs & (p << U(8))
    cells |= pairs & (p >> U(24))
    return cells & (BOARD ^ all_discs)


@rule
def evaluate(s: State, data: Any) -> int:
    other = s[0] ^ s[1]
    threats = popcount(winning_cells(s[0], s[1])) - popcount(winning_cells(other, s[1]))
    return 10 * threats + 2 * (popcount(s[0] & CENTRE) - popcount(other & CENTRE))


def turn(s: State) -> int:
    return int(s[1]).bit_count() & 1


def parse_move(s: State, text: str) -> int:
    if len(text) != 1:
        raise ValueError("a move is the letter of a column")
    return COLUMNS.index(text)


def format_move(s: State, m: int) -> str:
    return COLUMNS[m]


def parse_position(text: str, options: Mapping[str, str]) -> State:
    rows = text.split("/")
    if [len(row) for row in rows] != [7] * 6 or set(text) - set("RY./"):
        raise ValueError(
            "six rows of seven characters R, Y or . are expected,"
            " the top row first, with / between them"
        )
    cells = [
        (1 << bit, c)
        for row, bits in zip(rows, TEXT_BITS, strict=True)
        for c, bit in zip(row, bits, strict=True)
    ]
    red, yellow = (sum(bit for bit, c in cells if c == mark) for mark in "RY")
    discs = red | yellow
    if (discs + int(BOTTOM)) & discs:
        raise ValueError("a disc has an empty cell below it")
    if red.bit_count() - yellow.bit_count() not in (0, 1):
        raise ValueError("Red has as many discs as Yellow, or one more")
    mine = red if discs.bit_count() % 2 == 0 else yellow
    if has_four(U(mine)):
        raise ValueError("the side to move has four in a row already")
    return (U(mine), U(discs))


def _sides(s: State) -> tuple[int, int]:
    """The red and the yellow discs."""
    mine, discs = int(s[0]), int(s[1])
    return (mine, mine ^ discs) if discs.bit_count() % 2 == 0 else (mine ^ discs, mine)


def format_position(s: State) -> str:
    red, yellow = _sides(s)
    return "/".join(
        "".join("R" if red >> bit & 1 else "Y" if yellow >> bit & 1 else "." for bit in bits)
        for bits in TEXT_BITS
    )


def ending(s: State) -> str:
    return "four in a row" if status(s) == LOST else "the board is full"


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=7, rows=6, style="holes", gravity=True),
        kinds={"R": Kind(name="red", side=0, text="R"), "Y": Kind(name="yellow", side=1, text="Y")},
        seats=(SeatView("Red", "#c0392b"), SeatView("Yellow", "#e1a700")),
        targets={column: tuple(f"{column}{row + 1}" for row in range(6)) for column in COLUMNS},
    )


def _rows_of_four(p: int) -> int:
    """The discs of `p` that are part of a row of four."""
    discs = 0
    for step in STEPS:
        starts = p & p >> step & p >> 2 * step & p >> 3 * step
        discs |= starts | starts << step | starts << 2 * step | starts << 3 * step
    return discs


def _landing_cell(discs: int, column: int) -> str:
    """The cell that the next disc dropped into a column reaches."""
    return f"{COLUMNS[column]}{(discs >> 7 * column & 63).bit_length() + 1}"


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    red, yellow = _sides(s)
    pieces = {
        cell: "R" if red >> bit & 1 else "Y" for cell, bit in BITS if (red | yellow) >> bit & 1
    }
    side = (red | yellow).bit_count() & 1
    last_path = (_landing_cell(int(last[0][1]), last[1]),) if last else ()
    names = ("Red", "Yellow")
    winning_discs = _rows_of_four(yellow if side == 0 else red)
    if winning_discs:
        win = tuple(cell for cell, bit in BITS if winning_discs >> bit & 1)
        return PositionView(
            pieces, None, f"{names[1 - side]} wins", {"last": last_path, "win": win}, last_path
        )
    if len(pieces) == 42:
        return PositionView(pieces, None, "Draw", {"last": last_path}, last_path)
    return PositionView(pieces, side, f"{names[side]} to move", {"last": last_path}, last_path)


def move_view(s: State, m: int) -> MoveView:
    column = COLUMNS[m]
    return MoveView(
        id=column, path=(column,), text=column, ghost=(_landing_cell(int(s[1]), m), "RY"[turn(s)])
    )
