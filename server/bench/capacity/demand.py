"""What players do, and what they demand of a cluster."""

from dataclasses import dataclass

import msgspec

from server.bench.capacity.microbenchmarks import PING_S
from server.runtime.lobby import PERIOD_S


class Habits(msgspec.Struct, frozen=True):
    """Assumptions about connected players."""

    #: The share of connected players who are in a match.
    playing: float = 0.7
    #: The share who watch a match.
    watching: float = 0.2
    #: Moves per minute of a playing person.
    moves_per_minute: float = 6.0
    #: The share of playing persons whose opponent is an AI.
    against_ai: float = 0.3
    #: The game that AI opponents play.
    ai_game: str = "chess"
    #: The level of AI opponents.
    ai_level: int = 5
    #: Logged commands other than moves, per move: new rooms, seats, results, chat.
    extra_ops: float = 0.05
    #: The share of matches in the lobby's list.
    public: float = 0.5
    #: The share of connections to a room that are on another node than the room's: of clients that
    #: do not name the room, and of those that connected while the room's node was down.
    apart: float = 0.05


@dataclass(frozen=True, slots=True)
class Demand:
    """The players' demand on a cluster, per second."""

    players: int
    matches: float
    moves: float
    ai_moves: float
    ops: float
    #: The share of operations by people who play each other.
    pair_share: float
    spectators_per_match: float
    #: Events that are sent to spectators.
    deliveries: float
    pings: float
    lobby_entries: float
    #: The share of connections to a room that are on another node than the room's.
    apart: float


def demand(players: int, habits: Habits) -> Demand:
    """The demand of a number of players, by arithmetic only."""
    people = players * habits.playing
    against_ai = people * habits.against_ai
    matches = (people - against_ai) / 2 + against_ai
    human_moves = people * habits.moves_per_minute / 60
    ai_moves = against_ai * habits.moves_per_minute / 60
    moves = human_moves + ai_moves
    ops = moves * (1 + habits.extra_ops)
    spectators_per_match = players * habits.watching / matches
    # A room is published at most once per PERIOD_S.
    entries = min(ops, matches / PERIOD_S) * habits.public
    return Demand(
        players, matches, moves, ai_moves, ops, (human_moves - ai_moves) / moves,
        spectators_per_match, ops * spectators_per_match, players / PING_S, entries, habits.apart,
    )  # fmt: skip
