"""`plyroom rooms`: the list of public rooms in a terminal."""

from typing import Any

import pytest

from client.address import parse_address
from client.subcommands.rooms import summary_text
from server.events import Occupant
from server.protocol.messages import RoomSummary

ADA = Occupant(name="Ada", identity="a")
BOB = Occupant(name="Bob", identity="b")


@pytest.mark.parametrize(
    ("seats", "state", "more", "text"),
    [
        ((ADA, None), "open", {}, "Ada against a free seat (open)\n    plyroom join"),
        (
            (ADA, BOB), "playing", {"length": "12 moves", "watching": 2},
            "Ada against Bob (12 moves, 2 watching)\n    plyroom watch",
        ),
        ((ADA, BOB), "finished", {}, "Ada against Bob (over)\n    plyroom watch"),
    ],
)  # fmt: skip
def test_a_room_says_who_plays_and_how_to_enter_it(
    seats: tuple[Occupant | None, ...], state: Any, more: dict[str, Any], text: str
) -> None:
    """A room with a free seat can be joined, any other one watched."""
    room = RoomSummary(
        room="abc", game="hex", title="Hex", options={}, seats=seats, state=state,
        created_ms=1, **more
    )  # fmt: skip
    address = parse_address("http://192.168.0.10:8000")
    assert summary_text(room, address) == f"Hex: {text} http://192.168.0.10:8000/room/abc"
