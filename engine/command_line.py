"""Argument types for the commands of this package; their errors say what was expected."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial

#: The largest whole number: the words of compiled code hold it, and sums with it.
MOST = 10**15
#: The largest number above 0, three years in seconds: the system's timers take no longer times.
MOST_SECONDS = 10**8


def count(text: str) -> int:
    """A whole number from 1 up."""
    return _whole(text, 1)


def count_or_none(text: str) -> int:
    """A whole number from 0 up."""
    return _whole(text, 0)


def between(least: int, most: int) -> Callable[[str], int]:
    """A type for whole numbers from `least` to `most`, both included; they may be negative."""
    return partial(_whole, least=least, most=most)


def positive(text: str) -> float:
    """A number above 0, of seconds or another unit."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= MOST_SECONDS:
        raise ArgumentTypeError(f"a number above 0, {MOST_SECONDS:,} at most, not {text[:40]!r}")
    return number


def option(text: str) -> tuple[str, str]:
    """Name and value of a game's option, from NAME=VALUE; `dict` joins several options."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ArgumentTypeError(f"an option is NAME=VALUE, not {text[:40]!r}")
    return name, value


def _whole(text: str, least: int, most: int = MOST) -> int:
    is_number = text.isascii() and text.removeprefix("-").isdecimal() and len(text) <= 40
    if not is_number or not least <= int(text) <= most:
        raise ArgumentTypeError(
            f"a whole number from {least} on, {most:,} at most, not {text[:40]!r}"
        )
    return int(text)
