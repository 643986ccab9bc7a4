"""Greedy friends: a small tree with one cut-off."""

from engine.teach.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.tree_text import parse_tree

TREE = parse_tree(
    """
    max(one: min(one-10: 10, one-50: 50, one-25: 25),
        two: min(two-5: 5, two-20: 20, two-50: 50))
    """,
    "Greedy friends",
)

LESSON = Lesson(
    title="Greedy friends",
    page="""You may ask one of two friends for a coin, and you want as much as you can get. Each
friend is greedy and gives the smallest coin that they have. So you are MAX, and each friend is
MIN. The first friend has coins of 10, 50 and 25, and gives 10. The second friend shows a 5 first.
Whatever else is in that pocket, you will get at most 5 there. You can already have 10 from the
first friend, so you need not look at the other coins.""",
    look_for=(
        "The window of friend two after the first coin: alpha 10, beta 5. It is empty, so the "
        "search stops there.",
        "The interval of friend two's own value: from minus infinity to 5. The interval says "
        "what is known about the node; the window says which values would still matter to you.",
    ),
    runs=(
        Run("Ask for a coin, with alpha-beta", TREE, Plan("alphabeta")),
        Run("The same by plain minimax", TREE, Plan("minimax")),
    ),
)
