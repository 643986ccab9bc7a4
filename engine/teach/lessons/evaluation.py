"""Evaluation: where the search stops before the end, an evaluator estimates the value."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree(
    """
    max(A: [pawn*3 | pawn*2],
        B: [king bishop*2 | king queen],
        C: [king queen | king bishop pawn])
    """,
    "Evaluation",
)
STONES = AtPosition("tic-tac-toe", "XO..X...O")
#: King and two bishops against king and queen.
BOARD = AtPosition("chess", "3qk3/8/8/8/8/8/8/2B1KB2 w - - 0 1")
WEIGHTS = "material:king=10,queen=9,bishop=3"

LESSON = Lesson(
    title="Evaluation",
    page="""Most games are too deep to be searched to the end. Where the search stops, an
evaluator estimates the value of the position. The simplest one counts pieces: ours minus
the opponent's. A better one gives each kind of piece a weight. The search does not change:
the evaluator is a parameter.""",
    look_for=(
        "B is king and two bishops against king and queen: 3 - 2 = {counted[B]} by counting, 16 "
        "- 19 = {weighted[B]} with the weights king 10, queen 9, bishop 3. The same on a real "
        "chess board: {board.value}.",
        "By counting the search plays {counted.plays}, with weights {weighted.plays}.",
        "Random values mean nothing, but the search works in the same way.",
    ),
    runs=(
        Run("Pieces", TREE, Plan("minimax", depth=1, evaluator="material"), "counted"),
        Run("Weighted", TREE, Plan("minimax", depth=1, evaluator=WEIGHTS), "weighted"),
        Run("At random", TREE, Plan("minimax", 1, evaluator="random", seed=1), "random"),
        Run("Chess", BOARD, Plan("minimax", depth=0, evaluator=WEIGHTS), "board", "none"),
        Run(
            "Stones of tic-tac-toe after one ply of X",
            STONES,
            Plan("alphabeta", depth=1, evaluator="material"),
            "stones",
            "none",
        ),
    ),
)
