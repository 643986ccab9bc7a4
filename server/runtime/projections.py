"""The projections of a room's events, which the store writes in the same transaction.

They are the lobby's entries, the list of matches, and the AI's analyses.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from server.events import (
    AiTookOver,
    Configured,
    Created,
    Declined,
    Finished,
    Moved,
    Offered,
    PlayerReturned,
    Renamed,
    RoomEvent,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    format_event_body,
)
from server.protocol import messages as wire
from server.protocol.notifications import open_offers
from server.protocol.views import clock_state, format_seats, options_text
from server.rooms.matches import result_of
from server.rooms.model import Room
from server.rooms.notation import match_length
from server.store.base import (
    AUTHOR,
    EVERYONE,
    SPECTATORS,
    Listing,
    MatchFinished,
    MatchStarted,
    Projection,
    StoredEvent,
    Thought,
)
from server.store.match_columns import clock_columns, players
from server.store.match_filter import winner_of
from server.time_controls import format_control, speed_of

_encode = msgspec.json.Encoder().encode

#: The audience of a line of chat by its `to`.
AUDIENCES = {"room": EVERYONE, "spectators": SPECTATORS, "author": AUTHOR}


def log_entry(room: Room, event: RoomEvent, at_ms: int) -> StoredEvent:
    """Returns the log entry of the event that led to this state of the room."""
    audience = AUDIENCES.get(event.to, AUTHOR) if isinstance(event, Said) else EVERYONE
    return StoredEvent(room.v, at_ms, audience, format_event_body(event))


def summary(room: Room) -> wire.RoomSummary:
    """Returns the room's entry in the lobby, without what changes from move to move: the number of
    watchers, and the times of the clocks.
    """
    match = room.match
    return wire.RoomSummary(
        room=room.id, game=room.game_id, title=room.game.title if room.game else room.game_id,
        options=dict(room.options), seats=format_seats(room.seats),
        state="open" if match is None else "finished" if match.over else "playing",
        created_ms=room.created_ms, ply=match.ply if match else 0,
        length=match_length(room.game, match) if match else "", options_text=options_text(room),
        offers=open_offers(room),
        clock=None if room.control is None else format_control(room.control),
        speed=speed_of(room.control),
    )  # fmt: skip


def times(room: Room) -> wire.ClockState | None:
    """Returns the clock of the room's running match, for the lobby; None without one."""
    match = room.running_match
    return None if match is None or match.clock is None else clock_state(match.clock, None)


def is_listed(room: Room) -> bool:
    """Whether the room is in the lobby's list: it is public and its match is not over."""
    return room.visibility == "public" and (room.match is None or room.match.over is None)


def projections(
    room: Room, events: Sequence[RoomEvent], thought: bytes | None
) -> tuple[Projection, ...]:
    """Returns the rows that change with these events, which led to this state of the room.

    `thought` is the AI's analysis if the events include its move.
    """
    changes: list[Projection] = []
    is_entry_changed = False
    for v, event in enumerate(events, room.v - len(events) + 1):
        match event:
            case Moved():
                if thought is not None:
                    changes.append(Thought(event.match, v, event.ply, thought))
            case Started():
                is_entry_changed = True
                on_seats, clock = players(event.seats), clock_columns(event.clock)
                changes.append(
                    MatchStarted(
                        match=event.match, game=room.game_id, number=event.number,
                        options=_encode(room.options), seats=_encode(event.seats),
                        start=event.start, rules=event.rules, first_v=v,
                        started_ms=room.changed_ms, public=room.visibility == "public",
                        first=on_seats.first, second=on_seats.second,
                        clock=clock.text, speed=clock.speed,
                    )
                )  # fmt: skip
            case Finished():
                is_entry_changed = True
                substitutions = room.match.substitutions if room.match else ()
                over = _encode(replace(result_of(event), substitutions=substitutions))
                plies = room.match.ply if room.match else 0
                winner = winner_of(event.winner, event.how)
                changes.append(MatchFinished(event.match, v, room.changed_ms, plies, over, winner))
            case Created() | SeatTaken() | SeatLeft() | AiTookOver() | PlayerReturned() | Renamed():
                is_entry_changed = True
            case Configured() if event.clock is not None:
                is_entry_changed = True
            case Offered() | Declined():
                is_entry_changed = is_entry_changed or room.running_match is None
            case _:
                pass
    if is_entry_changed:
        changes.append(Listing(is_listed(room), _encode(summary(room))))
    return tuple(changes)
