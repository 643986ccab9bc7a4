"""Design 3: two static functions, one for MAX and one for MIN, that call each other.

There are no node objects, and no tests for the side, because each function serves one side. That
trades flexibility for speed. The price is duplication: the second function is the first one with
every comparison reversed. Both play and take back moves on one board.

Source: the third design of the first founding text, 000, which calls them static methods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.teach.algorithms.flat import single_utility
from engine.teach.algorithms.study import INF, Study, mean
from engine.teach.states.board import Board
from engine.teach.states.state import State
from engine.teach.trace import Number


@dataclass(frozen=True, slots=True)
class Search:
    """The parameters of a search: `functions` has the function by who is to move."""

    study: Study
    functions: "Mapping[str, Side]"
    prunes: bool = False

    def value(
        self,
        board: Board,
        depth: float,
        move: int | None = None,
        alpha: float = -INF,
        beta: float = INF,
    ) -> Number:
        """Returns the value of the board by the function of the side to move."""
        return self.functions[board.state.kind](self, board, depth, move, alpha, beta)


#: The function of one side: search, board, depth, move, alpha and beta to the board's value.
Side = Callable[[Search, Board, float, int | None, float, float], Number]


def max_value(
    search: Search, board: Board, depth: float, move: int | None, alpha: float, beta: float
) -> Number:
    """Returns the greatest value that MAX, who is to move, can reach."""
    study = search.study
    visit = study.enter(board.state, move, "max", alpha, beta)
    if study.stops(board.state, depth):
        return visit.stop(single_utility(study.leaf_value(board.state)))
    best = -INF
    moves = study.moves(board.state, depth)
    for count, move in enumerate(moves, 1):
        board.play(move)
        value = search.value(board, depth - 1, move, *study.window_below("max", alpha, beta))
        board.take_back()
        visit.returned()
        if count == 1 or value > best:
            best = value
            visit.prefer()
        if search.prunes:
            alpha = max(alpha, best)
            visit.narrow(alpha, beta)
            if alpha >= beta:
                visit.cut(moves[count:], depth)
                break
    return visit.leave(best)


def min_value(
    search: Search, board: Board, depth: float, move: int | None, alpha: float, beta: float
) -> Number:
    """Returns the least value that MIN, who is to move, can reach."""
    study = search.study
    visit = study.enter(board.state, move, "min", alpha, beta)
    if study.stops(board.state, depth):
        return visit.stop(single_utility(study.leaf_value(board.state)))
    best = INF
    moves = study.moves(board.state, depth)
    for count, move in enumerate(moves, 1):
        board.play(move)
        value = search.value(board, depth - 1, move, *study.window_below("min", alpha, beta))
        board.take_back()
        visit.returned()
        if count == 1 or value < best:
            best = value
            visit.prefer()
        if search.prunes:
            beta = min(beta, best)
            visit.narrow(alpha, beta)
            if alpha >= beta:
                visit.cut(moves[count:], depth)
                break
    return visit.leave(best)


def mean_value(
    search: Search, board: Board, depth: float, move: int | None, alpha: float, beta: float
) -> Number:
    """Returns the mean of the values of all moves: chance, or an opponent who may err."""
    study = search.study
    visit = study.enter(board.state, move, "mean", alpha, beta)
    if study.stops(board.state, depth):
        return visit.stop(single_utility(study.leaf_value(board.state)))
    values: list[Number] = []
    for move in study.moves(board.state, depth):
        board.play(move)
        values.append(search.value(board, depth - 1, move))
        board.take_back()
        visit.returned()
    return visit.leave(mean(values))


#: The function of each side; that of a leaf does not matter, because it stops at once.
FUNCTIONS: Mapping[str, Side] = {
    "max": max_value,
    "min": min_value,
    "mean": mean_value,
    "leaf": max_value,
}


def minimax(study: Study, state: State, depth: float) -> Number:
    """Minimax by the pair of functions."""
    return Search(study, FUNCTIONS).value(Board(state), depth)


def alphabeta(study: Study, state: State, depth: float) -> Number:
    """Alpha-beta by the pair of functions."""
    return Search(study, FUNCTIONS, prunes=True).value(Board(state), depth)


def average(study: Study, state: State, depth: float, ours: str = "") -> Number:
    """Average min-max: `mean_value` takes the place of the opponent's function."""
    ours = ours or state.kind
    functions = {
        kind: function if kind in (ours, "leaf") else mean_value
        for kind, function in FUNCTIONS.items()
    }
    return Search(study, functions).value(Board(state), depth)
