"""What the commands of this package accept on their lines: types for argparse, which says what was
expected.
"""

from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial

#: No whole number on a line is larger: the words of compiled code hold it, and sums with it.
MOST = 10**15
#: Three years. Numbers above 0 are no larger either: a timer of the system cannot take any length
#: of time.
MOST_SECONDS = 10**8


def count(text: str) -> int:
    """A whole number from 1 on."""
    return _whole(text, 1)


def count_or_none(text: str) -> int:
    """A whole number from 0 on."""
    return _whole(text, 0)


def between(least: int, most: int) -> Callable[[str], int]:
    """A whole number from the one to the other, both included; they may be below 0."""
    return partial(_whole, least=least, most=most)


def positive(text: str) -> float:
    """A number above 0, of seconds or of whatever the argument measures."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= MOST_SECONDS:
        raise ArgumentTypeError(f"a number above 0, {MOST_SECONDS:,} at most, not {text[:40]!r}")
    return number


def option(text: str) -> tuple[str, str]:
    """Name and value of a game's option, of NAME=VALUE; `dict` makes options of several."""
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
