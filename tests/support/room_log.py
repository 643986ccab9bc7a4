"""A room without a server: a test gives it commands and gets its events and its log."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from engine.game import Game, GameFault, Rules
from engine.rules.registry import load_game
from server.commands import (
    AddAi,
    AiFailure,
    AiMove,
    AiSeat,
    Chat,
    ChatTo,
    Command,
    Create,
    Move,
    MySeat,
    OpenSeat,
    RemoveAi,
    Sit,
)
from server.events import RoomEvent, format_event_body, parse_event_body
from server.ids import IdentityId, RoomId
from server.protocol.codes import Code
from server.rooms import rules
from server.rooms.model import (
    Actor,
    CommandRejected,
    FindAbsence,
    FindGame,
    Moment,
    Room,
    nobody_absent,
)
from server.settings import Settings

ADA, BEN, CYD = (Actor(IdentityId(name.lower()), name) for name in ("Ada", "Ben", "Cyd"))
ROOM = RoomId("r1")
#: The settings of the room, without chat limits.
SETTINGS = Settings(
    limit_chat=0, limit_chat_room=0, limit_chat_repeats=0, limit_private=0, limit_private_room=0
)

T = TypeVar("T")


def attempt(work: Callable[[], T]) -> T | CommandRejected | GameFault:
    """Returns the result of `work`, or the typed error that it raises."""
    try:
        return work()
    except (CommandRejected, GameFault) as error:
        return error


def altered_game(
    game_id: str, changes: dict[str, object] | None = None, digest: str | None = None
) -> Game:
    """Returns a game whose rules file differs from the real one in the names of `changes`."""
    module = SimpleNamespace(**{**vars(load_game(game_id).module), **(changes or {})})
    return Game(cast(Rules, module), digest or load_game(game_id).digest)


def failing_rule(*_arguments: object) -> Any:
    """Fails, in place of a rule of a game."""
    raise ZeroDivisionError("a defect of this game")


def decide(
    room: Room,
    actor: Actor,
    command: Command,
    new_id: Callable[[], str],
    now_ms: int | None = None,
    find_absence: FindAbsence = nobody_absent,
    find_game: FindGame = load_game,
) -> list[RoomEvent]:
    """Returns the events that an actor's command makes, by default at the time of the room's last
    event, without chat limits.
    """
    at_ms = room.changed_ms if now_ms is None else now_ms
    moment = Moment(actor, at_ms, at_ms, new_id, SETTINGS, find_game, find_absence)
    return rules.decide(room, command, moment)


class LoggedRoom:
    """A room with its log. `do` and `refuse` give it commands; each has its own id."""

    def __init__(self, find_game: Callable[[str], Game] = load_game) -> None:
        self.find_game = find_game
        self.log: list[tuple[int, bytes]] = []
        self.now_ms = 1_000
        self.find_absence: FindAbsence = nobody_absent
        self._ids = 0
        self._room: Room | None = None

    @property
    def room(self) -> Room:
        assert self._room is not None
        return self._room

    @property
    def match(self) -> Any:
        assert self.room.match is not None
        return self.room.match

    def new_id(self) -> str:
        self._ids += 1
        return f"id{self._ids}"

    def decide(self, actor: Actor, command: Command, room: Room | None = None) -> list[RoomEvent]:
        """Returns the events that a command makes now in the room, or in another state of it."""
        return decide(
            room or self.room,
            actor,
            command,
            self.new_id,
            self.now_ms,
            self.find_absence,
            self.find_game,
        )

    def create(
        self, actor: Actor = ADA, game: str = "tic-tac-toe", **fields: Any
    ) -> list[RoomEvent]:
        """Creates the room; by default Ada has a seat and the other one is open."""
        command = Create(id="c", game=game, **fields)
        events = rules.create(actor, command, self.find_game(game), self.new_id)
        self._append_all(events)
        return events

    def do(self, actor: Actor, command: Command) -> list[RoomEvent]:
        """Executes a command; returns its events."""
        events = decide(
            self.room,
            actor,
            command,
            self.new_id,
            self.now_ms,
            find_absence=self.find_absence,
            find_game=self.find_game,
        )
        assert events, "a command makes events or is rejected"
        self._append_all(events)
        return events

    def refuse(self, actor: Actor, command: Command) -> Code:
        """Gives the room a command that it must reject; returns the code.

        Asserts that the command changed nothing.
        """
        before, v = self.fold(), self.room.v
        with pytest.raises(CommandRejected) as rejected:
            decide(
                self.room,
                actor,
                command,
                self.new_id,
                self.now_ms,
                find_absence=self.find_absence,
                find_game=self.find_game,
            )
        assert self.room.v == v
        assert self.room == before
        assert rejected.value.message
        return rejected.value.code

    def _append_all(self, events: list[RoomEvent]) -> None:
        self.now_ms += 7
        for event in events:
            self.append(event)

    def append(self, event: RoomEvent) -> None:
        """Appends an event to the log without a command."""
        if self._room is None:
            self._room = rules.initial_room(ROOM, event, self.now_ms, self.find_game)
        else:
            self._room = rules.evolve(self._room, event, self.now_ms, self.find_game)
        self.log.append((self.now_ms, format_event_body(event)))

    def fold(self, find_game: Callable[[str], Game] | None = None) -> Room:
        """Returns the room as a server folds it from the log."""
        room: Room | None = None
        for at_ms, body in self.log:
            event = parse_event_body(body)
            if room is None:
                room = rules.initial_room(ROOM, event, at_ms, find_game or self.find_game)
            else:
                room = rules.evolve(room, event, at_ms, find_game or self.find_game)
        assert room is not None
        return room

    # --- shorthand for commands

    def move(self, token: str, ply: int | None = None) -> Move:
        """Returns a move at the next ply, unless another is given."""
        if ply is None:
            ply = self.room.match.ply if self.room.match else 0
        return Move(id="m", ply=ply, move=token)

    def moves(self, tokens: str, first: Actor = ADA, second: Actor = BEN) -> None:
        """Plays moves in turn, from the first ply on."""
        for number, token in enumerate(tokens.split()):
            self.do((first, second)[number % 2], self.move(token))

    def ai_move(self, token: str, **changes: Any) -> AiMove:
        """Returns the AI's move in the current position, unless changed."""
        fields = {
            "id": "ai",
            "match": self.match.id,
            "seat": self.match.position.turn,
            "digest": self.match.digest,
            "move": token,
        }
        return AiMove(**{**fields, **changes})

    def ai_failure(self, **changes: Any) -> AiFailure:
        """Returns the AI's failure in the current position, unless changed."""
        fields = {
            "id": "ai",
            "match": self.match.id,
            "seat": self.match.position.turn,
            "digest": self.match.digest,
            "reason": "it broke",
        }
        return AiFailure(**{**fields, **changes})


def sit(seat: int) -> Sit:
    return Sit(id="s", seat=seat)


def plain(kind: type[Command]) -> Command:
    """Returns a command without fields of its own."""
    return kind(id="p")


def chat(text: str, to: ChatTo = "room") -> Chat:
    return Chat(id="t", text=text, to=to)


def add_ai(seat: int, level: int = 1) -> AddAi:
    return AddAi(id="a", seat=seat, level=level)


def remove_ai(seat: int) -> RemoveAi:
    return RemoveAi(id="a", seat=seat)


def seated(
    find_game: Callable[[str], Game] = load_game, game: str = "tic-tac-toe", **fields: Any
) -> LoggedRoom:
    """Returns a match of Ada against Ben, before the first move."""
    played = LoggedRoom(find_game)
    played.create(ADA, game, **fields)
    played.do(BEN, sit(1))
    return played


AI_SEAT = AiSeat(level=2)
ME, OPEN = MySeat(), OpenSeat()


def created(actor: Any = ADA, game: str = "tic-tac-toe", **fields: Any) -> LoggedRoom:
    played = LoggedRoom()
    played.create(actor, game, **fields)
    return played


def finished(tokens: str = "a1 b1 a2 b2 a3") -> LoggedRoom:
    """Returns a match after these moves; by default Ada has won it."""
    played = seated()
    played.moves(tokens)
    return played
