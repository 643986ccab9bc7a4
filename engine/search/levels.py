"""Levels of play: how far each one looks, how far from the best move it may choose, and how often
it is careless.

A level is three numbers:

- nodes: so many positions it looks at; the deepest look that was completed counts, and one ply
  always is;
- margin: moves that score less than so much below the best one are candidates, and the job's seed
  picks one of them;
- slip: so many of a thousand moves are played carelessly, as the seed says: after a look of one ply
  only, exchanges not looked at to their end. A level that never looks further (1 node) plays such a
  move by lot, whatever comes of it.

So a weak level errs as people do. It overlooks the answer to its move, and it does not know small
differences; but it gives away no more than its margin as far as it can see, it wins at once where
it can, and it picks no line that it sees to be lost while it sees another. Levels differ in how
often they are careless more than in how far they look: so the weaker of two wins now and then, and
the one below the top looks far as well. What the top's second gives it beyond that is in
docs/reference/levels.md. Careless moves of a level of 1 node may be anything: without them the
first level
could not lose to somebody who looks one ply ahead. No level is slow, or gives up, to be weak.

Levels below the top start each move with an empty table, so that a job gives the same move wherever
and however often it is run. Only the top level uses up its time, and the table of its room.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from engine.game import Game
from engine.search.job import Limit, RootMove

#: How long a level may think: the top one does, the others hardly ever come near.
TIME_MS = 1000
SLIPS_OF = 1000
#: Wider than any two scores are apart.
ANY_MARGIN = 1 << 17


@dataclass(frozen=True, slots=True)
class Level:
    """What a level does; without nodes and margin it is the best there is in its time.

    A repeatable level starts with an empty table, and is limited by nodes before time comes into
    it. A plain one takes the evaluation after its depth as it is, with no look at the exchanges
    that follow.
    """

    limit: Limit
    margin: int = 0
    slip: int = 0
    repeatable: bool = False
    plain: bool = False

    def at(self, seed: int, position: str) -> "Level":
        """What it does about one position (a digest): what it always does, or the careless move
        that the seed wants.
        """
        if not self.slip or lot(f"slip:{seed}:{position}", SLIPS_OF) >= self.slip:
            return self
        margin = ANY_MARGIN if self.limit.nodes == 1 else self.margin
        return replace(self, limit=structs.replace(self.limit, depth=1), margin=margin, plain=True)


#: Nodes, margin and slip of the levels below the top, in a game that does not give its own
#: LEVEL_TABLE; one with fewer levels takes a selection, the first included.
LADDER = (
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
    """What level 1 to `game.levels` of a game means; ValueError for another number."""
    levels = game.levels
    if not 1 <= level <= levels:
        raise ValueError(f"levels are 1 to {levels}, not {level}")
    if level == levels:
        patience_ms = int(getattr(game.rules, "PATIENCE_MS", TIME_MS))
        return TOP if patience_ms <= TIME_MS else Level(Limit(time_ms=patience_ms))
    if game.level_table:
        return level_from(*game.level_table[level - 1])
    return level_from(*LADDER[(level - 1) * len(LADDER) // (levels - 1)])


def level_from(nodes: int, margin: int, slip: int) -> Level:
    """The level of three numbers, as they stand in a table."""
    return Level(
        Limit(nodes=nodes, time_ms=TIME_MS), margin, slip, repeatable=True, plain=nodes == 1
    )


def choose(moves: Sequence[RootMove], margin: int, seed: int, position: str) -> RootMove:
    """The move to play, of those that a search scored, best first: a candidate picked by seed and
    position digest.
    """
    if not margin:
        return moves[0]
    best = moves[0].score
    candidates = [
        move for move in moves if move.bound == "exact" and move.score > best - margin
    ] or [moves[0]]
    return candidates[lot(f"{seed}:{position}", len(candidates))]


def lot(text: str, count: int) -> int:
    """A number below count, by lot: always the same for the same text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % count
