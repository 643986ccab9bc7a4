"""`python -m server.bench bus`: the cost of the bus and of searches by a worker.

It runs over a private Mosquitto on this machine. Both nodes run in this process, so the CPU time of
a message includes sending and receiving it. Rates are medians of the rounds.
"""

import asyncio
import secrets
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import click
import structlog
from uvloop import new_event_loop

from engine.pool.pool import Pool
from engine.rules.registry import load_game
from engine.search.job import Job
from server.bench.figures import median, percentile
from server.bus.base import EventsAppended, RoomMessage
from server.bus.mqtt import MqttBus, open_mqtt_bus
from server.deploy.mosquitto import mosquitto
from server.events import Moved, format_event_body
from server.seats.remote import RemoteEngines
from server.store.base import StoredEvent
from server.worker import open_worker

#: Rounds of all measurements.
ROUNDS = 5
#: Events per second while latencies are measured.
RATE_PER_S = 300
#: Events whose latency is measured, in each round.
MOVES = 600
#: Events published as fast as possible, in each round.
BURST = 4000
#: Searches by the pool and by the worker, in each round.
SEARCHES = 200
#: The key with which both nodes authenticate their messages.
KEY = b"k" * 32
#: The game whose searches are measured.
GAME = load_game("tic-tac-toe")
#: The stored form of a typical event.
BODY = format_event_body(
    Moved(match="abcdefghijkm", ply=12, seat=0, move="e2e4", digest="0123456789abcdef", text="e4")
)


def move(v: int) -> EventsAppended:
    return EventsAppended("r1", "n1", (StoredEvent(v, 1, 0, BODY),))


class ArrivalTimes:
    """A receiver that records when each event arrived."""

    def __init__(self) -> None:
        self.arrived_s: dict[int, float] = {}
        self.last = 0
        self.done = asyncio.Event()

    def __call__(self, message: RoomMessage) -> None:
        assert isinstance(message, EventsAppended)
        self.arrived_s[message.events[0].v] = time.perf_counter()
        if message.events[0].v == self.last:
            self.done.set()

    async def wait_for(self, last: int) -> None:
        """Waits until the event with that v has arrived."""
        if last not in self.arrived_s:
            self.last = last
            self.done.clear()
            await self.done.wait()


async def wait_until_up(bus: MqttBus) -> None:
    """Waits until messages flow in both directions."""
    while not bus.is_up:
        await asyncio.sleep(0.01)


async def subscribe(bus: MqttBus, arrivals: ArrivalTimes) -> None:
    """Subscribes to the room and waits until the broker has confirmed it."""
    confirmed = asyncio.Event()
    cancel = bus.on_gap(lambda rooms: confirmed.set() if "r1" in (rooms or ()) else None)
    bus.subscribe("r1", arrivals)
    await confirmed.wait()
    cancel()


async def latencies_ms(bus: MqttBus, arrivals: ArrivalTimes, first: int) -> list[float]:
    """The times from publishing an event to receiving it, at RATE_PER_S."""
    sent_s = {}
    for v in range(first, first + MOVES):
        sent_s[v] = time.perf_counter()
        bus.publish(move(v))
        await asyncio.sleep(1 / RATE_PER_S)
    await arrivals.wait_for(first + MOVES - 1)
    return [1000 * (arrivals.arrived_s[v] - at_s) for v, at_s in sent_s.items()]


async def burst(bus: MqttBus, arrivals: ArrivalTimes, first: int) -> tuple[float, float]:
    """Publishes as fast as possible; returns events a second and the CPU time of each, in us."""
    begun_s, cpu_s = time.perf_counter(), time.process_time()
    for v in range(first, first + BURST):
        bus.publish(move(v))
    await arrivals.wait_for(first + BURST - 1)
    return BURST / (time.perf_counter() - begun_s), 1e6 * (time.process_time() - cpu_s) / BURST


async def searches_ms(search: Callable[..., Coroutine[Any, Any, object]]) -> list[float]:
    """The times of sequential searches at the lowest level."""
    times_ms = []
    for _ in range(SEARCHES):
        job = Job(GAME.id, GAME.digest, {}, GAME.start().text(), (), secrets.token_hex(4), level=1)
        begun_s = time.perf_counter()
        await search(job, lambda info: None)
        times_ms.append(1000 * (time.perf_counter() - begun_s))
    return times_ms


def percentiles(values: list[float]) -> str:
    return f"p50 {percentile(values, 0.5):.2f} ms, p99 {percentile(values, 0.99):.2f} ms"


async def measure() -> None:
    """Runs all measurements and prints their results."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = await stack.enter_async_context(
            mosquitto(folder, lines=("max_queued_messages 0",))
        )
        sender, receiver = [
            await stack.enter_async_context(open_mqtt_bus(broker.address, n, KEY))
            for n in ("n1", "n2")
        ]
        await wait_until_up(sender)
        await wait_until_up(receiver)
        arrivals, v = ArrivalTimes(), 1
        await subscribe(receiver, arrivals)
        latency: list[float] = []
        rates: list[float] = []
        costs: list[float] = []
        for _ in range(ROUNDS):
            latency += await latencies_ms(sender, arrivals, v)
            rate, cost = await burst(sender, arrivals, v + MOVES)
            rates.append(rate)
            costs.append(cost)
            v += MOVES + BURST
        click.echo(f"an event from node to node at {RATE_PER_S}/s: {percentiles(latency)}")
        rate, cost = median(rates), median(costs)
        click.echo(
            f"events sent and received by one process: {rate:,.0f} /s, {cost:.0f} us of CPU each"
        )
        pool = await stack.enter_async_context(Pool(1, warm=()))
        await pool.warm(GAME.id)
        await stack.enter_async_context(open_worker(broker.address, "bench", 1, (GAME.id,)))
        remote = RemoteEngines(sender.link, "n1", load_game, None)
        while not remote.is_warm(GAME.id):
            await asyncio.sleep(0.05)
        local_ms: list[float] = []
        remote_ms: list[float] = []
        for _ in range(ROUNDS):
            local_ms += await searches_ms(pool.search)
            remote_ms += await searches_ms(remote.search)
        click.echo(f"a search of level 1 of {GAME.id}, by the local pool: {percentiles(local_ms)}")
        click.echo(f"the same by a worker, over the broker: {percentiles(remote_ms)}")


@click.command()
def main() -> None:
    """Measure an event and a search over a broker."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(measure())
