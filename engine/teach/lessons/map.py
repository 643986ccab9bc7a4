"""Design 3: the board maps functions over its moves, into an accumulator."""

from collections.abc import Mapping

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.flat import single_utility
from engine.teach.algorithms.mapping import PLAIN
from engine.teach.lessons.every_leaf import TREE
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.states.board import Board
from engine.teach.states.state import TreeState
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Number

MOVES = parse_tree("max(a: 12, b: min(1, 2), c: 30, d: 3)")


def facts() -> Mapping[str, object]:
    """Returns the calls of a map over four moves, and the best value and its move."""
    board = Board(TreeState.at_root(MOVES))
    root = board.state
    best = PLAIN["max"](PLAIN)
    calls: list[str] = []

    def if_ongoing(move: int) -> Number:
        calls.append("ongoing")
        return single_utility(explain(board.state, Plan("minimax")).value or 0)

    def if_finished(move: int) -> Number:
        calls.append("finished")
        return single_utility(board.state.utility() or 0)

    for move, value in board.map(root.moves(), if_ongoing, if_finished):
        best.take(move, value)
    assert best.move is not None
    return {"calls": ", ".join(calls), "value": best.value, "move": root.name(best.move)}


LESSON = Lesson(
    title="Design 3: map and accumulators",
    page="""The board has a service: map plays each move, calls one function if the game goes
on and another if it is finished, and takes the move back. A status visitor (won, lost, drawn,
ongoing) chooses between the two. For four moves: {calls}. An accumulator takes the
moves with their values and holds the best value and its move: here {value} and {move}. It makes
its own opposite for the next ply, and as an alpha-beta accumulator it knows when it has enough.
The map is lazy: then the rest is never played.""",
    look_for=(
        "After R1 the accumulator of R has enough: alpha {pruned[L]}, beta {pruned[R1]}. R2 is "
        "never played.",
        "The lesson: the walk over the moves is written once, in the board, and what to do there "
        "is an argument. Read algorithms/mapping.py and states/board.py in engine/teach (the "
        "algorithm accumulators).",
    ),
    runs=(
        Run("Accumulators", TREE, Plan("accumulators"), "pruned"),
        Run("Plain minimax", TREE, Plan("minimax", form="map"), "plain", "none"),
    ),
    facts=facts,
)
