"""What server/bus/base.py promises, for every backend: a new one is added to `bus` below and must pass."""

import asyncio
from collections.abc import Callable

import pytest

from server.bus.base import Bus, BusMessage, Grown, Here, Whisper
from server.bus.local import LocalBus
from tests.server.entries import entries

MESSAGES: list[BusMessage] = [
    Grown("r1", "n1", entries(3, 2)),
    Whisper("r1", "n1", b"\x81\x02{}"),
    Here("r1", "n1", frozenset({"ada", "ben"}), 3),
    Here("r1", "n1", frozenset(), 0),
]


@pytest.fixture(params=["local"])
async def bus(request: pytest.FixtureRequest) -> Bus:
    buses = {"local": LocalBus}
    return buses[request.param]()


class Receiver:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.messages: list[BusMessage] = []
        self.heard = asyncio.Event()

    def __call__(self, message: BusMessage) -> None:
        self.messages.append(message)
        self.heard.set()

    async def until(self, enough: Callable[[list[BusMessage]], bool]) -> list[BusMessage]:
        """What was heard, once it is enough."""
        async with asyncio.timeout(5):
            while not enough(self.messages):
                self.heard.clear()
                await self.heard.wait()
        return self.messages


async def test_messages_reach_every_subscriber_whole(bus: Bus) -> None:
    """Every kind of message comes out as it went in, for all subscribers of its room."""
    receivers = [Receiver(), Receiver()]
    for receiver in receivers:
        bus.subscribe("r1", receiver)
    for message in MESSAGES:
        bus.publish(message)
    for receiver in receivers:
        heard = await receiver.until(lambda messages: len(messages) >= len(MESSAGES))
        assert all(message in heard for message in MESSAGES)


async def test_rooms_are_apart(bus: Bus) -> None:
    """Nobody hears of a room that he did not subscribe to."""
    here, there = Receiver(), Receiver()
    bus.subscribe("r1", here)
    bus.subscribe("r2", there)
    last = Grown("r2", "n1", entries(1))
    for message in (*MESSAGES, last):
        bus.publish(message)
    assert await there.until(lambda messages: last in messages) == [last]
    await here.until(lambda messages: len(messages) >= len(MESSAGES))
    assert {message.room for message in here.messages} == {"r1"}


async def test_unsubscribing_ends_it(bus: Bus) -> None:
    """After that nothing comes; others still hear, and one may subscribe again."""
    gone, here = Receiver(), Receiver()
    unsubscribe = bus.subscribe("r1", gone)
    bus.subscribe("r1", here)
    unsubscribe()
    bus.publish(MESSAGES[0])
    await here.until(bool)
    assert gone.messages == []
    bus.subscribe("r1", gone)
    bus.publish(MESSAGES[1])
    await gone.until(bool)


async def test_nobody_need_listen(bus: Bus) -> None:
    """Publishing for nobody is no error."""
    bus.publish(MESSAGES[0])
    bus.subscribe("r1", Receiver())()
    bus.publish(MESSAGES[0])


async def test_a_subscriber_may_leave_while_it_is_told(bus: Bus) -> None:
    """Unsubscribing or subscribing from within does not disturb the others."""
    here, late = Receiver(), Receiver()

    def leave(message: BusMessage) -> None:
        unsubscribe()
        bus.subscribe("r1", late)

    unsubscribe = bus.subscribe("r1", leave)
    bus.subscribe("r1", here)
    bus.publish(MESSAGES[0])
    await here.until(bool)
    bus.publish(MESSAGES[1])
    assert MESSAGES[1] in await late.until(lambda messages: MESSAGES[1] in messages)
