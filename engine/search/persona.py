"""Ways of playing that are no levels: the same choice wherever and however often a job is run.

- `average` takes its opponent for somebody who may err: it plays the move that is best on the mean
  of all answers.
- `swindler` sees what the search sees, and of the moves that give little away it plays the one
  after which the opponent has most to lose by an error; where all is lost, of all moves.
- `random` moves by lot.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from msgspec.structs import replace

from engine.compiler.code_cache import note_ready
from engine.compiler.interpreted import Bound, interpret_game
from engine.compiler.native import Memory, compile_game
from engine.game import Game, Position
from engine.search import expectimax as expectimax
from engine.search import layout
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
from engine.search.job import PERSONAS, Info, Job, Limit, Result, RootMove, SearchFailed
from engine.search.levels import ANY_MARGIN, TIME_MS, level_of, lot
from engine.search.report import Report, nodes_per_second, resolve, to_info
from engine.search.uncompiled import plays_in_full

#: Means are taken over so many positions at most: as deep as that goes, and one ply in any case.
AVERAGE_NODES = 200_000
SWINDLER_NODES = 50_000
#: What an opponent may get wrong is looked at so deep: its answers, ours to them, and its next
#: ones.
TRAP_DEPTH = 3
#: The same, for one move at most; where that is too little, a ply less for all of them.
TRAP_NODES = 50_000


class Expectimax:
    """Average min-max for one game, compiled or not."""

    def __init__(self, game: Game, compiled: bool = True) -> None:
        self._native: Bound = (
            compile_game(game, expectimax) if compiled else interpret_game(game, expectimax)
        )
        self._words: Any = np.zeros(expectimax.work_words(int(game.rules.MAX_MOVES)), np.int64)
        self._memory = Memory(self._words)

    def prepare(self) -> None:
        """Compiles the function, or loads it from the cache."""
        self._native.function("expectimax")

    def begin(self) -> None:
        """Counts from 0 again, and time is not over."""
        self._words[: expectimax.BUFFERS] = 0

    def expire(self) -> None:
        """Ends what is running; may be called from another thread."""
        self._words[expectimax.EXPIRED] = 1

    @property
    def nodes(self) -> int:
        """How many positions were looked at since `begin`."""
        return int(self._words[expectimax.NODES])

    def value(
        self, position: Position, depth: int, ply: int, nodes: int | None, control: Control
    ) -> Fraction | None:
        """What a position is worth to the side to move, who may err at an odd ply; None if so many
        nodes, or the time, did not suffice. Nothing stops it where no number is given: that is for
        a single ply.

        Raises Cancelled when the control block says so.
        """
        words = self._words
        words[expectimax.STOP] = 0
        words[expectimax.POLL] = NO_LIMIT if nodes is None else 0
        words[expectimax.NODE_LIMIT] = (
            NO_LIMIT if nodes is None else words[expectimax.NODES] + nodes
        )
        state = tuple(int(word) for word in position.state)
        found = self._native.function("expectimax")(
            state, depth, ply, self._memory, control.memory, self._native.data
        )
        if control.cancelled:
            raise Cancelled
        return None if words[expectimax.STOP] else Fraction(int(found), expectimax.UNIT)


@dataclass(frozen=True, slots=True)
class _Asked:
    """One search: its position, what decides between equals, and whom to tell."""

    position: Position
    seed: str
    control: Control
    on_info: Callable[[Info], None]
    clock: Callable[[], float]
    begun: float

    def pick(self, worth: dict[int, Fraction]) -> int:
        """The best move; among equals the seed decides."""
        best = max(worth.values())
        equal = [move for move, value in worth.items() if value == best]
        return equal[lot(self.seed, len(equal))]


class Personas:
    """The personas of one game, around its search.

    Where that is not compiled, those that look ahead see as much as they do in their time, and say
    so (`Info.warming`).
    """

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher
        self._is_compiled = searcher.is_compiled
        self._averager = Expectimax(searcher.game, searcher.is_compiled)

    def prepare(self) -> None:
        """Compiles what they need, or loads it from the cache."""
        self._averager.prepare()
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
        """Runs a job that names a persona, within `time_ms` and the time of a level.

        Raises SearchFailed for a finished match or another name, Cancelled when the control block
        says so.
        """
        position = resolve(job, self._searcher.game)
        if not position.moves():
            raise SearchFailed("the match is over: there is no move to choose")
        latest: list[Info] = []
        is_short = not plays_in_full(self._searcher.game, job) and not self._is_compiled

        def tell(info: Info) -> None:
            latest[:] = [replace(info, warming=is_short)]
            on_info(latest[0])

        control.clear_shown()
        self._averager.begin()
        asked = _Asked(position, f"{job.seed}:{position.digest()}", control, tell, clock, clock())
        seconds = min(TIME_MS, TIME_MS if time_ms is None else time_ms) / 1000
        with watch(Running(seconds, self._expire, lambda: latest[0] if latest else None)):
            match job.persona:
                case "average":
                    return Result(self._average(asked), latest[0])
                case "swindler":
                    return Result(self._swindle(asked, seconds), latest[0])
                case "random":
                    return _by_lot(asked)
        raise SearchFailed(f"there is no persona {job.persona!r}; there are {', '.join(PERSONAS)}")

    def _expire(self) -> None:
        self._searcher.expire()
        self._averager.expire()

    def _average(self, asked: _Asked) -> str:
        """Deeper and deeper, until the nodes do not suffice for another ply or there is none."""
        worth: dict[int, Fraction] = {}
        info, nodes = Info(0, 0, 0, 0, 0, ()), -1
        for depth in range(1, expectimax.MAX_DEPTH):
            before = self._averager.nodes
            found = self._worth(
                asked, asked.position.moves(), depth, None if depth == 1 else AVERAGE_NODES - before
            )
            if found is None:
                break
            worth = found
            info = self._info(asked, worth, depth)
            asked.on_info(info)
            if self._averager.nodes - before == nodes:
                break  # the tree ends above this depth
            nodes = self._averager.nodes - before
        return info.pv[0]

    def _swindle(self, asked: _Asked, seconds: float) -> str:
        """The search says which moves are good enough, the means after them which one to play.
        Uncompiled, each of the two has half of the time, and where that is too little for the means
        the search's best move is played.
        """
        seconds = seconds if self._is_compiled else seconds / 2
        game = self._searcher.game
        margin = level_of(game, 1).margin
        report = self._search(asked, margin, seconds)
        if report.score < -layout.MATE_BOUND and self._is_compiled:
            report = self._search(asked, ANY_MARGIN, seconds)
            margin = ANY_MARGIN
        info = to_info(asked.position, report)
        asked.on_info(info)
        good = [
            move
            for move, score, bound in report.moves
            if bound == layout.EXACT and score > report.score - margin
        ]
        if report.score > layout.MATE_BOUND or len(good) < 2:
            return info.pv[0]
        for depth in range(TRAP_DEPTH, 0, -1):
            is_sure = depth == 1 and self._is_compiled
            worth = self._worth(asked, good, depth + 1, None if is_sure else TRAP_NODES * len(good))
            if worth is not None:
                return asked.position.format_move(asked.pick(worth))
        if not self._is_compiled:
            return info.pv[0]
        raise AssertionError("nothing stops a look of one ply")

    def _search(self, asked: _Asked, margin: int, seconds: float) -> Report:
        limit = Limit(nodes=SWINDLER_NODES, time_ms=max(1, round(seconds * 1000)))
        table = Table(SMALL_TABLE_BITS)
        features = self._searcher.features & ~layout.PROBE
        return self._searcher.search(
            asked.position,
            limit,
            table,
            asked.control,
            margin=margin,
            features=features,
            clock=asked.clock,
        )

    def _worth(
        self, asked: _Asked, moves: Sequence[int], depth: int, nodes: int | None
    ) -> dict[int, Fraction] | None:
        """What each move is worth where the other side errs; None if so many nodes, or the time,
        did not suffice.
        """
        worth = {}
        allowed = None if nodes is None else self._averager.nodes + nodes
        for move in moves:
            left = None if allowed is None else allowed - self._averager.nodes
            value = self._averager.value(
                asked.position.play(move), depth - 1, 1, left, asked.control
            )
            if value is None:
                return None
            worth[move] = -value
        return worth

    def _info(self, asked: _Asked, worth: dict[int, Fraction], depth: int) -> Info:
        best = asked.pick(worth)
        ordered = sorted(worth, key=lambda move: (-worth[move], move != best))
        scores = tuple(
            RootMove(asked.position.format_move(move), round(worth[move])) for move in ordered
        )
        seconds = asked.clock() - asked.begun
        nodes = self._averager.nodes
        per_second = nodes_per_second(nodes, seconds)
        return Info(
            depth,
            scores[0].score,
            nodes,
            per_second,
            round(seconds * 1000),
            (scores[0].move,),
            scores,
        )


def _by_lot(asked: _Asked) -> Result:
    tokens = asked.position.tokens()
    move = tokens[lot(asked.seed, len(tokens))]
    info = Info(0, 0, 0, 0, 0, (move,))
    asked.on_info(info)
    return Result(move, info)
