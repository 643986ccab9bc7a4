"""Beta cut: an exercise, the mirror image of the alpha cut."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Figure, Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree("min(C1: 20, C2: max(D: 25, E: 10, F: 5))", "Beta cut")

LESSON = Lesson(
    title="Beta cut: an exercise",
    page="""The alpha cut in a mirror. MIN is at the root and already has 20 from C1.
After C2 MAX chooses. Alpha-beta goes through this tree from the left to the right. Beta is
the value that MIN can already be sure of. Answer on paper first:""",
    look_for=(
        "Which leaves does alpha-beta never see? What does C2 return? Is that its exact value, "
        "at least, or at most its value? What are alpha and beta at C2 when the search leaves "
        "it?",
    ),
    runs=(
        Run("The tree", TREE, Plan("minimax"), "plain", "leaves"),
        Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned", "none"),
    ),
    solution=(
        "MAX's first reply D is worth {pruned[D]}, so C2 is worth {pruned[C2]} or more: a lower "
        "bound. MIN already has {pruned[C1]} and will not play C2. Alpha is {pruned[D]} and "
        "beta {pruned[C1]}: the window is empty. E and F are never seen. This is a beta cut: a "
        "cut-off at a MAX node because of MIN's beta.",
    ),
    commands=("Check your answers with --quiz. The solution: --log steps.",),
    exercise=Figure(
        "Alpha-beta goes through this tree from the left to the right. Complete the figure.",
        run="pruned",
        gaps="C2",
    ),
)
