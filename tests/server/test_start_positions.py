"""Rooms whose matches start from the text of a position."""

import msgspec
import pytest

from engine.rules.registry import game_ids, load_game
from engine.search.job import Job
from server.codes import Code
from server.commands import MAX_START, Create, Rematch, Resign
from server.events import Created, Moved, Required, RoomEvent, Started, parse_event_body
from server.protocol import views
from server.protocol.codec import ProtocolError, format_message, parse_message
from server.protocol.views import format_permissions
from server.rooms.model import AI, CommandRejected
from server.rooms.permissions import permitted
from server.rooms.starts import check_start
from server.seats.ai import job_for
from server.seats.answers import position_of
from server.settings import Settings
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    ME,
    LoggedRoom,
    altered_game,
    created,
    seated,
    sit,
)

#: Black to move; White's king and pawn against Black's king and rook.
ENDGAME = "8/8/8/4k3/8/3r4/4P3/4K3 b - - 0 40"


def first_events(played: LoggedRoom) -> list[RoomEvent]:
    return [parse_event_body(body) for _, body in played.log]


def test_a_match_starts_from_the_text_of_a_position() -> None:
    """The log has the text, and the side to move in the position begins."""
    played = seated(game="chess", start=ENDGAME)
    made, required, *_, started = first_events(played)
    assert isinstance(made, Created)
    assert made.start == ENDGAME
    assert required == Required("start")
    assert isinstance(started, Started)
    assert started.start == ENDGAME
    assert (played.match.turn, played.match.first_seat) == (1, 1)
    (event,) = played.do(BEN, played.move("d3a3"))
    assert isinstance(event, Moved)
    assert (event.text, event.number, event.ply) == ("Ra3", "1...", 0)
    assert views.description(played.room).start == ENDGAME
    assert played.fold() == played.room


def test_a_rematch_starts_from_the_same_position() -> None:
    """The start position belongs to the room, so all of its matches start from it."""
    played = seated(game="chess", start=ENDGAME)
    played.do(ADA, Resign("p"))
    played.do(ADA, Rematch("p"))
    (event,) = played.do(BEN, Rematch("p"))
    assert isinstance(event, Started)
    assert event.start == ENDGAME
    assert played.match.turn == 1


def test_an_ai_searches_from_the_start_position() -> None:
    """The search job starts from the text, and its moves lead to the match's position."""
    played = created(game="chess", start=ENDGAME, seats=(ME, AI_SEAT))
    assert played.room.ai_to_move() == 1
    played.do(AI, played.ai_move("d3a3"))
    played.do(ADA, played.move("e1f2"))
    job = job_for(played.room, played.match, 1)
    assert isinstance(job, Job)
    assert (job.start, job.moves) == (ENDGAME, ("d3a3", "e1f2"))
    assert position_of(job, load_game("chess")) == played.match.position


@pytest.mark.parametrize("game", game_ids())
def test_a_games_own_start_is_not_stored(game: str) -> None:
    """Its text makes the same log as no text, which every version of the server can read."""
    played = created(game=game, start=load_game(game).start().text())
    assert played.log == created(game=game).log


def test_a_room_without_a_start_position_has_the_log_of_earlier_versions() -> None:
    """The new fields are left out of `created` when they are not used."""
    played = created()
    assert played.log[0][1] == (
        b'{"kind":"created","game":"tic-tac-toe","options":{},"visibility":"public","host":"ada"}'
    )
    assert [type(event).__name__ for event in first_events(played)] == ["Created", "SeatTaken"]


@pytest.mark.parametrize(
    ("game", "text", "expected"),
    [
        ("chess", "", "a FEN has six fields"),
        ("chess", "8/8/8/8/8/8/8/K7 w - - 0 1", "Black has exactly one king"),
        ("chess", "7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "would be over in this position: checkmate"),
        ("tic-tac-toe", "XXXX.....", "as many crosses as noughts"),
        ("tic-tac-toe", "XOXXOXOXO", "would be over in this position"),
        ("kalah", "1-1-1-1-1-1/0 4-4-4-4-4-4/0 south", "48 seeds"),
    ],
)
def test_a_text_from_which_no_match_can_start_is_refused(
    game: str, text: str, expected: str
) -> None:
    """The refusal says what was expected."""
    with pytest.raises(CommandRejected, match=expected) as rejected:
        created(game=game, start=text)
    assert rejected.value.code is Code.POSITION_REFUSED


def test_a_position_of_other_options_is_refused() -> None:
    """The position must be one of the room's options."""
    text = load_game("hex").start({"swap": "no"}).text()
    created(game="hex", options={"swap": "no"}, start=text)
    with pytest.raises(CommandRejected):
        created(game="hex", options={"swap": "yes"}, start=text)


def test_spaces_around_the_text_do_not_matter() -> None:
    """People paste texts with spaces and line ends around them."""
    position = check_start(load_game("chess"), {}, f"  {ENDGAME}\n")
    assert position.text() == ENDGAME


def test_the_text_is_limited() -> None:
    """A longer text than MAX_START does not reach the rules."""
    create = Create(id="c", game="chess", start="x" * MAX_START)
    assert parse_message(format_message(create)) == create
    with pytest.raises(ProtocolError):
        parse_message(format_message(msgspec.structs.replace(create, start=f"{create.start}x")))


def test_a_start_position_that_the_rules_no_longer_know_refuses_the_next_match() -> None:
    """The room can be read, and a rematch is refused with the reason."""
    played = seated(game="chess", start=ENDGAME)
    played.do(ADA, Resign("p"))
    played.do(ADA, Rematch("p"))

    def refuse(*_: object) -> None:
        raise ValueError("no such position any more")

    changed = played.fold(lambda game: altered_game(game, {"parse_position": refuse}, "1"))
    with pytest.raises(CommandRejected) as rejected:
        played.decide(BEN, Rematch("p"), changed)
    assert rejected.value.code is Code.POSITION_REFUSED


@pytest.mark.parametrize("feature", ["start", "one_screen"])
def test_a_room_with_an_unknown_feature_can_only_be_read(feature: str) -> None:
    """A server that does not know a required feature shows the room and refuses commands."""
    played = created()
    played.append(Required(feature))
    assert "sit" in format_permissions(permitted(played.room, BEN.identity, 0, Settings()))
    played.append(Required("three_players"))
    assert played.room.frozen is Code.ROOM_NEWER
    assert played.refuse(BEN, sit(1)) is Code.ROOM_NEWER
