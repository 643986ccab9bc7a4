"""The hub of a node, which creates, opens, closes and wakes rooms, and its lobby."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from engine.rules.registry import load_game
from engine.search.job import Job
from server.commands import AiSeat, Create, MySeat, OpenSeat, Rematch, Resign
from server.ids import RoomId
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.rooms.model import CommandRejected
from server.runtime.node.duties import open_hub
from server.runtime.node.hub import Hub
from server.runtime.room.room_runner import RESYNC_S
from server.store.base import CommandKey, StoredRoom, StoreError, StoreUnavailable
from tests.support.fake_server import Client, FakeServer, Fault, Message, run_ready_tasks, virtual
from tests.support.memory_store import MemoryProjections
from tests.support.room_log import altered_game, failing_rule

ME, OPEN, AI1 = MySeat(), OpenSeat(), AiSeat(level=1)


def server_with(**changes: Any) -> FakeServer:
    """Returns a fake server with these settings."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, **changes)
    return fake


async def create_refusal(client: Client, **fields: Any) -> Code:
    """Creates a room, which must be refused; returns the code."""
    with pytest.raises(CommandRejected) as rejected:
        await client.create(**fields)
    return rejected.value.code


# --- creating -------------------------------------------------------------------------------------


@virtual
async def test_creating_again_gives_the_same_room() -> None:
    """I1: a create with the same identity and id gets the same ack, at any time and on any node.

    The same id of another identity creates another room.
    """
    fake = FakeServer()
    async with fake.hub() as hub, fake.hub("n2") as other:
        ada = Client(hub, "ada")
        command = Create(id="1", game="sticks", seats=(ME, AI1))
        first = await hub.create(ada.actor, command)
        assert (first.v, isinstance(first.room, str)) == (4, True)
        assert await hub.create(ada.actor, command) == first
        assert await other.create(ada.actor, command) == first
        assert await hub.create(Client(hub, "ben").actor, command) != first
    async with fake.hub("n3") as later:
        assert await later.create(ada.actor, command) == first


@virtual
async def test_creating_at_once_makes_one_room() -> None:
    """I1: ten concurrent copies of a create on two nodes create one room."""
    fake = FakeServer()
    async with fake.hub() as hub, fake.hub("n2") as other:
        actor = Client(hub, "ada").actor
        command = Create(id="1", game="sticks")
        acks = await asyncio.gather(
            *(node_hub.create(actor, command) for node_hub in [hub, other] * 5)
        )
        assert len(set(acks)) == 1
        assert len(await fake.store.projections.rooms(99)) == 1


@virtual
async def test_a_repeated_create_is_acknowledged_beyond_the_limit() -> None:
    """I1: a repeated create gets its ack even beyond the limit of rooms or for an unknown game."""
    fake = server_with(rooms_burst=3)
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        commands = [Create(id=str(n), game="sticks") for n in range(3)]
        acks = [await hub.create(ada.actor, command) for command in commands]
        assert await create_refusal(ada) is Code.RATE_EXCEEDED
        assert [await hub.create(ada.actor, command) for command in commands] == acks
        assert [
            await hub.create(ada.actor, with_unknown_game(command)) for command in commands
        ] == acks


def with_unknown_game(command: Create) -> Create:
    return Create(id=command.id, game="no-such-game")


@virtual
async def test_a_create_whose_outcome_is_unknown() -> None:
    """A store that fails during a create raises StoreError; a repeated create makes one room."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        fake.store.fail("create_room", Fault(after=True))
        with pytest.raises(StoreUnavailable):
            await ada.create(key="1")
        room = await ada.create(key="1")
        assert len(await fake.store.projections.rooms(99)) == 1
        await ada.ack(ada.join(room))
        fake.store.fail("create_room")
        with pytest.raises(StoreUnavailable):
            await ada.create(key="2")
        assert await ada.create(key="2") != room


@virtual
async def test_refused_rooms_count_for_the_limit() -> None:
    """A start position costs time to read, also one that is refused: it takes a token first."""
    fake = server_with(rooms_burst=2, rooms_per_minute=6)
    async with fake.hub() as hub:
        codes = []
        for number in range(4):
            with pytest.raises(CommandRejected) as refused:
                await Client(hub, "ada").create("gomoku", key=str(number), start="h8" * 50)
            codes.append(refused.value.code)
    assert codes == [Code.POSITION_REFUSED] * 2 + [Code.RATE_EXCEEDED] * 2


@virtual
async def test_rooms_are_limited_per_identity() -> None:
    """An identity may create a burst of rooms and then some per minute; others are unaffected."""
    fake = server_with(rooms_burst=3, rooms_per_minute=6)
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        for _ in range(3):
            await ada.create()
        assert await create_refusal(ada) is Code.RATE_EXCEEDED
        await ben.create()
        await asyncio.sleep(11)
        await ada.create()
        assert await create_refusal(ada) is Code.RATE_EXCEEDED


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"init": failing_rule}, Code.GAME_FAULT),
        ({"format_position": failing_rule}, Code.GAME_FAULT),
        (None, Code.GAME_FAULT),
    ],
)
@virtual
async def test_a_game_that_fails_at_the_start(
    changes: dict[str, object] | None, code: Code
) -> None:
    """A create with a game that fails or cannot be loaded gets game.fault and makes no room."""

    def find(game_id: str) -> Any:
        if changes is None:
            raise SyntaxError("the plug-in does not even load")
        return altered_game(game_id, changes)

    fake = FakeServer(find_game=find)
    async with fake.hub() as hub:
        assert await create_refusal(Client(hub, "ada"), seats=(ME, AI1)) is code
        assert await fake.store.projections.rooms(9) == []


@virtual
async def test_an_unknown_game() -> None:
    """An unknown game is refused with game.unknown, and the message lists the known ones."""
    async with FakeServer().hub() as hub:
        with pytest.raises(
            CommandRejected, match=r"there are: .*connect-four.*tic-tac-toe"
        ) as rejected:
            await Client(hub, "ada").create("chess-960")
        assert rejected.value.code is Code.GAME_UNKNOWN


# --- rooms in memory ------------------------------------------------------------------------------


@virtual
async def test_an_idle_room_leaves_memory() -> None:
    """A room leaves memory `room_idle_s` after its last follower; a later client can join it."""
    fake = server_with(room_idle_s=60.0)
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await asyncio.sleep(300)
        assert hub.runner(room) is not None, "it has a follower"
        ada.close()
        await asyncio.sleep(50)
        assert hub.runner(room) is not None
        await asyncio.sleep(20)
        assert hub.runner(room) is None
        again = Client(hub, "ada")
        await again.ack(again.join(room, since=2))
        assert again.of("joined")[0]["v"] == 2


@virtual
async def test_a_room_at_work_stays_in_memory() -> None:
    """A room without followers stays in memory while its AI searches."""
    fake = server_with(room_idle_s=1.0)
    move = asyncio.Event()

    async def slow(job: Job) -> str:
        await move.wait()
        return load_game(job.game).position(job.start, job.options).tokens()[0]

    fake.engines.answer = slow
    async with fake.hub() as hub:
        room = await Client(hub, "ada").create(seats=(AI1, OPEN))
        await Client(hub, "ben").ack(Client(hub, "ben").sit(room, 1))
        await asyncio.sleep(30)
        assert hub.runner(room) is not None
        move.set()
        await asyncio.sleep(30)
        assert hub.runner(room) is None
        assert await fake.store.logs.heads([room]) == {room: 5}


@virtual
async def test_rooms_in_memory_are_limited() -> None:
    """I20: a room beyond the limit is refused with room.limit; idle rooms are closed for others."""
    fake = server_with(max_rooms=3, rooms_burst=99)
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        early = await ada.create()
        hub.close_idle_rooms(0)
        rooms = [await ada.create() for _ in range(3)]
        for room in rooms:
            await ada.ack(ada.join(room))
        assert await ada.expect_refusal(ada.join(early)) == Code.ROOM_LIMIT
        assert await create_refusal(ada) is Code.ROOM_LIMIT
        ada.close()
        ben = Client(hub, "ben")
        for room in (early, *rooms):
            await ben.ack(ben.join(room))
            await ben.ack(ben.chat(room, "x"))
            await ben.ack(ben.leave(room))
        assert len(hub) <= 3


@virtual
async def test_a_hub_that_ends_leaves_no_task() -> None:
    """A hub that ends leaves no task; commands that wait get room.busy or no answer."""
    fake = FakeServer()

    async def never(job: Job) -> str:
        await asyncio.Event().wait()
        return ""

    fake.engines.answer = never
    before = asyncio.all_tasks()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(AI1, ME))
        await ada.ack(ada.join(room))
        await run_ready_tasks()
        fake.store.hold("append")
        for _ in range(5):
            ada.send_command(ada.chat(room, "x"))
        await fake.store.waiting["append"].wait()
    assert asyncio.all_tasks() == before
    assert len(fake.engines.cancelled) == 1
    assert {m["code"] for m in ada.of("error")} == {Code.ROOM_BUSY}


@virtual
async def test_an_exception_inside_the_block_is_not_wrapped() -> None:
    """An exception inside the block is not wrapped in a group."""
    fake = FakeServer()
    with pytest.raises(ZeroDivisionError):
        async with fake.hub():
            failing_rule()


# --- wake-ups -------------------------------------------------------------------------------------


async def leave_due_rooms(fake: FakeServer, count: int = 3) -> list[RoomId]:
    """Creates rooms with an AI to move on a node that then dies; returns their ids."""

    async def never(job: Job) -> str:
        await asyncio.Event().wait()
        return ""

    answer, fake.engines.answer = fake.engines.answer, never
    async with fake.hub("gone") as hub:
        rooms = [await Client(hub, f"ada{n}").create(seats=(AI1, ME)) for n in range(count)]
        await run_ready_tasks()
        fake.store.down = True
    fake.store.down = False
    fake.engines.answer = answer
    return rooms


@virtual
async def test_a_sole_node_wakes_all_due_rooms_at_its_start() -> None:
    """A sole node takes over all due rooms at its start, even if the previous node seems alive."""
    fake = server_with(sole_node=True)
    rooms = await leave_due_rooms(fake)
    async with fake.hub():
        await asyncio.sleep(0.5)
        assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 5)


@virtual
async def test_a_start_does_not_wait_for_the_rooms_that_are_due() -> None:
    """A starting node serves players before it has read its due rooms; it retries that read."""
    fake = server_with(sole_node=True)
    rooms = await leave_due_rooms(fake)
    fake.store.fail("take_over_due_rooms", Fault(), Fault())
    gate = fake.store.hold("take_over_due_rooms")
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        await ada.ack(ada.join(await ada.create()))
        await fake.store.waiting["take_over_due_rooms"].wait()
        assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 4)
        gate.set()
        await asyncio.sleep(1)
        assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 5)


@virtual
async def test_a_node_takes_over_the_rooms_of_a_silent_node() -> None:
    """A node takes over another node's due rooms after three missed heartbeats, not before."""
    fake = FakeServer()
    rooms = await leave_due_rooms(fake)
    async with fake.hub("n2"):
        await asyncio.sleep(1.5)
        assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 4), (
            "the first node may still be alive"
        )
        await asyncio.sleep(4)
        assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 5)


@pytest.mark.parametrize("ahead_ms", [60_000, -60_000, 0])
@virtual
async def test_nodes_with_different_clocks_see_each_other_alive(ahead_ms: int) -> None:
    """Heartbeats use the store's clock, and each node measures how far its own clock is ahead."""
    fake = FakeServer()
    thinking = asyncio.Event()

    async def never(job: Job) -> str:
        await thinking.wait()
        return ""

    fake.engines.answer = never
    async with (
        fake.hub("n1") as hub,
        fake.hub("n2", now_ms=lambda: fake.now_ms() + ahead_ms) as other,
    ):
        room = await Client(hub, "ada").create("sticks", seats=(AiSeat(1), MySeat()))
        await asyncio.sleep(20)
        head = await fake.store.logs.head(room)
        assert head is not None
        assert head.node == "n1", "the room's node is alive"
        assert (hub.clock_ahead_ms, other.clock_ahead_ms) == (0, ahead_ms)


@virtual
async def test_a_room_is_woken_although_the_store_fails() -> None:
    """A room that cannot be read when it is taken over is read a little later."""
    for call in ("head", "events"):
        fake = server_with(sole_node=True)
        rooms = await leave_due_rooms(fake, 1)
        fake.store.fail(call, *[Fault()] * 3)
        async with fake.hub():
            await asyncio.sleep(5 * RESYNC_S)
            assert await fake.store.logs.heads(rooms) == dict.fromkeys(rooms, 5), call


@virtual
async def test_a_node_whose_heartbeat_fails_keeps_serving() -> None:
    """A node whose heartbeats fail serves its rooms, and sends heartbeats again when it can."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create()
        fake.store.fail("heartbeat", *[Fault()] * 30)
        await asyncio.sleep(10)
        await ada.ack(ada.join(room))
        await asyncio.sleep(30)
        heartbeats = fake.store.calls["heartbeat"]
        await asyncio.sleep(10)
        assert fake.store.calls["heartbeat"] >= heartbeats + 9


@virtual
async def test_a_hub_that_cannot_start_raises_the_stores_error() -> None:
    """A hub that cannot read the store at its start raises StoreError."""
    fake = FakeServer()
    fake.store.down = True
    with pytest.raises(StoreError):
        async with open_hub(fake.ports("n1")):
            raise AssertionError("it began")


# --- the lobby ------------------------------------------------------------------------------------

ACK = wire.Ack("w", None)


async def watch(hub: Hub, identity: str = "eve") -> Client:
    client = Client(hub, identity)
    await hub.lobby.watch(client, ACK)
    return client


def listed(client: Client) -> dict[str, Message]:
    """Returns the lobby by room, as the full list and the changes give it to the client."""
    rooms: dict[str, Message] = {}
    for message in client.of("lobby"):
        if message["full"]:
            rooms.clear()
        rooms.update({entry["room"]: entry for entry in message.get("rooms", ())})
        for room in message.get("gone", ()):
            rooms.pop(room, None)
    return rooms


@virtual
async def test_the_lobby_lists_public_rooms_and_their_changes() -> None:
    """The lobby shows new rooms, seats, plies and watchers.

    A room is removed when its match is over, and is listed again with the next match.
    """
    async with FakeServer().hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        early = await ada.create("sticks")
        eve = await watch(hub)
        assert [entry["room"] for entry in eve.of("lobby")[0]["rooms"]] == [early]
        room = await ada.create()
        await asyncio.sleep(1)
        assert (listed(eve)[room]["state"], listed(eve)[room]["title"]) == ("open", "Tic-tac-toe")
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        await eve.ack(eve.join(room))
        await asyncio.sleep(1)
        entry = listed(eve)[room]
        assert (entry["state"], entry["ply"], entry["watching"]) == ("playing", 1, 1)
        assert [occupant["identity"] for occupant in entry["seats"]] == ["ada", "ben"]
        await ada.ack(ada.plain(Resign, room))
        await asyncio.sleep(1)
        assert room not in listed(eve)
        await ada.ack(ada.plain(Rematch, room))
        await ben.ack(ben.plain(Rematch, room))
        await asyncio.sleep(1)
        assert listed(eve)[room]["state"] == "playing"
        late = await watch(hub, "late")
        assert {key: {**summary, "watching": 0} for key, summary in listed(late).items()} == {
            key: {**summary, "watching": 0} for key, summary in listed(eve).items()
        }


@virtual
async def test_unlisted_rooms_are_never_announced() -> None:
    """I15: an unlisted room is in no list or change of the lobby and in no list of matches."""
    async with (fake := FakeServer()).hub() as hub:
        eve = await watch(hub)
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(visibility="unlisted")
        await ada.ack(ada.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        await asyncio.sleep(1)
        await ada.ack(ada.plain(Resign, room))
        await ada.ack(ada.plain(Rematch, room))
        await ben.ack(ben.plain(Rematch, room))
        await asyncio.sleep(1)
        late = await watch(hub, "late")
        assert room not in str(eve.messages) + str(late.messages)
        assert (await fake.store.projections.matches(9, None)).rows == []


@virtual
async def test_a_change_while_the_list_is_read_is_not_lost() -> None:
    """A client that subscribes while a room is created receives it, in the list or as a change."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")

        class SlowLists(MemoryProjections):
            """Returns the list of rooms two seconds after reading it."""

            async def rooms(self, limit: int, since_ms: int = 0) -> list[StoredRoom]:
                rooms = await super().rooms(limit, since_ms)
                await asyncio.sleep(2)
                return rooms

        fake.store.projections = SlowLists(fake.store.memory.tables)
        watching = asyncio.create_task(watch(hub))
        await run_ready_tasks()
        room = await ada.create()
        eve = await watching
        await asyncio.sleep(1)
        assert room in listed(eve)


@virtual
async def test_leaving_the_lobby() -> None:
    """A client receives no changes after leaving, nor after it closed during the subscription."""
    fake = FakeServer()
    async with fake.hub() as hub:
        eve, closed = await watch(hub), Client(hub, "gone")
        hub.lobby.leave(eve)
        gate = fake.store.hold("rooms")
        joining = asyncio.create_task(hub.lobby.watch(closed, ACK))
        await fake.store.waiting["rooms"].wait()
        closed.close()
        gate.set()
        await joining
        await Client(hub, "ada").create()
        await asyncio.sleep(2)
        assert [message["t"] for message in eve.messages] == ["ack", "lobby"]
        assert closed.messages == []


@virtual
async def test_watchers_receive_changes_after_a_store_failure() -> None:
    """A request for the list raises StoreError while the store fails.

    Watchers still receive changes.
    """
    fake = FakeServer()
    async with fake.hub() as hub:
        eve = await watch(hub)
        fake.store.fail("rooms")
        with pytest.raises(StoreError):
            await watch(hub)
        room = await Client(hub, "ada").create()
        await asyncio.sleep(1)
        assert room in listed(eve)


@virtual
async def test_a_burst_of_changes_is_one_message() -> None:
    """I20: all changes within a quarter of a second are sent in one message."""
    fake = server_with(rooms_burst=999)
    async with fake.hub() as hub:
        eve = await watch(hub)
        ada = Client(hub, "ada")
        rooms = [await ada.create() for _ in range(50)]
        for room in rooms:
            await ada.ack(ada.join(room))
        await asyncio.sleep(2)
        assert set(listed(eve)) == set(rooms)
        assert len(eve.messages) <= 4
        assert await fake.store.logs.find_command(rooms[0], CommandKey("create ada", "x")) is None
