"""The algorithms as a map over the legal moves, into an accumulator that knows how to become its
opposite.

Python's `map` is lazy: a child is searched when its value is asked for, so an accumulator that has
heard enough just stops asking, and the rest of the moves is never looked at. The window lives in
the accumulators: one that is made for a child takes over what its parent knows by then.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.flat import one
from engine.teach.state import State
from engine.teach.study import INF, Study, mean
from engine.teach.trace import Number


class Accumulator(ABC):
    """Takes values one by one and keeps what they come to; `sides` says what stands for MAX, MIN
    and chance.
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
        """Counts a value in; True if it is the best so far."""

    @property
    def has_enough(self) -> bool:
        """Can no further value matter to anybody?"""
        return self.alpha >= self.beta

    @property
    def window(self) -> tuple[float, float]:
        """What a child is asked."""
        return self.alpha, self.beta

    def opposite(self) -> "Accumulator":
        """The accumulator of the other side."""
        return self.turned("min" if self.kind == "max" else "max")

    def turned(self, kind: str) -> "Accumulator":
        """An empty accumulator for a state of some kind below this one."""
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
    """Keeps the mean of all values: each of them counts, so it never has enough and asks for exact
    ones.
    """

    kind = "mean"
    has_enough = False
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
    """The value of a state: what its accumulator keeps after the map over its moves."""
    visit = study.enter(state, move, best.kind, best.alpha, best.beta)
    if study.stops(state, depth):
        return visit.stop(one(study.worth(state)))

    def value_after(move: int) -> Number:
        after = state.play(move)
        is_opposite = {state.kind, after.kind} == {"max", "min"}
        below = best.opposite() if is_opposite and best.kind != "mean" else best.turned(after.kind)
        return search(study, after, depth - 1, below, move)

    moves = study.moves(state, depth)
    for count, value in enumerate(map(value_after, moves), 1):
        visit.returned()
        if best.take(value):
            visit.prefer()
        visit.narrow(best.alpha, best.beta)
        if best.has_enough:
            visit.cut(moves[count:], depth)
            break
    assert best.value is not None
    return visit.leave(best.value)


# What a leaf's accumulator is does not matter: it never takes a value.
SIDES: Mapping[str, type[Accumulator]] = {
    "max": Highest,
    "min": Lowest,
    "mean": Mean,
    "leaf": Highest,
}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: nobody ever has enough."""
    return search(study, state, depth, SIDES[state.kind](SIDES, False, -INF, INF))


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: the same accumulators, with windows."""
    return search(study, state, depth, SIDES[state.kind](SIDES, True, -INF, INF))


def average(study: Study, state: State, depth: float) -> Number:
    """Average min-max: the mean stands for the other side."""
    sides = {kind: side if kind in (state.kind, "leaf") else Mean for kind, side in SIDES.items()}
    return search(study, state, depth, sides[state.kind](sides, False, -INF, INF))
