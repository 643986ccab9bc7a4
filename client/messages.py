"""Parses the server's messages and formats the client's. This module does no I/O.

A newer server may send message types, event kinds, enumerated values and codes that this client
does not know. A message of an unknown type becomes None, and so does one that may be dropped and
has values that this client cannot read. An event of an unknown kind, or with
fields that this client cannot read, becomes `Hidden` with the same v. An enumerated value or a code
may be any string; the look of a board or a piece that this client does not know is the usual one.
"""

from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, inspect

from server.events import AnyEvent, Hidden
from server.protocol.codec import format_message
from server.protocol.messages import (
    Ack,
    Answer,
    ClientFrame,
    Joined,
    Lobby,
    May,
    Notification,
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
    """The server's `error`: it refuses the command `id`; without an id, the connection."""

    id: str | None
    code: str
    message: str


class LoggedEvent(Struct, frozen=True):
    """An event of a room's log with its number `v` and its time `at`, in ms since 1970."""

    room: str
    v: int
    at: int
    event: AnyEvent


class _Head(Struct):
    """The type of any message."""

    t: str = ""


class _EventHead(Struct):
    """The fields that every event has."""

    room: str
    v: int
    at: int = 0
    kind: str = ""


#: The messages about a followed room.
RoomMessage = Joined | May | Snapshot | LoggedEvent | View | Turn | Thinking | Presence | Answer

#: Message types that the connection may drop when the reader is slow.
EPHEMERAL = (Thinking, Presence)

#: The messages that msgspec decodes by their tag; an event has a tag of its own, `kind`.
KnownMessage = (
    Welcome
    | Ack
    | Refusal
    | Pong
    | Joined
    | May
    | Snapshot
    | View
    | Turn
    | Thinking
    | Answer
    | Presence
    | Lobby
    | Notification
)
#: Every message that `parse_server_message` returns.
ServerMessage = KnownMessage | LoggedEvent

T = TypeVar("T")

_KNOWN_TAGS = frozenset(str(each.__struct_config__.tag) for each in KnownMessage.__args__)
_EPHEMERAL_TAGS = frozenset(str(each.__struct_config__.tag) for each in EPHEMERAL)
_EVENT_KINDS = frozenset(str(each.__struct_config__.tag) for each in AnyEvent.__args__)
_head_decoder: msgspec.json.Decoder[_Head] = msgspec.json.Decoder(_Head)
_event_head_decoder: msgspec.json.Decoder[_EventHead] = msgspec.json.Decoder(_EventHead)
_event_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)
_known_decoder: msgspec.json.Decoder[KnownMessage] = msgspec.json.Decoder(KnownMessage)


def parse_server_message(frame: bytes | str) -> ServerMessage | None:
    """Returns the message in a frame, or None for an unknown type, and for unknown values in a
    message that may be dropped.

    Raises UnreadableFrame when the frame holds no valid message.
    """
    tag = ""
    try:
        tag = _head_decoder.decode(frame).t
        if tag == "event":
            head = _event_head_decoder.decode(frame)
            return LoggedEvent(
                head.room,
                head.v,
                head.at,
                _parse_event(frame) if head.kind in _EVENT_KINDS else Hidden(),
            )
        if tag not in _KNOWN_TAGS:
            return None
        try:
            return _known_decoder.decode(frame)
        except msgspec.ValidationError:
            newer: KnownMessage = decode_newer(frame, KnownMessage)
            return newer
    except msgspec.ValidationError as error:
        if tag in _EPHEMERAL_TAGS:
            return None
        raise UnreadableFrame(
            f"this plyroom cannot read a message of the server, which may be newer: {error}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableFrame(
            f"this client cannot read a message of the server: {error}"
        ) from error


def decode_newer(body: bytes | str, of: Any) -> Any:
    """Decodes what a newer server has sent: a field whose enumerated value this client does not
    know has its default. Raises msgspec.ValidationError for anything else that is not of the type.
    """
    return msgspec.convert(_known_part(msgspec.json.decode(body), _described(of)), of)


@lru_cache(maxsize=16)
def _described(of: Any) -> inspect.Type:
    return inspect.type_info(of)


def _known_part(value: Any, of: inspect.Type) -> Any:
    """A value of JSON without the enumerated values that its type does not have."""
    match of:
        case inspect.UnionType(types=types):
            for each in types:
                value = _known_part(value, each)
        case inspect.StructType(fields=fields) if isinstance(value, dict) and (
            of.tag is None or value.get(of.tag_field) == of.tag
        ):
            value = dict(value)
            for field in fields:
                name = field.encode_name
                if name in value and not field.required and _is_unknown(value[name], field.type):
                    del value[name]
                elif name in value:
                    value[name] = _known_part(value[name], field.type)
        case inspect.DictType(value_type=inner) if isinstance(value, dict):
            value = {key: _known_part(each, inner) for key, each in value.items()}
        case inspect.VarTupleType(item_type=inner) | inspect.ListType(item_type=inner) if (
            isinstance(value, list)
        ):
            value = [_known_part(each, inner) for each in value]
    return value


def _is_unknown(value: Any, of: inspect.Type) -> bool:
    """Whether a value is not one of an enumeration."""
    types = of.types if isinstance(of, inspect.UnionType) else (of,)
    enumerations = [each for each in types if isinstance(each, inspect.LiteralType)]
    if not isinstance(value, str) or not enumerations:
        return False
    return not any(value in each.values for each in enumerations)


def _parse_event(frame: bytes | str) -> AnyEvent:
    try:
        return _event_decoder.decode(frame)
    except msgspec.ValidationError:
        return Hidden()


def format_client_message(message: ClientFrame) -> str:
    """Returns a message to the server as the text of one frame."""
    return format_message(message).decode()
