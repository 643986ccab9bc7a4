"""The calibration of predicted chances to win: predictions against results."""

import math
from collections.abc import Iterator, Sequence

from engine.rules.measured import Bin
from engine.win_chance import logistic

#: Number of ranges of predicted chances.
BINS = 10
#: The least chance that players see, except for a forced loss.
LEAST_CHANCE = 0.01


def shown_chance(score: int, scale: float) -> float:
    """Returns the chance to win that players see for a score that is not forced."""
    return min(max(logistic(score / scale), LEAST_CHANCE), 1 - LEAST_CHANCE)


def cross_entropy(predicted: Sequence[float], results: Sequence[float]) -> float:
    """Returns the mean cross entropy of predicted chances between 0 and 1, in nats.

    A result is 1 for a win, 0.5 for a draw, and 0 for a loss.
    """
    losses = (
        -result * math.log(chance) - (1 - result) * math.log(1 - chance)
        for chance, result in zip(predicted, results, strict=True)
    )
    return math.fsum(losses) / len(predicted)


def make_bins(predicted: Sequence[float], results: Sequence[float]) -> Iterator[Bin]:
    """Yields the mean prediction and the mean result in each of BINS ranges of equal width."""
    for number in range(BINS):
        chosen = [
            (chance, result)
            for chance, result in zip(predicted, results, strict=True)
            if min(int(chance * BINS), BINS - 1) == number
        ]
        if not chosen:
            yield Bin(0, round((number + 0.5) / BINS, 3), 0.0)
            continue
        chances, scored = (math.fsum(column) / len(chosen) for column in zip(*chosen, strict=True))
        yield Bin(len(chosen), round(chances, 3), round(scored, 3))
