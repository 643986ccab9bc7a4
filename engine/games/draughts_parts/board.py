"""The board of draughts: squares as bits, directions of pieces, and pieces that can capture."""

import numpy as np

from engine.game import State
from engine.jit import U, rule

# Squares 1 to 32 are bits 0 to 34, with one bit skipped after every eight. So each direction is the
# same shift from every square, and a step over the edge reaches a bit that is no square.
ZERO, ONE = U(0), U(1)
TWO_ROWS = 0xFF
BOARD = U(TWO_ROWS | TWO_ROWS << 9 | TWO_ROWS << 18 | TWO_ROWS << 27)
ROW_BITS = tuple(0xF << (9 * (row // 2) + 4 * (row % 2)) for row in range(8))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[7])
NEAR, FAR = U(4), U(5)
NEAR_JUMP, FAR_JUMP = U(8), U(10)
#: The steps from bit to bit by direction: Black's men use the first two, White's the others.
STEPS = (4, 5, -4, -5)

#: Plies without a capture or a man's move after which the match is drawn.
DRAW_PLIES = 80
#: Such plies from which the key includes the count. Before that a search hardly reaches the draw.
COUNTED_PLIES = 48

SQUARE_BITS = tuple(square + square // 8 for square in range(32))
NUMBER = {bit: square + 1 for square, bit in enumerate(SQUARE_BITS)}


@rule
def downward(s: State) -> np.uint64:
    """The pieces of the side to move that may move towards row 8."""
    return s[0] & s[2] if s[3] & ONE else s[0]


@rule
def upward(s: State) -> np.uint64:
    """The pieces of the side to move that may move towards row 1."""
    return s[0] if s[3] & ONE else s[0] & s[2]


@rule
def jumpers(s: State) -> np.uint64:
    """The pieces of the side to move that can capture."""
    other = s[1]
    free = BOARD & ~(s[0] | other)
    down = ((other >> NEAR) & (free >> NEAR_JUMP)) | ((other >> FAR) & (free >> FAR_JUMP))
    up = ((other << NEAR) & (free << NEAR_JUMP)) | ((other << FAR) & (free << FAR_JUMP))
    return (downward(s) & down) | (upward(s) & up)


def turn(s: State) -> int:
    return int(s[3]) & 1
