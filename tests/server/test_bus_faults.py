"""Two nodes over one store, with a broker that dies, stalls, or duplicates, reorders or forges
messages.

Every client sees every event exactly once.
"""

import asyncio
import itertools
import json
import random
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiomqtt
import pytest
from aiohttp import ClientSession

from server.bus.base import EventsAppended
from server.bus.broker import MAX_BYTES, Broker
from server.bus.codec import ROOMS_TOPIC, Codec, room_topic
from server.bus.mqtt import MqttBus, open_mqtt_bus
from server.deploy.mosquitto import Mosquitto, mosquitto
from server.events import Said, format_event_body
from server.limits import by_address as limits
from server.ports import Ports
from server.store.base import Store, StoredEvent
from server.store.sqlite import open_sqlite
from tests.oracle.history import READER, History, check
from tests.server.test_bus_contract import KEY, until_bus_is_up
from tests.server.test_metrics import scrape
from tests.server.test_two_nodes import (
    CATCH_UP_S,
    NAMES,
    QUICK,
    catches_up,
    make_rooms,
    slow_first_legal,
)
from tests.support.clock import moment, stopped_clock
from tests.support.fake_server import FakeServer
from tests.support.load import LoadClient, read_everything
from tests.support.log_entries import new_database
from tests.support.mqtt_proxy import mqtt_proxy
from tests.support.node import Node, Socket, serve

#: The maximum delay of messages between the nodes while the broker is away, in seconds.
MAX_LAG_S = 2.0


class ServerWithBuses(FakeServer):
    """A fake server whose nodes have one bus each."""

    def __init__(self, store: Store | None = None) -> None:
        super().__init__(store=store)
        self.buses: dict[str, MqttBus] = {}
        rare_polls: dict[str, Any] = {**QUICK, "poll_s": 3600.0, "silence_s": 1000.0}
        self.settings = replace(self.settings, **rare_polls)

    def ports(self, node: str, **changes: Any) -> Ports:
        return super().ports(node, bus=self.buses[node], **changes)


@asynccontextmanager
async def two_nodes(fake: ServerWithBuses, *brokers: Broker) -> AsyncIterator[tuple[Node, Node]]:
    """Opens two nodes with connected buses; heads are polled only once an hour."""
    async with AsyncExitStack() as stack:
        nodes = []
        for name, broker in zip(("n1", "n2"), brokers, strict=True):
            bus = fake.buses[name] = await stack.enter_async_context(
                open_mqtt_bus(broker, name, KEY)
            )
            await until_bus_is_up(bus)
            nodes.append(await stack.enter_async_context(serve(fake, name, **limits.NO_LIMITS)))
        yield nodes[0], nodes[1]


async def play(
    fake: ServerWithBuses,
    broker: Broker,
    commands: int,
    seed: int,
    faults: Coroutine[Any, Any, None],
    pause_s: float = 0.0,
) -> History:
    """Plays four clients on two nodes while `faults` runs; returns the history.

    Asserts that all clients have caught up at the end.
    """
    fake.engines.answer = slow_first_legal
    history = History()
    async with two_nodes(fake, broker, broker) as nodes:
        urls = [f"ws://{node.host}/ws" for node in nodes]
        clients = [LoadClient(name, urls, history, seed, pause_s=pause_s) for name in NAMES]
        rooms = await make_rooms(clients)
        injecting = asyncio.create_task(faults)
        await asyncio.gather(*(client.play(commands) for client in clients))
        await injecting
        assert await catches_up(history, clients, CATCH_UP_S), (
            "I7: all clients catch up without the hourly poll"
        )
        for client in clients:
            for link in client.links:
                if link is not None and link.open:
                    await link.close()
        await read_everything(urls[0], rooms, history)
    acks = sum(
        entry.direction == "in" and entry.client != READER and entry.message.get("t") == "ack"
        for entry in history.entries
    )
    assert acks > 2 * commands, "the clients sent too few commands for a test"
    return history


async def kill_repeatedly(broker: Mosquitto, times: int, fake: "ServerWithBuses") -> None:
    """Kills and restarts the broker `times` times, then waits until every node has reconnected."""
    for _ in range(times):
        await asyncio.sleep(0.4)
        await broker.kill()
        await asyncio.sleep(0.2)
        await broker.start()
    while not all(bus.link.counts.connected > 1 for bus in fake.buses.values()):
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("commands", "kills", "pause_s"),
    [
        (60, 3, 0.03),
        pytest.param(2500, 50, 0.0, marks=[pytest.mark.long, pytest.mark.timeout(900)]),
    ],
)
async def test_clients_while_the_broker_is_killed(
    commands: int, kills: int, pause_s: float, tmp_path: Path
) -> None:
    """While the broker is killed repeatedly, the history breaks no invariant.

    All clients catch up without a poll. In the short form they pause, so that they play during all
    kills.
    """
    async with mosquitto(tmp_path) as broker, open_sqlite(new_database(tmp_path)) as store:
        fake = ServerWithBuses(store)
        history = await play(
            fake, broker.address, commands, 1, kill_repeatedly(broker, kills, fake), pause_s
        )
        assert check(history) == []
        assert all(bus.link.counts.connected > 1 for bus in fake.buses.values())


@pytest.mark.parametrize(
    "commands", [80, pytest.param(2500, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
async def test_clients_while_messages_are_duplicated_and_reordered(
    commands: int, tmp_path: Path
) -> None:
    """With a fifth of the messages sent twice and most reordered, no invariant is broken."""

    async def nothing() -> None:
        pass

    async with mosquitto(tmp_path) as broker, mqtt_proxy(broker.port, seed=5) as proxy:
        history = await play(
            ServerWithBuses(), replace(broker.address, port=proxy.port), commands, 2, nothing()
        )
        assert check(history) == []
        assert min(proxy.doubled, proxy.reordered) > commands // 5


# --- a broker that stalls -------------------------------------------------------------------------


class Chatter:
    """Ada chats on one node; Ben, on another node, records when the lines arrive."""

    def __init__(self, ada: Socket, ben: Socket, room: str, head_v: int) -> None:
        #: The time of the ack of each line, by v.
        self.acked_s: dict[int, float] = {}
        #: The time at which Ben received each line, by v.
        self.received_at_s: dict[int, float] = {}
        #: The v of each received line, in the order of arrival.
        self.received: list[int] = []
        self._ada, self._ben, self._room, self._head_v = ada, ben, room, head_v
        self._arrived = asyncio.Event()

    async def say(self) -> int:
        """Sends a chat message; returns its v."""
        return await self._send("chat", text="hello")

    async def _send(self, command: str, **fields: object) -> int:
        """Sends a command that makes one event; returns its v."""
        ack = await self._ada.ack(command, room=self._room, **fields)
        self.acked_s[ack["v"]] = asyncio.get_running_loop().time()
        return int(ack["v"])

    async def until_received(self, v: int) -> None:
        """Waits until Ben has received the event with this v."""
        while v not in self.received_at_s:
            self._arrived.clear()
            await self._arrived.wait()

    async def talk(self, until: "asyncio.Task[None]") -> None:
        """Chats until the task ends, then waits for the last line.

        A room takes 2,000 events without a move, so in between a move is played and taken back.
        """
        for line in itertools.count(1):
            last = await self.say()
            if until.done():
                break
            if line % 1_000 == 0:
                await self._send("move", ply=0, move="b2")
                await self._send("takeback", ply=1)
            await asyncio.sleep(0.05)
        await self.until_received(last)

    async def listen(self) -> None:
        """Records the lines that Ben receives."""
        while True:
            message = json.loads(await self._ben.connection.recv())
            if message["t"] == "event" and message["v"] > self._head_v:
                self.received.append(message["v"])
                self.received_at_s[message["v"]] = asyncio.get_running_loop().time()
                self._arrived.set()

    def check(self) -> None:
        """Asserts that every line arrived once and in order."""
        assert self.received == sorted(self.acked_s), "each line once and in order"


@asynccontextmanager
async def chatting(nodes: tuple[Node, Node]) -> AsyncIterator[Chatter]:
    async with nodes[0].guest(name="Ada") as ada, nodes[1].guest(name="Ben") as ben:
        created = await ada.ack("create", game="tic-tac-toe", one_screen=True)
        await ben.ack("join", room=created["room"])
        chatter = Chatter(ada, ben, created["room"], created["v"])
        listening = asyncio.create_task(chatter.listen())
        try:
            yield chatter
        finally:
            listening.cancel()
            await asyncio.wait([listening])


BreakBroker = Callable[[Mosquitto], Awaitable[None]]


async def freeze(broker: Mosquitto) -> None:
    broker.send_signal(signal.SIGSTOP)


async def kill(broker: Mosquitto) -> None:
    await broker.kill()


async def restore(broker: Mosquitto) -> None:
    broker.send_signal(signal.SIGCONT)
    if not broker.is_running:
        await broker.start()


@pytest.mark.parametrize("break_broker", [freeze, kill])
async def test_an_unavailable_broker(break_broker: BreakBroker, tmp_path: Path) -> None:
    """With a stopped or dead broker, acks are not delayed and the other node lags by at most
    2 s.

    Each message arrives once. After the broker is back, the bus delivers at once.
    """
    async with (
        mosquitto(tmp_path) as broker,
        two_nodes(fake := ServerWithBuses(), broker.address, broker.address) as nodes,
        chatting(nodes) as chatter,
    ):
        await chatter.until_received(await chatter.say())
        async with stopped_clock() as clock:
            await break_broker(broker)
            for _ in range(4):
                v = await chatter.say()
                await clock.until(lambda v=v: v in chatter.received_at_s, within_s=MAX_LAG_S)  # type: ignore[misc]
        await restore(broker)
        for bus in fake.buses.values():
            await until_bus_is_up(bus)
        await chatter.until_received(await chatter.say())  # maybe through the heads
        async with stopped_clock():
            await chatter.until_received(await chatter.say())
        chatter.check()


@pytest.mark.long
@pytest.mark.parametrize("break_broker", [freeze, kill])
async def test_an_unavailable_broker_for_a_minute(
    break_broker: BreakBroker, tmp_path: Path
) -> None:
    """The same holds in real time, for longer than the keep-alive interval."""
    async with (
        mosquitto(tmp_path) as broker,
        two_nodes(ServerWithBuses(), broker.address, broker.address) as nodes,
        chatting(nodes) as chatter,
    ):

        async def outage() -> None:
            await break_broker(broker)
            await asyncio.sleep(60)
            await restore(broker)
            await asyncio.sleep(1)

        await chatter.talk(asyncio.create_task(outage()))
        chatter.check()
        assert (
            max(at_s - chatter.acked_s[v] for v, at_s in chatter.received_at_s.items())
            < MAX_LAG_S + 0.25
        )


async def test_the_metrics_show_the_state_of_the_bus(tmp_path: Path) -> None:
    """The metrics show whether the bus is up, its round-trip time, and refused messages."""
    async with mosquitto(tmp_path) as broker, open_mqtt_bus(broker.address, "n1", KEY) as bus:
        await until_bus_is_up(bus)
        fake = ServerWithBuses()
        fake.buses["n1"] = bus
        async with serve(fake, "n1", metrics_port=0) as node:
            bus._on_node("plyroom/1/lobby", b"nonsense")
            before = await scrape(node)
            assert (before["plyroom_bus_flows"], before["plyroom_bus_refused_total"]) == (1, 1)
            assert before["plyroom_bus_echo_seconds"] == bus.link.health.round_trip_s > 0
            await broker.kill()
            while (await scrape(node))["plyroom_bus_flows"]:
                await moment()


async def readiness(node: Node) -> Any:
    """Returns the details of a node's readiness, from the metrics port."""
    async with ClientSession() as http:
        return await (await http.get(f"http://127.0.0.1:{node.running.metrics_port}/readyz")).json()


async def test_a_node_starts_without_its_broker(tmp_path: Path) -> None:
    """A node without its broker serves clients and reports the bus as away.

    Once the broker runs, the nodes exchange messages.
    """
    broker = Mosquitto(tmp_path)
    fake = ServerWithBuses()
    async with AsyncExitStack() as stack:
        nodes = []
        for name in ("n1", "n2"):
            fake.buses[name] = await stack.enter_async_context(
                open_mqtt_bus(broker.address, name, KEY)
            )
            nodes.append(
                await stack.enter_async_context(
                    serve(fake, name, metrics_port=0, **limits.NO_LIMITS)
                )
            )
        async with nodes[0].guest() as ada:
            await ada.ack("create", game="tic-tac-toe")
        assert (await nodes[0].get("/readyz")).json == {"status": "ok"}
        assert await readiness(nodes[0]) == {"status": "ok", "bus": "away"}
        await broker.start()
        stack.push_async_callback(broker.kill)
        for bus in fake.buses.values():
            await until_bus_is_up(bus)
        assert await readiness(nodes[0]) == {"status": "ok"}
        async with chatting((nodes[0], nodes[1])) as chatter:
            await chatter.until_received(await chatter.say())
            chatter.check()


# --- forgeries ------------------------------------------------------------------------------------


def forgeries(room: str, rng: random.Random) -> list[tuple[str, bytes]]:
    """Returns messages of an attacker with an account at the broker, as topics and payloads."""
    said = format_event_body(Said("ada", "Ada", "never said"))
    forged = EventsAppended(room, "n9", (StoredEvent(rng.randrange(1, 60), 0, 0, said),))
    topic, payload, _ = Codec(b"x" * 32).encode(forged)
    _, right, _ = Codec(KEY).encode(EventsAppended("elsewhere", "n9", forged.events))
    any_topic = rng.choice(
        [topic, f"{topic}/here", f"{topic}/thinking", "plyroom/1/lobby", "plyroom/1/nodes/n9"]
    )
    return [
        (topic, payload),
        (topic, right),
        (any_topic, rng.randbytes(rng.randrange(1, 300))),
        (any_topic, payload[: rng.randrange(len(payload))]),
        (any_topic, b'{"seal":"","says":' + b"[" * 5000 + b"]" * 5000 + b"}"),
        (any_topic, b'{"seal":"00","says":null}'),
        (any_topic, "{\"seal\":\"\u00fc\",\"says\":{}}".encode()),
        ("plyroom/1/nodes/" + rng.randbytes(4).hex(), b""),
        ("plyroom/1/echo/plyroom-n1", rng.randbytes(8)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rounds", [60, pytest.param(5000, marks=[pytest.mark.long, pytest.mark.timeout(900)])]
)
async def test_forged_messages_are_counted_and_dropped(
    rounds: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forged, malformed and huge payloads on every topic are refused and counted.

    No client sees them, the room continues, and the log shows no exception.
    """
    async with (
        mosquitto(tmp_path) as broker,
        two_nodes(fake := ServerWithBuses(), broker.address, broker.address) as nodes,
    ):
        async with chatting(nodes) as chatter, aiomqtt.Client("127.0.0.1", broker.port) as attacker:
            room = chatter._room

            async def flood() -> None:
                rng = random.Random(7)
                await attacker.publish(room_topic(room), b"x" * (MAX_BYTES + 5000))
                for _ in range(rounds):
                    for topic, payload in forgeries(room, rng):
                        await attacker.publish(topic, payload, qos=1)

            flooding = asyncio.create_task(flood())
            await chatter.talk(flooding)
            await flooding
            chatter.check()
        bus = fake.buses["n2"]
        assert bus.link.counts.refused >= 4 * rounds
        assert bus.link.counts.connected == 1
    output = capsys.readouterr()
    assert "not understood" not in output.out + output.err
    assert "Traceback" not in output.out + output.err
    assert ROOMS_TOPIC in output.out
