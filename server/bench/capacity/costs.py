"""The types of measured.json, the unit costs that `server.bench.capacity.measure` writes."""

from pathlib import Path

import msgspec
from msgspec import Struct

#: The file of the last measurement.
FILE = Path(__file__).with_name("measured.json")

#: (share, value) pairs, from share 0 to share 1.
Quantiles = list[tuple[float, float]]


class Costs(Struct, frozen=True, forbid_unknown_fields=True):
    """Unit costs in core-seconds, unless the name says otherwise.

    An operation is a logged command: a move, a rematch. `wake` is the extra cost each time that a
    process falls asleep and wakes up. `here` is an operation of two players on one node; `away` is
    one of players on two nodes, with the cost of both nodes.
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
    #: Cores that an idle cluster uses: each node, the database, the proxy, the broker.
    background: dict[str, float]


class Run(Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of a calibration load: microseconds per operation by kind of process, without what
    an idle cluster uses.
    """

    nodes: int
    pairs: int
    #: Moves per second over all pairs; None: as fast as they can.
    per_s: float | None
    us: dict[str, float]

    @property
    def load(self) -> tuple[int, int, float | None]:
        return self.nodes, self.pairs, self.per_s


class Idle(Struct, frozen=True, forbid_unknown_fields=True):
    """A connection without rooms that pings every 2.5 s, as clients do."""

    node_cpu_s_per_minute: float
    proxy_cpu_s_per_minute: float
    node_bytes: float
    proxy_bytes: float


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """A live match of tic-tac-toe, with both players connected."""

    node_bytes: float


class Spectator(Struct, frozen=True, forbid_unknown_fields=True):
    """Sending one move to one more spectator: core-seconds, and bytes on the wire."""

    node_s: float
    proxy_s: float
    message_bytes: float


class Lobby(Struct, frozen=True, forbid_unknown_fields=True):
    """A public room's change, published to the other nodes: core-seconds and bytes per entry, in
    full messages.
    """

    sent_s: float = msgspec.field(name="told_s")
    received_s: float = msgspec.field(name="heard_s")
    entry_bytes: float


class Search(Struct, frozen=True, forbid_unknown_fields=True):
    """One AI move: core-seconds by game and level, and the extra cost of a search on a remote
    worker.
    """

    levels_s: dict[str, list[float]]
    dispatch_node_s: float
    dispatch_worker_s: float
    dispatch_broker_s: float
    dispatch_wait_s: float


class Room(Struct, frozen=True, forbid_unknown_fields=True):
    """The bytes of a move in the database, with its indexes."""

    database_bytes_per_op: float
    wal_bytes_per_op: float


class Figures(Struct, frozen=True, forbid_unknown_fields=True):
    """Measured figures that the simulation must predict: medians of rounds, first at full speed
    (`saturated`), then at a fixed rate (`paced`).
    """

    nodes: int
    pairs: int
    saturated_per_s: float
    #: Conflicts per thousand commits.
    saturated_conflicts: float
    saturated_node_us: float
    saturated_database_us: float
    paced_per_s: float
    paced_p50_ms: float
    paced_p99_ms: float
    paced_conflicts: float
    paced_node_us: float
    paced_database_us: float
    #: Cores that other processes used during a load, in the load with more of them.
    others: float
    #: Whether the players of a pair were on one node.
    meet: bool = False


class Capacity(Struct, frozen=True, forbid_unknown_fields=True):
    """The file's content: where and when it was measured, unit costs and the loads of their fit,
    and the figures to be predicted.
    """

    machine: str
    cores: int
    commit: str
    date: str
    #: The load average before the measurement: above 1, other processes were at work.
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
    """The last measurement."""
    return msgspec.json.decode(file.read_bytes(), type=Capacity)


def write_capacity(capacity: Capacity, file: Path = FILE) -> None:
    """Writes a measurement as indented JSON."""
    file.write_bytes(msgspec.json.format(msgspec.json.encode(capacity), indent=1) + b"\n")
