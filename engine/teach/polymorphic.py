"""The algorithms in their polymorphic form: each node of the tree is an object that knows how its
side chooses.

`Node.value` is a template method: it walks through the moves and leaves to MaxNode, MinNode and
MeanNode what differs between them: which value they prefer, which end of the window they move, what
they make of all values. `opposite` is the factory for the other side. Once a node is made, nobody
asks whose turn it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.flat import one
from engine.teach.state import State
from engine.teach.study import INF, Study, mean
from engine.teach.trace import Number


class Node(ABC):
    """A node whose side chooses in its own way; `sides` says which class plays MAX, MIN and chance
    in this search.
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
        """The value of a state: the same steps for every side."""
        visit = self.study.enter(state, move, self.kind, self.alpha, self.beta)
        if self.study.stops(state, depth):
            return visit.stop(one(self.study.worth(state)))
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
                if self.is_closed():
                    visit.cut(moves[count:], depth)
                    break
        return visit.leave(self.result())

    def child(self, state: State, after: State) -> "Node":
        """The node of a state after this one: mostly the opposite side's, but trees need not
        alternate.
        """
        if after.kind == state.kind:
            return self.another(type(self))
        if state.kind in ("max", "min") and after.kind in ("max", "min"):
            return self.opposite(state)
        return self.another(self.sides[after.kind])

    def opposite(self, state: State) -> "Node":
        """A node of the other side, with the window of this one."""
        return self.another(self.sides["min" if state.kind == "max" else "max"])

    def another(self, side: "type[Node]") -> "Node":
        return side(self.study, self.sides, self.prunes, self.alpha, self.beta)

    def is_closed(self) -> bool:
        """Is nothing left of the window?"""
        return self.alpha >= self.beta

    @abstractmethod
    def prefers(self, value: Number) -> bool:
        """Is the value better for this side than those before it?"""

    @abstractmethod
    def narrow(self, value: Number) -> None:
        """Moves this side's end of the window."""

    @abstractmethod
    def result(self) -> Number:
        """What all values come to."""


class MaxNode(Node):
    """MAX takes the greatest value and raises alpha."""

    kind = "max"

    def prefers(self, value: Number) -> bool:
        return not self.values or value > max(self.values)

    def narrow(self, value: Number) -> None:
        self.alpha = max(self.alpha, value)

    def result(self) -> Number:
        return max(self.values)


class MinNode(Node):
    """MIN takes the least value and lowers beta."""

    kind = "min"

    def prefers(self, value: Number) -> bool:
        return not self.values or value < min(self.values)

    def narrow(self, value: Number) -> None:
        self.beta = min(self.beta, value)

    def result(self) -> Number:
        return min(self.values)


class MeanNode(Node):
    """Chance, or an opponent who may err: no value is preferred, none can be skipped, all count the
    same.
    """

    kind = "mean"

    def another(self, side: type[Node]) -> Node:
        return side(self.study, self.sides, self.prunes)

    def is_closed(self) -> bool:
        return False

    def prefers(self, value: Number) -> bool:
        return False

    def narrow(self, value: Number) -> None:
        """A mean depends on every value: the window stays."""

    def result(self) -> Number:
        return mean(self.values)


# What a leaf's node is does not matter: it never chooses.
SIDES: Mapping[str, type[Node]] = {
    "max": MaxNode,
    "min": MinNode,
    "mean": MeanNode,
    "leaf": MaxNode,
}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: nobody narrows a window."""
    return SIDES[state.kind](study, SIDES, prunes=False).value(state, depth)


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: the same nodes, with windows."""
    return SIDES[state.kind](study, SIDES, prunes=True).value(state, depth)


def average(study: Study, state: State, depth: float) -> Number:
    """Average min-max: chance plays the other side."""
    theirs = {
        kind: side if kind in (state.kind, "leaf") else MeanNode for kind, side in SIDES.items()
    }
    return theirs[state.kind](study, theirs, prunes=False).value(state, depth)
