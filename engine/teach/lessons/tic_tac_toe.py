"""Tic-tac-toe: the search of a whole game to its end."""

from collections.abc import Mapping
from functools import cache

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run
from engine.teach.states.graph import graph_of, sizes_of
from engine.teach.states.state import GameState, Scale

POSITION = AtPosition("tic-tac-toe", ".XX.....O")
START = AtPosition("tic-tac-toe", ".........")
TO_THE_END = Plan("alphabeta", evaluator="zero")


@cache
def sizes() -> Mapping[str, object]:
    """Returns the numbers of states and of nodes."""
    graph = graph_of(GameState.at_root(load_game("tic-tac-toe").start(), Scale()))
    graph_sizes = sizes_of(graph)
    return {"filled": 3**9, "states": graph_sizes.states, "paths": graph_sizes.tree_nodes}


LESSON = Lesson(
    title="Tic-tac-toe to the end",
    page="""A finished game is worth 1 to the winner, -1 to the loser and 0 if it is a
draw. Tic-tac-toe is small enough to be searched to the end, so no evaluation is needed.
Nine cells can be filled with X, O or nothing in 3^9 = {filled:,} ways; {states:,} of these
states occur in a game. The full search from the empty board finds {whole.value}: with the
best moves of both sides the game is a draw. It visits {whole.nodes:,} nodes,
{whole.leaves:,} of them leaves; plain minimax visits {paths:,}.""",
    look_for=(
        "A node that finds 1 for MAX goes on as long as beta is greater: the search does not "
        "know that 1 is the greatest value.",
    ),
    commands=(
        "How many states are there after d plies? --game tic-tac-toe --states --depth d",
        "Watch the end of a game step by step: --game tic-tac-toe --position .XX.....O --depth "
        "end --evaluator zero --step",
    ),
    runs=(
        Run("From the empty board", START, TO_THE_END, "whole", "none"),
        Run("With three stones on the board (.XX.....O)", POSITION, TO_THE_END, "six", "none"),
    ),
    facts=sizes,
)
