"""Parses and formats messages. Pure: no sockets, no clock."""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from server.codes import Code
from server.commands import Command, RoomId
from server.protocol.messages import (
    MAX_DEPTH,
    MAX_FRAME_BYTES,
    ClientFrame,
    ClientMessage,
    CommandFrame,
    Outgoing,
)


class ProtocolError(Exception):
    """The frame is not a valid message.

    Carries the error code and, if it could be read, the id of the command to answer.
    """

    def __init__(self, code: Code, message: str, command_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.command_id = command_id


class _Envelope(Struct):
    t: str | msgspec.UnsetType = msgspec.UNSET
    id: str | None = None


class _Room(Struct):
    room: RoomId


class _Head(Struct, omit_defaults=True):
    t: str
    id: str
    room: str | msgspec.UnsetType = msgspec.UNSET


_decode_client: Callable[[bytes], ClientMessage] = msgspec.json.Decoder(ClientMessage).decode
_decode_room = msgspec.json.Decoder(_Room).decode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_encode = msgspec.json.Encoder().encode
_KNOWN = frozenset(struct.__struct_config__.tag for struct in ClientMessage.__args__)
_OPEN, _QUOTE, _ESCAPE = frozenset(b"{["), 0x22, 0x5C


def parse_message(frame: str | bytes) -> ClientFrame:
    """Parses a client's frame. Raises only ProtocolError, which says what is wrong with it."""
    data = frame.encode("utf-8", "surrogatepass") if isinstance(frame, str) else frame
    if len(data) > MAX_FRAME_BYTES:
        raise ProtocolError(Code.FRAME_TOO_BIG, f"a frame has at most {MAX_FRAME_BYTES} bytes")
    # The number of brackets bounds the depth from above, so ordinary messages skip the exact count.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and nesting(data) > MAX_DEPTH:
        raise ProtocolError(Code.FRAME_TOO_DEEP, f"a message nests at most {MAX_DEPTH} deep")
    try:
        message = _decode_client(data)
        if isinstance(message, Command):
            # A command has no room of its own, so the frame is decoded again for it: 0.1 us.
            return CommandFrame(_decode_room(data).room, message)
        return message
    except msgspec.DecodeError as error:
        raise _explain(data, error) from error
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ProtocolError(Code.FRAME_MALFORMED, "a frame is one JSON object in UTF-8") from error


def _explain(data: bytes, error: msgspec.DecodeError) -> ProtocolError:
    """The ProtocolError for a frame that msgspec rejected."""
    try:
        envelope = _decode_envelope(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:
            msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return ProtocolError(Code.FRAME_MALFORMED, "a frame is one JSON object in UTF-8")
        return ProtocolError(
            Code.MESSAGE_MALFORMED,
            'a message is an object with a text "t" and, for commands, a text "id"',
        )
    command_id = envelope.id if envelope.id and len(envelope.id) <= 36 else None
    if envelope.t is msgspec.UNSET:
        return ProtocolError(Code.MESSAGE_MALFORMED, 'a message names its type in "t"', command_id)
    if envelope.t not in _KNOWN:
        known = ", ".join(sorted(str(tag) for tag in _KNOWN))
        return ProtocolError(
            Code.MESSAGE_UNKNOWN,
            f"there is no message {str(envelope.t)[:40]!r}; the messages are: {known}",
            command_id,
        )
    return ProtocolError(Code.MESSAGE_MALFORMED, f"{envelope.t}: {error}", command_id)


def nesting(data: bytes) -> int:
    """The deepest nesting of objects and arrays outside strings, for unbalanced input too."""
    depth = deepest = 0
    in_string = escaped = False
    for byte in data:
        if in_string:
            if escaped:
                escaped = False
            elif byte == _ESCAPE:
                escaped = True
            elif byte == _QUOTE:
                in_string = False
        elif byte == _QUOTE:
            in_string = True
        elif byte in _OPEN:
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"}]":
            depth -= 1
    return deepest


def format_message(message: Outgoing | ClientFrame) -> bytes:
    """Formats a message as the payload of one frame."""
    if not isinstance(message, CommandFrame):
        return _encode(message)
    command = message.command
    tag = str(command.__struct_config__.tag)
    start = _encode(_Head(tag, command.id))
    return _encode(_Head(tag, command.id, message.room))[:-1] + _fields_after(start, command)


def _fields_after(start: bytes, command: Command) -> bytes:
    """The rest of a command's JSON after its first fields, which are `start`, an object."""
    whole = _encode(command)
    assert whole.startswith(start[:-1]), "a command begins with t and id"
    return whole[len(start) - 1 :]


def event_frame(room: str, v: int, at_ms: int, body: bytes) -> bytes:
    """The payload of an event's frame, built from its log entry without parsing it.

    The stored form of an event (`server.events`) is its form in this version of the protocol.
    The bytes are the same for every viewer.
    """
    return b'{"t":"event","room":"%b","v":%d,"at":%d,%b' % (room.encode(), v, at_ms, body[1:])


#: The body that a viewer receives in place of an event that they may not see.
HIDDEN_BODY = b'{"kind":"hidden"}'
