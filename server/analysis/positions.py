"""The positions of a match, the search job of each, and the stored result.

A result is a function of the moves and of the engine key, because the job has a fixed number of
nodes and starts with an empty table. A stored result has no times. Pure.
"""

from collections.abc import Mapping

import msgspec
from msgspec import Struct
from msgspec.structs import replace

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

    Where a solver has proved the result, `moves` are the best of those whose result it has proved,
    and `is_partial` says that it has not proved that of every move.
    """

    depth: int = 0
    score: int = 0
    pv: tuple[str, ...] = ()
    moves: tuple[RootMove, ...] = ()
    is_partial: bool = False


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
            solver_nodes=self.game.rules.SOLVER_NODES,
        )  # fmt: skip


def engine_key(game: Game) -> str:
    """What the results of a game's searches depend on besides the moves."""
    return f"{game.digest}/{NODES}/{SCORED_MOVES}/{game.rules.SOLVER_NODES}"


def changed_rules(title: str) -> CannotAnalyse:
    """The error for a match whose rules have changed."""
    return CannotAnalyse(
        f"The rules of {title} have changed since this match, so it cannot be analysed."
    )


def ply_result(position: Position, result: Result) -> PlyResult:
    """The stored part of the result of a position's search."""
    info = result.info
    known = [move for move in info.moves if move.bound == "exact" or move.proven]
    best = sorted(known, key=lambda move: -move.score)[:SCORED_MOVES]
    is_proven = any(move.proven and move.move in info.pv[:1] for move in info.moves)
    return PlyResult(
        info.depth, info.score, info.pv[:MAX_LINE],
        tuple(replace(move, nodes=0, exact=()) for move in best),
        is_proven and len(info.moves) < len(position.moves()),
    )  # fmt: skip


def decode_result(body: bytes) -> PlyResult:
    """Decodes a stored result. Raises msgspec.DecodeError for any other body."""
    return _decode(body)


#: Encodes a result as a stored body.
encode_result = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(PlyResult).decode
