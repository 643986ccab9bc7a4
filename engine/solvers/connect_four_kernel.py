"""The exact search of connect four: alpha-beta with null windows on the score.

The score of a position for the side to move is 22 minus the discs that the winner has played at
the end, negative when the other side wins, 0 for a draw: 1 is a win with the winner's last disc.

Bitboards are as in the rules: `mine` has the discs of the side to move, `discs` all discs, `wins`
the empty cells that complete a row of the side to move, `threats` those of the other side. A is the
work memory. It holds counters, the moves of each ply, the table of deep positions, and from TABLE
the table of the other positions. A table entry is one word: the whole key (49 bits, so that no two
positions collide), a lower and an upper bound of the score. C is the control block (see
`engine.search.kernel`).

Sources: J. Tromp's and V. Allis's papers on the game for bitboards and the null-window search on
scores; V. Allis, A Knowledge-based Approach of Connect-Four (1988), for claimeven, baseinverse and
the control of zugzwang, which decide positions without a search.
"""

from typing import Any

import numpy as np

from engine.jit import U, at, lsb, popcount, prefetch, put
from engine.search.layout import CANCEL, PUBLISHED_NODES

#: Counters in A. Another thread writes EXPIRED. 64 - TABLE_SHIFT is the number of index bits in
#: use, MAX_BITS the maximum for which the memory has room.
NODES, POLL, NODE_LIMIT, EXPIRED, STOP, TABLE_SHIFT, GROW_AT, MAX_BITS = range(8)
#: Index bits of the table at the beginning of a search. The table grows during the search; while it
#: is small it stays in the fastest cache.
SMALL_BITS = 16
#: Index bits of the table of deep positions.
DEEP_BITS = 16
#: The number of discs from which positions use the table of deep positions, which never grows. Most
#: positions are deep and few recur much later, so a small table that stays in the cache is enough.
DEEP_PLIES = 22
#: The table grows after this many nodes for each of its entries.
NODES_PER_ENTRY = 8
#: The word of A at which the moves of the plies begin.
MOVES = 8
#: The words of a ply: seven moves, their threats, their ranks, and LAST_BEST.
PLY_WORDS = 24
#: The word of a ply with the move of the last cutoff.
LAST_BEST = 21
#: The word of A at which the table of deep positions begins.
DEEP_TABLE = MOVES + 43 * PLY_WORDS
#: The word of A at which the table of the other positions begins.
TABLE = DEEP_TABLE + (1 << DEEP_BITS)
#: Nodes between two polls.
POLL_NODES = 4096
#: With fewer discs a position and its mirror image share an entry.
SHARED_PLIES = 12
#: With fewer discs the search probes the entries of all children before it searches the first.
ETC_PLIES = 30

ONE = U(1)
#: The number of cells.
CELLS = 42
#: The score of `solve_all` at a limit.
UNKNOWN = 99
#: The bottom cells of all columns.
BOTTOM = U(0x0040810204081)
#: All cells.
BOARD = U(0x0040810204081 * 63)
#: The cells of rows 1, 3 and 5.
ODD_ROWS = U(0x0040810204081 * 21)
#: The cells of rows 2, 4 and 6.
EVEN_ROWS = U(0x0040810204081 * 42)
#: A multiplier for hashing: 2**64 divided by the golden ratio.
GOLDEN = U(0x9E3779B97F4A7C15)
#: The bits of the first column.
COLUMN = U(127)
NO_BITS = U(0)
#: Added to a score to store it as a bound of six bits.
SHIFT = 32
#: The mask of a bound in an entry.
SIX_BITS = U(63)
#: The preference of each column among moves that make the same number of threats.
COLUMN_PREFERENCE = np.array([0, 1, 2, 3, 2, 1, 0], np.int64)

SIGNATURES = {
    "completions": "u8(u8)",
    "can_align": "b1(u8)",
    "first_player_cells": "u8(u8, u8, u8)",
    "has_odd_threat": "b1(u8, u8, u8, u8)",
    "table_key": "u8(u8, u8, i8)",
    "poll": "i8(u8*, i8*)",
    "slot_of": "i8(u8, i8, u8*)",
    "alpha_beta": "i8(u8, u8, u8, u8, i8, i8, u8*, i8*)",
    "solve": "i8(u8, u8, i8, i8, u8*, i8*)",
    "solve_one": "i8(u8, u8, i8, i8, u8*, i8*)",
    "start_search": "void(i8, u8*)",
    "solve_all": "void(u8*, i8*, i8, u8*, i8*)",
}
CALLS = {
    "has_odd_threat": ("can_align",),
    "alpha_beta": (
        "completions",
        "can_align",
        "first_player_cells",
        "has_odd_threat",
        "table_key",
        "poll",
        "slot_of",
    ),
    "solve": ("completions", "alpha_beta"),
    "solve_one": ("solve",),
    "solve_all": ("solve", "start_search"),
}


def completions(p: np.uint64) -> np.uint64:
    """The cells, free or not, that would complete a row of four of `p`."""
    r = (p << U(1)) & (p << U(2)) & (p << U(3))
    q = p & (p << U(6))
    r |= (q << U(6)) & ((p << U(18)) | (p >> U(6)))
    r |= (q >> U(12)) & ((p << U(6)) | (p >> U(18)))
    q = p & (p << U(7))
    r |= (q << U(7)) & ((p << U(21)) | (p >> U(7)))
    r |= (q >> U(14)) & ((p << U(7)) | (p >> U(21)))
    q = p & (p << U(8))
    r |= (q << U(8)) & ((p << U(24)) | (p >> U(8)))
    r |= (q >> U(16)) & ((p << U(8)) | (p >> U(24)))
    return r


def can_align(p: np.uint64) -> bool:
    """True if `p`, the cells that a side has or may still get, contains four in a row."""
    m = p & (p >> U(7))
    r = m & (m >> U(14))
    m = p & (p >> U(6))
    r |= m & (m >> U(12))
    m = p & (p >> U(8))
    r |= m & (m >> U(16))
    m = p & (p >> U(1))
    r |= m & (m >> U(2))
    return bool(r != NO_BITS)


def first_player_cells(mine: np.uint64, empty: np.uint64, landing: np.uint64) -> np.uint64:
    """A superset of the cells that the first player, to move, can get if the second plays well.

    The second player answers each disc with the cell above it (claimeven). The number of columns
    with an odd number of free cells is even; in these the second player answers a disc on the
    lowest free cell of one with the lowest free cell of another (baseinverse).
    """
    return mine | (empty & ODD_ROWS) | (landing & EVEN_ROWS)


def has_odd_threat(
    mine: np.uint64, empty: np.uint64, landing: np.uint64, threats: np.uint64
) -> bool:
    """True if the second player, to move, has lost to a threat of the first player in an odd row.

    The number of free cells below the threat must be odd. The first player answers as in
    `first_player_cells` everywhere, until the second player has only the cell below the threat
    left. That fails only if the second player gets a row of four before.
    """
    bottoms = landing & EVEN_ROWS
    left = threats & ODD_ROWS
    while left != NO_BITS:
        column = COLUMN << U(lsb(left) // 7 * 7)
        win = left & -left
        left &= ~column
        if bottoms & column != NO_BITS:
            elsewhere = ((empty & ODD_ROWS) | bottoms) & ~column
            if not can_align(mine | elsewhere | (empty & column & (win - ONE))):
                return True
    return False


def table_key(mine: np.uint64, discs: np.uint64, count: int) -> np.uint64:
    """The key of a position, 49 bits; early in the game its mirror image has the same key."""
    k = mine + discs + BOTTOM
    if count < SHARED_PLIES:
        m = (
            ((k & COLUMN) << U(42))
            | ((k & (COLUMN << U(7))) << U(28))
            | ((k & (COLUMN << U(14))) << U(14))
            | (k & (COLUMN << U(21)))
            | ((k >> U(14)) & (COLUMN << U(14)))
            | ((k >> U(28)) & (COLUMN << U(7)))
            | (k >> U(42))
        )
        if m < k:
            return m
    return k


def slot_of(key: np.uint64, count: int, A: Any) -> int:
    """The index in A of the entry for a position with `count` discs."""
    if count >= DEEP_PLIES:
        return int(DEEP_TABLE + np.int64((key * GOLDEN) >> U(64 - DEEP_BITS)))
    return int(TABLE + np.int64((key * GOLDEN) >> A[TABLE_SHIFT]))


def poll(A: Any, C: Any) -> int:
    """Publishes the node count, checks all limits, sets the next poll and returns A[STOP]."""
    put(C, PUBLISHED_NODES, int(A[NODES]))
    if C[CANCEL] != 0 or A[EXPIRED] != NO_BITS or A[NODES] >= A[NODE_LIMIT]:
        A[STOP] = ONE
    if A[NODES] >= A[GROW_AT]:
        if A[TABLE_SHIFT] >= U(66) - A[MAX_BITS]:
            # Entries hold whole keys, so old entries are lost but never mistaken.
            A[TABLE_SHIFT] -= U(2)
        A[GROW_AT] = A[NODES] + (U(NODES_PER_ENTRY) << (U(64) - A[TABLE_SHIFT]))
    A[POLL] = A[NODES] + U(POLL_NODES)
    if A[NODE_LIMIT] < A[POLL]:
        A[POLL] = A[NODE_LIMIT]
    return int(A[STOP])


def alpha_beta(
    mine: np.uint64,
    discs: np.uint64,
    wins: np.uint64,
    threats: np.uint64,
    count: int,
    beta: int,
    A: Any,
    C: Any,
) -> int:
    """Returns a bound v of the score: a lower bound if v >= beta, an upper bound if v < beta.

    `count` is the number of discs. The side to move must not be able to win at once: no disc can
    fall into a cell of `wins`, and at most one can fall into a cell of `threats`. When A[STOP] is
    set the value is meaningless, and it was not stored.
    """
    # 1. Count the node and poll at intervals.
    A[NODES] += ONE
    if A[NODES] >= A[POLL] and poll(A, C) != 0:
        return 0

    # 2. The side to move must block a win of the opponent, and must not play directly below one. If
    # no such move is left, the opponent wins with the next disc.
    landing = (discs + BOTTOM) & BOARD
    blocks = landing & threats
    moves = landing
    if blocks != NO_BITS:
        moves = blocks
    moves &= ~(threats >> ONE)
    if moves == NO_BITS:
        return -((CELLS - count) >> 1)
    if count >= CELLS - 2:
        return 0

    # 3. The earliest possible wins bound the score: the side to move wins with its second disc from
    # here at the earliest, the other side after that.
    upper = (CELLS - 1 - count) >> 1
    lower = -((CELLS - 2 - count) >> 1)
    if beta > upper:
        return upper
    if lower >= beta:
        return lower

    # 4. If the window only tests who wins, zugzwang rules may decide it without a search.
    empty = BOARD ^ discs
    opponent = mine ^ discs
    if beta > 0:
        if count & 1 == 0:
            if not can_align(first_player_cells(mine, empty, landing)):
                return 0
        elif not can_align(mine | empty):
            return 0
    elif not can_align(opponent | empty):
        return 0
    elif (
        beta == 0
        and count & 1 == 0
        and can_align(opponent | (empty & EVEN_ROWS & ~landing))
        and not can_align(first_player_cells(mine, empty, landing))
    ):
        return -1
    if beta >= 0 and count & 1 == 1 and has_odd_threat(mine, empty, landing, threats):
        return -1

    # 5. A single move needs no table.
    if moves & (moves - ONE) == NO_BITS:
        after = discs | moves
        new_threats = completions(mine | moves) & (BOARD ^ after)
        immediate = new_threats & ((after + BOTTOM) & BOARD)
        if (
            immediate != NO_BITS
            and ((immediate & (immediate - ONE)) | (new_threats & (immediate << ONE))) != NO_BITS
        ):
            return upper
        return -alpha_beta(
            opponent, after, threats & ~moves, new_threats, count + 1, 1 - beta, A, C
        )

    # 6. Probe the table: a stored bound may cut off.
    key = table_key(mine, discs, count)
    slot = slot_of(key, count, A)
    entry = A[slot]
    if entry >> U(15) == key:
        v: Any = np.int64((entry >> U(6)) & SIX_BITS) - SHIFT
        if v >= beta:
            return int(v)
        v = np.int64(entry & SIX_BITS) - SHIFT
        if v < beta:
            return int(v)

    # 7. Order the moves by the threats that they make. A move with two threats that cannot both be
    # blocked, or one above the other, wins as soon as anything can.
    words = at(A, MOVES + count * PLY_WORDS)
    n = 0
    while moves != NO_BITS:
        move = moves & -moves
        moves ^= move
        after = discs | move
        new_threats = completions(mine | move) & (BOARD ^ after)
        immediate = new_threats & ((after + BOTTOM) & BOARD)
        if (
            immediate != NO_BITS
            and ((immediate & (immediate - ONE)) | (new_threats & (immediate << ONE))) != NO_BITS
        ):
            return upper
        prefetch(A, slot_of(table_key(opponent, after, count + 1), count + 1, A))
        rank = U(popcount(new_threats) * 4 + COLUMN_PREFERENCE[lsb(move) // 7])
        if wins & (move << ONE) == NO_BITS:
            rank += U(2)  # a disc below an own win lets the opponent block it
        i = n
        while i > 0 and words[13 + i] < rank:
            words[i] = words[i - 1]
            words[7 + i] = words[6 + i]
            words[14 + i] = words[13 + i]
            i -= 1
        words[i] = move
        words[7 + i] = new_threats
        words[14 + i] = rank
        n += 1

    # 8. Enhanced transposition cutoff: a child in the table may already be good enough.
    if count < ETC_PLIES:
        for i in range(n):
            child = table_key(opponent, discs | words[i], count + 1)
            entry = A[slot_of(child, count + 1, A)]
            if entry >> U(15) == child:
                v = SHIFT - np.int64(entry & SIX_BITS)
                if v >= beta:
                    words[LAST_BEST] = words[i]
                    return int(v)

    # 9. Search the moves.
    best = -CELLS
    for i in range(n):
        move = words[i]
        v = -alpha_beta(
            opponent, discs | move, threats & ~move, words[7 + i], count + 1, 1 - beta, A, C
        )
        if A[STOP] != NO_BITS:
            return 0
        if v > best:
            best = v
            if v >= beta:
                words[LAST_BEST] = move
                break

    # 10. Store the bound, together with the other bound if the entry has it.
    low: Any = lower
    high: Any = upper
    entry = A[slot]
    if entry >> U(15) == key:
        low = np.int64((entry >> U(6)) & SIX_BITS) - SHIFT
        high = np.int64(entry & SIX_BITS) - SHIFT
    if best >= beta:
        low = best
    else:
        high = best
    A[slot] = (key << U(15)) | (U(low + SHIFT) << U(6)) | U(high + SHIFT)
    return best


def solve(mine: np.uint64, discs: np.uint64, low: int, high: int, A: Any, C: Any) -> int:
    """The score of an unfinished position, clamped to low and high.

    It is meaningless when A[STOP] is set.
    """
    count = popcount(discs)
    empty = BOARD ^ discs
    wins = completions(mine) & empty
    if wins & (discs + BOTTOM) != NO_BITS:
        return min(high, max(low, (CELLS + 1 - count) >> 1))
    threats = completions(mine ^ discs) & empty
    blocks = (discs + BOTTOM) & BOARD & threats
    if blocks & (blocks - ONE) != NO_BITS:
        return min(high, max(low, -((CELLS - count) >> 1)))
    lower = max(low, -((CELLS - count) >> 1))
    upper = min(high, (CELLS - 1 - count) >> 1)
    while lower < upper and A[STOP] == NO_BITS:
        # Bisect the interval, but first test who wins and whether the win comes soon, which is
        # easier.
        middle = (lower + upper) >> 1
        if middle <= 0 and (lower + 1) >> 1 < middle:
            middle = max(lower, (lower + 1) >> 1)
        elif middle >= 0 and upper >> 1 > middle:
            middle = upper >> 1
        v = alpha_beta(mine, discs, wins, threats, count, middle + 1, A, C)
        if v <= middle:
            upper = v
        else:
            lower = v
    return min(high, max(low, lower))


def solve_one(mine: np.uint64, discs: np.uint64, low: int, high: int, A: Any, C: Any) -> int:
    """`solve` as an entry point for Python."""
    return solve(mine, discs, low, high, A, C)


def start_search(bits: int, A: Any) -> None:
    """Begins a search with a table of 2**bits entries; polls at the first node."""
    A[TABLE_SHIFT] = U(64 - bits)
    A[GROW_AT] = A[NODES] + U(NODES_PER_ENTRY << bits)
    A[POLL] = A[NODES]


def solve_all(boards: Any, scores: Any, number: int, A: Any, C: Any) -> None:
    """Solves many positions of two words each and writes a score and a node count for each.

    The score is UNKNOWN at a limit.
    """
    limit = A[NODE_LIMIT]
    for i in range(number):
        start = A[NODES]
        A[STOP] = NO_BITS
        A[NODE_LIMIT] = start + limit
        start_search(SMALL_BITS, A)
        scores[2 * i] = solve(boards[2 * i], boards[2 * i + 1], -CELLS, CELLS, A, C)
        if A[STOP] != NO_BITS:
            scores[2 * i] = UNKNOWN
        scores[2 * i + 1] = np.int64(A[NODES] - start)
