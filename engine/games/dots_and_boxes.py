"""Dots and boxes: draw lines between dots; the side that closes a box owns it and moves again."""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, Option, State
from engine.jit import U, lsb, popcount, rule
from engine.view import BoardView, Kind, MoveView, PositionView, SeatView, Site, Sites

NAME = "dots-and-boxes"
TITLE = "Dots and boxes"
#: The drawn lines; then 25 bits for the boxes of the first side, 25 for those of the second, the
#: side to move (bit 56) and the boxes in a row (bits 57 to 59).
WORDS = 2
#: The greatest number of boxes in a row.
MAX_SIZE = 5
MAX_MOVES = 2 * MAX_SIZE * (MAX_SIZE + 1)
LEVELS = 5
LEVEL_TABLE = (
    (1, 60, 93),
    (21, 31, 862),
    (900, 8, 400),
    (5_000, 3, 90),
)
NUMBERING = "ply"
EXTRA_TURNS = True
OPTIONS: Mapping[str, Option] = {
    "size": Option(
        "Boxes in a row",
        "3",
        ("3", "4", "5"),
        phrases={size: f"{size} by {size} boxes" for size in ("3", "4", "5")},
    )
}
DATA = ()
GOAL = "Close more boxes than the other side."
RULES = """The board is a square of dots. A move draws a line between two dots that are next to each
other in a row or a column. Red moves first.
If the line closes a box, that is if it is the last of the box's four sides, the box belongs to the
side that drew it, and this side moves again. A line may close two boxes at once.
When all lines are drawn, the side with more boxes wins."""

ONE = U(1)
NONE = U(0)
#: Bits of the boxes of a side, and their mask.
BOX_BITS = MAX_SIZE * MAX_SIZE
BOXES = U((1 << BOX_BITS) - 1)
#: The bit that is set when the second side is to move.
SECOND = U(1 << 56)
#: The size as a shift.
SIZE = U(57)

#: The value of a box, of one that the side to move can close, and of being the side that does not
#: run out of safe moves first.
BOX_VALUE, OPEN_VALUE, SAFE_VALUE = 100, 60, 30
#: The value of more than half of the boxes.
DECIDED_VALUE = 10_000

#: The factors of the hash.
FACTOR, SECOND_FACTOR = U(0x9E3779B97F4A7C15), U(0xC2B2AE3D27D4EB4F)

NAMES = ("Red", "Blue")
LETTERS = "abcdef"


def _line(size: int, row: int, col: int, is_vertical: bool) -> int:
    """The index of the line that goes right or up from a dot."""
    if is_vertical:
        return size * (size + 1) + row * (size + 1) + col
    return row * size + col


def _sides(size: int, box: int) -> tuple[int, ...]:
    """The lines around a box: below, above, left and right."""
    row, col = divmod(box, size)
    return (
        _line(size, row, col, False),
        _line(size, row + 1, col, False),
        _line(size, row, col, True),
        _line(size, row, col + 1, True),
    )


def _around() -> Any:
    """The lines around each box as a mask, by size and box."""
    masks = np.zeros((MAX_SIZE + 1, BOX_BITS), np.uint64)
    for size in range(1, MAX_SIZE + 1):
        for box in range(size * size):
            masks[size, box] = sum(1 << line for line in _sides(size, box))
    return masks


def _beside() -> Any:
    """The boxes on the two sides of each line, -1 for none, by size and line."""
    boxes = np.full((MAX_SIZE + 1, MAX_MOVES, 2), -1, np.int64)
    for size in range(1, MAX_SIZE + 1):
        for box in range(size * size):
            for line in _sides(size, box):
                boxes[size, line, 0 if boxes[size, line, 0] < 0 else 1] = box
    return boxes


AROUND, BESIDE = _around(), _beside()
#: All lines of the board, by size.
ALL_LINES = np.array([(1 << 2 * size * (size + 1)) - 1 for size in range(MAX_SIZE + 1)], np.uint64)


# --- the rules


def init(options: Mapping[str, str]) -> State:
    return (NONE, U(int(options["size"]) << int(SIZE)))


@rule
def turn(s: State) -> int:
    return np.int64((s[1] >> U(56)) & ONE)  # type: ignore[return-value]


@rule
def size_of(s: State) -> int:
    return np.int64(s[1] >> SIZE)  # type: ignore[return-value]


@rule
def box_count(s: State, side: int) -> int:
    return popcount((s[1] >> U(BOX_BITS * side)) & BOXES)


@rule
def status(s: State) -> int:
    if s[0] != ALL_LINES[size_of(s)]:
        return ONGOING
    side = turn(s)
    own, opposing = box_count(s, side), box_count(s, 1 - side)
    if own > opposing:
        return WON
    if own < opposing:
        return LOST
    return DRAWN


@rule
def moves(s: State, buf: Any) -> int:
    free = ALL_LINES[size_of(s)] & ~s[0]
    n = 0
    while free:
        buf[n] = lsb(free)
        n += 1
        free &= free - ONE
    return n


@rule
def count(s: State, buf: Any) -> int:
    return popcount(ALL_LINES[size_of(s)] & ~s[0])


@rule
def play(s: State, m: int) -> State:
    size, side = size_of(s), turn(s)
    lines = s[0] | (ONE << U(m))
    closed = U(0)
    for i in range(2):
        box = BESIDE[size, m, i]
        if box >= 0 and AROUND[size, box] & ~lines == NONE:
            closed |= ONE << U(box)
    if closed == NONE:
        return (lines, s[1] ^ SECOND)
    return (lines, s[1] | (closed << U(BOX_BITS * side)))


@rule
def no_moves_result(s: State) -> int:
    return DRAWN  # the match is over when all lines are drawn


@rule
def key(s: State) -> np.uint64:
    k = s[0] * FACTOR
    k = ((k ^ (k >> U(29))) + s[1]) * SECOND_FACTOR
    return (k ^ (k >> U(32))) | ONE


@rule
def lines_drawn(s: State, box: int) -> int:
    """The drawn lines around a box."""
    return popcount(AROUND[size_of(s), box] & s[0])


@rule
def rank(s: State, m: int) -> int:
    """First the lines that close boxes; last those that let the opponent close one."""
    size = size_of(s)
    closes, gives = 0, 0
    for i in range(2):
        box = BESIDE[size, m, i]
        if box >= 0:
            drawn = lines_drawn(s, box)
            if drawn == 3:
                closes += 1
            elif drawn == 2:
                gives += 1
    return closes if closes > 0 else -gives


@rule
def tactical(s: State, buf: Any) -> int:
    """The lines that close a box."""
    size = size_of(s)
    ready = U(0)
    for box in range(size * size):
        missing = AROUND[size, box] & ~s[0]
        if missing and missing & (missing - ONE) == NONE:
            ready |= missing
    n = 0
    while ready:
        buf[n] = lsb(ready)
        n += 1
        ready &= ready - ONE
    return n


@rule
def evaluate(s: State, data: Any) -> int:
    size, side = size_of(s), turn(s)
    own, opposing = box_count(s, side), box_count(s, 1 - side)
    value = BOX_VALUE * (own - opposing)
    if 2 * own > size * size:
        return value + DECIDED_VALUE
    if 2 * opposing > size * size:
        return value - DECIDED_VALUE
    unsafe = U(0)
    ready = 0
    for box in range(size * size):
        drawn = lines_drawn(s, box)
        if drawn == 2:
            unsafe |= AROUND[size, box]
        elif drawn == 3:
            ready += 1
    if ready > 0:
        return value + OPEN_VALUE * ready
    safe = popcount(ALL_LINES[size] & ~s[0] & ~unsafe)
    return value + SAFE_VALUE * (2 * (safe % 2) - 1)


# --- texts


def _dot(row: int, col: int) -> str:
    return f"{LETTERS[col]}{row + 1}"


def _line_names(size: int) -> tuple[str, ...]:
    """The dots at the ends of each line: a1b1 goes right, a1a2 goes up."""
    right = [_dot(row, col) + _dot(row, col + 1) for row in range(size + 1) for col in range(size)]
    up = [_dot(row, col) + _dot(row + 1, col) for row in range(size) for col in range(size + 1)]
    return (*right, *up)


def _box_name(size: int, box: int) -> str:
    """The dots at the lower left and the upper right corner."""
    row, col = divmod(box, size)
    return _dot(row, col) + _dot(row + 1, col + 1)


#: The names of the lines, by size.
LINE_NAMES = tuple(_line_names(size) for size in range(MAX_SIZE + 1))
POSITION_TEXT = re.compile(r"([0-9a-f]{1,15}) ([rb.]{1,25}) (red|blue)")


def parse_move(s: State, text: str) -> int:
    names = LINE_NAMES[size_of(s)]
    if text not in names:
        raise ValueError("a1b1 draws the line from dot a1 to dot b1, a1a2 that to dot a2")
    return names.index(text)


def format_move(s: State, m: int) -> str:
    return LINE_NAMES[size_of(s)][m]


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    size = int(options["size"])
    if not match or len(match[2]) != size * size or int(match[1], 16) > int(ALL_LINES[size]):
        raise ValueError(
            "the lines in hexadecimal digits, the owners of the boxes and the side to move are"
            f" expected: 0 {'.' * size * size} red"
        )
    lines = int(match[1], 16)
    owned = [0, 0]
    for box, owner in enumerate(match[2]):
        if (owner != ".") != (int(AROUND[size, box]) & ~lines == 0):
            raise ValueError("a box has an owner if all its lines are drawn, and only then")
        if owner != ".":
            owned["rb".index(owner)] |= 1 << box
    second = int(SECOND) if match[3] == "blue" else 0
    return (U(lines), U(owned[0] | owned[1] << BOX_BITS | second | size << int(SIZE)))


def _owners(s: State) -> list[int | None]:
    """The side that owns each box."""
    word = int(s[1])
    return [
        0 if word >> box & 1 else 1 if word >> BOX_BITS + box & 1 else None
        for box in range(int(size_of(s)) ** 2)
    ]


def format_position(s: State) -> str:
    owners = "".join("." if owner is None else "rb"[owner] for owner in _owners(s))
    return f"{int(s[0]):x} {owners} {NAMES[turn(s)].lower()}"


def ending(s: State) -> str:
    return "all boxes are closed"


def can_be_drawn(options: Mapping[str, str]) -> bool:
    return int(options["size"]) % 2 == 0  # an odd number of boxes cannot be halved


def points(s: State) -> tuple[int, int]:
    return (box_count(s, 0), box_count(s, 1))


# --- the board


def board(options: Mapping[str, str]) -> BoardView:
    size = int(options["size"])
    dots = [
        Site(_dot(row, col), col, size - row, "point")
        for row, col in product(range(size + 1), repeat=2)
    ]
    right = [(row, col + 0.5) for row in range(size + 1) for col in range(size)]
    up = [(row + 0.5, col) for row in range(size) for col in range(size + 1)]
    lines = [
        Site(name, col, size - row)
        for name, (row, col) in zip(LINE_NAMES[size], [*right, *up], strict=True)
    ]
    boxes = [
        Site(_box_name(size, box), box % size + 0.5, size - box // size - 0.5)
        for box in range(size * size)
    ]
    return BoardView(
        board=Sites(sites=(*dots, *lines, *boxes), style="bare"),
        kinds={
            "-": Kind("line", shape="line"),
            "|": Kind("line", shape="line", angle=90),
            "r": Kind("red box", 0, text="R"),
            "b": Kind("blue box", 1, text="B"),
        },
        seats=(SeatView(NAMES[0], "#c0392b"), SeatView(NAMES[1], "#2471a3")),
        counted="box",
    )


def _stroke(size: int, line: int) -> str:
    return "-" if line < size * (size + 1) else "|"


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    size, side = int(size_of(s)), int(turn(s))
    names = LINE_NAMES[size]
    pieces = {name: _stroke(size, i) for i, name in enumerate(names) if int(s[0]) >> i & 1}
    for box, owner in enumerate(_owners(s)):
        if owner is not None:
            pieces[_box_name(size, box)] = "rb"[owner]
    path: tuple[str, ...] = (names[last[1]],) if last is not None else ()
    marks = {"last": path} if path else {}
    score = [box_count(s, seat) for seat in (0, 1)]
    if s[0] == ALL_LINES[size]:
        return PositionView(pieces, None, _result(score), marks, path)
    again = " again" if last is not None and turn(last[0]) == side else ""
    text = f"{NAMES[side]} to move{again}, {score[0]} : {score[1]}"
    return PositionView(pieces, side, text, marks, path)


def _result(score: list[int]) -> str:
    if score[0] == score[1]:
        return f"Draw, {score[0]} : {score[1]}"
    return f"{NAMES[score[1] > score[0]]} wins, {max(score)} : {min(score)}"


def move_view(s: State, m: int) -> MoveView:
    name = format_move(s, m)
    return MoveView(name, (name,), f"draw {name}", ghost=(name, _stroke(int(size_of(s)), m)))
