"""The variants of alpha-beta in the founding texts, which differ in three decisions.

They find the same value at the root and choose the same move. A variant decides which window a
child receives, when a node cuts off, and what a node returns.

fail-soft   the window; alpha >= beta; the best value found, even outside the window
fail-hard   the window; alpha >= beta; alpha at a MAX node, beta at a MIN node
strict      the window; alpha > beta only; the best value found
one-bound   only the best value of the parent; strictly beyond it; the best value found
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engine.teach.algorithms.flat import combine, is_better, single_utility
from engine.teach.algorithms.study import INF, Study
from engine.teach.states.state import State
from engine.teach.trace import Number

#: An alpha and a beta.
Window = tuple[float, float]


def whole_window(kind: str, child_kind: str, alpha: float, beta: float) -> Window:
    """Returns the node's own window: MAX's best so far on the path, and MIN's."""
    return alpha, beta


def best_of_parent(kind: str, child_kind: str, alpha: float, beta: float) -> Window:
    """Returns a window with the node's own best value as its only bound.

    The bounds of the nodes further up are forgotten, so there are no deep cut-offs.
    """
    if kind == "max" and child_kind in ("min", "leaf"):
        return alpha, INF
    if kind == "min" and child_kind in ("max", "leaf"):
        return -INF, beta
    return -INF, INF


def is_empty(alpha: float, beta: float) -> bool:
    """Returns whether no value lies strictly inside the window."""
    return alpha >= beta


def is_crossed(alpha: float, beta: float) -> bool:
    """Returns whether alpha is greater than beta: a value equal to a bound is not enough."""
    return alpha > beta


def best_found(kind: str, values: Sequence[Number], alpha: float, beta: float) -> Number:
    """Returns the best value of the children."""
    return combine(kind, values)


def own_bound(kind: str, values: Sequence[Number], alpha: float, beta: float) -> Number:
    """Returns alpha at a MAX node, beta at a MIN node."""
    if kind == "mean":
        return combine(kind, values)
    return alpha if kind == "max" else beta


@dataclass(frozen=True, slots=True)
class Variant:
    """The three decisions of a form of alpha-beta."""

    window: Callable[[str, str, float, float], Window] = whole_window
    has_enough: Callable[[float, float], bool] = is_empty
    result: Callable[[str, Sequence[Number], float, float], Number] = best_found


#: The variants by name.
VARIANTS = {
    "fail-soft": Variant(),
    "fail-hard": Variant(result=own_bound),
    "strict": Variant(has_enough=is_crossed),
    "one-bound": Variant(window=best_of_parent, has_enough=is_crossed),
}


def alphabeta(
    variant: Variant,
    study: Study,
    state: State,
    depth: float,
    move: int | None = None,
    alpha: float = -INF,
    beta: float = INF,
) -> Number:
    """Returns the value of a state by a variant of alpha-beta, or a bound on it."""
    visit = study.enter(state, move, state.kind, alpha, beta)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    moves = study.moves(state, depth)
    values: list[Number] = []
    for count, move in enumerate(moves, 1):
        after = state.play(move)
        window = variant.window(state.kind, after.kind, alpha, beta)
        window = study.window_below(state.kind, *window)
        value = alphabeta(variant, study, after, depth - 1, move, *window)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
        if state.kind == "max":
            alpha = max(alpha, value)
        elif state.kind == "min":
            beta = min(beta, value)
        visit.narrow(alpha, beta)
        if state.kind != "mean" and variant.has_enough(alpha, beta):
            visit.cut(moves[count:], depth)
            break
    return visit.leave(variant.result(state.kind, values, alpha, beta))
