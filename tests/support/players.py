"""Players over real sockets: they play random legal moves and record the answers in a journal."""

import asyncio
import random
from collections.abc import Callable

import msgspec

from client.connection import Connection, connect
from client.errors import Refused
from client.messages import LoggedEvent
from client.model import Model, apply
from client.timing import Timing
from server.commands import AiSeat, ClientCommand, Create, Move, MySeat, OpenSeat, Rematch, Sit
from server.protocol.codes import Code
from server.protocol.messages import CommandFrame, Snapshot
from tests.oracle.journal import Journal

#: The timing of a client that reconnects sooner than by default, so that tests need not wait.
QUICK_TIMING = Timing(ping_s=0.5, silence_s=3, retry_s=0.1, retry_max_s=0.4)

#: The timing of a client that repeats a command for as long as a database takes to recover.
PATIENT_TIMING = Timing(ping_s=2.5, silence_s=30, retry_s=4, retry_max_s=4)

#: Options for matches of sticks with about twenty moves.
LONG_STICKS = {"rows": "9-9-9-9"}


class Player:
    """A player that follows a room and plays its seat, match after match.

    The host offers each rematch, and the guest accepts. After `stop` is set and the last match is
    over the host stops.
    """

    def __init__(
        self,
        connection: Connection,
        room: str,
        journal: Journal,
        seed: int,
        stop: asyncio.Event,
        host: bool,
    ) -> None:
        self.model = Model(room=room, me=connection.identity)
        self._connection = connection
        self._journal = journal
        self._random = random.Random(seed)
        self._stop = stop
        self._host = host
        self._last_turn = ("", -1)
        self._changed = asyncio.Condition()

    async def run(self) -> None:
        """Plays matches; ends for the host after `stop` is set, and never for the guest."""
        seen = self._journal.seen[self.model.room, f"{self._connection.identity}#{id(self)}"]
        async for message in self._connection.follow(self.model.room):
            if isinstance(message, Snapshot):
                seen.append(message.v)
            elif isinstance(message, LoggedEvent):
                seen.append(message)
            self.model = apply(self.model, message)
            async with self._changed:
                self._changed.notify_all()
            if isinstance(message, Snapshot | LoggedEvent) and self._is_over:
                if self._host and self._stop.is_set() and not self.model.offers:
                    return
                await self._ask_for_rematch()
            await self._move()

    async def until(self, holds: Callable[[Model], bool]) -> Model:
        """Waits for a model that fulfils a condition; returns it."""
        async with self._changed:
            await self._changed.wait_for(lambda: holds(self.model))
        return self.model

    @property
    def _is_over(self) -> bool:
        return self.model.match is not None and self.model.match.over is not None

    async def _ask_for_rematch(self) -> None:
        offers, seat = self.model.offers, self.model.my_seat
        if (self._host and not offers) or (
            not self._host and seat is not None and (1 - seat) in offers
        ):
            await self._send(Rematch(self._connection.new_id()))

    async def _move(self) -> None:
        model = self.model
        if not model.moves or model.match is None or self._last_turn == (model.match.id, model.ply):
            return
        self._last_turn = (model.match.id, model.ply)
        move = self._random.choice(model.moves)
        await self._send(Move(self._connection.new_id(), model.ply, move.id))

    async def _send(self, command: ClientCommand) -> None:
        frame = CommandFrame(self.model.room, command)
        try:
            ack = await self._connection.command(frame)
        except Refused as refusal:
            # Whether the command was executed is unknown; sending it again finds out.
            if refusal.code == Code.STORE_RETRY:
                await self._send(command)
                return
            self._journal.refused.append((self._connection.identity, frame, refusal.code))
            raise
        self._journal.record_ack(self._connection.identity, frame, ack.v)


async def make_room(
    host: Connection,
    game: str,
    options: dict[str, str] | None = None,
    seats: tuple[MySeat | OpenSeat | AiSeat, ...] = (MySeat(), OpenSeat()),
) -> str:
    """Creates a room; returns its id."""
    ack = await host.command(
        Create(id=host.new_id(), game=game, options=options or {}, seats=seats)
    )
    assert not isinstance(ack.room, msgspec.UnsetType), "the ack of create names the room"
    return ack.room


async def two_people(
    url: str,
    game: str,
    options: dict[str, str],
    journal: Journal,
    seed: int,
    stop: asyncio.Event,
    timing: Timing = QUICK_TIMING,
) -> Model:
    """Lets two clients play each other until `stop` is set; returns the final model of both."""
    async with connect(url, timing=timing) as ada, connect(url, timing=timing) as bob:
        room = await make_room(ada, game, options)
        host = Player(ada, room, journal, seed, stop, host=True)
        guest = Player(bob, room, journal, seed + 1, stop, host=False)
        await bob.command(CommandFrame(room, Sit(id=bob.new_id(), seat=1)))
        async with asyncio.TaskGroup() as tasks:
            guest_task = tasks.create_task(guest.run())
            await host.run()
            await guest.until(lambda model: model.v >= host.model.v)
            guest_task.cancel()
        assert guest.model.match == host.model.match, "both clients saw the same match"
        return host.model


async def person_and_ai(
    url: str,
    game: str,
    options: dict[str, str],
    level: int,
    journal: Journal,
    seed: int,
    stop: asyncio.Event,
) -> Model:
    """Lets a client play the AI until `stop` is set; returns the final model."""
    async with connect(url, timing=QUICK_TIMING) as ada:
        room = await make_room(ada, game, options, (MySeat(), AiSeat(level=level)))
        host = Player(ada, room, journal, seed, stop, host=True)
        await host.run()
        return host.model


async def ai_and_ai(
    url: str,
    game: str,
    options: dict[str, str],
    level: int,
    journal: Journal,
    stop: asyncio.Event,
) -> Model:
    """Lets the AI play itself until `stop` is set; returns a spectator's final model."""
    async with connect(url, timing=QUICK_TIMING) as ada:
        room = await make_room(ada, game, options, (AiSeat(level=level), AiSeat(level=level)))
        host = Player(ada, room, journal, 0, stop, host=True)
        await host.run()
        return host.model
