"""Levels of play: how far each one searches, how far from the best move it may choose, and how
often it is careless.

A level is three numbers:

- nodes: the node limit of its search. The deepest completed depth counts; depth 1 always completes.
- margin: moves that score less than this much below the best one are candidates, and the job's seed
  picks one of them.
- slip: how many moves in a thousand it plays carelessly, that is after a search of one ply without
  quiescence. The seed picks these moves. A level with 1 node, which never searches further, plays
  them at random.

So a weak level errs as people do: it overlooks the answer to its move, and it misjudges small
differences. Within its depth it gives away no more than its margin, wins at once where it can, and
avoids a lost line while there is another. Levels differ more in how often they are careless than in
how far they search, so that the weaker of two wins now and then; docs/reference/levels.md has the
measured strengths. Without random moves, the first level could not lose to an opponent that
searches one ply. No level becomes weak by moving slowly or by resigning.

Levels below the top start each move with an empty table, so that a job gives the same move on every
machine and in every run. Only the top level uses its time in full, and the table of its room.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from engine.game import Game
from engine.search.job import Limit, RootMove

#: The thinking time of a level, in milliseconds: the top level uses it, the others rarely reach it.
TIME_MS = 1000
#: A slip counts the careless moves among this many.
SLIPS_OF = 1000
#: A margin wider than any difference of two scores.
ANY_MARGIN = 1 << 17


@dataclass(frozen=True, slots=True)
class Level:
    """The play of one level; by default the best move within its limit.

    A repeatable level starts with an empty table, and reaches its node limit long before its time
    limit. A plain one takes the static evaluation at its depth, without quiescence.
    """

    limit: Limit
    margin: int = 0
    slip: int = 0
    repeatable: bool = False
    plain: bool = False

    def at(self, seed: int, position: str) -> "Level":
        """The level in one position (a digest): itself, or its careless play, as the seed picks."""
        if not self.slip or random_below(f"slip:{seed}:{position}", SLIPS_OF) >= self.slip:
            return self
        margin = ANY_MARGIN if self.limit.nodes == 1 else self.margin
        return replace(self, limit=structs.replace(self.limit, depth=1), margin=margin, plain=True)


#: Nodes, margin and slip of the levels below the top, for games without their own LEVEL_TABLE. A
#: game with fewer levels uses a selection that includes the first.
DEFAULT_LEVEL_TABLE = (
    (1, 60, 150),
    (50, 40, 200),
    (200, 30, 150),
    (800, 20, 100),
    (3_000, 15, 50),
    (15_000, 10, 0),
    (80_000, 0, 0),
)
TOP = Level(Limit(time_ms=TIME_MS))


def level_of(game: Game, level: int) -> Level:
    """Level 1 to `game.levels` of a game; ValueError for another number."""
    levels = game.levels
    if not 1 <= level <= levels:
        raise ValueError(f"levels are 1 to {levels}, not {level}")
    if level == levels:
        time_ms = game.rules.TOP_LEVEL_TIME_MS
        return TOP if time_ms <= TIME_MS else Level(Limit(time_ms=time_ms))
    if game.rules.LEVEL_TABLE:
        return level_from_row(*game.rules.LEVEL_TABLE[level - 1])
    return level_from_row(
        *DEFAULT_LEVEL_TABLE[(level - 1) * len(DEFAULT_LEVEL_TABLE) // (levels - 1)]
    )


def level_from_row(nodes: int, margin: int, slip: int) -> Level:
    """The level with these three numbers, which are a row of a level table."""
    return Level(
        Limit(nodes=nodes, time_ms=TIME_MS), margin, slip, repeatable=True, plain=nodes == 1
    )


def choose(moves: Sequence[RootMove], margin: int, seed: int, position: str) -> RootMove:
    """The move to play out of scored moves, best first: a candidate picked by seed and digest."""
    if not margin:
        return moves[0]
    best = moves[0].score
    candidates = [
        move for move in moves if move.bound == "exact" and move.score > best - margin
    ] or [moves[0]]
    return candidates[random_below(f"{seed}:{position}", len(candidates))]


def random_below(text: str, count: int) -> int:
    """A pseudo-random number below `count`: a hash, always the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % count
