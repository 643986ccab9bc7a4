"""Clocks of matches beside what fails: outages, a store that does not answer, a time of day that is
set; and the wake-ups of rooms with clocks.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.game import UnknownGame
from server.commands import Resign
from server.ids import RoomId
from server.process.node_clock import MAX_SLEW_MS, STEP_MS, NodeClock
from server.protocol.codes import Code
from server.rooms.model import Room
from server.runtime.log import RETRY_MS
from server.runtime.node.hub import Hub
from server.runtime.room.room_runner import RESYNC_S
from server.store.base import EVERYONE, Append, NewRoom, StoredEvent
from tests.support.fake_server import Client, FakeServer, Fault, FaultyBus, FaultyStore, virtual
from tests.support.room_log import ADA, BEN, LoggedRoom, seated

#: Moves of tic-tac-toe that end in no win for nine plies.
MOVES = ("a1", "b1", "a2", "b2", "b3", "a3", "c1", "c2", "c3")


@asynccontextmanager
async def playing(
    fake: FakeServer, hub: Hub, clock: str = "60"
) -> AsyncIterator[tuple[RoomId, Client, Client]]:
    """Yields a match with a clock, after the first turn of both."""
    ada, ben = Client(hub, "ada"), Client(hub, "ben")
    room = await ada.create(clock=clock)
    for client in (ada, ben):
        await client.ack(client.join(room))
    await ben.ack(ben.sit(room, 1))
    await ada.ack(ada.move(room, 0, MOVES[0]))
    await ben.ack(ben.move(room, 1, MOVES[1]))
    yield room, ada, ben


def kinds(client: Client, *wanted: str) -> list[dict[str, Any]]:
    """Returns the events of these kinds that a client has seen."""
    return [event for event in client.events() if event["kind"] in wanted]


# --- wake-ups -------------------------------------------------------------------------------------


@virtual
async def test_the_wake_up_of_a_clock_stays_for_many_moves_and_becomes_true_in_time() -> None:
    """The stored wake-up is never later than the flag, changes with few of the moves, and the flag
    falls at its own time, once; also while the room is in no node's memory.
    """
    fake = FakeServer().unlimited()
    fake.settings = replace(fake.settings, room_idle_s=1)
    async with fake.hub() as hub, playing(fake, hub, "20+3") as (room, ada, ben):
        stored = []
        for ply, move in enumerate(MOVES[2:8], 2):
            await asyncio.sleep(2)
            player = (ada, ben)[ply % 2]
            await player.ack(player.move(room, ply, move))
            head = await fake.store.logs.head(room)
            assert head is not None
            assert head.due_ms is not None
            stored.append(head.due_ms)
            times = kinds(ada, "moved")[-1]
            assert head.due_ms <= times["at"] + 24_000
        assert len(set(stored)) <= 2, "six moves"
        moved = kinds(ada, "moved")
        left_ms = moved[-2]["clock_ms"]
        for client in (ada, ben):
            client.close()
        await asyncio.sleep(8)
        assert room not in hub.rooms.ids(), "nobody is there"
        await asyncio.sleep(stored[-1] / 1000 - fake.now_ms() / 1000 - 0.5)
        head = await fake.store.logs.head(room)
        assert head is not None
        assert head.due_ms is not None
        assert head.due_ms == moved[-1]["at"] + left_ms, "the true time is written"
        assert head.due_ms > stored[-1]
        await asyncio.sleep(30)
        again = Client(hub, "ada")
        await again.ack(again.join(room))
        (over,) = [m["match"]["over"] for m in again.of("snapshot")]
        assert (over["how"], over["winner"]) == ("flag", 1)
        events = await fake.store.logs.events(room, 0)
        assert events[-1].at_ms == moved[-1]["at"] + left_ms
        assert sum(b'"finished"' in event.body for event in events) == 1


@pytest.mark.parametrize("count", [200, pytest.param(10_000, marks=pytest.mark.long)])
@virtual
async def test_many_flags_fall_in_order_and_once_each(count: int) -> None:
    """A node that takes over many rooms, which nobody watches, lets each flag fall at its time."""
    fake = FakeServer().unlimited()
    fake.settings = replace(fake.settings, sole_node=True, max_rooms=count + 9)
    played = opened_match("60")
    rng = random.Random(count)
    deadlines: dict[str, int] = {}
    for number in range(count):
        room = f"r{number}"
        late_ms = rng.randrange(120_000)
        begun_ms = fake.now_ms() - played.log[-1][0] - 55_000 + late_ms
        entries = tuple(
            StoredEvent(v, begun_ms + at_ms, EVERYONE, body)
            for v, (at_ms, body) in enumerate(played.log, 1)
        )
        deadlines[room] = entries[-1].at_ms + 60_000
        append = Append(room, 0, entries, "before", deadlines[room] - number % 3_000)
        await fake.store.logs.create_room(
            NewRoom(append, "tic-tac-toe", True, "ada", room, begun_ms)
        )
    fallen: list[str] = []

    def is_over(room: Room) -> bool:
        return room.match is not None and room.match.over is not None

    async with fake.hub() as hub:
        hub.observers.subscribe(
            lambda commit: fallen.append(commit.after.id) if is_over(commit.after) else None
        )
        await asyncio.sleep(200)
    assert sorted(fallen) == sorted(deadlines), "each once"
    assert [deadlines[room] for room in fallen] == sorted(deadlines.values())
    for room in fallen[:: max(1, count // 50)]:
        last = (await fake.store.logs.events(room, len(played.log)))[-1]
        assert 0 <= last.at_ms - deadlines[room] <= 1


def opened_match(clock: str) -> LoggedRoom:
    """Returns a match with a clock, after the first turn of both."""
    played = seated(clock=clock)
    for actor, move in zip((ADA, BEN), MOVES, strict=False):
        played.do(actor, played.move(move))
    return played


# --- a store that does not answer -----------------------------------------------------------------


@virtual
async def test_a_move_that_is_sent_again_counts_from_its_first_arrival() -> None:
    """Also after its side's deadline: the flag waits as long as the command may come again."""
    fake = FakeServer()
    async with fake.hub() as hub, playing(fake, hub) as (room, ada, ben):
        await asyncio.sleep(59)
        command = ada.move(room, 2, MOVES[2])
        fake.store.fail("append", Fault())
        assert await ada.expect_refusal(command) == Code.STORE_RETRY
        await asyncio.sleep(4)
        ada.messages.clear()
        await ada.ack(command)
        (moved,) = kinds(ben, "moved")[2:]
        assert (moved["spent_ms"], moved["clock_ms"]) == (59_000, 1_000)
        assert kinds(ben, "finished") == []


@virtual
async def test_only_the_same_command_counts_from_its_first_arrival() -> None:
    """Another move under the id of one that had no answer counts from its own arrival, and so does
    the same one after a while: nobody thinks for free with a guess that he sent before.
    """
    fake = FakeServer()
    async with fake.hub() as hub, playing(fake, hub) as (room, ada, ben):
        await asyncio.sleep(10)
        first = ada.move(room, 2, MOVES[2])
        fake.store.fail("append", Fault())
        assert await ada.expect_refusal(first) == Code.STORE_RETRY
        await asyncio.sleep(5)
        ada.messages.clear()
        await ada.ack(ada.move(room, 2, "c3", key=first.command.id))
        assert kinds(ben, "moved")[2]["spent_ms"] == 15_000
        second = ben.move(room, 3, MOVES[3])
        fake.store.fail("append", Fault())
        assert await ben.expect_refusal(second) == Code.STORE_RETRY
        await asyncio.sleep(RETRY_MS / 1000 + 1)
        ben.messages.clear()
        await ben.ack(second)
        assert kinds(ada, "moved")[-1]["spent_ms"] == RETRY_MS + 1_000


@virtual
async def test_a_flag_waits_for_a_command_without_an_answer_and_falls_at_its_deadline() -> None:
    """A player whose command does not come again falls when the wait for it is over."""
    fake = FakeServer()
    async with fake.hub() as hub, playing(fake, hub) as (room, ada, ben):
        await asyncio.sleep(59)
        fake.store.fail("append", Fault())
        assert await ada.expect_refusal(ada.move(room, 2, MOVES[2])) == Code.STORE_RETRY
        await asyncio.sleep(RETRY_MS / 1000 - 1)
        assert kinds(ben, "finished") == []
        await asyncio.sleep(2)
        (over,) = kinds(ben, "finished")
        assert (over["how"], over["clocks_ms"]) == ("flag", [0, 60_000])


@virtual
async def test_a_flag_waits_for_no_command_of_the_server() -> None:
    """A tick that the store did not take comes again as soon as the store works."""
    fake = FakeServer()
    async with fake.hub() as hub, playing(fake, hub) as (_room, _ada, ben):
        await asyncio.sleep(59)
        fake.store.fail("append", Fault())
        await asyncio.sleep(1.5 + RESYNC_S)
        (over,) = kinds(ben, "finished")
        assert over["how"] == "flag"


@pytest.mark.parametrize(("answered_s", "falls_s"), [(2, 60), (5, 62)])
@virtual
async def test_a_flag_waits_no_longer_when_the_command_came_again(
    answered_s: int, falls_s: int
) -> None:
    """Whatever the answer is; and a node forgets a command that can no longer come in time.

    The command comes at 57 s and has its answer before the flag or after it.
    """
    fake = FakeServer()
    async with fake.hub() as hub, playing(fake, hub) as (room, ada, ben):

        def has_retries() -> bool:
            runner = hub.runner(room)
            return runner is not None and runner._log.retries_end_ms is not None

        fake.store.fail("append", Fault())
        assert await ada.expect_refusal(ada.move(room, 2, MOVES[2])) == Code.STORE_RETRY
        assert has_retries()
        await asyncio.sleep(RETRY_MS / 1000 + 1)
        assert not has_retries()
        await asyncio.sleep(56 - RETRY_MS / 1000)
        impossible = ada.move(room, 2, MOVES[0])
        fake.store.fail("head", Fault())
        assert await ada.expect_refusal(impossible) == Code.STORE_RETRY
        await asyncio.sleep(answered_s)
        assert not kinds(ben, "finished")
        ada.messages.clear()
        assert await ada.expect_refusal(impossible) == Code.MOVE_ILLEGAL
        await asyncio.sleep(10)
        (over,) = kinds(ben, "finished")
        assert over["how"] == "flag"
        last = (await fake.store.logs.events(room, 0))[-1]
        first = kinds(ben, "moved")[1]
        assert last.at_ms == first["at"] + falls_s * 1000


# --- outages --------------------------------------------------------------------------------------


@pytest.mark.parametrize("down_s", [0.5, 30, 30_000])
@virtual
async def test_a_restart_of_a_lone_server_takes_no_time_from_a_clock(down_s: float) -> None:
    """The clock stands from the last heartbeat to the load, and the log says why, once."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, sole_node=True)
    async with fake.hub("n1") as hub, playing(fake, hub) as (room, ada, _ben):
        await asyncio.sleep(20.3)
        v, began_ms = ada.events()[-1]["v"], ada.events()[-1]["at"]
        died_ms = fake.now_ms()
    await asyncio.sleep(down_s)
    async with fake.hub("n2") as hub:
        loaded_ms, ada = fake.now_ms(), Client(hub, "ada")
        for _ in range(2):
            await ada.ack(ada.join(room))
        held, released = await events_after(fake, room, v)
        assert (held["kind"], held["why"], released["kind"]) == ("held", "outage", "released")
        assert died_ms - 1_000 <= held["since_ms"] <= died_ms
        assert released["from_ms"] == loaded_ms
        left_ms = 60_000 - (held["since_ms"] - began_ms)
        assert released["clocks_ms"] == [left_ms, 60_000]
        await asyncio.sleep(2)
        await ada.ack(ada.move(room, 2, MOVES[2]))
        assert kinds(ada, "moved")[-1]["clock_ms"] == left_ms - 2_000


@virtual
async def test_a_clock_that_nobody_watches_stands_through_a_restart() -> None:
    """The flag of a match that is taken over, and that no player has opened, falls as much later as
    the server was away.
    """
    fake = FakeServer()
    fake.settings = replace(fake.settings, sole_node=True)
    async with fake.hub("n1") as hub, playing(fake, hub) as (room, ada, _ben):
        await asyncio.sleep(50.2)
        began_ms = ada.events()[-1]["at"]
    await asyncio.sleep(100)
    async with fake.hub("n2"):
        await asyncio.sleep(30)
    held, released, over = (await events_after(fake, room, 0))[-3:]
    assert (held["kind"], over["how"]) == ("held", "flag")
    away_ms = released["from_ms"] - held["since_ms"]
    assert 100_000 <= away_ms <= 101_200
    last = (await fake.store.logs.events(room, 0))[-1]
    assert last.at_ms == began_ms + 60_000 + away_ms


@virtual
async def test_the_flag_of_a_side_that_fell_before_the_outage_falls() -> None:
    """An outage gives nothing back to a side whose time was over when it began."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, sole_node=True)
    async with fake.hub("n1") as hub, playing(fake, hub) as (room, _ada, _ben):
        await asyncio.sleep(59.9)
        fake.store.fail("append", *[Fault()] * 9)
        await asyncio.sleep(3)
        fake.store.faults.clear()
    await asyncio.sleep(100)
    async with fake.hub("n2"):
        await asyncio.sleep(5)
    (last,) = (await events_after(fake, room, 0))[-1:]
    assert (last["kind"], last["how"]) == ("finished", "flag")
    assert not [each for each in await events_after(fake, room, 0) if each["kind"] == "held"]


@virtual
async def test_a_clock_stands_while_the_node_that_ran_it_is_dead() -> None:
    """Another node that has the room open holds the clock from the last heartbeat on, once it knows
    of the death; a player who was on the dead node pays nothing for the time between.
    """
    fake = FakeServer()
    first_store = FaultyStore(fake.store.memory)
    bus = fake.bus
    assert isinstance(bus, FaultyBus)
    async with fake.hub("n2") as second:
        async with (
            fake.hub("n1", store=first_store) as first,
            playing(fake, first) as (room, ada, _ben),
        ):
            ben = Client(second, "ben")
            await ben.ack(ben.join(room))
            await asyncio.sleep(20.3)
            began_ms = ada.events()[-1]["at"]
            died_ms, first_store.down, bus.cut = fake.now_ms(), True, True
        bus.cut = False
        released = await ben.event("released")
        (held,) = kinds(ben, "held")
        assert held["why"] == "outage"
        assert died_ms - 1_000 <= held["since_ms"] <= died_ms
        assert released["from_ms"] - died_ms <= 6_000
        left_ms = 60_000 - (held["since_ms"] - began_ms)
        assert released["clocks_ms"] == [left_ms, 60_000]
        ada = Client(second, "ada")
        await ada.ack(ada.join(room))
        await asyncio.sleep(10)
        await ada.ack(ada.move(room, 2, MOVES[2]))
        moved = kinds(ada, "moved")[-1]
        assert moved["clock_ms"] == left_ms - (fake.now_ms() - released["from_ms"])
        assert len(kinds(ben, "held")) == 1


#: Faults of the store in the calls with which a node decides whether a clock stood.
HICCUPS = {
    "heartbeat": ("last_beat", Fault()), "read": ("events", Fault()), "head": ("head", Fault()),
    "hold": ("append", Fault()), "lost answer": ("append", Fault(after=True)),
    "lost takeover": ("take_over_due_rooms", Fault(after=True)),
}  # fmt: skip


@pytest.mark.parametrize("fault", HICCUPS)
@virtual
async def test_a_hiccup_of_the_store_loses_no_outage(fault: str) -> None:
    """The store fails as a node takes a match over, which nobody watches: the clock stood all the
    same, once, also if that node dies before the store works again.
    """
    call, failure = HICCUPS[fault]
    for dies in (False, True):
        fake = FakeServer()
        fake.settings = replace(fake.settings, sole_node=True)
        async with fake.hub("n1") as hub, playing(fake, hub) as (room, ada, _ben):
            await asyncio.sleep(50.2)
            began_ms, died_ms = ada.events()[-1]["at"], fake.now_ms()
        await asyncio.sleep(100)
        if dies and not failure.after:
            async with fake.hub("n2"):
                fake.store.fail(call, *[failure] * 99)
                await asyncio.sleep(20)
            fake.store.faults.clear()
            await asyncio.sleep(20)
        async with fake.hub("n3"):
            fake.store.fail(call, failure)
            await asyncio.sleep(30)
        events = await events_after(fake, room, 0)
        (held,) = [event for event in events if event["kind"] == "held"]
        assert died_ms - 1_000 <= held["since_ms"] <= died_ms
        (released,) = [event for event in events if event["kind"] == "released"]
        assert events[-1]["how"] == "flag"
        last = (await fake.store.logs.events(room, 0))[-1]
        away_ms = released["from_ms"] - held["since_ms"]
        assert last.at_ms == began_ms + 60_000 + away_ms


@pytest.mark.parametrize("fault", HICCUPS)
@virtual
async def test_a_hiccup_of_the_store_loses_no_outage_of_an_open_room(fault: str) -> None:
    """Nor where the node that takes the match over has its room open."""
    call, failure = HICCUPS[fault]
    fake = FakeServer()
    first_store = FaultyStore(fake.store.memory)
    bus = fake.bus
    assert isinstance(bus, FaultyBus)
    async with fake.hub("n2") as second:
        async with (
            fake.hub("n1", store=first_store) as first,
            playing(fake, first) as (room, _ada, _ben),
        ):
            ben = Client(second, "ben")
            await ben.ack(ben.join(room))
            await asyncio.sleep(58.3)
            died_ms, first_store.down, bus.cut = fake.now_ms(), True, True
            fake.store.fail(call, failure)
        bus.cut = False
        await ben.event("released")
        (held,) = kinds(ben, "held")
        assert died_ms - 1_000 <= held["since_ms"] <= died_ms
        await asyncio.sleep(10)
        assert [event["how"] for event in kinds(ben, "finished")] == ["flag"]
        assert len(kinds(ben, "held")) == 1


@virtual
async def test_a_takeover_ends_also_where_no_clock_stood() -> None:
    """Of the node before no heartbeat is known: the match goes on, and what the store remembers of
    that node gives no time to anybody when this one dies in its turn.
    """
    fake = FakeServer()
    fake.settings = replace(fake.settings, sole_node=True)
    async with fake.hub("n1") as hub, playing(fake, hub) as (room, _ada, _ben):
        await asyncio.sleep(58)
    fake.store.memory.nodes.forget_heartbeats()
    async with fake.hub("n2"):
        await asyncio.sleep(0.5)
        head = await fake.store.logs.head(room)
        assert head is not None
        assert (head.node, head.taken_from) == ("n2", None)


@virtual
async def test_a_clock_that_no_rule_can_read_makes_no_work() -> None:
    """A spectator opens a released match of a game that this node lacks: the node asks for no
    heartbeat again and again, and its own clock may be set.
    """
    fake = FakeServer()
    async with fake.hub("n1") as hub, playing(fake, hub) as (room, _ada, _ben):
        pass

    def find_none(game_id: str) -> Any:
        raise UnknownGame(game_id)

    async with fake.hub("n2", find_game=find_none) as hub:
        eve = Client(hub, "eve")
        await eve.ack(eve.join(room))
        runner = hub.runner(room)
        assert runner is not None
        assert (runner.is_timed, runner.timed_by) == (False, "")
        asked = fake.store.calls.get("last_beat", 0)
        await asyncio.sleep(20)
        assert fake.store.calls.get("last_beat", 0) == asked


async def events_after(fake: FakeServer, room: str, v: int) -> list[dict[str, Any]]:
    """Returns the events of a room's log after a version."""
    return [json.loads(entry.body) for entry in await fake.store.logs.events(room, v)]


# --- the time of day ------------------------------------------------------------------------------


@given(some.lists(some.tuples(some.integers(1, 5_000), some.integers(-STEP_MS, STEP_MS))))
def test_a_nodes_clock_goes_like_the_one_that_nobody_sets(steps: list[tuple[int, int]]) -> None:
    """Whatever happens to the time of day, a duration changes by no more than the small steps by
    which the clock follows it; it takes over a time of day that was set only when it may.
    """
    uptime_ms, wall_ms = 5, 1_000_000
    clock = NodeClock(lambda: wall_ms, lambda: uptime_ms)
    for passed_ms, ahead_ms in steps:
        before_ms = clock.now_ms()
        uptime_ms, wall_ms = uptime_ms + passed_ms, wall_ms + passed_ms + ahead_ms
        assert clock.now_ms() - before_ms == passed_ms
        clock.follow(may_step=False)
        assert abs(clock.now_ms() - before_ms - passed_ms) <= MAX_SLEW_MS
    wall_ms += 86_400_000
    before_ms = clock.now_ms()
    assert clock.follow(may_step=False)
    assert abs(clock.now_ms() - before_ms) <= MAX_SLEW_MS
    assert not clock.follow(may_step=True)
    assert clock.now_ms() == wall_ms


@virtual
async def test_a_time_of_day_that_is_set_moves_no_running_clock(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A node takes it over when no clock is running on it any more, and says once that it waits."""
    fake = FakeServer()
    wall_ms = 0
    clock = NodeClock(lambda: wall_ms + fake.now_ms(), fake.uptime_ms)
    ports: dict[str, Any] = {"now_ms": clock.now_ms, "follow_clock": clock.follow}
    async with fake.hub(**ports) as hub, playing(fake, hub) as (room, ada, ben):
        await asyncio.sleep(10)
        wall_ms = 3_600_000
        await asyncio.sleep(10)
        await ada.ack(ada.move(room, 2, MOVES[2]))
        spent_ms = kinds(ben, "moved")[-1]["spent_ms"]
        assert 20_000 <= spent_ms <= 20_000 + 11 * MAX_SLEW_MS
        await ben.ack(ben.plain(Resign, room))
        await asyncio.sleep(2)
        assert clock.now_ms() == fake.now_ms() + wall_ms
    assert capsys.readouterr().out.count("while clocks may run") == 1


@virtual
async def test_a_time_of_day_that_is_set_moves_no_clock_that_nobody_watches() -> None:
    """Nor when both players are away and the room has left memory: the flag falls at its time."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, room_idle_s=1)
    wall_ms = 0
    clock = NodeClock(lambda: wall_ms + fake.now_ms(), fake.uptime_ms)
    ports: dict[str, Any] = {"now_ms": clock.now_ms, "follow_clock": clock.follow}
    async with fake.hub(**ports) as hub, playing(fake, hub, "600") as (room, ada, ben):
        for client in (ada, ben):
            client.close()
        await asyncio.sleep(20)
        assert room not in hub.rooms.ids(), "nobody is there"
        wall_ms = 3_600_000
        await asyncio.sleep(100)
        assert clock.now_ms() < fake.now_ms() + wall_ms
        again = Client(hub, "ada")
        await again.ack(again.join(room))
        await again.ack(again.move(room, 2, MOVES[2]))
        spent_ms = kinds(again, "moved")[-1]["spent_ms"]
        assert 120_000 <= spent_ms <= 120_000 + 101 * MAX_SLEW_MS


@pytest.mark.parametrize("step_ms", [60_000, -60_000])
@virtual
async def test_an_outage_counts_by_the_clock_of_the_dead_node(step_ms: int) -> None:
    """Also where the time of day was set while a match ran on it: nobody pays for that."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, sole_node=True)
    wall_ms = 0
    fake.store.memory.nodes.now_ms = lambda: wall_ms + fake.now_ms()

    def ports() -> dict[str, Any]:
        clock = NodeClock(lambda: wall_ms + fake.now_ms(), fake.uptime_ms)
        return {"now_ms": clock.now_ms, "follow_clock": clock.follow}

    async with fake.hub("n1", **ports()) as hub, playing(fake, hub, "180") as (room, ada, _ben):
        await asyncio.sleep(10)
        wall_ms = step_ms
        await asyncio.sleep(10.3)
    await asyncio.sleep(120)
    async with fake.hub("n2", **ports()) as hub:
        ada = Client(hub, "ada")
        await ada.ack(ada.join(room))
        released = (await events_after(fake, room, 0))[-1]
        assert 158_000 <= released["clocks_ms"][0] <= 161_000
