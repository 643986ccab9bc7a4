"""Texel's tuning method: fits the numbers of an evaluation to the results of matches.

The predicted score of the side to move is 1 / (1 + exp(-evaluation / scale)). The loss is the mean
cross entropy between prediction and result, and gradient descent finds better numbers. The method
is due to Peter Österlund, who tuned his chess program Texel with it (2014); he used squared
differences and a local search. Here the optimiser is Adam (Kingma and Ba, "Adam: a method for
stochastic optimization", 2015) on mini-batches.

The only randomness is the seed: the same positions and numbers give the same result to the bit.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.tune.errors import TuneError
from engine.tune.linear import LinearModel

#: Adam's beta 1, as in the paper: the decay of the mean gradient.
DECAY_MEAN = 0.9
#: Adam's beta 2, as in the paper: the decay of the mean square.
DECAY_SQUARE = 0.999
#: Adam's epsilon, as in the paper.
TINY = 1e-8
#: Factor applied to the learning rate when the validation loss stops improving.
RATE_FACTOR = 0.5
#: The range of a fitted scale, in units of the evaluation.
SCALE_RANGE = (10.0, 20_000.0)


@dataclass(frozen=True, slots=True)
class Settings:
    """The parameters of a fit."""

    seed: int = 1
    #: Positions per step.
    batch: int = 4096
    #: The learning rate, as a fraction of the scale.
    rate: float = 0.02
    #: Maximum number of passes over all positions.
    rounds: int = 100
    #: Rounds without progress before the rate falls.
    patience: int = 2
    #: How many times the rate falls before the fit ends.
    falls: int = 4
    #: The pull of each number towards its old value, as strong as this number of positions.
    prior: float = 4.0
    #: The share of matches kept for validation.
    validation: float = 0.1
    #: The weight of the search's score in a target, against the result of the match; 0 to 1.
    score_weight: float = 0.0


@dataclass(frozen=True)
class Fitted:
    """The result of a fit: the unrounded numbers and the losses.

    In each pair the first figure is of the learning positions, the second of the validation
    positions.
    """

    numbers: Any
    scale: float
    #: Losses of the old numbers, in nats.
    before: tuple[float, float]
    #: Losses of the new numbers, in nats.
    after: tuple[float, float]
    rounds: int
    positions: tuple[int, int]


def sigmoid(x: Any) -> Any:
    """The logistic function 1 / (1 + exp(-x))."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


def cross_entropy(logits: Any, targets: Any) -> float:
    """The mean cross entropy in nats; for a target of 1 it is log(1 + exp(-logit))."""
    return float(np.mean(np.logaddexp(0.0, logits) - targets * logits))


def fitted_scale(values: Any, targets: Any) -> float:
    """The scale with the least loss; TuneError if the evaluations do not predict the results."""
    low, high = (np.log(bound) for bound in SCALE_RANGE)
    for _ in range(60):  # ternary search: the loss is unimodal in the scale
        left, right = low + (high - low) / 3, high - (high - low) / 3
        if cross_entropy(values / np.exp(left), targets) < cross_entropy(
            values / np.exp(right), targets
        ):
            high = right
        else:
            low = left
    scale = float(np.exp((low + high) / 2))
    if scale > SCALE_RANGE[1] * 0.99:
        raise TuneError(
            "the current evaluation does not predict the results:"
            " give --scale, the evaluation that scores 73 %"
        )
    return scale


def is_validation(matches: Any, settings: Settings) -> Any:
    """A mask of the positions kept for validation.

    It selects whole matches, about a share of `settings.validation` of them.
    """
    draws = np.random.Generator(np.random.PCG64(settings.seed)).random(int(matches.max()) + 1)
    return draws[matches] < settings.validation


@dataclass(frozen=True)
class Batch:
    """A mini-batch: the sparse entries of its positions by row (position) and column (number)."""

    rows: Any
    columns: Any
    coefficients: Any
    fixed: Any
    targets: Any

    def logits(self, weights: Any) -> Any:
        """The evaluations with these weights, in units of the scale."""
        parts = self.coefficients * weights[self.columns]
        return self.fixed + np.bincount(self.rows, parts, minlength=len(self.fixed))

    def gradient(self, weights: Any) -> Any:
        """The gradient of the mean loss."""
        errors = (sigmoid(self.logits(weights)) - self.targets) / len(self.targets)
        return np.bincount(
            self.columns, self.coefficients * errors[self.rows], minlength=len(weights)
        )


def make_batches(
    model: LinearModel, chosen: Any, fixed: Any, targets: Any, size: int
) -> list[Batch]:
    """Divides the chosen positions into batches of `size`, in their order."""
    lengths = np.diff(model.starts)
    batches = []
    for first in range(0, len(chosen), size):
        part = chosen[first : first + size]
        count = lengths[part]
        rows = np.repeat(np.arange(len(part), dtype=np.int32), count)
        entries = np.repeat(model.starts[part] - np.cumsum(count) + count, count) + np.arange(
            len(rows)
        )
        columns, coefficients = model.columns[entries], model.coefficients[entries]
        batches.append(Batch(rows, columns, coefficients, fixed[part], targets[part]))
    return batches


def mean_loss(batches: list[Batch], weights: Any) -> float:
    """The mean cross entropy over all positions of the batches, in nats."""
    total = sum(
        cross_entropy(batch.logits(weights), batch.targets) * len(batch.targets)
        for batch in batches
    )
    return total / sum(len(batch.targets) for batch in batches)


class Adam:
    """The Adam optimiser: computes the next weights from a gradient."""

    def __init__(self, size: int) -> None:
        self.mean, self.square, self.steps = np.zeros(size), np.zeros(size), 0

    def step(self, weights: Any, gradient: Any, rate: float) -> Any:
        self.steps += 1
        self.mean += (1 - DECAY_MEAN) * (gradient - self.mean)
        self.square += (1 - DECAY_SQUARE) * (gradient * gradient - self.square)
        mean = self.mean / (1 - DECAY_MEAN**self.steps)
        square = self.square / (1 - DECAY_SQUARE**self.steps)
        return weights - rate * mean / (np.sqrt(square) + TINY)


#: A callback that receives the round and the losses of learning and validation.
OnRound = Callable[[int, float, float], None]


def fit(
    model: LinearModel,
    numbers: Any,
    targets: Any,
    matches: Any,
    scale: float,
    settings: Settings,
    on_round: OnRound = lambda number, learning, validation: None,
) -> Fitted:
    """Fits the numbers (as floats) to the targets; keeps those with the least validation loss.

    Raises TuneError if there are too few matches for learning and validation.
    """
    is_held_out = is_validation(matches, settings)
    learning_rows, validation_rows = np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
    if not len(learning_rows) or not len(validation_rows):
        raise TuneError("there are too few matches to keep some for validation")
    rng = np.random.Generator(np.random.PCG64([settings.seed, 1]))
    start = numbers / scale
    # The part of the evaluation that does not depend on the numbers: the evaluation minus the sum
    # at the start. Coefficients are per unit of the scale.
    fixed = np.asarray(model.values, float) / scale - row_sums(model, start)
    learning = make_batches(model, rng.permutation(learning_rows), fixed, targets, settings.batch)
    validation = make_batches(model, validation_rows, fixed, targets, settings.batch)
    # 0.25 is the curvature of a position's loss where both sides have equal chances.
    pull = 0.25 * settings.prior / len(learning_rows)
    weights, best, adam = start.copy(), start.copy(), Adam(len(start))
    before = mean_loss(learning, start), mean_loss(validation, start)
    best_loss, stale_rounds, falls, rate, rounds_done = before[1], 0, 0, settings.rate, 0
    for rounds_done in range(1, settings.rounds + 1):
        for i in rng.permutation(len(learning)):
            weights = adam.step(
                weights, learning[i].gradient(weights) + pull * (weights - start), rate
            )
        loss = mean_loss(validation, weights)
        on_round(rounds_done, mean_loss(learning, weights), loss)
        if loss < best_loss - 1e-6:
            best_loss, best, stale_rounds = loss, weights.copy(), 0
            continue
        stale_rounds += 1
        if stale_rounds >= settings.patience:
            stale_rounds, falls, rate = 0, falls + 1, rate * RATE_FACTOR
            weights, adam = best.copy(), Adam(len(start))
            if falls > settings.falls:
                break
    after = mean_loss(learning, best), mean_loss(validation, best)
    return Fitted(
        best * scale, scale, before, after, rounds_done, (len(learning_rows), len(validation_rows))
    )


def row_sums(model: LinearModel, weights: Any) -> Any:
    """The sum that the tuned numbers contribute to each position, with these weights."""
    rows = np.repeat(np.arange(len(model.starts) - 1, dtype=np.int32), np.diff(model.starts))
    return np.bincount(
        rows, model.coefficients * weights[model.columns], minlength=len(model.starts) - 1
    )
