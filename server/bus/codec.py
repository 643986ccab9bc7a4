"""The encoding of bus messages: JSON that names its sender, authenticated with a key that all nodes
share (HMAC).

A received message is validated like a client's: a wrong seal, a wrong type, a value beyond its
limits or a topic that does not fit is refused. Pure.
"""

import hmac
import itertools
from typing import Annotated, NamedTuple
from urllib.parse import quote, unquote

import msgspec
from msgspec import Meta, Raw, Struct

from server.bus.base import (
    BusMessage,
    Ephemeral,
    EventsAppended,
    Heartbeat,
    LobbyChanged,
    MessagesLost,
    NodeDown,
    PresenceReport,
)
from server.bus.link import MAX_BYTES, ROOT
from server.protocol import messages as wire
from server.protocol.codec import parse_event_body
from server.protocol.frames import text_frame
from server.protocol.messages import Count, RoomId
from server.store.base import StoredEvent

#: Length of a seal, a truncated HMAC-SHA256, in bytes.
MAC_BYTES = 16
#: Most rooms in one lobby message.
LOBBY_BATCH = 50

Node = Annotated[str, Meta(min_length=1, max_length=64)]
Identity = Annotated[str, Meta(min_length=1, max_length=64)]


class InvalidMessage(Exception):
    """The payload is not a valid message; the exception says why."""


class Encoded(NamedTuple):
    """A message for the broker; a `kept` one is sent again if the connection breaks (QoS 1)."""

    topic: str
    payload: bytes
    reliable: bool


class _Sealed(Struct, forbid_unknown_fields=True):
    seal: Annotated[str, Meta(max_length=2 * MAC_BYTES)]
    says: Raw


class _Entry(Struct, forbid_unknown_fields=True):
    v: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    at: Count
    audience: Annotated[int, Meta(ge=0, le=1)]
    body: Raw


class _EventsAppended(Struct, forbid_unknown_fields=True):
    room: RoomId
    node: Node
    events: Annotated[list[_Entry], Meta(min_length=1, max_length=1000)]


class _Ephemeral(Struct, forbid_unknown_fields=True):
    room: RoomId
    node: Node
    thinking: Raw


class _PresenceReport(Struct, forbid_unknown_fields=True):
    room: RoomId
    node: Node
    identities: Annotated[list[Identity], Meta(max_length=100)]
    watching: Count
    asks: bool = False


class _LobbyChanged(Struct, forbid_unknown_fields=True):
    node: Node
    rooms: Annotated[tuple[wire.RoomSummary, ...], Meta(max_length=LOBBY_BATCH)] = ()
    gone: Annotated[tuple[RoomId, ...], Meta(max_length=LOBBY_BATCH)] = ()


class _Node(Struct, forbid_unknown_fields=True):
    node: Node


_encode = msgspec.json.Encoder().encode
_decode_sealed = msgspec.json.Decoder(_Sealed).decode
_decode_events_appended = msgspec.json.Decoder(_EventsAppended).decode
_decode_ephemeral = msgspec.json.Decoder(_Ephemeral).decode
_decode_thinking = msgspec.json.Decoder(wire.Thinking).decode
_decode_presence_report = msgspec.json.Decoder(_PresenceReport).decode
_decode_lobby_changed = msgspec.json.Decoder(_LobbyChanged).decode
_decode_node = msgspec.json.Decoder(_Node).decode

ROOMS_TOPIC, NODES_TOPIC, LOBBY_TOPIC, LOST_TOPIC = (
    f"{ROOT}/rooms",
    f"{ROOT}/nodes",
    f"{ROOT}/lobby",
    f"{ROOT}/missed",
)


def room_topic(room: str) -> str:
    """The topic of a room's messages. The id is quoted because clients choose it: it is never a
    wildcard nor another topic level.
    """
    return f"{ROOMS_TOPIC}/{quote(room, safe='')}"


def node_topic(node: str) -> str:
    """The topic of a node's status."""
    return f"{NODES_TOPIC}/{quote(node, safe='')}"


class Codec:
    """Encodes and decodes messages, authenticated with a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encode(self, message: BusMessage) -> Encoded:
        """The message as the broker receives it."""
        match message:
            case EventsAppended(room=room, node=node, events=events):
                says = _encode(
                    _EventsAppended(
                        room, node, [_Entry(e.v, e.at_ms, e.audience, Raw(e.body)) for e in events]
                    )
                )
                return self._authenticated(room_topic(room), says, reliable=True)
            case Ephemeral(room=room, node=node, frame=frame):
                says = _encode(_Ephemeral(room, node, Raw(_payload(frame))))
                return self._authenticated(f"{room_topic(room)}/thinking", says)
            case PresenceReport(room=room, node=node):
                says = _encode(
                    _PresenceReport(
                        room, node, sorted(message.identities)[:100], message.watching, message.asks
                    )
                )
                return self._authenticated(f"{room_topic(room)}/here", says)
            case LobbyChanged(node=node):
                return self._authenticated(
                    LOBBY_TOPIC, _encode(_LobbyChanged(node, message.rooms, message.gone))
                )
            case Heartbeat(node=node):
                return self._authenticated(node_topic(node), _encode(_Node(node)))
            case MessagesLost(node=node):
                return self._authenticated(LOST_TOPIC, _encode(_Node(node)), reliable=True)
            case NodeDown(node=node):
                return Encoded(node_topic(node), b"", reliable=False)

    def _authenticated(self, topic: str, says: bytes, reliable: bool = False) -> Encoded:
        return Encoded(
            topic, b'{"seal":"%b","says":%b}' % (self._mac(topic, says).encode(), says), reliable
        )

    def _mac(self, topic: str, says: bytes) -> str:
        return hmac.digest(self._key, topic.encode() + b"\0" + says, "sha256")[:MAC_BYTES].hex()

    def decode(self, topic: str, payload: bytes) -> BusMessage:
        """The message in a payload; raises InvalidMessage, and nothing else, if it is invalid."""
        if len(payload) > MAX_BYTES:
            raise InvalidMessage("too long")
        if not payload and topic.startswith(f"{NODES_TOPIC}/"):
            return NodeDown(unquote(topic[len(NODES_TOPIC) + 1 :]))  # a will is not sealed
        try:
            sealed = _decode_sealed(payload)
            says = bytes(sealed.says)
            if not hmac.compare_digest(self._mac(topic, says).encode(), sealed.seal.encode()):
                raise InvalidMessage("not sealed by a node of this store")
            return _message(topic, says)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidMessage(str(error)) from error


def _message(topic: str, says: bytes) -> BusMessage:
    """Decodes a payload whose seal was valid for this topic."""
    if topic == LOBBY_TOPIC:
        listed = _decode_lobby_changed(says)
        return LobbyChanged(listed.node, listed.rooms, listed.gone)
    if topic == LOST_TOPIC:
        return MessagesLost(_decode_node(says).node)
    if topic.startswith(f"{NODES_TOPIC}/"):
        beat = Heartbeat(_decode_node(says).node)
        return _checked(topic, node_topic(beat.node), beat)
    if topic.endswith("/thinking"):
        ephemeral = _decode_ephemeral(says)
        thinking = bytes(ephemeral.thinking)
        if _decode_thinking(thinking).room != ephemeral.room:
            raise InvalidMessage("thinking of another room")
        message = Ephemeral(ephemeral.room, ephemeral.node, text_frame(thinking))
        return _checked(topic, f"{room_topic(ephemeral.room)}/thinking", message)
    if topic.endswith("/here"):
        report = _decode_presence_report(says)
        presence = PresenceReport(
            report.room, report.node, frozenset(report.identities), report.watching, report.asks
        )
        return _checked(topic, f"{room_topic(report.room)}/here", presence)
    return _checked(topic, room_topic((appended := _events_appended(says)).room), appended)


def _events_appended(says: bytes) -> EventsAppended:
    appended = _decode_events_appended(says)
    events = tuple(
        StoredEvent(one.v, one.at, one.audience, bytes(one.body)) for one in appended.events
    )
    for event, following in itertools.pairwise(events):
        if following.v != event.v + 1:
            raise InvalidMessage("events that do not follow each other")
    for event in events:
        parse_event_body(event.body)
    return EventsAppended(appended.room, appended.node, events)


def _checked(topic: str, expected: str, message: BusMessage) -> BusMessage:
    """The message; InvalidMessage if it came on another topic than its own."""
    if topic != expected:
        raise InvalidMessage("said where it does not belong")
    return message


def _payload(frame: bytes) -> bytes:
    """The payload of a text frame of `server.protocol.frames`."""
    return frame[{126: 4, 127: 10}.get(frame[1], 2) :]
