"""Generous friends: the mirror image of the greedy friends."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree(
    """
    min(one: max(one-5: 5, one-2: 2, one-25: 25),
        two: max(two-50: 50, two-10: 10, two-20: 20))
    """,
    "Generous friends",
)

LESSON = Lesson(
    title="Generous friends",
    page="""This time you are modest and want to take as little as possible, but your friends
insist on giving you their largest coin. You are MIN at the root, and each friend is MAX. The first
friend gives 25. The second friend shows a 50 first, and will give at least that much. You can get
away with 25, so the other coins do not matter.""",
    look_for=(
        "Everything is mirrored: MIN at the root lowers beta to 25, and the first coin of "
        "friend two raises alpha to 50.",
        "The value of friend two is 50 or more: a lower bound.",
    ),
    runs=(
        Run("Take a coin, with alpha-beta", TREE, Plan("alphabeta")),
        Run("The same by plain minimax", TREE, Plan("minimax")),
    ),
)
