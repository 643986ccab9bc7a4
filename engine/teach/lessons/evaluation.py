"""Evaluation: where the search stops before the end, an evaluator estimates the value."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree(
    """
    max(A: [pawn*3 | pawn*2],
        B: [king bishop*2 | king queen],
        C: [king queen | king bishop pawn])
    """,
    "Evaluation",
)
STONES = AtPosition("tic-tac-toe", "XO..X...O")

LESSON = Lesson(
    title="Evaluation",
    page="""Most games are too deep to be searched to the end. Where the search stops, an evaluator
estimates the value of the position. The simplest evaluator counts pieces: one's own minus the
opponent's. A better one gives each kind of piece a weight, because a queen is worth more than a
pawn. The search itself does not change: the evaluator is a parameter. In A we have three pawns
against two. In B we have a king and two bishops against a king and a queen. In C we have a king
and a queen against a king, a bishop and a pawn.""",
    look_for=(
        "By counting, A is 3 - 2 = 1, B is 3 - 2 = 1 too, and C is 2 - 3 = -1. The search plays "
        "A, the first of the best moves.",
        "With weights of 10 for the king, 9 for the queen, 3 for a bishop and 1 for a pawn, B "
        "is 16 - 19 = -3 and C is 19 - 14 = 5. Now the search plays C.",
        "Random values between a loss and a win mean nothing, but the search works in the same "
        "way.",
        "The last search counts the stones of tic-tac-toe after one ply of X: 3 - 2 = 1, "
        "whatever X plays.",
    ),
    runs=(
        Run(
            "Own pieces minus the opponent's", TREE, Plan("minimax", depth=1, evaluator="material")
        ),
        Run(
            "The same, weighted",
            TREE,
            Plan("minimax", depth=1, evaluator="material:king=10,queen=9,bishop=3"),
        ),
        Run("At random", TREE, Plan("minimax", depth=1, evaluator="random", seed=1)),
        Run("Stones of a game", STONES, Plan("alphabeta", depth=1, evaluator="material")),
    ),
)
