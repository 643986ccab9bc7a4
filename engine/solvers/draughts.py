"""The endgame tables of draughts as a solver: with up to four pieces on the board it knows the
result and the way.

The search reads the same tables through the rule `probe`.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np

from engine.game import DRAWN, LOST, ONGOING, WON, Game, Position
from engine.rules.data import load_data
from engine.search.job import MATE, Limit
from engine.solvers.base import Around, Batch, Control, Problem, Solution, SolvedMove
from engine.solvers.draughts_files import (
    Tell,
    counts_of,
    keep,
    make_tables,
    ready_tables,
    tables_file,
)


def make_solver(game: Game) -> "DraughtsSolver":
    return DraughtsSolver(game)


class DraughtsSolver:
    """Knows what the endgame tables know, and nothing else.

    A score is the number of plies to the end when both sides play their best, + for a win and - for
    a loss; 0 is a draw. Of moves that draw the one comes first after which most replies lose.
    """

    def __init__(self, game: Game, tables: Any = None) -> None:
        self.game = game
        rules: Any = game.rules
        self._rules = rules
        self.most_pieces = int(rules.TABLE_PIECES)
        self._data = None if tables is None else self._with(tables)

    def prepare(self) -> None:
        """Loads the tables; makes them if they are not there, which takes some seconds."""
        if self._data is None:
            self._data = self._with(ready_tables(self.game))

    def _with(self, tables: Any) -> Any:
        return np.concatenate([load_data(self.game)[: int(self._rules.TABLES_AT)], tables])

    def make_tables(self, pieces: int, tell: Tell) -> dict[str, int]:
        """Makes the tables up to so many pieces and keeps them; counts of the positions in them,
        Black to move.
        """
        words = make_tables(self.game, pieces, tell)
        keep(tables_file(self.game), words)
        self._data = self._with(words)
        return counts_of(self.game, words)

    @property
    def data(self) -> Any:
        """What the rules get for their data, the tables with it; None before they are loaded."""
        return self._data

    def expire(self) -> None:
        """Nothing takes long here."""

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """Are the position and all that its moves lead to in the tables?"""
        moves = position.moves()
        return bool(moves) and all(
            self._known(s) != ONGOING for s in (position.state, *self._after(position, moves))
        )

    def _after(self, position: Position, moves: Sequence[int]) -> list[Any]:
        return [self._rules.play(position.state, move) for move in moves]

    def _known(self, state: Any) -> int:
        """What `probe` says, and of a side without pieces that it has lost."""
        if self._rules.status(state) != ONGOING:
            return LOST
        return ONGOING if self._data is None else int(self._rules.probe(state, self._data))

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Solution | None:
        """The exact result; None where the tables do not tell it."""
        begun = time.perf_counter()
        if not self.reaches(position, None):
            return None
        moves = self._scored(position)
        best = moves[0]
        line = [best.move, *self._rest(position.play(best.move))] if best.score else [best.move]
        return Solution(
            best.score,
            best.value,
            moves,
            tuple(line),
            len(line),
            len(moves),
            time.perf_counter() - begun,
        )

    def _scored(self, position: Position) -> tuple[SolvedMove, ...]:
        """The moves with their scores, best first."""
        scored = []
        for move in position.moves():
            known = self._known(self._rules.play(position.state, move))
            plies = (known >> 2) + 1
            sign = {LOST: 1, WON: -1, DRAWN: 0}[known & 3]
            scored.append(SolvedMove(move, sign * plies, sign * (MATE - plies)))
        traps = {
            one.move: self._trap(position.play(one.move)) if one.score == 0 else Fraction(0)
            for one in scored
        }
        return tuple(sorted(scored, key=lambda one: (-one.value, -traps[one.move])))

    def _trap(self, position: Position) -> Fraction:
        """The share of moves that lose; 0 where the match is over."""
        moves = position.moves()
        lost = sum(self._known(s) & 3 == WON for s in self._after(position, moves))
        return Fraction(lost, len(moves)) if moves else Fraction(0)

    def _rest(self, position: Position) -> list[int]:
        """The fastest win from a decided position on, to its end, or as far as the tables tell all
        moves: where kings have moved for long, the draw by the count of plies may come before a
        slower win.
        """
        line = []
        while self.reaches(position, None):
            line.append(self._scored(position)[0].move)
            position = position.play(line[-1])
        return line

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        around: Around = nullcontext,
    ) -> Batch:
        """The scores of many positions, None where the tables do not tell."""
        begun = time.perf_counter()
        scores = []
        for position in positions:
            known = self._known(position.state)
            sign = {WON: 1, LOST: -1}.get(known & 3, 0)
            scores.append(None if known == ONGOING else sign * (known >> 2))
        return Batch(tuple(scores), (1,) * len(scores), time.perf_counter() - begun)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """A position text; after it, if anything, its score: `B:WK32:BK1:H0 0`."""
        place, _, score = text.partition(" ")
        known = int(score) if score.strip().lstrip("+-").isdigit() else None
        return Problem(self.game.position(place, options), known)

    def describe(self, solution: Solution) -> str:
        """The result in words."""
        if solution.score == 0:
            return "a draw"
        return f"a {'win' if solution.score > 0 else 'loss'} in {abs(solution.score)} plies"
