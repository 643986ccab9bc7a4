"""The algorithms in their flat form: one function each, which tests at every node who chooses.

`study` holds the parameters of the search (evaluator, cut-off rule, move order) and writes the
trace. Without the calls of `visit`, these are the functions of the textbooks. Alpha-beta is
fail-soft: a node returns the best value that it found, even if that lies outside its window.
`engine.teach.algorithms.variants` has its other forms.
"""

from collections.abc import Sequence

from engine.teach.algorithms.study import INF, Study, mean
from engine.teach.errors import NotPossible
from engine.teach.states.evaluators import hashed_index
from engine.teach.states.state import State
from engine.teach.trace import Number, Value


def minimax(study: Study, state: State, depth: float, move: int | None = None) -> Number:
    """Returns the minimax value of a state, from MAX's point of view.

    It is the greatest of the children's values at a MAX node, the least at a MIN node, and their
    mean where chance decides.
    """
    visit = study.enter(state, move, state.kind)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    values: list[Number] = []
    for move in study.moves(state, depth):
        value = minimax(study, state.play(move), depth - 1, move)
        visit.returned()
        if is_better(state.kind, value, values):
            visit.prefer()
        values.append(value)
    return visit.leave(combine(state.kind, values))


def negamax(study: Study, state: State, depth: float, move: int | None = None) -> Number:
    """Returns the value of a state for the side to move.

    Since max(a, b) = -min(-a, -b), one rule serves both sides. A utility belongs to MAX; at a MIN
    node it is simply negated. Values at chance nodes are MAX's.
    """
    visit = study.enter(state, move, state.kind)
    if study.stops(state, depth):
        return visit.stop(sign(state.kind) * single_utility(study.leaf_value(state)))
    values: list[Number] = []
    for move in study.moves(state, depth):
        after = state.play(move)
        value = sign(state.kind) * sign(after.kind) * negamax(study, after, depth - 1, move)
        visit.returned()
        if state.kind != "mean" and is_better("max", value, values):
            visit.prefer()
        values.append(value)
    return visit.leave(combine("mean" if state.kind == "mean" else "max", values))


def alphabeta(
    study: Study,
    state: State,
    depth: float,
    move: int | None = None,
    alpha: float = -INF,
    beta: float = INF,
) -> Number:
    """Returns the value of a state if it lies between alpha and beta, otherwise a bound on it.

    The bound lies on the same side of the window as the value. MAX is already sure of alpha, and
    MIN of beta. Once alpha >= beta, one of them avoids this state, and the remaining moves are cut
    off. Below a chance node every value matters, so its children get an open window.
    """
    visit = study.enter(state, move, state.kind, alpha, beta)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    moves = study.moves(state, depth)
    values: list[Number] = []
    for count, move in enumerate(moves, 1):
        window = study.window_below(state.kind, alpha, beta)
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
    return visit.leave(combine(state.kind, values))


def average(
    study: Study, state: State, depth: float, move: int | None = None, ours: str = ""
) -> Number:
    """Returns the value of average min-max: the best at our plies, the mean at the opponent's.

    The mean models an opponent who may err. `ours` is the side to move at the root.
    """
    ours = ours or state.kind
    kind = state.kind if state.kind == ours else "mean"
    visit = study.enter(state, move, kind)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    values: list[Number] = []
    for move in study.moves(state, depth):
        value = average(study, state.play(move), depth - 1, move, ours)
        visit.returned()
        if is_better(kind, value, values):
            visit.prefer()
        values.append(value)
    return visit.leave(combine(kind, values))


def greedy(study: Study, state: State, depth: float) -> Number:
    """Returns the value of the move with the best evaluation: hill climbing, where depth is 1.

    Minimax is this step taken more than once, with an opponent who takes it too.
    """
    return minimax(study, state, depth)


def optimistic(
    study: Study, state: State, depth: float, move: int | None = None, best: Number = -INF
) -> Number:
    """Returns the greatest utility that can be reached if the opponent helps.

    It is an ordinary search for a good end, and stops at the first one that reaches the goal: the
    utility of a win. What it finds is no plan against an opponent who plays for themselves.
    """
    kind = "mean" if state.kind == "mean" else "max"
    visit = study.enter(state, move, kind, best, study.goal)
    if study.stops(state, depth):
        return visit.stop(single_utility(study.leaf_value(state)))
    moves = study.moves(state, depth)
    values: list[Number] = []
    for count, move in enumerate(moves, 1):
        window = study.window_below(kind, best, study.goal)
        value = optimistic(study, state.play(move), depth - 1, move, window[0])
        visit.returned()
        if is_better(kind, value, values):
            visit.prefer()
        values.append(value)
        if kind == "max":
            best = max(best, value)
            visit.narrow(best, study.goal)
            if best >= study.goal:
                visit.cut(moves[count:], depth)
                break
    return visit.leave(combine(kind, values))


def maxn(
    study: Study, state: State, depth: float, move: int | None = None, ours: str = ""
) -> tuple[Number, ...]:
    """Returns the utilities of a state by max-n, which is minimax for any number of players.

    Each player chooses the move with the greatest utility for themselves, the first of equally good
    ones. With `ours` this is average min-max: all other players move at random.
    """
    kind = state.kind if ours in ("", state.kind) else "mean"
    visit = study.enter(state, move, kind)
    if study.stops(state, depth):
        return visit.stop(all_utilities(study.leaf_value(state)))
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
    """Chooses a legal move at random, without a search; returns the value of a final state only."""
    visit = study.enter(state, None, state.kind)
    moves = study.moves(state, depth)
    if state.utility() is None and moves:
        visit.choose(moves[hashed_index(f"{seed}:{state.text()}", len(moves))])
        visit.skip(moves, depth)
        return visit.leave(None)
    return visit.stop(study.leaf_value(state))


def is_better(kind: str, value: Number, values: Sequence[Number]) -> bool:
    """Returns whether the value is better for the side to move than all values so far."""
    if kind == "max":
        return not values or value > max(values)
    return kind == "min" and (not values or value < min(values))


def combine(kind: str, values: Sequence[Number]) -> Number:
    """Returns a node's value from its children's: the greatest, the least or the mean."""
    if kind == "max":
        return max(values)
    return min(values) if kind == "min" else mean(values)


def sign(kind: str) -> int:
    """The sign of negamax's values at a node: 1 for MAX's, -1 for MIN's, which are negated."""
    return -1 if kind == "min" else 1


def player(kind: str) -> int:
    """The index of the utility of player p1, p2, …"""
    return int(kind[1:]) - 1


def single_utility(value: Value) -> Number:
    """Returns the single utility of a leaf; raises NotPossible if it has one for each player."""
    if isinstance(value, tuple):
        raise NotPossible(
            "a utility for each player needs minimax (it is max-n then), average or random"
        )
    return value


def all_utilities(value: Value) -> tuple[Number, ...]:
    """Returns the utilities of a leaf as a tuple; a single utility becomes a tuple of one."""
    return value if isinstance(value, tuple) else (value,)
