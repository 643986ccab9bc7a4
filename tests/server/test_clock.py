"""The clock of a match: equations that hold for every control."""

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import assume, given
from hypothesis import strategies as some
from msgspec.structs import replace

from server.rooms.clock import (
    Clock,
    Press,
    add_time,
    available_ms,
    deadline_ms,
    first_turn_limit_ms,
    first_turn_ms,
    follow,
    follow_pass,
    gain_of,
    hold,
    press,
    ran_before_last_move,
    release,
    sides_at,
    start_clock,
    take_back,
)
from server.time_controls import ByoYomi, Stage, TimeControl, parse_control
from tests.server.test_time_controls import controls

#: Moves of a match: the time that each takes, and whether the turn ends with it.
MOVES = some.lists(some.tuples(some.integers(0, 9_000), some.booleans()), min_size=3, max_size=30)


@dataclass
class Match:
    """A match on a clock that the test turns."""

    clock: Clock
    now_ms: int = 0
    #: The clocks before each move.
    before: list[Clock] = field(default_factory=list)

    def play(self, spent_ms: int, ends_turn: bool = True) -> Press | None:
        """Plays a move; None if the side has fallen before."""
        self.now_ms += spent_ms
        pressed = press(self.clock, self.now_ms - self.clock.since_ms, ends_turn)
        if pressed is None:
            return None
        seat, self.before = self.clock.turn, [*self.before, self.clock]
        next_turn = 1 - seat if ends_turn else seat
        self.clock = follow(self.clock, pressed.side, pressed.spent_ms, next_turn, self.now_ms)
        return pressed

    def take_back(self, to_ply: int) -> None:
        turn = self.clock.moves[to_ply].seat
        self.clock = take_back(self.clock, to_ply, turn, self.now_ms)
        del self.before[to_ply:]


def match_of(text: str) -> Match:
    control = parse_control(text)
    assert control is not None
    return Match(start_clock(control, 0, 0))


def opened(text: str) -> Match:
    """A match in which both sides have made their first turn, at time 0."""
    match = match_of(text)
    match.play(0)
    match.play(0)
    return match


@given(controls(short=True), MOVES)
def test_a_clock_only_falls_but_for_what_a_turn_gives(
    control: TimeControl, moves: list[tuple[int, bool]]
) -> None:
    """After a move: left = before - max(0, spent - delay) + gain after the maximum + stages and
    periods; a move within a turn gives nothing. Time is never negative.
    """
    match, overtime = Match(start_clock(control, 0, 0)), len(control.stages)
    for spent_ms, ends_turn in moves:
        clock, side = match.clock, match.clock.sides[match.clock.turn]
        pressed = match.play(spent_ms, ends_turn)
        if pressed is None:
            break
        after, other = pressed.side, 1 - clock.turn
        assert match.clock.sides[other] == clock.sides[other]
        if not all(clock.opened):
            assert after == side, "the first turns are free"
            continue
        assert after.left_ms > 0
        stage = control.stages[min(side.stage, overtime - 1)]
        in_main = side.stage < overtime
        delay_ms = stage.gain_ms if stage.kind == "d" and in_main else 0
        charged_ms = max(0, spent_ms - max(0, delay_ms - clock.turn_ms))
        if after.stage == side.stage and in_main:
            given_ms = 0
            if ends_turn and stage.kind == "+":
                ceiling_ms = stage.limit_ms or 10**9
                given_ms = max(0, min(stage.gain_ms, ceiling_ms - (side.left_ms - charged_ms)))
            elif ends_turn and stage.kind == "b":
                given_ms = min(stage.gain_ms, clock.turn_ms + spent_ms)
            assert after.left_ms == side.left_ms - charged_ms + given_ms
            assert gain_of(clock, after, spent_ms) == given_ms
        elif not ends_turn:
            periods_ms = 0
            if isinstance(control.overtime, ByoYomi):
                had = side.periods if side.stage == overtime else control.overtime.periods
                periods_ms = (had - after.periods) * control.overtime.period_ms
            elif side.stage < overtime and control.overtime is not None:
                periods_ms = control.overtime.block_ms
            assert after.left_ms == side.left_ms - charged_ms + periods_ms


@given(controls(short=True), MOVES, some.integers(0, 20_000))
def test_a_side_falls_at_its_deadline_and_not_before(
    control: TimeControl, moves: list[tuple[int, bool]], wait_ms: int
) -> None:
    """A move at the deadline or after it never counts, one a millisecond before it does; what is
    shown is above 0 until then and 0 from then on.
    """
    match = Match(start_clock(control, 0, 0))
    for spent_ms, ends_turn in moves:
        if match.play(spent_ms, ends_turn) is None:
            break
    clock, deadline = match.clock, deadline_ms(match.clock)
    assert deadline is not None
    allowed_ms = deadline - clock.since_ms
    assert press(clock, allowed_ms + wait_ms, True) is None
    assert allowed_ms == 0 or press(clock, allowed_ms - 1, True) is not None
    spared = press(clock, allowed_ms + wait_ms, True, can_fall=False)
    assert spared is not None
    assert spared.side.left_ms > 0
    if clock.runs:
        assert sides_at(clock, deadline)[clock.turn].left_ms == 0
        assert sides_at(clock, deadline - 1)[clock.turn].left_ms > 0


@given(controls(short=True), MOVES, some.lists(some.integers(1, 99), max_size=6))
def test_looking_at_a_clock_changes_nothing(
    control: TimeControl, moves: list[tuple[int, bool]], parts: list[int]
) -> None:
    """A turn in several moves costs what it costs in one, and a hold in between costs nothing."""
    match = Match(start_clock(control, 0, 0))
    for spent_ms, ends_turn in moves:
        if match.play(spent_ms, ends_turn) is None:
            return
    total_ms = sum(parts)
    whole = press(match.clock, total_ms, True)
    assume(whole is not None)
    split, held = replace_match(match), replace_match(match)
    for part_ms in parts:
        assert split.play(part_ms, ends_turn=False) is not None
        since_ms = held.clock.since_ms + part_ms
        held.clock = hold(held.clock, "outage", since_ms)
        assert deadline_ms(held.clock) is None
        left_ms = [side.left_ms for side in held.clock.sides]
        held.now_ms = since_ms + 50_000
        held.clock = release(held.clock, left_ms, held.now_ms)
    first, second = split.play(0), held.play(0)
    assert whole is not None
    assert first is not None
    assert second is not None
    assert first.side == second.side == whole.side
    assert second.spent_ms == whole.spent_ms


def replace_match(match: Match) -> Match:
    return Match(match.clock, match.now_ms, [*match.before])


@given(controls(short=True), MOVES, some.lists(some.integers(0, 5), max_size=4))
def test_bronstein_allows_exactly_what_a_delay_allows(
    control: TimeControl, moves: list[tuple[int, bool]], takebacks: list[int]
) -> None:
    """A clock that starts with base + delay and gives back what a turn used allows the same moves
    as a delay, in extra turns, stages and overtime, and after takebacks within a stage.
    """
    stages = [replace(stage, limit_ms=None) for stage in control.stages]
    if takebacks:
        del stages[:-1]
    delay = TimeControl(tuple(replace(stage, kind="d") for stage in stages), control.overtime)
    bronstein = TimeControl(tuple(replace(stage, kind="b") for stage in stages), control.overtime)
    one, other = Match(start_clock(delay, 0, 0)), Match(start_clock(bronstein, 0, 0))
    for number, (spent_ms, ends_turn) in enumerate(moves):
        assert available_ms(one.clock) == available_ms(other.clock)
        if (one.play(spent_ms, ends_turn) is None) | (other.play(spent_ms, ends_turn) is None):
            break
        if number % 5 == 4 and takebacks:
            to_ply = max(0, len(one.clock.moves) - 1 - takebacks.pop())
            one.take_back(to_ply)
            other.take_back(to_ply)
    assert available_ms(one.clock) == available_ms(other.clock)


@given(controls(short=True), MOVES, some.integers(0, 8), some.integers(0, 5_000))
def test_a_takeback_gives_nobody_time(
    control: TimeControl, moves: list[tuple[int, bool]], back: int, wait_ms: int
) -> None:
    """What a side could use in this turn or its next is never more after a takeback than before the
    moves that are undone, nor more than it has now, and no periods come back.
    """
    match = Match(start_clock(control, 0, 0))
    for spent_ms, ends_turn in moves:
        if match.play(spent_ms, ends_turn) is None:
            break
    assume(match.clock.moves)
    match.now_ms += wait_ms
    clock = match.clock
    assume(not all(clock.opened) or wait_ms < available_ms(clock))
    to_ply = max(0, len(match.clock.moves) - 1 - back)
    now, earlier = sides_at(clock, match.now_ms), match.before[to_ply]
    match.take_back(to_ply)
    for seat in (0, 1):
        after = match.clock.sides[seat]
        assert after.stage == now[seat].stage
        if after.stage == len(control.stages) and isinstance(control.overtime, ByoYomi):
            assert after.periods == now[seat].periods
        else:
            assert after.periods >= now[seat].periods, "turns are to be made again"
    seat = match.clock.turn
    if all(match.clock.opened):
        least_ms = min(available_ms(earlier), 1_000)
        same_stage = match.clock.sides[seat].stage == earlier.sides[seat].stage
        if same_stage and earlier.sides[seat].stage < len(control.stages):
            assert available_ms(match.clock) <= max(available_ms(earlier), least_ms)


@given(some.integers(1, 400), some.integers(1, 40))
def test_endless_takebacks_give_no_endless_turn(spent_ms: int, times: int) -> None:
    """Whoever moves, takes back and thinks again has one turn's delay or period, not one each."""
    for text in ("60d5", "60b5", "60+5", "1+2x5", "1+5/20"):
        match = opened(text)
        if "x" in text or "/" in text:
            match.play(5_500 if "x" in text else 1_500)
            match.play(0)
        start_ms = available_ms(match.clock)
        used_ms = 0
        for _ in range(times):
            if match.play(spent_ms * 10) is None:
                break
            used_ms += spent_ms * 10
            match.take_back(len(match.clock.moves) - 1)
        floor_ms = 1_000 + 5_000 * (match.clock.sides[0].periods if "x" in text else 1)
        assert available_ms(match.clock) <= max(floor_ms, start_ms - used_ms + 1_000)


@pytest.mark.parametrize(
    ("text", "turns_ms", "left"),
    [
        ("60+2", [5_000, 1_000], [(57_000, 0, 0), (58_000, 0, 0)]),
        ("60+30<70", [1_000, 1_000, 1_000], [(70_000, 0, 0), (70_000, 0, 0), (70_000, 0, 0)]),
        ("60d5", [7_000, 1_000], [(58_000, 0, 0), (58_000, 0, 0)]),
        ("60b5", [7_000, 1_000], [(63_000, 0, 0), (63_000, 0, 0)]),
        ("0+3", [1_000], [(5_000, 0, 0)]),
        ("0+1", [1_000], [(3_000, 0, 0)]),
        ("2/10+1:20", [1_000, 1_000, 1_000], [(10_000, 0, 1), (30_000, 1, 0), (29_000, 1, 0)]),
        ("5+2x10", [6_000, 3_000, 11_000, 9_999],
         [(10_000, 1, 1), (10_000, 1, 1), (10_000, 1, 0), (10_000, 1, 0)]),
        ("5+2/10", [6_000, 3_000, 1_000], [(9_000, 1, 1), (10_000, 1, 2), (9_000, 1, 1)]),
    ],
)  # fmt: skip
def test_examples_by_hand(text: str, turns_ms: list[int], left: list[tuple[int, int, int]]) -> None:
    """One side's clock after each of its turns: (left, stage, what counts down)."""
    match = opened(text)
    seen = []
    for turn_ms in turns_ms:
        pressed = match.play(turn_ms)
        assert pressed is not None
        seen.append((pressed.side.left_ms, pressed.side.stage, pressed.side.periods))
        match.play(0)
    assert seen == left


def test_the_first_turns_are_free_but_due() -> None:
    """Until both sides have finished a turn nobody is charged, and each first turn is due in a
    tenth of the base, between 10 and 30 seconds; a turn that is begun is not finished.
    """
    due = [first_turn_ms(match_of(text).clock) for text in ("60", "200", "3600", "0+5")]
    assert due == [10_000, 20_000, 30_000, 10_000]
    match = match_of("60+2")
    assert match.play(6_000, ends_turn=False) is not None
    assert available_ms(match.clock) == 4_000
    assert match.play(3_999) is not None
    assert match.play(9_999) is not None
    assert [side.left_ms for side in match.clock.sides] == [60_000, 60_000]
    assert match.clock.runs
    assert match_of("60").play(10_000) is None


def test_friends_wait_for_each_other() -> None:
    """In a room that only people with its link find, and against an AI, a first turn is due in two
    minutes, on one screen in a day, whatever the control.
    """
    control = parse_control("60")
    assert control is not None
    for visibility, one_screen, has_ai, due in (
        ("public", False, False, 10_000), ("unlisted", False, False, 120_000),
        ("unlisted", True, False, 86_400_000), ("public", True, False, 86_400_000),
        ("public", False, True, 120_000), ("unlisted", False, True, 120_000),
    ):  # fmt: skip
        clock = start_clock(control, 0, 500, first_turn_limit_ms(visibility, one_screen, has_ai))
        assert deadline_ms(clock) == 500 + due


def test_a_forced_pass_costs_and_earns_nothing() -> None:
    """The side that could only pass has the clock that it had, whatever the pass took."""
    match = opened("60+5")
    match.play(1_000)
    sides = match.clock.sides
    match.clock = follow_pass(match.clock, 0, match.now_ms + 1_000)
    assert (match.clock.sides, match.clock.turn) == (sides, 0)


def test_added_time_counts_and_is_counted() -> None:
    """A side that is given time has it at once, and in a stage above the maximum too."""
    match = opened("60+5<60")
    match.clock = add_time(match.clock, 0, 15_000)
    assert (match.clock.sides[0].left_ms, match.clock.added) == (75_000, (1, 0))
    assert available_ms(match.clock) == 75_000


def test_back_before_the_second_first_turn_the_clock_stands() -> None:
    """A takeback of the moves that started the clock stops it; gains of undone moves go."""
    match = opened("60+5")
    match.play(1_000)
    match.play(2_000)
    assert [side.left_ms for side in match.clock.sides] == [64_000, 63_000]
    match.take_back(1)
    assert not match.clock.runs
    assert [side.left_ms for side in match.clock.sides] == [59_000, 58_000]
    assert available_ms(match.clock) == 10_000


def test_a_stage_needs_its_own_turns_again() -> None:
    """A stage that an undone turn entered is kept once: its time is not earned twice."""
    match = opened("2/60:30")
    for _ in range(3):
        match.play(0)
    assert [(side.left_ms, side.stage) for side in match.clock.sides] == [(90_000, 1), (60_000, 0)]
    match.take_back(2)
    match.play(0)
    match.play(0)
    match.play(0)
    assert match.clock.sides[0].left_ms == 90_000
    assert Stage(60_000, turns=2) == match.clock.control.stages[0]


def test_the_clock_ran_before_the_last_move_if_a_turn_of_each_side_had_ended() -> None:
    """`ran_before_last_move` says so for every order of up to six moves, also with extra turns."""
    control = parse_control("60")
    assert control is not None
    for count in range(7):
        for seats in itertools.product((0, 1), repeat=count):
            clock = start_clock(control, 0, 0)
            for seat, following in zip(seats, (*seats[1:], 0), strict=False):
                side = clock.sides[seat]
                clock = follow(replace(clock, turn=seat), side, 10, following, 0)
            ended = {a for a, b in itertools.pairwise(seats) if a != b}
            assert ran_before_last_move(clock) is (ended == {0, 1}), seats
