# mypy: disable-error-code="arg-type, assignment, no-any-return, return-value"
# (compiled, an int is an np.int64 and the other way round)
"""The exact search of Othello's endgame: the final lead in discs with best play.

Empty cells count for the winner. A board is two words, the discs of the side to move (p) and of the
other side (o). All memory is 64-bit words:

- M, work memory: counters and limits, the tables of `engine.solvers.othello_tables`, lists of moves
  by number of empty cells
- T, the transposition table: slots of two entries of four words: p, o, bounds and move, unused;
  an entry holds the whole position, so there are no collisions and its bounds stay valid
- C, the control block, see engine.search.kernel; D, the game's data

The contract of `null_window`, `shallow` and the `last_` functions, which search against the window
(alpha, alpha + 1): they return v with
    v <= alpha          where the true score is at most v,
    v > alpha           where the true score is at least v.
`principal` has the window (alpha, beta) and returns the true score if that is inside. When M[STOP]
is set, a returned value is meaningless and was not stored.

The techniques are well known among authors of Othello programs: moves that leave the other side few
moves come first (fastest first), as do moves in quadrants with an odd number of empty cells
(parity); discs that can never be turned over bound the score (stability cutoff); all positions
after a move are probed before any is searched (enhanced transposition cutoff, Plaat 1996); null
windows surround the principal variation (PVS, Marsland and Campbell 1982); and with many empty
cells a shallow search with the game's evaluation orders the moves.
"""

from typing import Any

import numpy as np

from engine.jit import at, lsb, popcount, put
from engine.search.layout import CANCEL, PUBLISHED_NODES
from engine.solvers import othello_last
from engine.solvers.othello_last import (
    BEST,
    BYTE,
    CELL,
    CELL_VALUE,
    CORNERS,
    ENTRY_WORDS,
    EXPIRED,
    FLIPPED,
    GENERATION,
    LIST_MOVES,
    LISTS,
    LOW_3,
    NO_SCORE,
    NODE_LIMIT,
    NODES,
    ONE,
    POLL,
    QUADRANT,
    RANK,
    REPLIES,
    ROOT_EMPTY,
    ROOT_SCORES,
    SHALLOW,
    STABILITY_FROM,
    STOP,
    TABLE_SHIFT,
    ZERO,
    U,
    final_score,
    flips,
    mobility,
    shallow,
    stable,
)

#: The cells diagonally next to the corners.
X_CELLS = U(0x0042000000004200)
#: Multipliers of the hash.
GOLDEN, MIX = U(0x9E3779B97F4A7C15), U(0xD6E8FEB86659FD93)
#: The move of a position without one, as in the rules.
NO_MOVE = 64
#: Above every evaluation.
LARGE = 32_000
#: Minimum number of empty cells for the enhanced transposition cutoff.
ETC_FROM = 10
#: Minimum numbers of empty cells for ordering the moves by evaluation, after 0, 1, 2 or 3 plies.
EVAL_FROM, EVAL_1_FROM, EVAL_2_FROM, EVAL_3_FROM = 13, 16, 18, 20
#: Weights in a move's rank: a reply of the other side, an eighth of a disc, an odd quadrant.
REPLY_WEIGHT, EVAL_WEIGHT, ODD_WEIGHT = 20, 3, 8
#: Nodes between two polls.
POLL_NODES = 4096

PARTS = (othello_last,)
SIGNATURES = {
    **othello_last.SIGNATURES,
    "evaluate_to_depth": "i8(u8, u8, i8, i8, i8, u8*, i8*)",
    "list_moves": "i8(u8, u8, u8, i8, u8, i8, u8*, i8*)",
    "swap_best": "void(u8*, i8, i8)",
    "slot_of": "i8(u8, u8, u8*)",
    "tt_find": "i8(u8, u8, u8*, u8*)",
    "etc_bound": "i8(u8, u8, i8, i8, i8, u8*, u8*)",
    "tt_store": "void(u8, u8, i8, i8, i8, i8, i8, u8*, u8*)",
    "poll": "i8(u8*, i8*)",
    "null_window": "i8(u8, u8, u8, i8, i8, u8, u8*, u8*, i8*, i8*)",
    "principal": "i8(u8, u8, i8, i8, i8, u8, u8*, u8*, i8*, i8*)",
    "pick": "i8(u8, u8, i8, u8, u8*, i8*)",
}
#: The functions of this table that each function calls; see engine.search.kernel.
CALLS = {
    **othello_last.CALLS,
    "evaluate_to_depth": ("mobility", "flips", "final_score"),
    "list_moves": ("mobility", "flips", "evaluate_to_depth"),
    "tt_find": ("slot_of",),
    "etc_bound": ("tt_find",),
    "tt_store": ("slot_of",),
    "null_window": (
        "mobility",
        "shallow",
        "list_moves",
        "swap_best",
        "final_score",
        "stable",
        "tt_find",
        "etc_bound",
        "tt_store",
        "poll",
    ),
    "principal": (
        "mobility",
        "null_window",
        "shallow",
        "list_moves",
        "swap_best",
        "final_score",
        "tt_find",
        "tt_store",
    ),
    "pick": ("mobility", "flips", "evaluate_to_depth"),
}


def evaluate(s: Any, data: Any) -> int:
    raise NotImplementedError


def evaluate_to_depth(
    p: np.uint64, o: np.uint64, depth: int, alpha: int, beta: int, M: Any, D: Any
) -> int:
    """The value of a search of `depth` plies with the game's evaluation, in eighths of a disc.

    A pass does not count as a ply.
    """
    M[NODES] += ONE
    moves = mobility(p, o)
    if moves == ZERO:
        if mobility(o, p) == ZERO:
            return 8 * final_score(p, 64 - popcount(p | o))
        return -evaluate_to_depth(o, p, depth, -beta, -alpha, M, D)
    if depth == 0:
        return evaluate((p, o, ZERO), D)
    best = -LARGE
    for group_index in range(3):
        group = moves & CORNERS
        if group_index == 1:
            group = moves & ~CORNERS & ~X_CELLS
        elif group_index == 2:
            group = moves & X_CELLS
        while group != ZERO:
            cell = lsb(group)
            group &= group - ONE
            flipped = flips(cell, p, o, M)
            v = -evaluate_to_depth(
                o ^ flipped, p ^ flipped ^ (ONE << U(cell)), depth - 1, -beta, -alpha, M, D
            )
            if v > best:
                best = v
                if v > alpha:
                    alpha = v
                    if v >= beta:
                        return best
    return best


def list_moves(
    p: np.uint64, o: np.uint64, moves: np.uint64, n: int, odd: np.uint64, hint: int, M: Any, D: Any
) -> int:
    """Writes the list of moves for n empty cells and returns its length.

    An entry has the cell, the flipped discs, the replies of the other side and the rank.
    """
    entry = at(M, LISTS + n * ENTRY_WORDS * LIST_MOVES)
    depth = (n >= EVAL_FROM) + (n >= EVAL_1_FROM) + (n >= EVAL_2_FROM) + (n >= EVAL_3_FROM) - 1
    count = 0
    while moves != ZERO:
        cell = lsb(moves)
        disc = ONE << U(cell)
        moves ^= disc
        flipped = flips(cell, p, o, M)
        own = o ^ flipped
        other = p ^ flipped ^ disc
        replies = mobility(own, other)
        rank = 1_000_000 - REPLY_WEIGHT * (popcount(replies) + popcount(replies & CORNERS))
        if depth >= 0:
            rank -= EVAL_WEIGHT * evaluate_to_depth(own, other, depth, -LARGE, LARGE, M, D)
        else:
            rank += np.int64(M[CELL_VALUE + cell])
        if disc & odd != ZERO:
            rank += ODD_WEIGHT
        if cell == hint:
            rank += 10_000_000
        if own == ZERO:
            rank += 20_000_000
        entry[CELL] = U(cell)
        entry[FLIPPED] = flipped
        entry[REPLIES] = replies
        entry[RANK] = U(rank)
        entry = at(entry, ENTRY_WORDS)
        count += 1
    return count


def swap_best(entries: Any, first: int, count: int) -> None:
    """Swaps the entry with the highest rank, from `first` on, into position `first`."""
    best = first
    for i in range(first + 1, count):
        if entries[ENTRY_WORDS * i + RANK] > entries[ENTRY_WORDS * best + RANK]:
            best = i
    if best != first:
        for field in range(ENTRY_WORDS):
            word = entries[ENTRY_WORDS * first + field]
            entries[ENTRY_WORDS * first + field] = entries[ENTRY_WORDS * best + field]
            entries[ENTRY_WORDS * best + field] = word


def slot_of(p: np.uint64, o: np.uint64, M: Any) -> int:
    """The index in the table of the two entries of a slot."""
    hashed = p * GOLDEN
    hashed = ((hashed ^ (hashed >> U(32))) + o) * MIX
    return np.int64(hashed >> M[TABLE_SHIFT]) << 3


def tt_find(p: np.uint64, o: np.uint64, M: Any, T: Any) -> int:
    """The index of the entry of a position; -1 if there is none."""
    slot = slot_of(p, o, M)
    if T[slot] == p and T[slot + 1] == o:
        return slot
    if T[slot + 4] == p and T[slot + 5] == o:
        return slot + 4
    return -1


def etc_bound(p: np.uint64, o: np.uint64, count: int, n: int, alpha: int, M: Any, T: Any) -> int:
    """A lower bound above alpha that the table proves for one of the listed moves; else alpha."""
    entries = at(M, LISTS + n * ENTRY_WORDS * LIST_MOVES)
    for i in range(count):
        flipped = entries[ENTRY_WORDS * i + FLIPPED]
        index = tt_find(o ^ flipped, p ^ flipped ^ (ONE << entries[ENTRY_WORDS * i + CELL]), M, T)
        if index >= 0:
            v = 64 - np.int64((T[index + 2] >> U(8)) & BYTE)
            if v > alpha:
                return v
    return alpha


def tt_store(
    p: np.uint64, o: np.uint64, best: int, alpha: int, beta: int, move: int, n: int, M: Any, T: Any
) -> None:
    """Stores the bounds (+ 64, a byte each), the best move, the empty cells and the generation.

    A position that is not in its slot replaces the first entry if that has no more empty cells or
    is of an earlier generation; otherwise it replaces the second entry.
    """
    low = best + 64 if best > alpha else 0
    high = best + 64 if best < beta else 128
    slot = slot_of(p, o, M)
    index = slot
    if not (T[slot] == p and T[slot + 1] == o):
        index = slot + 4
        if not (T[index] == p and T[index + 1] == o):
            first = T[slot + 2]
            if n >= np.int64((first >> U(24)) & BYTE) or ((first >> U(32)) & BYTE) != M[GENERATION]:
                index = slot
    if T[index] == p and T[index + 1] == o:
        known = T[index + 2]
        low = max(low, np.int64(known & BYTE))
        high = min(high, np.int64((known >> U(8)) & BYTE))
    T[index] = p
    T[index + 1] = o
    T[index + 2] = (
        U(low) | (U(high) << U(8)) | (U(move) << U(16)) | (U(n) << U(24)) | (M[GENERATION] << U(32))
    )


def poll(M: Any, C: Any) -> int:
    """Publishes the node count, checks all limits, sets the next poll and returns M[STOP]."""
    put(C, PUBLISHED_NODES, np.int64(M[NODES]))
    M[POLL] = M[NODES] + U(POLL_NODES)
    if C[CANCEL] != 0 or M[EXPIRED] != ZERO or M[NODES] >= M[NODE_LIMIT]:
        M[STOP] = ONE
    return np.int64(M[STOP])


def null_window(
    p: np.uint64,
    o: np.uint64,
    moves: np.uint64,
    alpha: int,
    n: int,
    odd: np.uint64,
    M: Any,
    T: Any,
    C: Any,
    D: Any,
) -> int:
    """The score of a null-window search, see the contract above; more than SHALLOW cells are empty.

    `moves` are the moves of p, `odd` the quadrants with an odd number of empty cells.
    """
    # 1. Count the node and poll at intervals.
    M[NODES] += ONE
    if M[NODES] >= M[POLL] and poll(M, C) != 0:
        return 0

    # 2. Without a move the side passes, or the match is over.
    if moves == ZERO:
        replies = mobility(o, p)
        if replies == ZERO:
            return final_score(p, n)
        return -null_window(o, p, replies, -alpha - 1, n, odd, M, T, C, D)

    # 3. Cutoffs by the stable discs of the other side and by the table, which may also have the
    # move to try first.
    if alpha >= np.int64(M[STABILITY_FROM + n]):
        v = 64 - 2 * popcount(stable(o, p, M))
        if v <= alpha:
            return v
    hint = NO_MOVE
    index = tt_find(p, o, M, T)
    if index >= 0:
        known = T[index + 2]
        low = np.int64(known & BYTE) - 64
        if low > alpha:
            return low
        high = np.int64((known >> U(8)) & BYTE) - 64
        if high <= alpha:
            return high
        hint = np.int64((known >> U(16)) & BYTE)
    count = list_moves(p, o, moves, n, odd, hint, M, D)
    if n >= ETC_FROM:
        v = etc_bound(p, o, count, n, alpha, M, T)
        if v > alpha:
            return v

    # 4. Search the moves by rank until one cuts off.
    entries = at(M, LISTS + n * ENTRY_WORDS * LIST_MOVES)
    best = NO_SCORE
    best_move = NO_MOVE
    for i in range(count):
        swap_best(entries, i, count)
        entry = at(entries, ENTRY_WORDS * i)
        cell = np.int64(entry[CELL])
        flipped = entry[FLIPPED]
        own = o ^ flipped
        other = p ^ flipped ^ (ONE << U(cell))
        child_odd = odd ^ M[QUADRANT + cell]
        if n - 1 <= SHALLOW:
            v = -shallow(own, other, -alpha - 1, n - 1, child_odd, M)
        else:
            v = -null_window(own, other, entry[REPLIES], -alpha - 1, n - 1, child_odd, M, T, C, D)
        if M[STOP] != ZERO:
            return 0
        if v > best:
            best = v
            best_move = cell
            if v > alpha:
                break
    tt_store(p, o, best, alpha, alpha + 1, best_move, n, M, T)
    return best


def principal(
    p: np.uint64,
    o: np.uint64,
    alpha: int,
    beta: int,
    n: int,
    odd: np.uint64,
    M: Any,
    T: Any,
    C: Any,
    D: Any,
) -> int:
    """The score within a window, see the contract above; M[BEST] is the best move.

    At the root, where n is M[ROOT_EMPTY], the score of each move is written to M[ROOT_SCORES].
    """
    # 1. Without a move the side passes, or the match is over.
    moves = mobility(p, o)
    if moves == ZERO:
        v = final_score(p, n)
        if mobility(o, p) != ZERO:
            v = -principal(o, p, -beta, -alpha, n, odd, M, T, C, D)
        M[BEST] = U(NO_MOVE)
        return v
    M[NODES] += ONE
    hint = NO_MOVE
    index = tt_find(p, o, M, T)
    if index >= 0:
        hint = np.int64((T[index + 2] >> U(16)) & BYTE)
    count = list_moves(p, o, moves, n, odd, hint, M, D)

    # 2. PVS: the first move with the full window, the others with a null window, and again with the
    # full window if one is better.
    entries = at(M, LISTS + n * ENTRY_WORDS * LIST_MOVES)
    best = NO_SCORE
    best_move = NO_MOVE
    low = alpha
    for i in range(count):
        swap_best(entries, i, count)
        entry = at(entries, ENTRY_WORDS * i)
        cell = np.int64(entry[CELL])
        flipped = entry[FLIPPED]
        own = o ^ flipped
        other = p ^ flipped ^ (ONE << U(cell))
        child_odd = odd ^ M[QUADRANT + cell]
        v = low + 1
        if i > 0:
            if n - 1 < 4:
                v = -principal(own, other, -low - 1, -low, n - 1, child_odd, M, T, C, D)
            elif n - 1 <= SHALLOW:
                v = -shallow(own, other, -low - 1, n - 1, child_odd, M)
            else:
                v = -null_window(own, other, entry[REPLIES], -low - 1, n - 1, child_odd, M, T, C, D)
        if (i == 0 or (v > low and v < beta)) and M[STOP] == ZERO:
            v = -principal(own, other, -beta, -low, n - 1, child_odd, M, T, C, D)
        if M[STOP] != ZERO:
            return 0
        if n == np.int64(M[ROOT_EMPTY]):
            M[ROOT_SCORES + cell] = U(v + 64 + (256 if v <= low and i > 0 else 0))

        # 3. A better move raises alpha, until there is a cutoff.
        if v > best:
            best = v
            best_move = cell
            low = max(low, v)
            if v >= beta:
                break
    tt_store(p, o, best, alpha, beta, best_move, n, M, T)
    M[BEST] = U(best_move)
    return best


def pick(p: np.uint64, o: np.uint64, depth: int, random_bits: np.uint64, M: Any, D: Any) -> int:
    """The best move of a shallow search, or NO_MOVE; `random_bits` decides between equal moves."""
    moves = mobility(p, o)
    best = -LARGE
    best_move = NO_MOVE
    while moves != ZERO:
        cell = lsb(moves)
        moves &= moves - ONE
        flipped = flips(cell, p, o, M)
        v = -evaluate_to_depth(
            o ^ flipped, p ^ flipped ^ (ONE << U(cell)), depth - 1, -LARGE, LARGE, M, D
        )
        v = 8 * v + np.int64((random_bits >> U(cell % 59)) & LOW_3)
        if v > best:
            best = v
            best_move = cell
    return best_move
