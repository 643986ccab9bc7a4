"""The golden logs, which several versions of the server have written, and their rooms."""

import json
from pathlib import Path
from typing import Any

import msgspec

from engine.ends import DRAWN_ENDS
from server.events import Unknown, parse_event_body
from server.protocol.codec import HIDDEN_BODY, event_frame
from tests.support.room_log import ROOM

#: A `.jsonl` file is a log, one entry a line; the `.json` file beside it is its room.
LOGS = Path(__file__).parents[1] / "data/logs"
#: The names of the golden logs of matches with clocks, one for each kind of control, and of others.
CLOCKS = sorted(path.stem for path in LOGS.glob("clock-*.jsonl"))
NAMES = sorted({path.stem for path in LOGS.glob("*.jsonl")} - {*CLOCKS})

#: A log as the store has it: the time in ms and the body of each entry.
Log = list[tuple[int, bytes]]


def read(name: str) -> Log:
    """Returns a golden log."""
    entries = map(json.loads, (LOGS / f"{name}.jsonl").read_text("utf-8").splitlines())
    return [(entry["at"], msgspec.json.encode(entry["body"])) for entry in entries]


def expected(name: str) -> dict[str, Any]:
    """Returns the room that a golden log must make.

    Lines of chat have the identities of their authors, and the room the scores of its players,
    which older files lack.
    """
    room: dict[str, Any] = json.loads((LOGS / f"{name}.json").read_text("utf-8"))
    bodies = [json.loads(body) for _, body in read(name)]
    for viewer in ("spectator", "player"):
        for line in room[viewer].get("chat", ()):
            line["identity"] = bodies[line["v"] - 1]["identity"]
        if scores := scores_of(read(name)):
            room[viewer].setdefault("series", scores)
    return room


def scores_of(log: Log) -> list[dict[str, Any]]:
    """Returns the scores of the players in a log, as `Snapshot.series` has them.

    Entries of a form that this version does not define have no part in them.
    """
    readable = [body for _, body in log if not isinstance(parse_event_body(body), Unknown)]
    bodies: list[dict[str, Any]] = [json.loads(body) for body in readable]
    scores: list[dict[str, Any]] = []
    match, players = "", list[str]()
    for body in bodies:
        if body["kind"] == "started":
            match = body["match"]
            players = [each["identity"] for each in body["seats"]]
        if body["kind"] != "finished" or body["match"] != match or len(set(players)) < 2:
            continue
        if body["winner"] is None and body["how"] not in DRAWN_ENDS:
            continue
        found = next((each for each in scores if set(each["players"]) == set(players)), None)
        score = found or {"players": players, "half_points": [0, 0]}
        for seat, player in enumerate(players):
            place = score["players"].index(player)
            score["half_points"][place] += (
                1 if body["winner"] is None else 2 * (body["winner"] == seat)
            )
        scores = [*(each for each in scores if each is not found), score]
    return scores


def frames(name: str) -> list[bytes]:
    """Returns the events of a golden log as a spectator receives them."""
    return [
        event_frame(ROOM, v, at_ms, HIDDEN_BODY if b'"to":"players"' in body else body)
        for v, (at_ms, body) in enumerate(read(name), 1)
    ]
