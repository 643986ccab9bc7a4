"""Alpha cut: MAX is sure of a better value, so the search leaves a MIN node early."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree("max(C1: 20, C2: min(D: 15, E: 30, F: 40))", "Alpha cut")

LESSON = Lesson(
    title="Alpha cut",
    page="""MAX's first move C1 is worth {pruned[C1]}. After C2 MIN chooses, and MIN's
first reply D is worth {pruned[D]}. MIN will choose D or a reply that is worth even less, so
C2 is worth at most {pruned[C2]}, and MAX will not play it. The search skips MIN's other
replies. Alpha is the value that MAX can already be sure of. A cut-off at a MIN node because
of MAX's alpha is an alpha cut.""",
    look_for=(
        "C2 returns {pruned[C2]}. That is not its exact value, but it is enough to know that C2 "
        "is worse than {pruned[C1]}.",
        "The search is fail-soft: C2 returns the best value that it found. The search of the "
        "lesson fail-hard returns beta, which D has lowered to the same {pruned[C2]}.",
        "The beta cut is its mirror image: solve it in the lesson beta-cut.",
    ),
    runs=(Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned", "steps"),),
)
