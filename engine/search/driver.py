"""Iterative deepening around the compiled kernel: one `Searcher` a game and thread, plain data in and out.

A search runs in the thread that calls it; meanwhile another thread may call `expire`, and another process may set the
control block's CANCEL word.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from engine.game import Game, Position
from engine.native import Memory, NativeGame, compile_game
from engine.search import kernel
from engine.search.job import Info, Job, Limit, Result, SearchFailed
from engine.search.levels import choose
from engine.search.report import Report, level_for, line_tokens, nodes_per_second, resolve, solved_info, to_info
from engine.solvers.base import Solution, named_solver

NO_LIMIT = 1 << 62
SMALL_TABLE_BITS = 16
NEXT_DEPTH_SHARE = 0.6
"""A depth is not begun when this much of the time is gone: it would hardly be completed."""
SOLVER_SHARE = 0.8
"""So much of the time a solver may take; if it has no result by then, a search takes the rest."""


class Cancelled(Exception):
    """The asking process set CANCEL."""


class Table:
    """A transposition table of 2**bits entries, for one game's states."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        self.memory = Memory(np.zeros(2 << bits, np.uint64))

    @property
    def size_bytes(self) -> int:
        return int(self.memory.array.nbytes)


class Control:
    """The control block: words shared with the process that asks, or private ones."""

    def __init__(self, words: Any = None) -> None:
        block = np.zeros(kernel.CONTROL_WORDS, np.int64) if words is None else np.frombuffer(words, np.int64)
        self.memory = Memory(block)

    @property
    def cancelled(self) -> bool:
        return bool(self.memory.array[kernel.CANCEL])

    def clear_shown(self) -> None:
        """Forgets what an earlier search showed; CANCEL belongs to the asking process."""
        self.memory.array[kernel.CANCEL + 1 :] = 0

    def shown(self) -> tuple[int, int, int, tuple[int, ...]]:
        """Nodes, depth, score and line of the running search; the line is empty before the first one is found."""
        while True:
            before = int(self.memory.array[kernel.SEQUENCE])
            words = self.memory.array.tolist()
            if before % 2 == 0 and before == int(self.memory.array[kernel.SEQUENCE]):
                line = words[kernel.SEEN_PV :][: words[kernel.SEEN_PV_LENGTH]]
                return words[kernel.SEEN_NODES], words[kernel.SEEN_DEPTH], words[kernel.SEEN_SCORE], tuple(line)


@dataclass(frozen=True, slots=True)
class Running:
    """A search that is under way, for a companion thread: how long it may take, how to end it, how far it has come."""

    seconds: float | None
    expire: Callable[[], None]
    live: Callable[[], Info | None]


Watch = Callable[[Running], AbstractContextManager[None]]


def unwatched(running: Running) -> AbstractContextManager[None]:
    return nullcontext()


class Searcher:
    """The search of one game: its compiled kernel and work memory."""

    def __init__(self, game: Game, template: ModuleType = kernel) -> None:
        self.game = game
        self.native: NativeGame = compile_game(game, template)
        self.solver = named_solver(game)
        self._max_moves = int(game.rules.MAX_MOVES)
        self._root_at = kernel.root_offset(self._max_moves)
        self._work = np.zeros(kernel.work_words(self._max_moves), np.int64)
        self._memory = Memory(self._work)

    def prepare(self) -> None:
        """Compiles the search and the game's solver, or loads them from the cache."""
        self.native.function("root")
        if self.solver is not None:
            self.solver.prepare()

    def expire(self) -> None:
        """Ends the running search as soon as a depth is complete; may be called from another thread."""
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
        techniques: int = kernel.ALL,
        on_depth: Callable[[Report], None] = lambda report: None,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Report:
        """The last completed depth within the limit, depth 1 at least; Cancelled when the control block says so.

        The caller sees to the time limit: it calls `expire`, from within `around`. `exact_depth` is the profile in
        which the score is that of a plain minimax to the same depth. `techniques` are bits of kernel.TECHNIQUE.
        """
        self.native.function("root")
        moves = position.moves()
        if not moves:
            raise SearchFailed("the match is over, there is nothing to search")
        self._begin(table, position, exact_depth, techniques)
        control.clear_shown()
        with around():
            return self._deepen(position, limit, table, control, margin, on_depth, clock)

    def _deepen(
        self,
        position: Position,
        limit: Limit,
        table: Table,
        control: Control,
        margin: int,
        on_depth: Callable[[Report], None],
        clock: Callable[[], float],
    ) -> Report:
        begun = clock()
        work = self._work
        state = tuple(int(word) for word in position.state)
        memories = (self._memory, table.memory, control.memory, self.native.data)
        deepest = min(limit.depth or kernel.MAX_PLY - 2, kernel.MAX_PLY - 2)
        report = None
        for depth in range(1, deepest + 1):
            horizons = work[kernel.HORIZONS]
            score = self.native.function("root")(state, depth, margin, *memories)
            if control.cancelled:
                raise Cancelled
            if work[kernel.STOP]:
                break
            report = self._report(depth, int(score), clock() - begun, bool(work[kernel.HORIZONS] == horizons))
            on_depth(report)
            if _is_enough(report, limit):
                break
            work[self._root_at :][: len(report.moves)] = [move for move, _, _ in report.moves]
            work[kernel.NODE_LIMIT] = limit.nodes or NO_LIMIT
            work[kernel.MAY_STOP] = 1
            work[kernel.POLL] = 0
        assert report is not None, "depth 1 cannot be stopped"
        return report

    def _begin(self, table: Table, position: Position, exact_depth: bool, techniques: int) -> None:
        work = self._work
        moves = position.moves()
        past = position.past[-kernel.MAX_PAST :]
        work[: kernel.BUFFERS] = 0
        work[kernel.KILLERS : kernel.HISTORY] = -1
        work[kernel.NODE_LIMIT] = NO_LIMIT
        work[kernel.MADE : kernel.BUFFERS] = kernel.NO_MOVE
        work[kernel.EXACT_DEPTH] = exact_depth
        work[kernel.TECHNIQUES] = techniques & kernel.BASIC if exact_depth else techniques
        work[kernel.TABLE_SHIFT] = 64 - table.bits
        work[kernel.ROOT_COUNT] = len(moves)
        work[kernel.PAST] = len(past)
        work[kernel.PATH - len(past) : kernel.PATH] = np.array(past, np.uint64).view(np.int64)
        work[self._root_at :][: len(moves)] = moves

    def _report(self, depth: int, score: int, seconds: float, solved: bool) -> Report:
        work, count = self._work, int(self._work[kernel.ROOT_COUNT])
        columns = (work[self._root_at + i * self._max_moves :][:count].tolist() for i in range(3))
        moves = sorted(zip(*columns, strict=True), key=lambda scored: -scored[1])
        line = tuple(work[kernel.PV :][: int(work[kernel.PV_LENGTH])].tolist())
        return Report(depth, score, int(work[kernel.NODES]), seconds, line, tuple(moves), solved)


def _is_enough(report: Report, limit: Limit) -> bool:
    """Deeper searches could change nothing, or would not be completed."""
    end_seen = kernel.MATE - abs(report.score) <= report.depth
    late = limit.time_ms is not None and report.seconds * 1000 >= limit.time_ms * NEXT_DEPTH_SHARE
    out_of_nodes = limit.nodes is not None and report.nodes >= limit.nodes
    return report.solved or end_seen or late or out_of_nodes


def answer(
    job: Job,
    searcher: Searcher,
    table: Callable[[], Table],
    control: Control,
    *,
    on_info: Callable[[Info], None] = lambda info: None,
    watch: Watch = unwatched,
    time_ms: int | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Result:
    """Runs a job, in `time_ms` where that is less than the job's own time.

    Where time alone is the limit, the game's solver is asked first, for a position that is in its reach. `table` gives
    the room's table; it is asked for only where the level does not promise the same move each time.
    """
    position = resolve(job, searcher.game)
    level = level_for(job, searcher.game).at(job.seed, position.digest())
    times = [given for given in (level.limit.time_ms, time_ms) if given is not None]
    limit = msgspec.structs.replace(level.limit, time_ms=min(times, default=None))
    begun = clock()
    solution = _solved(position, limit, searcher, control, watch)
    if solution is not None:
        solved = solved_info(position, solution)
        on_info(solved)
        return Result(solved.pv[0], solved)
    if limit.time_ms is not None:
        limit = msgspec.structs.replace(limit, time_ms=max(0, round(limit.time_ms - (clock() - begun) * 1000)))
    latest: list[Info] = []

    def found(report: Report) -> None:
        latest[:] = [to_info(position, report)]
        on_info(latest[0])

    def live() -> Info | None:
        return _live_info(position, latest[0], control, clock() - begun) if latest else None

    running = Running(None if limit.time_ms is None else limit.time_ms / 1000, searcher.expire, live)
    searcher.search(
        position,
        limit,
        Table(SMALL_TABLE_BITS) if level.repeatable else table(),
        control,
        margin=level.margin,
        on_depth=found,
        around=lambda: watch(running),
        clock=clock,
    )
    info = latest[0]
    return Result(choose(info.moves, level.margin, job.seed, position.digest()).move, info)


def _solved(position: Position, limit: Limit, searcher: Searcher, control: Control, watch: Watch) -> Solution | None:
    """What the game's solver says, if it has one that is surely in time."""
    solver = searcher.solver
    if solver is None or limit.depth is not None or limit.nodes is not None or not position.moves():
        return None
    time_ms = None if limit.time_ms is None else round(limit.time_ms * SOLVER_SHARE)
    if not solver.reaches(position, time_ms):
        return None
    running = Running(None if time_ms is None else time_ms / 1000, solver.expire, lambda: None)
    return solver.solve(position, limit, control, around=lambda: watch(running))


def _live_info(position: Position, latest: Info, control: Control, seconds: float) -> Info:
    """The latest completed depth with live counts, and the best line of the unfinished depth once there is one."""
    nodes, depth, score, line = control.shown()
    info = msgspec.structs.replace(
        latest, nodes=nodes, nps=nodes_per_second(nodes, seconds), time_ms=round(seconds * 1000)
    )
    if depth <= latest.depth:
        return info
    return msgspec.structs.replace(info, depth=depth, score=score, pv=line_tokens(position, line))
