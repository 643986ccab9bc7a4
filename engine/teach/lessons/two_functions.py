"""Design 2: a pair of functions, one for MAX and one for MIN."""

import difflib
import inspect
from collections.abc import Mapping

from engine.teach.algorithms import pair
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.four_level_tree import TREE
from engine.teach.lessons.lesson import Lesson, Run


def likeness() -> Mapping[str, object]:
    """Returns the number of lines of one function, and how many differ in the other."""
    ours, theirs = (
        inspect.getsource(side).splitlines() for side in (pair.max_value, pair.min_value)
    )
    blocks = difflib.SequenceMatcher(None, ours, theirs).get_matching_blocks()
    return {"lines": len(ours), "differ": len(ours) - sum(block.size for block in blocks)}


LESSON = Lesson(
    title="Design 2: two functions",
    page="""No objects: max_value and min_value are two functions that call each other. Each
has one side, so there is nothing to ask and nothing to make. It trades flexibility for speed
in the inner loop. The price: everything is written twice. Of the {lines} lines of max_value,
{differ} differ in min_value: a greater sign, a bound, a name. A change of one function is a
change of the other, too.""",
    look_for=(
        "Both play on one board and take back: board.play(move), the value of the board, "
        "board.take_back(). A take-back that is forgotten spoils all that follows. In the "
        "template method each move gives a new state, and nothing can be forgotten.",
        "The visits are those of every other form: {pair.nodes} and {flat.nodes} nodes. Read "
        "engine/teach/algorithms/pair.py and board.py (form pair). Then see map.",
    ),
    runs=(
        Run("Two functions", TREE, Plan("alphabeta", form="pair"), "pair", "none"),
        Run("One function with tests", TREE, Plan("alphabeta"), "flat", "none"),
    ),
    facts=likeness,
)
