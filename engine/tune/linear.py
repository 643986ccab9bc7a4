"""A linear model of an evaluation, measured by varying its numbers.

For each position, the model holds the value and the coefficient of each tuned number.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.compiler.intrinsics import Memory
from engine.compiler.native import NativeGame, compile_game
from engine.game import Game
from engine.tune import template
from engine.tune.template import OUTPUT_WORDS, UNIT
from engine.tune.traced import new_log

#: A coefficient is nonlinear if a step up and a step down of the number give coefficients that
#: differ by more than this share, and by more than rounding.
MAX_LINEAR_DIFFERENCE = 0.02


@dataclass(frozen=True)
class LinearModel:
    """A sparse matrix by rows: position i has the entries starts[i] to starts[i + 1]."""

    #: The evaluation of each position with the current numbers.
    values: Any
    #: The first entry of each position, then the number of entries.
    starts: Any
    #: The tuned number of each entry, as an index into the tuned numbers.
    columns: Any
    #: The change of the evaluation for each unit of the number, by entry.
    coefficients: Any
    #: The share of nonlinear coefficients, 0 to 1; they hold only near the current numbers.
    nonlinear: float


class Evaluation:
    """The compiled evaluation of a game, with numbers that the caller may vary."""

    def __init__(self, game: Game) -> None:
        self.native: NativeGame = compile_game(game, template)
        self.numbers = self.native.data.array.copy()

    def values(self, states: list[tuple[int, ...]], numbers: Any) -> Any:
        """The evaluation of each state with these numbers."""
        function, memory = self.native.function("value"), Memory(np.array(numbers, np.int64))
        return np.array([function(state, memory) for state in states], float)

    def linear_model(
        self,
        states: list[tuple[int, ...]],
        indexes: Any,
        on_state: Callable[[int], None] = lambda i: None,
    ) -> LinearModel:
        """The linear model of the states over the numbers with these `indexes`.

        It holds near the current numbers. The method calls `on_state` with the index of each state
        that is done.
        """
        function = self.native.function("coefficients")
        data, log = Memory(self.numbers.copy()), Memory(new_log(len(self.numbers)))
        out = Memory(np.zeros(OUTPUT_WORDS * len(self.numbers), np.int64))
        column_of = np.full(len(self.numbers), -1, np.int32)
        column_of[indexes] = np.arange(len(indexes), dtype=np.int32)
        starts, columns, coefficients = [0], [], []
        nonlinear_count = entry_count = 0
        for i, state in enumerate(states):
            rows = out.array[: OUTPUT_WORDS * function(state, data, log, out)].reshape(
                -1, OUTPUT_WORDS
            )
            column, up, down = column_of[rows[:, 0]], rows[:, 1], rows[:, 2]
            used = (column >= 0) & ((up != 0) | (down != 0))
            column, up, down = column[used], up[used], down[used]
            nonlinear_count += int(
                np.count_nonzero(
                    np.abs(up - down) > np.maximum(MAX_LINEAR_DIFFERENCE * np.abs(up), UNIT / 64)
                )
            )
            entry_count += len(column)
            columns.append(column)
            coefficients.append(((up + down) / (2 * UNIT)).astype(np.float32))
            starts.append(entry_count)
            on_state(i)
        values = self.values(states, self.numbers)
        return LinearModel(
            values,
            np.array(starts),
            np.concatenate(columns),
            np.concatenate(coefficients),
            nonlinear_count / max(entry_count, 1),
        )
