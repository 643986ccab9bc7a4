"""The transposition table: entries of two words, the key XORed with the data word, and that word.

The data word holds the score (16 bits), the depth (8), the bound (2), the age (6: the number of the
search) and the index of the best move (16). When two threads write an entry at the same time, its
two words may not belong together; then the key does not match and the probe misses (lockless
hashing).
"""

from typing import Any

import numpy as np

from engine.search.layout import (
    AGE,
    BUCKETS,
    COMPLETE,
    COMPLETE_WORTH,
    EXACT,
    FEATURES,
    GOLDEN,
    LOW_2,
    LOW_6,
    LOW_8,
    LOW_16,
    LOWER,
    MATE_BOUND,
    SCORE_SHIFT,
    TABLE_SHIFT,
    UPPER,
    U,
)


def replacement_value(entry: np.uint64, W: Any) -> int:
    """The value of keeping an entry: its depth in plies, minus 8 for each search since its own.

    A COMPLETE entry counts as COMPLETE_WORTH plies, because its tree may have been of any size.
    """
    age: Any = np.int64((U(W[AGE]) - (entry >> U(26))) & LOW_6)
    plies: Any = np.int64((entry >> U(16)) & LOW_8)
    if plies == COMPLETE:
        plies = COMPLETE_WORTH
    return int(plies - 8 * age)


def tt_probe(k: np.uint64, W: Any, T: Any) -> int:
    """The slot that holds this key, or else the first of the slots where it may be stored."""
    slot: Any = np.int64((k * GOLDEN) >> U(W[TABLE_SHIFT])) * 2
    if (W[FEATURES] & BUCKETS) != 0 and T[slot] ^ T[slot + 1] != k:
        other = slot ^ 2
        if T[other] ^ T[other + 1] == k:
            return int(other)
    return int(slot)


def value_from_tt(entry: np.uint64, ply: int) -> int:
    """The score of an entry at `ply`. The table counts the plies to a win from its own state."""
    known: Any = np.int64(entry & LOW_16) - SCORE_SHIFT
    if known > MATE_BOUND:
        known -= ply
    elif known < -MATE_BOUND:
        known += ply
    return int(known)


def cuts_off(known: int, entry: np.uint64, alpha: int, beta: int) -> int:
    """1 if the score and the bound of an entry cause a cut-off in this window."""
    known_bound = np.int64((entry >> U(24)) & LOW_2)
    if (
        known_bound == EXACT
        or (known_bound == LOWER and known >= beta)
        or (known_bound == UPPER and known <= alpha)
    ):
        return 1
    return 0


def tt_store(
    slot: int, k: np.uint64, best: int, bound: int, depth: int, index: int, ply: int, W: Any, T: Any
) -> None:
    """Stores a value with its bound, depth and best move.

    The plies to a win are stored as counted from this state, not from the root. Of the two slots
    that a key may have, the less valuable one is replaced.
    """
    stored = best
    if best > MATE_BOUND:
        stored += ply
    elif best < -MATE_BOUND:
        stored -= ply
    if (W[FEATURES] & BUCKETS) != 0 and T[slot] ^ T[slot + 1] != k:
        other = slot ^ 2
        if T[other] ^ T[other + 1] == k or replacement_value(T[other + 1], W) < replacement_value(
            T[slot + 1], W
        ):
            slot = other
    word = U(stored + SCORE_SHIFT) | (U(depth) << U(16)) | (U(index) << U(32))
    word |= (U(bound) << U(24)) | ((U(W[AGE]) & LOW_6) << U(26))
    T[slot] = k ^ word
    T[slot + 1] = word
