"""The events that start and end a match."""

from collections.abc import Sequence

from engine.game import Game, Outcome, Position
from server.events import Finished, Occupant, Started, Termination
from server.rooms.model import Match, MatchResult, Moment, Room
from server.rooms.starts import start_position
from server.rooms.thinking import setting_of_match


def start_event(
    start: Position, match_id: str, number: int, seats: Sequence[Occupant], thinking: str
) -> Started:
    """Returns the event that starts a match at a position."""
    return Started(match_id, number, start.text(), start.game.digest, tuple(seats), thinking)


def start_match(room: Room, game: Game, occupants: Sequence[Occupant], moment: Moment) -> Started:
    """Returns the event that starts the room's next match, between these occupants.

    The caller has checked that the game still has the room's options.
    """
    number = 1 if room.match is None else room.match.number + 1
    start = start_position(game, room.options, room.start)
    return start_event(start, moment.new_id(), number, occupants, setting_of_match(room))


def end_match(match: Match, winner: int | None, how: Termination, reason: str) -> Finished:
    """Returns the event that ends a match; `winner` is a seat or None, `reason` a sentence."""
    return Finished(match.id, winner, how, reason)


def end_on_board(match: Match, outcome: Outcome) -> Finished:
    """Returns the event that ends a match by the rules of the game."""
    return Finished(match.id, outcome.winner, "board", outcome.reason, outcome.points)


def result_of(event: Finished) -> MatchResult:
    """Returns the result that the event gives its match."""
    return MatchResult(event.winner, event.how, event.reason, event.points)
