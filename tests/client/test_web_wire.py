"""The browser client's golden frames and types are those that the server's code generates now."""

import json

import msgspec
import pytest

from server.protocol import messages as wire
from server.protocol.codec import (
    HIDDEN_BODY,
    event_frame,
    format_event_body,
    format_message,
    parse_message,
)
from tests.support.wire_files import GOLDEN, TYPES, typescript
from tests.support.wire_samples import CLIENT, EVENTS, SERVER, frames

REWRITE = "run `python -m tests.support.wire_files`, and see whether both clients still understand"


def test_there_is_one_sample_of_every_message() -> None:
    """Every message type has a sample."""
    for samples, union in (
        (CLIENT, wire.ClientMessage),
        (SERVER, wire.ServerMessage),
        (EVENTS, wire.AnyEvent),
    ):
        assert sorted(type(sample).__name__ for sample in samples) == sorted(
            one.__name__ for one in union.__args__
        )


def test_the_golden_frames_are_what_the_server_writes() -> None:
    """The files equal the frames byte for byte, and there is no further file."""
    kept = {path.stem: path.read_bytes() for path in GOLDEN.glob("*.json")}
    assert kept == {name: frame + b"\n" for name, frame in frames().items()}, REWRITE


def test_the_types_of_the_browser_client_are_current() -> None:
    """client/web/protocol.d.ts matches server/protocol/messages.py."""
    assert TYPES.read_text("utf-8") == typescript(), REWRITE


@pytest.mark.parametrize("name", sorted(frames()))
def test_a_golden_frame_survives_reading_and_writing(name: str) -> None:
    """A frame that is decoded and encoded again is the same frame."""
    frame = (GOLDEN / f"{name}.json").read_bytes().removesuffix(b"\n")
    side, _, _ = name.partition("-")
    if side == "client":
        assert format_message(parse_message(frame)) == frame
    elif side == "server":
        assert format_message(msgspec.json.decode(frame, type=wire.ServerMessage)) == frame
    else:
        event = msgspec.json.decode(frame, type=wire.AnyEvent)
        body = HIDDEN_BODY if isinstance(event, wire.Hidden) else format_event_body(event)
        head = json.loads(frame)
        assert event_frame(head["room"], head["v"], head["at"], body) == frame
