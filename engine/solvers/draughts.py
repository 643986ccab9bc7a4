"""The solver of draughts: endgame tables of all positions with up to four pieces.

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
from engine.solvers.base import BatchResult, Control, Problem, Solution, SolvedMove, Timer
from engine.solvers.draughts_files import (
    Progress,
    count_results,
    load_or_make_tables,
    make_tables,
    store_tables,
    tables_file,
)


def make_solver(game: Game) -> "DraughtsSolver":
    return DraughtsSolver(game)


class DraughtsSolver:
    """Solves positions that are in the endgame tables.

    A score is the number of plies to the end with best play, positive for a win and negative for a
    loss; 0 is a draw. Drawing moves are sorted by the share of replies that lose.
    """

    def __init__(self, game: Game, tables: Any = None) -> None:
        self.game = game
        rules: Any = game.module
        self._rules = rules
        self.max_pieces = int(rules.TABLE_PIECES)
        self._data = None if tables is None else self._join_data(tables)

    def prepare(self) -> None:
        """Loads the tables, or generates them if they are missing, which takes some seconds."""
        if self._data is None:
            self._data = self._join_data(load_or_make_tables(self.game))

    def _join_data(self, tables: Any) -> Any:
        return np.concatenate([load_data(self.game)[: int(self._rules.TABLES_OFFSET)], tables])

    def make_tables(self, pieces: int, progress: Progress) -> dict[str, int]:
        """Generates and stores the tables of up to `pieces` pieces; returns counts of positions.

        The counted positions have Black to move.
        """
        words = make_tables(self.game, pieces, progress)
        store_tables(tables_file(self.game), words)
        self._data = self._join_data(words)
        return count_results(self.game, words)

    @property
    def data(self) -> Any:
        """The data of the rules with the tables; None before they are loaded."""
        return self._data

    def expire(self) -> None:
        """Does nothing: no computation of this solver takes long."""

    def can_solve(self, position: Position, time_ms: int | None) -> bool:
        """True if the position and all positions after its moves are in the tables."""
        moves = position.moves()
        return bool(moves) and all(
            self._probe_tables(s) != ONGOING
            for s in (position.state, *self._children(position, moves))
        )

    def _children(self, position: Position, moves: Sequence[int]) -> list[Any]:
        return [self._rules.play(position.state, move) for move in moves]

    def _probe_tables(self, state: Any) -> int:
        """Returns the result of `probe`; LOST for a side without pieces."""
        if self._rules.status(state) != ONGOING:
            return LOST
        return ONGOING if self._data is None else int(self._rules.probe(state, self._data))

    def solve(
        self, position: Position, limit: Limit, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """The exact result; None if the tables do not cover the position."""
        start = time.perf_counter()
        if not self.can_solve(position, None):
            return None
        moves = self._scored_moves(position)
        best = moves[0]
        line = (
            [best.move, *self._continue_line(position.play(best.move))]
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
            time.perf_counter() - start,
        )

    def study(
        self, position: Position, nodes: int, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns what the tables know of the position; it needs no nodes."""
        return self.solve(position, Limit(), control, timer=timer)

    def _scored_moves(self, position: Position) -> tuple[SolvedMove, ...]:
        """The moves with their scores, the best first."""
        scored = []
        for move in position.moves():
            result = self._probe_tables(self._rules.play(position.state, move))
            plies = (result >> 2) + 1
            sign = {LOST: 1, WON: -1, DRAWN: 0}[result & 3]
            scored.append(SolvedMove(move, sign * plies, sign * (MATE - plies)))
        losing_shares = {
            solved.move: self._losing_share(position.play(solved.move))
            if solved.score == 0
            else Fraction(0)
            for solved in scored
        }
        return tuple(
            sorted(scored, key=lambda solved: (-solved.value, -losing_shares[solved.move]))
        )

    def _losing_share(self, position: Position) -> Fraction:
        """Returns the share of the moves that lose; 0 if the match is over."""
        moves = position.moves()
        lost = sum(self._probe_tables(s) & 3 == WON for s in self._children(position, moves))
        return Fraction(lost, len(moves)) if moves else Fraction(0)

    def _continue_line(self, position: Position) -> list[int]:
        """Returns the rest of the line from a decided position, as far as the tables cover all
        moves.

        After many plies by kings they may not, because the draw by DRAW_PLIES may come before a
        slow win.
        """
        line = []
        while self.can_solve(position, None):
            line.append(self._scored_moves(position)[0].move)
            position = position.play(line[-1])
        return line

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        timer: Timer = nullcontext,
    ) -> BatchResult:
        """Returns the scores of many positions, None for those that the tables do not cover."""
        start = time.perf_counter()
        scores = []
        for position in positions:
            result = self._probe_tables(position.state)
            sign = {WON: 1, LOST: -1}.get(result & 3, 0)
            scores.append(None if result == ONGOING else sign * (result >> 2))
        return BatchResult(tuple(scores), (1,) * len(scores), time.perf_counter() - start)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """Parses a position text and its optional score: `B:WK32:BK1:H0 0`."""
        position_text, _, score = text.partition(" ")
        known_score = int(score) if score.strip().lstrip("+-").isdigit() else None
        return Problem(self.game.position(position_text, options), known_score)

    def describe(self, solution: Solution) -> str:
        """The result in words, such as "a win in 5 plies"."""
        if solution.score == 0:
            return "a draw"
        return f"a {'win' if solution.score > 0 else 'loss'} in {abs(solution.score)} plies"
