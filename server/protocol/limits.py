"""The limits and the bounded types of the messages of protocol version 1.

`server.protocol.messages` re-exports them, so that a client imports one module.
"""

from typing import Annotated, Literal

from msgspec import Meta

from engine.search.job import MAX_STRATEGY_DEPTH
from engine.view import SEATS

#: The protocol version of this server.
PROTOCOL = 1
#: Maximum length of a client's frame, in bytes.
MAX_FRAME_BYTES = 8192
#: Maximum nesting of objects and lists in a client's frame.
MAX_DEPTH = 8
#: Maximum length of a player's name, in characters.
MAX_NAME = 24
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
#: How much a hint shows.
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
#: Whether a room is in the lobby's list. An unlisted room is found only by its id.
Visibility = Literal["public", "unlisted"]
#: Who may see an AI's thinking while a match is running: everyone, only those without a seat, or
#: nobody before the match is over.
ThinkingSetting = Literal["all", "spectators", "after"]
#: The audience of a line of chat.
ChatTo = Literal["room", "spectators"]
#: What a player may offer the opponent.
OfferKind = Literal["draw", "rematch", "takeback"]
