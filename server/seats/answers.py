"""Checks an engine worker's answers and progress messages against the uncompiled rules.

The server passes nothing from a worker to a room or a client unchecked. Pure.
"""

from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.search.job import MATE, Info, Job, Result, SearchFailed
from engine.strategies.contract import MAX_LOG_BYTES, MAX_VALUE

#: Longest principal variation that is shown during a search, in moves. Checking each move costs a
#: move generation.
LIVE_PV_MOVES = 8
#: Longest principal variation that is stored with a move, in moves.
STORED_PV_MOVES = 16
#: Greatest plausible depth, in plies.
MAX_DEPTH = 1000
#: Greatest plausible number of nodes, and of nodes per second. A browser reads larger numbers in
#: JSON inexactly.
MAX_COUNT = 2**53 - 1
#: Longest plausible search time, in ms: a day.
MAX_TIME_MS = 86_400_000


class ImpossibleAnswer(Exception):
    """A worker's answer or progress message cannot be true.

    The text of this exception quotes nothing that the worker sent.
    """


def position_of(job: Job, game: Game) -> Position:
    """The position of a job after its moves. Raises SearchFailed if the job has no position."""
    try:
        position = game.position(job.start, job.options)
        for token in job.moves:
            position = position.replay(token)
    except (GameError, GameFault) as error:
        raise SearchFailed(f"the job cannot be searched: {error}") from error
    if job.digest and position.digest() != job.digest:
        raise SearchFailed("the job's moves do not lead to the position of its digest")
    return position


def clean_text(text: str) -> str:
    """Returns lines of text without control and format characters."""
    if not text or text.replace("\n", "").isprintable():
        return text
    return "".join([c if c == "\n" or c.isprintable() else "?" for c in text])


class Checker:
    """Checks the messages about one search of one position.

    Its methods raise ImpossibleAnswer, and SearchFailed when the rules fail.
    """

    def __init__(self, position: Position) -> None:
        self._root = position
        try:
            self._tokens = frozenset(position.tokens())
        except GameFault as error:
            raise SearchFailed(str(error)) from error
        #: The positions of the last checked variation, by their moves. The next variation usually
        #: begins with the same moves.
        self._positions: dict[tuple[str, ...], Position] = {}

    def check_result(self, result: Result) -> Result:
        """The result with its info checked. Its move must be a legal token."""
        if result.move not in self._tokens:
            raise ImpossibleAnswer("an illegal move")
        return replace(result, info=self.check_info(result.info, STORED_PV_MOVES))

    def check_info(self, info: Info, max_moves: int = LIVE_PV_MOVES) -> Info:
        """The checked info, with at most `max_moves` moves of its variation, all of them legal."""
        for number, limit in (
            (info.depth, MAX_DEPTH),
            (info.nodes, MAX_COUNT),
            (info.nps, MAX_COUNT),
        ):
            if not 0 <= number <= limit:
                raise ImpossibleAnswer("an impossible count")
        if not 0 <= info.time_ms <= MAX_TIME_MS:
            raise ImpossibleAnswer("an impossible time")
        if any(
            abs(score) > MATE for score in (info.score, *(scored.score for scored in info.moves))
        ):
            raise ImpossibleAnswer("an impossible score")
        tokens = {scored.move for scored in info.moves}
        if len(tokens) != len(info.moves) or not tokens <= self._tokens:
            raise ImpossibleAnswer("scores of illegal moves")
        if info.pv and info.pv[0] not in self._tokens:
            raise ImpossibleAnswer("an illegal principal variation")
        return replace(
            info, pv=self._legal_prefix(info.pv[:max_moves]),
            value=clean_text(info.value[:MAX_VALUE]), log=clean_text(info.log[:MAX_LOG_BYTES]),
        )  # fmt: skip

    def _legal_prefix(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """The longest legal prefix of a variation."""
        last, checked, position = self._positions, {}, self._root
        for length, token in enumerate(line, 1):
            prefix = line[:length]
            after = last.get(prefix)
            if after is None:
                try:
                    canonical, after, _ = position.advance(token)
                except GameError:
                    line = line[: length - 1]
                    break
                except GameFault as error:
                    raise SearchFailed(str(error)) from error
                if canonical != token:  # not the move's token but another notation of it
                    line = line[: length - 1]
                    break
            checked[prefix] = position = after
        self._positions = checked
        return line
