"""The solver of games without one of their own: the general search, until nothing is left to look
at.

That search ends as soon as it sees the end of the best move, and scores the other moves by what it
had looked at by then: their numbers are results only where they are ends, too. The others are
searched on, each by itself, as far as that is cheap; what is left then is known to be no better
than the best move, and no more is said of it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from engine.game import Game, Position
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Limit
from engine.search.report import BOUNDS, Report
from engine.solvers.base import Around, Batch, Problem, Solution, SolvedMove

TABLE_BITS = 22
#: So much is spent on the results of the moves that are not the best ones.
SIDE_NODES = 2_000_000


class SearchSolver:
    """Solves what the search can finish. A score is 1, 0 or -1: won, drawn, lost; a value tells how
    soon.
    """

    def __init__(self, game: Game, table_bits: int = TABLE_BITS) -> None:
        self.game = game
        self._searcher = Searcher(game)
        self._table_bits = table_bits
        self._table: Table | None = None
        self._is_expired = False

    def prepare(self) -> None:
        self._searcher.prepare()

    def expire(self) -> None:
        self._is_expired = True
        self._searcher.expire()

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """Nobody knows before the end."""
        return False

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Solution | None:
        """The result, and the best moves. Of the other moves those have a result whose end was seen
        on the way, or is found with some nodes more.
        """
        begun = time.perf_counter()
        self._is_expired = False
        self._clear_table()
        with around():
            report = self._search(position, limit, control, margin=1)
            if not _is_final(report):
                return None
            moves = [proven(report, *found) for found in report.moves]
            left = (
                SIDE_NODES if limit.nodes is None else min(SIDE_NODES, limit.nodes - report.nodes)
            )
            nodes = report.nodes + self._look_on(position, moves, left, control)
        return Solution(
            score=_sign(report.score),
            value=report.score,
            moves=(
                moves[0],
                *sorted(moves[1:], key=lambda one: (one.bound == "upper", -one.value)),
            ),
            line=report.line,
            depth=report.depth,
            nodes=nodes,
            seconds=time.perf_counter() - begun,
        )

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        around: Around = nullcontext,
    ) -> Batch:
        """One after the other, from an empty table each."""
        begun = time.perf_counter()
        scores: list[int | None] = []
        nodes = []
        self._is_expired = False
        with around():
            for position in positions:
                self._clear_table()
                report = self._search(position, limit, control)
                scores.append(_sign(report.score) if _is_final(report) else None)
                nodes.append(report.nodes)
        return Batch(tuple(scores), tuple(nodes), time.perf_counter() - begun)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        return Problem(self.game.position(text, options))

    def describe(self, solution: Solution) -> str:
        return describe_value(solution.value)

    def _search(
        self, position: Position, limit: Limit, control: Control, margin: int = 0
    ) -> Report:
        assert self._table is not None, "cleared"
        return self._searcher.search(
            position,
            limit,
            self._table,
            control,
            margin=margin,
            features=layout.SOUND,
            around=self._still_in_time,
        )

    @contextmanager
    def _still_in_time(self) -> Iterator[None]:
        """Around each of the searches that share a time: one that begins too late stops at once."""
        if self._is_expired:
            self._searcher.expire()
        yield

    def _look_on(
        self, position: Position, moves: list[SolvedMove], nodes: int, control: Control
    ) -> int:
        """Puts results in the place of limits, as far as so many nodes suffice; the nodes that it
        took.
        """
        unknown = [i for i, one in enumerate(moves) if one.bound != "exact"]
        used = 0
        for count, i in enumerate(unknown):
            after = position.play(moves[i].move)
            share = (nodes - used) // (len(unknown) - count)
            if self._is_expired or share < len(after.moves()):  # the first depth is not stopped
                break
            value = _end(position, after)
            if value is None:
                report = self._search(after, Limit(nodes=share), control)
                used += report.nodes
                value = _a_ply_before(report.score) if _is_final(report) else None
            if value is not None:
                assert value <= moves[0].value, (
                    f"{position.text()}: a move is better than the best one"
                )
                moves[i] = SolvedMove(moves[i].move, _sign(value), value)
        return used

    def _clear_table(self) -> None:
        if self._table is None:
            self._table = Table(self._table_bits)
        else:
            self._table.memory.array.fill(0)


def describe_value(value: int) -> str:
    """A score of the search at the end of the game, in words."""
    if value == 0:
        return "a draw"
    plies = MATE - abs(value)
    result = "a win" if value > 0 else "a loss"
    return f"{result} in {plies} {'ply' if plies == 1 else 'plies'}"


def _is_final(report: Report) -> bool:
    """No deeper search would find another result."""
    return report.solved or _plies(report.score) <= report.depth


def _plies(value: int) -> int:
    """How far the end is that a value tells; far more than any depth where it tells none."""
    return MATE - abs(value)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def proven(report: Report, move: int, value: int, bound: int) -> SolvedMove:
    """What a final report proves of a move.

    Where no line was cut at a horizon that is all that it says. Else a loss is one, sooner perhaps
    than was looked for; a win is one where it has an exact score, and a nearer one could only be
    missed beyond the depth. Any other number is a guess: then all that is known is that the best
    move is at least as good.
    """
    if report.solved:
        return SolvedMove(move, _sign(value), value, BOUNDS[bound])
    is_nearest = bound == layout.EXACT and _plies(value) <= report.depth
    if value < -layout.MATE_BOUND:
        return SolvedMove(move, -1, value, "exact" if is_nearest else "upper")
    if value > layout.MATE_BOUND and bound == layout.EXACT:
        return SolvedMove(move, 1, value, "exact" if is_nearest else "lower")
    return SolvedMove(move, _sign(report.score), report.score, "upper")


def _end(position: Position, after: Position) -> int | None:
    """The value of a move that ends the match; None where it goes on."""
    outcome = after.outcome()
    if outcome is None:
        return None
    if outcome.winner is None:
        return 0
    return MATE - 1 if outcome.winner == position.turn else 1 - MATE


def _a_ply_before(value: int) -> int:
    """The value of a move, by that of the position after it for the other side."""
    return -value + _sign(value)
