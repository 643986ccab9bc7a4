"""The pseudo-code of the five founding texts: an independent oracle for `engine.teach`.

It is what runs after exactly the corrections that the texts need: a side belongs to a position and
not to a depth, the end is asked for first, and a value is computed once and kept.

A tree is a tuple (kind, estimate, children); a leaf is a number, or a tuple with a number for each
player. H0, in the texts, is the estimate. Each function appends to a log the nodes that it visits:
the path, the window and the value, in the order of entry. Nothing here is shared with the program.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

#: A leaf or an inner node (see the module's docstring).
Tree = Any
#: A utility, which comes from a tree and so has no type of its own here.
Number = Any
INF = math.inf


@dataclass
class Visit:
    """A visited node: the path of move numbers, the window at its entry, and its value."""

    path: tuple[int, ...]
    alpha: float
    beta: float
    value: Any = None


@dataclass
class Log:
    """The visits of a search, in the order of entry."""

    visits: list[Visit] = field(default_factory=list)

    def enter(self, path: tuple[int, ...], alpha: float = -INF, beta: float = INF) -> Visit:
        """Adds a visit."""
        self.visits.append(Visit(path, alpha, beta))
        return self.visits[-1]


def is_leaf(tree: Tree) -> bool:
    """Returns whether the tree is a leaf, where the game is over."""
    return not (isinstance(tree, tuple) and isinstance(tree[0], str))


def stop_value(tree: Tree, depth: float) -> Any:
    """Returns the utility of an end, H0 where the depth is used up, and otherwise None."""
    if is_leaf(tree):
        return tree
    return tree[1] if depth == 0 else None


def moves(tree: Tree) -> Sequence[tuple[int, Tree]]:
    """Returns the moves with their successors."""
    return list(enumerate(tree[2], 1))


# --- all texts: minimax


def minimax(tree: Tree, depth: float, log: Log, path: tuple[int, ...] = ()) -> Any:
    """Returns the utility at an end, H0 where the depth is used up, max for MAX, min for MIN."""
    visit = log.enter(path)
    visit.value = stop_value(tree, depth)
    if visit.value is None:
        values = [minimax(child, depth - 1, log, (*path, i)) for i, child in moves(tree)]
        visit.value = max(values) if tree[0] == "max" else min(values)
    return visit.value


# --- 000: two classes in one hierarchy, and the pair of static methods


class MaxSide:
    """The MAX node of the first text; it returns its alpha."""

    def __init__(self, alpha: float, beta: float) -> None:
        self.alpha, self.beta = alpha, beta

    def opposite(self) -> "MinSide":
        """Makes the node of the other side."""
        return MinSide(self.alpha, self.beta)

    def same(self) -> "MaxSide":
        """Makes a node of this side."""
        return MaxSide(self.alpha, self.beta)

    def process(self, value: float) -> None:
        """Takes a scored move."""
        if value > self.alpha:
            self.alpha = value

    def score(self) -> Number:
        """Returns the final score."""
        return self.alpha


class MinSide:
    """The MIN node of the first text; it returns its beta."""

    def __init__(self, alpha: float, beta: float) -> None:
        self.alpha, self.beta = alpha, beta

    def opposite(self) -> MaxSide:
        """Makes the node of the other side."""
        return MaxSide(self.alpha, self.beta)

    def same(self) -> "MinSide":
        """Makes a node of this side."""
        return MinSide(self.alpha, self.beta)

    def process(self, value: float) -> None:
        """Takes a scored move."""
        if value < self.beta:
            self.beta = value

    def score(self) -> Number:
        """Returns the final score."""
        return self.beta


def fail_hard(tree: Tree, depth: float, log: Log, fresh: bool = False) -> Number:
    """Alpha-beta as 000 prints it: a node tests its window after each move and returns its bound.

    With `fresh` each root move is searched with the full window.
    """

    def search(node: Tree, side: MaxSide | MinSide, left: float, path: tuple[int, ...]) -> Number:
        visit = log.enter(path, side.alpha, side.beta)
        visit.value = stop_value(node, left)
        if visit.value is not None:
            return visit.value
        for i, child in moves(node):
            is_other_side = not is_leaf(child) and child[0] != node[0]
            below = side.opposite() if is_other_side or is_leaf(child) else side.same()
            if fresh and path == ():
                below.alpha, below.beta = -INF, INF
            side.process(search(child, below, left - 1, (*path, i)))
            if side.alpha >= side.beta:
                break
        visit.value = side.score()
        return visit.value

    root = MinSide(-INF, INF) if not is_leaf(tree) and tree[0] == "min" else MaxSide(-INF, INF)
    return search(tree, root, depth, ())


def pair(tree: Tree, depth: float, log: Log) -> Number:
    """Two static functions: one maximises and raises alpha, the other minimises and lowers beta."""

    def highest(
        node: Tree, alpha: float, beta: float, left: float, path: tuple[int, ...]
    ) -> Number:
        visit = log.enter(path, alpha, beta)
        visit.value = stop_value(node, left)
        if visit.value is None:
            best = -INF
            for i, child in moves(node):
                best = max(best, choose(child)(child, alpha, beta, left - 1, (*path, i)))
                alpha = max(alpha, best)
                if alpha >= beta:
                    break
            visit.value = best
        return visit.value

    def lowest(node: Tree, alpha: float, beta: float, left: float, path: tuple[int, ...]) -> Number:
        visit = log.enter(path, alpha, beta)
        visit.value = stop_value(node, left)
        if visit.value is None:
            best = INF
            for i, child in moves(node):
                best = min(best, choose(child)(child, alpha, beta, left - 1, (*path, i)))
                beta = min(beta, best)
                if alpha >= beta:
                    break
            visit.value = best
        return visit.value

    def choose(node: Tree) -> Callable[..., Number]:
        return lowest if not is_leaf(node) and node[0] == "min" else highest

    return choose(tree)(tree, -INF, INF, depth, ())


# --- 001: a map over the moves with accumulators


class BestMove:
    """An alpha-beta accumulator: the best value and its move, in a window."""

    def __init__(self, is_max: bool, alpha: float, beta: float) -> None:
        self.is_max, self.alpha, self.beta = is_max, alpha, beta
        self.best: tuple[int, float] | None = None

    def opposite(self) -> "BestMove":
        """Makes the accumulator of the other side."""
        return BestMove(not self.is_max, self.alpha, self.beta)

    def same(self) -> "BestMove":
        """Makes another accumulator of this side."""
        return BestMove(self.is_max, self.alpha, self.beta)

    def put(self, move: int, value: float) -> None:
        """Takes a move and its value."""
        if self.best is None or (value > self.best[1] if self.is_max else value < self.best[1]):
            self.best = move, value
        if self.is_max:
            self.alpha = max(self.alpha, value)
        else:
            self.beta = min(self.beta, value)

    def has_enough(self) -> bool:
        """Returns whether no further move can matter."""
        return self.alpha >= self.beta


def accumulators(tree: Tree, depth: float, log: Log) -> tuple[Number, int | None]:
    """Returns the value and the move in the root's accumulator."""

    def fill(
        node: Tree, accumulator: BestMove, left: float, path: tuple[int, ...]
    ) -> tuple[Number, int | None]:
        visit = log.enter(path, accumulator.alpha, accumulator.beta)
        visit.value = stop_value(node, left)
        if visit.value is not None:
            return visit.value, None
        for i, child in moves(node):
            is_same_side = not is_leaf(child) and child[0] == node[0]
            below = accumulator.same() if is_same_side else accumulator.opposite()
            accumulator.put(i, fill(child, below, left - 1, (*path, i))[0])
            if accumulator.has_enough():
                break
        assert accumulator.best is not None
        move, visit.value = accumulator.best
        return visit.value, move

    is_max = is_leaf(tree) or tree[0] == "max"
    return fill(tree, BestMove(is_max, -INF, INF), depth, ())


def parent_bound(tree: Tree, depth: float, log: Log) -> Number:
    """The prose of 001: MIN stops where a child's value is at most the parent's bound, MAX where it
    is at least that. The bound is the best value of a parent of the other side so far.
    """

    def search(
        node: Tree, left: float, bound: float | None, path: tuple[int, ...], is_min: bool
    ) -> Number:
        window = (-INF, INF) if bound is None else (bound, INF) if is_min else (-INF, bound)
        visit = log.enter(path, *window)
        visit.value = stop_value(node, left)
        if visit.value is not None:
            return visit.value
        found: list[Number] = []
        choice = max if node[0] == "max" else min
        for i, child in moves(node):
            is_other = is_leaf(child) or child[0] != node[0]
            best = choice(found) if found and is_other else None
            value = search(child, left - 1, best, (*path, i), node[0] == "max")
            found.append(value)
            if bound is not None and (value >= bound if node[0] == "max" else value <= bound):
                break
        visit.value = choice(found)
        return visit.value

    return search(tree, depth, None, (), False)


# --- 002: negamax, and pruning where alpha is larger than beta


def negamax(tree: Tree, depth: float, log: Log, path: tuple[int, ...] = ()) -> Number:
    """Returns the score of the side to move: max(a, b) = -min(-a, -b). The sides alternate."""
    visit = log.enter(path)
    side = 1 if len(path) % 2 == 0 else -1
    stop = stop_value(tree, depth)
    if stop is not None:
        visit.value = side * stop
    else:
        visit.value = max(-negamax(child, depth - 1, log, (*path, i)) for i, child in moves(tree))
    return visit.value


def strict(tree: Tree, depth: float, log: Log) -> Number:
    """Prunes only where alpha is larger than beta; a node returns the best value it found."""
    return _windowed(tree, depth, log, lambda alpha, beta: alpha > beta)


def _windowed(
    tree: Tree, depth: float, log: Log, is_enough: Callable[[float, float], bool]
) -> Number:
    def search(node: Tree, alpha: float, beta: float, left: float, path: tuple[int, ...]) -> Number:
        visit = log.enter(path, alpha, beta)
        visit.value = stop_value(node, left)
        if visit.value is not None:
            return visit.value
        best: float | None = None
        for i, child in moves(node):
            if best is not None and is_enough(alpha, beta):  # tested before each successor
                break
            value = search(child, alpha, beta, left - 1, (*path, i))
            if node[0] == "max":
                best = value if best is None else max(best, value)
                alpha = max(alpha, best)
            else:
                best = value if best is None else min(best, value)
                beta = min(beta, best)
        visit.value = best
        return visit.value

    return search(tree, -INF, INF, depth, ())


# --- 003: one bound, average min-max, hill climbing


def one_bound(
    tree: Tree,
    depth: float,
    log: Log,
    bound: float | None = None,
    path: tuple[int, ...] = (),
    is_early: bool = False,
) -> Number:
    """Hands down the parent's best only: MIN stops below it, MAX above it. The sides alternate.

    As printed, the first child has no bound, and the tests stand after the later children only.
    With `is_early` they stand after the first child too, which is another algorithm.
    """
    is_max = len(path) % 2 == 0
    if bound is None:
        window = (-INF, INF)
    else:
        window = (-INF, bound) if is_max else (bound, INF)
    visit = log.enter(path, *window)
    visit.value = stop_value(tree, depth)
    if visit.value is not None:
        return visit.value
    best: float | None = None
    for i, child in moves(tree):
        value = one_bound(child, depth - 1, log, best, (*path, i), is_early)
        is_first = best is None
        if best is None or (value > best if is_max else value < best):
            best = value
        if is_first and not is_early:
            continue
        if bound is not None and (value > bound if is_max else value < bound):
            break
    visit.value = best
    return visit.value


def average(tree: Tree, depth: float, log: Log, ours: str, path: tuple[int, ...] = ()) -> Any:
    """The best value at our plies, the arithmetic mean at the opponent's, in fractions."""
    visit = log.enter(path)
    stop = stop_value(tree, depth)
    if stop is not None:
        visit.value = Fraction(stop)
    else:
        values = [average(child, depth - 1, log, ours, (*path, i)) for i, child in moves(tree)]
        if tree[0] != ours:
            visit.value = sum(values, Fraction(0)) / len(values)
        else:
            visit.value = max(values) if ours == "max" else min(values)
    return visit.value


def greedy(tree: Tree, log: Log) -> tuple[Number, int | None]:
    """Returns the best H0 of the successors and its move."""
    visit = log.enter(())
    if is_leaf(tree):
        visit.value = tree
        return tree, None
    best: tuple[Number, int | None] | None = None
    for i, child in moves(tree):
        below = log.enter((i,))
        below.value = child if is_leaf(child) else child[1]
        is_better = best is None or (
            below.value > best[0] if tree[0] == "max" else below.value < best[0]
        )
        if is_better:
            best = below.value, i
    assert best is not None
    visit.value = best[0]
    return best


# --- 004: utilities of a chosen player, soft bounds, optimistic search


def fail_soft(tree: Tree, depth: float, log: Log) -> Number:
    """Formula 23: a node returns the best value it found; alpha >= beta before each successor."""
    return _windowed(tree, depth, log, lambda alpha, beta: alpha >= beta)


def for_player(
    tree: Tree, player: int, depth: float, log: Log, path: tuple[int, ...] = ()
) -> Number:
    """Formula 9: U(q, p) at an end, max where p is to move, min over the other players' moves."""
    visit = log.enter(path)
    stop = stop_value(tree, depth)
    if stop is not None:
        visit.value = stop[player - 1]
    else:
        values = [for_player(child, player, depth - 1, log, (*path, i)) for i, child in moves(tree)]
        visit.value = max(values) if tree[0] == f"p{player}" else min(values)
    return visit.value


def max_n(tree: Tree, depth: float, log: Log, path: tuple[int, ...] = ()) -> Any:
    """Each player maximises their own utility; the first of equals is taken."""
    visit = log.enter(path)
    visit.value = stop_value(tree, depth)
    if visit.value is None:
        mover = int(tree[0][1:]) - 1
        for i, child in moves(tree):
            value = max_n(child, depth - 1, log, (*path, i))
            if visit.value is None or value[mover] > visit.value[mover]:
                visit.value = value
    return visit.value


def optimistic(
    tree: Tree, depth: float, log: Log, goal: float, path: tuple[int, ...] = (), best: float = -INF
) -> Number:
    """An ordinary search for a high-utility end: all moves are ours; ends at the goal."""
    visit = log.enter(path, best, goal)
    visit.value = stop_value(tree, depth)
    if visit.value is None:
        values = []
        for i, child in moves(tree):
            values.append(optimistic(child, depth - 1, log, goal, (*path, i), best))
            best = max(best, values[-1])
            if best >= goal:
                break
        visit.value = max(values)
    return visit.value
