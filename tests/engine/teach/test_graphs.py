"""Graphs of states: the text form, the sizes, and searches with and without a table."""

import math
import random
import re

import pytest

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import TooLarge, TreeError
from engine.teach.lessons.opponents import PLAIN_SIGNS
from engine.teach.output.graph_drawing import format_states
from engine.teach.states.graph import Graph, GraphState, find_cycle, graph_of, sizes_of
from engine.teach.states.graph_text import format_graph, parse_graph
from engine.teach.states.state import GameState, Scale, State, TreeState
from engine.teach.states.tree import Node, Tree
from engine.teach.trace import Trace
from tests.engine.teach.checks import exact, is_close, true_value


def random_graph(rng: random.Random, size: int = 9, kinds: tuple[str, ...] = ("max", "min")) -> str:
    """Returns the text of a random graph without cycles, in which states are shared."""
    players = sum(kind.startswith("p") for kind in kinds)
    lines = []
    for number in range(size):
        targets = [number + 1] if number + 1 < size else []
        targets += rng.sample(range(number + 1, size), min(2, size - number - 1))
        if number < size - 3:
            below = ", ".join(f"m{i}: s{target}" for i, target in enumerate(targets))
            lines.append(f"s{number}: {rng.choice(kinds)}~{_value(rng, players)}({below})")
        else:
            lines.append(f"s{number}: {_value(rng, players)}")
    # The first state leads to the last ones, so that all of them can be reached.
    ends = ", ".join(f"e{i}: s{size - i}" for i in (1, 2, 3))
    lines[0] = lines[0].removesuffix(")") + f", {ends})"
    return "\n".join(lines)


def _value(rng: random.Random, players: int) -> str:
    numbers = [str(rng.randint(-9, 9)) for _ in range(players or 1)]
    return f"<{', '.join(numbers)}>" if players else numbers[0]


def unfolded(graph: Graph, name: str = "") -> Node:
    """Returns the tree of all paths of a graph."""
    state = graph.states[name or graph.start]
    children = tuple(
        Node(child.kind, child.children, move, child.utility, child.estimate)
        for move, target in state.transitions
        for child in [unfolded(graph, target)]
    )
    return Node(state.kind, children, "", state.utility, state.estimate)


def search(graph: Graph, algorithm: str, **options: object) -> Trace:
    """Returns the search of a graph."""
    return explain(GraphState.at_start(graph), Plan(algorithm, **options))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(12))
def test_the_text_is_read_back(seed: int) -> None:
    """A graph is the same after it is written and read."""
    kinds = ("max", "min", "mean") if seed % 2 else ("p1", "p2", "p3")
    graph = parse_graph(random_graph(random.Random(seed), kinds=kinds))
    assert parse_graph(format_graph(graph)).states == graph.states


def test_what_a_state_may_have() -> None:
    """States have names, nested states those of their paths; utilities may be infinite."""
    graph = parse_graph("""
        start: max~2[king*2 | rook](left: inner, right: min(-inf, go: end, 0.5))
        inner: mean(~3, [pawn | ])  # a comment
        end: inf ~1
    """)
    assert list(graph.states) == [
        *("start", "start.right", "start.right.1", "start.right.3"),
        *("inner", "inner.1", "inner.2", "end"),
    ]
    assert graph.states["start"].transitions == (("left", "inner"), ("right", "start.right"))
    assert graph.states["start.right"].transitions[1] == ("go", "end")
    assert graph.states["start.right.1"].utility == -math.inf
    assert (graph.states["end"].utility, graph.states["end"].estimate) == (math.inf, 1)
    assert graph.states["inner.2"].pieces == ({"pawn": 1}, {})
    assert graph.states["start"].estimate == 2


#: Texts that are no graphs, with the place and a part of the message.
WRONG = {
    "": "line 1, column 1: the name of a state was expected, not the end",
    "max: 3": "line 1, column 1: the name of a state was expected, not 'max'",
    "7: 3": "line 1, column 1: the name of a state",
    "a max(1)": "line 1, column 3: ':' was expected, not 'max'",
    "a: max(1": "line 1, column 9: ')' was expected, not the end",
    "a: max(\n  b: gone, 3)": "line 2, column 6: there is no state gone",
    "a: max(1)\nb: 2": "line 2, column 1: no path leads from a to b",
    "a: max(b)\nb: 1\nb: 2": "line 3, column 1: the state b is defined twice",
    "a: max(b, 2, b)\nb: 1": "line 1, column 14: a has two moves of the name b",
    "a: max(x: 1, x: 2)": "line 1, column 14: a has two moves of the name x",
    "a: max(1, <2, 3>)": "line 1, column 11: this has 2 utilities, but those before have 1",
    "a: max(b)\nb: p1(<1, 2>)": "line 1, column 1: max moves at a, but with 2 utilities",
    "a: p1(1, 2)": "line 1, column 1: p1 moves at a, but with 1 utilities the kinds are max",
    "a: max(2000000000)": "line 1, column 8: a number up to",
    "a: max(1) )": "line 1, column 11: the name of a state was expected, not ')'",
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_have_their_place(text: str) -> None:
    """An error in a graph is reported with its line and column."""
    with pytest.raises(TreeError, match=re.escape(WRONG[text])):
        parse_graph(text)


@pytest.mark.parametrize("seed", range(25))
def test_a_graph_is_searched_like_its_tree(seed: int) -> None:
    """Without a table the search of a graph is the search of the tree of all its paths."""
    rng = random.Random(seed)
    graph = parse_graph(random_graph(rng))
    tree = TreeState.at_root(Tree(unfolded(graph)))
    sizes = sizes_of(graph)
    for algorithm in ("minimax", "alphabeta", "negamax", "average"):
        depth = rng.choice([None, 2, 3])
        trace = search(graph, algorithm, depth=depth)
        expected = explain(tree, Plan(algorithm, depth))
        assert (trace.value, trace.line, trace.nodes) == (
            *(expected.value, expected.line, expected.nodes),
        )
    plain = search(graph, "minimax").counts
    assert (plain.nodes, plain.leaves) == (sizes.tree_nodes, sizes.tree_leaves)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("algorithm", ["minimax", "alphabeta"])
def test_a_table_changes_no_value(seed: int, algorithm: str) -> None:
    """With a table the value is the same, each bound holds, and no more nodes are visited."""
    rng = random.Random(seed)
    kinds = ("max", "min", "mean") if seed % 2 else ("max", "min")
    graph = parse_graph(random_graph(rng, size=24, kinds=kinds))
    depth = rng.choice([None, 3, 5])
    trace = search(graph, algorithm, depth=depth, form="table")
    plain = search(graph, "minimax", depth=depth)
    assert is_close(trace.value, exact(plain.value or 0))
    assert trace.counts.nodes <= plain.counts.nodes
    check_bounds(trace, GraphState.at_start(graph), math.inf if depth is None else depth)


def test_a_nearer_win_is_worth_more_with_a_table() -> None:
    """If a utility depends on the ply, the table distinguishes a state at different plies."""
    plan = Plan("minimax", form="table")
    root = GameState.at_root(load_game("sticks").start({"rows": "1-2-3"}), plan.utilities)
    trace = explain(root, plan)
    assert trace.counts.nodes < (sizes_of(graph_of(root)).tree_nodes or 0)
    check_bounds(trace, root, math.inf)


def check_bounds(trace: Trace, root: State, depth: float) -> None:
    """Checks that each value of a trace equals or bounds the true value, as its bound states."""
    nodes = trace.nodes
    states = [root]
    for row, parent in enumerate(nodes.parent):
        if row:
            state = states[parent]
            (move,) = [move for move in state.moves() if state.name(move) == nodes.move[row]]
            states.append(state.play(move))
        value, state = nodes.value[row], states[row]
        assert isinstance(value, int | float)
        truth = true_value(state, depth - state.ply, lambda s: s.estimate() or 0)
        assert not isinstance(truth, tuple)
        low, high = float(truth) - 1e-9, float(truth) + 1e-9
        assert {"exact": low <= value <= high, "lower": value <= high, "upper": value >= low}[
            nodes.bound[row]
        ]


def test_a_bound_of_a_table_serves_its_window_only() -> None:
    """A state that was cut off is searched again where its bound does not suffice."""
    graph = parse_graph("root: max(a: p, b: s)  p: min(4, s)  s: max(5, 9)")
    trace = search(graph, "alphabeta", form="table")
    assert (trace.value, trace.line) == (9, ("b", "2"))
    assert "table" not in trace.nodes.reason
    graph = parse_graph("root: max(a: p, b: q)  p: min(4, s)  q: min(3, s)  s: max(5, 9)")
    assert search(graph, "alphabeta", form="table", order="given:s").value == 4


@pytest.mark.parametrize("seed", range(10))
def test_a_table_searches_each_state_once(seed: int) -> None:
    """Minimax with a table expands each state once: the table answers all later visits."""
    graph = parse_graph(random_graph(random.Random(seed)))
    trace = search(graph, "minimax", form="table")
    sizes = sizes_of(graph)
    expanded = trace.nodes.reason.count("all")
    assert expanded == sizes.states - sizes.final_states
    assert trace.counts.nodes == 1 + sizes.transitions
    repeated = trace.counts.nodes - expanded - trace.counts.leaves
    assert trace.nodes.reason.count("table") == repeated


def test_utilities_for_each_player() -> None:
    """A graph may have a utility for each player, infinite ones as well: max-n searches it."""
    graph = parse_graph("""
        one: p1(a: two, b: three)   two: p2(<0, 0, 5>, end)
        three: p3(<2, 0, 4>, <1, 9, inf>)   end: <3, 1, 0>
    """)
    assert graph.players == 3
    trace = search(graph, "max-n")
    assert (trace.value, trace.line) == ((3, 1, 0), ("a", "end"))


def test_cycles() -> None:
    """A cycle is found and named; a search to a depth goes around it."""
    graph = parse_graph("a: max(b, 1)  b: min(c, 5)  c: max(b: b, 2)")
    assert find_cycle(graph) == ("b", "c", "b")
    assert sizes_of(graph).tree_nodes is None
    trace = search(graph, "minimax", depth=6, evaluator="zero")
    assert trace.value == 2
    assert "a cycle" in format_states(graph)
    with pytest.raises(TooLarge):
        search(graph, "minimax", evaluator="zero")


def test_the_states_of_games() -> None:
    """Rock-paper-scissors by turns has 13 states; tic-tac-toe has 5,478, and 549,946 nodes."""
    by_turns = sizes_of(graph_of(TreeState.at_root(PLAIN_SIGNS)))
    assert (by_turns.states, by_turns.final_states, by_turns.shared_states) == (13, 9, 0)
    assert (by_turns.tree_nodes, by_turns.tree_leaves) == (13, 9)
    start = GameState.at_root(load_game("tic-tac-toe").start(), Scale())
    sizes = sizes_of(graph_of(start))
    assert (sizes.states, sizes.final_states, sizes.transitions) == (5_478, 958, 16_167)
    assert (sizes.tree_nodes, sizes.tree_leaves) == (549_946, 255_168)
    assert sizes_of(graph_of(start, 2)).states == 1 + 9 + 72
    with pytest.raises(TooLarge, match="more than 100 states"):
        graph_of(start, limit=100)


def test_the_drawn_graph() -> None:
    """Each state's transitions are drawn once, where the state first occurs."""
    graph = parse_graph("a: max(x: b, y: c)  b: min(c, 3)  c: max(1, win)  win: 9")
    assert format_states(graph, "Mine").splitlines() == [
        *("Mine", ""),
        "a MAX",
        "  x -> b MIN",
        "    c MAX",
        "      1 -> c.1 = 1",
        "      win = 9",
        "    2 -> b.2 = 3",
        "  y -> c (see above)",
        "",
        "6 states, 3 of them final",
        "6 transitions; states that several of them lead to: 1",
        "a search that remembers no states visits 9 nodes, 5 of them leaves",
    ]
