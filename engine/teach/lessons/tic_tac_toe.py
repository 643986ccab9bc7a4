"""Tic-tac-toe: a whole game, searched to its end."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

POSITION = AtPosition("tic-tac-toe", ".XX.....O")
TO_THE_END = Plan("alphabeta", evaluator="zero")

LESSON = Lesson(
    title="Tic-tac-toe",
    page="""A finished game is worth 1 to the winner, -1 to the loser and 0 when it is drawn. Tic-tac-toe is small
enough to be searched to its end, so no evaluation is needed. All its positions number fewer than 3 to the 9th
power, 19,683: many of those cannot come up, and 5,478 can. A full search from the empty board gives a draw.""",
    look_at=(
        "A node that finds 1 for MAX goes on while its beta is above that: nobody told the search that 1 is the most.",
        "The full search from the empty board: --game tic-tac-toe --evaluator zero --summary",
    ),
    runs=(Run("Three stones are on the board", POSITION, TO_THE_END),),
)
