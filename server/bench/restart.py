"""`python -m server.bench.restart`: the time from SIGKILL until a new server is ready, and from
SIGTERM to exit.

The store holds rooms with matches under way; in some of them an AI is to move. Wall time says
little on a busy machine, so the CPU time is printed beside it.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import socket
import statistics
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
from server.app import DATABASE_FILE
from server.bench.moves import connect, cpu_seconds, report
from server.protocol import messages as wire
from server.rooms import rules
from server.rooms.model import Actor
from server.runtime.projections import log_entry, projections
from server.store.base import Append, CommandKey, NewRoom, wall_clock_ms
from server.store.sql import open_sqlite

#: Rooms that are written concurrently.
AT_ONCE = 500
#: The aims: start to ready, exit when all clients answer the close, exit when one does not.
READY_S, ANSWERED_S, UNANSWERED_S = 1.5, 2.0, 4.0
CLIENTS = 50
ADA, BEN = Actor("ada", "Ada"), Actor("ben", "Ben")
#: Opening moves of tic-tac-toe after which nobody has won.
LINE = ("a1", "b1", "c1", "b2", "a2", "c2", "b3")


# --- the store ------------------------------------------------------------------------------------


async def fill(folder: Path, rooms: int, due: int) -> None:
    """Writes a store with `rooms` rooms in the middle of a match; in the first `due` of them an AI
    is to move.
    """
    async with open_sqlite(folder / DATABASE_FILE) as store:
        for start in range(0, rooms, AT_ONCE):
            some = range(start, min(rooms, start + AT_ONCE))
            await asyncio.gather(
                *(store.create_room(_room(number, number < due)) for number in some)
            )


def _room(number: int, is_due: bool) -> NewRoom:
    """Ada's room with its whole log: she plays against Ben, or against the AI if `is_due`."""
    ids = (f"id{number}-{n}" for n in itertools.count())
    now_ms = wall_clock_ms()
    second = wire.AiSeat(level=1) if is_due else wire.OpenSeat()
    made = wire.Create(id="create", game="tic-tac-toe", seats=(wire.MySeat(), second))
    events = rules.create(ADA, made, load_game("tic-tac-toe"), ids.__next__)
    room = rules.initial_room(f"room{number}", events[0], now_ms, load_game)
    entries = [log_entry(room, events[0], now_ms)]

    def evolve(some: list[wire.RoomEvent]) -> None:
        nonlocal room
        for event in some:
            room = rules.evolve(room, event, now_ms)
            entries.append(log_entry(room, event, now_ms))

    evolve(events[1:])
    for actor, command in _commands(room.id, is_due):
        some = rules.decide(room, actor, command, ids.__next__)
        evolve(some)
        events += some
    first = Append(
        room.id, 0, tuple(entries), "before", room.due_ms(), CommandKey("create ada", room.id),
        projections(room, events, None),
    )  # fmt: skip
    return NewRoom(first, room.game_id, True, ADA.identity, room.id, now_ms)


def _commands(room: str, is_due: bool) -> list[tuple[Actor, wire.RoomCommand]]:
    """The commands in the room until the AI is to move, or several moves of two people."""
    moves: list[tuple[Actor, wire.RoomCommand]] = [
        ((ADA, BEN)[ply % 2], wire.Move(id=f"m{ply}", room=room, ply=ply, move=move))
        for ply, move in enumerate(LINE)
    ]
    return moves[:1] if is_due else [(BEN, wire.Sit(id="sit", room=room, seat=1)), *moves]


# --- the server process ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server, with the time and the CPU time of its start."""

    process: subprocess.Popen[bytes]
    port: int
    metrics_port: int
    ready_s: float
    cpu_s: float

    async def settle(self, workers: int) -> None:
        """Waits until its search workers are ready: until then they are busy starting."""
        while f"plyroom_search_workers {workers:.1f}".encode() not in await _get(
            self.metrics_port, "/metrics"
        ):
            await asyncio.sleep(0.1)

    async def kill(self) -> None:
        self.process.kill()
        await asyncio.to_thread(self.process.wait)

    async def stop(self) -> tuple[float, float]:
        """Sends SIGTERM; returns the time until it exits and its CPU time meanwhile, in seconds."""
        cpu_s, begun_s = cpu_seconds(self.process.pid), time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        while self.process.poll() is None:
            with contextlib.suppress(OSError, IndexError, ValueError):  # the process is exiting
                latest_s = cpu_seconds(self.process.pid)
            await asyncio.sleep(0.005)
        return time.perf_counter() - begun_s, latest_s - cpu_s


async def start(data: Path, workers: int) -> RunningServer:
    """Starts a server and waits until it is ready for clients."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        port, metrics_port = one.getsockname()[1], two.getsockname()[1]
    command = [
        sys.executable, "-m", "server", "--host", "127.0.0.1", "--port", str(port),
        "--data", str(data), "--workers", str(workers),
    ]  # fmt: skip
    environ = {**os.environ, "PLYROOM_METRICS_PORT": str(metrics_port)}
    begun_s = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ
    )
    while b" 200 " not in (await _get(port, "/readyz"))[:20]:
        if process.poll() is not None:
            raise click.ClickException(f"the server ended with {process.returncode}")
        await asyncio.sleep(0.005)
    return RunningServer(
        process, port, metrics_port, time.perf_counter() - begun_s, cpu_seconds(process.pid)
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


async def clients(stack: AsyncExitStack, port: int, mute: bool) -> None:
    """Opens `CLIENTS` authenticated connections; with `mute`, one more that reads nothing and does
    not answer a close.
    """
    for _ in range(CLIENTS):
        one = await stack.enter_async_context(
            websockets.connect(f"ws://127.0.0.1:{port}/ws", proxy=None)
        )
        await one.send('{"t":"hello","protocol":1}')
        await one.recv()
    if mute:
        player = await connect(port)
        player.send(b'{"t":"hello","protocol":1}')
        stack.callback(player.transport.abort)


# --- the report -----------------------------------------------------------------------------------


async def measure(rounds: int, rooms: int, due: int, workers: int, folder: Path) -> None:
    """Runs the benchmark and prints every figure with its target."""
    await fill(folder, rooms, due)
    ready: list[RunningServer] = []
    for _ in range(rounds + 1):
        ready.append(await start(folder, workers))
        await ready[-1].settle(workers)
        await ready[-1].kill()
    what = f"restart: SIGKILL to ready, {rooms:,} rooms, {due} due"
    report(what, statistics.median(one.ready_s for one in ready[1:]), "s", READY_S)
    print(
        f"{'  its processor time':48} {statistics.median(one.cpu_s for one in ready[1:]):9.2f} s",
        flush=True,
    )
    for name, mute, most_s in (
        ("all answer", False, ANSWERED_S),
        ("one does not", True, UNANSWERED_S),
    ):
        ends: list[tuple[float, float]] = []
        for _ in range(rounds):
            server = await start(folder, workers)
            await server.settle(workers)
            async with AsyncExitStack() as stack:
                await clients(stack, server.port, mute)
                ends.append(await server.stop())
        report(
            f"SIGTERM to exit, {CLIENTS} clients, {name}",
            statistics.median(end[0] for end in ends),
            "s",
            most_s,
        )
        print(
            f"{'  its processor time':48} {statistics.median(end[1] for end in ends):9.2f} s",
            flush=True,
        )


@click.command()
@click.option("--rounds", default=5, help="Rounds; figures are medians of them.")
@click.option("--rooms", default=10_000, help="Rooms in the store.")
@click.option("--due", default=50, help="Rooms in which an AI is to move at the start.")
@click.option("--workers", default=2, help="Search processes of the server.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder on the disk to measure.  [default: a temporary one]",
)
def main(rounds: int, rooms: int, due: int, workers: int, data: Path | None) -> None:
    """Measures how long a server is away when it is killed, and how long it takes to go."""
    folder = Path(tempfile.mkdtemp(prefix="plyroom-bench-", dir=data))
    try:
        asyncio.run(measure(rounds, rooms, due, workers, folder))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
