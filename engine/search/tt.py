"""The transposition table: entries of two words, the key XORed with the data word, and that word.

The data word holds the score (16 bits), the depth (8), the bound (2), the age (6: the number of the
search) and the index of the best move (16). When two threads write an entry at the same time, its
two words may not belong together; then the key does not match and the probe misses (lockless
hashing). `entry` is a data word: a caller reads it once, so that the value that it uses is the one
that it has checked.
"""

from typing import Any

import numpy as np

from engine.compiler.inlining import inline
from engine.game import State
from engine.jit import U, prefetch
from engine.search.features import BUCKETS
from engine.search.hooks import key
from engine.search.layout import (
    AGE,
    EXACT,
    FEATURES,
    LOWER,
    MATE_BOUND,
    SALT,
    TABLE_SHIFT,
    UPPER,
)
from engine.search.parameters import COMPLETE_PLIES

#: The depth of an entry whose tree was searched to its end: its value holds at every depth.
COMPLETE = 255
#: The move index of an entry without a best move.
NO_INDEX = 65_535
#: The multiplier of Fibonacci hashing, 2**64 divided by the golden ratio.
GOLDEN = U(0x9E3779B97F4A7C15)
#: Entries hold scores as unsigned 16-bit numbers, shifted by this much.
SCORE_SHIFT = 32_768
#: The masks of the fields of an entry, by their width in bits.
LOW_16, LOW_8, LOW_6, LOW_2 = U(0xFFFF), U(0xFF), U(0x3F), U(3)

#: The part of `engine.search.kernel.SIGNATURES` for this module.
SIGNATURES = {
    "tt_probe": "i8(u8, i8*, u8*)",
    "value_from_tt": "i8(u8, i8)",
    "cuts_off": "i8(i8, u8, i8, i8)",
    "replacement_value": "i8(u8, i8*)",
    "tt_store": "void(i8, u8, i8, i8, i8, i8, i8, i8*, u8*)",
}
#: The part of `engine.search.kernel.CALLS` for this module.
CALLS = {"tt_store": ("replacement_value",)}


# --- where an entry is


@inline
def table_key(s: State, W: Any) -> np.uint64:
    """The key of a state in the table."""
    return key(s) ^ U(W[SALT])


@inline
def slot_of(k: np.uint64, W: Any) -> Any:
    """The first slot of a key, as an index of T."""
    return np.int64((k * GOLDEN) >> U(W[TABLE_SHIFT])) * 2


@inline
def second_slot(slot: int) -> int:
    """The other slot of the bucket."""
    return slot ^ 2


@inline
def entry_at(T: Any, slot: int) -> np.uint64:
    """The entry in a slot."""
    return T[slot + 1]  # type: ignore[no-any-return]


@inline
def has_key(T: Any, slot: int, entry: np.uint64, k: np.uint64) -> bool:
    """True if the entry that was read from the slot belongs to this key."""
    return T[slot] ^ entry == k  # type: ignore[no-any-return]


@inline
def prefetch_entry(s: State, W: Any, T: Any) -> None:
    """Prefetches the entry of a state."""
    prefetch(T, slot_of(table_key(s, W), W))


# --- what an entry holds


@inline
def entry_score(entry: np.uint64) -> Any:
    """The score of an entry, which counts the plies to a win from the entry's own state."""
    return np.int64(entry & LOW_16) - SCORE_SHIFT


@inline
def entry_depth(entry: np.uint64) -> Any:
    """The depth of an entry in plies, or COMPLETE; 0 for quiescence."""
    return np.int64((entry >> U(16)) & LOW_8)


@inline
def entry_bound(entry: np.uint64) -> Any:
    """The bound of an entry's score."""
    return np.int64((entry >> U(24)) & LOW_2)


@inline
def entry_age(entry: np.uint64, W: Any) -> Any:
    """The searches since the one that stored an entry, modulo 64."""
    return np.int64((U(W[AGE]) - (entry >> U(26))) & LOW_6)


@inline
def entry_move(entry: np.uint64) -> Any:
    """The index of an entry's best move among the generated moves, or NO_INDEX."""
    return np.int64((entry >> U(32)) & LOW_16)


@inline
def new_entry(score: int, depth: int, bound: int, index: int, W: Any) -> Any:
    """The entry with these fields and the age of this search."""
    return (
        U(score + SCORE_SHIFT)
        | (U(depth) << U(16))
        | (U(index) << U(32))
        | (U(bound) << U(24))
        | ((U(W[AGE]) & LOW_6) << U(26))
    )


# --- probing and storing


def tt_probe(k: np.uint64, W: Any, T: Any) -> int:
    """The slot that holds this key, or else the first of the slots where it may be stored."""
    slot: Any = slot_of(k, W)
    if (W[FEATURES] & BUCKETS) != 0 and not has_key(T, slot, entry_at(T, slot), k):
        second = second_slot(slot)
        if has_key(T, second, entry_at(T, second), k):
            return int(second)
    return int(slot)


def value_from_tt(entry: np.uint64, ply: int) -> int:
    """The score of an entry at `ply`, which counts the plies to a win from the root."""
    score: Any = entry_score(entry)
    if score > MATE_BOUND:
        score -= ply
    elif score < -MATE_BOUND:
        score += ply
    return int(score)


def cuts_off(score: int, entry: np.uint64, alpha: int, beta: int) -> int:
    """1 if the score and the bound of an entry cause a cut-off in this window."""
    bound = entry_bound(entry)
    if bound == EXACT or (bound == LOWER and score >= beta) or (bound == UPPER and score <= alpha):
        return 1
    return 0


def replacement_value(entry: np.uint64, W: Any) -> int:
    """The value of keeping an entry: its depth in plies, minus 8 for each search since its own.

    A COMPLETE entry counts as COMPLETE_PLIES, because its tree may have been of any size.
    """
    plies: Any = entry_depth(entry)
    if plies == COMPLETE:
        plies = COMPLETE_PLIES
    return int(plies - 8 * entry_age(entry, W))


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
    if (W[FEATURES] & BUCKETS) != 0 and not has_key(T, slot, entry_at(T, slot), k):
        second = second_slot(slot)
        entry = entry_at(T, second)
        if has_key(T, second, entry, k) or replacement_value(entry, W) < replacement_value(
            entry_at(T, slot), W
        ):
            slot = second
    entry = new_entry(stored, depth, bound, index, W)
    T[slot] = k ^ entry
    T[slot + 1] = entry
