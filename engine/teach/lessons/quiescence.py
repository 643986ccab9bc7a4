"""Quiescence: the search stops only where nothing can be captured."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.horizon import POSITION, WEIGHTS
from engine.teach.lessons.lesson import Lesson, Run

LESSON = Lesson(
    title="Quiescence",
    page="""The position of the lesson horizon: the rook may take a protected pawn. This
search, too, has depth 1, but another cut-off rule: it stops only where no move captures a
piece. After the capture on a6 it looks at the recapture, and the rook is lost:
{quiet[a1a6]}. It plays {quiet.plays}, like a search of two plies, but visits {quiet.nodes}
nodes instead of {two.nodes}.""",
    look_for=(
        "Depth 1 alone takes {one.nodes} nodes and plays {one.plays}: {quiet.nodes} were enough "
        "to see better.",
        "The cut-off rule is a parameter like the evaluator: it is called quiet. Beyond its "
        "depth it still tries all moves; a chess program tries captures only, and lets a side "
        "stand pat.",
    ),
    runs=(
        Run("Depth 1", POSITION, Plan("minimax", 1, evaluator=WEIGHTS), "one", "none"),
        Run(
            "Depth 1, quiet",
            POSITION,
            Plan("minimax", 1, evaluator=WEIGHTS, cut_off="quiet"),
            "quiet",
            "none",
        ),
        Run("Depth 2", POSITION, Plan("minimax", 2, evaluator=WEIGHTS), "two", "none"),
    ),
    compares=(0, 1),
)
