"""The work memory of a searching thread: its settings before a search, its results after it.

No compiled code is called here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engine.compiler.intrinsics import Memory
from engine.game import Position
from engine.search import layout
from engine.search.features import ALL, BASIC
from engine.search.job import NO_COUNTS, Counts
from engine.search.layout import NO_LIMIT as NO_LIMIT
from engine.search.report import Report

#: The bound of `Settings.contempt`, either way, in the evaluation's units.
MAX_CONTEMPT = 1000
#: The mask of a salt: it is stored as a signed 64-bit number.
SALT_WORD = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a search: the `lines` best moves, and those less than `margin` below the best
    one, get exact scores.

    With `exact_depth` the score is that of a plain minimax to the same depth.
    `features` are bits of `engine.search.features`. `contempt` is the cost of a draw for the side
    to move at the root.
    """

    margin: int = 0
    lines: int = 1
    exact_depth: bool = False
    features: int = ALL
    contempt: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.lines <= layout.MAX_LINES:
            raise ValueError(f"lines are 1 to {layout.MAX_LINES}, not {self.lines}")
        if abs(self.contempt) > MAX_CONTEMPT:
            raise ValueError(f"contempt is at most {MAX_CONTEMPT} either way, not {self.contempt}")

    def salt(self, turn: int) -> int:
        """The word that is XORed into the table's keys: 0 without contempt.

        It keeps values with contempt apart, which are valid for one side at the root and for this
        contempt only.
        """
        if not self.contempt:
            return 0
        return ((2 * self.contempt + turn) * 0x9E3779B97F4A7C15) & SALT_WORD | 1


class Work:
    """The words W of the kernel, for one thread."""

    def __init__(self, max_moves: int) -> None:
        self._max_moves = max_moves
        self._root_at = layout.root_offset(max_moves)
        self.words: Any = np.zeros(layout.work_words(max_moves), np.int64)
        self.memory = Memory(self.words)
        self.wants_best_only = True

    def begin(
        self,
        position: Position,
        moves: Sequence[int],
        table_bits: int,
        age: int,
        settings: Settings,
    ) -> None:
        """Clears the previous search and sets up a new one, whose first depth has no limit."""
        words = self.words
        past = position.past[-layout.MAX_PAST :]
        is_exact = settings.exact_depth
        words[: layout.BUFFERS] = 0
        words[layout.KILLERS : layout.HISTORY] = -1
        words[layout.CURRENT_MOVE : layout.BUFFERS] = layout.NO_MOVE
        words[layout.NODE_LIMIT] = NO_LIMIT
        words[layout.EXACT_DEPTH] = is_exact
        words[layout.FEATURES] = settings.features & BASIC if is_exact else settings.features
        words[layout.TABLE_SHIFT] = 64 - table_bits
        words[layout.AGE] = age
        words[layout.LINES] = min(settings.lines, len(moves))
        words[layout.DRAW_VALUE] = -settings.contempt
        words[layout.ROOT_TURN] = turn = position.turn
        words[layout.SALT] = settings.salt(turn)
        words[layout.PAST] = len(past)
        words[layout.PATH - len(past) : layout.PATH] = np.array(past, np.uint64).view(np.int64)
        words[layout.ROOT_COUNT] = len(moves)
        self.wants_best_only = settings.lines == 1 and settings.margin == 0
        self.set_root_moves(moves)

    def set_root_moves(self, moves: Sequence[int]) -> None:
        """Sets the root's moves, in the order in which to search them."""
        self.words[self._root_at :][: len(moves)] = moves

    def allow_stop(self, nodes: int | None) -> None:
        """Lets the search stop from now on, at this many nodes or when it is expired."""
        self.words[layout.NODE_LIMIT] = NO_LIMIT if nodes is None else nodes
        self.words[layout.MAY_STOP] = 1
        self.words[layout.POLL] = 0

    def expire(self) -> None:
        self.words[layout.EXPIRED] = 1

    @property
    def is_stopped(self) -> bool:
        return bool(self.words[layout.STOP])

    @property
    def nodes(self) -> int:
        return int(self.words[layout.NODES])

    @property
    def horizons(self) -> int:
        return int(self.words[layout.HORIZONS])

    @property
    def counts(self) -> Counts:
        """The counts so far. Another thread may read them while the search runs."""
        first, later, hits, table_cuts = self.words[layout.FIRST_CUTS :][:4].tolist()
        return Counts(first + later, first, hits, table_cuts)

    def report(
        self,
        depth: int,
        score: int,
        seconds: float,
        solved: bool,
        nodes: int,
        counts: Counts = NO_COUNTS,
    ) -> Report:
        """The report of the depth that was just completed.

        `nodes` and `counts` are those of all threads.
        """
        words, count = self.words, int(self.words[layout.ROOT_COUNT])
        columns = self._columns(count)
        move_nodes = columns.pop()
        scored = list(zip(*columns, strict=True))
        order = sorted(range(count), key=lambda i: -scored[i][1])
        line = tuple(words[layout.PV :][: int(words[layout.PV_LENGTH])].tolist())
        lines = tuple(self._line(i) if scored[i][2] == layout.EXACT else () for i in order)
        return Report(
            depth, score, nodes, seconds, line, tuple(scored[i] for i in order), solved, lines,
            tuple(move_nodes[i] for i in order), counts,
        )  # fmt: skip

    def amended(
        self,
        report: Report,
        score: int,
        line: tuple[int, ...],
        nodes: int,
        seconds: float,
        counts: Counts,
    ) -> Report:
        """The report with the best move of an unfinished depth in front.

        The other moves have their latest scores, at most the score of the best move.
        """
        columns = self._columns(int(self.words[layout.ROOT_DONE]))[:3]
        latest = {row[0]: row for row in zip(*columns, strict=True)}
        others = [
            latest.get(move, (move, known, bound))
            for move, known, bound in report.moves
            if move != line[0]
        ]
        capped = sorted(
            ((move, min(known, score), bound) for move, known, bound in others),
            key=lambda each: -each[1],
        )
        moves = ((line[0], score, layout.EXACT), *capped)
        lines = (line, *(() for _ in capped))
        return replace(
            report, score=score, nodes=nodes, seconds=seconds, line=line, moves=moves, lines=lines,
            move_nodes=(), counts=counts,
        )  # fmt: skip

    def _columns(self, count: int) -> list[list[int]]:
        """The first root moves, their scores, bounds and nodes, in the order of their search."""
        columns = range(layout.ROOT_COLUMNS)
        return [self.words[self._root_at + i * self._max_moves :][:count].tolist() for i in columns]

    def _line(self, i: int) -> tuple[int, ...]:
        at = self._root_at + layout.ROOT_COLUMNS * self._max_moves + i * layout.LINE_WORDS
        return tuple(self.words[at + 1 :][: int(self.words[at])].tolist())
