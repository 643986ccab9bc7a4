"""Alpha cut: MAX is sure of a better value, so the search leaves a MIN node early."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree("max(A: min(A1: 20, A2: 25), B: min(B1: 15, B2: 30, B3: 40))", "Alpha cut")

LESSON = Lesson(
    title="Alpha cut",
    page="""MAX's first move is worth 20. After the second move MIN chooses, and MIN's first
reply is worth 15. MIN will choose that reply or one that is worth even less, so the second move
is worth at most 15, and MAX will not play it. The search skips MIN's other replies. Alpha is
the value that MAX can already be sure of. A cut-off at a MIN node because of MAX's alpha is
called an alpha cut.""",
    look_for=(
        "The result of B is 15 or less. That is not its exact value, but it is enough to know that "
        "B is worse than 20.",
        "The search is fail-soft: B returns 15, the best value that it found. A fail-hard "
        "search would return 20, the bound of its window.",
    ),
    runs=(Run("An alpha cut at B", TREE, Plan("alphabeta")),),
)
