"""The encoding of bus messages: JSON that names its sender, authenticated by an HMAC.

All nodes of a store share the key. A received message is validated like a client's: a message with
a wrong HMAC, a wrong type, a value beyond its limits or the wrong topic is refused. Pure.
"""

import hmac
import itertools
from typing import Annotated, NamedTuple
from urllib.parse import quote, unquote

import msgspec
from msgspec import Meta, Raw, Struct

from server.bus.base import (
    CONNECTION_BATCH,
    AnalysisChanged,
    AnswerSent,
    BusMessage,
    ConnectionReport,
    Ephemeral,
    EventsAppended,
    Heartbeat,
    LobbyChanged,
    MessagesLost,
    NodeDown,
    NotificationSent,
    PageClosed,
    PresenceReport,
)
from server.bus.broker import MAX_BYTES, ROOT
from server.commands import Count, RoomId
from server.events import parse_event_body
from server.protocol import messages as wire
from server.store.base import StoredEvent
from server.store.people import shown_json

#: Length of a message's `seal`, a truncated HMAC-SHA256, in bytes.
MAC_BYTES = 16
#: Maximum number of rooms in one lobby message.
LOBBY_BATCH = 50

Node = Annotated[str, Meta(min_length=1, max_length=64)]
Identity = Annotated[str, Meta(min_length=1, max_length=64)]


class InvalidMessage(Exception):
    """The payload is not a valid message; the exception says why."""


class Encoded(NamedTuple):
    """A message for the broker. A reliable one has QoS 1, any other QoS 0."""

    topic: str
    payload: bytes
    reliable: bool


class _Envelope(Struct, forbid_unknown_fields=True):
    seal: Annotated[str, Meta(max_length=2 * MAC_BYTES)]
    says: Raw


class _Entry(Struct, forbid_unknown_fields=True):
    v: Annotated[int, Meta(ge=1, le=2**53 - 1)]
    at: Count
    #: A feed hides an event of an audience that it does not know.
    audience: Annotated[int, Meta(ge=0, le=255)]
    body: Raw


class _EventsAppended(Struct, forbid_unknown_fields=True):
    room: RoomId
    node: Node
    events: Annotated[list[_Entry], Meta(min_length=1, max_length=1000)]


class _Ephemeral(Struct, forbid_unknown_fields=True, omit_defaults=True):
    room: RoomId
    node: Node
    thinking: wire.Thinking
    restricted: bool = False


class _PresenceReport(Struct, forbid_unknown_fields=True):
    room: RoomId
    node: Node
    identities: Annotated[list[Identity], Meta(max_length=100)]
    watching: Count
    asks: bool = False


class _PageClosed(Struct, forbid_unknown_fields=True):
    room: RoomId
    node: Node
    identity: Identity


class _LobbyChanged(Struct, forbid_unknown_fields=True):
    node: Node
    rooms: Annotated[tuple[wire.RoomSummary, ...], Meta(max_length=LOBBY_BATCH)] = ()
    gone: Annotated[tuple[RoomId, ...], Meta(max_length=LOBBY_BATCH)] = ()


class _AnalysisChanged(Struct, forbid_unknown_fields=True):
    node: Node
    match: Annotated[str, Meta(min_length=1, max_length=64)]


class _AnswerSent(Struct, forbid_unknown_fields=True, omit_defaults=True):
    node: Node
    identity: Identity
    answer: wire.Answer
    command: Annotated[str, Meta(max_length=64)] = ""


class _NotificationSent(Struct, forbid_unknown_fields=True, omit_defaults=True):
    node: Node
    identity: Identity
    notification: wire.Notification


class _ConnectionReport(Struct, forbid_unknown_fields=True, omit_defaults=True):
    node: Node
    identities: Annotated[list[Identity], Meta(max_length=CONNECTION_BATCH)]
    asks: bool = False


class _Node(Struct, forbid_unknown_fields=True):
    node: Node


_encode = msgspec.json.Encoder().encode
_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_events_appended = msgspec.json.Decoder(_EventsAppended).decode
_decode_ephemeral = msgspec.json.Decoder(_Ephemeral).decode
_decode_presence_report = msgspec.json.Decoder(_PresenceReport).decode
_decode_page_closed = msgspec.json.Decoder(_PageClosed).decode
_decode_lobby_changed = msgspec.json.Decoder(_LobbyChanged).decode
_decode_analysis_changed = msgspec.json.Decoder(_AnalysisChanged).decode
_decode_answer_sent = msgspec.json.Decoder(_AnswerSent).decode
_decode_notification_sent = msgspec.json.Decoder(_NotificationSent).decode
_decode_connection_report = msgspec.json.Decoder(_ConnectionReport).decode
_decode_node = msgspec.json.Decoder(_Node).decode

#: The parent of the rooms' topics.
ROOMS_TOPIC = f"{ROOT}/rooms"
#: The parent of the nodes' topics.
NODES_TOPIC = f"{ROOT}/nodes"
#: The topic of changes of the lobby.
LOBBY_TOPIC = f"{ROOT}/lobby"
#: The topic of changes of analyses.
ANALYSES_TOPIC = f"{ROOT}/analyses"
#: The topic of the bot's private answers.
BOT_TOPIC = f"{ROOT}/bot"
#: The topic of notifications of players.
NOTIFICATIONS_TOPIC = f"{ROOT}/notifications"
#: The topic of questions for the connections of people, and of the answers.
CONNECTIONS_TOPIC = f"{ROOT}/connections"
#: The topic on which a node reports that messages of its own were lost.
LOST_TOPIC = f"{ROOT}/missed"


def room_topic(room: str) -> str:
    """The topic of a room's messages. The id is quoted because clients choose it: it can be
    neither a wildcard nor another topic level.
    """
    return f"{ROOMS_TOPIC}/{quote(room, safe='')}"


def node_topic(node: str) -> str:
    """The topic of a node's status."""
    return f"{NODES_TOPIC}/{quote(node, safe='')}"


class Codec:
    """Encodes, authenticates and decodes messages with a key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encode(self, message: BusMessage) -> Encoded:
        """The message as the broker receives it."""
        match message:
            case EventsAppended(room=room, node=node, events=events):
                body = _encode(
                    _EventsAppended(
                        room, node, [_Entry(e.v, e.at_ms, e.audience, Raw(e.body)) for e in events]
                    )
                )
                return self._wrap(room_topic(room), body, reliable=True)
            case Ephemeral(room=room, node=node, thinking=thinking):
                body = _encode(_Ephemeral(room, node, thinking, message.restricted))
                return self._wrap(f"{room_topic(room)}/thinking", body)
            case PresenceReport(room=room, node=node):
                body = _encode(
                    _PresenceReport(
                        room, node, sorted(message.identities)[:100], message.watching, message.asks
                    )
                )
                return self._wrap(f"{room_topic(room)}/here", body)
            case PageClosed(room=room, node=node, identity=identity):
                body = _encode(_PageClosed(room, node, identity))
                return self._wrap(f"{room_topic(room)}/closed", body)
            case LobbyChanged(node=node):
                return self._wrap(
                    LOBBY_TOPIC, _encode(_LobbyChanged(node, message.rooms, message.gone))
                )
            case AnalysisChanged(node=node, match=match):
                return self._wrap(ANALYSES_TOPIC, _encode(_AnalysisChanged(node, match)))
            case AnswerSent(node=node, identity=identity, answer=answer):
                body = _encode(_AnswerSent(node, identity, answer, message.command))
                return self._wrap(BOT_TOPIC, body)
            case NotificationSent(node=node, identity=identity, notification=notification):
                body = _encode(_NotificationSent(node, identity, notification))
                return self._wrap(NOTIFICATIONS_TOPIC, body)
            case ConnectionReport(node=node):
                report = _ConnectionReport(node, sorted(message.identities), message.asks)
                return self._wrap(CONNECTIONS_TOPIC, _encode(report))
            case Heartbeat(node=node):
                return self._wrap(node_topic(node), _encode(_Node(node)))
            case MessagesLost(node=node):
                return self._wrap(LOST_TOPIC, _encode(_Node(node)), reliable=True)
            case NodeDown(node=node):
                return Encoded(node_topic(node), b"", reliable=False)

    def _wrap(self, topic: str, body: bytes, reliable: bool = False) -> Encoded:
        return Encoded(
            topic, b'{"seal":"%b","says":%b}' % (self._mac(topic, body).encode(), body), reliable
        )

    def _mac(self, topic: str, body: bytes) -> str:
        return hmac.digest(self._key, topic.encode() + b"\0" + body, "sha256")[:MAC_BYTES].hex()

    def decode(self, topic: str, payload: bytes) -> BusMessage:
        """Decodes a payload. Raises InvalidMessage, and no other exception, if it is invalid."""
        if len(payload) > MAX_BYTES:
            raise InvalidMessage("too long")
        if not payload and topic.startswith(f"{NODES_TOPIC}/"):
            return NodeDown(unquote(topic[len(NODES_TOPIC) + 1 :]))  # a will has no HMAC
        try:
            envelope = _decode_envelope(payload)
            body = bytes(envelope.says)
            if not hmac.compare_digest(self._mac(topic, body).encode(), envelope.seal.encode()):
                raise InvalidMessage("not authenticated by a node of this store")
            # A node of an earlier version sends names and lines as people typed them.
            return _parse_body(topic, shown_json(body))
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise InvalidMessage(str(error)) from error


def _parse_body(topic: str, body: bytes) -> BusMessage:
    """Decodes the body of a message whose HMAC was valid for this topic."""
    if topic == LOBBY_TOPIC:
        lobby = _decode_lobby_changed(body)
        return LobbyChanged(lobby.node, lobby.rooms, lobby.gone)
    if topic == ANALYSES_TOPIC:
        changed = _decode_analysis_changed(body)
        return AnalysisChanged(changed.node, changed.match)
    if topic == BOT_TOPIC:
        sent = _decode_answer_sent(body)
        return AnswerSent(sent.node, sent.identity, sent.answer, sent.command)
    if topic == NOTIFICATIONS_TOPIC:
        told = _decode_notification_sent(body)
        return NotificationSent(told.node, told.identity, told.notification)
    if topic == CONNECTIONS_TOPIC:
        people = _decode_connection_report(body)
        return ConnectionReport(people.node, frozenset(people.identities), people.asks)
    if topic == LOST_TOPIC:
        return MessagesLost(_decode_node(body).node)
    if topic.startswith(f"{NODES_TOPIC}/"):
        heartbeat = Heartbeat(_decode_node(body).node)
        return _check_topic(topic, node_topic(heartbeat.node), heartbeat)
    if topic.endswith("/thinking"):
        ephemeral = _decode_ephemeral(body)
        if ephemeral.thinking.room != ephemeral.room:
            raise InvalidMessage("the message is for another room")
        message = Ephemeral(
            ephemeral.room, ephemeral.node, ephemeral.thinking, ephemeral.restricted
        )
        return _check_topic(topic, f"{room_topic(ephemeral.room)}/thinking", message)
    if topic.endswith("/here"):
        report = _decode_presence_report(body)
        presence = PresenceReport(
            report.room, report.node, frozenset(report.identities), report.watching, report.asks
        )
        return _check_topic(topic, f"{room_topic(report.room)}/here", presence)
    if topic.endswith("/closed"):
        page = _decode_page_closed(body)
        closed = PageClosed(page.room, page.node, page.identity)
        return _check_topic(topic, f"{room_topic(page.room)}/closed", closed)
    appended = _parse_events(body)
    return _check_topic(topic, room_topic(appended.room), appended)


def _parse_events(body: bytes) -> EventsAppended:
    appended = _decode_events_appended(body)
    events = tuple(
        StoredEvent(entry.v, entry.at, entry.audience, bytes(entry.body))
        for entry in appended.events
    )
    for event, following in itertools.pairwise(events):
        if following.v != event.v + 1:
            raise InvalidMessage("the events are not consecutive")
    for event in events:
        parse_event_body(event.body)
    return EventsAppended(appended.room, appended.node, events)


def _check_topic(topic: str, expected: str, message: BusMessage) -> BusMessage:
    """Returns the message. Raises InvalidMessage if it came on another topic than its own."""
    if topic != expected:
        raise InvalidMessage("the message is on the wrong topic")
    return message
