"""The algorithms as a map over the legal moves, into an accumulator that can create its opposite.

Python's `map` is lazy: it searches a child only when the loop takes the next value. The loop ends
when the accumulator's window is empty, and the remaining moves are never searched. The accumulator
of a child starts with its parent's current window.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.flat import single_utility
from engine.teach.state import State
from engine.teach.study import INF, Study, mean
from engine.teach.trace import Number


class Accumulator(ABC):
    """Takes the children's values one by one and keeps the node's value.

    `sides` maps MAX, MIN and chance to their accumulator classes.
    """

    kind: str

    def __init__(
        self,
        sides: "Mapping[str, type[Accumulator]]",
        prunes: bool,
        alpha: float = -INF,
        beta: float = INF,
    ) -> None:
        self.sides, self.prunes = sides, prunes
        self.alpha, self.beta = alpha, beta
        self.value: Number | None = None

    @abstractmethod
    def take(self, value: Number) -> bool:
        """Adds a value; returns whether it is the best so far."""

    @property
    def is_cut_off(self) -> bool:
        """Whether the window is empty, so that no further value matters."""
        return self.alpha >= self.beta

    @property
    def window(self) -> tuple[float, float]:
        """The window (alpha, beta) for a child."""
        return self.alpha, self.beta

    def opposite(self) -> "Accumulator":
        """Returns an empty accumulator for the other side."""
        return self.empty_for("min" if self.kind == "max" else "max")

    def empty_for(self, kind: str) -> "Accumulator":
        """Returns an empty accumulator for a child of the given kind."""
        return self.sides[kind](self.sides, self.prunes, *self.window)


class Highest(Accumulator):
    """Keeps the greatest value; alpha rises with it."""

    kind = "max"

    def take(self, value: Number) -> bool:
        is_best = self.value is None or value > self.value
        self.value = value if self.value is None else max(self.value, value)
        if self.prunes:
            self.alpha = max(self.alpha, value)
        return is_best


class Lowest(Accumulator):
    """Keeps the least value; beta falls with it."""

    kind = "min"

    def take(self, value: Number) -> bool:
        is_best = self.value is None or value < self.value
        self.value = value if self.value is None else min(self.value, value)
        if self.prunes:
            self.beta = min(self.beta, value)
        return is_best


class Mean(Accumulator):
    """Keeps the mean of all values.

    Every value counts, so it is never cut off, and its children get an open window.
    """

    kind = "mean"
    is_cut_off = False
    window = (-INF, INF)

    def __init__(
        self, sides: Mapping[str, type[Accumulator]], prunes: bool, alpha: float, beta: float
    ) -> None:
        super().__init__(sides, prunes, alpha, beta)
        self.values: list[Number] = []

    def take(self, value: Number) -> bool:
        self.values.append(value)
        self.value = mean(self.values)
        return False


def search(
    study: Study, state: State, depth: float, best: Accumulator, move: int | None = None
) -> Number:
    """Returns the value of a state, which its accumulator holds after the map over the moves."""
    visit = study.enter(state, move, best.kind, best.alpha, best.beta)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))

    def value_after(move: int) -> Number:
        after = state.play(move)
        is_opposite = {state.kind, after.kind} == {"max", "min"}
        child_best = (
            best.opposite() if is_opposite and best.kind != "mean" else best.empty_for(after.kind)
        )
        return search(study, after, depth - 1, child_best, move)

    moves = study.moves(state, depth)
    for count, value in enumerate(map(value_after, moves), 1):
        visit.returned()
        if best.take(value):
            visit.prefer()
        visit.narrow(best.alpha, best.beta)
        if best.is_cut_off:
            visit.cut(moves[count:], depth)
            break
    assert best.value is not None
    return visit.leave(best.value)


# The accumulator of a leaf does not matter: it never takes a value.
SIDES: Mapping[str, type[Accumulator]] = {
    "max": Highest,
    "min": Lowest,
    "mean": Mean,
    "leaf": Highest,
}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: no accumulator narrows its window, so none is cut off."""
    return search(study, state, depth, SIDES[state.kind](SIDES, False, -INF, INF))


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: the same accumulators, with windows and cut-offs."""
    return search(study, state, depth, SIDES[state.kind](SIDES, True, -INF, INF))


def average(study: Study, state: State, depth: float) -> Number:
    """Average min-max: `Mean` takes the place of the opponent's accumulator."""
    sides = {kind: side if kind in (state.kind, "leaf") else Mean for kind, side in SIDES.items()}
    return search(study, state, depth, sides[state.kind](sides, False, -INF, INF))
