"""The messages that followers receive when they join, resume from any v or leave."""

import asyncio
import json

import pytest

from server.bus.base import Ephemeral, PresenceReport
from server.commands import AddAi, MySeat, Rematch, Resign, Stand
from server.ids import RoomId
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.runtime.log import TAIL
from server.runtime.node.hub import Hub
from server.runtime.room.room_runner import RESUME_LIMIT
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual
from tests.support.two_players import OPEN, playing

# --- joining --------------------------------------------------------------------------------------


async def create_room_with_history(fake: FakeServer, hub: Hub) -> tuple[str, int]:
    """Creates a room with two matches and lines to spectators; returns the room and its head."""
    ada, ben, cyd = (Client(hub, name) for name in ("ada", "ben", "cyd"))
    room = await ada.create("sticks", options={"rows": "1-3-5-7"}, seats=(OPEN, OPEN))
    await ada.ack(ada.sit(room, 1))
    await ada.ack(ada.plain(Stand, room))
    await ada.ack(ada.sit(room, 0))
    await ben.ack(ben.sit(room, 1))
    await cyd.ack(cyd.join(room))
    for round_ in range(2):
        await cyd.ack(cyd.chat(room, f"psst {round_}", "spectators"))
        first, second = (ada, ben) if round_ == 0 else (ben, ada)
        await first.ack(first.move(room, 0, "4x7"))
        await cyd.ack(cyd.chat(room, f"aloud {round_}"))
        await second.ack(second.move(room, 1, "3x5"))
        await first.ack(first.plain(Resign, room))
        await ada.ack(ada.plain(Rematch, room))
        await ben.ack(ben.plain(Rematch, room))
    return room, (await fake.store.logs.heads([room]))[room]


@pytest.mark.parametrize("identity", ["ada", "cyd"])
@virtual
async def test_resuming_from_any_v_gives_the_missed_events(identity: str) -> None:
    """A client that resumes from any v receives the later events, from memory or from the store.

    Players receive hidden events for lines to spectators.
    """
    fake = FakeServer()
    async with fake.hub() as hub, fake.hub("n2") as fresh:
        room, head = await create_room_with_history(fake, hub)
        log = await fake.store.logs.events(room, 0)
        for node_hub in (hub, fresh):
            for since in range(1, head + 1):
                client = Client(node_hub, identity)
                await client.ack(client.join(room, since))
                joined = client.of("joined")[0]
                assert (joined["v"], joined["epoch"]) == (head, fake.store.epoch)
                assert client.of("snapshot") == []
                assert [m["v"] for m in client.events()] == list(range(since + 1, head + 1))
                for message, entry in zip(client.events(), log[since:], strict=True):
                    hidden = identity == "ada" and entry.audience == 1
                    assert message["kind"] == (
                        "hidden" if hidden else json.loads(entry.body)["kind"]
                    )
                client.close()


@virtual
async def test_spectators_lines_reach_no_player() -> None:
    """I14: lines to spectators reach no player, neither live nor on resuming or in a snapshot.

    The player's v has no gap.
    """
    async with playing() as (_, hub, room, ada, ben):
        cyd, dan = Client(hub, "cyd"), Client(hub, "dan")
        for client in (cyd, dan):
            await client.ack(client.join(room))
        await cyd.ack(cyd.chat(room, "SECRET", "spectators"))
        assert (await dan.event("said"))["text"] == "SECRET"
        for player in (ada, ben):
            assert await player.event("hidden") == {**player.events()[-1], "kind": "hidden", "v": 5}
        late = [Client(hub, "ada"), Client(hub, "ada")]
        await late[0].ack(late[0].join(room, since=1))
        await late[1].ack(late[1].join(room))
        for player in (ada, ben, *late):
            assert "SECRET" not in json.dumps(player.messages)


@virtual
async def test_a_player_who_leaves_the_seat_receives_spectators_lines() -> None:
    """A player who leaves the seat receives later lines to spectators until they sit again."""
    async with playing() as (_, hub, room, ada, ben):
        cyd = Client(hub, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.ack(ada.plain(Resign, room))
        await ada.ack(ada.plain(Stand, room))
        await cyd.ack(cyd.chat(room, "SECRET", "spectators"))
        assert (await ada.event("said"))["text"] == "SECRET"
        assert "SECRET" not in json.dumps(ben.messages)
        await ada.ack(ada.sit(room, 0))
        await cyd.ack(cyd.chat(room, "SECOND", "spectators"))
        await ben.until(lambda m: m["t"] == "event" and m["v"] == 9)
        assert "SECOND" not in json.dumps(ada.messages)


@virtual
async def test_a_client_far_behind_receives_a_snapshot() -> None:
    """A client that is more than RESUME_LIMIT events behind receives a snapshot.

    So does a client at v 0, or above the head, as after the restore of a backup.
    """
    async with playing(fake=FakeServer().unlimited()) as (_, hub, room, ada, _):
        for number in range(RESUME_LIMIT):
            await ada.ack(ada.chat(room, f"line {number}"))
        head = 4 + RESUME_LIMIT
        for since, expected in (
            (0, "snapshot"),
            (3, "snapshot"),
            (4, "events"),
            (head + 1, "snapshot"),
            (2**53 - 1, "snapshot"),
        ):
            client = Client(hub, "cyd")
            await client.ack(client.join(room, since))
            if expected == "snapshot":
                assert [m["v"] for m in client.of("snapshot")] == [head], since
                assert client.events() == []
            else:
                assert client.of("snapshot") == []
                assert [m["v"] for m in client.events()] == list(range(since + 1, head + 1))
            client.close()


@virtual
async def test_events_before_the_tail_are_read_from_the_store() -> None:
    """Events that memory no longer has come from the store."""
    async with playing(fake=FakeServer().unlimited()) as (fake, hub, room, ada, _):
        for number in range(3 * TAIL):
            await ada.ack(ada.chat(room, f"line {number}"))
        client = Client(hub, "cyd")
        await client.ack(client.join(room, since=2))
        assert [m["v"] for m in client.events()] == list(range(3, 5 + 3 * TAIL))
        reads = fake.store.calls["events"]
        client = Client(hub, "cyd")
        await client.ack(client.join(room, since=3 * TAIL))
        assert fake.store.calls["events"] == reads, "these events are in memory"


@virtual
async def test_a_client_of_another_epoch_receives_a_snapshot() -> None:
    """A client of another epoch receives a snapshot; a client of the same epoch resumes."""
    async with playing() as (fake, hub, room, _, _):
        for epoch, snapshots in (("another", 1), (fake.store.epoch, 0), (None, 0)):
            client = Client(hub, "cyd")
            await client.ack(client.join(room, 2, epoch))
            assert len(client.of("snapshot")) == snapshots


@virtual
async def test_a_join_above_a_nodes_head_reads_the_store() -> None:
    """I6: a client that joins a lagging node with a higher v makes the node read the store."""
    async with playing() as (fake, _, room, ada, _), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        fake.bus.cut = True  # type: ignore[attr-defined]
        await ada.ack(ada.move(room, 0, "b2"))
        moved = Client(other, "ada")
        await moved.ack(moved.join(room, since=5))
        assert moved.of("joined")[0]["v"] == 5
        assert moved.of("snapshot") == []
        await cyd.wait_for_v(5)


@virtual
async def test_a_joining_client_receives_the_whole_room() -> None:
    """A joining client receives the description, its seat, the snapshot, the view and the presence.

    The player to move also receives the legal moves.
    """
    async with playing() as (_, hub, room, ada, ben):
        joined = ada.of("joined")[0]
        assert joined["seat"] == 0
        assert joined["description"]["game"] == "tic-tac-toe"
        for identity, turns in (("ada", 1), ("ben", 0), ("cyd", 0)):
            client = Client(hub, identity)
            await client.ack(client.join(room))
            assert [m["t"] for m in client.messages[:3]] == ["ack", "joined", "snapshot"]
            assert len(client.of("view")) == 1
            assert len(client.of("turn")) == turns
            assert len(client.of("presence")) == 1
        assert ben.of("joined")[0].get("seat") is None, "he took his seat later"


@virtual
async def test_a_client_that_joins_twice_gets_events_once() -> None:
    """A client that joins twice receives each later event once."""
    async with playing() as (_, _, room, ada, ben):
        await ada.ack(ada.join(room, since=4))
        start = len(ada.messages)
        await ben.ack(ben.chat(room, "hello"))
        await ada.event("said")
        assert [m["v"] for m in ada.messages[start:] if m["t"] == "event"] == [5]


@virtual
async def test_leaving() -> None:
    """After the ack of `leave` no more messages of the room arrive, and the seat stays taken."""
    async with playing() as (_fake, _hub, room, ada, ben):
        await ada.ack(ada.leave(room))
        received = len(ada.messages)
        await ben.ack(ben.chat(room, "where are you?"))
        await asyncio.sleep(1)
        assert len(ada.messages) == received
        assert await ada.ack(ada.move(room, 0, "b2")) == 6


@virtual
async def test_an_unknown_room() -> None:
    """Every command for an unknown room gets room.unknown."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        for command in (
            ada.join("nowhere"),
            ada.sit("nowhere", 0),
            ada.chat("nowhere", "x"),
            ada.leave("nowhere"),
        ):
            assert await ada.expect_refusal(command) == Code.ROOM_UNKNOWN
        await run_ready_tasks()
        assert hub.runner(RoomId("nowhere")) is None


@virtual
async def test_a_connection_that_closes_while_it_joins_is_removed() -> None:
    """I20: a connection that closes while it joins is not a follower, so the room can be closed."""
    async with playing(fake=FakeServer().unlimited()) as (fake, hub, room, ada, ben):
        for _ in range(2 * TAIL + 5):
            await ada.ack(ada.chat(room, "x"))
        cyd = Client(hub, "cyd")
        gate = fake.store.hold("events")
        cyd.send_command(cyd.join(room, since=1))
        await fake.store.waiting["events"].wait()
        cyd.close()
        gate.set()
        await ada.ack(ada.chat(room, "y"))
        for client in (ada, ben):
            client.close()
        await asyncio.sleep(1)
        runner = hub.runner(room)
        assert runner is not None
        assert runner.followers.watching == 0
        assert runner.is_idle


# --- presence -------------------------------------------------------------------------------------


@virtual
async def test_presence() -> None:
    """Presence has the connected seats, AI seats among them, and the number of spectators."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await cyd.ack(cyd.join(room))
        await ada.until(
            lambda m: m["t"] == "presence" and m["seats"] == [True, False] and m["watching"] == 1
        )
        cyd.close()
        await ada.until(
            lambda m: m["t"] == "presence" and m["watching"] == 0, len(ada.messages) - 1
        )
        await ada.ack(ada.plain(Stand, room))
        await ada.until(
            lambda m: m["t"] == "presence" and m["seats"] == [False, False] and m["watching"] == 1
        )
        await ada.ack(wire.CommandFrame(room, AddAi(id="ai", seat=1, level=1)))
        await ada.until(lambda m: m["t"] == "presence" and m["seats"] == [False, True])


@virtual
async def test_each_follower_receives_a_presence_once() -> None:
    """A join sends the presence once to the new follower and once to the earlier ones.

    A presence that did not change is not sent again.
    """
    async with FakeServer().hub() as hub:
        ada, ben, cyd = Client(hub, "ada"), Client(hub, "ben"), Client(hub, "cyd")
        room = await ada.create("sticks", seats=(MySeat(), OPEN))
        await ada.ack(ada.join(room))
        await asyncio.sleep(1)
        assert [m["watching"] for m in ada.of("presence")] == [0]
        await ben.ack(ben.join(room))
        await asyncio.sleep(1)
        assert [m["watching"] for m in ben.of("presence")] == [1]
        assert [m["watching"] for m in ada.of("presence")] == [0, 1]
        await cyd.ack(cyd.join(room))
        await ben.ack(ben.leave(room))
        await asyncio.sleep(1)
        assert [m["watching"] for m in cyd.of("presence")] == [2, 1]
        assert [m["watching"] for m in ada.of("presence")] == [0, 1], "one came, and one left"


@virtual
async def test_presence_across_nodes() -> None:
    """Presence counts the followers on all nodes."""
    async with playing() as (fake, _, room, ada, ben), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        await ada.until(lambda m: m["t"] == "presence" and m["watching"] == 1)
        await cyd.until(
            lambda m: m["t"] == "presence" and m["seats"] == [True, True] and m["watching"] == 1
        )
        received = len(cyd.messages)
        ben.close()
        await cyd.until(lambda m: m["t"] == "presence" and m["seats"] == [True, False], received)


@virtual
async def test_presence_before_the_room_is_read() -> None:
    """Bus messages that arrive while the room is being opened count once it is open."""
    async with playing() as (fake, _, room, _, _), fake.hub("n2") as other:
        cyd = Client(other, "cyd")
        gate = fake.store.hold("events")
        cyd.send_command(cyd.join(room))
        await fake.store.waiting["events"].wait()
        runner = other.runner(room)
        assert runner is not None
        thinking = wire.Thinking(room=room, match="m", ply=0, seat=0, state="done")
        runner.receive(PresenceReport(room, "n9", frozenset({"ada"}), 3))
        runner.receive(Ephemeral(room, "n1", thinking))
        await asyncio.sleep(1)
        gate.set()
        await cyd.until(lambda m: m["t"] == "presence" and m["watching"] == 4)
