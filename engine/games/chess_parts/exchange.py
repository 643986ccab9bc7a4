"""Move ordering and static exchange evaluation (SEE) of chess.

In an exchange both sides capture on one square with their least valuable piece, or stop. SEE
ignores pins.
"""

from typing import Any

import numpy as np

from engine.game import State
from engine.games.chess_parts.board import (
    BLACK,
    DIAGONALS,
    EN_PASSANT,
    KING_ATTACKS,
    KINGS,
    KNIGHT_ATTACKS,
    KNIGHTS,
    MISC,
    ONE,
    OWN,
    PAWN,
    PAWN_ATTACKS,
    PAWNS,
    QUEEN,
    STRAIGHTS,
    THEIRS,
    ZERO,
    diagonal_attacks,
    en_passant_square,
    kind_at,
    lowest,
    straight_attacks,
)
from engine.jit import U, rule

#: The value of each kind of piece in an exchange, in centipawns.
EXCHANGE_VALUES = (100, 325, 325, 500, 950, 20_000)
#: The factor of the victim's value in a rank, which outweighs the value of any attacker.
VICTIM_FACTOR = 1 << 16
#: Subtracted from the rank of a losing capture, so that it comes after the quiet moves.
LOSING_PENALTY = 1 << 30
#: The rank of an underpromotion: right after the quiet moves.
UNDERPROMOTION = -1


@rule
def attackers(s: State, square: int, occupied: np.uint64) -> np.uint64:
    """The pieces of both sides that attack a square, given the occupied squares."""
    black = s[OWN] if s[MISC] & BLACK else s[THEIRS]
    attacking = KNIGHT_ATTACKS[square] & s[KNIGHTS] | KING_ATTACKS[square] & s[KINGS]
    attacking |= s[PAWNS] & (PAWN_ATTACKS[square] & black | PAWN_ATTACKS[64 + square] & ~black)
    attacking |= diagonal_attacks(square, occupied) & s[DIAGONALS]
    return U((attacking | straight_attacks(square, occupied) & s[STRAIGHTS]) & occupied)


@rule
def least_valuable(s: State, pieces: np.uint64) -> np.uint64:
    """A least valuable piece among `pieces`."""
    candidates = pieces & s[PAWNS]
    if candidates == ZERO:
        candidates = pieces & (s[KNIGHTS] | s[DIAGONALS] & ~s[STRAIGHTS])
    if candidates == ZERO:
        candidates = pieces & s[STRAIGHTS] & ~s[DIAGONALS]
    if candidates == ZERO:
        candidates = pieces & s[STRAIGHTS]
    if candidates == ZERO:
        candidates = pieces
    return lowest(candidates)


@rule
def loses(s: State, m: int) -> bool:
    """True if the exchange that a capture or a quiet move begins loses material.

    A side that continues gains at most f = max(0, value at stake - f of the other side afterwards).
    The move loses if the other side's f exceeds the value that the move captured. Each pass of the
    loop tests whether f reaches `wanted`, which is true exactly if the next f does not reach
    `at_stake` - `wanted` + 1. A king is worth more than all other pieces together, so it never
    captures a guarded piece.
    """
    square = (m >> 6) & 63
    target = ONE << U(square)
    bit = ONE << U(m & 63)
    wanted = 1
    if s[THEIRS] & target:
        wanted = EXCHANGE_VALUES[kind_at(s, target)] + 1
    at_stake = EXCHANGE_VALUES[kind_at(s, bit)]
    occupied = (s[OWN] | s[THEIRS] | target) ^ bit
    side = s[THEIRS]
    reaches = True
    while True:
        attacking = attackers(s, square, occupied) & ~target
        mine = attacking & side
        if at_stake < wanted or mine == ZERO:
            return not reaches
        bit = least_valuable(s, mine)
        wanted = at_stake - wanted + 1
        at_stake = EXCHANGE_VALUES[kind_at(s, bit)]
        occupied ^= bit
        side = ~side
        reaches = not reaches


@rule
def rank(s: State, m: int) -> int:
    """Ranks captures by MVV-LVA first, then quiet moves, then losing captures."""
    if m >> 12 == 0 and (s[THEIRS] >> U((m >> 6) & 63)) & ONE == ZERO:
        # Most moves return here.
        if (
            s[MISC] & EN_PASSANT
            and (m >> 6) & 63 == en_passant_square(s)
            and s[PAWNS] >> U(m & 63) & ONE
        ):
            return EXCHANGE_VALUES[PAWN] * VICTIM_FACTOR - EXCHANGE_VALUES[PAWN]
        return 0
    return rank_tactical(s, m)


@rule
def rank_tactical(s: State, m: int) -> int:
    """The rank of a promotion, or of a capture that is not en passant."""
    target = ONE << U((m >> 6) & 63)
    gain: Any = np.int64(0)
    if m >> 12:
        if m >> 12 < QUEEN:
            return UNDERPROMOTION
        gain += EXCHANGE_VALUES[QUEEN]
    if s[THEIRS] & target == ZERO:
        return int(gain * VICTIM_FACTOR)
    kind = kind_at(s, ONE << U(m & 63))
    victim_value = EXCHANGE_VALUES[kind_at(s, target)]
    gain += victim_value
    order = gain * VICTIM_FACTOR - EXCHANGE_VALUES[kind]
    return int(
        order - LOSING_PENALTY if EXCHANGE_VALUES[kind] > victim_value and loses(s, m) else order
    )
