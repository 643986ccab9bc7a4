"""The solver of Othello's endgame: the final lead in discs with best play.

Empty cells count for the winner. A position with some 20 empty cells takes about a second. Under a
time limit the solver first finds out who wins, which is faster, and reports that if the time ends
before the exact score is known.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from engine.compiler import native_lanes  # noqa: F401  (registers what the kernel is written in)
from engine.compiler.native import Memory, NativeGame, compile_game
from engine.game import Game, Position
from engine.games.othello import PASS
from engine.search.driver import Cancelled
from engine.search.job import MATE, Bound, Limit
from engine.solvers import othello_kernel as kernel
from engine.solvers import othello_last as last
from engine.solvers.base import Batch, Control, Problem, ProblemError, Solution, SolvedMove, Timer
from engine.solvers.othello_tables import aligned_words, new_memory, odd_quadrants

#: Bits of the index of a table slot, which holds two entries of 32 bytes.
TABLE_BITS = 19
#: The empty cells that the solver accepts in REACH_MS, the time in milliseconds for that, and the
#: factor of the time for one more empty cell.
REACH_EMPTY, REACH_MS, REACH_GROWTH = 20, 800, 3.0
#: Maximum number of empty cells without a time limit.
MOST_EMPTY = 56
FULL = (1 << 64) - 1
#: Outside all scores.
BEYOND = 65
OBF_SCORE = re.compile(r"\s*([A-Ha-h][1-8]|PASS|pass)\s*:\s*([+-]?\d+)\s*")


@dataclass(frozen=True, slots=True)
class _Found:
    """The result of a search with a window: the score, its bound, and scores of moves by cell."""

    score: int
    bound: Bound
    best: int
    moves: dict[int, tuple[int, Bound]]


class EndgameSolver:
    """Solves by `engine.solvers.othello_kernel`, with one table that all positions share."""

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

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """True if the empty cells are few enough that the time mostly suffices to know who wins."""
        empty = _empty(position).bit_count()
        if time_ms is None:
            return empty <= MOST_EMPTY
        return empty <= REACH_EMPTY + math.floor(math.log(max(time_ms, 1) / REACH_MS, REACH_GROWTH))

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Timer = nullcontext
    ) -> Solution | None:
        """The result; under a time limit it may say only who wins."""
        self.prepare()
        begun = time.perf_counter()
        self._begin(limit)
        control.clear_published()
        with around():
            found = self._result(position, limit, control)
            if found is None:
                return None
            line = self._line(position, found, control)
        nodes = int(self._words[last.NODES])
        return _solution(position, found, line, nodes, time.perf_counter() - begun)

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        around: Timer = nullcontext,
    ) -> Batch:
        """Solves the positions in turn, each from an empty table."""
        self.prepare()
        begun = time.perf_counter()
        scores: list[int | None] = []
        nodes = []
        self._words[last.EXPIRED] = 0
        with around():
            for position in positions:
                expired = int(self._words[last.EXPIRED])
                self._begin(limit)
                self._words[last.EXPIRED] |= expired
                self._cleared().fill(0)
                found = self._search(position, -BEYOND, BEYOND, control)
                scores.append(None if found is None else found.score)
                nodes.append(int(self._words[last.NODES]))
        return Batch(tuple(scores), tuple(nodes), time.perf_counter() - begun)

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

    def _begin(self, limit: Limit) -> None:
        words = self._words
        words[[last.NODES, last.STOP, last.POLL, last.EXPIRED]] = 0
        words[last.NODE_LIMIT] = limit.nodes or 1 << 62
        words[last.TABLE_SHIFT] = 64 - TABLE_BITS
        words[last.GENERATION] = (int(words[last.GENERATION]) + 1) & 0xFF

    def _cleared(self) -> Any:
        assert self._table is not None, "prepared"
        return self._table.array

    def _result(self, position: Position, limit: Limit, control: Control) -> _Found | None:
        """The exact score; or who wins, when a limit stops the search after that is known."""
        if limit.time_ms is None:
            return self._search(position, -BEYOND, BEYOND, control)
        outcome = self._search(position, -1, 1, control)
        if outcome is None or outcome.bound == "exact":
            return outcome
        if outcome.score > 0:
            low, high = outcome.score - 1, BEYOND
        else:
            low, high = -BEYOND, outcome.score + 1
        return self._search(position, low, high, control) or outcome

    def _search(
        self, position: Position, alpha: int, beta: int, control: Control, *, root: bool = True
    ) -> _Found | None:
        """One search with a window; None at a limit, Cancelled when the control block says so."""
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
                moves[cell] = ((word & 255) - 64, "upper" if word & 256 else "exact")
        if bound != "exact":
            moves = {
                cell: (known, bound if cell == best else "upper")
                for cell, (known, _) in moves.items()
            }
        return _Found(score, bound, best, moves)

    def _line(self, position: Position, found: _Found, control: Control) -> tuple[int, ...]:
        """The principal variation as far as the time allows; one move if the score is a bound."""
        line = [found.best]
        if found.bound != "exact":
            return tuple(line)
        here, score = position.play(found.best), -found.score
        while here.moves():
            next_found = self._search(here, score - 1, score + 1, control, root=False)
            if next_found is None:
                break
            assert next_found.score == score, "the score of a line stays the same"
            line.append(next_found.best)
            here, score = here.play(next_found.best), -score
        return tuple(line)


make_solver = EndgameSolver


def _empty(position: Position) -> int:
    return FULL & ~(int(position.state[0]) | int(position.state[1]))


def _value(score: int, empty: int) -> int:
    """The score in the search's units: a win or a loss when the board is full."""
    return 0 if score == 0 else MATE - empty if score > 0 else empty - MATE


def _solution(
    position: Position, found: _Found, line: tuple[int, ...], nodes: int, seconds: float
) -> Solution:
    """The solution with the best move first, then the others by their scores."""
    empty = _empty(position).bit_count()
    best = SolvedMove(found.best, found.score, _value(found.score, empty), found.bound)
    others = []
    for move in position.moves():
        if move != found.best:
            score, bound = found.moves.get(move, (64, "upper"))
            others.append(SolvedMove(move, score, _value(score, empty), bound))
    others.sort(
        key=lambda solved: (
            (-(solved.bound == "exact"), -solved.score) if found.bound == "exact" else (0, 0)
        )
    )
    moves = (best, *others)
    return Solution(found.score, best.value, moves, line, empty, nodes, seconds, found.bound)
