"""One bound: a child receives only its parent's best value, so there are no deep cut-offs."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree("max(A: 10, B: min(C: max(D: min(D1: 5, D2: 7, D3: 9), E: 6)))", "One bound")


LESSON = Lesson(
    title="One bound is not enough",
    page="""The simplest pruning hands down one number: the best value of the parent. MAX
has {full[A]} from A. Deep below B, at D, MIN finds {full[D1]}. With a window D has the
{full[A]} from three plies above and skips its other leaves: a deep cut-off. With one bound
it has only the best value of C, which has none yet.""",
    look_for=(
        "A window takes {full.nodes} nodes, one bound {one.nodes}, plain minimax "
        "{full.plain_nodes}. All find {full.value}.",
    ),
    runs=(
        Run("One bound", TREE, Plan("one-bound"), "one"),
        Run("A window (fail-soft)", TREE, Plan("fail-soft"), "full"),
    ),
    compares=(0, 1),
)
