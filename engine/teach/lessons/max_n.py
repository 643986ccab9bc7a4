"""Several players: everyone against one, or everyone for themselves."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree("p1(a: p2(<0,0,5>, <3,1,0>), b: p3(<2,0,4>, <1,9,9>))", "Three players")

LESSON = Lesson(
    title="Three players",
    page="""With three players each end has three utilities. The cautious rule is minimax
for player 1: all others are against player 1 and take the least for player 1. It plays
{all.plays} and is sure of {all.value}. Max-n assumes that each player wants the most for
themselves. It plays {own.plays} and expects {own.value}.""",
    look_for=(
        "After a, player 2 could hurt player 1 most with <0,0,5>. But player 2 wants 1 rather "
        "than 0, and chooses <3,1,0>.",
        "With two players and one utility the negative of the other, both rules are minimax.",
    ),
    runs=(
        Run("Everyone against player 1", TREE, Plan("paranoid"), "all"),
        Run("Max-n", TREE, Plan("max-n"), "own"),
    ),
    compares=(0, 1),
)
