"""Clocks on a terminal: both players' times, a word at low time, and how a clock ends a match.

A fake room, whose clock the loop's virtual time turns, stands in for the server.
"""

import asyncio
import io
from collections.abc import Callable, Sequence

import pytest
from click import BadParameter, Context
from hypothesis import given, settings
from hypothesis import strategies as some
from msgspec.structs import replace

from client.cli import main
from client.messages import LoggedEvent
from client.model import Model, apply
from client.subcommands.play import parse_clock
from client.terminal.clocks import clock_of, clocks_text, time_text
from client.terminal.commands import CommandName, is_permitted, parse_line
from client.terminal.words import clock_suffix, result_seat, result_text
from client.timing import TIME_SAMPLES, ServerTime
from engine.game import Position
from server.commands import AddTime, Hold, Move, MySeat, OpenSeat, Sit, Tick
from server.events import Unknown
from server.protocol.messages import ClockState, MatchResult
from server.protocol.views import description, snapshot
from server.rooms.clock import sides_at
from server.rooms.model import SERVER, CommandRejected
from server.time_controls import TimeControl, format_control
from tests.client.test_line import CapturedOutput, TypedLines, play
from tests.server.test_time_controls import controls
from tests.support.fake_room import ADA, BOB, FakeRoom
from tests.support.virtual_time import run_virtual

#: The time of the server at the start of a test.
START_MS = 1_700_000_000_000


def now_ms() -> int:
    """The server's time, which the virtual loop turns."""
    try:
        return START_MS + int(asyncio.get_running_loop().time() * 1000)
    except RuntimeError:
        return START_MS


def clocked_room(clock: str = "300+3", game: str = "tic-tac-toe") -> FakeRoom:
    """A room of Ada with a clock and a seat for Bob."""
    return FakeRoom(game, seats=(MySeat(), OpenSeat()), clock=clock, now_ms=now_ms)


class Opponent:
    """Bob's moves, and the passage of time, in a room in which Ada sits at the terminal."""

    def __init__(self, room: FakeRoom, *moves: str) -> None:
        self._room = room
        self._moves = moves

    async def __call__(self, mode: object) -> None:
        await asyncio.sleep(0.1)
        await self._room.act(BOB, Sit(id="sit", seat=1))
        for number, move in enumerate(self._moves):
            while self._room.room.match is None or self._room.room.match.ply != 2 * number + 1:
                await asyncio.sleep(0.1)
            await asyncio.sleep(2)
            await self._room.act(BOB, Move(id=f"b{number}", ply=2 * number + 1, move=move))


def assert_same_times(
    game: str, clock: str, waits_ms: Sequence[int], choose: Callable[[Position], str]
) -> None:
    """Plays a match and asserts after each move that the clock which the client folds from the
    events, and that of a snapshot, show what the room's clock shows, now and later.
    """
    at = [START_MS]
    room = FakeRoom(game, (MySeat(), OpenSeat()), clock=clock, now_ms=lambda: at[0])
    room.decide(BOB, Sit(id="sit", seat=1))
    model = apply(Model(room="r"), snapshot(room.room, player=True, identity=ADA.identity))
    for ply, wait_ms in enumerate(waits_ms):
        match = room.room.match
        assert match is not None
        assert match.position is not None
        if match.over is not None:
            return
        at[0] += wait_ms
        try:
            logged = room.decide(
                (ADA, BOB)[match.position.turn], Move(f"m{ply}", ply, choose(match.position))
            )
        except CommandRejected:
            return  # the side has fallen
        for v, event in logged:
            assert not isinstance(event, Unknown)
            model = apply(model, LoggedEvent("r", v, at[0], event))
        fresh = apply(Model(room="r"), snapshot(room.room, player=True, identity=ADA.identity))
        match = room.room.match
        assert match is not None
        assert match.clock is not None
        for later_ms in (0, 700, 4_000, 100_000):
            expected = sides_at(match.clock, at[0] + later_ms)
            for each in (model, fresh):
                assert each.match is not None
                shown = clock_of(each.match.clock)
                assert shown is not None
                assert match.over is not None or sides_at(shown, at[0] + later_ms) == expected


@settings(max_examples=40)
@given(controls(short=True), some.lists(some.integers(0, 9_000), min_size=4, max_size=6))
def test_a_terminal_shows_what_the_server_counts(control: TimeControl, waits: list[int]) -> None:
    assert_same_times(
        "tic-tac-toe", format_control(control), waits, lambda position: position.tokens()[0]
    )


def test_a_terminal_counts_a_delay_once_for_several_moves() -> None:
    """In Kalah a turn of several moves has one delay."""
    extra_turns = []

    def choose(position: Position) -> str:
        after = {each: position.play(position.parse_move(each)) for each in position.tokens()}
        again = [each for each, later in after.items() if later.turn == position.turn]
        extra_turns.extend(again[:1])
        return (again or list(after))[0]

    assert_same_times("kalah", "60d5", [3_000] * 12, choose)
    assert len(extra_turns) > 2


def test_a_clock_that_stands_says_so() -> None:
    """It shows the same times at every time, and why it stands."""
    room = clocked_room()
    room.decide(BOB, Sit(id="sit", seat=1))
    model = apply(Model(room="r"), snapshot(room.room, player=True, identity=ADA.identity))
    assert model.match is not None
    state = ClockState(
        control="300+3", left_ms=(61_000, 9_000), since_ms=START_MS, running=1, held="maintenance"
    )
    held = replace(model, match=replace(model.match, clock=state))
    for later_ms in (0, 90_000):
        shown = clocks_text(held, START_MS + later_ms)
        assert shown == "First 1:01, Second 0:09.0, stopped"
    assert "The clock stands: the server is being maintained." in time_text(held, START_MS)
    assert "running" not in time_text(held, START_MS)


def test_both_clocks_stand_in_the_prompt() -> None:
    """The prompt has the times of the moment in which it is written: a line that interrupts it
    writes it again. `time` says who runs and what the control is.
    """
    room = clocked_room()
    lines = TypedLines("b2", "time", "q")
    run = play(room, lines, interactive=True, other_player=Opponent(room, "a1"))
    assert "Tic-tac-toe, 5+3. Room r" in run.messages
    assert "Match 1: Ada (Crosses) against Bob (Noughts), 5+3" in run.data
    times = "Crosses 5:00, Noughts 5:00"
    assert f"{times} (move in 0:30). Your move (or help) > " in run.data
    assert f"{times}. Bob is to move (or help) > " in run.data
    assert "Crosses, Ada: 5:00\nNoughts, Bob: 5:00\nThe clock starts when both" in run.data
    assert "The clock is 5+3: 5 minutes, and 3 s after each turn.\n" in run.data


def test_the_clocks_run_between_two_lines() -> None:
    """After both first moves a player's time runs; a gain comes with the end of the turn."""
    room, lines = clocked_room(), TypedLines()

    async def other(mode: object) -> None:
        lines.type("b2")
        await Opponent(room, "a1")(mode)
        await asyncio.sleep(20)
        lines.type("time")
        await asyncio.sleep(3)
        lines.type("c2")
        await asyncio.sleep(2)
        lines.type("time")
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other)
    assert "Crosses, Ada: 4:39, running\nNoughts, Bob: 5:00\n" in run.data
    assert "Crosses, Ada: 4:39\nNoughts, Bob: 4:58, running\n" in run.data


def test_low_time_is_said_once() -> None:
    """A player reads one line when an eighth of the base is left, and no other one."""
    room, lines = clocked_room("80+0"), TypedLines()

    async def other(mode: object) -> None:
        lines.type("b2")
        await Opponent(room, "a1")(mode)
        await asyncio.sleep(69)
        before.append(run.messages.count("low on time"))
        await asyncio.sleep(9)
        lines.type("c2")
        lines.type("q")

    before: list[int] = []
    run = CapturedOutput(True)
    shown = play_into(run, room, lines, other)
    assert before == [0]
    assert shown.count("low on time") == shown.count("You are low on time: 0:10.") == 1


def play_into(run: CapturedOutput, room: FakeRoom, lines: TypedLines, other: object) -> str:
    """Runs line mode on a terminal whose output the test can read meanwhile; returns messages."""
    from client.terminal.line import LineMode
    from tests.client.test_line import ADDRESS
    from tests.support.scripted_server import memory

    async def main() -> None:
        async with memory(room.serve) as c:
            mode = LineMode(c, ADDRESS, "r", lines, run.output)
            beside = asyncio.ensure_future(other(mode))  # type: ignore[operator]
            await mode.run()
            await beside

    run_virtual(main())
    return run.messages


def test_a_player_gives_the_opponent_time() -> None:
    """`add-time` is offered while both clocks count; both players and the prompt say so."""
    room, lines = clocked_room(), TypedLines()

    async def other(mode: object) -> None:
        lines.type("b2")
        await Opponent(room, "a1")(mode)
        await asyncio.sleep(1)
        await room.act(BOB, AddTime(id="more"))
        lines.type("add-time")
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other)
    assert "Bob gives Ada 15 s more.\n" in run.messages
    assert "Ada gives Bob 15 s more.\n" in run.messages
    assert "Crosses 5:14, Noughts 5:00. Your move (or help) > " in run.data
    assert "Crosses 5:13, Noughts 5:15. Your move (or help) > " in run.data


def test_a_clock_that_stood_costs_nobody_time() -> None:
    """The reason and the times are printed when the clock goes on."""
    room, lines = clocked_room(), TypedLines()

    async def other(mode: object) -> None:
        lines.type("b2")
        await Opponent(room, "a1")(mode)
        since_ms = now_ms()
        await asyncio.sleep(60)
        assert room.room.match is not None
        await room.act(SERVER, Hold("hold", room.room.match.id, since_ms, "outage"))
        await asyncio.sleep(1)
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other)
    assert (
        "The clock stands: the server was away, which costs nobody time.\n"
        "The clock goes on: Crosses 5:00, Noughts 5:00.\n"
    ) in run.messages


def test_a_flag_ends_the_match_in_words() -> None:
    room, lines = clocked_room("30+0"), TypedLines()

    async def other(mode: object) -> None:
        lines.type("b2")
        await Opponent(room, "a1")(mode)
        await asyncio.sleep(40)
        await room.act(SERVER, Tick("tick", now_ms()))
        await asyncio.sleep(1)
        lines.type("time")
        lines.type("q")

    run = play(room, lines, interactive=True, other_player=other)
    assert "You lost: you ran out of time.\n" in run.data
    assert "Crosses, Ada: 0:00.0\nNoughts, Bob: 0:30\n" in run.data


def test_the_result_on_one_screen_names_the_side() -> None:
    """One person at both sides neither wins nor loses."""
    room = FakeRoom()
    model = apply(Model(room="r", me="i1"), snapshot(room.room, player=True))
    assert result_seat(model) == 0
    described = description(room.room)
    one_screen = replace(model, description=replace(described, one_screen=True))
    assert result_seat(one_screen) is None


def test_who_sits_down_after_a_match_has_not_won_it() -> None:
    """The result is that of the people who played, not of who holds a seat now."""
    room = FakeRoom()
    model = apply(Model(room="r", me="i1"), snapshot(room.room, player=True))
    first, second = model.seats
    assert first is not None
    newcomer = replace(model, me="i9", seats=(replace(first, identity="i9", name="Cyd"), second))
    assert newcomer.my_seat == 0
    assert result_seat(newcomer) is None


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (MatchResult(None, "noshow", "White did not move in time"),
         "No result: White did not move in time."),
        (MatchResult(None, "flag", "White ran out of time, but Black cannot win any more"),
         "Draw: White ran out of time, but Black cannot win any more."),
        (MatchResult(1, "flag", "White ran out of time"), "Second wins: White ran out of time."),
    ],
)  # fmt: skip
def test_results_of_a_clock(result: MatchResult, text: str) -> None:
    assert result_text(None, result) == text


def test_a_room_without_a_clock_says_so() -> None:
    """Without a clock nothing is shown of one, and `time` is not in the help."""
    room = FakeRoom()
    model = apply(Model(room="r"), snapshot(room.room, player=True, identity=ADA.identity))
    assert clocks_text(model, START_MS) == ""
    assert time_text(model, START_MS) == "This match has no clock: take as long as you like."
    assert not is_permitted(CommandName.ADD_TIME, replace(model, may=()))
    newer = replace(model, clock="300~3")
    assert clock_suffix(newer.clock) == ", 300~3"
    assert parse_line("time", model) is not None


@pytest.mark.parametrize(
    ("typed", "text"),
    [("5+3", "300+3"), ("=600+3x30", "600+3x30"), ("0.5+0", "30"), ("-", None), (None, None)],
)
def test_the_option_of_a_clock(typed: str | None, text: str | None) -> None:
    option = main.commands["play"].params[0]
    assert parse_clock(Context(main), option, typed) == text


@pytest.mark.parametrize("typed", ["300+3", "5+", "five", "=0", "5+999", "0+0"])
def test_a_wrong_clock_says_what_was_expected(typed: str) -> None:
    with pytest.raises(BadParameter, match=r"expected|did you mean|at most|at least"):
        parse_clock(Context(main), main.commands["play"].params[0], typed)


@given(
    some.integers(-(10**7), 10**7),
    some.lists(some.integers(0, 5_000), min_size=1, max_size=30),
)
def test_the_servers_time_is_that_of_its_fastest_message(ahead_ms: int, delays: list[int]) -> None:
    """However slow the others were: the error is the least delay of the last samples."""
    server, now_s = ServerTime(), 0.0
    for delay_ms in delays:
        now_s += 2.5
        server.observe(int(now_s * 1000) + ahead_ms, now_s + delay_ms / 1000)
    error_ms = int((now_s + 9) * 1000) + ahead_ms - server.now_ms(now_s + 9)
    assert abs(error_ms - min(delays[-TIME_SAMPLES:])) <= 2


def test_a_pipe_reads_the_clocks_behind_the_prompt() -> None:
    room = clocked_room()
    run = play(room, TypedLines("b2", "resign"), other_player=Opponent(room, "a1"))
    assert "? Crosses to move (Crosses 5:00, Noughts 5:00 (move in 0:30))\n" in run.data
    assert isinstance(run.stdout, io.StringIO)
