"""`python -m server.bench.capacity.planning`: the resources that a number of players needs.

The program simulates clusters with this machine's unit costs: first a cluster on this machine, to
compare the results with its measured figures, then larger ones. With `--write` it puts its tables
into docs/explanation/scaling.md.
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
from server.bench.capacity.demand import Demand, Habits, demand
from server.bench.capacity.flow import Layout, LoadCounts, Model, end_warm_up, play
from server.bus.codec import LOBBY_BATCH
from server.runtime.lobby import PERIOD_S

#: The page with the tables.
DOCUMENT = Path(__file__).parents[3] / "docs" / "explanation" / "scaling.md"
#: Seeds of the simulations whose results are averaged.
SEEDS = (1, 2, 3)
#: The highest utilization in a planned cluster; the rest is for peaks.
MAX_UTILIZATION = 0.6
#: Cores of a planned database server.
DATABASE_CORES = 16
#: Simulated nodes of a large cluster; the others are like them.
SIMULATED_NODES = 4
#: The length of a day, in seconds.
DAY_S = 86_400


# --- what was measured ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Predicted:
    """For one number of nodes: the simulation's prediction of the measured figures."""

    measured: Figures
    saturated_per_s: float
    saturated_node_us: float
    saturated_database_us: float

    def comparisons(self) -> list[tuple[str, str, float, float]]:
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
    fast = [play(model, figures.pairs, None, 2.0, meet=figures.meet) for model in models]
    moves = sum(counts.moves for counts in fast)
    return Predicted(
        measured=figures,
        saturated_per_s=sum(counts.per_s for counts in fast) / len(fast),
        saturated_node_us=sum(node.used_s for model in models for node in model.nodes)
        / moves
        * 1e6,
        saturated_database_us=sum(backend.used_s for model in models for backend in model.backends)
        / moves
        * 1e6,
    )


# --- a large cluster ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SimulationResult:
    """The result of simulating some nodes of a cluster: utilizations, and the cost of an operation
    in core-seconds.
    """

    #: The utilization of the busiest node.
    node_utilization: float
    #: The share of each node's core for the lobby.
    lobby_share: float
    database_utilization: float
    database_s: float
    proxy_s: float
    broker_s: float
    #: The mean number of operations in a group commit.
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
        self.counts = LoadCounts(0.0)
        part = node_ops / wanted.ops
        minute_s = 60.0
        pings_s = capacity.idle.node_cpu_s_per_minute / minute_s * wanted.players * part
        self.lobby_share = (
            wanted.lobby_entries * (1 - 1 / nodes) * capacity.lobby.received_s
            + wanted.lobby_entries * part * capacity.lobby.sent_s
        )
        self._steady_s = pings_s + self.lobby_share + capacity.costs.background["node"]
        for node in range(model.layout.nodes):
            self._schedule_command(node)
            self._add_steady_load(node)

    def _schedule_command(self, node: int) -> None:
        rng = self._model.simulation.rng
        self._model.simulation.after(rng.expovariate(self._node_ops), partial(self._command, node))

    def _command(self, node: int) -> None:
        model, rng = self._model, self._model.simulation.rng
        others = [n for n in range(model.layout.nodes) if n != node]
        is_apart = self._is_apart()
        away = is_apart and rng.random() < self._wanted.pair_share
        opponent_node = rng.choice(others) if away and others else node

        def acked() -> None:
            self.counts.ops += 1

        model.operate(node, opponent_node, acked, lambda: None)
        for _ in range(self._spectators()):
            self._send_to_spectator(node, others)
        self._schedule_command(node)

    def _spectators(self) -> int:
        """The number of a room's spectators."""
        whole = int(self._wanted.spectators_per_match)
        part = self._wanted.spectators_per_match - whole
        return whole + (self._model.simulation.rng.random() < part)

    def _is_apart(self) -> bool:
        """Whether a connection is on another node than the room's."""
        return self._model.simulation.rng.random() < self._wanted.apart * (1 - 1 / self._nodes)

    def _send_to_spectator(self, node: int, others: list[int]) -> None:
        """Sends an event to a spectator on the room's node, or through the broker on another."""
        model, costs = self._model, self._capacity.costs
        work_s = self._capacity.spectator.node_s
        if others and self._is_apart():
            node = model.simulation.rng.choice(others)
            model.broker.give(max(0.0, costs.broker_away_op_s - costs.broker_here_op_s))
            work_s += model.remote_op_s
        model.nodes[node].give(work_s)
        model.proxy[node % len(model.proxy)].give(self._capacity.spectator.proxy_s)

    def _add_steady_load(self, node: int) -> None:
        """Gives a node the work of pings and the lobby, in small pieces."""
        self._model.nodes[node].give(self._steady_s * PIECE_S)
        self._model.simulation.after(PIECE_S, partial(self._add_steady_load, node))


#: Interval between the pieces of a node's steady load, in seconds.
PIECE_S = 0.01


def simulate_part(
    capacity: Capacity,
    wanted: Demand,
    nodes: int,
    simulated_nodes: int,
    node_ops: float,
    seconds: float,
) -> SimulationResult:
    """Simulates `simulated_nodes` of `nodes` nodes with a database of their own; each node gets
    `node_ops` operations per second.
    """
    layout = Layout(simulated_nodes, None, DATABASE_CORES, proxy_threads=max(2, simulated_nodes))
    model = Model(capacity.costs, layout, seed=nodes)
    load = RandomLoad(model, capacity, wanted, nodes, node_ops)
    model.simulation.run(0.2)
    end_warm_up(model, load.counts)
    model.simulation.run(0.2 + seconds)
    ops = max(1, load.counts.ops)
    return SimulationResult(
        max(node.used_s for node in model.nodes) / seconds,
        load.lobby_share,
        model.database.busy_s / seconds / DATABASE_CORES,
        model.database.busy_s / ops,
        sum(thread.used_s for thread in model.proxy) / ops,
        model.broker.used_s / ops,
        ops / max(1, sum(writer.groups for writer in model.writers)),
    )


def simulate(capacity: Capacity, wanted: Demand, nodes: int) -> SimulationResult:
    """Simulates a few nodes of a cluster of that size."""
    return simulate_part(
        capacity, wanted, nodes, min(nodes, SIMULATED_NODES), wanted.ops / nodes, seconds=0.5
    )


def fewest_nodes(capacity: Capacity, wanted: Demand) -> tuple[int, SimulationResult]:
    """A number of nodes whose utilization is at most MAX_UTILIZATION, with the result of its
    simulation; the smallest such number is at most a few per cent lower. Raises ValueError if the
    lobby alone exceeds that utilization on every node.
    """
    if wanted.lobby_entries * capacity.lobby.received_s >= MAX_UTILIZATION:
        raise ValueError("each node is busy with the lobby of all others")
    nodes = max(2, math.ceil(wanted.ops * capacity.costs.node_away_op_s / MAX_UTILIZATION))
    for _ in range(12):
        result = simulate(capacity, wanted, nodes)
        left = MAX_UTILIZATION - result.lobby_share
        needed = max(2, math.ceil(nodes * (result.node_utilization - result.lobby_share) / left))
        if needed <= nodes <= 1.03 * needed + 1:
            return nodes, result
        nodes = needed
    return nodes, result


def database_rate(capacity: Capacity) -> float:
    """The database's writes per second when many nodes each send few, so that groups are small."""
    wanted = demand(10_000, Habits())
    result = simulate_part(capacity, wanted, 40, 40, 100.0, seconds=0.5)
    return MAX_UTILIZATION * DATABASE_CORES / result.database_s


# --- the plan -------------------------------------------------------------------------------------

#: Bus messages of a search on a remote worker: command, keepalive, progress, answer, and the
#: room's ephemeral messages.
SEARCH_MESSAGES = 6
#: Interval at which every node repeats the presence in each room, in seconds.
REFRESH_S = 30.0


class Plan(msgspec.Struct, frozen=True):
    """The resources for a number of players, with no utilization above MAX_UTILIZATION."""

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
    nodes, result = fewest_nodes(capacity, wanted)
    pings_s = capacity.idle.proxy_cpu_s_per_minute / 60 * players
    levels_s = capacity.search.levels_s[habits.ai_game]
    level_s = levels_s[min(habits.ai_level, len(levels_s)) - 1]
    incoming, outgoing = bus_messages(wanted, nodes)
    room_messages = wanted.ops * remote_receivers(wanted)
    send_s = max(0.0, capacity.costs.broker_away_op_s - capacity.costs.broker_here_op_s)
    return Plan(
        players=players,
        moves_per_s=wanted.moves,
        writes_per_s=wanted.ops,
        deliveries_per_s=wanted.deliveries,
        pings_per_s=wanted.pings,
        nodes=nodes,
        writes_per_node=wanted.ops / nodes,
        group=result.group,
        lobby_share=result.lobby_share,
        node_memory_gb=(
            players * capacity.idle.node_bytes + wanted.matches * capacity.match.node_bytes
        )
        / nodes
        / 1e9,
        databases=math.ceil(wanted.ops / database_rate(capacity)),
        database_gb_per_day=wanted.ops * capacity.room.database_bytes_per_op * DAY_S / 1e9,
        wal_mb_per_s=wanted.ops * capacity.room.wal_bytes_per_op / 1e6,
        broker_in_per_s=incoming,
        broker_out_per_s=outgoing,
        broker_cores=(wanted.ops * result.broker_s + (outgoing - room_messages) * send_s)
        / MAX_UTILIZATION,
        proxy_cores=(wanted.ops * result.proxy_s + pings_s) / MAX_UTILIZATION,
        worker_cores=wanted.ai_moves
        * (level_s + capacity.search.dispatch_worker_s)
        / MAX_UTILIZATION,
    )


def remote_receivers(wanted: Demand) -> float:
    """The other nodes that receive an event of a room, on average: each connection that is apart
    is on a node of its own.
    """
    return wanted.apart * (wanted.pair_share + wanted.spectators_per_match)


def bus_messages(wanted: Demand, nodes: int) -> tuple[float, float]:
    """Messages per second to the broker and from it: room messages, presence, the lobby, searches
    and heartbeats.
    """
    receivers = remote_receivers(wanted)
    presence = wanted.matches * (1 + receivers) / REFRESH_S
    lobby = nodes * max(1 / PERIOD_S, wanted.lobby_entries / nodes / LOBBY_BATCH)
    searches = wanted.ai_moves * SEARCH_MESSAGES
    incoming = wanted.ops + presence + lobby + searches + nodes
    outgoing = (
        wanted.ops * receivers + presence * receivers + (lobby + nodes) * (nodes - 1) + searches
    )
    return incoming, outgoing


# --- what breaks first ----------------------------------------------------------------------------


def limits(capacity: Capacity, base: Plan, habits: Habits | None = None) -> list[tuple[str, int]]:
    """Tuples (part, players for whom it suffices), the scarcest part first. The number of nodes is
    scaled from the plan `base`.
    """
    habits = habits or Habits()

    def most_players(suffices: Callable[[int, Demand, int], bool]) -> int:
        low, high = 0, 100_000_000
        while high - low > max(1, low // 1000):
            players = (low + high) // 2
            nodes = max(2, math.ceil(base.nodes * players / base.players))
            low, high = (
                (players, high)
                if suffices(players, demand(players, habits), nodes)
                else (low, players)
            )
        return low

    rate, costs = database_rate(capacity), capacity.costs
    receive_s = costs.broker_here_op_s
    send_s = max(0.0, costs.broker_away_op_s - costs.broker_here_op_s)

    def broker_suffices(players: int, wanted: Demand, nodes: int) -> bool:
        incoming, outgoing = bus_messages(wanted, nodes)
        return incoming * receive_s + outgoing * send_s <= MAX_UTILIZATION

    parts = [
        ("one node, one core", round(base.players / base.nodes)),
        ("one Mosquitto, which has one thread", most_players(broker_suffices)),
        (
            f"one PostgreSQL with {DATABASE_CORES} cores",
            most_players(lambda _, wanted, nodes: wanted.ops <= rate),
        ),
        (
            "the lobby: half of each node's planned load is receiving changes of rooms",
            most_players(
                lambda _, wanted, nodes: (
                    wanted.lobby_entries * capacity.lobby.received_s <= MAX_UTILIZATION / 2
                )
            ),
        ),
    ]
    return sorted(parts, key=lambda part: part[1])


# --- tables ---------------------------------------------------------------------------------------


def number(value: float) -> str:
    """A number with two significant digits; more would be false precision."""
    if value == 0:
        return "0"
    digits = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.{max(0, digits)}f}"


#: The numbers of players in the table.
PLAYERS = (10_000, 100_000, 1_000_000)
#: The rows of the table: text and field of Plan.
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
        f"| players | {' | '.join(f'{plan.players:,}' for plan in plans)} |",
        "|---|" + "---|" * len(plans),
    ]
    for text, name in ROWS:
        lines.append(f"| {text} | {' | '.join(number(getattr(plan, name)) for plan in plans)} |")
    return "\n".join(lines)


def limits_table(parts: list[tuple[str, int]]) -> str:
    """The table of limits, the scarcest part first."""
    return "\n".join(
        [
            "| what | enough for players |",
            "|---|---|",
            *(f"| {part} | {number(players)} |" for part, players in parts),
        ]
    )


def predicted_table(capacity: Capacity) -> str:
    """The table of measured and predicted figures."""
    lines = ["| what | measured | predicted | difference |", "|---|---|---|---|"]
    for figures in capacity.measured:
        for what, unit, measured, predicted in predict(capacity, figures).comparisons():
            error = (predicted / measured - 1) * 100
            lines.append(
                f"| {what} | {measured:,.0f} {unit} | {predicted:,.0f} {unit} | {error:+.0f} % |"
            )
    return "\n".join(lines)


def costs_table(capacity: Capacity) -> str:
    """The table of unit costs."""
    costs, us = capacity.costs, 1e6
    background = ", ".join(
        f"{name} {share * 100:.1f} %" for name, share in costs.background.items()
    )
    levels = "; ".join(
        f"{game} {' / '.join(f'{level_s * 1000:.0f}' for level_s in levels_s)}"
        for game, levels_s in capacity.search.levels_s.items()
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
         f"{capacity.lobby.sent_s * us:.1f} us; {capacity.lobby.received_s * us:.1f} us"),
        ("an AI move, core-milliseconds by level", levels),
        ("a search on a remote worker, besides the search itself: node; worker; broker;"
         " added delay",
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


def with_tables(text: str, new_tables: dict[str, str]) -> str:
    """The document with each table inserted between its marks."""
    for name, table in new_tables.items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
        match = re.search(pattern, text, re.DOTALL)
        assert match is not None, f"the document has marks for {name}"
        text = f"{text[: match.end(1)]}{table}\n{text[match.start(2) :]}"
    return text


@click.command()
@click.option(
    "--players",
    type=click.IntRange(1000, 5_000_000),
    help="Number of players to plan for.  [default: print all tables]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
@click.option(
    "--file", default=FILE, type=click.Path(path_type=Path), help="File of measured costs."
)
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
        plans = [plan(count, capacity) for count in ([players] if players is not None else PLAYERS)]
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(plans), indent=1).decode())
        else:
            click.echo(plan_table(plans))


if __name__ == "__main__":
    main()
