"""Move order: the same tree and the same value, but 17, 43 or 77 of its 81 leaves are searched."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Ordering, Run
from engine.teach.states.tree import Tree, check_tree, uniform
from engine.teach.states.tree_text import parse_tree

LEAVES = tuple(37 * number % 81 for number in range(81))
TREE = check_tree(Tree(uniform(("max", "min", "max", "min"), 3, LEAVES), "Move order"))
#: A tree in the worst order: nothing is cut off.
UNORDERED = parse_tree(
    "max(A: min(A1: 9, A2: 7, A3: 4), B: min(B1: 9, B2: 6, B3: 5), C: min(C1: 11, C2: 10, C3: 8))",
    "A tree to order",
)

LESSON = Lesson(
    title="Move order",
    page="""How much alpha-beta can skip depends on the order in which it searches the
moves: a good first move gives all the other moves a narrow window. With the best move first
at every node, a tree of depth d in which every node has b children takes b^ceil(d/2) +
b^floor(d/2) - 1 leaves, as Knuth and Moore proved. That is about as many as a plain search
of half the depth takes. This tree has three moves at every node and four plies: of its
{best.plain_leaves} leaves, alpha-beta must search at least 9 + 9 - 1 =
{best.minimum_leaves}.""",
    look_for=(
        "The value is {best.value} each time, but the leaves are {best.leaves}, {given.leaves} "
        "or {worst.leaves}.",
        "Finding the best move first takes another search: {best.ordering} nodes, which are "
        "counted separately. Real programs order moves by a shallower search (deepening), or by "
        "what was good in other positions.",
    ),
    runs=(
        Run("Best move first", TREE, Plan("alphabeta", order="best"), "best", "none"),
        Run("In the order of the tree", TREE, Plan("alphabeta"), "given", "none"),
        Run("Worst move first", TREE, Plan("alphabeta", order="worst"), "worst", "none"),
    ),
    exercise=Ordering(
        "In this order alpha-beta searches every leaf. Move the branches and the leaves so that "
        "it skips as many leaves as possible.",
        UNORDERED,
    ),
    compares=(0, 2),
)
