"""The messages that clients send in protocol version 1, with their limits.

`server.protocol.messages` re-exports them, so that a client imports one module.
"""

from typing import Annotated

from msgspec import Meta, Struct

from engine.search.job import Persona
from engine.view import SEATS
from server.protocol.limits import (
    MAX_CHAT,
    MAX_MOVE,
    MAX_START,
    ChatTo,
    CommandId,
    Count,
    Depth,
    EvaluatorName,
    HintKind,
    Level,
    OfferKind,
    PersonId,
    RoomId,
    SeatNumber,
    StrategyName,
    ThinkingSetting,
    Visibility,
)


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
    - `help` says whether the room gives help with positions while two people play each other.
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
    help: bool = False


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
    """Chooses settings of the next matches. Host only; refused while a match is running.

    `thinking` says who may see an AI's thinking. `help` says whether the room gives help with
    positions while two people play each other; null leaves that as it is.
    """

    thinking: ThinkingSetting
    help: bool | None = None


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

    A line that begins with `/` is a question to the room's bot, and so are a few plain questions in
    a room with an AI. The bot sends an `answer` to the asker, or answers all with a `said` event.
    A person may ask six questions a minute.
    """

    text: Annotated[str, Meta(max_length=MAX_CHAT)]
    to: ChatTo = "room"


class Hint(RoomCommand, frozen=True, tag="hint", kw_only=True):
    """Asks the engine for the best moves of the running match in the position at `ply`.

    The ack comes at once, and its `v` is null. When the search has ended, the server sends an
    `answer` with the version 0. `what` says how much the answer shows: the `piece` to move, the
    best `move`, or the best `moves`.
    """

    ply: Count
    what: HintKind = "moves"


class Mute(RoomCommand, frozen=True, tag="mute", kw_only=True):
    """Mutes a person: the room refuses that person's lines of chat. Host only."""

    identity: PersonId


class Unmute(RoomCommand, frozen=True, tag="unmute", kw_only=True):
    """Unmutes a person. Host only."""

    identity: PersonId


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
    | Hint
    | Mute
    | Unmute
    | WatchLobby
)
