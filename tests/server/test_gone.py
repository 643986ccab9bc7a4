"""server/rooms/gone.py: claims against an opponent who has gone, and an AI that keeps a seat."""

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
    CommandRejected,
    MatchResult,
    Substitution,
)
from server.rooms.permissions import Permission, next_change_in_ms, permitted
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
    altered_game,
    created,
    failing_rule,
    plain,
    seated,
)

CLAIMS: list[type[Command]] = [ClaimWin, CallDraw, LetAiPlay]
#: Moves after which both sides have moved, and Ben is to move.
BENS_TURN = "a1 b1 a2"
SUBSTITUTE = Occupant("ai", "AI level 2", "ai", 2, kept_for=Player("ben", "Ben"))


def on_bens_turn(game: str = "tic-tac-toe", moves: str = BENS_TURN) -> LoggedRoom:
    """Returns a match after these moves."""
    played = seated(game=game)
    played.moves(moves)
    return played


def gone(played: LoggedRoom, left_ms: int = 0, sure_in_ms: int | None = 0) -> LoggedRoom:
    """Makes Ben absent, by default for long enough and for certain."""
    absence = Absence(left_ms, sure_in_ms)
    played.find_absence = lambda identity: absence if identity == BEN.identity else None
    return played


def back(played: LoggedRoom) -> LoggedRoom:
    """Makes everyone present."""
    played.find_absence = lambda _: None
    return played


def kept(moves: str = BENS_TURN) -> LoggedRoom:
    """Returns a match in which the AI plays on for Ben after these moves."""
    played = on_bens_turn(moves=moves)
    gone(played).do(ADA, plain(LetAiPlay))
    return played


def listed(played: LoggedRoom) -> tuple[Permission, ...]:
    """Returns what Ada is permitted."""
    arguments = played.room, ADA.identity, played.now_ms, SETTINGS, played.find_absence
    return permitted(*arguments)


def reason(played: LoggedRoom, actor: Actor, claim: type[Command]) -> str:
    """Returns the sentence with which the room refuses a claim."""
    with pytest.raises(CommandRejected) as rejected:
        played.decide(actor, plain(claim))
    assert rejected.value.code is Code.CLAIM_NONE
    return rejected.value.message


# --- who may claim, and when ----------------------------------------------------------------------


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_claim_is_accepted_after_the_time(claim: type[Command]) -> None:
    """A claim is accepted when the opponent has been gone for long enough, and not a millisecond
    earlier. The refusal says how many seconds are left.
    """
    played = on_bens_turn()
    for left_ms, left_s in ((1, 1), (59_001, 60)):
        assert f"in {left_s} s" in reason(gone(played, left_ms), ADA, claim)
    assert gone(played).do(ADA, plain(claim))


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize(
    ("moves", "sentence"),
    [
        ("", "before both sides have moved; you may abort"),
        ("a1", "before both sides have moved; you may abort"),
        ("a1 b1", "it is your move"),
        ("a1 b1 a2 b2", "it is your move"),
    ],
)
def test_nobody_claims_too_early_or_on_their_own_move(
    claim: type[Command], moves: str, sentence: str
) -> None:
    """A match that has not begun can be aborted; a player to move may claim after the move, however
    long the opponent has been gone. `may` says the same at each ply.
    """
    played = gone(on_bens_turn(moves=moves))
    assert sentence in reason(played, ADA, claim)
    assert claim not in listed(played)
    assert (Abort in listed(played)) is ("abort" in sentence)


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_takeback_to_the_opening_ends_the_claims(claim: type[Command]) -> None:
    """After a takeback of the second side's first move the match can be aborted, not claimed."""
    played = on_bens_turn()
    assert claim in listed(gone(played))
    played.append(TookBack(played.match.id, 1, 0, played.match.digest))
    assert "abort" in reason(played, ADA, claim)
    assert Abort in listed(played)


@pytest.mark.parametrize("claim", CLAIMS)
def test_extra_turns_and_set_up_positions_count_sides_not_plies(claim: type[Command]) -> None:
    """In Kalah a side may make several moves before the other one has made any, and a set-up
    position may begin with the second side: what counts is that both sides have moved, and whose
    turn it is.
    """
    played = gone(seated(game="kalah"))
    played.do(ADA, played.move("c1"))  # the last seed reaches the store: Ada moves again
    assert played.match.turn == 0
    played.do(ADA, played.move("a1"))
    assert (played.match.ply, played.match.turn) == (2, 1)
    assert "abort" in reason(played, ADA, claim)
    start = "8/8/8/4k3/8/8/4P3/4K2R b - - 0 1"
    played = gone(seated(game="chess", start=start))
    played.do(BEN, played.move("e5d5"))
    assert "abort" in reason(played, ADA, claim)
    played.do(ADA, played.move("e2e4"))
    assert played.do(ADA, plain(claim))


@pytest.mark.parametrize("can_win", [True, False])
def test_a_side_that_cannot_win_claims_a_draw_at_most(can_win: bool) -> None:
    """A bare king claims no win, whoever has gone; it may call a draw or let the AI play on. A side
    with a rook may claim the win. `may` lists exactly that.
    """
    start = f"4k3/8/8/8/8/8/r7/4K{'2R' if can_win else 3} b - - 0 1"
    played = gone(seated(game="chess", start=start))
    played.do(BEN, played.move("a2b2"))
    played.do(ADA, played.move("e1d1"))
    assert [ClaimWin in listed(played), *(c in listed(played) for c in CLAIMS[1:])] == [
        can_win, True, True
    ]  # fmt: skip
    if can_win:
        assert played.do(ADA, plain(ClaimWin))
    else:
        assert "no series of moves wins" in reason(played, ADA, ClaimWin)
        (finished,) = played.do(ADA, plain(CallDraw))
        assert isinstance(finished, Finished)
        assert (finished.winner, finished.how) == (None, "gone")


def test_a_match_that_cannot_be_played_asks_no_rule() -> None:
    """On a server whose rules cannot read it a match waits for no move: it may be claimed on either
    turn, and no rule of the game is called.
    """
    defects: dict[str, object] = dict.fromkeys(("can_win", "init", "parse_position"), failing_rule)
    altered = altered_game("tic-tac-toe", defects, "other")
    for moves in (BENS_TURN, f"{BENS_TURN} b2"):
        played = gone(on_bens_turn(moves=moves))
        room = played.fold(lambda _: altered)
        assert room.frozen is not None
        types = permitted(room, ADA.identity, played.now_ms, SETTINGS, played.find_absence)
        assert [claim in types for claim in CLAIMS] == [True, True, False]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("sure_in_ms", [None, 1])
def test_a_claim_is_refused_while_the_node_is_unsure(
    claim: type[Command], sure_in_ms: int | None
) -> None:
    """A node that may have missed a new connection within the time refuses with claim.unsure."""
    played = gone(on_bens_turn(), sure_in_ms=sure_in_ms)
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
    played.find_absence = lambda _: Absence(0, 0)
    assert played.refuse(ADA, plain(claim)) is Code.CLAIM_NONE


def test_a_claim_ends_the_match() -> None:
    """A claimed win goes to the claimant, a called draw has no winner, and both say who left."""
    for claim, winner in ((ClaimWin, 0), (CallDraw, None)):
        played = gone(on_bens_turn())
        (finished,) = played.do(ADA, plain(claim))
        assert isinstance(finished, Finished)
        assert (finished.winner, finished.how) == (winner, "gone")
        assert finished.reason == "Noughts left the match"


def test_a_game_without_draws_is_not_called_a_draw() -> None:
    """Where no draw can be offered, none can be called."""
    played = gone(on_bens_turn("hex", "a1 b1 a2"))
    assert played.refuse(ADA, plain(CallDraw)) is Code.DRAW_NONE
    assert ClaimWin in listed(played)


@given(
    st.integers(0, 90_000),
    st.none() | st.integers(0, 90_000),
    st.sampled_from(["", "a1", "a1 b1", BENS_TURN]),
)
def test_the_list_changes_at_the_time_that_is_announced(
    left_ms: int, sure_in_ms: int | None, moves: str
) -> None:
    """`next_change_in_ms` is the time until a claim is first listed; None if it will not be without
    an event.
    """
    played = on_bens_turn(moves=moves)

    def after(passed_ms: int) -> LoggedRoom:
        sure = None if sure_in_ms is None else max(0, sure_in_ms - passed_ms)
        return gone(played, max(0, left_ms - passed_ms), sure)

    arguments = played.room, ADA.identity, played.now_ms, SETTINGS
    wait_ms = next_change_in_ms(*arguments, after(0).find_absence)
    if ClaimWin in listed(after(0)) or sure_in_ms is None or moves != BENS_TURN:
        assert wait_ms is None
        assert (ClaimWin in listed(after(10**6))) is (sure_in_ms is not None and moves == BENS_TURN)
    else:
        assert wait_ms is not None
        assert ClaimWin not in listed(after(wait_ms - 1))
        assert ClaimWin in listed(after(wait_ms))


# --- the AI keeps a seat --------------------------------------------------------------------------


def test_the_ai_plays_on_at_the_middle_level() -> None:
    """The AI takes the seat at the middle level of the game and names the player it is kept for."""
    played = gone(on_bens_turn("connect-four", "d d d"))
    (event,) = played.do(ADA, plain(LetAiPlay))
    level = (played.room.game.levels + 1) // 2  # type: ignore[union-attr]
    substitute = Occupant("ai", f"AI level {level}", "ai", level, kept_for=Player("ben", "Ben"))
    assert event == AiTookOver(played.match.id, 1, 3, substitute)
    assert played.room.seats[1] == played.match.seats[1] == substitute
    assert played.room.ai_to_move() == 1
    assert played.room.due_ms(0) is not None


def test_the_ai_moves_for_the_player() -> None:
    """While the AI keeps the seat it moves there, and the player does not."""
    played = kept()
    assert played.refuse(BEN, played.move("b2")) is Code.SEAT_NONE
    played.do(AI, played.ai_move("b2"))
    assert [move.move for move in played.match.moves] == ["a1", "b1", "a2", "b2"]


def test_the_player_takes_the_seat_back_at_any_time() -> None:
    """The player, and nobody else, takes the seat back until the match ends; the AI's late move is
    refused then.
    """
    played = kept()
    late = played.ai_move("b2")
    for actor in (ADA, CYD):
        assert played.refuse(actor, plain(ReclaimSeat)) is Code.SEAT_NONE
    (event,) = back(played).do(BEN, plain(ReclaimSeat))
    assert event == PlayerReturned(played.match.id, 1, 3, Occupant("ben", "Ben"))
    assert played.refuse(AI, late) is Code.MOVE_NOT_YOUR_TURN
    played.do(BEN, played.move("b2"))
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
    played = on_bens_turn()
    played.do(ADA, plain(OfferDraw))
    gone(played).do(ADA, plain(LetAiPlay))
    assert played.room.offers == ()


def test_the_snapshot_and_the_list_of_matches_name_both() -> None:
    """A snapshot and the list of finished matches say who played from which move on."""
    played = kept()
    played.do(AI, played.ai_move("b2"))
    back(played).do(BEN, plain(ReclaimSeat))
    substitutions = (Substitution(3, 1, SUBSTITUTE), Substitution(4, 1, Occupant("ben", "Ben")))
    snapshot = views.snapshot(played.room, player=True)
    assert snapshot.match is not None
    assert [(each.ply, each.seat, each.occupant.name) for each in snapshot.match.substitutions] == [
        (3, 1, "AI level 2"),
        (4, 1, "Ben"),
    ]
    events = played.do(ADA, plain(Resign))
    (end,) = [c for c in projections(played.room, events, None) if isinstance(c, MatchFinished)]
    over = msgspec.json.decode(end.over, type=MatchResult)
    assert over.substitutions == substitutions


def test_the_log_makes_the_same_room_on_every_node() -> None:
    """A node that loads the room has the same state as those that saw every event."""
    played = kept()
    assert played.fold() == played.room
    back(played).do(BEN, plain(ReclaimSeat))
    played.do(BEN, plain(Resign))
    assert played.fold() == played.room


def test_a_takeback_before_the_substitution_leaves_the_ai_on_the_seat() -> None:
    """If a log takes back moves from before the AI took over, the AI plays from there on.

    A command takes back only moves that the absent player did not make.
    """
    played = kept()
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
