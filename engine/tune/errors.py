"""What may be wrong with a tuning that was asked for."""


class TuneError(Exception):
    """The game, a file or a number does not fit; the message says what was expected."""
