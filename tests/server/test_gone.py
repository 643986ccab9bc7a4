"""server/rooms/gone.py: claims against an opponent who has gone, and an AI that keeps a seat."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.rules.registry import load_game
from server.commands import (
    Abort,
    CallDraw,
    ClaimWin,
    Command,
    LetAiPlay,
    OfferDraw,
    ReclaimSeat,
    Rematch,
    RemoveAi,
    Rename,
    Resign,
    Takeback,
)
from server.events import AiTookOver, Finished, Occupant, Player, PlayerReturned, Renamed, TookBack
from server.protocol import views
from server.protocol.codes import Code
from server.rooms.model import (
    AI,
    SERVER,
    Absence,
    Actor,
    MatchResult,
    Substitution,
)
from server.rooms.permissions import next_change_ms, permitted
from server.runtime.projections import projections
from server.store.base import Listing, MatchFinished
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    SETTINGS,
    LoggedRoom,
    created,
    plain,
    seated,
)

CLAIMS: list[type[Command]] = [ClaimWin, CallDraw, LetAiPlay]
#: The time after the last connection when a match may be claimed, and that after a closed page.
GONE_MS, CLOSED_PAGE_MS = SETTINGS.gone_ms, SETTINGS.page_closed_ms
#: Long before every test.
LONG_AGO = -(10**9)
SUBSTITUTE = Occupant("ai", "AI level 2", "ai", 2, kept_for=Player("ben", "Ben"))


def gone(played: LoggedRoom, **fields: Any) -> LoggedRoom:
    """Makes Ben absent, by default for long and for certain."""
    absence = Absence(
        **{"since_ms": LONG_AGO, "certain_since_ms": LONG_AGO, "limit_ms": GONE_MS, **fields}
    )
    played.find_absence = lambda identity: absence if identity == BEN.identity else None
    return played


def back(played: LoggedRoom) -> LoggedRoom:
    """Makes everyone present."""
    played.find_absence = lambda _: None
    return played


def kept(moves: str = "") -> LoggedRoom:
    """Returns a match in which the AI plays on for Ben after these moves."""
    played = seated()
    played.moves(moves)
    gone(played).do(ADA, plain(LetAiPlay))
    return played


# --- who may claim, and when ----------------------------------------------------------------------


@pytest.mark.parametrize("limit_ms", [GONE_MS, CLOSED_PAGE_MS])
@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_accepted_after_the_time(claim: type[Command], limit_ms: int) -> None:
    """A claim is accepted 60 s after the last connection, or 20 s after a closed page, and not a
    millisecond earlier. The refusal says how many seconds are left.
    """
    played = seated()
    now_ms = played.room.changed_ms
    gone(played, since_ms=now_ms - limit_ms + 1, limit_ms=limit_ms)
    assert played.refuse(ADA, plain(claim)) is Code.CLAIM_NONE
    gone(played, since_ms=now_ms - limit_ms, limit_ms=limit_ms)
    assert played.do(ADA, plain(claim))


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("certain_ms", [None, -GONE_MS + 1])
def test_a_claim_is_refused_while_the_node_is_unsure(
    claim: type[Command], certain_ms: int | None
) -> None:
    """A node that may have missed a new connection within the time refuses with claim.unsure."""
    played = seated()
    certain_since_ms = None if certain_ms is None else played.room.changed_ms + certain_ms
    gone(played, certain_since_ms=certain_since_ms)
    assert played.refuse(ADA, plain(claim)) is Code.CLAIM_UNSURE


@pytest.mark.parametrize("claim", CLAIMS)
def test_nobody_claims_against_a_player_who_is_connected(claim: type[Command]) -> None:
    """A claim is refused while the opponent is connected, before a match and after it; spectators
    and the absent player cannot claim.
    """
    played = seated()
    assert played.refuse(ADA, plain(claim)) is Code.CLAIM_NONE
    gone(played)
    assert played.refuse(CYD, plain(claim)) is Code.SEAT_NONE
    assert played.refuse(BEN, plain(claim)) is Code.CLAIM_NONE
    played.do(ADA, plain(Resign))
    assert played.refuse(ADA, plain(claim)) is Code.MATCH_OVER
    assert gone(created()).refuse(ADA, plain(claim)) is Code.MATCH_NONE


@pytest.mark.parametrize("claim", CLAIMS)
def test_nobody_claims_against_an_ai(claim: type[Command]) -> None:
    """A match against an AI cannot be claimed, nor one in which the AI keeps the seat."""
    played = gone(created(seats=(ME, AI_SEAT)))
    assert played.refuse(ADA, plain(claim)) is Code.CLAIM_NONE
    assert kept().refuse(ADA, plain(claim)) is Code.CLAIM_NONE


@pytest.mark.parametrize("claim", CLAIMS)
def test_one_identity_on_both_seats_claims_nothing(claim: type[Command]) -> None:
    """A player who holds both seats has no opponent who could go."""
    played = seated()
    played.append(PlayerReturned(played.match.id, 1, 0, Occupant(ADA.identity, ADA.name)))
    absence = Absence(LONG_AGO, LONG_AGO, GONE_MS)
    played.find_absence = lambda _: absence
    assert played.refuse(ADA, plain(claim)) is Code.CLAIM_NONE


def test_a_claim_ends_the_match() -> None:
    """A claimed win goes to the claimant, a called draw has no winner, and both say who left."""
    for claim, winner in ((ClaimWin, 0), (CallDraw, None)):
        played = gone(seated())
        (finished,) = played.do(ADA, plain(claim))
        assert isinstance(finished, Finished)
        assert (finished.winner, finished.how) == (winner, "gone")
        assert finished.reason == "Noughts left the match"


def test_a_game_without_draws_is_not_called_a_draw() -> None:
    """Where no draw can be offered, none can be called."""
    played = gone(seated(game="hex"))
    assert played.refuse(ADA, plain(CallDraw)) is Code.DRAW_NONE
    assert ClaimWin in permitted(
        played.room, ADA.identity, played.now_ms, SETTINGS, played.find_absence
    )


@given(st.integers(-200_000, 0), st.none() | st.integers(-200_000, 0), st.integers(0, 90_000))
def test_the_list_changes_at_the_time_that_is_announced(
    since_ms: int, certain_ms: int | None, limit_ms: int
) -> None:
    """`next_change_ms` is the time at which a claim is first listed; None if it will not be."""
    played = seated()
    now_ms = played.room.changed_ms
    certain_since_ms = None if certain_ms is None else now_ms + certain_ms
    absence = Absence(now_ms + since_ms, certain_since_ms, limit_ms)
    arguments = played.room, ADA.identity

    def may_claim(at_ms: int) -> bool:
        return ClaimWin in permitted(*arguments, at_ms, SETTINGS, lambda _: absence)

    change_ms = next_change_ms(*arguments, now_ms, SETTINGS, lambda _: absence)
    if may_claim(now_ms) or certain_ms is None:
        assert change_ms is None
    else:
        assert change_ms is not None
        assert not may_claim(change_ms - 1)
        assert may_claim(change_ms)


# --- the AI keeps a seat --------------------------------------------------------------------------


def test_the_ai_plays_on_at_the_middle_level() -> None:
    """The AI takes the seat at the middle level of the game and names the player it is kept for."""
    played = gone(seated(game="connect-four"))
    played.do(ADA, played.move("d"))
    (event,) = played.do(ADA, plain(LetAiPlay))
    level = (played.room.game.levels + 1) // 2  # type: ignore[union-attr]
    substitute = Occupant("ai", f"AI level {level}", "ai", level, kept_for=Player("ben", "Ben"))
    assert event == AiTookOver(played.match.id, 1, 1, substitute)
    assert played.room.seats[1] == played.match.seats[1] == substitute
    assert played.room.ai_to_move() == 1
    assert played.room.due_ms(0) is not None


def test_the_ai_moves_for_the_player() -> None:
    """While the AI keeps the seat it moves there, and the player does not."""
    played = kept("a1")
    assert played.refuse(BEN, played.move("b1")) is Code.SEAT_NONE
    played.do(AI, played.ai_move("b1"))
    assert [move.move for move in played.match.moves] == ["a1", "b1"]


def test_the_player_takes_the_seat_back_at_any_time() -> None:
    """The player, and nobody else, takes the seat back until the match ends; the AI's late move is
    refused then.
    """
    played = kept("a1")
    late = played.ai_move("b1")
    for actor in (ADA, CYD):
        assert played.refuse(actor, plain(ReclaimSeat)) is Code.SEAT_NONE
    (event,) = back(played).do(BEN, plain(ReclaimSeat))
    assert event == PlayerReturned(played.match.id, 1, 1, Occupant("ben", "Ben"))
    assert played.refuse(AI, late) is Code.MOVE_NOT_YOUR_TURN
    played.do(BEN, played.move("b1"))
    assert played.refuse(BEN, plain(ReclaimSeat)) is Code.SEAT_NONE


def test_the_seat_is_the_players_again_after_the_match() -> None:
    """At the end the player holds the seat again and may agree to a rematch. The match itself keeps
    the AI as its player.
    """
    played = kept()
    played.do(ADA, plain(Resign))
    assert played.room.seats == (Occupant("ada", "Ada"), Occupant("ben", "Ben"))
    assert played.match.seats[1].kind == "ai"
    assert back(played).refuse(BEN, plain(ReclaimSeat)) is Code.SEAT_NONE
    played.do(ADA, plain(Rematch))
    played.do(BEN, plain(Rematch))
    assert [seat.name for seat in played.match.seats] == ["Ben", "Ada"]


def test_a_kept_seat_cannot_be_given_away() -> None:
    """While the AI keeps a seat, the host cannot remove it, and the player stays a player."""
    played = kept()
    assert played.refuse(ADA, RemoveAi("r", 1)) is Code.SEAT_LOCKED
    assert played.room.seat_of(BEN.identity) is None
    assert played.room.has_player(BEN.identity)
    assert permitted(played.room, BEN.identity, played.now_ms, SETTINGS)[0] is ReclaimSeat


def test_an_open_offer_ends_when_the_ai_takes_over() -> None:
    """An offer of a draw to the player who has gone does not stand for the AI."""
    played = seated()
    played.moves("a1 b1")
    played.do(ADA, plain(OfferDraw))
    gone(played).do(ADA, plain(LetAiPlay))
    assert played.room.offers == ()


def test_the_snapshot_and_the_list_of_matches_name_both() -> None:
    """A snapshot and the list of finished matches say who played from which move on."""
    played = kept("a1")
    played.do(AI, played.ai_move("b1"))
    back(played).do(BEN, plain(ReclaimSeat))
    substitutions = (Substitution(1, 1, SUBSTITUTE), Substitution(2, 1, Occupant("ben", "Ben")))
    snapshot = views.snapshot(played.room, player=True)
    assert snapshot.match is not None
    assert [(each.ply, each.seat, each.occupant.name) for each in snapshot.match.substitutions] == [
        (1, 1, "AI level 2"),
        (2, 1, "Ben"),
    ]
    events = played.do(ADA, plain(Resign))
    (end,) = [c for c in projections(played.room, events, None) if isinstance(c, MatchFinished)]
    over = msgspec.json.decode(end.over, type=MatchResult)
    assert over.substitutions == substitutions


def test_the_log_makes_the_same_room_on_every_node() -> None:
    """A node that loads the room has the same state as those that saw every event."""
    played = kept("a1")
    assert played.fold() == played.room
    back(played).do(BEN, plain(ReclaimSeat))
    played.do(BEN, plain(Abort))
    assert played.fold() == played.room


def test_a_takeback_before_the_substitution_leaves_the_ai_on_the_seat() -> None:
    """If a log takes back moves from before the AI took over, the AI plays from there on.

    A command takes back only moves that the absent player did not make.
    """
    played = kept("a1 b1 a2")
    played.do(AI, played.ai_move("b2"))
    played.do(ADA, Takeback("t", played.match.ply))
    assert played.refuse(ADA, Takeback("t", played.match.ply)) is Code.TAKEBACK_NONE
    start = load_game("tic-tac-toe").start()
    played.append(TookBack(played.match.id, 0, 0, start.digest()))
    assert played.match.ply == 0
    assert played.match.substitutions[-1].ply == 0
    assert played.match.seats[1].kind == "ai"
    assert played.fold() == played.room


# --- names ----------------------------------------------------------------------------------------


def rename(identity: str, name: str) -> Rename:
    return Rename("r", identity, name)


def test_another_name_reaches_the_seats() -> None:
    """The seats, the running match and the lobby show the new name; the log keeps the old one."""
    played = seated()
    events = played.do(SERVER, rename("ben", "Benjamin"))
    assert events == [Renamed("ben", "Benjamin")]
    assert [seat.name for seat in played.match.seats] == ["Ada", "Benjamin"]
    (listing,) = [c for c in projections(played.room, events, None) if isinstance(c, Listing)]
    assert b'"Benjamin"' in listing.summary
    assert b'"Ben"' in played.log[-3][1]
    assert played.fold() == played.room


def test_another_name_reaches_a_seat_that_the_ai_keeps() -> None:
    """The player for whom the AI keeps a seat has the new name there and after the return."""
    played = kept()
    played.do(SERVER, rename("ben", "Benjamin"))
    assert played.room.player_name(BEN.identity) == "Benjamin"
    assert played.room.seats[1] == Occupant(
        "ai", "AI level 2", "ai", 2, kept_for=Player("ben", "Benjamin")
    )
    renamed = Actor(BEN.identity, "Benjamin")
    back(played).do(renamed, plain(ReclaimSeat))
    assert played.room.seats[1] == Occupant("ben", "Benjamin")


@pytest.mark.parametrize("command", [rename("ben", "Ben"), rename("cyd", "C"), rename("ai", "HAL")])
def test_a_name_that_no_seat_misses_changes_nothing(command: Rename) -> None:
    """A name that the seat shows already, or of an identity without a seat, makes no event."""
    assert seated().decide(SERVER, command) == []
    assert created(seats=(ME, AI_SEAT)).decide(SERVER, rename("ai", "HAL")) == []


def test_only_the_server_renames() -> None:
    """A person cannot send the command."""
    assert seated().refuse(BEN, rename("ada", "Zoe")) is Code.SEAT_NONE


def test_a_result_keeps_the_names_of_its_time() -> None:
    """After the end of a match another name reaches the seats, but not the finished match."""
    played = seated()
    played.do(ADA, plain(Resign))
    played.do(SERVER, rename("ben", "Benjamin"))
    assert [seat.name for seat in played.match.seats] == ["Ada", "Ben"]
    assert played.room.player_name(BEN.identity) == "Benjamin"
