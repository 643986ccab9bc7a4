"""A room behind a scripted connection. It follows the server's rules; its AI plays the first legal
move.
"""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import msgspec

from engine.rules.registry import load_game
from server.commands import AiMove, AiSeat, Command, Create, MySeat, OpenSeat
from server.events import Finished, Moved, RoomEvent, Started, format_event_body
from server.ids import IdentityId, RoomId
from server.protocol.codec import event_frame, format_message, parse_message
from server.protocol.messages import CommandFrame, May, Presence, Thinking, View
from server.protocol.views import description, format_permissions, snapshot, turn, view
from server.rooms.model import AI, Actor, CommandRejected, Moment, Room
from server.rooms.permissions import permitted
from server.rooms.rules import create, decide, evolve, initial_room
from tests.support.room_log import SETTINGS
from tests.support.scripted_server import Close, Link, Message

ADA, BOB, CYD = (
    Actor(IdentityId("i1"), "Ada"),
    Actor(IdentityId("i2"), "Bob"),
    Actor(IdentityId("i3"), "Cyd"),
)
Logged = tuple[int, RoomEvent]


class FakeRoom:
    """One room. `serve` is a script for Ada's connection; `act` executes another actor's command.

    After committing a command whose type is in `cut_before_ack` the room cuts the connection, once,
    and sends neither the ack nor the events. `clock` is the text of a time control, and `now_ms`
    the server's time.
    """

    def __init__(
        self,
        game: str = "tic-tac-toe",
        seats: Sequence[MySeat | OpenSeat | AiSeat] = (MySeat(), AiSeat(1)),
        options: dict[str, str] | None = None,
        host: Actor = ADA,
        clock: str | None = None,
        now_ms: Callable[[], int] = int,
    ) -> None:
        self._ids = map(str, count(1))
        self._now_ms = now_ms
        #: The times of the events by their versions.
        self._at_ms: dict[int, int] = {}
        command = Create(id="c", game=game, seats=tuple(seats), options=options or {}, clock=clock)
        opening = create(host, command, load_game(game), self._new_id)
        self.room: Room = initial_room(RoomId("r"), opening[0], now_ms(), load_game)
        self.log: list[Logged] = [(1, opening[0])]
        for event in opening[1:]:
            self._apply(event)
        self.cut_before_ack: set[str] = set()
        self._acked: dict[str, int] = {}
        self._sent_may: tuple[str, ...] = ()
        self._link: Link | None = None

    def _new_id(self) -> str:
        return f"m{next(self._ids)}"

    def _apply(self, event: RoomEvent) -> Logged:
        at_ms = self._now_ms()
        self.room = evolve(self.room, event, at_ms, load_game)
        self._at_ms[self.room.v] = at_ms
        self.log.append((self.room.v, event))
        return self.log[-1]

    async def serve(self, link: Link) -> None:
        """Welcomes the client, then answers every message."""
        link.now_ms = self._now_ms
        await link.hello()
        self._link = link
        while True:
            await self._answer(await link.receive(), link)

    async def act(self, actor: Actor, command: Command) -> None:
        """Executes a command of another actor."""
        await self._send_events(self.decide(actor, command))

    def play_out(self) -> None:
        """Plays the AI's moves while it is on turn, before anyone has joined."""
        while (seat := self.room.ai_to_move()) is not None:
            self._ai_move(seat)

    async def send_presence(
        self,
        *seats: bool,
        gone_ms: tuple[int | None, ...] = (),
        elsewhere: tuple[int, ...] = (),
    ) -> None:
        """Sends which seats are connected, and when the match may be claimed."""
        presence = Presence(room="r", seats=seats, watching=0, gone_ms=gone_ms, elsewhere=elsewhere)
        await self._send(format_message(presence))

    async def send_may(self, *commands: str) -> None:
        """Sends a list of what Ada may do."""
        await self._send(format_message(May(room="r", v=self.room.v, may=commands)))

    async def _answer(self, message: Message, link: Link) -> None:
        match message["t"]:
            case "join":
                await self._join(message, link)
                await self._play_ai()
            case "leave":
                await link.ack(message)
            case _ if message["id"] in self._acked:
                await link.ack(message, self._acked[message["id"]])
            case _:
                await self._command(message, link)
                await self._play_ai()

    async def _command(self, message: Message, link: Link) -> None:
        frame = parse_message(msgspec.json.encode(message))
        assert isinstance(frame, CommandFrame)
        try:
            events = self.decide(ADA, frame.command)
        except CommandRejected as rejected:
            await link.refuse(message, rejected.code)
            return
        self._acked[frame.id] = self.room.v
        if message["t"] in self.cut_before_ack:
            self.cut_before_ack.discard(message["t"])
            raise Close(1006)
        await link.ack(message, self.room.v)
        await self._send_events(events)

    def append(self, event: RoomEvent) -> None:
        """Appends an event to the log without a command, before anyone has joined."""
        self._apply(event)

    async def tell(self, event: RoomEvent) -> None:
        """Appends an event to the log without a command, and sends it."""
        await self._send_events([self._apply(event)])

    def decide(self, actor: Actor, command: Command) -> list[Logged]:
        """Executes a command of any actor; returns its events."""
        now_ms = self._now_ms()
        moment = Moment(actor, now_ms, now_ms, self._new_id, SETTINGS, load_game)
        return [self._apply(event) for event in decide(self.room, command, moment)]

    async def _join(self, message: Message, link: Link) -> None:
        since = message.get("since", 0)
        await link.ack(message)
        await self._send_joined()
        if not since:
            await self._send(
                format_message(snapshot(self.room, player=True, identity=ADA.identity))
            )
        missed = [(v, event) for v, event in self.log if since and v > since]
        await self._send_events(missed, with_view=True)

    async def _send_joined(self) -> None:
        self._sent_may = self._may()
        joined: dict[str, Any] = {"t": "joined", "room": "r", "v": self.room.v, "epoch": "e1"}
        joined["may"] = self._sent_may
        if self.room.read_only is not None:
            joined["frozen"] = self.room.read_only
        assert self._link is not None
        described = msgspec.to_builtins(description(self.room))
        await self._link.send({**joined, "description": described})

    async def _send_events(self, events: Sequence[Logged], with_view: bool = False) -> None:
        """Sends events, then Ada's `may`, the view and her `turn` if the events change them."""
        for v, event in events:
            await self._send(event_frame("r", v, self._at_ms[v], format_event_body(event)))
            if isinstance(event, Started) and event.game is not None and v == self.room.v:
                await self._send_joined()
        if self._sent_may != self._may():
            self._sent_may = self._may()
            await self._send(format_message(May(room="r", v=self.room.v, may=self._sent_may)))
        match = self.room.match
        if match is None or not (
            with_view or any(isinstance(event, Started | Moved | Finished) for _, event in events)
        ):
            return
        assert match.position is not None
        for message in (view(self.room, match), turn(self.room, match)):
            mine = match.seats[match.position.turn].identity == ADA.identity
            if message is not None and (mine or isinstance(message, View)):
                await self._send(format_message(message))

    async def _play_ai(self) -> None:
        """Plays the AI's moves while it is on turn: two thinking frames, then the first move."""
        while (seat := self.room.ai_to_move()) is not None:
            match = self.room.match
            assert match is not None
            assert match.position is not None
            token = match.position.tokens()[0]
            begun = Thinking(room="r", match=match.id, ply=match.ply, seat=seat, state="searching")
            done = msgspec.structs.replace(
                begun, state="done", depth=2, score=7, nodes=1234, pv=(token,)
            )
            await self._send(format_message(begun))
            await self._send(format_message(done))
            await self._send_events(self._ai_move(seat))

    def _ai_move(self, seat: int) -> list[Logged]:
        match = self.room.match
        assert match is not None
        assert match.position is not None
        token = match.position.tokens()[0]
        move = AiMove(f"ai:{self.room.v}", match.id, seat, match.digest, token)
        return self.decide(AI, move)

    def _may(self) -> tuple[str, ...]:
        return format_permissions(permitted(self.room, ADA.identity, self._now_ms(), SETTINGS))

    async def _send(self, frame: bytes) -> None:
        assert self._link is not None
        await self._link.send(frame.decode())
