"""The endgame tables of draughts: the numbering of positions, and the probe."""

from itertools import product
from math import comb
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, State
from engine.games.draughts_parts.board import BOARD, DRAW_PLIES, FIRST_ROW, LAST_ROW, ONE, ZERO
from engine.games.draughts_parts.evaluation import OTHER_WEIGHTS
from engine.jit import U, lsb, popcount, rule

# The tables have one byte for each position of two to TABLE_PIECES pieces with Black to move; a
# position with White to move is rotated first. The positions of a slice have the same numbers of
# men and kings on both sides, and of Black's men on the first row, where no white man can be.
#: Maximum number of pieces on the board in the tables.
TABLE_PIECES = 4
#: The word of the game's data that holds the number of pieces in the tables, which follow it; 0
#: means that there are no tables.
TABLES_OFFSET = OTHER_WEIGHTS + 14
#: Maximum number of plies in a row without a capture or a man's move in any won line of the tables.
MAX_QUIET_PLIES = 54
#: All squares but the first and the last row.
MIDDLE_ROWS = BOARD & ~(FIRST_ROW | LAST_ROW)
#: The binomial coefficients n over k.
BINOMIALS = np.array([[comb(n, k) for k in range(5)] for n in range(33)])


def _slice_starts() -> tuple[Any, int]:
    """The byte where each slice begins, and the size of all slices in bytes.

    A slice is numbered 256 * men + 64 * kings + 16 * their men + 4 * their kings + men on the first
    row. Slices of fewer pieces come first, and among those slices of fewer men.
    """
    starts, total = np.zeros(1024, np.int64), 0
    counts = [
        c
        for c in product(range(4), repeat=4)
        if c[0] + c[1] and c[2] + c[3] and sum(c) <= TABLE_PIECES
    ]
    for men, kings, their_men, their_kings in sorted(
        counts, key=lambda c: (sum(c), c[0] + c[2], c)
    ):
        for first_row_men in range(men + 1):
            starts[256 * men + 64 * kings + 16 * their_men + 4 * their_kings + first_row_men] = (
                total
            )
            free = 32 - men - their_men
            men_placements = (
                comb(4, first_row_men)
                * comb(24, men - first_row_men)
                * comb(28 - men + first_row_men, their_men)
            )
            total += men_placements * comb(free, kings) * comb(free - kings, their_kings)
    return starts, total


#: The first byte of each slice, by its number; and the size of all tables, in bytes.
SLICES, TABLE_BYTES = _slice_starts()


@rule
def rotated(pieces: np.uint64) -> np.uint64:
    """The pieces as the other side sees them; faster than `reversed_board` for a few pieces."""
    squares = ZERO
    while pieces:
        squares |= ONE << U(34 - lsb(pieces))
        pieces &= pieces - ONE
    return squares


@rule
def combination_number(pieces: np.uint64, free: np.uint64) -> int:
    """The number of a set among all sets of the same size on the free squares."""
    number = 0
    chosen = 0
    while pieces:
        below = (pieces & (~pieces + ONE)) - ONE
        pieces &= pieces - ONE
        chosen += 1
        number += BINOMIALS[popcount(free & below), chosen]
    return number


@rule
def table_index(s: State) -> int:
    """The index of a position in the tables.

    Both sides must have pieces, together at most TABLE_PIECES.
    """
    mine, other, kings = s[0], s[1], s[2]
    if s[3] & ONE:
        mine = rotated(mine)
        other = rotated(other)
        kings = rotated(kings)
    men = mine & ~kings
    their_men = other & ~kings
    first_row = men & FIRST_ROW
    first_row_men, other_men, their_men_count = (
        popcount(first_row),
        popcount(men ^ first_row),
        popcount(their_men),
    )
    my_kings, their_kings = popcount(mine & kings), popcount(other & kings)
    code = (
        256 * (first_row_men + other_men)
        + 64 * my_kings
        + 16 * their_men_count
        + 4 * their_kings
        + first_row_men
    )
    free = 32 - first_row_men - other_men - their_men_count
    number = combination_number(first_row, FIRST_ROW) * BINOMIALS[
        24, other_men
    ] + combination_number(men ^ first_row, MIDDLE_ROWS)
    number = number * BINOMIALS[28 - other_men, their_men_count] + combination_number(
        their_men, BOARD & ~(FIRST_ROW | men)
    )
    number = number * BINOMIALS[free, my_kings] + combination_number(
        mine & kings, BOARD & ~(men | their_men)
    )
    number = number * BINOMIALS[free - my_kings, their_kings]
    return int(
        SLICES[code] + number + combination_number(other & kings, BOARD & ~(mine | their_men))
    )


@rule
def probe(s: State, data: Any) -> int:
    """The result for the side to move with best play, plus four times the plies to the end.

    ONGOING when the tables do not cover the position.
    """
    if popcount(s[0] | s[1]) > data[TABLES_OFFSET] or s[1] == ZERO:
        return ONGOING
    i = table_index(s)
    entry = (data[TABLES_OFFSET + 1 + (i >> 3)] >> (8 * (i & 7))) & 255
    if entry == 0:
        return DRAWN
    plies = entry - 1
    if np.int64(s[3] >> ONE) + min(plies, MAX_QUIET_PLIES) >= DRAW_PLIES:
        return ONGOING  # the draw by DRAW_PLIES may come first
    return int(4 * plies + (WON if plies & 1 else LOST))
