"""Takebacks: which moves they take back, who must agree, and the room that they leave behind."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict

from engine.rules.registry import load_game
from server.codes import Code
from server.commands import Abort, Accept, Claim, Decline, OfferDraw, Resign, Takeback
from server.events import (
    Moved,
    Offered,
    RoomEvent,
    Started,
    TookBack,
    Unknown,
    format_event_body,
    parse_event_body,
)
from server.protocol import views
from server.protocol.views import format_permissions
from server.rooms.model import AI, RECENT_POSITIONS, Actor, Room
from server.rooms.permissions import OFFER_AGAIN_TURNS, permitted
from server.rooms.record import moves_of
from server.rooms.rules import evolve, initial_room
from server.rooms.turns import second_turn_ply
from server.settings import Settings
from tests.server.test_gone import kept
from tests.support.room_log import ADA, AI_SEAT, BEN, CYD, ME, LoggedRoom, created, seated

#: Games with alternating turns, with extra turns, with forced passes and with repetitions.
GAMES = ["tic-tac-toe", "connect-four", "kalah", "othello", "chess", "dots-and-boxes"]
PEOPLE = (ADA, BEN)


def take_back(played: LoggedRoom) -> Takeback:
    """Returns a takeback by a player who has seen every move."""
    return Takeback("b", played.match.ply)


def names(room: Room, actor: Actor) -> set[str]:
    """Returns the names of the commands that the room permits."""
    return set(format_permissions(permitted(room, actor.identity, 0, Settings())))


def play_randomly(played: LoggedRoom, rng: random.Random) -> bool:
    """Plays a random legal move; returns whether the match goes on."""
    position = played.match.position
    played.do(PEOPLE[position.turn], played.move(rng.choice(position.tokens())))
    return played.match.over is None


def take_back_with_consent(played: LoggedRoom, seat: int) -> None:
    """Takes back the last move of a seat, with the opponent's consent."""
    played.do(PEOPLE[seat], take_back(played))
    played.do(PEOPLE[1 - seat], Accept("p", "takeback", played.match.ply))


def line_of(played: LoggedRoom) -> list[str]:
    return [each.move for each in played.match.moves]


def position_facts(played: LoggedRoom) -> dict[str, Any]:
    """Returns everything about a match that depends on its moves and not on the time."""
    match = played.match
    facts = asdict(match)
    for name in ("id", "first_v", "started_ms", "turn_started_ms", "recent"):
        del facts[name]
    position = match.position
    board = views.view(played.room, match)
    assert board is not None
    return facts | {
        "past": position.past, "legal": position.tokens(), "outcome": position.outcome(),
        "claim": position.claim(), "view": board.view, "offers": played.room.offers,
    }  # fmt: skip


@given(st.sampled_from(GAMES), st.integers(0, 10**6))
@example("kalah", 3)
@settings(max_examples=40, deadline=None)
def test_a_match_with_takebacks_equals_the_match_without_the_moves_taken_back(
    game: str, seed: int
) -> None:
    """Moves, position, repetitions, legal moves and view are those of the line that was kept.

    The log folds to the same room, and its record has the same moves.
    """
    rng = random.Random(seed)
    played, plain = seated(game=game), seated(game=game)
    for _ in range(rng.randrange(1, 50)):
        seat = rng.randrange(2)
        if rng.random() < 0.3 and played.match.last_ply_of(seat) is not None:
            take_back_with_consent(played, seat)
        elif not play_randomly(played, rng):
            return
    for token in line_of(played):
        plain.do(PEOPLE[plain.match.position.turn], plain.move(token))
    assert position_facts(played) == position_facts(plain)
    assert played.fold() == played.room
    events = [(v, parse_event_body(body)) for v, (_, body) in enumerate(played.log, 1)]
    record = moves_of(events, played.match.id)
    assert [each.event.move for each in record] == line_of(played)
    assert [each.event for each in record] == [events[each.v - 1][1] for each in record]


# --- which moves are taken back


def test_against_an_ai_a_takeback_returns_to_the_own_move_at_once() -> None:
    """Two plies are taken back if the AI has answered, and one if it has not."""
    played = created(seats=(ME, AI_SEAT))
    for ply in (0, 2):
        played.do(ADA, played.move(("a1", "b1")[ply // 2]))
        played.do(AI, played.ai_move(("c3", "c2")[ply // 2]))
    (event,) = played.do(ADA, take_back(played))
    assert event == TookBack(played.match.id, 2, 0, played.match.digest)
    assert (line_of(played), played.match.turn) == (["a1", "c3"], 0)
    played.do(ADA, played.move("b2"))
    (event,) = played.do(ADA, take_back(played))
    assert isinstance(event, TookBack)
    assert (event.to_ply, line_of(played)) == (2, ["a1", "c3"])


def kalah_with_an_extra_turn() -> LoggedRoom:
    """Returns a match of kalah in which South has moved twice and North, an AI, not yet."""
    played = created(game="kalah", seats=(ME, AI_SEAT))
    played.do(ADA, played.move("c1"))  # the last seed falls into the store: another turn
    assert played.match.turn == 0
    return played


def test_after_an_extra_turn_only_the_last_move_is_taken_back() -> None:
    """A player who moved twice in a row takes one move back at a time, also on their own turn."""
    played = kalah_with_an_extra_turn()
    played.do(ADA, take_back(played))
    assert line_of(played) == []
    played.do(ADA, played.move("c1"))
    played.do(ADA, played.move("f1"))
    assert played.match.turn == 1
    played.do(ADA, take_back(played))
    assert (line_of(played), played.match.turn) == (["c1"], 0)


def test_several_answers_of_an_ai_are_taken_back_together() -> None:
    """All moves of the AI after the player's move are taken back with it."""
    played = kalah_with_an_extra_turn()
    played.do(ADA, played.move("a1"))
    while played.match.turn == 1:
        played.do(AI, played.ai_move(played.match.position.tokens()[0]))
    assert played.match.ply >= 3
    played.do(ADA, take_back(played))
    assert (line_of(played), played.match.turn) == (["c1"], 0)


def test_a_pass_that_the_server_played_is_taken_back_with_the_move_before_it() -> None:
    """A forced pass is not a move that a player chose, so a takeback goes beyond it."""
    played = seated()
    played.moves("a1 b1")
    forced = played.decide(ADA, played.move("c1"))[0]
    assert isinstance(forced, Moved)
    played.append(Moved(**{**asdict(forced), "forced": True}))
    played.do(BEN, played.move("c2"))
    (event,) = played.do(ADA, take_back(played))
    assert event == Offered(0, "takeback", 0)


def test_a_late_move_of_the_ai_is_refused() -> None:
    """An AI's answer to a position that was taken back changes nothing."""
    played = created(seats=(ME, AI_SEAT))
    played.do(ADA, played.move("a1"))
    late = played.ai_move("b1")
    played.do(ADA, take_back(played))
    assert played.refuse(AI, late) is Code.MOVE_STALE
    played.do(ADA, played.move("c1"))
    assert played.refuse(AI, late) is Code.MOVE_STALE


@given(st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_moves_are_taken_back_to_the_start_one_by_one(seed: int) -> None:
    """On one screen each takeback shows the position before the last move, up to the start."""
    played, rng = created(game="chess", one_screen=True), random.Random(seed)
    digests = [played.match.digest]
    for _ in range(RECENT_POSITIONS * 3 + 2):
        played.do(ADA, played.move(rng.choice(played.match.position.tokens())))
        digests.append(played.match.digest)
        if played.match.over is not None:
            return
    while digests[1:]:
        digests.pop()
        played.do(ADA, take_back(played))
        assert played.match.position.digest() == played.match.digest == digests[-1]
    assert played.refuse(ADA, take_back(played)) is Code.TAKEBACK_NONE
    assert played.fold() == played.room


# --- who must agree


def test_a_person_is_asked() -> None:
    """A takeback changes the match only after the opponent has accepted it."""
    played = seated()
    played.moves("a1 b1")
    (event,) = played.do(ADA, take_back(played))
    assert event == Offered(0, "takeback", 0)
    assert line_of(played) == ["a1", "b1"]
    assert played.refuse(ADA, Accept("p", "takeback")) is Code.OFFER_NONE
    assert played.refuse(CYD, Accept("p", "takeback")) is Code.SEAT_NONE
    (event,) = played.do(BEN, Accept("p", "takeback", 2))
    assert event == TookBack(played.match.id, 0, 0, played.match.digest)
    assert played.room.takeback_offers == ()


def stale_answers(played: LoggedRoom) -> Iterator[Accept]:
    """Yields answers to a request for a takeback in another position or of another kind."""
    yield Accept("p", "takeback", played.match.ply - 1)
    yield Accept("p", "takeback", played.match.ply + 1)
    yield Accept("p", "draw")
    yield Accept("p", "rematch")


def test_an_answer_binds_to_the_offer_and_the_position() -> None:
    """An answer to another offer, or to a request in another position, is refused."""
    played = seated()
    played.moves("a1 b1")
    played.do(ADA, take_back(played))
    for answer in stale_answers(played):
        assert played.refuse(BEN, answer) is Code.OFFER_NONE
    played.do(BEN, OfferDraw("p"))
    assert played.refuse(ADA, Accept("p", "takeback")) is Code.OFFER_NONE
    assert played.refuse(BEN, Decline("p", "rematch")) is Code.OFFER_NONE


@pytest.mark.parametrize("change", ["a move", "a takeback", "an answer", "the end"])
def test_a_request_expires_with_the_position(change: str) -> None:
    """After a move, a takeback, a refusal and the end of the match no request is open."""
    played = seated()
    played.moves("a1 b1 c1")
    played.do(ADA, take_back(played))
    match change:
        case "a move":
            played.do(BEN, played.move("c2"))
        case "a takeback":
            played.do(BEN, take_back(played))
            played.do(ADA, Accept("p", "takeback"))
        case "an answer":
            played.do(BEN, Decline("p", "takeback"))
        case _:
            played.do(BEN, Resign("p"))
    assert played.room.takeback_offers == ()
    assert views.snapshot(played.room, player=True).proposals == ()
    assert played.refuse(BEN, Accept("p", "takeback")) is Code.OFFER_NONE


def test_a_player_asks_once_in_each_position() -> None:
    """After a refusal the player may ask again only when the position has changed."""
    played = seated()
    played.moves("a1 b1")
    played.do(ADA, take_back(played))
    assert "takeback" not in names(played.room, ADA)
    played.do(BEN, Decline("p"))
    assert played.refuse(ADA, take_back(played)) is Code.OFFER_TWICE
    played.do(BEN, take_back(played))
    played.do(BEN, Decline("p"))
    played.do(ADA, played.move("c1"))
    assert {"takeback"} <= names(played.room, ADA) & names(played.room, BEN)


def test_both_players_may_ask_and_each_answers_the_other() -> None:
    """A player who declines keeps their own request; a second decline withdraws it."""
    played = seated()
    played.moves("a1 b1")
    for actor in PEOPLE:
        played.do(actor, take_back(played))
    played.do(ADA, Decline("p", "takeback"))
    assert [offer.seat for offer in played.room.takeback_offers] == [0]
    played.do(ADA, Decline("p", "takeback"))
    assert played.room.takeback_offers == ()


def test_a_takeback_is_refused_if_the_player_has_not_seen_the_position() -> None:
    """A command sent twice takes one move back; one that was sent early takes nothing back."""
    played = created(seats=(ME, AI_SEAT))
    for token, answer in (("a1", "c3"), ("b1", "c2")):
        played.do(ADA, played.move(token))
        played.do(AI, played.ai_move(answer))
    seen = take_back(played)
    played.do(ADA, seen)
    assert played.refuse(ADA, seen) is Code.MOVE_STALE
    assert played.refuse(ADA, Takeback("b", 0)) is Code.MOVE_STALE
    played.do(ADA, Takeback("b", 1))  # the AI has answered since
    assert line_of(played) == []


def test_no_move_is_taken_back_after_the_end_or_by_others() -> None:
    """Spectators, players without a move, a finished match and a room without takebacks refuse."""
    played = seated()
    assert played.refuse(ADA, Takeback("b", 0)) is Code.TAKEBACK_NONE
    played.do(ADA, played.move("a1"))
    assert played.refuse(BEN, take_back(played)) is Code.TAKEBACK_NONE
    assert played.refuse(CYD, take_back(played)) is Code.SEAT_NONE
    played.do(BEN, Resign("p"))
    assert played.refuse(ADA, take_back(played)) is Code.MATCH_OVER
    strict = seated(takeback=False)
    strict.do(ADA, strict.move("a1"))
    assert strict.refuse(ADA, take_back(strict)) is Code.TAKEBACK_NONE
    assert "takeback" not in names(strict.room, ADA)


def test_the_moves_of_a_player_who_has_gone_are_not_taken_back() -> None:
    """While an AI plays on for a player, only the moves of the AI are undone without asking."""
    played = kept("a1 b1 c1")
    played.do(AI, played.ai_move("c2"))
    played.do(ADA, take_back(played))
    assert line_of(played) == ["a1", "b1"]
    assert played.refuse(ADA, take_back(played)) is Code.TAKEBACK_NONE
    assert "takeback" not in names(played.room, ADA)
    played.do(ADA, played.move("c3"))
    assert "takeback" in names(played.room, ADA)


# --- what follows a takeback


def test_a_draw_can_be_offered_as_soon_as_after_an_offer_in_this_position() -> None:
    """A takeback ends an open offer of a draw, and nobody waits longer for the next one."""
    played = seated(game="connect-four")
    played.moves("a a b b c")
    played.do(ADA, OfferDraw("p"))
    take_back_with_consent(played, 0)
    assert played.room.offers == ()
    assert played.match.draw_offers == (4, -1)
    for ply in range(OFFER_AGAIN_TURNS):
        assert played.refuse(ADA, OfferDraw("p")) is Code.OFFER_TWICE
        played.do(PEOPLE[ply % 2], played.move("cfgggdedbg"[ply]))
    played.do(ADA, OfferDraw("p"))


def test_a_match_can_be_aborted_again_after_a_takeback_to_its_first_moves() -> None:
    """The right to abort depends on the final line."""
    played = seated()
    played.moves("a1 b1")
    assert second_turn_ply(played.match) == 1
    assert played.refuse(ADA, Abort("p")) is Code.MATCH_STARTED
    take_back_with_consent(played, 1)
    assert "abort" in names(played.room, ADA)
    played.do(ADA, Abort("p"))


def test_positions_that_were_taken_back_do_not_count_as_repetitions() -> None:
    """A draw by repetition can be claimed only if the final line repeat the position."""
    played = seated(game="chess")
    shuffle = "g1f3 g8f6 f3g1 f6g8"
    played.moves(" ".join([shuffle] * 2))
    assert played.match.position.claim() is not None
    take_back_with_consent(played, 1)
    played.do(BEN, played.move("b8c6"))
    assert played.match.position.claim() is None
    assert played.refuse(ADA, Claim("p")) is Code.CLAIM_NONE
    take_back_with_consent(played, 1)
    played.do(BEN, played.move("f6g8"))
    assert played.match.position.claim() is not None


# --- logs


def test_a_takeback_to_another_position_freezes_the_room() -> None:
    """If the moves do not lead to the position of the event, the match can only be read."""
    played = seated()
    played.moves("a1 b1")
    played.append(TookBack(played.match.id, 1, 1, "0123456789abcdef"))
    assert played.room.frozen is Code.GAME_CHANGED
    assert (line_of(played), played.match.position) == (["a1"], None)
    assert played.refuse(ADA, played.move("c1")) is Code.GAME_CHANGED


@pytest.mark.parametrize("to_ply", [-1, 2, 9])
def test_an_impossible_takeback_in_a_log_changes_nothing(to_ply: int) -> None:
    """`evolve` ignores a takeback to a ply that the match has not left behind."""
    played = seated()
    played.moves("a1 b1")
    before = played.match
    played.append(TookBack(played.match.id, to_ply, 0, "0123456789abcdef"))
    assert played.match == before


#: The kinds of events of the version before takebacks.
EARLIER_KINDS = (
    "created", "seat_taken", "seat_left", "started", "moved", "finished", "offered", "declined",
    "said",
)  # fmt: skip


def as_earlier(body: bytes) -> Any:
    """Parses an event as the version before takebacks does."""
    event = parse_event_body(body)
    kind = str(type(event).__struct_config__.tag)
    return event if kind in EARLIER_KINDS else Unknown(kind, body)


def test_the_version_before_freezes_a_room_with_a_takeback_and_shows_its_moves() -> None:
    """A server without takebacks can read the room: the final line, and no others."""
    played = seated()
    played.moves("a1 b1")
    take_back_with_consent(played, 0)
    played.moves("c1 c2")
    (first_ms, first), *later = played.log
    room = initial_room(played.room.id, as_earlier(first), first_ms, load_game)
    for at_ms, body in later:
        room = evolve(room, as_earlier(body), at_ms, load_game)
    assert room.match is not None
    assert room.frozen is Code.ROOM_NEWER
    assert [each.move for each in room.match.moves] == ["c1", "c2"]


def test_an_event_of_a_takeback_has_few_fields() -> None:
    """The stored forms of a request and of a takeback."""
    assert format_event_body(Offered(0, "takeback", 4)) == (
        b'{"kind":"offered","seat":0,"what":"takeback","to_ply":4}'
    )
    assert format_event_body(TookBack("m", 4, 0, "d")) == (
        b'{"kind":"took_back","match":"m","to_ply":4,"seat":0,"digest":"d"}'
    )


def test_the_moves_of_a_record_are_those_of_its_match() -> None:
    """`moves_of` ignores other matches, and the moves that an unknown event took back."""
    moved = [Moved("m", ply, ply % 2, "a1", "d") for ply in range(3)]
    start = Started("m", 1, "", "", ())
    other = Moved("n", 1, 1, "b1", "d")
    events: list[RoomEvent] = [
        start,
        *moved,
        other,
        Unknown("newer", b"{}"),
        Moved("m", 1, 1, "c1", "d"),
    ]
    record = moves_of(enumerate(events, 1), "m")
    assert [(each.v, each.event.move) for each in record] == [(2, "a1"), (7, "c1")]
