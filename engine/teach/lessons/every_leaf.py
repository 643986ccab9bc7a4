"""Did we need every leaf? The smallest example: six nodes instead of seven."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree("max(L: min(L1: 12, L2: 10), R: min(R1: 3, R2: 10))", "Did we need every leaf?")

LESSON = Lesson(
    title="Did we need every leaf?",
    page="""MAX has {pruned[L]} from the move L. After the move R, MIN's first reply R1 is
worth {pruned[R1]}. MIN takes that or less, so R is worth at most {pruned[R]}, and MAX plays
L. What is R2 worth? It does not matter: the value of the root is {pruned.value}, whatever
stands there.""",
    look_for=(
        "Put any other number in the place of R2: no number changes the root. Put 12 in the "
        "place of R1, and R2 decides.",
        "A cut-off never changes the value or the move at the root. It only saves work: here "
        "{pruned.nodes} nodes instead of {plain.nodes}.",
    ),
    runs=(
        Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned"),
        Run("Plain minimax", TREE, Plan("minimax"), "plain"),
    ),
)
