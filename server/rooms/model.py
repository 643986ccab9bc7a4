"""The immutable values that make up a room, which `rules.evolve` folds from its log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec import Struct

from engine.game import Game, GameFault, Position
from server.protocol.codes import Code
from server.protocol.messages import (
    ChatLine,
    MatchResult,
    MatchState,
    Occupant,
    Played,
    RoomCommand,
    Visibility,
)
from server.settings import CHAT_STAMPS as CHAT_STAMPS

#: Seats of a room.
SEATS = 2
#: Lines of chat that a snapshot carries. The log has them all.
SNAPSHOT_CHAT_LINES = 50

#: The identity of AI seats and of the server's own commands. Clients' identities are random, so
#: none can equal it.
AI_IDENTITY = "ai"


class CommandRejected(Exception):
    """The command is refused and changes nothing; `message` says what was expected."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(frozen=True, slots=True)
class Actor:
    """The sender of a command, with the name that it has at that time."""

    identity: str
    name: str


@dataclass(frozen=True, slots=True)
class Moment:
    """The circumstances of a command: who gives it, when, and where new ids come from.

    `received_ms` is the time at which it arrived at this node, before any queue. Both times are in
    ms since 1970.
    """

    actor: Actor
    now_ms: int
    received_ms: int
    new_id: Callable[[], str]


@dataclass(frozen=True, slots=True)
class ForcedPass:
    """The server's own command: passes for a person who has no other move.

    `digest` is that of the position, as in the commands below.
    """

    id: str
    match: str
    seat: int
    digest: str
    move: str


@dataclass(frozen=True, slots=True)
class AiFailure:
    """The server's own command: the AI seat found no move in the position with that digest."""

    id: str
    match: str
    seat: int
    digest: str
    reason: str


@dataclass(frozen=True, slots=True)
class AiMove:
    """The server's own command: the AI seat's move in the position with that digest."""

    id: str
    match: str
    seat: int
    digest: str
    move: str

    def to_failure(self, reason: str) -> AiFailure:
        """The command that ends the match instead, when this move cannot be played."""
        return AiFailure(self.id, self.match, self.seat, self.digest, reason)


@dataclass(frozen=True, slots=True)
class AiReply:
    """The server's own command: the AI seat's answer to an offer of a draw."""

    id: str
    match: str
    seat: int
    accept: bool


#: Every command that a room decides: the clients' and the server's own.
Command = RoomCommand | AiMove | AiFailure | AiReply | ForcedPass


class Match(Struct, frozen=True):
    """One match of the room's game.

    `start` is the start position as text, `rules` the digest of the rules, `digest` that of the
    position, and `first_v` the version of the match's `started` event. `position` is None when the
    rules are missing or have changed. The moves are then only text.
    """

    id: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]
    position: Position | None
    digest: str
    first_v: int
    started_ms: int
    moves: tuple[Played, ...] = ()
    over: MatchResult | None = None
    #: The ply at which each seat last offered a draw; -1 for never.
    draw_offers: tuple[int, ...] = (-1,) * SEATS
    #: The seat that moves first.
    first_seat: int = 0

    @property
    def ply(self) -> int:
        """The number of moves played."""
        return len(self.moves)

    def state(self) -> MatchState:
        """The match as clients receive it."""
        return MatchState(
            id=self.id, number=self.number, start=self.start, rules=self.rules,
            seats=self.seats, moves=self.moves, over=self.over,
        )  # fmt: skip


class ChatStamp(Struct, frozen=True):
    """The author and time of a line of chat, for the chat's rate limits."""

    identity: str
    at_ms: int


class ChatLimits(Struct, frozen=True):
    """The most lines of chat within the window of `server.rooms.chat`: of one identity, and of all
    in the room; 0 means no limit.
    """

    lines: int
    room_lines: int


class Room(Struct, frozen=True):
    """A room at version `v`.

    `game` is None when this server does not have it. `frozen` says why the room can only be read;
    it is None when the room can be played.
    """

    id: str
    v: int
    game: Game | None
    game_id: str
    options: Mapping[str, str]
    visibility: Visibility
    host: str
    created_ms: int
    changed_ms: int
    seats: tuple[Occupant | None, ...] = (None,) * SEATS
    match: Match | None = None
    #: The seats whose offer of a draw or of a rematch is open.
    offers: tuple[int, ...] = ()
    chat: tuple[ChatLine, ...] = ()
    #: Authors and times of the last CHAT_STAMPS lines of chat.
    chat_stamps: tuple[ChatStamp, ...] = ()
    frozen: Code | None = None

    @property
    def playing(self) -> Match | None:
        """The running match, or None."""
        return self.match if self.match is not None and self.match.over is None else None

    def seat_of(self, identity: str) -> int | None:
        """The seat that an identity holds, or None. AI seats belong to no identity."""
        for number, occupant in enumerate(self.seats):
            if occupant is not None and occupant.identity == identity and occupant.kind != "ai":
                return number
        return None

    @property
    def has_ai(self) -> bool:
        """Whether an AI holds a seat."""
        return "ai" in [occupant.kind for occupant in self.seats if occupant is not None]

    def ai_to_move(self) -> int | None:
        """The seat to move, if an AI holds it and this server can play the match; else None."""
        match = self.playing
        if match is None or match.position is None or self.frozen is not None:
            return None
        seat = match.position.turn
        return seat if match.seats[seat].kind == "ai" else None

    def ai_to_answer_draw(self) -> int | None:
        """The AI seat that must answer an offer of a draw, or None."""
        match = self.playing
        if match is None or not self.offers:
            return None
        seat = 1 - self.offers[0]
        return seat if match.seats[seat].kind == "ai" else None

    def forced_pass(self) -> ForcedPass | None:
        """The pass that the server plays when the person to move has no other move; else None."""
        match = self.playing
        if match is None or match.position is None or self.frozen is not None:
            return None
        seat = match.position.turn
        try:
            token = match.position.forced_pass() if match.seats[seat].kind != "ai" else None
        except GameFault:  # `turn_message` logs the same fault
            return None
        return (
            ForcedPass(f"pass:{match.id}:{self.v}", match.id, seat, match.digest, token)
            if token
            else None
        )

    def due_ms(self) -> int | None:
        """The room's wake-up time: `changed_ms` if an AI's answer or a pass is due, else None."""
        is_due = (
            self.ai_to_move() is not None
            or self.ai_to_answer_draw() is not None
            or self.forced_pass() is not None
        )
        return self.changed_ms if is_due else None
