"""Forced passes for a player who can only pass.

The responsible node passes once, after a moment, and the log says so.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from engine.rules.registry import load_game
from server.protocol import messages as wire
from server.protocol.codes import Code
from server.rooms.model import ForcedPass
from server.runtime.hub import Hub
from server.settings import Settings
from server.store.base import StoredEvent
from tests.support.fake_server import Client, Fault, World, virtual
from tests.support.room_log import ADA, AI, BEN, ME, Played, chat, plain, seated

#: After these moves of Othello, Black (the first side) has no legal move, but White has one.
TO_A_PASS = "e6 f6 d3 e7 e8 d8 g6 f8"


def before_a_pass() -> Played:
    played = seated(game="othello")
    played.moves(TO_A_PASS)
    return played


def owed(played: Played) -> ForcedPass:
    found = played.room.forced_pass()
    assert found is not None
    return found


# --- the room's rules


def test_a_forced_pass_is_one_event() -> None:
    """A forced pass is one event with `forced` set and the effect of the player's own pass."""
    played, by_hand = before_a_pass(), before_a_pass()
    (event,) = played.do(AI, owed(played))
    assert event == wire.Moved(
        played.match.id, 8, 0, "pass", played.match.digest, number="9.", forced=True
    )
    assert played.match.moves[-1] == wire.Played("pass", number="9.", forced=True)
    by_hand.moves("pass")
    assert by_hand.match.position == played.match.position
    assert played.fold() == played.room
    assert played.room.forced_pass() is None


def test_an_ordinary_move_has_no_new_field() -> None:
    """Only a forced pass has an additional field in the log."""
    played = before_a_pass()
    played.do(ADA, played.move("pass"))
    assert b"forced" not in played.log[-1][1]
    assert b'"forced":true' not in b"".join(body for _, body in played.log)
    other = before_a_pass()
    other.do(AI, owed(other))
    assert b'"forced":true' in other.log[-1][1]


@pytest.mark.parametrize("game", ["tic-tac-toe", "othello"])
def test_nothing_is_forced_where_there_is_a_choice(game: str) -> None:
    """No pass is forced while the player has a move, not even one last free cell."""
    played = seated(game=game)
    for number, token in enumerate(
        (TO_A_PASS if game == "othello" else "a1 b1 c1 b2 a2 c2 b3 a3").split()
    ):
        assert played.room.forced_pass() is None
        assert played.room.due_ms() is None
        played.do((ADA, BEN)[number % 2], played.move(token))
    assert (played.room.forced_pass() is not None) == (game == "othello")
    assert (played.room.due_ms() is not None) == (game == "othello")


@pytest.mark.parametrize(
    "changes", [{"match": "other"}, {"seat": 1}, {"digest": "0" * 16}, {"move": "a1"}]
)
def test_a_pass_belongs_to_its_position(changes: dict[str, Any]) -> None:
    """A forced pass for another match, seat, position or move, or with a legal move, is refused."""
    played = before_a_pass()
    command = owed(played)
    wrong = ForcedPass(
        **{name: changes.get(name, getattr(command, name)) for name in command.__slots__}
    )
    assert played.refuse(AI, wrong) == Code.MOVE_STALE
    played.do(ADA, played.move("pass"))
    assert played.refuse(AI, command) == Code.MOVE_STALE


def test_only_the_server_passes_for_others() -> None:
    """No client may send the forced pass, not even the player to move."""
    played = before_a_pass()
    assert played.refuse(ADA, owed(played)) == Code.SEAT_NONE


def test_no_pass_for_ais_and_finished_matches() -> None:
    """No pass is forced for an AI, which passes itself, or after the end of a match."""
    played = before_a_pass()
    match = played.match
    seats = (replace(match.seats[0], kind="ai", level=1), match.seats[1])
    assert replace(played.room, match=replace(match, seats=seats)).forced_pass() is None
    played.do(ADA, plain(wire.Resign))
    assert played.room.forced_pass() is None
    assert played.room.due_ms() is None


def test_rules_that_fail_force_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing view forces no pass and costs no move, although each commit tests for a pass."""
    played = before_a_pass()
    assert played.room.forced_pass() is not None

    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(load_game("othello").rules, "move_view", fails)
    assert played.room.forced_pass() is None
    played.do(BEN, chat("hm"))


# --- the room's runner


@asynccontextmanager
async def waiting_for_a_pass(world: World) -> AsyncIterator[tuple[Hub, str, Client, Client]]:
    """Yields a room in which Ada must pass and Ben waits; both follow it."""
    async with world.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        room = await ada.create(game="othello", seats=(ME,))
        await ada.ack(ada.join(room))
        await ben.ack(ben.join(room))
        await ben.ack(ben.sit(room, 1))
        for ply, token in enumerate(TO_A_PASS.split()):
            await (ada, ben)[ply % 2].ack((ada, ben)[ply % 2].move(room, ply, token))
        yield hub, room, ada, ben


def is_pass(message: dict[str, Any]) -> bool:
    return bool(
        message["t"] == "event" and message["kind"] == "moved" and message["move"] == "pass"
    )


async def moves_of(world: World, room: str) -> list[StoredEvent]:
    return [
        event
        for event in await world.store.events(room, 0)
        if event.body.startswith(b'{"kind":"moved"')
    ]


@virtual
async def test_a_forced_pass_comes_after_a_second() -> None:
    """The forced pass comes after a second by default, whatever happens meanwhile.

    All clients see it as forced, and the other side is to move.
    """
    assert Settings().forced_pass_ms == 1000
    world = World()
    async with waiting_for_a_pass(world) as (_, room, ada, ben):
        (turn,) = [m for m in ada.of("turn") if m["ply"] == 8]
        assert [move["id"] for move in turn["moves"]] == ["pass"]
        for _ in range(3):
            await asyncio.sleep(0.3)
            await ben.ack(ben.chat(room, "you cannot move"))
        assert len(await moves_of(world, room)) == 8
        for one in (ada, ben):
            event = await one.until(is_pass)
            assert (event["ply"], event["seat"], event["forced"]) == (8, 0, True)
        last = next(m for m in ada.events() if m["kind"] == "moved" and m["ply"] == 7)
        assert 1000 <= event["at"] - last["at"] < 1100
        await ben.until(lambda m: m["t"] == "turn" and m["ply"] == 9)


@virtual
async def test_a_player_who_passes_in_time_passes_once() -> None:
    """If the player passes in time, the server does not pass again."""
    world = World()
    async with waiting_for_a_pass(world) as (_, room, ada, _ben):
        await ada.ack(ada.move(room, 8, "pass"))
        await asyncio.sleep(10)
        assert len(await moves_of(world, room)) == 9
        assert "forced" not in (await ada.until(is_pass))


@virtual
async def test_a_forced_pass_survives_a_restart() -> None:
    """If a node dies within the second, the room stays due and the next node passes.

    No client needs to follow the room.
    """
    for sole_node in (True, False):
        world = World()
        world.settings = Settings(sole_node=sole_node, workers=1)
        async with waiting_for_a_pass(world) as (_, room, _ada, _ben):
            pass
        assert len(await moves_of(world, room)) == 8
        async with world.hub("n2"):
            await asyncio.sleep(10)
            (*_, last) = await moves_of(world, room)
            assert b'"forced":true' in last.body
            assert len(await moves_of(world, room)) == 9


@virtual
async def test_a_node_that_only_follows_does_not_pass() -> None:
    """Of two nodes with the room open, the last one to write passes; the other does not try."""
    world = World()
    async with world.hub("n2") as other, waiting_for_a_pass(world) as (_, room, _ada, _ben):
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        await cyd.until(is_pass)
        await asyncio.sleep(10)
        tried = other.ports.metrics
        assert (tried.commands, tried.conflicts, tried.repeated, tried.rejected) == (0, 0, 0, 0)
        assert len(await moves_of(world, room)) == 9


@virtual
async def test_two_nodes_pass_once() -> None:
    """Even if two nodes believe that they are responsible, there is one pass."""
    world = World()
    world.bus.cut = True  # type: ignore[attr-defined]
    async with waiting_for_a_pass(world) as (_, room, _ada, _ben), world.hub("n2") as other:
        # The first node seems to be silent.
        await world.store.heartbeat("n1", -1)
        while await other.take_due_rooms(all_nodes=False) == 0:
            await world.store.heartbeat("n1", -1)
        await asyncio.sleep(40)
        assert len(await moves_of(world, room)) == 9


@virtual
async def test_a_pass_whose_write_fails_is_retried() -> None:
    """One pass is logged after a write that failed or whose outcome is unknown."""
    for fault in (Fault(), Fault(after=True)):
        world = World()
        async with waiting_for_a_pass(world) as (_, room, ada, _ben):
            world.store.fail("append", fault)
            await ada.until(is_pass)
            await asyncio.sleep(10)
            assert len(await moves_of(world, room)) == 9
