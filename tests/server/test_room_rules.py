"""server/rooms/rules.py: the events of each command and the code of each rejection."""

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from engine.rules.registry import load_game
from server.commands import (
    Abort,
    Accept,
    AddAi,
    AiReply,
    AiSeat,
    Claim,
    Command,
    Decline,
    OfferDraw,
    Rematch,
    Resign,
    Stand,
)
from server.events import (
    Created,
    Declined,
    Finished,
    Moved,
    Occupant,
    Offered,
    SeatLeft,
    SeatTaken,
    Started,
    parse_event_body,
)
from server.ids import IdentityId
from server.protocol import views
from server.protocol.codes import Code
from server.rooms import rules
from server.rooms.model import AI, SERVER, Actor, CommandRejected, MatchResult
from server.seats.ai import job_for
from tests.support.room_log import (
    ADA,
    AI_SEAT,
    BEN,
    CYD,
    ME,
    OPEN,
    LoggedRoom,
    add_ai,
    altered_game,
    chat,
    created,
    decide,
    finished,
    plain,
    remove_ai,
    seated,
    sit,
)

# --- create ---------------------------------------------------------------------------------------


def test_create_makes_a_room_with_its_host() -> None:
    """The first event is `created` with all options.

    The creator's seat is taken, the other is open, and no match has started.
    """
    played = LoggedRoom()
    events = played.create(ADA, "sticks", visibility="unlisted")
    assert events == [
        Created("sticks", {"rows": "1-2-3"}, "unlisted", "ada"),
        SeatTaken(0, Occupant("ada", "Ada")),
    ]
    assert played.room.v == 2
    assert played.room.match is None


@pytest.mark.parametrize(
    ("seats", "taken", "starts"),
    [
        ((ME, OPEN), [0], False), ((OPEN, ME), [1], False), ((OPEN, OPEN), [], False),
        ((AI_SEAT, OPEN), [0], False), ((ME, AI_SEAT), [0, 1], True),
        ((AI_SEAT, ME), [0, 1], True), ((AI_SEAT, AI_SEAT), [0, 1], True),
    ],
)  # fmt: skip
def test_create_fills_the_requested_seats(seats: Any, taken: list[int], starts: bool) -> None:
    """The match starts at once when both seats are filled."""
    events = LoggedRoom().create(ADA, seats=seats)
    assert [event.seat for event in events if isinstance(event, SeatTaken)] == taken
    assert [isinstance(event, Started) for event in events].count(True) == starts


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"seats": (ME, ME)}, Code.SEAT_ALREADY),
        ({"options": {"rows": "1-2"}}, Code.OPTION_UNKNOWN),
        ({"game": "sticks", "options": {"rows": "none"}}, Code.OPTION_UNKNOWN),
        ({"game": "sticks", "options": {"rows": "1"}}, Code.OPTION_UNKNOWN),
        ({"seats": (ME, AiSeat(level=8))}, Code.LEVEL_UNKNOWN),
        ({"seats": (ME, AiSeat())}, Code.LEVEL_UNKNOWN),
        ({"seats": (ME, AiSeat(level=1, persona="average"))}, Code.LEVEL_UNKNOWN),
    ],
)
def test_create_refuses_invalid_fields(fields: dict[str, Any], code: Code) -> None:
    """Two own seats, unknown options or values, and invalid levels of an AI are refused."""
    with pytest.raises(CommandRejected) as rejected:
        LoggedRoom().create(ADA, **fields)
    assert rejected.value.code is code


# --- seats ----------------------------------------------------------------------------------------


def test_the_match_starts_when_the_second_seat_is_taken() -> None:
    """Taking the second seat also makes `started` with seats, position and the rules' digest."""
    played = created()
    taken, started = played.do(BEN, sit(1))
    assert taken == SeatTaken(1, Occupant("ben", "Ben"))
    assert isinstance(started, Started)
    assert (started.number, started.start, started.rules) == (
        1,
        ".........",
        load_game("tic-tac-toe").digest,
    )
    assert [occupant.identity for occupant in started.seats] == ["ada", "ben"]
    assert played.room.running_match is played.room.match


def test_a_seat_is_taken_once() -> None:
    """I12: a taken seat cannot be taken, nor a second one by the same identity."""
    played = created()
    assert played.refuse(BEN, sit(0)) is Code.SEAT_TAKEN
    assert played.refuse(ADA, sit(0)) is Code.SEAT_TAKEN
    assert played.refuse(ADA, sit(1)) is Code.SEAT_ALREADY
    played.do(BEN, sit(1))
    assert played.refuse(CYD, sit(1)) is Code.SEAT_TAKEN


def test_standing_up() -> None:
    """A player may give up their own seat before and after a match, not during one."""
    played = created()
    assert played.refuse(BEN, plain(Stand)) is Code.SEAT_NONE
    assert played.do(ADA, plain(Stand)) == [SeatLeft(0)]
    played.do(ADA, sit(0))
    played.do(BEN, sit(1))
    assert played.refuse(ADA, plain(Stand)) is Code.SEAT_LOCKED
    played.do(ADA, plain(Resign))
    assert played.do(ADA, plain(Stand)) == [SeatLeft(0)]
    assert played.do(CYD, sit(0)) == [SeatTaken(0, Occupant("cyd", "Cyd"))]
    played.do(BEN, plain(Rematch))
    (started,) = played.do(CYD, plain(Rematch))
    assert isinstance(started, Started)
    assert started.number == 2


def test_the_host_seats_the_ai() -> None:
    """Only the host may put an AI on an empty seat, at a level of the game.

    Only the host may remove it, while no match runs.
    """
    played = created()
    assert played.refuse(BEN, add_ai(1)) is Code.HOST_ONLY
    assert played.refuse(ADA, add_ai(0)) is Code.SEAT_TAKEN
    assert played.refuse(ADA, add_ai(1, 8)) is Code.LEVEL_UNKNOWN
    assert played.refuse(ADA, remove_ai(1)) is Code.SEAT_EMPTY
    assert played.refuse(ADA, remove_ai(0)) is Code.SEAT_EMPTY
    neither = AddAi(id="a", seat=1)
    assert played.refuse(ADA, neither) is Code.LEVEL_UNKNOWN
    assert played.refuse(ADA, replace(neither, level=1, persona="random")) is Code.LEVEL_UNKNOWN
    taken, started = played.do(ADA, add_ai(1, 3))
    assert taken == SeatTaken(1, Occupant("ai", "AI level 3", "ai", 3))
    assert isinstance(started, Started)
    assert played.refuse(ADA, remove_ai(1)) is Code.SEAT_LOCKED
    played.do(ADA, plain(Resign))
    assert played.refuse(BEN, remove_ai(1)) is Code.HOST_ONLY
    assert played.do(ADA, remove_ai(1)) == [SeatLeft(1)]


def test_the_host_seats_a_persona() -> None:
    """A persona has a name and no level, and its searches carry that name."""
    played = created()
    taken, started = played.do(ADA, AddAi(id="a", seat=1, persona="swindler"))
    assert taken == SeatTaken(1, Occupant("ai", "AI swindler", "ai", persona="swindler"))
    assert isinstance(started, Started)
    assert played.room.match is not None
    job = job_for(played.room, played.room.match, 1)
    assert (job.level, job.persona) == (None, "swindler")


def test_no_client_acts_for_an_ai_seat() -> None:
    """No client can act for an AI seat, not even with the AI's identity."""
    played = created(seats=(ME, AI_SEAT))
    played.do(ADA, played.move("a1"))
    assert played.room.seat_of(AI.identity) is None
    for impostor in (AI, SERVER, Actor(IdentityId("ai"), "AI")):
        for command in (played.move("b2"), plain(Resign), plain(Stand)):
            assert played.refuse(impostor, command) is Code.SEAT_NONE


# --- moves ----------------------------------------------------------------------------------------


def test_a_moved_event_has_the_digest_of_the_next_position() -> None:
    """`moved` has the seat, the ply, the token and the digest of the position after the move."""
    played = seated()
    (moved,) = played.do(ADA, played.move("b2"))
    position = load_game("tic-tac-toe").position("....X....", {})
    assert moved == Moved(played.match.id, 0, 0, "b2", position.digest(), number="1.")
    assert played.match.ply == 1


@pytest.mark.parametrize(
    ("tokens", "winner", "reason"),
    [
        ("a1 b1 a2 b2 a3", 0, "three in a row"),
        ("a1 b1 a2 b2 c3 b3", 1, "three in a row"),
        ("a1 b1 c1 b2 a2 c2 b3 a3 c3", None, "the board is full"),
    ],
)
def test_the_last_move_ends_the_match(tokens: str, winner: int | None, reason: str) -> None:
    """The last move makes `moved` and `finished`, with the winner and the reason."""
    played = finished(tokens)
    assert played.match.over == MatchResult(winner, "board", reason)
    assert played.room.running_match is None
    assert parse_event_body(played.log[-1][1]) == Finished(played.match.id, winner, "board", reason)


def test_moves_that_are_refused() -> None:
    """Each reason to refuse a move has its own code, and a refused move changes nothing.

    The reasons: no match, no seat, wrong turn, malformed, early, illegal, stale, match over.
    """
    played = created()
    assert played.refuse(ADA, played.move("a1")) is Code.MATCH_NONE
    played.do(BEN, sit(1))
    assert played.refuse(CYD, played.move("a1")) is Code.SEAT_NONE
    assert played.refuse(BEN, played.move("a1")) is Code.MOVE_NOT_YOUR_TURN
    for garbage in ("", "d4", "a1 ", "A1", "a" * 64, "\u202ea1", "1", "null"):
        assert played.refuse(ADA, played.move(garbage)) is Code.MOVE_MALFORMED
    assert played.refuse(ADA, played.move("a1", ply=1)) is Code.MOVE_EARLY
    played.do(ADA, played.move("a1"))
    assert played.refuse(BEN, played.move("a1")) is Code.MOVE_ILLEGAL
    assert played.refuse(BEN, played.move("b2", ply=0)) is Code.MOVE_STALE
    assert played.refuse(ADA, played.move("b2", ply=0)) is Code.MOVE_STALE
    assert played.refuse(ADA, played.move("b2")) is Code.MOVE_NOT_YOUR_TURN
    over = finished()
    assert over.refuse(BEN, over.move("c3")) is Code.MATCH_OVER


@pytest.mark.parametrize("end", [Resign, Abort])
def test_only_players_end_a_match(end: type[Command]) -> None:
    """I13: spectators, including a host without a seat, cannot end a match between people."""
    played = LoggedRoom()
    played.create(CYD, seats=(OPEN, OPEN))
    assert played.refuse(ADA, plain(end)) in (Code.SEAT_NONE, Code.MATCH_NONE)
    played.do(ADA, sit(0))
    played.do(BEN, sit(1))
    assert played.refuse(CYD, plain(end)) is Code.SEAT_NONE


def test_resigning() -> None:
    """Resigning gives the win to the other side, on any turn, and only while the match runs."""
    played = created()
    assert played.refuse(ADA, plain(Resign)) is Code.MATCH_NONE
    played.do(BEN, sit(1))
    assert played.do(BEN, plain(Resign)) == [
        Finished(played.match.id, 0, "resign", "Noughts resigned")
    ]
    assert played.refuse(ADA, plain(Resign)) is Code.MATCH_OVER


def test_aborting() -> None:
    """A player may abort before the second move, without a result."""
    played = seated()
    played.do(ADA, played.move("a1"))
    (aborted,) = played.do(BEN, plain(Abort))
    assert aborted == Finished(played.match.id, None, "abort", "the match was aborted")
    assert played.refuse(ADA, plain(Abort)) is Code.MATCH_OVER
    late = seated()
    late.moves("a1 b1")
    assert late.refuse(ADA, plain(Abort)) is Code.MATCH_STARTED


def test_the_host_ends_a_match_between_ai_seats() -> None:
    """Only the host may end a match between AI seats, at any ply, and start another one."""
    played = created(seats=(AI_SEAT, AI_SEAT))
    for token in ("a1", "b1", "a2"):
        played.do(AI, played.ai_move(token))
    assert played.refuse(BEN, plain(Abort)) is Code.SEAT_NONE
    assert played.refuse(ADA, plain(Resign)) is Code.SEAT_NONE
    played.do(ADA, plain(Abort))
    assert played.refuse(BEN, plain(Rematch)) is Code.SEAT_NONE
    (started,) = played.do(ADA, plain(Rematch))
    assert isinstance(started, Started)


# --- the AI ---------------------------------------------------------------------------------------


def test_an_ai_answers_its_own_position_once() -> None:
    """I16: an AI's answer for another match, seat or position is stale.

    Only the AI may give it.
    """
    played = created(seats=(ME, AI_SEAT))
    played.do(ADA, played.move("a1"))
    answer = played.ai_move("b2")
    for wrong in ({"match": "other"}, {"digest": "0" * 16}, {"seat": 0}):
        assert played.refuse(AI, played.ai_move("b2", **wrong)) is Code.MOVE_STALE
        assert played.refuse(AI, played.ai_failure(**wrong)) is Code.MOVE_STALE
    for impostor in (ADA, SERVER, Actor(AI.identity, AI.name)):
        assert played.refuse(impostor, answer) is Code.SEAT_NONE
    (moved,) = played.do(AI, answer)
    assert isinstance(moved, Moved)
    assert (moved.seat, moved.move) == (1, "b2")
    assert played.refuse(AI, answer) is Code.MOVE_STALE
    assert played.refuse(AI, played.ai_move("zz", seat=1)) is Code.MOVE_STALE


def test_an_ai_does_not_move_for_a_person() -> None:
    """I12: a move of the AI for a person's seat is refused."""
    played = created(seats=(ME, AI_SEAT))
    assert played.refuse(AI, played.ai_move("a1")) is Code.MOVE_NOT_YOUR_TURN
    people = seated()
    assert people.refuse(AI, people.ai_move("a1")) is Code.MOVE_NOT_YOUR_TURN
    assert people.refuse(AI, people.ai_failure()) is Code.MOVE_NOT_YOUR_TURN


def test_an_ai_that_cannot_move_ends_the_match() -> None:
    """An AI that cannot move ends the match without a winner, with the reason. The next player who
    sits down starts a match.

    Illegal moves of the AI are rejected.
    """
    played = created(seats=(AI_SEAT, ME))
    assert played.refuse(AI, played.ai_move("z9")) is Code.MOVE_MALFORMED
    (over,) = played.do(AI, played.ai_failure())
    assert over == Finished(played.match.id, None, "failure", "the AI could not move: it broke")
    played.do(ADA, remove_ai(0))
    assert [type(event) for event in played.do(BEN, sit(0))] == [SeatTaken, Started]


def test_a_room_with_an_ai_to_move_is_due() -> None:
    """A room with an AI to move is due at once, and not while a person is to move or afterwards."""
    played = created(seats=(ME, AI_SEAT))
    assert (played.room.ai_to_move(), played.room.due_ms(0)) == (None, None)
    played.do(ADA, played.move("a1"))
    assert (played.room.ai_to_move(), played.room.due_ms(0)) == (1, played.room.changed_ms)
    played.do(ADA, plain(Abort))
    assert (played.room.ai_to_move(), played.room.due_ms(0)) == (None, None)


# --- draws ----------------------------------------------------------------------------------------


@cache
def claimable(game_id: str) -> Any:
    """Returns tic-tac-toe in which a player may claim a draw once b2 is taken."""
    return altered_game(
        game_id, {"claim": lambda s: "b2 is taken" if int(s[0] | s[1]) >> 4 & 1 else None}
    )


def test_the_player_to_move_claims_a_draw_that_the_rules_allow() -> None:
    """`turn` gives the reason for a possible claim, and the player to move can make it.

    Claims of others, without a reason, or after the end are refused.
    """
    played = seated(claimable)
    assert played.refuse(ADA, plain(Claim)) is Code.CLAIM_NONE
    played.moves("b2")
    turn = views.turn(played.room, played.match)
    assert turn is not None
    assert turn.claim == "b2 is taken"
    assert played.refuse(ADA, plain(Claim)) is Code.CLAIM_NONE
    assert played.refuse(CYD, plain(Claim)) is Code.SEAT_NONE
    assert played.do(BEN, plain(Claim)) == [Finished(played.match.id, None, "claim", "b2 is taken")]
    assert played.refuse(ADA, plain(Claim)) is Code.MATCH_OVER


@pytest.mark.parametrize("answer", [Accept, OfferDraw])
def test_a_draw_is_agreed(answer: type[Command]) -> None:
    """A match ends in a draw when the opponent accepts the offer or also offers a draw."""
    played = seated()
    assert played.refuse(BEN, plain(Accept)) is Code.OFFER_NONE
    assert played.do(ADA, plain(OfferDraw)) == [Offered(0, "draw")]
    assert played.refuse(ADA, plain(Accept)) is Code.OFFER_NONE
    assert played.refuse(ADA, plain(OfferDraw)) is Code.OFFER_TWICE
    assert played.refuse(CYD, plain(answer)) is Code.SEAT_NONE
    (over,) = played.do(BEN, plain(answer))
    assert isinstance(over, Finished)
    assert (over.winner, over.how) == (None, "agreement")
    assert played.room.offers == ()


def test_an_offer_of_a_draw_ends_when_the_other_side_moves() -> None:
    """An offer ends with the opponent's move, not with the player's own.

    Declining and withdrawing end it too; the next offer must wait.
    """
    played = seated()
    played.do(ADA, plain(OfferDraw))
    played.moves("a1")
    assert 0 in played.room.offers
    played.do(BEN, played.move("b1"))
    assert not played.room.offers
    assert played.refuse(BEN, plain(Accept)) is Code.OFFER_NONE
    assert played.refuse(ADA, plain(OfferDraw)) is Code.OFFER_TWICE
    for actor in (BEN, ADA):
        played = seated()
        played.do(ADA, plain(OfferDraw))
        assert played.do(actor, plain(Decline)) == [Declined(0 if actor is ADA else 1, "draw")]
        assert played.refuse(BEN, plain(Accept)) is Code.OFFER_NONE


def test_a_draw_may_be_offered_again_after_some_moves() -> None:
    """A player may offer again ten plies after their last offer.

    The opponent's offers do not count.
    """
    played = LoggedRoom()
    played.create(ADA, "connect-four")
    played.do(BEN, sit(1))
    played.do(ADA, plain(OfferDraw))
    for ply, column in enumerate("abababcdcd"):
        assert played.refuse(ADA, plain(OfferDraw)) is Code.OFFER_TWICE
        played.do((ADA, BEN)[ply % 2], played.move(column))
        if ply == 4:
            played.do(BEN, plain(OfferDraw))
            played.do(ADA, plain(Decline))
    assert played.do(ADA, plain(OfferDraw)) == [Offered(0, "draw")]


def test_a_room_is_due_until_the_ai_answers_an_offer() -> None:
    """A room is due until the AI answers an offer.

    Answers of others and late answers are refused.
    """
    played = created(seats=(ME, AI_SEAT))
    assert played.room.due_ms(0) is None
    played.do(ADA, plain(OfferDraw))
    assert (played.room.ai_to_answer_draw(), played.room.due_ms(0)) == (1, played.now_ms)
    yes = AiReply("d", played.match.id, 1, True)
    assert played.refuse(ADA, yes) is Code.SEAT_NONE
    assert played.refuse(AI, AiReply("d", "another", 1, True)) is Code.OFFER_NONE
    assert played.do(AI, AiReply("d", played.match.id, 1, False)) == [Declined(1, "draw")]
    assert played.refuse(AI, yes) is Code.OFFER_NONE
    assert played.room.due_ms(0) is None


# --- the next match -------------------------------------------------------------------------------


def test_a_rematch_is_offered_and_accepted() -> None:
    """The second player's `rematch` starts the match with the sides swapped.

    A second `rematch` of the first player is refused.
    """
    played = finished()
    assert played.do(BEN, plain(Rematch)) == [Offered(1)]
    assert played.refuse(BEN, plain(Rematch)) is Code.OFFER_TWICE
    assert played.room.offers == (1,)
    (started,) = played.do(ADA, plain(Rematch))
    assert isinstance(started, Started)
    assert [occupant.identity for occupant in started.seats] == ["ben", "ada"]
    assert started.number == 2
    after = played.room
    assert after.offers == ()
    assert (after.seat_of(ADA.identity), after.seat_of(BEN.identity)) == (1, 0)


def test_a_rematch_against_an_ai_starts_at_once() -> None:
    """A rematch against an AI starts at once with the sides swapped."""
    played = created(seats=(ME, AI_SEAT))
    played.do(ADA, plain(Resign))
    (started,) = played.do(ADA, plain(Rematch))
    assert isinstance(started, Started)
    assert [occupant.kind for occupant in started.seats] == ["ai", "guest"]


def test_rematches_that_are_refused() -> None:
    """A rematch is refused before the first match, during a match, without an opponent, and from a
    spectator.
    """
    played = created()
    assert played.refuse(ADA, plain(Rematch)) is Code.MATCH_NONE
    played.do(BEN, sit(1))
    assert played.refuse(ADA, plain(Rematch)) is Code.MATCH_RUNNING
    played.do(ADA, plain(Resign))
    assert played.refuse(CYD, plain(Rematch)) is Code.SEAT_NONE
    played.do(BEN, plain(Stand))
    assert played.refuse(ADA, plain(Rematch)) is Code.SEAT_EMPTY


def test_an_offer_of_a_rematch_ends() -> None:
    """I18: an offer of a rematch ends when it is declined or withdrawn, or when a player leaves."""
    for actor in (ADA, BEN):
        played = finished()
        assert played.refuse(actor, plain(Decline)) is Code.OFFER_NONE
        played.do(ADA, plain(Rematch))
        assert played.refuse(CYD, plain(Decline)) is Code.SEAT_NONE
        (declined,) = played.do(actor, plain(Decline))
        assert declined == Declined(0 if actor is ADA else 1)
        assert played.do(BEN, plain(Rematch)) == [Offered(1)]
    played = finished()
    played.do(ADA, plain(Rematch))
    played.do(ADA, plain(Stand))
    assert played.room.offers == ()
    played.do(CYD, sit(0))
    assert played.do(BEN, plain(Rematch)) == [Offered(1)]


# --- every command and code -----------------------------------------------------------------------


def test_every_command_has_one_rule() -> None:
    """The table of rules has every type of command and nothing else."""
    assert set(rules.RULES) == set(Command.__subclasses__())
    assert len(set(rules.RULES.values())) == len(rules.RULES)


def test_a_command_without_a_rule_is_refused() -> None:
    """A command that no rule decides is refused."""
    assert seated().refuse(ADA, Command(id="j")) is Code.MESSAGE_UNKNOWN


def test_rejections_have_a_short_message() -> None:
    """A rejection's message is one line of less than 200 characters."""
    played = seated()
    for command in (
        played.move("x" * 64),
        played.move("c3", ply=2**53 - 1),
        plain(Rematch),
        sit(0),
        chat(""),
    ):
        with pytest.raises(CommandRejected) as rejected:
            decide(played.room, ADA, command, played.new_id)
        assert "\n" not in rejected.value.message
        assert len(rejected.value.message) < 200
