"""The wire, version 1: every message that crosses a WebSocket, and its limits.

One JSON object a text frame, told apart by `t`. A command carries an `id` made by the client and is
answered by exactly one `ack` or `error` with that id; an ack of a command that changes a room means
that its events are committed. How messages are read and written: `server.protocol.codec`. Pure: no
sockets, no clock.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from engine.search.job import Persona, RootMove
from engine.view import BoardView, MoveView, PositionView
from server.protocol.codes import Code

PROTOCOL = 1
MAX_FRAME_BYTES = 8192
MAX_DEPTH = 8
MAX_NAME = 24
MAX_CHAT = 400
MAX_MOVE = 64
SEATS = 2

Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
#: SQLite's JSON functions end a text at NUL, and PostgreSQL takes none: ids that differ behind it
#: would be one.
NO_NUL = "^[^\\x00]*$"
CommandId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=36,
        pattern=NO_NUL,
        description="made by the client, unique per room and identity",
    ),
]
RoomId = Annotated[str, Meta(min_length=1, max_length=24, pattern=NO_NUL)]
SeatNumber = Annotated[int, Meta(ge=0, lt=SEATS)]
Level = Annotated[int, Meta(ge=1, le=8)]
Visibility = Literal["public", "unlisted"]
ChatTo = Literal["room", "spectators"]


# --- what clients send ------------------------------------------------------------------------------------------------


class Incoming(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message from a client."""


class Hello(Incoming, frozen=True, tag="hello"):
    """The first message. Without a token (and without the browser's cookie)
    a guest is made and its secret token returned once.
    """

    protocol: int
    token: Annotated[str, Meta(max_length=128)] | None = None
    name: Annotated[str, Meta(max_length=200)] | None = None


class Ping(Incoming, frozen=True, tag="ping"):
    """Answered by a pong; any message within 20 s keeps the connection alive."""

    id: CommandId | None = None


class MySeat(Struct, frozen=True, tag_field="who", tag="me"):
    """The creator sits here."""


class OpenSeat(Struct, frozen=True, tag_field="who", tag="open"):
    """Whoever comes first sits here."""


class AiSeat(Struct, frozen=True, tag_field="who", tag="ai"):
    """The AI sits here: at one of the game's levels, or as a persona."""

    level: Level | None = None
    persona: Persona | None = None


class Create(Incoming, frozen=True, tag="create", kw_only=True):
    """Makes a room; the match starts as soon as both seats are filled. The ack names the room."""

    id: CommandId
    game: Annotated[str, Meta(max_length=64)]
    options: Annotated[
        dict[Annotated[str, Meta(max_length=40)], Annotated[str, Meta(max_length=200)]],
        Meta(max_length=16),
    ] = {}
    visibility: Visibility = "public"
    seats: Annotated[
        tuple[MySeat | OpenSeat | AiSeat, ...], Meta(min_length=SEATS, max_length=SEATS)
    ] = (
        MySeat(),
        OpenSeat(),
    )


class RoomCommand(Incoming, frozen=True, kw_only=True):
    """A message about one room."""

    id: CommandId
    room: RoomId


class Join(RoomCommand, frozen=True, tag="join", kw_only=True):
    """Starts (or catches up) following a room:
    `joined`, a `snapshot` when since is 0, too old or of another epoch, then every later event.
    """

    since: Count = 0
    epoch: Annotated[str, Meta(max_length=36)] | None = None


class Leave(RoomCommand, frozen=True, tag="leave"):
    """Stops following a room; a seat stays taken."""


class Sit(RoomCommand, frozen=True, tag="sit", kw_only=True):
    """Takes an empty seat."""

    seat: SeatNumber


class Stand(RoomCommand, frozen=True, tag="stand"):
    """Gives up one's seat, while no match is running."""


class AddAi(RoomCommand, frozen=True, tag="add_ai", kw_only=True):
    """The host puts the AI on an empty seat: at one of the game's levels, or as a persona."""

    seat: SeatNumber
    level: Level | None = None
    persona: Persona | None = None


class RemoveAi(RoomCommand, frozen=True, tag="remove_ai", kw_only=True):
    """The host takes the AI off a seat, while no match is running."""

    seat: SeatNumber


class Move(RoomCommand, frozen=True, tag="move", kw_only=True):
    """Plays a move; ply is the number of moves already played, so that a late move cannot land in
    another position.
    """

    ply: Count
    move: Annotated[str, Meta(max_length=MAX_MOVE)]


class Resign(RoomCommand, frozen=True, tag="resign"):
    """Gives the running match up."""


class Abort(RoomCommand, frozen=True, tag="abort"):
    """Ends a match without a result: a player before the second move, or the host when only AI
    seats play.
    """


class Rematch(RoomCommand, frozen=True, tag="rematch"):
    """Offers another match with sides swapped, or accepts that offer;
    against an AI, or as host of an AI match, it starts at once.
    """


class Claim(RoomCommand, frozen=True, tag="claim"):
    """Claims a draw that the rules allow the player to move to claim; `turn` says whether there is
    one.
    """


class OfferDraw(RoomCommand, frozen=True, tag="offer_draw"):
    """Offers a draw, or accepts the other side's offer; it stands until the other side moves or
    declines.
    """


class Accept(RoomCommand, frozen=True, tag="accept"):
    """Accepts the other side's offer, of a draw while a match is running, else of a rematch."""


class Decline(RoomCommand, frozen=True, tag="decline"):
    """Declines the other side's offer of a draw or a rematch, or withdraws one's own."""


class Chat(RoomCommand, frozen=True, tag="chat", kw_only=True):
    """Says something to the room, or to spectators only (players get a `hidden` event while they
    hold a seat).
    """

    text: Annotated[str, Meta(max_length=MAX_CHAT)]
    to: ChatTo = "room"


class WatchLobby(Incoming, frozen=True, tag="watch_lobby", kw_only=True):
    """Starts or stops the list of public rooms."""

    id: CommandId
    on: bool = True


ClientMessage = (
    Hello
    | Ping
    | Create
    | Join
    | Leave
    | Sit
    | Stand
    | AddAi
    | RemoveAi
    | Move
    | Resign
    | Abort
    | Claim
    | OfferDraw
    | Accept
    | Rematch
    | Decline
    | Chat
    | WatchLobby
)


# --- what happened in a room ------------------------------------------------------------------------------------------


class Occupant(Struct, frozen=True, omit_defaults=True):
    """Who holds a seat: an identity with the name it had then, or the AI at a level or as a
    persona.
    """

    identity: str
    name: str
    kind: Literal["guest", "ai"] = "guest"
    level: int | None = None
    persona: str | None = None


class Event(Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """Something that happened in a room; the log is a list of these, numbered v = 1, 2, 3, …"""


class Created(Event, frozen=True, tag="created"):
    """The room was made; v 1 of every log."""

    game: str
    options: dict[str, str]
    visibility: Visibility
    host: str


class SeatTaken(Event, frozen=True, tag="seat_taken"):
    """A seat was taken."""

    seat: int
    occupant: Occupant


class SeatLeft(Event, frozen=True, tag="seat_left"):
    """A seat became free."""

    seat: int


class Started(Event, frozen=True, tag="started"):
    """A match began: its id, its number in this room, the start position in text,
    the exact rules, who plays which side.
    """

    match: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]


class Moved(Event, frozen=True, tag="moved"):
    """A move was played: ply counts from 0, digest names the position after it. Text is its
    notation in games that have one of their own ("Bc4"), else null. Number is what stands before it
    in a list: "3." or, for the second side, "3..." where both sides' moves have one number; "6."
    where each has its own. Both are null in old logs. `clock_ms` is reserved for the clocks of
    matches and null until there are any. A forced move was a pass with nothing else to play: the
    server played it for the person in that seat.
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


Termination = Literal["board", "resign", "abort", "failure", "claim", "agreement"]
Offer = Literal["rematch", "draw"]


class Finished(Event, frozen=True, tag="finished"):
    """The match is over; winner is a seat or null, how says by which door, reason says it in words."""

    match: str
    winner: int | None
    how: Termination
    reason: str


class Offered(Event, frozen=True, tag="offered"):
    """A seat offered a draw, or another match. An offer of a draw lapses when the other side moves."""

    seat: int
    what: Offer = "rematch"


class Declined(Event, frozen=True, tag="declined"):
    """The offer was declined or withdrawn."""

    seat: int
    what: Offer = "rematch"


class Said(Event, frozen=True, tag="said"):
    """Somebody said something."""

    identity: str
    name: str
    text: str
    to: ChatTo = "room"


class Hidden(Event, frozen=True, tag="hidden"):
    """An event that this viewer may not see, so that counters stay whole; never in the log."""


RoomEvent = Created | SeatTaken | SeatLeft | Started | Moved | Finished | Offered | Declined | Said
AnyEvent = RoomEvent | Hidden


# --- what the server sends --------------------------------------------------------------------------------------------


class Outgoing(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message to a client."""


class Welcome(Outgoing, frozen=True, tag="welcome", kw_only=True):
    """The answer to hello. A client whose epoch differs from the one it knew joins its rooms again
    from 0.
    """

    protocol: int
    identity: str
    name: str
    epoch: str
    at: int
    token: str | None = None


class Ack(Outgoing, frozen=True, tag="ack", omit_defaults=False):
    """Done. v is the last event that the command made, null when it logs nothing; room only answers
    create.
    """

    id: str
    v: int | None
    room: str | msgspec.UnsetType = msgspec.UNSET


class Error(Outgoing, frozen=True, tag="error", omit_defaults=False):
    """Refused, and nothing changed; id is null when the message had none that could be read."""

    id: str | None
    code: Code
    message: str


class Pong(Outgoing, frozen=True, tag="pong"):
    """The server's clock in ms since 1970."""

    at: int
    id: str | None = None


class RoomDescription(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What stays the same for as long as a room lives; view is null when its game is missing here."""

    game: str
    title: str
    options: dict[str, str]
    visibility: Visibility
    host: str
    created_ms: int
    levels: int
    view: BoardView | None


class Joined(Outgoing, frozen=True, tag="joined", kw_only=True):
    """You follow the room now; v is its head, seat the one you hold.
    A frozen room can be read but not played, for that reason.
    """

    room: str
    v: int
    epoch: str
    description: RoomDescription
    seat: int | None = None
    frozen: Code | None = None


class Played(Struct, frozen=True, omit_defaults=True):
    """One move of a match: its token, its notation in games that have one, its number as in
    `moved`; in matches of old logs too, unless their game is gone. Forced: the server played it,
    because it was a pass with nothing else to play.
    """

    move: str
    text: str | None = None
    number: str | None = None
    forced: bool = False


class MatchResult(Struct, frozen=True):
    """How a match ended."""

    winner: int | None
    how: Termination
    reason: str


class MatchState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A match as it stands: start position and moves make the position."""

    id: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]
    moves: tuple[Played, ...]
    over: MatchResult | None = None


class ChatLine(Struct, frozen=True, omit_defaults=True):
    """One line of chat with the v of its event."""

    v: int
    at: int
    name: str
    text: str
    to: ChatTo = "room"


class Snapshot(Outgoing, frozen=True, tag="snapshot", kw_only=True):
    """The whole room at v as this viewer may see it: apply later events to it."""

    room: str
    v: int
    seats: tuple[Occupant | None, ...]
    match: MatchState | None
    #: Seats whose offer is open: of a draw while the match is running, else of a rematch.
    offers: tuple[int, ...] = ()
    chat: tuple[ChatLine, ...] = ()


class EventFrame(Outgoing, frozen=True, tag="event"):
    """One event of a room (its own fields stand beside these): what a room's log says at v. `at` is
    ms since 1970.
    """

    room: str
    v: int
    at: int


class View(Outgoing, frozen=True, tag="view", kw_only=True):
    """What to draw at v, for everybody in the room."""

    room: str
    v: int
    match: str
    ply: int
    view: PositionView


class Turn(Outgoing, frozen=True, tag="turn", kw_only=True):
    """Your legal moves at v, to the seat to move only; claim is why you may claim a draw, where you
    may.
    """

    room: str
    v: int
    match: str
    ply: int
    moves: tuple[MoveView, ...]
    claim: str | None = None


class Thinking(Outgoing, frozen=True, tag="thinking", kw_only=True):
    """What an AI seat is doing; score is for that seat, in the game's units (30000 minus plies: a
    forced win). Number is that of the move that is thought about. Absent: no engine is there, and
    the match waits for one. May be dropped. `ready` is there while the game is compiled, once per
    installation: how far that is, in percent. `warming` says that this look is shorter than the
    level's because it is not yet.
    """

    room: str
    match: str
    ply: int
    seat: int
    state: Literal["absent", "warming", "queued", "searching", "done"]
    depth: int = 0
    score: int = 0
    nodes: int = 0
    nps: int = 0
    time_ms: int = 0
    pv: tuple[str, ...] = ()
    moves: tuple[RootMove, ...] = ()
    number: str = ""
    warming: bool = False
    ready: Annotated[int, Meta(ge=0, le=99)] | None = None


class Presence(Outgoing, frozen=True, tag="presence", kw_only=True):
    """Which seats have somebody connected (an AI always is), and how many others watch. May be
    dropped.
    """

    room: str
    seats: tuple[bool, ...]
    watching: int


class RoomSummary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A public room in the lobby's list; length is how long its match is, in words, as its game
    counts moves.
    """

    room: str
    game: str
    title: str
    options: dict[str, str]
    seats: tuple[Occupant | None, ...]
    state: Literal["open", "playing", "finished"]
    created_ms: int
    ply: int = 0
    watching: int = 0
    length: str = ""


class Lobby(Outgoing, frozen=True, tag="lobby", kw_only=True):
    """The list of public rooms when full is true,
    else the rooms that changed and the ids of those that are gone. May be dropped.
    """

    full: bool
    rooms: tuple[RoomSummary, ...] = ()
    gone: tuple[str, ...] = ()


ServerMessage = (
    Welcome | Ack | Error | Pong | Joined | Snapshot | View | Turn | Thinking | Presence | Lobby
)
