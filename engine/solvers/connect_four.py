"""The exact solver of connect four: a compiled search to the end, and a book of openings."""

import mmap
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from engine.compiler.native import Memory, compile_game
from engine.game import Game, Position
from engine.search.driver import NO_LIMIT, Cancelled, Control
from engine.search.job import MATE, Limit
from engine.solvers import connect_four_kernel as kernel
from engine.solvers.base import Around, Batch, Problem, ProblemError, Solution, SolvedMove
from engine.solvers.connect_four_book import (
    COLUMN_BITS,
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
from engine.solvers.connect_four_results import (
    LOST,
    RESULT_DISCS,
    WON,
    is_exact,
    make_results,
    result_of,
)

CELLS = kernel.CELLS
#: At most 32 MiB of table are used, and that only by the longest searches.
TABLE_BITS = 22
BOOK_TABLE_BITS = 26
#: So much is spent at first on each move to see whether it is the best one; then so many times as
#: much.
PROOF_NODES, PROOF_GROWTH = 2_000, 8
#: So much is spent, each, on the exact scores of the moves that are not the best one and on the
#: line of play.
SIDE_NODES = 2_000_000
#: So much is spent on the exact score of a position whose result is known already, where time is
#: short.
EXACT_NODES = 15_000_000
HARD_DISCS = 9
HARD_MS = 700
#: Of positions with so many discs one in fifty takes longer; with each disc more those take so much
#: less. None behind the book is among them. Their results take a third of that.
EASIER = 1.75


def huge_memory(words: int) -> Memory:
    """Zeroed words, in huge pages where the system has them: there a table costs far fewer misses
    of the page cache.
    """
    if hasattr(mmap, "MADV_HUGEPAGE"):
        pages = mmap.mmap(
            -1, words * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        )  # shared ones are seldom huge
        pages.madvise(mmap.MADV_HUGEPAGE)
    else:
        pages = mmap.mmap(-1, words * 8)
    return Memory(np.frombuffer(pages, np.uint64))


class Stopped(Exception):
    """A limit came before the result."""


class ConnectFourSolver:
    """Scores are 22 minus the winner's discs at the end, negative for a loss: +1 wins with the last
    disc.
    """

    def __init__(self, game: Game, template: ModuleType = kernel) -> None:
        self.game = game
        self._native = compile_game(game, template)
        self.book = Book(self._native.data.array)
        self._memory: Memory | None = None
        self._bits = TABLE_BITS
        self._used_bits = 0

    def prepare(self) -> None:
        for name in ("solve_all", "solve_one"):
            self._native.function(name)

    def expire(self) -> None:
        self._work()[kernel.EXPIRED] = 1

    def reaches(self, position: Position, time_ms: int | None) -> bool:
        """All that is in the book, unless it is only known to be lost, and what a search of that
        time nearly always comes to the end of; what the top level meets behind the book takes a
        quarter of a second at most.
        """
        board = _board(position)
        entry = self.book.find(board)
        if time_ms is None or (entry is not None and entry.score != LOST):
            return True
        return 3 * time_ms * EASIER ** (board[1].bit_count() - HARD_DISCS) >= HARD_MS

    def solve(
        self, position: Position, limit: Limit, control: Control, *, around: Around = nullcontext
    ) -> Solution | None:
        """The score and a best move; exact scores of the other moves and the line as far as they
        are cheap.

        With a limit of time the result comes first: who is winning plays a move that wins, though
        there may be no time to find how soon. Without one the same position gets the same answer,
        whatever was solved before.
        """
        board = _board(position)
        self._forget()
        self._begin(limit, control)
        side_nodes = min(SIDE_NODES, limit.nodes or SIDE_NODES)
        begun = time.perf_counter()
        with around():
            try:
                known = None if limit.time_ms is None else self._result(board, control)
                best = self._exact(board, known, limit, control)
            except Stopped:
                return None
            if not is_exact(best):
                return self._won(board, best, time.perf_counter() - begun)
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

    def _result(self, board: Board, control: Control) -> Entry:
        """The result, or the exact score where the book has it, and a move that keeps it; Stopped
        at a limit.
        """
        entry = self.book.find(board)
        if entry is not None:
            return entry
        result = result_of(self._score(board, -1, 1, control))
        if result == LOST:
            return Entry(LOST, columns(board)[0])
        bound = result // WON
        for column in columns(board):
            if -self._score(drop(board, column), -bound, 1 - bound, control) >= bound:
                return Entry(result, column)
        raise AssertionError(f"no move of {board} keeps its result")

    def _exact(self, board: Board, known: Entry | None, limit: Limit, control: Control) -> Entry:
        """The exact score and a move that reaches it; what is known where that is a win and the
        limit comes first. Stopped for what is lost: there every move is as good, and a search finds
        the one that resists.
        """
        entry = self.book.find(board)
        if entry is not None and is_exact(entry):
            return entry
        if known is None:
            return self._best(board, control)
        if is_exact(known):
            return known  # a draw is a draw with the last disc
        work = self._work()
        work[kernel.NODE_LIMIT] = min(
            int(work[kernel.NODES]) + EXACT_NODES, limit.nodes or NO_LIMIT
        )
        try:
            return self._best(board, control, 1 if known.score > 0 else -CELLS)
        except Stopped:
            if known.score == LOST:
                raise
            return known

    def _won(self, board: Board, entry: Entry, seconds: float) -> Solution:
        """The solution where no more is known than that a move wins, with the last disc at worst."""
        value = _value(board, 1)
        return Solution(
            score=1,
            value=value,
            moves=(SolvedMove(entry.column, 1, value, "lower"),),
            line=(entry.column,),
            depth=CELLS - board[1].bit_count(),
            nodes=int(self._work()[kernel.NODES]),
            seconds=seconds,
            bound="lower",
        )

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        around: Around = nullcontext,
    ) -> Batch:
        """All in one call of compiled code, from an empty table and without the book; the time is
        the processor's.
        """
        boards = np.array([_board(position) for position in positions], np.uint64).reshape(-1)
        scores = np.zeros(2 * len(positions), np.int64)
        self._forget()
        self._used_bits = self._bits
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
        """The position in text, or the columns 1 to 7 that were played from the start; then perhaps
        its score.
        """
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
        """The file of a book of positions up to so many discs; see
        `engine.solvers.connect_four_book`.
        """
        control = Control()
        self.book, self._bits, self._memory = Book(to_words({})), BOOK_TABLE_BITS, None

        def solve(board: Board, least: int, from_nothing: bool) -> tuple[Entry, int]:
            if from_nothing:
                self._forget()
            else:
                self._used_bits = self._bits
            self._begin(
                Limit(), control
            )  # each with a small table at first, where the last one left much
            return self._best(board, control, least), int(self._work()[kernel.NODES])

        book = make_book(solve, plies, work, tell)
        self._forget()

        def weigh(board: Board) -> Entry:
            self._used_bits = self._bits
            self._begin(Limit(), control)
            self._work()[kernel.TABLE_SHIFT] = (
                64 - self._bits
            )  # all of it: what one position leaves helps the next
            self._work()[kernel.GROW_AT] = NO_LIMIT
            return self._result(board, control)

        results = make_results(
            book, weigh, RESULT_DISCS, work.with_name(f"{work.name}.results"), tell
        )
        words: bytes = to_words(book | results).tobytes()
        return words

    def _played(self, digits: str, options: Mapping[str, str]) -> Position:
        position = self.game.start(options)
        for i, digit in enumerate(digits, 1):
            column = ord(digit) - ord("1")
            if column not in position.moves():
                raise ProblemError(
                    f"{digits[:80]!r}: disc {i} cannot be dropped into column {digit}"
                )
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
        work[kernel.TABLE_SHIFT] = 64 - kernel.SMALL_BITS
        work[kernel.GROW_AT] = kernel.NODES_AN_ENTRY << kernel.SMALL_BITS
        control.clear_shown()

    def _forget(self) -> None:
        """Empties the table as far as it was used: a batch may have used all of it, a search what
        it had at last.
        """
        work = self._work()
        last_bits = 64 - int(work[kernel.TABLE_SHIFT]) if work[kernel.TABLE_SHIFT] else 0
        used = 1 << max(last_bits, self._used_bits)
        work[kernel.DEEP_TABLE : kernel.TABLE + used] = 0
        self._used_bits = 0

    def _allow(self, nodes: int) -> None:
        """Lets a search go on for so many nodes, unless time is over: then it stops at once."""
        work = self._work()
        work[kernel.STOP] = 0
        work[kernel.NODE_LIMIT] = int(work[kernel.NODES]) + nodes
        work[kernel.POLL] = 0

    def _score(self, board: Board, low: int, high: int, control: Control) -> int:
        """The score of a position where it lies between low and high, else the nearer one; Stopped
        at a limit.
        """
        if is_over(board):
            score = (
                -((CELLS + 2 - board[1].bit_count()) // 2) if has_four(board[0] ^ board[1]) else 0
            )
            return min(high, max(low, score))
        score = int(
            self._native.function("solve_one")(*board, low, high, self._memory, control.memory)
        )
        if control.cancelled:
            raise Cancelled
        if self._work()[kernel.STOP]:
            raise Stopped
        return score

    def _best(self, board: Board, control: Control, least: int = -CELLS) -> Entry:
        """The score, known to be `least` at least, and a move that reaches it."""
        work = self._work()
        closed_last = kernel.MOVES + board[1].bit_count() * kernel.PLY_WORDS + kernel.LAST_BEST
        work[closed_last] = 0
        score = self._score(board, least, CELLS, control)
        # The move that closed a window last mostly is it. The table still holds why, so every move
        # gets a few nodes before any gets many.
        last = int(work[closed_last])
        order = sorted(columns(board), key=lambda column: not last >> 7 * column & COLUMN_BITS)
        limit, nodes = int(work[kernel.NODE_LIMIT]), PROOF_NODES
        while True:
            refuted = 0
            for column in order:
                self._allow(min(nodes, limit - int(work[kernel.NODES])))
                try:
                    reached = -self._score(drop(board, column), -score, 1 - score, control)
                except Stopped:
                    if work[kernel.EXPIRED] or work[kernel.NODES] >= limit:
                        raise
                    continue
                if reached == score:
                    work[kernel.NODE_LIMIT] = limit
                    return Entry(score, column)
                refuted += 1
            if refuted == len(order):
                raise AssertionError(f"no move of {board} reaches its score of {score}")
            nodes *= PROOF_GROWTH

    def _moves(
        self, board: Board, best: Entry, nodes: int, control: Control
    ) -> tuple[SolvedMove, ...]:
        """The best move, then the others by their scores, for which the best score is a bound where
        time is short.
        """
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
                best = self._exact(board, None, Limit(), control)
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
