"""The moves of draughts."""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.draughts_parts.board import (
    BOARD,
    FAR,
    FAR_JUMP,
    FIRST_ROW,
    LAST_ROW,
    NEAR,
    NEAR_JUMP,
    ONE,
    STEPS,
    ZERO,
    downward,
    jumpers,
    upward,
)
from engine.jit import U, lsb, popcount, rule

#: Twelve kings have 48 quiet moves; 18 squares allow at most 68 captures.
MAX_MOVES = 68

# A move has its origin in bits 0 to 5 and its target in bits 6 to 11. From bit 12 a capture has a
# leading 1 and two bits for the direction of each jump, the last jump lowest. The board has room
# for nine jumps at most.
#: A move of this value or more is a capture.
CAPTURE = 1 << 12


@rule("i8(i8, i8, i8, u8, u8, i8, i8*, i8)")
def captures(
    bit: int,
    start: int,
    path: int,
    other: np.uint64,
    free: np.uint64,
    directions: int,
    buf: Any,
    n: int,
) -> int:
    """Writes every capture that continues from a square and returns the new number of moves.

    `path` holds the directions so far after a leading 1. `directions` are those of the piece: 1 for
    down, 2 for up, 3 for both. A man on the last row cannot continue.
    """
    square = ONE << U(bit)
    count_before = n
    if directions & 1:
        over = square << NEAR
        if over & other and (square << NEAR_JUMP) & free:
            n = captures(bit + 8, start, path * 4, other ^ over, free, directions, buf, n)
        over = square << FAR
        if over & other and (square << FAR_JUMP) & free:
            n = captures(bit + 10, start, path * 4 + 1, other ^ over, free, directions, buf, n)
    if directions & 2:
        over = square >> NEAR
        if over & other and (square >> NEAR_JUMP) & free:
            n = captures(bit - 8, start, path * 4 + 2, other ^ over, free, directions, buf, n)
        over = square >> FAR
        if over & other and (square >> FAR_JUMP) & free:
            n = captures(bit - 10, start, path * 4 + 3, other ^ over, free, directions, buf, n)
    if n == count_before and path > 1:
        buf[n] = start | (bit << 6) | (path << 12)
        n += 1
    return n


@rule
def all_captures(s: State, pieces: np.uint64, buf: Any) -> int:
    """Writes the captures of `pieces` and returns their number."""
    free = BOARD & ~(s[0] | s[1])
    directions = 2 if s[3] & ONE else 1
    n = 0
    while pieces:
        bit = lsb(pieces)
        square = ONE << U(bit)
        pieces ^= square
        if s[2] & square:
            n = captures(bit, bit, 1, s[1], free | square, 3, buf, n)
        else:
            n = captures(bit, bit, 1, s[1], free, directions, buf, n)
    return n


@rule
def add_steps(targets: np.uint64, step: int, buf: Any, n: int) -> int:
    """Writes the moves that reach `targets` by one step and returns the new number of moves."""
    while targets:
        bit = lsb(targets)
        targets &= targets - ONE
        buf[n] = (bit - step) | (bit << 6)
        n += 1
    return n


@rule
def moves(s: State, buf: Any) -> int:
    capturing = jumpers(s)
    if capturing:
        return all_captures(s, capturing, buf)
    free = BOARD & ~(s[0] | s[1])
    down, up = downward(s), upward(s)
    n = add_steps((down << NEAR) & free, 4, buf, 0)
    n = add_steps((down << FAR) & free, 5, buf, n)
    n = add_steps((up >> NEAR) & free, -4, buf, n)
    return add_steps((up >> FAR) & free, -5, buf, n)


@rule
def count(s: State, buf: Any) -> int:
    capturing = jumpers(s)
    if capturing:
        return all_captures(s, capturing, buf)
    free = BOARD & ~(s[0] | s[1])
    down, up = downward(s), upward(s)
    steps = popcount((down << NEAR) & free) + popcount((down << FAR) & free)
    return steps + popcount((up >> NEAR) & free) + popcount((up >> FAR) & free)


@rule
def unstable(s: State) -> int:
    """1 if the side to move must capture, else 0."""
    return 1 if jumpers(s) else 0


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the promotions; none if the side to move must capture."""
    if jumpers(s):
        return 0
    free = BOARD & ~(s[0] | s[1])
    men = s[0] & ~s[2]
    if s[3] & ONE:
        n = add_steps((men >> NEAR) & free & FIRST_ROW, -4, buf, 0)
        return add_steps((men >> FAR) & free & FIRST_ROW, -5, buf, n)
    n = add_steps((men << NEAR) & free & LAST_ROW, 4, buf, 0)
    return add_steps((men << FAR) & free & LAST_ROW, 5, buf, n)


@rule
def rank(s: State, m: int) -> int:
    """Ranks captures first, by the number of captured pieces, then promotions."""
    if m >= CAPTURE:
        return m >> 12
    end = ONE << U((m >> 6) & 63)
    return 1 if end & (FIRST_ROW | LAST_ROW) and (ONE << U(m & 63)) & ~s[2] else 0


@rule
def can_move(s: State) -> bool:
    free = BOARD & ~(s[0] | s[1])
    steps = (downward(s) & ((free >> NEAR) | (free >> FAR))) | (
        upward(s) & ((free << NEAR) | (free << FAR))
    )
    return bool((steps | jumpers(s)) != ZERO)


@rule
def captured_squares(m: int) -> np.uint64:
    """The squares of the pieces that a move captures."""
    squares = ZERO
    bit = (m >> 6) & 63
    path = m >> 12
    while path > 1:
        step = STEPS[path & 3]
        squares |= ONE << U(bit - step)
        bit -= 2 * step
        path >>= 2
    return squares


@rule
def play(s: State, m: int) -> State:
    start, end = ONE << U(m & 63), ONE << U((m >> 6) & 63)
    side = s[3] & ONE
    captured = ZERO
    if m >= CAPTURE:
        captured = captured_squares(m)
    kings = s[2] & ~(start | captured)
    was_king = s[2] & start
    if was_king or end & (FIRST_ROW if side else LAST_ROW):
        kings |= end
    plies = ZERO
    if was_king and not captured:
        plies = (s[3] >> ONE) + ONE
    return (s[1] & ~captured, (s[0] & ~start) | end, kings, (side ^ ONE) | (plies << ONE))
