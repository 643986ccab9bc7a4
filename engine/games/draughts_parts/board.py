"""The board of draughts: squares as bits, and the pieces that can move or capture."""

import numpy as np

from engine.game import State
from engine.jit import U, rule

# Squares 1 to 32 are bits 0 to 34, with one bit skipped after every eight. So a direction is the
# same shift on every square, and a step over the edge leads to a skipped bit or off the board.
ZERO, ONE = U(0), U(1)
#: The bits of two adjacent rows, eight squares.
TWO_ROWS = 0xFF
#: All squares.
BOARD = U(TWO_ROWS | TWO_ROWS << 9 | TWO_ROWS << 18 | TWO_ROWS << 27)
#: The squares of each row.
ROW_BITS = tuple(0xF << (9 * (row // 2) + 4 * (row % 2)) for row in range(8))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[7])
#: The shifts of a step down the board, to the square with the lower and with the higher number.
NEAR, FAR = U(4), U(5)
#: The shifts of a jump in these directions.
NEAR_JUMP, FAR_JUMP = U(8), U(10)
#: The shift of each direction: Black's men move in the first two, White's in the other two.
STEPS = (4, 5, -4, -5)

#: Plies without a capture or a man's move after which the match is drawn.
DRAW_PLIES = 80
#: The key includes the count of such plies from this number on. With fewer plies, a search seldom
#: reaches the draw.
COUNTED_PLIES = 48

#: The bit of each square.
SQUARE_BITS = tuple(square + square // 8 for square in range(32))
#: The number of the square of each bit.
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
