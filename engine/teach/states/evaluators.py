"""Evaluators, by name: the value of a state where the search stops before the game ends.

estimate                    the game's own static evaluation, or the estimate at the tree's node
zero                        always 0
random                      a number between a loss and a win that depends on the state and the seed
material                    own pieces minus the opponent's
material:king=10,queen=9    the same, weighted by kind, whatever its colour; others count 1
all-paths                   1 if every way to play on is won, -1 if every one is lost, else 0
"""

import hashlib
import math
import re
from collections.abc import Callable, Mapping

from engine.teach.errors import NotPossible, UnknownName
from engine.teach.states.state import Scale, State, Status
from engine.teach.trace import Number, Value

#: Returns the value of a state that is not final.
Evaluator = Callable[[State], Value]

#: The evaluators by name.
EVALUATORS = ("estimate", "zero", "random", "material", "all-paths")
#: The default utilities of finished games with each evaluator; a win exceeds any estimate.
SCALES = {
    "estimate": Scale(-30_000, 0, 30_000, by_distance=1),
    "zero": Scale(-1, 0, 1),
    "random": Scale(-1, 50, 101),
    "material": Scale(-10_000, 0, 10_000),
    "all-paths": Scale(-1, 0, 1),
}
#: Maximum number of states that `all-paths` looks at to value one state; tic-tac-toe has 5,478.
MAX_PATH_STATES = 6_000
#: A weight of `material`, such as queen=9.
WEIGHT = re.compile(r"([^=,:]{1,24})=(\d{1,2}|100)")


def evaluator_of(text: str, scale: Scale, seed: int) -> Evaluator:
    """Returns the evaluator with that name; raises UnknownName, which lists them."""
    name, _, weights = text.partition(":")
    if name == "material":
        return material(parse_weights(weights))
    unweighted = {
        "estimate": estimate,
        "zero": zero,
        "random": random_between(scale, seed),
        "all-paths": all_paths,
    }
    if weights or name not in unweighted:
        raise UnknownName(
            f"there is no evaluator {text[:40]!r};"
            f" there are {', '.join(EVALUATORS)}, material:queen=9"
        )
    return unweighted[name]


def scale_of(text: str) -> Scale:
    """Returns the default scale of an evaluator."""
    return SCALES.get(text.partition(":")[0], Scale())


def parse_weights(text: str) -> dict[str, int]:
    """Parses weights such as queen=9,rook=5; raises UnknownName if one is malformed."""
    weights: dict[str, int] = {}
    for part in text.split(",") if text else ():
        match = WEIGHT.fullmatch(part.strip())
        if not match:
            raise UnknownName(
                f"a weight is written queen=9, with a number from 0 to 100, not {part[:40]!r}"
            )
        weights[match[1]] = int(match[2])
    return weights


def check_weights(root: State, text: str) -> None:
    """Raises UnknownName if an evaluator weighs a kind of piece that no state from here on has."""
    name, _, weights = text.partition(":")
    known = root.piece_names() if name == "material" else frozenset()
    for kind in parse_weights(weights) if name == "material" else ():
        if kind not in known:
            kinds = ", ".join(sorted(known)) or "none"
            raise UnknownName(f"there is no piece {kind[:40]!r}; the kinds are: {kinds}")


def estimate(state: State) -> Value:
    """Returns the game's own estimate; raises NotPossible if the state has none."""
    value = state.estimate()
    if value is None:
        raise NotPossible(
            f"the node {state.text()} has no estimate: write one (max~5(…)),"
            " or choose another evaluator or more depth"
        )
    return value


def zero(state: State) -> Value:
    """Returns 0, or a 0 for each player."""
    return 0 if state.players == 1 else (0,) * state.players


def random_between(scale: Scale, seed: int) -> Evaluator:
    """Returns an evaluator of pseudo-random whole numbers between a loss and a win.

    The seed and the state's text determine the number.
    """

    def value(state: State) -> Value:
        if math.isinf(scale.lose) or math.isinf(scale.win):
            raise NotPossible("random values need finite utilities of a loss and a win")
        low = int(scale.lose // 1) + 1
        count = max(1, -int(-scale.win // 1) - low)
        if state.players == 1:
            return low + hashed_index(f"{seed}:{state.text()}", count)
        return tuple(
            low + hashed_index(f"{seed}:{player}:{state.text()}", count)
            for player in range(state.players)
        )

    return value


def material(weights: Mapping[str, int]) -> Evaluator:
    """Returns an evaluator that subtracts the opponent's pieces from one's own.

    Each piece counts its weight, or 1 if it has none.
    """

    def value(state: State) -> Value:
        pieces = state.pieces()
        if pieces is None or state.players != 1:
            raise NotPossible(f"there are no pieces that belong to a side at {state.text()[:60]}")
        ours, theirs = pieces
        return weigh(ours, weights) - weigh(theirs, weights)

    return value


def all_paths(state: State) -> Value:
    """Returns 1 if all paths from a state lead to a win of MAX, -1 if all lead to a loss, else 0.

    It is the H0 of tic-tac-toe in the founding texts. Raises NotPossible if there are more than
    MAX_PATH_STATES states.
    """
    if state.players != 1:
        raise NotPossible("all-paths needs a single utility, for MAX")
    ends: set[Status] = set()
    waiting, known = [state], {state.text()}
    while waiting:
        state = waiting.pop()
        status = state.status()
        if status is not Status.ONGOING:
            ends.add(status)
        if Status.DRAWN in ends or len(ends) > 1:
            return 0
        if status is not Status.ONGOING:
            continue
        for after in (state.play(move) for move in state.moves()):
            if after.text() not in known:
                known.add(after.text())
                waiting.append(after)
        if len(known) > MAX_PATH_STATES:
            raise NotPossible(f"there are more than {MAX_PATH_STATES:,} states on all paths")
    return 1 if Status.WON in ends else -1 if Status.LOST in ends else 0


def weigh(pieces: Mapping[str, int], weights: Mapping[str, int]) -> Number:
    """Returns the total weight of some pieces."""
    return sum(count * weights.get(name, 1) for name, count in pieces.items())


def hashed_index(text: str, count: int) -> int:
    """Returns a pseudo-random number from 0 to count - 1 that depends only on the text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % count
