"""The types of the values in rules: words, numbers, tuples and arrays, and how they merge."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np


class Kind(Enum):
    """The types that a rule's values may have."""

    WORD = "a word"
    INT = "a number"
    BOOL = "a truth value"
    INTS = "a buffer of numbers"
    WORDS = "a buffer of words"
    UNKNOWN = "unknown"


#: Short names of the kinds that the inference tests most.
WORD, INT, BOOL, UNKNOWN = Kind.WORD, Kind.INT, Kind.BOOL, Kind.UNKNOWN
#: The type of an element of each kind of buffer.
ELEMENT_TYPE = {Kind.INTS: INT, Kind.WORDS: WORD}


@dataclass(frozen=True)
class TupleType:
    """A tuple: `items` are the types of its items if known, `item` is their common type."""

    item: "Type"
    items: "tuple[Type, ...] | None" = None


@dataclass(frozen=True)
class ArrayType:
    """A numpy array, a constant of the module; `item` is the type of its elements."""

    item: Kind
    dimensions: int


@dataclass(frozen=True)
class Conflict:
    """The type of a variable that is a word on one path and a number on another."""

    word_line: int
    int_line: int


Type = Kind | TupleType | ArrayType | Conflict
#: The type of each variable and the line that assigned it.
Variables = dict[str, tuple[Type, int]]


def state_type(words: int) -> TupleType:
    """Returns the type of a state of `words` words."""
    return TupleType(WORD, (WORD,) * words)


def named_type(name: str, words: int) -> Type:
    """Returns the type that a name in a signature stands for."""
    known: dict[str, Type] = {
        "i8": INT,
        "u8": WORD,
        "b1": BOOL,
        "i8*": Kind.INTS,
        "u8*": Kind.WORDS,
    }
    return state_type(words) if name == "state" else known.get(name, UNKNOWN)


def type_of_value(value: object) -> Type:
    """Returns the type that a module's constant has in compiled code."""
    if isinstance(value, np.generic):
        return _type_of_array(np.asarray(value)).item
    match value:
        case bool():
            return BOOL
        case int():
            return INT if -(1 << 63) <= value < 1 << 63 else WORD
        case tuple():
            items = tuple(type_of_value(item) for item in value)
            return TupleType(common_type(items), items)
        case _:
            return _type_of_array(value) if isinstance(value, np.ndarray) else UNKNOWN


def _type_of_array(value: Any) -> ArrayType:
    kinds: dict[str, Kind] = {"i": INT, "b": BOOL}
    return ArrayType(
        WORD if value.dtype == np.uint64 else kinds.get(value.dtype.kind, UNKNOWN), value.ndim
    )


def common_type(types: tuple[Type, ...]) -> Type:
    """Returns the type if all are equal, else UNKNOWN."""
    return types[0] if types and all(item == types[0] for item in types) else UNKNOWN


def merge_types(first: tuple[Type, int], second: tuple[Type, int]) -> tuple[Type, int]:
    """Returns the type and line of a variable after two paths join."""
    a, b = first[0], second[0]
    if a == b or isinstance(a, Conflict):
        return first
    if isinstance(b, Conflict):
        return second
    if {a, b} == {WORD, INT}:
        return (
            Conflict(first[1], second[1]) if a == WORD else Conflict(second[1], first[1])
        ), first[1]
    return UNKNOWN, first[1]


def merge_paths(paths: list[Variables]) -> Variables | None:
    """Returns the variables after several paths join; None if there is no path."""
    if not paths:
        return None
    merged = dict(paths[0])
    for path in paths[1:]:
        for name, typed in path.items():
            merged[name] = merge_types(merged[name], typed) if name in merged else typed
    return merged
