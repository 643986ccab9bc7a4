"""Gomoku: five in a row on the crossings of 15 lines by 15."""

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
    common,
    spread,
    without,
)
from engine.games.gomoku_parts.lines import (
    MIDDLE,
    ON_BOARD,
    count_of,
    has_five,
    play,
    rows_of,
    star,
)
from engine.games.gomoku_parts.threats import fours, fours_of_other, threats, wins
from engine.jit import U, lsb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "gomoku"
TITLE = "Gomoku"
#: Four words with the stones of the side to move, four with those of the other, bit = column + 16 *
#: row: four rows a word, and an empty column between rows. Then by bits: 0 exactly five wins, 1 the
#: last stone has won, from 8 on how many stones there are. Then counts of rows, kept up with each
#: stone, 16 bits each: of the side to move, where five crossings in a row hold one, two, three,
#: four of its stones and none of the other; the same of the other side; and where four crossings
#: between two empty ones hold two and three, of the side to move and then of the other.
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
    "win": Option("A row that wins", "five-or-more", ("five-or-more", "exactly-five")),
}
DATA = ("data/gomoku.txt",)
PARTS = (board_part, lines, threats_part)
RULES = """Black and White take turns to put a stone on any empty crossing of the lines.
Black begins. Stones never move.

Whoever first has five of their own stones in an unbroken row, across, up or diagonally, wins.
A full board without such a row is a draw.

A row of six stones or more wins as well. In a match that is made with "exactly five" it does not: there only a row of
five, with no further stone of the same colour at either end, wins."""
CENTRE = (NONE, U(1 << 3 * 16 + 7), NONE, NONE)

#: DATA: what a row of five crossings is worth with one, two, three and four stones of the side to
#: move, and one of four between two empty ones with two and three; the same of the other side; and
#: the move itself.
MINE, OTHERS, TEMPO = 0, 6, 12
#: A win that nothing can stop; it counts a little less the later it comes.
SURE = 19_000
NAMES = ("Black", "White")
BITS = tuple(
    (f"{chr(97 + column)}{row + 1}", column + 16 * row)
    for row in range(SIZE)
    for column in range(SIZE)
)
CELL_AT = {bit: cell for cell, bit in BITS}
BIT_AT = dict(BITS)
CLICKS = tuple(
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
def write_word(word: np.uint64, first: int, buf: Any, n: int) -> int:
    while word:
        buf[n] = first + lsb(word)
        word &= word - ONE
        n += 1
    return n


@rule
def write(cells: Quad, buf: Any, n: int) -> int:
    """Adds a move to each of these crossings."""
    n = write_word(cells[0], 0, buf, n)
    n = write_word(cells[1], 64, buf, n)
    n = write_word(cells[2], 128, buf, n)
    return write_word(cells[3], 192, buf, n)


@rule
def moves(s: State, buf: Any) -> int:
    """Wins come first, then what the other side would win with, then fours of either side, then
    what is near to stones, then all the rest.
    """
    stones = (s[0] | s[4], s[1] | s[5], s[2] | s[6], s[3] | s[7])
    empty = without(BOARD, stones)
    n = 0
    if count_of(s[9] | s[10], 3) | count_of(s[9] | s[10], 4):
        for cells in (wins(s), threats(s), fours(s), fours_of_other(s)):
            found = common(cells, empty)
            n = write(found, buf, n)
            empty = without(empty, found)
    near = spread(stones if s[8] >= STONE else CENTRE)
    n = write(common(near, empty), buf, n)
    empty = without(empty, near)
    near = spread(near)
    n = write(common(near, empty), buf, n)
    return write(without(empty, near), buf, n)


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
def sum_of(rows: np.uint64, open_rows: np.uint64, first: int, data: Any) -> int:
    """What the rows of a side are worth, with the numbers from an index on."""
    total = data[first + 4] * count_of(open_rows, 1) + data[first + 5] * count_of(open_rows, 2)
    for stones in range(1, 5):
        total += data[first + stones - 1] * count_of(rows, stones)
    return int(total)


@rule
def size_of(p: Quad) -> int:
    return popcount(p[0]) + popcount(p[1]) + popcount(p[2]) + popcount(p[3])


@rule
def evaluate(s: State, data: Any) -> int:
    """A win with the next stone, or with the one after it where nothing can stop it, is told as
    such.
    """
    if count_of(s[9], 4) and (s[8] & EXACT == NONE or size_of(wins(s)) > 0):
        return SURE
    blocks = size_of(threats(s))
    if blocks > 1:
        return 1 - SURE
    if blocks == 0 and count_of(s[11], 2):
        return SURE - 2
    total = (
        sum_of(s[9], s[11], MINE, data) - sum_of(s[10], s[11] >> U(32), OTHERS, data) + data[TEMPO]
    )
    return int(min(max(total, -SURE // 2), SURE // 2))


# --- for the search


@rule
def unstable(s: State) -> int:
    """The other side has a row of four: it must be stopped, unless one can win at once."""
    return int(count_of(s[10], 4) != 0 and count_of(s[9], 4) == 0)


@rule
def evasions(s: State, buf: Any) -> int:
    """The stones that stop a row of four."""
    return write(threats(s), buf, 0)


@rule
def tactical(s: State, buf: Any) -> int:
    """Fives, else what must be stopped. Not fours: the horizon has no limit, and chains of fours
    take no end there.
    """
    if count_of(s[9], 4):
        return write(wins(s), buf, 0)
    return write(threats(s), buf, 0)


@rule
def rank(s: State, m: int) -> int:
    """Fives, then fours and open threes of either side; what joins no two stones to a row is last."""
    own, against, valid = (
        star((s[0], s[1], s[2], s[3]), m),
        star((s[4], s[5], s[6], s[7]), m),
        ON_BOARD[m],
    )
    if has_five(own | MIDDLE, s[8] & EXACT):
        return 1000
    mine, mine_open = rows_of(own | MIDDLE, valid & ~against)
    others, others_open = rows_of(against | MIDDLE, valid & ~own)
    hot = (
        8 * count_of(mine, 4)
        + 6 * count_of(others, 4)
        + 3 * count_of(mine_open, 2)
        + 2 * count_of(others_open, 2)
    )
    if hot:
        return hot
    if count_of(mine | others, 2) | count_of(mine | others, 3):
        return 0
    return -1


@rule
def may_pass(s: State) -> int:
    """A stone more never harms; near the end of the board the count of stones, which a pass adds
    to, matters.
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
    if text not in BIT_AT:
        raise ValueError("a crossing is expected: h8")
    return BIT_AT[text]


def format_move(s: State, m: int) -> str:
    return CELL_AT[m]


def _sides(s: State) -> tuple[int, int]:
    """The black and the white stones, as plain ints."""
    mine, other = (
        sum(int(word) << 64 * i for i, word in enumerate(words)) for words in (s[:4], s[4:8])
    )
    return (mine, other) if turn(s) == 0 else (other, mine)


def _quad(stones: int) -> Quad:
    a, b, c, d = (U(stones >> 64 * i & 0xFFFFFFFFFFFFFFFF) for i in range(4))
    return a, b, c, d


def _winning(stones: int, exact: bool) -> int:
    """All stones that are part of a row that wins."""
    found = 0
    for step in STEPS:
        for begin in (
            bit
            for _, bit in BITS
            if stones >> bit & 1 and not (bit >= step and stones >> (bit - step) & 1)
        ):
            length = 1
            while stones >> (begin + length * step) & 1:
                length += 1
            if length == 5 or (length > 5 and not exact):
                found |= sum(1 << begin + i * step for i in range(length))
    return found


def _with_rows(s: State) -> State:
    """The state with the counts of rows that its stones make, which are kept up with each stone."""
    state: State = (NONE,) * 12
    for bit in CELL_AT:
        owner = next((i for i in (0, 4) if s[i + (bit >> 6)] >> U(bit & 63) & ONE), None)
        if owner is not None:
            # The one whose stone it is moves: sides are changed before where it is the other, and
            # after.
            state = play(state if owner == 0 else _turned(state), bit)
            state = _turned(state) if owner == 0 else state
    return (*s[:9], *state[9:])


def _turned(s: State) -> State:
    """The same for the other side to move."""
    return (*s[4:8], *s[:4], s[8], s[10], s[9], s[11] >> U(32) | s[11] << U(32))


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError(
            "fifteen rows of B, W or ., the top one first, side to move and what wins are expected"
        )
    if match[3] != options["win"]:
        raise ValueError(f"in this match {options['win']} wins")
    rows, exact = match[1].split("/")[::-1], match[3] == "exactly-five"
    black, white = (
        sum(1 << c + 16 * r for r in range(SIZE) for c in range(SIZE) if rows[r][c] == x)
        for x in "BW"
    )
    side = NAMES.index(match[2].capitalize())
    if black.bit_count() - white.bit_count() != side:
        raise ValueError("Black and White put stones in turn")
    mine, other = (black, white) if side == 0 else (white, black)
    if _winning(mine, exact):
        raise ValueError("the side to move has a row already")
    won = HAS_WON if _winning(other, exact) else NONE
    rest = U((black | white).bit_count() << 8) | won | (EXACT if exact else NONE)
    return _with_rows((*_quad(mine), *_quad(other), rest, NONE, NONE, NONE))


def format_position(s: State) -> str:
    black, white = _sides(s)
    cells = "".join(
        "B" if black >> bit & 1 else "W" if white >> bit & 1 else "." for _, bit in BITS
    )
    rows = [cells[start : start + SIZE] for start in range(0, SIZE * SIZE, SIZE)]
    return f"{'/'.join(rows[::-1])} {NAMES[turn(s)].lower()} {'exactly-five' if s[8] & EXACT else 'five-or-more'}"


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
    path = (CELL_AT[last[1]],) if last else ()
    result = status(s)
    if result == LOST:
        row = _winning((white, black)[side], bool(s[8] & EXACT))
        win = tuple(cell for cell, bit in BITS if row >> bit & 1)
        return PositionView(
            pieces, None, f"{NAMES[1 - side]} wins", {"last": path, "win": win}, path
        )
    if result == DRAWN:
        return PositionView(pieces, None, "Draw", {"last": path}, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", {"last": path}, path)


def move_view(s: State, m: int) -> MoveView:
    return CLICKS[turn(s)][m]
