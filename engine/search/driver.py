"""The driver of the compiled kernel: `Searcher` deepens iteratively, and `answer` runs a job.

A search runs in the thread that calls it. Meanwhile another thread may call `expire`, and another
process may set the control block's CANCEL word. A thread needs a `Searcher` of its own.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import msgspec
import numpy as np

from engine.compiler.code_cache import note_ready
from engine.compiler.interpreted import interpret_game
from engine.compiler.intrinsics import Memory
from engine.compiler.native import compile_game
from engine.game import Game, GameError, GameFault, Position
from engine.search import kernel, layout
from engine.search.features import ALL, FEATURE, PROBE
from engine.search.job import MAX_JOB_LINES, Counts, Info, Job, Limit, Result, SearchFailed
from engine.search.levels import TIME_MS, choose
from engine.search.record import SearchRecord
from engine.search.report import (
    Report,
    add_counts,
    level_of_job,
    line_tokens,
    nodes_per_second,
    resolve,
    solved_info,
    to_info,
)
from engine.search.threads import helper_threads
from engine.search.timeman import Pace, budget
from engine.search.uncompiled import WARMING_MS, plays_in_full
from engine.search.work import NO_LIMIT as NO_LIMIT
from engine.search.work import Settings, Work
from engine.solvers.base import Solution, StudySolver, TableSolver, load_solver

#: The table of a search that must be repeatable has 2**16 entries.
SMALL_TABLE_BITS = 16
#: The size of a cache line, in 64-bit words. A bucket must not straddle two lines.
CACHE_LINE_WORDS = 8
#: The ages that a table entry can hold: search numbers wrap around after this many.
AGES = 64
#: The longest time for a solver, in milliseconds, unless its game's TOP_LEVEL_TIME_MS is longer. It
#: is short because a solver reports no progress.
SOLVER_MS = 1000
#: The share of that time after which a search takes over from a solver without a result.
SOLVER_SHARE = 0.8


class Cancelled(Exception):
    """The process that requested the search set CANCEL."""


class Table:
    """A transposition table of 2**bits entries, for one game's states."""

    def __init__(self, bits: int) -> None:
        self.bits = bits
        words = np.zeros((2 << bits) + CACHE_LINE_WORDS, np.uint64)
        skipped = -(words.ctypes.data // 8) % CACHE_LINE_WORDS
        self.memory = Memory(words[skipped:][: 2 << bits])
        self._age = 0

    def next_age(self) -> int:
        """The age of the next search's entries; entries of older searches are replaced first."""
        self._age = (self._age + 1) % AGES
        return self._age

    @property
    def size_bytes(self) -> int:
        return int(self.memory.array.nbytes)


class Control:
    """The control block: memory shared with the process that requests searches, or by default
    memory of its own.
    """

    def __init__(self, words: Any = None) -> None:
        block = (
            np.zeros(layout.CONTROL_WORDS, np.int64)
            if words is None
            else np.frombuffer(words, np.int64)
        )
        self.memory = Memory(block)

    @property
    def cancelled(self) -> bool:
        return bool(self.memory.array[layout.CANCEL])

    def clear_published(self) -> None:
        """Clears what an earlier search published; CANCEL belongs to the requesting process."""
        self.memory.array[layout.CANCEL + 1 :] = 0

    def published(self) -> tuple[int, int, int, tuple[int, ...]]:
        """Nodes, depth, score and best line of the running search; the line is empty until the
        search has published one.
        """
        while True:
            before = int(self.memory.array[layout.SEQUENCE])
            words = self.memory.array.tolist()
            if before % 2 == 0 and before == int(self.memory.array[layout.SEQUENCE]):
                line = words[layout.PUBLISHED_PV :][: words[layout.PUBLISHED_PV_LENGTH]]
                return (
                    words[layout.PUBLISHED_NODES],
                    words[layout.PUBLISHED_DEPTH],
                    words[layout.PUBLISHED_SCORE],
                    tuple(line),
                )


@dataclass(frozen=True, slots=True)
class Running:
    """What a companion thread needs to watch a search: its time limit in seconds, a function that
    ends it, and one that returns its progress.
    """

    seconds: float | None
    expire: Callable[[], None]
    live: Callable[[], Info | None]


#: Returns the context in which a search runs, such as one that starts a companion thread.
Watch = Callable[[Running], AbstractContextManager[None]]


def unwatched(running: Running) -> AbstractContextManager[None]:
    return nullcontext()


def default_features(game: Game) -> int:
    """The bits of all features but those that the game's rules file names in DISABLED."""
    bits = ALL
    for name in game.rules.DISABLED:
        if name not in FEATURE:
            raise GameFault(
                f"{game.id} names {name!r} in DISABLED; features are {', '.join(FEATURE)}"
            )
        bits &= ~FEATURE[name]
    return bits


class Searcher:
    """The search of one game: its kernel, and work memory for each thread of a search.

    With `compiled` False the kernel runs as plain Python: ready at once, but slow and without a
    solver. With `with_solver` False there is no solver until `add_solver` is called.
    """

    def __init__(
        self,
        game: Game,
        template: ModuleType = kernel,
        *,
        compiled: bool = True,
        with_solver: bool = True,
    ) -> None:
        if game.rules.SEARCH == "teach":
            raise GameError(f"{game.title} has no levels: the production search does not play it")
        self.game = game
        self.is_compiled = compiled
        # a NativeGame or an InterpretedGame
        self.native: Any = (
            compile_game(game, template) if compiled else interpret_game(game, template)
        )
        self.solver = load_solver(game) if compiled and with_solver else None
        self.features = default_features(game)
        self._works = [Work(int(game.rules.MAX_MOVES))]
        self._thread_count = 1
        self._data: Any = self.native.data
        self._clock: Callable[[], float] = time.perf_counter
        self._time_start: float | None = None

    def prepare(self) -> None:
        """Compiles the search and the game's solver, or loads them from the cache."""
        self.prepare_search()
        self.add_solver()

    def prepare_search(self) -> None:
        """Compiles the search, or loads it from the cache."""
        self.native.function("root")
        if self.is_compiled:
            note_ready(self.game.id, self.game.digest, "search")

    def add_solver(self) -> None:
        """Compiles the game's solver, if it has one, or loads it from the cache. Later answers use
        it.
        """
        solver = self.solver if self.solver is not None else load_solver(self.game)
        if solver is not None:
            solver.prepare()
            if isinstance(solver, TableSolver) and solver.data is not None:
                self._data = Memory(solver.data)
        self.solver = solver
        note_ready(self.game.id, self.game.digest, "solver")

    @property
    def counts(self) -> Counts:
        """The cut-offs and table hits of the running search, or of the last one.

        Another thread may read them.
        """
        return add_counts([work.counts for work in self._works[: self._thread_count]])

    def expire(self) -> None:
        """Ends the running search, but not before its first depth is complete.

        Another thread may call it.
        """
        self._works[0].expire()

    def ponderhit(self) -> None:
        """Starts to count the limit's time, because the opponent played the expected move.

        Another thread may call it. That thread also enforces the hard bound by calling `expire`.
        """
        self._time_start = self._clock()

    def search(
        self,
        position: Position,
        limit: Limit,
        table: Table,
        control: Control,
        *,
        margin: int = 0,
        exact_depth: bool = False,
        features: int | None = None,
        lines: int = 1,
        contempt: int = 0,
        searchmoves: Sequence[int] = (),
        threads: int = 1,
        pondering: bool = False,
        on_depth: Callable[[Report], None] = lambda report: None,
        timer: Callable[[], AbstractContextManager[None]] = nullcontext,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Report:
        """The report of the last completed depth within the limit; depth 1 always completes.

        When one best move is wanted and the unfinished depth has found a better one, that move is
        the first of the report. Raises Cancelled when the control block says so.

        The search runs within the context `timer`. The caller enforces the hard bound of the
        limit's time (`engine.search.timeman`) there, by calling `expire` from another thread.
        `searchmoves` are the root moves to search, by default all; raises SearchFailed when one of
        them is not legal, or the position has no moves. A pondering search counts no time until
        `ponderhit`. Several threads search the same position with one table; their result is not
        repeatable. The features are by default those of the game. The other arguments are described
        in Settings.
        """
        self.native.function("root")
        chosen = self.features if features is None else features
        settings = Settings(margin, lines, exact_depth, chosen, contempt)
        if threads < 1:
            raise ValueError(f"threads are 1 or more, not {threads}")
        moves = _root_moves(position, searchmoves)
        while len(self._works) < threads:
            self._works.append(Work(int(self.game.rules.MAX_MOVES)))
        self._thread_count = threads
        age = table.next_age()
        for work in self._works[:threads]:
            work.begin(position, moves, table.bits, age, settings)
        control.clear_published()
        self._clock = clock
        self._time_start = None if pondering else clock()
        with (
            timer(),
            helper_threads(self.native, self._works[1:threads], position, table.memory, self._data),
        ):
            return self._deepen(position, limit, table, control, margin, threads, on_depth)

    def _deepen(
        self,
        position: Position,
        limit: Limit,
        table: Table,
        control: Control,
        margin: int,
        threads: int,
        on_depth: Callable[[Report], None],
    ) -> Report:
        begun = self._clock()
        work = self._works[0]
        state = tuple(int(word) for word in position.state)
        memories = (work.memory, table.memory, control.memory, self._data)
        pace = Pace(budget(limit), len(position.moves()))
        deepest = (
            layout.MAX_PLY - 2 if limit.depth is None else min(limit.depth, layout.MAX_PLY - 2)
        )
        report = None
        for depth in range(1, deepest + 1):
            horizons = work.horizons
            score = self.native.function("root")(state, depth, margin, *memories)
            if control.cancelled:
                raise Cancelled
            nodes = sum(each.nodes for each in self._works[:threads])
            if work.is_stopped:
                seconds = self._clock() - begun
                report = self._with_better_move(report, control, nodes, seconds, on_depth)
                break
            report = work.report(
                depth, int(score), self._clock() - begun, work.horizons == horizons, nodes,
                self.counts,
            )  # fmt: skip
            on_depth(report)
            if _is_final(report, limit) or pace.is_enough(
                self._used_ms(), report.moves[0][0], report.score
            ):
                break
            work.set_root_moves([move for move, _, _ in report.moves])
            work.allow_stop(None if limit.nodes is None else -(-limit.nodes // threads))
        assert report is not None, "depth 1 cannot be stopped"
        return report

    def _with_better_move(
        self,
        report: Report | None,
        control: Control,
        nodes: int,
        seconds: float,
        on_depth: Callable[[Report], None],
    ) -> Report | None:
        """The report, with the better move in front if the unfinished depth has found one.

        The best move of the completed depth is searched first, so a new one has beaten it.
        """
        work = self._works[0]
        _, depth, score, line = control.published()
        if (
            report is None
            or not work.wants_best_only
            or depth <= report.depth
            or line[:1] == report.line[:1]
        ):
            return report
        report = work.amended(report, score, line, nodes, seconds, self.counts)
        on_depth(report)
        return report

    def _used_ms(self) -> float:
        """The used part of the limit's time, in milliseconds: 0 while the search ponders."""
        return 0.0 if self._time_start is None else (self._clock() - self._time_start) * 1000


def _root_moves(position: Position, searchmoves: Sequence[int]) -> list[int]:
    """The legal moves, or those in `searchmoves`, in the order of the rules.

    Raises SearchFailed when there are none, or one in `searchmoves` is not legal.
    """
    legal = position.moves()
    if not legal:
        raise SearchFailed("the match is over: there is no move to search")
    wrong = [move for move in searchmoves if move not in legal]
    if wrong:
        raise SearchFailed(
            f"not all of the moves to search are legal: {', '.join(map(str, wrong))}"
        )
    return [move for move in legal if not searchmoves or move in searchmoves]


def _is_final(report: Report, limit: Limit) -> bool:
    """True if a deeper search cannot change the result, or has no nodes left.

    A win or loss within the depth is a forced end; with features that reduce, a nearer one may
    exist.
    """
    end_seen = layout.MATE - abs(report.score) <= report.depth
    out_of_nodes = limit.nodes is not None and report.nodes >= limit.nodes
    return report.solved or end_seen or out_of_nodes


def answer(
    job: Job,
    searcher: Searcher,
    table: Callable[[], Table],
    control: Control,
    *,
    on_info: Callable[[Info], None] = lambda info: None,
    watch: Watch = unwatched,
    time_ms: int | None = None,
    threads: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> Result:
    """Runs a job, within `time_ms` where that is less than the job's own time.

    A repeatable level, an uncompiled search, or a search that is not live uses one thread, an empty
    table and no endgame tables; otherwise `table` returns the room's table. When time is the only
    limit, or the job has `solver_nodes`, the game's solver is tried first where the position is
    within its reach. An uncompiled
    search plays a level in full, however long that takes, or marks its answer as `warming` (see
    `engine.search.uncompiled`).
    """
    position = resolve(job, searcher.game)
    level = level_of_job(job, searcher.game).at(job.seed, position.digest())
    is_shortened = not searcher.is_compiled and not plays_in_full(searcher.game, job)
    is_isolated = level.repeatable or not searcher.is_compiled or job.use != "live"
    limit = _limit(level.limit, time_ms, searcher.is_compiled, is_shortened)
    begun = clock()
    if job.use != "live" and job.level is None:
        solution = _study(position, job.solver_nodes, searcher, control, watch)
    else:
        solution = _solve(position, limit, searcher, control, watch)
    if solution is not None:
        solved = solved_info(position, solution)
        on_info(solved)
        return Result(solved.pv[0], solved)
    if limit.time_ms is not None:  # deduct the solver's time
        left_ms = max(0, round(limit.time_ms - (clock() - begun) * 1000))
        limit = msgspec.structs.replace(
            limit, time_ms=left_ms if job.level is None else min(left_ms, TIME_MS)
        )
    latest: list[Info] = []
    record = SearchRecord()
    lines = max(1, min(job.lines, MAX_JOB_LINES)) if job.level is None else 1

    def report_depth(report: Report) -> None:
        info = record.add(report, to_info(position, report, with_lines=lines > 1))
        latest[:] = [msgspec.structs.replace(info, warming=is_shortened)]
        on_info(latest[0])

    def live() -> Info | None:
        if not latest:
            return None
        return _live_info(position, latest[0], control, searcher.counts, clock() - begun)

    bounds = budget(limit)
    running = Running(None if bounds is None else bounds.hard_ms / 1000, searcher.expire, live)
    searcher.search(
        position,
        limit,
        Table(SMALL_TABLE_BITS) if is_isolated else table(),
        control,
        margin=level.margin,
        exact_depth=level.plain,
        lines=lines,
        # PROBE is off because not every worker has the endgame tables
        features=searcher.features & ~PROBE if is_isolated else searcher.features,
        threads=1 if is_isolated else threads,
        on_depth=report_depth,
        timer=lambda: watch(running),
        clock=clock,
    )
    info = latest[0]
    return Result(choose(info.moves, level.margin, job.seed, position.digest()).move, info)


def _limit(limit: Limit, time_ms: int | None, is_compiled: bool, is_shortened: bool) -> Limit:
    """The limit of a job with `time_ms` left.

    A job that is played in full uncompiled has no time limit, because its node limit is low.
    """
    if not is_compiled and not is_shortened:
        return msgspec.structs.replace(limit, time_ms=None)
    times = [
        given
        for given in (limit.time_ms, time_ms, WARMING_MS if is_shortened else None)
        if given is not None
    ]
    return msgspec.structs.replace(limit, time_ms=min(times, default=None))


def _solve(
    position: Position, limit: Limit, searcher: Searcher, control: Control, watch: Watch
) -> Solution | None:
    """The solution of the game's solver, or None if there is none in time."""
    solver = searcher.solver
    if solver is None or limit.depth is not None or limit.nodes is not None or not position.moves():
        return None
    if _may_draw_by_repetition(position):
        return None
    bounds = budget(limit)
    longest_ms = max(SOLVER_MS, position.game.rules.TOP_LEVEL_TIME_MS)
    given_ms = SOLVER_MS if bounds is None else min(round(bounds.hard_ms), longest_ms)
    time_ms = round(given_ms * SOLVER_SHARE)
    if not solver.can_solve(position, time_ms):
        return None
    running = Running(time_ms / 1000, solver.expire, lambda: None)
    bounded = Limit(time_ms=given_ms)
    return solver.solve(position, bounded, control, timer=lambda: watch(running))


def _study(
    position: Position, nodes: int, searcher: Searcher, control: Control, watch: Watch
) -> Solution | None:
    """What the game's solver proves within fixed nodes, or None if that says nothing."""
    solver = searcher.solver
    if not isinstance(solver, StudySolver) or not nodes or not position.moves():
        return None
    if _may_draw_by_repetition(position):
        return None
    running = Running(None, solver.expire, lambda: None)
    return solver.study(position, nodes, control, timer=lambda: watch(running))


def _may_draw_by_repetition(position: Position) -> bool:
    """True if another occurrence of some past position would end the match.

    A solver ignores the history of the match; a search does not.
    """
    times = position.game.rules.REPETITION
    return times > 0 and max(Counter(position.past).values(), default=0) >= times - 1


def _live_info(
    position: Position, latest: Info, control: Control, counts: Counts, seconds: float
) -> Info:
    """The latest completed depth with the current counts, and with the best line of the unfinished
    depth as soon as there is one.
    """
    nodes, depth, score, line = control.published()
    # The published count lags behind: the search may have completed a depth since.
    nodes = max(nodes, latest.nodes)
    info = msgspec.structs.replace(
        latest, nodes=nodes, nps=nodes_per_second(nodes, seconds), time_ms=round(seconds * 1000),
        counts=counts,
    )  # fmt: skip
    if depth <= latest.depth:
        return info
    return msgspec.structs.replace(info, depth=depth, score=score, pv=line_tokens(position, line))
