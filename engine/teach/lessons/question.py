"""A question of a quiz as data for web pages."""

from typing import Literal

from msgspec import Struct

from engine.teach.trace import Number

#: The kind of an answer: yes or no, a number, some of the choices, or one of them.
AnswerKind = Literal["yes_no", "number", "names", "choice"]
Answer = bool | Number | tuple[str, ...] | str


class FigureNode(Struct, frozen=True):
    """A node to draw: its name in answers, the move to it, who chooses there, and its children.

    A leaf has the kind `leaf` and a value; the values of several players are a text.
    """

    name: str
    move: str
    kind: str
    value: Number | str | None
    children: "tuple[FigureNode, ...]"


class QuizQuestion(Struct, frozen=True):
    """A question about a run, asked after `step` steps of it, about the node in `row`.

    The reader sees the hint before an answer and the reason after it. `choices` are the answers
    that the reader may choose from.
    """

    run: int
    step: int
    row: int
    text: str
    kind: AnswerKind
    choices: tuple[str, ...]
    hint: str
    answer: Answer
    reason: str
    #: The whole tree, if the question is about all of it.
    figure: FigureNode | None = None
