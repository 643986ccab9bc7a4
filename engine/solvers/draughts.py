"""The solver of draughts: endgame tables with all results of up to four pieces.

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
from engine.solvers.base import Batch, Control, Problem, Solution, SolvedMove, Timer
from engine.solvers.draughts_files import (
    Progress,
    counts_of,
    load_or_make_tables,
    make_tables,
    store_tables,
    tables_file,
)


def make_solver(game: Game) -> "DraughtsSolver":
    return DraughtsSolver(game)


class DraughtsSolver:
    """Solves the positions in the endgame tables, and no others.

    A score is the number of plies to the end with best play, positive for a win and negative for a
    loss; 0 is a draw. Of several drawing moves the one that leaves the most losing replies comes
    first.
    """

    def __init__(self, game: Game, tables: Any = None) -> None:
        self.game = game
        rules: Any = game.module
        self._rules = rules
        self.most_pieces = int(rules.TABLE_PIECES)
        self._data = None if tables is None else self._data_with(tables)

    def prepare(self) -> None:
        """Loads the tables, or generates them if they are missing, which takes some seconds."""
        if self._data is None:
            self._data = self._data_with(load_or_make_tables(self.game))

    def _data_with(self, tables: Any) -> Any:
        return np.concatenate([load_data(self.game)[: int(self._rules.TABLES_AT)], tables])

    def make_tables(self, pieces: int, progress: Progress) -> dict[str, int]:
        """Generates and stores the tables of up to `pieces` pieces; returns counts of positions.

        The counted positions have Black to move.
        """
        words = make_tables(self.game, pieces, progress)
        store_tables(tables_file(self.game), words)
        self._data = self._data_with(words)
        return counts_of(self.game, words)

    @property
    def data(self) -> Any:
        """The data of the rules with the tables; None before they are loaded."""
        return self._data

    def expire(self) -> None:
        """Does nothing: no computation here takes long."""

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """True if the position and all positions after its moves are in the tables."""
        moves = position.moves()
        return bool(moves) and all(
            self._probe(s) != ONGOING for s in (position.state, *self._children(position, moves))
        )

    def _children(self, position: Position, moves: Sequence[int]) -> list[Any]:
        return [self._rules.play(position.state, move) for move in moves]

    def _probe(self, state: Any) -> int:
        """The result of `probe`; LOST for a side without pieces."""
        if self._rules.status(state) != ONGOING:
            return LOST
        return ONGOING if self._data is None else int(self._rules.probe(state, self._data))

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Timer = nullcontext
    ) -> Solution | None:
        """The exact result; None if the tables do not cover the position."""
        begun = time.perf_counter()
        if not self.reaches(position, None):
            return None
        moves = self._scored_moves(position)
        best = moves[0]
        line = (
            [best.move, *self._rest_of_line(position.play(best.move))]
            if best.score
            else [best.move]
        )
        return Solution(
            best.score,
            best.value,
            moves,
            tuple(line),
            len(line),
            len(moves),
            time.perf_counter() - begun,
        )

    def _scored_moves(self, position: Position) -> tuple[SolvedMove, ...]:
        """The moves with their scores, the best first."""
        scored = []
        for move in position.moves():
            known = self._probe(self._rules.play(position.state, move))
            plies = (known >> 2) + 1
            sign = {LOST: 1, WON: -1, DRAWN: 0}[known & 3]
            scored.append(SolvedMove(move, sign * plies, sign * (MATE - plies)))
        traps = {
            one.move: self._losing_share(position.play(one.move)) if one.score == 0 else Fraction(0)
            for one in scored
        }
        return tuple(sorted(scored, key=lambda one: (-one.value, -traps[one.move])))

    def _losing_share(self, position: Position) -> Fraction:
        """The share of the moves that lose; 0 if the match is over."""
        moves = position.moves()
        lost = sum(self._probe(s) & 3 == WON for s in self._children(position, moves))
        return Fraction(lost, len(moves)) if moves else Fraction(0)

    def _rest_of_line(self, position: Position) -> list[int]:
        """The rest of the line from a decided position, as far as the tables cover all moves.

        After many plies by kings they may not: the draw by the count of plies may come before a
        slower win.
        """
        line = []
        while self.reaches(position, None):
            line.append(self._scored_moves(position)[0].move)
            position = position.play(line[-1])
        return line

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        around: Timer = nullcontext,
    ) -> Batch:
        """The scores of many positions, None where the tables do not cover one."""
        begun = time.perf_counter()
        scores = []
        for position in positions:
            known = self._probe(position.state)
            sign = {WON: 1, LOST: -1}.get(known & 3, 0)
            scores.append(None if known == ONGOING else sign * (known >> 2))
        return Batch(tuple(scores), (1,) * len(scores), time.perf_counter() - begun)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """A position text, perhaps followed by its score: `B:WK32:BK1:H0 0`."""
        place, _, score = text.partition(" ")
        known = int(score) if score.strip().lstrip("+-").isdigit() else None
        return Problem(self.game.position(place, options), known)

    def describe(self, solution: Solution) -> str:
        """The result in words, such as "a win in 5 plies"."""
        if solution.score == 0:
            return "a draw"
        return f"a {'win' if solution.score > 0 else 'loss'} in {abs(solution.score)} plies"
