"""`python -m server.bench exports`: a whole export beside a match under way.

It prints the growth of the server's memory while a client reads the list of all matches as JSON
lines, the matches per second, and the 99th percentile of a player's moves beside the export against
that without it, in turns. In further turns a process of the export's priority only computes: it
says what any use of the processor costs the moves on this machine. It also prints what 1,000
matches of chess cost as PGN, against playing their moves through (`Position.replay`), in CPU time.
"""

import asyncio
import itertools
import random
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn

import click
from aiohttp import ClientSession, ClientTimeout

from engine.child_process.limits import lower_session_priority
from engine.formats.pgn import format_pgn
from engine.rules.overflow import ignore_overflow
from engine.rules.registry import load_game
from server.bench.figures import percentile, report
from server.bench.players import RequestClient, connect
from server.bench.processes import UNLIMITED_ENVIRON, resident_bytes, server_command, spawn
from server.events import Finished, Moved, Occupant, Started, format_event_body
from server.export_process import NICE
from server.exports import RecordBuilder
from server.ids import MatchId, RoomId
from server.store import schema
from server.store.base import StoredEvent, StoredMatch
from server.store.location import DATABASE_FILE

#: Greatest growth of the server's memory, in MiB.
GROWTH_MIB = 30
#: Greatest ratio of the 99th percentiles of moves.
MOVES_RATIO = 1.10
#: Greatest ratio of the CPU time of PGN to that of a replay.
PGN_RATIO = 1.5
#: The time between two moves of the player, in seconds.
PACE_S = 0.004
#: The turns of each kind, each of some seconds, and the time that a process beside has to start.
TURNS, TURN_S, START_S = 8, 5, 1
#: What is beside the moves in a turn.
ALONE, EXPORT, CONTROL = "alone", "beside an export", "beside a process that only computes"
#: The option with which this benchmark only computes.
COMPUTE = "--compute"
SEATS = (Occupant("ada", "Ada"), Occupant("ben", "Ben"))


def fill(path: Path, count: int) -> None:
    """Writes finished matches of connect four with six plies straight into SQLite."""
    schema.upgrade_sqlite(path)
    game = load_game("connect-four")
    position = game.start()
    start, tokens = position.text(), position.tokens()
    seats = b'[{"identity":"ada","name":"Ada"},{"identity":"ben","name":"Ben"}]'
    over = b'{"winner":0,"how":"resign","reason":"Yellow resigned"}'

    def bodies(match: str) -> Iterator[bytes]:
        yield format_event_body(Started(match, 1, start, game.digest, SEATS))
        for ply in range(6):
            token = tokens[(ply * 3) % len(tokens)]
            yield format_event_body(
                Moved(match, ply, ply % 2, token, "0" * 16, None, None, f"{ply}.")
            )
        yield format_event_body(Finished(match, 0, "resign", "Yellow resigned"))

    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous = OFF")
        database.executemany(
            "INSERT INTO events (room, v, at_ms, audience, body) VALUES (?, ?, ?, 0, ?)",
            (
                (f"r{n:07}", v, n + v, body)
                for n in range(count)
                for v, body in enumerate(bodies(f"m{n:07}"), 1)
            ),
        )
        database.executemany(
            "INSERT INTO matches (id, room, game, number, options, seats, start, rules, public,"
            " first_v, started_ms, last_v, finished_ms, plies, over, first, second, winner)"
            " VALUES (?, ?, 'connect-four', 1, ?, ?, ?, ?, 1, 1, ?, 8, ?, 6, ?, 'ada', 'ben', 0)",
            (
                (f"m{n:07}", f"r{n:07}", b"{}", seats, start, game.digest, n, n + 8, over)
                for n in range(count)
            ),
        )


async def read_export(port: int) -> tuple[int, float]:
    """Reads the whole list; returns its lines and the seconds."""
    count, start_s = 0, time.perf_counter()
    async with (
        ClientSession(timeout=ClientTimeout(None)) as http,
        http.get(f"http://127.0.0.1:{port}/api/export") as answer,
    ):
        answer.raise_for_status()
        async for part in answer.content.iter_any():
            count += part.count(b"\n")
    return count, time.perf_counter() - start_s


async def read_exports(port: int) -> None:
    """Reads the whole list again and again."""
    while True:
        await read_export(port)


def compute() -> NoReturn:
    """Computes without end, at the priority of the process for exports."""
    lower_session_priority(NICE)
    while True:
        pass


@contextmanager
def beside(*options: str) -> Iterator[None]:
    """Runs this benchmark with other options beside the block."""
    process = subprocess.Popen(
        (sys.executable, "-m", "server.bench", "exports", *options), start_new_session=True
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


class Mover:
    """A client that plays both sides of Hex, a move every PACE_S seconds."""

    def __init__(self, client: RequestClient) -> None:
        self._client = client
        self._ids = itertools.count()
        self._room = ""
        self._moves: Iterator[tuple[int, str]] = iter(())

    async def play(self, seconds: float) -> list[float]:
        """Plays for a time; returns the time of each move until its ack, in ms."""
        taken_ms, end_s = [], time.perf_counter() + seconds
        while time.perf_counter() < end_s:
            ply, cell = next(self._moves, (0, ""))
            if not cell:
                await self._open()
                continue
            begun_s = time.perf_counter()
            await self._ask("move", room=self._room, ply=ply, move=cell)
            taken_ms.append((time.perf_counter() - begun_s) * 1000)
            await asyncio.sleep(PACE_S)
        return taken_ms

    async def _open(self) -> None:
        """Opens a room whose first 100 moves fill ten rows without a win."""
        created = await self._ask(
            "create", game="hex", options={"swap": "no"}, one_screen=True,
            seats=[{"who": "me"}, {"who": "me"}], visibility="unlisted",
        )  # fmt: skip
        self._room = created["room"]
        cells = [f"{column}{row}" for row in range(1, 11) for column in "abcdefghij"]
        self._moves = iter(enumerate(cells))

    async def _ask(self, t: str, **fields: Any) -> dict[str, Any]:
        return await self._client.request("ack", t=t, id=f"b{next(self._ids)}", **fields)


async def measure(matches: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        await asyncio.to_thread(fill, data / DATABASE_FILE, matches)
        async with spawn(*server_command(data), environment=UNLIMITED_ENVIRON) as server:
            client = RequestClient(await connect(server.port))
            await client.request("welcome", t="hello", protocol=1)
            mover = Mover(client)
            await mover.play(2)
            await measure_moves(mover, server.port)
            await measure_memory(server.pid, server.port)


async def measure_moves(mover: Mover, port: int) -> None:
    """Prints the 99th percentile of moves without an export and beside one, in turns."""
    taken_ms: dict[str, list[float]] = {ALONE: [], EXPORT: [], CONTROL: []}
    for _ in range(TURNS):
        for kind, options in ((ALONE, ()), (EXPORT, ("--read", str(port))), (CONTROL, (COMPUTE,))):
            with beside(*options) if options else nullcontext():
                await asyncio.sleep(START_S)
                taken_ms[kind] += await mover.play(TURN_S)
    p99_ms = {kind: percentile(each, 0.99) for kind, each in taken_ms.items()}
    print("moves: p99", ", ".join(f"{value:.2f} ms {kind}" for kind, value in p99_ms.items()))
    print(f"{CONTROL}, to alone: {p99_ms[CONTROL] / p99_ms[ALONE]:.2f} x")
    ratio = p99_ms[EXPORT] / p99_ms[ALONE]
    report("p99 of moves beside an export, to that without", ratio, "x", MOVES_RATIO)


async def measure_memory(pid: int, port: int) -> None:
    """Prints the growth of the server's memory while it sends all matches."""
    before = peak = resident_bytes(pid)
    reading = asyncio.create_task(read_export(port))
    while not reading.done():
        peak = max(peak, resident_bytes(pid))
        await asyncio.sleep(0.05)
    count, seconds = await reading
    print(f"{count:,} matches in {seconds:.1f} s: {count / seconds:,.0f} matches/s")
    report("growth of the server's memory", (peak - before) / 2**20, "MiB", GROWTH_MIB)


def measure_pgn(matches: int = 1000, plies: int = 80) -> None:
    """Prints the CPU time of PGN from log entries to that of a bare replay."""
    game, rng = load_game("chess"), random.Random(1)
    start = game.start()
    stored = []
    for number in range(matches // 10):
        position, entries = start, []
        for ply in range(plies):
            if position.outcome() is not None:
                break
            token = position.format_move(rng.choice(position.moves()))
            position = position.replay(token)
            event = Moved(
                f"m{number}", ply, ply % 2, token, position.digest(), position.played(), None,
                f"{ply // 2 + 1}.",
            )  # fmt: skip
            entries.append(StoredEvent(ply + 2, 1500 * ply, 0, format_event_body(event)))
        match = StoredMatch(
            MatchId(f"m{number}"), RoomId("r"), "chess", 1, b"{}",
            b'[{"identity":"a","name":"Ada"},{"identity":"b","name":"Ben"}]', start.text(),
            game.digest, 1, 0, len(entries) + 1, 10**6, len(entries),
            b'{"winner":0,"how":"resign","reason":"Black resigned"}',
        )  # fmt: skip
        stored.append((match, entries))
    replay_s = export_s = 0.0
    for _ in range(10):
        for match, entries in stored:
            begun_s = time.process_time()
            builder = RecordBuilder(match)
            builder.add(entries)
            record = builder.build().record
            format_pgn(record, load_game)
            export_s += time.process_time() - begun_s
            begun_s = time.process_time()
            position = start
            for move in record.moves:
                position = position.replay(move.token)
            replay_s += time.process_time() - begun_s
    print(f"{matches:,} matches of chess: replay {replay_s:.2f} s, PGN {export_s:.2f} s of CPU")
    report("PGN of chess, to a bare replay", export_s / replay_s, "x", PGN_RATIO)


@click.command()
@click.option("--matches", type=click.IntRange(1), default=1_000_000, show_default=True)
@click.option("--read", type=int, hidden=True)
@click.option(COMPUTE, "only_computes", is_flag=True, hidden=True)
def main(matches: int, read: int | None, only_computes: bool) -> None:
    """A whole export: memory, matches a second, moves beside it, PGN against a replay."""
    if only_computes:
        compute()
    if read is not None:
        asyncio.run(read_exports(read))
    ignore_overflow()
    measure_pgn()
    asyncio.run(measure(matches))
