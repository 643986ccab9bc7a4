"""Move ordering and static exchange evaluation (SEE) of chess.

In an exchange both sides capture on one square with their least valuable piece, or stop. Pins are
ignored.
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

#: The value of each kind of piece in an exchange, in centipawns.
WORTH = (100, 325, 325, 500, 950, 20_000)
#: The factor of the victim in a rank: it outweighs the value of every attacker.
PER_VICTIM = 1 << 16
#: Subtracted from the rank of a losing capture, which puts it behind the quiet moves.
LOSING = 1 << 30
#: The rank of a promotion to less than a queen: right after the quiet moves.
MINOR_PROMOTION = -1


@rule
def attackers(s: State, square: int, occupied: np.uint64) -> np.uint64:
    """The pieces of both sides that attack a square under the occupancy `occupied`."""
    black = s[OWN] if s[MISC] & BLACK else s[THEIRS]
    found = KNIGHT_STEPS[square] & s[KNIGHTS] | KING_STEPS[square] & s[KINGS]
    found |= s[PAWNS] & (PAWN_STEPS[square] & black | PAWN_STEPS[64 + square] & ~black)
    found |= diagonal_attacks(square, occupied) & s[DIAGONALS]
    return U((found | straight_attacks(square, occupied) & s[STRAIGHTS]) & occupied)


@rule
def least(s: State, pieces: np.uint64) -> np.uint64:
    """A least valuable piece among `pieces`."""
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
    """True if the exchange that a capture or a quiet move begins loses material.

    The most that a side gains by continuing is f = max(0, value at stake - f of the other side
    afterwards). The move loses when the other side's f exceeds what the move captured. Each turn of
    the loop asks whether f reaches `wanted`; it does exactly when the next f does not reach
    `at_stake` - `wanted` + 1. A king is worth more than everything else, so it never captures a
    guarded piece.
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
    """The order of a move: captures by MVV-LVA, then quiet moves, then losing captures."""
    if m >> 12 == 0 and (s[THEIRS] >> U((m >> 6) & 63)) & ONE == ZERO:
        # Most moves return here.
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
