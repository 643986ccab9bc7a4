"""The golden logs, written by programs of several versions, and the rooms that they make."""

import json
from pathlib import Path
from typing import Any

import msgspec

from server.protocol.codec import HIDDEN_BODY, event_frame
from tests.support.room_log import ROOM

#: Logs as the store has them, one entry a line, each with the room that it makes beside it.
LOGS = Path(__file__).parents[1] / "data/logs"
NAMES = sorted(path.stem for path in LOGS.glob("*.jsonl"))

#: A log as the store has it: the time and the body of each entry.
Log = list[tuple[int, bytes]]


def read(name: str) -> Log:
    """A golden log."""
    entries = map(json.loads, (LOGS / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [(entry["at"], msgspec.json.encode(entry["body"])) for entry in entries]


def expected(name: str) -> dict[str, Any]:
    """The room that a golden log makes."""
    room: dict[str, Any] = json.loads((LOGS / f"{name}.json").read_text("utf-8"))
    return room


def frames(name: str) -> list[bytes]:
    """The events of a golden log as a spectator receives them."""
    return [
        event_frame(ROOM, v, at_ms, HIDDEN_BODY if b'"to":"players"' in body else body)
        for v, (at_ms, body) in enumerate(read(name), 1)
    ]
