"""What a search will cost, estimated before it starts.

Knuth's estimate (Estimating the Efficiency of Backtrack Programs, 1975): go down one path at
random; the product of the numbers of moves along it is, on average, the number of nodes of a level.
"""

import math
from dataclasses import replace

from engine.teach.algorithms.explain import Plan
from engine.teach.algorithms.study import MAX_PLY
from engine.teach.errors import TooLarge
from engine.teach.states.evaluators import hashed_index
from engine.teach.states.state import State
from engine.teach.trace import WINDOWED

#: The number of random paths of an estimate.
PATHS = 60
#: The cost of a search is announced above this number of expected nodes.
ANNOUNCED_NODES = 100_000
#: The algorithms whose cost cannot be estimated: they do not search, or stop at the first good end.
UNPREDICTED = ("random", "greedy", "optimistic")
#: The nodes of plain minimax are counted if their estimate is at most this multiple of the limit.
COUNTED_MULTIPLE = 3
#: The algorithms that skip nodes.
PRUNING = tuple(name for name in WINDOWED if name not in UNPREDICTED)
#: The orders that search each move one ply less deep first.
SEARCHED_ORDERS = ("best", "worst")


def estimated_nodes(root: State, depth: float, paths: int = PATHS) -> float:
    """Returns an estimate of the nodes of plain minimax's tree; the same one for the same state."""
    return sum(_path_estimate(root, depth, number) for number in range(paths)) / paths


def _path_estimate(state: State, depth: float, number: int) -> float:
    """The nodes of the tree if all paths were like one random path."""
    nodes = width = 1.0
    for ply in range(int(min(depth, MAX_PLY))):
        moves = state.moves() if state.utility() is None else ()
        if not moves:
            break
        width *= len(moves)
        nodes += width
        state = state.play(moves[hashed_index(f"{number}:{ply}", len(moves))])
    return nodes


def cost_warning(root: State, plan: Plan, depth_name: str = "--depth", paths: int = PATHS) -> str:
    """Returns a sentence about a search that may take long, "" for any other.

    `depth_name` is the name of the depth in the advice, `paths` the number of random paths.

    Raises TooLarge if the search cannot end within its limit of nodes.
    """
    if plan.algorithm in UNPREDICTED or plan.form == "table":
        return ""
    depth = math.inf if plan.depth is None else plan.depth
    plain = estimated_nodes(root, depth, paths)
    prunes = plan.algorithm in PRUNING
    # b^(d/2) leaves with perfect ordering (Knuth and Moore, 1975), b^(3d/4) in a random order
    # (Pearl, 1982).
    least, expected = (plain**0.5, plain**0.75) if prunes else (plain, plain)
    cost = f"plain minimax takes about {_rounded(plain)} nodes"
    if prunes:
        cost += f", alpha-beta {_rounded(least)} to {_rounded(plain)}"
    if least > plan.max_nodes:
        advice = f"{depth_name} {_advice(root, plan, depth)}"
        raise TooLarge(f"{cost}; the limit is {plan.max_nodes:,}: {advice}")
    if plan.order in SEARCHED_ORDERS:
        ordering = estimated_nodes(root, depth - 1, paths)
        expected += ordering
        cost += f", the order {plan.order} up to {_rounded(ordering)}"
    return cost if expected > ANNOUNCED_NODES else ""


def drop_large_count(root: State, plan: Plan) -> Plan:
    """Returns the plan without the count of plain minimax's nodes if there are far too many."""
    depth = math.inf if plan.depth is None else plan.depth
    is_too_large = estimated_nodes(root, depth) > COUNTED_MULTIPLE * plan.plain_limit
    return replace(plan, plain_limit=0) if is_too_large else plan


def _advice(root: State, plan: Plan, depth: float) -> str:
    """The greatest depth whose plain search is within the limit, and its nodes."""
    deepest = 1
    while deepest < min(depth, MAX_PLY) and estimated_nodes(root, deepest + 1) < plan.max_nodes:
        deepest += 1
    return f"{deepest} takes about {_rounded(estimated_nodes(root, deepest))}"


def _rounded(number: float) -> str:
    """A number with two significant digits: 18,000 or 1.2e+20."""
    if number < 1e9:
        digits = max(0, int(math.log10(max(number, 1))) - 1)
        return f"{round(number, -digits):,.0f}"
    return f"{number:.2g}"
