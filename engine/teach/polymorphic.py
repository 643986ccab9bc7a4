"""The algorithms in their polymorphic form: each node is an object that knows how its side chooses.

`Node.value` is a template method that loops over the moves. MaxNode, MinNode and MeanNode implement
what differs: which value they prefer, which bound of the window they move, and how they combine
the values. `opposite` is the factory method for the other side. Only the code that creates a node
tests whose turn it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.flat import single_utility
from engine.teach.state import State
from engine.teach.study import INF, Study, mean
from engine.teach.trace import Number


class Node(ABC):
    """A node of the search tree; each subclass implements how one side chooses.

    `sides` maps MAX, MIN and chance to their node classes in this search.
    """

    kind: str

    def __init__(
        self,
        study: Study,
        sides: "Mapping[str, type[Node]]",
        prunes: bool,
        alpha: float = -INF,
        beta: float = INF,
    ) -> None:
        self.study, self.sides, self.prunes = study, sides, prunes
        self.alpha, self.beta = alpha, beta
        self.values: list[Number] = []

    def value(self, state: State, depth: float, move: int | None = None) -> Number:
        """Returns the value of a state; the steps are the same for every side."""
        visit = self.study.enter(state, move, self.kind, self.alpha, self.beta)
        if self.study.stops(state, depth):
            return visit.stop(single_utility(self.study.leaf_value(state)))
        moves = self.study.moves(state, depth)
        for count, move in enumerate(moves, 1):
            after = state.play(move)
            value = self.child(state, after).value(after, depth - 1, move)
            visit.returned()
            if self.prefers(value):
                visit.prefer()
            self.values.append(value)
            if self.prunes:
                self.narrow(value)
                visit.narrow(self.alpha, self.beta)
                if self.is_window_empty():
                    visit.cut(moves[count:], depth)
                    break
        return visit.leave(self.result())

    def child(self, state: State, after: State) -> "Node":
        """Returns the node for a successor state.

        It is usually the opposite side's, but the sides of a tree need not alternate.
        """
        if after.kind == state.kind:
            return self.make_child(type(self))
        if state.kind in ("max", "min") and after.kind in ("max", "min"):
            return self.opposite(state)
        return self.make_child(self.sides[after.kind])

    def opposite(self, state: State) -> "Node":
        """Returns a node of the other side with the same window."""
        return self.make_child(self.sides["min" if state.kind == "max" else "max"])

    def make_child(self, side: "type[Node]") -> "Node":
        """Returns a child node of the given class with the same window."""
        return side(self.study, self.sides, self.prunes, self.alpha, self.beta)

    def is_window_empty(self) -> bool:
        """Returns whether the window is empty."""
        return self.alpha >= self.beta

    @abstractmethod
    def prefers(self, value: Number) -> bool:
        """Returns whether the value is better for this side than all values so far."""

    @abstractmethod
    def narrow(self, value: Number) -> None:
        """Moves this side's bound of the window: raises alpha or lowers beta."""

    @abstractmethod
    def result(self) -> Number:
        """Returns the node's value, from the values of its children."""


class MaxNode(Node):
    """MAX chooses the greatest value and raises alpha."""

    kind = "max"

    def prefers(self, value: Number) -> bool:
        return not self.values or value > max(self.values)

    def narrow(self, value: Number) -> None:
        self.alpha = max(self.alpha, value)

    def result(self) -> Number:
        return max(self.values)


class MinNode(Node):
    """MIN chooses the least value and lowers beta."""

    kind = "min"

    def prefers(self, value: Number) -> bool:
        return not self.values or value < min(self.values)

    def narrow(self, value: Number) -> None:
        self.beta = min(self.beta, value)

    def result(self) -> Number:
        return min(self.values)


class MeanNode(Node):
    """Chance, or an opponent who may err: all moves are equally likely, and none can be pruned."""

    kind = "mean"

    def make_child(self, side: type[Node]) -> Node:
        """Returns a child node with a full window, because the mean needs its exact value."""
        return side(self.study, self.sides, self.prunes)

    def is_window_empty(self) -> bool:
        return False

    def prefers(self, value: Number) -> bool:
        return False

    def narrow(self, value: Number) -> None:
        """Does nothing: the mean depends on every value, so the window stays."""

    def result(self) -> Number:
        return mean(self.values)


# The class of a leaf does not matter: a leaf never chooses.
SIDES: Mapping[str, type[Node]] = {
    "max": MaxNode,
    "min": MinNode,
    "mean": MeanNode,
    "leaf": MaxNode,
}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: no node narrows its window."""
    return SIDES[state.kind](study, SIDES, prunes=False).value(state, depth)


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: the same nodes, with windows and cut-offs."""
    return SIDES[state.kind](study, SIDES, prunes=True).value(state, depth)


def average(study: Study, state: State, depth: float) -> Number:
    """Average min-max: a chance node takes the place of each opponent's node."""
    sides = {
        kind: side if kind in (state.kind, "leaf") else MeanNode for kind, side in SIDES.items()
    }
    return sides[state.kind](study, sides, prunes=False).value(state, depth)
