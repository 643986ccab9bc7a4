"""Checks the clocks of a match: the numbers of its events follow from each other (I23).

The log does not have the times at which commands arrived: an event is a little later. So what the
side to move has left when a match is ended or moves are taken back is checked within bounds, and
everything else exactly.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from engine.view import SEATS
from server.events import Finished, Moved, Released, RoomEvent, Started, TimeAdded, TookBack
from server.rooms import clock
from server.rooms.clock import Clock, SideClock
from server.rooms.matches import clocks_of
from server.rooms.model import Match, Room
from server.rooms.permissions import ADDED_MS, MAX_ADDED
from server.time_controls import TimeControlError, format_control, parse_control


def faults_of(before: Room, event: RoomEvent, at_ms: int) -> Iterator[str]:
    """Yields what is wrong with the times of an event at `at_ms`, by the room before it.

    Without the rules of the match nobody knows whose turn it is, and nothing is checked.
    """
    match = before.running_match
    if isinstance(event, Started):
        yield from _start_faults(event)
    elif match is not None and match.position is not None and _is_about(match, event):
        yield from _clock_faults(match, event, max(at_ms, before.changed_ms))


def _is_about(match: Match, event: RoomEvent) -> bool:
    """Whether an event concerns the clock of the match."""
    return (
        isinstance(event, Moved | TookBack | TimeAdded | Released | Finished)
        and event.match == match.id
    )


def _start_faults(event: Started) -> Iterator[str]:
    if event.clock is None:
        if event.clocks_ms is not None:
            yield "a match without a time control has times"
        return
    try:
        control = parse_control(event.clock)
    except TimeControlError as error:
        yield f"the time control cannot be read: {error}"
        return
    if control is None or format_control(control) != event.clock:
        yield f"the time control {event.clock} is written otherwise"
        return
    expected = clocks_of(clock.start_clock(control, 0, 0).sides)
    if event.clocks_ms != expected:
        yield f"both sides start with {event.clocks_ms}, the time control gives {expected}"


def _clock_faults(match: Match, event: RoomEvent, at_ms: int) -> Iterator[str]:
    running = match.clock
    match event:
        case Moved() if event.seat not in range(SEATS):
            yield f"a move of seat {event.seat}, which no match has"
        case Moved() if running is None:
            if event.clock_ms is not None:
                yield "a move in a match without a clock has times"
        case Moved() if running is not None:
            yield from _move_faults(running, event, at_ms, match.seats[event.seat].kind != "ai")
        case TookBack() if running is not None:
            yield from _takeback_faults(running, event, at_ms)
        case TimeAdded() if running is not None and event.seat in range(SEATS):
            if event.ms != ADDED_MS or running.added[event.seat] >= MAX_ADDED:
                yield f"{event.ms} ms were added, time number {running.added[event.seat] + 1}"
        case Released() if running is not None:
            stages, periods = clock.pairs_of(running)
            expected = (clocks_of(running.sides), stages, periods)
            if (event.clocks_ms, event.stages, event.periods) != expected:
                yield f"the clock stood at {expected} and goes on with {event.clocks_ms}"
            if running.held is None or not running.since_ms <= event.from_ms <= at_ms:
                yield f"the clock runs again from {event.from_ms}, not after {running.since_ms}"
        case Finished() if running is not None:
            yield from _end_faults(running, event, at_ms)
        case _:
            pass


def _move_faults(running: Clock, event: Moved, at_ms: int, can_fall: bool) -> Iterator[str]:
    if event.clock_ms is None or event.spent_ms is None:
        yield "a move in a match with a clock has no times"
        return
    side = clock.side_of(event.clock_ms, (event.stage, event.periods))
    if event.forced:
        if (side, event.spent_ms) != (running.sides[event.seat], 0):
            yield f"a forced pass cost {event.spent_ms} ms and left {side}"
        return
    passed_ms = running.move_ms + max(0, at_ms - running.since_ms)
    if min(event.spent_ms - running.move_ms, event.lag_ms, event.credit_ms) < 0:
        yield f"negative times: {event.spent_ms}, {event.lag_ms}, {event.credit_ms} ms"
    elif event.spent_ms + event.lag_ms + event.credit_ms > passed_ms:
        yield (
            f"the move took {event.spent_ms} ms, with {event.lag_ms} and {event.credit_ms} ms that"
            f" cost nothing, but {passed_ms} ms had passed"
        )
    spent_ms = event.spent_ms - running.move_ms
    pressed = clock.press(running, spent_ms, not event.goes_on, can_fall)
    if pressed is None:
        yield f"the move took {event.spent_ms} ms, and its side had fallen before"
    elif pressed.side != side:
        yield f"the move left {side}, but {pressed.side} follows from what it took"


def _takeback_faults(running: Clock, event: TookBack, at_ms: int) -> Iterator[str]:
    if event.clocks_ms is None or not 0 <= event.to_ply < len(running.moves):
        yield "moves of a match with a clock are taken back without times"
        return
    turn = running.moves[event.to_ply].seat
    early = clock.take_back(running, event.to_ply, turn, running.since_ms)
    late = clock.take_back(running, event.to_ply, turn, at_ms)
    found = clock.with_times(late, event.clocks_ms, event.stages, event.periods, event.used_ms)
    for seat in range(SEATS):
        least_ms, most_ms = sorted((_worth_ms(early, seat), _worth_ms(late, seat)))
        if not least_ms <= _worth_ms(found, seat) <= most_ms:
            yield f"the takeback left seat {seat} {found.sides[seat]}, not {late.sides[seat]}"


def _end_faults(running: Clock, event: Finished, at_ms: int) -> Iterator[str]:
    if event.clocks_ms is None:
        yield "a match with a clock ends without times"
        return
    for seat, left_ms in enumerate(event.clocks_ms):
        most: SideClock = running.sides[seat]
        least = most
        if seat == running.turn and running.runs and event.how != "board":
            least = clock.sides_at(running, at_ms)[seat]
        if event.how == "flag" and seat == running.turn:
            most = replace(most, left_ms=0)
        # A side that begins a period of overtime has more left than before.
        is_alike = most.stage == least.stage and most.periods == least.periods
        if is_alike and not min(least.left_ms, most.left_ms) <= left_ms <= most.left_ms:
            yield f"seat {seat} ends with {left_ms} ms, and had {most.left_ms}"


def _worth_ms(running: Clock, seat: int) -> int:
    """All the time that a side could use in a turn of its own."""
    turned = replace(running, turn=seat, turn_ms=0, opened=(True, True), held=None)
    return clock.available_ms(turned)
