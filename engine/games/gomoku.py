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
WORDS = 12
"""Four words with the stones of the side to move, four with those of the other, bit = column + 16 * row: four rows a
word, and an empty column between rows. Then by bits: 0 exactly five wins, 1 the last stone has won, from 8 on how many
stones there are. Then counts of rows, kept up with each stone, 16 bits each: of the side to move, where five crossings
in a row hold one, two, three, four of its stones and none of the other; the same of the other side; and where four
crossings between two empty ones hold two and three, of the side to move and then of the other."""
MAX_MOVES = 225
LEVELS = 5
LEVEL_TABLE = (
    (1, 20, 100),
    (2, 33, 0),
    (1_800, 2, 55),
    (5_500, 0, 30),
)
MARGIN = 40
OPTIONS: Mapping[str, Option] = {
    "win": Option("A row that wins", "five-or-more", ("five-or-more", "exactly-five")),
}
DATA = ("data/gomoku.txt",)
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
LOW = U(0x0001000100010001)
GATHER = U(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3)
LOW_32 = U(0xFFFFFFFF)
MIDDLE = U(0x0020002000200020)
"""Of a star, 16 bits a direction: the middle, and where rows of five and of six begin that take it in."""
FIVES_BEGIN, SIXES_BEGIN = U(0x003E003E003E003E), U(0x003F003F003F003F)
BOARD = (*(U(0x7FFF7FFF7FFF7FFF),) * 3, U(0x7FFF7FFF7FFF))
CENTRE = (NONE, U(1 << 3 * 16 + 7), NONE, NONE)

MINE, OTHERS, TEMPO = 0, 6, 12
"""DATA: what a row of five crossings is worth with one, two, three and four stones of the side to move, and one of four
between two empty ones with two and three; the same of the other side; and the move itself."""
SURE = 19_000
"""A win that nothing can stop; it counts a little less the later it comes."""


def _slopes(way: int) -> Any:
    """The crossings of each diagonal, by its number: 15 + column - row upwards, column + row downwards."""
    masks = np.zeros((32, 4), np.uint64)
    for row in range(SIZE):
        for column in range(SIZE):
            number = SIZE + column - row if way > 0 else column + row
            masks[number, row // 4] |= ONE << U(column + 16 * (row % 4))
    return masks


RISING, FALLING = _slopes(1), _slopes(-1)


def _on_board() -> Any:
    """The star of each crossing on the whole board."""
    stars = np.zeros(256, np.uint64)
    for row in range(SIZE):
        for column in range(SIZE):
            for i, (right, up) in enumerate(((1, 0), (0, 1), (1, 1), (1, -1))):
                for far in range(-5, 6):
                    if 0 <= column + far * right < SIZE and 0 <= row + far * up < SIZE:
                        stars[column + 16 * row] |= ONE << U(16 * i + 5 + far)
    return stars


ON_BOARD = _on_board()
NAMES = ("Black", "White")
BITS = tuple((f"{chr(97 + column)}{row + 1}", column + 16 * row) for row in range(SIZE) for column in range(SIZE))
CELL_AT = {bit: cell for cell, bit in BITS}
BIT_AT = dict(BITS)
CLICKS = tuple({bit: MoveView(id=c, path=(c,), text=c, ghost=(c, kind)) for c, bit in BITS} for kind in "BW")
POSITION_TEXT = re.compile(r"([BW.]{15}(?:/[BW.]{15}){14}) (black|white) (five-or-more|exactly-five)")


def init(options: Mapping[str, str]) -> State:
    return (*(NONE,) * 8, EXACT if options["win"] == "exactly-five" else NONE, NONE, NONE, NONE)


@rule
def status(s: State) -> int:
    if s[8] & HAS_WON:
        return LOST
    return DRAWN if s[8] >= ALL_STONES else GOES_ON


@rule
def column_of(p: Quad, column: int) -> np.uint64:
    """The crossings of a column in a row, bit = row: a product gathers four bits that are 16 apart."""
    by = U(column)
    a, b = ((p[0] >> by) & LOW) * GATHER >> U(48) & U(15), ((p[1] >> by) & LOW) * GATHER >> U(44) & U(15 << 4)
    c, d = ((p[2] >> by) & LOW) * GATHER >> U(40) & U(15 << 8), ((p[3] >> by) & LOW) * GATHER >> U(36) & U(15 << 12)
    return a | b | c | d


@rule
def slope_of(p: Quad, masks: Any, i: int) -> np.uint64:
    """The crossings of a diagonal in a row, bit = column: each row has one, so a product brings all rows together."""
    a, b = (p[0] & masks[i, 0]) * LOW, (p[1] & masks[i, 1]) * LOW
    c, d = (p[2] & masks[i, 2]) * LOW, (p[3] & masks[i, 3]) * LOW
    line: np.uint64 = (a | b | c | d) >> U(48)
    return line


@rule
def around(line: np.uint64, at: int) -> np.uint64:
    """The eleven crossings of a line with the one in question in the middle, at bit 5."""
    return ((line << U(5)) >> U(at)) & U(2047)


@rule
def star(p: Quad, m: int) -> np.uint64:
    """The crossings around one in the four directions, five each way, 16 bits a direction."""
    row, column = m >> 4, m & 15
    across = (p[m >> 6] >> U(m & 48)) & U(0xFFFF)
    word = around(across, column) | (around(column_of(p, column), row) << U(16))
    word |= around(slope_of(p, RISING, 15 + column - row), column) << U(32)
    return word | (around(slope_of(p, FALLING, column + row), column) << U(48))


@rule
def rows_of(own: np.uint64, free: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Counts of the rows in a star that take in its middle: of five free crossings, by own stones 1 to 4, and of six
    with empty ends, by own stones 2 and 3; 16 bits each. All rows at once: where one begins there is a bit.
    """
    b, c, d, e = own >> ONE, own >> U(2), own >> U(3), own >> U(4)
    middle = free & (free >> ONE) & (free >> U(2)) & (free >> U(3))
    usable = middle & (free >> U(4)) & FIVES_BEGIN
    # Add four bits: two pairs, then their sums; the fifth crossing of a row is added behind them.
    odd_1, both_1, odd_2, both_2 = own ^ b, own & b, c ^ d, c & d
    one, carry = odd_1 ^ odd_2, odd_1 & odd_2
    two, four = both_1 ^ both_2 ^ carry, both_1 & both_2
    ones, twos, threes = one & ~two & ~four, two & ~one, two & one
    none = ~(one | two | four)
    counts = U(popcount(usable & ((none & e) | (ones & ~e))))
    counts |= U(popcount(usable & ((ones & e) | (twos & ~e)))) << U(16)
    counts |= U(popcount(usable & ((twos & e) | (threes & ~e)))) << U(32)
    counts |= U(popcount(usable & ((threes & e) | (four & ~e)))) << U(48)
    empty = free & ~own
    open_rows = empty & (middle >> ONE) & (empty >> U(5)) & SIXES_BEGIN
    twos, threes = (twos >> ONE) & open_rows, (threes >> ONE) & open_rows
    return counts, U(popcount(twos)) | (U(popcount(threes)) << U(16))


@rule
def has_five(own: np.uint64, exact: np.uint64) -> bool:
    """Is there a row in a star that wins? Its middle is own."""
    five = own & (own >> ONE) & (own >> U(2)) & (own >> U(3)) & (own >> U(4))
    if exact:
        five &= ~((own << ONE) | (own >> U(5)))
    return bool(five & FIVES_BEGIN)


@rule
def play(s: State, m: int) -> State:
    bit, word = ONE << U(m & 63), m >> 6
    before, other = (s[0], s[1], s[2], s[3]), (s[4], s[5], s[6], s[7])
    mine = (
        s[0] | (bit if word == 0 else NONE),
        s[1] | (bit if word == 1 else NONE),
        s[2] | (bit if word == 2 else NONE),
        s[3] | (bit if word == 3 else NONE),
    )
    rest = s[8] + STONE
    # The rows of both sides that the crossing is part of, without the stone and with it.
    own, against, valid = star(before, m), star(other, m), ON_BOARD[m]
    if has_five(own | MIDDLE, s[8] & EXACT):
        rest |= HAS_WON
    old, old_open = rows_of(own, valid & ~against)
    new, new_open = rows_of(own | MIDDLE, valid & ~against)
    lost, lost_open = rows_of(against, valid & ~own)
    left, left_open = rows_of(against, valid & ~(own | MIDDLE))
    open_mine = (s[11] & LOW_32) + new_open - old_open
    open_other = (s[11] >> U(32)) + left_open - lost_open
    return (
        *(other[0], other[1], other[2], other[3], mine[0], mine[1], mine[2], mine[3]),
        *(rest, s[10] + left - lost, s[9] + new - old, open_other | (open_mine << U(32))),
    )


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
def complete(own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64, stones: int) -> Any:
    """The empty crossings of the rows of five that begin in a word with so many stones: in it, and in the next one."""
    here, there = NONE, NONE
    for step in STEPS:
        begins = windows(own, own_2, free, free_2, step)[stones - 1]
        if begins:
            for i in range(5):
                gap = begins & ~(after(own, own_2, i * step) if i > 0 else own)
                low, high = ahead(gap, i * step)
                here |= low
                there |= high
    return (here, there)


@rule
def fives(own: Quad, free: Quad, exact: np.uint64) -> Quad:
    """The empty crossings where a stone would win."""
    return gaps(own, free, 4, exact)


@rule
def gaps(own: Quad, free: Quad, stones: int, exact: np.uint64) -> Quad:
    """The empty crossings of rows of five with so many stones; of four stones only those that win."""
    a, b, c, d, carried = NONE, NONE, NONE, NONE, NONE
    for i in range(4):
        here, there = complete(own[i], own[i + 1] if i < 3 else NONE, free[i], free[i + 1] if i < 3 else NONE, stones)
        here |= carried
        carried = there
        if here and exact and stones == 4:
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
        if not has_five(star(own, first + cell) | MIDDLE, EXACT):
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
def count_of(rows: np.uint64, stones: int) -> int:
    """The first to the fourth count of a word."""
    return int(np.int64((rows >> U(16 * stones - 16)) & U(0xFFFF)))


@rule
def wins(s: State) -> Quad:
    """Where the side to move wins at once."""
    if count_of(s[9], 4) == 0:
        return (NONE, NONE, NONE, NONE)
    return fives((s[0], s[1], s[2], s[3]), without(BOARD, (s[4], s[5], s[6], s[7])), s[8] & EXACT)


@rule
def threats(s: State) -> Quad:
    """Where the other side would win at once."""
    if count_of(s[10], 4) == 0:
        return (NONE, NONE, NONE, NONE)
    return fives((s[4], s[5], s[6], s[7]), without(BOARD, (s[0], s[1], s[2], s[3])), s[8] & EXACT)


@rule
def fours(s: State) -> Quad:
    """Where the side to move makes a row of four."""
    if count_of(s[9], 3) == 0:
        return (NONE, NONE, NONE, NONE)
    return gaps((s[0], s[1], s[2], s[3]), without(BOARD, (s[4], s[5], s[6], s[7])), 3, NONE)


@rule
def fours_of_other(s: State) -> Quad:
    """Where the other side would."""
    if count_of(s[10], 3) == 0:
        return (NONE, NONE, NONE, NONE)
    return gaps((s[4], s[5], s[6], s[7]), without(BOARD, (s[0], s[1], s[2], s[3])), 3, NONE)


@rule
def common(p: Quad, q: Quad) -> Quad:
    return (p[0] & q[0], p[1] & q[1], p[2] & q[2], p[3] & q[3])


@rule
def moves(s: State, buf: Any) -> int:
    """Wins come first, then what the other side would win with, then fours of either side, then what is near to
    stones, then all the rest.
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
    """A win with the next stone, or with the one after it where nothing can stop it, is told as such."""
    if count_of(s[9], 4) and (s[8] & EXACT == NONE or size_of(wins(s)) > 0):
        return SURE
    blocks = size_of(threats(s))
    if blocks > 1:
        return 1 - SURE
    if blocks == 0 and count_of(s[11], 2):
        return SURE - 2
    total = sum_of(s[9], s[11], MINE, data) - sum_of(s[10], s[11] >> U(32), OTHERS, data) + data[TEMPO]
    return int(min(max(total, -SURE // 2), SURE // 2))


# --- for the search


@rule
def tense(s: State) -> int:
    """The other side has a row of four: it must be stopped, unless one can win at once."""
    return int(count_of(s[10], 4) != 0 and count_of(s[9], 4) == 0)


@rule
def forced(s: State, buf: Any) -> int:
    """The stones that stop a row of four."""
    return write(threats(s), buf, 0)


@rule
def noisy(s: State, buf: Any) -> int:
    """Fives, else what must be stopped. Not fours: the horizon has no limit, and chains of fours take no end there."""
    if count_of(s[9], 4):
        return write(wins(s), buf, 0)
    return write(threats(s), buf, 0)


@rule
def rank(s: State, m: int) -> int:
    """Fives, then fours and open threes of either side; what joins no two stones to a row is last."""
    own, against, valid = star((s[0], s[1], s[2], s[3]), m), star((s[4], s[5], s[6], s[7]), m), ON_BOARD[m]
    if has_five(own | MIDDLE, s[8] & EXACT):
        return 1000
    mine, mine_open = rows_of(own | MIDDLE, valid & ~against)
    others, others_open = rows_of(against | MIDDLE, valid & ~own)
    hot = 8 * count_of(mine, 4) + 6 * count_of(others, 4) + 3 * count_of(mine_open, 2) + 2 * count_of(others_open, 2)
    if hot:
        return hot
    if count_of(mine | others, 2) | count_of(mine | others, 3):
        return 0
    return -1


@rule
def may_pass(s: State) -> int:
    """A stone more never harms; near the end of the board the count of stones, which a pass adds to, matters."""
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


def _with_rows(s: State) -> State:
    """The state with the counts of rows that its stones make, which are kept up with each stone."""
    state: State = (NONE,) * 12
    for bit in CELL_AT:
        owner = next((i for i in (0, 4) if s[i + (bit >> 6)] >> U(bit & 63) & ONE), None)
        if owner is not None:
            # The one whose stone it is moves: sides are changed before where it is the other, and after.
            state = play(state if owner == 0 else _turned(state), bit)
            state = _turned(state) if owner == 0 else state
    return (*s[:9], *state[9:])


def _turned(s: State) -> State:
    """The same for the other side to move."""
    return (*s[4:8], *s[:4], s[8], s[10], s[9], s[11] >> U(32) | s[11] << U(32))


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
    return _with_rows((*_quad(mine), *_quad(other), rest, NONE, NONE, NONE))


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
