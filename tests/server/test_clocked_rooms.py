"""Matches with a clock in a room: who falls when, who wins, and what an AI is charged."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from msgspec.structs import replace

from engine.game import UnknownGame
from engine.search.job import Job
from server.commands import (
    Accept,
    AddTime,
    AiSeat,
    Configure,
    Hold,
    MySeat,
    NextGame,
    Rematch,
    Resign,
    Stand,
    Takeback,
    Tick,
)
from server.events import (
    Configured,
    Created,
    Finished,
    Held,
    Moved,
    Offered,
    Released,
    Required,
    SeatTaken,
    Started,
    TookBack,
    parse_event_body,
)
from server.ops.clocks import faults_of
from server.protocol.codes import Code
from server.rooms import rules
from server.rooms.clock_log import ClockReader
from server.rooms.model import AI, SERVER, CommandRejected, Moment
from server.seats.ai import time_for_move
from server.time_controls import TimeControl, format_control
from tests.server.test_time_controls import controls
from tests.support.fake_server import Client, FakeServer, first_legal, virtual
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
    sit,
)


def opened(clock: str, game: str = "tic-tac-toe", **fields: Any) -> LoggedRoom:
    """Returns a match in which both sides have made their first move at once."""
    played = seated(game=game, clock=clock, **fields)
    for actor in (ADA, BEN):
        played.do(actor, played.move(played.match.position.tokens()[0]))
    return played


def wait(played: LoggedRoom, ms: int) -> None:
    """Lets this much time of the present turn pass."""
    played.now_ms = played.match.clock.since_ms + ms


def tick(played: LoggedRoom) -> list[object]:
    return list(played.decide(SERVER, Tick("t", 0)))


# --- rooms ----------------------------------------------------------------------------------------


def test_a_room_names_its_clock_and_requires_it_once() -> None:
    """`created` is followed by `required clock`; each match has the control of its start."""
    played = seated(clock="300+3")
    kinds = [event for event in events_of(played) if isinstance(event, Created | Required)]
    assert [kinds[0].clock, kinds[1]] == ["300+3", Required("clock")]  # type: ignore[union-attr]
    played.do(ADA, plain(Resign))
    played.do(ADA, Configure("c", "all", clock="600d5"))
    played.do(ADA, plain(Rematch))
    played.do(BEN, plain(Rematch))
    started = [event for event in events_of(played) if isinstance(event, Started)]
    assert [(each.clock, each.clocks_ms) for each in started] == [
        ("300+3", (300_000, 300_000)), ("600d5", (600_000, 600_000)),
    ]  # fmt: skip
    assert events_of(played).count(Required("clock")) == 1


def test_a_clock_that_is_chosen_later_is_required_then() -> None:
    """The first `configured` that names a clock is followed by `required`; `-` takes it away."""
    played = seated()
    played.do(ADA, plain(Resign))
    assert played.do(ADA, Configure("c", "all", clock="60")) == [
        Configured("all", clock="60"), Required("clock"),
    ]  # fmt: skip
    assert played.do(ADA, Configure("d", "all", clock="-")) == [Configured("all", clock="-")]
    assert played.room.control is None
    assert played.do(ADA, Configure("e", "all", clock="60+0")) == [Configured("all", clock="60")]


def test_a_rematch_keeps_the_clock_and_the_next_game_may_change_it() -> None:
    """A proposal names its clock, and a room that gets its first one by it requires it then."""
    played = seated(clock="300+3")
    played.do(ADA, plain(Resign))
    for actor in (ADA, BEN):
        played.do(actor, plain(Rematch))
    assert played.match.clock.control == played.room.control
    played.do(ADA, plain(Resign))
    played.do(BEN, NextGame("n", "sticks"))
    played.do(ADA, Accept("a", "next", v=played.room.v))
    assert format_control(played.room.control) == "300+3", "null keeps it"
    played.do(ADA, plain(Resign))
    played.do(BEN, NextGame("n", "sticks", clock="-"))
    assert played.room.next_offer is not None
    assert played.room.next_offer.clock == "-"
    played.do(ADA, Accept("a", "next", v=played.room.v))
    assert (played.match.clock, played.room.control) == (None, None)
    played.do(ADA, plain(Resign))
    assert played.refuse(BEN, NextGame("n", "sticks", clock="-3")) is Code.CLOCK_REFUSED


def test_the_first_clock_of_a_room_may_come_with_the_next_game() -> None:
    """The event that names it first is followed by `required`: an offer, or the start at once."""
    played = seated()
    played.do(ADA, plain(Resign))
    offered, required = played.do(BEN, NextGame("n", "tic-tac-toe", clock="60d5"))
    assert isinstance(offered, Offered)
    assert (offered.clock, required) == ("60d5", Required("clock"))
    v = played.room.v - 1
    assert played.room.next_offer is not None
    assert played.room.next_offer.v == v
    (started,) = played.do(ADA, Accept("a", "next", v=v))
    assert isinstance(started, Started)
    assert started.clock == "60d5"
    alone = created(one_screen=True)
    alone.do(ADA, plain(Resign))
    started, required = alone.do(ADA, NextGame("n", "tic-tac-toe", clock="60"))
    assert isinstance(started, Started)
    assert (started.clock, required) == ("60", Required("clock"))


@pytest.mark.parametrize("text", ["300+", "=5", "40/60", "5 minutes", "99999"])
def test_a_text_that_is_no_clock_is_refused(text: str) -> None:
    """The refusal says what was expected, when a room is made and when it is configured."""
    with pytest.raises(CommandRejected) as refused:
        created(clock=text)
    assert refused.value.code is Code.CLOCK_REFUSED
    assert "clock" in refused.value.message or "stage" in refused.value.message
    played = created()
    assert played.refuse(ADA, Configure("c", "all", clock=text)) is Code.CLOCK_REFUSED


def test_untimed_logs_have_no_field_of_a_clock() -> None:
    """Without a clock every event is stored as before there were clocks."""
    played = seated()
    played.moves("a1 b1 a2 b2 a3")
    for _, body in played.log:
        for field in (b"clock", b"spent_ms", b"lag_ms", b"credit_ms", b"stage", b"goes_on"):
            assert field not in body


# --- flags ----------------------------------------------------------------------------------------


def test_a_flag_falls_at_its_deadline() -> None:
    """Not a millisecond before it; then the opponent wins, and the fallen side has 0."""
    played = opened("60+5")
    wait(played, 59_999)
    assert tick(played) == []
    wait(played, 60_000)
    assert tick(played) == [
        Finished(played.match.id, 1, "flag", "Crosses ran out of time", clocks_ms=(0, 60_000))
    ]


def test_a_move_that_arrives_in_time_counts_however_late_it_is_served() -> None:
    """The clock stops at the arrival of the move; one that arrives at the deadline is too late."""
    played = opened("60+5")
    room, since_ms = played.room, played.match.clock.since_ms
    move = played.move(played.match.position.tokens()[0])

    def arrive(ms: int) -> list[object]:
        moment = Moment(
            ADA, since_ms + 70_000, since_ms + ms, played.new_id, SETTINGS, played.find_game
        )
        return list(rules.decide(room, move, moment))

    (moved,) = arrive(59_999)
    assert isinstance(moved, Moved)
    assert (moved.clock_ms, moved.spent_ms, moved.credit_ms) == (5_001, 59_999, 0)
    with pytest.raises(CommandRejected) as late:
        arrive(60_000)
    assert late.value.code is Code.MATCH_OVER


def test_a_side_whose_opponent_cannot_win_draws_by_time() -> None:
    """FIDE Laws 6.9: the flag of a side against a bare king is a draw."""
    played = seated(game="chess", clock="60", start="4k3/8/8/8/8/8/7r/4K3 b - - 0 1")
    for actor, token in ((BEN, "h2h3"), (ADA, "e1e2")):
        played.do(actor, played.move(token))
    wait(played, 60_000)
    (over,) = tick(played)
    assert isinstance(over, Finished)
    assert (over.winner, over.how) == (None, "flag")
    assert "cannot win" in over.reason


def test_a_side_that_does_not_show_up_gives_no_result() -> None:
    """A first turn is due in 10 to 30 seconds, and free until then. The next player who sits down
    starts a match, as after an aborted one.
    """
    played = seated(clock="600")
    wait(played, 29_999)
    assert tick(played) == []
    wait(played, 30_000)
    (over,) = tick(played)
    assert isinstance(over, Finished)
    assert (over.winner, over.how, over.clocks_ms) == (None, "noshow", (600_000, 600_000))
    played.append(over)
    played.do(ADA, plain(Stand))
    assert [type(event) for event in played.do(CYD, sit(0))] == [SeatTaken, Started]
    by_link = seated(clock="600", visibility="unlisted")
    assert [event.first_ms for event in events_of(by_link) if isinstance(event, Started)] == [
        120_000
    ]
    wait(by_link, 119_999)
    assert tick(by_link) == []
    wait(by_link, 120_000)
    assert [event.how for event in tick(by_link) if isinstance(event, Finished)] == ["noshow"]


def test_nobody_ends_a_match_with_no_time_left() -> None:
    """After the deadline every command about the match is refused: the flag falls first."""
    played = opened("60")
    wait(played, 60_000)
    assert played.refuse(ADA, plain(Resign)) is Code.MATCH_OVER
    assert played.refuse(BEN, plain(AddTime)) is Code.MATCH_OVER


def test_a_forced_pass_costs_nobody_time() -> None:
    """In Othello a side that can only pass keeps its clock, and gains nothing."""
    played = seated(game="othello", clock="60+5")
    passes = 0
    while played.room.running_match is not None:
        if played.room.forced_pass() is not None:
            before = played.match.clock.sides
            played.now_ms += 40_000
            events = played.do(SERVER, Tick("t", 0))
            assert isinstance(events[0], Moved)
            assert events[0].forced
            assert played.match.clock.sides == before
            passes += 1
            continue
        actor = (ADA, BEN)[played.match.turn]
        played.do(actor, played.move(played.match.position.tokens()[0]))
    assert passes > 0


def test_extra_turns_earn_one_gain() -> None:
    """In Kalah a turn of several moves has one gain, at its end."""
    played = seated(game="kalah", clock="60+5")
    gains, goes_on = [], []
    for _ in range(12):
        if played.room.running_match is None:
            break
        before = played.match.clock.sides[played.match.turn].left_ms
        actor = (ADA, BEN)[played.match.turn]
        (moved, *_) = played.do(actor, played.move(played.match.position.tokens()[-1]))
        assert isinstance(moved, Moved)
        assert moved.clock_ms is not None
        assert moved.spent_ms is not None
        gains.append(moved.clock_ms - before + moved.spent_ms)
        goes_on.append(moved.goes_on)
    assert True in goes_on[2:]
    first = goes_on.index(False) + 2
    for gain, is_within_turn in list(zip(gains, goes_on, strict=True))[first:]:
        assert gain == (0 if is_within_turn else 5_000)


@given(
    controls(short=True),
    some.lists(some.tuples(some.integers(0, 110), some.integers(0, 5)), max_size=6),
    some.lists(some.integers(0, 3), max_size=6),
)
def test_a_match_with_ticks_is_one_without(
    control: TimeControl, turns: list[tuple[int, int]], ticks: list[int]
) -> None:
    """Ticks between the moves of any control, before a flag is due, make no event and change no
    clock; so a match that was watched has the log of one that only its moves woke, up to the flag,
    which falls at the same time in both.
    """
    watched = seated(game="kalah", clock=format_control(control))
    alone = seated(game="kalah", clock=format_control(control))
    for index, (percent, choice) in enumerate(turns):
        if alone.room.running_match is None:
            break
        begin_ms, due_ms = alone.now_ms, alone.room.flag_ms()
        assert due_ms is not None
        wait_ms = (due_ms - begin_ms) * percent // 100
        end_ms = begin_ms + wait_ms
        for number in range(ticks[index] if index < len(ticks) else 0):
            watched.now_ms = min(begin_ms + wait_ms * (number + 1) // 3, due_ms - 1)
            assert tick(watched) == []
        for played in (watched, alone):
            played.now_ms = end_ms
            if end_ms >= due_ms:
                played.now_ms = due_ms + (0 if played is watched else wait_ms)
                assert played.do(SERVER, Tick("t", 0))
                continue
            tokens = played.match.position.tokens()
            move = played.move(tokens[choice % len(tokens)])
            played.do((ADA, BEN)[played.match.turn], move)
        assert [body for _, body in watched.log] == [body for _, body in alone.log]


def test_the_clock_can_be_read_without_the_rules() -> None:
    """Also where a side moves again: the room of a node that lacks the game, and the reader of a
    log, have the clock of the room with the rules after every event.
    """

    def find_none(game_id: str) -> Any:
        raise UnknownGame(game_id)

    played = seated(game="kalah", clock="60+5")
    reader = ClockReader(played.match.id)
    for at_ms, body in played.log:
        reader.read(parse_event_body(body), at_ms)
    while played.match.ply < 12 and played.room.running_match is not None:
        begin = len(played.log)
        played.do((ADA, BEN)[played.match.turn], played.move(played.match.position.tokens()[-1]))
        for at_ms, body in played.log[begin:]:
            reader.read(parse_event_body(body), at_ms)
        match = played.fold(find_none).match
        assert match is not None
        assert match.position is None
        assert match.clock == reader.clock == played.match.clock
    assert any(b'"goes_on":true' in body for _, body in played.log)


@pytest.mark.parametrize("seat", [7, 2, -1])
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("moves", [0, 1, 2])
def test_a_move_of_no_seat_is_a_fault_of_the_log(seat: int, forced: bool, moves: int) -> None:
    """The check of the log says so, and the clock is unknown from there on."""
    played = seated(clock="60")
    for actor in (ADA, BEN)[:moves]:
        played.do(actor, played.move(played.match.position.tokens()[0]))
    reader = ClockReader(played.match.id)
    for at_ms, body in played.log:
        reader.read(parse_event_body(body), at_ms)
    token = played.match.position.tokens()[0]
    before, (moved, *_) = played.room, played.decide((ADA, BEN)[moves % 2], played.move(token))
    assert isinstance(moved, Moved)
    damaged = replace(moved, seat=seat, forced=forced)
    assert any(f"seat {seat}" in fault for fault in faults_of(before, damaged, played.now_ms))
    reader.read(damaged, played.now_ms)
    assert reader.clock is None
    after = rules.evolve(before, damaged, played.now_ms, played.find_game)
    assert after.match is not None
    assert after.match.clock is None


# --- additions and holds --------------------------------------------------------------------------


def test_time_is_given_at_most_eight_times() -> None:
    """Fifteen seconds each, to the opponent, while the clock runs."""
    played = seated(clock="60")
    assert played.refuse(ADA, plain(AddTime)) is Code.TIME_LIMIT
    played = opened("60")
    for _ in range(8):
        played.do(ADA, plain(AddTime))
    assert played.match.clock.sides[1].left_ms == 180_000
    assert played.refuse(ADA, plain(AddTime)) is Code.TIME_LIMIT
    played.do(BEN, plain(AddTime))
    assert seated().refuse(ADA, plain(AddTime)) is Code.TIME_LIMIT


def test_an_outage_costs_nobody_time() -> None:
    """The clock stands from the last sign of the server to now, and the log says why."""
    played = opened("60")
    wait(played, 50_000)
    since_ms = played.now_ms
    played.now_ms += 1_000_000
    held, released = played.do(SERVER, Hold("h", played.match.id, since_ms, "outage"))
    assert held == Held(played.match.id, "outage", since_ms)
    assert released == Released(played.match.id, (10_000, 60_000), since_ms + 1_000_000)
    assert played.room.flag_ms() == since_ms + 1_010_000
    with pytest.raises(CommandRejected):
        played.decide(ADA, Hold("h", played.match.id, since_ms, "outage"))


# --- AI seats -------------------------------------------------------------------------------------


def test_an_ai_pays_for_its_search_alone() -> None:
    """Its queue is a credit, it never falls, and it has at most what its clock has."""
    played = created(seats=(ME, AI_SEAT), game="connect-four", clock="60")
    played.do(ADA, played.move("a"))
    played.do(AI, played.ai_move("b"))
    played.do(ADA, played.move("a"))
    wait(played, 900_000)
    assert tick(played) == [], "no AI falls"
    (moved,) = played.do(AI, played.ai_move("b", spent_ms=1_500))
    assert isinstance(moved, Moved)
    assert (moved.clock_ms, moved.spent_ms, moved.credit_ms) == (58_500, 1_500, 898_500)
    played.do(ADA, played.move("c"))
    wait(played, 900_000)
    (moved,) = played.do(AI, played.ai_move("d", spent_ms=70_000))
    assert isinstance(moved, Moved)
    assert moved.clock_ms == 1


def test_a_takeback_while_the_ai_waits_takes_none_of_its_time() -> None:
    """The AI has all its time after a takeback that comes while it waits for an engine."""
    played = created(seats=(ME, AI_SEAT), game="connect-four", clock="60")
    played.do(ADA, played.move("a"))
    played.do(AI, played.ai_move("b"))
    played.do(ADA, played.move("a"))
    wait(played, 70_000)
    (took_back,) = played.do(ADA, Takeback("t", 3))
    assert isinstance(took_back, TookBack)
    assert took_back.clocks_ms == (60_000, 60_000)
    played.do(ADA, played.move("c"))
    wait(played, 2_000)
    (moved,) = played.do(AI, played.ai_move("b", spent_ms=1_500))
    assert isinstance(moved, Moved)
    assert moved.clock_ms == 58_500


@pytest.mark.parametrize(
    ("clock", "least", "most"),
    [("60", 1_500, 2_500), ("60+10", 8_000, 12_000), ("1+3x30", 2_500, 4_500), ("1", 50, 100)],
)
def test_an_ai_has_its_share_of_the_clock(clock: str, least: int, most: int) -> None:
    """`timeman` shares the time among the moves to come; a move has at least 50 ms."""
    played = created(seats=(ME, AI_SEAT), game="connect-four", clock=clock)
    played.do(ADA, played.move("a"))
    assert time_for_move(played.match) is None, "the first turns are free"
    played.do(AI, played.ai_move("b"))
    played.do(ADA, played.move("a"))
    assert least <= (time_for_move(played.match) or 0) <= most


# --- on a node ------------------------------------------------------------------------------------


@virtual
async def test_the_node_lets_flags_fall_at_their_time() -> None:
    """Ten matches of different clocks fall in the order of their deadlines, once each."""
    fake = FakeServer().unlimited()
    async with fake.hub() as hub:
        ada, ben = Client(hub, "ada"), Client(hub, "ben")
        rooms = []
        for number in range(10):
            room = await ada.create(clock=str(60 + (number * 7) % 10))
            rooms.append(room)
            await ada.ack(ada.join(room))
            await ben.ack(ben.join(room))
            await ben.ack(ben.sit(room, 1))
            await ada.ack(ada.move(room, 0, "a1"))
            await ben.ack(ben.move(room, 1, "b1"))
        await asyncio.sleep(75)
        over = [event for event in ada.events() if event["kind"] == "finished"]
        assert [event["how"] for event in over] == ["flag"] * 10
        assert [event["room"] for event in over] == sorted(
            rooms, key=lambda room: (rooms.index(room) * 7) % 10
        )
        for event in over:
            (moved,) = (
                each["at"]
                for each in ada.events()
                if each["kind"] == "moved" and each["room"] == event["room"] and each["ply"] == 1
            )
            seconds = 60 + (rooms.index(event["room"]) * 7) % 10
            assert event["at"] - moved == seconds * 1000


@virtual
async def test_an_ai_that_waits_for_an_engine_loses_no_time() -> None:
    """The seat's search has the share of its clock as its limit, and is charged what it took."""
    fake = FakeServer()
    delay_s = 40.0

    async def slow(job: Job) -> str:
        await asyncio.sleep(delay_s if len(job.moves) > 1 else 0)
        return await first_legal(job)

    fake.engines.answer = slow
    async with fake.hub() as hub:
        ada = Client(hub, "ada")
        room = await ada.create("connect-four", seats=(MySeat(), AiSeat(1)), clock="60")
        await ada.ack(ada.join(room))
        await ada.ack(ada.move(room, 0, "d"))
        await ada.until(lambda m: m["t"] == "event" and m["kind"] == "moved" and m["ply"] == 1)
        await ada.ack(ada.move(room, 2, "d"))
        moved = await ada.until(
            lambda m: m["t"] == "event" and m["kind"] == "moved" and m["ply"] == 3
        )
        assert (moved["spent_ms"], moved["clock_ms"]) == (1, 59_999)
        assert moved["credit_ms"] == round(delay_s * 1000) - 1


def events_of(played: LoggedRoom) -> list[object]:
    return [parse_event_body(body) for _, body in played.log]
