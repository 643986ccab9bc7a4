"""A room for several games: the next game is proposed and accepted, and the score goes on."""

from typing import Any

import msgspec
import pytest

from engine.game import Game, OptionError
from engine.rules.registry import load_game
from server.commands import (
    Abort,
    Accept,
    AiSeat,
    Configure,
    Decline,
    Move,
    MySeat,
    NextGame,
    OpenSeat,
    Rematch,
    Rename,
    Resign,
    Sit,
    Stand,
)
from server.events import (
    CAPABILITIES,
    Declined,
    Occupant,
    Offered,
    Player,
    Required,
    SeatTaken,
    Started,
    parse_event_body,
)
from server.protocol import views
from server.protocol.codes import Code
from server.protocol.messages import CommandFrame
from server.rooms import evolve
from server.rooms.model import SERVER, Actor, CommandRejected, Moment
from server.rooms.rules import decide
from server.series import MAX_SCORES, Score, add_result, score_between
from tests.support.fake_server import Client, FakeServer
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
    finished,
    plain,
    seated,
    sit,
)


def next_game(game: str, **fields: Any) -> NextGame:
    return NextGame("n", game, **fields)


def accept_next(played: LoggedRoom) -> Accept:
    """Returns the command that accepts the open proposal."""
    assert played.room.next_offer is not None
    return Accept("a", "next", v=played.room.next_offer.v)


def propose_and_accept(played: LoggedRoom, actor: Actor, game: str, **fields: Any) -> None:
    played.do(actor, next_game(game, **fields))
    played.do(BEN if actor is ADA else ADA, accept_next(played))


def test_the_opponent_accepts_the_next_game_by_its_version() -> None:
    """The match starts with the proposed game and sides, and the room's own game follows it."""
    played = finished()
    options = {"rows": "1-3-5-7"}
    [offered] = played.do(BEN, next_game("sticks", options=options, seats=(0, 1)))
    assert offered == Offered(
        1, "next", game="sticks", options=options, seats=(0, 1), title="Sticks",
        options_text="Rows of 1, 3, 5 and 7 sticks",
    )  # fmt: skip
    assert played.room.game_id == "tic-tac-toe", "nothing has changed yet"
    required, started = played.do(ADA, accept_next(played))
    assert required == Required("games")
    assert isinstance(started, Started)
    assert (started.game, started.options, started.title) == ("sticks", options, "Sticks")
    assert [each.identity for each in started.seats] == ["ada", "ben"], "nobody changes sides"
    room = played.room
    assert (room.game_id, room.options, room.next_offer) == ("sticks", options, None)
    assert room.game is load_game("sticks") or room.game == load_game("sticks")
    played.do(ADA, played.move("1x1"))
    assert played.fold() == played.room


def test_a_room_says_once_that_it_has_several_games() -> None:
    """The first match of another game follows `required`; one of the same game names none."""
    played = finished()
    propose_and_accept(played, ADA, "sticks")
    played.do(BEN, plain(Resign))
    propose_and_accept(played, ADA, "tic-tac-toe")
    played.do(BEN, plain(Resign))
    propose_and_accept(played, BEN, "tic-tac-toe")
    events = [parse_event_body(body) for _, body in played.log]
    assert events.count(Required("games")) == 1
    assert [each.game for each in events if isinstance(each, Started)] == [
        None, "sticks", "tic-tac-toe", None,
    ]  # fmt: skip


def test_one_proposal_at_a_time() -> None:
    """A proposal replaces an earlier one, also that of the other player, which is then stale."""
    played = finished()
    played.do(ADA, next_game("sticks"))
    stale = accept_next(played)
    assert played.refuse(ADA, stale) == Code.OFFER_NONE, "nobody accepts their own proposal"
    played.do(ADA, next_game("connect-four"))
    assert played.refuse(BEN, stale) == Code.OFFER_NONE
    assert played.refuse(BEN, Accept("a", "next")) == Code.OFFER_NONE, "it names the version"
    assert played.refuse(BEN, Accept("a")) == Code.OFFER_NONE
    played.do(BEN, next_game("kalah"))
    assert played.refuse(BEN, Accept("a", "next", v=played.room.v)) == Code.OFFER_NONE
    played.do(ADA, accept_next(played))
    assert played.room.game_id == "kalah"


@pytest.mark.parametrize("what", [None, "next"])
def test_a_proposal_is_declined_or_withdrawn(what: Any) -> None:
    for actor, seat in ((ADA, 0), (BEN, 1)):
        played = finished()
        played.do(ADA, next_game("sticks"))
        assert played.do(actor, Decline("d", what)) == [Declined(seat, "next")]
        assert played.room.next_offer is None
        assert played.refuse(BEN, Decline("d", what)) == Code.OFFER_NONE


def test_a_proposal_lapses_when_a_match_starts_or_a_seat_is_left() -> None:
    played = finished()
    played.do(ADA, next_game("sticks"))
    late = accept_next(played)
    played.do(ADA, plain(Rematch))
    played.do(BEN, plain(Rematch))
    assert played.room.next_offer is None
    assert played.refuse(BEN, late) == Code.OFFER_NONE
    played.do(ADA, plain(Abort))
    played.do(ADA, next_game("sticks"))
    late = accept_next(played)
    played.do(ADA, plain(Stand))
    assert played.room.next_offer is None
    played.do(CYD, sit(1))
    played.do(CYD, plain(Abort))
    assert played.refuse(BEN, late) == Code.OFFER_NONE, "it was somebody else's proposal"


def test_a_rematch_and_a_next_game_may_both_be_open() -> None:
    """Accepting without a name accepts the rematch, and leaves the next game to its version."""
    played = finished()
    played.do(ADA, next_game("sticks"))
    played.do(ADA, plain(Rematch))
    played.do(BEN, Accept("a"))
    assert played.room.game_id == "tic-tac-toe"
    assert played.match.number == 2


REFUSED = [
    (next_game("no-such-game"), Code.GAME_UNKNOWN),
    (next_game("sticks", options={"rows": "many"}), Code.OPTION_UNKNOWN),
    (next_game("sticks", options={"size": "8"}), Code.OPTION_UNKNOWN),
    (next_game("sticks", seats=(1, 1)), Code.MESSAGE_MALFORMED),
    (next_game("sticks", level=3), Code.SEAT_EMPTY),
]


@pytest.mark.parametrize(("command", "code"), REFUSED)
def test_a_next_game_that_cannot_start_is_refused_at_once(command: NextGame, code: Code) -> None:
    assert finished().refuse(ADA, command) == code


def test_only_players_choose_the_next_game_and_only_between_matches() -> None:
    played = seated()
    assert played.refuse(ADA, next_game("sticks")) == Code.MATCH_RUNNING
    assert created().refuse(ADA, next_game("sticks")) == Code.MATCH_NONE
    played = finished()
    assert played.refuse(CYD, next_game("sticks")) == Code.SEAT_NONE
    played.do(ADA, next_game("sticks"))
    assert played.refuse(CYD, accept_next(played)) == Code.SEAT_NONE
    assert played.refuse(CYD, Decline("d", "next")) == Code.SEAT_NONE
    played.do(BEN, plain(Stand))
    assert played.refuse(ADA, next_game("sticks")) == Code.SEAT_EMPTY


def test_the_start_position_goes_with_the_game() -> None:
    """The same game keeps the room's start position, another game or other options empty it."""
    played = seated(game="chess", start="4k3/8/8/8/8/8/7r/4K3 b - - 0 1")
    played.do(ADA, plain(Abort))
    propose_and_accept(played, ADA, "chess")
    assert played.match.start.startswith("4k3")
    played.do(ADA, plain(Abort))
    propose_and_accept(played, ADA, "sticks")
    played.do(ADA, plain(Abort))
    propose_and_accept(played, ADA, "chess")
    assert played.room.start is None
    assert played.match.start == load_game("chess").start().text()


def test_against_an_ai_the_next_game_starts_at_once() -> None:
    """The AI keeps its level, as far as the game has it; a game without levels gets a strategy."""
    played = created(game="chess", seats=(ME, AiSeat(level=8)))
    played.do(ADA, plain(Abort))
    played.do(ADA, next_game("tic-tac-toe"))
    top = load_game("tic-tac-toe").levels
    assert played.room.seats[0] == played.match.seats[0]
    assert played.match.seats[0].level == min(8, top)
    played.do(ADA, plain(Abort))
    assert played.refuse(ADA, next_game("tic-tac-toe", level=8)) == Code.LEVEL_UNKNOWN
    played.do(ADA, next_game("tic-tac-toe", level=1, seats=(0, 1)))
    assert (played.match.seats[0].level, played.match.seats[0].name) == (1, "AI level 1")
    played.do(ADA, plain(Abort))
    events = played.do(ADA, next_game("rock-paper-scissors"))
    assert Required("strategies") in events
    [strategy] = [each for each in played.match.seats if each.kind == "ai"]
    assert (strategy.strategy, strategy.level) == ("alphabeta", None)
    played.do(ADA, plain(Abort))
    played.do(ADA, next_game("chess", level=3))
    [level] = [each for each in played.match.seats if each.kind == "ai"]
    assert (level.strategy, level.level) == (None, 3)


def test_on_one_screen_and_between_ais_one_person_decides() -> None:
    alone = created(one_screen=True)
    alone.do(ADA, plain(Abort))
    alone.do(ADA, next_game("sticks"))
    assert alone.room.game_id == "sticks"
    watched = created(seats=(AI_SEAT, AI_SEAT))
    watched.do(ADA, plain(Abort))
    assert watched.refuse(BEN, next_game("sticks")) == Code.SEAT_NONE
    watched.do(ADA, next_game("sticks", level=1))
    assert [each.level for each in watched.match.seats] == [1, 1]


def test_a_room_whose_game_is_missing_goes_on_with_another() -> None:
    """A server that lacks a match's game shows the room, and plays its next game."""

    def find(game_id: str) -> Game:
        if game_id == "tic-tac-toe":
            raise OptionError("gone")
        return load_game(game_id)

    played = finished()
    room = played.fold(find)
    assert room.frozen == Code.GAME_UNKNOWN
    moved_on = LoggedRoom(find)
    moved_on.log, moved_on._room = list(played.log), room
    moved_on.do(ADA, next_game("sticks"))
    moved_on.do(BEN, accept_next(moved_on))
    assert moved_on.room.frozen is None
    assert moved_on.fold(find) == moved_on.room
    assert moved_on.fold(load_game).game_id == "sticks"


def test_a_next_game_that_is_missing_or_broken_freezes_the_room() -> None:
    played = finished()
    propose_and_accept(played, ADA, "sticks")

    def find(game_id: str) -> Game:
        if game_id == "sticks":
            return altered_game("sticks", {"parse_position": failing_rule})
        return load_game(game_id)

    assert played.fold(find).frozen == Code.GAME_FAULT
    played.do(BEN, plain(Resign))
    propose_and_accept(played, ADA, "tic-tac-toe")
    assert played.fold(find) == played.room, "another game ends the freeze"


def test_a_program_of_before_only_reads_a_room_with_several_games(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It plays the room until its first match of another game."""
    monkeypatch.setattr(evolve, "CAPABILITIES", CAPABILITIES - {"games", "own_names"})
    played = finished()
    played.do(ADA, next_game("sticks"))
    assert played.room.frozen is None, "a proposal changes nothing"
    events = played.do(BEN, accept_next(played))
    assert played.fold().frozen == Code.ROOM_NEWER
    assert [type(event) for event in events] == [Required, Started]
    assert played.refuse(ADA, Move("m", 0, "1x1")) == Code.ROOM_NEWER
    named = created(one_screen=True, seats=(MySeat("Mia"), MySeat()))
    assert named.room.frozen == Code.ROOM_NEWER


def test_settings_and_chat_stay() -> None:
    """Who may see the thinking, help and the people in the room do not change with the game."""
    played = finished()
    played.do(ADA, Configure("c", "after", help=True))
    propose_and_accept(played, BEN, "sticks")
    room = played.room
    assert (room.thinking, room.help, room.host, played.match.thinking) == (
        "after", True, "ada", "after",
    )  # fmt: skip


def test_clients_read_the_proposal_and_the_score() -> None:
    played = finished()
    played.do(BEN, next_game("sticks", seats=(0, 1)))
    snapshot = views.snapshot(played.room, player=False)
    assert msgspec.to_builtins(snapshot)["proposals"] == (
        {
            "seat": 1, "what": "next", "v": played.room.v, "game": "sticks",
            "options": dict(load_game("sticks").start().options), "seats": (0, 1),
            "title": "Sticks", "options_text": "Rows of 1, 2 and 3 sticks",
        },
    )  # fmt: skip
    assert snapshot.series == (Score(("ada", "ben"), (2, 0)),)
    assert "series" not in msgspec.to_builtins(views.snapshot(seated().room, player=False))
    played.do(ADA, accept_next(played))
    description = views.description(played.room)
    assert (description.game, description.title) == ("sticks", "Sticks")


# --- the score ---


def test_the_score_is_kept_over_games_sides_and_names() -> None:
    """A win is two half points, a draw one each; aborted matches do not count."""
    played = finished()
    propose_and_accept(played, ADA, "sticks")  # Ben begins
    played.do(SERVER, Rename("r", "ben", "Benjamin"))
    played.do(ADA, plain(Resign))
    played.do(ADA, plain(Rematch))
    played.do(BEN, plain(Rematch))
    played.do(ADA, plain(Abort))
    propose_and_accept(played, BEN, "tic-tac-toe", seats=(0, 1))
    played.moves("a1 b2 c3 a2 c2 c1 a3 b3 b1")
    assert played.match.over.winner is None
    assert played.room.series == (Score(("ada", "ben"), (3, 3)),)


def test_all_levels_are_one_opponent() -> None:
    played = created(seats=(ME, AiSeat(level=1)))
    played.do(ADA, plain(Resign))
    played.do(ADA, next_game("sticks", level=3))
    played.do(ADA, plain(Resign))
    assert played.room.series == (Score(("ada", "ai"), (0, 4)),)
    assert score_between(played.room.series, played.room.seats) == (4, 0), "the AI begins now"


def test_an_ai_that_keeps_a_seat_scores_for_its_player() -> None:
    seats = [msgspec.structs.replace(each) for each in seated().match.seats]
    keeper = created(seats=(ME, AI_SEAT)).match.seats[1]
    kept = msgspec.structs.replace(keeper, kept_for=Player(seats[0].identity, seats[0].name))
    assert add_result((), (kept, seats[1]), 0, "board") == (Score(("ada", "ben"), (2, 0)),)


def test_a_room_keeps_the_scores_of_the_last_pairs() -> None:
    scores: tuple[Score, ...] = ()
    for number in range(MAX_SCORES + 5):
        people = [Occupant(f"p{number}", "P"), Occupant("host", "H")]
        scores = add_result(scores, people, 1, "resign")
    assert len(scores) == MAX_SCORES
    assert scores[-1].players == (f"p{MAX_SCORES + 4}", "host")


# --- names for two on one screen ---


def test_two_people_on_one_screen_have_names_of_their_own() -> None:
    """The sides keep their names when the creator's name changes, and have a score."""
    played = created(one_screen=True, seats=(MySeat("Mia"), MySeat("  Tom ")))
    assert [each.name for each in played.match.seats] == ["Mia", "Tom"]
    assert parse_event_body(played.log[2][1]) == Required("own_names")
    renaming = Rename("r", "ada", "Ada Lovelace")
    moment = Moment(SERVER, 0, 0, played.new_id, SETTINGS, load_game)
    assert decide(played.room, renaming, moment) == [], "no seat shows the creator's name"
    for ply, token in enumerate(["a1", "b1", "a2", "b2", "a3"]):
        played.do(ADA, Move("m", ply, token))
    assert played.room.series == (Score(("Mia", "Tom"), (2, 0)),)
    played.do(ADA, next_game("sticks"))
    assert [each.name for each in played.match.seats] == ["Tom", "Mia"]
    assert all(each.own_name and each.identity == "ada" for each in played.match.seats)
    assert played.room.has_player(ADA.identity)


def test_a_side_without_a_name_follows_the_creators() -> None:
    played = created(one_screen=True, seats=(MySeat("Mia"), MySeat()))
    played.do(SERVER, Rename("r", "ada", "Ada Lovelace"))
    assert [each.name for each in played.match.seats] == ["Mia", "Ada Lovelace"]


@pytest.mark.parametrize("name", ["", "\u202e", "x" * 25, "AI level 5", "Plyroom", "bot"])
def test_reserved_and_unreadable_names_of_a_side_are_refused(name: str) -> None:
    with pytest.raises(CommandRejected) as rejected:
        created(one_screen=True, seats=(MySeat(name), MySeat()))
    assert rejected.value.code == Code.NAME_REFUSED
    with pytest.raises(CommandRejected):
        created(seats=(MySeat("Mia"), AI_SEAT))


def test_a_stranger_who_sits_down_has_no_part_in_the_score() -> None:
    """Each pair of players has a score of its own, also after seats have changed hands."""
    played = finished()
    played.do(BEN, plain(Stand))
    assert played.do(CYD, Sit("s", 1)) == [SeatTaken(1, Occupant("cyd", "Cyd"))]
    assert score_between(played.room.series, played.room.seats) is None
    assert played.do(ADA, plain(Rematch)) == [Offered(0)], "nothing starts before both want it"
    played.do(CYD, plain(Rematch))
    played.do(CYD, plain(Resign))
    assert played.room.series == (Score(("ada", "ben"), (2, 0)), Score(("cyd", "ada"), (0, 2)))
    assert score_between(played.room.series, played.room.seats) == (0, 2), "the sides are swapped"
    played.do(CYD, plain(Stand))
    played.do(BEN, Sit("s", 0))
    assert score_between(played.room.series, played.room.seats) == (0, 2), "Ben's is back with him"
    assert played.fold() == played.room


# --- on a node ---


async def test_everyone_receives_the_new_game_before_its_board() -> None:
    """Players and spectators receive `joined` again, between `started` and the board."""
    async with FakeServer().hub() as hub:
        ada, ben, kim = (Client(hub, name) for name in ("ada", "ben", "kim"))
        room = await ada.create("tic-tac-toe", seats=(MySeat(), OpenSeat()))
        for client in (ada, ben, kim):
            await client.ack(client.join(room))
        await ben.ack(ben.sit(room, 1))
        await ben.ack(ben.plain(Resign, room))
        proposal = next_game("sticks", options={"rows": "1-3-5-7"})
        v = await ada.ack(CommandFrame(room, proposal))
        since = {client: len(client.messages) for client in (ada, ben, kim)}
        await ben.ack(CommandFrame(room, Accept("a", "next", v=v)))
        for client, start in since.items():
            await client.until(lambda message: message["t"] == "view", start)
            messages = [m for m in client.messages[start:] if m["t"] in ("event", "joined", "view")]
            assert [m.get("kind", m["t"]) for m in messages] == [
                "required", "started", "joined", "view",
            ]  # fmt: skip
            joined = messages[2]
            assert (joined["description"]["game"], joined["v"]) == ("sticks", messages[1]["v"])
            assert joined["description"]["options"] == {"rows": "1-3-5-7"}
            assert ("resign" in joined["may"]) == (client is not kim)
        late = Client(hub, "lea")
        await late.ack(late.join(room))
        opening = await late.until(lambda message: message["t"] == "joined")
        assert opening["description"]["title"] == "Sticks"
