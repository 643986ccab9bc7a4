"""Generous friends: the mirror image of the greedy friends."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree(
    """
    min(one: max(one-5: 5, one-2: 2, one-25: 25),
        two: max(two-50: 50, two-10: 10, two-20: 20))
    """,
    "Generous friends",
)

LESSON = Lesson(
    title="Generous friends",
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
        Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned", "steps"),
        Run("Plain minimax", TREE, Plan("minimax"), "plain", "none"),
    ),
)
