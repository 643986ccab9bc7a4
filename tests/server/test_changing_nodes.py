"""A client changes to another node: it joins its room there, then closes its first socket."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from server.bus.base import BusMessage
from server.runtime.node.duties import SWEEP_S
from server.runtime.node.hub import Hub
from server.runtime.node.open_rooms import MOVED_ROOM_S
from tests.support.fake_server import Client, FakeServer, FaultyBus, Message, virtual
from tests.support.two_players import playing
from tests.support.virtual_time import run_virtual

#: Longest delay of a message on the bus, in seconds.
BUS_DELAY_S = 0.02


class DelayingBus(FaultyBus):
    """A bus that delays each message by a time of its own, and so reorders them."""

    def __init__(self, delays_s: list[float]) -> None:
        super().__init__()
        self._delays_s = delays_s
        self._sent = 0

    def publish(self, message: BusMessage) -> None:
        self._sent += 1
        delay_s = self._delays_s[self._sent % len(self._delays_s)]
        loop = asyncio.get_running_loop()
        loop.call_later(delay_s, self._inner.publish, message)


async def change_node(client: Client, hub: Hub, room: str, since: int) -> Client:
    """Joins the room on another node with `since`, then closes the first connection."""
    following = Client(hub, client.identity)
    await following.ack(following.join(room, since=since))
    client.close()
    return following


def seats_seen(client: Client) -> list[list[bool]]:
    return [message["seats"] for message in client.of("presence")]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(0, BUS_DELAY_S), min_size=1, max_size=12))
def test_presence_sees_no_gap(delays_s: list[float]) -> None:
    """While a player changes nodes, nobody on any node sees the seat empty, however the bus delays
    and reorders the reports.
    """
    run_virtual(player_changes_nodes(delays_s))


async def player_changes_nodes(delays_s: list[float]) -> None:
    fake = FakeServer()
    fake.bus = DelayingBus(delays_s)
    async with (
        playing(fake=fake) as (fake, _, room, ada, ben),
        fake.hub("n2") as second,
        fake.hub("n3") as third,
    ):
        watcher = Client(third, "cyd")
        viewers = [watcher, ben]
        await watcher.ack(watcher.join(room))
        await asyncio.sleep(2)
        before = [len(seats_seen(viewer)) for viewer in viewers]
        assert seats_seen(watcher)[-1] == [True, True]
        moved = await change_node(ada, second, room, since=4)
        await asyncio.sleep(2)
        for viewer, count in zip(viewers, before, strict=True):
            assert [False, True] not in seats_seen(viewer)[count:]
        assert seats_seen(moved)[-1] == [True, True]


@virtual
async def test_no_event_is_lost_or_doubled() -> None:
    """Events that are committed while a client has both sockets arrive on each, contiguously."""
    async with playing() as (fake, _, room, ada, ben), fake.hub("n2") as second:
        following = Client(second, "ada")
        join = following.join(room, since=4)
        following.send_command(join)
        await ada.ack(ada.move(room, 0, "b2"))
        await following.answer(join.id)
        await ben.ack(ben.move(room, 1, "a1"))
        ada.close()
        await following.ack(following.move(room, 2, "c3"))
        assert versions(following.events()) == [5, 6, 7]


def versions(events: list[Message]) -> list[int]:
    return [event["v"] for event in events]


@virtual
async def test_a_room_whose_followers_changed_nodes_leaves_memory() -> None:
    """The first node soon drops the room, although events of the other node keep arriving. A node
    whose last followers disconnect holds the room for the usual time.
    """
    async with playing() as (fake, hub, room, ada, ben), fake.hub("n2") as second:
        ada = await change_node(ada, second, room, since=4)
        await ada.ack(ada.move(room, 0, "b2"))
        await asyncio.sleep(MOVED_ROOM_S + SWEEP_S)
        assert hub.runner(room) is not None, "Ben is still here"
        ben = await change_node(ben, second, room, since=5)
        for number in range(4):
            await asyncio.sleep((MOVED_ROOM_S + SWEEP_S) / 4)
            await ben.ack(ben.chat(room, f"line {number}"))
        assert hub.runner(room) is None
        ben.close()
        ada.close()
        await asyncio.sleep(MOVED_ROOM_S + SWEEP_S)
        assert second.runner(room) is not None


@virtual
async def test_nodes_are_counted() -> None:
    """A lone node counts one node; with a second one both count two, until it has stopped."""
    fake = FakeServer()
    async with fake.hub() as hub:
        assert hub.membership.node_count == 1
        async with fake.hub("n2") as second:
            await asyncio.sleep(2)
            assert (hub.membership.node_count, second.membership.node_count) == (2, 2)
        await asyncio.sleep(2)
        assert hub.membership.node_count == 1
