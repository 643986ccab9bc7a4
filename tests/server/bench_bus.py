"""`python -m tests.server.bench_bus`: times of the bus and of engine workers, over a private
Mosquitto on this machine.

Both nodes are in this process, so the CPU time of a message includes sending and receiving.
Rates and CPU times are medians of the rounds.
"""

import asyncio
import secrets
import statistics
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
from server.bus.base import EventsAppended, RoomMessage
from server.bus.mqtt import MqttBus, open_mqtt_bus
from server.deploy.mosquitto import mosquitto
from server.protocol import messages as wire
from server.protocol.codec import format_event_body
from server.seats.remote import RemoteEngines
from server.store.base import StoredEvent
from server.worker import open_worker
from tests.server.test_bus_contract import KEY, subscribe, until_bus_is_up

#: Number of rounds of each measurement.
ROUNDS = 5
#: Moves published per second while the latency is measured.
RATE_PER_S = 300
#: Moves published in a latency round.
MOVES = 600
#: Moves published in a throughput round.
BURST = 4000
#: Searches in a round.
SEARCHES = 200
GAME = load_game("tic-tac-toe")
BODY = format_event_body(
    wire.Moved(
        match="abcdefghijkm", ply=12, seat=0, move="e2e4", digest="0123456789abcdef", text="e4"
    )
)


def move(v: int) -> EventsAppended:
    """The message of a move with this v."""
    return EventsAppended("r1", "n1", (StoredEvent(v, 1, 0, BODY),))


class ArrivalRecorder:
    """Records the time at which each event arrives."""

    def __init__(self) -> None:
        self.arrived_s: dict[int, float] = {}
        self.last_v = 0
        self.done = asyncio.Event()

    def __call__(self, message: RoomMessage) -> None:
        assert isinstance(message, EventsAppended)
        self.arrived_s[message.events[0].v] = time.perf_counter()
        if message.events[0].v == self.last_v:
            self.done.set()

    async def until(self, last_v: int) -> None:
        """Waits until the event with this v has arrived."""
        if last_v not in self.arrived_s:
            self.last_v = last_v
            self.done.clear()
            await self.done.wait()


async def latencies_ms(bus: MqttBus, recorder: ArrivalRecorder, first: int) -> list[float]:
    """The times from publishing to receiving each move, at RATE_PER_S moves a second."""
    sent_s = {}
    for v in range(first, first + MOVES):
        sent_s[v] = time.perf_counter()
        bus.publish(move(v))
        await asyncio.sleep(1 / RATE_PER_S)
    await recorder.until(first + MOVES - 1)
    return [1000 * (recorder.arrived_s[v] - at_s) for v, at_s in sent_s.items()]


async def throughput(bus: MqttBus, recorder: ArrivalRecorder, first: int) -> tuple[float, float]:
    """The rate of a burst in events per second, and the CPU time per event in us."""
    started_s, cpu_s = time.perf_counter(), time.process_time()
    for v in range(first, first + BURST):
        bus.publish(move(v))
    await recorder.until(first + BURST - 1)
    return BURST / (time.perf_counter() - started_s), 1e6 * (time.process_time() - cpu_s) / BURST


async def searches_ms(search: Callable[..., Coroutine[Any, Any, object]]) -> list[float]:
    """The times of searches of the lowest level, one after the other."""
    times_ms = []
    for _ in range(SEARCHES):
        job = Job(GAME.id, GAME.digest, {}, GAME.start().text(), (), secrets.token_hex(4), level=1)
        started_s = time.perf_counter()
        await search(job, lambda info: None)
        times_ms.append(1000 * (time.perf_counter() - started_s))
    return times_ms


def percentiles(values: list[float]) -> str:
    cuts = statistics.quantiles(values, n=100)
    return f"p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f} ms"


async def measure() -> None:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        broker = await stack.enter_async_context(
            mosquitto(folder, lines=("max_queued_messages 0",))
        )
        sender, receiver = [
            await stack.enter_async_context(open_mqtt_bus(broker.address, name, KEY))
            for name in ("n1", "n2")
        ]
        await until_bus_is_up(sender)
        await until_bus_is_up(receiver)
        recorder, v = ArrivalRecorder(), 1
        await subscribe(receiver, ("r1", recorder))  # type: ignore[arg-type]
        latency: list[float] = []
        rates: list[float] = []
        costs: list[float] = []
        for _ in range(ROUNDS):
            latency += await latencies_ms(sender, recorder, v)
            rate, cost = await throughput(sender, recorder, v + MOVES)
            rates.append(rate)
            costs.append(cost)
            v += MOVES + BURST
        click.echo(f"an event from node to node at {RATE_PER_S}/s: {percentiles(latency)}")
        rate, cost = statistics.median(rates), statistics.median(costs)
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
        click.echo(f"the same by a worker over the broker: {percentiles(remote_ms)}")


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(measure())
