"""The solver of games without one of their own: the general search, run to the end of all lines.

The search ends as soon as it sees the end of the best line. Its scores of the other moves are
results only where they are ends as well. The solver searches each of the other moves further, as
far as that is cheap. For the rest it reports only that they are no better than the best move.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext

from engine.game import Game, Position
from engine.search import layout
from engine.search.driver import Control, Searcher, Table
from engine.search.features import SOUND
from engine.search.job import MATE, Limit
from engine.search.report import BOUNDS, Report
from engine.solvers.base import Batch, Problem, Solution, SolvedMove, Timer

#: Bits of the index of the transposition table.
TABLE_BITS = 22
#: Nodes spent on the results of the moves that are not the best ones.
SIDE_NODES = 2_000_000


class SearchSolver:
    """Solves positions that the search can finish.

    A score is 1, 0 or -1 for a win, a draw or a loss; a value also says how soon.
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
        """False: the effort is unknown before the end."""
        return False

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Timer = nullcontext
    ) -> Solution | None:
        """The result and the best moves.

        Another move has an exact result if the search saw its end or needs few more nodes for it.
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
            nodes = report.nodes + self._search_others(position, moves, left, control)
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
        around: Timer = nullcontext,
    ) -> Batch:
        """Solves the positions in turn, each from an empty table."""
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
            features=SOUND,
            timer=self._unless_expired,
        )

    @contextmanager
    def _unless_expired(self) -> Iterator[None]:
        """Wraps the searches that share a time limit: one that begins too late stops at once."""
        if self._is_expired:
            self._searcher.expire()
        yield

    def _search_others(
        self, position: Position, moves: list[SolvedMove], nodes: int, control: Control
    ) -> int:
        """Replaces bounds in `moves` by results while `nodes` suffice; returns the nodes used."""
        unknown = [i for i, one in enumerate(moves) if one.bound != "exact"]
        used = 0
        for count, i in enumerate(unknown):
            after = position.play(moves[i].move)
            share = (nodes - used) // (len(unknown) - count)
            if self._is_expired or share < len(after.moves()):  # depth 1 ignores the limit
                break
            value = _final_value(position, after)
            if value is None:
                report = self._search(after, Limit(nodes=share), control)
                used += report.nodes
                value = _value_before(report.score) if _is_final(report) else None
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
    """The value of a finished line in words, such as "a win in 5 plies"."""
    if value == 0:
        return "a draw"
    plies = MATE - abs(value)
    result = "a win" if value > 0 else "a loss"
    return f"{result} in {plies} {'ply' if plies == 1 else 'plies'}"


def _is_final(report: Report) -> bool:
    """True if no deeper search can find another result."""
    return report.solved or _plies(report.score) <= report.depth


def _plies(value: int) -> int:
    """The plies to the end that a value shows; more than any depth if it shows none."""
    return MATE - abs(value)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def proven(report: Report, move: int, value: int, bound: int) -> SolvedMove:
    """The result of a move that a final report proves.

    If no line was cut at the horizon, every number in the report is proven. Otherwise a loss is
    proven, though it may come sooner; a win is proven if its score is exact, and no nearer win can
    exist within the depth. Any other number is an estimate, which proves only that the best move is
    at least as good.
    """
    if report.solved:
        return SolvedMove(move, _sign(value), value, BOUNDS[bound])
    is_nearest = bound == layout.EXACT and _plies(value) <= report.depth
    if value < -layout.MATE_BOUND:
        return SolvedMove(move, -1, value, "exact" if is_nearest else "upper")
    if value > layout.MATE_BOUND and bound == layout.EXACT:
        return SolvedMove(move, 1, value, "exact" if is_nearest else "lower")
    return SolvedMove(move, _sign(report.score), report.score, "upper")


def _final_value(position: Position, after: Position) -> int | None:
    """The value of a move that ends the match; None if the match continues."""
    outcome = after.outcome()
    if outcome is None:
        return None
    if outcome.winner is None:
        return 0
    return MATE - 1 if outcome.winner == position.turn else 1 - MATE


def _value_before(value: int) -> int:
    """The value of a move, from the value of the position after it for the other side."""
    return -value + _sign(value)
