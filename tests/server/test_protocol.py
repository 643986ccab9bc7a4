"""The wire protocol: every frame is a message or a typed error, and messages round-trip."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from server import events
from server.commands import (
    Accept,
    AddAi,
    AiSeat,
    Bar,
    Chat,
    ClientCommand,
    Configure,
    Create,
    Decline,
    Hint,
    Move,
    Mute,
    MySeat,
    NextGame,
    OpenSeat,
    RemoveAi,
    Resign,
    Sit,
    Takeback,
    Unmute,
)
from server.events import (
    AiTookOver,
    AnyEvent,
    Barred,
    Configured,
    Created,
    Declined,
    Event,
    Finished,
    Held,
    Hidden,
    KnownEvent,
    Moved,
    Muted,
    Occupant,
    Offered,
    Player,
    PlayerReturned,
    Released,
    Renamed,
    Required,
    RoomEvent,
    Said,
    SeatLeft,
    SeatTaken,
    Started,
    TimeAdded,
    TookBack,
    Unknown,
    Unmuted,
    format_event_body,
    parse_event_body,
)
from server.protocol import messages as wire
from server.protocol.codec import (
    HIDDEN_BODY,
    ProtocolError,
    event_frame,
    format_message,
    nesting,
    parse_message,
)
from server.protocol.codes import Close, Code
from server.reference import protocol as protocol_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocol.md"


def refusal_of(frame: str | bytes) -> ProtocolError:
    with pytest.raises(ProtocolError) as error:
        parse_message(frame)
    assert error.value.message
    return error.value


def code_of(frame: str | bytes) -> Code:
    return refusal_of(frame).code


# --- invalid frames -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        "", " ", "{", "}", "[", '{"t":"ping"', '{"t":"ping"}}', '{"t":"ping"} {"t":"ping"}',
        "{t:'ping'}", "nonsense", '{"t":"ping","id":NaN}', "NaN", '{"t":"ping","id":Infinity}',
        '{"t":"ping","id":01}', '{"t":"ping",}', "\x00", '{"t":"ping","id":"a\nb"}',
        '{"t":"ping","id":"\\ud800"}', '{"t":"ping","id":"\\x41"}', '{"t":"ping","id":"',
        b'{"t":"ping","id":"\xff"}', b"\xef\xbb\xbf{}", b"\xff\xfe{\x00}\x00",
        '{"t":"ping","id":"\ud800"}', "\udfff",
        '{"t":"pi\ud800ng"}',
    ],
)  # fmt: skip
def test_frames_that_are_not_json(frame: str | bytes) -> None:
    """Broken or empty JSON, NaN, lone surrogates and other encodings are frame.malformed."""
    assert code_of(frame) is Code.FRAME_MALFORMED


@pytest.mark.parametrize(
    "frame",
    [
        "null",
        "1",
        '"ping"',
        "[]",
        '["t","ping"]',
        "true",
        "{}",
        '{"t":null}',
        '{"t":1}',
        '{"id":"1"}',
    ],
)
def test_json_that_is_not_a_message(frame: str) -> None:
    """JSON that is not an object, or whose `t` is not a text, is message.malformed."""
    assert code_of(frame) is Code.MESSAGE_MALFORMED


@pytest.mark.parametrize(
    "t",
    [
        "",
        "PING",
        "ping ",
        "welcome",
        "snapshot",
        "event",
        "moved",
        "\\u0000",
        "__proto__",
        "x" * 400,
    ],
)
def test_an_unknown_type(t: str) -> None:
    """A type that clients cannot send is message.unknown, with the known types and the id."""
    error = refusal_of(f'{{"t":"{t}","id":"7"}}')
    assert error.code is Code.MESSAGE_UNKNOWN
    assert (
        "add_ai, add_time, bar, call_draw, chat, claim, claim_win, configure, create"
        in error.message
    )
    assert error.command_id == "7"
    assert len(error.message) < 400


@pytest.mark.parametrize(
    ("message", "field"),
    [
        ({"t": "move", "id": "7", "room": "r", "ply": 0}, "move"),
        ({"t": "move", "id": "7", "room": "r", "ply": -1, "move": "a1"}, "ply"),
        ({"t": "move", "id": "7", "room": "r", "ply": 1.5, "move": "a1"}, "ply"),
        ({"t": "move", "id": "7", "room": "r", "ply": True, "move": "a1"}, "ply"),
        ({"t": "move", "id": "7", "room": "r", "ply": "0", "move": "a1"}, "ply"),
        ({"t": "move", "id": "7", "room": "r", "ply": 2**53, "move": "a1"}, "ply"),
        ({"t": "move", "id": "7", "room": "r", "ply": 10**400, "move": "a1"}, "ply"),
        ({"t": "move", "id": "7", "room": "r", "ply": 0, "move": "a" * 65}, "move"),
        ({"t": "move", "id": "7", "room": "r", "ply": 0, "move": ["a1"]}, "move"),
        ({"t": "move", "id": "7", "room": "", "ply": 0, "move": "a1"}, "room"),
        ({"t": "move", "id": "7", "room": "r" * 25, "ply": 0, "move": "a1"}, "room"),
        ({"t": "move", "id": "7", "room": "r\x00", "ply": 0, "move": "a1"}, "room"),
        ({"t": "stand", "id": "7"}, "room"),
        ({"t": "sit", "id": "7", "room": "r", "seat": 2}, "seat"),
        ({"t": "sit", "id": "7", "room": "r", "seat": None}, "seat"),
        ({"t": "add_ai", "id": "7", "room": "r", "seat": 0, "level": 0}, "level"),
        ({"t": "add_ai", "id": "7", "room": "r", "seat": 0, "level": 9}, "level"),
        ({"t": "chat", "id": "7", "room": "r", "text": "x" * 401}, "text"),
        ({"t": "chat", "id": "7", "room": "r", "text": "x", "to": "everybody"}, "to"),
        ({"t": "create", "id": "7", "game": "sticks", "seats": [{"who": "me"}]}, "seats"),
        ({"t": "create", "id": "7", "game": "sticks", "seats": [{"who": "me"}] * 3}, "seats"),
        (
            {
                "t": "create",
                "id": "7",
                "game": "sticks",
                "seats": [{"who": "me"}, {"who": "ghost"}],
            },
            "seats",
        ),
        (
            {
                "t": "create",
                "id": "7",
                "game": "sticks",
                "seats": [{"who": "me"}, {"who": "ai", "persona": "bold"}],
            },
            "persona",
        ),
        (
            {
                "t": "create",
                "id": "7",
                "game": "sticks",
                "options": {str(n): "" for n in range(17)},
            },
            "options",
        ),
        ({"t": "create", "id": "7", "game": "sticks", "options": {"rows": 3}}, "options"),
        ({"t": "create", "id": "7", "game": "sticks", "visibility": "secret"}, "visibility"),
        ({"t": "join", "id": "7", "room": "r", "since": -1}, "since"),
        ({"t": "join", "id": "7", "room": "r", "epoch": "e" * 37}, "epoch"),
        ({"t": "watch_lobby", "id": "7", "on": 1}, "on"),
    ],
)
def test_wrong_fields(message: dict[str, Any], field: str) -> None:
    """A missing field, a wrong type or an exceeded limit is message.malformed.

    The error names the field and carries the id.
    """
    error = refusal_of(json.dumps(message))
    assert error.code is Code.MESSAGE_MALFORMED
    assert field in error.message
    assert error.command_id == "7"


@pytest.mark.parametrize(
    ("id_text", "expected"),
    [
        ('"7"', "7"), ('"' + "x" * 36 + '"', "x" * 36), ('"' + "x" * 37 + '"', None),
        ('""', None), ("7", None),
        ("null", None), ('["7"]', None), ('"\\u00e4"', "ä"),
    ],
)  # fmt: skip
def test_an_error_carries_the_id_of_the_bad_message(id_text: str, expected: str | None) -> None:
    """An error carries the message's id if that is a text of 1 to 36 characters, else null."""
    error = refusal_of(f'{{"t":"move","id":{id_text}}}')
    assert error.code is Code.MESSAGE_MALFORMED
    assert error.command_id == expected
    assert msgspec.json.decode(
        format_message(wire.Error(error.command_id, error.code, error.message))
    )


def test_an_id_is_found_anywhere_in_the_message() -> None:
    """The error has the message's id, which may come before or after the faulty field.

    Of two ids the last one counts, as in a valid message.
    """
    assert refusal_of('{"id":"7","t":"move"}').command_id == "7"
    assert refusal_of('{"t":"move","ply":"x","id":"7"}').command_id == "7"
    assert refusal_of('{"id":"6","t":"move","id":"7"}').command_id == "7"


def test_a_frame_that_is_too_long_is_refused() -> None:
    """A frame of 8192 bytes (not characters) is read; any longer frame is frame.too_big."""
    head, tail = '{"t":"ping","x":"', '"}'
    fits = head + "x" * (wire.MAX_FRAME_BYTES - len(head) - len(tail)) + tail
    assert parse_message(fits) == wire.Ping()
    assert code_of(fits + " ") is Code.FRAME_TOO_BIG
    assert code_of(fits.replace("x" * 10, "ä" * 10, 1)) is Code.FRAME_TOO_BIG
    assert code_of("[" * (wire.MAX_FRAME_BYTES + 1)) is Code.FRAME_TOO_BIG


def test_a_frame_that_is_too_deep_is_refused() -> None:
    """A frame with eight levels is read; one with nine is frame.too_deep.

    Brackets in texts, and brackets side by side, do not count.
    """

    def nested(depth: int) -> str:
        return '{"t":"ping","x":' + "[" * (depth - 1) + "]" * (depth - 1) + "}"

    assert parse_message(nested(wire.MAX_DEPTH)) == wire.Ping()
    assert code_of(nested(wire.MAX_DEPTH + 1)) is Code.FRAME_TOO_DEEP
    assert code_of("[" * 8000) is Code.FRAME_TOO_DEEP
    assert code_of('{"a":' * 1500) is Code.FRAME_TOO_DEEP
    assert parse_message('{"t":"ping","x":"' + "[{" * 50 + '"}') == wire.Ping()
    assert parse_message('{"t":"ping","x":"\\"' + "[{" * 50 + '\\\\"}') == wire.Ping()
    assert parse_message('{"t":"ping","x":[' + ",".join(["[[]]"] * 50) + "]}") == wire.Ping()
    assert code_of('{"t":"ping","x":"\\\\"' + "[" * 9) is Code.FRAME_TOO_DEEP


@given(st.text(alphabet='[]{}"\\a', max_size=60))
@settings(max_examples=300)
def test_depth_is_counted_outside_strings(text: str) -> None:
    """The depth is that of the brackets outside texts."""
    plain = re.sub(r'"(?:[^"\\]|\\.)*(?:"|\\?$)', "", text)
    depth = deepest = 0
    for c in plain:
        depth += (c in "[{") - (c in "]}")
        deepest = max(deepest, depth)
    assert nesting(text.encode()) == deepest


def test_unknown_fields_are_ignored() -> None:
    """Unknown fields of a newer client are ignored."""
    assert parse_message(
        '{"t":"leave","id":"1","room":"r","mood":{"a":[1,2.5,null]}}'
    ) == wire.Leave(id="1", room="r")


# --- arbitrary frames -----------------------------------------------------------------------------

IDS = st.text(
    st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=36
)
WISHES = [MySeat(), MySeat("Mia"), OpenSeat(), AiSeat(level=3), AiSeat(level=8)]
SEATS = st.tuples(*[st.sampled_from(WISHES)] * 2)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
PLIES = st.integers(0, 2**53 - 1)
OFFERS = st.sampled_from([None, "draw", "rematch", "takeback", "next"])
ROOMS = IDS.map(lambda text: text[:24])
#: The commands that need no fields of their own.
WITHOUT_FIELDS = [kind for kind in ClientCommand.__args__ if kind.__struct_fields__ == ("id",)]
SEAT = st.integers(0, 1)
COMMANDS: st.SearchStrategy[ClientCommand] = st.one_of(
    *(st.builds(kind, IDS) for kind in WITHOUT_FIELDS),
    *(st.builds(kind, IDS, seat=SEAT) for kind in (Sit, RemoveAi)),
    st.builds(AddAi, IDS, seat=SEAT, level=st.integers(1, 8)),
    st.builds(
        Configure,
        IDS,
        thinking=st.sampled_from(["all", "spectators"]),
        help=st.none() | st.booleans(),
    ),
    st.builds(Hint, IDS, ply=PLIES, what=st.sampled_from(["piece", "move", "moves"])),
    *(st.builds(kind, IDS, identity=IDS) for kind in (Mute, Unmute, Bar)),
    st.builds(Move, IDS, ply=PLIES, move=PLAIN, seat=st.none() | SEAT),
    st.builds(Takeback, IDS, ply=PLIES),
    st.builds(Resign, IDS, seat=st.none() | SEAT),
    st.builds(Accept, IDS, what=OFFERS, ply=st.none() | PLIES, v=st.none() | PLIES),
    st.builds(
        NextGame,
        IDS,
        game=PLAIN,
        options=st.dictionaries(PLAIN, PLAIN, max_size=2),
        seats=st.tuples(SEAT, SEAT),
        level=st.none() | st.integers(1, 8),
    ),
    st.builds(Decline, IDS, what=OFFERS),
    st.builds(Chat, IDS, text=PLAIN, to=st.sampled_from(["room", "spectators"])),
)
FRAMES: st.SearchStrategy[wire.ClientFrame] = st.one_of(
    st.builds(
        wire.Hello, protocol=st.integers(-9, 9), token=st.none() | PLAIN, name=st.none() | PLAIN
    ),
    st.builds(wire.Ping, id=st.none() | IDS),
    st.builds(
        Create,
        id=IDS,
        game=PLAIN,
        options=st.dictionaries(PLAIN, PLAIN, max_size=4),
        visibility=st.sampled_from(["public", "unlisted"]),
        seats=SEATS,
        thinking=st.sampled_from(["all", "spectators", "after"]),
        start=st.none() | PLAIN,
        one_screen=st.booleans(),
        takeback=st.booleans(),
        help=st.booleans(),
    ),
    st.builds(
        wire.Join, id=IDS, room=ROOMS, since=st.integers(0, 2**53 - 1), epoch=st.none() | PLAIN
    ),
    st.builds(wire.Leave, id=IDS, room=ROOMS),
    st.builds(wire.CommandFrame, ROOMS, COMMANDS),
    st.builds(wire.WatchLobby, id=IDS, on=st.booleans()),
)


@given(FRAMES)
@settings(max_examples=400)
def test_client_messages_round_trip(message: wire.ClientFrame) -> None:
    """parse_message reverses format_message, for bytes and text, with and without white space."""
    frame = format_message(message)
    assert parse_message(frame) == message
    assert parse_message(frame.decode()) == message
    loose = json.dumps(json.loads(frame), indent=1, ensure_ascii=True)
    if len(loose) <= wire.MAX_FRAME_BYTES:
        assert parse_message(loose) == message


def test_every_client_message_is_generated() -> None:
    """The strategies above generate every message of a client, and every command."""
    tried = set(re.findall(r"st\.builds\(\s*(?:wire\.)?(\w+)", Path(__file__).read_text("utf-8")))
    tried |= {kind.__name__ for kind in (*WITHOUT_FIELDS, Sit, RemoveAi, Mute, Unmute, Bar)}
    assert {kind.__name__ for kind in wire.ClientMessage.__args__} <= tried


@given(
    st.binary(max_size=300)
    | st.text(st.characters(), max_size=200)
    | st.from_regex(r'[\[\]{}":,tidnul0-9eE.+\- ]{0,60}')
)
@example("[" * 9000)
@example(b'{"t":"ping","id":"\xed\xa0\x80"}')
@settings(max_examples=500)
def test_any_frame_is_a_message_or_a_typed_error(frame: bytes | str) -> None:
    """parse_message raises nothing but ProtocolError, and its answer can be sent."""
    assert_parses_or_refuses(frame)


@given(FRAMES, st.data())
@settings(max_examples=500)
def test_a_damaged_message_is_a_message_or_a_typed_error(
    message: wire.ClientFrame, data: st.DataObject
) -> None:
    """A message with bytes removed, inserted or repeated is a message or a typed error."""
    frame = bytearray(format_message(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at, length = data.draw(st.integers(0, len(frame))), data.draw(st.integers(0, 8))
        kind = data.draw(st.sampled_from(["cut", "put", "double"]))
        if kind == "cut":
            del frame[at : at + length]
        elif kind == "put":
            frame[at:at] = data.draw(
                st.binary(max_size=4)
                | st.sampled_from([b'"', b"{", b"[", b"null", b"1e999", b"\\u0000", b"-0"])
            )
        else:
            frame[at:at] = frame[at : at + length]
    assert_parses_or_refuses(bytes(frame))


def assert_parses_or_refuses(frame: bytes | str) -> None:
    """Asserts that the frame is a message or a ProtocolError that can be sent."""
    try:
        parse_message(frame)
    except ProtocolError as error:
        answer = format_message(wire.Error(error.command_id, error.code, error.message))
        assert json.loads(answer)["code"] in set(Code)
        assert len(answer) < 4 * wire.MAX_FRAME_BYTES


# --- server messages ------------------------------------------------------------------------------

SEATED = Occupant("ada", 'A"da\\', "guest")
EVENTS: list[RoomEvent] = [
    Created("sticks", {"rows": "1-2-3"}, "unlisted", "ada"),
    Required("strategies"),
    Configured("after"),
    Configured("after", clock="300+3"),
    SeatTaken(0, SEATED),
    SeatTaken(1, Occupant("ai", "AI level 3", "ai", 3)),
    SeatTaken(
        1, Occupant("ai", "CP #1 Greedy", "ai", strategy="greedy", depth=1, evaluator="zero")
    ),
    SeatLeft(1),
    Started("m1", 1, "1-2-3 first", "0123456789abcdef", (SEATED, SEATED)),
    Started("m2", 2, "1-2-3 first", "0123456789abcdef", (SEATED, SEATED), "spectators"),
    Moved("m1", 0, 0, "3x2", "0123456789abcdef"),
    Moved("m1", 0, 0, "e2e4", "0123456789abcdef", "e4", 1500),
    Finished("m1", None, "abort", "the match was aborted"),
    Created("chess", {}, "public", "ada", "8/8/8/8/8/8/8/K6k w - - 0 1", True, False),
    TookBack("m1", 4, 0, "0123456789abcdef"),
    Offered(1, "takeback", 4),
    Offered(0),
    Declined(1),
    Offered(1, "draw"),
    Declined(0, "draw"),
    Finished("m1", None, "claim", "the same position 3 times"),
    AiTookOver("m1", 1, 3, Occupant("ai", "AI level 4", "ai", 4, kept_for=Player("ben", "Ben"))),
    PlayerReturned("m1", 1, 5, Occupant("ben", "Ben")),
    Renamed("ben", "Benjamin"),
    Created("chess", {}, "public", "ada", rated=True, help=True),
    Configured("all", help=True),
    Muted("ben", "Ben"),
    Unmuted("ben", "Ben"),
    Barred("ben", "Ben"),
    Said("ada", "Ada", "see https://example.org", links=True),
    Said("bot", "Plyroom", "d4 wins", by="bot", answers=7),
    Said("ada", "Ada", 'Grüße\u2028</script> \\ " 🎲', "spectators"),
    Started(
        "m3",
        3,
        "1-2-3 first",
        "0123456789abcdef",
        (SEATED, SEATED),
        clock="5+2x10",
        clocks_ms=(5000, 5000),
    ),
    Moved(
        "m3", 0, 0, "3x2", "0123456789abcdef", clock_ms=10_000, spent_ms=6_000, stage=1, periods=1
    ),
    TookBack("m3", 0, 0, "0123456789abcdef", (5000, 5000), (0, 0), (2, 2), 700),
    TimeAdded("m3", 1, 15_000),
    Held("m3", "outage", 1_760_000_000_000),
    Released("m3", (5000, 20_000), 1_760_000_030_000),
    Finished("m3", 1, "flag", "Red ran out of time", clocks_ms=(0, 5000)),
]


@pytest.mark.parametrize("event", [*EVENTS, Hidden()], ids=lambda event: type(event).__name__)
def test_an_event_frame_is_the_event_with_room_v_and_time(event: RoomEvent | Hidden) -> None:
    """An event's frame has t, room, v and at, and exactly the event's own fields."""
    body = HIDDEN_BODY if isinstance(event, Hidden) else format_event_body(event)
    frame = json.loads(event_frame("r1", 17, 1_700_000_000_123, body))
    envelope = {key: frame.pop(key) for key in ("t", "room", "v", "at")}
    assert envelope == {"t": "event", "room": "r1", "v": 17, "at": 1_700_000_000_123}
    assert frame == json.loads(msgspec.json.encode(event))
    assert frame["kind"] == type(event).__struct_config__.tag


@given(st.integers(1, 2**53 - 1), st.integers(0, 2**53 - 1), PLAIN, PLAIN)
def test_any_chat_makes_a_valid_frame(v: int, at_ms: int, name: str, text: str) -> None:
    """Any name and any line of chat make a valid frame."""
    frame = json.loads(event_frame("r1", v, at_ms, format_event_body(Said("x", name, text))))
    assert (frame["v"], frame["at"], frame["name"], frame["text"]) == (v, at_ms, name, text)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_events_are_read_back(event: RoomEvent) -> None:
    """parse_event_body reverses format_event_body."""
    assert parse_event_body(format_event_body(event)) == event
    assert set(KnownEvent.__args__) == {type(event) for event in EVENTS}


def test_every_event_can_be_logged_except_the_hidden() -> None:
    """KnownEvent names every kind of event except Hidden, which a log does not understand."""
    kinds = (kind for kind in vars(events).values() if isinstance(kind, type))
    kinds = (kind for kind in kinds if issubclass(kind, Event) and kind is not Event)
    assert {*kinds} == {*KnownEvent.__args__, Hidden}
    assert isinstance(parse_event_body(HIDDEN_BODY), Unknown)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"kind":7}',
        b'"moved"',
        b'{"kind":"moved"',
        b'{"kind":"x","y":"\xff"}',
        b"\xff",
    ],
)
def test_a_body_that_is_not_an_event(body: bytes) -> None:
    """A body that is not an event raises msgspec.DecodeError or UnicodeDecodeError."""
    with pytest.raises((msgspec.DecodeError, UnicodeDecodeError)):
        parse_event_body(body)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("invented", b'{"kind":"invented","by":7}'),
        ("hidden", b'{"kind":"hidden"}'),
        ("moved", b'{"kind":"moved"}'),
        ("moved", b'{"kind":"moved","match":"m1","ply":"third"}'),
        (
            "finished",
            b'{"kind":"finished","match":"m1","winner":0,"how":"%b","reason":"x"}' % (b"w" * 25),
        ),
    ],
)
def test_an_event_of_a_newer_version_is_unchanged(kind: str, body: bytes) -> None:
    """An unknown kind, and a known kind with unknown fields, is read and written byte for byte."""
    event = parse_event_body(body)
    assert event == Unknown(kind, body)
    assert format_event_body(event) == body


@pytest.mark.parametrize(
    "event",
    [
        Created("sticks", {}, "friends", "ada"),
        SeatTaken(0, Occupant("eve", "Eve", "account")),
        Finished("m1", 1, "flag", "Red ran out of time"),
        Offered(0, "pause"),
        Declined(0, "pause"),
        Said("ada", "Ada", "psst", "players"),
    ],
)
def test_a_word_of_a_newer_version_is_read(event: RoomEvent) -> None:
    """An unknown word in a known field is read like any other text."""
    assert parse_event_body(format_event_body(event)) == event


def test_an_ack_without_an_event_has_a_null_v() -> None:
    """An ack always has `v`, and only that of create has `room`; an error always has `id`."""
    assert format_message(wire.Ack("1", None)) == b'{"t":"ack","id":"1","v":null}'
    assert format_message(wire.Ack("1", 2, "r1")) == b'{"t":"ack","id":"1","v":2,"room":"r1"}'
    refusal = wire.Error(None, Code.FRAME_BINARY, "messages are text frames")
    assert json.loads(format_message(refusal)) == {
        "t": "error", "id": None, "code": "frame.binary", "message": "messages are text frames",
    }  # fmt: skip


# --- codes and the page ---------------------------------------------------------------------------


def test_codes_are_namespaced_and_explained() -> None:
    """Each code is `subject.problem`; each code and close code has a meaning in one sentence."""
    for code in Code:
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", code.value)
        assert code.meaning.endswith(".")
        assert Code(code.value) is code
    for close in Close:
        assert close.meaning.endswith(".")
    assert int(Close.POLICY) == 1008


def test_every_code_is_used() -> None:
    """Every documented code is sent, and every code that is sent is documented."""
    sources = [path.read_text("utf-8") for path in (PAGE.parents[2] / "server").rglob("*.py")]
    used = set(re.findall(r"\bCode\.([A-Z_]+)", "\n".join(sources)))
    assert used == {code.name for code in Code}


def test_the_page_is_current() -> None:
    """docs/reference/protocol.md is what `python -m server.reference.protocol` prints."""
    assert PAGE.read_text("utf-8") == protocol_page.page(), (
        "run: python -m server.reference.protocol > docs/reference/protocol.md"
    )


def test_the_page_has_everything() -> None:
    """The page has every message, event, code and route, and its links lead to headings."""
    page = protocol_page.page()
    for kind in (*wire.ClientMessage.__args__, *wire.ServerMessage.__args__, *AnyEvent.__args__):
        assert f"### `{kind.__struct_config__.tag}`\n" in page
    for code in Code:
        assert f"| `{code}` |" in page
    headings = {
        heading.strip("`").lower().replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)", page, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) <= headings
    assert "POST /api/guest" in page
