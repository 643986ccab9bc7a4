"""Gomoku: five stones in a row on the intersections of 15 by 15 lines."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, Option, State
from engine.games.gomoku_parts import board as board_part
from engine.games.gomoku_parts import lines
from engine.games.gomoku_parts import threats as threats_part
from engine.games.gomoku_parts.board import (
    ALL_STONES,
    BOARD,
    EXACT,
    HAS_WON,
    NONE,
    ONE,
    SIZE,
    STEPS,
    STONE,
    Quad,
    intersect,
    subtract,
    with_neighbours,
)
from engine.games.gomoku_parts.lines import (
    MIDDLE,
    ON_BOARD,
    count_rows,
    has_five,
    play,
    rows_with,
    star,
)
from engine.games.gomoku_parts.threats import fours, fours_of_other, threats, wins
from engine.jit import U, lsb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "gomoku"
TITLE = "Gomoku"
#: Words 0 to 3 hold the stones of the side to move, 4 to 7 those of the other side; bit = column +
#: 16 * row, four rows a word with an empty column between rows. Word 8: bit 0 is set if six or more
#: in a row do not win, bit 1 if the last stone has won; the bits from 8 on hold the number of
#: stones. Words 9 to 11 hold counts of 16 bits each, which `play` updates. Word 9 counts the lines
#: of five intersections with one, two, three and four stones of the side to move and none of the
#: other side; word 10 counts those of the other side. Word 11 counts the lines of four
#: intersections between two empty ones that have two and three stones of the side to move, then
#: those of the other side.
WORDS = 12
MAX_MOVES = 225
LEVELS = 5
LEVEL_TABLE = (
    (1, 20, 100),
    (2, 33, 0),
    (4_000, 2, 35),
    (9_000, 1, 22),
)
MARGIN = 40
DISABLED = ("quiescence", "history", "malus")  # see docs/reference/ablations.md
NUMBERING = "ply"
OPTIONS: Mapping[str, Option] = {
    "win": Option(
        "A row that wins",
        "five-or-more",
        ("five-or-more", "exactly-five"),
        phrases={
            "five-or-more": "Five or more in a row win",
            "exactly-five": "Exactly five in a row win",
        },
    ),
}
DATA = ("data/gomoku.txt",)
PARTS = (board_part, lines, threats_part)
GOAL = "Get five of your stones in a row."
RULES = """Black and White take turns to put a stone on any empty intersection of the lines. Black
begins. Stones never move.

The first player with five stones in an unbroken row, across, up or diagonally, wins. A full
board without such a row is a draw.

A row of six stones or more wins as well. In a match with "exactly five" it does not: there only
a row of five, with no further stone of the same colour at either end, wins."""
#: The middle of the board.
CENTRE = (NONE, U(1 << 3 * 16 + 7), NONE, NONE)

#: Offsets of the weights in DATA: six for each side, for lines of five with one to four stones and
#: for open lines of four with two and three stones; then one for having the move.
MINE, OTHERS, TEMPO = 0, 6, 12
#: The value of a win that cannot be stopped, before the plies to it are subtracted.
CERTAIN_WIN = 19_000
NAMES = ("Black", "White")
#: The name and the bit of each intersection.
BITS = tuple(
    (f"{chr(97 + column)}{row + 1}", column + 16 * row)
    for row in range(SIZE)
    for column in range(SIZE)
)
CELL_OF_BIT = {bit: cell for cell, bit in BITS}
BIT_OF_CELL = dict(BITS)
#: The view of each move, by side and bit.
MOVE_VIEWS = tuple(
    {bit: MoveView(id=c, path=(c,), text=c, ghost=(c, kind)) for c, bit in BITS} for kind in "BW"
)
POSITION_TEXT = re.compile(
    r"([BW.]{15}(?:/[BW.]{15}){14}) (black|white) (five-or-more|exactly-five)"
)


def init(options: Mapping[str, str]) -> State:
    return (*(NONE,) * 8, EXACT if options["win"] == "exactly-five" else NONE, NONE, NONE, NONE)


@rule
def status(s: State) -> int:
    if s[8] & HAS_WON:
        return LOST
    return DRAWN if s[8] >= ALL_STONES else ONGOING


@rule
def add_word(word: np.uint64, first: int, buf: Any, n: int) -> int:
    while word:
        buf[n] = first + lsb(word)
        word &= word - ONE
        n += 1
    return n


@rule
def add_moves(cells: Quad, buf: Any, n: int) -> int:
    """Writes a move to each of `cells` and returns the new number of moves."""
    n = add_word(cells[0], 0, buf, n)
    n = add_word(cells[1], 64, buf, n)
    n = add_word(cells[2], 128, buf, n)
    return add_word(cells[3], 192, buf, n)


@rule
def moves(s: State, buf: Any) -> int:
    """Writes wins first, then blocks, fours of either side, points near stones, and the rest."""
    stones = (s[0] | s[4], s[1] | s[5], s[2] | s[6], s[3] | s[7])
    empty = subtract(BOARD, stones)
    n = 0
    if rows_with(s[9] | s[10], 3) | rows_with(s[9] | s[10], 4):
        for cells in (wins(s), threats(s), fours(s), fours_of_other(s)):
            targets = intersect(cells, empty)
            n = add_moves(targets, buf, n)
            empty = subtract(empty, targets)
    near = with_neighbours(stones if s[8] >= STONE else CENTRE)
    n = add_moves(intersect(near, empty), buf, n)
    empty = subtract(empty, near)
    near = with_neighbours(near)
    n = add_moves(intersect(near, empty), buf, n)
    return add_moves(subtract(empty, near), buf, n)


@rule
def no_moves_result(s: State) -> int:
    return DRAWN


@rule
def key(s: State) -> np.uint64:
    k = s[8] * U(0x9E3779B97F4A7C15)
    for i in range(8):
        k = (k ^ s[i]) * U(0xBF58476D1CE4E5B9)
        k ^= k >> U(32)
    return k | ONE


@rule
def lines_value(rows: np.uint64, open_rows: np.uint64, first: int, data: Any) -> int:
    """The value of a side's lines; its weights begin at `first`."""
    total = data[first + 4] * rows_with(open_rows, 1) + data[first + 5] * rows_with(open_rows, 2)
    for stones in range(1, 5):
        total += data[first + stones - 1] * rows_with(rows, stones)
    return int(total)


@rule
def count_points(p: Quad) -> int:
    return popcount(p[0]) + popcount(p[1]) + popcount(p[2]) + popcount(p[3])


@rule
def evaluate(s: State, data: Any) -> int:
    """A weighted sum of lines; near CERTAIN_WIN or -CERTAIN_WIN if nothing can stop a win within
    three plies.
    """
    if rows_with(s[9], 4) and (s[8] & EXACT == NONE or count_points(wins(s)) > 0):
        return CERTAIN_WIN
    blocks = count_points(threats(s))
    if blocks > 1:
        return 1 - CERTAIN_WIN
    if blocks == 0 and rows_with(s[11], 2):
        return CERTAIN_WIN - 2
    total = (
        lines_value(s[9], s[11], MINE, data)
        - lines_value(s[10], s[11] >> U(32), OTHERS, data)
        + data[TEMPO]
    )
    return int(min(max(total, -CERTAIN_WIN // 2), CERTAIN_WIN // 2))


# --- hooks for the search


@rule
def unstable(s: State) -> int:
    """1 if the other side threatens a five and the side to move cannot win at once, else 0."""
    return int(rows_with(s[10], 4) != 0 and rows_with(s[9], 4) == 0)


@rule
def evasions(s: State, buf: Any) -> int:
    """Writes the moves that block a four of the other side."""
    return add_moves(threats(s), buf, 0)


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the winning moves, or if there are none, the moves that block a five.

    Fours are left out: quiescence has no depth limit, and chains of fours would not end.
    """
    if rows_with(s[9], 4):
        return add_moves(wins(s), buf, 0)
    return add_moves(threats(s), buf, 0)


@rule
def rank(s: State, m: int) -> int:
    """Ranks fives first, then fours and open threes of either side; isolated stones come last."""
    my_star, valid = star((s[0], s[1], s[2], s[3]), m), ON_BOARD[m]
    their_star = star((s[4], s[5], s[6], s[7]), m)
    if has_five(my_star | MIDDLE, s[8] & EXACT):
        return 1000
    my_rows, my_open_rows = count_rows(my_star | MIDDLE, valid & ~their_star)
    their_rows, their_open_rows = count_rows(their_star | MIDDLE, valid & ~my_star)
    threat = (
        8 * rows_with(my_rows, 4)
        + 6 * rows_with(their_rows, 4)
        + 3 * rows_with(my_open_rows, 2)
        + 2 * rows_with(their_open_rows, 2)
    )
    if threat:
        return threat
    if rows_with(my_rows | their_rows, 2) | rows_with(my_rows | their_rows, 3):
        return 0
    return -1


@rule
def may_pass(s: State) -> int:
    """1 while fewer than 180 stones are on the board, else 0.

    An extra stone never harms. A pass counts as a stone, which matters on a nearly full board.
    """
    return int(s[8] < U(180 << 8))


@rule
def pass_turn(s: State) -> State:
    return (
        *(s[4], s[5], s[6], s[7], s[0], s[1], s[2], s[3]),
        *(s[8] + STONE, s[10], s[9], (s[11] >> U(32)) | (s[11] << U(32))),
    )


def turn(s: State) -> int:
    return int(s[8]) >> 8 & 1


def parse_move(s: State, text: str) -> int:
    if text not in BIT_OF_CELL:
        raise ValueError("an intersection is expected: h8")
    return BIT_OF_CELL[text]


def format_move(s: State, m: int) -> str:
    return CELL_OF_BIT[m]


def _sides(s: State) -> tuple[int, int]:
    """The black and the white stones, as plain ints."""
    mine, other = (
        sum(int(word) << 64 * i for i, word in enumerate(words)) for words in (s[:4], s[4:8])
    )
    return (mine, other) if turn(s) == 0 else (other, mine)


def _quad(stones: int) -> Quad:
    a, b, c, d = (U(stones >> 64 * i & 0xFFFFFFFFFFFFFFFF) for i in range(4))
    return a, b, c, d


def _winning_stones(stones: int, exact: bool) -> int:
    """The stones that are part of a winning row."""
    winning = 0
    for step in STEPS:
        for start in (
            bit
            for _, bit in BITS
            if stones >> bit & 1 and not (bit >= step and stones >> (bit - step) & 1)
        ):
            length = 1
            while stones >> (start + length * step) & 1:
                length += 1
            if length == 5 or (length > 5 and not exact):
                winning |= sum(1 << start + i * step for i in range(length))
    return winning


def _with_line_counts(s: State) -> State:
    """The state with its counts of lines recomputed from its stones."""
    state: State = (NONE,) * 12
    for bit in CELL_OF_BIT:
        owner = next((i for i in (0, 4) if s[i + (bit >> 6)] >> U(bit & 63) & ONE), None)
        if owner is not None:
            # `play` places a stone of the side to move: for a stone of the other side swap the
            # sides before the move, otherwise after it.
            state = play(state if owner == 0 else _swap_sides(state), bit)
            state = _swap_sides(state) if owner == 0 else state
    return (*s[:9], *state[9:])


def _swap_sides(s: State) -> State:
    """The state with the sides exchanged."""
    return (*s[4:8], *s[:4], s[8], s[10], s[9], s[11] >> U(32) | s[11] << U(32))


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "fifteen rows of B, W or ., the top row first, the side to move and the winning rule"
            " are expected"
        )
    if match[3] != options["win"]:
        raise ValueError(f"this match is played with win: {options['win']}")
    rows, exact = match[1].split("/")[::-1], match[3] == "exactly-five"
    black, white = (
        sum(1 << c + 16 * r for r in range(SIZE) for c in range(SIZE) if rows[r][c] == x)
        for x in "BW"
    )
    side = NAMES.index(match[2].capitalize())
    if black.bit_count() - white.bit_count() != side:
        raise ValueError("Black and White put stones in turn")
    mine, other = (black, white) if side == 0 else (white, black)
    if _winning_stones(mine, exact):
        raise ValueError("the side to move already has a winning row")
    won = HAS_WON if _winning_stones(other, exact) else NONE
    misc = U((black | white).bit_count() << 8) | won | (EXACT if exact else NONE)
    return _with_line_counts((*_quad(mine), *_quad(other), misc, NONE, NONE, NONE))


def format_position(s: State) -> str:
    black, white = _sides(s)
    cells = "".join(
        "B" if black >> bit & 1 else "W" if white >> bit & 1 else "." for _, bit in BITS
    )
    rows = [cells[start : start + SIZE] for start in range(0, SIZE * SIZE, SIZE)]
    win = "exactly-five" if s[8] & EXACT else "five-or-more"
    return f"{'/'.join(rows[::-1])} {NAMES[turn(s)].lower()} {win}"


def ending(s: State) -> str:
    return "five in a row" if s[8] & HAS_WON else "the board is full"


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=SIZE, rows=SIZE, style="points"),
        kinds={
            "B": Kind(name="black stone", side=0, text="X"),
            "W": Kind(name="white stone", side=1, text="O"),
        },
        seats=(SeatView("Black", "#26231f"), SeatView("White", "#f5f1e6")),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    black, white = _sides(s)
    pieces = {
        cell: "B" if black >> bit & 1 else "W" for cell, bit in BITS if (black | white) >> bit & 1
    }
    side = turn(s)
    path = (CELL_OF_BIT[last[1]],) if last else ()
    result = status(s)
    if result == LOST:
        row = _winning_stones((white, black)[side], bool(s[8] & EXACT))
        win = tuple(cell for cell, bit in BITS if row >> bit & 1)
        return PositionView(
            pieces, None, f"{NAMES[1 - side]} wins", {"last": path, "win": win}, path
        )
    if result == DRAWN:
        return PositionView(pieces, None, "Draw", {"last": path}, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", {"last": path}, path)


def move_view(s: State, m: int) -> MoveView:
    return MOVE_VIEWS[turn(s)][m]
