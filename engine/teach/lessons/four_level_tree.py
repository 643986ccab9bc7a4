"""The four-level tree: sixteen leaves, of which alpha-beta searches eight."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree(
    """
    max(A: min(C: max(G: min(G1: 10, G2: 11), H: min(H1: 12, H2: 9)),
               D: max(I: min(I1: 15, I2: 14), J: min(J1: 13, J2: 14))),
        B: min(E: max(K: min(K1: 5, K2: 2), L: min(L1: 4, L2: 3)),
               F: max(M: min(M1: 8, M2: 6), N: min(N1: 7, N2: 1))))
    """,
    "Four-level tree",
)

LESSON = Lesson(
    title="The four-level tree",
    page="""MAX and MIN take turns for four plies, with two moves at every node. Plain minimax
searches all sixteen leaves. Alpha-beta passes a window down the tree: alpha is the value that MAX
can already be sure of, and beta is the same for MIN. A value outside the window cannot reach the
root, because one of the two sides would have avoided this path higher up. So a node stops as soon
as alpha is greater than or equal to beta.""",
    look_for=(
        "C is worth 10, so at D MIN is already sure of 10. I is worth 14, and J is skipped.",
        "A is worth 10, which is alpha below B. K stops after its leaf 5 and L after its leaf 4.",
        "E returns 5, an upper bound. B is worth 5 or less, so F is skipped with all the nodes "
        "below it.",
        "Plain minimax also finds 10 and chooses A, but it visits 31 nodes.",
    ),
    runs=(
        Run("Alpha-beta", TREE, Plan("alphabeta")),
        Run("Plain minimax", TREE, Plan("minimax")),
        Run("Negamax", TREE, Plan("negamax")),
    ),
)
