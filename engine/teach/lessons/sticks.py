"""Sticks: the search of a real game that is small enough to follow every step."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

POSITION = AtPosition("sticks", "1-2-0 second")

LESSON = Lesson(
    title="Sticks",
    page="""There were rows of 1, 2 and 3 sticks, and the opponent has just taken the whole third
row. It is our turn. A move takes one or more sticks from one row, and the player who is left with
the last stick loses. A loss is worth -1 and a win 101. Where the search stops before the end, a
random number from 0 to 100 serves as a guess, but here three plies reach the end. A move such as
2x1 takes one stick from row 2.""",
    look_for=(
        "1x1: the reply 2x1 leaves us with the last stick, which is worth -1. MIN has no other "
        "move, so 1x1 is worth -1.",
        "2x1: the reply 1x1 also leaves us with the last stick: -1. The window is empty now, so "
        "the search skips the other reply.",
        "2x2 leaves the opponent with the last stick. It is worth 101 at once, and the search "
        "plays it.",
    ),
    runs=(
        Run(
            "Rows of 1 and 2, our move",
            POSITION,
            Plan("alphabeta", depth=3, evaluator="random"),
        ),
        Run(
            "The same by negamax: -101 is just 101 negated",
            POSITION,
            Plan("negamax", 3, evaluator="random"),
        ),
    ),
)
