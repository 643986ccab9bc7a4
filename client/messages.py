"""The server's messages as a client reads them. This module does no I/O.

A newer server may send types, kinds and codes that this client does not know. An unknown message
type becomes None. An event of an unknown kind is treated as hidden, but it still counts. A code may
be any text.
"""

from typing import TypeVar

import msgspec
from msgspec import Struct

from server.protocol.messages import (
    Ack,
    AnyEvent,
    Hidden,
    Incoming,
    Joined,
    Lobby,
    Pong,
    Presence,
    Snapshot,
    Thinking,
    Turn,
    View,
    Welcome,
)


class UnreadableFrame(Exception):
    """The frame holds no message of this protocol."""


class Refusal(Struct, frozen=True, tag_field="t", tag="error"):
    """The server's `error`: a refusal of the command `id`, or without an id a connection error."""

    id: str | None
    code: str
    message: str


class Happened(Struct, frozen=True):
    """An event of a room with its place in the log."""

    room: str
    v: int
    at: int
    event: AnyEvent


class _Head(Struct):
    t: str = ""


class _EventHead(Struct):
    room: str
    v: int
    at: int = 0
    kind: str = ""


#: The messages about a followed room: all that a client needs to know and draw it.
RoomMessage = Joined | Snapshot | Happened | View | Turn | Thinking | Presence

#: Messages that may be dropped when the reader is slow.
EPHEMERAL = (Thinking, Presence)

Known = (
    Welcome | Ack | Refusal | Pong | Joined | Snapshot | View | Turn | Thinking | Presence | Lobby
)
ServerMessage = Known | Happened

T = TypeVar("T")

_KNOWN = frozenset(str(kind.__struct_config__.tag) for kind in Known.__args__)
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in AnyEvent.__args__)
_head: msgspec.json.Decoder[_Head] = msgspec.json.Decoder(_Head)
_event_head: msgspec.json.Decoder[_EventHead] = msgspec.json.Decoder(_EventHead)
_event: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_known: msgspec.json.Decoder[Known] = msgspec.json.Decoder(Known)


def parse_server_message(frame: bytes | str) -> ServerMessage | None:
    """The message in a frame, or None for an unknown type.

    Raises UnreadableFrame when the frame holds no message at all.
    """
    try:
        t = _head.decode(frame).t
        if t == "event":
            head = _event_head.decode(frame)
            return Happened(
                head.room,
                head.v,
                head.at,
                _event.decode(frame) if head.kind in _KINDS else Hidden(),
            )
        return _known.decode(frame) if t in _KNOWN else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableFrame(
            f"this client cannot read a message of the server: {error}"
        ) from error


def format_client_message(message: Incoming) -> str:
    """A message to the server as one text frame."""
    return msgspec.json.encode(message).decode()
