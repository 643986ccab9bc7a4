"""Checks what an engine worker says of a search, against the uncompiled rules: nothing that it says
reaches a room or a client unchecked. Pure.
"""

from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.search.job import MATE, Info, Job, Result, SearchFailed

#: Moves of a line of play that are checked, and shown, while a search goes on: each costs a list of
#: moves.
LINE_LIVE = 8
#: Moves of the line of play of an answer.
LINE_KEPT = 16
MAX_DEPTH = 1000
#: Above this, numbers in JSON are not exact in a browser.
MAX_COUNT = 2**53 - 1
MAX_TIME_MS = 86_400_000


class Untrue(Exception):
    """A worker said what cannot be so; the message is ours and quotes nothing of the worker's."""


def position_of(job: Job, game: Game) -> Position:
    """The position that a job of this node names, its moves replayed unchecked; SearchFailed when
    it names none.
    """
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
    """Checks what is said of one search of one position. All methods raise Untrue, and SearchFailed
    when the rules themselves fail.
    """

    def __init__(self, position: Position) -> None:
        self._root = position
        try:
            self._tokens = frozenset(position.tokens())
        except GameFault as error:
            raise SearchFailed(str(error)) from error
        #: Positions on the lines that were checked last: the next line begins like the one before.
        self._after: dict[tuple[str, ...], Position] = {}

    def result(self, result: Result) -> Result:
        """The answer, with a move that is legal here, written as this game writes it, and an info
        that can be so.
        """
        if result.move not in self._tokens:
            raise Untrue("an illegal move")
        return replace(result, info=self.info(result.info, LINE_KEPT))

    def info(self, info: Info, line: int = LINE_LIVE) -> Info:
        """The info with at most `line` moves of its line of play, which ends before the first one
        that is not legal.
        """
        for number, most in (
            (info.depth, MAX_DEPTH),
            (info.nodes, MAX_COUNT),
            (info.nps, MAX_COUNT),
        ):
            if not 0 <= number <= most:
                raise Untrue("a count that cannot be")
        if not 0 <= info.time_ms <= MAX_TIME_MS:
            raise Untrue("a time that cannot be")
        if any(abs(score) > MATE for score in (info.score, *(one.score for one in info.moves))):
            raise Untrue("a score that cannot be")
        named = {one.move for one in info.moves}
        if len(named) != len(info.moves) or not named <= self._tokens:
            raise Untrue("scores of moves that are not legal")
        if info.pv and info.pv[0] not in self._tokens:
            raise Untrue("a line of play that is not legal")
        return replace(info, pv=self._legal(info.pv[:line]))

    def _legal(self, line: tuple[str, ...]) -> tuple[str, ...]:
        """The beginning of a line that can be played."""
        before, known, here = self._after, {}, self._root
        for length, token in enumerate(line, 1):
            prefix = line[:length]
            after = before.get(prefix)
            if after is None:
                try:
                    plain, after, _ = here.advance(token)
                except GameError:
                    line = line[: length - 1]
                    break
                except GameFault as error:
                    raise SearchFailed(str(error)) from error
                if plain != token:  # another way to write a move: those who answer write tokens
                    line = line[: length - 1]
                    break
            known[prefix] = here = after
        self._after = known
        return line
