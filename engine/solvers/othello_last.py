# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# (compiled, an int is an np.int64 and the other way round)
"""The search of the last few empty cells of Othello, with mobility, flips and stable discs.

It is a part of `engine.solvers.othello_kernel`, which describes the memory and the contract. The
discs that a move turns over are found in four lines at once, in both directions: upwards by the
carry that runs through the other side's discs, downwards by counting leading zeros.
"""

from typing import Any

import numpy as np

from engine.jit import lsb, popcount
from engine.lanes import lanes, lanes_at, lanes_of, leading_zeros, nonzero_mask, reduce_or

U = np.uint64
ZERO, ONE = U(0), U(1)
TOP_BIT = U(1 << 63)
#: Columns b to g.
INNER = U(0x7E7E7E7E7E7E7E7E)
CORNERS = U(0x8100000000000081)
ROW_1, COLUMN_A, COLUMN_H = U(0xFF), U(0x0101010101010101), U(0x8080808080808080)
#: A multiplier that gathers the bits of column a in the highest byte.
GATHER_COLUMN = U(0x0102040810204080)
#: The cells at the edge.
BORDER = U(0xFF818181818181FF)
BYTE, LOW_3 = U(0xFF), U(7)
#: Below every score.
NO_SCORE = -65

# The layout of M: counters and limits, tables, the scores of the root moves, the lists of moves.
NODES, STOP, POLL, NODE_LIMIT, EXPIRED, TABLE_SHIFT, BEST, GENERATION, ROOT_EMPTY = range(9)
#: The rays of each cell: four words towards higher bits, four towards lower bits.
RAYS = 16
#: The cells next to each cell.
NEIGHBOURS = RAYS + 64 * 8
#: The quadrant of each cell.
QUADRANT = NEIGHBOURS + 64
#: The rank of a move to each cell.
CELL_VALUE = QUADRANT + 64
#: The least alpha at which stable discs are tested, by number of empty cells.
STABILITY_FROM = CELL_VALUE + 64
#: A table of bytes: the stable discs on an edge, at own discs * 256 + other discs.
EDGES = STABILITY_FROM + 64
#: The score of each root move + 64, by cell, plus 256 if it is an upper bound; 0 if the move was
#: not searched.
ROOT_SCORES = EDGES + 65_536 // 8
#: The lists of moves, by number of empty cells.
LISTS = ROOT_SCORES + 64
#: Maximum length of a list of moves.
LIST_MOVES = 36
#: The words of an entry in a list of moves, and their number.
CELL, FLIPPED, REPLIES, RANK, ENTRY_WORDS = range(5)
#: The size of M, in words.
MEMORY_WORDS = LISTS + 64 * ENTRY_WORDS * LIST_MOVES

#: Maximum number of empty cells that are searched without table and lists.
SHALLOW = 6
SIGNATURES = {
    "mobility": "u8(u8, u8)",
    "flips": "u8(i8, u8, u8, u8*)",
    "final_score": "i8(u8, i8)",
    "byte_at": "u8(u8, u8*)",
    "column_stable": "u8(u8, u8, u8, u8*)",
    "stable": "u8(u8, u8, u8*)",
    "last_1": "i8(u8, i8, i8, u8*)",
    "last_2": "i8(u8, u8, i8, i8, i8, u8*)",
    "last_3": "i8(u8, u8, i8, u8, u8, u8*)",
    "last_4": "i8(u8, u8, i8, u8, u8, u8*)",
    "shallow": "i8(u8, u8, i8, i8, u8, u8*)",
    "flips_entry": "u8(i8, u8, u8, u8*)",
    "stable_entry": "u8(u8, u8, u8*)",
    "shallow_entry": "i8(u8, u8, i8, i8, u8, u8*)",
    "edge_tables": "void(u8*)",
    "row_flips": "i8(i8, i8, i8)",
}
CALLS = {
    "column_stable": ("byte_at",),
    "stable": ("byte_at", "column_stable"),
    "last_1": ("flips",),
    "last_2": ("flips", "last_1"),
    "last_3": ("flips", "last_2"),
    "last_4": ("flips", "last_3", "final_score"),
    "shallow": ("mobility", "flips", "last_4", "final_score", "stable"),
    "flips_entry": ("flips",),
    "stable_entry": ("stable",),
    "shallow_entry": ("shallow",),
    "edge_tables": ("byte_at", "row_flips"),
}


def mobility(p: np.uint64, o: np.uint64) -> np.uint64:
    """The cells where the side with discs `p` may put a disc against `o`."""
    inner = o & INNER
    step = lanes_of(U(1), U(7), U(8), U(9))
    own = lanes(p)
    other = lanes_of(inner, inner, o, inner)
    up = other & (own << step)
    down = other & (own >> step)
    up = up | (other & (up << step))
    down = down | (other & (down >> step))
    pairs = other & (other << step)
    pairs_down = pairs >> step
    twice = step + step
    up = up | (pairs & (up << twice))
    down = down | (pairs_down & (down >> twice))
    up = up | (pairs & (up << twice))
    down = down | (pairs_down & (down >> twice))
    return reduce_or((up << step) | (down >> step)) & ~(p | o)


def flips(cell: int, p: np.uint64, o: np.uint64, M: Any) -> np.uint64:
    """The discs of `o` that a new disc of `p` turns over."""
    own = lanes(p)
    not_other = lanes(~o)
    none = lanes(ZERO)
    ray = lanes_at(M, RAYS + 8 * cell)
    end = ray & not_other
    end = end & (none - end) & own
    flipped = (end + nonzero_mask(end)) & ray
    ray = lanes_at(M, RAYS + 8 * cell + 4)
    end = (lanes(TOP_BIT) >> leading_zeros((ray & not_other) | lanes(ONE))) & (own & ray)
    flipped = flipped | ((none - (end + end)) & ray)
    return reduce_or(flipped)


def final_score(p: np.uint64, empty: int) -> int:
    """The score if no side can move: the winner gets the empty cells."""
    lead = 2 * popcount(p) - 64 + empty
    if lead > 0:
        return lead + empty
    if lead < 0:
        return lead - empty
    return 0


def byte_at(index: np.uint64, M: Any) -> np.uint64:
    """An entry of the table of stable discs on an edge, a byte."""
    return (M[EDGES + np.int64(index >> U(3))] >> ((index & LOW_3) << U(3))) & BYTE


def column_stable(p: np.uint64, o: np.uint64, column: np.uint64, M: Any) -> np.uint64:
    """The stable discs of `p` in the edge column that is `column` bits from column a: 0 or 7."""
    own = (((p >> column) & COLUMN_A) * GATHER_COLUMN) >> U(56)
    other = (((o >> column) & COLUMN_A) * GATHER_COLUMN) >> U(56)
    stable_cells = byte_at((own << U(8)) | other, M)
    # Move bit i of the byte to the first cell of row i: a multiplication makes seven shifted
    # copies, each with one bit in place.
    gathered = ((stable_cells & U(0xFE)) * U(0x0002040810204081)) | (stable_cells & ONE)
    return (gathered & COLUMN_A) << column


def stable(p: np.uint64, o: np.uint64, M: Any) -> np.uint64:
    """Discs of `p` that can never be turned over, not necessarily all of them."""
    # 1. Stable discs on the edges, by table.
    stable_discs = byte_at(((p & ROW_1) << U(8)) | (o & ROW_1), M)
    stable_discs |= byte_at(((p >> U(56)) << U(8)) | (o >> U(56)), M) << U(56)
    stable_discs |= column_stable(p, o, ZERO, M) | column_stable(p, o, U(7), M)
    # 2. The cells whose row, column or diagonal is full, by repeated doubling: a cell stays if its
    # neighbours on the line stay; cells beyond the edge count as full.
    occupied = p | o
    rows = occupied & (occupied >> U(4)) & U(0x0F0F0F0F0F0F0F0F)
    rows &= (rows >> U(2)) & U(0x0303030303030303)
    rows = ((rows & (rows >> ONE)) & COLUMN_A) * BYTE
    columns = occupied & ((occupied >> U(32)) | (occupied << U(32)))
    columns &= (columns >> U(16)) | (columns << U(48))
    columns &= (columns >> U(8)) | (columns << U(56))
    falling = (
        occupied
        & (U(0xFF80808080808080) | (occupied >> U(9)))
        & (U(0x01010101010101FF) | (occupied << U(9)))
    )
    rising = (
        occupied
        & (U(0xFF01010101010101) | (occupied >> U(7)))
        & (U(0x80808080808080FF) | (occupied << U(7)))
    )
    falling &= (U(0xFFFFC0C0C0C0C0C0) | (falling >> U(18))) & (
        U(0x030303030303FFFF) | (falling << U(18))
    )
    rising &= (U(0xFFFF030303030303) | (rising >> U(14))) & (
        U(0xC0C0C0C0C0C0FFFF) | (rising << U(14))
    )
    falling &= (U(0xFFFFFFFFF0F0F0F0) | (falling >> U(36))) & (
        U(0x0F0F0F0FFFFFFFFF) | (falling << U(36))
    )
    rising &= (U(0xFFFFFFFF0F0F0F0F) | (rising >> U(28))) & (
        U(0xF0F0F0F0FFFFFFFF) | (rising << U(28))
    )
    inside = p & ~BORDER
    stable_discs |= rows & columns & falling & rising & inside
    # 3. Inner discs that have, in each of the four directions, a full line or a stable disc of the
    # same side beside them.
    added = stable_discs
    while added != ZERO:
        added = (
            inside
            & ~stable_discs
            & (rows | (stable_discs << ONE) | (stable_discs >> ONE))
            & (columns | (stable_discs << U(8)) | (stable_discs >> U(8)))
            & (falling | (stable_discs << U(9)) | (stable_discs >> U(9)))
            & (rising | (stable_discs << U(7)) | (stable_discs >> U(7)))
        )
        stable_discs |= added
    return stable_discs


def last_1(p: np.uint64, alpha: int, cell: int, M: Any) -> int:
    """The score with one empty cell, `cell`."""
    disc = ONE << U(cell)
    score = 2 * popcount(p) - 62
    flipped = flips(cell, p, ~(p | disc), M)
    if flipped != ZERO:
        return score + 2 * popcount(flipped)
    other_score = score - 2
    if score <= 0:
        score = other_score
    if score > alpha:
        flipped = flips(cell, ~(p | disc), p, M)
        if flipped != ZERO:
            return other_score - 2 * popcount(flipped)
    return score


def last_2(p: np.uint64, o: np.uint64, alpha: int, a: int, b: int, M: Any) -> int:
    """The score with two empty cells; tries `a` first."""
    M[NODES] += ONE
    best = NO_SCORE
    flipped = ZERO
    if M[NEIGHBOURS + a] & o != ZERO:
        flipped = flips(a, p, o, M)
        if flipped != ZERO:
            best = -last_1(o ^ flipped, -alpha - 1, b, M)
            if best > alpha:
                return best
    if M[NEIGHBOURS + b] & o != ZERO:
        flipped = flips(b, p, o, M)
        if flipped != ZERO:
            v = -last_1(o ^ flipped, -alpha - 1, a, M)
            return v if v > best else best
    if best > NO_SCORE:
        return best
    # Neither is a move: the other side moves if it can.
    best = -NO_SCORE
    if M[NEIGHBOURS + a] & p != ZERO:
        flipped = flips(a, o, p, M)
        if flipped != ZERO:
            best = last_1(p ^ flipped, alpha, b, M)
            if best <= alpha:
                return best
    if M[NEIGHBOURS + b] & p != ZERO:
        flipped = flips(b, o, p, M)
        if flipped != ZERO:
            v = last_1(p ^ flipped, alpha, a, M)
            return v if v < best else best
    if best < -NO_SCORE:
        return best
    lead = 2 * popcount(p) - 62
    if lead > 0:
        return lead + 2
    if lead < 0:
        return lead - 2
    return 0


def last_3(p: np.uint64, o: np.uint64, alpha: int, empty: np.uint64, odd: np.uint64, M: Any) -> int:
    """The score with three empty cells; tries those in odd quadrants first."""
    M[NODES] += ONE
    best = NO_SCORE
    first = empty & odd
    if first == ZERO:
        first = empty
    for passed in range(2):
        part = first
        rest = empty & ~first
        while part != ZERO:
            cell = lsb(part)
            part &= part - ONE
            if M[NEIGHBOURS + cell] & o != ZERO:
                flipped = flips(cell, p, o, M)
                if flipped != ZERO:
                    others = empty ^ (ONE << U(cell))
                    a = lsb(others)
                    b = lsb(others & (others - ONE))
                    v = -last_2(o ^ flipped, p ^ flipped ^ (ONE << U(cell)), -alpha - 1, a, b, M)
                    if v > best:
                        if v > alpha:
                            return v if passed == 0 else -v
                        best = v
            if part == ZERO:
                part = rest
                rest = ZERO
        if best > NO_SCORE:
            return best if passed == 0 else -best
        if passed == 0:
            p, o = o, p
            alpha = -alpha - 1
    lead = 2 * popcount(o) - 61
    if lead > 0:
        return lead + 3
    if lead < 0:
        return lead - 3
    return 0


def last_4(p: np.uint64, o: np.uint64, alpha: int, empty: np.uint64, odd: np.uint64, M: Any) -> int:
    """The score with four empty cells; tries those in odd quadrants first."""
    M[NODES] += ONE
    best = NO_SCORE
    first = empty & odd
    if first == ZERO or popcount(first) == 4:
        first = empty
    for passed in range(2):
        part = first
        rest = empty & ~first
        while part != ZERO:
            cell = lsb(part)
            part &= part - ONE
            if M[NEIGHBOURS + cell] & o != ZERO:
                flipped = flips(cell, p, o, M)
                if flipped != ZERO:
                    disc = ONE << U(cell)
                    v = -last_3(
                        o ^ flipped,
                        p ^ flipped ^ disc,
                        -alpha - 1,
                        empty ^ disc,
                        odd ^ M[QUADRANT + cell],
                        M,
                    )
                    if v > best:
                        if v > alpha:
                            return v if passed == 0 else -v
                        best = v
            if part == ZERO:
                part = rest
                rest = ZERO
        if best > NO_SCORE:
            return best if passed == 0 else -best
        if passed == 0:
            p, o = o, p
            alpha = -alpha - 1
    return final_score(o, 4)


def shallow(p: np.uint64, o: np.uint64, alpha: int, n: int, odd: np.uint64, M: Any) -> int:
    """The score with 4 to SHALLOW empty cells: tries odd quadrants first, and corners in each."""
    empty = ~(p | o)
    if n == 4:
        return last_4(p, o, alpha, empty, odd, M)
    M[NODES] += ONE
    if alpha >= np.int64(M[STABILITY_FROM + n]):
        v = 64 - 2 * popcount(stable(o, p, M))
        if v <= alpha:
            return v
    moves = mobility(p, o)
    if moves == ZERO:
        if mobility(o, p) == ZERO:
            return final_score(p, n)
        return -shallow(o, p, -alpha - 1, n, odd, M)
    best = NO_SCORE
    part = moves & odd
    rest = moves & ~odd
    if part == ZERO:
        part = rest
        rest = ZERO
    while part != ZERO:
        corner = part & CORNERS
        cell = lsb(corner) if corner != ZERO else lsb(part)
        disc = ONE << U(cell)
        part ^= disc
        flipped = flips(cell, p, o, M)
        v = -shallow(
            o ^ flipped, p ^ flipped ^ disc, -alpha - 1, n - 1, odd ^ M[QUADRANT + cell], M
        )
        if v > best:
            if v > alpha:
                return v
            best = v
        if part == ZERO:
            part = rest
            rest = ZERO
    return best


def flips_entry(cell: int, p: np.uint64, o: np.uint64, M: Any) -> np.uint64:
    """`flips` as an entry point for Python."""
    return flips(cell, p, o, M)


def stable_entry(p: np.uint64, o: np.uint64, M: Any) -> np.uint64:
    """`stable` as an entry point for Python."""
    return stable(p, o, M)


def shallow_entry(p: np.uint64, o: np.uint64, alpha: int, n: int, odd: np.uint64, M: Any) -> int:
    """`shallow` as an entry point for Python."""
    return shallow(p, o, alpha, n, odd, M)


def row_flips(own: int, other: int, cell: int) -> int:
    """The discs in a row of eight cells that a new disc turns over."""
    flipped = 0
    for step in range(-1, 2, 2):
        enclosed = 0
        i = cell + step
        while 0 <= i < 8 and (other >> i) & 1 != 0:
            enclosed |= 1 << i
            i += step
        if 0 <= i < 8 and (own >> i) & 1 != 0:
            flipped |= enclosed
    return flipped


def edge_tables(M: Any) -> None:
    """Fills the table of stable discs of an edge.

    A disc is stable if it stays, whichever side puts discs on the empty cells, in any order.
    """
    for empty_cells in range(256):
        occupied = 255 - empty_cells
        p = occupied
        while True:
            o = occupied ^ p
            stable_discs = p
            for cell in range(8):
                if (occupied >> cell) & 1 == 0:
                    disc = 1 << cell
                    flipped = row_flips(p, o, cell)
                    stable_discs &= np.int64(
                        byte_at(U((p | flipped | disc) * 256 + (o ^ flipped)), M)
                    )
                    flipped = row_flips(o, p, cell)
                    stable_discs &= np.int64(
                        byte_at(U((p ^ flipped) * 256 + (o | flipped | disc)), M)
                    )
            index = p * 256 + o
            M[EDGES + (index >> 3)] |= U(stable_discs) << U((index & 7) * 8)
            if p == 0:
                break
            p = (p - 1) & occupied
