"""Evaluators: what a state is taken to be worth where a search stops before the game does, by name.

estimate                    what the game's own rules say, or what is written at the tree's node
zero                        nothing is known random                      a number between losing and
winning, the same for the same state and seed material                    own pieces minus the
opponent's material:king=10,queen=9    the same, weighted by name; a piece without a weight counts 1
"""

import hashlib
import re
from collections.abc import Callable, Mapping

from engine.teach.errors import NotPossible, UnknownName
from engine.teach.state import Scale, State
from engine.teach.trace import Number, Value

Evaluator = Callable[[State], Value]

EVALUATORS = ("estimate", "zero", "random", "material")
#: What the end of a game is worth beside each evaluator, unless one says otherwise: more than any
#: of its guesses.
SCALES = {
    "estimate": Scale(-30_000, 0, 30_000, by_distance=1),
    "zero": Scale(-1, 0, 1),
    "random": Scale(-1, 50, 101),
    "material": Scale(-10_000, 0, 10_000),
}
WEIGHT = re.compile(r"([^=,:]{1,24})=(\d{1,2}|100)")


def evaluator_of(text: str, scale: Scale, seed: int) -> Evaluator:
    """The evaluator of that name; UnknownName lists them."""
    name, _, weights = text.partition(":")
    if name == "material":
        return material(parse_weights(weights))
    plain = {"estimate": estimate, "zero": zero, "random": random_between(scale, seed)}
    if weights or name not in plain:
        raise UnknownName(
            f"there is no evaluator {text[:40]!r}; there are {', '.join(EVALUATORS)}, material:queen=9"
        )
    return plain[name]


def scale_of(text: str) -> Scale:
    """The scale that goes with an evaluator."""
    return SCALES.get(text.partition(":")[0], Scale())


def parse_weights(text: str) -> dict[str, int]:
    """queen=9,rook=5 as a mapping."""
    weights: dict[str, int] = {}
    for part in text.split(",") if text else ():
        match = WEIGHT.fullmatch(part.strip())
        if not match:
            raise UnknownName(
                f"a weight is written queen=9, with a number from 0 to 100, not {part[:40]!r}"
            )
        weights[match[1]] = int(match[2])
    return weights


def estimate(state: State) -> Value:
    """What the game guesses itself."""
    value = state.estimate()
    if value is None:
        raise NotPossible(
            f"the node {state.text()} has no estimate: write one (max~5(…)), or ask for another evaluator or more depth"
        )
    return value


def zero(state: State) -> Value:
    return 0 if state.players == 1 else (0,) * state.players


def random_between(scale: Scale, seed: int) -> Evaluator:
    """Whole numbers above losing and below winning, by lot: the seed and the state's text decide."""
    low = int(scale.lose // 1) + 1
    count = max(1, -int(-scale.win // 1) - low)

    def value(state: State) -> Value:
        if state.players == 1:
            return low + lot(f"{seed}:{state.text()}", count)
        return tuple(
            low + lot(f"{seed}:{player}:{state.text()}", count) for player in range(state.players)
        )

    return value


def material(weights: Mapping[str, int]) -> Evaluator:
    """Own pieces minus the opponent's, each by its weight, 1 without one."""

    def value(state: State) -> Value:
        pieces = state.pieces()
        if pieces is None or state.players != 1:
            raise NotPossible(
                f"no pieces that belong to a side are to be counted at {state.text()[:60]}"
            )
        ours, theirs = pieces
        return weigh(ours, weights) - weigh(theirs, weights)

    return value


def weigh(pieces: Mapping[str, int], weights: Mapping[str, int]) -> Number:
    """The weight of some pieces."""
    return sum(count * weights.get(name, 1) for name, count in pieces.items())


def lot(text: str, count: int) -> int:
    """A number below count, by lot: always the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % count
