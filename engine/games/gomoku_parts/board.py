"""The board of gomoku: sets of intersections, and the words of a state."""

from typing import TypeAlias

import numpy as np

from engine.jit import U, rule

#: A set of intersections as four words, each of four rows of 16 bits.
Quad: TypeAlias = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

#: The number of lines in each direction.
SIZE = 15
#: One and zero as words.
ONE, NONE = U(1), U(0)
#: The bit of a state's word 8 that is set if six or more in a row do not win.
EXACT = U(1)
#: The bit of word 8 that is set when the last stone has won.
HAS_WON = U(2)
#: The unit of the count of stones in word 8.
STONE = U(1 << 8)
#: The count of stones in word 8 when the board is full.
ALL_STONES = U(SIZE * SIZE << 8)
#: The distances in bits to the next intersection: right, up left, up, up right.
STEPS = (1, 15, 16, 17)
#: All intersections.
BOARD = (*(U(0x7FFF7FFF7FFF7FFF),) * 3, U(0x7FFF7FFF7FFF))


@rule
def with_neighbours(p: Quad) -> Quad:
    """The intersections of `p` and all intersections next to them."""
    a = p[0] | (p[0] << U(16)) | (p[0] >> U(16)) | (p[1] << U(48))
    b = p[1] | (p[1] << U(16)) | (p[1] >> U(16)) | (p[2] << U(48)) | (p[0] >> U(48))
    c = p[2] | (p[2] << U(16)) | (p[2] >> U(16)) | (p[3] << U(48)) | (p[1] >> U(48))
    d = p[3] | (p[3] << U(16)) | (p[3] >> U(16)) | (p[2] >> U(48))
    return (
        (a | (a << ONE) | (a >> ONE)) & BOARD[0],
        (b | (b << ONE) | (b >> ONE)) & BOARD[1],
        (c | (c << ONE) | (c >> ONE)) & BOARD[2],
        (d | (d << ONE) | (d >> ONE)) & BOARD[3],
    )


@rule
def subtract(p: Quad, q: Quad) -> Quad:
    return (p[0] & ~q[0], p[1] & ~q[1], p[2] & ~q[2], p[3] & ~q[3])


@rule
def intersect(p: Quad, q: Quad) -> Quad:
    return (p[0] & q[0], p[1] & q[1], p[2] & q[2], p[3] & q[3])
