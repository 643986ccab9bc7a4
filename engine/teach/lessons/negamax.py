"""Negamax: one rule for both sides."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.every_leaf import TREE
from engine.teach.lessons.lesson import AtPosition, Lesson, Run

STICKS = AtPosition("sticks", "1-2-0 second")

LESSON = Lesson(
    title="Negamax",
    page="""Minimax has two rules: MAX takes the greatest value, MIN the least. But max(a,
b) = -min(-a, -b), so one rule is enough: give every value to the side to move, negate it on
its way up, and always take the greatest. L is worth {plain[L]} to MAX, so {nega[L]} to MIN,
who moves there.""",
    look_for=(
        "Root, choice and nodes are those of minimax: {nega.value}, {nega.plays}, {nega.nodes} "
        "nodes.",
        "Negate the utility, do not swap constants. In the game of sticks a loss is -1 and a "
        "win 101: after 2x2 the opponent has {sticks[2x2]}, not -1, and after 1x1 MIN's win is "
        "worth {sticks[1x1]} to MIN, not 101.",
    ),
    runs=(
        Run("Negamax", TREE, Plan("negamax"), "nega"),
        Run("Minimax", TREE, Plan("minimax"), "plain", "none"),
        Run("Sticks by negamax", STICKS, Plan("negamax", depth=3, evaluator="random"), "sticks"),
    ),
)
