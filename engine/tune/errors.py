"""The tuner's error."""


class TuneError(Exception):
    """The game, a file or a number does not fit; the message says what was expected."""
