"""`python -m server.bench flags`: how late flags fall beside moves, on one node.

Matches whose clocks run out begin evenly over the length of a clock, while other pairs move at a
fixed rate. The flag of a match is due when the second player's only move was plus the first
player's time; the figures are the time of the event in the log, and its arrival at the opponent,
minus that. Both processes must have the same time of day.
"""

import asyncio
import json
import resource
import tempfile
import time
from pathlib import Path

import click

from server.bench.figures import percentile, report
from server.bench.moves import CONNECT_BATCH
from server.bench.pairs import DRAWN_GAME, Meter, Pair, make_pair
from server.bench.processes import UNLIMITED_ENVIRON, server_command, spawn

#: The time of each side in a match whose flag falls, in seconds. The server closes a connection
#: that is silent for 20 s.
CLOCK_S = 15
#: Pairs that only move.
MOVING_PAIRS = 50
#: The time after the last deadline within which its flag must have fallen, in seconds.
LATEST_S = 30


class FallingFlag:
    """A pair that makes one move each and then lets the clock of the first player run out."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        self._due_ms = 0
        #: The event's time and its arrival, in ms after the deadline.
        self.late_ms: asyncio.Future[tuple[int, float]] = asyncio.Future()
        pair.players[0].on_text = lambda _text: None
        pair.players[1].on_text = self._on_text

    def begin(self) -> None:
        """Makes the first move."""
        self._move(0)

    def _move(self, ply: int) -> None:
        self._pair.players[ply].send(
            f'{{"t":"move","id":"{ply}","room":"{self._pair.room}","ply":{ply},'
            f'"move":"{DRAWN_GAME[ply]}"}}'.encode()
        )

    def _on_text(self, text: bytes) -> None:
        if not text.startswith(b'{"t":"event"'):
            return
        event = json.loads(text)
        if event["kind"] == "moved" and event["ply"] == 0:
            self._move(1)
        elif event["kind"] == "moved":
            self._due_ms = event["at"] + CLOCK_S * 1000
        elif event["kind"] == "finished" and not self.late_ms.done():
            if event["how"] == "flag":
                late_ms = event["at"] - self._due_ms, time.time() * 1000 - self._due_ms
                self.late_ms.set_result(late_ms)
            else:
                self.late_ms.set_exception(AssertionError(f"no flag fell: {event}"))


async def measure(folder: Path, flags: int, per_s: float) -> None:
    """Runs the benchmark and prints its figures."""
    async with spawn(*server_command(folder / "data"), environment=UNLIMITED_ENVIRON) as server:
        meter, idle = Meter(per_s), Meter(None)
        for start in range(0, MOVING_PAIRS, CONNECT_BATCH):
            numbers = range(start, min(MOVING_PAIRS, start + CONNECT_BATCH))
            pairs = await asyncio.gather(*(make_pair(server.port, meter, n) for n in numbers))
            for pair in pairs:
                meter.schedule(pair.move)
        began_s, moves = time.perf_counter(), meter.moves
        falling: list[FallingFlag] = []
        late_s = 0.0
        for number in range(flags):
            clock = str(CLOCK_S)
            pair = await make_pair(server.port, idle, MOVING_PAIRS + number, clock=clock)
            falling.append(FallingFlag(pair))
            falling[-1].begin()
            wait_s = began_s + (number + 1) * CLOCK_S / flags - time.perf_counter()
            late_s = max(late_s, -wait_s)
            await asyncio.sleep(max(0.0, wait_s))
        async with asyncio.timeout(CLOCK_S + LATEST_S):
            late_ms = await asyncio.gather(*(flag.late_ms for flag in falling))
        rate = (meter.moves - moves) / (time.perf_counter() - began_s)
        meter.close()
    print(f"{f'{flags} flags beside moves':48} {rate:9.0f} /s")
    # Beyond the target the matches are not spread evenly: --flags is too high for this machine.
    report("delay of a match behind its turn, max", late_s * 1000, "ms", CLOCK_S * 1000 / flags)
    print(f"{'flags before their deadline':48} {sum(log_ms < 0 for log_ms, _ in late_ms):9}")
    for name, values in (
        ("flag minus deadline in the log", [float(log_ms) for log_ms, _ in late_ms]),
        ("flag minus deadline at the opponent", [arrived_ms for _, arrived_ms in late_ms]),
    ):
        print(f"{f'{name}, p50':48} {percentile(values, 0.5):9.2f} ms")
        report(f"{name}, p99", percentile(values, 0.99), "ms", 50)


@click.command()
@click.option("--flags", default=300, help="Number of clocks that run out.")
@click.option("--per-s", default=300.0, help="Moves a second beside them.")
def main(flags: int, per_s: float) -> None:
    """Measure how late flags fall beside moves on one node."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    import uvloop

    with tempfile.TemporaryDirectory(prefix="plyroom-bench-") as folder:
        uvloop.run(measure(Path(folder), flags, per_s))
