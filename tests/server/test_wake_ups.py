"""A node wakes its due rooms, in memory or not, in the order of their deadlines and once each."""

import asyncio
import json

import pytest

from server.commands import MySeat
from server.events import Created, Occupant, RoomEvent, SeatTaken, Started, format_event_body
from server.runtime.observers import RoomCommit
from server.runtime.requests import Wake
from server.runtime.timer import RoomTimer
from server.store.base import Append, CommandKey, NewRoom, StoredEvent
from tests.server.test_forced_pass import TO_A_PASS, before_a_pass, is_pass, waiting_for_a_pass
from tests.server.test_hub import leave_due_rooms, server_with
from tests.server.test_session import run_on
from tests.support.fake_server import (
    START_MS,
    Client,
    FakeServer,
    FaultyStore,
    loop_ms,
    virtual,
)
from tests.support.memory_store import MemoryLogs, MemoryStore, MemoryTables

HOUR_MS = 3_600_000


class RecordingLogs(MemoryLogs):
    """Records the rooms to which events are appended."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.appended: list[str] = []

    async def append(self, append: Append) -> None:
        await super().append(append)
        self.appended.append(append.room)


def log_before_a_pass(at_ms: int) -> tuple[StoredEvent, ...]:
    """Returns the log of a match that begins at `at_ms` in a position in which Black must pass."""
    played = before_a_pass()
    assert played.match.position is not None
    events: list[RoomEvent] = [
        Created("othello", {}, "public", "ada"),
        *(SeatTaken(seat, Occupant(name, name)) for seat, name in enumerate(("ada", "ben"))),
        Started("m", 1, played.match.position.text(), played.match.rules, played.match.seats),
    ]
    return tuple(
        StoredEvent(v, at_ms, 0, format_event_body(event)) for v, event in enumerate(events, 1)
    )


async def add_room(fake: FakeServer, room: str, node: str, due_ms: int) -> None:
    """Adds a room in which a forced pass is due at `due_ms` to the store, not to a hub."""
    entries = log_before_a_pass(due_ms - fake.settings.forced_pass_ms)
    append = Append(room, 0, entries, node, due_ms, CommandKey("create ada", room))
    await fake.store.logs.create_room(NewRoom(append, "othello", True, "ada", room, START_MS))


async def moves_in(fake: FakeServer, room: str) -> int:
    """Returns the number of moves in the log of a room."""
    events = await fake.store.logs.events(room, 0)
    return sum(json.loads(event.body)["kind"] == "moved" for event in events)


@virtual
@pytest.mark.parametrize("rooms", [2_000, pytest.param(10_000, marks=pytest.mark.long)])
async def test_thousands_of_rooms_wake_in_order_and_once(rooms: int) -> None:
    """Rooms that are not in memory wake in the order of their deadlines, once and on time.

    Their deadlines lie within 20 s; some are equal.
    """
    fake = server_with(forced_pass_ms=HOUR_MS).unlimited()
    memory = MemoryStore(loop_ms)
    memory.logs = logs = RecordingLogs(memory.tables)
    fake.store = FaultyStore(memory)
    due = {f"r{n}": START_MS + 5000 + n * 7919 % 20_000 // 3 * 3 for n in range(rooms)}
    for room, due_ms in due.items():
        await add_room(fake, room, "n1", due_ms)
    at_ms: list[int] = []
    async with fake.hub() as hub:
        hub.observers.subscribe(lambda commit: at_ms.append(commit.after.changed_ms))
        await until_ms(fake, START_MS + 40_000)
    assert sorted(logs.appended) == sorted(due)
    assert [due[room] for room in logs.appended] == sorted(due.values())
    late_ms = {at - due_ms for at, due_ms in zip(at_ms, sorted(due.values()), strict=True)}
    assert late_ms <= {-1, 0}, "the clock of the loop is rounded to a millisecond"


async def until_ms(fake: FakeServer, time_ms: int) -> None:
    """Waits until the fake server's clock shows `time_ms`."""
    await asyncio.sleep((time_ms - fake.now_ms()) / 1000)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_timer_that_is_due_at_once_is_set_again(loop: str) -> None:
    """A timer of no delay keeps its wake-up when it is set again, and is soon, on both loops."""

    async def main() -> None:
        woken: asyncio.Queue[Wake] = asyncio.Queue()
        timer = RoomTimer(woken.put_nowait)
        wake, later = Wake(tick_ms=5, change_ms=None), Wake(tick_ms=9, change_ms=None)
        timer.set(wake, 3600)
        soon = [timer.is_soon]
        timer.set(wake, 0)
        assert [*soon, timer.is_soon] == [False, True]
        timer.set(wake, 3600)
        assert await woken.get() == wake
        timer.set(later, 3600)
        timer.set(wake, 0)
        assert await woken.get() == wake
        assert woken.empty()

    run_on(loop, main)


@virtual
async def test_a_timer_stays_that_expires_before_it_is_needed() -> None:
    """A later wake-up moves no timer, an earlier one does; so each wakes the room in time."""
    loop = asyncio.get_running_loop()
    woken: list[tuple[int | None, float]] = []
    timer = RoomTimer(lambda wake: woken.append((wake.tick_ms, loop.time() - start_s)))
    start_s = loop.time()
    for tick_ms in (60, 90, 30, 120):
        timer.set(Wake(tick_ms=tick_ms), tick_ms)
    await asyncio.sleep(200)
    assert woken == [(30, 30)]
    timer.set(Wake(tick_ms=90), 0.01)
    timer.set(Wake(tick_ms=90), 0)
    timer.set(Wake(tick_ms=80), 0)
    await asyncio.sleep(1)
    assert woken[1:] == [(80, 200)]


@virtual
async def test_an_ai_moves_in_a_room_that_is_not_in_memory() -> None:
    """A sole node plays due AI turns in rooms that are not in memory and that nobody joins.

    The rooms become due long after the node's start.
    """
    fake = server_with(sole_node=True)
    async with fake.hub() as hub:
        await until_ms(fake, START_MS + 60_000)
        rooms = await leave_due_rooms(fake)
        assert all(hub.runner(room) is None for room in rooms)
        await until_ms(fake, fake.now_ms() + 5000)
        assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 5)


@virtual
async def test_a_due_room_waits_for_memory() -> None:
    """While the hub is full, a due room sleeps; it wakes when another room leaves memory."""
    fake = server_with(max_rooms=1, room_idle_s=5.0)
    await add_room(fake, "due", "n1", START_MS + 3000)
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await until_ms(fake, START_MS + 20_000)
        assert await moves_in(fake, "due") == 0
        await ada.ack(ada.leave(room))
        await until_ms(fake, START_MS + 40_000)
        assert await moves_in(fake, "due") == 1


@virtual
async def test_a_room_that_is_due_in_an_hour_leaves_memory() -> None:
    """An idle room with a deadline in an hour leaves memory, and wakes on time."""
    fake = server_with(forced_pass_ms=HOUR_MS, room_idle_s=60.0)
    async with waiting_for_a_pass(fake) as (hub, room, ada, ben):
        await ada.ack(ada.leave(room))
        await ben.ack(ben.leave(room))
        (last,) = [m for m in ben.events() if m["kind"] == "moved" and m["ply"] == 7]
        await until_ms(fake, last["at"] + HOUR_MS // 2)
        assert hub.runner(room) is None
        await until_ms(fake, last["at"] + HOUR_MS - 1)
        assert await moves_in(fake, room) == 8
        await until_ms(fake, last["at"] + HOUR_MS + 1)
        assert await moves_in(fake, room) == 9


@virtual
async def test_a_clock_that_is_set_back_delays_no_deadline() -> None:
    """If the node's clock is set back by an hour before a forced pass, the pass comes on time."""
    fake = FakeServer()
    back_ms = 0
    async with fake.hub(now_ms=lambda: fake.now_ms() - back_ms) as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(game="othello", seats=(MySeat(),))
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        for ply, token in enumerate(TO_A_PASS.split()):
            await (ada, ben)[ply % 2].ack((ada, ben)[ply % 2].move(room, ply, token))
        begun_ms = fake.now_ms()
        back_ms = HOUR_MS
        await ben.ack(ben.chat(room, "you cannot move"))
        await ben.until(is_pass)
        assert fake.now_ms() - begun_ms < 1100


@virtual
async def test_a_failing_observer_stops_no_other() -> None:
    """Every observer is called after each commit, in the order of the log, even if another fails.

    After unsubscribing it is not called any more.
    """
    fake = FakeServer()
    versions: list[int] = []

    def fail(commit: RoomCommit) -> None:
        raise ZeroDivisionError

    async with fake.hub() as hub:
        hub.observers.subscribe(fail)
        stop = hub.observers.subscribe(lambda commit: versions.append(commit.after.v))
        ada = Client(hub, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        for text in "abc":
            await ada.ack(ada.chat(room, text))
        stop()
        await ada.ack(ada.chat(room, "d"))
        first_v = versions[0]
        assert versions == [first_v, first_v + 1, first_v + 2]
