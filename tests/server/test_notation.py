"""server/rooms/notation.py: a `moved` event stores the move's number and notation.

Moves of older logs, which store neither, are shown with the same number and notation.
"""

import json
import random
from typing import Any

import msgspec
import pytest

from engine.rules.numbering import move_number
from engine.rules.registry import game_ids, load_game
from server.commands import Resign
from server.events import Moved, format_event_body, parse_event_body
from server.protocol import views
from server.runtime.projections import summary
from server.store.base import Append, StoredEvent
from tests.server.test_api import get
from tests.server.test_runner_ai import against_ai
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.node import serve
from tests.support.room_log import ADA, BEN, LoggedRoom, altered_game, failing_rule, seated

CHESS_MOVES = ("e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "g8f6")
NOTATIONS = [
    ("1.", "e4"),
    ("1...", "e5"),
    ("2.", "Nf3"),
    ("2...", "Nc6"),
    ("3.", "Bc4"),
    ("3...", "Nf6"),
]


def without_notation(body: bytes) -> bytes:
    """Returns a log entry in its earlier form, without a number and a notation."""
    event = parse_event_body(body)
    if not isinstance(event, Moved):
        return body
    assert event.number is not None
    return format_event_body(msgspec.structs.replace(event, text=None, number=None))


def with_old_log(played: LoggedRoom) -> LoggedRoom:
    """Returns the same room with a log in its earlier form."""
    old = LoggedRoom(played.find_game)
    old.log = [(at_ms, without_notation(body)) for at_ms, body in played.log]
    return old


def notations(moves: Any) -> list[tuple[str | None, str | None]]:
    """Returns the number and notation of each move."""
    return [(move.number, move.text) for move in moves]


def test_a_move_has_its_notation() -> None:
    """The event and the room have the number and notation that players use: 3. Bc4 Nf6."""
    chess = seated(game="chess")
    chess.moves(" ".join(CHESS_MOVES))
    events = [parse_event_body(body) for _, body in chess.log]
    moved = [event for event in events if isinstance(event, Moved)]
    assert notations(moved) == notations(chess.match.moves) == NOTATIONS
    assert [event.move for event in moved] == list(CHESS_MOVES)
    assert {event.clock_ms for event in moved} == {None}
    assert summary(chess.room).length == "3 moves"


@pytest.mark.parametrize("game", game_ids())
def test_old_logs_are_shown_like_new_ones(game: str) -> None:
    """In every game, clients receive the same messages from an old log as from a new one."""
    rng, new = random.Random(1), seated(game=game)
    for ply in range(12):
        if new.match.over is not None:
            break
        seat = new.match.position.turn
        token = rng.choice(new.match.position.tokens())
        (moved, *_) = new.do((ADA, BEN)[seat], new.move(token))
        assert isinstance(moved, Moved)
        rules = load_game(game)
        assert moved.number == move_number(rules, ply, seat)
        assert (moved.text is not None) is (rules.rules.notation is not None)
    old = with_old_log(new)
    assert old.log != new.log
    assert views.snapshot(old.fold(), True) == views.snapshot(new.fold(), True)
    assert summary(old.fold()) == summary(new.fold())


def test_a_log_of_a_missing_or_broken_game_loads() -> None:
    """The moves of a game that is missing or broken are shown as stored, or without a notation."""

    def missing(game_id: str) -> Any:
        raise LookupError(game_id)

    new = seated(game="chess")
    new.moves(" ".join(CHESS_MOVES))
    old = with_old_log(new)
    assert notations(new.fold(missing).match.moves) == NOTATIONS  # type: ignore[union-attr]
    assert notations(old.fold(missing).match.moves) == [(None, None)] * len(CHESS_MOVES)  # type: ignore[union-attr]
    broken = altered_game("chess", {"notation": failing_rule}, digest=load_game("chess").digest)
    match = old.fold(lambda _: broken).match
    assert match is not None
    assert notations(match.moves) == [(number, None) for number, _ in NOTATIONS]


async def test_the_api_shows_old_and_new_logs_the_same_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay and the list of matches show an old log like a new one, even without the game."""
    for age in ("new", "old", "gone"):
        fake = FakeServer()
        if age != "new":
            append = fake.store.logs.append

            async def append_old(new: Append, append: Any = append) -> None:
                entries = [
                    StoredEvent(e.v, e.at_ms, e.audience, without_notation(e.body))
                    for e in new.events
                ]
                await append(msgspec.structs.replace(new, events=tuple(entries)))

            monkeypatch.setattr(fake.store.logs, "append", append_old)
        async with serve(fake) as node:
            ada, ben = Client(node.hub, "ada"), Client(node.hub, "ben")
            room = await ada.create("chess")
            await ada.ack(ada.join(room))
            await ben.ack(ben.sit(room, 1))
            for ply, token in enumerate(CHESS_MOVES[:5]):
                mover = (ada, ben)[ply % 2]
                await mover.ack(mover.move(room, ply, token))
            await ada.ack(ada.plain(Resign, room))
            if age == "gone":
                monkeypatch.setattr("engine.rules.registry.BUILT_IN", {})
                load_game.cache_clear()
            (entry,) = (await get(node, "/api/matches"))["matches"]
            match = await get(node, f"/api/matches/{entry['match']}")
            monkeypatch.undo()
            load_game.cache_clear()
        moves = [(move.get("number"), move.get("text")) for move in match["moves"]]
        assert moves == (NOTATIONS[:5] if age != "gone" else [(None, None)] * 5)
        assert (entry["length"], match["length"]) == (
            ("3 moves",) * 2 if age != "gone" else ("5 plies",) * 2
        )
        assert match["plies"] == 5


@virtual
async def test_the_lobby_and_thinking_use_the_games_move_numbers() -> None:
    """The lobby shows a match's length in the game's words, and `thinking` the move's number."""
    fake = FakeServer()
    async with against_ai(fake) as (hub, room, ada):
        await ada.ack(ada.move(room, 0, "b2"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["seat"] == 1)
        assert {message["number"] for message in ada.of("thinking")} == {"2."}
        (listed,) = await hub.lobby.rooms()
        assert (listed.ply, listed.length) == (2, "2 moves")
        moved = [json.dumps(event) for event in ada.events() if event["kind"] == "moved"]
        assert all('"number"' in event for event in moved)
