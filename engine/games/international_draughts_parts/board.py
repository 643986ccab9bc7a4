"""The board of international draughts: squares as bits, and steps from one to the next."""

import numpy as np

from engine.game import State
from engine.jit import U, rule

# Squares 1 to 50 are bits 0 to 53, with one bit skipped after every ten. So each direction is the
# same shift from every square, and a step over the edge reaches a bit that is no square.
ZERO, ONE = U(0), U(1)
TWO_ROWS = 0x3FF
BOARD = U(sum(TWO_ROWS << 11 * i for i in range(5)))
ROW_BITS = tuple(0x1F << (11 * (row // 2) + 5 * (row % 2)) for row in range(10))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[9])
NEAR, FAR = U(5), U(6)
NEAR_JUMP, FAR_JUMP = U(10), U(12)
DOUBLES = tuple(U(TWO_ROWS << 11 * i) for i in range(5))
PACKED_DOUBLES = tuple(U(TWO_ROWS << 10 * i) for i in range(5))

# The last word of a state has in bit 0 the side to move (0 White), from bit 1 the plies by kings
# without a capture, from bit 9 the plies since a king stood alone against at most three pieces, and
# from bit 17 those since it stood alone against fewer.
#: The mask of one count of plies.
PLIES = U(255)
#: The plies of each count after which the match is drawn.
KING_PLIES, THREE_PLIES, TWO_PLIES = 50, 32, 10
#: Plies by kings from which the key includes the count. Before that a search hardly reaches the
#: draw.
COUNTED_PLIES = 24

SQUARE_BITS = tuple(square + square // 10 for square in range(50))
NUMBER = {bit: square + 1 for square, bit in enumerate(SQUARE_BITS)}


@rule
def step(here: np.uint64, way: int) -> np.uint64:
    """The next square in direction `way`: 0 down left, 1 down right, 2 up right, 3 up left."""
    if way == 0:
        return here << NEAR
    if way == 1:
        return here << FAR
    if way == 2:
        return here >> NEAR
    return here >> FAR


@rule
def packed(squares: np.uint64) -> np.uint64:
    """The squares as 50 adjacent bits, without the skipped ones."""
    found = ZERO
    for i in range(5):
        found |= (squares & DOUBLES[i]) >> U(i)
    return found


def turn(s: State) -> int:
    return int(s[3]) & 1
