"""The board of international draughts: squares as bits, and steps between squares."""

import numpy as np

from engine.game import State
from engine.jit import U, rule

# Squares 1 to 50 are bits 0 to 53, with one bit skipped after every ten. So a direction is the same
# shift on every square, and a step over the edge leads to a skipped bit or off the board.
ZERO, ONE = U(0), U(1)
#: The bits of two adjacent rows, ten squares.
TWO_ROWS = 0x3FF
#: All squares.
BOARD = U(sum(TWO_ROWS << 11 * i for i in range(5)))
#: The squares of each row.
ROW_BITS = tuple(0x1F << (11 * (row // 2) + 5 * (row % 2)) for row in range(10))
FIRST_ROW, LAST_ROW = U(ROW_BITS[0]), U(ROW_BITS[9])
#: The shifts of a step down the board, to the square with the lower and with the higher number.
NEAR, FAR = U(5), U(6)
#: The shifts of a jump in these directions.
NEAR_JUMP, FAR_JUMP = U(10), U(12)
#: The squares of each pair of rows.
ROW_PAIRS = tuple(U(TWO_ROWS << 11 * i) for i in range(5))
#: The same squares without the skipped bits.
PACKED_ROW_PAIRS = tuple(U(TWO_ROWS << 10 * i) for i in range(5))

# The last word of a state has in bit 0 the side to move (0 White), from bit 1 the plies by kings
# without a capture, from bit 9 the plies since one side has a lone king against at most three
# pieces, and from bit 17 those since it is against at most two.
#: The mask of one count of plies.
PLIES = U(255)
#: The number of plies in each count at which the match is drawn.
KING_PLIES, THREE_PLIES, TWO_PLIES = 50, 32, 10
#: The key includes the count of plies by kings from this number on. With fewer plies, a search
#: seldom reaches the draw.
COUNTED_PLIES = 24

#: The bit of each square.
SQUARE_BITS = tuple(square + square // 10 for square in range(50))
#: The number of the square of each bit.
NUMBER = {bit: square + 1 for square, bit in enumerate(SQUARE_BITS)}


@rule
def step(square: np.uint64, direction: int) -> np.uint64:
    """The next square in a direction: 0 down left, 1 down right, 2 up right, 3 up left."""
    if direction == 0:
        return square << NEAR
    if direction == 1:
        return square << FAR
    if direction == 2:
        return square >> NEAR
    return square >> FAR


@rule
def pack(squares: np.uint64) -> np.uint64:
    """The squares as 50 adjacent bits, without the skipped bits."""
    bits = ZERO
    for i in range(5):
        bits |= (squares & ROW_PAIRS[i]) >> U(i)
    return bits


def turn(s: State) -> int:
    return int(s[3]) & 1
