"""The crossings of gomoku where a stone makes a row of five or four, computed in parallel."""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.gomoku_parts.board import BOARD, EXACT, NONE, ONE, STEPS, Quad, without
from engine.games.gomoku_parts.lines import MIDDLE, count_of, has_five, star
from engine.jit import U, lsb, rule


@rule
def after(word: np.uint64, following: np.uint64, by: int) -> np.uint64:
    """The bits `by` places (1 to 85) after those of a word, taken from the following word too."""
    if by < 64:
        return (word >> U(by)) | (following << U(64 - by))
    return following >> U(by - 64)


@rule
def ahead(word: np.uint64, by: int) -> Any:
    """The bits of a word moved up by 0 to 68 places: the part in the word, and in the next word."""
    if by == 0:
        return (word, NONE)
    if by < 64:
        return (word << U(by), word >> U(64 - by))
    return (NONE, word << U(by - 64))


@rule
def windows(own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64, step: int) -> Any:
    """Where rows of five own or empty crossings begin: four words, with 1, 2, 3 and 4 stones.

    `own_2` and `free_2` are the next words. No row of five reaches beyond them, since a word holds
    four rows of the board.
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
    return (
        low & ~middle & ~high & usable,
        middle & ~low & usable,
        middle & low & usable,
        high & ~low & usable,
    )


@rule
def complete(
    own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64, stones: int
) -> Any:
    """The empty crossings of the rows of five that begin in a word and have `stones` stones.

    Returns those in the word and those in the next word.
    """
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
    """The empty crossings of rows of five with `stones` stones; with four, only those that win."""
    a, b, c, d, carried = NONE, NONE, NONE, NONE, NONE
    for i in range(4):
        here, there = complete(
            own[i], own[i + 1] if i < 3 else NONE, free[i], free[i + 1] if i < 3 else NONE, stones
        )
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
    """The crossings of a word where a stone makes exactly five."""
    left = cells
    while left:
        cell = lsb(left)
        left &= left - ONE
        if not has_five(star(own, first + cell) | MIDDLE, EXACT):
            cells ^= ONE << U(cell)
    return cells


@rule
def wins(s: State) -> Quad:
    """The crossings where the side to move wins at once."""
    if count_of(s[9], 4) == 0:
        return (NONE, NONE, NONE, NONE)
    return fives((s[0], s[1], s[2], s[3]), without(BOARD, (s[4], s[5], s[6], s[7])), s[8] & EXACT)


@rule
def threats(s: State) -> Quad:
    """The crossings where the other side would win at once."""
    if count_of(s[10], 4) == 0:
        return (NONE, NONE, NONE, NONE)
    return fives((s[4], s[5], s[6], s[7]), without(BOARD, (s[0], s[1], s[2], s[3])), s[8] & EXACT)


@rule
def fours(s: State) -> Quad:
    """The crossings where the side to move makes a four."""
    if count_of(s[9], 3) == 0:
        return (NONE, NONE, NONE, NONE)
    return gaps((s[0], s[1], s[2], s[3]), without(BOARD, (s[4], s[5], s[6], s[7])), 3, NONE)


@rule
def fours_of_other(s: State) -> Quad:
    """The crossings where the other side would make a four."""
    if count_of(s[10], 3) == 0:
        return (NONE, NONE, NONE, NONE)
    return gaps((s[4], s[5], s[6], s[7]), without(BOARD, (s[0], s[1], s[2], s[3])), 3, NONE)
