"""The events that start and end a match."""

from collections.abc import Sequence

from engine.game import Game, Outcome, Position
from server.codes import Code
from server.events import Finished, Occupant, Started, Termination
from server.rooms.clock import SideClock, first_turn_limit_ms, sides_at, start_clock
from server.rooms.model import CommandRejected, Match, MatchResult, Moment, Room
from server.rooms.starts import start_position
from server.rooms.thinking import setting_of_match
from server.time_controls import TimeControl, TimeControlError, format_control, parse_control


def check_control(text: str) -> TimeControl | None:
    """Returns the time control of a command's text; None for no clock. Raises CommandRejected."""
    try:
        return parse_control(text)
    except TimeControlError as error:
        raise CommandRejected(Code.CLOCK_REFUSED, str(error)) from error


def start_event(
    start: Position,
    match_id: str,
    number: int,
    seats: Sequence[Occupant],
    thinking: str,
    control: TimeControl | None = None,
    first_ms: int | None = None,
) -> Started:
    """Returns the event that starts a match at a position, with a clock if there is a control;
    `first_ms` is then the time for each side's first turn, None for that of a public room.
    """
    text, clocks_ms = None, None
    if control is not None:
        text = format_control(control)
        clocks_ms = clocks_of(start_clock(control, start.turn, 0).sides)
    return Started(
        match_id, number, start.text(), start.game.digest, tuple(seats), thinking,
        clock=text, clocks_ms=clocks_ms, first_ms=None if control is None else first_ms,
    )  # fmt: skip


def start_match(room: Room, game: Game, occupants: Sequence[Occupant], moment: Moment) -> Started:
    """Returns the event that starts the room's next match, between these occupants.

    The caller has checked that the game still has the room's options.
    """
    number = 1 if room.match is None else room.match.number + 1
    start = start_position(game, room.options, room.start)
    thinking = setting_of_match(room)
    has_ai = any(occupant.kind == "ai" for occupant in occupants)
    first_ms = first_turn_limit_ms(room.visibility, room.one_screen, has_ai)
    return start_event(start, moment.new_id(), number, occupants, thinking, room.control, first_ms)


def end_match(
    match: Match, winner: int | None, how: Termination, reason: str, at_ms: int
) -> Finished:
    """Returns the event that ends a match at a time; `winner` is a seat or None, `reason` a
    sentence.
    """
    clocks_ms = None if match.clock is None else clocks_of(sides_at(match.clock, at_ms))
    return Finished(match.id, winner, how, reason, clocks_ms=clocks_ms)


def end_on_board(
    match: Match, outcome: Outcome, sides: tuple[SideClock, SideClock] | None
) -> Finished:
    """Returns the event that ends a match by the rules of the game. `sides` are the clocks after
    the last move.
    """
    clocks_ms = None if sides is None else clocks_of(sides)
    return Finished(match.id, outcome.winner, "board", outcome.reason, outcome.points, clocks_ms)


def clocks_of(sides: tuple[SideClock, SideClock]) -> tuple[int, int]:
    """The times that both sides have left, as events have them."""
    return sides[0].left_ms, sides[1].left_ms


def result_of(event: Finished) -> MatchResult:
    """Returns the result that the event gives its match."""
    return MatchResult(
        event.winner, event.how, event.reason, event.points, clocks_ms=event.clocks_ms
    )
