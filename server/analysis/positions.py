"""The positions of a match, the search job of each, and the stored result.

A result is a function of the moves and of the engine key, because the job has a fixed number of
nodes and starts with an empty table. A stored result has no times. Pure.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from engine.game import Game, Position
from engine.search.job import LINES, Job, Limit, Result, RootMove

#: Node limit of the search of a position.
NODES = 60_000
#: Number of best moves with exact scores and lines.
SCORED_MOVES = 3
#: Maximum length of a stored line, in moves.
MAX_LINE = 8


class CannotAnalyse(Exception):
    """The match cannot be analysed; the message says why, in a sentence for people."""


class PlyResult(Struct, frozen=True, omit_defaults=True):
    """The result of the search of a position: the score for the side to move, the best line, and
    the best moves with exact scores. It is empty if the match is over in the position.
    """

    depth: int = 0
    score: int = 0
    pv: tuple[str, ...] = ()
    moves: tuple[RootMove, ...] = ()


class Subject(Struct, frozen=True):
    """The match to analyse: its start, its moves as tokens, and its positions."""

    game: Game
    options: Mapping[str, str]
    start: str
    moves: tuple[str, ...]
    positions: tuple[Position, ...]

    @property
    def engine(self) -> str:
        """What the results depend on besides the moves."""
        return engine_key(self.game)

    @property
    def plies(self) -> int:
        """The number of positions: before each move, and after the last one."""
        return len(self.positions)

    def job(self, ply: int, identity: str) -> Job:
        """The study of a position. The identity is its affinity: identities take turns."""
        return Job(
            game=self.game.id, rules=self.game.digest, options=dict(self.options),
            start=self.start, moves=self.moves[:ply], affinity=f"study:{identity}",
            limit=Limit(nodes=NODES), needs=(LINES,), use="study", lines=SCORED_MOVES,
        )  # fmt: skip


def engine_key(game: Game) -> str:
    """What the results of a game's searches depend on besides the moves."""
    return f"{game.digest}/{NODES}/{SCORED_MOVES}"


def changed_rules(title: str) -> CannotAnalyse:
    """The error for a match whose rules have changed."""
    return CannotAnalyse(
        f"The rules of {title} have changed since this match, so it cannot be analysed."
    )


def ply_result(result: Result) -> PlyResult:
    """The stored part of a search's result."""
    info = result.info
    exact = [move for move in info.moves if move.bound == "exact"]
    best = sorted(exact, key=lambda move: -move.score)[:SCORED_MOVES]
    return PlyResult(
        info.depth, info.score, info.pv[:MAX_LINE],
        tuple(RootMove(move.move, move.score, line=move.line) for move in best),
    )  # fmt: skip


def decode_result(body: bytes) -> PlyResult:
    """Decodes a stored result. Raises msgspec.DecodeError for any other body."""
    return _decode(body)


#: Encodes a result as a stored body.
encode_result = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PlyResult).decode
