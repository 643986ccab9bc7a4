"""The board of international draughts: squares as bits, and steps from one to the next."""

import numpy as np

from engine.game import State
from engine.jit import U, rule

# Squares 1 to 50 are bits 0 to 53, without a bit after every ten: so each direction is one shift
# from every square, and a step over the edge comes to a bit that is no square.
ZERO, ONE = U(0), U(1)
TWO_ROWS = 0x3FF
BOARD = U(sum(TWO_ROWS << 11 * i for i in range(5)))
ROW_BITS = tuple(0x1F << (11 * (row // 2) + 5 * (row % 2)) for row in range(10))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[9])
NEAR, FAR = U(5), U(6)
NEAR_JUMP, FAR_JUMP = U(10), U(12)
DOUBLES = tuple(U(TWO_ROWS << 11 * i) for i in range(5))
PACKED_DOUBLES = tuple(U(TWO_ROWS << 10 * i) for i in range(5))

# The last word of a state: bit 0 the side, White 0; from bit 1 the plies of kings without a
# capture, from bit 9 those since a king stood alone against three, from bit 17 those since it stood
# alone against fewer.
PLIES = U(255)
KING_PLIES, THREE_PLIES, TWO_PLIES = 50, 32, 10
#: So many plies of kings make the count part of a state's key: before that a search hardly comes as
#: far as the draw.
COUNTED_PLIES = 24

SQUARE_BITS = tuple(square + square // 10 for square in range(50))
NUMBER = {bit: square + 1 for square, bit in enumerate(SQUARE_BITS)}


@rule
def step(here: np.uint64, way: int) -> np.uint64:
    """The next square one way: down to the left, down to the right, up to the right, up to the
    left.
    """
    if way == 0:
        return here << NEAR
    if way == 1:
        return here << FAR
    if way == 2:
        return here >> NEAR
    return here >> FAR


@rule
def packed(squares: np.uint64) -> np.uint64:
    """One bit a square, without those in between."""
    found = ZERO
    for i in range(5):
        found |= (squares & DOUBLES[i]) >> U(i)
    return found


def turn(s: State) -> int:
    return int(s[3]) & 1
