"""The errors of a game: bad arguments of its caller, and defects of its rules file."""


class GameError(Exception):
    """A caller's error about a game; the message says what was expected."""


class UnknownGame(GameError):
    """There is no game of that id."""


class OptionError(GameError):
    """The game has no such option, or the option has no such value."""


class PositionError(GameError):
    """The text is not a position of this game."""


class MalformedMove(GameError):
    """The text is not a move of this game."""


class IllegalMove(GameError):
    """The move is well-formed, but the rules do not allow it here."""


class GameFault(Exception):
    """The rules raised an error: a defect of the game's file, not of the caller."""


class GameHung(GameFault):
    """A rule did not return and was interrupted. This process calls no rule of that game again."""


class RuleInterrupted(BaseException):
    """Ends a rule that does not return; `RulesCall` turns it into GameHung.

    It is not an Exception, so `except Exception` in a rule does not catch it.
    """
