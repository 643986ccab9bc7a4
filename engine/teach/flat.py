"""The algorithms in their flat form: one function each, which asks at every node who chooses there.

`study` holds what is not the algorithm's business (evaluator, cut-off rule, move order) and writes
the trace. Without the lines that talk to `visit`, these are the textbook's functions. All are
fail-soft: a node returns the best value that it found, also when that lies outside its window.
"""

from collections.abc import Sequence

from engine.teach.errors import NotPossible
from engine.teach.evaluators import lot
from engine.teach.state import State
from engine.teach.study import INF, Study, mean
from engine.teach.trace import Number, Value


def minimax(study: Study, state: State, depth: float, move: int | None = None) -> Number:
    """The value of a state for MAX: the greatest or least of its children's, or their mean where
    chance decides.
    """
    visit = study.enter(state, move, state.kind)
    if study.stops(state, depth):
        return visit.stop(one(study.worth(state)))
    values: list[Number] = []
    for move in study.moves(state, depth):
        value = minimax(study, state.play(move), depth - 1, move)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
    return visit.leave(summary(state.kind, values))


def negamax(study: Study, state: State, depth: float, move: int | None = None) -> Number:
    """The value of a state for the side to move: max(a, b) = -min(-a, -b), so one rule serves both
    sides.

    A utility is MAX's; at MIN's nodes it is negated as it is. Chance nodes count as MAX's.
    """
    visit = study.enter(state, move, state.kind)
    if study.stops(state, depth):
        return visit.stop(sign(state.kind) * one(study.worth(state)))
    values: list[Number] = []
    for move in study.moves(state, depth):
        after = state.play(move)
        value = sign(state.kind) * sign(after.kind) * negamax(study, after, depth - 1, move)
        visit.returned()
        if state.kind != "mean" and is_better("max", value, values):
            visit.prefer()
        values.append(value)
    return visit.leave(summary("mean" if state.kind == "mean" else "max", values))


def alphabeta(
    study: Study,
    state: State,
    depth: float,
    move: int | None = None,
    alpha: float = -INF,
    beta: float = INF,
) -> Number:
    """The value of a state, if it lies between alpha and beta; else a bound of it, on the same side
    of the window.

    MAX has alpha for certain already, MIN has beta: once they meet, nobody lets the game come here,
    and the rest of the moves is skipped. Under a chance node every value matters, so its children
    get an open window.
    """
    visit = study.enter(state, move, state.kind, alpha, beta)
    if study.stops(state, depth):
        return visit.stop(one(study.worth(state)))
    moves = study.moves(state, depth)
    values: list[Number] = []
    for count, move in enumerate(moves, 1):
        window = (-INF, INF) if state.kind == "mean" else (alpha, beta)
        value = alphabeta(study, state.play(move), depth - 1, move, *window)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
        if state.kind == "max":
            alpha = max(alpha, value)
        elif state.kind == "min":
            beta = min(beta, value)
        visit.narrow(alpha, beta)
        if alpha >= beta and state.kind != "mean":
            visit.cut(moves[count:], depth)
            break
    return visit.leave(summary(state.kind, values))


def average(
    study: Study, state: State, depth: float, move: int | None = None, ours: str = ""
) -> Number:
    """Average min-max: the best at our plies, the mean at the opponent's, who may err. We play at
    the root.
    """
    ours = ours or state.kind
    kind = state.kind if state.kind == ours else "mean"
    visit = study.enter(state, move, kind)
    if study.stops(state, depth):
        return visit.stop(one(study.worth(state)))
    values: list[Number] = []
    for move in study.moves(state, depth):
        value = average(study, state.play(move), depth - 1, move, ours)
        visit.returned()
        if is_better(kind, value, values):
            visit.prefer()
        values.append(value)
    return visit.leave(summary(kind, values))


def maxn(
    study: Study, state: State, depth: float, move: int | None = None, ours: str = ""
) -> tuple[Number, ...]:
    """Minimax for players who each have a utility of their own: whoever chooses takes the best for
    themselves.

    Of equally good moves the first is taken. With `ours` this is average min-max: all others move
    by chance.
    """
    kind = state.kind if ours in ("", state.kind) else "mean"
    visit = study.enter(state, move, kind)
    if study.stops(state, depth):
        return visit.stop(several(study.worth(state)))
    values: list[tuple[Number, ...]] = []
    best: tuple[Number, ...] = ()
    for move in study.moves(state, depth):
        value = maxn(study, state.play(move), depth - 1, move, ours)
        visit.returned()
        if kind != "mean" and (not best or value[player(kind)] > best[player(kind)]):
            best = value
            visit.prefer()
        values.append(value)
    return visit.leave(best or tuple(mean(column) for column in zip(*values, strict=True)))


def random_legal(study: Study, state: State, depth: float, seed: int) -> Value | None:
    """The weakest player: one of the legal moves by lot, without looking at any."""
    visit = study.enter(state, None, state.kind)
    moves = study.moves(state, depth)
    if state.utility() is None and moves:
        visit.choose(moves[lot(f"{seed}:{state.text()}", len(moves))])
        visit.skip(moves, depth)
        return visit.leave(None)
    return visit.stop(study.worth(state))


def is_better(kind: str, value: Number, values: Sequence[Number]) -> bool:
    """Does whoever chooses here like the value more than those before it?"""
    if kind == "max":
        return not values or value > max(values)
    return kind == "min" and (not values or value < min(values))


def summary(kind: str, values: Sequence[Number]) -> Number:
    """The value of a node with such children."""
    if kind == "max":
        return max(values)
    return min(values) if kind == "min" else mean(values)


def sign(kind: str) -> int:
    """Whose values negamax has at a node: MAX's, or MIN's, which are the negated ones."""
    return -1 if kind == "min" else 1


def player(kind: str) -> int:
    """Which utility the player p1, p2, … looks at."""
    return int(kind[1:]) - 1


def one(value: Value) -> Number:
    """The utility of a leaf that has one."""
    if isinstance(value, tuple):
        raise NotPossible(
            "a utility for each player needs minimax (it is max-n then), average or random"
        )
    return value


def several(value: Value) -> tuple[Number, ...]:
    """The utilities of a leaf that has one for each player."""
    return value if isinstance(value, tuple) else (value,)
