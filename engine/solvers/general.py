"""The solver of games without one of their own: the general search, until nothing is left to look at."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from engine.game import Game, Position
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Limit
from engine.search.report import BOUNDS, Report
from engine.solvers.base import Around, Batch, Problem, Solution, SolvedMove

TABLE_BITS = 22


class SearchSolver:
    """Solves what the search can finish. A score is 1, 0 or -1: won, drawn, lost; a value tells how soon."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._searcher = Searcher(game)
        self._table: Table | None = None

    def prepare(self) -> None:
        self._searcher.prepare()

    def expire(self) -> None:
        self._searcher.expire()

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """Nobody knows before the end."""
        return False

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Solution | None:
        report = self._searcher.search(
            position, limit, self._cleared_table(), control, margin=1, techniques=layout.SOUND, around=around
        )
        return _solution(report) if _is_final(report) else None

    def solve_batch(
        self, positions: Sequence[Position], limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Batch:
        """One after the other; each has the whole limit."""
        found = [
            self._searcher.search(
                position, limit, self._cleared_table(), control, techniques=layout.SOUND, around=around
            )
            for position in positions
        ]
        return Batch(
            scores=tuple(_sign(report.score) if _is_final(report) else None for report in found),
            nodes=tuple(report.nodes for report in found),
            seconds=sum(report.seconds for report in found),
        )

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        return Problem(self.game.position(text, options))

    def describe(self, solution: Solution) -> str:
        return describe_value(solution.value)

    def _cleared_table(self) -> Table:
        if self._table is None:
            self._table = Table(TABLE_BITS)
        else:
            self._table.memory.array.fill(0)
        return self._table


def describe_value(value: int) -> str:
    """A score of the search at the end of the game, in words."""
    if value == 0:
        return "a draw"
    plies = MATE - abs(value)
    result = "a win" if value > 0 else "a loss"
    return f"{result} in {plies} {'ply' if plies == 1 else 'plies'}"


def _is_final(report: Report) -> bool:
    """No deeper search would find another result."""
    return report.solved or layout.MATE - abs(report.score) <= report.depth


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _solution(report: Report) -> Solution:
    moves = tuple(SolvedMove(move, _sign(value), value, BOUNDS[bound]) for move, value, bound in report.moves)
    return Solution(
        score=_sign(report.score),
        value=report.score,
        moves=moves,
        line=report.line,
        depth=report.depth,
        nodes=report.nodes,
        seconds=report.seconds,
    )
