"""The imports of a rules file: `U`, `rule`, the bit helpers and `at`. This module does not import
numba.

These functions are plain Python, so a server needs no compiler to play by a rules file.
`engine.compiler.native` compiles copies of the marked functions for the search, with machine
instructions in place of the bit helpers.
"""

from collections.abc import Callable
from typing import Any, TypeVar, overload

import numpy as np

#: A word of a state. A constant next to a board must be `U(...)`: in compiled code a bare int makes
#: the whole expression signed.
U = np.uint64

F = TypeVar("F", bound=Callable[..., Any])

#: The attribute that marks a function as part of the rules; its value is the signature text, or "".
RULE = "__plyroom_rule__"


@overload
def rule(mark: F) -> F: ...
@overload
def rule(mark: str) -> Callable[[F], F]: ...
def rule(mark: Any) -> Any:
    """Marks a function as part of the rules, to be compiled for the search; returns it unchanged.

    A recursive function needs its signature, as in `@rule("i8(state, i8, i8*)")`: a recursive
    function that numba compiles twice crashes when it is loaded from the cache (numba issue 6061).
    """
    if isinstance(mark, str):
        return lambda function: _marked(function, mark)
    return _marked(mark, "")


def _marked(function: F, signature: str) -> F:
    setattr(function, RULE, signature)
    return function


def popcount(x: np.uint64) -> int:
    """The number of set bits."""
    return int(x).bit_count()


def lsb(x: np.uint64) -> int:
    """The index of the lowest set bit; x is not 0."""
    return (int(x) & -int(x)).bit_length() - 1


def msb(x: np.uint64) -> int:
    """The index of the highest set bit; x is not 0."""
    return int(x).bit_length() - 1


def at(memory: Any, index: int) -> Any:
    """The memory from an index on: a view of an array, or a pointer in compiled code."""
    return memory[index:]


def put(memory: Any, index: int, value: int) -> None:
    """Stores a value that another process reads, after all earlier stores and before all later
    ones.
    """
    memory[index] = value


def prefetch(memory: Any, index: int) -> None:
    """Loads the memory at an index into the processor's cache ahead of its use."""
