"""Levels of play: how far each one looks, and how far from the best move it may choose.

A level is a limit on the search and a margin. Moves that score less than the margin below the best one are
candidates, and the job's seed picks one of them; so a weak level errs by a bounded amount and plays differently from
match to match, but it never gives away more than its margin as far as it can see. In particular every level, the
first included, wins at once where it can, and none picks a line that it sees to be lost while it sees another. Level
1 looks one ply ahead: it does not see the answer to its move.

Levels below the top are bounded by depth and nodes, and start with an empty table, so that a job gives the same move
wherever and however often it is run. Only the top level uses up its time, and the table of its room.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from msgspec import structs

from engine.search.job import Limit, RootMove

TIME_MS = 1000
"""How long a level may think: the top one does, the others hardly ever come near."""


@dataclass(frozen=True, slots=True)
class Level:
    """A limit, how much below the best score a move may be to be chosen (0: the best move it is), and how often in a
    thousand moves it looks only one ply ahead.

    A repeatable level starts with an empty table, and is limited by nodes before time comes into it.
    """

    limit: Limit
    margin: int = 0
    slip: int = 0
    repeatable: bool = False

    def at(self, seed: int, position: str) -> "Level":
        """What the level does about one position (a digest): its own limit, or the slip that the seed has for it."""
        if not self.slip or _lot(f"slip:{seed}:{position}", 1000) >= self.slip:
            return self
        return replace(self, limit=structs.replace(self.limit, depth=1))


def _level(depth: int, nodes: int, margin: int) -> Level:
    return Level(Limit(depth=depth, nodes=nodes, time_ms=TIME_MS), margin, repeatable=True)


LADDER = (
    _level(depth=1, nodes=2_000, margin=30),
    _level(depth=2, nodes=4_000, margin=25),
    _level(depth=3, nodes=8_000, margin=20),
    _level(depth=4, nodes=20_000, margin=15),
    _level(depth=6, nodes=60_000, margin=10),
    _level(depth=8, nodes=200_000, margin=5),
    _level(depth=12, nodes=1_000_000, margin=0),
    Level(Limit(time_ms=TIME_MS)),
)
"""The eight levels of a game that can tell so many apart; one with fewer takes a selection, first and last included."""


def level_of(levels: int, level: int) -> Level:
    """What level 1 to `levels` of a game means; ValueError for another number."""
    if not 1 <= level <= levels:
        raise ValueError(f"levels are 1 to {levels}, not {level}")
    if levels == 1:
        return LADDER[-1]
    return LADDER[(level - 1) * (len(LADDER) - 1) // (levels - 1)]


def choose(moves: Sequence[RootMove], margin: int, seed: int, position: str) -> RootMove:
    """The move to play, of those that a search scored, best first: a candidate picked by seed and position digest."""
    if not margin:
        return moves[0]
    best = moves[0].score
    candidates = [move for move in moves if move.bound == "exact" and move.score > best - margin] or [moves[0]]
    return candidates[_lot(f"{seed}:{position}", len(candidates))]


def _lot(text: str, count: int) -> int:
    """A number below count that belongs to the text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") % count
