"""The values in the messages of protocol version 1 that describe a room, its match and its chat.

`server.protocol.messages` re-exports them.
"""

from typing import Literal

from msgspec import Struct

from engine.view import BoardView
from server.events import Occupant, Word


class RoomDescription(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The properties of a room that never change.

    `levels` is 0 for a game without levels, whose AI seats play strategies; `search` is `teach`
    then. `level_names` are the levels' names, the lowest first. `view` is null when this server
    does not have the game. `start`, `one_screen`, `takeback` and `rated` mean the same as in
    `created`.
    """

    game: str
    title: str
    options: dict[str, str]
    visibility: Word
    host: str
    created_ms: int
    levels: int
    view: BoardView | None
    start: str | None = None
    one_screen: bool = False
    takeback: bool = True
    search: Word = "production"
    level_names: tuple[str, ...] = ()
    rated: bool = False


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


class Substitution(Struct, frozen=True):
    """From the move at `ply` on, `occupant` played the seat: an AI for a player who had gone, or
    the player again.
    """

    ply: int
    seat: int
    occupant: Occupant


class MatchResult(Struct, frozen=True, omit_defaults=True):
    """The result of a match. The fields mean the same as in `finished`.

    `substitutions` are there over HTTP only; on the socket they are in the match's state.
    """

    winner: int | None
    how: Word
    reason: str
    points: tuple[int, int] | None = None
    substitutions: tuple[Substitution, ...] = ()


class MatchState(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A match with its result so far. The start position and the moves define the position.

    `seats` are the players of now, or of the end. `substitutions` says who played from which ply
    on, where a player went and the AI played on. `thinking` means the same as in `started`.
    """

    id: str
    number: int
    start: str
    rules: str
    seats: tuple[Occupant, ...]
    moves: tuple[Played, ...]
    over: MatchResult | None = None
    substitutions: tuple[Substitution, ...] = ()
    thinking: Word = "all"


class Proposal(Struct, frozen=True, omit_defaults=True):
    """An open offer that is neither of a draw nor of a rematch.

    The fields mean the same as in `offered`.
    """

    seat: int
    what: Word
    to_ply: int | None = None


class ChatLine(Struct, frozen=True, omit_defaults=True):
    """One line of chat with the version and the time of its event.

    A server of an earlier version omits the identity of its author. `by`, `answers` and `links`
    mean the same as in `said`.
    """

    v: int
    at: int
    name: str
    text: str
    to: Word = "room"
    identity: str = ""
    by: Word = ""
    answers: int | None = None
    links: bool = False


class RoomSummary(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A public room in the lobby's list.

    `length` is the length of its match as text ("12 moves"), counted as the game counts moves.
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
