"""Rooms in which one player holds both seats."""

import pytest

from server.codes import Code
from server.commands import (
    Accept,
    Claim,
    Decline,
    Move,
    OfferDraw,
    Rematch,
    RemoveAi,
    Resign,
    Stand,
    Takeback,
)
from server.events import Finished, Required, SeatTaken, Started, parse_event_body
from server.protocol import views
from server.protocol.views import format_permissions
from server.rooms.permissions import permitted
from server.settings import Settings
from tests.support.room_log import ADA, AI_SEAT, BEN, ME, OPEN, LoggedRoom, add_ai, created, sit


def on_one_screen(game: str = "tic-tac-toe") -> LoggedRoom:
    """Returns a match of Ada against herself."""
    return created(game=game, one_screen=True)


def play(played: LoggedRoom, tokens: str) -> None:
    for token in tokens.split():
        played.do(ADA, played.move(token))


@pytest.mark.parametrize("seats", [(ME, OPEN), (ME, ME), (AI_SEAT, AI_SEAT)])
def test_the_creator_takes_both_seats_and_plays_both_sides(seats: tuple[object, object]) -> None:
    """The match starts at once, whatever `seats` says, and Ada moves for the side to move."""
    played = created(one_screen=True, seats=seats)
    kinds = [type(parse_event_body(body)) for _, body in played.log[1:]]
    assert kinds == [Required, SeatTaken, SeatTaken, Started]
    assert [seat.identity for seat in played.match.seats] == ["ada", "ada"]
    for turn, token in enumerate(["a1", "b1", "a2", "b2"]):
        assert played.match.turn == turn % 2
        played.do(ADA, played.move(token))
    assert views.description(played.room).one_screen
    assert played.fold() == played.room


def test_without_one_screen_a_player_takes_one_seat() -> None:
    """Only `one_screen` lets an identity hold both seats."""
    with pytest.raises(Exception, match="one seat only"):
        created(seats=(ME, ME))
    played = created()
    assert played.refuse(ADA, sit(1)) is Code.SEAT_ALREADY


def test_a_command_may_name_its_seat() -> None:
    """A move for the side that is not to move is refused, and so is a seat of another player."""
    played = on_one_screen()
    assert played.refuse(ADA, Move("m", 0, "a1", seat=1)) is Code.MOVE_NOT_YOUR_TURN
    played.do(ADA, Move("m", 0, "a1", seat=0))
    (event,) = played.do(ADA, Resign("p", seat=0))
    assert event == Finished(played.match.id, 1, "resign", "Crosses resigned")
    other = created()
    other.do(BEN, sit(1))
    assert other.refuse(BEN, Move("m", 0, "a1", seat=0)) is Code.SEAT_NONE
    assert other.refuse(BEN, Resign("p", seat=0)) is Code.SEAT_NONE
    other.do(ADA, Move("m", 0, "a1", seat=0))


@pytest.mark.parametrize(("moves", "winner"), [("a1", 0), ("a1 b1", 1)])
def test_the_side_to_move_resigns(moves: str, winner: int) -> None:
    """A resignation without a seat is that of the side to move."""
    played = on_one_screen()
    play(played, moves)
    (event,) = played.do(ADA, Resign("p"))
    assert isinstance(event, Finished)
    assert event.winner == winner


def test_a_draw_a_takeback_and_a_rematch_act_at_once() -> None:
    """Nobody is asked, so no offer is ever open."""
    played = on_one_screen()
    play(played, "a1 b1")
    for left in (1, 0):
        played.do(ADA, Takeback("b", played.match.ply))
        assert played.match.ply == left
    play(played, "a1")
    (event,) = played.do(ADA, OfferDraw("p"))
    assert isinstance(event, Finished)
    assert (event.winner, event.how) == (None, "agreement")
    (event,) = played.do(ADA, Rematch("p"))
    assert isinstance(event, Started)
    assert not played.room.offers
    assert not played.room.takeback_offers
    for command in (Accept("p"), Decline("p")):
        assert played.refuse(ADA, command) is Code.OFFER_NONE


def test_the_side_to_move_claims_a_draw() -> None:
    """Either side may claim a draw on its turn."""
    played = on_one_screen("chess")
    play(played, "g1f3 g8f6 f3g1 f6g8 " * 2)
    (event,) = played.do(ADA, Claim("p"))
    assert isinstance(event, Finished)
    assert event.how == "claim"


def test_the_seats_stay_those_of_one_player() -> None:
    """Nobody else can sit down, also between matches; the player cannot stand up."""
    played = on_one_screen()
    play(played, "a1 b1 a2 b2 a3")
    assert played.match.over is not None
    assert played.refuse(ADA, Stand("p")) is Code.SEAT_LOCKED
    assert played.refuse(BEN, sit(0)) is Code.SEAT_TAKEN
    assert played.refuse(ADA, add_ai(1)) is Code.SEAT_TAKEN
    assert played.refuse(ADA, RemoveAi("p", 1)) is Code.SEAT_EMPTY
    assert played.refuse(BEN, Rematch("p")) is Code.SEAT_NONE


@pytest.mark.parametrize("moves", ["", "a1", "a1 b1 a2", "a1 b1 a2 b2 a3"])
def test_a_spectator_may_not_play(moves: str) -> None:
    """Another identity may only watch, chat and, while one plays both sides, ask for a hint."""
    played = on_one_screen()
    play(played, moves)
    types = permitted(played.room, BEN.identity, 0, Settings())
    both = ("see_thinking", "chat")
    expected = ("hint", *both) if played.match.over is None else both
    assert format_permissions(types) == expected
    if played.match.over is None:
        assert played.refuse(BEN, played.move("c3")) is Code.SEAT_NONE
