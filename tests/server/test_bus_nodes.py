"""The lobby, presence and gaps on several nodes, over a bus in memory and over a real broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from server.bus.base import EventsAppended, LobbyChanged, MessagesLost, NodeDown, PresenceReport
from server.bus.codec import node_topic
from server.bus.mqtt import MqttBus, open_mqtt_bus
from server.commands import Abort, AiSeat, MySeat, Resign
from server.deploy.mosquitto import mosquitto
from server.protocol import messages as wire
from server.runtime.node import membership
from server.runtime.node.duties import open_hub
from server.runtime.node.hub import Hub
from server.runtime.node.lobby import COMPARE_S
from server.store.base import StoredRoom
from tests.server.test_bus_contract import KEY, until_bus_is_up
from tests.support.clock import stopped_clock, until
from tests.support.fake_server import (
    Client,
    FakeServer,
    FaultyBus,
    FaultyStore,
    Message,
    run_ready_tasks,
    virtual,
)
from tests.support.memory_store import MemoryProjections, MemoryTables

#: Longer than the delays of presence (0.1 s) and lobby (0.25 s) messages, in seconds.
DELIVERY_S = 0.6


class Watcher(Client):
    """A client that watches the lobby; `lobby` is the list that it sees, by room."""

    async def watch(self) -> "Watcher":
        await self.hub.lobby.watch(self, wire.Ack("w", None))
        return self

    @property
    def lobby(self) -> dict[str, Message]:
        rooms: dict[str, Message] = {}
        for message in self.of("lobby"):
            if message["full"]:
                rooms = {}
            rooms.update({room["room"]: room for room in message.get("rooms", ())})
            for room in message.get("gone", ()):
                rooms.pop(room, None)
        return rooms


def last_presence(client: Client) -> tuple[list[bool], int]:
    """Returns the presence that a client received last: the seats, and the number of spectators."""
    last = client.of("presence")[-1]
    return last["seats"], last["watching"]


@asynccontextmanager
async def hubs(fake: FakeServer, *names: str) -> AsyncIterator[list[Hub]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(fake.hub(name)) for name in names]


# --- the lobby ------------------------------------------------------------------------------------


@virtual
async def test_the_lobby_is_the_same_on_all_nodes() -> None:
    """The lobby of every node follows a room from its creation to the end of its match."""
    async with hubs(FakeServer(), "n1", "n2", "n3") as (first, second, third):
        watchers = [
            await Watcher(hub, f"w{number}").watch()
            for number, hub in enumerate((first, second, third))
        ]
        ada, ben = Client(first, "ada"), Client(first, "ben")
        room = await ada.create("tic-tac-toe")
        await asyncio.sleep(DELIVERY_S)
        assert [w.lobby[room]["state"] for w in watchers] == ["open"] * 3
        await ben.ack(ben.sit(room, 1))
        for client in (ada, ben):
            await client.ack(client.join(room))
        cyd = Client(first, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.ack(ada.move(room, 0, "a1"))
        await asyncio.sleep(DELIVERY_S)
        assert second.runner(room) is None
        for watcher in watchers:
            entry = watcher.lobby[room]
            assert (entry["state"], entry["ply"], entry["watching"]) == ("playing", 1, 1)
        late = await Watcher(third, "late").watch()
        assert late.lobby == watchers[2].lobby
        await ada.ack(ada.plain(Resign, room))
        await asyncio.sleep(DELIVERY_S)
        assert [w.lobby for w in watchers] == [{}] * 3


@virtual
async def test_a_lobby_without_the_bus_reads_the_store() -> None:
    """While the bus is cut, a watcher on another node sees new, changed and removed rooms within
    seconds.
    """
    fake = FakeServer()
    bus = fake.bus = FaultyBus()
    async with hubs(fake, "n1", "n2") as (first, second):
        watcher = await Watcher(second, "w").watch()
        ada = Client(first, "ada")
        open_room, aborted = await ada.create("tic-tac-toe"), await ada.create("sticks")
        await asyncio.sleep(DELIVERY_S)
        assert set(watcher.lobby) == {open_room, aborted}
        bus.cut = True
        new = await ada.create("connect-four")
        ben = Client(first, "ben")
        await ben.ack(ben.sit(open_room, 1))
        await ben.ack(ben.sit(aborted, 1))
        await ben.ack(ben.plain(Abort, aborted))
        await asyncio.sleep(COMPARE_S + DELIVERY_S)
        assert {room: entry["state"] for room, entry in watcher.lobby.items()} == {
            open_room: "playing",
            new: "open",
        }
        before = len(watcher.of("lobby"))
        await asyncio.sleep(5 * COMPARE_S)
        assert len(watcher.of("lobby")) == before, "without a change there is no message"


@virtual
async def test_a_stale_lobby_entry_is_ignored() -> None:
    """A node ignores another node's lobby entry for a room that it has in memory itself.

    Reading the store does not set the room's ply back either.
    """
    async with hubs(FakeServer(), "n1", "n2") as (first, second):
        ada = Client(first, "ada")
        room = await ada.create("tic-tac-toe", seats=(MySeat(), AiSeat(level=1)))
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        watchers = [
            await Watcher(hub, f"w{number}").watch() for number, hub in enumerate((first, second))
        ]
        await asyncio.sleep(DELIVERY_S)
        entry = wire.RoomSummary(
            room=room,
            game="tic-tac-toe",
            title="x",
            options={},
            seats=(None, None),
            state="open",
            created_ms=1,
            ply=0,
        )
        first.membership.on_node(LobbyChanged("n2", (entry,), ()))
        first.membership.on_node(LobbyChanged("n2", (), (room,)))
        await asyncio.sleep(3 * COMPARE_S)
        assert [(w.lobby[room]["title"], w.lobby[room]["ply"] >= 2) for w in watchers] == [
            ("Tic-tac-toe", True)
        ] * 2


class SlowLists(MemoryProjections):
    """Reads the list of rooms at once and returns it when `may_return` is set."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.read, self.may_return = asyncio.Event(), asyncio.Event()

    async def rooms(self, limit: int, since_ms: int = 0) -> list[StoredRoom]:
        rooms = await super().rooms(limit, since_ms)
        self.read.set()
        await self.may_return.wait()
        return rooms


@virtual
async def test_a_lobby_change_while_the_list_is_read() -> None:
    """A change that arrives while the list is read reaches the client that gets the list."""
    store = FaultyStore()
    lists = store.projections = SlowLists(store.memory.tables)
    async with hubs(FakeServer(store=store), "n1", "n2") as (first, second):
        watcher = Watcher(second, "w")
        watching = asyncio.create_task(watcher.watch())
        await lists.read.wait()
        room = await Client(first, "ada").create("tic-tac-toe")
        await asyncio.sleep(DELIVERY_S)
        lists.may_return.set()
        await watching
        assert room in watcher.lobby


# --- presence -------------------------------------------------------------------------------------


async def join_three_people(first: Hub, second: Hub) -> tuple[Client, Client, Client, str]:
    """Lets Ada on the first node play Ben on the second, where Cyd watches.

    Returns the three clients and the room.
    """
    ada, ben, cyd = Client(first, "ada"), Client(second, "ben"), Client(second, "cyd")
    room = await ada.create("tic-tac-toe")
    await ben.ack(ben.sit(room, 1))
    for client in (ada, ben, cyd):
        await client.ack(client.join(room))
    return ada, ben, cyd, room


@virtual
async def test_presence_counts_the_clients_of_all_nodes() -> None:
    """Clients that join or leave on another node change the presence on this node."""
    async with hubs(FakeServer(), "n1", "n2") as (first, second):
        ada, ben, cyd, _ = await join_three_people(first, second)
        await asyncio.sleep(DELIVERY_S)
        assert last_presence(ada) == last_presence(ben) == last_presence(cyd) == ([True, True], 1)
        cyd.close()
        ben.close()
        await asyncio.sleep(DELIVERY_S)
        assert last_presence(ada) == ([True, False], 0)


@pytest.mark.parametrize("how", ["ends", "falls silent"])
@virtual
async def test_presence_on_a_dead_node_ends(how: str) -> None:
    """Clients of a node disappear when it closes, or SILENT_NODE_S after its last message."""
    fake = FakeServer()
    bus = fake.bus = FaultyBus()
    async with hubs(fake, "n1") as (first,):
        async with AsyncExitStack() as stack:
            second = await stack.enter_async_context(fake.hub("n2"))
            ada, *_ = await join_three_people(first, second)
            await asyncio.sleep(DELIVERY_S)
            assert last_presence(ada) == ([True, True], 1)
            if how == "falls silent":
                bus.cut = True
                await asyncio.sleep(membership.SILENT_NODE_S + 2)
                assert last_presence(ada) == ([True, False], 0)
                bus.cut = False
                await asyncio.sleep(DELIVERY_S + 1)
                assert last_presence(ada) == ([True, True], 1), "n2 was running all the time"
        await asyncio.sleep(DELIVERY_S)
        assert last_presence(ada) == ([True, False], 0)


@virtual
async def test_presence_stays_while_the_bus_is_down() -> None:
    """While the bus is down, the last known presence stays, as all nodes are silent.

    Clients that have left disappear once the bus is up again.
    """
    fake = FakeServer()
    bus = fake.bus = FaultyBus()
    async with hubs(fake, "n1") as (first,):
        async with AsyncExitStack() as stack:
            second = await stack.enter_async_context(fake.hub("n2"))
            ada, *_ = await join_three_people(first, second)
            await asyncio.sleep(DELIVERY_S)
            bus.cut, bus.is_up = True, False
            await asyncio.sleep(60)
            assert last_presence(ada) == ([True, True], 1)
        bus.cut, bus.is_up = False, True
        await asyncio.sleep(membership.SILENT_NODE_S + 2)
        assert last_presence(ada) == ([True, False], 0)


@virtual
async def test_lost_presence_is_repeated() -> None:
    """Presence is published again every half minute, which repairs lost messages."""
    fake = FakeServer()
    bus = fake.bus = FaultyBus()
    async with hubs(fake, "n1", "n2") as (first, second):
        ada, ben, _, room = await join_three_people(first, second)
        await asyncio.sleep(DELIVERY_S)
        publish = bus.publish
        bus.publish = lambda message: (  # type: ignore[method-assign]
            None if isinstance(message, PresenceReport) else publish(message)
        )
        ben.close()
        dan = Client(second, "dan")
        await dan.ack(dan.join(room))
        await asyncio.sleep(DELIVERY_S)
        assert last_presence(ada) == ([True, True], 1)
        bus.publish = publish  # type: ignore[method-assign]
        await asyncio.sleep(35)
        assert last_presence(ada) == ([True, False], 2)


# --- gaps and nodes that die ----------------------------------------------------------------------


@virtual
async def test_heads_are_compared_every_second_while_the_bus_is_down() -> None:
    """While the bus is down, events of other nodes arrive within a second.

    Otherwise heads are polled every 30 s.
    """
    fake = FakeServer().unlimited()
    bus = fake.bus = FaultyBus()
    async with hubs(fake, "n1", "n2") as (first, second):
        ada, ben, _, room = await join_three_people(first, second)
        await run_ready_tasks()
        bus.cut, bus.is_up = True, False
        bus._inner._gap_handlers[1](None)
        await asyncio.sleep(0.5)
        for _ in range(5):
            v = await ada.ack(ada.chat(room, "?"))
            assert v is not None
            async with asyncio.timeout(1.1):
                await ben.wait_for_v(v)
            await asyncio.sleep(0.3)
        bus.cut, bus.is_up = False, True
        bus._inner._gap_handlers[1](None)
        await asyncio.sleep(10)
        publish = bus.publish
        bus.publish = lambda message: (  # type: ignore[method-assign]
            None if isinstance(message, EventsAppended) else publish(message)
        )
        v = await ada.ack(ada.chat(room, "?"))
        assert v is not None
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(20):
                await ben.wait_for_v(v)
        bus._inner.publish(MessagesLost("n1"))
        async with asyncio.timeout(0.5):
            await ben.wait_for_v(v)


@virtual
async def test_a_will_shortens_the_wait_for_a_takeover() -> None:
    """NodeDown only shortens the time between the last heartbeat's expiry and the takeover."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, heartbeat_s=10.0)
    waiting = asyncio.Event()

    async def never(_: Any) -> str:
        await waiting.wait()
        raise AssertionError

    fake.engines.answer = never
    async with hubs(fake, "n2") as (second,):
        await run_ready_tasks()
        async with fake.hub("n1") as first:
            await Client(first, "ada").create("tic-tac-toe", seats=(AiSeat(level=1), MySeat()))
            await fake.engines.requested.wait()
        # The node has ended in order; a new heartbeat makes it look as if it had died.
        heartbeat_at_s = asyncio.get_running_loop().time()
        await fake.store.nodes.heartbeat("n1", 30_000)
        fake.engines.requested.clear()
        second.membership.on_node(NodeDown("n1"))
        async with asyncio.timeout(60):
            await fake.engines.requested.wait()
        waited_s = asyncio.get_running_loop().time() - heartbeat_at_s
        assert 30.0 <= waited_s < 31.0


# --- over a broker --------------------------------------------------------------------------------


async def test_three_nodes_over_a_broker(tmp_path: Path) -> None:
    """Three nodes over a broker have the same lobby and presence.

    When a node is killed, its clients disappear within a second of its will.
    """
    fake = FakeServer()
    async with AsyncExitStack() as stack:
        broker = await stack.enter_async_context(mosquitto(tmp_path))
        buses: list[MqttBus] = []
        nodes: list[Hub] = []
        for name in ("n1", "n2", "n3"):
            bus = await stack.enter_async_context(open_mqtt_bus(broker.address, name, KEY))
            await until_bus_is_up(bus)
            buses.append(bus)
            nodes.append(await stack.enter_async_context(open_hub(fake.ports(name, bus=bus))))
        watcher = await Watcher(nodes[2], "w").watch()
        ada, _, _, room = await join_three_people(nodes[0], nodes[1])
        await until(lambda: bool(ada.of("presence")) and last_presence(ada) == ([True, True], 1))
        await until(lambda: watcher.lobby.get(room, {}).get("watching") == 1)
        await ada.ack(ada.move(room, 0, "a1"))
        await until(lambda: watcher.lobby[room].get("ply") == 1)
        statuses: list[bytes] = []
        buses[0].link.subscribe(node_topic("n2"), lambda topic, payload: statuses.append(payload))
        await until(lambda: bool(statuses))
        async with stopped_clock() as clock:
            buses[1].link.health.is_up = False  # otherwise it clears its status
            for task in asyncio.all_tasks():
                if task.get_name() != "broker link":
                    continue
                link = task.get_coro().cr_frame.f_locals["self"]  # type: ignore[union-attr]
                if link is buses[1].link:
                    task.cancel()
            await until(lambda: statuses[-1] == b"")
            await clock.until(lambda: last_presence(ada) == ([True, False], 0), within_s=1.0)
