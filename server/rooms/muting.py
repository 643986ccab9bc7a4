"""The conditions of muting: whom the host of a room may mute and unmute. Pure functions."""

from server.events import Player
from server.rooms.model import Room, Viewer
from server.rooms.refusals import (
    MUTE_SELF,
    MUTE_TOO_MANY,
    MUTE_UNKNOWN,
    NOT_HOST,
    NOT_MUTED,
    Refusal,
)

#: Maximum number of muted people in a room.
MAX_MUTED = 64


def mute(room: Room, viewer: Viewer, identity: str | None = None) -> Refusal | None:
    """Why the viewer may not mute a person, or anyone if `identity` is None; None if they may."""
    if not viewer.is_host:
        return NOT_HOST
    if identity == viewer.identity:
        return MUTE_SELF
    if not people_to_mute(room, identity):
        return MUTE_UNKNOWN
    return MUTE_TOO_MANY if len(room.muted) >= MAX_MUTED else None


def unmute(room: Room, viewer: Viewer, identity: str | None = None) -> Refusal | None:
    """Why the viewer may not unmute a person, or anyone if `identity` is None; None if they may."""
    if not viewer.is_host:
        return NOT_HOST
    is_muted = any(identity in (None, person.identity) for person in room.muted)
    return None if is_muted else NOT_MUTED


def people_to_mute(room: Room, identity: str | None = None) -> list[Player]:
    """The authors of the lines in memory that others see, except the host and muted people.

    With an `identity`, it returns at most that person.
    """
    muted = {person.identity for person in room.muted} | {room.host}
    lines = {line.identity: line.name for line in room.chat if not (line.by or line.is_private)}
    return [
        Player(author, name)
        for author, name in lines.items()
        if author not in muted and identity in (None, author)
    ]
