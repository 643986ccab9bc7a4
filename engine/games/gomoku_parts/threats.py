"""The intersections of gomoku where a stone makes a row of five or four, computed in parallel."""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.gomoku_parts.board import BOARD, EXACT, NONE, ONE, STEPS, Quad, subtract
from engine.games.gomoku_parts.lines import MIDDLE, has_five, rows_with, star
from engine.jit import U, lsb, rule


@rule
def shifted_down(word: np.uint64, following: np.uint64, by: int) -> np.uint64:
    """A word shifted down by 1 to 85 bits; its high bits come from the following word."""
    if by < 64:
        return (word >> U(by)) | (following << U(64 - by))
    return following >> U(by - 64)


@rule
def shifted_up(word: np.uint64, by: int) -> Any:
    """A word shifted up by 0 to 68 bits: the part in the word and the part in the next word."""
    if by == 0:
        return (word, NONE)
    if by < 64:
        return (word << U(by), word >> U(64 - by))
    return (NONE, word << U(by - 64))


@rule
def five_starts(
    own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64, step: int
) -> Any:
    """The starts of rows of five own or empty intersections: four words, for 1 to 4 stones.

    `own_2` and `free_2` are the next words. No row of five reaches beyond them, since a word holds
    four rows of the board.
    """
    b, c = shifted_down(own, own_2, step), shifted_down(own, own_2, 2 * step)
    d, e = shifted_down(own, own_2, 3 * step), shifted_down(own, own_2, 4 * step)
    usable = free & shifted_down(free, free_2, step) & shifted_down(free, free_2, 2 * step)
    usable &= shifted_down(free, free_2, 3 * step) & shifted_down(free, free_2, 4 * step)
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
def word_gaps(
    own: np.uint64, own_2: np.uint64, free: np.uint64, free_2: np.uint64, stones: int
) -> Any:
    """The empty intersections of the rows of five that begin in a word and have `stones` stones.

    Returns those in the word and those in the next word.
    """
    low_word, high_word = NONE, NONE
    for step in STEPS:
        starts = five_starts(own, own_2, free, free_2, step)[stones - 1]
        if starts:
            for i in range(5):
                gap = starts & ~(shifted_down(own, own_2, i * step) if i > 0 else own)
                low, high = shifted_up(gap, i * step)
                low_word |= low
                high_word |= high
    return (low_word, high_word)


@rule
def fives(own: Quad, free: Quad, exact: np.uint64) -> Quad:
    """The empty intersections where a stone would win."""
    return gaps(own, free, 4, exact)


@rule
def gaps(own: Quad, free: Quad, stones: int, exact: np.uint64) -> Quad:
    """The empty intersections of the rows of five with `stones` stones.

    With four stones, only those that win: if `exact` is set, a row of six does not.
    """
    a, b, c, d, carry = NONE, NONE, NONE, NONE, NONE
    for i in range(4):
        word, overflow = word_gaps(
            own[i], own[i + 1] if i < 3 else NONE, free[i], free[i + 1] if i < 3 else NONE, stones
        )
        word |= carry
        carry = overflow
        if word and exact and stones == 4:
            word = exact_fives(own, word, 64 * i)
        if i == 0:
            a = word
        elif i == 1:
            b = word
        elif i == 2:
            c = word
        else:
            d = word
    return (a, b, c, d)


@rule
def exact_fives(own: Quad, cells: np.uint64, first: int) -> np.uint64:
    """The intersections of a word where a stone makes exactly five."""
    remaining = cells
    while remaining:
        cell = lsb(remaining)
        remaining &= remaining - ONE
        if not has_five(star(own, first + cell) | MIDDLE, EXACT):
            cells ^= ONE << U(cell)
    return cells


@rule
def wins(s: State) -> Quad:
    """The intersections where the side to move wins at once."""
    if rows_with(s[9], 4) == 0:
        return (NONE, NONE, NONE, NONE)
    return fives((s[0], s[1], s[2], s[3]), subtract(BOARD, (s[4], s[5], s[6], s[7])), s[8] & EXACT)


@rule
def threats(s: State) -> Quad:
    """The intersections where the other side would win at once."""
    if rows_with(s[10], 4) == 0:
        return (NONE, NONE, NONE, NONE)
    return fives((s[4], s[5], s[6], s[7]), subtract(BOARD, (s[0], s[1], s[2], s[3])), s[8] & EXACT)


@rule
def fours(s: State) -> Quad:
    """The intersections where the side to move makes a four."""
    if rows_with(s[9], 3) == 0:
        return (NONE, NONE, NONE, NONE)
    return gaps((s[0], s[1], s[2], s[3]), subtract(BOARD, (s[4], s[5], s[6], s[7])), 3, NONE)


@rule
def fours_of_other(s: State) -> Quad:
    """The intersections where the other side would make a four."""
    if rows_with(s[10], 3) == 0:
        return (NONE, NONE, NONE, NONE)
    return gaps((s[4], s[5], s[6], s[7]), subtract(BOARD, (s[0], s[1], s[2], s[3])), 3, NONE)
