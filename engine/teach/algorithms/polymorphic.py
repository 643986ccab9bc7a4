"""Designs 1 and 2: each node is an object that implements how its side chooses.

`Node.value` is a template method: the steps of a search, the same for every side. A subclass
supplies what differs, as hooks: which of two values is better, its worst score, the score of a
finished game, the bound of the window that it moves, and its opposite. `opposite` is a factory
method: MAX makes MIN, and MIN makes MAX. So no line of this file asks "MAX or MIN?".

Design 1 is `MaxNode` and `MinNode`. Design 2, `AlphaBetaMax` and `AlphaBetaMin`, has the same
template; the score of a node is its own bound of the window, which is fail-hard alpha-beta.

Each move gives a new state, and the old one stays as it was. Design 3 (`pair`) and 001's map play
and take back on one board instead.

Source: the first founding text, 000.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.algorithms.flat import single_utility
from engine.teach.algorithms.study import INF, Study, mean
from engine.teach.states.state import State, mover_status
from engine.teach.trace import Number, Value


class Node(ABC):
    """A node of the search tree; each subclass implements how one side chooses.

    `sides` has the class of a node by who chooses there. Only chance needs it: every other node
    makes its opposite.
    """

    kind: str
    #: What this side has before its first move: any value is better.
    worst_score: Number

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
        self.score = self.worst_score
        self.count = 0

    def value(self, state: State, depth: float, move: int | None = None) -> Number:
        """Returns the value of a state: the template method."""
        visit = self.study.enter(state, move, self.kind, self.alpha, self.beta)
        if state.utility() is not None:
            return visit.stop(single_utility(self.finished_score(state)))
        if self.study.stops(state, depth):
            return visit.stop(single_utility(self.study.evaluate(state)))
        moves = self.study.moves(state, depth)
        for count, move in enumerate(moves, 1):
            after = state.play(move)
            value = self.successor(state, after).value(after, depth - 1, move)
            visit.returned()
            if self.take(value):
                visit.prefer()
            if self.prunes:
                self.narrow(value)
                visit.narrow(self.alpha, self.beta)
                if self.has_enough():
                    visit.cut(moves[count:], depth)
                    break
        return visit.leave(self.final_score())

    def final_score(self) -> Number:
        """Returns what the node is worth to its parent after its moves: the best score."""
        return self.score

    def take(self, value: Number) -> bool:
        """Stores the better score; returns whether the value is better than all before it.

        The first value always is, because even the worst score is better than no move.
        """
        self.count += 1
        if self.count > 1 and not self.is_better(value):
            return False
        self.score = value
        return True

    def successor(self, state: State, after: State) -> "Node":
        """Returns the node for the state after a move: the opposite, if the turn passes."""
        if after.kind == state.kind:
            return self.make(type(self))
        return self.make(self.sides["mean"] if after.kind == "mean" else self.opposite())

    def make(self, side: "type[Node]") -> "Node":
        """Returns a child node of the given class, with this node's window."""
        window = self.study.window_below(self.kind, self.alpha, self.beta)
        return side(self.study, self.sides, self.prunes, *window)

    def has_enough(self) -> bool:
        """Returns whether the window is empty, so that no further move matters."""
        return self.alpha >= self.beta

    @abstractmethod
    def opposite(self) -> "type[Node]":
        """Returns the class of the other side's nodes: the factory method."""

    @abstractmethod
    def is_better(self, value: Number) -> bool:
        """Returns whether this side prefers the value to its score so far."""

    @abstractmethod
    def narrow(self, value: Number) -> None:
        """Moves this side's bound of the window: raises alpha or lowers beta."""

    @abstractmethod
    def finished_score(self, state: State) -> Value:
        """Returns the score, for MAX, of a game that is over with this side to move.

        The rules give only what the end means to the side to move. What is lost for MAX is won
        for the other side.
        """


class MaxNode(Node):
    """MAX chooses the greatest value and raises alpha."""

    kind = "max"
    worst_score = -INF

    def opposite(self) -> type[Node]:
        return MinNode

    def is_better(self, value: Number) -> bool:
        return value > self.score

    def narrow(self, value: Number) -> None:
        self.alpha = max(self.alpha, value)

    def finished_score(self, state: State) -> Value:
        return state.score(mover_status(state))


class MinNode(Node):
    """MIN chooses the least value and lowers beta."""

    kind = "min"
    worst_score = INF

    def opposite(self) -> type[Node]:
        return MaxNode

    def is_better(self, value: Number) -> bool:
        return value < self.score

    def narrow(self, value: Number) -> None:
        self.beta = min(self.beta, value)

    def finished_score(self, state: State) -> Value:
        return state.score(mover_status(state).reversed)


class AlphaBetaMax(MaxNode):
    """MAX in design 2: its score is alpha."""

    def opposite(self) -> type[Node]:
        return AlphaBetaMin

    def final_score(self) -> Number:
        return self.alpha


class AlphaBetaMin(MinNode):
    """MIN in design 2: its score is beta."""

    def opposite(self) -> type[Node]:
        return AlphaBetaMax

    def final_score(self) -> Number:
        return self.beta


class MeanNode(Node):
    """Chance, or an opponent who may err: all moves are equally likely, and none can be pruned."""

    kind = "mean"
    worst_score = 0

    def __init__(
        self,
        study: Study,
        sides: Mapping[str, type[Node]],
        prunes: bool,
        alpha: float = -INF,
        beta: float = INF,
    ) -> None:
        super().__init__(study, sides, prunes, alpha, beta)
        self.values: list[Number] = []

    def take(self, value: Number) -> bool:
        self.values.append(value)
        self.score = mean(self.values)
        return False

    def successor(self, state: State, after: State) -> Node:
        """Returns the node for the state after a move, of the class that `sides` has for it."""
        return self.make(self.sides[after.kind])

    def opposite(self) -> type[Node]:
        return MeanNode

    def is_better(self, value: Number) -> bool:
        return False

    def narrow(self, value: Number) -> None:
        """Does nothing: the mean depends on every value, so the window stays."""

    def has_enough(self) -> bool:
        return False

    def finished_score(self, state: State) -> Value:
        return state.score(state.status())


class MaxAgainstChance(MaxNode):
    """MAX in average min-max: a new opponent is a new subclass, and the template stays."""

    def opposite(self) -> type[Node]:
        return MeanNode


class MinAgainstChance(MinNode):
    """MIN in average min-max."""

    def opposite(self) -> type[Node]:
        return MeanNode


#: The class of each side's nodes; that of a leaf does not matter, because a leaf never chooses.
SIDES: Mapping[str, type[Node]] = {
    "max": MaxNode,
    "min": MinNode,
    "mean": MeanNode,
    "leaf": MaxNode,
}
#: The classes of design 2.
FAIL_HARD: Mapping[str, type[Node]] = {
    **SIDES,
    "max": AlphaBetaMax,
    "min": AlphaBetaMin,
    "leaf": AlphaBetaMax,
}
#: The classes of our nodes in average min-max.
OURS: Mapping[str, type[Node]] = {**SIDES, "max": MaxAgainstChance, "min": MinAgainstChance}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: no node narrows its window."""
    return SIDES[state.kind](study, SIDES, prunes=False).value(state, depth)


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: the same nodes, with windows and cut-offs."""
    return SIDES[state.kind](study, SIDES, prunes=True).value(state, depth)


def fail_hard(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta by design 2: a node returns its own bound."""
    return FAIL_HARD[state.kind](study, FAIL_HARD, prunes=True).value(state, depth)


def average(study: Study, state: State, depth: float, ours: str = "") -> Number:
    """Average min-max: a chance node takes the place of each opponent's node."""
    ours = ours or state.kind
    sides = {kind: OURS[kind] if kind in (ours, "leaf") else MeanNode for kind in SIDES}
    return sides[state.kind](study, sides, prunes=False).value(state, depth)
