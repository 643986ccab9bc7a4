"""The golden logs, which several versions of the server have written, and their rooms."""

import json
from pathlib import Path
from typing import Any

import msgspec

from server.protocol.codec import HIDDEN_BODY, event_frame
from tests.support.room_log import ROOM

#: A `.jsonl` file is a log, one entry a line; the `.json` file beside it is its room.
LOGS = Path(__file__).parents[1] / "data/logs"
#: The names of the golden logs.
NAMES = sorted(path.stem for path in LOGS.glob("*.jsonl"))

#: A log as the store has it: the time in ms and the body of each entry.
Log = list[tuple[int, bytes]]


def read(name: str) -> Log:
    """Returns a golden log."""
    entries = map(json.loads, (LOGS / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [(entry["at"], msgspec.json.encode(entry["body"])) for entry in entries]


def expected(name: str) -> dict[str, Any]:
    """Returns the room that a golden log must make.

    Lines of chat have the identities of their authors, which older files lack.
    """
    room: dict[str, Any] = json.loads((LOGS / f"{name}.json").read_text("utf-8"))
    bodies = [json.loads(body) for _, body in read(name)]
    for viewer in ("spectator", "player"):
        for line in room[viewer].get("chat", ()):
            line["identity"] = bodies[line["v"] - 1]["identity"]
    return room


def frames(name: str) -> list[bytes]:
    """Returns the events of a golden log as a spectator receives them."""
    return [
        event_frame(ROOM, v, at_ms, HIDDEN_BODY if b'"to":"players"' in body else body)
        for v, (at_ms, body) in enumerate(read(name), 1)
    ]
