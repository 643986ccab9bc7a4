"""Connect four to the end: alpha-beta with null windows on the score, compiled by
`engine.compiler.native`.

The score of a position for the side to move is 22 minus the discs that the winner has played when
the fourth in a row falls, negative when the other side wins, 0 for a draw: 1 is a win with the very
last disc.

Words of memory, one bit a cell as in the rules: `mine` the discs of the side to move, `discs` all
of them, `wins` the empty cells that complete a row of the side to move, `threats` those of the
other side. A, the work memory, holds counters, the moves of each ply, the table of deep positions,
and from TABLE on that of the others: one word an entry, the whole key (49 bits, so that no two
positions are taken for each other), an upper and a lower bound of the score. C is the control block
(see `engine.search.kernel`).

Bitboards and the null-window search on scores: J. Tromp's and V. Allis's papers on the game. What
is known without a search: V. Allis, A Knowledge-based Approach of Connect-Four (1988): claimeven,
baseinverse, the control of zugzwang.
"""

from typing import Any

import numpy as np

from engine.jit import U, at, lsb, popcount, prefetch, put
from engine.search.layout import CANCEL, SEEN_NODES

#: Counters in A. EXPIRED is written by another thread; 64 - TABLE_SHIFT bits number the entries in
#: use, LARGEST is the number of bits that there is room for.
NODES, POLL, NODE_LIMIT, EXPIRED, STOP, TABLE_SHIFT, GROW_AT, LARGEST = range(8)
#: A search begins with so small a table, for that stays in the nearest cache, and takes more as it
#: goes on.
SMALL_BITS = 16
DEEP_BITS = 16
#: From so many discs on positions have a table of their own that never grows: there are most of
#: them, few come again much later, and so each look into it is a near one.
DEEP_PLIES = 22
NODES_AN_ENTRY = 8
MOVES = 8
#: Seven moves of a ply, then their threats, then their ranks, and at LAST_BEST what closed a window
#: there last.
PLY_WORDS = 24
LAST_BEST = 21
DEEP_TABLE = MOVES + 43 * PLY_WORDS
TABLE = DEEP_TABLE + (1 << DEEP_BITS)
POLL_NODES = 4096
#: Before so many discs a position and its mirror image share an entry.
SHARED_PLIES = 12
#: Before so many discs the entries of all children are looked at before the first one is searched.
LOOK_AHEAD_PLIES = 30

ONE = U(1)
CELLS = 42
UNKNOWN = 99
BOTTOM = U(0x0040810204081)
BOARD = U(0x0040810204081 * 63)
ODD_ROWS = U(0x0040810204081 * 21)
EVEN_ROWS = U(0x0040810204081 * 42)
GOLDEN = U(0x9E3779B97F4A7C15)
COLUMN = U(127)
NO_BITS = U(0)
#: Added to a score to make it a bound of six bits in the table.
SHIFT = 32
SIX_BITS = U(63)
#: How much a column is preferred when two moves make as many threats.
CENTRED = np.array([0, 1, 2, 3, 2, 1, 0], np.int64)

SIGNATURES = {
    "completions": "u8(u8)",
    "can_align": "b1(u8)",
    "first_may_get": "u8(u8, u8, u8)",
    "has_odd_threat": "b1(u8, u8, u8, u8)",
    "table_key": "u8(u8, u8, i8)",
    "poll": "i8(u8*, i8*)",
    "slot_of": "i8(u8, i8, u8*)",
    "nega": "i8(u8, u8, u8, u8, i8, i8, u8*, i8*)",
    "solve": "i8(u8, u8, i8, i8, u8*, i8*)",
    "solve_one": "i8(u8, u8, i8, i8, u8*, i8*)",
    "begin": "void(i8, u8*)",
    "solve_all": "void(u8*, i8*, i8, u8*, i8*)",
}
CALLS = {
    "has_odd_threat": ("can_align",),
    "nega": (
        "completions",
        "can_align",
        "first_may_get",
        "has_odd_threat",
        "table_key",
        "poll",
        "slot_of",
    ),
    "solve": ("completions", "nega"),
    "solve_one": ("solve",),
    "solve_all": ("solve", "begin"),
}


def completions(p: np.uint64) -> np.uint64:
    """The cells, free or not, that would complete a row of four with these discs."""
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
    """Are four of these cells in a row?"""
    m = p & (p >> U(7))
    r = m & (m >> U(14))
    m = p & (p >> U(6))
    r |= m & (m >> U(12))
    m = p & (p >> U(8))
    r |= m & (m >> U(16))
    m = p & (p >> U(1))
    r |= m & (m >> U(2))
    return bool(r != NO_BITS)


def first_may_get(mine: np.uint64, empty: np.uint64, landing: np.uint64) -> np.uint64:
    """More than the cells that the first player can ever have, to move, if the second one plays for
    it.

    The second player answers above each disc (claimeven), and, of the columns with an odd number of
    free cells, whose number is even, a disc at the bottom of one by a disc at the bottom of
    another.
    """
    return mine | (empty & ODD_ROWS) | (landing & EVEN_ROWS)


def has_odd_threat(
    mine: np.uint64, empty: np.uint64, landing: np.uint64, threats: np.uint64
) -> bool:
    """Has the second player, to move, lost because of a win that the first one has in an odd row?

    The cells below it must be odd in number; the first player answers as above everywhere and
    leaves the second no other disc in the end than the one below the win. That fails only if the
    second player gets a row of four before.
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
    """49 bits that name a position; early in the game its mirror image has the same ones."""
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
    """Shows the node count, looks at every reason to stop and says when to look again; the answer
    is A[STOP].
    """
    put(C, SEEN_NODES, int(A[NODES]))
    if C[CANCEL] != 0 or A[EXPIRED] != NO_BITS or A[NODES] >= A[NODE_LIMIT]:
        A[STOP] = ONE
    if A[NODES] >= A[GROW_AT]:
        if A[TABLE_SHIFT] >= U(66) - A[LARGEST]:
            A[TABLE_SHIFT] -= U(
                2
            )  # entries hold whole keys: those that are now elsewhere are only not found
        A[GROW_AT] = A[NODES] + (U(NODES_AN_ENTRY) << (U(64) - A[TABLE_SHIFT]))
    A[POLL] = A[NODES] + U(POLL_NODES)
    if A[NODE_LIMIT] < A[POLL]:
        A[POLL] = A[NODE_LIMIT]
    return int(A[STOP])


def nega(
    mine: np.uint64,
    discs: np.uint64,
    wins: np.uint64,
    threats: np.uint64,
    count: int,
    beta: int,
    A: Any,
    C: Any,
) -> int:
    """A score v of the position with `count` discs: v >= beta is a lower bound of the true one, v <
    beta an upper one.

    The side to move cannot win at once: `wins` has no cell that a disc can fall into, and `threats`
    at most one. When A[STOP] is set the value means nothing and nothing was stored because of it.
    """
    # 1. Count, and now and then look whether to stop.
    A[NODES] += ONE
    if A[NODES] >= A[POLL] and poll(A, C) != 0:
        return 0

    # 2. An opponent's win must be blocked, and no disc may be put below one. Who cannot help it
    # loses at once.
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

    # 3. Nobody wins sooner than this: the side to move with its second disc from here, the other
    # one after that.
    upper = (CELLS - 1 - count) >> 1
    lower = -((CELLS - 2 - count) >> 1)
    if beta > upper:
        return upper
    if lower >= beta:
        return lower

    # 4. What is known of the end without a search, where the question is whether there is a win at
    # all.
    empty = BOARD ^ discs
    others = mine ^ discs
    if beta > 0:
        if count & 1 == 0:
            if not can_align(first_may_get(mine, empty, landing)):
                return 0
        elif not can_align(mine | empty):
            return 0
    elif not can_align(others | empty):
        return 0
    elif (
        beta == 0
        and count & 1 == 0
        and can_align(others | (empty & EVEN_ROWS & ~landing))
        and not can_align(first_may_get(mine, empty, landing))
    ):
        return -1
    if beta >= 0 and count & 1 == 1 and has_odd_threat(mine, empty, landing, threats):
        return -1

    # 5. A single move needs no table.
    if moves & (moves - ONE) == NO_BITS:
        after = discs | moves
        made = completions(mine | moves) & (BOARD ^ after)
        at_once = made & ((after + BOTTOM) & BOARD)
        if (
            at_once != NO_BITS
            and ((at_once & (at_once - ONE)) | (made & (at_once << ONE))) != NO_BITS
        ):
            return upper
        return -nega(others, after, threats & ~moves, made, count + 1, 1 - beta, A, C)

    # 6. The table may know a bound that settles the question.
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

    # 7. The moves, those that make most threats first. One that makes two wins at once, beside or
    # above each other, wins as soon as anything can.
    words = at(A, MOVES + count * PLY_WORDS)
    n = 0
    while moves != NO_BITS:
        move = moves & -moves
        moves ^= move
        after = discs | move
        made = completions(mine | move) & (BOARD ^ after)
        at_once = made & ((after + BOTTOM) & BOARD)
        if (
            at_once != NO_BITS
            and ((at_once & (at_once - ONE)) | (made & (at_once << ONE))) != NO_BITS
        ):
            return upper
        prefetch(A, slot_of(table_key(others, after, count + 1), count + 1, A))
        rank = U(popcount(made) * 4 + CENTRED[lsb(move) // 7])
        if wins & (move << ONE) == NO_BITS:
            rank += U(2)  # whoever plays below a win of their own gives it away
        i = n
        while i > 0 and words[13 + i] < rank:
            words[i] = words[i - 1]
            words[7 + i] = words[6 + i]
            words[14 + i] = words[13 + i]
            i -= 1
        words[i] = move
        words[7 + i] = made
        words[14 + i] = rank
        n += 1

    # 8. Perhaps the table knows a child that is good enough.
    if count < LOOK_AHEAD_PLIES:
        for i in range(n):
            child = table_key(others, discs | words[i], count + 1)
            entry = A[slot_of(child, count + 1, A)]
            if entry >> U(15) == child:
                v = SHIFT - np.int64(entry & SIX_BITS)
                if v >= beta:
                    words[LAST_BEST] = words[i]
                    return int(v)

    # 9. Search them.
    best = -CELLS
    for i in range(n):
        move = words[i]
        v = -nega(others, discs | move, threats & ~move, words[7 + i], count + 1, 1 - beta, A, C)
        if A[STOP] != NO_BITS:
            return 0
        if v > best:
            best = v
            if v >= beta:
                words[LAST_BEST] = move
                break

    # 10. Store the bound beside the other one, if that is there.
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
    """The score of a position that is not finished, if it lies between low and high, or else the
    end that is nearer.

    It means nothing when A[STOP] is set.
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
    least = max(low, -((CELLS - count) >> 1))
    most = min(high, (CELLS - 1 - count) >> 1)
    while least < most and A[STOP] == NO_BITS:
        # Halve the interval, but ask sooner who wins and whether it is soon: such questions are the
        # easy ones.
        middle = (least + most) >> 1
        if middle <= 0 and (least + 1) >> 1 < middle:
            middle = max(least, (least + 1) >> 1)
        elif middle >= 0 and most >> 1 > middle:
            middle = most >> 1
        v = nega(mine, discs, wins, threats, count, middle + 1, A, C)
        if v <= middle:
            most = v
        else:
            least = v
    return min(high, max(low, least))


def solve_one(mine: np.uint64, discs: np.uint64, low: int, high: int, A: Any, C: Any) -> int:
    """`solve`, for Python to call."""
    return solve(mine, discs, low, high, A, C)


def begin(bits: int, A: Any) -> None:
    """Begins a search with a table of 2**bits entries, at most A[NODE_LIMIT] nodes from here on."""
    A[TABLE_SHIFT] = U(64 - bits)
    A[GROW_AT] = A[NODES] + U(NODES_AN_ENTRY << bits)
    A[POLL] = A[NODES]


def solve_all(boards: Any, scores: Any, number: int, A: Any, C: Any) -> None:
    """Solves many positions, two words each: scores gets a score and a node count for each, UNKNOWN
    at a limit.
    """
    limit = A[NODE_LIMIT]
    for i in range(number):
        begun = A[NODES]
        A[STOP] = NO_BITS
        A[NODE_LIMIT] = begun + limit
        begin(SMALL_BITS, A)
        scores[2 * i] = solve(boards[2 * i], boards[2 * i + 1], -CELLS, CELLS, A, C)
        if A[STOP] != NO_BITS:
            scores[2 * i] = UNKNOWN
        scores[2 * i + 1] = np.int64(A[NODES] - begun)
