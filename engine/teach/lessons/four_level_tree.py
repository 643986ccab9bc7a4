"""The four-level tree: sixteen leaves, of which alpha-beta searches eight."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree(
    """
    max(A: min(C: max(G: min(G1: 10, G2: 11), H: min(H1: 12, H2: 9)),
               D: max(I: min(I1: 15, I2: 14), J: min(J1: 13, J2: 14))),
        B: min(E: max(K: min(K1: 5, K2: 2), L: min(L1: 4, L2: 1)),
               F: max(M: min(M1: 8, M2: 2), N: min(N1: 7, N2: 1))))
    """,
    "Four-level tree",
)

LESSON = Lesson(
    title="The four-level tree",
    page="""Alpha-beta hands a window down the tree: alpha is what MAX can already be sure
of, beta what MIN can be. A node stops as soon as alpha >= beta, since one of the two would
avoid it.""",
    look_for=(
        "C is {pruned[C]}, so MIN is sure of {pruned[C]} at D. I is {pruned[I]}: J is skipped.",
        "A is {pruned[A]}: alpha below B. E returns {pruned[E]}, a bound; in truth it is "
        "{plain[E]}. F is skipped.",
    ),
    runs=(
        Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned"),
        Run("Plain minimax", TREE, Plan("minimax"), "plain", "none"),
    ),
)
