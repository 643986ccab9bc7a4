"""The contract of server/bus/base.py. A new backend is added to `buses` below and must pass."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from server.bus.base import (
    AnalysisChanged,
    AnswerSent,
    Bus,
    BusMessage,
    ConnectionReport,
    Ephemeral,
    EventsAppended,
    Heartbeat,
    LobbyChanged,
    MessagesLost,
    NodeDown,
    NodeMessage,
    NotificationSent,
    PageClosed,
    PresenceReport,
    RoomMessage,
)
from server.bus.local import LocalBus
from server.bus.mqtt import MqttBus, open_mqtt_bus
from server.deploy.mosquitto import mosquitto
from server.events import Occupant
from server.protocol import messages as wire
from tests.support.log_entries import entries

THINKING = wire.Thinking(
    room="r1", match="m", ply=3, seat=0, state="searching", depth=5, pv=("a1", "b2")
)
NOTIFICATION = wire.Notification(room="r1", what="turn", text="It is your turn.")
MESSAGES: list[RoomMessage] = [
    EventsAppended("r1", "n1", entries(3, 2)),
    Ephemeral("r1", "n1", THINKING),
    PresenceReport("r1", "n1", frozenset({"ada", "ben"}), 3),
    PresenceReport("r1", "n1", frozenset(), 0, asks=True),
    PageClosed("r1", "n1", "ben"),
]
ENTRY = wire.RoomSummary(
    room="r1", game="sticks", title="Sticks", options={"rows": "1-3"}, created_ms=7, ply=2,
    watching=1,
    seats=(Occupant("ada", "Ada"), None), state="open",
)  # fmt: skip
ANSWER = wire.Answer(
    room="r1", v=7, text="The best move is e4.", arrows=(wire.Arrow(("e2", "e4")),),
)  # fmt: skip
NODE_MESSAGES: list[NodeMessage] = [
    LobbyChanged("n1", (ENTRY,), ("r2",)),
    MessagesLost("n1"),
    AnalysisChanged("n1", "m1"),
    AnswerSent("n1", "ada", ANSWER, "hint"),
    NotificationSent("n1", "ada", NOTIFICATION),
    ConnectionReport("n1", frozenset({"ada"}), asks=True),
    Heartbeat("n1"),
]
KEY = b"k" * 32


class Buses(NamedTuple):
    """The buses of two nodes; in one process both are the same bus."""

    first: Bus
    second: Bus


@pytest.fixture(params=["local", "mqtt"])
async def buses(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Buses]:
    if request.param == "local":
        local = LocalBus()
        yield Buses(local, local)
        return
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        first, second = [
            await stack.enter_async_context(open_mqtt_bus(broker.address, name, KEY))
            for name in ("n1", "n2")
        ]
        for bus in (first, second):
            await until_bus_is_up(bus)
        yield Buses(first, second)


async def until_bus_is_up(bus: MqttBus) -> None:
    """Waits until the bus delivers messages in both directions."""
    changed = asyncio.Event()
    remove_handler = bus.on_gap(lambda rooms: changed.set())
    async with asyncio.timeout(60):
        while not bus.is_up:
            changed.clear()
            await changed.wait()
    remove_handler()


async def subscribe(bus: Bus, *subscriptions: tuple[str, "Receiver"]) -> list[Callable[[], None]]:
    """Subscribes to rooms and waits until the broker has confirmed; returns the unsubscribers."""
    confirmed: set[str] = set()
    changed = asyncio.Event()

    def on_gap(rooms: frozenset[str] | None) -> None:
        confirmed.update(rooms or ())
        changed.set()

    remove_handler = bus.on_gap(on_gap)
    unsubscribers = [bus.subscribe(room, receiver) for room, receiver in subscriptions]
    async with asyncio.timeout(60):
        while isinstance(bus, MqttBus) and not confirmed >= {room for room, _ in subscriptions}:
            changed.clear()
            await changed.wait()
    remove_handler()
    return unsubscribers


class Receiver:
    """Records the messages that it receives."""

    def __init__(self) -> None:
        self.messages: list[BusMessage] = []
        self.received = asyncio.Event()

    def __call__(self, message: BusMessage) -> None:
        self.messages.append(message)
        self.received.set()

    async def until(self, enough: Callable[[list[BusMessage]], bool]) -> list[BusMessage]:
        """Waits until `enough` is true of the recorded messages; returns them."""
        async with asyncio.timeout(60):
            while not enough(self.messages):
                self.received.clear()
                await self.received.wait()
        return self.messages


async def test_messages_reach_every_subscriber_unchanged(buses: Buses) -> None:
    """Every kind of message arrives unchanged at all subscribers of its room."""
    receivers = [Receiver(), Receiver()]
    await subscribe(buses.second, *(("r1", receiver) for receiver in receivers))
    for message in MESSAGES:
        buses.first.publish(message)
    for receiver in receivers:
        received = await receiver.until(lambda messages: len(messages) >= len(MESSAGES))
        assert all(message in received for message in MESSAGES)


async def test_node_messages_reach_every_listener_unchanged(buses: Buses) -> None:
    """Lobby and node messages arrive unchanged; a listener that has left receives nothing more."""
    receiver, removed = Receiver(), Receiver()
    buses.second.listen(receiver)
    buses.second.listen(removed)()
    for message in NODE_MESSAGES:
        buses.first.publish(message)
    received = await receiver.until(
        lambda messages: all(message in messages for message in NODE_MESSAGES)
    )
    assert all(message in [*NODE_MESSAGES, Heartbeat("n2")] for message in received)
    assert removed.messages == []


async def test_rooms_are_separate(buses: Buses) -> None:
    """A subscriber receives only messages of its own room, for any room id."""
    names = ["r1", "r2", "+", "#", "r1/here", "r1/#", "$SYS", "ü/ü", "%2F"]
    receivers = {name: Receiver() for name in names}
    await subscribe(buses.second, *receivers.items())
    for name in names:
        buses.first.publish(EventsAppended(name, "n1", entries(1)))
    for name, receiver in receivers.items():
        assert await receiver.until(bool) == [EventsAppended(name, "n1", entries(1))]


async def test_unsubscribing_ends_delivery(buses: Buses) -> None:
    """After unsubscribing a receiver gets nothing; others do, and it can subscribe again."""
    removed, other = Receiver(), Receiver()
    unsubscribe, unsubscribe_other = await subscribe(buses.second, ("r1", removed), ("r1", other))
    unsubscribe()
    buses.first.publish(MESSAGES[0])
    await other.until(bool)
    assert removed.messages == []
    buses.second.subscribe("r1", removed)
    buses.first.publish(MESSAGES[1])
    await removed.until(bool)
    buses.second.subscribe("r1", Receiver())()
    unsubscribe_other()


async def test_a_room_can_be_resubscribed_at_once(buses: Buses) -> None:
    """A room that loses its last subscriber and gets another at once still delivers messages."""
    (unsubscribe,) = await subscribe(buses.second, ("r1", Receiver()))
    unsubscribe()
    second = Receiver()
    await subscribe(buses.second, ("r1", second))
    buses.first.publish(MESSAGES[0])
    await second.until(bool)


async def test_publishing_without_subscribers_does_nothing(buses: Buses) -> None:
    """A message without subscribers is dropped without an error."""
    buses.first.publish(MESSAGES[0])
    buses.second.subscribe("r1", Receiver())()
    buses.first.publish(MESSAGES[0])
    buses.first.publish(NODE_MESSAGES[0])


async def test_a_subscriber_may_unsubscribe_in_its_callback(buses: Buses) -> None:
    """A callback that unsubscribes or subscribes does not disturb the others."""
    subscribed, late = Receiver(), Receiver()

    def resubscribe(message: RoomMessage) -> None:
        unsubscribe()
        buses.second.subscribe("r1", late)

    unsubscribe = buses.second.subscribe("r1", resubscribe)
    await subscribe(buses.second, ("r1", subscribed))
    buses.first.publish(MESSAGES[0])
    await subscribed.until(bool)
    buses.first.publish(MESSAGES[1])
    assert MESSAGES[1] in await late.until(lambda messages: MESSAGES[1] in messages)


async def test_the_end_of_a_node_is_reported(tmp_path: Path) -> None:
    """Over MQTT, listeners receive a heartbeat when a node is up, and NodeDown when it has ended.

    A listener that joins later receives nothing about that node.
    """
    async with mosquitto(tmp_path) as broker, open_mqtt_bus(broker.address, "n2", KEY) as second:
        receiver, late = Receiver(), Receiver()
        second.listen(receiver)
        await until_bus_is_up(second)
        async with open_mqtt_bus(broker.address, "n1", KEY) as first:
            await until_bus_is_up(first)
            await receiver.until(lambda messages: Heartbeat("n1") in messages)
        await receiver.until(lambda messages: NodeDown("n1") in messages)
        async with open_mqtt_bus(broker.address, "n3", KEY) as third:
            third.listen(late)
            await late.until(lambda messages: Heartbeat("n2") in messages)
            assert Heartbeat("n1") not in late.messages
