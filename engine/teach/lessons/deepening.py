"""Iterative deepening: a shallow search orders the moves of the next, deeper one."""

from collections.abc import Mapping
from functools import cache

from engine.teach.algorithms.deepening import deepen
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Run, root_of

#: The start of Othello.
START = AtPosition("othello", "-" * 27 + "OX------XO" + "-" * 27 + " X")
PLAN = Plan("alphabeta", plain_limit=0)
DEPTH = 5


@cache
def facts() -> Mapping[str, object]:
    """Returns the nodes of each search, and of all together."""
    nodes = [trace.counts.nodes for trace in deepen(root_of(START, PLAN.utilities), PLAN, DEPTH)]
    return {
        "each": ", ".join(map(str, nodes[:-1])),
        "last": nodes[-1],
        "total": sum(nodes),
        "depth": DEPTH,
        "shallow": sum(nodes[:-1]),
    }


LESSON = Lesson(
    title="Iterative deepening",
    page="""Alpha-beta needs the best move first, but to know the best move is why we
search. The way out: search one ply, then two, then three, and try first at each state what
was best there in the search before. In Othello, the searches of 1 to {depth} plies take
{each} and {last} nodes: {total} together. A search of {depth} plies in the order of the
rules takes {direct.nodes}.""",
    look_for=(
        "The shallow searches cost {shallow} nodes and save more than that. The deeper the "
        "search, the smaller is their part.",
        "A clock may stop such a search at any time: the result of the last completed depth "
        "counts.",
        "Chess programs keep the best moves in their transposition table (shared-states).",
    ),
    runs=(
        Run(
            f"Othello, {DEPTH} plies in the order of the rules",
            START,
            Plan("alphabeta", depth=DEPTH, plain_limit=0),
            "direct",
            "none",
        ),
    ),
    facts=facts,
)
