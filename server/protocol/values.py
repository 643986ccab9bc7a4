"""The values in the messages of protocol version 1 that describe a match, its offers and the chat.

`server.protocol.messages` re-exports them.
"""

from msgspec import Struct

from server.protocol.events import Occupant, Word


class Played(Struct, frozen=True, omit_defaults=True):
    """One move of a match. The fields mean the same as in `moved`.

    `text` and `number` are filled in for old logs too, unless this server no longer has the game.
    `seat` is there only where it is not the ply modulo 2: after an extra turn, and in a match that
    the second seat began.
    """

    move: str
    text: str | None = None
    number: str | None = None
    forced: bool = False
    seat: int | None = None


class MatchResult(Struct, frozen=True):
    """The result of a match. The fields mean the same as in `finished`."""

    winner: int | None
    how: Word
    reason: str


class MatchState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A match with its result so far. The start position and the moves define the position."""

    id: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]
    moves: tuple[Played, ...]
    over: MatchResult | None = None


class Proposal(Struct, frozen=True, omit_defaults=True):
    """An open offer that is neither of a draw nor of a rematch.

    The fields mean the same as in `offered`.
    """

    seat: int
    what: Word
    to_ply: int | None = None


class ChatLine(Struct, frozen=True, omit_defaults=True):
    """One line of chat with the version and the time of its event."""

    v: int
    at: int
    name: str
    text: str
    to: Word = "room"
