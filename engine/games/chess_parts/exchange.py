"""Which moves of chess to try first, and whether a capture pays when both sides go on to capture on
its square.

The exchange is judged statically: both sides capture with their least valuable piece, or stop; pins
are not looked at.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.chess_parts.board import (
    BLACK,
    DIAGONALS,
    KING_STEPS,
    KINGS,
    KNIGHT_STEPS,
    KNIGHTS,
    MISC,
    ONE,
    OWN,
    PASSED,
    PAWN,
    PAWN_STEPS,
    PAWNS,
    QUEEN,
    STRAIGHTS,
    THEIRS,
    ZERO,
    diagonal_attacks,
    kind_at,
    lowest,
    passed_square,
    straight_attacks,
)
from engine.jit import U, rule

#: What each kind of piece counts in an exchange.
WORTH = (100, 325, 325, 500, 950, 20_000)
PER_VICTIM = 1 << 16
#: How far a losing capture stands behind the quiet moves; promotions to less than a queen come
#: right after them.
LOSING, MINOR_PROMOTION = 1 << 30, -1


@rule
def attackers(s: State, square: int, occupied: np.uint64) -> np.uint64:
    """All pieces of both sides that attack a square, when the board is occupied so."""
    black = s[OWN] if s[MISC] & BLACK else s[THEIRS]
    found = KNIGHT_STEPS[square] & s[KNIGHTS] | KING_STEPS[square] & s[KINGS]
    found |= s[PAWNS] & (PAWN_STEPS[square] & black | PAWN_STEPS[64 + square] & ~black)
    found |= diagonal_attacks(square, occupied) & s[DIAGONALS]
    return U((found | straight_attacks(square, occupied) & s[STRAIGHTS]) & occupied)


@rule
def least(s: State, pieces: np.uint64) -> np.uint64:
    """A least valuable one of some pieces."""
    found = pieces & s[PAWNS]
    if found == ZERO:
        found = pieces & (s[KNIGHTS] | s[DIAGONALS] & ~s[STRAIGHTS])
    if found == ZERO:
        found = pieces & s[STRAIGHTS] & ~s[DIAGONALS]
    if found == ZERO:
        found = pieces & s[STRAIGHTS]
    if found == ZERO:
        found = pieces
    return lowest(found)


@rule
def loses(s: State, m: int) -> bool:
    """Does the exchange that a capture or a quiet move begins cost more than it brings?

    The best that a side gets by going on is f = max(0, what is at stake - the other side's f
    afterwards). The question is whether the other side's f is more than what the move captured.
    Each turn asks whether f reaches what is wanted, which is so exactly when the next f does not
    reach what is at stake less that. A king is worth more than all else, so it never captures what
    is guarded.
    """
    square = (m >> 6) & 63
    target = ONE << U(square)
    bit = ONE << U(m & 63)
    wanted = 1
    if s[THEIRS] & target:
        wanted = WORTH[kind_at(s, target)] + 1
    at_stake = WORTH[kind_at(s, bit)]
    occupied = (s[OWN] | s[THEIRS] | target) ^ bit
    side = s[THEIRS]
    answer = True
    while True:
        found = attackers(s, square, occupied) & ~target
        mine = found & side
        if at_stake < wanted or mine == ZERO:
            return not answer
        bit = least(s, mine)
        wanted = at_stake - wanted + 1
        at_stake = WORTH[kind_at(s, bit)]
        occupied ^= bit
        side = ~side
        answer = not answer


@rule
def rank(s: State, m: int) -> int:
    """Captures first, those of the most valuable pieces by the least valuable ones before others;
    but captures that lose come last.
    """
    if m >> 12 == 0 and (s[THEIRS] >> U((m >> 6) & 63)) & ONE == ZERO:
        # most moves end here
        if s[MISC] & PASSED and (m >> 6) & 63 == passed_square(s) and s[PAWNS] >> U(m & 63) & ONE:
            return WORTH[PAWN] * PER_VICTIM - WORTH[PAWN]
        return 0
    return rank_of_noise(s, m)


@rule
def rank_of_noise(s: State, m: int) -> int:
    """`rank` of a promotion, or a capture that is not en passant."""
    target = ONE << U((m >> 6) & 63)
    worth: Any = np.int64(0)
    if m >> 12:
        if m >> 12 < QUEEN:
            return MINOR_PROMOTION
        worth += WORTH[QUEEN]
    if s[THEIRS] & target == ZERO:
        return int(worth * PER_VICTIM)
    kind = kind_at(s, ONE << U(m & 63))
    taken = WORTH[kind_at(s, target)]
    worth += taken
    place = worth * PER_VICTIM - WORTH[kind]
    return int(place - LOSING if WORTH[kind] > taken and loses(s, m) else place)
