"""Alpha cut: MAX has something for certain, so MIN's node below is given up."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree("max(A: min(A1: 20, A2: 25), B: min(B1: 15, B2: 30, B3: 40))", "Alpha cut")

LESSON = Lesson(
    title="Alpha cut",
    page="""MAX holds 20 from its first move. Under the second move MIN is to choose, and its first reply gives 15.
MIN will choose 15 or less, so MAX will never make the second move: the other replies are skipped. Alpha is the name
of what MAX has for certain, and a cut at a MIN node that MAX's alpha causes is an alpha cut.""",
    look_at=(
        "B is left with 15 or less: not its exact value, but enough to know that it is no match for 20.",
        "The search is fail-soft: B comes back as 15, what it found, and not as 20, what it was asked about.",
    ),
    runs=(Run("An alpha cut at B", TREE, Plan("alphabeta")),),
)
