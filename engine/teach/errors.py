"""What can be wrong with what somebody asks of the teaching search; each message says what was
expected.
"""


class TeachError(Exception):
    """Anything that the asker can put right."""


class TreeError(TeachError):
    """The text or JSON is not a tree; where it is known, the message says at which place."""


class UnknownName(TeachError):
    """There is no algorithm, form, order, evaluator or lesson of that name."""


class NotPossible(TeachError):
    """The parts are all right, but not together: negamax for three players, an evaluator without an
    estimate.
    """


class TooLarge(TeachError):
    """The search would look at more nodes, or deeper, than it may."""
