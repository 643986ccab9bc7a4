"""`python -m server.bench.capacity.planning`: the resources that a number of players needs.

It simulates them with this machine's unit costs.

First the simulation predicts the measured figures of a cluster on this machine, then larger
clusters. With `--write` it puts its tables into docs/explanation/scaling.md.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import msgspec

from server.bench.capacity.costs import FILE, Capacity, Figures, read_capacity
from server.bench.capacity.flow import Layout, LoadCounts, Model, end_warm_up, play
from server.bench.capacity.microbenchmarks import PING_S
from server.bus.codec import LOBBY_BATCH
from server.runtime.lobby import PERIOD_S

DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "scaling.md"
#: Seeds of the simulations whose results are averaged.
SEEDS = (1, 2, 3)
#: The highest utilization in a planned cluster; the rest is for peaks.
BUSY = 0.6
#: Cores of a planned database server.
DATABASE_CORES = 16
#: Simulated nodes of a large cluster; the others are like them.
NODES_SEEN = 4
DAY_S = 86_400


# --- what was measured ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Predicted:
    """For one number of nodes: the simulation's prediction of the measured figures."""

    measured: Figures
    saturated_per_s: float
    saturated_node_us: float
    saturated_database_us: float

    def pairs(self) -> list[tuple[str, str, float, float]]:
        """A tuple (figure, unit, measured value, predicted value) for each figure."""
        nodes = f"{self.measured.nodes} node{'s' if self.measured.nodes > 1 else ''}"
        return [
            (f"{nodes}: moves a second, {self.measured.pairs} pairs", "/s",
             self.measured.saturated_per_s, self.saturated_per_s),
            (f"{nodes}: CPU a move of all nodes, {self.measured.pairs} pairs", "us",
             self.measured.saturated_node_us, self.saturated_node_us),
            (f"{nodes}: CPU a move of the database, {self.measured.pairs} pairs", "us",
             self.measured.saturated_database_us, self.saturated_database_us),
        ]  # fmt: skip


def predict(capacity: Capacity, figures: Figures) -> Predicted:
    """Simulates the measured load, with several seeds together."""
    layout = Layout(figures.nodes, capacity.cores)
    models = [Model(capacity.costs, layout, seed) for seed in SEEDS]
    fast = [play(model, figures.pairs, None, 2.0) for model in models]
    moves = sum(seen.moves for seen in fast)
    return Predicted(
        measured=figures,
        saturated_per_s=sum(seen.per_s for seen in fast) / len(fast),
        saturated_node_us=sum(node.used_s for model in models for node in model.nodes)
        / moves
        * 1e6,
        saturated_database_us=sum(one.used_s for model in models for one in model.backends)
        / moves
        * 1e6,
    )


# --- what players do ------------------------------------------------------------------------------


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


def demand(players: int, habits: Habits) -> Demand:
    """The demand of a number of players, by arithmetic only."""
    people = players * habits.playing
    alone = people * habits.against_ai
    matches = (people - alone) / 2 + alone
    human = people * habits.moves_per_minute / 60
    ai_moves = alone * habits.moves_per_minute / 60
    moves = human + ai_moves
    ops = moves * (1 + habits.extra_ops)
    spectators_per_match = players * habits.watching / matches
    # A room is published at most once per PERIOD_S.
    entries = min(ops, matches / PERIOD_S) * habits.public
    return Demand(
        players, matches, moves, ai_moves, ops, (human - ai_moves) / moves, spectators_per_match,
        ops * spectators_per_match, players / PING_S, entries,
    )  # fmt: skip


# --- a large cluster ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """A simulated part of a cluster: the busiest node's utilization, and the cost of an
    operation.
    """

    node_busy: float
    lobby_busy: float
    database_busy: float
    database_s: float
    proxy_s: float
    broker_s: float
    group: float


class RandomLoad:
    """Random commands at each node of a model, with the messages to spectators and other nodes."""

    def __init__(
        self, model: Model, capacity: Capacity, wanted: Demand, nodes: int, node_ops: float
    ) -> None:
        self._model = model
        self._capacity = capacity
        self._wanted = wanted
        self._nodes = nodes
        self._node_ops = node_ops
        self.seen = LoadCounts(0.0)
        part = node_ops / wanted.ops
        minute_s = 60.0
        pings_s = capacity.idle.node_cpu_s_per_minute / minute_s * wanted.players * part
        self.lobby_busy = (
            wanted.lobby_entries * (1 - 1 / nodes) * capacity.lobby.heard_s
            + wanted.lobby_entries * part * capacity.lobby.told_s
        )
        self._steady_s = pings_s + self.lobby_busy + capacity.costs.background["node"]
        for node in range(model.layout.nodes):
            self._come(node)
            self._add_steady_load(node)

    def _come(self, node: int) -> None:
        rng = self._model.simulation.rng
        self._model.simulation.after(rng.expovariate(self._node_ops), partial(self._command, node))

    def _command(self, node: int) -> None:
        model, rng = self._model, self._model.simulation.rng
        others = [n for n in range(model.layout.nodes) if n != node]
        away = rng.random() < self._wanted.pair_share * (1 - 1 / self._nodes)
        other = rng.choice(others) if away and others else node

        def acked() -> None:
            self.seen.ops += 1

        model.operate(node, other, acked, lambda: None)
        for _ in range(self._spectators()):
            self._tell_spectator(rng.choice(others) if others else node)
        self._come(node)

    def _spectators(self) -> int:
        """The number of a room's spectators, each of them connected to another node."""
        whole = int(self._wanted.spectators_per_match)
        part = self._wanted.spectators_per_match - whole
        return whole + (self._model.simulation.rng.random() < part)

    def _tell_spectator(self, node: int) -> None:
        model, costs = self._model, self._capacity.costs
        model.broker.give(max(0.0, costs.broker_away_op_s - costs.broker_here_op_s))
        model.nodes[node].give(model.remote_op_s + self._capacity.spectator.node_s)
        model.proxy[node % len(model.proxy)].give(self._capacity.spectator.proxy_s)

    def _add_steady_load(self, node: int) -> None:
        """The load of pings and the lobby, in small pieces."""
        self._model.nodes[node].give(self._steady_s * PIECE_S)
        self._model.simulation.after(PIECE_S, partial(self._add_steady_load, node))


#: Interval between the pieces of a node's steady load, in seconds.
PIECE_S = 0.01


def run_cell(
    capacity: Capacity, wanted: Demand, nodes: int, seen_nodes: int, node_ops: float, seconds: float
) -> Cell:
    """Simulates `seen_nodes` of `nodes` nodes at a rate of operations per node, with their own
    database.
    """
    layout = Layout(seen_nodes, None, DATABASE_CORES, proxy_threads=max(2, seen_nodes))
    model = Model(capacity.costs, layout, seed=nodes)
    crowd = RandomLoad(model, capacity, wanted, nodes, node_ops)
    model.simulation.run(0.2)
    end_warm_up(model, crowd.seen)
    model.simulation.run(0.2 + seconds)
    ops = max(1, crowd.seen.ops)
    return Cell(
        max(node.used_s for node in model.nodes) / seconds,
        crowd.lobby_busy,
        model.database.busy_s / seconds / DATABASE_CORES,
        model.database.busy_s / ops,
        sum(one.used_s for one in model.proxy) / ops,
        model.broker.used_s / ops,
        ops / max(1, sum(writer.groups for writer in model.writers)),
    )


def run(capacity: Capacity, wanted: Demand, nodes: int) -> Cell:
    """Simulates a few nodes of a cluster of that size."""
    return run_cell(
        capacity, wanted, nodes, min(nodes, NODES_SEEN), wanted.ops / nodes, seconds=0.5
    )


def fewest_nodes(capacity: Capacity, wanted: Demand) -> tuple[int, Cell]:
    """The smallest number of nodes whose utilization is at most BUSY; ValueError when no number
    suffices because the lobby alone needs more.
    """
    if wanted.lobby_entries * capacity.lobby.heard_s >= BUSY:
        raise ValueError("each node is busy with the lobby of all others")
    nodes = max(2, math.ceil(wanted.ops * capacity.costs.node_away_op_s / BUSY))
    for _ in range(12):
        cell = run(capacity, wanted, nodes)
        shared = BUSY - cell.lobby_busy
        wish = max(2, math.ceil(nodes * (cell.node_busy - cell.lobby_busy) / shared))
        if wish <= nodes <= 1.03 * wish + 1:
            return nodes, cell
        nodes = wish
    return nodes, cell


def database_rate(capacity: Capacity) -> float:
    """The database's writes per second when many nodes each send few, so that groups are small."""
    wanted = demand(10_000, Habits())
    cell = run_cell(capacity, wanted, 40, 40, 100.0, seconds=0.5)
    return BUSY * DATABASE_CORES / cell.database_s


# --- the plan -------------------------------------------------------------------------------------

#: Bus messages of a search elsewhere: order, taken, progress, answer, and the room's ephemeral
#: messages.
SEARCH_MESSAGES = 6
#: Interval at which every node repeats the presence in each room.
REFRESH_S = 30.0


class Plan(msgspec.Struct, frozen=True):
    """The resources for a number of players, with no utilization above BUSY."""

    players: int
    moves_per_s: float
    writes_per_s: float
    deliveries_per_s: float
    pings_per_s: float
    nodes: int
    writes_per_node: float
    group: float
    lobby_share: float
    node_memory_gb: float
    databases: int
    database_gb_per_day: float
    wal_mb_per_s: float
    broker_in_per_s: float
    broker_out_per_s: float
    broker_cores: float
    proxy_cores: float
    worker_cores: float


def plan(players: int, capacity: Capacity, habits: Habits | None = None) -> Plan:
    """Simulates a cluster and derives the plan from it."""
    habits = habits or Habits()
    wanted = demand(players, habits)
    nodes, cell = fewest_nodes(capacity, wanted)
    pings_s = capacity.idle.proxy_cpu_s_per_minute / 60 * players
    search = capacity.search.levels_s[habits.ai_game]
    level_s = search[min(habits.ai_level, len(search)) - 1]
    arriving, leaving = bus_messages(wanted, nodes)
    rooms_only = wanted.ops * (wanted.pair_share + wanted.spectators_per_match)
    out_s = max(0.0, capacity.costs.broker_away_op_s - capacity.costs.broker_here_op_s)
    return Plan(
        players=players,
        moves_per_s=wanted.moves,
        writes_per_s=wanted.ops,
        deliveries_per_s=wanted.deliveries,
        pings_per_s=wanted.pings,
        nodes=nodes,
        writes_per_node=wanted.ops / nodes,
        group=cell.group,
        lobby_share=cell.lobby_busy,
        node_memory_gb=(
            players * capacity.idle.node_bytes + wanted.matches * capacity.match.node_bytes
        )
        / nodes
        / 1e9,
        databases=math.ceil(wanted.ops / database_rate(capacity)),
        database_gb_per_day=wanted.ops * capacity.room.database_bytes_per_op * DAY_S / 1e9,
        wal_mb_per_s=wanted.ops * capacity.room.wal_bytes_per_op / 1e6,
        broker_in_per_s=arriving,
        broker_out_per_s=leaving,
        broker_cores=(wanted.ops * cell.broker_s + (leaving - rooms_only) * out_s) / BUSY,
        proxy_cores=(wanted.ops * cell.proxy_s + pings_s) / BUSY,
        worker_cores=wanted.ai_moves * (level_s + capacity.search.dispatch_worker_s) / BUSY,
    )


def bus_messages(wanted: Demand, nodes: int) -> tuple[float, float]:
    """Messages per second to the broker and from it.

    They are room messages, presence, the lobby, searches and heartbeats.
    """
    hearing = wanted.pair_share + wanted.spectators_per_match
    presence = wanted.matches * (1 + hearing) / REFRESH_S
    lobby = nodes * max(1 / PERIOD_S, wanted.lobby_entries / nodes / LOBBY_BATCH)
    searches = wanted.ai_moves * SEARCH_MESSAGES
    arriving = wanted.ops + presence + lobby + searches + nodes
    leaving = wanted.ops * hearing + presence * hearing + (lobby + nodes) * (nodes - 1) + searches
    return arriving, leaving


# --- what breaks first ----------------------------------------------------------------------------


def limits(capacity: Capacity, like: Plan, habits: Habits | None = None) -> list[tuple[str, int]]:
    """Tuples (part, players for whom it suffices), the scarcest part first; scaled from a plan."""
    habits = habits or Habits()

    def most(holds: Callable[[int, Demand, int], bool]) -> int:
        low, high = 0, 100_000_000
        while high - low > max(1, low // 1000):
            players = (low + high) // 2
            nodes = max(2, math.ceil(like.nodes * players / like.players))
            low, high = (
                (players, high)
                if holds(players, demand(players, habits), nodes)
                else (low, players)
            )
        return low

    rate, costs = database_rate(capacity), capacity.costs
    here_s, out_s = (
        costs.broker_here_op_s,
        max(0.0, costs.broker_away_op_s - costs.broker_here_op_s),
    )

    def broker(players: int, wanted: Demand, nodes: int) -> bool:
        arriving, leaving = bus_messages(wanted, nodes)
        return arriving * here_s + leaving * out_s <= BUSY

    found = [
        ("one node, one core", round(like.players / like.nodes)),
        ("one Mosquitto, which has one thread", most(broker)),
        (
            f"one PostgreSQL with {DATABASE_CORES} cores",
            most(lambda _, wanted, nodes: wanted.ops <= rate),
        ),
        (
            "the lobby: half of each node's planned load is receiving changes of rooms",
            most(
                lambda _, wanted, nodes: wanted.lobby_entries * capacity.lobby.heard_s <= BUSY / 2
            ),
        ),
    ]
    return sorted(found, key=lambda one: one[1])


# --- tables ---------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A number with two significant digits; more would be false precision."""
    if value == 0:
        return "0"
    digits = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.{max(0, digits)}f}"


PLAYERS = (10_000, 100_000, 1_000_000)
ROWS: tuple[tuple[str, str], ...] = (
    ("moves a second, the AI's among them", "moves_per_s"),
    ("database writes (operations) a second", "writes_per_s"),
    ("events sent to spectators a second", "deliveries_per_s"),
    ("pings a second", "pings_per_s"),
    ("**nodes**, one core each", "nodes"),
    ("writes a second and node", "writes_per_node"),
    ("writes in one group commit of a node", "group"),
    ("share of each node's core for the lobby", "lobby_share"),
    ("memory of a node, GB", "node_memory_gb"),
    ("**PostgreSQL databases**, 16 cores each", "databases"),
    ("database grows a day, GB", "database_gb_per_day"),
    ("write-ahead log, MB/s", "wal_mb_per_s"),
    ("**broker**: messages in a second", "broker_in_per_s"),
    ("broker: messages out a second", "broker_out_per_s"),
    ("broker: cores", "broker_cores"),
    ("**proxy**: cores", "proxy_cores"),
    ("**engine workers**: cores", "worker_cores"),
)


def plan_table(plans: list[Plan]) -> str:
    """The plans' table in docs/explanation/scaling.md."""
    lines = [
        f"| players | {' | '.join(f'{one.players:,}' for one in plans)} |",
        "|---|" + "---|" * len(plans),
    ]
    for text, name in ROWS:
        lines.append(f"| {text} | {' | '.join(number(getattr(one, name)) for one in plans)} |")
    return "\n".join(lines)


def limits_table(found: list[tuple[str, int]]) -> str:
    """The table of limits, the first to fail first."""
    return "\n".join(
        [
            "| what | enough for players |",
            "|---|---|",
            *(f"| {a} | {number(b)} |" for a, b in found),
        ]
    )


def predicted_table(capacity: Capacity) -> str:
    """The table of measured and predicted figures."""
    lines = ["| what | measured | predicted | difference |", "|---|---|---|---|"]
    for figures in capacity.measured:
        for what, unit, measured, predicted in predict(capacity, figures).pairs():
            off = (predicted / measured - 1) * 100
            lines.append(
                f"| {what} | {measured:,.0f} {unit} | {predicted:,.0f} {unit} | {off:+.0f} % |"
            )
    return "\n".join(lines)


def costs_table(capacity: Capacity) -> str:
    """The table of unit costs."""
    costs, us = capacity.costs, 1e6
    background = ", ".join(
        f"{name} {share * 100:.1f} %" for name, share in costs.background.items()
    )
    levels = "; ".join(
        f"{game} {' / '.join(f'{one * 1000:.0f}' for one in some)}"
        for game, some in capacity.search.levels_s.items()
    )
    rows = [
        ("machine", capacity.machine),
        ("commit; date; load average before",
         f"{capacity.commit}; {capacity.date}; {capacity.load_before}"),
        ("node: an operation with both players on it", f"{costs.node_here_op_s * us:.0f} us"),
        ("two nodes: an operation with a player on each, both nodes together",
         f"{costs.node_away_op_s * us:.0f} us"),
        ("node: each group commit; each time it wakes up",
         f"{costs.node_group_s * us:.0f} us; {costs.node_wake_s * us:.0f} us"),
        ("database: each group; each operation in it",
         f"{costs.database_group_s * us:.0f} us; {costs.database_op_s * us:.0f} us"),
        ("broker: an operation without a receiver; one that another node receives;"
         " each time it wakes up",
         f"{costs.broker_here_op_s * us:.0f} us; {costs.broker_away_op_s * us:.0f} us;"
         f" {costs.broker_wake_s * us:.0f} us"),
        ("proxy: the three messages of an operation; each time it wakes up",
         f"{costs.proxy_op_s * us:.0f} us; {costs.proxy_wake_s * us:.0f} us"),
        ("one more spectator of a move: node; proxy; bytes",
         f"{capacity.spectator.node_s * us:.1f} us; {capacity.spectator.proxy_s * us:.1f} us;"
         f" {capacity.spectator.message_bytes:.0f}"),
        ("an idle connection, for a minute: node; proxy",
         f"{capacity.idle.node_cpu_s_per_minute * 1000:.2f} ms;"
         f" {capacity.idle.proxy_cpu_s_per_minute * 1000:.2f} ms"),
        ("memory of an idle connection: node; proxy",
         f"{capacity.idle.node_bytes / 1000:.1f} KB; {capacity.idle.proxy_bytes / 1000:.1f} KB"),
        ("memory of a live match with both connections: node",
         f"{capacity.match.node_bytes / 1000:.1f} KB"),
        ("a change of a public room: on the node that sends it; on each node that receives it",
         f"{capacity.lobby.told_s * us:.1f} us; {capacity.lobby.heard_s * us:.1f} us"),
        ("an AI move, core-milliseconds by level", levels),
        ("a search on a remote worker, besides the search itself: node; worker; broker; added delay",
         f"{capacity.search.dispatch_node_s * us:.0f} us;"
         f" {capacity.search.dispatch_worker_s * us:.0f} us;"
         f" {capacity.search.dispatch_broker_s * us:.0f} us;"
         f" {capacity.search.dispatch_wait_s * 1000:.1f} ms"),
        ("an operation in the database, with indexes; in its write-ahead log",
         f"{capacity.room.database_bytes_per_op:.0f} bytes;"
         f" {capacity.room.wal_bytes_per_op:.0f} bytes"),
        ("write of 4 KiB and fdatasync, p50; p99",
         f"{dict(costs.fsync_s)[0.5] * 1000:.2f} ms; {dict(costs.fsync_s)[0.99] * 1000:.2f} ms"),
        ("share of a core that an idle cluster uses", background),
    ]  # fmt: skip
    return "\n".join(
        ["| what | cost |", "|---|---|", *(f"| {text} | {cost} |" for text, cost in rows)]
    )


def tables(capacity: Capacity) -> dict[str, str]:
    """All tables of docs/explanation/scaling.md, by name."""
    plans = [plan(players, capacity) for players in PLAYERS]
    return {
        "costs": costs_table(capacity),
        "predicted": predicted_table(capacity),
        "plan": plan_table(plans),
        "limits": limits_table(limits(capacity, plans[1])),
    }


def with_tables(text: str, found: dict[str, str]) -> str:
    """The document with each table inserted between its marks."""
    for name, table in found.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        found_at = re.search(pattern, text, re.DOTALL)
        assert found_at is not None, f"the document has a place for {name}"
        text = f"{text[: found_at.end(1)]}{table}\n{text[found_at.start(2) :]}"
    return text


@click.command()
@click.option(
    "--players",
    type=click.IntRange(1000, 5_000_000),
    help="Number to plan for.  [default: the tables]",
)
@click.option("--json", "as_json", is_flag=True, help="The plan as JSON.")
@click.option("--file", default=FILE, type=click.Path(path_type=Path), help="What was measured.")
@click.option("--write", is_flag=True, help="Put the tables into docs/explanation/scaling.md.")
def main(players: int | None, as_json: bool, file: Path, write: bool) -> None:
    """Predicts the capacity of clusters from this machine's unit costs."""
    capacity = read_capacity(file)
    if write:
        DOCUMENT.write_text(with_tables(DOCUMENT.read_text("utf-8"), tables(capacity)), "utf-8")
    elif players is None and not as_json:
        for name, table in tables(capacity).items():
            click.echo(f"{name}\n{table}\n")
    else:
        plans = [plan(one, capacity) for one in ([players] if players is not None else PLAYERS)]
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(plans), indent=1).decode())
        else:
            click.echo(plan_table(plans))


if __name__ == "__main__":
    main()
