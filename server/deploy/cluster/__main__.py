"""`python -m server.deploy.cluster`: runs the cluster of docker-compose.yml on this machine until
Ctrl-C.

Nodes, workers, PostgreSQL, Mosquitto and the proxy run with the commands and settings of the
compose file, on free ports of 127.0.0.1 and with their files in a temporary folder.
"""

import asyncio
import contextlib
import signal
import time

import click

from server.deploy.cluster.running import Cluster, temporary_cluster


@click.command()
@click.option("--nodes", default=3, type=click.IntRange(1, 9), help="Server nodes.  [default: 3]")
@click.option(
    "--workers", default=2, type=click.IntRange(0, 9), help="Engine workers.  [default: 2]"
)
def main(nodes: int, workers: int) -> None:
    """Starts a cluster on this machine."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(nodes, workers))


async def run(nodes: int, workers: int) -> None:
    """Starts the cluster, prints its addresses, and ends it at a signal."""
    start_s = time.perf_counter()
    async with temporary_cluster(nodes, workers) as running:
        print_addresses(running, time.perf_counter() - start_s)
        await until_stopped()


def print_addresses(running: Cluster, started_in_s: float) -> None:
    """Prints where the cluster serves and where its logs are."""
    click.echo(f"Plyroom is at {running.url}/ after {started_in_s:.1f} s")
    for node, url, port in zip(running.nodes, running.urls, running.metrics_ports, strict=True):
        click.echo(f"  {node.name} {url}/  metrics http://127.0.0.1:{port}/metrics")
    click.echo(f"  logs are in {running.folder}")


async def until_stopped() -> None:
    """Waits for Ctrl-C or SIGTERM."""
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    click.echo("Ctrl-C stops it.")
    await stopped.wait()


if __name__ == "__main__":
    main()
