"""The commands of a room: those of players and spectators, and the server's own.

A command names neither its actor nor its room: the actor is in its `Moment`
(`server.rooms.model`), and each room decides only its own commands. `id` is unique for each actor
and room, so that a command that is sent twice is carried out once. `server.protocol.commands` maps
the messages of clients to these commands.
"""

from typing import Literal

from msgspec import Struct

from engine.search.job import Persona

#: Whether a room is in the lobby's list. An unlisted room can be joined only by its id.
Visibility = Literal["public", "unlisted"]
#: Who may see an AI's thinking while a match is running.
ThinkingSetting = Literal["all", "spectators", "after"]
#: The audience of a line of chat.
ChatTo = Literal["room", "spectators"]
#: How much a hint shows: the piece to move, the best move, or the best moves.
HintKind = Literal["piece", "move", "moves"]
#: What a player may offer the opponent.
OfferKind = Literal["draw", "rematch", "takeback"]


class MySeat(Struct, frozen=True):
    """The creator of the room takes this seat."""


class OpenSeat(Struct, frozen=True):
    """The seat stays open for the first player to sit down."""


class AiSeat(Struct, frozen=True):
    """The AI takes this seat: at one of the game's levels, as a persona, or by a strategy.

    A strategy may have a depth, in plies, and an evaluator.
    """

    level: int | None = None
    persona: Persona | None = None
    strategy: str | None = None
    depth: int | None = None
    evaluator: str | None = None


#: How the creator of a room wants a seat to be filled.
SeatWish = MySeat | OpenSeat | AiSeat


class Create(Struct, frozen=True):
    """Creates a room, with a wish for each seat.

    The match starts as soon as both seats are taken. `start` is the text of the position from which
    the matches start, None for the game's own start. With `one_screen` the creator takes both
    seats, whatever `seats` says. `takeback` says whether players may take moves back, and `help`
    whether the room gives help with positions while two people play each other.
    """

    id: str
    game: str
    options: dict[str, str] = {}
    visibility: Visibility = "public"
    seats: tuple[SeatWish, ...] = (MySeat(), OpenSeat())
    start: str | None = None
    one_screen: bool = False
    takeback: bool = True
    thinking: ThinkingSetting = "all"
    help: bool = False


class Command(Struct, frozen=True):
    """A command to an existing room, by a client or by the server itself."""

    id: str


class Sit(Command, frozen=True):
    """Takes an empty seat."""

    seat: int


class Stand(Command, frozen=True):
    """Gives up one's own seat. Refused while a match is running."""


class AddAi(Command, frozen=True):
    """Puts the AI on an empty seat, as `AiSeat` does. Host only."""

    seat: int
    level: int | None = None
    persona: Persona | None = None
    strategy: str | None = None
    depth: int | None = None
    evaluator: str | None = None


class RemoveAi(Command, frozen=True):
    """Removes the AI from a seat. Host only; refused while a match is running."""

    seat: int


class Configure(Command, frozen=True):
    """Chooses who may see an AI's thinking during the next matches, and whether the room gives help
    with positions while two people play; None leaves that as it is.

    Host only; refused while a match is running.
    """

    thinking: ThinkingSetting
    help: bool | None = None


class Move(Command, frozen=True):
    """Plays a move.

    `ply` is the number of moves already played, so that a late move cannot be played in another
    position. `seat` is the seat that moves; None stands for the actor's.
    """

    ply: int
    move: str
    seat: int | None = None


class Takeback(Command, frozen=True):
    """Takes back the actor's last move and the moves after it, or asks the opponent to agree.

    `ply` is the number of moves that the actor has seen. The command is refused if moves were taken
    back since, or if it would take back a later move.
    """

    ply: int


class Resign(Command, frozen=True):
    """Resigns the running match. `seat` is the side that resigns; None stands for the actor's."""

    seat: int | None = None


class Abort(Command, frozen=True):
    """Ends the match without a result.

    A player may abort until both sides have moved; the host may abort when only AI seats play.
    """


class Rematch(Command, frozen=True):
    """Offers another match with the sides swapped, or accepts that offer.

    The match starts at once when the opponent is an AI, or when the host of a match between AI
    seats asks.
    """


class Claim(Command, frozen=True):
    """Claims a draw under the game's rules. Only the side to move may claim."""


class OfferDraw(Command, frozen=True):
    """Offers a draw, or accepts the opponent's offer.

    The offer stands until the opponent moves or declines.
    """


class Accept(Command, frozen=True):
    """Accepts the opponent's offer.

    `what` names the offer; None stands for the draw or the rematch, or else for the takeback. `ply`
    is the number of moves at which a takeback was asked for; None stands for the current one.
    """

    what: OfferKind | None = None
    ply: int | None = None


class Decline(Command, frozen=True):
    """Declines the opponent's offer, or withdraws one's own. `what` is as for `Accept`."""

    what: OfferKind | None = None


class ClaimWin(Command, frozen=True):
    """Claims the win of a match whose opponent has gone."""


class CallDraw(Command, frozen=True):
    """Ends a match whose opponent has gone as a draw."""


class LetAiPlay(Command, frozen=True):
    """Lets the AI play on for an opponent who has gone. The AI keeps the seat for them."""


class ReclaimSeat(Command, frozen=True):
    """Takes one's seat back from the AI that keeps it."""


class Chat(Command, frozen=True):
    """Says a line to the whole room, or to the spectators only."""

    text: str
    to: ChatTo = "room"


class Hint(Command, frozen=True):
    """Asks the engine for the best moves in the position at `ply`. It makes no events."""

    ply: int
    what: HintKind = "moves"


class Mute(Command, frozen=True):
    """Mutes a person: the room refuses that person's lines of chat. Host only."""

    identity: str


class Unmute(Command, frozen=True):
    """Unmutes a person. Host only."""

    identity: str


class BotLine(Command, frozen=True):
    """The bot's own command: its public answer to the line with the version `answers`."""

    text: str
    answers: int
    to: ChatTo = "room"


class Tick(Command, frozen=True):
    """The server's own command: makes the events that are due by the time `at_ms`.

    `at_ms` is the deadline for which the timer was set. The timer uses a clock that is never set
    back, so the deadline has passed even if the time of day is earlier.
    """

    at_ms: int


class Rename(Command, frozen=True):
    """The server's own command: a player's identity has another name now."""

    identity: str
    name: str


class AiFailure(Command, frozen=True):
    """The server's own command: the AI seat found no move in the position with that digest."""

    match: str
    seat: int
    digest: str
    reason: str


class AiMove(Command, frozen=True):
    """The server's own command: the AI seat's move in the position with that digest."""

    match: str
    seat: int
    digest: str
    move: str

    def to_failure(self, reason: str) -> AiFailure:
        """Returns the command that ends the match if this move cannot be played."""
        return AiFailure(self.id, self.match, self.seat, self.digest, reason)


class AiReply(Command, frozen=True):
    """The server's own command: the AI seat's answer to a draw offer."""

    match: str
    seat: int
    accept: bool
