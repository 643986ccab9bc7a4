"""A node dies, freezes or loses its broker just after a commit: the others learn of the events
soon, without the poll, which is set to an hour here. Also takeovers, and clocks that are set back.
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
from server.protocol.codes import Code
from server.protocol.messages import AiSeat, MySeat
from server.runtime.hub import RESERVED_S, SILENT_NODE_S, STALLED_POLL_S, Hub
from server.runtime.requests import Resync
from server.runtime.room_runner import MAILBOX_CAPACITY, RESYNC_S
from server.store.memory import MemoryStore
from tests.server.test_runner_nodes import LateStore
from tests.support.fake_server import (
    Client,
    FakeServer,
    Fault,
    FaultyBus,
    FaultyStore,
    first_legal,
    settle,
    virtual,
)

HOUR_S = 3600.0
#: The limit for what a dead node committed to reach the followers.
SOON_S = 2.0


class BusConnection:
    """One node's connection to the shared bus, which may be cut; `loses` selects messages that are
    lost silently.
    """

    def __init__(self, world: FakeServer) -> None:
        self.bus = world.bus
        self.is_up = True
        self.cut = False
        self.loses: Callable[[BusMessage], bool] = lambda message: False

    def publish(self, message: BusMessage) -> None:
        if not self.cut and not self.loses(message):
            self.bus.publish(message)

    def subscribe(self, room: str, receive: RoomHandler) -> Callable[[], None]:
        return self.bus.subscribe(room, lambda message: None if self.cut else receive(message))

    def listen(self, receive: NodeHandler) -> Callable[[], None]:
        return self.bus.listen(lambda message: None if self.cut else receive(message))

    def on_gap(self, call: GapHandler) -> Callable[[], None]:
        return self.bus.on_gap(call)

    def counters(self) -> BusCounters:
        return BusCounters()


@dataclass(frozen=True, slots=True)
class Member:
    """A node with its own connections to the bus and the store."""

    hub: Hub
    connection: BusConnection
    store: FaultyStore

    def die(self, is_told: bool) -> None:
        """The node's connections are cut; with `is_told`, the broker reports its end."""
        self.connection.cut = self.store.down = True
        if is_told:
            self.connection.bus.publish(NodeDown(self.hub.ports.node))

    @property
    def polls(self) -> int:
        return self.hub.ports.metrics.polls


@asynccontextmanager
async def member(
    world: FakeServer, name: str, now_ms: Callable[[], int] | None = None
) -> AsyncIterator[Member]:
    connection, store = BusConnection(world), LateStore(world)
    async with world.hub(name, bus=connection, store=store, now_ms=now_ms or world.now_ms) as hub:
        yield Member(hub, connection, store)


@asynccontextmanager
async def two_members(
    world: FakeServer | None = None,
) -> AsyncIterator[tuple[Member, Member, str, Client, Client]]:
    """Ada plays on one node against Ben on the other; both nodes know each other, and v is 4."""
    world = world or patient()
    async with member(world, "n1") as one, member(world, "n2") as two:
        ada, ben = Client(one.hub, "ada"), Client(two.hub, "ben")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.at_v(4)
        await asyncio.sleep(10)
        yield one, two, room, ada, ben


def patient(poll_s: float = HOUR_S) -> FakeServer:
    """A fake server whose nodes poll heads once an hour only."""
    world = FakeServer()
    world.settings = replace(world.settings, poll_s=poll_s)
    return world


def news(message: BusMessage) -> bool:
    return isinstance(message, EventsAppended)


def now_s() -> float:
    return asyncio.get_running_loop().time()


# --- the last commits of a node -------------------------------------------------------------------


@pytest.mark.parametrize(("is_told", "within_s"), [(True, SOON_S), (False, SILENT_NODE_S + SOON_S)])
@virtual
async def test_a_move_that_a_dying_node_committed_reaches_the_others(
    is_told: bool, within_s: float
) -> None:
    """R1, I7: a node died between its commit and its message; the broker reports its end, or there
    is only silence.
    """
    async with two_members() as (one, two, room, ada, ben):
        one.connection.loses = news
        await ada.ack(ada.move(room, 0, "b2"))
        one.die(is_told)
        died_s = now_s()
        await ben.at_v(5)
        assert now_s() - died_s <= within_s
        assert two.polls == 0


@pytest.mark.parametrize("has_run_out", [False, True])
@pytest.mark.parametrize("late_s", [0.1, 1.9])
@virtual
async def test_a_commit_that_lands_after_the_news_of_its_nodes_death(
    late_s: float, has_run_out: bool
) -> None:
    """The database may execute a statement whose sender is gone: heads are compared until that is
    no longer possible, also if the node's heartbeat had expired before.
    """
    async with two_members() as (one, two, room, ada, ben):
        under_way = one.store.hold("append")
        ada.say(ada.move(room, 0, "b2"))
        await one.store.waiting["append"].wait()
        one.die(is_told=True)
        if has_run_out:
            await two.store.heartbeat("n1", -1)
        await asyncio.sleep(late_s)
        assert ben.events()[-1]["v"] == 4
        under_way.set()
        landed_s = now_s()
        await ben.at_v(5)
        assert now_s() - landed_s <= STALLED_POLL_S
        assert two.polls == 0


@virtual
async def test_heads_are_compared_again_after_the_store_failed() -> None:
    """The comparison of heads after a death is repeated if the store fails the first time."""
    async with two_members() as (one, two, room, ada, ben):
        one.connection.loses = news
        await ada.ack(ada.move(room, 0, "b2"))
        two.store.fail("heads", Fault(), Fault(), Fault())
        one.die(is_told=True)
        await ben.at_v(5)
        assert not two.store.faults["heads"]
        assert two.polls == 0


@virtual
async def test_a_lapse_that_the_store_fails_in_is_looked_at_again() -> None:
    """The comparison of heads after a gap is repeated if the store fails."""
    async with two_members() as (one, two, room, ada, ben):
        one.connection.loses = news
        await ada.ack(ada.move(room, 0, "b2"))
        two.store.fail("heads", Fault(), Fault())
        two.hub.on_gap(frozenset({room}))
        await ben.at_v(5)
        assert two.polls == 0


@virtual
async def test_comparisons_end_when_a_dead_node_can_commit_nothing() -> None:
    """Once a dead node can commit nothing more, heads are not compared for an hour."""
    async with two_members() as (one, two, _room, _ada, _ben):
        one.die(is_told=True)
        await asyncio.sleep(10)
        looks = two.store.calls["heads"]
        assert 3 <= looks <= 10
        await asyncio.sleep(HOUR_S / 2)
        assert (two.store.calls["heads"], two.polls) == (looks, 0)


@virtual
async def test_nodes_that_hear_each_other_do_not_compare_heads() -> None:
    """Nodes that hear each other compare heads by the poll only."""
    async with two_members() as (one, two, room, ada, ben):
        before = (one.store.calls["heads"], two.store.calls["heads"])
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.at_v(5)
        await asyncio.sleep(HOUR_S / 2)
        assert (one.store.calls["heads"], two.store.calls["heads"]) == before


@virtual
async def test_a_node_that_lives_without_its_broker() -> None:
    """A node is cut off from the broker and plays on: by the store it is alive, and its events
    reach the other nodes within a second; afterwards they come by the bus again.
    """
    async with two_members() as (one, two, room, ada, ben):
        one.connection.cut, one.connection.is_up = True, False
        one.connection.bus.publish(NodeDown("n1"))
        for n in range(20):
            await asyncio.sleep(7)
            v = await ada.ack(ada.chat(room, f"line {n}"))
            assert v is not None
            acked_s = now_s()
            await ben.at_v(v)
            assert now_s() - acked_s <= STALLED_POLL_S
        one.connection.cut, one.connection.is_up = False, True
        await asyncio.sleep(10)
        looks = two.store.calls["heads"]
        await ada.ack(ada.chat(room, "back"))
        await ben.at_v(25)
        await asyncio.sleep(60)
        assert (two.store.calls["heads"], two.polls) == (looks, 0)


@virtual
async def test_a_node_that_was_never_heard_of() -> None:
    """A node that is alive by the store but was never heard on the bus is in doubt, too."""
    world = patient()
    async with member(world, "n1") as one:
        one.connection.cut = True
        async with member(world, "n2") as two:
            ada, ben = Client(one.hub, "ada"), Client(two.hub, "ben")
            room = await ada.create()
            await ben.ack(ben.join(room))
            await asyncio.sleep(30)
            v = await ada.ack(ada.chat(room, "can you hear me?"))
            assert v is not None
            await ben.at_v(v)
            assert two.polls == 0


@virtual
async def test_what_a_node_learns_of_its_own_commits_it_tells() -> None:
    """The answer to a commit is lost (a frozen node, a broken connection): the room finds the
    events in the log a moment later and publishes them to the other nodes.
    """
    async with two_members() as (one, two, room, ada, ben):
        one.store.fail("append", Fault(after=True))
        assert await ada.refused(ada.move(room, 0, "b2")) == Code.STORE_RETRY
        failed_s = now_s()
        await ben.at_v(5)
        assert now_s() - failed_s <= RESYNC_S + 0.1
        assert (one.polls, two.polls) == (0, 0)
        await ada.at_v(5)
        assert [m["v"] for m in ben.events()] == [3, 4, 5]


@virtual
async def test_events_of_others_are_not_published_again() -> None:
    """A node that catches up with another node's events does not publish them again."""
    async with two_members() as (one, two, room, ada, ben):
        published: list[BusMessage] = []

        def notes(message: BusMessage) -> bool:
            if news(message):
                published.append(message)
            return False

        two.connection.loses = notes
        one.connection.loses = news
        await ada.ack(ada.move(room, 0, "b2"))
        two.hub.on_gap(None)
        await ben.at_v(5)
        await asyncio.sleep(5)
        assert published == []


@virtual
async def test_a_resync_with_a_full_mailbox_is_made_up_for() -> None:
    """If the mailbox is full, the room reads the log before it serves its next request."""
    async with two_members() as (one, two, room, ada, ben):
        one.connection.loses = news
        gate = two.store.hold("find_command")
        ben.say(
            ben.move(room, 1, "a1")
        )  # not his turn: the room checks the store before it refuses, the head first
        await two.store.waiting["find_command"].wait()
        for _ in range(MAILBOX_CAPACITY):
            ben.say(ben.join(room))
        await ada.ack(ada.move(room, 0, "b2"))
        runner = two.hub.runner(room)
        assert runner is not None
        assert not runner.submit(Resync())
        gate.set()
        await ben.at_v(5)


@virtual
async def test_silently_lost_messages_come_with_the_poll() -> None:
    """A message is lost without notice while both nodes are well: the poll finds the events,
    and is counted.
    """
    async with two_members(patient(poll_s=30.0)) as (one, two, room, ada, ben):
        one.connection.loses = news
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.at_v(5)
        assert two.polls >= 1


@virtual
async def test_a_lossy_bus_reports_it_with_a_heartbeat() -> None:
    """The bus of these tests reports lost messages with a heartbeat, as the MQTT bus does; the
    others then compare heads.
    """
    world = patient()
    async with two_members(world) as (_one, two, room, ada, ben):
        assert isinstance(world.bus, FaultyBus)
        world.bus.faults = 1.0
        await ada.ack(ada.move(room, 0, "b2"))
        world.bus.faults = 0.0
        await ben.at_v(5)
        assert two.polls == 0


# --- taking over ----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_behind", [False, True])
@pytest.mark.parametrize("is_told", [True, False])
@virtual
async def test_a_room_that_is_open_here_is_taken_over(is_told: bool, is_behind: bool) -> None:
    """The node that searches for an AI dies, while the room is open here for a spectator: the
    AI moves here, also if the dead node's last commit was not heard of.
    """
    world = patient()

    async def never(job: Job) -> str:
        await asyncio.Event().wait()
        return ""

    world.engines.answer = never
    async with member(world, "n1") as one, member(world, "n2") as two:
        ada, ben = Client(one.hub, "ada"), Client(two.hub, "ben")
        room = await ada.create(seats=(MySeat(), AiSeat(1)))
        await ben.ack(ben.join(room))
        if is_behind:
            one.connection.loses = news
        v = await ada.ack(ada.move(room, 0, "b2"))
        assert v is not None
        await settle()
        assert len(world.engines.jobs) == 1
        runner = two.hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.v == (v - 1 if is_behind else v)
        world.engines.answer = first_legal
        one.die(is_told)
        await ben.at_v(v + 1)
        assert [m["v"] for m in ben.events()] == [v, v + 1]
        assert two.hub.runner(room) is runner, "it is the room that was open all the time"
        head = await world.store.head(room)
        assert head is not None
        assert head.node == "n2"


@virtual
async def test_a_late_message_does_not_take_a_room_back() -> None:
    """A late message of the previous node changes nothing after a takeover: the AI continues
    here.
    """
    world = patient()
    asked, thinking = asyncio.Event(), asyncio.Event()

    async def slow(job: Job) -> str:
        asked.set()
        await thinking.wait()
        return await first_legal(job)

    world.engines.answer = slow
    async with member(world, "n1") as one, member(world, "n2") as two:
        ada, ben = Client(one.hub, "ada"), Client(two.hub, "ben")
        room = await ada.create(seats=(MySeat(), AiSeat(1)))
        await ben.ack(ben.join(room))
        one.connection.loses = news
        v = await ada.ack(ada.move(room, 0, "b2"))
        assert v is not None
        log = await world.store.events(room, v - 1)
        one.die(is_told=True)
        await asked.wait()
        while len(world.engines.jobs) < 2:
            await asyncio.sleep(0.1)
        world.bus.publish(EventsAppended(room, "n1", tuple(log)))
        await asyncio.sleep(1)
        thinking.set()
        await ben.at_v(v + 1)
        assert world.engines.cancelled == []


# --- clocks that are set back ---------------------------------------------------------------------


@virtual
async def test_the_times_of_events_never_go_back() -> None:
    """One node's clock is set back by an hour during a match, and the other's is behind by a
    minute: no event is older than its predecessor.
    """
    world, ahead_ms = patient(), 0
    async with (
        member(world, "n1", lambda: world.now_ms() + ahead_ms) as one,
        member(world, "n2", lambda: world.now_ms() - 60_000) as two,
    ):
        ada, ben = Client(one.hub, "ada"), Client(two.hub, "ben")
        room = await ada.create()
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        ahead_ms = -3_600_000
        for n in range(3):
            await asyncio.sleep(1)
            await ada.ack(ada.chat(room, f"line {n}"))
            await ben.ack(ben.chat(room, f"answer {n}"))
        times = [event.at_ms for event in await world.store.events(room, 0)]
        assert len(times) == 11
        assert times == sorted(times)
        assert times[-1] <= world.now_ms(), "nor does it run ahead"


@pytest.mark.parametrize("is_sole", [True, False])
@virtual
async def test_rooms_that_are_due_do_not_wait_for_a_clock_that_was_set_back(is_sole: bool) -> None:
    """The clock is an hour behind after a restart: AI seats move at once. The same holds if the
    store's clock was set back, so that the previous node seems alive.
    """
    world = patient()
    world.settings = replace(world.settings, sole_node=is_sole)

    async def never(job: Job) -> str:
        await asyncio.Event().wait()
        return ""

    world.engines.answer = never
    async with member(world, "before") as before:
        rooms = [
            await Client(before.hub, f"ada{n}").create(seats=(AiSeat(1), MySeat()))
            for n in range(3)
        ]
        await settle()
        before.die(is_told=False)
    world.engines.answer = first_legal

    def set_back_ms() -> int:
        return world.now_ms() - 3_600_000

    world.store._now_ms = set_back_ms
    async with member(world, "after", set_back_ms):
        await asyncio.sleep(10)
        assert await MemoryStore.heads(world.store, rooms) == dict.fromkeys(rooms, 5)


@virtual
async def test_idle_rooms_leave_memory_though_the_clock_was_set_back() -> None:
    """Idle rooms leave memory in time even if the clock was set back by an hour."""
    world, ahead_ms = patient(), 0
    world.settings = replace(world.settings, max_rooms=2)
    async with member(world, "n1", lambda: world.now_ms() + ahead_ms) as one:
        ada = Client(one.hub, "ada")
        rooms = [await ada.create() for _ in range(2)]
        for room in rooms:
            await ada.ack(ada.chat(room, "x"))
        ahead_ms = -3_600_000
        await asyncio.sleep(RESERVED_S)
        await ada.ack(ada.join(await ada.create()))


@virtual
async def test_a_late_heartbeat_does_not_end_the_comparisons() -> None:
    """A heartbeat that the broker delivers after the news of the node's end does not end the
    comparisons.
    """
    async with two_members() as (one, two, room, ada, ben):
        under_way = one.store.hold("append")
        ada.say(ada.move(room, 0, "b2"))
        await one.store.waiting["append"].wait()
        one.die(is_told=True)
        await asyncio.sleep(0.5)
        two.hub.on_node(Heartbeat("n1"))
        await asyncio.sleep(1.4)
        under_way.set()
        await ben.at_v(5)
        assert two.polls == 0
