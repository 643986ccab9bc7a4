"""What things cost on a machine: measured by `tests.simulation.measure`, kept in
tests/data/capacity.json.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

FILE = Path(__file__).parents[1] / "data" / "capacity.json"

#: (share, value) from share 0 to share 1.
Quantiles = list[tuple[float, float]]


class Costs(Struct, frozen=True, forbid_unknown_fields=True):
    """Seconds of one core, unless the name says otherwise. An operation is a command that is
    logged: a move, a rematch.

    `wake`: what a process spends extra each time it falls asleep and wakes up again. `here`: both
    players are connected to one node; `away`: to two, both of which are counted.
    """

    client_wake_s: float
    client_op_s: float
    proxy_wake_s: float
    proxy_op_s: float
    node_wake_s: float
    node_here_op_s: float
    node_away_op_s: float
    node_group_s: float
    database_wake_s: float
    database_group_s: float
    database_op_s: float
    broker_wake_s: float
    broker_here_op_s: float
    broker_away_op_s: float
    fsync_s: Quantiles
    #: Cores that an idle cluster keeps busy: each node, the database, the proxy, the broker.
    background: dict[str, float]


class Run(Struct, frozen=True, forbid_unknown_fields=True):
    """What a load for calibration cost: microseconds of an operation, by kind of process, without
    what it uses idle.
    """

    nodes: int
    pairs: int
    #: Moves a second over all pairs; None: as fast as they are answered.
    per_s: float | None
    us: dict[str, float]

    @property
    def load(self) -> tuple[int, int, float | None]:
        return self.nodes, self.pairs, self.per_s


class Idle(Struct, frozen=True, forbid_unknown_fields=True):
    """A connection that follows nothing and says every 2.5 s that it is there, as clients do."""

    node_cpu_s_per_minute: float
    proxy_cpu_s_per_minute: float
    node_bytes: float
    proxy_bytes: float


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """A live match of tic-tac-toe, both players connected."""

    node_bytes: float


class Spectator(Struct, frozen=True, forbid_unknown_fields=True):
    """One move told to one more spectator of its room: core-seconds, and bytes on the wire."""

    node_s: float
    proxy_s: float
    message_bytes: float


class Lobby(Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a public room, told to the other nodes: core-seconds an entry, in messages of a
    hundred.
    """

    told_s: float
    heard_s: float
    entry_bytes: float


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """One AI move: core-seconds by level, by game; and what a search elsewhere costs beside it."""

    levels_s: dict[str, list[float]]
    dispatch_node_s: float
    dispatch_worker_s: float
    dispatch_broker_s: float
    dispatch_wait_s: float


class Room(Struct, frozen=True, forbid_unknown_fields=True):
    """What a move leaves in the database, with its indexes."""

    database_bytes_per_op: float
    wal_bytes_per_op: float


class Figures(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured under load, to be predicted: medians of rounds."""

    nodes: int
    pairs: int
    saturated_per_s: float
    #: Conflicts for each thousand commits.
    saturated_conflicts: float
    saturated_node_us: float
    saturated_database_us: float
    paced_per_s: float
    paced_p50_ms: float
    paced_p99_ms: float
    paced_conflicts: float
    paced_node_us: float
    paced_database_us: float
    #: Cores that others used meanwhile, the greater of the two loads.
    others: float


class Capacity(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: where and when it was measured, unit costs and what they were fitted to, what is to
    be predicted.
    """

    machine: str
    cores: int
    commit: str
    date: str
    #: The machine's load average before it began: above 1 others were at work.
    load_before: float
    runs: list[Run]
    costs: Costs
    idle: Idle
    match: Match
    spectator: Spectator
    lobby: Lobby
    search: Search
    room: Room
    measured: list[Figures]


def read_capacity(file: Path = FILE) -> Capacity:
    """What was measured last."""
    return msgspec.json.decode(file.read_bytes(), type=Capacity)


def write_capacity(capacity: Capacity, file: Path = FILE) -> None:
    """Keeps it, to be read by people, too."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(capacity), indent=1) + b"\n")
