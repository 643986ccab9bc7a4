"""What makes a search fast: a good order, a memory of states, and shallow searches before it."""

from collections.abc import Mapping
from functools import cache

from engine.teach.algorithms.deepening import deepen
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import AtPosition, Lesson, Ordering, Run, root_of
from engine.teach.lessons.whole_games import EMPTY_BOARD, tic_tac_toe_sizes
from engine.teach.states.graph import sizes_of
from engine.teach.states.graph_text import parse_graph
from engine.teach.states.tree import Tree, check_tree, uniform
from engine.teach.states.tree_text import parse_tree

# --- move-order

LEAVES = tuple(37 * number % 81 for number in range(81))
EIGHTY_ONE_LEAVES = check_tree(Tree(uniform(("max", "min", "max", "min"), 3, LEAVES), "Move order"))
#: A tree in the worst order: nothing is cut off.
UNORDERED = parse_tree(
    "max(A: min(A1: 9, A2: 7, A3: 4), B: min(B1: 9, B2: 6, B3: 5), C: min(C1: 11, C2: 10, C3: 8))",
    "A tree to order",
)

MOVE_ORDER = Lesson(
    title="Move order",
    summary="The same tree and value, but 17, 43 or 77 of its 81 leaves are searched.",
    page="""How much alpha-beta can skip depends on the order in which it searches the
moves: a good first move gives all the other moves a narrow window. With the best move first
at every node, a tree of depth d in which every node has b children takes b^ceil(d/2) +
b^floor(d/2) - 1 leaves, as Knuth and Moore proved. That is about as many as a plain search
of half the depth takes. This tree has three moves at every node and four plies: of its
{best.plain_leaves} leaves, alpha-beta must search at least 9 + 9 - 1 =
{best.minimum_leaves}.""",
    look_for=(
        "The value is {best.value} each time, but the leaves are {best.leaves}, {given.leaves} "
        "or {worst.leaves}.",
        "Finding the best move first takes another search: {best.ordering} nodes, which are "
        "counted separately. Real programs order moves by a shallower search (the lesson "
        '"Iterative deepening"), or by what was good in other positions.',
    ),
    runs=(
        Run("Best move first", EIGHTY_ONE_LEAVES, Plan("alphabeta", order="best"), "best", "none"),
        Run("In the order of the tree", EIGHTY_ONE_LEAVES, Plan("alphabeta"), "given", "none"),
        Run(
            "Worst move first", EIGHTY_ONE_LEAVES, Plan("alphabeta", order="worst"), "worst", "none"
        ),
    ),
    exercise=Ordering(
        "In the first order alpha-beta searches every leaf. Move the branches and the leaves so "
        "that it skips as many leaves as possible.",
        UNORDERED,
    ),
    compares=(0, 2),
)

# --- shared-states

#: Four sticks in a row: a move takes one or two, and the player who takes the last one wins.
FOUR_STICKS = parse_graph(
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
def state_counts() -> Mapping[str, object]:
    """Returns the numbers of states and of transitions."""
    graph = sizes_of(FOUR_STICKS)
    return {
        **tic_tac_toe_sizes(),
        "graph_states": graph.states,
        "transitions": graph.transitions,
        "tree_nodes": graph.tree_nodes,
    }


SHARED_STATES = Lesson(
    title="Shared states and a table",
    summary="Several paths lead to one state; a table searches it once.",
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
        Run("With a table", FOUR_STICKS, Plan("minimax", form="table"), "table"),
        Run("Without", FOUR_STICKS, Plan("minimax"), "plain", "none"),
        Run(
            "Tic-tac-toe with a table",
            EMPTY_BOARD,
            Plan("minimax", evaluator="zero", form="table", plain_limit=0),
            "whole",
            "none",
        ),
    ),
    facts=state_counts,
    is_stored=True,
)

# --- deepening

#: The start of Othello.
OTHELLO_START = AtPosition("othello", "-" * 27 + "OX------XO" + "-" * 27 + " X")
PLAN = Plan("alphabeta", plain_limit=0)
DEPTH = 5


@cache
def deepening_nodes() -> Mapping[str, object]:
    """Returns the nodes of each search, and of all together."""
    nodes = [
        trace.counts.nodes for trace in deepen(root_of(OTHELLO_START, PLAN.utilities), PLAN, DEPTH)
    ]
    return {
        "each": ", ".join(map(str, nodes[:-1])),
        "last": nodes[-1],
        "total": sum(nodes),
        "depth": DEPTH,
        "shallow": sum(nodes[:-1]),
    }


DEEPENING = Lesson(
    title="Iterative deepening",
    summary="A shallow search orders the moves of the next, deeper one.",
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
            OTHELLO_START,
            Plan("alphabeta", depth=DEPTH, plain_limit=0),
            "direct",
            "none",
        ),
    ),
    facts=deepening_nodes,
    is_stored=True,
)
