"""Greedy friends: a small tree with one cut-off, its windows and its intervals."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree(
    """
    max(one: min(one-10: 10, one-50: 50, one-25: 25),
        two: min(two-5: 5, two-2: 2, two-25: 25))
    """,
    "Greedy friends",
)

LESSON = Lesson(
    title="Greedy friends",
    page="""Ask one of two friends for a coin. You want as much as you can get: you are
MAX. A friend gives the smallest coin in the pocket: each friend is MIN. Friend one gives
{pruned[one]}. Friend two shows a 5 first, so you get at most {pruned[two]} there. The other
coins do not matter.""",
    look_for=(
        "The window of friend two after the 5 is (10, 5): empty, so the search stops. A window "
        "says which values would still matter to you.",
        "An interval says what is known: friend two is in (-inf, 5]. In truth it is {plain[two]}.",
    ),
    runs=(
        Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned", "steps"),
        Run("Plain minimax", TREE, Plan("minimax"), "plain", "none"),
    ),
)
