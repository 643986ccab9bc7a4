"""The forms of alpha-beta in the founding texts.

They find the same value at the root and choose the same move. Three hand down the window. They
differ in when a node cuts off, and in what it returns:

fail-soft   alpha >= beta; the best value found, even outside the window
fail-hard   alpha >= beta; alpha at a MAX node, beta at a MIN node
strict      alpha > beta only; the best value found

Three hand down the best value of the parent only. The bounds further up are forgotten, so there
are no deep cut-offs. A node returns the best value found, and stops at a child whose value is

one-bound         strictly beyond the bound, but never at its first child (003, as printed)
one-bound-early   strictly beyond the bound
parent-bound      beyond the bound or equal to it (001, in its prose)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from engine.teach.algorithms.flat import combine, is_better, single_utility
from engine.teach.algorithms.study import INF, Study
from engine.teach.states.state import State
from engine.teach.trace import Number


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
class Windowed:
    """The decisions of a form that hands down the window: when a node cuts, and its result."""

    has_enough: Callable[[float, float], bool] = is_empty
    result: Callable[[str, Sequence[Number], float, float], Number] = best_found


def alphabeta(
    form: Windowed,
    study: Study,
    state: State,
    depth: float,
    move: int | None = None,
    alpha: float = -INF,
    beta: float = INF,
) -> Number:
    """Returns the value of a state by a form that hands down the window, or a bound on it."""
    visit = study.enter(state, move, state.kind, alpha, beta)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    moves = study.moves(state, depth)
    values: list[Number] = []
    for count, move in enumerate(moves, 1):
        after = state.play(move)
        window = study.window_below(state.kind, alpha, beta)
        value = alphabeta(form, study, after, depth - 1, move, *window)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
        if state.kind == "max":
            alpha = max(alpha, value)
        elif state.kind == "min":
            beta = min(beta, value)
        visit.narrow(alpha, beta)
        if state.kind != "mean" and form.has_enough(alpha, beta):
            visit.cut(moves[count:], depth)
            break
    return visit.leave(form.result(state.kind, values, alpha, beta))


@dataclass(frozen=True, slots=True)
class OneBound:
    """The decisions of a form that hands down one bound: where and how a node tests its children.

    `first_test` is the number of the first child that is tested, from 1.
    """

    first_test: int = 1
    is_strict: bool = True

    def has_enough(self, kind: str, count: int, value: Number, bound: Number | None) -> bool:
        """Returns whether a node stops at its child number `count`, which has this value."""
        if bound is None or count < self.first_test:
            return False
        if value == bound:
            return not self.is_strict
        return value > bound if kind == "max" else value < bound


def one_bound(
    form: OneBound,
    study: Study,
    state: State,
    depth: float,
    move: int | None = None,
    bound: Number | None = None,
    window: tuple[float, float] = (-INF, INF),
) -> Number:
    """Returns the value of a state by a form that hands down one bound, or a bound on it.

    `bound` is the best value of the parent, None without one; the window shows it in the trace.
    """
    visit = study.enter(state, move, state.kind, *window)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    alpha, beta = window
    moves = study.moves(state, depth)
    values: list[Number] = []
    for count, move in enumerate(moves, 1):
        after = state.play(move)
        best = combine(state.kind, values) if values else None
        below = None if is_unbounded(study, state.kind, after.kind) else best
        window = window_of(state.kind, below)
        value = one_bound(form, study, after, depth - 1, move, below, window)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
        if state.kind == "max":
            alpha = max(alpha, value)
        elif state.kind == "min":
            beta = min(beta, value)
        visit.narrow(alpha, beta)
        if form.has_enough(state.kind, count, value, bound):
            visit.cut(moves[count:], depth)
            break
    return visit.leave(combine(state.kind, values))


def is_unbounded(study: Study, kind: str, child_kind: str) -> bool:
    """Returns whether a child gets no bound: only the other side can stop at the parent's best."""
    return study.opens_below(kind) or child_kind in (kind, "mean")


def window_of(kind: str, bound: Number | None) -> tuple[float, float]:
    """Returns the window of a child that has the best value of its MAX or MIN parent."""
    if bound is None:
        return -INF, INF
    return (bound, INF) if kind == "max" else (-INF, bound)


#: The forms by name.
VARIANTS: Mapping[str, Callable[[Study, State, float], Number]] = {
    "fail-soft": partial(alphabeta, Windowed()),
    "fail-hard": partial(alphabeta, Windowed(result=own_bound)),
    "strict": partial(alphabeta, Windowed(has_enough=is_crossed)),
    "one-bound": partial(one_bound, OneBound(first_test=2)),
    "one-bound-early": partial(one_bound, OneBound()),
    "parent-bound": partial(one_bound, OneBound(is_strict=False)),
}
