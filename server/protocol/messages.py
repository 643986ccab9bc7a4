"""Every message that crosses a WebSocket in protocol version 1, with its limits.

Each text frame holds one JSON object whose field `t` names its type. A command carries an `id`
chosen by the client; the server answers it with exactly one `ack` or `error` that has the same id.
An ack of a command that changes a room means that its events are committed. `server.protocol.codec`
parses and formats the messages, `server.protocol.commands` and `server.protocol.views` map them to
the room's own commands and values. The events of a room are in `server.protocol.events`; their
names can be imported from here too, so that a client needs this module and the codes only.

This module is pure: no sockets, no clock.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from engine.search.job import NO_COUNTS, Counts, DepthBest, Persona, RootMove
from engine.view import SEATS, MoveView, PositionView
from server.codes import Code
from server.protocol.assessments import Assessment as Assessment
from server.protocol.assessments import Candidate as Candidate
from server.protocol.assessments import DepthWords as DepthWords
from server.protocol.events import AiTookOver as AiTookOver
from server.protocol.events import AnyEvent as AnyEvent
from server.protocol.events import Configured as Configured
from server.protocol.events import Created as Created
from server.protocol.events import Declined as Declined
from server.protocol.events import Event as Event
from server.protocol.events import Finished as Finished
from server.protocol.events import Hidden as Hidden
from server.protocol.events import Moved as Moved
from server.protocol.events import Occupant as Occupant
from server.protocol.events import Offered as Offered
from server.protocol.events import Player as Player
from server.protocol.events import PlayerReturned as PlayerReturned
from server.protocol.events import Renamed as Renamed
from server.protocol.events import Required as Required
from server.protocol.events import RoomEvent as RoomEvent
from server.protocol.events import Said as Said
from server.protocol.events import SeatLeft as SeatLeft
from server.protocol.events import SeatTaken as SeatTaken
from server.protocol.events import Started as Started
from server.protocol.events import TookBack as TookBack
from server.protocol.events import Word as Word
from server.protocol.limits import MAX_CHAT as MAX_CHAT
from server.protocol.limits import MAX_DEPTH as MAX_DEPTH
from server.protocol.limits import MAX_FRAME_BYTES as MAX_FRAME_BYTES
from server.protocol.limits import MAX_MOVE as MAX_MOVE
from server.protocol.limits import MAX_NAME as MAX_NAME
from server.protocol.limits import MAX_START as MAX_START
from server.protocol.limits import NO_NUL as NO_NUL
from server.protocol.limits import PROTOCOL as PROTOCOL
from server.protocol.limits import ChatTo as ChatTo
from server.protocol.limits import CommandId as CommandId
from server.protocol.limits import Count as Count
from server.protocol.limits import Depth as Depth
from server.protocol.limits import EvaluatorName as EvaluatorName
from server.protocol.limits import Level as Level
from server.protocol.limits import OfferKind as OfferKind
from server.protocol.limits import RoomId as RoomId
from server.protocol.limits import SeatNumber as SeatNumber
from server.protocol.limits import StrategyName as StrategyName
from server.protocol.limits import ThinkingSetting as ThinkingSetting
from server.protocol.limits import Visibility as Visibility
from server.protocol.values import ChatLine as ChatLine
from server.protocol.values import MatchResult as MatchResult
from server.protocol.values import MatchState as MatchState
from server.protocol.values import Played as Played
from server.protocol.values import Proposal as Proposal
from server.protocol.values import RoomDescription as RoomDescription
from server.protocol.values import RoomSummary as RoomSummary
from server.protocol.values import Substitution as Substitution

# --- what clients send --------------------------------------------------------------------------


class Incoming(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message from a client."""


class Hello(Incoming, frozen=True, tag="hello"):
    """The first message of a connection. It identifies the client by its secret `token`.

    A client without a token is identified by the handshake's `Authorization: Bearer …` or the
    browser's cookie. With none of them, or with an unknown cookie, the server creates a guest and
    returns the guest's token once, in `welcome`. An unknown token is refused.
    """

    protocol: int
    token: Annotated[str, Meta(max_length=128)] | None = None
    name: Annotated[str, Meta(max_length=200)] | None = None


class Ping(Incoming, frozen=True, tag="ping"):
    """Asks for a `pong`. Any message within 20 s keeps the connection open."""

    id: CommandId | None = None


class MySeat(Struct, frozen=True, tag_field="who", tag="me"):
    """The creator of the room takes this seat."""


class OpenSeat(Struct, frozen=True, tag_field="who", tag="open"):
    """The seat stays open for the first player to sit down."""


class AiSeat(Struct, frozen=True, tag_field="who", tag="ai", omit_defaults=True):
    """The AI takes this seat: at one of the game's levels, as a persona, or by a strategy.

    `GET /api/strategies` lists the strategies and evaluators. A strategy without a `depth` searches
    3 plies deep; one without an `evaluator` has the default of the game.
    """

    level: Level | None = None
    persona: Persona | None = None
    strategy: StrategyName | None = None
    depth: Depth | None = None
    evaluator: EvaluatorName | None = None


class Create(Incoming, frozen=True, tag="create", kw_only=True):
    """Creates a room.

    The ack carries the room's id. The match starts as soon as both seats are taken.

    - `start` is the text of a position from which the room's matches start, null for the game's
      own start. `GET /api/position` checks such a text and shows the board.
    - With `one_screen` the creator takes both seats, whatever `seats` says, and plays both sides.
    - `takeback` says whether players may take moves back.
    - `thinking` says who may see an AI's thinking while a match is running.
    """

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
    start: Annotated[str, Meta(max_length=MAX_START)] | None = None
    one_screen: bool = False
    takeback: bool = True
    thinking: ThinkingSetting = "all"


class RoomCommand(Incoming, frozen=True, kw_only=True):
    """A command that concerns one room."""

    id: CommandId
    room: RoomId


class Join(RoomCommand, frozen=True, tag="join", kw_only=True):
    """Follows a room, or resumes following it after a reconnect.

    The server answers with `ack` and `joined`, sends the missed events or a `snapshot`, and then
    every later event. `since` is the version of the last event that the client has. The client
    receives a `snapshot` when `since` is 0 or too far behind, or when `epoch` is not the server's.
    """

    since: Count = 0
    epoch: Annotated[str, Meta(max_length=36)] | None = None


class Leave(RoomCommand, frozen=True, tag="leave"):
    """Stops following a room. A player keeps their seat."""


class Sit(RoomCommand, frozen=True, tag="sit", kw_only=True):
    """Takes an empty seat."""

    seat: SeatNumber


class Stand(RoomCommand, frozen=True, tag="stand"):
    """Gives up one's own seat. Refused while a match is running."""


class AddAi(RoomCommand, frozen=True, tag="add_ai", kw_only=True):
    """Puts the AI on an empty seat, as the seat `ai` of `create` does. Host only."""

    seat: SeatNumber
    level: Level | None = None
    persona: Persona | None = None
    strategy: StrategyName | None = None
    depth: Depth | None = None
    evaluator: EvaluatorName | None = None


class RemoveAi(RoomCommand, frozen=True, tag="remove_ai", kw_only=True):
    """Removes the AI from a seat. Host only; refused while a match is running."""

    seat: SeatNumber


class Configure(RoomCommand, frozen=True, tag="configure", kw_only=True):
    """Chooses who may see an AI's thinking during the next matches. Host only; refused while a
    match is running.
    """

    thinking: ThinkingSetting


class Move(RoomCommand, frozen=True, tag="move", kw_only=True):
    """Plays a move.

    `ply` is the number of moves already played, so that a late move cannot be played in another
    position. `seat` is the seat that moves, null for the player's own.
    """

    ply: Count
    move: Annotated[str, Meta(max_length=MAX_MOVE)]
    seat: SeatNumber | None = None


class Takeback(RoomCommand, frozen=True, tag="takeback", kw_only=True):
    """Takes back the player's last move and the moves after it.

    Against an AI, and in a room for one screen, this happens at once. Another player is asked
    (`offered` with `takeback`), and may accept until the position changes.

    `ply` is the number of moves that the player has seen. The command is refused if moves were
    taken back since, or if it would take back a later move.
    """

    ply: Count


class Resign(RoomCommand, frozen=True, tag="resign", kw_only=True):
    """Resigns the running match.

    `seat` is the side that resigns, null for the player's own; on one screen that is the side to
    move.
    """

    seat: SeatNumber | None = None


class Abort(RoomCommand, frozen=True, tag="abort"):
    """Ends the match without a result.

    A player may abort until both sides have moved; the host may abort when only AI seats play.
    """


class Rematch(RoomCommand, frozen=True, tag="rematch"):
    """Offers another match with the sides swapped, or accepts that offer.

    The match starts at once when the opponent is an AI, or when the host of a match between AI
    seats asks.
    """


class Claim(RoomCommand, frozen=True, tag="claim"):
    """Claims a draw under the game's rules.

    Only the side to move may claim; the `claim` of `turn` says whether it can.
    """


class OfferDraw(RoomCommand, frozen=True, tag="offer_draw"):
    """Offers a draw, or accepts the opponent's offer.

    The offer stands until the opponent moves or declines.
    """


class Accept(RoomCommand, frozen=True, tag="accept", kw_only=True):
    """Accepts the opponent's offer.

    `what` names the offer; null stands for the draw while a match is running, otherwise for the
    rematch, and for the takeback if nothing else is offered. `ply` is the number of moves at which
    a takeback was asked for, so that a late answer cannot accept another one.
    """

    what: OfferKind | None = None
    ply: Count | None = None


class Decline(RoomCommand, frozen=True, tag="decline", kw_only=True):
    """Declines the opponent's offer, or withdraws one's own. `what` is as for `accept`."""

    what: OfferKind | None = None


class ClaimWin(RoomCommand, frozen=True, tag="claim_win"):
    """Claims the win of a match whose opponent has gone.

    `gone_ms` of `presence` says when the player may claim, and `may` lists the command then. The
    same holds for `call_draw` and `let_ai_play`. No player may claim against an AI.
    """


class CallDraw(RoomCommand, frozen=True, tag="call_draw"):
    """Ends a match whose opponent has gone as a draw."""


class LetAiPlay(RoomCommand, frozen=True, tag="let_ai_play"):
    """Lets the AI play on for an opponent who has gone, at the middle one of the game's levels.

    The AI keeps the seat for that player, who may take it back until the match ends.
    """


class ReclaimSeat(RoomCommand, frozen=True, tag="reclaim_seat"):
    """Takes one's seat back from the AI that keeps it."""


class Chat(RoomCommand, frozen=True, tag="chat", kw_only=True):
    """Sends a line of chat to the whole room, or to the spectators only.

    Players receive a `hidden` event for a line to the spectators. A line that equals one of the
    sender's last lines is refused.
    """

    text: Annotated[str, Meta(max_length=MAX_CHAT)]
    to: ChatTo = "room"


class WatchLobby(Incoming, frozen=True, tag="watch_lobby", kw_only=True):
    """Subscribes to the list of public rooms, or unsubscribes from it."""

    id: CommandId
    on: bool = True


#: Every message that a client may send.
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
    | Configure
    | Move
    | Takeback
    | Resign
    | Abort
    | Claim
    | OfferDraw
    | Accept
    | Rematch
    | Decline
    | ClaimWin
    | CallDraw
    | LetAiPlay
    | ReclaimSeat
    | Chat
    | WatchLobby
)


# --- what the server sends ----------------------------------------------------------------------


class Outgoing(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A message to a client."""


class Welcome(Outgoing, frozen=True, tag="welcome", kw_only=True):
    """The answer to `hello`.

    If `epoch` differs from that of an earlier welcome, the client joins its rooms again with
    `since` 0. `notice` is a sentence to show: the guest of the cookie was not found, and this is a
    new one. `nodes` is the number of nodes that are up; with more than one, clients open a socket
    for each room that they enter.
    """

    protocol: int
    identity: str
    name: str
    epoch: str
    at: int
    token: str | None = None
    notice: str | None = None
    nodes: int = 1


class Ack(Outgoing, frozen=True, tag="ack", omit_defaults=False):
    """The command succeeded.

    `v` is the version of its last event, null when it logged none. `room` is present only in the
    answer to `create`.
    """

    id: str
    v: int | None
    room: str | msgspec.UnsetType = msgspec.UNSET


class Error(Outgoing, frozen=True, tag="error", omit_defaults=False):
    """The command was refused and changed nothing; only after `store.retry` is the outcome unknown.

    `id` is null when the server could not read one from the message.
    """

    id: str | None
    code: Code
    message: str


class Pong(Outgoing, frozen=True, tag="pong"):
    """The answer to `ping`. `at` is the server's clock in ms since 1970."""

    at: int
    id: str | None = None


class Joined(Outgoing, frozen=True, tag="joined", kw_only=True):
    """The client now follows the room. Sent again when `frozen` changes.

    `v` is the version of its newest event and `seat` the client's own seat. `frozen` is set when
    the room can be read but not played, and is the error code that says why. `may` lists the
    commands that the viewer may give, like the message `may`. A server of an earlier version omits
    it; the client may then try any command. `start_view` is the position in which the room's first
    match will start; null once it has started.
    """

    room: str
    v: int
    epoch: str
    description: RoomDescription
    seat: int | None = None
    frozen: str | None = None
    may: tuple[str, ...] | None = None
    start_view: PositionView | None = None


class May(Outgoing, frozen=True, tag="may", kw_only=True):
    """The commands that the viewer may give now, besides `move` and `claim`, which `turn` permits.

    - `may` holds the types of commands that the room would accept. `sit` and `add_ai` concern each
      empty seat, `remove_ai` each seat that an AI holds. `accept` and `decline` concern the offer
      that is open, `decline` also one's own. `offer_draw` and `rematch` are listed where they
      accept the opponent's offer, too.
    - It is a hint, so that clients need not implement the rules of a room. The server checks each
      command again when it arrives.
    - The server sends it to the players and to the host whenever their list changes: after the
      events that changed it, or when time has passed. Spectators receive their list only in
      `joined`.
    """

    room: str
    v: int
    may: tuple[str, ...]


class Snapshot(Outgoing, frozen=True, tag="snapshot", kw_only=True):
    """The whole room at version `v`, as this viewer may see it.

    The client applies later events to it.

    `offers` lists the seats with an open offer: of a draw while a match is running, otherwise of a
    rematch. `proposals` lists the other open offers: the requests to take moves back. `thinking`
    is the room's setting for its next matches, as in `configured`.
    """

    room: str
    v: int
    seats: tuple[Occupant | None, ...]
    match: MatchState | None
    offers: tuple[int, ...] = ()
    chat: tuple[ChatLine, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    thinking: Word = "all"


class EventFrame(Outgoing, frozen=True, tag="event"):
    """One event of a room, with the fields of its kind. `at` is in ms since 1970."""

    room: str
    v: int
    at: int


class View(Outgoing, frozen=True, tag="view", kw_only=True):
    """The board at version `v`, the same for every viewer."""

    room: str
    v: int
    match: str
    ply: int
    view: PositionView


class Turn(Outgoing, frozen=True, tag="turn", kw_only=True):
    """The legal moves at version `v`, sent only to the player to move.

    `claim` is the reason for which that player may claim a draw, null when there is none.
    """

    room: str
    v: int
    match: str
    ply: int
    moves: tuple[MoveView, ...]
    claim: str | None = None


class Thinking(Outgoing, frozen=True, tag="thinking", kw_only=True):
    """The state of an AI seat's search. May be dropped.

    - `state` is `absent` when no engine is connected and the match waits for one.
    - `score` is from that seat's point of view, in the game's units. A forced win is 30000 minus
      the plies to it.
    - `number` is the label of the move that is being searched, as in `moved`.
    - `ready` is the progress of compiling the game, in percent, and null when the game is
      compiled. A game is compiled once per installation.
    - `warming` means that the search is shorter than the level's because the game is not compiled
      yet.
    - A strategy has no `moves`. Its `value` is in its own units, as text; only with the evaluator
      `estimate` is the `score` in the game's units, otherwise it is 1, 0 or -1. `log` is what the
      strategy writes about its search, when it is done: lines of text, at most 16 KiB.
    - `depths` are the last 32 depths of the search.
    - `assessment` is the search in words. A server of an earlier version omits it.
    - `withheld` is a sentence that says why this viewer may not see the search; it is empty for all
      others. The message then has the state of the search and not its results.
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
    value: str = ""
    log: str = ""
    counts: Counts = NO_COUNTS
    depths: tuple[DepthBest, ...] = ()
    assessment: Assessment | None = None
    withheld: str = ""


class Presence(Outgoing, frozen=True, tag="presence", kw_only=True):
    """Which seats are connected (an AI seat always is) and how many spectators watch.

    While the opponent of a person has gone from a running match, `gone_ms` has for that seat the
    time until the other player may claim the match, in ms from this message on; 0 means now. It is
    null for all other seats. The time begins anew when the server cannot be sure that it would know
    of a new connection.

    May be dropped.
    """

    room: str
    seats: tuple[bool, ...]
    watching: int
    gone_ms: tuple[int | None, ...] = ()


class Lobby(Outgoing, frozen=True, tag="lobby", kw_only=True):
    """The list of public rooms. May be dropped.

    With `full` true it is the whole list; otherwise `rooms` holds the rooms that changed and `gone`
    the ids of those that left the list.
    """

    full: bool
    rooms: tuple[RoomSummary, ...] = ()
    gone: tuple[str, ...] = ()


#: Every message that the server may send, besides events.
ServerMessage = (
    Welcome
    | Ack
    | Error
    | Pong
    | Joined
    | May
    | Snapshot
    | View
    | Turn
    | Thinking
    | Presence
    | Lobby
)
