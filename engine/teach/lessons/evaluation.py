"""Evaluation: where the search has to stop, somebody has to say what the position is worth."""

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
    page="""Most games are too deep to be searched to the end. Where the search stops, an evaluator gives a guess.
The simplest one counts: own pieces minus the opponent's. A better one gives every kind of piece a weight, for a
queen is worth more than a pawn. The search does not care: the evaluator is a parameter. In A we have three pawns
against two; in B a king and two bishops stand against a king and a queen; in C a king and a queen against king,
bishop and pawn.""",
    look_at=(
        "By counting, A is 3 - 2 = 1 and B is 3 - 2 = 1 too; C is 2 - 3 = -1. A is played.",
        "With king 10, queen 9, bishop 3 and 1 for a pawn, B is 16 - 19 = -3, and C is 19 - 14 = 5: now C is played.",
        "Drawn by lot between losing and winning, the values mean nothing, and the search does its work all the same.",
        "The last search counts the stones of tic-tac-toe after one ply of X: 3 - 2 = 1, whatever is played.",
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
        Run("By lot", TREE, Plan("minimax", depth=1, evaluator="random", seed=1)),
        Run("Stones of a game", STONES, Plan("alphabeta", depth=1, evaluator="material")),
    ),
)
