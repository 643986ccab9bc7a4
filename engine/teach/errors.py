"""The errors that a caller of the teaching search can correct.

Each message says what was expected.
"""


class TeachError(Exception):
    """The base of all errors that the caller can correct."""


class TreeError(TeachError):
    """The text or JSON is not a tree or a graph.

    `line` and `column` say where, from 1, if that is known; so does the message.
    """

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem if line is None else f"line {line}, column {column}: {problem}")
        self.line = line
        self.column = column


class UnknownName(TeachError):
    """No algorithm, form, order, evaluator or lesson has that name."""


class NotPossible(TeachError):
    """Each part is valid, but not the combination.

    Examples: negamax for three players, or the evaluator `estimate` at a node without an estimate.
    """


class TooLarge(TeachError):
    """The search exceeds its limit of nodes or of plies."""
