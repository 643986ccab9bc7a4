"""`python -m server.bench moves`: the cost of a durable move, beside a bare relay in the same run.

The server and the relay run in their own processes; the operating system reports their CPU time.
All players run in one process with a minimal WebSocket client, which leaves most of the machine to
the server. Figures are medians of several rounds. Compare ratios: absolute times depend on the
machine and its load.
"""

import asyncio
import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from server.bench.figures import median, percentile, report
from server.bench.pairs import Meter, Pair, make_pair
from server.bench.processes import (
    UNLIMITED_ENVIRON,
    Process,
    cpu_seconds,
    cpu_seconds_with_children,
    resident_bytes,
    server_command,
    spawn,
)
from server.bench.relay import make_relay_pair, relay

#: Number of pairs that connect concurrently.
CONNECT_BATCH = 25


@dataclass(frozen=True)
class Load:
    """The result of a measured load: moves, wall time, CPU seconds of server and database, and
    latencies in ms.
    """

    moves: int
    seconds: float
    cpu_s: float
    latencies_ms: list[float]
    database_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Moves a second."""
        return self.moves / self.seconds

    @property
    def cpu_us(self) -> float:
        """CPU time of the server for a move, in us."""
        return self.cpu_s / max(1, self.moves) * 1e6

    def percentile(self, share: float) -> float:
        """The latency that a share of the moves does not exceed, in ms."""
        return percentile(self.latencies_ms, share)


MakePair = Callable[[int, Meter, int], Awaitable[Pair]]


async def play(
    port: int,
    pid: int,
    make: MakePair,
    count: int,
    seconds: float,
    per_s: float | None,
    database: int | None = None,
) -> Load:
    """Lets `count` pairs play for `seconds` after a short warm-up, and measures them.

    `database` is the id of a process whose CPU time, with its children's, is measured too.
    """
    meter = Meter(per_s)
    pairs: list[Pair] = []
    for start in range(0, count, CONNECT_BATCH):
        pairs += await asyncio.gather(
            *(make(port, meter, n) for n in range(start, min(count, start + CONNECT_BATCH)))
        )
    await asyncio.sleep(0.3)
    for pair in pairs:
        meter.schedule(pair.move)
    await asyncio.sleep(seconds / 4)
    meter.latencies_ms.clear()
    database_s = cpu_seconds_with_children(database)
    moves, cpu_s, start_s = meter.moves, cpu_seconds(pid), time.perf_counter()
    await asyncio.sleep(seconds)
    load = Load(
        meter.moves - moves, time.perf_counter() - start_s, cpu_seconds(pid) - cpu_s,
        list(meter.latencies_ms), cpu_seconds_with_children(database) - database_s,
    )  # fmt: skip
    meter.close()
    for pair in pairs:
        for player in pair.players:
            player.transport.abort()
    return load


# --- the report -----------------------------------------------------------------------------------


def fsync_ms(folder: Path) -> float:
    """The median time of a 4 KiB write with fdatasync in that folder, in ms."""
    times: list[float] = []
    with (folder / "fsync").open("wb") as file:
        for _ in range(200):
            file.write(b"x" * 4096)
            start_s = time.perf_counter()
            file.flush()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - start_s) * 1000)
    return median(times)


async def first_page_s(process: Process) -> float:
    """The time from the start of the process to the first line of the first page, in seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    await reader.readline()
    writer.close()
    return time.perf_counter() - process.started_s


async def measure(
    rounds: int, seconds: float, matches: int, folder: Path, clock: str | None
) -> None:
    """Runs the benchmark and prints its figures, most of them with a target.

    The matches have the time control `clock`, if it is not None.
    """
    make = partial(make_pair, clock=clock)
    start_times_s = []
    for _ in range(rounds + 1):
        async with spawn(*server_command(folder / "start")) as process:
            start_times_s.append(await first_page_s(process))
    report("server start to first page, warm", median(start_times_s[1:]), "s", 1.0)
    disk_ms = fsync_ms(folder)
    print(f"{'raw write + fdatasync of 4 KiB':48} {disk_ms:9.2f} ms")
    figures: dict[str, list[Load]] = {}
    for number in range(rounds):
        async with spawn(
            *server_command(folder / f"data{number}"), environment=UNLIMITED_ENVIRON
        ) as server:
            for name, count, per_s in LOADS:
                load = await play(server.port, server.pid, make, count, seconds, per_s)
                figures.setdefault(name, []).append(load)
        async with spawn(sys.executable, "-m", "server.bench", "moves", "--relay") as relay_process:
            for name, count in (("relay 50 pairs", 50), ("relay 500 pairs", 500)):
                figures.setdefault(name, []).append(
                    await play(
                        relay_process.port, relay_process.pid, make_relay_pair, count, seconds, None
                    )
                )
    for name in ("50 pairs", "500 pairs"):
        loads, relays = figures[name], figures[f"relay {name}"]
        rate = median(load.per_s for load in loads)
        print(f"{f'{name}: acknowledged durable moves':48} {rate:9.0f} /s")
        report(f"{name}: server CPU a move", median(load.cpu_us for load in loads), "us", 100)
        relay_us = median(load.cpu_us for load in relays)
        print(f"{f'{name}: bare relay, CPU a move':48} {relay_us:9.1f} us")
        report(
            f"{name}: ratio to the relay",
            median(a.cpu_us / b.cpu_us for a, b in zip(loads, relays, strict=True)),
            "x",
            3.7,
        )
    paced = figures["330 moves/s"]
    for name, share, target in (("p50", 0.5, 1.5), ("p99", 0.99, 5.0)):
        value = median(load.percentile(share) for load in paced)
        report(
            f"move to ack at {median(load.per_s for load in paced):.0f} moves/s, {name}",
            value,
            "ms",
            target,
        )
        print(f"{f'  the same in raw fsyncs, {name}':48} {value / disk_ms:9.2f} x")
    report(
        f"memory per live match, of {matches}",
        await memory_per_match(folder / "memory", matches, make) / 1024,
        "KB",
        35,
    )
    modules = subprocess.run(
        [sys.executable, "-c", "import server.app, sys; print('numba' in sys.modules)"],
        capture_output=True,
        text=True,
    )
    answer = "yes" if "True" in modules.stdout else "no"
    print(f"{'importing the server imports numba':48} {answer:>9}")


#: The measured loads: name, number of pairs, and moves a second (None: without a limit).
LOADS = (("50 pairs", 50, None), ("500 pairs", 500, None), ("330 moves/s", 50, 330.0))


async def compare(
    rounds: int, seconds: float, folder: Path, url: str, postgres: int | None
) -> None:
    """Prints the cost of a move on PostgreSQL and on SQLite: one node each, in turns.

    `postgres` is the process id of a PostgreSQL server on this machine. With it, the CPU time of
    the database is measured too.
    """
    print(f"{'raw write + fdatasync of 4 KiB':48} {fsync_ms(folder):9.2f} ms")
    figures: dict[str, list[Load]] = {}
    for number in range(rounds):
        for kind in ("SQLite", "PostgreSQL"):
            environment = (
                UNLIMITED_ENVIRON
                if kind == "SQLite"
                else {**UNLIMITED_ENVIRON, "PLYROOM_DATABASE": url}
            )
            async with spawn(
                *server_command(folder / f"data{number}"), environment=environment
            ) as server:
                for name, count, per_s in LOADS:
                    load = await play(
                        server.port, server.pid, make_pair, count, seconds, per_s, postgres
                    )
                    figures.setdefault(f"{kind}, {name}", []).append(load)
    for name, loads in figures.items():
        rate = median(load.per_s for load in loads)
        print(f"{f'{name}: acknowledged durable moves':56} {rate:9.0f} /s")
        print(f"{f'{name}: CPU a move, node':56} {median(load.cpu_us for load in loads):9.1f} us")
        if name.startswith("PostgreSQL"):
            sqlite_loads = figures[name.replace("PostgreSQL", "SQLite")]
            ratio = median(a.cpu_us / b.cpu_us for a, b in zip(loads, sqlite_loads, strict=True))
            print(f"{f'{name}: the node beside a node on SQLite':56} {ratio:9.2f} x")
            if postgres is not None:
                cost_us = median(load.database_s / max(1, load.moves) * 1e6 for load in loads)
                print(f"{f'{name}: CPU a move, database':56} {cost_us:9.1f} us")
        for quantile, share in (("p50", 0.5), ("p99", 0.99)):
            value = median(load.percentile(share) for load in loads)
            print(f"{f'{name}: move to ack, {quantile}':56} {value:9.2f} ms", flush=True)


@contextlib.contextmanager
def private_database() -> Iterator[tuple[str, int]]:
    """Starts a private PostgreSQL with fsync on; yields an empty database's URL and the process id
    of the server.
    """
    from server.deploy.postgres import TEMPLATE, WITH_FSYNC, private_postgres

    with private_postgres(
        **{**WITH_FSYNC, "shared_buffers": "256MB", "autovacuum_naptime": "1min"}
    ) as server:
        yield server.url(TEMPLATE), server.pid


async def memory_per_match(folder: Path, matches: int, make: MakePair = make_pair) -> float:
    """The resident memory of a live match with both sockets open and one move played, in bytes: the
    growth of the server's memory divided by `matches`.
    """
    async with spawn(*server_command(folder), environment=UNLIMITED_ENVIRON) as server:
        warm = await play(server.port, server.pid, make_pair, 20, 1.0, None)
        assert warm.moves, "no pair played"
        while not _have_rooms_closed(server):
            await asyncio.sleep(1)
        before = resident_bytes(server.pid)
        meter = Meter(None)
        pairs = [await make(server.port, meter, number) for number in range(matches)]
        for pair in pairs:
            pair.move()
        meter.close()  # no pair plays a second move
        await asyncio.sleep(2)
        grown = resident_bytes(server.pid) - before
        for pair in pairs:
            for player in pair.players:
                player.transport.abort()
    return grown / matches


#: Time after a server's start by which the rooms of the first load have closed, in seconds.
ROOMS_CLOSED_S = 15.0


def _have_rooms_closed(server: Process) -> bool:
    """Whether the rooms of the first load have had time to close."""
    return time.perf_counter() - server.started_s > ROOMS_CLOSED_S


@click.command()
@click.option("--rounds", default=3, help="Number of rounds; each figure is their median.")
@click.option("--seconds", default=4.0, help="Length of each load, in seconds.")
@click.option("--matches", default=2000, help="Number of live matches for the memory figure.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder on the disk to measure.  [default: a temporary one]",
)
@click.option(
    "--database", help="Only compare moves on this empty PostgreSQL database with SQLite."
)
@click.option("--postgres", is_flag=True, help="The same with a private PostgreSQL server.")
@click.option("--clock", help="The time control of the matches, as in 300+3.  [default: none]")
@click.option("--relay", "as_relay", is_flag=True, hidden=True)
def main(
    rounds: int,
    seconds: float,
    matches: int,
    data: Path | None,
    database: str | None,
    postgres: bool,
    clock: str | None,
    as_relay: bool,
) -> None:
    """Measure the server: its start, and the rate, CPU time, latency and memory of moves."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    import uvloop

    if as_relay:
        uvloop.run(relay(lambda port: print(f"http://127.0.0.1:{port}/", flush=True)))
        return
    folder = Path(tempfile.mkdtemp(prefix="plyroom-bench-", dir=data))
    try:
        if postgres:
            with private_database() as (url, pid):
                uvloop.run(compare(rounds, seconds, folder, url, pid))
        elif database is not None:
            uvloop.run(compare(rounds, seconds, folder, database, None))
        else:
            uvloop.run(measure(rounds, seconds, matches, folder, clock))
    finally:
        shutil.rmtree(folder)
