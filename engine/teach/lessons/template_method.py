"""Design 1: a template method and a factory, without any test of "MAX or MIN?"."""

from collections.abc import Mapping

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan
from engine.teach.algorithms.polymorphic import SIDES
from engine.teach.algorithms.study import Study, at_depth
from engine.teach.lessons.every_leaf import TREE
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.state import GameState, Scale

#: One stick is left, and the side to move has lost.
LOST = "1-0-0 first"
SCALE = Scale(-1, 50, 101)


def hooks() -> Mapping[str, object]:
    """Returns the results of the hooks of both sides."""
    position = load_game("sticks").position(LOST)
    study = Study(lambda state: 0, lambda study, state, moves, depth: moves, at_depth)
    facts: dict[str, object] = {}
    for seat, kind in enumerate(("max", "min")):
        node = SIDES[kind](study, SIDES, False)
        facts[f"{kind}_worst"] = node.worst_score
        facts[f"{kind}_opposite"] = node.opposite().__name__
        facts[f"{kind}_lost"] = node.finished_score(GameState.at_root(position, SCALE, seat))
    return facts


LESSON = Lesson(
    title="Design 1: a template method",
    page="""A node is an object. One method walks the moves, the same for both sides: the
template method. What differs are hooks. MaxNode begins with the worst score {max_worst},
MinNode with {min_worst}. The factory method of MaxNode makes a {max_opposite}, that of MinNode a
{min_opposite}. In sticks, one stick is left and the side to move has lost: the score of this
finished game is {max_lost} at a MaxNode and {min_lost} at a MinNode. So no line asks "MAX or
MIN?": each object has its own rule.""",
    look_for=(
        "The lesson: where a test of a kind comes back in many places, make it a class. A new "
        "side, such as an opponent who may err, is a new class, and the template stays.",
        "The price: an object for each node. Read engine/teach/algorithms/polymorphic.py (form "
        "nodes); each move gives a new state. Then see two-functions.",
    ),
    runs=(
        Run("The template method", TREE, Plan("alphabeta", form="nodes"), "nodes"),
        Run("One function with tests", TREE, Plan("alphabeta"), "flat", "none"),
    ),
    facts=hooks,
)
