"""Personas: ways of playing other than levels. A compiled search that completes in time gives the
same move on every machine and in every run.

- `average` expects an opponent that errs: it plays the move with the best mean over all answers.
- `swindler` searches, and among the moves that give little away it plays the one after which an
  error costs the opponent most. In a lost position it chooses among all moves.
- `random` plays a random move.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.compiler.code_cache import note_ready
from engine.compiler.interpreted import BoundTemplate, interpret_game
from engine.compiler.intrinsics import Memory
from engine.compiler.native import compile_game
from engine.game import Game, Position
from engine.search import expectimax, layout
from engine.search.driver import (
    NO_LIMIT,
    SMALL_TABLE_BITS,
    Cancelled,
    Control,
    Running,
    Searcher,
    Table,
    Watch,
    unwatched,
)
from engine.search.features import PROBE
from engine.search.job import PERSONAS, Info, Job, Limit, Result, RootMove, SearchFailed
from engine.search.levels import ANY_MARGIN, TIME_MS, level_of, random_below
from engine.search.report import Report, nodes_per_second, resolve, to_info
from engine.search.uncompiled import plays_in_full
from engine.win_chance import mean_text

#: The node limit of `average`, which completes at least one ply.
AVERAGE_NODES = 200_000
#: The node limit of the swindler's search.
SWINDLER_NODES = 50_000
#: The plies in which the swindler expects errors of the opponent: its answers, our replies, and its
#: next answers.
TRAP_DEPTH = 3
#: The node limit of the search for traps, per move. If it does not suffice, all moves are searched
#: one ply less deep.
TRAP_NODES = 50_000


class Expectimax:
    """The expectimax search of one game, compiled or not."""

    def __init__(self, game: Game, compiled: bool = True) -> None:
        self._native: BoundTemplate = (
            compile_game(game, expectimax) if compiled else interpret_game(game, expectimax)
        )
        self._words: Any = np.zeros(expectimax.work_words(int(game.rules.MAX_MOVES)), np.int64)
        self._memory = Memory(self._words)

    def prepare(self) -> None:
        """Compiles the function, or loads it from the cache."""
        self._native.function("expectimax")

    def begin(self, turn: int) -> None:
        """Resets the node count and the expiry, for a root at which this seat is to move."""
        self._words[: expectimax.BUFFERS] = 0
        self._words[expectimax.ROOT_TURN] = turn

    def expire(self) -> None:
        """Ends the running search. Another thread may call it."""
        self._words[expectimax.EXPIRED] = 1

    @property
    def nodes(self) -> int:
        """The positions searched since `begin`."""
        return int(self._words[expectimax.NODES])

    def value(
        self, position: Position, depth: int, ply: int, nodes: int | None, control: Control
    ) -> Fraction | None:
        """The value of a position for its side to move, with an opponent of the root that errs.

        None if the nodes or the time do not suffice. With `nodes` None there is no limit, which
        only a search of a single ply may use. Raises Cancelled when the control block says so.
        """
        words = self._words
        words[expectimax.STOP] = 0
        words[expectimax.POLL] = NO_LIMIT if nodes is None else 0
        words[expectimax.NODE_LIMIT] = (
            NO_LIMIT if nodes is None else words[expectimax.NODES] + nodes
        )
        state = tuple(int(word) for word in position.state)
        units = self._native.function("expectimax")(
            state, depth, ply, self._memory, control.memory, self._native.data
        )
        if control.cancelled:
            raise Cancelled
        return None if words[expectimax.STOP] else Fraction(int(units), expectimax.UNIT)


@dataclass(frozen=True, slots=True)
class _Request:
    """One search: its position, the seed that decides between equal moves, and the callback for
    infos.
    """

    position: Position
    seed: str
    control: Control
    on_info: Callable[[Info], None]
    clock: Callable[[], float]
    begun_s: float

    def pick(self, values: dict[int, Fraction]) -> int:
        """The best move; among equals the seed decides."""
        best = max(values.values())
        equal = [move for move, value in values.items() if value == best]
        return equal[random_below(self.seed, len(equal))]


class Personas:
    """The personas of one game, which use its search.

    Uncompiled, the personas that search ahead answer with the deepest result that they complete in
    time, and mark it as `Info.warming`.
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._is_compiled = searcher.is_compiled
        self._expectimax = Expectimax(searcher.game, searcher.is_compiled)

    def prepare(self) -> None:
        """Compiles the personas' searches, or loads them from the cache."""
        self._expectimax.prepare()
        if self._is_compiled:
            note_ready(self._searcher.game.id, self._searcher.game.digest, "persona")

    def answer(
        self,
        job: Job,
        control: Control,
        *,
        on_info: Callable[[Info], None] = lambda info: None,
        watch: Watch = unwatched,
        time_ms: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> Result:
        """Runs a job that names a persona, within `time_ms` and at most TIME_MS.

        Raises SearchFailed for a finished match or another name, Cancelled when the control block
        says so.
        """
        position = resolve(job, self._searcher.game)
        if not position.moves():
            raise SearchFailed("the match is over: there is no move to choose")
        latest: list[Info] = []
        is_shortened = not plays_in_full(self._searcher.game, job) and not self._is_compiled

        def report_info(info: Info) -> None:
            latest[:] = [replace(info, warming=is_shortened)]
            on_info(latest[0])

        control.clear_published()
        self._expectimax.begin(position.turn)
        request = _Request(
            position, f"{job.seed}:{position.digest()}", control, report_info, clock, clock()
        )
        seconds = min(TIME_MS, TIME_MS if time_ms is None else time_ms) / 1000
        with watch(Running(seconds, self._expire, lambda: latest[0] if latest else None)):
            match job.persona:
                case "average":
                    return Result(self._average(request), latest[0])
                case "swindler":
                    return Result(self._swindle(request, seconds), latest[0])
                case "random":
                    return _random(request)
        raise SearchFailed(f"there is no persona {job.persona!r}; there are {', '.join(PERSONAS)}")

    def _expire(self) -> None:
        self._searcher.expire()
        self._expectimax.expire()

    def _average(self, request: _Request) -> str:
        """The move to play: deepens until the nodes do not suffice or the tree has ended."""
        values: dict[int, Fraction] = {}
        info, nodes = Info(0, 0, 0, 0, 0, ()), -1
        for depth in range(1, expectimax.MAX_DEPTH):
            before = self._expectimax.nodes
            deeper = self._values(
                request,
                request.position.moves(),
                depth,
                None if depth == 1 else AVERAGE_NODES - before,
            )
            if deeper is None:
                break
            values = deeper
            info = self._info(request, values, depth)
            request.on_info(info)
            if self._expectimax.nodes - before == nodes:
                break  # the tree ends above this depth
            nodes = self._expectimax.nodes - before
        return info.pv[0]

    def _swindle(self, request: _Request, seconds: float) -> str:
        """The move that expectimax prefers among those that the search finds good enough.

        Uncompiled, each of the two searches has half of the time, and the answer is the best move
        of the first when expectimax has no result.
        """
        seconds = seconds if self._is_compiled else seconds / 2
        game = self._searcher.game
        margin = level_of(game, 1).margin
        report = self._search(request, margin, seconds)
        if report.score < -layout.MATE_BOUND and self._is_compiled:
            report = self._search(request, ANY_MARGIN, seconds)
            margin = ANY_MARGIN
        info = to_info(request.position, report)
        request.on_info(info)
        good = [
            move
            for move, score, bound in report.moves
            if bound == layout.EXACT and score > report.score - margin
        ]
        if report.score > layout.MATE_BOUND or len(good) < 2:
            return info.pv[0]
        for depth in range(TRAP_DEPTH, 0, -1):
            is_unlimited = depth == 1 and self._is_compiled
            values = self._values(
                request, good, depth + 1, None if is_unlimited else TRAP_NODES * len(good)
            )
            if values is not None:
                return request.position.format_move(request.pick(values))
        if not self._is_compiled:
            return info.pv[0]
        raise AssertionError("nothing stops a search of one ply")

    def _search(self, request: _Request, margin: int, seconds: float) -> Report:
        limit = Limit(nodes=SWINDLER_NODES, time_ms=max(1, round(seconds * 1000)))
        table = Table(SMALL_TABLE_BITS)
        features = self._searcher.features & ~PROBE
        return self._searcher.search(
            request.position,
            limit,
            table,
            request.control,
            margin=margin,
            features=features,
            clock=request.clock,
        )

    def _values(
        self, request: _Request, moves: Sequence[int], depth: int, nodes: int | None
    ) -> dict[int, Fraction] | None:
        """The value of each move against an opponent that errs; None if the nodes or the time do
        not suffice.
        """
        values: dict[int, Fraction] = {}
        allowed = None if nodes is None else self._expectimax.nodes + nodes
        for move in moves:
            left = None if allowed is None else allowed - self._expectimax.nodes
            after = request.position.play(move)
            value = self._expectimax.value(after, depth - 1, 1, left, request.control)
            if value is None:
                return None
            values[move] = value if after.turn == request.position.turn else -value
        return values

    def _info(self, request: _Request, values: dict[int, Fraction], depth: int) -> Info:
        best = request.pick(values)
        ordered = sorted(values, key=lambda move: (-values[move], move != best))
        scores = tuple(
            RootMove(request.position.format_move(move), _mean_score(values[move]))
            for move in ordered
        )
        seconds = request.clock() - request.begun_s
        nodes = self._expectimax.nodes
        per_second = nodes_per_second(nodes, seconds)
        return Info(
            depth,
            scores[0].score,
            nodes,
            per_second,
            round(seconds * 1000),
            (scores[0].move,),
            scores,
            value=mean_text(scores[0].score),
        )


def _mean_score(value: Fraction) -> int:
    """A mean in points, never beyond MATE_BOUND: it proves no forced end.

    Only a move that ends the match keeps its score, because no other value is as far from 0.
    """
    score = round(value)
    if abs(score) == layout.MATE - 1:
        return score
    return max(-layout.MATE_BOUND, min(layout.MATE_BOUND, score))


def _random(request: _Request) -> Result:
    tokens = request.position.tokens()
    move = tokens[random_below(request.seed, len(tokens))]
    info = Info(0, 0, 0, 0, 0, (move,))
    request.on_info(info)
    return Result(move, info)
