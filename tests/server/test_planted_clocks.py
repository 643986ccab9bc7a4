"""Planted faults in clocks: the test listed with each one fails."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import Phase, settings
from msgspec.structs import replace

from engine.game import Position
from server.rooms import clock, matches, moves, offers
from server.rooms.clock import Clock, Press, SideClock, TimedMove
from server.rooms.model import CommandRejected, Match, Moment, Room
from server.runtime.log import EventLog
from server.runtime.room.room_runner import RoomRunner
from server.runtime.timer import RoomTimer
from server.store.base import RoomHead
from server.time_controls import TimeControl
from tests.server import test_clock, test_clocked_rooms, test_clocks_of_nodes
from tests.support.memory_store import MemoryLogs, MemoryNodes

Patch = pytest.MonkeyPatch


def gain_per_move(patch: Patch) -> None:
    """Each move of a turn earns the gain."""
    real = clock.press

    def press(running: Clock, spent_ms: int, _ends: bool, can_fall: bool = True) -> Press | None:
        return real(running, spent_ms, True, can_fall)

    patch.setattr(clock, "press", press)


def gain_kept_by_a_takeback(patch: Patch) -> None:
    """A takeback leaves what the moves gave that it takes back."""

    def keep(
        _control: TimeControl, side: SideClock, _moves: Sequence[TimedMove], _ply: int, _seat: int
    ) -> SideClock:
        return side

    patch.setattr(clock, "_without_gains", keep)


def clock_of_the_opponent_charged(patch: Patch) -> None:
    """A move charges the side that does not move."""
    real = clock.follow

    def follow(running: Clock, side: SideClock, spent_ms: int, next_turn: int, at_ms: int) -> Clock:
        after = real(running, side, spent_ms, next_turn, at_ms)
        if not running.runs:
            return after
        sides = list(running.sides)
        other = sides[1 - running.turn]
        sides[1 - running.turn] = replace(other, left_ms=max(1, other.left_ms - spent_ms))
        return replace(after, sides=(sides[0], sides[1]))

    patch.setattr(clock, "follow", follow)
    patch.setattr(test_clock, "follow", follow)


def stage_gained_twice(patch: Patch) -> None:
    """A new stage gives its time twice."""
    real = clock._stage_ms
    patch.setattr(clock, "_stage_ms", lambda control, stage: 2 * real(control, stage))


def period_not_reset(patch: Patch) -> None:
    """A period of byo-yomi goes on in the next turn with what is left of it."""
    patch.setattr(clock, "_end_overtime_turn", lambda _control, side: side)


def delay_carried_over(patch: Patch) -> None:
    """What a turn leaves of its delay is added to the clock."""
    real = clock._given_ms

    def given(stage: Any, left_ms: int, turn_ms: int) -> int:
        if stage.kind == "d":
            return int(max(0, stage.gain_ms - turn_ms))
        return real(stage, left_ms, turn_ms)

    patch.setattr(clock, "_given_ms", given)


def first_move_charged(patch: Patch) -> None:
    """A side pays for its first turn."""
    real = clock.press

    def press(running: Clock, spent_ms: int, ends: bool, can_fall: bool = True) -> Press | None:
        return real(replace(running, opened=(True, True)), spent_ms, ends, can_fall)

    patch.setattr(clock, "press", press)
    patch.setattr(test_clock, "press", press)


def ai_charged_for_its_queue(patch: Patch) -> None:
    """An AI pays for all the time since its turn began."""
    real = moves.ai_move

    def ai_move(room: Any, command: Any, moment: Moment) -> Any:
        return real(room, replace(command, spent_ms=None), moment)

    patch.setitem(moves.RULES, type_of_ai_move(), ai_move)
    from server.rooms import rules

    patch.setitem(rules.RULES, type_of_ai_move(), ai_move)


def type_of_ai_move() -> Any:
    from server.commands import AiMove

    return AiMove


def stale_since(patch: Patch) -> None:
    """The turn of the next side counts from the beginning of the turn before."""
    real = clock.follow

    def follow(running: Clock, side: SideClock, spent_ms: int, next_turn: int, at_ms: int) -> Clock:
        return replace(real(running, side, spent_ms, next_turn, at_ms), since_ms=running.since_ms)

    patch.setattr(clock, "follow", follow)


def due_bound_never_corrected(patch: Patch) -> None:
    """A room that is woken before its flag keeps the wake-up that is over."""
    patch.setattr(RoomRunner, "postponed", lambda _self, _before_ms: None)


def retry_counts_from_its_last_arrival(patch: Patch) -> None:
    """A command that comes again counts as if it had not been there before."""
    patch.setattr(EventLog, "_first_arrival", lambda _self, _key, _command, ms: ms)


def flag_against_a_side_that_cannot_win(patch: Patch) -> None:
    """Every side counts as one that can still win."""
    patch.setattr(Position, "can_win", lambda _self, _seat: True)


def move_counts_when_it_is_served(patch: Patch) -> None:
    """A move counts from the time when the room serves it."""

    def time_of(match: Match, moment: Moment) -> Any:
        if match.clock is None:
            return None
        passed_ms = max(0, moment.now_ms - match.clock.since_ms)
        return moves._MoveTime(passed_ms, passed_ms)

    patch.setattr(moves, "_time_of", time_of)


def outage_charged(patch: Patch) -> None:
    """A node that takes a room over does not look at the outage before."""

    async def do_nothing(_self: RoomRunner, _node: str) -> None:
        pass

    patch.setattr(RoomRunner, "_hold_after_outage", do_nothing)


def flag_does_not_wait_for_a_retry(patch: Patch) -> None:
    """A flag falls while a command may still come again that had no answer."""
    patch.setattr(RoomRunner, "_retry_wait_ms", lambda _self: 0)


def takeover_tried_once(patch: Patch) -> None:
    """A node that could not decide whether a clock stood does not try again."""
    real = RoomRunner._serve

    async def serve(self: RoomRunner, item: Any) -> None:
        self._earlier_node = None
        await real(self, item)

    patch.setattr(RoomRunner, "_serve", serve)


def clock_set_while_a_room_is_out_of_memory(patch: Patch) -> None:
    """A node looks at the rooms in memory alone."""

    async def has_due_clock(_self: MemoryNodes, _node: str) -> bool:
        return False

    patch.setattr(MemoryNodes, "has_due_clock", has_due_clock)


def timer_never_earlier(patch: Patch) -> None:
    """A flag keeps the time at which a command could still have come again."""
    patch.setattr(RoomTimer, "_is_late", lambda _self, _delay_s: False)


def takeover_forgotten_without_a_decision(patch: Patch) -> None:
    """The store does not remember from which node a room was taken over."""
    real = MemoryLogs.head

    async def head(self: MemoryLogs, room: str) -> RoomHead | None:
        found = await real(self, room)
        return None if found is None else replace(found, taken_from=None)

    patch.setattr(MemoryLogs, "head", head)


def hiccup_of_a_heartbeat() -> None:
    test_clocks_of_nodes.test_a_hiccup_of_the_store_loses_no_outage("heartbeat")


def hiccup_in_an_open_room() -> None:
    test_clocks_of_nodes.test_a_hiccup_of_the_store_loses_no_outage_of_an_open_room("heartbeat")


def tick_before_the_flag(patch: Patch) -> None:
    """A tick ends a match whose flag falls within a second."""
    real = Room.next_deadline_ms

    def next_deadline_ms(self: Room, pass_after_ms: int) -> int | None:
        due_ms = real(self, pass_after_ms)
        return None if due_ms is None else due_ms - 1_000

    patch.setattr(Room, "next_deadline_ms", next_deadline_ms)


def answer_after_the_flag() -> None:
    test_clocks_of_nodes.test_a_flag_waits_no_longer_when_the_command_came_again(5, 62)


def rematch_without_clock(patch: Patch) -> None:
    """The next match has no clock."""
    real = matches.start_match

    def start_match(room: Room, *rest: Any) -> Any:
        return real(replace(room, control=None), *rest)

    patch.setattr(offers, "start_match", start_match)


#: How a test fails.
FAILURES = (
    AssertionError, AttributeError, CommandRejected, TimeoutError, ValueError,
    pytest.fail.Exception, BaseExceptionGroup,
)  # fmt: skip


def byo_yomi_by_hand() -> None:
    test_clock.test_examples_by_hand("5+2x10", [6_000, 3_000], [(10_000, 1, 1), (10_000, 1, 1)])


#: Each fault with a test that must find it.
FAULTS: dict[Callable[[Patch], None], Callable[..., Any]] = {
    gain_per_move: test_clocked_rooms.test_extra_turns_earn_one_gain,
    gain_kept_by_a_takeback: test_clock.test_back_before_the_second_first_turn_the_clock_stands,
    clock_of_the_opponent_charged: test_clock.test_a_clock_only_falls_but_for_what_a_turn_gives,
    stage_gained_twice: test_clock.test_a_stage_needs_its_own_turns_again,
    period_not_reset: byo_yomi_by_hand,
    delay_carried_over: test_clock.test_bronstein_allows_exactly_what_a_delay_allows,
    first_move_charged: test_clock.test_the_first_turns_are_free_but_due,
    ai_charged_for_its_queue: test_clocked_rooms.test_an_ai_pays_for_its_search_alone,
    stale_since: (
        test_clocks_of_nodes
    ).test_the_wake_up_of_a_clock_stays_for_many_moves_and_becomes_true_in_time,
    due_bound_never_corrected: (
        test_clocks_of_nodes
    ).test_the_wake_up_of_a_clock_stays_for_many_moves_and_becomes_true_in_time,
    retry_counts_from_its_last_arrival: (
        test_clocks_of_nodes
    ).test_a_move_that_is_sent_again_counts_from_its_first_arrival,
    flag_against_a_side_that_cannot_win: (
        test_clocked_rooms
    ).test_a_side_whose_opponent_cannot_win_draws_by_time,
    move_counts_when_it_is_served: (
        test_clocked_rooms
    ).test_a_move_that_arrives_in_time_counts_however_late_it_is_served,
    outage_charged: (
        test_clocks_of_nodes
    ).test_a_clock_that_nobody_watches_stands_through_a_restart,
    flag_does_not_wait_for_a_retry: (
        test_clocks_of_nodes
    ).test_a_flag_waits_for_a_command_without_an_answer_and_falls_at_its_deadline,
    takeover_tried_once: hiccup_in_an_open_room,
    takeover_forgotten_without_a_decision: hiccup_of_a_heartbeat,
    clock_set_while_a_room_is_out_of_memory: (
        test_clocks_of_nodes
    ).test_a_time_of_day_that_is_set_moves_no_clock_that_nobody_watches,
    timer_never_earlier: answer_after_the_flag,
    tick_before_the_flag: test_clocked_rooms.test_a_match_with_ticks_is_one_without,
    rematch_without_clock: (
        test_clocked_rooms
    ).test_a_rematch_keeps_the_clock_and_the_next_game_may_change_it,
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_fault_is_found(fault: Callable[[Patch], None], monkeypatch: Patch) -> None:
    """The listed test, which passes in its own module, fails with the planted fault."""
    test = FAULTS[fault]
    if hasattr(test, "hypothesis"):
        # The first example that fails is enough.
        test = settings(phases=[Phase.explicit, Phase.generate], database=None)(test)
    fault(monkeypatch)
    with pytest.raises(FAILURES):
        test()
