"""The listings of the founding texts as a student types them: an oracle for `/listings`.

Unlike `printed.py`, nothing is corrected but what keeps a listing from running at all. The table
"What the printed listings get wrong" of the contract is the source. A tree is a tuple (kind,
children), a leaf a number; MAX and MIN only. Each function returns the value and the number of
visits; a listing that asks a finished game for its moves raises `NoMoves`. Nothing here is shared
with the program.
"""

import math
from collections.abc import Callable
from typing import Any

Tree = Any
INF = math.inf
#: A value, and how many visits it took.
Answer = tuple[float, int]


class NoMoves(Exception):
    """The listing asks for the moves of a position without moves."""


def is_leaf(tree: Tree) -> bool:
    """Returns whether the game is over."""
    return not isinstance(tree, tuple)


def first_and_rest(tree: Tree) -> tuple[Tree, list[Tree]]:
    """Returns the first successor and the others."""
    if is_leaf(tree):
        raise NoMoves
    return tree[1][0], list(tree[1][1:])


def side_forever(tree: Tree) -> Answer:
    """002: is_max goes down unchanged, so that every level is the root's; so does 004 (12)."""
    if is_leaf(tree):
        return tree, 1
    below = [side_forever(child) for child in tree[1]]
    return max(value for value, _ in below), 1 + sum(visits for _, visits in below)


def alternating_negamax(tree: Tree, sign: int = 1) -> Answer:
    """002: negates at every level, whoever moves there."""
    if is_leaf(tree):
        # A leaf's side is the other one than its parent's, whatever the levels say.
        return sign * tree, 1
    below = []
    for child in tree[1]:
        child_sign = (1 if child[0] == "max" else -1) if not is_leaf(child) else 0
        if child_sign == 0:
            child_sign = -1 if tree[0] == "max" else 1
        below.append(alternating_negamax(child, child_sign))
    return max(-value for value, _ in below), 1 + sum(visits for _, visits in below)


def without_end_test(tree: Tree) -> Answer:
    """004 (23): a final state has no successor, so that its first value stays."""

    def search(node: Tree, alpha: float, beta: float, side: str) -> Answer:
        value = -INF if side == "max" else INF
        visits = 1
        for child in [] if is_leaf(node) else node[1]:
            if alpha >= beta:
                return value, visits
            other = "min" if side == "max" else "max"
            found, count = search(child, alpha, beta, other if is_leaf(child) else child[0])
            visits += count
            if side == "max":
                value = max(value, found)
                alpha = max(alpha, value)
            else:
                value = min(value, found)
                beta = min(beta, value)
        return value, visits

    return search(tree, -INF, INF, tree[0])


def _plain(take: Callable[[Tree, int, list[float]], float]) -> Callable[[Tree, int], Answer]:
    """A listing of 003 without a loop: `take` chooses among the values of the successors."""

    def search(tree: Tree, level: int) -> Answer:
        if level == 0:
            return (tree if is_leaf(tree) else 0), 1
        first, rest = first_and_rest(tree)
        below = [search(child, level - 1) for child in (first, *rest)]
        value = take(tree, level, [value for value, _ in below])
        return value, 1 + sum(visits for _, visits in below)

    return search


#: 003: the parity counts from the bottom.
parity = _plain(lambda _, level, values: max(values) if level % 2 == 0 else min(values))
#: 003: never asks for the end; its sides are right here.
game_over = _plain(lambda tree, _, values: max(values) if tree[0] == "max" else min(values))
#: 003: the mean at the opponent's plies; as typed it lacks an argument, with it it is right.
average = _plain(
    lambda tree, _, values: max(values) if tree[0] == "max" else sum(values) / len(values)
)


def loop(tree: Tree, level: int, bound: float | None = None, *, has_bound: bool = False) -> Answer:
    """003: both conditions search the child again, and an improving one is searched once more."""
    if level == 0:
        return (tree if is_leaf(tree) else 0), 1
    first, rest = first_and_rest(tree)
    best, visits = loop(first, level - 1, None, has_bound=has_bound)
    visits += 1
    is_max = tree[0] == "max"

    def again(child: Tree) -> float:
        nonlocal visits
        value, count = loop(child, level - 1, best if has_bound else None, has_bound=has_bound)
        visits += count
        return value

    for child in rest:
        if again(child) > best and is_max:
            best = again(child)
        if again(child) < best and not is_max:
            best = again(child)
        if has_bound and bound is not None and (best > bound if is_max else best < bound):
            break
    return best, visits
