"""Tic-tac-toe: three in a row on nine cells.

The smallest complete game, and the one to copy when you write your own.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, Option, State
from engine.jit import U, lsb, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "tic-tac-toe"
TITLE = "Tic-tac-toe"
#: The marks of the side to move, then those of the other side; bit = column + 3 * row.
WORDS = 2
MAX_MOVES = 9
LEVELS = 3
LEVEL_TABLE = (
    (1, 2, 703),
    (54, 1, 266),
)
NUMBERING = "ply"
ALIASES = ("noughts-and-crosses",)
OPTIONS: Mapping[str, Option] = {}
DATA = ()
GOAL = "Get three in a row."
RULES = """Crosses and noughts take turns to fill one empty cell; crosses begin.
The first player with three of their own in a row, a column or a diagonal wins.
A full board without such a line is a draw."""

ONE = U(1)
NONE = U(0)
FULL = U(0b111_111_111)
LINES = (U(0o7), U(0o70), U(0o700), U(0o111), U(0o222), U(0o444), U(0o421), U(0o124))
BITS = tuple(1 << cell for cell in range(9))
CELLS = tuple(f"{column}{row}" for row in "123" for column in "abc")


def init(options: Mapping[str, str]) -> State:
    return (NONE, NONE)


@rule
def status(s: State) -> int:
    for line in LINES:
        if s[1] & line == line:
            return LOST
    if (s[0] | s[1]) == FULL:
        return DRAWN
    return ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    n = 0
    empty = ~(s[0] | s[1]) & FULL
    while empty:
        buf[n] = lsb(empty)
        n += 1
        empty &= empty - ONE
    return n


@rule
def play(s: State, m: int) -> State:
    return (s[1], s[0] | (ONE << U(m)))


@rule
def no_moves_result(s: State) -> int:
    return DRAWN


@rule
def key(s: State) -> np.uint64:
    return (s[0] | (s[1] << U(9))) + ONE


@rule
def evaluate(s: State, data: Any) -> int:
    return 0


def turn(s: State) -> int:
    return int(s[0] | s[1]).bit_count() & 1


def parse_move(s: State, text: str) -> int:
    return CELLS.index(text)


def format_move(s: State, m: int) -> str:
    return CELLS[m]


def _sides(s: State) -> tuple[int, int]:
    """The crosses and the noughts as plain ints, which are ten times as fast as NumPy scalars.

    The server draws every position, so the speed matters.
    """
    mine, other = int(s[0]), int(s[1])
    return (mine, other) if (mine | other).bit_count() & 1 == 0 else (other, mine)


def parse_position(text: str, options: Mapping[str, str]) -> State:
    if len(text) != 9 or set(text) - set("XO."):
        raise ValueError("nine characters X, O or . are expected, row 1 first")
    crosses, noughts = (sum(1 << cell for cell in range(9) if text[cell] == mark) for mark in "XO")
    if crosses.bit_count() - noughts.bit_count() not in (0, 1):
        raise ValueError("there are as many crosses as noughts, or one more")
    mine, other = (
        (crosses, noughts) if crosses.bit_count() == noughts.bit_count() else (noughts, crosses)
    )
    if status((U(other), U(mine))) == LOST:
        raise ValueError("the side to move has three in a row already")
    return (U(mine), U(other))


def format_position(s: State) -> str:
    crosses, noughts = _sides(s)
    return "".join(["X" if crosses & bit else "O" if noughts & bit else "." for bit in BITS])


def ending(s: State) -> str:
    return "three in a row" if status(s) == LOST else "the board is full"


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=3, rows=3, style="plain"),
        kinds={
            "X": Kind(name="cross", side=0, shape="cross", text="X"),
            "O": Kind(name="nought", side=1, shape="ring", text="O"),
        },
        seats=(SeatView("Crosses", "#c0392b"), SeatView("Noughts", "#2471a3")),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    crosses, noughts = _sides(s)
    pieces = {
        cell: "X" if crosses & bit else "O"
        for cell, bit in zip(CELLS, BITS, strict=True)
        if (crosses | noughts) & bit
    }
    side = (crosses | noughts).bit_count() & 1
    last_mover = crosses if side else noughts
    won = [line for line in map(int, LINES) if last_mover & line == line]
    last_path = (CELLS[last[1]],) if last else ()
    names = ("Crosses", "Noughts")
    if won:
        win = tuple(
            cell for cell, bit in zip(CELLS, BITS, strict=True) if any(line & bit for line in won)
        )
        marks = {"last": last_path, "win": win}
        return PositionView(pieces, None, f"{names[1 - side]} win", marks, last_path)
    if len(pieces) == 9:
        return PositionView(pieces, None, "Draw", {"last": last_path}, last_path)
    return PositionView(pieces, side, f"{names[side]} to move", {"last": last_path}, last_path)


def move_view(s: State, m: int) -> MoveView:
    return MoveView(id=CELLS[m], path=(CELLS[m],), text=CELLS[m], ghost=(CELLS[m], "XO"[turn(s)]))
