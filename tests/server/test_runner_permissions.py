"""The list of permitted commands that a room sends to its followers, in `joined` and in `may`."""

import asyncio
import itertools
import random
from collections.abc import Callable

import pytest

from server.commands import (
    Accept,
    ClientCommand,
    Decline,
    OfferDraw,
    Rematch,
    Resign,
    Stand,
    Takeback,
)
from server.ids import RoomId
from server.protocol import messages as wire
from server.protocol.views import format_permissions
from server.rooms.chat_limits import WINDOW_MS
from server.rooms.model import Room
from server.rooms.permissions import permitted
from server.runtime.node.hub import Hub
from tests.support.fake_server import Client, FakeServer, Message, run_ready_tasks, virtual
from tests.support.two_players import AI1, OPEN, playing


def last_list(client: Client) -> list[str]:
    """Returns the list that a client received last, in `joined` or in `may`."""
    lists = [m for m in client.messages if m["t"] in ("joined", "may")]
    return list(lists[-1].get("may", []))


def kinds(messages: list[Message]) -> list[str]:
    """Returns the kind of each event and the type of each other message."""
    return [str(m.get("kind", m["t"])) for m in messages]


def room_of(hub: Hub, room: str) -> Room:
    runner = hub.runner(RoomId(room))
    assert runner is not None
    assert runner.room is not None
    return runner.room


@virtual
async def test_players_receive_a_list_after_the_event_that_changed_it() -> None:
    """When the right to abort ends, both players receive a new list between the event and the view.

    A move that changes no list causes no `may`.
    """
    async with playing() as (_, _, room, ada, ben):
        assert last_list(ben) == ["resign", "abort", "offer_draw", "see_thinking", "chat"]
        # The host may still say that this is not the person for whom the seat is.
        assert last_list(ada) == ["resign", "abort", "offer_draw", "bar", "see_thinking", "chat"]
        since = len(ben.messages)
        await ada.ack(ada.move(room, 0, "a1"))
        await ben.ack(ben.move(room, 1, "b1"))
        await ada.ack(ada.move(room, 2, "a2"))
        assert kinds(ben.messages[since:]) == [
            "moved", "view", "turn", "ack", "moved", "may", "view", "moved", "view", "turn",
        ]  # fmt: skip
        last = ada.of("may")[-1]
        assert last == {
            "t": "may", "room": room, "v": 6,
            "may": ["resign", "offer_draw", "takeback", "see_thinking", "chat"],
        }  # fmt: skip
        assert last_list(ben) == last["may"]


@virtual
async def test_every_connection_of_a_player_receives_the_list_once() -> None:
    """A player's second connection has the list in `joined`; both receive the next one in `may`."""
    async with playing() as (_, hub, room, ada, _):
        other = Client(hub, "ada")
        await other.ack(other.join(room))
        assert last_list(other) == last_list(ada)
        before = len(ada.of("may"))
        await ada.ack(ada.plain(Resign, room))
        assert len(other.of("may")) == 1
        assert len(ada.of("may")) == before + 1
        assert last_list(other) == last_list(ada) == [
            "stand", "rematch", "next_game", "configure", "bar", "see_thinking", "chat",
        ]  # fmt: skip


@virtual
async def test_spectators_receive_the_list_only_in_joined() -> None:
    """A spectator receives no `may` while the room shows the thinking; see also
    tests/server/test_thinking_visibility.py. A player receives one from taking a seat until leaving
    it.
    """
    fake = FakeServer()
    async with fake.hub() as hub:
        host, ada, cyd = (Client(hub, name) for name in ("host", "ada", "cyd"))
        room = await host.create(seats=(OPEN, OPEN))
        for client in (ada, cyd):
            await client.ack(client.join(room))
            assert last_list(client) == ["sit", "see_thinking", "chat"]
        await ada.ack(ada.sit(room, 0))
        assert last_list(ada) == ["stand", "see_thinking", "chat"]
        await host.ack(host.sit(room, 1))
        await ada.ack(ada.plain(Resign, room))
        assert last_list(ada) == ["stand", "rematch", "next_game", "see_thinking", "chat"]
        await ada.ack(ada.plain(Stand, room))
        assert last_list(ada) == ["sit", "see_thinking", "chat"]
        count = len(ada.of("may"))
        await cyd.ack(cyd.sit(room, 0))
        assert cyd.of("may") != []
        for player in (host, cyd):
            await player.ack(player.plain(Rematch, room))
        await host.ack(host.plain(Resign, room))
        assert len(ada.of("may")) == count


@virtual
async def test_the_host_of_a_match_between_ai_seats_receives_new_lists() -> None:
    """The host has no seat but receives `may`: they may ask for a rematch after the match."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada, cyd = Client(hub, "ada"), Client(hub, "cyd")
        room = await ada.create(seats=(AI1, AI1))
        for client in (ada, cyd):
            await client.ack(client.join(room))
        await ada.event("finished")
        await run_ready_tasks()
        assert last_list(ada) == [
            "remove_ai", "rematch", "next_game", "configure", "see_thinking", "chat",
        ]  # fmt: skip
        assert cyd.of("may") == []


@virtual
async def test_time_alone_changes_a_list() -> None:
    """A player at the limit on chat receives a list without `chat`, and later one with it.

    No event is needed for the second list.
    """
    async with playing() as (_, hub, room, ada, ben):
        for number in range(4):
            assert "chat" in last_list(ada)
            await ada.ack(ada.chat(room, f"line {number}"))
        assert "chat" not in last_list(ada)
        assert "chat" in last_list(ben)
        v, events = room_of(hub, room).v, len(ada.events())
        await asyncio.sleep(WINDOW_MS / 1000 - 0.1)
        assert "chat" not in last_list(ada)
        await asyncio.sleep(0.2)
        assert "chat" in last_list(ada)
        assert ada.messages[-1] == {"t": "may", "room": room, "v": v, "may": last_list(ada)}
        assert len(ada.events()) == events
        await ada.ack(ada.chat(room, "again"))


@pytest.mark.parametrize("seed", range(6))
@virtual
async def test_each_players_last_list_is_current(seed: int) -> None:
    """After random commands and pauses on two nodes each player has received the current list.

    No client receives the same list twice in a row.
    """
    rng = random.Random(seed)
    fake = FakeServer()
    async with fake.hub() as hub, fake.hub("n2") as other:
        clients = [Client(h, name) for h in (hub, other) for name in ("ada", "ben", "cyd")]
        room = await clients[0].create()
        for client in clients:
            await client.ack(client.join(room))
        for _ in range(60):
            client = rng.choice(clients)
            await client.ask(random_command(rng, client, room, room_of(client.hub, room)))
            # No sum of these pauses is the chat's window: a list changes exactly at its end.
            await asyncio.sleep(rng.choice([0.102, 0.102, 0.102, 3.002]))
            for each in clients:
                now = room_of(each.hub, room)
                if each.identity == "ada" or now.seat_of(each.identity) is not None:
                    expected = permitted(now, each.identity, fake.now_ms(), fake.settings)
                    assert last_list(each) == list(format_permissions(expected))
        for client in clients:
            lists = [m["may"] for m in client.messages if m["t"] in ("joined", "may")]
            assert all(first != second for first, second in itertools.pairwise(lists))


def random_command(rng: random.Random, client: Client, room: str, state: Room) -> wire.RoomFrame:
    match = state.running_match
    if match is not None and rng.random() < 0.5:
        assert match.position is not None
        return client.move(room, match.ply, rng.choice(match.position.tokens()))
    if rng.random() < 0.3:
        return client.chat(room, "hello")
    if rng.random() < 0.3:
        return client.sit(room, rng.randrange(2))
    if match is not None and rng.random() < 0.3:
        return wire.CommandFrame(room, Takeback(id=client.new_id(), ply=match.ply))
    kinds: list[Callable[[str], ClientCommand]] = [
        Resign, OfferDraw, Accept, Decline, Rematch, Stand,
    ]  # fmt: skip
    return client.plain(rng.choice(kinds), room)
