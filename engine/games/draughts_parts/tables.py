"""The endgame tables of draughts: the numbering of positions, and the probe."""

from itertools import product
from math import comb
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, State
from engine.games.draughts_parts.board import BOARD, DRAW_PLIES, FIRST_ROW, LAST_ROW, ONE, ZERO
from engine.games.draughts_parts.evaluation import REST
from engine.jit import U, lsb, popcount, rule

# The tables have one byte for each position of two to TABLE_PIECES pieces with Black to move. A
# position with White to move is looked up rotated. The bytes stand in slices by the men and kings
# of both sides and by the number of Black's men on the first row, where no white man can be.
#: Maximum number of pieces on the board in the tables.
TABLE_PIECES = 4
#: The word of the game's data with the number of pieces that the tables behind it cover; 0: none.
TABLES_AT = REST + 14
#: Maximum number of plies in a row without a capture or a man's move in any won line of the tables.
LONGEST_QUIET = 54
MIDDLE_ROWS = BOARD & ~(FIRST_ROW | LAST_ROW)
#: The binomial coefficients n over k.
CHOOSE = np.array([[comb(n, k) for k in range(5)] for n in range(33)])


def _slices() -> tuple[Any, int]:
    """Where each slice begins, and the size of all slices, in bytes.

    A slice is numbered 256 * men + 64 * kings + 16 * their men + 4 * their kings + men on the first
    row. Slices of fewer pieces come first, and among those slices of fewer men.
    """
    begins, total = np.zeros(1024, np.int64), 0
    counts = [
        c
        for c in product(range(4), repeat=4)
        if c[0] + c[1] and c[2] + c[3] and sum(c) <= TABLE_PIECES
    ]
    for men, kings, their_men, their_kings in sorted(
        counts, key=lambda c: (sum(c), c[0] + c[2], c)
    ):
        for at_home in range(men + 1):
            begins[256 * men + 64 * kings + 16 * their_men + 4 * their_kings + at_home] = total
            free = 32 - men - their_men
            of_men = (
                comb(4, at_home) * comb(24, men - at_home) * comb(28 - men + at_home, their_men)
            )
            total += of_men * comb(free, kings) * comb(free - kings, their_kings)
    return begins, total


SLICES, TABLE_BYTES = _slices()


@rule
def turned(pieces: np.uint64) -> np.uint64:
    """The pieces as the other side sees them, which is fast for a few pieces."""
    found = ZERO
    while pieces:
        found |= ONE << U(34 - lsb(pieces))
        pieces &= pieces - ONE
    return found


@rule
def combination(pieces: np.uint64, free: np.uint64) -> int:
    """The number of a set among all sets of the same size on the free squares."""
    number = 0
    chosen = 0
    while pieces:
        below = (pieces & (~pieces + ONE)) - ONE
        pieces &= pieces - ONE
        chosen += 1
        number += CHOOSE[popcount(free & below), chosen]
    return number


@rule
def table_index(s: State) -> int:
    """The index of a position in the tables.

    Both sides must have pieces, together at most TABLE_PIECES.
    """
    mine, other, kings = s[0], s[1], s[2]
    if s[3] & ONE:
        mine = turned(mine)
        other = turned(other)
        kings = turned(kings)
    men = mine & ~kings
    their_men = other & ~kings
    home = men & FIRST_ROW
    at_home, away, theirs = popcount(home), popcount(men ^ home), popcount(their_men)
    my_kings, their_kings = popcount(mine & kings), popcount(other & kings)
    code = 256 * (at_home + away) + 64 * my_kings + 16 * theirs + 4 * their_kings + at_home
    free = 32 - at_home - away - theirs
    number = combination(home, FIRST_ROW) * CHOOSE[24, away] + combination(men ^ home, MIDDLE_ROWS)
    number = number * CHOOSE[28 - away, theirs] + combination(their_men, BOARD & ~(FIRST_ROW | men))
    number = number * CHOOSE[free, my_kings] + combination(mine & kings, BOARD & ~(men | their_men))
    number = number * CHOOSE[free - my_kings, their_kings]
    return int(SLICES[code] + number + combination(other & kings, BOARD & ~(mine | their_men)))


@rule
def probe(s: State, data: Any) -> int:
    """The result for the side to move with best play, plus four times the plies to the end.

    ONGOING when the tables do not cover the position.
    """
    if popcount(s[0] | s[1]) > data[TABLES_AT] or s[1] == ZERO:
        return ONGOING
    i = table_index(s)
    entry = (data[TABLES_AT + 1 + (i >> 3)] >> (8 * (i & 7))) & 255
    if entry == 0:
        return DRAWN
    plies = entry - 1
    if np.int64(s[3] >> ONE) + min(plies, LONGEST_QUIET) >= DRAW_PLIES:
        return ONGOING  # the draw by the count of plies may come first
    return int(4 * plies + (WON if plies & 1 else LOST))
