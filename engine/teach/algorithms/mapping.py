"""Design 3: the board maps a function over its moves, into an accumulator.

`Board.map` plays each move, calls one function if the game goes on and another if it is finished,
and takes the move back. A status visitor chooses between the two. An accumulator takes the moves
with their values: it holds the best value and its move, and makes its own opposite for the next
ply. An alpha-beta accumulator also ends the map when no further move matters (`has_enough`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.algorithms.flat import single_utility
from engine.teach.algorithms.study import INF, Study, mean
from engine.teach.states.board import Board
from engine.teach.states.state import State
from engine.teach.trace import Number


class Accumulator(ABC):
    """Takes the moves with their values one by one; keeps the best value and its move.

    `sides` has the accumulator by who chooses; only chance needs it.
    """

    kind: str

    def __init__(
        self, sides: "Mapping[str, type[Accumulator]]", alpha: float = -INF, beta: float = INF
    ) -> None:
        self.sides = sides
        self.alpha, self.beta = alpha, beta
        self.value: Number | None = None
        self.move: int | None = None

    def take(self, move: int, value: Number) -> bool:
        """Adds a move and its value; returns whether it is the best so far."""
        if self.value is not None and not self.prefers(value, self.value):
            return False
        self.move, self.value = move, value
        return True

    @abstractmethod
    def prefers(self, value: Number, other: Number) -> bool:
        """Returns whether the value is better than the other one."""

    @abstractmethod
    def opposite(self) -> "type[Accumulator]":
        """Returns the class of the other side's accumulators."""

    @property
    def has_enough(self) -> bool:
        """Whether no further move matters: never, without a window."""
        return False

    def successor(self, study: Study, state: State, after: State) -> "Accumulator":
        """Returns an empty accumulator for the state after a move."""
        window = study.window_below(self.kind, self.alpha, self.beta)
        if after.kind == state.kind:
            return type(self)(self.sides, *window)
        side = self.sides["mean"] if after.kind == "mean" else self.opposite()
        return side(self.sides, *window)


class Highest(Accumulator):
    """Keeps the greatest value and its move."""

    kind = "max"

    def prefers(self, value: Number, other: Number) -> bool:
        return value > other

    def opposite(self) -> type[Accumulator]:
        return Lowest


class Lowest(Accumulator):
    """Keeps the least value and its move."""

    kind = "min"

    def prefers(self, value: Number, other: Number) -> bool:
        return value < other

    def opposite(self) -> type[Accumulator]:
        return Highest


class Alpha(Highest):
    """Keeps the greatest value in a window; alpha rises with it."""

    def take(self, move: int, value: Number) -> bool:
        self.alpha = max(self.alpha, value)
        return super().take(move, value)

    def opposite(self) -> type[Accumulator]:
        return Beta

    @property
    def has_enough(self) -> bool:
        """Whether the window is empty: MIN has something better elsewhere."""
        return self.alpha >= self.beta


class Beta(Lowest):
    """Keeps the least value in a window; beta falls with it."""

    def take(self, move: int, value: Number) -> bool:
        self.beta = min(self.beta, value)
        return super().take(move, value)

    def opposite(self) -> type[Accumulator]:
        return Alpha

    @property
    def has_enough(self) -> bool:
        """Whether the window is empty: MAX has something better elsewhere."""
        return self.alpha >= self.beta


class Mean(Accumulator):
    """Keeps the mean of all values; every value counts, so it never has enough."""

    kind = "mean"

    def __init__(
        self, sides: Mapping[str, type[Accumulator]], alpha: float = -INF, beta: float = INF
    ) -> None:
        super().__init__(sides, alpha, beta)
        self.values: list[Number] = []

    def take(self, move: int, value: Number) -> bool:
        self.values.append(value)
        self.value = mean(self.values)
        return False

    def prefers(self, value: Number, other: Number) -> bool:
        return False

    def opposite(self) -> type[Accumulator]:
        return Mean

    def successor(self, study: Study, state: State, after: State) -> Accumulator:
        """Returns an empty accumulator: chance has no opposite, so its class is in `sides`."""
        return self.sides[after.kind](self.sides)


class HighestAgainstChance(Highest):
    """MAX's accumulator in average min-max."""

    def opposite(self) -> type[Accumulator]:
        return Mean


class LowestAgainstChance(Lowest):
    """MIN's accumulator in average min-max."""

    def opposite(self) -> type[Accumulator]:
        return Mean


def search(
    study: Study, board: Board, depth: float, best: Accumulator, move: int | None = None
) -> Number:
    """Returns the value of the board, which the accumulator has after the map over the moves."""
    state = board.state
    visit = study.enter(state, move, best.kind, best.alpha, best.beta)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))

    def value_of_next(move: int) -> Number:
        successor = best.successor(study, state, board.state)
        return search(study, board, depth - 1, successor, move)

    def score_of_finished(move: int) -> Number:
        successor = best.successor(study, state, board.state)
        leaf = study.enter(board.state, move, best.kind, successor.alpha, successor.beta)
        return leaf.stop(single_utility(study.leaf_value(board.state)))

    moves = study.moves(state, depth)
    values = board.map(moves, value_of_next, score_of_finished)
    for count, (move, value) in enumerate(values, 1):
        visit.returned()
        if best.take(move, value):
            visit.prefer()
        visit.narrow(best.alpha, best.beta)
        if best.has_enough:
            visit.cut(moves[count:], depth)
            break
    assert best.value is not None
    return visit.leave(best.value)


#: The accumulators of minimax; that of a leaf does not matter, because it never takes a value.
PLAIN: Mapping[str, type[Accumulator]] = {
    "max": Highest,
    "min": Lowest,
    "mean": Mean,
    "leaf": Highest,
}
#: The accumulators of alpha-beta.
WINDOWED: Mapping[str, type[Accumulator]] = {**PLAIN, "max": Alpha, "min": Beta, "leaf": Alpha}
#: Our accumulators in average min-max.
OURS: Mapping[str, type[Accumulator]] = {
    **PLAIN,
    "max": HighestAgainstChance,
    "min": LowestAgainstChance,
}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax: accumulators without a window."""
    return search(study, Board(state), depth, PLAIN[state.kind](PLAIN))


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta: accumulators with a window."""
    return search(study, Board(state), depth, WINDOWED[state.kind](WINDOWED))


def average(study: Study, state: State, depth: float, ours: str = "") -> Number:
    """Average min-max: `Mean` takes the place of the opponent's accumulator."""
    ours = ours or state.kind
    sides = {kind: OURS[kind] if kind in (ours, "leaf") else Mean for kind in PLAIN}
    return search(study, Board(state), depth, sides[state.kind](sides))
