"""The exact solver of connect four: a compiled search to the end, and a book of openings."""

import mmap
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from engine.game import Game, Position
from engine.native import Memory, compile_game
from engine.search.driver import NO_LIMIT, Cancelled, Control
from engine.search.job import MATE, Limit
from engine.solvers import connect_four_kernel as kernel
from engine.solvers.base import Around, Batch, Problem, ProblemError, Solution, SolvedMove
from engine.solvers.connect_four_book import (
    Board,
    Book,
    Entry,
    Tell,
    columns,
    drop,
    has_four,
    is_over,
    make_book,
    to_words,
)

CELLS = kernel.CELLS
TABLE_BITS = 22
"""At most 32 MiB of table are used, and that only by the longest searches."""
BOOK_TABLE_BITS = 26
SEARCHED_BITS = 20
"""Single positions begin with 8 MiB, and find in them what was found for the match's earlier ones."""
SIDE_NODES = 2_000_000
"""So much is spent, each, on the exact scores of the moves that are not the best one and on the line of play."""
HARD_DISCS = 9
HARD_MS = 700
EASIER = 1.75
"""The hardest of many positions with so many discs took so long; with each disc more the hardest take so much less."""


def huge_memory(words: int) -> Memory:
    """Zeroed words, in huge pages where the system has them: there a table costs far fewer misses of the page cache."""
    pages = mmap.mmap(-1, words * 8)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages.madvise(mmap.MADV_HUGEPAGE)
    return Memory(np.frombuffer(pages, np.uint64))


class Stopped(Exception):
    """A limit came before the result."""


class ConnectFourSolver:
    """Scores are 22 minus the winner's discs at the end, negative for a loss: +1 wins with the last disc."""

    def __init__(self, game: Game, template: ModuleType = kernel) -> None:
        self.game = game
        self._native = compile_game(game, template)
        self._book = Book(self._native.data.array)
        self._memory: Memory | None = None
        self._bits = TABLE_BITS

    def prepare(self) -> None:
        for name in ("solve_all", "solve_one"):
            self._native.function(name)

    def expire(self) -> None:
        self._work()[kernel.EXPIRED] = 1

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """All that is in the book, and what a search of that time comes to the end of."""
        board = _board(position)
        if time_ms is None or self._book.find(board) is not None:
            return True
        return time_ms * EASIER ** (board[1].bit_count() - HARD_DISCS) >= HARD_MS

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Solution | None:
        """The score and a best move; exact scores of the other moves and the line as far as they are cheap."""
        board = _board(position)
        self._begin(limit, control)
        side_nodes = min(SIDE_NODES, limit.nodes or SIDE_NODES)
        begun = time.perf_counter()
        with around():
            try:
                best = self._book.find(board) or self._best(board, control)
            except Stopped:
                return None
            moves = self._moves(board, best, side_nodes // 6, control)
            line = self._line(board, best, side_nodes, control)
        return Solution(
            score=best.score,
            value=_value(board, best.score),
            moves=moves,
            line=line,
            depth=CELLS - board[1].bit_count(),
            nodes=int(self._work()[kernel.NODES]),
            seconds=time.perf_counter() - begun,
        )

    def solve_batch(
        self, positions: Sequence[Position], limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Batch:
        """All in one call of compiled code, from an empty table and without the book; the time is the processor's."""
        boards = np.array([_board(position) for position in positions], np.uint64).reshape(-1)
        scores = np.zeros(2 * len(positions), np.int64)
        self._work()[kernel.TABLE :] = 0
        self._begin(limit, control)
        memories = Memory(boards), Memory(scores), len(positions), self._memory, control.memory
        with around():
            begun = time.thread_time()
            self._native.function("solve_all")(*memories)
            seconds = time.thread_time() - begun
        if control.cancelled:
            raise Cancelled
        found = tuple(None if score == kernel.UNKNOWN else int(score) for score in scores[::2])
        return Batch(found, tuple(scores[1::2].tolist()), seconds)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """The position in text, or the columns 1 to 7 that were played from the start; then perhaps its score."""
        words = text.split()
        if not 1 <= len(words) <= 2:
            raise ProblemError(f"a position and perhaps its score are expected, not {text[:80]!r}")
        score = _read_score(words[1]) if len(words) == 2 else None
        if words[0].isdecimal():
            return Problem(self._played(words[0], options), score)
        return Problem(self.game.position(words[0], options), score)

    def describe(self, solution: Solution) -> str:
        """A win in so many plies."""
        if solution.score == 0:
            return "a draw"
        plies = MATE - abs(solution.value)
        return f"a {'win' if solution.score > 0 else 'loss'} in {plies} {'ply' if plies == 1 else 'plies'}"

    def make_book(self, plies: int, work: Path, tell: Tell) -> bytes:
        """The file of a book of positions up to so many discs; see `engine.solvers.connect_four_book`."""
        control = Control()
        self._book, self._bits, self._memory = Book(to_words({})), BOOK_TABLE_BITS, None
        self._begin(Limit(), control)
        words: bytes = to_words(make_book(lambda board: self._best(board, control), plies, work, tell)).tobytes()
        return words

    def _played(self, digits: str, options: Mapping[str, str]) -> Position:
        position = self.game.start(options)
        for i, digit in enumerate(digits, 1):
            column = ord(digit) - ord("1")
            if column not in position.moves():
                raise ProblemError(f"{digits[:80]!r}: disc {i} cannot be dropped into column {digit}")
            position = position.play(column)
        return position

    def _work(self) -> Any:
        if self._memory is None:
            self._memory = huge_memory(kernel.TABLE + (1 << self._bits))
        return self._memory.array

    def _begin(self, limit: Limit, control: Control) -> None:
        work = self._work()
        work[: kernel.MOVES] = 0
        work[kernel.NODE_LIMIT] = limit.nodes or NO_LIMIT
        work[kernel.LARGEST] = self._bits
        work[kernel.TABLE_SHIFT] = 64 - SEARCHED_BITS
        work[kernel.GROW_AT] = kernel.NODES_AN_ENTRY << SEARCHED_BITS
        control.clear_shown()

    def _allow(self, nodes: int) -> None:
        """Lets a search go on for so many nodes, unless time is over: then it stops at once."""
        work = self._work()
        work[kernel.STOP] = 0
        work[kernel.NODE_LIMIT] = int(work[kernel.NODES]) + nodes
        work[kernel.POLL] = 0

    def _score(self, board: Board, low: int, high: int, control: Control) -> int:
        """The score of a position where it lies between low and high, else the nearer one; Stopped at a limit."""
        if is_over(board):
            score = -((CELLS + 2 - board[1].bit_count()) // 2) if has_four(board[0] ^ board[1]) else 0
            return min(high, max(low, score))
        score = int(self._native.function("solve_one")(*board, low, high, self._memory, control.memory))
        if control.cancelled:
            raise Cancelled
        if self._work()[kernel.STOP]:
            raise Stopped
        return score

    def _best(self, board: Board, control: Control) -> Entry:
        """The score and a move that reaches it."""
        score = self._score(board, -CELLS, CELLS, control)
        for column in columns(board):
            if -self._score(drop(board, column), -score, 1 - score, control) == score:
                return Entry(score, column)
        raise AssertionError(f"no move of {board} reaches its score of {score}")

    def _moves(self, board: Board, best: Entry, nodes: int, control: Control) -> tuple[SolvedMove, ...]:
        """The best move, then the others by their scores, for which the best score is a bound where time is short."""
        others = []
        for column in columns(board):
            if column == best.column:
                continue
            self._allow(nodes)
            try:
                score = -self._score(drop(board, column), -best.score, CELLS, control)
                others.append(SolvedMove(column, score, _value(board, score)))
            except Stopped:
                others.append(SolvedMove(column, best.score, _value(board, best.score), "upper"))
        others.sort(key=lambda move: -move.score)
        return (SolvedMove(best.column, best.score, _value(board, best.score)), *others)

    def _line(self, board: Board, best: Entry, nodes: int, control: Control) -> tuple[int, ...]:
        """Play to the end as far as it is cheap to find."""
        self._allow(nodes)
        line = []
        while True:
            line.append(best.column)
            board = drop(board, best.column)
            if is_over(board):
                break
            try:
                best = self._book.find(board) or self._best(board, control)
            except Stopped:
                break
        return tuple(line)


def _board(position: Position) -> Board:
    mine, discs = position.state
    return int(mine), int(discs)


def _value(board: Board, score: int) -> int:
    """A score in the search's units: MATE minus the plies to the fourth disc in a row."""
    if score == 0:
        return 0
    count = board[1].bit_count()
    discs_of_winner = CELLS // 2 + 1 - abs(score)
    if score > 0:
        return MATE - (2 * (discs_of_winner - count // 2) - 1)
    return 2 * (discs_of_winner - (count + 1) // 2) - MATE


def _read_score(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ProblemError(f"a score is a whole number, not {text[:40]!r}") from None


def make_solver(game: Game) -> ConnectFourSolver:
    return ConnectFourSolver(game)
