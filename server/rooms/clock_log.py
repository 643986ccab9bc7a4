"""How the events of a log change the clock of a match.

The numbers are those of the events: nothing is computed anew. An event that no server of this
version writes gives no clock, None.
"""

from msgspec.structs import replace

from engine.view import SEATS
from server.events import Held, Moved, Released, RoomEvent, Started, TimeAdded, TookBack, Unknown
from server.rooms import clock
from server.rooms.clock import Clock
from server.time_controls import TimeControl, TimeControlError, parse_control


def started_clock(control: TimeControl, event: Started, turn: int, at_ms: int) -> Clock | None:
    """The clock of a match that starts, in which `turn` moves first."""
    if event.clocks_ms is None:
        return None
    started = clock.start_clock(control, turn, at_ms, event.first_ms)
    return _sound(clock.with_times(started, event.clocks_ms))


def next_turn_of(event: Moved) -> int:
    """The side that moves after a move, as the event says; it needs no rules."""
    return event.seat if event.goes_on else 1 - event.seat


def moved_clock(running: Clock, event: Moved, next_turn: int, at_ms: int) -> Clock | None:
    """The clock after a move; None if the event has no times, which a clock must not invent, or is
    of no seat.
    """
    if event.seat not in range(SEATS):
        return None
    if event.forced:
        return clock.follow_pass(running, next_turn, at_ms)
    if event.clock_ms is None or event.spent_ms is None or event.seat != running.turn:
        return None
    side = clock.side_of(event.clock_ms, (event.stage, event.periods))
    if not clock.is_sound_side(running.control, side):
        return None
    return clock.follow(running, side, event.spent_ms, next_turn, at_ms)


def changed_clock(running: Clock, event: TimeAdded | Held | Released) -> Clock | None:
    """The clock after an event that concerns the clock alone."""
    match event:
        case TimeAdded():
            if event.seat not in range(SEATS):
                return running
            return _sound(clock.add_time(running, event.seat, event.ms))
        case Held():
            return _sound(clock.hold(running, event.why, event.since_ms))
        case Released():
            return _sound(
                clock.release(running, event.clocks_ms, event.from_ms, event.stages, event.periods)
            )


def taken_back_clock(running: Clock, event: TookBack, turn: int, at_ms: int) -> Clock | None:
    """The clock after moves were taken back; `turn` moves then."""
    if event.clocks_ms is None:
        return None
    taken = clock.take_back(running, event.to_ply, turn, at_ms)
    return _sound(
        clock.with_times(taken, event.clocks_ms, event.stages, event.periods, event.used_ms)
    )


def _sound(running: Clock) -> Clock | None:
    """The clock; None for one that no server of this version writes, which must not be used."""
    return running if running.is_sound else None


class ClockReader:
    """Reads the clock of a match from the events of its room, without the rules of its game.

    `at_ms` never falls in a log. The clock is None before the match starts, in a match without one,
    and from an event on that this version does not define.
    """

    def __init__(self, match: str) -> None:
        self.clock: Clock | None = None
        self._match = match

    def read(self, event: RoomEvent, at_ms: int) -> None:
        """Reads the next event."""
        if isinstance(event, Started) and event.match == self._match:
            self.clock = _read_start(event, at_ms)
        elif self.clock is not None:
            self.clock = self._after(self.clock, event, at_ms)

    def _after(self, running: Clock, event: RoomEvent, at_ms: int) -> Clock | None:
        match event:
            case Unknown():
                return None
            case Moved(match=self._match):
                if not running.moves:  # the start does not say who moves first
                    running = replace(running, turn=event.seat)
                return moved_clock(running, event, next_turn_of(event), at_ms)
            case TookBack(match=self._match, to_ply=ply):
                if not 0 <= ply < len(running.moves):
                    return None
                return taken_back_clock(running, event, running.moves[ply].seat, at_ms)
            case TimeAdded() | Held() | Released() if event.match == self._match:
                return changed_clock(running, event)
            case _:
                return running


def _read_start(event: Started, at_ms: int) -> Clock | None:
    try:
        control = None if event.clock is None else parse_control(event.clock)
    except TimeControlError:
        return None
    return None if control is None else started_clock(control, event, 0, at_ms)
