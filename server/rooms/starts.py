"""The position from which the matches of a room start."""

from collections.abc import Mapping

from engine.game import Game, OptionError, Position, PositionError
from engine.position_text import read_position
from engine.view import SEATS
from server.codes import Code
from server.rooms.model import CommandRejected


def start_position(game: Game, options: Mapping[str, str], start: str | None) -> Position:
    """Returns the position in which a match starts; None stands for the game's own start.

    Raises OptionError, PositionError and GameFault.
    """
    return game.start(options) if start is None else game.position(start, options)


def check_start(game: Game, options: Mapping[str, str], start: str | None) -> Position:
    """Returns the position in which the matches of a new room start, from a text as people have it.

    Raises CommandRejected, which says what was expected, if the text is not a position of the game
    or the match would be over in it.
    """
    try:
        position = game.start(options) if start is None else read_position(game, start, options)
    except OptionError as error:
        raise CommandRejected(Code.OPTION_UNKNOWN, str(error)) from error
    except PositionError as error:
        raise CommandRejected(Code.POSITION_REFUSED, str(error)) from error
    outcome = position.outcome()
    if start is not None and outcome is not None:
        raise CommandRejected(
            Code.POSITION_REFUSED, f"the match would be over in this position: {outcome.reason}"
        )
    if position.turn not in range(SEATS):
        raise CommandRejected(Code.POSITION_REFUSED, "nobody is to move in this position")
    return position
