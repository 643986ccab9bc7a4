"""Lanes: four uint64 words that one vector instruction processes together.

`engine.compiler.native_lanes` has the compiled form. Uncompiled, `Lanes` is an array of four words,
for tests and for reading.
"""

from typing import Any

import numpy as np

U = np.uint64
#: Words in a `Lanes`.
COUNT = 4


class Lanes:
    """Four uint64 words; operators work lane by lane, and sums and differences wrap."""

    __slots__ = ("words",)

    def __init__(self, words: Any) -> None:
        self.words = np.array(words, np.uint64)

    def __and__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.words & other.words)

    def __or__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.words | other.words)

    def __xor__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.words ^ other.words)

    def __invert__(self) -> "Lanes":
        return Lanes(~self.words)

    def __add__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.words + other.words)

    def __sub__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.words - other.words)

    def __lshift__(self, counts: "Lanes") -> "Lanes":
        """Shifts each lane by its own count, which is below 64."""
        return Lanes(self.words << counts.words)

    def __rshift__(self, counts: "Lanes") -> "Lanes":
        """Shifts each lane by its own count, which is below 64."""
        return Lanes(self.words >> counts.words)


def lanes(word: np.uint64) -> Lanes:
    """Returns the same word in all lanes."""
    return Lanes([word] * COUNT)


def lanes_of(first: np.uint64, second: np.uint64, third: np.uint64, fourth: np.uint64) -> Lanes:
    """Returns lanes of four different words."""
    return Lanes([first, second, third, fourth])


def lanes_at(memory: Any, index: int) -> Lanes:
    """Returns the four words that start at an index of the memory."""
    return Lanes(np.asarray(memory[index : index + COUNT]).view(np.uint64))


def nonzero_mask(x: Lanes) -> Lanes:
    """Returns all ones in each lane that is not 0, and 0 in the others."""
    return Lanes(np.where(x.words != U(0), ~U(0), U(0)))


def leading_zeros(x: Lanes) -> Lanes:
    """Counts the zeros above the highest set bit of each lane; no lane may be 0."""
    return Lanes([64 - int(word).bit_length() for word in x.words])


def reduce_or(x: Lanes) -> np.uint64:
    """Returns the bitwise or of the four lanes."""
    return U(np.bitwise_or.reduce(x.words))
