"""Logs with events of newer versions: the rooms that they make, and the commands there."""

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.rules.registry import load_game
from server.codes import Code
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AiReply,
    Chat,
    Claim,
    Command,
    Configure,
    Decline,
    Move,
    OfferDraw,
    Rematch,
    RemoveAi,
    Resign,
    Sit,
    Stand,
    Tick,
)
from server.events import Declined, Moved, Offered, Said, Unknown, parse_event_body
from server.protocol import views
from server.protocol.codec import format_message
from server.rooms import rules
from server.rooms.model import AI, CommandRejected, Room
from tests.support.golden_logs import CLOCKS, NAMES, Log, expected, read
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    ROOM,
    LoggedRoom,
    created,
    decide,
    seated,
)

#: Golden logs that have no unknown kind or field of an event, though perhaps unknown words in
#: known fields.
READABLE = {"evening", "gone", "names", "one-screen", "strategies", "takebacks", "today", "words"}


def states(log: Log) -> Iterator[Room]:
    """Yields the room after each entry of a log."""
    room: Room | None = None
    for at_ms, body in log:
        event = parse_event_body(body)
        if room is None:
            room = rules.initial_room(ROOM, event, at_ms, load_game)
        else:
            room = rules.evolve(room, event, at_ms, load_game)
        yield room


def fold(log: Log) -> Room:
    *_, room = states(log)
    return room


def room_of_golden_log(name: str) -> dict[str, Any]:
    """Returns the room that this version folds from a golden log, in the form of `expected`."""
    room = fold(read(name))
    board = views.view(room, room.match) if room.match is not None else None
    return {
        "frozen": room.frozen,
        "game": room.game_id,
        "visibility": room.visibility,
        "due_ms": room.due_ms(0),
        "spectator": json.loads(format_message(views.snapshot(room, player=False))),
        "player": json.loads(format_message(views.snapshot(room, player=True))),
        "board": board and board.view.pieces,
    }


@pytest.mark.parametrize("name", [*NAMES, *CLOCKS])
def test_a_golden_log_makes_the_same_room_forever(name: str) -> None:
    """Every version of the program folds a stored log to the same room."""
    assert room_of_golden_log(name) == expected(name)


@pytest.mark.parametrize("name", NAMES)
def test_only_unknown_events_freeze_a_room(name: str) -> None:
    """An unknown word freezes no room; the first event of an unknown form freezes it."""
    frozen = [room.frozen for room in states(read(name))]
    if name in READABLE:
        assert set(frozen) == {None}
        return
    unknown = [isinstance(parse_event_body(body), Unknown) for _, body in read(name)]
    first = unknown.index(True)
    assert frozen == [None] * first + [Code.ROOM_NEWER] * (len(frozen) - first)


def test_moves_that_a_newer_version_took_back_are_not_shown() -> None:
    """A move at an earlier ply replaces the later ones, and the board follows it."""
    room = fold(read("taken-back"))
    assert room.match is not None
    assert [played.move for played in room.match.moves] == ["a1", "b1", "a3", "b2"]
    assert room.match.position is not None
    assert room.match.position.digest() == room.match.digest
    view = views.view(room, room.match)
    assert view is not None
    assert set(view.view.pieces) == {"a1", "b1", "a3", "b2"}


# --- random logs ----------------------------------------------------------------------------------

CELLS = [f"{column}{row}" for row in "123" for column in "abc"]
#: Every type of command, of players and of the server.
ANY_COMMANDS: list[Command] = [
    *(kind("x") for kind in (Stand, Resign, Abort, Rematch, Claim, OfferDraw, Accept, Decline)),
    Sit("x", 0), Sit("x", 1), AddAi("x", 1, 1), RemoveAi("x", 1), Move("x", 0, "a1"),
    Chat("x", "hello"), Chat("x", "hello", "spectators"), AiReply("x", "m", 0, True), Tick("x", 0),
    Configure("x", "after"),
]  # fmt: skip


def random_log(seed: int) -> Log:
    """Returns the log of a room after random commands."""
    rng = random.Random(seed)
    played = LoggedRoom()
    played.create(ADA, rng.choice(["tic-tac-toe", "sticks"]))
    for _ in range(rng.randrange(40)):
        ply = played.room.match.ply if played.room.match else 0
        position = played.room.match.position if played.room.match else None
        tokens = position.tokens() if position is not None else []
        command = rng.choice(
            [
                *(Move("x", ply, rng.choice(tokens)) for _ in range(8) if tokens),
                Sit("x", 1), Rematch("x"), Rematch("x"), rng.choice(ANY_COMMANDS),
            ]
        )  # fmt: skip
        try:
            played.do(rng.choice([ADA, BEN, CYD]), command)
        except CommandRejected:
            continue
    return played.log


KINDS = st.sampled_from(["taken_back", "clock_started", "configured", "hidden", "", "x" * 99])
#: Events that a newer version may write: a new kind, or a known kind with fields of another form.
UNKNOWN = st.one_of(
    st.builds(
        lambda kind, fields: msgspec.json.encode({"kind": kind, **fields}),
        KINDS,
        st.dictionaries(
            st.sampled_from(["match", "seat", "game", "by"]), st.integers() | st.text(max_size=5)
        ),
    ),
    st.sampled_from(
        [
            b'{"kind":"moved"}',
            b'{"kind":"moved","match":["m"],"ply":0,"seat":0,"move":"a1","digest":""}',
            b'{"kind":"finished","match":"m","winner":"both","how":"board","reason":"x"}',
            b'{"kind":"created","game":"tic-tac-toe","options":{"size":3}}',
            b'{"kind":"seat_taken","seat":1,"occupant":{"name":"Ben"}}',
            b'{"kind":"started","match":"m","number":1}',
            b'{"kind":"said","identity":"ada","name":"Ada","text":"x","to":["ben"]}',
        ]
    ),
)


@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(0, 60), UNKNOWN), min_size=1))
def test_unknown_events_anywhere_leave_a_readable_room(
    seed: int, insertions: list[tuple[int, bytes]]
) -> None:
    """Any log with unknown events loads; v counts them, and chat lines are still added.

    Before the first one the room is as without it. From then on every query of the room works, no
    AI turn or deadline is due, and every command is rejected.
    """
    plain = random_log(seed)
    log = list(plain)
    for place, body in insertions:
        at = min(place, len(log))
        log.insert(at, (log[at - 1][0] if at else log[0][0], body))
    first = next(
        n for n, (_, body) in enumerate(log) if isinstance(parse_event_body(body), Unknown)
    )
    rooms = list(states(log))
    assert [room.v for room in rooms] == list(range(1, len(log) + 1))
    assert rooms[:first] == list(states(plain[:first]))
    assert all(room.frozen is Code.ROOM_NEWER for room in rooms[first:])
    room = rooms[-1]
    said = [event for _, body in log if isinstance(event := parse_event_body(body), Said)]
    assert [line.text for line in room.chat] == [event.text for event in said[-50:]]
    assert (room.due_ms(0), room.next_deadline_ms(0)) == (None, None)
    assert (room.ai_to_move(), room.ai_to_answer_draw(), room.forced_pass()) == (None, None, None)
    for actor in (ADA, BEN, CYD, AI):
        for command in ANY_COMMANDS:
            with pytest.raises(CommandRejected) as rejected:
                decide(room, actor, command, lambda: "new")
            assert rejected.value.code is Code.ROOM_NEWER
    views.description(room)
    for is_player in (True, False):
        format_message(views.snapshot(room, is_player))
    if room.match is not None:
        views.view(room, room.match)
        assert views.turn(room, room.match) is None


@given(st.integers(0, 10**6), st.integers(1, 30))
def test_an_unknown_event_that_changes_nothing_hides_no_move(seed: int, place: int) -> None:
    """After an unknown event that changed no board, moves and board are those of the plain log."""
    plain = random_log(seed)
    at = min(place, len(plain))
    log = [*plain[:at], (plain[at - 1][0], b'{"kind":"noted","by":"ada"}'), *plain[at:]]
    plain_match, match = fold(plain).match, fold(log).match
    assert (match is None) == (plain_match is None)
    if match is not None and plain_match is not None:
        assert (match.id, match.moves) == (plain_match.id, plain_match.moves)
        assert (match.over, match.position, match.digest, match.turn) == (
            plain_match.over, plain_match.position, plain_match.digest, plain_match.turn,
        )  # fmt: skip


NEWER = Unknown("noted", b'{"kind":"noted"}')


@pytest.mark.parametrize("moves", [["a1"], ["c3"], ["c3", "b2"]])
def test_a_move_that_does_not_lead_to_its_digest_is_shown_as_text(moves: list[str]) -> None:
    """A move after an unknown change of the board is listed, and there is no board to show."""
    played = seated()
    played.moves("a1 b1")
    played.append(NEWER)
    for ply, move in enumerate(moves, 2):
        played.append(Moved(played.match.id, ply, ply % 2, move, "0123456789abcdef"))
    assert [each.move for each in played.match.moves] == ["a1", "b1", *moves]
    assert played.match.position is None
    assert views.view(played.room, played.match) is None


def test_no_ai_is_due_after_an_unknown_event() -> None:
    """A move or an answer that was due from an AI is no longer due."""
    to_move = created(seats=(AI_SEAT, ME))
    to_answer = created(seats=(ME, AI_SEAT))
    to_answer.do(ADA, OfferDraw("x"))
    for played in (to_move, to_answer):
        assert played.room.due_ms(0) is not None
        played.append(NEWER)
        assert played.room.due_ms(0) is None


def test_an_unknown_offer_is_not_a_draw_offer() -> None:
    """An offer of an unknown kind opens no draw offer, and declining it closes none."""
    played = seated()
    played.append(Offered(0, "takeback"))
    assert not played.room.offers
    assert played.refuse(BEN, Accept("x")) is Code.OFFER_NONE
    played.do(BEN, OfferDraw("x"))
    played.append(Declined(0, "takeback"))
    assert list(played.room.offers) == [1]
