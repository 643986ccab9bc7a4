"""The work memory of Othello's solver, with its fixed tables."""

from typing import Any

import numpy as np

from engine.games.othello import DOWNWARD, UPWARD
from engine.solvers import othello_last as last

#: The four quadrants of the board.
QUADRANTS = tuple(0x0F0F0F0F << shift for shift in (0, 4, 32, 36))
#: The rank of a move by its distances from the edges, the smaller distance first.
VALUE_BY_DISTANCE = {
    (0, 0): 18, (0, 1): 4, (0, 2): 8, (0, 3): 6,
    (1, 1): 0, (1, 2): 3, (1, 3): 3,
    (2, 2): 6, (2, 3): 5,
    (3, 3): 0,
}  # fmt: skip
#: An alpha above all scores, which disables the test of stable discs.
ABOVE_SCORES = 99
#: Words in a cache line; a read of four words should not cross its boundary.
CACHE_LINE_WORDS = 8


def aligned_words(count: int) -> Any:
    """Zeroed words that begin at the start of a cache line."""
    words = np.zeros(count + CACHE_LINE_WORDS, np.uint64)
    skipped = -(words.ctypes.data // 8) % CACHE_LINE_WORDS
    return words[skipped : skipped + count]


def new_memory() -> Any:
    """Returns M of `engine.solvers.othello_kernel`; compiled code fills in the table EDGES."""
    memory = aligned_words(last.MEMORY_WORDS)
    for cell in range(64):
        column, row = cell % 8, cell // 8
        rays = last.RAYS + 8 * cell
        memory[rays : rays + 4], memory[rays + 4 : rays + 8] = UPWARD[cell], DOWNWARD[cell]
        memory[last.NEIGHBOURS + cell] = _neighbours(column, row)
        memory[last.QUADRANT + cell] = next(
            quadrant for quadrant in QUADRANTS if quadrant >> cell & 1
        )
        nearer, farther = sorted((min(column, 7 - column), min(row, 7 - row)))
        memory[last.CELL_VALUE + cell] = VALUE_BY_DISTANCE[nearer, farther]
    for empty in range(64):
        # With many empty cells few discs are stable; with at most four the search is faster than
        # the test.
        memory[last.STABILITY_FROM + empty] = np.int64(
            max(2 * empty - 12, -64) if empty > 4 else ABOVE_SCORES
        ).view(np.uint64)
    return memory


def odd_quadrants(empty: int) -> int:
    """The quadrants with an odd number of empty cells."""
    return sum(quadrant for quadrant in QUADRANTS if (empty & quadrant).bit_count() & 1)


def _neighbours(column: int, row: int) -> int:
    """The cells next to a cell."""
    columns = range(max(column - 1, 0), min(column + 2, 8))
    rows = range(max(row - 1, 0), min(row + 2, 8))
    return sum(1 << (x + 8 * y) for x in columns for y in rows if (x, y) != (column, row))
