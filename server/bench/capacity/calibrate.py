"""The unit costs of an operation, fitted to loads other than those to be predicted.

A process's CPU time is a sum of a cost per wake-up, a cost per operation, and for some processes a
cost per group commit. A comparison of loads that fill the machine with loads in which moves rarely
overlap separates these costs. Effects of a full machine (evicted caches, small groups) are part of
the cost of an operation there.
"""

from collections.abc import Callable, Sequence

import msgspec

from server.bench.capacity.costs import Costs, Room, Run
from server.bench.capacity.flow import Layout, Model, play
from server.bench.capacity.machine import Process
from server.bench.cluster import connected_pairs, measure_load
from server.bench.pairs import Meter
from server.bench.usage import Usage, read_counters
from server.deploy.cluster.running import Cluster

#: The loads: pairs, and moves per second over all of them (None: as fast as they can).
LOADS: tuple[tuple[int, float | None], ...] = ((50, None), (100, None), (100, 150.0))
#: The sizes of the clusters, in nodes.
NODES = (1, 2)


async def idle_usage(running: Cluster, seconds: float) -> dict[str, Usage]:
    """The usage of the idle cluster per second, by kind of process."""
    result = await measure_load(running, Meter(None), [], seconds, warm_s=1.0)
    return {kind: usage.scaled(1 / seconds) for kind, usage in result.used.items()}


async def calibrate(
    running: Cluster, seconds: float, report_progress: Callable[[str], None]
) -> tuple[list[Run], dict[str, Usage], Room]:
    """Runs the loads on a cluster of this size; returns their costs, its idle use per second, and
    an operation's bytes in the database.
    """
    runs = []
    nodes = len(running.nodes)
    idle = await idle_usage(running, seconds)
    sizes_before = await _sizes(running)
    for pairs, per_s in LOADS:
        meter = Meter(per_s)
        # On two nodes the pairs are spread, which gives the cost of an operation on both.
        async with connected_pairs(running, meter, pairs, meet=False) as players:
            result = await measure_load(running, meter, players, seconds)
        used = {
            kind: usage - idle[kind].scaled(result.seconds) for kind, usage in result.used.items()
        }
        us = {
            kind: round(max(0.1, usage.cpu_s / result.commands * 1e6), 1)
            for kind, usage in used.items()
        }
        runs.append(Run(nodes, pairs, per_s, us))
        report_progress(
            f"{nodes} nodes, {pairs} pairs: {result.per_s:.0f} moves/s;"
            f" microseconds an operation: {us}"
        )
    ops = (await read_counters(running, "commands"))["commands"]
    bytes_per_op = [
        (after - before) / ops
        for after, before in zip(await _sizes(running), sizes_before, strict=True)
    ]
    return runs, idle, Room(*bytes_per_op)


async def _sizes(running: Cluster) -> list[float]:
    """The bytes of our tables with their indexes, and the position of the write-ahead log."""
    async with running.postgres.session("plyroom") as session:
        return [
            float(await session.fetchval(TABLE_BYTES)),
            float(await session.fetchval(WAL_POSITION)),
        ]


#: SQL: the bytes of our tables with their indexes.
TABLE_BYTES = (
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
    " WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'"
)
#: SQL: the bytes that were ever written to the write-ahead log.
WAL_POSITION = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"


def fit(rows: Sequence[Sequence[float]], values: Sequence[float]) -> list[float]:
    """Returns the factors, all at least 0, with which the weighted sum of each row comes closest to
    its value: least squares of relative errors, by coordinate descent.
    """
    scaled = [[x / value for x in row] for row, value in zip(rows, values, strict=True)]
    factors = [0.0] * len(rows[0])
    squares = [sum(row[n] ** 2 for row in scaled) for n in range(len(factors))]
    for _ in range(20_000):
        for n, square in enumerate(squares):
            if square > 0:
                missing = sum(
                    row[n] * (1 - sum(f * x for f, x in zip(factors, row, strict=True)))
                    for row in scaled
                )
                factors[n] = max(0.0, factors[n] + missing / square)
    return factors


#: The kinds of process whose unit costs are fitted.
KINDS = ("client", "proxy", "node", "database", "broker")
#: Number of rounds of the fit. The simulated numbers of wake-ups and groups depend on the costs of
#: the round before; four rounds converge.
ROUNDS = 4


def unit_costs(
    runs: Sequence[Run],
    background: dict[str, float],
    fsync_s: list[tuple[float, float]],
    cores: int,
) -> Costs:
    """The costs with which the simulation of these loads uses as much CPU time as was measured. The
    simulation itself determines the wake-ups and the sizes of groups.
    """
    costs = Costs(**dict.fromkeys(UNITS, 0.0001), fsync_s=fsync_s, background=background)
    for _ in range(ROUNDS):
        costs = msgspec.structs.replace(costs, **_fitted(runs, costs, cores))
    return costs


#: The unit costs, in the order of KINDS and of the counts that `_simulated` returns.
UNITS = (
    "client_wake_s", "client_op_s", "proxy_wake_s", "proxy_op_s", "node_wake_s", "node_here_op_s",
    "node_away_op_s",
    "node_group_s", "database_wake_s", "database_group_s", "database_op_s", "broker_wake_s",
    "broker_here_op_s",
    "broker_away_op_s",
)  # fmt: skip


def _fitted(runs: Sequence[Run], costs: Costs, cores: int) -> dict[str, float]:
    simulated = {load: _simulated(*load, costs, cores) for load in {run.load for run in runs}}
    fitted: list[float] = []
    for kind in KINDS:
        fitted += fit(
            [simulated[run.load][kind] for run in runs], [run.us[kind] / 1e6 for run in runs]
        )
    return dict(zip(UNITS, fitted, strict=True))


def _simulated(
    nodes: int, pairs: int, per_s: float | None, costs: Costs, cores: int
) -> dict[str, tuple[float, ...]]:
    """For each kind of process, the count per operation of each event that has a cost, in the order
    of UNITS.
    """
    # The usage of the idle cluster has been subtracted from the measured costs.
    model = Model(msgspec.structs.replace(costs, background={}), Layout(nodes, cores), seed=1)
    counts = play(model, pairs, per_s, seconds=2.0 if per_s is None else 8.0)
    here, away = (1.0, 0.0) if nodes == 1 else (0.0, 1.0)
    groups = sum(writer.groups for writer in model.writers) / counts.ops

    def wakes(*processes: Process) -> float:
        return sum(process.wakes for process in processes) / counts.ops

    return {
        "client": (wakes(model.client), 1.0),
        "proxy": (wakes(*model.proxy), 1.0),
        "node": (wakes(*model.nodes), here, away, groups),
        "database": (wakes(*model.backends), groups, 1.0),
        "broker": (wakes(model.broker), here, away),
    }
