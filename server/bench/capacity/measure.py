"""`python -m server.bench.capacity.measure`: measures this machine's unit costs, and a
cluster on it under load.

It writes server/bench/capacity/measured.json, from which `server.bench.capacity.planning` makes the
tables of docs/explanation/scaling.md. Nothing else should run on the machine. `--only` measures one
part again and keeps the others.
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

PARTS = ("moves", "idle", "match", "spectator", "lobby", "search")


async def moves(folder: Path, rounds: int, seconds: float, first: bool) -> dict[str, object]:
    """Unit costs from the loads of `calibrate`, and the figures to be predicted, on clusters of
    one, two and three nodes in turns: a virtual machine becomes faster or slower within minutes.
    """
    with realtime_priority([os.getpid()]) if first else nullcontext():
        fsync_s = microbenchmarks.fsync_s(folder)
    runs: list[Run] = []
    idle: dict[str, list[float]] = {}
    rooms: list[Room] = []
    loads: dict[int, list[tuple[LoadResult, LoadResult]]] = {1: [], 3: []}
    for number in range(rounds):
        for nodes in sorted({*loads, *NODES}):
            async with bench.fresh_cluster(nodes, first) as running:
                if nodes in NODES:
                    found, used, room = await calibrate(running, seconds, click.echo)
                    runs += found
                    rooms.append(room)
                    for kind, one in used.items():
                        idle.setdefault(kind, []).append(
                            one.cpu_s / (nodes if kind == "node" else 1)
                        )
                if nodes in loads:
                    loads[nodes].append(await bench.measure_loads(running, seconds))
                    click.echo(f"round {number + 1}, {bench.progress(nodes, *loads[nodes][-1])}")
    for line in bench.report(loads):
        click.echo(line)
    background = {kind: median(some) for kind, some in idle.items() if kind != "client"}
    return {
        "runs": runs,
        "costs": unit_costs(runs, background, fsync_s, os.cpu_count() or 1),
        "room": Room(
            median([one.database_bytes_per_op for one in rooms]),
            median([one.wal_bytes_per_op for one in rooms]),
        ),
        "measured": [figures(nodes, some) for nodes, some in loads.items()],
    }


def figures(nodes: int, rounds: list[tuple[LoadResult, LoadResult]]) -> Figures:
    """The medians of the rounds."""

    def of(n: int, figure: Callable[[LoadResult], float]) -> float:
        return median([figure(both[n]) for both in rounds])

    return Figures(
        nodes, bench.PAIRS,
        of(0, lambda one: one.per_s), of(0, lambda one: one.conflicts_per_thousand),
        of(0, lambda one: one.us("node")), of(0, lambda one: one.us("database")),
        of(1, lambda one: one.per_s), of(1, lambda one: one.percentile(0.5)),
        of(1, lambda one: one.percentile(0.99)),
        of(1, lambda one: one.conflicts_per_thousand),
        of(1, lambda one: one.us("node")), of(1, lambda one: one.us("database")),
        max(of(0, lambda one: one.others), of(1, lambda one: one.others)),
    )  # fmt: skip


async def measure_all(
    parts: set[str], rounds: int, seconds: float, first: bool
) -> dict[str, object]:
    """Runs the measurements; returns them by part."""
    found: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="plyroom-measure-") as name:
        folder = Path(name)
        if "moves" in parts:
            found |= await moves(folder, rounds, seconds, first)
        if "lobby" in parts:
            found["lobby"] = microbenchmarks.lobby()
        works: dict[str, Callable[[], Awaitable[object]]] = {
            "idle": lambda: microbenchmarks.idle_connections(1000, seconds),
            "match": lambda: microbenchmarks.live_match(500),
            "spectator": lambda: microbenchmarks.spectators(200, seconds),
            "search": lambda: microbenchmarks.search_costs(folder),
        }
        for part, work in works.items():
            if part in parts:
                found[part] = await work()
                click.echo(f"{part}: {found[part]}")
    return found


@click.command()
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(PARTS),
    help="Only this part; the others stay.",
)
@click.option("--rounds", default=3, help="Rounds under load; figures are medians of them.")
@click.option("--seconds", default=8.0, help="Length of each load.")
@click.option(
    "--first",
    is_flag=True,
    help="Put the clusters before all else on this machine, as in the benchmark.",
)
@click.option("--file", default=FILE, type=click.Path(path_type=Path), help="Where it is kept.")
def main(parts: tuple[str, ...], rounds: int, seconds: float, first: bool, file: Path) -> None:
    """Measures and writes the file."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    load = os.getloadavg()[0]
    found = uvloop.run(measure_all(set(parts or PARTS), rounds, seconds, first))
    about: dict[str, object] = {
        "machine": microbenchmarks.described(), "cores": os.cpu_count() or 1,
        "commit": microbenchmarks.git_commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "load_before": round(load, 1),
    }  # fmt: skip
    kept = msgspec.structs.asdict(read_capacity(file)) if parts else {}
    write_capacity(Capacity(**{**kept, **about, **found}), file)


if __name__ == "__main__":
    main()
