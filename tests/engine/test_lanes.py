"""Lanes: uncompiled and compiled code agree on every operation on four words."""

import random
from typing import Any

import numba
import numpy as np

from engine.compiler import native_lanes  # noqa: F401  (registers the operations with numba)
from engine.compiler.intrinsics import Memory
from engine.lanes import Lanes, lanes, lanes_at, lanes_of, leading_zeros, nonzero_mask, reduce_or

U = np.uint64


def all_operations(a: Any, b: Any, out: Any) -> None:
    """Writes the result of each operation on the four-word arrays `a` and `b` to `out`."""
    x, y = lanes_at(a, 0), lanes_at(b, 0)
    shifts = y & lanes(U(63))
    for i in range(4):
        only = lanes_of(U(0) - U(i == 0), U(0) - U(i == 1), U(0) - U(i == 2), U(0) - U(i == 3))
        out[12 * i] = reduce_or((x & y) & only)
        out[12 * i + 1] = reduce_or((x | y) & only)
        out[12 * i + 2] = reduce_or((x ^ y) & only)
        out[12 * i + 3] = reduce_or(~x & only)
        out[12 * i + 4] = reduce_or((x + y) & only)
        out[12 * i + 5] = reduce_or((x - y) & only)
        out[12 * i + 6] = reduce_or((x << shifts) & only)
        out[12 * i + 7] = reduce_or((x >> shifts) & only)
        out[12 * i + 8] = reduce_or(nonzero_mask(x & y) & only)
        out[12 * i + 9] = reduce_or(nonzero_mask(x - x) & only)
        out[12 * i + 10] = reduce_or(leading_zeros(x | lanes(U(1))) & only)
        out[12 * i + 11] = reduce_or(x)


def test_compiled_lanes_match_python() -> None:
    """Compiled and uncompiled operations agree on random words and on the ends of the range."""
    compiled = numba.njit(all_operations)
    rng = random.Random(1)
    edges = [0, 1, (1 << 64) - 1, 1 << 63]
    for _ in range(50):
        a, b = (
            np.array([rng.choice([*edges, rng.getrandbits(64)]) for _ in range(4)], np.uint64)
            for _ in range(2)
        )
        expected, actual = np.zeros(48, np.uint64), np.zeros(48, np.uint64)
        with np.errstate(over="ignore"):
            all_operations(a, b, expected)
        compiled(Memory(a), Memory(b), Memory(actual))
        assert actual.tolist() == expected.tolist(), (a, b)


def test_lanes_are_four_words() -> None:
    """The uncompiled operations work on each of the four words."""
    x = lanes_of(U(1), U(0), U(1 << 63), U(6))
    assert (x >> lanes(U(1))).words.tolist() == [0, 0, 1 << 62, 3]
    assert nonzero_mask(x).words.tolist() == [(1 << 64) - 1, 0, (1 << 64) - 1, (1 << 64) - 1]
    assert reduce_or(x) == (1 << 63) | 7
    assert leading_zeros(Lanes([1, 2, 1 << 63, 255])).words.tolist() == [63, 62, 0, 56]
