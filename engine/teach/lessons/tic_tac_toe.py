"""Tic-tac-toe: the search of a whole game to its end."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

POSITION = AtPosition("tic-tac-toe", ".XX.....O")
TO_THE_END = Plan("alphabeta", evaluator="zero")

LESSON = Lesson(
    title="Tic-tac-toe",
    page="""A finished game is worth 1 to the winner, -1 to the loser and 0 if it is a draw.
Tic-tac-toe is small enough to be searched to the end, so no evaluation is needed. There are 3 to
the 9th power, 19,683, ways to fill nine cells with X, O or nothing, but only 5,478 positions can
occur in a game. A full search from the empty board shows that the game is a draw.""",
    look_for=(
        "A node that finds 1 for MAX continues as long as beta is greater: the search does not "
        "know that 1 is the greatest value.",
        "To search the whole game from the empty board: --game tic-tac-toe --depth end "
        "--evaluator zero --summary",
    ),
    runs=(Run("Three stones on the board", POSITION, TO_THE_END),),
)
