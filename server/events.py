"""The events of a room's log, and the form in which a log stores them and clients receive them.

An event is a fact that is written once and never changed. Its stored form is JSON: an object with
`kind` and the event's own fields. Protocol version 1 sends that object to clients as it is, inside
an `event` frame, so an event is encoded once, when it is appended. Rooms, the store, the protocol
and the clients use these types; the page about the protocol has their docstrings.

Programs of several versions share a log. An event that this version cannot read, because a newer
one wrote it, becomes `Unknown`: it is stored and sent unchanged, and the room can then only be
read.
"""

from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

#: A word from a set that may grow. The event's docstring lists the words of this version; a newer
#: server may write others.
Word = Annotated[str, Meta(max_length=24)]


class Player(Struct, frozen=True):
    """A person, with the name at that time."""

    identity: str
    name: str


class Occupant(Struct, frozen=True, omit_defaults=True):
    """The holder of a seat: a player with the name they had, or the AI at a level, as a persona
    or by a strategy.

    `kind` is `guest` or `ai`. `depth`, in plies, and `evaluator` are those of the strategy. An AI
    that plays on for a player who has gone keeps the seat for that player, `kept_for`. `own_name`
    says that the name is the seat's own, on one screen, and not that of the identity.
    """

    identity: str
    name: str
    kind: Word = "guest"
    level: int | None = None
    persona: str | None = None
    strategy: str | None = None
    depth: int | None = None
    evaluator: str | None = None
    kept_for: Player | None = None
    own_name: bool = False


class Event(Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """An event of a room. The room's log numbers its events v = 1, 2, 3, …"""


class Created(Event, frozen=True, tag="created"):
    """The room was created. Always the first event of the log, v = 1.

    - `visibility` is `public` or `unlisted`.
    - `start` is the position, as text, from which the room's matches start; null for the game's
      own start.
    - `one_screen` says that one player holds both seats.
    - `takeback` says whether players may take moves back.
    - `rated` says that the results count for ratings. No command of this version sets it.
    - `help` says whether the room gives help with positions while two people play each other.
    - `clock` is the text of the matches' time control (`server.time_controls`), null for none.
    """

    game: str
    options: dict[str, str]
    visibility: Word
    host: str
    start: str | None = None
    one_screen: bool = False
    takeback: bool = True
    rated: bool = False
    help: bool = False
    clock: str | None = None


class Required(Event, frozen=True, tag="required"):
    """From now on the room needs a capability of the server's program.

    A program that does not define `what` shows the room, but does not play it. `what` is
    `strategies`: a strategy may hold a seat; `start`, `one_screen` or `rated`: those fields of
    `created`; `games`: the room's matches may be of different games; `own_names`: a seat may have
    a name of its own; `clock`: the room's matches may have clocks.
    """

    what: Word


class Configured(Event, frozen=True, tag="configured"):
    """The host chose settings of the room. They apply to matches that start later.

    - `thinking` says who may see an AI's thinking while a match is running: `all`, `spectators`, or
      `after` (nobody before the match is over).
    - `help` is as in `created`; null leaves it as it was.
    - `clock` is as in `created`, `-` for no clock; null leaves it as it was.
    """

    thinking: Word
    help: bool | None = None
    clock: str | None = None


class SeatTaken(Event, frozen=True, tag="seat_taken"):
    """A player or the AI took a seat."""

    seat: int
    occupant: Occupant


class SeatLeft(Event, frozen=True, tag="seat_left"):
    """A seat became free."""

    seat: int


class Started(Event, frozen=True, tag="started"):
    """A match started.

    `number` counts the matches of the room, `start` is the start position as text, and `rules` is
    the digest of the game's rules. `thinking` is the room's setting, which this match keeps.

    Where the match is of another game than the one before, or has other options, `game` and
    `options` are those of the match and, from now on, of the room; the room's matches then start
    from the game's own start. `title` is the game's name for people.

    `clock` is the match's time control, null for none, and `clocks_ms` what both sides start with.
    `first_ms` is the time for the first turn of each side, which no clock counts; null for a tenth
    of the base of the clock, at least 10 s and at most 30 s.
    """

    match: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]
    thinking: Word = "all"
    game: str | None = None
    options: dict[str, str] | None = None
    title: str | None = None
    clock: str | None = None
    clocks_ms: tuple[int, int] | None = None
    first_ms: int | None = None


class Moved(Event, frozen=True, tag="moved"):
    """A move was played.

    - `ply` counts from 0.
    - `move` is the move's token, as in the `move` command.
    - `digest` identifies the position after the move.
    - `text` is the move's notation ("Bc4"), null in games without a notation of their own and in
      old logs.
    - `number` is the label in a move list, null in old logs: "3." and "3..." in games where both
      sides' moves share a number, "6." in games where each move has its own.
    - `forced` marks a pass that the server played for a person who had no other move.

    In a match with a clock, and null in others:

    - `clock_ms` is the time that the mover has left, with what the end of the turn gave.
    - `spent_ms` is the time that the move took, as the clock counts it. `lag_ms` and `credit_ms`
      are time that passed and costs nothing: of the network, and of the server.
    - `stage` is the mover's stage of the control, and the number of stages in overtime. `periods`
      are the periods of byo-yomi after the present one, or the turns to go to the next stage or in
      a block of Canadian overtime. Only a control that has them gives them.
    - `goes_on` says that the mover's turn goes on with another move.
    """

    match: str
    ply: int
    seat: int
    move: str
    digest: str
    text: str | None = None
    clock_ms: int | None = None
    number: str | None = None
    forced: bool = False
    spent_ms: int | None = None
    lag_ms: int = 0
    credit_ms: int = 0
    stage: int | None = None
    periods: int | None = None
    goes_on: bool = False


#: How this version ends a match; see Finished.
Termination = Literal[
    "board", "resign", "abort", "failure", "claim", "agreement", "gone", "flag", "noshow"
]


class Finished(Event, frozen=True, tag="finished"):
    """The match ended.

    `winner` is a seat, or null when nobody won; `reason` is a sentence for people.

    `how` is `board` when the game's rules ended the match, `resign`, `abort`, `claim` for a claimed
    draw, `agreement` for an agreed one, `failure` when the AI could not move, and `gone` when a
    player claimed the win or a draw because the opponent had gone. It is `flag` when a side's time
    ran out, which the opponent wins, or nobody if the opponent cannot win by the rules; and
    `noshow` when a side did not finish its first turn in time, which has no result.

    `points` are those of both seats, if the match ended on the board of a game with points: in
    Othello the discs, with the empty cells for the winner. Old logs have none, or discs alone.

    `clocks_ms` are the times that both sides have left in a match with a clock; 0 for a side whose
    time ran out.
    """

    match: str
    winner: int | None
    how: Word
    reason: str
    points: tuple[int, int] | None = None
    clocks_ms: tuple[int, int] | None = None


class TookBack(Event, frozen=True, tag="took_back"):
    """A player took moves back: the match goes on at ply `to_ply`.

    The log keeps the moves that were taken back; the next `moved` has their ply again. `seat` is
    the player who wanted it, and `digest` identifies the position. Every open offer lapses.

    `clocks_ms` are the times that both sides have left in a match with a clock, and `stages` and
    `periods` those of both sides, as in `moved`. `used_ms` is the time that the turn which is
    played again has used before.
    """

    match: str
    to_ply: int
    seat: int
    digest: str
    clocks_ms: tuple[int, int] | None = None
    stages: tuple[int, int] | None = None
    periods: tuple[int, int] | None = None
    used_ms: int = 0


class TimeAdded(Event, frozen=True, tag="time_added"):
    """A player gave the opponent time: `ms` more for the side of `seat`."""

    match: str
    seat: int
    ms: int


class Held(Event, frozen=True, tag="held"):
    """The match's clock stands since `since_ms`.

    `why` is `outage` when the server was not there, `maintenance`, or `clock` when the time of day
    was not to be trusted.
    """

    match: str
    why: Word
    since_ms: int


class Released(Event, frozen=True, tag="released"):
    """The match's clock runs again from `from_ms` on.

    `clocks_ms` are the times of both sides, and `stages` and `periods` those of both, as in
    `moved`: before the clock stood, the side to move may have begun a period.
    """

    match: str
    clocks_ms: tuple[int, int]
    from_ms: int
    stages: tuple[int, int] | None = None
    periods: tuple[int, int] | None = None


class Offered(Event, frozen=True, tag="offered"):
    """A player offered a draw or a rematch, proposed the next game, or asked to take a move back.

    An offer of a draw lapses when the opponent moves or a move is taken back, a takeback with any
    change of the position. A proposal of the next game replaces an earlier one; the version of this
    event names it in `accept`.

    `what` is `rematch`, `draw`, `takeback` or `next`. `to_ply` is the ply to which a takeback would
    return. The other fields are those of the command `next_game`, and null for other offers: the
    `game` with its `options`, and in `seats`, for each seat of the match, the seat that its player
    holds now. `title` is the game's name for people, and `options_text` are its options in words.
    `clock` is the text of the time control, `-` for none; null leaves it as it was.
    """

    seat: int
    what: Word = "rematch"
    to_ply: int | None = None
    game: str | None = None
    options: dict[str, str] | None = None
    seats: tuple[int, ...] | None = None
    level: int | None = None
    title: str | None = None
    options_text: str | None = None
    clock: str | None = None


class Declined(Event, frozen=True, tag="declined"):
    """The offer was declined or withdrawn. `what` is that of the offer."""

    seat: int
    what: Word = "rematch"


class AiTookOver(Event, frozen=True, tag="ai_took_over"):
    """The AI plays on for a player who has gone, from the move at `ply` on.

    It keeps the seat for the player in `occupant.kept_for`, who may take it back until the match
    ends. At the end the seat is the player's again.
    """

    match: str
    seat: int
    ply: int
    occupant: Occupant


class PlayerReturned(Event, frozen=True, tag="player_returned"):
    """The player took the seat back from the AI, and plays from the move at `ply` on."""

    match: str
    seat: int
    ply: int
    occupant: Occupant


class Renamed(Event, frozen=True, tag="renamed"):
    """A player changed their name. The seats that they hold, or that an AI keeps for them, show the
    new name from now on.
    """

    identity: str
    name: str


class Muted(Event, frozen=True, tag="muted"):
    """The host muted a person, whose lines of chat the room then refuses.

    `name` is the person's name at that time.
    """

    identity: str
    name: str


class Unmuted(Event, frozen=True, tag="unmuted"):
    """The host unmuted a person. The fields are those of `muted`."""

    identity: str
    name: str


class Barred(Event, frozen=True, tag="barred"):
    """The host kept a seat for someone else: the person left it and may not sit in this room again.

    The person may still watch. `name` is the person's name at that time.
    """

    identity: str
    name: str


class Said(Event, frozen=True, tag="said"):
    """A line of chat.

    - `to` is `room`, `spectators`, or `author` for a question to the room's bot that nobody else
      sees.
    - `by` is `bot` for a line of the room's bot, and empty for one of a person. `answers` is then
      the version of the line that it answers.
    - `links` says whether clients may show the addresses in the line as links.
    - `cheap` says that the line is a question to the bot that needs no search.
    """

    identity: str
    name: str
    text: str
    to: Word = "room"
    by: Word = ""
    answers: int | None = None
    links: bool = False
    cheap: bool = False


#: The capabilities that `Required` names and this version has.
STRATEGIES, START, ONE_SCREEN, RATED = "strategies", "start", "one_screen", "rated"
GAMES, OWN_NAMES, CLOCK = "games", "own_names", "clock"
CAPABILITIES = frozenset({STRATEGIES, START, ONE_SCREEN, RATED, GAMES, OWN_NAMES, CLOCK})


class Hidden(Event, frozen=True, tag="hidden"):
    """A placeholder for an event that this viewer may not see.

    It keeps the numbering without gaps and is never in the log.
    """


class Unknown(Struct, frozen=True):
    """An event of a newer version, of a kind or with fields that this version does not define.

    `raw` is its stored form.
    """

    kind: str
    raw: bytes


#: Every event that this version writes.
KnownEvent = (
    Created
    | Required
    | Configured
    | SeatTaken
    | SeatLeft
    | Started
    | Moved
    | TookBack
    | TimeAdded
    | Held
    | Released
    | Finished
    | Offered
    | Declined
    | AiTookOver
    | PlayerReturned
    | Renamed
    | Muted
    | Unmuted
    | Said
    | Barred
)
#: Every event that a log may contain.
RoomEvent = KnownEvent | Unknown
#: Every event that a client of this version can read.
AnyEvent = KnownEvent | Hidden

_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], KnownEvent] = msgspec.json.Decoder(KnownEvent).decode


def format_event_body(event: RoomEvent) -> bytes:
    """Formats an event as the log stores it: an object with `kind` and the event's own fields."""
    return event.raw if type(event) is Unknown else _encode(event)


def parse_event_body(body: bytes) -> RoomEvent:
    """Parses an event that this version or a newer one has formatted with `format_event_body`.

    Raises msgspec.DecodeError or UnicodeDecodeError unless it is a JSON object with a `kind`.
    """
    try:
        return _decode(body)
    except msgspec.ValidationError:
        fields = msgspec.json.decode(body)
        kind = fields.get("kind") if isinstance(fields, dict) else None
        if not isinstance(kind, str):
            raise
        return Unknown(kind, body)
