"""The solver for games that have none of their own: a general search to the end of all lines.

The search stops when it has reached the end of the best line. Its scores of the other moves are
results only if their lines also reach the end. The solver searches the other moves further if that
is cheap. For the rest it reports only that they are no better than the best move.
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
from engine.solvers.base import BatchResult, Problem, Solution, SolvedMove, Timer

#: Bits of the index of the transposition table.
TABLE_BITS = 22
#: Node limit for the results of the other moves.
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

    def can_solve(self, position: Position, time_ms: int | None) -> bool:
        """False: the search cannot tell in advance how long it takes."""
        return False

    def solve(
        self, position: Position, limit: Limit, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the result and the best moves.

        Other moves have exact results if these need few further nodes.
        """
        start = time.perf_counter()
        self._is_expired = False
        self._clear_table()
        with timer():
            report = self._search(position, limit, control, margin=1)
            if not _is_final(report):
                return None
            moves = [proven_result(report, *reported) for reported in report.moves]
            nodes_left = (
                SIDE_NODES if limit.nodes is None else min(SIDE_NODES, limit.nodes - report.nodes)
            )
            nodes = report.nodes + self._solve_other_moves(position, moves, nodes_left, control)
        return Solution(
            score=_sign(report.score),
            value=report.score,
            moves=(
                moves[0],
                *sorted(moves[1:], key=lambda solved: (solved.bound == "upper", -solved.value)),
            ),
            line=report.line,
            depth=report.depth,
            nodes=nodes,
            seconds=time.perf_counter() - start,
        )

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        timer: Timer = nullcontext,
    ) -> BatchResult:
        """Solves the positions in turn, each from an empty table."""
        start = time.perf_counter()
        scores: list[int | None] = []
        nodes = []
        self._is_expired = False
        with timer():
            for position in positions:
                self._clear_table()
                report = self._search(position, limit, control)
                scores.append(_sign(report.score) if _is_final(report) else None)
                nodes.append(report.nodes)
        return BatchResult(tuple(scores), tuple(nodes), time.perf_counter() - start)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        return Problem(self.game.position(text, options))

    def describe(self, solution: Solution) -> str:
        return describe_value(solution.value)

    def _search(
        self, position: Position, limit: Limit, control: Control, margin: int = 0
    ) -> Report:
        assert self._table is not None, "the caller has cleared it"
        return self._searcher.search(
            position,
            limit,
            self._table,
            control,
            margin=margin,
            features=SOUND,
            timer=self._expire_if_late,
        )

    @contextmanager
    def _expire_if_late(self) -> Iterator[None]:
        """Stops a search at once if the time limit has expired in an earlier one."""
        if self._is_expired:
            self._searcher.expire()
        yield

    def _solve_other_moves(
        self, position: Position, moves: list[SolvedMove], nodes: int, control: Control
    ) -> int:
        """Replaces bounds in `moves` by results while `nodes` suffice; returns the nodes used."""
        unknown = [i for i, move in enumerate(moves) if move.bound != "exact"]
        used = 0
        for count, i in enumerate(unknown):
            after = position.play(moves[i].move)
            node_limit = (nodes - used) // (len(unknown) - count)
            if self._is_expired or node_limit < len(
                after.moves()
            ):  # the search always finishes depth 1
                break
            value = _final_value(position, after)
            if value is None:
                report = self._search(after, Limit(nodes=node_limit), control)
                used += report.nodes
                value = _value_before(position, after, report) if _is_final(report) else None
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
    """The plies to the end that a value implies; more than any depth if it implies none."""
    return MATE - abs(value)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def proven_result(report: Report, move: int, value: int, bound: int) -> SolvedMove:
    """Returns the result of a move that a final report proves.

    If no line ended at the horizon, every score in the report is proven. Otherwise a loss is
    proven, though it may come sooner; a win is proven if its score is exact, and it is the nearest
    win if it lies within the depth. Any other score is an estimate, which proves only that the best
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


def _final_value(position: Position, after: Position) -> int | None:
    """The value of a move that ends the match; None if the match continues."""
    outcome = after.outcome()
    if outcome is None:
        return None
    if outcome.winner is None:
        return 0
    return MATE - 1 if outcome.winner == position.turn else 1 - MATE


def _value_before(position: Position, after: Position, report: Report) -> int:
    """The value of a move for its side, from the report of a search of the position after it."""
    value = report.score - _sign(report.score)  # one ply later
    return value if after.turn == position.turn else -value
