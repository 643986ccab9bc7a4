"""Checks of the teaching search: independent values, and the guarantees of a trace."""

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.study import INF
from engine.teach.states.state import State, TreeState
from engine.teach.states.tree import Node, Tree, check_tree
from engine.teach.trace import Number, Trace, Value

#: An evaluator for the states at which the search stops.
Evaluator = Callable[[State], Value]
#: A value in fractions, without rounding errors.
Exact = Fraction | tuple[Fraction, ...]


def exact(value: Value) -> Exact:
    """Returns a value in fractions."""
    return tuple(map(Fraction, value)) if isinstance(value, tuple) else Fraction(value)


#: Values by the text and the ply of a state.
ValueCache = dict[tuple[str, float], Exact]


def true_value(
    state: State, depth: float, evaluate: Evaluator, ours: str = "", known: ValueCache | None = None
) -> Exact:
    """Returns the value of a state by definition, in fractions: that of MAX, or one per player.

    With `ours` all other players move at random (average min-max). `known` caches the values.
    """
    if known is None:
        known = {}
    key = (state.text(), state.ply)
    if key not in known:
        known[key] = _true_value(state, depth, evaluate, ours, known)
    return known[key]


def _mean(values: Sequence[Exact]) -> Exact:
    """Returns the mean of the values, or for each player the mean of the utilities.

    Utilities of several players are rounded as the program rounds them: exact means would break
    ties differently, and another best move has other utilities for the other players.
    """
    columns = zip(*(v for v in values if isinstance(v, tuple)), strict=True)
    means = tuple(Fraction(math.fsum(column) / len(values)) for column in columns)
    return means or sum((v for v in values if isinstance(v, Fraction)), Fraction(0)) / len(values)


def _true_value(
    state: State, depth: float, evaluate: Evaluator, ours: str, known: ValueCache
) -> Exact:
    utility = state.utility()
    if utility is not None:
        return exact(utility)
    if depth == 0 or not state.moves():
        return exact(evaluate(state))
    values = [
        true_value(state.play(move), depth - 1, evaluate, ours, known) for move in state.moves()
    ]
    kind = state.kind if ours in ("", state.kind) else "mean"
    if kind == "mean":
        return _mean(values)
    if kind == "max":
        return max(values)
    if kind == "min":
        return min(values)
    index = int(kind[1:]) - 1
    best = values[0]
    for value in values[1:]:
        if value[index] > best[index]:  # type: ignore[index]
            best = value
    return best


def random_tree(
    rng: random.Random, kinds: tuple[str, ...] = ("max", "min"), spread: int = 9, levels: int = 4
) -> Tree:
    """Returns a random tree with utilities within `spread`; its sides need not alternate."""
    players = sum(kind.startswith("p") for kind in kinds)

    def utility() -> Value:
        if players:
            return tuple(rng.randint(-spread, spread) for _ in range(players))
        return rng.randint(-spread, spread)

    def node(level: int) -> Node:
        if level == levels or (level and rng.random() < 0.15):
            return Node(utility=utility())
        return Node(
            rng.choice(kinds),
            tuple(node(level + 1) for _ in range(rng.randint(1, 4))),
            estimate=utility(),
        )

    return check_tree(Tree(node(0)))


def on_tree(tree: Tree, algorithm: str, **options: object) -> Trace:
    """Returns the trace of an algorithm on a tree."""
    return explain(TreeState.at_root(tree), Plan(algorithm, **options))  # type: ignore[arg-type]


def is_close(actual: Value | None, expected: Exact) -> bool:
    """Returns whether two values are equal up to the rounding of a mean."""
    if isinstance(expected, tuple):
        return isinstance(actual, tuple) and all(map(is_close, actual, expected))
    return isinstance(actual, int | float) and abs(Fraction(actual) - expected) <= Fraction(
        1, 10**9
    )


def check_trace(trace: Trace, root: State, evaluate: Evaluator) -> None:
    """Checks all guarantees of a complete trace, with `true_value` as the oracle."""
    assert not trace.truncated
    states = check_shape(trace, root)
    ours = root.kind if trace.algorithm == "average" else ""
    depth = INF if trace.depth is None else trace.depth
    signs = trace.nodes.sign
    known: ValueCache = {}
    expected = [true_value(state, depth - state.ply, evaluate, ours, known) for state in states]
    expected = [
        sign * value if isinstance(value, Fraction) else value
        for sign, value in zip(signs, expected, strict=True)
    ]
    check_values(trace, expected)
    check_steps(trace, expected)
    assert is_close(trace.value, expected[0])
    check_line(trace, root, depth, evaluate, ours, known)


def check_shape(trace: Trace, root: State) -> list[State]:
    """Checks the rows of a trace and returns their states.

    Parents come first, and each move of a node is visited or skipped exactly once.
    """
    nodes, skipped = trace.nodes, trace.skipped
    states = [root]
    move_names = [{} if nodes.kind[0] == "leaf" else moves_by_name(root)]
    moves: list[list[str]] = [[] for _ in nodes.parent]
    assert nodes.parent[0] == -1
    for row in range(1, len(nodes.parent)):
        parent = nodes.parent[row]
        assert 0 <= parent < row
        assert nodes.depth[row] == nodes.depth[parent] + 1
        states.append(states[parent].play(move_names[parent][nodes.move[row]]))
        move_names.append({} if nodes.kind[row] == "leaf" else moves_by_name(states[row]))
        moves[parent].append(nodes.move[row])
    for parent, name, below in zip(skipped.parent, skipped.move, skipped.below, strict=True):
        assert nodes.reason[parent] == "cut"
        moves[parent].append(name)
        assert below is None or below == size_below(states[parent], name, trace.depth)
    for row, expected in enumerate(move_names):
        assert sorted(moves[row]) == sorted(expected), "each child is visited or skipped"
    assert trace.counts.nodes == len(states)
    assert trace.counts.leaves == nodes.kind.count("leaf")
    return states


def moves_by_name(state: State) -> dict[str, int]:
    """Returns the moves of a state by their names."""
    return {state.name(move): move for move in state.moves()}


def size_below(state: State, name: str, depth: int | None) -> int:
    """Returns the number of nodes below the state after a move."""
    (after,) = [state.play(move) for move in state.moves() if state.name(move) == name]

    def count(reached: State) -> int:
        if depth is not None and reached.ply >= depth:
            return 0
        return sum(1 + count(reached.play(move)) for move in reached.moves())

    return count(after)


def parent_view(trace: Trace, row: int) -> Value:
    """Returns a node's value from its parent's point of view."""
    value, sign, parent = trace.nodes.value[row], trace.nodes.sign, trace.nodes.parent[row]
    assert value is not None
    return value if isinstance(value, tuple) else value * sign[row] * sign[parent]


def check_values(trace: Trace, truth: list[Exact]) -> None:
    """Checks that a node has the best value of its visited children and that its bound is valid."""
    nodes = trace.nodes
    children: list[list[Value]] = [[] for _ in nodes.parent]
    for row in range(1, len(nodes.parent)):
        children[nodes.parent[row]].append(parent_view(trace, row))
    for row, value in enumerate(nodes.value):
        kind, bound, reason = nodes.kind[row], nodes.bound[row], nodes.reason[row]
        assert value is not None
        if kind in ("max", "min"):
            best = max if kind == "max" or nodes.sign[row] < 0 else min
            assert value == best(children[row]), "fail-soft: the best value of the children"
        if bound == "exact":
            assert is_close(value, truth[row]), (row, value, truth[row])
        else:
            true = truth[row]
            assert isinstance(true, Fraction)
            assert isinstance(value, int | float)
            assert bound in ("lower", "upper")
            beyond = value - true if bound == "lower" else true - value
            assert beyond <= Fraction(1, 10**9), (row, bound, value, true)
        assert (kind == "leaf") == (reason in ("leaf", "depth"))


def check_steps(trace: Trace, truth: list[Exact]) -> None:
    """Checks the steps of a trace.

    Steps nest. A node passes its window on, and windows only narrow. An interval only narrows and
    always contains the true value.
    """
    nodes, steps = trace.nodes, trace.steps
    stack: list[int] = []
    window: dict[int, tuple[Number | None, Number | None]] = {}
    interval: dict[int, tuple[Number | None, Number | None]] = {}
    entered_count = 0
    for what, row, low, high in zip(steps.what, steps.node, steps.low, steps.high, strict=True):
        assert low is None or high is None or low <= high or what in ("narrowed", "cut")
        match what:
            case "enter":
                assert row == entered_count, "rows are in the order of visits"
                assert nodes.parent[row] == (stack[-1] if stack else -1)
                is_open = not stack or nodes.kind[stack[-1]] == "mean"
                assert is_open or is_open_window(*window[stack[-1]]), (
                    "an empty window ends the node"
                )
                assert (low, high) == ((None, None) if is_open else window[stack[-1]]), (
                    "the window is passed on"
                )
                assert (low, high) == (nodes.alpha[row], nodes.beta[row])
                window[row], interval[row] = (low, high), (None, None)
                stack.append(row)
                entered_count += 1
            case "returned":
                assert nodes.parent[row] == stack[-1]
                check_inside(interval[stack[-1]], (low, high), truth[stack[-1]])
                interval[stack[-1]] = low, high
            case "narrowed":
                assert row == stack[-1]
                check_narrower(window[row], (low, high))
                assert (low, high) != window[row]
                window[row] = low, high
            case "cut":
                assert row == stack[-1]
                assert (low, high) == window[row]
                assert low is not None
                assert high is not None
                assert low >= high, "only an empty window cuts"
                assert nodes.reason[row] == "cut"
            case "leave":
                assert stack.pop() == row
                check_inside(interval[row], (low, high), truth[row])
                value, bound = nodes.value[row], nodes.bound[row]
                assert (
                    value in {"exact": (low, None), "lower": (low,), "upper": (high,)}[bound]
                    or bound == "exact"
                )
                assert (bound == "exact") == (
                    low == high or isinstance(value, tuple)
                ) or low is None
    assert not stack
    assert entered_count == len(nodes.parent)


def is_open_window(alpha: Number | None, beta: Number | None) -> bool:
    """Returns whether the window is not empty."""
    return alpha is None or beta is None or alpha < beta


def check_narrower(
    before: tuple[Number | None, Number | None], now: tuple[Number | None, Number | None]
) -> None:
    """Checks that the second interval lies within the first."""
    assert before[0] is None or (now[0] is not None and now[0] >= before[0])
    assert before[1] is None or (now[1] is not None and now[1] <= before[1])


def check_inside(
    before: tuple[Number | None, Number | None],
    now: tuple[Number | None, Number | None],
    truth: Exact,
) -> None:
    """Checks that the interval has not widened and contains the true value."""
    check_narrower(before, now)
    if isinstance(truth, Fraction):
        slack = Fraction(1, 10**9)
        assert now[0] is None or Fraction(now[0]) <= truth + slack
        assert now[1] is None or Fraction(now[1]) >= truth - slack


def check_line(
    trace: Trace, root: State, depth: float, evaluate: Evaluator, ours: str, known: ValueCache
) -> None:
    """Checks that the principal variation keeps the value and ends at a leaf or a chance node."""
    state = root
    for name in trace.line:
        assert ours in ("", state.kind)
        assert state.kind != "mean"
        (move,) = [move for move in state.moves() if state.name(move) == name]
        values = [
            true_value(state.play(other), depth - state.ply - 1, evaluate, ours, known)
            for other in state.moves()
        ]
        best = true_value(state, depth - state.ply, evaluate, ours, known)
        assert values[list(state.moves()).index(move)] == best
        state = state.play(move)
    is_end = state.utility() is not None or not state.moves() or depth == state.ply
    assert is_end or state.kind == "mean" or (ours and state.kind != ours)
