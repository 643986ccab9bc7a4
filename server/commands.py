"""The commands of a room: those that clients may give, with their limits, and the server's own.

A command names neither its actor nor its room: the actor is in its `Moment`
(`server.rooms.model`), and on the wire its room is in its frame (`CommandFrame` of
`server.protocol.messages`). `id` is unique for each actor and room, so that a command that is sent
twice is carried out once. `t` is the name of the command for clients. Rooms, the protocol and the
clients use these types; the page about the protocol has their docstrings.

A limit is checked where a command is decoded. A command that is made in Python has no check.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from engine.search.job import MAX_STRATEGY_DEPTH, Persona
from engine.view import SEATS
from server.time_controls import MAX_CONTROL

#: Maximum length of a line of chat, in characters.
MAX_CHAT = 400
#: Maximum length of a move token, in characters.
MAX_MOVE = 64
#: Maximum length of the text of a start position, in characters.
MAX_START = 1000

#: A count that JavaScript can represent exactly.
Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
#: The pattern of a text without NUL: SQLite's JSON functions end a text at NUL, so two ids that
#: differ only after it would be the same, and PostgreSQL rejects NUL.
NO_NUL = "^[^\\x00]*$"
#: The id of a command, by which the server recognises repeated ones.
CommandId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=36,
        pattern=NO_NUL,
        description="chosen by the client, unique per room and identity",
    ),
]
#: The identity of a person.
PersonId = Annotated[str, Meta(min_length=1, max_length=36, pattern=NO_NUL)]
#: How much a hint shows: the piece to move, the best move, or the best moves.
HintKind = Literal["piece", "move", "moves"]
#: The id of a room.
RoomId = Annotated[str, Meta(min_length=1, max_length=24, pattern=NO_NUL)]
#: The number of a seat: 0 is the first side.
SeatNumber = Annotated[int, Meta(ge=0, lt=SEATS)]
#: An AI level. A game may have fewer than 8.
Level = Annotated[int, Meta(ge=1, le=8)]
#: The name of a strategy.
StrategyName = Annotated[str, Meta(min_length=1, max_length=40, pattern=NO_NUL)]
#: The depth of a strategy's search, in plies.
Depth = Annotated[int, Meta(ge=1, le=MAX_STRATEGY_DEPTH)]
#: The evaluator of a strategy, with its weights: "material:queen=9,rook=5".
EvaluatorName = Annotated[str, Meta(min_length=1, max_length=200, pattern=NO_NUL)]
#: The text of a time control, as in `300+3`.
ClockText = Annotated[str, Meta(min_length=1, max_length=MAX_CONTROL)]
#: Whether a room is in the lobby's list. An unlisted room is found only by its id.
Visibility = Literal["public", "unlisted"]
#: Who may see an AI's thinking while a match is running: everyone, only those without a seat, or
#: nobody before the match is over.
ThinkingSetting = Literal["all", "spectators", "after"]
#: The audience of a line of chat.
ChatTo = Literal["room", "spectators"]
#: What a player may offer the opponent.
OfferKind = Literal["draw", "rematch", "takeback", "next"]


class MySeat(Struct, frozen=True, tag_field="who", tag="me", omit_defaults=True):
    """The creator of the room takes this seat.

    On one screen the seat may have a `name` of its own, for the person who plays that side.
    """

    name: Annotated[str, Meta(max_length=200)] | None = None


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


#: How the creator of a room wants a seat to be filled.
SeatWish = MySeat | OpenSeat | AiSeat


#: The id of a game.
GameId = Annotated[str, Meta(max_length=64)]
#: The options of a game: values by name.
GameOptions = Annotated[
    dict[Annotated[str, Meta(max_length=40)], Annotated[str, Meta(max_length=200)]],
    Meta(max_length=16),
]


class Create(Struct, frozen=True, tag_field="t", tag="create", omit_defaults=True):
    """Creates a room.

    The ack carries the room's id. The match starts as soon as both seats are taken.

    - `start` is the text of a position from which the room's matches start, null for the game's
      own start. `GET /api/position` checks such a text and shows the board.
    - With `one_screen` the creator takes both seats, whatever `seats` says, and plays both sides.
      A `name` in `seats` is then that of the side, which no change of the creator's name changes.
    - `takeback` says whether players may take moves back.
    - `thinking` says who may see an AI's thinking while a match is running.
    - `help` says whether the room gives help with positions while two people play each other.
    - `clock` is the text of the time control of its matches, null for none.
    """

    id: CommandId
    game: GameId
    options: GameOptions = {}
    visibility: Visibility = "public"
    seats: Annotated[tuple[SeatWish, ...], Meta(min_length=SEATS, max_length=SEATS)] = (
        MySeat(),
        OpenSeat(),
    )
    start: Annotated[str, Meta(max_length=MAX_START)] | None = None
    one_screen: bool = False
    takeback: bool = True
    thinking: ThinkingSetting = "all"
    help: bool = False
    clock: ClockText | None = None


class Command(Struct, frozen=True, tag_field="t", omit_defaults=True):
    """A command to an existing room, by a client or by the server itself."""

    id: CommandId


class Sit(Command, frozen=True, tag="sit"):
    """Takes an empty seat."""

    seat: SeatNumber


class Stand(Command, frozen=True, tag="stand"):
    """Gives up one's own seat. Refused while a match is running."""


class AddAi(Command, frozen=True, tag="add_ai"):
    """Puts the AI on an empty seat, as the seat `ai` of `create` does. Host only."""

    seat: SeatNumber
    level: Level | None = None
    persona: Persona | None = None
    strategy: StrategyName | None = None
    depth: Depth | None = None
    evaluator: EvaluatorName | None = None


class RemoveAi(Command, frozen=True, tag="remove_ai"):
    """Removes the AI from a seat. Host only; refused while a match is running."""

    seat: SeatNumber


class Configure(Command, frozen=True, tag="configure"):
    """Chooses settings of the next matches. Host only; refused while a match is running.

    `thinking` says who may see an AI's thinking. `help` says whether the room gives help with
    positions while two people play each other; null leaves that as it is. `clock` is the text of a
    time control, `-` for none; null leaves that as it is.
    """

    thinking: ThinkingSetting
    help: bool | None = None
    clock: ClockText | None = None


class Move(Command, frozen=True, tag="move"):
    """Plays a move.

    `ply` is the number of moves already played, so that a late move cannot be played in another
    position. `seat` is the seat that moves, null for the player's own.
    """

    ply: Count
    move: Annotated[str, Meta(max_length=MAX_MOVE)]
    seat: SeatNumber | None = None


class Takeback(Command, frozen=True, tag="takeback"):
    """Takes back the player's last move and the moves after it.

    Against an AI, and in a room for one screen, this happens at once. Another player is asked
    (`offered` with `takeback`), and may accept until the position changes.

    `ply` is the number of moves that the player has seen. The command is refused if moves were
    taken back since, or if it would take back a later move.
    """

    ply: Count


class Resign(Command, frozen=True, tag="resign"):
    """Resigns the running match.

    `seat` is the side that resigns, null for the player's own; on one screen that is the side to
    move.
    """

    seat: SeatNumber | None = None


class Abort(Command, frozen=True, tag="abort"):
    """Ends the match without a result.

    A player may abort until both sides have moved; the host may abort when only AI seats play.
    """


class Rematch(Command, frozen=True, tag="rematch"):
    """Offers another match with the sides swapped, or accepts that offer.

    The match starts at once when the opponent is an AI, or when the host of a match between AI
    seats asks.
    """


class NextGame(Command, frozen=True, tag="next_game"):
    """Proposes the room's next match, of any game, to the opponent.

    The match starts at once when the opponent is an AI, on one screen, and when the host of a match
    between AI seats asks. Otherwise the opponent accepts it by the version of its `offered`. A room
    has one proposal at a time: a new one, by either player, replaces it.

    - `options` are those of the game, which has defaults for the others.
    - `seats` has for each seat of the match the seat that its player holds now: [1, 0] swaps the
      sides.
    - `level` is that of the AI; null keeps the AI as it is, at a level that the game has.
    - `clock` is the text of a time control, `-` for none; null keeps that of the room.
    """

    game: GameId
    options: GameOptions = {}
    seats: tuple[SeatNumber, SeatNumber] = (1, 0)
    level: Level | None = None
    clock: ClockText | None = None


class Claim(Command, frozen=True, tag="claim"):
    """Claims a draw under the game's rules.

    Only the side to move may claim; the `claim` of `turn` says whether it can.
    """


class OfferDraw(Command, frozen=True, tag="offer_draw"):
    """Offers a draw, or accepts the opponent's offer.

    The offer stands until the opponent moves or declines.
    """


class Accept(Command, frozen=True, tag="accept"):
    """Accepts the opponent's offer.

    `what` names the offer; null stands for the draw while a match is running, otherwise for the
    rematch, and for the takeback if nothing else is offered. `ply` is the number of moves at which
    a takeback was asked for, so that a late answer cannot accept another one. `next` needs `v`, the
    version of the event that proposed the game.
    """

    what: OfferKind | None = None
    ply: Count | None = None
    v: Count | None = None


class Decline(Command, frozen=True, tag="decline"):
    """Declines the opponent's offer, or withdraws one's own. `what` is as for `accept`."""

    what: OfferKind | None = None


class ClaimWin(Command, frozen=True, tag="claim_win"):
    """Claims the win of a match whose opponent has gone.

    `gone_ms` of `presence` says after which time the player may claim, and `may` lists the command
    when the player may: not before both sides have moved, nor on the player's own move. The same
    holds for `call_draw` and `let_ai_play`. A side that cannot win any more by the game's rules may
    not claim the win. No player may claim against an AI.
    """


class CallDraw(Command, frozen=True, tag="call_draw"):
    """Ends a match whose opponent has gone as a draw."""


class LetAiPlay(Command, frozen=True, tag="let_ai_play"):
    """Lets the AI play on for an opponent who has gone, at the middle one of the game's levels.

    The AI keeps the seat for that player, who may take it back until the match ends.
    """


class ReclaimSeat(Command, frozen=True, tag="reclaim_seat"):
    """Takes one's seat back from the AI that keeps it."""


class AddTime(Command, frozen=True, tag="add_time"):
    """Gives the opponent 15 seconds more on the clock, at most eight times in a match."""


class Chat(Command, frozen=True, tag="chat"):
    """Sends a line of chat to the whole room, or to the spectators only.

    Players receive a `hidden` event for a line to the spectators. A line that equals one of the
    sender's last lines is refused.

    A line that begins with `/` is a question to the room's bot, and so are a few plain questions in
    a room with an AI and lines that name the bot ("@bot", "bot,"). The bot sends an `answer` to the
    asker, or answers all with a `said` event. A line that begins with `/` or with the bot's name
    goes to its author only, `to` is `author` then, unless its answer is for all; everyone else
    receives `hidden`. A line that names the bot after other words goes to the room. A person may
    ask six questions a minute that need a search, and write twenty lines that nobody else sees.
    """

    text: Annotated[str, Meta(max_length=MAX_CHAT)]
    to: ChatTo = "room"


class Hint(Command, frozen=True, tag="hint"):
    """Asks the engine for the best moves of the running match in the position at `ply`.

    The ack comes at once, and its `v` is null. When the search has ended, the server sends an
    `answer` with the version 0. `what` says how much the answer shows: the `piece` to move, the
    best `move`, or the best `moves`.
    """

    ply: Count
    what: HintKind = "moves"


class Mute(Command, frozen=True, tag="mute"):
    """Mutes a person: the room refuses that person's lines of chat. Host only."""

    identity: PersonId


class Unmute(Command, frozen=True, tag="unmute"):
    """Unmutes a person. Host only."""

    identity: PersonId


class Bar(Command, frozen=True, tag="bar"):
    """Frees the seat of a person for whom it was not meant, who may then watch but not sit here.

    Host only, and only until both sides have moved since the person sat down. A running match ends
    without a result.
    """

    identity: PersonId


#: Every command that a client may give. They stand here by name: any other is the server's own, and
#: a client that sends it is refused.
ClientCommand = (
    Sit
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
    | NextGame
    | Decline
    | ClaimWin
    | CallDraw
    | LetAiPlay
    | ReclaimSeat
    | AddTime
    | Chat
    | Hint
    | Mute
    | Unmute
    | Bar
)


class BotLine(Command, frozen=True, tag="bot_line"):
    """The bot's own command: its public answer to the line with the version `answers`."""

    text: str
    answers: int
    to: ChatTo = "room"


class Tick(Command, frozen=True, tag="tick"):
    """The server's own command: makes the events that are due by the time `at_ms`.

    `at_ms` is the deadline for which the timer was set. The timer uses a clock that is never set
    back, so the deadline has passed even if the time of day is earlier.
    """

    at_ms: int


class Hold(Command, frozen=True, tag="hold"):
    """The server's own command: the running clock stood from `since_ms` until now."""

    match: str
    since_ms: int
    why: str


class Rename(Command, frozen=True, tag="rename"):
    """The server's own command: a player's identity has another name now."""

    identity: str
    name: str


class AiFailure(Command, frozen=True, tag="ai_failure"):
    """The server's own command: the AI seat found no move in the position with that digest."""

    match: str
    seat: int
    digest: str
    reason: str


class AiMove(Command, frozen=True, tag="ai_move"):
    """The server's own command: the AI seat's move in the position with that digest.

    `spent_ms` is the time that the search and the pace took, for the clock; null stands for all the
    time since the turn began.
    """

    match: str
    seat: int
    digest: str
    move: str
    spent_ms: int | None = None

    def to_failure(self, reason: str) -> AiFailure:
        """Returns the command that ends the match if this move cannot be played."""
        return AiFailure(self.id, self.match, self.seat, self.digest, reason)


class AiReply(Command, frozen=True, tag="ai_reply"):
    """The server's own command: the AI seat's answer to a draw offer."""

    match: str
    seat: int
    accept: bool
