"""The first cut-offs: small trees in which a search need not look at every leaf.

The names of the constants are those of the lessons, in the order of a course (`catalogue`). The
other chapters search the trees of this one too.
"""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Figure, Lesson, Run
from engine.teach.states.tree_text import parse_tree

# --- every-leaf

SEVEN_NODES = parse_tree(
    "max(L: min(L1: 12, L2: 10), R: min(R1: 3, R2: 10))", "Did we need every leaf?"
)

EVERY_LEAF = Lesson(
    title="Did we need every leaf?",
    summary="The smallest cut-off: six of seven nodes are enough.",
    page="""MAX has {pruned[L]} from the move L. After the move R, MIN's first reply R1 is
worth {pruned[R1]}. MIN takes that or less, so R is worth at most {pruned[R]}, and MAX plays
L. What is R2 worth? It does not matter: the value of the root is {pruned.value}, whatever
stands there. Alpha-beta is minimax that leaves out what cannot matter.""",
    look_for=(
        "Put any other number in the place of R2: no number changes the root. Put 12 in the "
        "place of R1, and R2 decides.",
        "A cut-off never changes the value or the move at the root. It only saves work: here "
        "{pruned.nodes} nodes instead of {plain.nodes}.",
    ),
    runs=(
        Run("Alpha-beta", SEVEN_NODES, Plan("alphabeta"), "pruned"),
        Run("Plain minimax", SEVEN_NODES, Plan("minimax"), "plain"),
    ),
)

# --- greedy-friends

GREEDY_TREE = parse_tree(
    """
    max(one: min(one-10: 10, one-50: 50, one-25: 25),
        two: min(two-5: 5, two-2: 2, two-25: 25))
    """,
    "Greedy friends",
)

GREEDY_FRIENDS = Lesson(
    title="Greedy friends",
    summary="A small tree with one cut-off, its windows and its intervals.",
    page="""Ask one of two friends for a coin. You want as much as you can get: you are
MAX. A friend gives the smallest coin in the pocket: each friend is MIN. Friend one gives
{pruned[one]}. Friend two shows a 5 first, so you get at most {pruned[two]} there. The other
coins do not matter.""",
    look_for=(
        "The window of friend two after the 5 is (10, 5): empty, so the search stops.",
        "Its interval is (-inf, 5]; in truth it is {plain[two]}. The view Bounds shows both, as "
        "the fifth text does: (10, 5) is empty, the root closes to (10, 10).",
    ),
    runs=(
        Run("Alpha-beta", GREEDY_TREE, Plan("alphabeta"), "pruned", "steps"),
        Run("Plain minimax", GREEDY_TREE, Plan("minimax"), "plain", "none"),
    ),
)

# --- generous-friends

GENEROUS_TREE = parse_tree(
    """
    min(one: max(one-5: 5, one-2: 2, one-25: 25),
        two: max(two-50: 50, two-10: 10, two-20: 20))
    """,
    "Generous friends",
)

GENEROUS_FRIENDS = Lesson(
    title="Generous friends",
    summary="The mirror image of the greedy friends: MIN moves first.",
    page="""Now you are modest and take as little as possible, but your friends insist on
giving you their largest coin. You are MIN at the root, and each friend is MAX. Friend one
gives {pruned[one]}. Friend two shows a 50 first, and gives at least that. You get away with
{pruned.value}.""",
    look_for=(
        "Everything is mirrored: MIN at the root lowers beta to {pruned.value}, and the first "
        "coin of friend two raises alpha to {pruned[two]}. A lower bound: friend two gives "
        "{pruned[two]} or more.",
    ),
    runs=(
        Run("Alpha-beta", GENEROUS_TREE, Plan("alphabeta"), "pruned", "steps"),
        Run("Plain minimax", GENEROUS_TREE, Plan("minimax"), "plain", "none"),
    ),
)

# --- alpha-cut

ALPHA_TREE = parse_tree("max(C1: 20, C2: min(D: 15, E: 30, F: 40))", "Alpha cut")

ALPHA_CUT = Lesson(
    title="Alpha cut",
    summary="MAX is sure of a better value, so the search leaves a MIN node early.",
    page="""MAX's first move C1 is worth {pruned[C1]}. After C2 MIN chooses, and MIN's
first reply D is worth {pruned[D]}. MIN will choose D or a reply that is worth even less, so
C2 is worth at most {pruned[C2]}, and MAX will not play it. The search skips MIN's other
replies. Alpha is the value that MAX can already be sure of. A cut-off at a MIN node because
of MAX's alpha is an alpha cut.""",
    look_for=(
        "C2 returns {pruned[C2]}. That is not its exact value, but it is enough to know that C2 "
        "is worse than {pruned[C1]}.",
        "The search is fail-soft: C2 returns the best value that it found. The search of the "
        'lesson "Fail-hard and fail-soft" returns beta, which D has lowered to the same '
        "{pruned[C2]}.",
        "The beta cut is its mirror image: solve it in the next lesson.",
    ),
    runs=(Run("Alpha-beta", ALPHA_TREE, Plan("alphabeta"), "pruned", "steps"),),
)

# --- beta-cut

BETA_TREE = parse_tree("min(C1: 20, C2: max(D: 25, E: 10, F: 5))", "Beta cut")

BETA_CUT = Lesson(
    title="Beta cut: an exercise",
    summary="An exercise: the mirror image of the alpha cut.",
    page="""The alpha cut in a mirror. MIN is at the root and already has 20 from C1.
After C2 MAX chooses. Alpha-beta goes through this tree from the left to the right. Beta is
the value that MIN can already be sure of. Answer on paper first:""",
    look_for=(
        "Which leaves does alpha-beta never see? What does C2 return? Is that its exact value, "
        "at least, or at most its value? What are alpha and beta at C2 when the search leaves "
        "it?",
    ),
    runs=(
        Run("The tree", BETA_TREE, Plan("minimax"), "plain", "leaves"),
        Run("Alpha-beta", BETA_TREE, Plan("alphabeta"), "pruned", "none"),
    ),
    solution=(
        "MAX's first reply D is worth {pruned[D]}, so C2 is worth {pruned[C2]} or more: a lower "
        "bound. MIN already has {pruned[C1]} and will not play C2. Alpha is {pruned[D]} and "
        "beta {pruned[C1]}: the window is empty. E and F are never seen. This is a beta cut: a "
        "cut-off at a MAX node because of MIN's beta.",
    ),
    commands=("Check your answers with --quiz. The solution: --log steps.",),
    exercise=Figure(
        "Complete the figure.",
        run="pruned",
        gaps="C2",
    ),
)

# --- four-level-tree

FOUR_LEVELS = parse_tree(
    """
    max(A: min(C: max(G: min(G1: 10, G2: 11), H: min(H1: 12, H2: 9)),
               D: max(I: min(I1: 15, I2: 14), J: min(J1: 13, J2: 14))),
        B: min(E: max(K: min(K1: 5, K2: 2), L: min(L1: 4, L2: 1)),
               F: max(M: min(M1: 8, M2: 2), N: min(N1: 7, N2: 1))))
    """,
    "Four-level tree",
)

FOUR_LEVEL_TREE = Lesson(
    title="The four-level tree",
    summary="Sixteen leaves, of which alpha-beta searches eight.",
    page="""Alpha-beta hands a window down the tree: alpha is what MAX can already be sure
of, beta what MIN can be. A node stops as soon as alpha >= beta, since one of the two would
avoid it.""",
    look_for=(
        "C is {pruned[C]}, so MIN is sure of {pruned[C]} at D. I is {pruned[I]}: J is skipped.",
        "A is {pruned[A]}: alpha below B. E returns {pruned[E]}, a bound; in truth it is "
        "{plain[E]}. F is skipped.",
    ),
    runs=(
        Run("Alpha-beta", FOUR_LEVELS, Plan("alphabeta"), "pruned"),
        Run("Plain minimax", FOUR_LEVELS, Plan("minimax"), "plain", "none"),
    ),
)

# --- four-level-argument

FOUR_LEVEL_ARGUMENT = Lesson(
    title="Why nothing below J and F matters",
    summary="The first text's argument, told node by node on the four-level tree.",
    page="""C is {pruned[C]}, so A, a MIN node, is {pruned[C]} or less. I is {pruned[I]}, so D,
a MAX node, is {pruned[I]} or more, whatever J is. A takes the least of C and D: J cannot
lower A below {pruned[C]}, nor raise it. To prune is to leave out a branch that cannot change
the value at the root. Now MAX is sure of {pruned[A]}. Below B, K is {pruned[K]} at most after
its first leaf, L {pruned[L]} at most. So E is at most {pruned[E]}, and B too: whatever F is,
MAX plays A. F and all below it are pruned.""",
    look_for=(
        "Follow it step by step: what is known of D when J is skipped, and of B when F is? The "
        "view Bounds shows both.",
        "E comes back as {pruned[E]} with pruning and as {plain[E]} without. The root is "
        "{pruned.value} either way: a bound is enough to decide.",
    ),
    runs=(
        Run("Alpha-beta", FOUR_LEVELS, Plan("alphabeta"), "pruned", "none"),
        Run("Plain minimax", FOUR_LEVELS, Plan("minimax"), "plain", "none"),
    ),
)
