"""Checks an engine worker's statements about a search against the uncompiled rules.

Nothing from a worker reaches a room or a client unchecked. Pure.
"""

from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.search.job import MATE, Info, Job, Result, SearchFailed

#: Moves of the principal variation that are checked and shown during a search. Each costs a move
#: generation.
LIVE_PV_MOVES = 8
#: Moves of the principal variation that are kept with an answer.
STORED_PV_MOVES = 16
#: Greatest depth that is believed, in plies.
MAX_DEPTH = 1000
#: Greatest count that is believed: a browser reads larger numbers in JSON inexactly.
MAX_COUNT = 2**53 - 1
#: Longest search time that is believed: a day, in ms.
MAX_TIME_MS = 86_400_000


class ImpossibleAnswer(Exception):
    """A worker's statement is impossible.

    The message is the server's own and quotes nothing of the worker's.
    """


def position_of(job: Job, game: Game) -> Position:
    """The position of a job, its moves replayed unchecked. Raises SearchFailed when it has none."""
    try:
        position = game.position(job.start, job.options)
        for token in job.moves:
            position = position.replay(token)
    except (GameError, GameFault) as error:
        raise SearchFailed(f"the job cannot be searched: {error}") from error
    if job.digest and position.digest() != job.digest:
        raise SearchFailed("the moves of the job lead to another position than it says")
    return position


class Checker:
    """Checks the statements about one search of one position.

    Its methods raise ImpossibleAnswer, or SearchFailed when the rules fail.
    """

    def __init__(self, position: Position) -> None:
        self._root = position
        try:
            self._tokens = frozenset(position.tokens())
        except GameFault as error:
            raise SearchFailed(str(error)) from error
        #: Positions on the variation that was checked last. The next variation usually begins the
        #: same.
        self._after: dict[tuple[str, ...], Position] = {}

    def check_result(self, result: Result) -> Result:
        """The result, after checking that its move is a legal token and its info is possible."""
        if result.move not in self._tokens:
            raise ImpossibleAnswer("an illegal move")
        return replace(result, info=self.check_info(result.info, STORED_PV_MOVES))

    def check_info(self, info: Info, line: int = LIVE_PV_MOVES) -> Info:
        """The info with at most `line` moves of its variation, cut before the first illegal one."""
        for number, limit in (
            (info.depth, MAX_DEPTH),
            (info.nodes, MAX_COUNT),
            (info.nps, MAX_COUNT),
        ):
            if not 0 <= number <= limit:
                raise ImpossibleAnswer("a count that cannot be")
        if not 0 <= info.time_ms <= MAX_TIME_MS:
            raise ImpossibleAnswer("a time that cannot be")
        if any(abs(score) > MATE for score in (info.score, *(one.score for one in info.moves))):
            raise ImpossibleAnswer("a score that cannot be")
        scored = {one.move for one in info.moves}
        if len(scored) != len(info.moves) or not scored <= self._tokens:
            raise ImpossibleAnswer("scores of moves that are not legal")
        if info.pv and info.pv[0] not in self._tokens:
            raise ImpossibleAnswer("a line of play that is not legal")
        return replace(info, pv=self._legal_prefix(info.pv[:line]))

    def _legal_prefix(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """The longest prefix of a variation that is legal."""
        before, known, position = self._after, {}, self._root
        for length, token in enumerate(line, 1):
            prefix = line[:length]
            after = before.get(prefix)
            if after is None:
                try:
                    canonical, after, _ = position.advance(token)
                except GameError:
                    line = line[: length - 1]
                    break
                except GameFault as error:
                    raise SearchFailed(str(error)) from error
                if (
                    canonical != token
                ):  # another spelling of a move: workers must answer with tokens
                    line = line[: length - 1]
                    break
            known[prefix] = position = after
        self._after = known
        return line
