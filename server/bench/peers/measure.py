"""`python -m server.bench peers`: compares our server with a bare relay and boardgame.io.

One load generator plays the same matches on each of them, in turns. The server runs on one core,
the load on another. The operating system reports the server's CPU time. Each figure is the best of
the rounds, because other work on the machine only makes a figure worse. `make bench-peers` installs
boardgame.io first.
"""

import asyncio
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from server.bench.peers import boardgame, plyroom, relay
from server.bench.peers.loads import Figures, Load, idle, memory, moves, spectators
from server.bench.peers.play import Peer
from server.bench.peers.report import OURS, best, machine_lines, table, verdict
from server.bench.processes import UNLIMITED_ENVIRON, Process, server_command, spawn

#: Pairs of the loads of moves.
PAIRS = 50
#: Mean pause before each move of the second load, in seconds: 50 pairs make 330 moves a second.
PAUSE_S = 0.15
#: Live matches whose memory is measured.
MATCHES = 1000
#: Spectators of one match.
SPECTATORS = 1000
#: Number of idle connections.
IDLE = 5000
#: Time for which the idle connections are measured, in seconds.
IDLE_S = 20.0
#: Descriptors of a server besides its clients' sockets.
SPARE_DESCRIPTORS = 200
#: Time limit for a load, in seconds; only one that hangs exceeds it.
LOAD_LIMIT_S = 300.0
#: The core of the server.
SERVER_CORE = 0
#: The core of the load.
LOAD_CORE = 1

#: Our server: durable moves, in SQLite with `synchronous=FULL`.
PLYROOM = Peer(
    OURS,
    server_command,
    plyroom.PlyroomPair,
    plyroom.PlyroomSpectator,
    UNLIMITED_ENVIRON,
    ping=(b'{"t":"ping"}', 2.5),
    match_retention_s=12.0,
)
#: The relay.
RELAY = Peer(
    "relay",
    lambda folder: (sys.executable, "-m", "server.bench.peers.relay"),
    relay.RelayPair,
    relay.RelaySpectator,
)


def boardgame_io() -> Peer:
    """boardgame.io. Raises PeerMissing."""
    command = boardgame.command()
    return Peer(
        "boardgame.io",
        lambda folder: command,
        boardgame.BoardgamePair,
        boardgame.BoardgameSpectator,
        boardgame.environ(),
    )


@dataclass(frozen=True)
class Row:
    """A load to compare, with our server's targets: the maximum of a figure, by its name, or of the
    ratio of our CPU time to a peer's, by the name of the peer.
    """

    title: str
    load: Load
    rounds: int
    targets: dict[str, float] = field(default_factory=dict)
    descriptors: int = 1024


def rows(rounds: int, seconds: float) -> dict[str, Row]:
    """The loads by the names that `--only` takes."""
    return {
        "fast": Row(
            f"{PAIRS} pairs, as fast as they are answered",
            moves(PAIRS, None, seconds),
            rounds,
            {"boardgame.io": 0.5, "relay": 4.0},
        ),
        "paced": Row(
            f"{PAIRS} pairs, {PAIRS / PAUSE_S:.0f} moves a second",
            moves(PAIRS, PAUSE_S, seconds),
            rounds,
            {"boardgame.io": 0.6, "p50, ms": 1.2, "p99, ms": 4.0},
        ),
        "memory": Row(
            f"{MATCHES:,} live matches", memory(MATCHES), 1, descriptors=2 * MATCHES
        ),
        "spectators": Row(
            f"{SPECTATORS:,} spectators of one match, 5 moves a second",
            spectators(SPECTATORS),
            min(2, rounds),
            descriptors=SPECTATORS,
        ),
        "idle": Row(f"{IDLE:,} idle connections", idle(IDLE, IDLE_S), 1, descriptors=IDLE),
    }  # fmt: skip


async def measure_row(row: Row, peers: Sequence[Peer], folder: Path) -> dict[str, Figures]:
    """Measures a load on all peers, in turns; each has a new server in every round."""
    results: dict[str, list[Figures]] = {peer.name: [] for peer in peers}
    for number in range(row.rounds):
        for peer in peers:
            data = folder / f"{peer.name}-{number}"
            async with spawn(
                *peer.command(data), environment=peer.environ, core=pinned(SERVER_CORE)
            ) as process:
                results[peer.name].append(await measure_once(row, peer, process))
            shutil.rmtree(data, ignore_errors=True)
    return {name: best(figures) for name, figures in results.items()}


async def measure_once(row: Row, peer: Peer, process: Process) -> Figures:
    """Measures a load on a peer. Raises ClickException if it does not end."""
    try:
        async with asyncio.timeout(LOAD_LIMIT_S):
            return await row.load(peer, process)
    except TimeoutError as error:
        raise click.ClickException(
            f"{row.title}: {peer.name} did not finish within {LOAD_LIMIT_S:g} s"
        ) from error


def pinned(core: int) -> int | None:
    """The core to which a process is pinned; None on a machine with one core."""
    return core if (os.cpu_count() or 1) > 1 else None


def raise_descriptor_limit(needed: int) -> int:
    """Raises the limit of open files of this process and its children, as far as allowed; returns
    the limit.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, needed)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (OSError, ValueError):  # only root may raise the hard limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def measure(chosen: Sequence[Row], peers: Sequence[Peer], folder: Path) -> None:
    """Measures the chosen loads and prints their figures."""
    for row in chosen:
        needed = row.descriptors + SPARE_DESCRIPTORS
        limit = raise_descriptor_limit(needed)
        if limit < needed:
            click.echo(
                f"{row.title}: left out, because it needs {needed:,} open files and the limit is"
                f" {limit:,} (ulimit -n)\n"
            )
            continue
        figures = await measure_row(row, peers, folder)
        for line in (*table(row.title, figures), *verdict(figures, row.targets)):
            click.echo(line)


@click.command()
@click.option("--rounds", default=4, help="Rounds; each figure is the best of them.")
@click.option("--seconds", default=4.0, help="Length of each load of moves, in seconds.")
@click.option(
    "--only",
    "names",
    multiple=True,
    type=click.Choice(["fast", "paced", "memory", "spectators", "idle"]),
    help="Measure only this load; repeat it for several.",
)
@click.option("--without-boardgame", is_flag=True, help="Leave boardgame.io out.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder on the disk to measure.  [default: a temporary one]",
)
def main(
    rounds: int, seconds: float, names: tuple[str, ...], without_boardgame: bool, data: Path | None
) -> None:
    """Compare the cost of moves, matches, spectators and idle connections with peers."""
    import uvloop

    peers = [RELAY, PLYROOM] if without_boardgame else [RELAY, PLYROOM, boardgame_io()]
    for line in machine_lines(None if without_boardgame else boardgame.version()):
        click.echo(line)
    if pinned(LOAD_CORE) is None:
        click.echo("one core: the server and the load share it")
    else:
        os.sched_setaffinity(0, {LOAD_CORE})
    click.echo("")
    available = rows(rounds, seconds)
    folder = Path(tempfile.mkdtemp(prefix="plyroom-bench-", dir=data))
    try:
        uvloop.run(measure([available[name] for name in names or available], peers, folder))
    finally:
        shutil.rmtree(folder)
