"""The position from which the matches of a room start."""

from collections.abc import Mapping

from engine.formats.read.positions import PositionReading, read_position
from engine.game import Game, OptionError, Position, PositionError
from engine.view import SEATS
from server.codes import Code
from server.rooms.model import CommandRejected


def start_position(game: Game, options: Mapping[str, str], start: str | None) -> Position:
    """Returns the position in which a match starts; None stands for the game's own start.

    Raises OptionError, PositionError and GameFault.
    """
    return game.start(options) if start is None else game.position(start, options)


def check_start(game: Game, options: Mapping[str, str], start: str | None) -> Position:
    """Returns the position in which the matches of a new room start, as `read_start` does."""
    return read_start(game, options, start).position


def read_start(game: Game, options: Mapping[str, str], start: str | None) -> PositionReading:
    """Returns the start position of a text as people have it, and what was put right in the text.

    Raises CommandRejected, which says what was expected, if the text is not a position of the game
    or the match would be over in it.
    """
    try:
        reading = (
            PositionReading(game.start(options))
            if start is None
            else read_position(game, start, options)
        )
    except OptionError as error:
        raise CommandRejected(Code.OPTION_UNKNOWN, str(error)) from error
    except PositionError as error:
        raise CommandRejected(Code.POSITION_REFUSED, str(error)) from error
    outcome = reading.position.outcome()
    if start is not None and outcome is not None:
        raise CommandRejected(
            Code.POSITION_REFUSED, f"the match would be over in this position: {outcome.reason}"
        )
    if reading.position.turn not in range(SEATS):
        raise CommandRejected(Code.POSITION_REFUSED, "nobody is to move in this position")
    return reading
