"""`plyroom rooms`: the list of public rooms in a terminal."""

from typing import Any

import pytest

from client.address import parse_address
from client.subcommands.rooms import summary_text
from server.events import Occupant
from server.protocol.messages import ClockState, RoomSummary

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
        (
            (ADA, BOB), "playing",
            {
                "clock": "300+3", "length": "3 moves",
                "times": ClockState(
                    control="300+3", left_ms=(120_000, 9_900), since_ms=1_000, running=0
                ),
            },
            "Ada against Bob (3 moves, 1:55 to 0:09.9)\n    plyroom watch",
        ),
        ((ADA, BOB), "finished", {}, "Ada against Bob (over)\n    plyroom watch"),
    ],
)  # fmt: skip
def test_a_room_says_who_plays_and_how_to_enter_it(
    seats: tuple[Occupant | None, ...], state: Any, more: dict[str, Any], text: str
) -> None:
    """A room with a free seat can be joined, any other one watched; a clock has its times now."""
    room = RoomSummary(
        room="abc", game="hex", title="Hex", options={}, seats=seats, state=state,
        created_ms=1, **more
    )  # fmt: skip
    address = parse_address("http://192.168.0.10:8000")
    game = "Hex, 5+3" if "clock" in more else "Hex"
    shown = summary_text(room, address, server_ms=6_000)
    assert shown == f"{game}: {text} http://192.168.0.10:8000/room/abc"
