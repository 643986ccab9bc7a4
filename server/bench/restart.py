"""`python -m server.bench restart`: the time from SIGKILL until a new server is ready, and from
SIGTERM to exit.

The store holds rooms with matches under way; in some of them an AI is to move. Wall time means
little on a busy machine, so the CPU time is printed beside it.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import click
import websockets.asyncio.client as websockets

from engine.rules.registry import load_game
from server.bench.figures import median, report
from server.bench.players import connect
from server.bench.processes import cpu_seconds
from server.commands import AiSeat, Command, Create, Move, MySeat, OpenSeat, Sit
from server.events import RoomEvent
from server.ids import IdentityId, RoomId
from server.rooms import rules
from server.rooms.model import Actor, Moment
from server.runtime.projections import log_entry, projections
from server.settings import Settings
from server.store.base import Append, CommandKey, NewRoom, wall_clock_ms
from server.store.location import DATABASE_FILE
from server.store.sqlite import open_sqlite

#: Number of rooms that are written concurrently.
WRITE_BATCH = 500
#: Target for the time from start to ready, in seconds.
READY_S = 1.5
#: Target for the time to exit when all clients answer the close, in seconds.
ANSWERED_S = 2.0
#: Target for the time to exit when one client does not answer the close, in seconds.
UNANSWERED_S = 4.0
#: Number of connected clients.
CLIENTS = 50
#: The players.
ADA, BEN = Actor(IdentityId("ada"), "Ada"), Actor(IdentityId("ben"), "Ben")
#: Opening moves of tic-tac-toe after which nobody has won.
OPENING = ("a1", "b1", "c1", "b2", "a2", "c2", "b3")


# --- the store ------------------------------------------------------------------------------------


async def fill(folder: Path, rooms: int, due: int) -> None:
    """Writes a store with `rooms` running matches; in the first `due` of them an AI is to move."""
    async with open_sqlite(folder / DATABASE_FILE) as store:
        for start in range(0, rooms, WRITE_BATCH):
            batch = range(start, min(rooms, start + WRITE_BATCH))
            await asyncio.gather(
                *(store.logs.create_room(_room(number, number < due)) for number in batch)
            )


def _room(number: int, is_due: bool) -> NewRoom:
    """Ada's room with its whole log: she plays against Ben, or against the AI if `is_due`."""
    ids = (f"id{number}-{n}" for n in itertools.count())
    now_ms = wall_clock_ms()
    second = AiSeat(level=1) if is_due else OpenSeat()
    create = Create(id="create", game="tic-tac-toe", seats=(MySeat(), second))
    events = rules.create(ADA, create, load_game("tic-tac-toe"), ids.__next__)
    room = rules.initial_room(RoomId(f"room{number}"), events[0], now_ms, load_game)
    entries = [log_entry(room, events[0], now_ms)]

    def evolve(new_events: list[RoomEvent]) -> None:
        nonlocal room
        for event in new_events:
            room = rules.evolve(room, event, now_ms, load_game)
            entries.append(log_entry(room, event, now_ms))

    evolve(events[1:])
    for actor, command in _commands(is_due):
        moment = Moment(actor, now_ms, now_ms, ids.__next__, Settings(), load_game)
        new_events = rules.decide(room, command, moment)
        evolve(new_events)
        events += new_events
    first = Append(
        room.id, 0, tuple(entries), "before", room.due_ms(0), CommandKey("create ada", room.id),
        projections(room, events, None),
    )  # fmt: skip
    return NewRoom(first, room.game_id, True, ADA.identity, room.id, now_ms)


def _commands(is_due: bool) -> list[tuple[Actor, Command]]:
    """The commands until the AI is to move, or several moves of two people."""
    moves: list[tuple[Actor, Command]] = [
        ((ADA, BEN)[ply % 2], Move(id=f"m{ply}", ply=ply, move=move))
        for ply, move in enumerate(OPENING)
    ]
    return moves[:1] if is_due else [(BEN, Sit(id="sit", seat=1)), *moves]


# --- the server process ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server, with the time and the CPU time of its start."""

    process: subprocess.Popen[bytes]
    port: int
    metrics_port: int
    ready_s: float
    cpu_s: float

    async def wait_for_workers(self, workers: int) -> None:
        """Waits until the search workers are ready: their start takes CPU time."""
        while f"plyroom_search_workers {workers:.1f}".encode() not in await _get(
            self.metrics_port, "/metrics"
        ):
            await asyncio.sleep(0.1)

    async def kill(self) -> None:
        self.process.kill()
        await asyncio.to_thread(self.process.wait)

    async def stop(self) -> tuple[float, float]:
        """Sends SIGTERM; returns the time until it exits and its CPU time until then."""
        cpu_s, start_s = cpu_seconds(self.process.pid), time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        while self.process.poll() is None:
            with contextlib.suppress(OSError, IndexError, ValueError):  # the process is exiting
                latest_s = cpu_seconds(self.process.pid)
            await asyncio.sleep(0.005)
        return time.perf_counter() - start_s, latest_s - cpu_s


async def start(data: Path, workers: int) -> RunningServer:
    """Starts a server and waits until it is ready for clients."""
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        port, metrics_port = first.getsockname()[1], second.getsockname()[1]
    command = [
        sys.executable, "-m", "server", "--host", "127.0.0.1", "--port", str(port),
        "--data", str(data), "--workers", str(workers),
    ]  # fmt: skip
    environ = {**os.environ, "PLYROOM_METRICS_PORT": str(metrics_port)}
    start_s = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ
    )
    while b" 200 " not in (await _get(port, "/readyz"))[:20]:
        if process.poll() is not None:
            raise click.ClickException(f"the server ended with {process.returncode}")
        await asyncio.sleep(0.005)
    return RunningServer(
        process, port, metrics_port, time.perf_counter() - start_s, cpu_seconds(process.pid)
    )


async def _get(port: int, path: str) -> bytes:
    """The answer to a GET request; empty if the connection fails."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()
    except OSError:
        return b""
    return answer


async def connect_clients(stack: AsyncExitStack, port: int, unresponsive: bool) -> None:
    """Opens `CLIENTS` authenticated connections; with `unresponsive`, one more that reads
    nothing and does not answer a close.
    """
    for _ in range(CLIENTS):
        client = await stack.enter_async_context(
            websockets.connect(f"ws://127.0.0.1:{port}/ws", proxy=None)
        )
        await client.send('{"t":"hello","protocol":1}')
        await client.recv()
    if unresponsive:
        player = await connect(port)
        player.send(b'{"t":"hello","protocol":1}')
        stack.callback(player.transport.abort)


# --- the report -----------------------------------------------------------------------------------


async def measure(rounds: int, rooms: int, due: int, workers: int, folder: Path) -> None:
    """Runs the benchmark and prints every figure with its target."""
    await fill(folder, rooms, due)
    servers: list[RunningServer] = []
    for _ in range(rounds + 1):
        servers.append(await start(folder, workers))
        await servers[-1].wait_for_workers(workers)
        await servers[-1].kill()
    ready_s = median(server.ready_s for server in servers[1:])
    cpu_s = median(server.cpu_s for server in servers[1:])
    report(f"restart: SIGKILL to ready, {rooms:,} rooms, {due} due", ready_s, "s", READY_S)
    print(f"{'  its CPU time':48} {cpu_s:9.2f} s", flush=True)
    for name, unresponsive, target_s in (
        ("all answer", False, ANSWERED_S),
        ("one does not", True, UNANSWERED_S),
    ):
        ends: list[tuple[float, float]] = []
        for _ in range(rounds):
            server = await start(folder, workers)
            await server.wait_for_workers(workers)
            async with AsyncExitStack() as stack:
                await connect_clients(stack, server.port, unresponsive)
                ends.append(await server.stop())
        report(
            f"SIGTERM to exit, {CLIENTS} clients, {name}",
            median(end[0] for end in ends),
            "s",
            target_s,
        )
        print(
            f"{'  its CPU time':48} {median(end[1] for end in ends):9.2f} s",
            flush=True,
        )


@click.command()
@click.option("--rounds", default=5, help="Number of rounds; each figure is their median.")
@click.option("--rooms", default=10_000, help="Number of rooms in the store.")
@click.option("--due", default=50, help="Number of rooms in which an AI is to move at the start.")
@click.option("--workers", default=2, help="Number of search processes of the server.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder on the disk to measure.  [default: a temporary one]",
)
def main(rounds: int, rooms: int, due: int, workers: int, data: Path | None) -> None:
    """Measure a restart after SIGKILL, and an exit after SIGTERM."""
    folder = Path(tempfile.mkdtemp(prefix="plyroom-bench-", dir=data))
    try:
        asyncio.run(measure(rounds, rooms, due, workers, folder))
    finally:
        shutil.rmtree(folder)
