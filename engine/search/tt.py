"""The entries of the transposition table, two words each: the key, mixed with the other word, and
that word.

It holds the score (16 bits), the depth (8), what the score means (2), the number of the search (6)
and the index of the best move (16). A torn entry, by two threads, does not have its key and is
none.
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
    """What a table entry is worth: plies, eight less for each search since. A complete tree may
    have been any size.
    """
    age: Any = np.int64((U(W[AGE]) - (entry >> U(26))) & LOW_6)
    plies: Any = np.int64((entry >> U(16)) & LOW_8)
    if plies == COMPLETE:
        plies = COMPLETE_WORTH
    return int(plies - 8 * age)


def tt_probe(k: np.uint64, W: Any, T: Any) -> int:
    """The slot of the table that holds this key, or else the first that might."""
    slot: Any = np.int64((k * GOLDEN) >> U(W[TABLE_SHIFT])) * 2
    if (W[FEATURES] & BUCKETS) != 0 and T[slot] ^ T[slot + 1] != k:
        other = slot ^ 2
        if T[other] ^ T[other + 1] == k:
            return int(other)
    return int(slot)


def value_from_tt(entry: np.uint64, ply: int) -> int:
    """The score of an entry. The table counts the distance to the end from its own state."""
    known: Any = np.int64(entry & LOW_16) - SCORE_SHIFT
    if known > MATE_BOUND:
        known -= ply
    elif known < -MATE_BOUND:
        known += ply
    return int(known)


def cuts_off(known: int, entry: np.uint64, alpha: int, beta: int) -> int:
    """1 if the score of an entry, with the bound that it is, says all about this window."""
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
    """Stores a value with what it means, the distance to an end counted from here; of the two slots
    that a key may have, in the one that is worth less.
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
