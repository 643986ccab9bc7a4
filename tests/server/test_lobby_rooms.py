"""Rooms that everyone has left leave the lobby; your matches stay, on every node."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from msgspec import structs

from server.bus.base import LobbyChanged
from server.commands import AiSeat, MySeat, OpenSeat
from server.protocol import messages as wire
from server.runtime.node import lobby
from server.runtime.node.hub import ATTENDANCE_MS, Hub
from server.runtime.node.lobby import LEFT_ROOM_MS
from tests.support.fake_server import Client, FakeServer, virtual

#: More than the time between two records of attendance and two comparisons of the list, in seconds.
SOON_S = 12
LEFT_S = LEFT_ROOM_MS / 1000


async def listed(hub: Hub) -> set[str]:
    """Returns the rooms that a new watcher of the lobby receives."""
    watcher = Client(hub, "watcher")
    await hub.lobby.watch(watcher, wire.Ack("watch", None))
    watcher.close()
    return {entry["room"] for entry in watcher.of("lobby")[0].get("rooms", ())}


class Watcher(Client):
    """A client that watches the lobby."""

    def rooms(self) -> set[str]:
        """Returns the rooms of the list after all changes."""
        rooms: set[str] = set()
        for message in self.of("lobby"):
            rooms = set() if message["full"] else rooms
            rooms |= {entry["room"] for entry in message.get("rooms", ())}
            rooms -= set(message.get("gone", ()))
        return rooms


@virtual
async def test_a_room_that_everyone_has_left_leaves_the_list() -> None:
    """A room stays in the list for ten minutes after its last follower has left, not longer.

    Watchers of the lobby are told; a visitor puts it back.
    """
    async with FakeServer().hub() as hub:
        eve = Watcher(hub, "eve")
        await hub.lobby.watch(eve, wire.Ack("watch", None))
        ada = Client(hub, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await asyncio.sleep(2 * LEFT_S)
        assert eve.rooms() == await listed(hub) == {room}
        ada.close()
        await asyncio.sleep(LEFT_S - SOON_S)
        assert eve.rooms() == await listed(hub) == {room}
        await asyncio.sleep(2 * SOON_S)
        assert eve.rooms() == await listed(hub) == set()
        ben = Client(hub, "ben")
        await ben.ack(ben.join(room))
        await asyncio.sleep(SOON_S)
        assert eve.rooms() == await listed(hub) == {room}


@virtual
async def test_a_match_between_ai_seats_that_nobody_watches_leaves_the_list() -> None:
    """Its moves do not bring it back."""
    fake = FakeServer()
    fake.settings = replace(fake.settings, ai_duel_pace_ms=60_000)
    async with fake.hub() as hub:
        eve = Watcher(hub, "eve")
        await hub.lobby.watch(eve, wire.Ack("watch", None))
        ada = Client(hub, "ada")
        room = await ada.create("gomoku", seats=(AiSeat(level=1), AiSeat(level=1)))
        await ada.ack(ada.join(room))
        ada.close()
        await asyncio.sleep(LEFT_S + SOON_S)
        assert eve.rooms() == set()
        searches, messages = len(fake.engines.jobs), len(eve.messages)
        await asyncio.sleep(LEFT_S / 2)
        assert len(fake.engines.jobs) > searches
        assert not [message for message in eve.messages[messages:] if message.get("rooms")]


@virtual
async def test_a_match_between_ai_seats_that_is_watched_on_another_node_stays_in_the_list() -> None:
    """The node that plays it counts the followers of the other nodes: its moves do not take it off
    the list ten minutes after the last follower of its own has left.
    """
    fake = FakeServer()
    fake.settings = replace(fake.settings, ai_duel_pace_ms=60_000)
    async with fake.hub("n1") as first, fake.hub("n2") as second:
        eve = Watcher(first, "eve")
        await first.lobby.watch(eve, wire.Ack("watch", None))
        ada, ben = Client(first, "ada"), Client(second, "ben")
        room = await ada.create("gomoku", seats=(AiSeat(level=1), AiSeat(level=1)))
        for client in (ada, ben):
            await client.ack(client.join(room))
        ada.close()
        await asyncio.sleep(2 * LEFT_S)
        assert first.runner(room) is not None, "it still plays the match"
        assert eve.rooms() == await listed(first) == {room}
        assert not [message for message in eve.messages if room in message.get("gone", ())]


@virtual
async def test_another_nodes_report_does_not_change_a_room_that_is_open_here() -> None:
    """A node knows its open rooms better than a late report of another node: the report changes the
    entries of other rooms only.
    """
    async with FakeServer().hub() as hub:
        eve, ada = Watcher(hub, "eve"), Client(hub, "ada")
        await hub.lobby.watch(eve, wire.Ack("watch", None))
        room, unopened = await ada.create(), "unopened"
        await ada.ack(ada.join(room))
        await asyncio.sleep(SOON_S)
        (entry,) = await hub.lobby.rooms()
        late = structs.replace(entry, state="playing", ply=7)
        elsewhere = structs.replace(late, room=unopened)
        since = len(eve.messages)
        hub.lobby.on_lobby_changed(LobbyChanged("n9", (late, elsewhere), ()))
        hub.lobby.on_lobby_changed(LobbyChanged("n9", (), (room, unopened)))
        reported = [message for message in eve.messages[since:] if message["t"] == "lobby"]
        assert [entry["room"] for each in reported for entry in each.get("rooms", ())] == [unopened]
        assert [gone for each in reported for gone in each.get("gone", ())] == [unopened]


@virtual
async def test_a_long_list_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """A room that has no place in the list that a node reads has not gone: the watchers who know it
    keep it.
    """
    monkeypatch.setattr(lobby, "MAX_LISTED", 2)
    async with FakeServer().hub() as hub:
        eve = Watcher(hub, "eve")
        await hub.lobby.watch(eve, wire.Ack("watch", None))
        ada = Client(hub, "ada")
        rooms = set()
        for _ in range(3):
            room = await ada.create()
            await ada.ack(ada.join(room))
            rooms.add(room)
        await asyncio.sleep(5 * SOON_S)
        assert len(await listed(hub)) == 2
        assert eve.rooms() == rooms


@virtual
async def test_the_list_is_the_same_after_a_restart_and_on_another_node() -> None:
    """A node that never had a room in memory lists it as long as its followers are elsewhere."""
    fake = FakeServer()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(fake.hub("n1"))
        second = await stack.enter_async_context(fake.hub("n2"))
        ada = Client(first, "ada")
        followed, left = await ada.create(), await ada.create()
        await ada.ack(ada.join(followed))
        eve = Watcher(second, "eve")
        await second.lobby.watch(eve, wire.Ack("watch", None))
        await asyncio.sleep(LEFT_S + SOON_S)
        assert eve.rooms() == await listed(first) == await listed(second) == {followed}
    async with fake.hub("n3") as third:
        assert await listed(third) == {followed}
        assert left not in await listed(third)


@virtual
async def test_attendance_costs_one_write_in_minutes() -> None:
    """A followed room is recorded once in ATTENDANCE_MS, and a move never changes that."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create("tic-tac-toe", seats=(MySeat(), OpenSeat()))
        for client in (ada, ben):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        await ada.ack(ada.move(room, 0, "a1"))
        await asyncio.sleep(3.5 * ATTENDANCE_MS / 1000)
        assert fake.store.calls["mark_rooms_followed"] == 3


# --- who is there -------------------------------------------------------------------------------


async def away(hub: Hub, room: str) -> tuple[int, ...]:
    """The seats whose players are away, as a new watcher of the lobby on this node learns."""
    (entry,) = [entry for entry in await hub.lobby.rooms() if entry.room == room]
    return entry.away


def last_away(watcher: Watcher, room: str) -> list[int]:
    """The seats whose players are away, as a watcher was told last."""
    entries = [
        entry
        for message in watcher.of("lobby")
        for entry in message.get("rooms", ())
        if entry["room"] == room
    ]
    return list(entries[-1].get("away", []))


#: Just before a player counts as away, and after every node must know it, in seconds.
STILL_HERE_S, AWAY_S = lobby.AWAY_MS / 1000 - 3, lobby.AWAY_MS / 1000 + SOON_S


@pytest.mark.parametrize("how", ["alone", "two nodes", "on the other node"])
@virtual
async def test_a_host_who_has_left_is_away_after_half_a_minute(how: str) -> None:
    """Every node says so to its watchers, new and old, and no longer when the host comes back, to
    any node. A player whom the host waits with, an AI, is never away.
    """
    fake = FakeServer()
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(fake.hub("n1"))
        hubs = [first]
        if how != "alone":
            hubs.append(await stack.enter_async_context(fake.hub("n2")))
        watchers = [Watcher(hub, f"w{number}") for number, hub in enumerate(hubs)]
        for watcher in watchers:
            await watcher.hub.lobby.watch(watcher, wire.Ack("watch", None))

        async def told() -> set[tuple[int, ...]]:
            lists = {tuple(last_away(watcher, room)) for watcher in watchers}
            return lists | {await away(hub, room) for hub in hubs}

        ada = Client(first, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await asyncio.sleep(AWAY_S)
        assert await told() == {()}, "the host is there"
        ada.close(has_closed_page=True)
        await asyncio.sleep(STILL_HERE_S)
        assert await told() == {()}, "a reload is shorter"
        await asyncio.sleep(AWAY_S - STILL_HERE_S)
        assert await told() == {(0,)}
        await asyncio.sleep(2 * fake.settings.room_idle_s)
        assert await told() == {(0,)}, "the room has left the memory"
        ada = Client(hubs[-1] if how == "on the other node" else first, "ada")
        await ada.ack(ada.join(room))
        await asyncio.sleep(SOON_S)
        assert await told() == {()}
        ben = Client(hubs[-1], "ben")
        await ben.ack(ben.join(room))
        await asyncio.sleep(AWAY_S)
        assert await told() == {()}, "a visitor does not change that"
        ada.close()
        await asyncio.sleep(AWAY_S)
        assert await told() == {(0,)}, "the visitor is no player"


@virtual
async def test_a_visitor_does_not_bring_the_host_back() -> None:
    """Whoever opens a room that its host left long ago finds the host away, at once."""
    fake = FakeServer()
    async with fake.hub() as hub:
        eve, ada = Watcher(hub, "eve"), Client(hub, "ada")
        await hub.lobby.watch(eve, wire.Ack("watch", None))
        room = await ada.create(seats=(OpenSeat(), MySeat()))
        await ada.ack(ada.join(room))
        ada.close()
        await asyncio.sleep(3 * fake.settings.room_idle_s)
        assert hub.runner(room) is None
        told = len(eve.messages)
        ben = Client(hub, "ben")
        await ben.ack(ben.join(room))
        await asyncio.sleep(SOON_S)
        assert {
            tuple(entry.get("away", ()))
            for message in eve.messages[told:]
            for entry in message.get("rooms", ())
        } == {(1,)}
        assert await away(hub, room) == (1,)


@virtual
async def test_a_host_is_away_also_if_the_room_has_left_the_memory_before() -> None:
    """A node that closes a room soon after its host has left still reports the host as away."""
    fake = FakeServer()
    async with fake.hub("n1") as first, fake.hub("n2") as second:
        eve = Watcher(second, "eve")
        await second.lobby.watch(eve, wire.Ack("watch", None))
        ada = Client(first, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await asyncio.sleep(1)
        ada.close()
        await asyncio.sleep(1)
        first.close_idle_rooms(0)
        assert first.runner(room) is None
        assert last_away(eve, room) == []
        await asyncio.sleep(AWAY_S)
        assert last_away(eve, room) == [0]
        assert await away(second, room) == (0,)


@virtual
async def test_a_host_on_a_node_that_died_is_away() -> None:
    """After half a minute without a word from the host's node; the host may come back before."""
    fake = FakeServer()
    async with fake.hub("n1") as first:
        eve = Watcher(first, "eve")
        await first.lobby.watch(eve, wire.Ack("watch", None))
        async with fake.hub("n2") as second:
            ada = Client(second, "ada")
            room = await ada.create()
            await ada.ack(ada.join(room))
            await asyncio.sleep(AWAY_S)
            assert await away(first, room) == ()
        await asyncio.sleep(STILL_HERE_S)
        assert await away(first, room) == ()
        await asyncio.sleep(AWAY_S - STILL_HERE_S)
        assert await away(first, room) == (0,)
        assert last_away(eve, room) == [0]


@virtual
async def test_a_new_node_learns_who_waits() -> None:
    """A host who waits on one node is not away for a node that starts later, nor after a report
    was lost.
    """
    fake = FakeServer()
    async with fake.hub("n1") as first:
        ada = Client(first, "ada")
        room = await ada.create()
        await ada.ack(ada.join(room))
        await asyncio.sleep(AWAY_S)
        async with fake.hub("n2") as second:
            await asyncio.sleep(SOON_S)
            assert await away(second, room) == ()
            second.lobby.on_node_down("n1")
            await asyncio.sleep(2 * 60)
            assert await away(second, room) == (), "n1 reports it again"
