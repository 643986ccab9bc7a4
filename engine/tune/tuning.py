"""Tunes a game from end to end: takes positions, and writes DATA files with better numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from engine.game import Game
from engine.rules.data import NumberFile, format_rows, number_files
from engine.tune.errors import TuneError
from engine.tune.fit import (
    OnRound,
    Settings,
    cross_entropy,
    fit,
    fitted_scale,
    is_validation,
    sigmoid,
)
from engine.tune.linear import Evaluation, LinearModel
from engine.tune.samples import Samples


class Gain(msgspec.Struct, frozen=True):
    """The figures of a fit.

    The losses are mean cross entropies in nats, measured by the evaluation itself with the rounded
    numbers.
    """

    game: str
    positions: int
    matches: int
    #: The count of tuned numbers.
    numbers: int
    #: The count of numbers that changed.
    changed: int
    scale: float
    rounds: int
    #: The share of coefficients that hold only near the old numbers, 0 to 1.
    nonlinear: float = msgspec.field(name="bent")
    learning_before: float
    learning_after: float
    validation_before: float
    validation_after: float


@dataclass(frozen=True)
class Tuned:
    """The new numbers of all DATA words, and the gain."""

    numbers: Any
    gain: Gain


def require_numbers(game: Game) -> list[NumberFile]:
    """The files of numbers of a game; TuneError if it has none, with what to add."""
    files = number_files(game)
    if not any(row.numbers for file in files for row in file.rows):
        names = ", ".join(game.rules.DATA) or "nothing"
        raise TuneError(
            f"{game.id} has no numbers to tune: its DATA names {names}. A DATA file whose name"
            " ends in .txt, with rows such as `man: 100`, holds numbers that its evaluate reads"
            " as data[0], data[1] and so on"
        )
    return files


def tuned_indexes(files: Sequence[NumberFile], only: Sequence[str], frozen: Sequence[str]) -> Any:
    """The indexes in DATA of the numbers to tune.

    They are those of all rows, or of the rows named in `only`, without those in `frozen`. Raises
    TuneError for an unknown row or if no numbers are left.
    """
    rows = [row for file in files for row in file.rows]
    names = {row.name for row in rows}
    unknown = [name for name in (*only, *frozen) if name not in names]
    if unknown:
        raise TuneError(
            f"there is no row {', '.join(unknown)}; there are: {', '.join(sorted(names))}"
        )
    chosen = [row for row in rows if (not only or row.name in only) and row.name not in frozen]
    indexes = [index for row in chosen for index in range(row.first, row.first + len(row.numbers))]
    if not indexes:
        raise TuneError("no numbers are left to tune")
    return np.array(indexes)


def tune(
    game: Game,
    samples: Samples,
    indexes: Any,
    settings: Settings,
    scale: float | None = None,
    on_round: OnRound = lambda number, learning, validation: None,
    on_state: Callable[[int], None] = lambda i: None,
) -> Tuned:
    """Fits the numbers with these `indexes` to the samples.

    It leaves out positions in which the evaluation reads none of these numbers. Raises TuneError if
    that leaves no position.
    """
    evaluation = Evaluation(game)
    model = evaluation.linear_model(samples.states, indexes, on_state)
    rows = np.flatnonzero(np.diff(model.starts) > 0)
    if not len(rows):
        raise TuneError("the evaluation reads none of the numbers in any of the positions")
    model, matches = _select_rows(model, rows), samples.matches[rows]
    results, scores = samples.results[rows], samples.scores[rows]
    scale = fitted_scale(model.values, results) if scale is None else scale
    targets = _targets(results, scores, scale, settings.score_weight)
    start = evaluation.numbers[indexes].astype(float)
    fitted = fit(model, start, targets, matches, scale, settings, on_round)
    numbers = evaluation.numbers.copy()
    numbers[indexes] = np.rint(fitted.numbers).astype(np.int64)
    values = evaluation.values([samples.states[i] for i in rows], numbers)
    before, after = (_losses(v, scale, targets, matches, settings) for v in (model.values, values))
    gain = Gain(
        game=game.id,
        positions=len(rows),
        matches=len(np.unique(matches)),
        numbers=len(indexes),
        changed=int(np.count_nonzero(numbers != evaluation.numbers)),
        scale=round(scale, 1),
        rounds=fitted.rounds,
        nonlinear=round(model.nonlinear, 4),
        learning_before=round(before[0], 5),
        learning_after=round(after[0], 5),
        validation_before=round(before[1], 5),
        validation_after=round(after[1], 5),
    )
    return Tuned(numbers, gain)


def _select_rows(model: LinearModel, chosen: Any) -> LinearModel:
    """The chosen rows; all other rows must be empty."""
    starts = np.append(model.starts[chosen], model.starts[-1])
    return LinearModel(
        model.values[chosen], starts, model.columns, model.coefficients, model.nonlinear
    )


def _targets(results: Any, scores: Any, scale: float, score_weight: float) -> Any:
    known = ~np.isnan(scores)
    expected = sigmoid(np.where(known, scores, 0.0) / scale)
    weight = np.where(known, score_weight, 0.0)
    return (1 - weight) * results + weight * expected


def _losses(
    values: Any, scale: float, targets: Any, matches: Any, settings: Settings
) -> tuple[float, float]:
    """The losses of learning and validation."""
    is_held_out = is_validation(matches, settings)
    learning, validation = (
        cross_entropy(values[part] / scale, targets[part]) for part in (~is_held_out, is_held_out)
    )
    return learning, validation


def write_numbers(
    file: NumberFile, numbers: Any, comments: Sequence[str], path: Path | None = None
) -> Path:
    """Writes a file's rows with their new numbers, after the comments; returns its path."""
    rows = [
        (row.name, numbers[row.first : row.first + len(row.numbers)].tolist()) for row in file.rows
    ]
    path = path or file.path
    draft = path.with_name(path.name + ".draft")
    draft.write_text(format_rows(rows, comments), "utf-8")
    draft.replace(path)
    return path


def comments_of(command: str, gain: Gain, plans: Sequence[str] = ()) -> list[str]:
    """The comments at the head of a file of tuned numbers.

    `plans` are the options with which its matches were made.
    """
    return [
        "Tuned from self-play; the command that made these numbers, and what it found:",
        command,
        *(f"matches made with {plan}" for plan in plans),
        f"{gain.positions:,} positions of {gain.matches:,} matches, {gain.numbers:,} numbers,"
        f" scale {gain.scale}",
        f"loss of learning {gain.learning_before:.5f} -> {gain.learning_after:.5f}, of validation"
        f" {gain.validation_before:.5f} -> {gain.validation_after:.5f}",
    ]
