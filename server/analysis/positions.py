"""The positions of a match, the search job of each, and the result that is stored.

A result is a function of the moves and of the engine key: the job has fixed nodes and starts with
an empty table, and a stored result has no times. Pure.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from engine.game import Game, Position
from engine.search.job import LINES, Job, Limit, Result, RootMove

#: The nodes of the search of a position.
NODES = 60_000
#: The number of best moves that get exact scores and lines.
SCORED_MOVES = 3
#: The longest stored line, in moves.
MAX_LINE = 8


class CannotAnalyse(Exception):
    """A match cannot be analysed; the message says why, in a sentence for people."""


class PlyResult(Struct, frozen=True, omit_defaults=True):
    """The search of a position: the score for the side to move, the best line, and the best moves
    with exact scores. It is empty for a position in which the match is over.
    """

    depth: int = 0
    score: int = 0
    pv: tuple[str, ...] = ()
    moves: tuple[RootMove, ...] = ()


class Subject(Struct, frozen=True):
    """A match as the analysis needs it: its start, its moves as tokens, and its positions."""

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
        """The search of a position, as a study of an identity: the engines are fair among them."""
        return Job(
            game=self.game.id, rules=self.game.digest, options=dict(self.options),
            start=self.start, moves=self.moves[:ply], affinity=f"study:{identity}",
            limit=Limit(nodes=NODES), needs=(LINES,), use="study", lines=SCORED_MOVES,
        )  # fmt: skip


def engine_key(game: Game) -> str:
    """What the results of a game's searches depend on besides the moves."""
    return f"{game.digest}/{NODES}/{SCORED_MOVES}"


def changed_rules(title: str) -> CannotAnalyse:
    """The refusal of a match whose rules have changed."""
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
    """The result in a stored body. Raises msgspec.DecodeError for any other body."""
    return _decode(body)


#: The stored body of a result.
encode_result = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PlyResult).decode
