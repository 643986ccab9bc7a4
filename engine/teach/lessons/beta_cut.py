"""Beta cut: the mirror image of the alpha cut."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree("min(A: max(A1: 20, A2: 15), B: max(B1: 25, B2: 10, B3: 5))", "Beta cut")

LESSON = Lesson(
    title="Beta cut",
    page="""MIN holds 20 from its first move. Under the second move MAX is to choose, and its first reply gives 25.
MAX will take 25 or more, so MIN will never make the second move: the other replies are skipped. Beta is the name of
what MIN has for certain, and a cut at a MAX node that MIN's beta causes is a beta cut.""",
    look_at=("B is left with 25 or more: a lower bound this time.",),
    runs=(Run("A beta cut at B", TREE, Plan("alphabeta")),),
)
