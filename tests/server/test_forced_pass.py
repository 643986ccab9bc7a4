"""The forced pass: the server passes for a person who has no other move.

It does so once, after a second, on the responsible node, and the log marks the pass as forced.
"""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace

from engine.rules.registry import load_game
from server.commands import ClaimWin, Resign, Tick
from server.events import Moved
from server.ids import RoomId
from server.protocol.codes import Code
from server.rooms.model import AI, SERVER, Actor, Played
from server.runtime.node.hub import Hub
from server.settings import Settings
from server.store.base import StoredEvent
from tests.support.fake_server import Client, FakeServer, Fault, virtual
from tests.support.room_log import ADA, BEN, ME, LoggedRoom, chat, plain, seated

#: Moves of Othello after which Black, the first side, has no move, but White has.
TO_A_PASS = "e6 f6 d3 e7 e8 d8 g6 f8"
#: The pause before a forced pass, in ms.
PASS_AFTER_MS = Settings().forced_pass_ms


def before_a_pass() -> LoggedRoom:
    """Returns a room with a match of Othello in which the side to move must pass."""
    played = seated(game="othello")
    played.moves(TO_A_PASS)
    return played


def tick(played: LoggedRoom) -> Tick:
    """Returns the server's command at the room's next deadline."""
    deadline_ms = played.room.next_deadline_ms(PASS_AFTER_MS)
    assert deadline_ms is not None
    return Tick(f"tick:{played.room.v}", deadline_ms)


# --- the room's rules


def test_the_server_passes_for_the_person_to_move() -> None:
    """A forced pass makes one marked event and leads to the same position as a player's pass."""
    played, own_pass = before_a_pass(), before_a_pass()
    (event,) = played.do(SERVER, tick(played))
    assert event == Moved(
        played.match.id, 8, 0, "pass", played.match.digest, number="9.", forced=True
    )
    assert played.match.moves[-1] == Played("pass", number="9.", forced=True)
    own_pass.moves("pass")
    assert own_pass.match.position == played.match.position
    assert played.fold() == played.room
    assert played.room.forced_pass() is None


def test_only_a_forced_pass_has_the_field_forced() -> None:
    """A pass of the server has `forced` in the log; a player's own pass and moves do not."""
    played = before_a_pass()
    played.do(ADA, played.move("pass"))
    assert b"forced" not in played.log[-1][1]
    assert b'"forced":true' not in b"".join(body for _, body in played.log)
    other = before_a_pass()
    other.do(SERVER, tick(other))
    assert b'"forced":true' in other.log[-1][1]


@pytest.mark.parametrize("game", ["tic-tac-toe", "othello"])
def test_no_pass_is_forced_while_there_is_a_move(game: str) -> None:
    """Nothing is forced while the player has a move, even if it is the only one."""
    played = seated(game=game)
    for number, token in enumerate(
        (TO_A_PASS if game == "othello" else "a1 b1 c1 b2 a2 c2 b3 a3").split()
    ):
        assert played.room.forced_pass() is None
        assert played.room.due_ms(PASS_AFTER_MS) is None
        played.do((ADA, BEN)[number % 2], played.move(token))
    assert (played.room.forced_pass() is not None) == (game == "othello")
    assert (played.room.due_ms(PASS_AFTER_MS) is not None) == (game == "othello")


def test_a_pass_is_due_after_a_pause() -> None:
    """A tick before the deadline or after the player's own pass makes no event.

    Neither chat nor a clock that was set back moves the deadline.
    """
    played = before_a_pass()
    turn_began_ms = played.now_ms
    command = tick(played)
    assert command.at_ms == turn_began_ms + PASS_AFTER_MS
    played.do(BEN, chat("you cannot move"))
    assert tick(played).at_ms == command.at_ms
    assert played.decide(SERVER, Tick("early", command.at_ms - 1)) == []
    played.now_ms -= 3_600_000
    assert [type(event) for event in played.decide(SERVER, command)] == [Moved]
    played.do(ADA, played.move("pass"))
    assert played.decide(SERVER, command) == []


def test_only_the_server_passes_for_others() -> None:
    """A tick is refused from every actor except the server, even from the player to move."""
    played = before_a_pass()
    for actor in (ADA, BEN, AI, Actor(SERVER.identity, SERVER.name)):
        assert played.refuse(actor, tick(played)) == Code.SEAT_NONE


def test_no_pass_is_forced_for_an_ai_or_after_the_end() -> None:
    """The server passes neither for an AI nor after the end of a match."""
    played = before_a_pass()
    match = played.match
    seats = (replace(match.seats[0], kind="ai", level=1), match.seats[1])
    assert replace(played.room, match=replace(match, seats=seats)).forced_pass() is None
    played.do(ADA, plain(Resign))
    assert played.room.forced_pass() is None
    assert played.room.due_ms(PASS_AFTER_MS) is None


def test_rules_that_fail_force_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the rules fail in the check for a pass, no pass is forced and no command fails."""
    played = before_a_pass()
    assert played.room.forced_pass() is not None

    def fails(*_: object) -> Any:
        raise ZeroDivisionError

    game = load_game("othello")
    monkeypatch.setattr(game, "rules", dataclasses.replace(game.rules, move_view=fails))
    assert played.room.forced_pass() is None
    played.do(BEN, chat("hm"))


# --- the room's runner


@asynccontextmanager
async def waiting_for_a_pass(fake: FakeServer) -> AsyncIterator[tuple[Hub, RoomId, Client, Client]]:
    """Opens a hub with a match in which Ada must pass; she and Ben follow the room."""
    async with fake.hub() as hub:
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


async def moves_of(fake: FakeServer, room: str) -> list[StoredEvent]:
    return [
        event
        for event in await fake.store.logs.events(room, 0)
        if event.body.startswith(b'{"kind":"moved"')
    ]


@virtual
async def test_a_forced_pass_comes_after_a_second() -> None:
    """The pass comes after a second by default; chat does not delay it.

    All followers see it as forced, and the other side is to move.
    """
    assert Settings().forced_pass_ms == 1000
    fake = FakeServer()
    async with waiting_for_a_pass(fake) as (_, room, ada, ben):
        (turn,) = [m for m in ada.of("turn") if m["ply"] == 8]
        assert [move["id"] for move in turn["moves"]] == ["pass"]
        for number in range(3):
            await asyncio.sleep(0.3)
            await ben.ack(ben.chat(room, f"you cannot move {number}"))
        assert len(await moves_of(fake, room)) == 8
        for client in (ada, ben):
            event = await client.until(is_pass)
            assert (event["ply"], event["seat"], event["forced"]) == (8, 0, True)
        last = next(m for m in ada.events() if m["kind"] == "moved" and m["ply"] == 7)
        assert 1000 <= event["at"] - last["at"] < 1100
        await ben.until(lambda m: m["t"] == "turn" and m["ply"] == 9)


@virtual
async def test_a_players_own_pass_cancels_the_servers() -> None:
    """The server does not pass again for a player who has passed within the second."""
    fake = FakeServer()
    async with waiting_for_a_pass(fake) as (_, room, ada, _ben):
        await ada.ack(ada.move(room, 8, "pass"))
        await asyncio.sleep(10)
        assert len(await moves_of(fake, room)) == 9
        assert "forced" not in (await ada.until(is_pass))


@virtual
async def test_a_forced_pass_survives_a_restart() -> None:
    """If the node ends within the second, the next node passes, even without followers."""
    for sole_node in (True, False):
        fake = FakeServer()
        fake.settings = Settings(sole_node=sole_node, workers=1)
        async with waiting_for_a_pass(fake) as (_, room, _ada, _ben):
            pass
        assert len(await moves_of(fake, room)) == 8
        async with fake.hub("n2"):
            await asyncio.sleep(10)
            (*_, last) = await moves_of(fake, room)
            assert b'"forced":true' in last.body
            assert len(await moves_of(fake, room)) == 9


@virtual
async def test_a_node_that_only_follows_does_not_pass() -> None:
    """Of two nodes with the room open, only the node that wrote last tries to pass."""
    fake = FakeServer()
    async with fake.hub("n2") as other, waiting_for_a_pass(fake) as (_, room, _ada, _ben):
        cyd = Client(other, "cyd")
        await cyd.ack(cyd.join(room))
        await cyd.until(is_pass)
        await asyncio.sleep(10)
        metrics = other.ports.metrics
        assert (metrics.commands, metrics.conflicts, metrics.repeated, metrics.rejected) == (
            0,
            0,
            0,
            0,
        )
        assert len(await moves_of(fake, room)) == 9


@virtual
async def test_two_nodes_pass_once() -> None:
    """Two nodes that both count as responsible make one pass."""
    fake = FakeServer()
    fake.bus.cut = True  # type: ignore[attr-defined]
    async with waiting_for_a_pass(fake) as (_, room, _ada, _ben), fake.hub("n2") as other:
        await fake.store.nodes.heartbeat("n1", -1)  # as if the first node had been silent
        while await other.take_over_due_rooms(all_nodes=False) == 0:
            await fake.store.nodes.heartbeat("n1", -1)
        await asyncio.sleep(40)
        assert len(await moves_of(fake, room)) == 9


@virtual
async def test_a_pass_whose_write_fails_is_repeated() -> None:
    """If the store fails, before or after the write, one pass is logged in the end."""
    for fault in (Fault(), Fault(after=True)):
        fake = FakeServer()
        async with waiting_for_a_pass(fake) as (_, room, ada, _ben):
            fake.store.fail("append", fault)
            await ada.until(is_pass)
            await asyncio.sleep(10)
            assert len(await moves_of(fake, room)) == 9


@virtual
async def test_a_forced_pass_does_not_show_that_a_player_is_there() -> None:
    """A player who left before the server passed for them has gone since then, not since the pass:
    the opponent may claim the match a minute after they left.
    """
    fake = FakeServer()
    fake.settings = dataclasses.replace(fake.settings, forced_pass_ms=30_000)
    async with waiting_for_a_pass(fake) as (_, room, ada, ben):
        ada.close()
        await ben.until(is_pass)
        turn = await ben.until(lambda m: m["t"] == "turn" and m["v"] > 12)
        await ben.ack(ben.move(room, 9, turn["moves"][0]["id"]))
        await asyncio.sleep(fake.settings.gone_ms / 1000 - 29)
        await ben.ack(ben.plain(ClaimWin, room))
