"""Nodes that die, freeze or lose their broker just after a commit; takeovers; wrong clocks.

The other nodes receive the last events within seconds. In most tests the poll has a period of an
hour, so they must do so without it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from engine.search.job import Job
from server.bus.base import (
    BusCounters,
    BusMessage,
    EventsAppended,
    GapHandler,
    Heartbeat,
    NodeDown,
    NodeHandler,
    RoomHandler,
)
from server.commands import AiSeat, MySeat
from server.ids import RoomId
from server.protocol.codes import Code
from server.runtime.node.hub import Hub
from server.runtime.node.membership import SILENT_NODE_S, STALLED_POLL_S
from server.runtime.node.open_rooms import RESERVED_S
from server.runtime.requests import Resync
from server.runtime.room.room_runner import MAILBOX_CAPACITY, RESYNC_S
from tests.support.fake_server import (
    Client,
    FakeServer,
    Fault,
    FaultyBus,
    FaultyStore,
    first_legal,
    run_ready_tasks,
    virtual,
)

#: The period of the poll, in seconds: longer than the tests.
HOUR_S = 3600.0
#: The time limit within which a dead node's last events reach the followers, in seconds.
DELIVERY_LIMIT_S = 2.0


class BusConnection:
    """One node's connection to the shared bus, which a test can cut.

    Messages for which `drops` is true are lost silently.
    """

    def __init__(self, fake: FakeServer) -> None:
        self.bus = fake.bus
        self.is_up = True
        self.cut = False
        self.drops: Callable[[BusMessage], bool] = lambda message: False

    def publish(self, message: BusMessage) -> None:
        if not self.cut and not self.drops(message):
            self.bus.publish(message)

    def subscribe(self, room: str, receive: RoomHandler) -> Callable[[], None]:
        return self.bus.subscribe(room, lambda message: None if self.cut else receive(message))

    def listen(self, receive: NodeHandler) -> Callable[[], None]:
        return self.bus.listen(lambda message: None if self.cut else receive(message))

    def on_gap(self, handler: GapHandler) -> Callable[[], None]:
        return self.bus.on_gap(handler)

    def counters(self) -> BusCounters:
        return BusCounters()


@dataclass(frozen=True, slots=True)
class NodeHandle:
    """A node with its own connections to the bus and the store."""

    hub: Hub
    connection: BusConnection
    store: FaultyStore

    def die(self, is_reported: bool) -> None:
        """Cuts the node's connections; with `is_reported`, the broker publishes its will."""
        self.connection.cut = self.store.down = True
        if is_reported:
            self.connection.bus.publish(NodeDown(self.hub.ports.node))

    @property
    def polls(self) -> int:
        return self.hub.ports.metrics.polls


@asynccontextmanager
async def open_node(
    fake: FakeServer, name: str, now_ms: Callable[[], int] | None = None
) -> AsyncIterator[NodeHandle]:
    connection, store = BusConnection(fake), FaultyStore(fake.store.memory)
    async with fake.hub(name, bus=connection, store=store, now_ms=now_ms or fake.now_ms) as hub:
        yield NodeHandle(hub, connection, store)


@asynccontextmanager
async def two_nodes(
    fake: FakeServer | None = None,
) -> AsyncIterator[tuple[NodeHandle, NodeHandle, RoomId, Client, Client]]:
    """Opens two nodes that receive each other's heartbeats.

    Ada on one plays Ben on the other, and v is 4.
    """
    fake = fake or server_with_rare_polls()
    async with open_node(fake, "n1") as first, open_node(fake, "n2") as second:
        ada, ben = Client(first.hub, "ada"), Client(second.hub, "ben")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.wait_for_v(4)
        await asyncio.sleep(10)
        yield first, second, room, ada, ben


def server_with_rare_polls(poll_s: float = HOUR_S) -> FakeServer:
    """Returns a fake server whose nodes poll heads only once in `poll_s`."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, poll_s=poll_s)
    return fake


def has_events(message: BusMessage) -> bool:
    """Returns whether the message carries events."""
    return isinstance(message, EventsAppended)


def now_s() -> float:
    return asyncio.get_running_loop().time()


# --- the last commits of a node -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_reported", "within_s"),
    [(True, DELIVERY_LIMIT_S), (False, SILENT_NODE_S + DELIVERY_LIMIT_S)],
)
@virtual
async def test_a_move_that_a_dying_node_committed_reaches_the_others(
    is_reported: bool, within_s: float
) -> None:
    """I7: if a node dies between a commit and its message, the event still reaches the others.

    That holds with and without a will from the broker.
    """
    async with two_nodes() as (first, second, room, ada, ben):
        first.connection.drops = has_events
        await ada.ack(ada.move(room, 0, "b2"))
        first.die(is_reported)
        died_s = now_s()
        await ben.wait_for_v(5)
        assert now_s() - died_s <= within_s
        assert second.polls == 0


@pytest.mark.parametrize("is_expired", [False, True])
@pytest.mark.parametrize("late_s", [0.1, 1.9])
@virtual
async def test_a_commit_after_the_report_of_its_nodes_death(
    late_s: float, is_expired: bool
) -> None:
    """While a statement of a dead node may still commit, the others keep comparing heads.

    They do so even if the node's heartbeat had expired before.
    """
    async with two_nodes() as (first, second, room, ada, ben):
        append_gate = first.store.hold("append")
        ada.send_command(ada.move(room, 0, "b2"))
        await first.store.waiting["append"].wait()
        first.die(is_reported=True)
        if is_expired:
            await second.store.nodes.heartbeat("n1", -1)
        await asyncio.sleep(late_s)
        assert ben.events()[-1]["v"] == 4
        append_gate.set()
        committed_s = now_s()
        await ben.wait_for_v(5)
        assert now_s() - committed_s <= STALLED_POLL_S
        assert second.polls == 0


@virtual
async def test_heads_are_compared_again_after_the_store_failed() -> None:
    """The comparison of heads after a death is repeated if the store fails the first time."""
    async with two_nodes() as (first, second, room, ada, ben):
        first.connection.drops = has_events
        await ada.ack(ada.move(room, 0, "b2"))
        second.store.fail("heads", Fault(), Fault(), Fault())
        first.die(is_reported=True)
        await ben.wait_for_v(5)
        assert not second.store.faults["heads"]
        assert second.polls == 0


@virtual
async def test_heads_are_compared_again_if_the_store_fails_after_a_gap() -> None:
    """The comparison of heads after a gap is repeated if the store fails."""
    async with two_nodes() as (first, second, room, ada, ben):
        first.connection.drops = has_events
        await ada.ack(ada.move(room, 0, "b2"))
        second.store.fail("heads", Fault(), Fault())
        second.hub.membership.on_gap(frozenset({room}))
        await ben.wait_for_v(5)
        assert second.polls == 0


@virtual
async def test_comparisons_end_when_a_dead_node_can_commit_nothing() -> None:
    """Once a dead node can commit nothing more, the others stop comparing heads."""
    async with two_nodes() as (first, second, _room, _ada, _ben):
        first.die(is_reported=True)
        await asyncio.sleep(10)
        comparisons = second.store.calls["heads"]
        assert 3 <= comparisons <= 10
        await asyncio.sleep(HOUR_S / 2)
        assert (second.store.calls["heads"], second.polls) == (comparisons, 0)


@virtual
async def test_nodes_that_receive_heartbeats_do_not_compare_heads() -> None:
    """Nodes that receive each other's messages compare heads only by the poll."""
    async with two_nodes() as (first, second, room, ada, ben):
        before = (first.store.calls["heads"], second.store.calls["heads"])
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.wait_for_v(5)
        await asyncio.sleep(HOUR_S / 2)
        assert (first.store.calls["heads"], second.store.calls["heads"]) == before


@virtual
async def test_events_of_a_node_without_its_broker_arrive() -> None:
    """Events of a node that lost its broker reach the others within a second.

    The others compare heads as long as its heartbeats in the store continue. Once the broker is
    back, the bus carries the events again.
    """
    async with two_nodes() as (first, second, room, ada, ben):
        first.connection.cut, first.connection.is_up = True, False
        first.connection.bus.publish(NodeDown("n1"))
        for n in range(20):
            await asyncio.sleep(7)
            v = await ada.ack(ada.chat(room, f"line {n}"))
            assert v is not None
            acked_s = now_s()
            await ben.wait_for_v(v)
            assert now_s() - acked_s <= STALLED_POLL_S
        first.connection.cut, first.connection.is_up = False, True
        await asyncio.sleep(10)
        comparisons = second.store.calls["heads"]
        await ada.ack(ada.chat(room, "back"))
        await ben.wait_for_v(25)
        await asyncio.sleep(60)
        assert (second.store.calls["heads"], second.polls) == (comparisons, 0)


@virtual
async def test_a_node_without_a_message_on_the_bus_is_in_doubt() -> None:
    """A node with a heartbeat in the store but none on the bus is in doubt: heads are compared."""
    fake = server_with_rare_polls()
    async with open_node(fake, "n1") as first:
        first.connection.cut = True
        async with open_node(fake, "n2") as second:
            ada, ben = Client(first.hub, "ada"), Client(second.hub, "ben")
            room = await ada.create()
            await ben.ack(ben.join(room))
            await asyncio.sleep(30)
            v = await ada.ack(ada.chat(room, "can you hear me?"))
            assert v is not None
            await ben.wait_for_v(v)
            assert second.polls == 0


@virtual
async def test_events_of_an_unanswered_commit_are_published() -> None:
    """If the store's answer to a commit is lost, the room finds the events in the log and publishes
    them.
    """
    async with two_nodes() as (first, second, room, ada, ben):
        first.store.fail("append", Fault(after=True))
        assert await ada.expect_refusal(ada.move(room, 0, "b2")) == Code.STORE_RETRY
        failed_s = now_s()
        await ben.wait_for_v(5)
        assert now_s() - failed_s <= RESYNC_S + 0.1
        assert (first.polls, second.polls) == (0, 0)
        await ada.wait_for_v(5)
        assert [m["v"] for m in ben.events()] == [3, 4, 5]


@virtual
async def test_events_of_others_are_not_published_again() -> None:
    """A node that catches up with another node's events does not publish them again."""
    async with two_nodes() as (first, second, room, ada, ben):
        published: list[BusMessage] = []

        def record(message: BusMessage) -> bool:
            if has_events(message):
                published.append(message)
            return False

        second.connection.drops = record
        first.connection.drops = has_events
        await ada.ack(ada.move(room, 0, "b2"))
        second.hub.membership.on_gap(None)
        await ben.wait_for_v(5)
        await asyncio.sleep(5)
        assert published == []


@virtual
async def test_a_resync_into_a_full_mailbox_is_not_lost() -> None:
    """If a full mailbox refuses a Resync, the room reads the log before its next request."""
    async with two_nodes() as (first, second, room, ada, ben):
        first.connection.drops = has_events
        gate = second.store.hold("find_command")
        # It is not Ben's turn, so the room first checks the store's head.
        ben.send_command(ben.move(room, 1, "a1"))
        await second.store.waiting["find_command"].wait()
        for _ in range(MAILBOX_CAPACITY):
            ben.send_command(ben.leave(room))
        await ada.ack(ada.move(room, 0, "b2"))
        runner = second.hub.runner(room)
        assert runner is not None
        assert not runner.submit(Resync())
        gate.set()
        await ben.wait_for_v(5)


@virtual
async def test_the_poll_finds_events_of_lost_messages() -> None:
    """The poll finds events whose messages were lost silently, and is counted."""
    async with two_nodes(server_with_rare_polls(poll_s=30.0)) as (first, second, room, ada, ben):
        first.connection.drops = has_events
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.wait_for_v(5)
        assert second.polls >= 1


@virtual
async def test_reported_lost_messages_cause_a_comparison() -> None:
    """When the bus reports lost messages, as the MQTT bus does, the other nodes compare heads."""
    fake = server_with_rare_polls()
    async with two_nodes(fake) as (_first, second, room, ada, ben):
        assert isinstance(fake.bus, FaultyBus)
        fake.bus.fault_rate = 1.0
        await ada.ack(ada.move(room, 0, "b2"))
        fake.bus.fault_rate = 0.0
        await ben.wait_for_v(5)
        assert second.polls == 0


# --- taking over ----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("is_reported", [True, False])
@virtual
async def test_an_open_room_is_taken_over(is_reported: bool, is_behind: bool) -> None:
    """If the node that searches for an AI dies, a node with the room open makes the AI's move.

    It does so even if it had not received the dead node's last event.
    """
    fake = server_with_rare_polls()

    async def never(job: Job) -> str:
        await asyncio.Event().wait()
        return ""

    fake.engines.answer = never
    async with open_node(fake, "n1") as first, open_node(fake, "n2") as second:
        ada, ben = Client(first.hub, "ada"), Client(second.hub, "ben")
        room = await ada.create(seats=(MySeat(), AiSeat(1)))
        await ben.ack(ben.join(room))
        if is_behind:
            first.connection.drops = has_events
        v = await ada.ack(ada.move(room, 0, "b2"))
        assert v is not None
        await run_ready_tasks()
        assert len(fake.engines.jobs) == 1
        runner = second.hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.v == (v - 1 if is_behind else v)
        fake.engines.answer = first_legal
        first.die(is_reported)
        await ben.wait_for_v(v + 1)
        assert [m["v"] for m in ben.events()] == [v, v + 1]
        assert second.hub.runner(room) is runner, "the room stayed open"
        head = await fake.store.logs.head(room)
        assert head is not None
        assert head.node == "n2"


@virtual
async def test_a_late_message_does_not_take_a_room_back() -> None:
    """After a takeover a late message of the previous node does not stop the AI's search."""
    fake = server_with_rare_polls()
    search_started, may_answer = asyncio.Event(), asyncio.Event()

    async def slow(job: Job) -> str:
        search_started.set()
        await may_answer.wait()
        return await first_legal(job)

    fake.engines.answer = slow
    async with open_node(fake, "n1") as first, open_node(fake, "n2") as second:
        ada, ben = Client(first.hub, "ada"), Client(second.hub, "ben")
        room = await ada.create(seats=(MySeat(), AiSeat(1)))
        await ben.ack(ben.join(room))
        first.connection.drops = has_events
        v = await ada.ack(ada.move(room, 0, "b2"))
        assert v is not None
        log = await fake.store.logs.events(room, v - 1)
        first.die(is_reported=True)
        await search_started.wait()
        while len(fake.engines.jobs) < 2:
            await asyncio.sleep(0.1)
        fake.bus.publish(EventsAppended(room, "n1", tuple(log)))
        await asyncio.sleep(1)
        may_answer.set()
        await ben.wait_for_v(v + 1)
        assert fake.engines.cancelled == []


# --- clocks that are set back ---------------------------------------------------------------------


@virtual
async def test_the_times_of_events_never_go_back() -> None:
    """No event is older than its predecessor, even if the clock of a node is behind or set back."""
    fake, ahead_ms = server_with_rare_polls(), 0
    async with (
        open_node(fake, "n1", lambda: fake.now_ms() + ahead_ms) as first,
        open_node(fake, "n2", lambda: fake.now_ms() - 60_000) as second,
    ):
        ada, ben = Client(first.hub, "ada"), Client(second.hub, "ben")
        room = await ada.create()
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        ahead_ms = -3_600_000
        for n in range(3):
            await asyncio.sleep(1)
            await ada.ack(ada.chat(room, f"line {n}"))
            await ben.ack(ben.chat(room, f"answer {n}"))
        times = [event.at_ms for event in await fake.store.logs.events(room, 0)]
        assert len(times) == 11
        assert times == sorted(times)
        assert times[-1] <= fake.now_ms(), "event times do not run ahead"


@pytest.mark.parametrize("is_sole", [True, False])
@virtual
async def test_due_rooms_do_not_wait_for_a_clock_that_was_set_back(is_sole: bool) -> None:
    """AI seats move soon after a restart, even if the clock was set back by an hour.

    The store's clock is set back too, so the previous node seems alive.
    """
    fake = server_with_rare_polls()
    fake.settings = replace(fake.settings, sole_node=is_sole)

    async def never(job: Job) -> str:
        await asyncio.Event().wait()
        return ""

    fake.engines.answer = never
    async with open_node(fake, "before") as before:
        rooms = [
            await Client(before.hub, f"ada{n}").create(seats=(AiSeat(1), MySeat()))
            for n in range(3)
        ]
        await run_ready_tasks()
        before.die(is_reported=False)
    fake.engines.answer = first_legal

    def set_back_ms() -> int:
        return fake.now_ms() - 3_600_000

    fake.store.memory.nodes.now_ms = set_back_ms
    async with open_node(fake, "after", set_back_ms):
        await asyncio.sleep(10)
        assert await fake.store.memory.logs.heads(rooms) == dict.fromkeys(rooms, 5)


@virtual
async def test_idle_rooms_leave_memory_after_the_clock_was_set_back() -> None:
    """Idle rooms leave memory in time even if the clock was set back by an hour."""
    fake, ahead_ms = server_with_rare_polls(), 0
    fake.settings = replace(fake.settings, max_rooms=2)
    async with open_node(fake, "n1", lambda: fake.now_ms() + ahead_ms) as first:
        ada = Client(first.hub, "ada")
        rooms = [await ada.create() for _ in range(2)]
        for room in rooms:
            await ada.ack(ada.chat(room, "x"))
        ahead_ms = -3_600_000
        await asyncio.sleep(RESERVED_S)
        await ada.ack(ada.join(await ada.create()))


@virtual
async def test_a_late_heartbeat_does_not_end_the_comparisons() -> None:
    """A heartbeat that arrives after the NodeDown of its node does not end the comparisons."""
    async with two_nodes() as (first, second, room, ada, ben):
        append_gate = first.store.hold("append")
        ada.send_command(ada.move(room, 0, "b2"))
        await first.store.waiting["append"].wait()
        first.die(is_reported=True)
        await asyncio.sleep(0.5)
        second.hub.membership.on_node(Heartbeat("n1"))
        await asyncio.sleep(1.4)
        append_gate.set()
        await ben.wait_for_v(5)
        assert second.polls == 0
