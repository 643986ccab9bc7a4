"""Argument types for the commands of this package; their errors say what was expected."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial

#: The largest whole number: sums with it still fit into 64 bits.
MAX_NUMBER = 10**15
#: The largest value of `positive`; about three years in seconds, within the range of system timers.
MAX_POSITIVE = 10**8


def count(text: str) -> int:
    """Parses a whole number from 1 up."""
    return _whole_number(text, 1)


def count_or_zero(text: str) -> int:
    """Parses a whole number from 0 up."""
    return _whole_number(text, 0)


def between(minimum: int, maximum: int) -> Callable[[str], int]:
    """Returns a parser of whole numbers from `minimum` to `maximum`, both included."""
    return partial(_whole_number, minimum=minimum, maximum=maximum)


def positive(text: str) -> float:
    """Parses a number above 0, such as seconds."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= MAX_POSITIVE:
        raise ArgumentTypeError(f"a number above 0, {MAX_POSITIVE:,} at most, not {text[:40]!r}")
    return number


def option(text: str) -> tuple[str, str]:
    """Parses NAME=VALUE, an option of a game, into the pair (name, value)."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"an option is NAME=VALUE, not {text[:40]!r}")
    return name, value


def _whole_number(text: str, minimum: int, maximum: int = MAX_NUMBER) -> int:
    is_number = text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= 40
    if not is_number or not minimum <= int(text) <= maximum:
        raise ArgumentTypeError(
            f"a whole number from {minimum} on, {maximum:,} at most, not {text[:40]!r}"
        )
    return int(text)
