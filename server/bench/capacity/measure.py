"""`python -m server.bench.capacity.measure`: measures this machine's unit costs, and a cluster on
it under load.

It writes server/bench/capacity/measured.json, from which `server.bench.capacity.planning` makes the
tables of docs/explanation/scaling.md. Nothing else should run on the machine. `--only` measures
one part again and keeps the others.
"""

import datetime
import os
import resource
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path

import click
import msgspec
import uvloop

from server.bench import cluster as bench
from server.bench.capacity import microbenchmarks
from server.bench.capacity.calibrate import NODES, calibrate, unit_costs
from server.bench.capacity.costs import (
    FILE,
    Capacity,
    Figures,
    Room,
    Run,
    read_capacity,
    write_capacity,
)
from server.bench.cluster import LoadResult, median
from server.bench.usage import realtime_priority

#: The parts of a measurement, which `--only` selects.
PARTS = ("moves", "idle", "match", "spectator", "lobby", "search")


async def moves(folder: Path, rounds: int, seconds: float, realtime: bool) -> dict[str, object]:
    """Unit costs from the loads of `calibrate`, and the figures to be predicted, on clusters of
    one, two and three nodes in turns: a virtual machine becomes faster or slower within minutes.
    """
    with realtime_priority([os.getpid()]) if realtime else nullcontext():
        fsync_s = microbenchmarks.fsync_s(folder)
    runs: list[Run] = []
    idle: dict[str, list[float]] = {}
    rooms: list[Room] = []
    loads: dict[int, list[tuple[LoadResult, LoadResult]]] = {1: [], 3: []}
    for number in range(rounds):
        for nodes in sorted({*loads, *NODES}):
            async with bench.fresh_cluster(nodes, realtime) as running:
                if nodes in NODES:
                    new_runs, idle_usage, room = await calibrate(running, seconds, click.echo)
                    runs += new_runs
                    rooms.append(room)
                    for kind, usage in idle_usage.items():
                        idle.setdefault(kind, []).append(
                            usage.cpu_s / (nodes if kind == "node" else 1)
                        )
                if nodes in loads:
                    loads[nodes].append(await bench.measure_loads(running, seconds))
                    click.echo(f"round {number + 1}, {bench.progress(nodes, *loads[nodes][-1])}")
    for line in bench.report(loads):
        click.echo(line)
    background = {kind: median(shares) for kind, shares in idle.items() if kind != "client"}
    return {
        "runs": runs,
        "costs": unit_costs(runs, background, fsync_s, os.cpu_count() or 1),
        "room": Room(
            median([room.database_bytes_per_op for room in rooms]),
            median([room.wal_bytes_per_op for room in rooms]),
        ),
        "measured": [figures(nodes, results) for nodes, results in loads.items()],
    }


def figures(nodes: int, rounds: list[tuple[LoadResult, LoadResult]]) -> Figures:
    """The medians of the rounds."""

    def of(n: int, figure: Callable[[LoadResult], float]) -> float:
        return median([figure(both[n]) for both in rounds])

    return Figures(
        nodes, bench.PAIRS,
        of(0, lambda result: result.per_s), of(0, lambda result: result.conflicts_per_thousand),
        of(0, lambda result: result.us("node")), of(0, lambda result: result.us("database")),
        of(1, lambda result: result.per_s), of(1, lambda result: result.percentile(0.5)),
        of(1, lambda result: result.percentile(0.99)),
        of(1, lambda result: result.conflicts_per_thousand),
        of(1, lambda result: result.us("node")), of(1, lambda result: result.us("database")),
        max(of(0, lambda result: result.other_cores), of(1, lambda result: result.other_cores)),
        meet=True,
    )  # fmt: skip


async def measure_all(
    parts: set[str], rounds: int, seconds: float, realtime: bool
) -> dict[str, object]:
    """Runs the measurements; returns them by part."""
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="plyroom-measure-") as name:
        folder = Path(name)
        if "moves" in parts:
            results |= await moves(folder, rounds, seconds, realtime)
        if "lobby" in parts:
            results["lobby"] = microbenchmarks.lobby()
        measurements: dict[str, Callable[[], Awaitable[object]]] = {
            "idle": lambda: microbenchmarks.idle_connections(1000, seconds),
            "match": lambda: microbenchmarks.live_match(500),
            "spectator": lambda: microbenchmarks.spectators(200, seconds),
            "search": lambda: microbenchmarks.search_costs(folder),
        }
        for part, measurement in measurements.items():
            if part in parts:
                results[part] = await measurement()
                click.echo(f"{part}: {results[part]}")
    return results


@click.command()
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(PARTS),
    help="Measure only this part; the others stay as they are.",
)
@click.option("--rounds", default=3, help="Rounds under load; figures are medians of them.")
@click.option("--seconds", default=8.0, help="Length of each load.")
@click.option(
    "--first",
    "realtime",
    is_flag=True,
    help="Measure the clusters at real-time priority (root on Linux).",
)
@click.option("--file", default=FILE, type=click.Path(path_type=Path), help="File to write.")
def main(parts: tuple[str, ...], rounds: int, seconds: float, realtime: bool, file: Path) -> None:
    """Measures this machine and writes the results to the file."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    load = os.getloadavg()[0]
    results = uvloop.run(measure_all(set(parts or PARTS), rounds, seconds, realtime))
    conditions: dict[str, object] = {
        "machine": microbenchmarks.machine_description(), "cores": os.cpu_count() or 1,
        "commit": microbenchmarks.git_commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load_before": round(load, 1),
    }  # fmt: skip
    old = msgspec.structs.asdict(read_capacity(file)) if parts else {}
    write_capacity(Capacity(**{**old, **conditions, **results}), file)


if __name__ == "__main__":
    main()
