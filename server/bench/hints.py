"""`python -m server.bench hints`: the time from the request for a hint to the answer.

It requests hints in random positions, one after the other, on a node without other load. The pool
compiles the game before the first measured hint.
"""

import asyncio
import tempfile
import time
from pathlib import Path

import click

from engine.bench.classes import random_positions
from engine.pool.pool import Pool
from engine.rules.registry import load_game
from server.bench.figures import median, percentile
from server.bot.hints import open_hints
from server.bus.local import LocalBus
from server.commands import Create, Hint
from server.ids import IdentityId, NodeId, RoomId
from server.limits.by_address import NO_LIMITS
from server.ports import Ports, random_id
from server.process.logs import log_to_stderr
from server.protocol import messages as wire
from server.protocol.outbound import Batch, Outbound
from server.rooms.model import Actor
from server.runtime.node.duties import open_hub
from server.runtime.node.hub import Hub
from server.runtime.requests import Request
from server.seats.background import BackgroundSearches
from server.settings import Settings
from server.store.base import wall_clock_ms
from server.store.location import open_store

#: The promised 95th percentile of the time of a hint, in ms.
PROMISED_MS = 300
#: The player who requests the hints.
ADA = Actor(IdentityId("ada"), "Ada")


class Asker:
    """A follower that waits for an answer."""

    identity = ADA.identity
    closed = False

    def __init__(self) -> None:
        self.answer: asyncio.Future[wire.Answer] = asyncio.get_running_loop().create_future()

    def send(self, *messages: Outbound) -> None:
        for outbound in messages:
            if isinstance(outbound.message, wire.Answer) and not self.answer.done():
                self.answer.set_result(outbound.message)

    def send_batch(self, batch: Batch) -> None:
        self.send(*batch.messages)

    def send_ephemeral(self, message: Outbound) -> None:
        pass


async def time_hint(hub: Hub, game_id: str, start: str) -> float:
    """The time of a hint in a position, in ms; each hint has a room of its own."""
    create = Create(id=random_id(), game=game_id, one_screen=True, start=start)
    ack = await hub.create(ADA, create)
    room, asker = RoomId(str(ack.room)), Asker()
    start_s = time.perf_counter()
    hub.submit(room, Request(ADA, Hint(random_id(), 0), asker))
    answer = await asker.answer
    assert answer.candidates, answer.text
    return 1000 * (time.perf_counter() - start_s)


async def measure(game_id: str, count: int, workers: int) -> list[float]:
    """The times of `count` hints, one after the other, in ms."""
    with tempfile.TemporaryDirectory(prefix="plyroom-bench-") as folder:
        settings = Settings(
            data=Path(folder), rooms_per_minute=100_000, rooms_burst=1_000, **NO_LIMITS
        )
        async with open_store(settings) as store, Pool(workers, warm=()) as pool:
            ports = Ports(
                node=NodeId("bench"), settings=settings, store=store, bus=LocalBus(), engines=pool,
                find_game=load_game, now_ms=wall_clock_ms, new_id=random_id,
                background=BackgroundSearches(pool, settings, time.monotonic),
            )  # fmt: skip
            await pool.warm(game_id)
            positions = random_positions(game_id, 40, seed=1)[2:]
            starts = [positions[number % len(positions)].text() for number in range(count)]
            async with open_hub(ports) as hub, open_hints(hub):
                await time_hint(hub, game_id, load_game(game_id).start().text())
                return [await time_hint(hub, game_id, start) for start in starts]


@click.command()
@click.option("--game", default="chess", show_default=True)
@click.option("--hints", "count", default=38, type=click.IntRange(2), show_default=True)
@click.option("--workers", default=2, type=click.IntRange(1), show_default=True)
def main(game: str, count: int, workers: int) -> None:
    """Measure hints, and print the median and the 95th percentile beside the promised time."""
    log_to_stderr("warning")
    times_ms = asyncio.run(measure(game, count, workers))
    p95_ms = percentile(times_ms, 0.95)
    reached = "yes" if p95_ms <= PROMISED_MS else "no"
    click.echo(
        f"{count} hints in positions of {game}: p50 {median(times_ms):.0f} ms,"
        f" p95 {p95_ms:.0f} ms (within {PROMISED_MS} ms: {reached})"
    )
