"""Average min-max: an opponent who may err."""

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.tree_text import parse_tree

TREE = parse_tree("max(safe: min(3, 2, 4), trap: min(1, 12, 8))", "Average min-max")
POSITION = AtPosition("tic-tac-toe", ".XX.....O")

LESSON = Lesson(
    title="Average min-max",
    page="""Minimax expects the best opponent. What if the opponent may err? Average
min-max takes the best move at our plies, and the arithmetic mean of the replies at the
opponent's. In this tree minimax plays {plain.plays}, for {plain.value} at least. The mean
of the replies to the trap is {mean[trap]}, so the average plays {mean.plays}: one reply
refutes it, but two do not.""",
    look_for=(
        "A mean needs every value: a node with a mean is never cut off.",
        "In tic-tac-toe (.XX/.../..O with O to move) the average is 13/15 = {game.value}, "
        "minimax {exact.value}: O is lost against the best play, but X may err.",
        "It is the persona average of an AI seat.",
    ),
    runs=(
        Run("Average", TREE, Plan("average"), "mean"),
        Run("Minimax", TREE, Plan("minimax"), "plain"),
        Run("Tic-tac-toe, average", POSITION, Plan("average", evaluator="zero"), "game", "none"),
        Run("Tic-tac-toe, minimax", POSITION, Plan("minimax", evaluator="zero"), "exact", "none"),
    ),
    compares=(0, 1),
)
