"""Folding a log: the room and its views, also if the game is missing, changed or broken."""

import itertools
from typing import Any

import pytest

from engine.game import GameFault, UnknownGame
from engine.rules.registry import load_game
from server.commands import (
    Abort,
    AddAi,
    AddTime,
    Bar,
    Configure,
    Decline,
    Hold,
    LetAiPlay,
    Mute,
    ReclaimSeat,
    Rematch,
    Rename,
    Resign,
    Stand,
    Takeback,
    Unmute,
)
from server.events import KnownEvent, Moved, Said, parse_event_body
from server.protocol import views
from server.protocol.codes import Code
from server.rooms import rules
from server.rooms.model import AI, SERVER, Absence, CommandRejected, Room
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    OPEN,
    ROOM,
    LoggedRoom,
    add_ai,
    altered_game,
    attempt,
    chat,
    created,
    decide,
    failing_rule,
    plain,
    remove_ai,
    seated,
    sit,
)

# --- the log makes the room -----------------------------------------------------------------------


def test_the_log_alone_makes_the_room() -> None:
    """I8: parsing the bodies again gives the same room, after every kind of event."""
    played = LoggedRoom()
    start: dict[str, Any] = {"options": {"rows": "1-3-5-7"}, "start": "1-3-5-6 first"}
    played.create(ADA, "sticks", seats=(OPEN, OPEN), clock="600+2", **start)
    played.do(ADA, sit(1))
    played.do(ADA, plain(Stand))
    played.do(BEN, sit(0))
    played.do(CYD, chat("hello", "spectators"))
    played.do(ADA, AddAi("a", 1, strategy="random"))
    for _ in range(2):
        played.do(BEN, played.move("4x6"))
        played.do(AI, played.ai_move("3x5"))
        played.do(BEN, Takeback("b", 2))
    played.do(BEN, plain(Resign))
    played.do(ADA, Configure("c", "spectators"))
    played.do(ADA, remove_ai(1))
    played.do(CYD, sit(1))
    played.do(BEN, plain(Rematch))
    played.do(CYD, plain(Rematch))
    played.do(CYD, plain(Abort))
    played.do(CYD, plain(Rematch))
    played.do(BEN, plain(Decline))
    played.do(BEN, plain(Rematch))
    played.do(CYD, plain(Rematch))
    while played.match.ply < 2 or played.match.turn != played.room.seat_of(CYD.identity):
        mover = BEN if played.match.turn == played.room.seat_of(BEN.identity) else CYD
        played.do(mover, played.move(played.match.position.tokens()[0]))
    played.do(BEN, plain(AddTime))
    played.now_ms += 9_000
    played.do(SERVER, Hold("h", played.match.id, played.now_ms - 5_000, "outage"))
    played.find_absence = lambda _: Absence(0, 0)
    played.do(BEN, plain(LetAiPlay))
    played.do(CYD, plain(ReclaimSeat))
    played.do(ADA, Mute("m", CYD.identity))
    played.do(ADA, Unmute("u", CYD.identity))
    played.do(SERVER, Rename("r", CYD.identity, "Cydney"))
    played.do(BEN, plain(Resign))
    played.do(BEN, plain(Stand))
    played.do(BEN, sit(played.room.seats.index(None)))
    played.do(ADA, Bar("k", BEN.identity))
    kinds = {type(parse_event_body(body)) for _, body in played.log}
    assert kinds == set(KnownEvent.__args__)
    assert played.fold() == played.room
    assert played.room.v == len(played.log)


def test_a_log_without_created_is_an_error() -> None:
    """A log whose first event is not `created` raises ValueError."""
    with pytest.raises(ValueError, match="starts with Said"):
        rules.initial_room(ROOM, Said("a", "A", "hello"), 0, load_game)


# --- games that are missing, changed or broken ----------------------------------------------------


def no_game(game_id: str) -> Any:
    """Finds no game."""
    raise UnknownGame(f"there is no game {game_id}")


def broken_file(game_id: str) -> Any:
    """Fails to load the game's file."""
    raise SyntaxError("the plug-in's file does not even load")


def assert_rejects_all(room: Room, code: Code) -> None:
    """Asserts that the room is frozen with the code and rejects every command of play."""
    assert room.frozen is code
    played = LoggedRoom()
    commands = [
        played.move("a1", ply=n) for n in range(4)
    ] + [plain(Rematch), sit(0), sit(1), add_ai(1)]  # fmt: skip
    for actor, command in itertools.product((ADA, BEN, CYD), commands):
        try:
            decide(room, actor, command, played.new_id)
        except CommandRejected:
            continue
        raise AssertionError(f"{actor} could {command} in a room frozen by {room.frozen}")


@pytest.mark.parametrize(
    ("find", "code"), [(no_game, Code.GAME_UNKNOWN), (broken_file, Code.GAME_FAULT)]
)
def test_a_room_without_its_game_can_be_read(find: Any, code: Code) -> None:
    """A room without its game is frozen with the code; it can be read, but not played.

    Chat, resigning and aborting still work.
    """
    played = seated()
    played.moves("a1 b1")
    played.do(CYD, chat("what a pity"))
    room = played.fold(find)
    assert (room.v, room.frozen, room.game) == (played.room.v, code, None)
    assert room.match is not None
    assert [move.move for move in room.match.moves] == ["a1", "b1"]
    assert_rejects_all(room, code)
    assert views.snapshot(room, player=True) == views.snapshot(played.room, player=True)
    assert views.view(room, room.match) is None
    assert views.turn(room, room.match) is None
    assert views.description(room).view is None
    assert room.ai_to_move() is None
    assert decide(room, CYD, chat("indeed"), played.new_id)
    assert decide(room, BEN, plain(Abort), played.new_id), "players can end the match"
    assert decide(room, BEN, plain(Resign), played.new_id)


def test_changed_rules_that_agree_continue_the_match() -> None:
    """Changed rules that lead to the same positions let the match continue."""
    played = seated()
    played.moves("a1 b1")
    room = played.fold(lambda game_id: altered_game(game_id, digest="0123456789abcdef"))
    assert room.frozen is None
    assert decide(room, ADA, played.move("c3"), played.new_id)


def test_changed_rules_that_differ_freeze_the_match() -> None:
    """The first position that differs under changed rules freezes the match with game.changed.

    A new match uses the new rules.
    """
    played = seated()
    played.moves("a1 b1")

    def mirrored(s: Any, text: str) -> int:
        cells = load_game("tic-tac-toe").module.CELLS  # type: ignore[attr-defined]
        return 8 - int(cells.index(text))

    def find(game_id: str) -> Any:
        return altered_game(game_id, {"parse_move": mirrored}, digest="0123456789abcdef")

    room = played.fold(find)
    assert room.frozen is Code.GAME_CHANGED
    assert room.match is not None
    assert [move.move for move in room.match.moves] == ["a1", "b1"]
    for actor in (ADA, BEN):
        with pytest.raises(CommandRejected) as rejected:
            decide(room, actor, played.move("c3"), played.new_id)
        assert rejected.value.code is Code.GAME_CHANGED
    for event in decide(room, ADA, plain(Resign), played.new_id):
        room = rules.evolve(room, event, 0, load_game)
    for actor in (ADA, BEN):
        for event in decide(room, actor, plain(Rematch), played.new_id):
            room = rules.evolve(room, event, 0, load_game)
    assert room.frozen is None
    assert room.running_match is not None


@pytest.mark.parametrize("token", ["z9", "", "a1"])
def test_an_unreadable_move_freezes_the_room(token: str) -> None:
    """A log with a token that is not a move of the game loads as a frozen room."""
    played = seated(lambda game_id: altered_game(game_id, digest="0123456789abcdef"))
    played.do(ADA, played.move("a1"))
    played.append(Moved(played.match.id, 1, 1, token, "0" * 16))
    room = played.fold()
    assert room.frozen is Code.GAME_CHANGED or token == "a1"
    assert room.match is not None
    assert room.match.ply == 2


@pytest.mark.parametrize(
    "hook",
    [
        "parse_move",
        "moves",
        "status",
        "play",
        "format_move",
        "format_position",
        "turn",
        "ending",
        "no_moves_result",
    ],
)
def test_a_broken_rule_is_a_game_fault(hook: str) -> None:
    """A rule that raises makes a command raise GameFault; the room still loads, unchanged."""
    played = seated()
    played.moves("a1 b1 a2 b2")
    broken = altered_game("tic-tac-toe", {hook: failing_rule})
    room = played.fold(lambda _: broken)
    before = room.v
    needed = {
        "parse_move",
        "moves",
        "status",
        "play",
        "format_move",
        "format_position",
        "turn",
        "ending",
    }
    answer = attempt(lambda: decide(room, ADA, played.move("a3"), played.new_id))
    match answer:
        case GameFault():
            assert "a defect of this game" in str(answer)
            assert hook in needed
        case CommandRejected():
            assert answer.code is room.frozen is Code.GAME_FAULT
        case _:
            assert hook not in needed
    assert room.v == before == played.room.v
    assert room.match is not None
    assert room.match.ply == 4


@pytest.mark.parametrize(
    "hook", ["view", "move_view", "board", "turn", "format_position", "moves", "status"]
)
def test_a_broken_view_is_a_game_fault(hook: str) -> None:
    """An exception in a view becomes GameFault or freezes the room.

    The description and the snapshot still work.
    """
    played = seated()
    played.moves("a1 b1")
    room = played.fold(lambda _: altered_game("tic-tac-toe", {hook: failing_rule}))
    assert room.match is not None
    match = room.match
    for read_view in (views.view, views.turn):
        outcome = attempt(lambda read_view=read_view: read_view(room, match))  # type: ignore[misc]
        assert not isinstance(outcome, GameFault) or "a defect of this game" in str(outcome)
    assert views.description(room).title == "Tic-tac-toe"
    assert views.snapshot(room, player=True).match == views.match_state(room.match)


@pytest.mark.parametrize("turn", [-1, 2, 7])
def test_a_game_whose_turn_is_not_a_seat_freezes(turn: int) -> None:
    """Rules whose `turn` is not a seat freeze the room instead of failing later."""
    room = seated().fold(lambda _: altered_game("tic-tac-toe", {"turn": lambda s: turn}))
    assert room.frozen is Code.GAME_CHANGED
    assert room.ai_to_move() is None


def test_options_that_a_game_no_longer_has() -> None:
    """A room with options that the game no longer has is frozen with option.unknown.

    No match can start there.
    """
    played = LoggedRoom()
    played.create(ADA, "sticks", options={"rows": "1-2-3"})

    def find(game_id: str) -> Any:
        return altered_game(game_id, {"OPTIONS": {}})

    room = played.fold(find)
    assert room.frozen is Code.OPTION_UNKNOWN
    with pytest.raises(CommandRejected) as rejected:
        decide(room, BEN, sit(1), played.new_id)
    assert rejected.value.code is Code.OPTION_UNKNOWN
    assert_rejects_all(room, Code.OPTION_UNKNOWN)
    played.do(BEN, sit(1))
    played.do(BEN, plain(Resign))
    later = played.fold(find)
    (offered,) = decide(later, ADA, plain(Rematch), played.new_id)
    later = rules.evolve(later, offered, 0, load_game)
    with pytest.raises(CommandRejected) as rejected:
        decide(later, BEN, plain(Rematch), played.new_id)
    assert rejected.value.code is Code.OPTION_UNKNOWN


def test_after_a_resignation_no_side_is_to_move() -> None:
    """After a resignation no side is to move, and the view gives the reason."""
    played = seated()
    played.moves("a1")
    played.do(BEN, plain(Resign))
    view = views.view(played.room, played.match)
    assert view is not None
    assert (view.view.turn, view.view.text) == (None, "Noughts resigned")
    assert views.turn(played.room, played.match) is None


def test_the_legal_moves_are_for_the_person_to_move() -> None:
    """`turn` has all legal moves of the person to move; there is no `turn` for an AI."""
    played = seated()
    turn = views.turn(played.room, played.match)
    assert turn is not None
    assert {move.id for move in turn.moves} == {column + row for column in "abc" for row in "123"}
    ai = created(seats=(AI_SEAT, ME))
    assert views.turn(ai.room, ai.match) is None
