"""Shared states: a state machine as a graph, searched with and without remembering states."""

from collections.abc import Mapping
from functools import cache

from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.lessons.tic_tac_toe import START, sizes
from engine.teach.states.graph import sizes_of
from engine.teach.states.graph_text import parse_graph

#: Four sticks in a row: a move takes one or two, and the player who takes the last one wins.
GRAPH = parse_graph(
    """
    four:    max(take-1: three, take-2: two-min)
    three:   min(take-1: two-max, take-2: one-max)
    two-min: min(take-1: one-max, take-2: lost)
    two-max: max(take-1: one-min, take-2: won)
    one-max: max(take-1: won)
    one-min: min(take-1: lost)
    won: 1
    lost: -1
    """,
    "Four sticks",
)


@cache
def facts() -> Mapping[str, object]:
    """Returns the numbers of states and of transitions."""
    graph = sizes_of(GRAPH)
    return {
        **sizes(),
        "graph_states": graph.states,
        "transitions": graph.transitions,
        "tree_nodes": graph.tree_nodes,
    }


LESSON = Lesson(
    title="Shared states and a table",
    page="""A row of four sticks; a move takes one or two; the player who takes the last one
wins. As a state machine this game has {graph_states} states and {transitions} transitions: several
paths lead to the same state. Without a memory a search sees the tree of all paths,
{tree_nodes} nodes. With a table it remembers the value of each state: {table.nodes} nodes,
{table.recalled} of them answered by the table.""",
    look_for=(
        "Tic-tac-toe has {states:,} states, but a tree of {paths:,} nodes. With a table minimax "
        "visits {whole.nodes:,}; the table answers {whole.recalled:,} of them.",
        "A chess program's transposition table is the same idea.",
    ),
    runs=(
        Run("With a table", GRAPH, Plan("minimax", form="table"), "table"),
        Run("Without", GRAPH, Plan("minimax"), "plain", "none"),
        Run(
            "Tic-tac-toe with a table",
            START,
            Plan("minimax", evaluator="zero", form="table", plain_limit=0),
            "whole",
            "none",
        ),
    ),
    facts=facts,
)
