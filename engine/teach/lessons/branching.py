"""Branching: a tree of branching B and depth L has B^L leaves."""

from collections.abc import Mapping
from functools import cache

from engine.rules.registry import load_game
from engine.teach.algorithms.cost import estimated_nodes
from engine.teach.algorithms.explain import Plan
from engine.teach.lessons.lesson import Lesson, Run
from engine.teach.lessons.tic_tac_toe import sizes
from engine.teach.states.state import GameState, Scale
from engine.teach.states.tree import Tree, check_tree, uniform

B, L = 3, 4
TREE = check_tree(Tree(uniform(("max", "min", "max", "min"), B, tuple(range(B**L))), "Branching"))


@cache
def facts() -> Mapping[str, object]:
    """Returns the sizes of the tree, of tic-tac-toe and of chess."""
    chess = GameState.at_root(load_game("chess").start(), Scale())
    levels = {f"chess{depth}": round(estimated_nodes(chess, depth), -2) for depth in (1, 2, 3)}
    long = estimated_nodes(chess, 40)
    return {
        **sizes(),
        "B": B,
        "L": L,
        "leaves": B**L,
        "more": B ** (2 * L),
        "first": len(chess.moves()),
        "second": len(chess.moves()) ** 2,
        "exponent": len(str(int(long))) - 1,
        **levels,
    }


LESSON = Lesson(
    title="Branching: B^L leaves",
    page="""A tree with B moves at every node and L plies has B^L leaves: here {B}^{L} =
{leaves}. Twice as deep it has {more:,}. That is the enemy of every search: it grows
exponentially with the depth. Tic-tac-toe is small: fewer than 3^9 = {filled:,} states,
{states:,} of them reachable. Chess has {first} first moves, {second} positions in the tree
after two plies, and far more than 10^40 nodes: an estimate from random games gives
10^{exponent} for the first 40 plies.""",
    look_for=(
        "Plain minimax takes all {plain.leaves} leaves. Alpha-beta takes {pruned.leaves} in "
        "this order, and {pruned.minimum_leaves} = B^(L/2) + B^(L/2) - 1 in the best one: the "
        "depth of the same effort doubles.",
        "The other answers to the exponent: stop early and evaluate (evaluation), remember "
        "states (shared-states), order the moves (move-order, deepening).",
    ),
    runs=(
        Run("Alpha-beta", TREE, Plan("alphabeta"), "pruned", "none"),
        Run("Plain minimax", TREE, Plan("minimax"), "plain", "none"),
    ),
    facts=facts,
)
