"""Traces: JSON, limits, truncation, and the errors of wrong plans."""

import gzip
import random
from dataclasses import replace

import msgspec
import pytest

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import ALGORITHMS, Plan, explain
from engine.teach.algorithms.study import MAX_PLY
from engine.teach.errors import NotPossible, TooLarge, UnknownName
from engine.teach.output.text import format_trace
from engine.teach.states.evaluators import estimate, parse_weights
from engine.teach.states.state import GameState, Scale, TreeState
from engine.teach.states.tree import Node, Tree
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import MAX_TRACE_NODES, Trace
from tests.engine.teach.checks import check_trace, on_tree, random_tree


def start_of(game_id: str, plan: Plan) -> GameState:
    """Returns the start of a game as the root of a search."""
    return GameState.at_root(load_game(game_id).start(), plan.utilities)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_traces_survive_json(algorithm: str) -> None:
    """A trace survives JSON unchanged: integers stay integers, and open limits are null."""
    plan = Plan(algorithm, depth=3)
    trace = explain(start_of("tic-tac-toe", plan), plan, "Tic-tac-toe")
    content = msgspec.json.encode(trace)
    assert msgspec.json.decode(content, type=Trace) == trace
    assert b"Infinity" not in content
    assert b"NaN" not in content
    columns = msgspec.to_builtins(trace)
    for part in ("nodes", "skipped", "steps"):
        assert len({len(column) for column in columns[part].values()}) == 1


def test_a_truncated_trace() -> None:
    """Beyond the limit of a trace the search continues; the trace has the first nodes only."""
    plan = Plan("alphabeta", depth=4)
    root = start_of("connect-four", plan)
    full, truncated = explain(root, plan), explain(root, replace(plan, max_trace=100))
    assert (full.truncated, truncated.truncated) == (False, True)
    assert (truncated.value, truncated.line, truncated.counts) == (
        full.value,
        full.line,
        full.counts,
    )
    assert len(truncated.nodes.parent) == 100
    assert truncated.nodes.parent == full.nodes.parent[:100]
    assert truncated.nodes.value == full.nodes.value[:100], (
        "the traced nodes have their final values"
    )
    assert max(truncated.steps.node) == 99
    assert set(truncated.skipped.parent) <= set(range(100))
    assert "the first 100 nodes only" in format_trace(truncated)
    assert "nodes only" not in format_trace(full)


def test_no_plan_exceeds_the_trace_limit() -> None:
    """A trace has at most MAX_TRACE_NODES nodes with any plan; a truncated one is valid JSON."""
    plan = Plan("minimax", depth=6, max_trace=10**9)
    trace = explain(
        GameState.at_root(load_game("tic-tac-toe").position("....X...."), plan.utilities), plan
    )
    assert trace.counts.nodes > MAX_TRACE_NODES == len(trace.nodes.parent)
    content = msgspec.json.encode(trace)
    assert msgspec.json.decode(content, type=Trace).truncated
    assert len(gzip.compress(content)) < 400_000


def test_a_search_is_bounded() -> None:
    """A search beyond the limit of nodes or plies raises TooLarge and returns no value."""
    plan = Plan("minimax", depth=4, max_nodes=1000)
    with pytest.raises(TooLarge, match="1,000 nodes"):
        explain(start_of("connect-four", plan), plan)
    for order in ("best", "worst"):
        with pytest.raises(TooLarge, match="1,000 nodes"):
            explain(start_of("connect-four", plan), replace(plan, order=order))
    node: Node | int = 1
    for _ in range(MAX_PLY + 1):
        node = Node("max", (node,))
    assert isinstance(node, Node)
    with pytest.raises(TooLarge, match="64 plies"):
        explain(TreeState.at_root(Tree(node)), Plan("minimax"))


def test_finished_positions_and_no_depth() -> None:
    """A finished root, or one at depth 0, is a leaf with a utility or an estimate and no move."""
    won = GameState.at_root(load_game("tic-tac-toe").position("XXXOO...."), Scale(-1, 0, 1))
    for algorithm in ALGORITHMS:
        trace = explain(won, Plan(algorithm))
        sign = -1 if trace.view == "mover" and trace.nodes.sign[0] < 0 else 1
        assert (sign * -1, ()) == (trace.value, trace.line)
        assert (trace.nodes.kind, trace.nodes.reason) == (("leaf",), ("leaf",))
        assert "best line: none" in format_trace(trace)
    plan = Plan(depth=0, evaluator="zero")
    trace = explain(start_of("connect-four", plan), plan)
    assert (trace.value, trace.line, trace.nodes.reason) == (0, (), ("depth",))


#: Plan, expected error, and a part of its message.
WRONG = [
    (Plan("maximin"), UnknownName, "there is no algorithm 'maximin'; there are minimax, negamax"),
    (Plan(form="round"), UnknownName, "there are flat, nodes, pair, map"),
    (Plan("negamax", form="map"), NotPossible, "the form map exists only for"),
    (Plan("max-n", player=1), NotPossible, "max-n has a value for each player"),
    (Plan("strict", form="pair"), NotPossible, "the form pair exists only for"),
    (Plan("average", form="table"), NotPossible, "the form table exists only for"),
    (Plan(order="random"), UnknownName, "there are game, reversed, best"),
    (Plan(order="best:a1"), UnknownName, "no order 'best:a1'"),
    (Plan(order="given:a1,z9", depth=2), NotPossible, "names z9"),
    (Plan(evaluator="guess"), UnknownName, "there are estimate, zero, random"),
    (Plan(evaluator="zero:king=3"), UnknownName, "no evaluator"),
    (Plan(evaluator="material:king"), UnknownName, "a weight is written queen=9"),
    (Plan(evaluator="material:king=101"), UnknownName, "0 to 100"),
    (Plan(depth=-1), NotPossible, "a depth is 0 to 64"),
    (Plan(depth=65), NotPossible, "a depth is 0 to 64"),
]


@pytest.mark.parametrize(("plan", "error", "message"), WRONG)
def test_wrong_plans(plan: Plan, error: type[Exception], message: str) -> None:
    """An unknown name or an impossible combination raises an error that says what was expected."""
    with pytest.raises(error, match=message):
        explain(start_of("tic-tac-toe", Plan()), plan)


def test_algorithms_for_several_players() -> None:
    """With a utility for each player, only minimax, average and random work."""
    tree = parse_tree("p1(<1, 2, 3>, p2(<4, 5, 6>, <0, 9, 1>))")
    for algorithm in ("alphabeta", "negamax"):
        with pytest.raises(NotPossible, match="several players"):
            on_tree(tree, algorithm)
    with pytest.raises(NotPossible, match="no pieces"):
        on_tree(tree, "minimax", evaluator="material", depth=1)
    assert on_tree(tree, "minimax").value == (1, 2, 3)
    assert on_tree(tree, "average").value == (2, 7, 3.5)
    for evaluator in ("zero", "random"):
        value = on_tree(tree, "minimax", depth=0, evaluator=evaluator).value
        assert isinstance(value, tuple)
        assert len(value) == 3


def test_a_missing_estimate_is_reported() -> None:
    """If a node at the horizon has no estimate, the message names the node and the remedies."""
    tree = parse_tree("max(A: min~4(1, 2), B: min(5, 6))")
    with pytest.raises(NotPossible, match=r"the node B has no estimate: write one \(max~5"):
        on_tree(tree, "alphabeta", depth=1)
    assert on_tree(tree, "alphabeta", depth=1, evaluator="zero").value == 0


def test_the_text_of_numbers() -> None:
    """The text uses the singular, has no best line at a chance node, and never prints -0."""
    text = format_trace(on_tree(parse_tree("mean(-0.0, 0.5)"), "negamax"))
    assert "best line: none, chance decides" in text
    assert "searched: 3 nodes, 2 leaves" in text
    assert "1 = 0: root in" in text
    assert "searched: 1 node, 1 leaf" in format_trace(on_tree(parse_tree("3"), "minimax"))


def test_random_moves() -> None:
    """The random player chooses a move by its seed, without a search, and every move occurs."""
    start = load_game("tic-tac-toe").start()
    root = GameState.at_root(start, Scale())
    traces = [explain(root, Plan("random", seed=seed)) for seed in range(100)]
    assert {trace.line for trace in traces} == {(token,) for token in start.tokens()}
    assert traces[3] == explain(root, Plan("random", seed=3))
    for trace in traces:
        assert (trace.counts.nodes, trace.value, trace.nodes.reason) == (1, None, ("chosen",))
        assert set(trace.skipped.move) == set(start.tokens())
    assert "choice: " in format_trace(traces[0])


def test_orders() -> None:
    """Each order sorts the moves of every node as its name says."""
    tree = parse_tree("max(A: 1, B: 3, C: 2, D: min(E: 9, F: 8))")
    expected = {
        "game": "A B C D E F",
        "reversed": "D F E C B A",
        "best": "D F E B C A",
        "worst": "A C B D E F",
        "given:F,C,B": "C B A D F E",
    }
    for order, moves in expected.items():
        trace = on_tree(tree, "minimax", order=order)
        assert " ".join(trace.nodes.move[1:]) == moves, order
        check_trace(trace, TreeState.at_root(tree), estimate)


def test_a_shallower_search_orders_moves() -> None:
    """With a depth limit a search one ply shallower orders the moves, and its nodes are counted."""
    tree = parse_tree("max(A: min~1(min~7(4), min~8(5)), B: min~2(min~3(9), min~4(8)))")
    shallow, deep = (
        on_tree(tree, "minimax", depth=2, order="best"),
        on_tree(tree, "minimax", order="best"),
    )
    assert [move for move in shallow.nodes.move if move in "AB"][1:] == ["B", "A"]
    assert [move for move in deep.nodes.move if move in "AB"][1:] == ["B", "A"]
    assert shallow.line[0] == "A"
    assert deep.line[0] == "B"
    assert 0 < shallow.counts.ordering < deep.counts.ordering


def test_weights() -> None:
    """Weights are parsed by name."""
    assert parse_weights("king=10, queen=9") == {"king": 10, "queen": 9}
    assert parse_weights("") == {}


def test_material_needs_sides() -> None:
    """The evaluator `material` raises NotPossible for sticks, which belong to no side."""
    plan = Plan(depth=1, evaluator="material")
    with pytest.raises(NotPossible, match="no pieces that belong to a side"):
        explain(start_of("sticks", plan), plan)


def test_large_trees_are_not_counted() -> None:
    """If plain minimax has too many nodes to count, the trace says so."""
    plan = Plan(depth=6)
    trace = explain(start_of("connect-four", plan), plan)
    assert (
        trace.counts.plain_nodes is trace.counts.plain_leaves is trace.counts.minimum_leaves is None
    )
    assert "too many to count" in format_trace(trace, "none")


def test_deep_logs_fit_into_80_columns() -> None:
    """Deep lines of the log show the ply as a number and stay within 80 columns."""
    text = "max(1)"
    for _ in range(50):
        text = f"max({text})"
    log = format_trace(on_tree(parse_tree(text), "alphabeta"))
    assert max(map(len, log.splitlines())) <= 80
    assert "[ply 40]" in log


def test_fractions_are_short() -> None:
    """The text shows a mean of 1/3 with six digits; the trace does not round it."""
    trace = on_tree(parse_tree("mean(1, 0, 0)"), "minimax")
    assert trace.value == 1 / 3
    assert "value: 0.333333\n" in format_trace(trace)


def test_equal_plans_give_equal_traces() -> None:
    """Two searches of one tree with the same plan have equal traces."""
    tree = random_tree(random.Random(7))
    assert on_tree(tree, "alphabeta") == on_tree(tree, "alphabeta")
