"""`python -m server.bench`: the cost of a durable move, beside a bare relay in the same run.

The server and the relay run in their own processes; the operating system reports their CPU time.
All players run in one process with a minimal WebSocket client, which leaves most of the machine to
the server. Figures are medians of several rounds. Compare ratios: absolute times depend on the
machine and its load.
"""

import asyncio
import base64
import contextlib
import json
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click
import msgspec

from server.limits import by_address as limits

#: The moves of a drawn tic-tac-toe match.
DRAWN_GAME = ("a1", "b1", "c1", "b2", "a2", "c2", "b3", "a3", "c3")

#: Number of pairs that connect concurrently.
CONNECT_BATCH = 25
#: Clock ticks a second, the unit of CPU times in /proc.
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
#: Size of a memory page, the unit of memory in /proc.
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


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
        ordered = sorted(self.latencies_ms)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


# --- a WebSocket client of a few lines ------------------------------------------------------------


class Player(asyncio.Protocol):
    """A minimal WebSocket client: sends text frames with a zero mask and calls `on_text` for each
    text frame received.
    """

    def __init__(self) -> None:
        self.on_text: Callable[[bytes], None] = lambda text: None
        self.upgraded = asyncio.get_running_loop().create_future()
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        key = base64.b64encode(os.urandom(16)).decode()
        self.transport.write(
            f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if not self.upgraded.done():
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            if not buffer.startswith(b"HTTP/1.1 101"):
                self.upgraded.set_exception(ConnectionError(bytes(buffer[:end]).decode("latin-1")))
                return
            del buffer[: end + 4]
            self.upgraded.set_result(None)
        start = 0
        while True:
            if len(buffer) - start < 2:
                break
            length = buffer[start + 1]
            head = start + 2
            if length == 126:
                length = (
                    int.from_bytes(buffer[head : head + 2], "big")
                    if len(buffer) >= head + 2
                    else 1 << 30
                )
                head += 2
            if len(buffer) < head + length:
                break
            if buffer[start] == 0x81:
                self.on_text(bytes(buffer[head : head + length]))
            start = head + length
        del buffer[:start]

    def send(self, text: bytes) -> None:
        length = len(text)
        size = bytes((0x80 | length,)) if length < 126 else b"\xfe" + length.to_bytes(2, "big")
        if not self.transport.is_closing():
            self.transport.write(b"\x81" + size + b"\0\0\0\0" + text)


async def connect(port: int) -> Player:
    """Connects a player and completes the handshake."""
    _, player = await asyncio.get_running_loop().create_connection(Player, "127.0.0.1", port)
    await player.upgraded
    return player


class RequestClient:
    """A player that waits for each reply; used only to set up rooms."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self._texts: asyncio.Queue[bytes] = asyncio.Queue()
        player.on_text = self._texts.put_nowait

    async def request(self, until: str, **message: Any) -> dict[str, Any]:
        """Sends a message; returns the next reply of type `until`.

        Raises RuntimeError if the server refuses the message.
        """
        self.player.send(json.dumps(message).encode())
        while True:
            answer = await self.receive(30)
            if answer["t"] == "error":
                raise RuntimeError(f"{message} was refused: {answer}")
            if answer["t"] == until:
                return answer

    async def receive(self, within_s: float) -> dict[str, Any]:
        """Returns the next message; raises TimeoutError after `within_s`."""
        return cast(dict[str, Any], json.loads(await asyncio.wait_for(self._texts.get(), within_s)))


# --- pairs that play ------------------------------------------------------------------------------


class Pair:
    """Two players in one room who repeat the same match. A player sends the next move once the
    previous one is acknowledged and has reached the opponent.
    """

    def __init__(self, room: str, players: tuple[Player, Player], meter: "Meter") -> None:
        self.room = room
        self.players = players
        self._meter = meter
        self._ply = 0
        self._first_mover = 0
        self._sent_s = 0.0
        self._commands = 0
        self._acked = self._delivered = False
        players[0].on_text = lambda text: self._on_text(0, text)
        players[1].on_text = lambda text: self._on_text(1, text)

    def _send(self, player: int, text: str) -> None:
        self._commands += 1
        self.players[player].send(
            f'{{"id":"{self._commands}","room":"{self.room}",{text}}}'.encode()
        )

    def move(self) -> None:
        """Sends the next move of the side to move."""
        self._acked = self._delivered = False
        self._sent_s = time.perf_counter()
        self._send(
            (self._ply + self._first_mover) & 1,
            f'"t":"move","ply":{self._ply},"move":"{DRAWN_GAME[self._ply]}"',
        )

    def _on_text(self, player: int, text: bytes) -> None:
        mover = (self._ply + self._first_mover) & 1
        if text.startswith(b'{"t":"ack"'):
            if player == mover and self._ply < len(DRAWN_GAME):
                self._meter.latencies_ms.append((time.perf_counter() - self._sent_s) * 1000)
                self._acked = True
                self._advance()
        elif text.startswith(b'{"t":"event"'):
            if player != mover and b'"kind":"moved"' in text and b'"ply":%d,' % self._ply in text:
                self._delivered = True
                self._advance()
            elif b'"kind":"offered"' in text and player == 1:
                self._send(1, '"t":"rematch"')
            elif b'"kind":"started"' in text and player == 1:
                self._ply, self._first_mover = 0, 1 - self._first_mover
                self._meter.schedule(self.move)
        elif text.startswith(b'{"t":"error"'):
            raise RuntimeError(f"the server refused: {text.decode()}")

    def _advance(self) -> None:
        if not (self._acked and self._delivered):
            return
        self._acked = self._delivered = False
        self._ply += 1
        self._meter.moves += 1
        if self._ply < len(DRAWN_GAME):
            self._meter.schedule(self.move)
        else:
            self._send(0, '"t":"rematch"')


class Meter:
    """Counts moves and schedules the next one of each pair: at once, or at a fixed rate over all
    pairs.
    """

    def __init__(self, per_s: float | None) -> None:
        self.moves = 0
        self.latencies_ms: list[float] = []
        self._per_s = per_s
        self._next_s = 0.0
        self._is_open = True

    def schedule(self, move: Callable[[], None]) -> None:
        if not self._is_open:
            return
        if self._per_s is None:
            move()
            return
        loop = asyncio.get_running_loop()
        self._next_s = max(self._next_s + 1 / self._per_s, loop.time())
        loop.call_at(self._next_s, move)

    def close(self) -> None:
        self._is_open = False


async def make_pair(port: int, meter: Meter, number: int) -> Pair:
    """Makes two guests and a room in which they start a match."""
    clients = [RequestClient(await connect(port)) for _ in range(2)]
    for n, client in enumerate(clients):
        await client.request("welcome", t="hello", protocol=1, name=f"p{number}-{n}")
    seats = [{"who": "me"}, {"who": "open"}]
    room = (
        await clients[0].request("ack", t="create", id="create", game="tic-tac-toe", seats=seats)
    )["room"]
    for client in clients:
        await client.request("joined", t="join", id="join", room=room)
    await clients[1].request("ack", t="sit", id="sit", room=room, seat=1)
    return Pair(room, (clients[0].player, clients[1].player), meter)


async def make_relay_pair(port: int, meter: Meter, number: int) -> Pair:
    """Makes two connections that exchange messages through the relay."""
    players = (await connect(port), await connect(port))
    for player in players:
        player.send(f'{{"join":"r{number}"}}'.encode())
    return Pair(f"r{number}", players, meter)


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


# --- the relay: a lower bound -------------------------------------------------------------------


async def relay(ready: Callable[[int], None]) -> None:
    """Serves a relay that forwards and acknowledges each message of a pair, and does no more."""
    from websockets.asyncio.server import ServerConnection, serve
    from websockets.exceptions import ConnectionClosed

    encode, decode = msgspec.json.encode, msgspec.json.decode
    pairs: dict[str, list[ServerConnection]] = {}

    async def forward(
        message: dict[str, Any], socket: ServerConnection, pair: list[ServerConnection]
    ) -> None:
        if message["t"] == "move":
            await socket.send(encode({"t": "ack", "id": message["id"], "v": 1}), text=True)
            event = {"t": "event", "kind": "moved", "ply": message["ply"], "move": message["move"]}
        else:
            event = {"t": "event", "kind": "offered" if socket is pair[0] else "started"}
        frame = encode(event)
        for connection in pair:
            await connection.send(frame, text=True)

    async def handler(socket: ServerConnection) -> None:
        pair = pairs.setdefault(decode(await socket.recv())["join"], [])
        pair.append(socket)
        with contextlib.suppress(ConnectionClosed):
            while True:
                await forward(decode(await socket.recv()), socket, pair)

    async with serve(handler, "127.0.0.1", 0, compression=None, ping_interval=None) as server:
        ready(next(iter(server.sockets)).getsockname()[1])
        await asyncio.get_running_loop().create_future()


# --- processes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Process:
    """A server in its own process."""

    pid: int
    port: int
    started_s: float


@asynccontextmanager
async def spawn(*command: str, environment: dict[str, str] | None = None) -> AsyncIterator[Process]:
    """Starts a program that prints an address with its port; stops it at the end of the block."""
    start_s = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    assert process.stdout is not None, "stdout is a pipe"
    try:
        line = await asyncio.to_thread(process.stdout.readline)
        if "http://" not in line:
            raise click.ClickException(f"{' '.join(command)} did not start")
        port = int(line.split("http://")[1].split("/")[0].rsplit(":", 1)[1])
        yield Process(process.pid, port, start_s)
    finally:
        process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(process.wait)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its threads, without children, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


def resident_bytes(pid: int) -> int:
    """The process's resident memory, in bytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


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
    return statistics.median(times)


async def first_page_s(process: Process) -> float:
    """The time from the start of the process to the first line of the first page, in seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", process.port)
    writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    await reader.readline()
    writer.close()
    return time.perf_counter() - process.started_s


# --- the report -----------------------------------------------------------------------------------

#: The environment of a server without rate limits that closes idle rooms after 5 s.
UNLIMITED_ENVIRON = {
    "PLYROOM_MESSAGES_PER_S": "100000",
    "PLYROOM_MESSAGES_BURST": "100000",
    "PLYROOM_ROOM_IDLE_S": "5",
    **{f"PLYROOM_{name.upper()}": str(value) for name, value in limits.NO_LIMITS.items()},
}


def server_command(data: Path) -> tuple[str, ...]:
    """The command that starts a server on a free port."""
    return (
        sys.executable, "-m", "server", "--host", "127.0.0.1", "--port", "0",
        "--data", str(data), "--workers", "1",
    )  # fmt: skip


async def measure(rounds: int, seconds: float, matches: int, folder: Path) -> None:
    """Runs the benchmark and prints its figures, most of them with a target."""
    start_times_s = []
    for _ in range(rounds + 1):
        async with spawn(*server_command(folder / "start")) as process:
            start_times_s.append(await first_page_s(process))
    report("server start to first page, warm", statistics.median(start_times_s[1:]), "s", 1.0)
    disk_ms = fsync_ms(folder)
    print(f"{'raw write + fdatasync of 4 KiB':48} {disk_ms:9.2f} ms")
    figures: dict[str, list[Load]] = {}
    for number in range(rounds):
        async with spawn(
            *server_command(folder / f"data{number}"), environment=UNLIMITED_ENVIRON
        ) as server:
            for name, count, per_s in LOADS:
                load = await play(server.port, server.pid, make_pair, count, seconds, per_s)
                figures.setdefault(name, []).append(load)
        async with spawn(sys.executable, "-m", "server.bench", "--relay") as relay_process:
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
        await memory_per_match(folder / "memory", matches) / 1024,
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
    """Prints the cost of a move on PostgreSQL beside SQLite: one node each, in turns.

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
            beside = figures[name.replace("PostgreSQL", "SQLite")]
            ratio = median(a.cpu_us / b.cpu_us for a, b in zip(loads, beside, strict=True))
            print(f"{f'{name}: the node beside a node on SQLite':56} {ratio:9.2f} x")
            if postgres is not None:
                cost_us = median(load.database_s / max(1, load.moves) * 1e6 for load in loads)
                print(f"{f'{name}: CPU a move, database':56} {cost_us:9.1f} us")
        for quantile, share in (("p50", 0.5), ("p99", 0.99)):
            value = median(load.percentile(share) for load in loads)
            print(f"{f'{name}: move to ack, {quantile}':56} {value:9.2f} ms", flush=True)


def cpu_seconds_with_children(pid: int | None) -> float:
    """User and system time of a process and its children, ended ones included, in seconds."""
    if pid is None:
        return 0.0
    total = 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if stat.parent.name == str(pid):
                total += sum(map(int, fields[11:15]))
            elif fields[1] == str(pid):
                total += int(fields[11]) + int(fields[12])
    return total / TICKS_PER_S


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


async def memory_per_match(folder: Path, matches: int) -> float:
    """The resident memory of a live match with both sockets open and one move played, in bytes: the
    growth of the server's memory divided by `matches`.
    """
    environment = {**UNLIMITED_ENVIRON, "PLYROOM_ROOMS_BURST": "100000"}
    async with spawn(*server_command(folder), environment=environment) as server:
        warm = await play(server.port, server.pid, make_pair, 20, 1.0, None)
        assert warm.moves, "no pair played"
        while not await _have_rooms_closed(server):
            await asyncio.sleep(1)
        before = resident_bytes(server.pid)
        meter = Meter(None)
        pairs = [await make_pair(server.port, meter, number) for number in range(matches)]
        for pair in pairs:
            pair.move()
        meter.close()  # no pair plays a second move
        await asyncio.sleep(2)
        grown = resident_bytes(server.pid) - before
        for pair in pairs:
            for player in pair.players:
                player.transport.abort()
    return grown / matches


async def _have_rooms_closed(server: Process) -> bool:
    """Whether the rooms of earlier matches have had time to close."""
    return time.perf_counter() - server.started_s > 15


def median(values: Any) -> float:
    return float(statistics.median(values))


def report(name: str, value: float, unit: str, target: float) -> None:
    """Prints a figure, its target (a maximum) and whether it is reached."""
    verdict = "reached" if value <= target else "NOT reached"
    print(f"{name:48} {value:9.2f} {unit:3} target {target:g} {unit}: {verdict}", flush=True)


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
@click.option("--relay", "as_relay", is_flag=True, hidden=True)
def main(
    rounds: int,
    seconds: float,
    matches: int,
    data: Path | None,
    database: str | None,
    postgres: bool,
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
            uvloop.run(measure(rounds, seconds, matches, folder))
    finally:
        shutil.rmtree(folder)
