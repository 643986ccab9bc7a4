"""`python -m server.bench cluster-load`: lets pairs play tic-tac-toe on a cluster of this machine.

It starts the cluster of docker-compose.yml, sends one load through its proxy, and prints the moves
per second, the latencies and the CPU time of each process.
"""

import asyncio

import click

from server.bench.cluster import wait_for_all_nodes
from server.bench.moves import Load, play
from server.bench.pairs import make_pair
from server.deploy.cluster.running import Cluster, temporary_cluster
from server.limits import by_address as limits

#: Settings of nodes and workers that lift every rate limit.
UNLIMITED: dict[str, object] = {
    "messages_per_s": 1e6, "messages_burst": 10**6, "rooms_per_minute": 1e6, **limits.NO_LIMITS,
}  # fmt: skip


async def measure(
    nodes: int, workers: int, pairs: int, seconds: float, per_s: float | None
) -> tuple[Load, dict[str, float]]:
    """Runs the load; returns its result and each process's CPU seconds."""
    async with temporary_cluster(nodes, workers, UNLIMITED) as running:
        await wait_for_all_nodes(running)
        before = cpu_s(running)
        load = await play(running.port, running.nodes[0].pid, make_pair, pairs, seconds, per_s)
        return load, {name: after - before[name] for name, after in cpu_s(running).items()}


def cpu_s(running: Cluster) -> dict[str, float]:
    """The CPU seconds of each process so far, by its name."""
    return {member.name: member.cpu_s() for member in running.members}


def report(load: Load, spent_s: dict[str, float]) -> list[str]:
    """The results, one line each."""
    return [
        f"{load.per_s:9.0f} acknowledged moves a second",
        f"{load.percentile(0.5):9.2f} ms from move to ack, p50",
        f"{load.percentile(0.99):9.2f} ms from move to ack, p99",
        *(
            f"{seconds:9.2f} s of CPU time, {name} (including the setup)"
            for name, seconds in spent_s.items()
        ),
    ]


@click.command()
@click.option("--nodes", default=3, type=click.IntRange(1, 9), help="Server nodes.  [default: 3]")
@click.option(
    "--workers", default=2, type=click.IntRange(0, 9), help="Engine workers.  [default: 2]"
)
@click.option(
    "--pairs", default=200, type=click.IntRange(1, 5000), help="Pairs of players.  [default: 200]"
)
@click.option("--seconds", default=10.0, help="Length of the load.")
@click.option("--per-s", type=float, help="Moves a second over all pairs.  [default: no limit]")
def main(nodes: int, workers: int, pairs: int, seconds: float, per_s: float | None) -> None:
    """Let pairs play on a cluster of this machine and print the figures."""
    for line in report(*asyncio.run(measure(nodes, workers, pairs, seconds, per_s))):
        click.echo(line)
