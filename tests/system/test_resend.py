"""Repeated commands: after cuts at any byte, after restarts, and by clients with equal ids."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from client.connection import Connection, State, connect
from client.errors import Refused
from client.messages import LoggedEvent
from client.timing import Timing
from engine.game import Position
from engine.rules.registry import load_game
from server.commands import Chat, Create, Move, Sit
from server.events import Moved, Said
from server.protocol.messages import CommandFrame
from tests.oracle.journal import Journal, read_logs
from tests.support.fault_proxy import FaultProxy, Toward, fault_proxy
from tests.support.players import make_room
from tests.support.server_process import (
    NO_RATE_LIMITS,
    ServerProcess,
    assert_no_traceback,
    eventually,
    serving,
)

#: The timing of a client that sends nothing by itself: each byte belongs to the command under test.
NO_PINGS = Timing(ping_s=60, silence_s=120)

#: The timing of a client that quickly gives up a silent connection.
QUICK_TO_GIVE_UP = Timing(ping_s=0.1, silence_s=0.4)

#: Options for a match of sticks that outlasts a test.
LONG_ROWS = {"rows": "9-9-9-9-9-9"}


def no_pause() -> float:
    """Returns a jitter of 0, with which a client reconnects at once."""
    return 0.0


@dataclass(slots=True)
class SticksMatch:
    """A match of sticks between two connections, and the v of its last event."""

    room: str
    position: Position
    v: int
    ply: int = 0

    def next_move(self, rng: random.Random) -> str:
        """Plays a random move that takes one stick, so that the match lasts; returns its token."""
        singles = [token for token in self.position.tokens() if token.endswith("x1")]
        token = rng.choice(singles or self.position.tokens())
        self.position = self.position.replay(token)
        self.ply += 1
        self.v += 1
        return token

    @property
    def is_over(self) -> bool:
        return self.position.outcome() is not None


async def start_match(ada: Connection, bob: Connection) -> SticksMatch:
    """Starts a match in which Ada begins."""
    room = await make_room(ada, "sticks", LONG_ROWS)
    ack = await bob.command(CommandFrame(room, Sit(id=bob.new_id(), seat=1)))
    assert ack.v == 4, "created, seat taken, seat taken, started"
    return SticksMatch(room, load_game("sticks").start(LONG_ROWS), ack.v)


@asynccontextmanager
async def two_clients(
    server: ServerProcess, proxy: FaultProxy
) -> AsyncIterator[tuple[Connection, Connection]]:
    """Connects a client behind the proxy, which reconnects at once, and one without the proxy."""
    async with (
        connect(proxy.url, timing=NO_PINGS, jitter=no_pause) as ada,
        connect(server.url, timing=NO_PINGS) as bob,
    ):
        yield ada, bob


async def test_a_move_cut_at_any_byte_is_played_once_and_acknowledged_once(tmp_path: Path) -> None:
    """A cut after any number of bytes of the command's frame or of its ack plays the move once.

    The client sends the command again by itself and gets an ack with the v of the move in the log.
    """
    journal, rng = Journal(), random.Random(1)
    async with (
        serving(tmp_path / "data", **NO_RATE_LIMITS) as server,
        fault_proxy(server.port) as proxy,
    ):
        async with (
            two_clients(server, proxy) as (ada, bob),
            connect(server.url, ada.token, timing=NO_PINGS) as beside,
            AsyncExitStack() as rooms,
        ):
            match = await start_match(ada, bob)
            await rooms.enter_async_context(in_room(beside, match.room))
            for player in (ada, bob):  # what her first connection may still show is taken back
                await _move(match, player, journal, rng)
            frame_bytes, ack_bytes = await _bytes_of_a_move(match, ada, proxy, journal, rng)
            assert frame_bytes > 80
            assert ack_bytes > 20
            await _move(match, bob, journal, rng)
            cuts = [(Toward.SERVER, n) for n in range(frame_bytes + 1)] + [
                (Toward.CLIENT, n) for n in range(ack_bytes + 1)
            ]
            for toward, count in cuts:
                if match.is_over:
                    match = await start_match(ada, bob)
                    await rooms.enter_async_context(in_room(beside, match.room))
                cut = proxy.cut_after(toward, count)
                await _move(match, ada, journal, rng)
                assert cut.is_set(), "the cut came before the ack that counted"
                if not match.is_over:
                    await _move(match, bob, journal, rng)
        assert await server.stop() == 0
    assert journal.violations(read_logs(server.data)) == []
    assert_no_traceback(server)


@asynccontextmanager
async def in_room(connection: Connection, room: str) -> AsyncIterator[None]:
    """Follows a room with another connection of a player, whose first one is then sent acks alone:
    a player who is nowhere in the room is told of each turn.
    """
    async with aclosing(connection.follow(room)) as messages:
        await anext(messages)
        yield


async def _bytes_of_a_move(
    match: SticksMatch, ada: Connection, proxy: FaultProxy, journal: Journal, rng: random.Random
) -> tuple[int, int]:
    """Returns the sizes of a move and of its answer on the wire, in bytes."""
    before = dict(proxy.forwarded)
    await _move(match, ada, journal, rng)
    return tuple(
        proxy.forwarded[toward] - before[toward] for toward in (Toward.SERVER, Toward.CLIENT)
    )  # type: ignore[return-value]


async def _move(match: SticksMatch, who: Connection, journal: Journal, rng: random.Random) -> None:
    """Plays a move; asserts that its ack has the expected v."""
    ply = match.ply
    command = CommandFrame(match.room, Move(id=who.new_id(), ply=ply, move=match.next_move(rng)))
    match.v += match.is_over
    ack = await who.command(command)
    assert ack.v == match.v, f"ply {ply}"
    journal.record_ack(who.identity, command, ack.v)


async def test_a_follower_that_is_cut_anywhere_in_an_answer_sees_every_event_once(
    tmp_path: Path,
) -> None:
    """After a cut at any byte of the ack, event and view, every event arrives once and in order."""
    journal, lines = Journal(), 0
    async with (
        serving(tmp_path / "data", **NO_RATE_LIMITS) as server,
        fault_proxy(server.port) as proxy,
    ):
        async with connect(proxy.url, timing=NO_PINGS, jitter=no_pause) as ada:
            room = await make_room(ada, "tic-tac-toe")
            seen = journal.seen[room, "ada"]
            async with aclosing(ada.follow(room)) as messages:

                async def receive_events() -> None:
                    async for message in messages:
                        if isinstance(message, LoggedEvent):
                            seen.append(message)
                            received.set()

                seen.append(2)
                received = asyncio.Event()
                receiving = asyncio.create_task(receive_events())
                for toward in Toward:
                    for count in range(0, 400, 5):
                        proxy.cut_after(toward, count)
                        lines += 1
                        command = CommandFrame(room, Chat(id=ada.new_id(), text=f"line {lines}"))
                        ack = await ada.command(command)
                        assert ack.v == 2 + lines
                        journal.record_ack(ada.identity, command, ack.v)
                async with asyncio.timeout(60):
                    while not (isinstance(seen[-1], LoggedEvent) and seen[-1].v == 2 + lines):
                        received.clear()
                        await received.wait()
                receiving.cancel()
                await asyncio.wait([receiving])
        assert await server.stop() == 0
    logs = read_logs(server.data)
    assert journal.violations(logs) == []
    lines_seen = [event.text for event in logs[room].events.values() if isinstance(event, Said)]
    assert lines_seen == [f"line {n + 1}" for n in range(lines)]
    assert_no_traceback(server)


@pytest.mark.parametrize("how", ["before the answer", "after it"])
async def test_a_command_sent_again_after_a_restart_gets_the_same_ack(
    tmp_path: Path, how: str
) -> None:
    """A kill after the commit changes no answer, whether the ack has arrived or not.

    The client sends the same command to the next server and gets an ack with the same v. The move
    is played once.
    """
    async with (
        serving(tmp_path / "data", **NO_RATE_LIMITS) as server,
        fault_proxy(server.port) as proxy,
    ):
        async with two_clients(server, proxy) as (ada, bob):
            match = await start_match(ada, bob)
            move = match.next_move(random.Random(1))
            command = CommandFrame(match.room, Move(id="1", ply=0, move=move))
            if how == "before the answer":
                proxy.freeze(Toward.CLIENT)
            sending = asyncio.create_task(ada.command(command))
            await eventually(
                lambda: read_logs(server.data)[match.room].head == match.v, "the move is in the log"
            )
            if how == "after it":
                assert (await sending).v == match.v
            await server.kill()
            proxy.close_all()
            await server.start()
            assert (await sending).v == match.v
            assert (await ada.command(command)).v == match.v, "and again"
            with pytest.raises(Refused) as refused:
                await ada.command(CommandFrame(match.room, Move(id="2", ply=0, move=move)))
            assert refused.value.code == "move.stale", "another id is another command"
        assert await server.stop() == 0
    log = read_logs(server.data)[match.room]
    assert log.head == match.v
    assert sum(isinstance(event, Moved) for event in log.events.values()) == 1
    assert_no_traceback(server)


async def test_clients_that_use_the_same_ids_do_not_disturb_each_other(tmp_path: Path) -> None:
    """A command id is unique for its identity and room, the id of a `create` for its identity.

    Both clients name every command "1", in two rooms each.
    """
    async with serving(tmp_path / "data", **NO_RATE_LIMITS) as server:
        async with connect(server.url) as ada, connect(server.url) as bob:
            ada_room = await _create(ada, Create(id="1", game="sticks", options=LONG_ROWS))
            bob_room = await _create(bob, Create(id="1", game="sticks", options=LONG_ROWS))
            assert ada_room != bob_room
            assert await _create(ada, Create(id="1", game="tic-tac-toe")) == ada_room, (
                "created already"
            )
            await bob.command(CommandFrame(ada_room, Sit(id="sit", seat=1)))
            await ada.command(CommandFrame(bob_room, Sit(id="sit", seat=1)))
            for who, room, ply in (
                (ada, ada_room, 0),
                (bob, ada_room, 1),
                (bob, bob_room, 0),
                (ada, bob_room, 1),
            ):
                command = CommandFrame(room, Move(id="1", ply=ply, move=f"{ply + 1}x1"))
                first = await who.command(command)
                assert first.v == 5 + ply
                assert await who.command(command) == first, "the same ack"
        async with connect(server.url, token=ada.token) as again:
            assert (
                await again.command(CommandFrame(ada_room, Move(id="1", ply=0, move="1x1")))
            ).v == 5, "over a new socket"
        assert await server.stop() == 0
    logs = read_logs(server.data)
    assert {log.head for log in logs.values()} == {6}
    assert Journal().violations(logs) == []
    assert_no_traceback(server)


async def _create(who: Connection, command: Create) -> str:
    room = (await who.command(command)).room
    assert isinstance(room, str)
    return room


async def test_a_client_leaves_a_silent_connection_and_keeps_its_seat(tmp_path: Path) -> None:
    """The client replaces a half-open TCP connection and plays on from its seat.

    A command that was sent into the dead connection is executed once.
    """
    async with (
        serving(tmp_path / "data", **NO_RATE_LIMITS) as server,
        fault_proxy(server.port) as proxy,
    ):
        states: list[State] = []
        async with (
            connect(
                proxy.url, timing=QUICK_TO_GIVE_UP, jitter=no_pause, on_state=states.append
            ) as ada,
            connect(server.url, timing=NO_PINGS) as bob,
        ):
            match = await start_match(ada, bob)
            journal, rng = Journal(), random.Random(1)
            for directions in ((), (Toward.SERVER,), (Toward.CLIENT,)):
                accepted = proxy.accepted
                proxy.freeze(*directions)
                await _move(match, ada, journal, rng)
                assert proxy.accepted > accepted, "over a new connection"
                await _move(match, bob, journal, rng)
            proxy.thaw()
            await _move(match, ada, journal, rng)
        assert states == [State.CONNECTED, *[State.LOST, State.CONNECTED] * 3]
        assert await server.stop() == 0
    assert journal.violations(read_logs(server.data)) == []
    assert_no_traceback(server)
