"""Rooms with events of a newer node, on a node of this version: clients can read, not play."""

import asyncio
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from engine.game import Game, UnknownGame
from server.bus.base import EventsAppended, LobbyChanged
from server.codes import Code
from server.commands import Abort, AiSeat, MySeat, OpenSeat, Resign
from server.events import Moved, Said, format_event_body
from server.ids import RoomId
from server.protocol import messages as wire
from server.runtime.node.hub import Hub
from server.runtime.node.lobby import COMPARE_S
from server.store.base import SPECTATORS, Append, StoredEvent
from tests.server.test_api import get
from tests.server.test_bus_nodes import Watcher
from tests.support.fake_server import Client, FakeServer, run_ready_tasks, virtual
from tests.support.node import serve
from tests.support.two_players import playing

#: The audience of a line between the players, which only a newer version has.
PLAYERS = 2
#: An event of a newer version.
TAKEN_BACK = b'{"kind":"taken_back","ply":0,"by":1}'


async def append_on_newer_node(
    fake: FakeServer, hub: Hub, room: str, *bodies: bytes, audience: int = 0, due_ms: Any = None
) -> int:
    """Appends events as a newer node "n9", and announces them; returns the last v."""
    runner = hub.runner(RoomId(room))
    head = await fake.store.logs.head(room)
    assert head is not None
    events = tuple(
        StoredEvent(v, fake.now_ms(), audience, body) for v, body in enumerate(bodies, head.v + 1)
    )
    await fake.store.logs.append(Append(room, head.v, events, "n9", due_ms))
    if runner is not None:
        runner.receive(EventsAppended(room, "n9", events))
    await run_ready_tasks()
    return head.v + len(events)


@virtual
async def test_followers_learn_that_the_room_can_only_be_read() -> None:
    """An unknown event reaches the followers unchanged, and then `joined` with the reason.

    Every command is then refused with `room.newer`, and no client is disconnected.
    """
    async with playing() as (fake, hub, room, ada, ben):
        eve = Client(hub, "eve")
        await eve.ack(eve.join(room))
        at = len(ada.messages)
        v = await append_on_newer_node(fake, hub, room, TAKEN_BACK)
        for client, seat in ((ada, 0), (ben, 1), (eve, None)):
            joined = await client.until(lambda m: m["t"] == "joined" and "frozen" in m)
            assert (joined["v"], joined["frozen"], joined.get("seat")) == (v, "room.newer", seat)
            assert joined.get("may", []) == [], "no command is permitted"
        sent = [message["t"] for message in ada.messages[at:] if message["t"] != "presence"]
        assert sent == ["event", "joined"]
        assert ada.events()[-1].items() >= {"kind": "taken_back", "ply": 0, "by": 1, "v": v}.items()
        for client in (ada, ben, eve):
            for command in (
                client.move(room, 0, "b2"), client.chat(room, "hello"), client.sit(room, 0),
                client.plain(Resign, room), client.plain(Abort, room),
            ):  # fmt: skip
                assert await client.expect_refusal(command) == Code.ROOM_NEWER
            assert not client.closed
        head = await fake.store.logs.head(room)
        assert head is not None
        assert head.v == v


@virtual
async def test_events_after_an_unknown_one_are_shown() -> None:
    """Chat and moves after an unknown event are sent, and are in a later client's snapshot."""
    async with playing() as (fake, hub, room, ada, _):
        await ada.ack(ada.chat(room, "before"))
        await append_on_newer_node(fake, hub, room, TAKEN_BACK)
        runner = hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.match is not None
        match = runner.room.match
        assert match.position is not None
        after = match.position.advance("b2")[1]
        moved = Moved(match.id, 0, 0, "b2", after.digest(), number="1.")
        said = format_event_body(Said("ben", "Ben", "after"))
        v = await append_on_newer_node(fake, hub, room, said, format_event_body(moved))
        await ada.wait_for_v(v)
        view = await ada.until(lambda m: m["t"] == "view" and m["v"] == v)
        assert view["view"]["pieces"] == {"b2": "X"}
        cyd = Client(hub, "cyd")
        await cyd.ack(cyd.join(room))
        (joined,), (snapshot,) = cyd.of("joined"), cyd.of("snapshot")
        assert (joined["frozen"], snapshot["v"]) == ("room.newer", v)
        assert [line["text"] for line in snapshot["chat"]] == ["before", "after"]
        assert [move["move"] for move in snapshot["match"]["moves"]] == ["b2"]


@virtual
async def test_a_committed_command_is_acknowledged_again() -> None:
    """I1: a command that was committed gets its ack again even when the room is frozen."""
    async with playing() as (fake, hub, room, ada, _):
        move = ada.move(room, 0, "b2")
        v = await ada.ack(move)
        await append_on_newer_node(fake, hub, room, TAKEN_BACK)
        ada.messages.clear()
        assert await ada.ack(move) == v


@virtual
async def test_an_event_for_an_unknown_audience_is_hidden_from_everyone() -> None:
    """No client receives the text of an event with an unknown audience; its v still counts."""
    async with playing() as (fake, hub, room, ada, _):
        eve = Client(hub, "eve")
        await eve.ack(eve.join(room))
        said = format_event_body(Said("ben", "Ben", "between us", "players"))
        await append_on_newer_node(fake, hub, room, said, audience=PLAYERS)
        v = await append_on_newer_node(fake, hub, room, said, audience=SPECTATORS)
        await eve.wait_for_v(v)
        assert [m["kind"] for m in ada.events()[-2:]] == ["hidden", "hidden"]
        assert [m["kind"] for m in eve.events()[-2:]] == ["hidden", "said"]
        late = Client(hub, "late")
        await late.ack(late.join(room))
        assert "chat" not in late.of("snapshot")[0]


@virtual
async def test_no_ai_plays_in_a_frozen_room() -> None:
    """A node of this version plays no AI turn in a frozen room, also after taking it over."""
    fake = FakeServer()
    fake.engines.answer = lambda _job: asyncio.Future()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(AiSeat(1), MySeat()))
        await ada.ack(ada.join(room))
        await fake.engines.requested.wait()
        assert len(fake.engines.jobs) == 1
        await append_on_newer_node(fake, hub, room, TAKEN_BACK, due_ms=fake.now_ms())
        assert fake.engines.cancelled == fake.engines.jobs
    async with fake.hub("n2") as later:
        await later.take_over_due_rooms(all_nodes=True)
        await run_ready_tasks()
        runner = later.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.frozen is Code.ROOM_NEWER
        reads = fake.store.calls["events"]
        await later.take_over_due_rooms(all_nodes=True)
        await run_ready_tasks()
        assert fake.store.calls["events"] == reads, "a second take-over finds no due room"
        assert len(fake.engines.jobs) == 1


def find_no_game(name: str) -> Game:
    raise UnknownGame(name)


@virtual
@pytest.mark.parametrize("lacks", ["game", "program"])
async def test_a_node_leaves_a_match_that_it_cannot_play_to_another_node(lacks: str) -> None:
    """An AI's match goes on when a node that can play it starts beside one that cannot.

    The node that cannot play it has taken it over, and reads it only once.
    """
    fake = FakeServer()
    fake.engines.answer = lambda _job: asyncio.Future()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(seats=(AiSeat(1), MySeat()))
        await fake.engines.requested.wait()
        if lacks == "program":
            await append_on_newer_node(fake, hub, room, TAKEN_BACK, due_ms=fake.now_ms())
    find = find_no_game if lacks == "game" else fake.find_game
    async with fake.hub("older", find_game=find) as older:
        await asyncio.sleep(10)
        assert older.runner(room) is not None, "the node took the room over"
        reads = fake.store.calls["events"]
        await asyncio.sleep(1800)
        assert fake.store.calls["events"] == reads
        jobs = len(fake.engines.jobs)
        async with fake.hub("newer"):
            await asyncio.sleep(10)
            head = await fake.store.logs.head(room)
            assert head is not None
            if lacks == "game":
                assert (head.node, len(fake.engines.jobs)) == ("newer", jobs + 1)
            else:
                assert head.node == "", "both nodes of this version have released it"


@virtual
async def test_the_lobby_entry_of_a_frozen_room_comes_from_newer_nodes() -> None:
    """This node shows the entry that a newer node reports, and reports none of its own."""
    async with playing() as (fake, hub, room, ada, _):
        watcher = await Watcher(hub, "watcher").watch()
        await append_on_newer_node(fake, hub, room, TAKEN_BACK)
        listed = msgspec.convert(watcher.lobby[room], wire.RoomSummary)
        entry = replace(listed, ply=7, length="with clocks")
        hub.membership.on_node(LobbyChanged("n9", (entry,), ()))
        await asyncio.sleep(1)
        published: list[object] = []
        unsubscribe = fake.bus.listen(published.append)
        eve = Client(hub, "eve")
        await eve.ack(eve.join(room))
        await ada.ack(ada.leave(room))
        await asyncio.sleep(3 * COMPARE_S)
        unsubscribe()
        assert watcher.lobby[room]["length"] == "with clocks"
        assert not [message for message in published if isinstance(message, LobbyChanged)]


async def test_a_match_is_read_without_the_moves_that_were_taken_back() -> None:
    """Over HTTP a match has the moves that were not taken back, in their order."""
    fake = FakeServer()
    async with serve(fake) as node:
        ada = Client(node.hub, "ada")
        room = await ada.create(seats=(MySeat(), OpenSeat()))
        await ada.ack(ada.join(room))
        ben = Client(node.hub, "ben")
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "b2"))
        await ben.ack(ben.move(room, 1, "a1"))
        runner = node.hub.runner(room)
        assert runner is not None
        assert runner.room is not None
        assert runner.room.match is not None
        match = runner.room.match.id
        moved = Moved(match, 1, 1, "c3", "0123456789abcdef", number="2.")
        await append_on_newer_node(fake, node.hub, room, TAKEN_BACK, format_event_body(moved))
        answer = await get(node, f"/api/matches/{match}")
        assert [move["move"] for move in answer["moves"]] == ["b2", "c3"]
