"""The moves of international draughts."""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.international_draughts_parts.board import (
    BOARD,
    FAR,
    FAR_JUMP,
    FIRST_ROW,
    LAST_ROW,
    NEAR,
    NEAR_JUMP,
    ONE,
    PACKED_ROW_PAIRS,
    PLIES,
    ZERO,
    pack,
    step,
)
from engine.jit import U, lsb, popcount, rule

#: Twenty kings have at most 17 quiet moves each; for captures see `captures`.
MAX_MOVES = 512

# A move has its origin in bits 0 to 5, its target in bits 6 to 11, and from bit 12 the squares of
# the pieces that it captures, one bit each.
#: A move of this value or more is a capture.
CAPTURE = 1 << 12
#: One number describes a list of captures: PER_PIECE * (pieces that each captures) + length.
PER_PIECE = 1024


@rule
def captured_squares(m: int) -> np.uint64:
    """The squares of the pieces that a move captures."""
    packed = U(m >> 12)
    squares = ZERO
    for i in range(5):
        squares |= (packed & PACKED_ROW_PAIRS[i]) << U(i)
    return squares


@rule("i8(u8, i8, i8, b1, u8, u8, u8, i8, i8*)")
def captures(
    square: np.uint64,
    start: int,
    skipped: int,
    is_king: bool,
    other: np.uint64,
    free: np.uint64,
    captured: np.uint64,
    listed: int,
    buf: Any,
) -> int:
    """Writes the captures that continue from a square; they replace captures of fewer pieces.

    Returns the description of the list, see PER_PIECE. `skipped` is a direction to skip, or -1: the
    call for the next square in that direction covers it. A search for the worst position found 225
    captures; the list has room for more than twice as many, and `parse_position` rejects a position
    that fills it.
    """
    for direction in range(4):
        if direction == skipped:
            continue
        over = step(square, direction)
        while is_king and over & free:
            over = step(over, direction)
        if over & other & ~captured:
            land = step(over, direction)
            while land & free:
                beyond = step(land, direction) if is_king else ZERO
                next_skipped = direction if beyond & free else -1
                listed = captures(
                    land, start, next_skipped, is_king, other, free, captured | over, listed, buf
                )
                land = beyond
    pieces = popcount(captured)
    if pieces == 0 or pieces < listed // PER_PIECE:
        return listed
    if pieces > listed // PER_PIECE:
        listed = pieces * PER_PIECE
    n = listed % PER_PIECE
    move = start | (lsb(square) << 6) | int(np.int64(pack(captured) << U(12)))
    for i in range(n):
        if buf[i] == move:
            return listed
    if n < MAX_MOVES:
        buf[n] = move
        listed += 1
    return listed


@rule
def adjacent_capturers(s: State) -> np.uint64:
    """The pieces that can capture an adjacent piece; `can_king_capture` finds distant ones."""
    other = s[1]
    free = BOARD & ~(s[0] | other)
    down = ((other >> NEAR) & (free >> NEAR_JUMP)) | ((other >> FAR) & (free >> FAR_JUMP))
    up = ((other << NEAR) & (free << NEAR_JUMP)) | ((other << FAR) & (free << FAR_JUMP))
    return s[0] & (down | up)


@rule
def all_captures(s: State, buf: Any) -> int:
    """Writes the captures of the most pieces and returns their number."""
    free = BOARD & ~(s[0] | s[1])
    pieces = adjacent_capturers(s) | (s[0] & s[2])
    listed = 0
    while pieces:
        bit = lsb(pieces)
        square = ONE << U(bit)
        pieces ^= square
        listed = captures(
            square, bit, -1, (s[2] & square) != ZERO, s[1], free | square, ZERO, listed, buf
        )
    return listed % PER_PIECE


@rule
def steps_of_men(s: State, far: bool) -> np.uint64:
    """The free squares that men reach by a step forward: a FAR shift if `far`, else a NEAR one."""
    men = s[0] & ~s[2]
    free = BOARD & ~(s[0] | s[1])
    if s[3] & ONE:
        return free & (men << FAR if far else men << NEAR)
    return free & (men >> FAR if far else men >> NEAR)


@rule
def moves(s: State, buf: Any) -> int:
    n = all_captures(s, buf)
    if n > 0:
        return n
    free = BOARD & ~(s[0] | s[1])
    for far in range(2):
        targets = steps_of_men(s, far == 1)
        back = -5 - far if s[3] & ONE else 5 + far
        while targets:
            bit = lsb(targets)
            targets &= targets - ONE
            buf[n] = (bit + back) | (bit << 6)
            n += 1
    kings = s[0] & s[2]
    while kings:
        bit = lsb(kings)
        kings &= kings - ONE
        for direction in range(4):
            target = step(ONE << U(bit), direction)
            while target & free:
                buf[n] = bit | (lsb(target) << 6)
                n += 1
                target = step(target, direction)
    return n


@rule
def count(s: State, buf: Any) -> int:
    if s[0] & s[2]:
        return moves(s, buf)
    n = all_captures(s, buf) if adjacent_capturers(s) else 0
    return n if n > 0 else popcount(steps_of_men(s, False)) + popcount(steps_of_men(s, True))


@rule
def can_move(s: State) -> bool:
    free = BOARD & ~(s[0] | s[1])
    kings = s[0] & s[2]
    near_free = (free << NEAR) | (free << FAR) | (free >> NEAR) | (free >> FAR)
    quiet = (kings & near_free) | steps_of_men(s, False) | steps_of_men(s, True)
    return bool((quiet | adjacent_capturers(s)) != ZERO)


@rule
def pieces_against_lone_king(mine: np.uint64, other: np.uint64, kings: np.uint64) -> int:
    """The size of `mine`, if it has a king and 1 to 3 pieces against a lone king; else 0."""
    pieces = popcount(mine)
    return pieces if pieces <= 3 and mine & kings and popcount(other) == 1 and other & kings else 0


@rule
def play(s: State, m: int) -> State:
    start, end = ONE << U(m & 63), ONE << U((m >> 6) & 63)
    side = s[3] & ONE
    captured = ZERO
    if m >= CAPTURE:
        captured = captured_squares(m)
    mine, other = (s[0] & ~start) | end, s[1] & ~captured
    kings = s[2] & ~(start | captured)
    was_king = s[2] & start
    if was_king or end & (LAST_ROW if side else FIRST_ROW):
        kings |= end
    counts = (((s[3] >> ONE) & PLIES) + ONE) << ONE if was_king and not captured else ZERO
    if popcount(mine | other) <= 4:
        pieces = max(
            pieces_against_lone_king(mine, other, kings),
            pieces_against_lone_king(other, mine, kings),
        )
        pieces_before = max(
            pieces_against_lone_king(s[0], s[1], s[2]), pieces_against_lone_king(s[1], s[0], s[2])
        )
        if pieces > 0 and pieces_before > 0:
            counts |= (((s[3] >> U(9)) & PLIES) + ONE) << U(9)
        if 0 < pieces < 3 and 0 < pieces_before < 3:
            counts |= (((s[3] >> U(17)) & PLIES) + ONE) << U(17)
    return (other, mine, kings, (side ^ ONE) | counts)


@rule
def can_king_capture(s: State) -> bool:
    """True if a king can capture, at any distance."""
    free = BOARD & ~(s[0] | s[1])
    kings = s[0] & s[2]
    while kings:
        square = kings & (~kings + ONE)
        kings ^= square
        for direction in range(4):
            over = step(square, direction)
            while over & free:
                over = step(over, direction)
            if over & s[1] and step(over, direction) & free:
                return True
    return False


@rule
def unstable(s: State) -> int:
    """1 if the side to move must capture, else 0."""
    return 1 if adjacent_capturers(s) or can_king_capture(s) else 0


@rule
def tactical(s: State, buf: Any) -> int:
    """Writes the promotions; none if the side to move must capture."""
    if unstable(s):
        return 0
    n = 0
    for far in range(2):
        targets = steps_of_men(s, far == 1) & (LAST_ROW if s[3] & ONE else FIRST_ROW)
        back = -5 - far if s[3] & ONE else 5 + far
        while targets:
            bit = lsb(targets)
            targets &= targets - ONE
            buf[n] = (bit + back) | (bit << 6)
            n += 1
    return n


@rule
def rank(s: State, m: int) -> int:
    """Ranks captures first, by the number of captured kings, then promotions."""
    if m >= CAPTURE:
        return 2 + popcount(captured_squares(m) & s[2])
    end = ONE << U((m >> 6) & 63)
    return 1 if end & (FIRST_ROW | LAST_ROW) and (ONE << U(m & 63)) & ~s[2] else 0
