"""Sticks (misère Nim): take sticks from one row; the player left with the last stick loses."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import LOST, ONGOING, Option, State
from engine.jit import U, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "sticks"
TITLE = "Sticks"
#: Four bits for each row, row 1 lowest; bit 32 is the side to move; bits 40 to 42 hold the number
#: of rows.
WORDS = 1
#: Maximum number of rows.
MAX_ROWS = 6
#: Maximum number of sticks in a row.
MAX_STICKS = 9
MAX_MOVES = MAX_ROWS * MAX_STICKS
LEVELS = 8
LEVEL_TABLE = (
    (1, 2, 309),
    (35, 1, 266),
    (85, 0, 208),
    (170, 0, 162),
    (397, 0, 106),
    (625, 0, 76),
    (1_003, 0, 45),
)
DISABLED = ("killers",)  # see docs/reference/ablations.md
NUMBERING = "ply"
CAN_BE_DRAWN = False
OPTIONS: Mapping[str, Option] = {
    "rows": Option(
        "Sticks in each row",
        "1-2-3",
        ("1-2-3", "1-3-5-7"),
        free=True,
        phrases={"1-2-3": "Rows of 1, 2 and 3 sticks", "1-3-5-7": "Rows of 1, 3, 5 and 7 sticks"},
    )
}
DATA = ()
GOAL = "Leave the last stick for the other side."
RULES = """Sticks lie in rows. The two sides take turns; a move takes one or more sticks of one row.
The game is over when a single stick is left: the player who would have to take it has lost.
So no move may take all the sticks that are left."""

ONE = U(1)
#: The mask of row 1.
ROW = U(15)
#: The mask of all rows.
ROWS = U(0xFFFFFF)
#: One stick in each row.
SINGLES = U(0x111111)
#: The bit that is set when the second side is to move.
SECOND = U(1 << 32)
ROWS_TEXT = re.compile(rf"[1-{MAX_STICKS}](-[1-{MAX_STICKS}]){{0,{MAX_ROWS - 1}}}")
POSITION_TEXT = re.compile(
    rf"([0-{MAX_STICKS}](?:-[0-{MAX_STICKS}]){{0,{MAX_ROWS - 1}}}) (first|second)"
)
MOVE_TEXT = re.compile(rf"([1-{MAX_ROWS}])x([1-{MAX_STICKS}])")
NAMES = ("First", "Second")


def init(options: Mapping[str, str]) -> State:
    return (U(_pack(_start_rows(options))),)


@rule
def status(s: State) -> int:
    rows = s[0] & ROWS
    if rows & SINGLES == rows and rows & (rows - ONE) == U(0):
        return LOST
    return ONGOING


@rule
def moves(s: State, buf: Any) -> int:
    rows = s[0] & ROWS
    n = 0
    for row in range(MAX_ROWS):
        row_bits = rows & (ROW << U(4 * row))
        sticks = np.int64(row_bits >> U(4 * row))
        if row_bits == rows:
            sticks -= 1  # the only row left: one stick must stay
        for taken in range(1, sticks + 1):
            buf[n] = row | (taken << 4)
            n += 1
    return n


@rule
def play(s: State, m: int) -> State:
    return ((s[0] - (U(m >> 4) << U(4 * (m & 15)))) ^ SECOND,)


@rule
def no_moves_result(s: State) -> int:
    return LOST


@rule
def key(s: State) -> np.uint64:
    return s[0] ^ U(0x9E3779B97F4A7C15)


@rule
def evaluate(s: State, data: Any) -> int:
    return 0


def turn(s: State) -> int:
    return int(s[0]) >> 32 & 1


def _start_rows(options: Mapping[str, str]) -> list[int]:
    """The sticks in each row at the start; ValueError if the option is not a list of rows."""
    text = options["rows"]
    if not ROWS_TEXT.fullmatch(text) or text == "1":
        raise ValueError(
            f"rows are 1 to {MAX_ROWS} numbers of 1 to {MAX_STICKS},"
            " at least two sticks in all: 1-2-3"
        )
    return [int(part) for part in text.split("-")]


def _pack(sticks: list[int]) -> int:
    return sum(count << 4 * row for row, count in enumerate(sticks)) | len(sticks) << 40


def _sticks(s: State) -> list[int]:
    """The sticks in each row."""
    word = int(s[0])
    return [word >> 4 * row & 15 for row in range(word >> 40)]


def parse_move(s: State, text: str) -> int:
    match = MOVE_TEXT.fullmatch(text)
    if not match:
        raise ValueError("3x2 takes two sticks from row 3")
    return (int(match[1]) - 1) | int(match[2]) << 4


def format_move(s: State, m: int) -> str:
    return f"{(m & 15) + 1}x{m >> 4}"


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError("the rows and the side to move are expected: 1-2-3 first")
    start = _start_rows(options)
    sticks = [int(part) for part in match[1].split("-")]
    if len(sticks) != len(start) or any(
        current > initial for current, initial in zip(sticks, start, strict=True)
    ):
        raise ValueError(f"there cannot be more sticks than at the start: {options['rows']}")
    if not any(sticks):
        raise ValueError("the last stick is never taken")
    return (U(_pack(sticks) | (match[2] == "second") << 32),)


def format_position(s: State) -> str:
    return f"{'-'.join(map(str, _sticks(s)))} {('first', 'second')[turn(s)]}"


def ending(s: State) -> str:
    return "a single stick is left"


def board(options: Mapping[str, str]) -> BoardView:
    start = _start_rows(options)
    width = range(max(start))
    names = tuple(
        tuple(_cell(row, i) if i < count else None for i in width)
        for row, count in enumerate(start)
    )
    return BoardView(
        board=Grid(
            cols=max(start),
            rows=len(start),
            origin="top-left",
            names=names,
            style="bare",
            labels=False,
        ),
        kinds={"s": Kind(name="stick", shape="stick", text="|")},
        seats=(SeatView(NAMES[0], "#c0392b"), SeatView(NAMES[1], "#2471a3")),
    )


def _cell(row: int, stick: int) -> str:
    return f"{row + 1}.{stick + 1}"


def _taken(s: State, m: int) -> tuple[str, ...]:
    """The cells that a move empties, at the right end of its row."""
    row, taken = m & 15, m >> 4
    remaining = _sticks(s)[row] - taken
    return tuple(_cell(row, i) for i in range(remaining, remaining + taken))


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    sticks = _sticks(s)
    pieces = {_cell(row, i): "s" for row, count in enumerate(sticks) for i in range(count)}
    side = turn(s)
    taken = _taken(*last) if last else ()
    last_path = taken[:1]
    marks = {"last": taken}
    if sum(sticks) == 1:
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", marks, last_path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", marks, last_path)


def move_view(s: State, m: int) -> MoveView:
    taken = _taken(s, m)
    return MoveView(
        id=format_move(s, m),
        path=taken[:1],
        text=f"take {m >> 4} from row {(m & 15) + 1}",
        affects=taken,
    )
