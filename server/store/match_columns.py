"""The players of a match and its clock, as the columns of its row hold them: `first` and `second`,
`clock` and `speed`.
"""

from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct

from engine.view import SEATS
from server.events import Occupant, Started, parse_event_body
from server.store.base import StoredMatch
from server.time_controls import UNTIMED, Speed, TimeControlError, parse_control, speed_of

_decode = msgspec.json.Decoder(list[Occupant]).decode


class Players(Struct, frozen=True):
    """The players on both seats; None for a seat that the log does not name."""

    first: str | None = None
    second: str | None = None


def player_key(occupant: Occupant) -> str:
    """The identity of a person; `ai:` and the level or the persona of an AI."""
    if occupant.kind != "ai":
        return occupant.identity
    return f"ai:{occupant.level if occupant.level is not None else occupant.persona}"


def players(seats: Sequence[Occupant]) -> Players:
    """The players of a match with these occupants of its seats."""
    return Players(*map(player_key, seats[:SEATS]))


def players_of(seats: bytes) -> Players:
    """The players of a match, from its seats as JSON."""
    return players(_decode(seats))


class ClockColumns(Struct, frozen=True):
    """The text of a match's time control, None for none, and its class."""

    text: str | None
    speed: Speed


def clock_columns(text: str | None) -> ClockColumns:
    """The columns of a match with the time control of its `started` event."""
    try:
        return ClockColumns(text, speed_of(None if text is None else parse_control(text)))
    except TimeControlError:  # of a newer version
        return ClockColumns(text, UNTIMED)


def clock_of(started: bytes) -> ClockColumns:
    """The columns of a match, from the body of its `started` event."""
    try:
        event = parse_event_body(started)
    except (msgspec.DecodeError, UnicodeDecodeError):  # `verify` reports it
        return clock_columns(None)
    return clock_columns(event.clock if isinstance(event, Started) else None)


def latest_matches(
    matches: Iterable[StoredMatch], running: int, finished: int
) -> list[StoredMatch]:
    """The latest `running` matches that are running, then the latest `finished` that are not.

    A match that occurs twice counts once.
    """
    unique = {match.match: match for match in matches}.values()
    by_start = sorted(unique, key=lambda match: (-match.started_ms, match.match))
    by_end = sorted(unique, key=lambda match: (-(match.finished_ms or 0), match.match))
    return [
        *[match for match in by_start if match.finished_ms is None][:running],
        *[match for match in by_end if match.finished_ms is not None][:finished],
    ]
