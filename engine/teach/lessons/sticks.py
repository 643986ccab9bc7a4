"""Sticks: a search of a real game, small enough to follow every step."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

POSITION = AtPosition("sticks", "1-2-0 second")

LESSON = Lesson(
    title="Sticks",
    page="""There were rows of 1, 2 and 3 sticks, and the other side has just taken the whole third row. We are to
move. A move takes sticks from one row, and whoever is left with the single last stick has lost. A loss counts -1
and a win 101; where the search had to stop before the end, a number drawn by lot from 0 to 100 would stand for a
guess, but three plies are enough here. A move like 2x1 takes one stick from row 2.""",
    look_at=(
        "1x1: the reply 2x1 leaves us the last stick, -1. MIN has no other move, so 1x1 is worth -1.",
        "2x1: the reply 1x1 leaves us the last stick too: -1. That closes the window; the other reply is skipped.",
        "2x2 leaves the last stick to the other side: 101 at once, and the move to play.",
    ),
    runs=(
        Run(
            "Rows of 1 and 2, we are to move",
            POSITION,
            Plan("alphabeta", depth=3, evaluator="random"),
        ),
        Run(
            "The same by negamax: -101 is no constant, only 101 negated",
            POSITION,
            Plan("negamax", 3, evaluator="random"),
        ),
    ),
)
