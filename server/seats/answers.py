"""Checks an engine worker's answers and progress messages against the uncompiled rules.

The server passes nothing from a worker to a room or a client unchecked. Pure.
"""

from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from engine.null_move import NoNullMove, null_move
from engine.search.job import (
    MATE,
    MAX_DEPTHS,
    MAX_EXACT_DEPTHS,
    MAX_LINE_MOVES,
    DepthBest,
    Info,
    Job,
    Result,
    RootMove,
    SearchFailed,
)
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
    """The position that a job searches. Raises SearchFailed if the job has no position."""
    try:
        position = game.position(job.start, job.options)
        for token in job.moves:
            position = position.replay(token)
    except (GameError, GameFault) as error:
        raise SearchFailed(f"the job cannot be searched: {error}") from error
    if job.digest and position.digest() != job.digest:
        raise SearchFailed("the job's moves do not lead to the position of its digest")
    if not job.null_move:
        return position
    try:
        return null_move(position)
    except (NoNullMove, GameFault) as error:
        raise SearchFailed(f"the job has no null move: {error}") from error


def clean_text(text: str) -> str:
    """Returns lines of text without control and format characters."""
    if not text or text.replace("\n", "").isprintable():
        return text
    return "".join([c if c == "\n" or c.isprintable() else "?" for c in text])


def _check_counts(info: Info) -> None:
    """Raises ImpossibleAnswer for numbers or lengths that no search has."""
    counts, moves, depths = info.counts, info.moves, info.depths
    if not (
        0 <= info.depth <= MAX_DEPTH
        and 0 <= info.nodes <= MAX_COUNT
        and 0 <= info.nps <= MAX_COUNT
        and 0 <= counts.first_cuts <= counts.cuts <= MAX_COUNT
        and 0 <= counts.table_cuts <= counts.table_hits <= MAX_COUNT
        and all(0 <= move.nodes <= MAX_COUNT for move in moves)
        and all(0 <= depth <= MAX_DEPTH for move in moves for depth in move.exact)
        and all(0 <= best.depth <= MAX_DEPTH for best in depths)
    ):
        raise ImpossibleAnswer("an impossible count")
    if (
        len(depths) > MAX_DEPTHS
        or any(len(best.line) > MAX_LINE_MOVES for best in depths)
        or any(len(move.exact) > MAX_EXACT_DEPTHS for move in moves)
        or any(len(move.line) > MAX_LINE_MOVES for move in moves)
    ):
        raise ImpossibleAnswer("too many depths")


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
        #: The last checked best moves of depths: as they came, and with legal lines.
        self._depths: dict[DepthBest, DepthBest] = {}

    def check_result(self, result: Result) -> Result:
        """The result with its info checked. Its move must be a legal token."""
        if result.move not in self._tokens:
            raise ImpossibleAnswer("an illegal move")
        return replace(result, info=self.check_info(result.info, STORED_PV_MOVES))

    def check_info(self, info: Info, max_moves: int = LIVE_PV_MOVES) -> Info:
        """The checked info, with at most `max_moves` moves of its variation, all of them legal."""
        _check_counts(info)
        if not 0 <= info.time_ms <= MAX_TIME_MS:
            raise ImpossibleAnswer("an impossible time")
        scores = [info.score, *[move.score for move in info.moves]]
        scores += [best.score for best in info.depths]
        if any(abs(score) > MATE for score in scores):
            raise ImpossibleAnswer("an impossible score")
        tokens = {scored.move for scored in info.moves}
        if len(tokens) != len(info.moves) or not tokens <= self._tokens:
            raise ImpossibleAnswer("scores of illegal moves")
        if info.pv and info.pv[0] not in self._tokens:
            raise ImpossibleAnswer("an illegal principal variation")
        pv = self._legal_prefix(info.pv[:max_moves])
        return replace(
            info, pv=pv, moves=self._check_lines(info.moves),
            depths=self._check_depths(info.depths, pv),
            value=clean_text(info.value[:MAX_VALUE]), log=clean_text(info.log[:MAX_LOG_BYTES]),
        )  # fmt: skip

    def _check_lines(self, moves: tuple[RootMove, ...]) -> tuple[RootMove, ...]:
        """The moves, each with the legal prefix of its line."""
        if not any(move.line for move in moves):
            return moves
        if any(move.line and move.line[0] != move.move for move in moves):
            raise ImpossibleAnswer("a line of another move")
        lines = [self._legal_prefix(move.line) for move in moves]
        return tuple(replace(move, line=line) for move, line in zip(moves, lines, strict=True))

    def _check_depths(
        self, depths: tuple[DepthBest, ...], pv: tuple[str, ...]
    ) -> tuple[DepthBest, ...]:
        """The best moves of the depths, each with the legal prefix of its line.

        The line of a new depth is as a rule the beginning of the variation, which is legal.
        """
        checked: dict[DepthBest, DepthBest] = {}
        for best in depths:
            known = self._depths.get(best)
            if known is None:
                if not best.line or best.line[0] not in self._tokens:
                    raise ImpossibleAnswer("an illegal best move of a depth")
                is_checked = best.line == pv[: len(best.line)]
                known = best if is_checked else replace(best, line=self._legal_prefix(best.line))
            checked[best] = known
        self._depths = checked
        return tuple(checked.values())

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
