"""Gomoku: five in a row on the crossings of 15 lines by 15."""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from engine.game import DRAWN, GOES_ON, LOST, Option, State
from engine.jit import U, lsb, popcount, rule
from engine.view import BoardView, Grid, Kind, MoveView, PositionView, SeatView

NAME = "gomoku"
TITLE = "Gomoku"
WORDS = 9
"""Four words with the stones of the side to move, four with those of the other, bit = column + 16 * row: four rows a
word, and an empty column between rows. Then by bits: 0 exactly five wins, 1 the last stone has won, from 8 on how many
stones there are."""
MAX_MOVES = 225
LEVELS = 4
OPTIONS: Mapping[str, Option] = {
    "win": Option("A row that wins", "five-or-more", ("five-or-more", "exactly-five")),
}
DATA = ()
RULES = """Black and White take turns to put a stone on any empty crossing of the lines.
Black begins. Stones never move.

Whoever first has five of their own stones in an unbroken row, across, up or diagonally, wins.
A full board without such a row is a draw.

A row of six stones or more wins as well. In a match that is made with "exactly five" it does not: there only a row of
five, with no further stone of the same colour at either end, wins."""

Quad: TypeAlias = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
"""A set of crossings."""

SIZE = 15
ONE, NONE = U(1), U(0)
EXACT, HAS_WON, STONE = U(1), U(2), U(1 << 8)
ALL_STONES = U(SIZE * SIZE << 8)
FLAGS = U(255)
STEPS = (1, 15, 16, 17)  # across, up to the left, up, up to the right
BOARD = (*(U(0x7FFF7FFF7FFF7FFF),) * 3, U(0x7FFF7FFF7FFF))
CENTRE = (NONE, U(1 << 3 * 16 + 7), NONE, NONE)

WINDOW = (0, 1, 6, 24, 60)
"""What five crossings in a row are worth, by the stones on them, where the other side has none."""
OPEN_THREE = 30
"""Besides, for each way to make a four with two free ends."""
SURE = 19_000
"""A win that nothing can stop; it counts a little less the later it comes."""

NAMES = ("Black", "White")
BITS = tuple((f"{chr(97 + column)}{row + 1}", column + 16 * row) for row in range(SIZE) for column in range(SIZE))
CELL_AT = {bit: cell for cell, bit in BITS}
BIT_AT = dict(BITS)
CLICKS = tuple({bit: MoveView(id=c, path=(c,), text=c, ghost=(c, kind)) for c, bit in BITS} for kind in "BW")
POSITION_TEXT = re.compile(r"([BW.]{15}(?:/[BW.]{15}){14}) (black|white) (five-or-more|exactly-five)")


def init(options: Mapping[str, str]) -> State:
    return (NONE,) * 8 + (EXACT if options["win"] == "exactly-five" else NONE,)


@rule
def status(s: State) -> int:
    if s[8] & HAS_WON:
        return LOST
    return DRAWN if s[8] >= ALL_STONES else GOES_ON


@rule
def makes_five(p: Quad, cell: int, exact: np.uint64) -> bool:
    """Does a stone there, put or not, make a row that wins?"""
    for step in STEPS:
        length = 1
        for way in (step, -step):
            at = (cell + way) & 255  # off the board the next bit is that of an empty column or row
            while p[at >> 6] & (ONE << U(at & 63)):
                length += 1
                at = (at + way) & 255
        if length == 5 or (length > 5 and exact == NONE):
            return True
    return False


@rule
def play(s: State, m: int) -> State:
    bit, word = ONE << U(m & 63), m >> 6
    mine = (
        s[0] | (bit if word == 0 else NONE),
        s[1] | (bit if word == 1 else NONE),
        s[2] | (bit if word == 2 else NONE),
        s[3] | (bit if word == 3 else NONE),
    )
    rest = s[8] + STONE
    if makes_five(mine, m, s[8] & EXACT):
        rest |= HAS_WON
    return (s[4], s[5], s[6], s[7], mine[0], mine[1], mine[2], mine[3], rest)


@rule
def after(word: np.uint64, following: np.uint64, by: int) -> np.uint64:
    """The bits that come so many places after those of a word, 1 to 85."""
    if by < 64:
        return (word >> U(by)) | (following << U(64 - by))
    return following >> U(by - 64)


@rule
def ahead(word: np.uint64, by: int) -> Any:
    """Bits of a word moved up by so many places, 0 to 68: what stays in it, and what comes to the next word."""
    if by == 0:
        return (word, NONE)
    if by < 64:
        return (word << U(by), word >> U(64 - by))
    return (NONE, word << U(by - 64))


@rule
def windows(own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64, step: int) -> Any:
    """Where rows of five begin that are own or empty, by their stones: 1, 2, 3, 4. The second word is the next one.

    No row of five reaches farther than the next word: four rows of the board are one word on.
    """
    b, c = after(own, own_2, step), after(own, own_2, 2 * step)
    d, e = after(own, own_2, 3 * step), after(own, own_2, 4 * step)
    usable = free & after(free, free_2, step) & after(free, free_2, 2 * step)
    usable &= after(free, free_2, 3 * step) & after(free, free_2, 4 * step)
    # Add the five bits: two full adders, then the three carries.
    odd = own ^ b ^ c
    carry_1 = (own & b) | (c & (own ^ b))
    low = odd ^ d ^ e
    carry_2 = (odd & d) | (e & (odd ^ d))
    middle, high = carry_1 ^ carry_2, carry_1 & carry_2
    return (low & ~middle & ~high & usable, middle & ~low & usable, middle & low & usable, high & ~low & usable)


@rule
def measure(own: Quad, free: Quad) -> Any:
    """What the rows of a side are worth, its fours, and the places for a four with two free ends."""
    total, fours, threes = 0, 0, 0
    for i in range(4):
        word, word_2, word_3 = own[i], own[i + 1] if i < 3 else NONE, own[i + 2] if i < 2 else NONE
        usable, usable_2, usable_3 = free[i], free[i + 1] if i < 3 else NONE, free[i + 2] if i < 2 else NONE
        empty, empty_2, empty_3 = usable & ~word, usable_2 & ~word_2, usable_3 & ~word_3
        for step in STEPS:
            one, two, three, four = windows(word, word_2, usable, usable_2, step)
            total += WINDOW[1] * popcount(one) + WINDOW[2] * popcount(two)
            if three:
                sixth = after(empty, empty_2, 5 * step)
                if 5 * step > 64:
                    sixth |= empty_3 << U(128 - 5 * step)
                total += WINDOW[3] * popcount(three)
                threes += popcount(three & empty & sixth)
            fours += popcount(four)
    return (total + WINDOW[4] * fours + OPEN_THREE * threes, fours, threes)


@rule
def complete(own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64) -> Any:
    """The crossings that complete a row of five which begins in a word: in it, and in the next one."""
    here, there = NONE, NONE
    for step in STEPS:
        four = windows(own, own_2, free, free_2, step)[3]
        if four:
            for i in range(5):
                gap = four & ~(after(own, own_2, i * step) if i > 0 else own)
                low, high = ahead(gap, i * step)
                here |= low
                there |= high
    return (here, there)


@rule
def fives(own: Quad, free: Quad, exact: np.uint64) -> Quad:
    """The empty crossings where a stone would win."""
    a, b, c, d, carried = NONE, NONE, NONE, NONE, NONE
    for i in range(4):
        here, there = complete(own[i], own[i + 1] if i < 3 else NONE, free[i], free[i + 1] if i < 3 else NONE)
        here |= carried
        carried = there
        if here and exact:
            here = only_fives(own, here, 64 * i)
        if i == 0:
            a = here
        elif i == 1:
            b = here
        elif i == 2:
            c = here
        else:
            d = here
    return (a, b, c, d)


@rule
def only_fives(own: Quad, cells: np.uint64, first: int) -> np.uint64:
    """Those of the crossings of a word where exactly five come about."""
    left = cells
    while left:
        cell = lsb(left)
        left &= left - ONE
        if not makes_five(own, first + cell, EXACT):
            cells ^= ONE << U(cell)
    return cells


@rule
def spread(p: Quad) -> Quad:
    """These crossings and all next to them."""
    a = p[0] | (p[0] << U(16)) | (p[0] >> U(16)) | (p[1] << U(48))
    b = p[1] | (p[1] << U(16)) | (p[1] >> U(16)) | (p[2] << U(48)) | (p[0] >> U(48))
    c = p[2] | (p[2] << U(16)) | (p[2] >> U(16)) | (p[3] << U(48)) | (p[1] >> U(48))
    d = p[3] | (p[3] << U(16)) | (p[3] >> U(16)) | (p[2] >> U(48))
    return (
        (a | (a << ONE) | (a >> ONE)) & BOARD[0],
        (b | (b << ONE) | (b >> ONE)) & BOARD[1],
        (c | (c << ONE) | (c >> ONE)) & BOARD[2],
        (d | (d << ONE) | (d >> ONE)) & BOARD[3],
    )


@rule
def without(p: Quad, q: Quad) -> Quad:
    return (p[0] & ~q[0], p[1] & ~q[1], p[2] & ~q[2], p[3] & ~q[3])


@rule
def write(cells: Quad, buf: Any, n: int) -> int:
    """Adds a move to each of these crossings."""
    for i in range(4):
        word = cells[i]
        while word:
            buf[n] = 64 * i + lsb(word)
            word &= word - ONE
            n += 1
    return n


@rule
def moves(s: State, buf: Any) -> int:
    """Wins come first, then what the other side would win with, then what is near to stones, then all the rest."""
    mine, other, exact = (s[0], s[1], s[2], s[3]), (s[4], s[5], s[6], s[7]), s[8] & EXACT
    stones = (s[0] | s[4], s[1] | s[5], s[2] | s[6], s[3] | s[7])
    empty = without(BOARD, stones)
    wins = fives(mine, without(BOARD, other), exact)
    n = write(wins, buf, 0)
    threats = without(fives(other, without(BOARD, mine), exact), wins)
    n = write(threats, buf, n)
    empty = without(without(empty, wins), threats)
    near = spread(stones if s[8] >= STONE else CENTRE)
    n = write(without(near, without(near, empty)), buf, n)
    empty = without(empty, near)
    near = spread(near)
    n = write(without(near, without(near, empty)), buf, n)
    return write(without(empty, near), buf, n)


@rule
def stuck(s: State) -> int:
    return DRAWN


@rule
def key(s: State) -> np.uint64:
    k = s[8] * U(0x9E3779B97F4A7C15)
    for i in range(8):
        k = (k ^ s[i]) * U(0xBF58476D1CE4E5B9)
        k ^= k >> U(32)
    return k | ONE


@rule
def evaluate(s: State, data: Any) -> int:
    mine, other, exact = (s[0], s[1], s[2], s[3]), (s[4], s[5], s[6], s[7]), s[8] & EXACT
    my_free, other_free = without(BOARD, other), without(BOARD, mine)
    total, my_fours, my_threes = measure(mine, my_free)
    against, other_fours, _ = measure(other, other_free)
    if my_fours:
        wins = fives(mine, my_free, exact)
        if wins[0] | wins[1] | wins[2] | wins[3]:
            return SURE
    threats = 0
    if other_fours:
        wins = fives(other, other_free, exact)
        threats = popcount(wins[0]) + popcount(wins[1]) + popcount(wins[2]) + popcount(wins[3])
        if threats > 1:
            return 1 - SURE
    if my_threes and threats == 0:
        return SURE - 2
    return int(min(max(total - against, -SURE // 2), SURE // 2))


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
    mine, other = (sum(int(word) << 64 * i for i, word in enumerate(words)) for words in (s[:4], s[4:8]))
    return (mine, other) if turn(s) == 0 else (other, mine)


def _quad(stones: int) -> Quad:
    a, b, c, d = (U(stones >> 64 * i & 0xFFFFFFFFFFFFFFFF) for i in range(4))
    return a, b, c, d


def _winning(stones: int, exact: bool) -> int:
    """All stones that are part of a row that wins."""
    found = 0
    for step in STEPS:
        for begin in (bit for _, bit in BITS if stones >> bit & 1 and not (bit >= step and stones >> (bit - step) & 1)):
            length = 1
            while stones >> (begin + length * step) & 1:
                length += 1
            if length == 5 or (length > 5 and not exact):
                found |= sum(1 << begin + i * step for i in range(length))
    return found


def parse_position(text: str, options: Mapping[str, str]) -> State:
    match = POSITION_TEXT.fullmatch(text)
    if not match:
        raise ValueError("fifteen rows of B, W or ., the top one first, side to move and what wins are expected")
    if match[3] != options["win"]:
        raise ValueError(f"in this match {options['win']} wins")
    rows, exact = match[1].split("/")[::-1], match[3] == "exactly-five"
    black, white = (sum(1 << c + 16 * r for r in range(SIZE) for c in range(SIZE) if rows[r][c] == x) for x in "BW")
    side = NAMES.index(match[2].capitalize())
    if black.bit_count() - white.bit_count() != side:
        raise ValueError("Black and White put stones in turn")
    mine, other = (black, white) if side == 0 else (white, black)
    if _winning(mine, exact):
        raise ValueError("the side to move has a row already")
    won = HAS_WON if _winning(other, exact) else NONE
    rest = U((black | white).bit_count() << 8) | won | (EXACT if exact else NONE)
    return (*_quad(mine), *_quad(other), rest)


def format_position(s: State) -> str:
    black, white = _sides(s)
    cells = "".join("B" if black >> bit & 1 else "W" if white >> bit & 1 else "." for _, bit in BITS)
    rows = [cells[start : start + SIZE] for start in range(0, SIZE * SIZE, SIZE)]
    return f"{'/'.join(rows[::-1])} {NAMES[turn(s)].lower()} {'exactly-five' if s[8] & EXACT else 'five-or-more'}"


def ending(s: State) -> str:
    return "five in a row" if s[8] & HAS_WON else "the board is full"


def board(options: Mapping[str, str]) -> BoardView:
    return BoardView(
        board=Grid(cols=SIZE, rows=SIZE, style="points"),
        kinds={"B": Kind(name="black stone", side=0, text="X"), "W": Kind(name="white stone", side=1, text="O")},
        seats=(SeatView("Black", "#26231f"), SeatView("White", "#f5f1e6")),
    )


def view(s: State, last: tuple[State, int] | None) -> PositionView:
    black, white = _sides(s)
    pieces = {cell: "B" if black >> bit & 1 else "W" for cell, bit in BITS if (black | white) >> bit & 1}
    side = turn(s)
    path = (CELL_AT[last[1]],) if last else ()
    result = status(s)
    if result == LOST:
        row = _winning((white, black)[side], bool(s[8] & EXACT))
        win = tuple(cell for cell, bit in BITS if row >> bit & 1)
        return PositionView(pieces, None, f"{NAMES[1 - side]} wins", {"last": path, "win": win}, path)
    if result == DRAWN:
        return PositionView(pieces, None, "Draw", {"last": path}, path)
    return PositionView(pieces, side, f"{NAMES[side]} to move", {"last": path}, path)


def move_view(s: State, m: int) -> MoveView:
    return CLICKS[turn(s)][m]
