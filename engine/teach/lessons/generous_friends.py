"""Generous friends: the greedy ones the other way round."""

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
    page="""Now you are modest and want to take as little as possible, but your friends insist on the largest coin
they have. You are MIN at the root, each friend is MAX. The first gives 25. The second shows a 50 first: it will be
50 at least, more than you need accept, and the other coins do not matter.""",
    look_at=(
        "Everything is mirrored: MIN at the root lowers beta to 25, the first coin of friend two raises alpha to 50.",
        "The value of friend two is 50 or more: a lower bound.",
    ),
    runs=(
        Run("Take a coin, with alpha-beta", TREE, Plan("alphabeta")),
        Run("By plain minimax", TREE, Plan("minimax")),
    ),
)
