"""Utilities of finished games as text: a win, a draw and a loss for one player or for both."""

import math
import re

from engine.teach.errors import NotPossible
from engine.teach.states.state import Scale
from engine.teach.states.tree import MAX_NUMBER
from engine.teach.trace import Number

#: The utility of a win, a draw or a loss.
UTILITY = re.compile(r"[+-]?(\d{1,10}(\.\d{1,20})?|inf)", re.ASCII)


def parse_utility(text: str) -> Number:
    """Returns a real or infinite utility; raises NotPossible for any other text."""
    if not UTILITY.fullmatch(text):
        raise NotPossible(f"a utility is a number, inf or -inf, not {text[:40]!r}")
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def make_scale(win: Number, draw: Number, lose: Number) -> Scale:
    """Returns the utilities as a scale; raises NotPossible if they are not in ascending order."""
    numbers = [number for number in (lose, draw, win) if not math.isinf(number)]
    if not lose <= draw <= win or any(abs(number) > MAX_NUMBER for number in numbers):
        raise NotPossible(
            "lose, draw and win must not decrease, and lie within -1000000000 and 1000000000"
            " or be infinite;"
            f" they are {lose}, {draw}, {win}"
        )
    return Scale(lose, draw, win)


def parse_scale(text: str) -> Scale:
    """Returns the utilities of one player, such as 1,0,-1; raises NotPossible."""
    numbers = text.split(",")
    if len(numbers) != 3:
        raise NotPossible(
            f"utilities are a win, a draw and a loss, such as 1,0,-1, not {text[:40]!r}"
        )
    return make_scale(*map(parse_utility, numbers))


def parse_utilities(text: str) -> tuple[Scale, Scale]:
    """Returns the utilities of both players; raises NotPossible if the text has other parts."""
    players = [part.split(",") for part in text.split("/")]
    if [len(numbers) for numbers in players] != [3, 3]:
        raise NotPossible(
            "utilities are a win, a draw and a loss for each player, such as 1,0,-1/1,1,-inf,"
            f" not {text[:40]!r}"
        )
    first, second = (
        Scale(lose=parse_utility(lose), draw=parse_utility(draw), win=parse_utility(win))
        for win, draw, lose in players
    )
    return first, second
