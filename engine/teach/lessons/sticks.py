"""Sticks: the search of a real game that is small enough to follow every step."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

POSITION = AtPosition("sticks", "1-2-0 second")

LESSON = Lesson(
    title="Sticks",
    page="""Of rows of 1, 2 and 3 sticks the opponent has just taken the third. A move
takes sticks from one row (2x1: one from row 2); the player who has to take the last
stick loses. A loss is -1, a win 101, and a guess in between is random; three plies
reach the end here.""",
    look_for=(
        "1x1 loses: the reply 2x1 leaves us the last stick. 2x1 loses too: after the reply 1x1 "
        "the window is empty, and the other reply is skipped. 2x2 wins.",
        "With a fresh window for each root move nothing is skipped: {fresh.nodes} nodes, not "
        "{handed.nodes}.",
    ),
    commands=("The log of the first program: --log classic.",),
    runs=(
        Run(
            "Rows of 1 and 2, our move",
            POSITION,
            Plan("alphabeta", depth=3, evaluator="random"),
            "handed",
            "steps",
        ),
        Run(
            "Fresh windows at the root",
            POSITION,
            Plan("alphabeta", depth=3, evaluator="random", fresh=True),
            "fresh",
            "none",
        ),
    ),
    compares=(0, 1),
)
