"""The lines through an intersection, the rows of stones in them, and `play`, which counts the rows.

A star holds the intersections around one intersection in four directions, 16 bits each.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.gomoku_parts.board import EXACT, HAS_WON, NONE, ONE, SIZE, STONE, Quad
from engine.jit import U, popcount, rule

#: The lowest bit of each of the four rows in a word.
LOWEST_BITS = U(0x0001000100010001)
#: A multiplier that gathers four bits which are 16 apart.
GATHER_BITS = U(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3)
#: The lower half of a word.
LOW_32 = U(0xFFFFFFFF)
#: The middle of a star.
MIDDLE = U(0x0020002000200020)
#: The bits of a star at which rows of five and of six begin that include its middle.
FIVE_STARTS, SIX_STARTS = U(0x003E003E003E003E), U(0x003F003F003F003F)


def _slopes(slope: int) -> Any:
    """The intersections of each diagonal; its number is 15 + column - row or column + row."""
    masks = np.zeros((32, 4), np.uint64)
    for row in range(SIZE):
        for column in range(SIZE):
            number = SIZE + column - row if slope > 0 else column + row
            masks[number, row // 4] |= ONE << U(column + 16 * (row % 4))
    return masks


#: The intersections of the rising and of the falling diagonals, by number.
RISING, FALLING = _slopes(1), _slopes(-1)


def _on_board() -> Any:
    """The intersections of each star that are on the board."""
    stars = np.zeros(256, np.uint64)
    for row in range(SIZE):
        for column in range(SIZE):
            for i, (right, up) in enumerate(((1, 0), (0, 1), (1, 1), (1, -1))):
                for offset in range(-5, 6):
                    if 0 <= column + offset * right < SIZE and 0 <= row + offset * up < SIZE:
                        stars[column + 16 * row] |= ONE << U(16 * i + 5 + offset)
    return stars


#: The intersections of each star that are on the board.
ON_BOARD = _on_board()


@rule
def column_of(p: Quad, column: int) -> np.uint64:
    """The intersections of a column as adjacent bits, bit = row.

    A multiplication gathers four bits that are 16 apart.
    """
    by = U(column)
    a = ((p[0] >> by) & LOWEST_BITS) * GATHER_BITS >> U(48) & U(15)
    b = ((p[1] >> by) & LOWEST_BITS) * GATHER_BITS >> U(44) & U(15 << 4)
    c = ((p[2] >> by) & LOWEST_BITS) * GATHER_BITS >> U(40) & U(15 << 8)
    d = ((p[3] >> by) & LOWEST_BITS) * GATHER_BITS >> U(36) & U(15 << 12)
    return a | b | c | d


@rule
def slope_of(p: Quad, masks: Any, i: int) -> np.uint64:
    """The intersections of a diagonal as adjacent bits, bit = column.

    Each row has one intersection, so a multiplication can add the rows up.
    """
    a, b = (p[0] & masks[i, 0]) * LOWEST_BITS, (p[1] & masks[i, 1]) * LOWEST_BITS
    c, d = (p[2] & masks[i, 2]) * LOWEST_BITS, (p[3] & masks[i, 3]) * LOWEST_BITS
    line: np.uint64 = (a | b | c | d) >> U(48)
    return line


@rule
def window(line: np.uint64, at: int) -> np.uint64:
    """Eleven intersections of a line around position `at`, which becomes bit 5."""
    return ((line << U(5)) >> U(at)) & U(2047)


@rule
def star(p: Quad, m: int) -> np.uint64:
    """The star of an intersection: five neighbours each way in four directions, 16 bits each."""
    row, column = m >> 4, m & 15
    across = (p[m >> 6] >> U(m & 48)) & U(0xFFFF)
    word = window(across, column) | (window(column_of(p, column), row) << U(16))
    word |= window(slope_of(p, RISING, 15 + column - row), column) << U(32)
    return word | (window(slope_of(p, FALLING, column + row), column) << U(48))


@rule
def count_rows(own: np.uint64, free: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The counts of the rows in a star that include its middle, 16 bits each.

    The first word counts rows of five free intersections by own stones, 1 to 4; the second word
    counts rows of six with empty ends by own stones, 2 and 3. All rows are computed in parallel:
    the bit where a row begins stands for it.
    """
    b, c, d, e = own >> ONE, own >> U(2), own >> U(3), own >> U(4)
    middle = free & (free >> ONE) & (free >> U(2)) & (free >> U(3))
    usable = middle & (free >> U(4)) & FIVE_STARTS
    # Add four bits: two pairs, then their sums; then the fifth intersection of each row.
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
    open_rows = empty & (middle >> ONE) & (empty >> U(5)) & SIX_STARTS
    twos, threes = (twos >> ONE) & open_rows, (threes >> ONE) & open_rows
    return counts, U(popcount(twos)) | (U(popcount(threes)) << U(16))


@rule
def has_five(own: np.uint64, exact: np.uint64) -> bool:
    """True if a star, with an own stone in its middle, has a winning row through the middle."""
    five = own & (own >> ONE) & (own >> U(2)) & (own >> U(3)) & (own >> U(4))
    if exact:
        five &= ~((own << ONE) | (own >> U(5)))
    return bool(five & FIVE_STARTS)


@rule
def play(s: State, m: int) -> State:
    bit, word = ONE << U(m & 63), m >> 6
    stones, other = (s[0], s[1], s[2], s[3]), (s[4], s[5], s[6], s[7])
    mine = (
        s[0] | (bit if word == 0 else NONE),
        s[1] | (bit if word == 1 else NONE),
        s[2] | (bit if word == 2 else NONE),
        s[3] | (bit if word == 3 else NONE),
    )
    misc = s[8] + STONE
    # Count the rows of both sides through the intersection, before and after the stone.
    my_star, their_star, valid = star(stones, m), star(other, m), ON_BOARD[m]
    if has_five(my_star | MIDDLE, s[8] & EXACT):
        misc |= HAS_WON
    my_old, my_old_open = count_rows(my_star, valid & ~their_star)
    my_new, my_new_open = count_rows(my_star | MIDDLE, valid & ~their_star)
    their_old, their_old_open = count_rows(their_star, valid & ~my_star)
    their_new, their_new_open = count_rows(their_star, valid & ~(my_star | MIDDLE))
    open_mine = (s[11] & LOW_32) + my_new_open - my_old_open
    open_other = (s[11] >> U(32)) + their_new_open - their_old_open
    return (
        *(other[0], other[1], other[2], other[3], mine[0], mine[1], mine[2], mine[3]),
        *(
            misc,
            s[10] + their_new - their_old,
            s[9] + my_new - my_old,
            open_other | (open_mine << U(32)),
        ),
    )


@rule
def rows_with(rows: np.uint64, stones: int) -> int:
    """The number of rows with this many stones, 1 to 4, from a word of four counts."""
    return int(np.int64((rows >> U(16 * stones - 16)) & U(0xFFFF)))
