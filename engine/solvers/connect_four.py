"""The exact solver of connect four: a compiled search to the end, and a book of openings."""

import mmap
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from engine.compiler.intrinsics import Memory
from engine.compiler.native import compile_game
from engine.game import Game, Position
from engine.search.driver import NO_LIMIT, Cancelled, Control
from engine.search.job import MATE, Bound, Limit
from engine.solvers import connect_four_kernel as kernel
from engine.solvers.base import (
    OPPOSITE,
    BatchResult,
    Problem,
    ProblemError,
    Solution,
    SolvedMove,
    Timer,
)
from engine.solvers.connect_four_book import (
    COLUMN_BITS,
    Board,
    Book,
    Entry,
    Progress,
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

#: The number of cells.
CELLS = kernel.CELLS
#: Maximum bits of a table index: 32 MiB, which only the longest searches use.
TABLE_BITS = 22
#: Maximum bits of a table index while the book is made: 512 MiB.
BOOK_TABLE_BITS = 26
#: Node limit of the first proof for each move, to find a best move when the score is known.
PROOF_NODES = 2_000
#: The factor of that limit from one round of proofs to the next.
PROOF_GROWTH = 8
#: Node limit for the scores of the other moves, and again for the principal variation.
SIDE_NODES = 2_000_000
#: Node limit for the exact score of a position whose result is known, under a time limit.
EXACT_NODES = 15_000_000
#: A study spends this part of its nodes each on the distance, on the other moves, and on the line.
#: With more of them a study would take several times as long as the search that it replaces.
STUDY_SIDE_SHARE = 6
#: The number of discs for which HARD_MS was measured.
HARD_DISCS = 9
#: Time for an exact score, in milliseconds. One in fifty positions with HARD_DISCS discs takes
#: longer, but none of those that follow the book. Finding only who wins takes a third of the time.
HARD_MS = 700
#: HARD_MS is divided by this factor for each further disc.
HARD_MS_FACTOR = 1.75


def huge_memory(words: int) -> Memory:
    """Allocates zeroed words, in huge pages if possible, for fewer TLB misses."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        # Shared mappings seldom get huge pages.
        pages = mmap.mmap(-1, words * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        pages.madvise(mmap.MADV_HUGEPAGE)
    else:
        pages = mmap.mmap(-1, words * 8)
    return Memory(np.frombuffer(pages, np.uint64))


class LimitReached(Exception):
    """A search reached its limit before it had the result."""


class ConnectFourSolver:
    """The solver of connect four.

    A score is 22 minus the discs of the winner at the end, negative for a loss: +1 is a win with
    the last disc.
    """

    def __init__(self, game: Game, template: ModuleType = kernel) -> None:
        self.game = game
        self._native = compile_game(game, template)
        self.book = Book(self._native.data.array)
        self._memory: Memory | None = None
        # The index bits of the whole table, and of the part that a batch or the book may have used.
        self._bits = TABLE_BITS
        self._used_bits = 0

    def prepare(self) -> None:
        for name in ("solve_all", "solve_one"):
            self._native.function(name)

    def expire(self) -> None:
        self._work_words()[kernel.EXPIRED] = 1

    def can_solve(self, position: Position, time_ms: int | None) -> bool:
        """True for positions in the book, and for those that a search nearly always solves in time.

        An entry that says only that a position is lost does not count. The positions that the top
        level meets after the book take at most a quarter of a second.
        """
        board = _board(position)
        entry = self.book.find(board)
        if time_ms is None or (entry is not None and entry.score != LOST):
            return True
        return 3 * time_ms * HARD_MS_FACTOR ** (board[1].bit_count() - HARD_DISCS) >= HARD_MS

    def solve(
        self, position: Position, limit: Limit, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the score and a best move, and other exact scores and the line if they are cheap.

        With a time limit the solver finds the result first: a winning side gets a winning move even
        if there is no time to find the fastest win. Without a time limit the answer does not depend
        on earlier positions.
        """
        board = _board(position)
        self._clear_table()
        self._start_search(limit, control)
        side_nodes = min(SIDE_NODES, limit.nodes or SIDE_NODES)
        start = time.perf_counter()
        with timer():
            try:
                known = None if limit.time_ms is None else self._find_result(board, control)
                best = self._find_exact(board, known, limit, control)
            except LimitReached:
                return None
            if not is_exact(best):
                return self._winning_solution(board, best, time.perf_counter() - start)
            moves = self._score_moves(board, best, side_nodes // 6, control)
            line = self._find_line(board, best, side_nodes, control)
        return Solution(
            score=best.score,
            value=_value(board, best.score),
            moves=moves,
            line=line,
            depth=CELLS - board[1].bit_count(),
            nodes=int(self._work_words()[kernel.NODES]),
            seconds=time.perf_counter() - start,
        )

    def study(
        self, position: Position, nodes: int, control: Control, *, timer: Timer = nullcontext
    ) -> Solution | None:
        """Returns the score, or only who wins, and the other moves that are proven in the book or
        by a search.
        """
        board = _board(position)
        self._clear_table()
        self._start_search(Limit(nodes=nodes), control)
        start = time.perf_counter()
        with timer():
            try:
                best = self._find_result(board, control)
            except LimitReached:
                return None
            nodes //= STUDY_SIDE_SHARE
            self._grant_nodes(nodes)
            limit = Limit(nodes=int(self._work_words()[kernel.NODE_LIMIT]))
            with suppress(LimitReached):
                best = self._find_exact(board, best, limit, control)
            others = self._prove_moves(board, best, nodes, control)
            line: tuple[int, ...] = (best.column,)
            if is_exact(best):
                line = self._find_line(board, best, nodes, control)
        score, bound = _score_and_bound(best)
        value = _value(board, score)
        return Solution(
            score=score, value=value, moves=(SolvedMove(best.column, score, value, bound), *others),
            line=line, depth=CELLS - board[1].bit_count(),
            nodes=int(self._work_words()[kernel.NODES]), seconds=time.perf_counter() - start,
            bound=bound,
        )  # fmt: skip

    def _prove_moves(
        self, board: Board, best: Entry, nodes: int, control: Control
    ) -> list[SolvedMove]:
        """Returns the moves besides the best one of which it is known who wins with them.

        The first searches find out who wins, the others the scores, as far as `nodes` allow.
        """
        entries: dict[int, Entry] = {}
        for column in columns(board):
            after = drop(board, column)
            entry = None if is_over(after) else self.book.find(after)
            if entry is not None and column != best.column:
                entries[column] = entry
        unknown = [c for c in columns(board) if c not in entries and c != best.column]
        end = int(self._work_words()[kernel.NODES]) + nodes
        for number, column in enumerate(unknown):
            self._grant_share(end, len(unknown) - number)
            with suppress(LimitReached):
                result = result_of(self._score(drop(board, column), -1, 1, control))
                entries[column] = Entry(result, 0)
        bounded = [column for column, entry in entries.items() if not is_exact(entry)]
        for number, column in enumerate(bounded):
            low, high = (0, CELLS) if entries[column].score == WON else (-CELLS, 0)
            self._grant_share(end, len(bounded) - number)
            with suppress(LimitReached):
                score = self._score(drop(board, column), low, high, control)
                entries[column] = Entry(score, 0)
        proven = []
        for column, entry in entries.items():
            score, bound = _score_and_bound(entry)
            value = _value(board, -score)
            proven.append(SolvedMove(column, -score, value, OPPOSITE[bound]))
        return sorted(proven, key=lambda solved: -solved.value)

    def _grant_share(self, end: int, searches: int) -> None:
        """Grants the next of `searches` searches its share of the nodes up to the count `end`."""
        left = end - int(self._work_words()[kernel.NODES])
        self._grant_nodes(max(0, left // searches))

    def _find_result(self, board: Board, control: Control) -> Entry:
        """Returns who wins, or the exact score from the book, and a move that keeps it.

        Raises LimitReached at a limit.
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

    def _find_exact(
        self, board: Board, known: Entry | None, limit: Limit, control: Control
    ) -> Entry:
        """Returns the exact score and a move that reaches it.

        At a limit it returns `known` if that is a win, and raises LimitReached otherwise. The
        driver then searches instead, in a lost position for the move that resists longest.
        """
        entry = self.book.find(board)
        if entry is not None and is_exact(entry):
            return entry
        if known is None:
            return self._find_best(board, control)
        if is_exact(known):
            return known  # a draw always ends with the last disc
        work = self._work_words()
        work[kernel.NODE_LIMIT] = min(
            int(work[kernel.NODES]) + EXACT_NODES, limit.nodes or NO_LIMIT
        )
        try:
            return self._find_best(board, control, 1 if known.score > 0 else -CELLS)
        except LimitReached:
            if known.score == LOST:
                raise
            return known

    def _winning_solution(self, board: Board, entry: Entry, seconds: float) -> Solution:
        """Returns the solution for a move that is known to win; its score is a lower bound."""
        value = _value(board, 1)
        return Solution(
            score=1,
            value=value,
            moves=(SolvedMove(entry.column, 1, value, "lower"),),
            line=(entry.column,),
            depth=CELLS - board[1].bit_count(),
            nodes=int(self._work_words()[kernel.NODES]),
            seconds=seconds,
            bound="lower",
        )

    def solve_batch(
        self,
        positions: Sequence[Position],
        limit: Limit,
        control: Control,
        *,
        timer: Timer = nullcontext,
    ) -> BatchResult:
        """Solves all positions in one call of compiled code, each without the book.

        The table is empty at the start. `seconds` is processor time.
        """
        boards = np.array([_board(position) for position in positions], np.uint64).reshape(-1)
        scores = np.zeros(2 * len(positions), np.int64)
        self._clear_table()
        self._used_bits = self._bits
        self._start_search(limit, control)
        memories = Memory(boards), Memory(scores), len(positions), self._memory, control.memory
        with timer():
            start = time.thread_time()
            self._native.function("solve_all")(*memories)
            seconds = time.thread_time() - start
        if control.cancelled:
            raise Cancelled
        scores_or_none = tuple(
            None if score == kernel.UNKNOWN else int(score) for score in scores[::2]
        )
        return BatchResult(scores_or_none, tuple(scores[1::2].tolist()), seconds)

    def problem(self, text: str, options: Mapping[str, str]) -> Problem:
        """Parses a position, or the columns (1 to 7) played from the start; a score may follow."""
        words = text.split()
        if not 1 <= len(words) <= 2:
            raise ProblemError(f"expected a position and optionally its score, not {text[:80]!r}")
        score = _parse_score(words[1]) if len(words) == 2 else None
        if words[0].isdecimal():
            return Problem(self._after_columns(words[0], options), score)
        return Problem(self.game.position(words[0], options), score)

    def describe(self, solution: Solution) -> str:
        """Returns the result in words, such as "a win in 5 plies"."""
        if solution.score == 0:
            return "a draw"
        result, plies = "win" if solution.score > 0 else "loss", MATE - abs(solution.value)
        return f"a {result} in {plies} {'ply' if plies == 1 else 'plies'}"

    def make_book(self, plies: int, work: Path, progress: Progress) -> bytes:
        """Returns the content of a book file, see `engine.solvers.connect_four_book`."""
        control = Control()
        self.book, self._bits, self._memory = Book(to_words({})), BOOK_TABLE_BITS, None

        def solve(board: Board, lower_bound: int, clear_table: bool) -> tuple[Entry, int]:
            if clear_table:
                self._clear_table()
            else:
                self._used_bits = self._bits
            # Each search begins with a small part of the table, even after a long one.
            self._start_search(Limit(), control)
            return self._find_best(board, control, lower_bound), int(
                self._work_words()[kernel.NODES]
            )

        book = make_book(solve, plies, work, progress)
        self._clear_table()

        def find_result(board: Board) -> Entry:
            self._used_bits = self._bits
            self._start_search(Limit(), control)
            # The whole table at once: the entries of one position help the next.
            self._work_words()[kernel.TABLE_SHIFT] = 64 - self._bits
            self._work_words()[kernel.GROW_AT] = NO_LIMIT
            return self._find_result(board, control)

        results = make_results(
            book, find_result, RESULT_DISCS, work.with_name(f"{work.name}.results"), progress
        )
        words: bytes = to_words(book | results).tobytes()
        return words

    def _after_columns(self, digits: str, options: Mapping[str, str]) -> Position:
        position = self.game.start(options)
        for i, digit in enumerate(digits, 1):
            column = ord(digit) - ord("1")
            if column not in position.moves():
                raise ProblemError(
                    f"{digits[:80]!r}: disc {i} cannot be dropped into column {digit}"
                )
            position = position.play(column)
        return position

    def _work_words(self) -> Any:
        if self._memory is None:
            self._memory = huge_memory(kernel.TABLE + (1 << self._bits))
        return self._memory.array

    def _start_search(self, limit: Limit, control: Control) -> None:
        work = self._work_words()
        work[: kernel.MOVES] = 0
        work[kernel.NODE_LIMIT] = limit.nodes or NO_LIMIT
        work[kernel.MAX_BITS] = self._bits
        work[kernel.TABLE_SHIFT] = 64 - kernel.SMALL_BITS
        work[kernel.GROW_AT] = kernel.NODES_PER_ENTRY << kernel.SMALL_BITS
        control.clear_published()

    def _clear_table(self) -> None:
        """Clears the used part of the table.

        A batch may have used all of it, a search the part to which it had grown.
        """
        work = self._work_words()
        last_bits = 64 - int(work[kernel.TABLE_SHIFT]) if work[kernel.TABLE_SHIFT] else 0
        used = 1 << max(last_bits, self._used_bits)
        work[kernel.DEEP_TABLE : kernel.TABLE + used] = 0
        self._used_bits = 0

    def _grant_nodes(self, nodes: int) -> None:
        """Grants the next search `nodes` nodes; after `expire` it still stops at once."""
        work = self._work_words()
        work[kernel.STOP] = 0
        work[kernel.NODE_LIMIT] = int(work[kernel.NODES]) + nodes
        work[kernel.POLL] = 0

    def _score(self, board: Board, low: int, high: int, control: Control) -> int:
        """Returns the score of a position, clamped to low and high.

        Raises LimitReached at a limit.
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
        if self._work_words()[kernel.STOP]:
            raise LimitReached
        return score

    def _find_best(self, board: Board, control: Control, lower_bound: int = -CELLS) -> Entry:
        """Returns the score, which must be at least `lower_bound`, and a move that reaches it."""
        work = self._work_words()
        last_cutoff = kernel.MOVES + board[1].bit_count() * kernel.PLY_WORDS + kernel.LAST_BEST
        work[last_cutoff] = 0
        score = self._score(board, lower_bound, CELLS, control)
        # The move of the last cutoff is usually the best, and the table still holds most of its
        # proof. So every move gets a few nodes before any move gets many.
        last = int(work[last_cutoff])
        order = sorted(columns(board), key=lambda column: not last >> 7 * column & COLUMN_BITS)
        limit, nodes = int(work[kernel.NODE_LIMIT]), PROOF_NODES
        while True:
            refuted = 0
            for column in order:
                self._grant_nodes(min(nodes, limit - int(work[kernel.NODES])))
                try:
                    score_of_move = -self._score(drop(board, column), -score, 1 - score, control)
                except LimitReached:
                    if work[kernel.EXPIRED] or work[kernel.NODES] >= limit:
                        raise
                    continue
                if score_of_move == score:
                    work[kernel.NODE_LIMIT] = limit
                    return Entry(score, column)
                refuted += 1
            if refuted == len(order):
                raise AssertionError(f"no move of {board} reaches its score of {score}")
            nodes *= PROOF_GROWTH

    def _score_moves(
        self, board: Board, best: Entry, nodes: int, control: Control
    ) -> tuple[SolvedMove, ...]:
        """Returns the best move, then the others by score.

        A score that needs too many nodes is a bound.
        """
        others = []
        for column in columns(board):
            if column == best.column:
                continue
            self._grant_nodes(nodes)
            try:
                score = -self._score(drop(board, column), -best.score, CELLS, control)
                others.append(SolvedMove(column, score, _value(board, score)))
            except LimitReached:
                others.append(SolvedMove(column, best.score, _value(board, best.score), "upper"))
        others.sort(key=lambda move: -move.score)
        return (SolvedMove(best.column, best.score, _value(board, best.score)), *others)

    def _find_line(
        self, board: Board, best: Entry, nodes: int, control: Control
    ) -> tuple[int, ...]:
        """Returns the principal variation, to the end if `nodes` suffice."""
        self._grant_nodes(nodes)
        line = []
        while True:
            line.append(best.column)
            board = drop(board, best.column)
            if is_over(board):
                break
            try:
                best = self._find_exact(board, None, Limit(), control)
            except LimitReached:
                break
        return tuple(line)


def _board(position: Position) -> Board:
    mine, discs = position.state
    return int(mine), int(discs)


def _score_and_bound(entry: Entry) -> tuple[int, Bound]:
    """The score of an entry; a bound where the entry says only who wins."""
    if is_exact(entry):
        return entry.score, "exact"
    return (1, "lower") if entry.score == WON else (-1, "upper")


def _value(board: Board, score: int) -> int:
    """The score in the search's units: MATE minus the plies to the fourth disc in a row."""
    if score == 0:
        return 0
    count = board[1].bit_count()
    discs_of_winner = CELLS // 2 + 1 - abs(score)
    if score > 0:
        return MATE - (2 * (discs_of_winner - count // 2) - 1)
    return 2 * (discs_of_winner - (count + 1) // 2) - MATE


def _parse_score(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ProblemError(f"a score is a whole number, not {text[:40]!r}") from None


def make_solver(game: Game) -> ConnectFourSolver:
    return ConnectFourSolver(game)
