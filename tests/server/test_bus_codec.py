"""The encoding of bus messages on the broker: messages round-trip, other payloads are refused."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from server.bus.base import (
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
    PageClosed,
    PresenceReport,
)
from server.bus.broker import MAX_BYTES
from server.bus.codec import Codec, InvalidMessage, room_topic
from server.bus.subscriptions import matching_filters
from server.events import Occupant, Said, format_event_body
from server.protocol import messages as wire
from server.rooms.text import clean_text
from server.store.base import StoredEvent
from server.store.people import shown_event
from tests.server.test_bus_contract import ENTRY, KEY, MESSAGES, NODE_MESSAGES

CODEC = Codec(KEY)
TEXT = st.text(st.characters(exclude_characters="\x00", codec="utf-8"), min_size=1, max_size=24)
V = st.integers(1, 2**53 - 200)


@st.composite
def events_appended(draw: st.DrawFn) -> EventsAppended:
    first = draw(V)
    texts = draw(st.lists(st.text(max_size=40).map(clean_text), min_size=1, max_size=4))
    events = tuple(
        StoredEvent(
            first + number, draw(V), number % 2, format_event_body(Said("ada", "Ada", text))
        )
        for number, text in enumerate(texts)
    )
    return EventsAppended(draw(TEXT), draw(TEXT), events)


@st.composite
def ephemeral_messages(draw: st.DrawFn) -> Ephemeral:
    room = draw(TEXT)
    thinking = wire.Thinking(
        room=room, match="m", ply=draw(V), seat=1, state="done", pv=tuple(draw(st.lists(TEXT)))
    )
    return Ephemeral(room, draw(TEXT), thinking)


MESSAGE = st.one_of(
    events_appended(),
    ephemeral_messages(),
    st.builds(PageClosed, TEXT, TEXT, TEXT),
    st.builds(PresenceReport, TEXT, TEXT, st.frozensets(TEXT, max_size=5), V, st.booleans()),
    st.builds(Heartbeat, TEXT),
    st.builds(MessagesLost, TEXT),
    st.builds(NodeDown, TEXT),
    st.builds(AnalysisChanged, TEXT, TEXT),
    st.builds(AnswerSent, TEXT, TEXT, st.builds(wire.Answer, room=TEXT, v=V, text=TEXT), TEXT),
    st.builds(ConnectionReport, TEXT, st.frozensets(TEXT, max_size=5), st.booleans()),
    st.builds(LobbyChanged, TEXT, st.just((ENTRY,)), st.tuples(TEXT)),
)


@given(MESSAGE)
def test_messages_round_trip(message: BusMessage) -> None:
    """Messages with any names and texts round-trip.

    Their topics contain no wildcard and no additional level.
    """
    topic, payload, _ = CODEC.encode(message)
    assert CODEC.decode(topic, payload) == message
    assert not set(topic) & set("+#\x00")
    assert topic.startswith("plyroom/1/")
    assert topic.count("/") <= 4


@given(MESSAGE, st.randoms(use_true_random=False))
def test_changed_payloads_are_refused(message: BusMessage, rng: random.Random) -> None:
    """A changed byte, another topic or another key raises InvalidMessage and nothing else."""
    topic, payload, _ = CODEC.encode(message)
    if not payload:
        return
    index = rng.randrange(len(payload))
    changed_byte = bytes([payload[index] ^ (1 << rng.randrange(8))])
    changed = payload[:index] + changed_byte + payload[index + 1 :]
    for other_topic, other_payload in (
        (topic, payload[:index]), (f"{topic}x", payload),
        (topic, Codec(b"other").encode(message).payload),
        ("plyroom/1/lobby/x", payload), (room_topic("elsewhere"), payload),
    ):  # fmt: skip
        if other_payload:
            with pytest.raises(InvalidMessage):
                CODEC.decode(other_topic, other_payload)
    with suppress(InvalidMessage):
        assert CODEC.decode(topic, changed) == message, "a changed byte makes no other message"


@given(
    st.binary(max_size=200),
    st.sampled_from([CODEC.encode(m).topic for m in (*MESSAGES, *NODE_MESSAGES)]),
)
def test_random_bytes_are_refused(payload: bytes, topic: str) -> None:
    """Random bytes are refused; an empty payload is valid on a node's topic only, as its will."""
    if payload or "/nodes/" not in topic:
        with pytest.raises(InvalidMessage):
            CODEC.decode(topic, payload)


GOOD = EventsAppended(
    "r1", "n1", (StoredEvent(3, 1, 0, format_event_body(Said("ada", "Ada", "hi"))),)
)


@pytest.mark.parametrize(
    "change",
    [
        {"events": []},
        {"events": [{"v": 0, "at": 1, "audience": 0, "body": {"kind": "hidden"}}]},
        {"events": [{"v": 1, "at": 1, "audience": 256, "body": {"kind": "seat_left", "seat": 0}}]},
        {"events": [{"v": "1", "at": 1, "audience": 0, "body": {"kind": "seat_left", "seat": 0}}]},
        {
            "events": [
                {"v": v, "at": 1, "audience": 0, "body": {"kind": "seat_left", "seat": 0}}
                for v in (1, 3)
            ]
        },
        {"events": [{"v": 1, "at": 1, "audience": 0, "body": {"seat": 0}}]},
        {"events": [{"v": 1, "at": 1, "audience": 0, "body": {"kind": 7}}]},
        {"room": "r2"},
        {"room": "x" * 25},
        {"node": ""},
        {"more": 1},
    ],
)
def test_a_sealed_message_is_validated_too(change: dict[str, object]) -> None:
    """A message with a valid seal is validated too: a node of another version may have sent it."""
    topic, payload, _ = CODEC.encode(GOOD)
    content = json.dumps({**json.loads(payload)["says"], **change}).encode()
    with pytest.raises(InvalidMessage):
        CODEC.decode(topic, CODEC._wrap(topic, content).payload)


@pytest.mark.parametrize("body", [b'{"kind":"taken_back","ply":3}', b'{"kind":"seat_left"}'])
def test_an_event_of_a_newer_version_passes_unchanged(body: bytes) -> None:
    """A newer node's event reaches this version's rooms byte for byte."""
    message = EventsAppended("r1", "n1", (StoredEvent(3, 1, 0, body),))
    topic, payload, _ = CODEC.encode(message)
    assert CODEC.decode(topic, payload) == message


def test_names_and_lines_of_an_earlier_version_arrive_clean() -> None:
    """An earlier version's node sends them as they were typed; here they are as the store shows
    them.
    """
    said = Said("ada", "Plyroom", "\u202eevil")
    entry = StoredEvent(3, 1, 0, format_event_body(said))
    room = replace(
        ENTRY, seats=(Occupant("ben", "B\u200ben"), Occupant("ai", "AI level 3", "ai", 3))
    )
    for message, expected in (
        (EventsAppended("r1", "n1", (entry,)), EventsAppended("r1", "n1", (shown_event(entry),))),
        (
            LobbyChanged("n1", (room,), ()),
            LobbyChanged("n1", (replace(room, seats=(Occupant("ben", "Ben"), room.seats[1])),), ()),
        ),
    ):
        topic, payload, _ = CODEC.encode(message)
        assert CODEC.decode(topic, payload) == expected
    assert b"evil" in shown_event(entry).body
    assert b"Plyroom" not in shown_event(entry).body


def test_a_thinking_frame_is_validated() -> None:
    """A thinking frame of another type or another room does not reach clients."""
    for message in (
        wire.Pong(at=1),
        wire.Thinking(room="r2", match="m", ply=1, seat=0, state="done"),
    ):
        topic, payload, _ = CODEC.encode(Ephemeral("r1", "n1", message))  # type: ignore[arg-type]
        with pytest.raises(InvalidMessage):
            CODEC.decode(topic, payload)


def test_a_message_that_is_too_long() -> None:
    """A message that is too long is refused before it is parsed."""
    topic, payload, _ = CODEC.encode(GOOD)
    with pytest.raises(InvalidMessage, match="long"):
        CODEC.decode(topic, payload + b" " * MAX_BYTES)


def test_subscriptions_of_a_topic() -> None:
    """A topic matches itself and the filters with `+` or `#` of MQTT 5, section 4.7.1."""
    assert set(matching_filters("a/b/c")) == {"a/b/c", "a/b/+", "a/#", "a/b/#", "a/b/c/#"}
