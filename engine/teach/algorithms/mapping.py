"""001's map: the board maps a function over its moves, into an accumulator.

The algorithm has no loop over the moves. It hands a function to `Board.map`, which plays each move,
calls the function and takes the move back. The function asks the board to accept a status visitor,
which has a method each for won, lost, drawn and going on. An accumulator takes the moves with their
values: it holds the best value and its move, and makes its own opposite for the next ply. An
alpha-beta accumulator also ends the map when no further move matters (`has_enough`).

Source: the second founding text, 001. Its search stops where d > maximum, so its maximum 3 is our
depth 4 from a root with d = 0.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine.teach.algorithms.flat import single_utility
from engine.teach.algorithms.study import INF, Study, Visit, mean
from engine.teach.states.board import Board, StatusVisitor
from engine.teach.states.state import State, Status
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


class UpdateBest(StatusVisitor[None]):
    """Takes the board after a move into the accumulator, by its status.

    A game that is won, lost or drawn has a score: 1, -1 or 0 unless others are chosen. The value of
    a game that goes on is that of its own map.
    """

    def __init__(
        self, study: Study, board: Board, depth: float, best: Accumulator, visit: Visit, move: int
    ) -> None:
        self.study, self.board, self.depth = study, board, depth
        self.best, self.visit, self.move = best, visit, move

    def won(self) -> None:
        self.update_best(self.score(Status.WON))

    def lost(self) -> None:
        self.update_best(self.score(Status.LOST))

    def drawn(self) -> None:
        self.update_best(self.score(Status.DRAWN))

    def ongoing(self) -> None:
        self.update_best(search(self.study, self.board, self.depth, self.successor(), self.move))

    def successor(self) -> Accumulator:
        """Returns an empty accumulator for the board after the move."""
        return self.best.successor(self.study, self.visit.state, self.board.state)

    def score(self, status: Status) -> Number:
        """Returns the score of a game that ended with this status for MAX, as a visited leaf."""
        state, below = self.board.state, self.successor()
        leaf = self.study.enter(state, self.move, self.best.kind, below.alpha, below.beta)
        return leaf.stop(single_utility(state.score(status)))

    def update_best(self, value: Number) -> None:
        """Gives the accumulator the move with its value."""
        self.visit.returned()
        if self.best.take(self.move, value):
            self.visit.prefer()
        self.visit.narrow(self.best.alpha, self.best.beta)


def search(
    study: Study, board: Board, depth: float, best: Accumulator, move: int | None = None
) -> Number:
    """Returns the value of the board, which the accumulator has after the map over the moves."""
    visit = study.enter(board.state, move, best.kind, best.alpha, best.beta)
    if study.stops(board.state, depth):
        return visit.stop(single_utility(study.leaf_value(board.state)))

    def each(move: int) -> None:
        board.accept(UpdateBest(study, board, depth - 1, best, visit, move))

    rest = board.map(study.moves(board.state, depth), each, best)
    if best.has_enough:
        visit.cut(rest, depth)
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
