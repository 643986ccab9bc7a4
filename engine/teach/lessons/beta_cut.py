"""Beta cut: the mirror image of the alpha cut."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree("min(A: max(A1: 20, A2: 15), B: max(B1: 25, B2: 10, B3: 5))", "Beta cut")

LESSON = Lesson(
    title="Beta cut",
    page="""MIN's first move is worth 20. After the second move MAX chooses, and MAX's first reply
is worth 25. MAX will choose that reply or one that is worth even more, so the second move is worth
at least 25, and MIN will not play it. The search skips MAX's other replies. Beta is the value that
MIN can already be sure of. A cut-off at a MAX node because of MIN's beta is called a beta cut.""",
    look_for=("The result of B is 25 or more: this time the value is a lower bound.",),
    runs=(Run("A beta cut at B", TREE, Plan("alphabeta")),),
)
