"""`make cluster`: runs the cluster of docker-compose.yml on this machine until Ctrl-C, or measures
it under load.

Nodes, workers, PostgreSQL, Mosquitto and the proxy run with the commands and settings of the
compose file, on free ports of 127.0.0.1 and with their files in a temporary folder.
"""

import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from pathlib import Path

import click

from server.bench.moves import Load, make_pair, play
from server.deploy.postgres import unprivileged
from server.limits import by_address as limits
from tests.cluster.running import Cluster, cluster

UNLIMITED: dict[str, object] = {
    "messages_per_s": 1e6, "messages_burst": 10**6, "rooms_per_minute": 1e6, **limits.NO_LIMITS,
}  # fmt: skip


@click.command()
@click.option("--nodes", default=3, type=click.IntRange(1, 9), help="Server nodes.  [default: 3]")
@click.option(
    "--workers", default=2, type=click.IntRange(0, 9), help="Engine workers.  [default: 2]"
)
@click.option(
    "--pairs",
    type=click.IntRange(1, 5000),
    help="Number of pairs that play tic-tac-toe; prints the figures.",
)
@click.option("--seconds", default=10.0, help="Length of that load.")
@click.option("--per-s", type=float, help="Moves a second over all pairs.  [default: no limit]")
def main(nodes: int, workers: int, pairs: int | None, seconds: float, per_s: float | None) -> None:
    """Starts a cluster on this machine."""
    asyncio.run(run(nodes, workers, pairs, seconds, per_s))


async def run(
    nodes: int, workers: int, pairs: int | None, seconds: float, per_s: float | None
) -> None:
    """Starts the cluster; ends it after the load or at a signal."""
    begun_s = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="plyroom-cluster-") as name:
        folder = Path(name)
        if unprivileged():
            folder.chmod(0o755)
        async with cluster(folder, nodes, workers, UNLIMITED if pairs else {}) as running:
            click.echo(f"Plyroom is at {running.url}/ after {time.perf_counter() - begun_s:.1f} s")
            for node, url, port in zip(
                running.nodes, running.urls, running.metrics_ports, strict=True
            ):
                click.echo(f"  {node.name} {url}/  metrics http://127.0.0.1:{port}/metrics")
            click.echo(f"  logs are in {folder}")
            if pairs is not None:
                report(running, await under_load(running, pairs, seconds, per_s))
            else:
                await until_stopped()


async def under_load(
    running: Cluster, pairs: int, seconds: float, per_s: float | None
) -> tuple[Load, dict[str, float]]:
    """Runs a load through the proxy; returns its result, and the CPU seconds that each process
    took.
    """
    before = {member.name: member.cpu_s() for member in running.members}
    load = await play(running.port, running.nodes[0].pid, make_pair, pairs, seconds, per_s)
    return load, {member.name: member.cpu_s() - before[member.name] for member in running.members}


def report(running: Cluster, measured: tuple[Load, dict[str, float]]) -> None:
    """Prints the results, one line each."""
    load, cpu_s = measured
    click.echo(f"{load.per_s:9.0f} acknowledged moves a second")
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        click.echo(f"{load.percentile(share):9.2f} ms from move to ack, {name}")
    for name, spent_s in cpu_s.items():
        click.echo(f"{spent_s:9.2f} s of processor time, {name} (setting up included)")


async def until_stopped() -> None:
    """Waits for Ctrl-C or SIGTERM."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    click.echo("Ctrl-C stops it.")
    await stopped.wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
    sys.exit(0)
