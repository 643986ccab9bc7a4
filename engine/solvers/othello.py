"""The solver of Othello's endgame: the final lead in discs with best play.

Empty cells count for the winner. A position with about 20 empty cells takes a second. Under a time
limit the solver first finds out who wins, which is faster, and reports that if the time expires
before it knows the exact score.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from engine.compiler import native_lanes  # noqa: F401  (registers the lanes with the compiler)
from engine.compiler.intrinsics import Memory
from engine.compiler.native import NativeGame, compile_game
from engine.game import Game, Position
from engine.games.othello import PASS
from engine.search.driver import Cancelled
from engine.search.job import MATE, Bound, Limit
from engine.solvers import othello_kernel as kernel
from engine.solvers import othello_last as last
from engine.solvers.base import (
    OPPOSITE,
    BatchResult,
    Control,
    Problem,
    ProblemError,
    Solution,
    SolvedMove,
    Timer,
)
from engine.solvers.othello_tables import aligned_words, new_memory, odd_quadrants

#: Bits of the index of a table slot, which holds two entries of 32 bytes.
TABLE_BITS = 19
#: The number of empty cells that the solver accepts with REACH_MS milliseconds, and the factor of
#: the time for each further empty cell.
REACH_EMPTY, REACH_MS, REACH_GROWTH = 20, 800, 3.0
#: Maximum number of empty cells without a time limit.
MAX_EMPTY = 56
#: The most empty cells of a position that a study asks about.
STUDY_EMPTY = 16
#: TABLE_BITS of a study. Clearing the table takes longer than most of its searches.
STUDY_TABLE_BITS = 14
#: All cells.
FULL = (1 << 64) - 1
#: A bound beyond all scores.
INFINITY = 65
#: A move and its score in an OBF file.
OBF_SCORE = re.compile(r"\s*([A-Ha-h][1-8]|PASS|pass)\s*:\s*([+-]?\d+)\s*")


@dataclass(frozen=True, slots=True)
class _SearchResult:
    """The result of a search with a window: score, bound, and the scores of moves by cell."""

    score: int
    bound: Bound
    best: int
    moves: dict[int, tuple[int, Bound]]


class EndgameSolver:
    """Solves with `engine.solvers.othello_kernel`; all positions share one table."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._native: NativeGame = compile_game(game, kernel)
        self._words = new_memory()
        self._memory = Memory(self._words)
        self._table: Memory | None = None

    def prepare(self) -> None:
        self._native.function("principal")
        if self._table is None:
            self._native.function("edge_tables")(self._memory)
            self._table = Memory(aligned_words(8 << TABLE_BITS))

    def expire(self) -> None:
        self._words[last.EXPIRED] = 1

    def can_solve(self, position: Position, time_ms: int | None) -> bool:
        """True if the time usually suffices to know who wins, by the number of empty cells."""
        empty = _empty(position).bit_count()
        if time_ms is None:
            return empty <= MAX_EMPTY
        return empty <= REACH_EMPTY + math.floor(math.log(max(time_ms, 1) / REACH_MS, REACH_GROWTH))

    def solve(
        self, position: Position, limit: Limit, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the result; under a time limit it may say only who wins."""
        self.prepare()
        start = time.perf_counter()
        self._start_search(limit)
        control.clear_published()
        with timer():
            result = self._find_result(position, limit, control)
            if result is None:
                return None
            line = self._find_line(position, result, control)
        nodes = int(self._words[last.NODES])
        moves = _bounded_moves(position, result)
        return _solution(position, result, moves, line, nodes, time.perf_counter() - start)

    def study(
        self, position: Position, nodes: int, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the lead, or only who wins, and who wins after each of the other moves."""
        if _empty(position).bit_count() > STUDY_EMPTY:
            return None
        self.prepare()
        start = time.perf_counter()
        self._start_search(Limit(nodes=nodes), STUDY_TABLE_BITS)
        self._table_words()[: 8 << STUDY_TABLE_BITS] = 0
        control.clear_published()
        with timer():
            outcome = self._search(position, -1, 1, control)
            if outcome is None:
                return None
            self._grant_nodes(nodes)
            result = self._find_lead(position, outcome, control)
            proven = self._prove_moves(position, result, nodes, control)
            self._grant_nodes(nodes)
            line = self._find_line(position, result, control)
        nodes = int(self._words[last.NODES])
        return _solution(position, result, proven, line, nodes, time.perf_counter() - start)

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        timer: Timer = nullcontext,
    ) -> BatchResult:
        """Solves the positions in turn, each from an empty table."""
        self.prepare()
        start = time.perf_counter()
        scores: list[int | None] = []
        nodes = []
        self._words[last.EXPIRED] = 0
        with timer():
            for position in positions:
                expired = int(self._words[last.EXPIRED])
                self._start_search(limit)
                self._words[last.EXPIRED] |= expired
                self._table_words().fill(0)
                result = self._search(position, -INFINITY, INFINITY, control)
                scores.append(None if result is None else result.score)
                nodes.append(int(self._words[last.NODES]))
        return BatchResult(tuple(scores), tuple(nodes), time.perf_counter() - start)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """A position, or a line of an OBF file: a position, then moves with scores."""
        board, *notes = text.strip().removesuffix(";").split(";")
        position = self.game.position(" ".join(board.upper().replace(".", "-").split()), options)
        scores = []
        for note in notes:
            match = OBF_SCORE.fullmatch(note)
            if match is None:
                raise ProblemError(
                    f"{note.strip()[:40]!r} is not a move and its score, such as A2:+38"
                )
            scores.append(int(match[2]))
        return Problem(position, max(scores, default=None))

    def describe(self, solution: Solution) -> str:
        if solution.score == 0:
            return "a draw"
        result = "a win" if solution.score > 0 else "a loss"
        limit = "" if solution.bound == "exact" else "at least "
        return f"{result} by {limit}{abs(solution.score)} discs"

    def _start_search(self, limit: Limit, table_bits: int = TABLE_BITS) -> None:
        words = self._words
        words[[last.NODES, last.STOP, last.POLL, last.EXPIRED]] = 0
        words[last.NODE_LIMIT] = limit.nodes or 1 << 62
        words[last.TABLE_SHIFT] = 64 - table_bits
        words[last.GENERATION] = (int(words[last.GENERATION]) + 1) & 0xFF

    def _grant_nodes(self, nodes: int) -> None:
        """Grants the next searches `nodes` nodes; after `expire` they still stop at once."""
        words = self._words
        words[last.STOP] = 0
        words[last.NODE_LIMIT] = int(words[last.NODES]) + nodes
        words[last.POLL] = 0

    def _table_words(self) -> Any:
        assert self._table is not None, "prepare() has made it"
        return self._table.array

    def _find_result(
        self, position: Position, limit: Limit, control: Control
    ) -> _SearchResult | None:
        """Returns the exact score, or only who wins if a limit stops the search after that."""
        if limit.time_ms is None:
            return self._search(position, -INFINITY, INFINITY, control)
        outcome = self._search(position, -1, 1, control)
        return None if outcome is None else self._find_lead(position, outcome, control)

    def _find_lead(
        self, position: Position, outcome: _SearchResult, control: Control
    ) -> _SearchResult:
        """Returns the exact score where it is known who wins; `outcome` itself at a limit."""
        if outcome.bound == "exact":
            return outcome
        if outcome.score > 0:
            low, high = outcome.score - 1, INFINITY
        else:
            low, high = -INFINITY, outcome.score + 1
        return self._search(position, low, high, control) or outcome

    def _prove_moves(
        self, position: Position, result: _SearchResult, nodes: int, control: Control
    ) -> list[SolvedMove]:
        """Returns the moves besides the best one of which it is known who wins with them."""
        moves = [move for move in position.moves() if move != result.best]
        empty = _empty(position).bit_count()
        end = int(self._words[last.NODES]) + nodes
        proven = []
        for number, move in enumerate(moves):
            score, bound = result.moves.get(move, (64, "upper"))
            if bound != "exact":
                left = end - int(self._words[last.NODES])
                self._grant_nodes(max(0, left // (len(moves) - number)))
                reply = self._search(position.play(move), -1, 1, control, root=False)
                if reply is None:
                    continue
                score, bound = -reply.score, OPPOSITE[reply.bound]
            proven.append(_solved_move(move, score, bound, empty))
        return sorted(proven, key=lambda solved: -solved.score)

    def _search(
        self, position: Position, alpha: int, beta: int, control: Control, *, root: bool = True
    ) -> _SearchResult | None:
        """Searches with a window; None at a limit, Cancelled if the control block says so."""
        words = self._words
        p, o = (int(word) for word in position.state[:2])
        empty = _empty(position)
        count = empty.bit_count()
        words[last.ROOT_EMPTY] = count if root else 99
        words[last.ROOT_SCORES : last.ROOT_SCORES + 64] = 0
        memories = (self._memory, self._table, control.memory, self._native.data)
        odd = odd_quadrants(empty)
        score = int(self._native.function("principal")(p, o, alpha, beta, count, odd, *memories))
        if control.cancelled:
            raise Cancelled
        if words[last.STOP]:
            return None
        bound: Bound = "lower" if score >= beta else "upper" if score <= alpha else "exact"
        moves: dict[int, tuple[int, Bound]] = {}
        best = int(words[last.BEST])
        for cell, word in enumerate(
            words[last.ROOT_SCORES :][:64].tolist() if best != PASS else ()
        ):
            if word:
                known = (word & 255) - 64
                moves[cell] = (known, "upper" if word & 256 or known <= alpha else "exact")
        if bound != "exact":
            moves = {
                cell: (known, bound if cell == best else "upper")
                for cell, (known, _) in moves.items()
            }
        return _SearchResult(score, bound, best, moves)

    def _find_line(
        self, position: Position, result: _SearchResult, control: Control
    ) -> tuple[int, ...]:
        """Returns the principal variation as far as time allows; one move for a bound."""
        line = [result.best]
        if result.bound != "exact":
            return tuple(line)
        current, score = position.play(result.best), -result.score
        while current.moves():
            next_result = self._search(current, score - 1, score + 1, control, root=False)
            if next_result is None:
                break
            assert next_result.score == score, "the score of a line stays the same"
            line.append(next_result.best)
            current, score = current.play(next_result.best), -score
        return tuple(line)


make_solver = EndgameSolver


def _empty(position: Position) -> int:
    return FULL & ~(int(position.state[0]) | int(position.state[1]))


def _value(score: int, empty: int) -> int:
    """The score in the search's units: a win or a loss when the board is full."""
    return 0 if score == 0 else MATE - empty if score > 0 else empty - MATE


def _solved_move(move: int, score: int, bound: Bound, empty: int) -> SolvedMove:
    """The result of a move, with the lead in discs if that is exact."""
    lead = score if bound == "exact" else None
    return SolvedMove(move, score, _value(score, empty), bound, lead)


def _bounded_moves(position: Position, result: _SearchResult) -> list[SolvedMove]:
    """The moves besides the best one, with what the search for that one says about them."""
    empty = _empty(position).bit_count()
    others = []
    for move in position.moves():
        if move != result.best:
            score, bound = result.moves.get(move, (64, "upper"))
            others.append(_solved_move(move, score, bound, empty))
    others.sort(
        key=lambda solved: (
            (-(solved.bound == "exact"), -solved.score) if result.bound == "exact" else (0, 0)
        )
    )
    return others


def _solution(
    position: Position, result: _SearchResult, others: Sequence[SolvedMove], line: tuple[int, ...],
    nodes: int, seconds: float,
) -> Solution:  # fmt: skip
    """The solution with the best move before the others."""
    empty = _empty(position).bit_count()
    best = _solved_move(result.best, result.score, result.bound, empty)
    moves = (best, *others)
    return Solution(result.score, best.value, moves, line, empty, nodes, seconds, result.bound)
