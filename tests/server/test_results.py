"""What a game says about its results: points, no draws, no levels; and turns of several moves."""

import json

import msgspec
import pytest

from engine.rules.registry import load_game
from server.codes import Code
from server.commands import Abort, AddAi, AiSeat, OfferDraw, OpenSeat, Resign
from server.events import Created, Finished, format_event_body, parse_event_body
from server.protocol import messages as wire
from server.protocol import views
from server.rooms import permissions
from server.rooms.model import CommandRejected, MatchResult
from server.rooms.permissions import leaves_permissions_unchanged
from server.rooms.turns import second_turn_ply, turns_since
from server.settings import Settings
from tests.support.fake_server import Client, FakeServer, virtual
from tests.support.room_log import ADA, BEN, ME, LoggedRoom, attempt, created, plain, seated


def may(played: LoggedRoom, identity: str) -> set[type]:
    """Returns the types of the commands that the room accepts from an identity."""
    return set(permissions.permitted(played.room, identity, played.now_ms, Settings()))  # type: ignore[arg-type]


def play_kalah(played: LoggedRoom, tokens: str) -> None:
    """Plays moves of Kalah, each by the side that is to move."""
    for token in tokens.split():
        played.do((ADA, BEN)[played.match.turn], played.move(token))


def test_a_match_ends_with_points() -> None:
    """`finished`, the stored log, the snapshot and the result have the points of both seats."""
    played = seated(game="coin-friends")
    played.moves("one 50")
    body = json.loads(played.log[-1][1])
    assert (body["kind"], body["winner"], body["points"]) == ("finished", None, [50, 0])
    over = MatchResult(None, "board", "Asker got 50 cents", (50, 0))
    assert played.match.over == over
    state = views.match_state(played.match)
    assert state.over == wire.MatchResult(None, "board", "Asker got 50 cents", (50, 0))


def test_a_result_without_points_is_stored_as_before() -> None:
    """The bytes of a `finished` without points are those of earlier versions."""
    played = seated(game="coin-friends")
    played.do(ADA, plain(Resign))
    assert played.log[-1][1] == (
        b'{"kind":"finished","match":"%b","winner":1,"how":"resign","reason":"Asker resigned"}'
        % played.match.id.encode()
    )
    assert msgspec.json.encode(played.match.over) == (
        b'{"winner":1,"how":"resign","reason":"Asker resigned"}'
    )


class FinishedBefore(msgspec.Struct, frozen=True, tag_field="kind", tag="finished"):
    """The event as a version without points knows it."""

    match: str
    winner: int | None
    how: str
    reason: str


def test_versions_with_and_without_points_read_each_other() -> None:
    """An earlier version reads the event without its points, and this one reads the earlier one."""
    event = Finished("m", 0, "board", "the board is full", (40, 24))
    body = format_event_body(event)
    assert parse_event_body(body) == event
    before = msgspec.json.decode(body, type=FinishedBefore)
    assert before == FinishedBefore("m", 0, "board", "the board is full")
    assert parse_event_body(msgspec.json.encode(before)) == msgspec.structs.replace(
        event, points=None
    )


@pytest.mark.parametrize("game", ["hex", "breakthrough", "sticks"])
def test_no_draw_is_offered_where_none_is_possible(game: str) -> None:
    """In a game that cannot be drawn a draw offer is refused, and `may` does not list it."""
    played = seated(game=game)
    assert played.refuse(ADA, plain(OfferDraw)) is Code.DRAW_NONE
    assert OfferDraw not in may(played, "ada")
    assert OfferDraw in may(seated(game="tic-tac-toe"), "ada")


def test_a_game_without_levels_has_no_ai_at_a_level() -> None:
    """In a game with SEARCH = "teach" an AI seat at a level or as a persona is refused."""
    played = created(game="rock-paper-scissors")
    for command in (AddAi(id="a", seat=1, level=1), AddAi(id="a", seat=1, persona="random")):
        refusal = attempt(lambda command=command: played.decide(ADA, command))  # type: ignore[misc]
        assert isinstance(refusal, CommandRejected)
        assert refusal.code is Code.LEVEL_UNKNOWN
        assert refusal.message.startswith("Rock, paper, scissors has no levels")
    refusal = attempt(lambda: LoggedRoom().create(game="coin-friends", seats=(ME, AiSeat(1))))
    assert isinstance(refusal, CommandRejected)
    description = views.description(played.room)
    assert (description.levels, description.search) == (0, "teach")
    assert views.description(seated().room).search == "production"


@pytest.mark.parametrize(
    ("game", "evaluator", "is_accepted"),
    [
        ("tic-tac-toe", "all-paths", True),
        ("rock-paper-scissors", "all-paths", False),  # it has a utility for each player
        ("chess", "all-paths", False),
        ("chess", "material:queen=9", True),
        ("chess", "material:quen=9", False),
        ("coin-friends", "zero", True),
    ],
)
def test_a_strategy_has_an_evaluator_that_the_game_allows(
    game: str, evaluator: str, is_accepted: bool
) -> None:
    """An unknown kind of piece is refused, and H0 where it takes too long or has no meaning."""
    played = created(game=game)
    command = AddAi(id="a", seat=1, strategy="minimax", evaluator=evaluator)
    if is_accepted:
        assert played.do(ADA, command)
    else:
        assert played.refuse(ADA, command) is Code.STRATEGY_UNKNOWN


def test_a_match_can_be_aborted_until_both_sides_have_moved() -> None:
    """Moves of an extra turn do not count: the other side has not moved yet."""
    played = seated(game="kalah")
    play_kalah(played, "c1 a1")
    assert (played.match.ply, played.match.turn) == (2, 1)
    assert {Abort} <= may(played, "ada") & may(played, "ben")
    events = played.do(BEN, played.move("f2"))
    assert not leaves_permissions_unchanged(events, played.room, is_player_absent=False)
    assert Abort not in may(played, "ada") | may(played, "ben")
    assert played.refuse(ADA, plain(Abort)) is Code.MATCH_STARTED


def test_a_move_that_seems_to_change_no_permission_changes_none() -> None:
    """`leaves_permissions_unchanged` is right in games with and without extra turns."""
    unchanged = []
    for game, tokens in (("tic-tac-toe", "a1 b2 c3 a2"), ("kalah", "c1 a1 a2 f1 b2 e1")):
        played = seated(game=game)
        for token in tokens.split():
            allowed = may(played, "ada"), may(played, "ben")
            events = played.do((ADA, BEN)[played.match.turn], played.move(token))
            is_unchanged = leaves_permissions_unchanged(events, played.room, is_player_absent=False)
            assert not is_unchanged or (may(played, "ada"), may(played, "ben")) == allowed
            unchanged.append(is_unchanged)
    assert True in unchanged


def test_a_draw_offer_waits_for_turns() -> None:
    """Ten turns after an offer the player may offer again; moves of an extra turn are one turn."""
    played = seated(game="kalah")
    played.do(ADA, plain(OfferDraw))
    played.moves("c1")
    assert turns_since(played.match, 0) == 1
    refusal = attempt(lambda: played.decide(ADA, plain(OfferDraw)))
    assert isinstance(refusal, CommandRejected)
    assert refusal.message == "you may offer a draw again after 9 more turns"
    played.do(ADA, played.move("a1"))
    assert turns_since(played.match, 0) == 1
    assert second_turn_ply(played.match) is None


@virtual
async def test_a_room_is_created_by_another_name_of_its_game() -> None:
    """`create` accepts an alias; the log and all messages have the game's id."""
    fake = FakeServer()
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create(game="reversi", seats=(ME, OpenSeat()))
        await ada.ack(ada.join(room))
        assert ada.of("joined")[-1]["description"]["game"] == "othello"
    (stored, *_) = LoggedRoom().create(game="reversi")
    assert isinstance(stored, Created)
    assert stored.game == "othello"
    assert load_game("checkers") is load_game("draughts")
