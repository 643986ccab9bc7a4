"""Texel's method: the numbers of an evaluation under which the results of matches are least
surprising.

A match ends well for the side to move with the chance 1 / (1 + exp(-evaluation / scale)); the loss
is the mean surprise (cross entropy) at what came, and its gradient leads to better numbers. The
method is Peter Österlund's, who tuned his chess program Texel by it (2014); he used squared
differences and a local search. Here the steps are those of Adam (Kingma and Ba, "Adam: a method for
stochastic optimization", 2015), on small batches.

Everything depends on the seed only: the same positions and numbers give the same result to the bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.tune.errors import TuneError
from engine.tune.linear import Sums

#: Adam's own constants, as the paper has them.
DECAY_MEAN, DECAY_SQUARE, TINY = 0.9, 0.999, 1e-8
#: What a rate that no longer helps is multiplied by.
SLOWER = 0.5
SCALES = (10.0, 20_000.0)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to fit: positions a step, how far a step goes (in parts of the scale), rounds over all
    positions at most, so many rounds without progress before the rate falls, how often it falls.

    `prior` pulls each number towards its start as that many positions would that speak for it.
    """

    seed: int = 1
    batch: int = 4096
    rate: float = 0.02
    rounds: int = 100
    patience: int = 2
    falls: int = 4
    prior: float = 4.0
    validation: float = 0.1
    score_weight: float = 0.0


@dataclass(frozen=True)
class Fitted:
    """The numbers that were found, as they are and with the losses before and after, for learning
    and validation.
    """

    numbers: Any
    scale: float
    before: tuple[float, float]
    after: tuple[float, float]
    rounds: int
    positions: tuple[int, int]


def sigmoid(x: Any) -> Any:
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def surprise(logits: Any, targets: Any) -> float:
    """The mean cross entropy in nats: log(1 + exp(-logit)) where the target is 1."""
    return float(np.mean(np.logaddexp(0.0, logits) - targets * logits))


def fitted_scale(values: Any, targets: Any) -> float:
    """The scale under which evaluations explain results best; TuneError where they explain nothing."""
    low, high = (np.log(bound) for bound in SCALES)
    for _ in range(60):  # the loss has one valley: each step keeps two thirds of the interval
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if surprise(values / np.exp(left), targets) < surprise(values / np.exp(right), targets):
            high = right
        else:
            low = left
    scale = float(np.exp((low + high) / 2))
    if scale > SCALES[1] * 0.99:
        raise TuneError(
            "the evaluation as it is explains no result: give --scale, the evaluation that wins 73 in 100"
        )
    return scale


def is_validation(matches: Any, settings: Settings) -> Any:
    """Whole matches are kept from the learning, about the share that was asked for."""
    chance = np.random.Generator(np.random.PCG64(settings.seed)).random(int(matches.max()) + 1)
    return chance[matches] < settings.validation


@dataclass(frozen=True)
class Batch:
    """Positions in a row: where their entries belong, for sums by position and by number."""

    rows: Any
    columns: Any
    coefficients: Any
    fixed: Any
    targets: Any

    def logits(self, weights: Any) -> Any:
        parts = self.coefficients * weights[self.columns]
        return self.fixed + np.bincount(self.rows, parts, minlength=len(self.fixed))

    def gradient(self, weights: Any) -> Any:
        """Of the mean surprise."""
        errors = (sigmoid(self.logits(weights)) - self.targets) / len(self.targets)
        return np.bincount(
            self.columns, self.coefficients * errors[self.rows], minlength=len(weights)
        )


def cut(sums: Sums, chosen: Any, fixed: Any, targets: Any, size: int) -> list[Batch]:
    """The chosen positions in batches, in their order."""
    lengths = np.diff(sums.begins)
    batches = []
    for first in range(0, len(chosen), size):
        part = chosen[first : first + size]
        count = lengths[part]
        rows = np.repeat(np.arange(len(part), dtype=np.int32), count)
        entries = np.repeat(sums.begins[part] - np.cumsum(count) + count, count) + np.arange(
            len(rows)
        )
        columns, coefficients = sums.columns[entries], sums.coefficients[entries]
        batches.append(Batch(rows, columns, coefficients, fixed[part], targets[part]))
    return batches


def mean_loss(batches: list[Batch], weights: Any) -> float:
    total = sum(
        surprise(batch.logits(weights), batch.targets) * len(batch.targets) for batch in batches
    )
    return total / sum(len(batch.targets) for batch in batches)


class Adam:
    """The steps of Adam from a gradient to the next weights."""

    def __init__(self, size: int) -> None:
        self.mean, self.square, self.steps = np.zeros(size), np.zeros(size), 0

    def step(self, weights: Any, gradient: Any, rate: float) -> Any:
        self.steps += 1
        self.mean += (1 - DECAY_MEAN) * (gradient - self.mean)
        self.square += (1 - DECAY_SQUARE) * (gradient * gradient - self.square)
        mean = self.mean / (1 - DECAY_MEAN**self.steps)
        square = self.square / (1 - DECAY_SQUARE**self.steps)
        return weights - rate * mean / (np.sqrt(square) + TINY)


#: Takes the round and the losses of learning and validation.
OnRound = Callable[[int, float, float], None]


def fit(
    sums: Sums,
    numbers: Any,
    targets: Any,
    matches: Any,
    scale: float,
    settings: Settings,
    on_round: OnRound = lambda number, learning, validation: None,
) -> Fitted:
    """The numbers (floats) that explain the targets best, judged by matches that were not learnt
    from.
    """
    held = is_validation(matches, settings)
    learnt, judged = np.flatnonzero(~held), np.flatnonzero(held)
    if not len(learnt) or not len(judged):
        raise TuneError("there are too few matches to keep some for validation")
    chance = np.random.Generator(np.random.PCG64([settings.seed, 1]))
    start = numbers / scale
    # What the numbers do not change: the evaluation less the sum at the start. Coefficients are per
    # unit of the scale.
    fixed = np.asarray(sums.values, float) / scale - row_sums(sums, start)
    learning = cut(sums, chance.permutation(learnt), fixed, targets, settings.batch)
    judging = cut(sums, judged, fixed, targets, settings.batch)
    pull = 0.25 * settings.prior / len(learnt)
    weights, best, adam = start.copy(), start.copy(), Adam(len(start))
    before = mean_loss(learning, start), mean_loss(judging, start)
    least, stale, falls, rate, done = before[1], 0, 0, settings.rate, 0
    for done in range(1, settings.rounds + 1):
        for i in chance.permutation(len(learning)):
            weights = adam.step(
                weights, learning[i].gradient(weights) + pull * (weights - start), rate
            )
        loss = mean_loss(judging, weights)
        on_round(done, mean_loss(learning, weights), loss)
        if loss < least - 1e-6:
            least, best, stale = loss, weights.copy(), 0
            continue
        stale += 1
        if stale >= settings.patience:
            stale, falls, rate, weights, adam = (
                0,
                falls + 1,
                rate * SLOWER,
                best.copy(),
                Adam(len(start)),
            )
            if falls > settings.falls:
                break
    after = mean_loss(learning, best), mean_loss(judging, best)
    return Fitted(best * scale, scale, before, after, done, (len(learnt), len(judged)))


def row_sums(sums: Sums, weights: Any) -> Any:
    """What the tuned numbers add to each position, with these weights."""
    rows = np.repeat(np.arange(len(sums.begins) - 1, dtype=np.int32), np.diff(sums.begins))
    return np.bincount(
        rows, sums.coefficients * weights[sums.columns], minlength=len(sums.begins) - 1
    )
