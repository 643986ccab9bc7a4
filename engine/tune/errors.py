"""The error that a user of the tuner can correct."""


class TuneError(Exception):
    """The game, a file or a number is unsuitable; the message says what was expected."""
