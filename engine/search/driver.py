"""Iterative deepening around the compiled kernel: one `Searcher` a game and thread, plain data in and out.

A search runs in the thread that calls it; another thread may call `expire`, another process may set the control
block's CANCEL word.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine.game import Game, GameError, GameFault, Position
from engine.native import Memory, NativeGame, compile_game
from engine.search import kernel
from engine.search.job import Bound, Info, Job, Limit, Result, RootMove, RulesChanged, SearchFailed
from engine.search.levels import Level, choose, level_of

NO_LIMIT = 1 << 62
SMALL_TABLE_BITS = 16
BOUNDS: dict[int, Bound] = {kernel.EXACT: "exact", kernel.LOWER: "lower", kernel.UPPER: "upper"}
NEXT_DEPTH_SHARE = 0.6
"""A depth is not begun when this much of the time is gone: it would hardly be completed."""


class Cancelled(Exception):
    """The asking process set CANCEL."""


class Table:
    """A transposition table of 2**bits entries; one state belongs to one game's rules only."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.memory = Memory(np.zeros(2 << bits, np.uint64))

    @property
    def size_bytes(self) -> int:
        return int(self.memory.array.nbytes)

    def clear(self) -> None:
        self.memory.array.fill(0)


class Control:
    """The control block: words shared with the process that asks, or private ones."""

    def __init__(self, words: Any = None) -> None:
        block = np.zeros(kernel.CONTROL_WORDS, np.int64) if words is None else np.frombuffer(words, np.int64)
        self.memory = Memory(block)

    @property
    def cancelled(self) -> bool:
        return bool(self.memory.array[kernel.CANCEL])


@dataclass(frozen=True, slots=True)
class Report:
    """A completed depth: `moves` hold (move, score, bound), the best one first; solved: no deeper search can differ."""

    depth: int
    score: int
    nodes: int
    seconds: float
    line: tuple[int, ...]
    moves: tuple[tuple[int, int, int], ...]
    solved: bool


class Searcher:
    """The search of one game: its compiled kernel and work memory."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.native: NativeGame = compile_game(game)
        max_moves = int(game.rules.MAX_MOVES)
        self._root_at = kernel.root_offset(max_moves)
        self._max_moves = max_moves
        self._work = np.zeros(kernel.work_words(max_moves), np.int64)
        self._memory = Memory(self._work)

    def prepare(self) -> None:
        """Compiles the search or loads it from the cache."""
        self.native.function("root")

    def expire(self) -> None:
        """Ends the running search, from another thread, as soon as a depth is complete."""
        self._work[kernel.EXPIRED] = 1

    def search(
        self,
        position: Position,
        limit: Limit,
        table: Table,
        control: Control,
        *,
        margin: int = 0,
        exact_depth: bool = False,
        on_depth: Callable[[Report], None] = lambda report: None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Report:
        """The last completed depth within the limit, depth 1 at least; Cancelled when the control block says so.

        `exact_depth` is the profile in which the score is that of a plain minimax to the same depth.
        """
        begun = clock()
        root = self.native.function("root")
        moves = position.moves()
        if not moves:
            raise SearchFailed("the match is over, there is nothing to search")
        work = self._begin(table, moves, exact_depth)
        report = None
        for depth in range(1, min(limit.depth or kernel.MAX_PLY - 2, kernel.MAX_PLY - 2) + 1):
            horizons = work[kernel.HORIZONS]
            state = tuple(int(word) for word in position.state)
            score = root(state, depth, margin, self._memory, table.memory, control.memory, self.native.data)
            if control.cancelled:
                raise Cancelled
            if work[kernel.STOP]:
                break
            report = self._report(depth, int(score), clock() - begun, bool(work[kernel.HORIZONS] == horizons))
            on_depth(report)
            if self._is_enough(report, limit):
                break
            self._sort_root(report)
            work[kernel.NODE_LIMIT] = limit.nodes or NO_LIMIT
            work[kernel.MAY_STOP] = 1
            work[kernel.POLL] = 0
        assert report is not None, "depth 1 cannot be stopped"
        return report

    def _begin(self, table: Table, moves: list[int], exact_depth: bool) -> Any:
        work = self._work
        work[: kernel.BUFFERS] = 0
        work[kernel.KILLERS : kernel.HISTORY] = -1
        work[kernel.NODE_LIMIT] = NO_LIMIT
        work[kernel.EXACT_DEPTH] = exact_depth
        work[kernel.TABLE_SHIFT] = 64 - table.bits
        work[kernel.ROOT_COUNT] = len(moves)
        work[self._root_at : self._root_at + len(moves)] = moves
        return work

    def _report(self, depth: int, score: int, seconds: float, solved: bool) -> Report:
        work, at, count = self._work, self._root_at, int(self._work[kernel.ROOT_COUNT])
        columns = (work[at + i * self._max_moves :][:count].tolist() for i in range(3))
        moves = sorted(zip(*columns, strict=True), key=lambda scored: -scored[1])
        length = int(work[kernel.PV_LENGTH])
        line = tuple(work[kernel.PV : kernel.PV + length].tolist())
        return Report(depth, score, int(work[kernel.NODES]), seconds, line, tuple(moves), solved)

    def _sort_root(self, report: Report) -> None:
        self._work[self._root_at : self._root_at + len(report.moves)] = [move for move, _, _ in report.moves]

    @staticmethod
    def _is_enough(report: Report, limit: Limit) -> bool:
        """Deeper searches could change nothing, or would not be completed."""
        end_seen = kernel.MATE - abs(report.score) <= report.depth
        late = limit.time_ms is not None and report.seconds * 1000 >= limit.time_ms * NEXT_DEPTH_SHARE
        out_of_nodes = limit.nodes is not None and report.nodes >= limit.nodes
        return report.solved or end_seen or late or out_of_nodes


def resolve(job: Job, game: Game) -> tuple[Position, Level]:
    """The position and level that a job names; SearchError when there are none such here."""
    if job.rules != game.digest:
        raise RulesChanged(f"the rules of {game.id} are {game.digest} here, the job is for {job.rules}")
    try:
        position = game.position(job.start, job.options)
        for token in job.moves:
            position = position.play(position.parse_move(token))
        return position, Level(job.limit) if job.level is None else level_of(game.levels, job.level)
    except (GameError, GameFault, ValueError) as error:
        raise SearchFailed(f"the job cannot be searched: {error}") from error


def to_info(position: Position, report: Report) -> Info:
    """A report in tokens; the line is cut short should a table collision have put a move into it that is not legal."""
    tokens = []
    here = position
    for move in report.line:
        if move not in here.moves():
            break
        tokens.append(here.format_move(move))
        here = here.play(move)
    return Info(
        depth=report.depth,
        score=report.score,
        nodes=report.nodes,
        nps=round(report.nodes / max(report.seconds, 1e-6)),
        time_ms=round(report.seconds * 1000),
        pv=tuple(tokens),
        moves=tuple(RootMove(position.format_move(move), score, BOUNDS[bound]) for move, score, bound in report.moves),
    )


def answer(job: Job, searcher: Searcher, table: Table, control: Control, on_info: Callable[[Info], None]) -> Result:
    """Runs a job; the table is the room's and is used only where the level does not promise the same move each time."""
    position, level = resolve(job, searcher.game)
    repeatable = level.limit.time_ms is None and job.level is not None
    report = searcher.search(
        position,
        level.limit,
        Table(SMALL_TABLE_BITS) if repeatable else table,
        control,
        margin=level.margin,
        on_depth=lambda found: on_info(to_info(position, found)),
    )
    info = to_info(position, report)
    if not level.margin:
        return Result(info.moves[0].move, info)
    return Result(choose(info.moves, level.margin, job.seed, position.digest()).move, info)
