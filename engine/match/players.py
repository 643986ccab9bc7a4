"""Our own players: a search with limits or to a fixed depth, a level, a persona, and a strategy."""

import hashlib
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import structs

from engine.deadline import expiring
from engine.game import Game, Position
from engine.match.description import Clock, Description, DescriptionError, ponders
from engine.match.features import SETTINGS, check_usable, features_of
from engine.match.play import Choice, PlayerFailed, Situation
from engine.match.pondering import Pondering, Timer
from engine.search.driver import Control, Running, Searcher, Table, answer, unwatched
from engine.search.features import PROBE
from engine.search.job import (
    MAX_STRATEGY_DEPTH,
    PERSONAS,
    Job,
    Limit,
    Persona,
    RootMove,
    SearchError,
)
from engine.search.levels import Level, choose, level_of
from engine.search.persona import Personas
from engine.search.report import BOUNDS, Report
from engine.search.timeman import budget
from engine.strategies.contract import DEFAULT_DEPTH, Turn, UnknownStrategy, choices_of
from engine.strategies.evaluation import check_evaluator, default_evaluator
from engine.strategies.names import BUILT_IN
from engine.strategies.registry import load_strategy
from engine.teach.errors import TeachError

#: Default size of a search player's table, as a power of two of entries: 4 MiB.
TABLE_BITS = 18
#: Size of a level's table, as a power of two of entries: that of a room's table on a server.
ROOM_TABLE_BITS = 20
#: The limit of the search for a move to ponder on if the principal variation has none.
PONDER_MOVE_LIMIT = Limit(nodes=1_000)
#: The strategies whose choices do not depend on the seed, unless their evaluator does.
REPEATABLE = frozenset(BUILT_IN) - {"random"}


class SearchPlayer:
    """The search with the user's limits; its table is cleared before each game, or each move.

    It uses endgame tables only on request (`with=probe`), and generates missing ones. A player that
    ponders needs a searcher of its own, because it searches the position after the expected move
    while the opponent searches too.
    """

    def __init__(self, description: Description, searcher: Searcher) -> None:
        number = description.number
        self.clock = description.clock
        #: The search in the opponent's time; tests read it.
        self.pondering: Pondering | None = None
        self._searcher = searcher
        self._level = Level(
            description.limit,
            number("margin", 0),
            number("slip", 0),
            plain=description.limit.nodes == 1,
        )
        self._features = features_of(description, searcher.features)
        named = {name for setting in SETTINGS for name in description.names(setting)}
        check_usable(searcher.game, named - {"basic"})
        if "probe" in (*description.names("with"), *description.names("only")):
            searcher.prepare()
        else:
            self._features &= ~PROBE  # another player of this process may have loaded them
        self._bits = number("table_bits", TABLE_BITS)
        self._threads = number("threads", 1)
        self._contempt = number("contempt", 0)
        self._fresh = description.choice("table", ("kept", "fresh")) == "fresh"
        self._ponders = ponders(description)
        self._control = Control()
        self._table = Table(self._bits)

    def begin(self, seat: int) -> None:
        self.close()
        self._searcher.native.function("root")  # compile or load it before a clock runs
        self._table = Table(self._bits)

    def choose(self, situation: Situation) -> Choice:
        start_s = time.perf_counter()
        position = situation.position
        level = self._level.at(situation.seed, position.digest())
        left_ms = None if situation.clocks_ms is None else situation.clocks_ms[0]
        limit = self._limit(level, left_ms)
        report = self._ponder_report(situation, limit)
        if report is None:
            report = self._search(
                position, level, limit, self._control, _timed(self._searcher, limit)
            )
        moves = _root_moves(position, report) if level.margin else _root_moves(position, report)[:1]
        picked = choose(moves, level.margin, situation.seed, position.digest())
        if self._ponders:
            if self.clock is not None and left_ms is not None:
                left_ms += self.clock.increment_ms - round((time.perf_counter() - start_s) * 1000)
            self._ponder(situation, report.line, level, self._limit(level, left_ms))
        return Choice(picked.move, report.score, report.nodes)

    def close(self) -> None:
        if self.pondering is not None:
            self.pondering.cancel()
            self.pondering = None

    def _limit(self, level: Level, left_ms: int | None) -> Limit:
        """The limit of a move with `left_ms` on the clock."""
        if self.clock is None or left_ms is None:
            return level.limit
        return structs.replace(
            level.limit, clock_ms=max(1, left_ms), increment_ms=self.clock.increment_ms
        )

    def _search(
        self,
        position: Position,
        level: Level,
        limit: Limit,
        control: Control,
        timer: Timer,
        pondering: bool = False,
    ) -> Report:
        if self._fresh:
            self._table = Table(self._bits)
        return self._searcher.search(
            position, limit, self._table, control, margin=level.margin, exact_depth=level.plain,
            features=self._features, contempt=self._contempt, threads=self._threads,
            pondering=pondering, timer=timer,
        )  # fmt: skip

    def _ponder(
        self, situation: Situation, line: Sequence[int], level: Level, limit: Limit
    ) -> None:
        """Begins to search the position after the chosen move and the expected replies, where the
        player is to move again.

        It does not if the player moves again at once, or if the game is then over.
        """
        own_seat = situation.position.turn
        position = situation.position.play(line[0])
        if position.turn == own_seat or not position.moves():
            return
        replies = list(line[1:])
        expected = [*situation.moves, situation.position.format_move(line[0])]
        while position.turn != own_seat:  # one reply, or several in a game with extra turns
            # A line that ends in the table may have its first move only.
            reply = replies.pop(0) if replies else self._likely_move(position)
            expected.append(position.format_move(reply))
            position = position.play(reply)
            if not position.moves():
                return
        self.pondering = Pondering(
            self._searcher, expected,
            lambda control, timer: self._search(
                position, level, limit, control, timer, pondering=True
            ),
        )  # fmt: skip

    def _likely_move(self, position: Position) -> int:
        """The best move of a short search."""
        report = self._searcher.search(position, PONDER_MOVE_LIMIT, self._table, self._control)
        return report.line[0]

    def _ponder_report(self, situation: Situation, limit: Limit) -> Report | None:
        """The report of the ponder search after a ponder hit; None if there is none.

        The search ran in the opponent's time and continues in the player's own.
        """
        pondering, self.pondering = self.pondering, None
        bounds = budget(limit)
        if pondering is None or bounds is None:
            return None
        return pondering.end(situation.moves, bounds.hard_ms / 1000)


class LevelPlayer:
    """A level as it plays on a server: the same job, the same answer.

    A repeatable level is limited by its nodes alone, so that a game comes out the same on a machine
    that is too busy to reach them within the level's time.
    """

    clock: Clock | None = None

    def __init__(self, description: Description, searcher: Searcher) -> None:
        game = searcher.game
        if not description.value.isdecimal() or not 1 <= int(description.value) <= game.levels:
            raise DescriptionError(
                f"{game.id} has levels 1 to {game.levels}, not {description.value!r}"
            )
        self._searcher = searcher
        self._number = int(description.value)
        self._is_repeatable = level_of(game, self._number).repeatable
        self._control = Control()
        self._table: Table | None = None

    def begin(self, seat: int) -> None:
        self._searcher.native.function("root")
        self._table = None

    def choose(self, situation: Situation) -> Choice:
        try:
            result = answer(
                job_of(situation, self._number),
                self._searcher,
                self._room_table,
                self._control,
                watch=unwatched if self._is_repeatable else _watch,
                clock=_stopped_clock if self._is_repeatable else time.perf_counter,
            )
        except SearchError as error:
            raise PlayerFailed(f"the search failed: {error}") from error
        return Choice(result.move, result.info.score, result.info.nodes)

    def close(self) -> None:
        pass

    def _room_table(self) -> Table:
        if self._table is None:
            self._table = Table(ROOM_TABLE_BITS)
        return self._table


class PersonaPlayer:
    """A persona as it plays on a server."""

    clock: Clock | None = None

    def __init__(self, description: Description, searcher: Searcher) -> None:
        if description.value not in PERSONAS:
            raise DescriptionError(
                f"there is no persona {description.value!r}; there are {', '.join(PERSONAS)}"
            )
        self._persona: Persona = description.value
        self._personas = Personas(searcher)
        self._control = Control()

    def begin(self, seat: int) -> None:
        pass

    def choose(self, situation: Situation) -> Choice:
        job = structs.replace(job_of(situation), persona=self._persona)
        try:
            result = self._personas.answer(job, self._control, watch=_watch)
        except SearchError as error:
            raise PlayerFailed(f"the persona failed: {error}") from error
        return Choice(result.move, result.info.score, result.info.nodes)

    def close(self) -> None:
        pass


class FixedDepthPlayer:
    """Plays the best move of a plain search to a fixed depth; the seed breaks ties.

    Two of them are the yardsticks of level 1. At depth 1 it is the greedy player: it sees the end
    of a game, but not whether the opponent has a move left, so it may stalemate. At depth 2 it
    sees the replies: it avoids stalemate when it is ahead, and it can mate.
    """

    clock: Clock | None = None

    def __init__(self, searcher: Searcher, depth: int) -> None:
        self._searcher = searcher
        self._limit = Limit(depth=depth)
        self._control = Control()

    def begin(self, seat: int) -> None:
        pass

    def choose(self, situation: Situation) -> Choice:
        position = situation.position
        report = self._searcher.search(
            position, self._limit, Table(8), self._control, margin=1, exact_depth=True
        )
        picked = choose(_root_moves(position, report), 1, situation.seed, position.digest())
        return Choice(picked.move, report.score, report.nodes)

    def close(self) -> None:
        pass


class StrategyPlayer:
    """A strategy, as it plays on a server, but without limits of its own.

    Raises DescriptionError if it cannot play the game.
    """

    clock: Clock | None = None

    def __init__(self, description: Description, game: Game, options: dict[str, str]) -> None:
        self._depth = description.limit.depth or DEFAULT_DEPTH
        self._evaluator = evaluator_name(description, game)
        if self._depth > MAX_STRATEGY_DEPTH:
            raise DescriptionError(f"a strategy has a depth of at most {MAX_STRATEGY_DEPTH} plies")
        try:
            self._strategy = load_strategy(description.value)
            check_evaluator(description.value, game.start(options), self._evaluator)
        except (UnknownStrategy, TeachError) as error:
            raise DescriptionError(str(error)) from error

    def begin(self, seat: int) -> None:
        pass

    def choose(self, situation: Situation) -> Choice:
        turn = Turn(
            position=situation.position, seed=situation.seed, depth=self._depth,
            evaluator=self._evaluator,
        )  # fmt: skip
        try:
            *_, choice = choices_of(self._strategy, turn)
        except Exception as error:  # a strategy may raise anything
            message = f"the strategy failed: {type(error).__name__}: {error}"
            raise PlayerFailed(message) from error
        return Choice(choice.move, choice.score, choice.nodes)

    def close(self) -> None:
        pass


def evaluator_name(description: Description, game: Game) -> str:
    """Returns the evaluator of a player: its own, or the default of the game."""
    return description.settings.get("evaluator", default_evaluator(game))


def job_of(situation: Situation, level: int | None = None) -> Job:
    """The job that a server would give its pool in this situation.

    It holds only the moves that can matter for repetition.
    """
    position = situation.position
    tail = len(position.past)
    start = situation.start
    for token in situation.moves[: len(situation.moves) - tail] if tail else ():
        start = start.replay(token)
    return Job(
        game=position.game.id, rules=position.game.digest, options=dict(position.options),
        start=start.text() if tail else position.text(),
        moves=tuple(situation.moves[len(situation.moves) - tail :]),
        affinity="match", level=level, seed=situation.seed, digest=position.digest(),
    )  # fmt: skip


def game_seed(seed: int, number: int) -> int:
    """The seed of one game of a match."""
    return int.from_bytes(
        hashlib.blake2b(f"{seed}:{number}".encode(), digest_size=6).digest(), "big"
    )


def _root_moves(position: Position, report: Report) -> list[RootMove]:
    return [
        RootMove(position.format_move(move), score, BOUNDS[bound])
        for move, score, bound in report.moves
    ]


def _timed(searcher: Searcher, limit: Limit) -> Timer:
    bounds = budget(limit)
    return (
        nullcontext if bounds is None else lambda: expiring(searcher.expire, bounds.hard_ms / 1000)
    )


def _stopped_clock() -> float:
    return 0.0


def _watch(running: Running) -> AbstractContextManager[None]:
    return nullcontext() if running.seconds is None else expiring(running.expire, running.seconds)
