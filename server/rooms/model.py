"""The immutable state of a room, which `server.rooms.evolve` folds from its log."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from msgspec import Struct

from engine.game import Game, GameFault, Position
from engine.view import SEATS
from server.codes import Code
from server.events import Occupant, Player, RoomEvent
from server.ids import IdentityId, MatchId, RoomId
from server.rooms.clock import Clock, deadline_ms
from server.series import Score
from server.settings import CHAT_STAMPS as CHAT_STAMPS
from server.settings import Settings
from server.time_controls import TimeControl

#: Maximum number of lines of chat in a snapshot, which has the newest. The log has all lines.
SNAPSHOT_CHAT_LINES = 50

#: Maximum number of lines to the room's bot, or of questions to it, whose author and time a room
#: keeps: CHAT_STAMPS of each player and of all spectators, whose limits are apart.
BOT_STAMPS = (SEATS + 1) * CHAT_STAMPS

#: Number of positions before the current one that a match keeps for takebacks. An earlier position
#: is computed from the start.
RECENT_POSITIONS = 4

#: Maximum number of events that a room takes. A running match may exceed it by what ends it.
MAX_EVENTS = 100_000
#: Maximum number of events that it takes after a move, before the next one.
MAX_EVENTS_WITHOUT_MOVE = 2_000

#: The ways in which the players may sit in the next match: for each seat, the one they hold now.
SEAT_ORDERS = ((0, 1), (1, 0))

#: The identity of AI seats and of the server's own commands in the log. People have random
#: identities of 12 characters, so none can equal it.
AI_IDENTITY = IdentityId("ai")
#: The identity of the room's bot.
BOT_IDENTITY = IdentityId("bot")
#: The name of the room's bot, which guests may not have.
BOT_NAME = "Plyroom"


class CommandRejected(Exception):
    """The command is refused and changes nothing; `message` says what was expected."""

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class ActorKind(Enum):
    """The kinds of actors, which may send different commands."""

    PERSON = "person"
    #: An AI seat.
    AI = "ai"
    #: The room's bot.
    BOT = "bot"
    #: The server itself.
    SERVER = "server"


class Actor(Struct, frozen=True):
    """The sender of a command: an identity, with its current name, kind and roles.

    `roles` are for further permissions; no actor has one yet. `since_ms` is the time at which the
    identity was created, in ms since 1970; None if it is unknown.
    """

    identity: IdentityId
    name: str
    kind: ActorKind = ActorKind.PERSON
    roles: frozenset[str] = frozenset()
    since_ms: int | None = None


#: The actor of AI seats.
AI = Actor(AI_IDENTITY, "AI", ActorKind.AI)
#: The actor of the room's bot.
BOT = Actor(BOT_IDENTITY, BOT_NAME, ActorKind.BOT)
#: The actor of the server's other commands.
SERVER = Actor(AI_IDENTITY, "server", ActorKind.SERVER)


class Absence(Struct, frozen=True):
    """A player without a connection to any node, as the node that decides knows it at this moment.

    The player has been gone for long enough in `left_ms`, and the node is sure of it in
    `sure_in_ms`: until then it may not have learned of a return. 0 means now. `sure_in_ms` is None
    as long as the node might not learn of a return at all. Durations, not times: no clock of the
    room decides on them.
    """

    left_ms: int
    sure_in_ms: int | None

    @property
    def claimable_in_ms(self) -> int | None:
        """The time until the opponent may claim, 0 for now; None if this node cannot tell."""
        return None if self.sure_in_ms is None else max(self.left_ms, self.sure_in_ms)


#: Returns the game with an id, or raises UnknownGame.
FindGame = Callable[[str], Game]

#: Returns the present absence of a player; None for a player who is connected.
FindAbsence = Callable[[IdentityId], Absence | None]


def nobody_absent(_identity: IdentityId) -> None:
    """Returns None: every player counts as connected. A FindAbsence."""


class Viewer(Struct, frozen=True):
    """The role of an identity in a room: the seat that it holds, and whether it is the host.

    `absence` is that of the opponent; `viewer_with_absence` fills it in.
    """

    identity: IdentityId
    seat: int | None
    is_host: bool
    absence: Absence | None = None


class QuestionKind(Struct, frozen=True):
    """How a question to the room's bot is treated.

    Only the asker sees a `private` one that is for the bot alone, because its answer is private
    too. A `cheap` one needs no search.
    """

    private: bool = True
    cheap: bool = False


#: The kind of a question, by its command and the room and the person it comes from.
KindOfQuestion = Callable[["Room", "Viewer", str], QuestionKind]


def private_question(room: "Room", viewer: "Viewer", command: str) -> QuestionKind:
    """The kind of every question where no commands are known: private, and not cheap."""
    return QuestionKind()


class Moment(Struct, frozen=True):
    """The context of a command: its actor and time, the source of new ids, the settings, the games
    of this server, and who is connected.

    `received_ms` is the time at which the command arrived at this node, before any queue. Both
    times are in ms since 1970. Connections are not in the log, so `find_absence` gives the view of
    this node. `kind_of_question` knows the bot's commands.
    """

    actor: Actor
    now_ms: int
    received_ms: int
    new_id: Callable[[], str]
    settings: Settings
    find_game: FindGame
    find_absence: FindAbsence = nobody_absent
    kind_of_question: KindOfQuestion = private_question


class Played(Struct, frozen=True):
    """One move of a match. The fields mean the same as in `Moved`.

    `text` and `number` are filled in for old logs too, unless this server no longer has the game.
    `seat` is None where it is the ply modulo 2.
    """

    move: str
    text: str | None = None
    number: str | None = None
    forced: bool = False
    seat: int | None = None


class TakebackOffer(Struct, frozen=True):
    """A player's open request to take moves back, in the match's current position.

    `to_ply` is the ply to which the match would return.
    """

    seat: int
    to_ply: int


class NextOffer(Struct, frozen=True):
    """A player's open proposal of the next game, with the version of its event.

    The other fields mean the same as in `Offered`.
    """

    v: int
    seat: int
    game: str
    options: Mapping[str, str]
    seats: tuple[int, ...]
    level: int | None
    title: str
    options_text: str = ""
    clock: str | None = None


class Substitution(Struct, frozen=True):
    """From the move at `ply` on, `occupant` played the seat: an AI for a player who had gone, or
    the player again.
    """

    ply: int
    seat: int
    occupant: Occupant


class MatchResult(Struct, frozen=True, omit_defaults=True):
    """The result of a match. The fields mean the same as in `Finished`.

    `substitutions` are those of the match. They are filled in for the list of matches only.
    """

    winner: int | None
    how: str
    reason: str
    points: tuple[int, int] | None = None
    substitutions: tuple[Substitution, ...] = ()
    clocks_ms: tuple[int, int] | None = None


#: The `to` of a line of chat that only its author sees.
AUTHOR_ONLY = "author"


class ChatLine(Struct, frozen=True):
    """One line of chat with the version and the time of its event."""

    v: int
    at_ms: int
    name: str
    text: str
    to: str = "room"
    identity: str = ""
    #: `bot` for a line of the room's bot, which answers the line with the version `answers`.
    by: str = ""
    answers: int | None = None
    #: Whether clients may show the addresses in the line as links.
    links: bool = False

    @property
    def is_private(self) -> bool:
        """Whether only the author sees the line."""
        return self.to == AUTHOR_ONLY


class Match(Struct, frozen=True):
    """One match, of the game that is the room's while it is the last one.

    `start` is the start position as text, `rules` the digest of the rules, `digest` that of the
    position, and `first_v` the version of the match's `started` event. `position` is None when the
    rules are missing or have changed; the moves are then only text. `turn` is the seat to move in
    the position, and `turn_started_ms` the time since which it is that seat's turn.
    """

    id: MatchId
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
    #: The ply at which each seat last asked for a takeback; -1 for never since the last takeback.
    takeback_requests: tuple[int, ...] = (-1,) * SEATS
    #: The seat that moves first.
    first_seat: int = 0
    turn: int = 0
    turn_started_ms: int = 0
    #: Where an AI played on for a player who had gone, and where the player returned.
    substitutions: tuple[Substitution, ...] = ()
    #: The positions before the current one, the newest last, at most RECENT_POSITIONS.
    recent: tuple[Position, ...] = ()
    #: Who may see an AI's thinking while the match is running; see `server.rooms.thinking`.
    thinking: str = "all"
    #: The clocks of both sides; None in a match without a time control.
    clock: Clock | None = None

    @property
    def ply(self) -> int:
        """The number of moves played."""
        return len(self.moves)

    def last_ply_of(self, seat: int | None) -> int | None:
        """The ply of the last move that a seat chose itself; of either seat for None. None if there
        is none.
        """
        for ply in range(len(self.moves) - 1, -1, -1):
            if not self.moves[ply].forced and seat in (None, self.mover(ply)):
                return ply
        return None

    def mover(self, ply: int) -> int:
        """The seat that made the move at a ply."""
        seat = self.moves[ply].seat
        return ply % 2 if seat is None else seat


class ChatStamp(Struct, frozen=True):
    """The author and time of a line of chat, for the chat's rate limits."""

    identity: IdentityId
    at_ms: int


class Room(Struct, frozen=True):
    """A room at version `v`.

    `game`, `game_id` and `options` are those of the last match, and of the next one unless a player
    proposes another. `game` is None when this server does not have it. `frozen` says why the room
    can only be read; it is None when the room can be played.
    """

    id: RoomId
    v: int
    game: Game | None
    game_id: str
    options: Mapping[str, str]
    visibility: str
    host: IdentityId
    created_ms: int
    changed_ms: int
    #: The position from which the matches start, as text; None for the game's own start.
    start: str | None = None
    #: Whether one player holds both seats.
    one_screen: bool = False
    #: Whether players may take moves back.
    takeback: bool = True
    seats: tuple[Occupant | None, ...] = (None,) * SEATS
    match: Match | None = None
    #: The seats that have an open offer of a draw or a rematch.
    offers: tuple[int, ...] = ()
    takeback_offers: tuple[TakebackOffer, ...] = ()
    chat: tuple[ChatLine, ...] = ()
    #: Authors and times of the last CHAT_STAMPS lines of chat that others see.
    chat_stamps: tuple[ChatStamp, ...] = ()
    frozen: Code | None = None
    #: The setting of the next matches, like `Match.thinking`.
    thinking: str = "all"
    #: Whether the results count for ratings.
    rated: bool = False
    #: Whether the room gives help with positions while two people play each other.
    help: bool = False
    #: The people whose lines of chat the room refuses.
    muted: tuple[Player, ...] = ()
    #: The people who may not sit in this room any more.
    barred: tuple[Player, ...] = ()
    #: The seated people, besides the host, since whose arrival not both sides have moved.
    newcomers: tuple[IdentityId, ...] = ()
    #: Authors and times of the last BOT_STAMPS questions to the room's bot that are not cheap.
    question_stamps: tuple[ChatStamp, ...] = ()
    #: Authors and times of the last BOT_STAMPS lines that only their authors see.
    private_stamps: tuple[ChatStamp, ...] = ()
    #: The version of the last `moved` event; 0 before the first.
    moved_v: int = 0
    #: The open proposal of the next game.
    next_offer: NextOffer | None = None
    #: Whether the log says that the matches of the room may be of different games.
    requires_games: bool = False
    #: The points of the players against each other, over all matches of the room.
    series: tuple[Score, ...] = ()
    #: The time control of the next matches; None for none.
    control: TimeControl | None = None
    #: Whether the log says that the room requires clocks.
    requires_clock: bool = False

    @property
    def is_full(self) -> bool:
        """Whether the room has as many events as it takes, in all or without a move."""
        return self.v >= MAX_EVENTS or self.v - self.moved_v >= MAX_EVENTS_WITHOUT_MOVE

    @property
    def read_only(self) -> Code | None:
        """The code of the reason why the room can only be read; None if it can be played.

        A full room is played until its running match ends.
        """
        if self.frozen is None and self.is_full and self.running_match is None:
            return Code.ROOM_FULL
        return self.frozen

    @property
    def running_match(self) -> Match | None:
        """The running match, or None."""
        return self.match if self.match is not None and self.match.over is None else None

    def seat_of(self, identity: IdentityId) -> int | None:
        """The seat that a person's identity holds, or None. It is never an AI seat."""
        for number, occupant in enumerate(self.seats):
            if occupant is not None and occupant.identity == identity and occupant.kind != "ai":
                return number
        return None

    def acting_seat(self, identity: IdentityId) -> int | None:
        """The seat for which a person's identity acts, or None: its own, and on one screen the seat
        to move.
        """
        seat = self.seat_of(identity)
        if seat is None or not self.one_screen or self.match is None:
            return seat
        return self.match.turn

    def kept_seat(self, identity: IdentityId) -> int | None:
        """The seat that an AI keeps for a person's identity, or None."""
        for number, occupant in enumerate(self.seats):
            player = None if occupant is None else occupant.kept_for
            if player is not None and player.identity == identity:
                return number
        return None

    def has_player(self, identity: IdentityId) -> bool:
        """Whether an identity holds a seat, or an AI keeps one for it."""
        return self.seat_of(identity) is not None or self.kept_seat(identity) is not None

    def player_name(self, identity: IdentityId) -> str | None:
        """The name that the seat of a player shows, also while an AI keeps it.

        None without a seat, and where each seat has a name of its own.
        """
        for occupant in self.seats:
            if occupant is None or occupant.own_name:
                continue
            if occupant.identity == identity and occupant.kind != "ai":
                return occupant.name
            if occupant.kept_for is not None and occupant.kept_for.identity == identity:
                return occupant.kept_for.name
        return None

    def is_muted(self, identity: IdentityId) -> bool:
        """Whether the host has muted a person."""
        return any(person.identity == identity for person in self.muted)

    def is_barred(self, identity: IdentityId) -> bool:
        """Whether a person may not sit in this room any more."""
        return any(person.identity == identity for person in self.barred)

    @property
    def has_ai(self) -> bool:
        """Whether an AI holds a seat."""
        return "ai" in [occupant.kind for occupant in self.seats if occupant is not None]

    @property
    def needs_search(self) -> bool:
        """Whether an AI holds a seat at a level or as a persona, not by a strategy."""
        occupants = [occupant for occupant in self.seats if occupant is not None]
        return any(seat.kind == "ai" and seat.strategy is None for seat in occupants)

    def ai_to_move(self) -> int | None:
        """The seat to move, if an AI holds it and this server can play the match; else None."""
        match = self.running_match
        if match is None or match.position is None or self.frozen is not None:
            return None
        return match.turn if match.seats[match.turn].kind == "ai" else None

    def ai_to_answer_draw(self) -> int | None:
        """The AI seat that must answer a draw offer, or None."""
        match = self.running_match
        if match is None or not self.offers or self.frozen is Code.ROOM_NEWER:
            return None
        seat = 1 - self.offers[0]
        return seat if match.seats[seat].kind == "ai" else None

    def forced_pass(self) -> str | None:
        """The move that the server plays if the person to move can only pass; else None."""
        match = self.running_match
        if match is None or match.position is None or self.frozen is not None:
            return None
        if match.seats[match.turn].kind == "ai":
            return None
        try:
            return match.position.forced_pass()
        except GameFault:  # `turn_message` logs the same fault
            return None

    def flag_ms(self) -> int | None:
        """The time at which the side to move runs out of time; None for never.

        An AI's flag never falls, nor that of a side that can only pass.
        """
        return None if self.forced_pass() is not None else self._clock_deadline_ms()

    def _clock_deadline_ms(self) -> int | None:
        """The time at which the clock of the side to move runs out, if it can make a move."""
        match = self.running_match
        if match is None or match.clock is None or match.position is None or self.frozen:
            return None
        return None if match.seats[match.turn].kind == "ai" else deadline_ms(match.clock)

    def next_deadline_ms(self, pass_after_ms: int) -> int | None:
        """The time at which a `Tick` makes events; None for never.

        A forced pass is due `pass_after_ms` after the turn began, so that people can see the
        position.
        """
        if self.match is None:
            return None
        if self.forced_pass() is None:
            return None if self.match.clock is None else self._clock_deadline_ms()
        return self.match.turn_started_ms + pass_after_ms

    def due_ms(self, pass_after_ms: int) -> int | None:
        """The time at which a node must have the room in memory; None for never.

        An AI's move and its answer to an offer are due at once, anything else at the next deadline.
        """
        if self.ai_to_move() is not None or self.ai_to_answer_draw() is not None:
            return self.changed_ms
        return self.next_deadline_ms(pass_after_ms)


#: A function that returns the events that a command makes in a room, or raises CommandRejected.
Rule = Callable[[Room, Any, Moment], list[RoomEvent]]
