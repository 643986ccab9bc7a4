"""The ends of a chess match, and the keys of equal positions."""

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, State
from engine.games.chess_parts.board import (
    CLAIM_PLIES,
    CLOCK,
    DARK,
    DIAGONALS,
    DRAW_CLOCK,
    GOLDEN,
    HASH,
    KINGS,
    KNIGHTS,
    MISC,
    NEAR_DRAW_CLOCK,
    ONE,
    OWN,
    PAWNS,
    STRAIGHTS,
    THEIRS,
    ZERO,
    in_check,
    turn,
)
from engine.games.chess_parts.movement import (
    count_moves,
)
from engine.jit import U, popcount, rule


@rule
def status(s: State) -> int:
    """ONGOING: mate and stalemate are decided by `no_moves_result`."""
    return ONGOING


@rule
def no_moves_result(s: State) -> int:
    return LOST if in_check(s) else DRAWN


@rule
def cannot_mate(s: State) -> bool:
    """True if no side can mate: bare kings, one knight, or bishops on squares of one colour."""
    if s[PAWNS] | s[STRAIGHTS]:
        return False
    if s[KNIGHTS]:
        return s[DIAGONALS] == ZERO and popcount(s[KNIGHTS]) == 1
    return bool(s[DIAGONALS] & DARK == ZERO or s[DIAGONALS] & ~DARK == ZERO)


@rule
def drawn(s: State) -> int:
    """1 if neither side can mate, or after 75 moves each without a capture or a pawn move, else 0.

    Checkmate takes precedence over the 75-move rule.
    """
    if cannot_mate(s):
        return 1
    return 1 if s[MISC] & CLOCK >= DRAW_CLOCK and (not in_check(s) or count_moves(s) > 0) else 0


@rule
def reversible(s: State) -> int:
    return int(np.int64((s[MISC] & CLOCK) >> U(16)))


@rule
def repetition(s: State) -> np.uint64:
    return s[HASH]


@rule
def key(s: State) -> np.uint64:
    hashed = s[HASH]
    if s[MISC] & CLOCK >= NEAR_DRAW_CLOCK:
        hashed ^= (s[MISC] & CLOCK) * GOLDEN
    return hashed if hashed else ONE


def claim(s: State) -> str | None:
    return "fifty moves without a capture or a pawn move" if reversible(s) >= CLAIM_PLIES else None


def can_win(s: State, seat: int) -> bool:
    """Whether the pieces allow a mate by this seat, with any help of the opponent (FIDE 6.9).

    It looks at the pieces only, so it is too generous where no series of legal moves leads to the
    mate: behind pawns that block each other for good, where all moves are forced, and shortly
    before the 75-move rule.
    """
    own, other = (s[OWN], s[THEIRS]) if turn(s) == seat else (s[THEIRS], s[OWN])
    if own & (s[PAWNS] | s[STRAIGHTS]):
        return True
    pieces = own & ~s[KINGS]
    if popcount(pieces & s[KNIGHTS]) == 0:
        # Bishops of one colour mate only a king whose squares of the other colour its own pieces
        # block, and no rook or queen there could neither interpose nor capture.
        bishops = s[DIAGONALS] & ~s[STRAIGHTS]
        is_one_colour = bishops & DARK == ZERO or bishops & ~DARK == ZERO
        return bool(pieces and (s[PAWNS] | s[KNIGHTS] or not is_one_colour))
    # A lone knight mates only a king that is shut in by its own pieces; a queen there takes the
    # knight.
    return bool(popcount(pieces) > 1 or other & ~s[KINGS] & ~(s[DIAGONALS] & s[STRAIGHTS]))


def ending(s: State) -> str:
    if not count_moves(s):
        return "checkmate" if in_check(s) else "stalemate"
    if cannot_mate(s):
        return "not enough pieces to mate"
    return "75 moves by each side without a capture or a pawn move"
