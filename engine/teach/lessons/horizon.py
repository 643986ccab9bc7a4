"""Horizon effect: a search that stops one ply too early believes in a free pawn."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

#: White's rook can take a pawn that another pawn protects.
POSITION = AtPosition("chess", "k7/1p6/p7/8/8/8/8/R6K w - - 0 1")
WEIGHTS = "material:king=0,rook=5,pawn=1"

LESSON = Lesson(
    title="The horizon effect",
    page="""White's rook on a1 can take the pawn on a6, which the pawn on b7 protects. A
search of one ply stops right after the capture. It sees White ahead by {one.value} and plays
{one.plays}. The loss of the rook lies beyond its horizon. A search of two plies sees that the
recapture leaves White at {two[a1a6]}, and plays {two.plays}.""",
    look_for=(
        "White is ahead by 5 - 2 = 3. Depth 1 promises {one.value}, and depth 2 promises "
        "{two.value}.",
        "More depth moves the horizon, but never removes it: depth 3 promises {three.value} "
        "again, by {three.line}. What is wrong with that?",
        "A better answer: do not stop in the middle of an exchange. See the lesson quiescence.",
    ),
    runs=(
        Run("One ply", POSITION, Plan("minimax", 1, evaluator=WEIGHTS), "one", "none"),
        Run("Two plies", POSITION, Plan("minimax", 2, evaluator=WEIGHTS), "two", "none"),
        Run("Three plies", POSITION, Plan("minimax", 3, evaluator=WEIGHTS), "three", "none"),
    ),
)
