"""`python -m server.bench cluster`: durable moves through a cluster's proxy, with one and three
nodes.

Each round starts a cluster on this machine and lets pairs play tic-tac-toe, first as fast as they
can, then at a fixed rate. The players share the machine with the cluster. Figures are medians of
the rounds.
"""

import asyncio
import os
import platform
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass

import click
import uvloop

from server.bench.figures import median, percentile
from server.bench.pairs import Meter, Pair, make_pair
from server.bench.players import RequestClient, connect
from server.bench.usage import (
    machine_busy_s,
    pids_of,
    read_counters,
    realtime_priority,
    usage_by_kind,
    usage_since,
)
from server.deploy.cluster.running import Cluster, temporary_cluster
from server.limits import by_address as limits
from server.runtime.node.duties import SWEEP_S
from server.runtime.node.open_rooms import MOVED_ROOM_S

#: Pairs of players.
PAIRS = 200
#: Moves per second of the second load, over all pairs.
PACED_PER_S = 300.0
#: The required CPU time of all nodes for a move on three nodes, as a multiple of that on one.
NODES_RATIO = 1.2
#: The required 99th percentile at that rate with three nodes, in ms.
P99_MS = 15.0
#: Length of the warm-up before a measurement, in seconds.
WARM_S = 2.0
#: A measurement is undisturbed if other processes use at most this many cores.
QUIET_CORES = 0.15
#: Maximum number of attempts to get an undisturbed measurement.
MAX_ATTEMPTS = 8
#: Settings of the nodes: no rate limits, and only warnings and errors in the log.
NODE_SETTINGS: dict[str, object] = {
    "messages_per_s": 1e6,
    "messages_burst": 10**6,
    "rooms_per_minute": 1e6,
    **limits.NO_LIMITS,
    "log": "warning",
}


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a load on a cluster."""

    moves: int
    seconds: float
    latencies_ms: list[float]
    #: Core-seconds of each kind of process.
    used_s: dict[str, float]
    commands: float
    conflicts: float
    #: Cores that other processes kept busy during the measurement.
    other_cores: float

    @property
    def per_s(self) -> float:
        return self.moves / self.seconds

    @property
    def conflicts_per_thousand(self) -> float:
        return 1000 * self.conflicts / max(1.0, self.commands)

    def percentile(self, share: float) -> float:
        return percentile(self.latencies_ms, share)

    def us(self, kind: str) -> float:
        """CPU time per move of that kind of process, in microseconds."""
        return self.used_s[kind] / max(1, self.moves) * 1e6


async def wait_for_all_nodes(running: Cluster) -> None:
    """Waits until every node counts all nodes: only then do clients open a socket for each room."""
    for url in running.urls:
        while True:
            client = RequestClient(await connect(int(url.rpartition(":")[2])))
            welcome = await client.request("welcome", t="hello", protocol=1)
            client.player.transport.abort()
            if welcome.get("nodes", 1) == len(running.nodes):
                break
            await asyncio.sleep(0.1)


@asynccontextmanager
async def connected_pairs(
    running: Cluster, meter: Meter, count: int, meet: bool = True
) -> AsyncIterator[list[Pair]]:
    """Connects this many pairs through the proxy; each plays once its meter allows a move.

    With `meet` the players of a pair are on one node, otherwise they are spread over the nodes.
    """
    pairs = [await make_pair(running.port, meter, number, meet) for number in range(count)]
    # The nodes on which the rooms were created drop those that are followed elsewhere.
    await asyncio.sleep(0.5 + (MOVED_ROOM_S + SWEEP_S if len(running.nodes) > 1 else 0))
    try:
        yield pairs
    finally:
        meter.close()
        for pair in pairs:
            for player in pair.players:
                player.transport.abort()


async def measure_load(
    running: Cluster, meter: Meter, pairs: Sequence[Pair], seconds: float, warm_s: float = WARM_S
) -> LoadResult:
    """Lets the pairs play and measures after the warm-up.

    While other processes keep the machine busy, it measures again, at most MAX_ATTEMPTS times, and
    returns the least disturbed measurement. A cluster with real-time priority is measured once.
    """
    for pair in pairs:
        meter.schedule(pair.move)
    pids = [pid for group in pids_of(running, os.getpid()).values() for pid in group]
    with realtime_priority(pids) if running.has_realtime_priority else nullcontext():
        await asyncio.sleep(warm_s)
        attempts = [await _measure_once(running, meter, seconds)]
        while (
            not running.has_realtime_priority
            and len(attempts) < MAX_ATTEMPTS
            and attempts[-1].other_cores > QUIET_CORES
        ):
            attempts.append(await _measure_once(running, meter, seconds))
    return min(attempts, key=lambda attempt: attempt.other_cores)


async def _measure_once(running: Cluster, meter: Meter, seconds: float) -> LoadResult:
    counts = await read_counters(running, "commands", "conflicts")
    busy_s, before = machine_busy_s(), usage_by_kind(running, os.getpid())
    meter.latencies_ms.clear()
    moves, begun_s = meter.moves, time.perf_counter()
    await asyncio.sleep(seconds)
    moves, took_s, latencies_ms = (
        meter.moves - moves,
        time.perf_counter() - begun_s,
        list(meter.latencies_ms),
    )
    used_s = usage_since(usage_by_kind(running, os.getpid()), before)
    others_s = machine_busy_s() - busy_s - sum(used_s.values())
    after = await read_counters(running, "commands", "conflicts")
    return LoadResult(
        moves=moves,
        seconds=took_s,
        latencies_ms=latencies_ms,
        used_s=used_s,
        commands=after["commands"] - counts["commands"],
        conflicts=after["conflicts"] - counts["conflicts"],
        other_cores=others_s / took_s,
    )


@asynccontextmanager
async def fresh_cluster(nodes: int, realtime: bool = False) -> AsyncIterator[Cluster]:
    """A new cluster without workers; with `realtime`, it is measured at real-time priority."""
    async with temporary_cluster(nodes, 0, NODE_SETTINGS) as running:
        running.has_realtime_priority = realtime
        await wait_for_all_nodes(running)
        yield running


async def measure_loads(
    running: Cluster, seconds: float, meet: bool = True
) -> tuple[LoadResult, LoadResult]:
    """Measures as fast as possible, then at the fixed rate; see `connected_pairs` for `meet`."""
    loads = []
    for per_s in (None, PACED_PER_S):
        meter = Meter(per_s)
        async with connected_pairs(running, meter, PAIRS, meet) as pairs:
            loads.append(await measure_load(running, meter, pairs, seconds))
    return loads[0], loads[1]


async def measure(
    rounds: int,
    seconds: float,
    realtime: bool,
    meet: bool,
    report_progress: Callable[[str], None],
) -> dict[int, list[tuple[LoadResult, LoadResult]]]:
    """Measures both loads on one node and on three, alternately; returns the results by nodes."""
    results: dict[int, list[tuple[LoadResult, LoadResult]]] = {1: [], 3: []}
    for number in range(rounds):
        for nodes, loads in results.items():
            async with fresh_cluster(nodes, realtime) as running:
                loads.append(await measure_loads(running, seconds, meet))
            report_progress(f"round {number + 1}, {progress(nodes, *loads[-1])}")
    return results


def progress(nodes: int, fast: LoadResult, paced: LoadResult) -> str:
    """One line with the figures of a round."""
    return (
        f"{nodes} node{'s' if nodes > 1 else ''}: {fast.per_s:.0f} moves/s;"
        f" at {paced.per_s:.0f} moves/s p50 {paced.percentile(0.5):.2f} ms,"
        f" p99 {paced.percentile(0.99):.2f} ms;"
        f" other processes used {fast.other_cores:.2f} and {paced.other_cores:.2f} cores"
    )


def report(results: dict[int, list[tuple[LoadResult, LoadResult]]], meet: bool) -> list[str]:
    """The medians of the rounds, one line each. The targets are of players who meet on one node."""
    lines = []
    for nodes, rounds in results.items():
        name = f"{nodes} node{'s' if nodes > 1 else ''}"
        for n, load in enumerate((f"{PAIRS} pairs", f"{PACED_PER_S:g} moves/s")):
            loads = [both[n] for both in rounds]
            rate = median([result.per_s for result in loads])
            lines.append(f"{name}, {load}: {rate:.0f} acknowledged durable moves/s")
            for kind in loads[0].used_s:
                us = median([result.us(kind) for result in loads])
                lines.append(f"{name}, {load}: CPU a move, {kind}: {us:.0f} us")
            others = median([result.other_cores for result in loads])
            lines.append(f"{name}, {load}: cores that other processes used: {others:.2f}")
            conflicts = median([result.conflicts_per_thousand for result in loads])
            lines.append(f"{name}, {load}: {conflicts:.2f} conflicts in a thousand commits")
            for quantile, share in (("p50", 0.5), ("p99", 0.99)):
                value = median([result.percentile(share) for result in loads])
                lines.append(f"{name}, {load}: move to ack, {quantile}: {value:.2f} ms")
    return lines + (targets(results) if meet else [])


def targets(results: dict[int, list[tuple[LoadResult, LoadResult]]]) -> list[str]:
    """What three nodes cost and how fast they answer, beside the targets."""
    ratio = median([fast.us("node") for fast, _ in results[3]]) / median(
        [fast.us("node") for fast, _ in results[1]]
    )
    p99_ms = median([paced.percentile(0.99) for _, paced in results[3]])
    return [
        f"{PAIRS} pairs: CPU a move of three nodes beside one: {ratio:.2f} x,"
        f" target {NODES_RATIO:g}: {'reached' if ratio <= NODES_RATIO else 'NOT reached'}",
        f"p99 through the cluster at {PACED_PER_S:g} moves/s: {p99_ms:.2f} ms,"
        f" target {P99_MS:g} ms: {'reached' if p99_ms <= P99_MS else 'NOT reached'}",
    ]


@click.command()
@click.option("--rounds", default=3, help="Rounds; figures are medians of them.")
@click.option("--seconds", default=6.0, help="Length of each load.")
@click.option(
    "--first", "realtime", is_flag=True,
    help="Measure at real-time priority (root on Linux): for a machine with other work.",
)  # fmt: skip
@click.option(
    "--apart", is_flag=True,
    help="Connect players wherever the proxy sends them, instead of both to the room's node.",
)  # fmt: skip
def main(rounds: int, seconds: float, realtime: bool, apart: bool) -> None:
    """Measure a cluster on this machine, with one node and with three."""
    click.echo(
        f"{platform.platform()}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}"
    )
    results = uvloop.run(measure(rounds, seconds, realtime, not apart, click.echo))
    for line in report(results, not apart):
        click.echo(line)
