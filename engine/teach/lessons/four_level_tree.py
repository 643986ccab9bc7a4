"""The four-level tree: sixteen leaves, of which alpha-beta looks at eight."""

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
    page="""MAX and MIN take turns for four plies, with two moves at every node. Plain minimax looks at all sixteen
leaves. Alpha-beta carries a window along: alpha is what MAX has for certain on the way here, beta what MIN has. A
value outside the window cannot reach the root, since one of the two would have left the path before. So a node
stops as soon as alpha is not below beta any more.""",
    look_at=(
        "C is worth 10, so at D MIN has 10 for certain; I gives 14, and J is skipped.",
        "A is worth 10. Under B that is alpha: K stops after its 5, L after its 4, each a single leaf.",
        "E comes back as 5, an upper bound. B will be 5 or less: F is skipped with all that is below.",
        "Plain minimax finds 10 and chooses A as well, after 31 nodes.",
    ),
    runs=(
        Run("Alpha-beta", TREE, Plan("alphabeta")),
        Run("Plain minimax", TREE, Plan("minimax")),
        Run("Negamax", TREE, Plan("negamax")),
    ),
)
