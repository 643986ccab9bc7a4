"""The golden frames and the browser client's types are those that the server's code generates."""

import json

import msgspec
import pytest

from server.events import AnyEvent, Hidden
from server.protocol import messages as wire
from server.protocol.codec import (
    HIDDEN_BODY,
    event_frame,
    format_message,
    parse_message,
)
from tests.support.wire_files import GOLDEN, TYPES, typescript
from tests.support.wire_samples import CLIENT, EVENTS, SERVER, frames

#: The advice when a generated file is not current.
ADVICE = "run `python -m tests.support.wire_files` and check that both clients read the new form"


def test_every_message_type_has_one_sample() -> None:
    for samples, union in (
        ([getattr(frame, "command", frame) for frame in CLIENT], wire.ClientMessage),
        (SERVER, wire.ServerMessage),
        (EVENTS, AnyEvent),
    ):
        assert sorted(type(sample).__name__ for sample in samples) == sorted(
            message_type.__name__ for message_type in union.__args__
        )


def test_the_golden_files_are_the_frames_that_the_server_writes() -> None:
    """The files equal the frames byte for byte, and there is no other file."""
    files = {path.stem: path.read_bytes() for path in GOLDEN.glob("*.json")}
    assert files == {name: frame + b"\n" for name, frame in frames().items()}, ADVICE


def test_the_types_of_the_browser_client_are_current() -> None:
    """client/web/shell/protocol.d.ts matches server/protocol/messages.py."""
    assert TYPES.read_text("utf-8") == typescript(), ADVICE


@pytest.mark.parametrize("name", sorted(frames()))
def test_a_golden_frame_is_the_same_after_decoding_and_encoding(name: str) -> None:
    frame = (GOLDEN / f"{name}.json").read_bytes().removesuffix(b"\n")
    side, _, _ = name.partition("-")
    if side == "client":
        assert format_message(parse_message(frame)) == frame
    elif side == "server":
        assert format_message(msgspec.json.decode(frame, type=wire.ServerMessage)) == frame
    else:
        event = msgspec.json.decode(frame, type=AnyEvent)
        body = HIDDEN_BODY if isinstance(event, Hidden) else msgspec.json.encode(event)
        head = json.loads(frame)
        assert event_frame(head["room"], head["v"], head["at"], body) == frame
