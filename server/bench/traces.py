"""`python -m server.bench traces`: lessons, traces, and moves beside thirty traces.

The time of a trace's first part lasts from the request to the first bytes, with the wait in the
queue and the start. Each trace has a seed of its own, so that none comes from the cache. Moves are
played at the same pace with and without traces, in turns, so that any difference is due to the
traces.
"""

import asyncio
import itertools
import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from server.bench.figures import median, percentile, report
from server.bench.moves import Load, play
from server.bench.pairs import make_pair
from server.bench.processes import UNLIMITED_ENVIRON, cpu_seconds, server_command, spawn

#: The lessons whose times are measured: trees, a whole game, chess.
LESSONS = ("alpha-cut", "tic-tac-toe", "horizon", "branching")
#: The searches whose first part is measured, by their name.
SEARCHES: dict[str, dict[str, Any]] = {
    "chess, 3 plies": {"game": "chess", "depth": 3},
    "chess, minimax, 3 plies": {"game": "chess", "depth": 3, "algorithm": "minimax"},
    "othello, 4 plies": {"game": "othello", "depth": 4},
    "tic-tac-toe, to the end": {"game": "tic-tac-toe", "depth": None, "evaluator": "zero"},
    "a tree": {"tree": "max(A: min(3, 12, 8), B: min(2, 4, 6), C: min(14, 5, 2))"},
}
#: The search that thirty clients request at once; it reaches its time limit.
CROWD = {"game": "chess", "depth": 4, "algorithm": "minimax"}
#: The number of clients that request traces at once.
CLIENTS = 30
#: The number of pairs that play beside the traces.
PAIRS = 50
#: The moves per second of all pairs.
MOVES_PER_S = 330.0
#: Number of requests of each kind.
REQUESTS = 10
_seeds = itertools.count(1)


@dataclass(frozen=True)
class Answer:
    """A response: the times until its first byte and its last one, in ms, and its body."""

    first_ms: float
    total_ms: float
    body: bytes


async def ask(port: int, path: str, body: dict[str, Any] | None = None) -> Answer:
    """Sends a request on a connection of its own, and reads its response to the end."""
    start_s = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    content = b"" if body is None else json.dumps(body).encode()
    method = "GET" if body is None else "POST"
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
    head += f"Accept-Encoding: gzip\r\nContent-Length: {len(content)}\r\n\r\n"
    writer.write(head.encode() + content)
    try:
        first = await reader.readuntil(b"\r\n\r\n")
        first += await reader.read(1)
        first_ms = (time.perf_counter() - start_s) * 1000
        assert b" 200 " in first, first
        rest = await reader.read(-1)
    finally:
        writer.close()
    return Answer(first_ms, (time.perf_counter() - start_s) * 1000, rest)


def search(body: dict[str, Any]) -> dict[str, Any]:
    """Returns a request that differs from all earlier ones."""
    return {**body, "seed": next(_seeds)}


async def measure_answers(folder: Path) -> None:
    """Prints the times of lessons and of the first parts of traces."""
    async with spawn(*server_command(folder / "answers"), environment=UNLIMITED_ENVIRON) as server:
        cold = await ask(server.port, "/api/lessons")
        report("list of lessons, with the start of a process", cold.total_ms, "ms", 1000)
        for name in LESSONS:
            first = await ask(server.port, f"/api/lessons/{name}")
            print(f"{f'lesson {name}, made':48} {first.total_ms:9.2f} ms")
        answers = [
            await ask(server.port, path)
            for _ in range(REQUESTS)
            for path in ("/api/lessons", *(f"/api/lessons/{name}" for name in LESSONS))
        ]
        report("lessons, p95", percentile((answer.total_ms for answer in answers), 0.95), "ms", 100)
        for name, body in SEARCHES.items():
            cpu_s = cpu_seconds(server.pid)
            answers = [await ask(server.port, "/api/trace", search(body)) for _ in range(REQUESTS)]
            cpu_ms = (cpu_seconds(server.pid) - cpu_s) / REQUESTS * 1000
            first_ms = percentile((answer.first_ms for answer in answers), 0.95)
            report(f"first part of a trace, {name}, p95", first_ms, "ms", 200)
            total_ms = median(answer.total_ms for answer in answers)
            print(f"{f'  the whole trace, {name}, median':48} {total_ms:9.2f} ms")
            size_kb = median(len(answer.body) for answer in answers) / 1000
            print(
                f"{'  its size, and CPU of the server for it':48} {size_kb:9.1f} kB {cpu_ms:.1f} ms"
            )


async def make_traces(port: int) -> None:
    """Requests traces one after the other until it is cancelled."""
    while True:
        await ask(port, "/api/trace", search(CROWD))


async def measure_moves(rounds: int, seconds: float, folder: Path) -> None:
    """Prints the time of moves with and without thirty traces at once."""
    loads: dict[bool, list[Load]] = {False: [], True: []}
    async with spawn(*server_command(folder / "moves"), environment=UNLIMITED_ENVIRON) as server:
        for number in range(2 * rounds):
            with_traces = number % 2 == 1
            clients = [asyncio.create_task(make_traces(server.port)) for _ in range(CLIENTS)]
            if not with_traces:
                await stop(clients)
            load = await play(server.port, server.pid, make_pair, PAIRS, seconds, MOVES_PER_S)
            loads[with_traces].append(load)
            await stop(clients)
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        alone, beside = (median(load.percentile(share) for load in loads[key]) for key in loads)
        print(f"{f'move to ack, {name}':48} {alone:9.2f} ms")
        limit = max(alone * 1.1, alone + 2)
        report(f"move to ack, {name}, beside {CLIENTS} traces", beside, "ms", round(limit, 2))
    cpu = [median(load.cpu_us for load in loads[key]) for key in loads]
    print(f"{'CPU a move, of the server':48} {cpu[0]:9.1f} us, beside traces {cpu[1]:.1f} us")


async def stop(tasks: list[asyncio.Task[None]]) -> None:
    """Cancels tasks and waits for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@click.command()
@click.option("--rounds", default=5, help="Number of rounds with and without traces.")
@click.option("--seconds", default=4.0, help="Length of each load, in seconds.")
def main(rounds: int, seconds: float) -> None:
    """Measure lessons and traces, and moves beside traces."""
    folder = Path(tempfile.mkdtemp(prefix="plyroom-bench-"))

    async def measure() -> None:
        await measure_answers(folder)
        await measure_moves(rounds, seconds, folder)

    try:
        asyncio.run(measure())
    finally:
        shutil.rmtree(folder)
