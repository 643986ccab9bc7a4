"""The teaching search reproduces ten worked examples, number for number."""

import re

import msgspec
import pytest

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.errors import UnknownName
from engine.teach.lessons.catalogue import load_lesson
from engine.teach.lessons.lesson import perform
from engine.teach.lessons.opponents import PLAIN_SIGNS, PRIVATE_SIGNS, SIGNS_OF_BOTH
from engine.teach.output.text import format_trace, node_names
from engine.teach.states.evaluators import scale_of, weigh
from engine.teach.states.state import GameState, Scale
from engine.teach.states.tree import Tree, walk
from engine.teach.trace import Trace, Value
from tests.engine.teach.checks import on_tree


def traces(lesson: str) -> list[Trace]:
    """Returns the traces of a lesson's runs."""
    return [perform(run) for run in load_lesson(lesson).runs]


def visited_and_skipped(trace: Trace) -> tuple[list[str], list[str]]:
    """Returns the visited and skipped nodes; the JSON and the text must agree on them."""
    decoded = msgspec.json.decode(msgspec.json.encode(trace), type=Trace)
    assert decoded == trace
    visited, skipped = node_names(decoded)
    text = " ".join(format_trace(trace).split())
    match = re.search(r"visited: (.*) skipped: (.*)$", text)
    assert match is not None
    assert match[1].split() == visited
    assert re.sub(r" \(and \d+ below\)", "", match[2]).split(", ") == (skipped or ["nothing"])
    return visited, skipped


def value_of(trace: Trace, move: str) -> Value | None:
    """Returns the value of the visited node that a move leads to."""
    return trace.nodes.value[trace.nodes.move.index(move)]


def bound_of(trace: Trace, move: str) -> str:
    """Returns the bound of the visited node that a move leads to."""
    return trace.nodes.bound[trace.nodes.move.index(move)]


def steps_of(trace: Trace, move: str) -> list[tuple[str, object, object]]:
    """Returns the steps of a node; those of kind `returned` have its interval after each child."""
    row, steps = trace.nodes.move.index(move), trace.steps
    of_node: list[tuple[str, object, object]] = []
    for what, node, low, high in zip(steps.what, steps.node, steps.low, steps.high, strict=True):
        if (trace.nodes.parent[node] if what == "returned" else node) == row:
            of_node.append((what, low, high))
    return of_node


def test_1_four_level_tree() -> None:
    """Alpha-beta visits the nodes of the example, skips all others, and chooses A with 10."""
    pruned, plain = traces("four-level-tree")
    (run, *_) = load_lesson("four-level-tree").runs
    assert isinstance(run.subject, Tree)
    negated = on_tree(run.subject, "negamax")
    visited, skipped = visited_and_skipped(pruned)
    assert " ".join(visited) == "A C G G1 G2 H H1 H2 D I I1 I2 B E K K1 L L1"
    assert skipped == ["J", "K2", "L2", "F"]
    assert pruned.skipped.below == (2, 0, 0, 6)
    values = {"G": 10, "H": 9, "C": 10, "I": 14, "D": 14, "A": 10, "K": 5, "L": 4, "E": 5, "B": 5}
    assert {move: value_of(pruned, move) for move in values} == values
    bounds = {
        "G": "exact",
        "C": "exact",
        "D": "lower",
        "A": "exact",
        "K": "upper",
        "L": "upper",
        "E": "upper",
    }
    assert {move: bound_of(pruned, move) for move in bounds} == bounds
    assert ("cut", 14, 10) in steps_of(pruned, "D")
    assert (pruned.value, pruned.line[0]) == (10, "A")
    assert (plain.value, plain.line, plain.counts.nodes) == (10, pruned.line, 31)
    assert (negated.value, negated.line, negated.counts.nodes) == (10, pruned.line, 31)
    assert visited_and_skipped(plain)[1] == []


def test_1_every_node_is_visited_or_skipped() -> None:
    """Every node below the root is visited, skipped, or below a skipped one."""
    (run, *_) = load_lesson("four-level-tree").runs
    assert isinstance(run.subject, Tree)
    names = {path[-1]: path for _, path, _ in walk(run.subject.root) if path}
    visited, skipped = visited_and_skipped(perform(run))
    below = [name for name, path in names.items() if set(path[:-1]) & set(skipped)]
    assert sorted(below) == sorted(["J1", "J2", "M", "M1", "M2", "N", "N1", "N2"])
    assert sorted([*visited, *skipped, *below]) == sorted(names)


#: The log of the second example.
STICKS_LOG = """
MAX: alpha -inf, beta inf
  1x1 MIN: alpha -inf, beta inf
    2x1 = -1: 1x1 in [-1, -1], beta -1
  1x1 = -1: root in [-1, inf), alpha -1
  2x1 MIN: alpha -1, beta inf
    1x1 = -1: 2x1 in (-inf, -1], beta -1
    cut-off, -1 >= -1; skipped: 2x1
  2x1 <= -1: root in [-1, inf)
  2x2 = 101: root in [101, 101], alpha 101
MAX = 101, plays 2x2
"""


def test_2_sticks() -> None:
    """After 3x3 the search tries 1x1, 2x1, 2x2 with the scores and windows shown, and plays 2x2."""
    start = load_game("sticks").start()
    after = start.play(start.parse_move("3x3"))
    plan = Plan("alphabeta", depth=3, evaluator="random")
    assert plan.utilities == Scale(-1, 50, 101)
    trace = explain(GameState.at_root(after, plan.utilities), plan)
    assert STICKS_LOG in format_trace(trace)
    visited, skipped = visited_and_skipped(trace)
    assert visited == ["1x1", "1x1.2x1", "2x1", "2x1.1x1", "2x2"]
    assert skipped == ["2x1.2x1"]
    assert (trace.value, trace.line) == (101, ("2x2",))
    assert after.play(after.parse_move("2x2")).outcome() is not None
    assert trace == msgspec.structs.replace(traces("sticks")[0], title="")


def test_2_negamax_negates_the_utility() -> None:
    """A loss of -1 is worth 1 to the opponent, not 101, because negamax negates the utility."""
    negated = traces("negamax")[2]
    assert negated.view == "mover"
    assert (negated.value, negated.line) == (101, ("2x2",))
    nodes = zip(negated.nodes.value, negated.nodes.kind, strict=True)
    assert [value for value, kind in nodes if kind == "min"] == [1, 1]


def test_2_the_random_evaluator() -> None:
    """The random evaluator returns numbers from 0 to 100 that depend on the seed."""
    start = load_game("sticks").start()

    def leaves(seed: int) -> list[Value | None]:
        plan = Plan("minimax", depth=2, evaluator="random", seed=seed)
        nodes = explain(GameState.at_root(start, plan.utilities), plan).nodes
        return [
            value
            for value, reason in zip(nodes.value, nodes.reason, strict=True)
            if reason == "depth"
        ]

    assert leaves(1) == leaves(1) != leaves(2)
    assert all(isinstance(value, int) and 0 <= value <= 100 for value in [*leaves(1), *leaves(2)])
    assert len(set(leaves(1))) > 5


def test_3_alpha_and_beta_cut() -> None:
    """With alpha 20 a value of 15 cuts off at MIN; with beta 20 a value of 25 cuts off at MAX."""
    (alpha,) = traces("alpha-cut")
    assert visited_and_skipped(alpha) == (["C1", "C2", "D"], ["E", "F"])
    assert (value_of(alpha, "C2"), bound_of(alpha, "C2"), alpha.value) == (15, "upper", 20)
    assert ("cut", 20, 15) in steps_of(alpha, "C2")
    _, beta = traces("beta-cut")
    assert visited_and_skipped(beta) == (["C1", "C2", "D"], ["E", "F"])
    assert (value_of(beta, "C2"), bound_of(beta, "C2"), beta.value) == (25, "lower", 20)
    assert ("cut", 25, 20) in steps_of(beta, "C2")


def test_4_greedy_friends() -> None:
    """The second friend's first coin makes the window (10, 5) empty and cuts off."""
    pruned, plain = traces("greedy-friends")
    assert visited_and_skipped(pruned) == (
        ["one", "one-10", "one-50", "one-25", "two", "two-5"],
        ["two-2", "two-25"],
    )
    assert steps_of(pruned, "two") == [
        ("enter", 10, None),
        ("returned", None, 5),
        ("narrowed", 10, 5),
        ("cut", 10, 5),
        ("leave", None, 5),
    ]
    assert (pruned.value, plain.value, pruned.line[0]) == (10, 10, "one")


def test_5_generous_friends() -> None:
    """With MIN at the root, 25 from the first friend and 50 from the second cut off the rest."""
    pruned, plain = traces("generous-friends")
    assert visited_and_skipped(pruned) == (
        ["one", "one-5", "one-2", "one-25", "two", "two-50"],
        ["two-10", "two-20"],
    )
    assert pruned.nodes.kind[0] == "min"
    assert steps_of(pruned, "two")[-2:] == [("cut", 50, 25), ("leave", 50, None)]
    assert (pruned.value, plain.value, pruned.line[0]) == (25, 25, "one")


@pytest.mark.parametrize("algorithm", ["minimax", "alphabeta", "negamax"])
def test_6_rock_paper_scissors(algorithm: str) -> None:
    """Every first move is worth -1, except scissors with private utilities: -20. Rock is played.

    The game has thirteen states.
    """
    for tree in (PLAIN_SIGNS, PRIVATE_SIGNS, SIGNS_OF_BOTH):
        assert len(list(walk(tree.root))) == 13
    plain, private = on_tree(PLAIN_SIGNS, algorithm), on_tree(PRIVATE_SIGNS, algorithm)
    assert (plain.value, plain.line[0]) == (private.value, private.line[0]) == (-1, "rock")
    if algorithm == "minimax":
        values = [[trace.nodes.value[row] for row in (1, 5, 9)] for trace in (plain, private)]
        assert values == [[-1, -1, -1], [-1, -1, -20]]
        assert [plain.nodes.move[row] for row in (1, 5, 9)] == ["rock", "paper", "scissors"]


def test_6_private_utilities_for_both() -> None:
    """In max-n each player maximizes their own utility: paper answers rock, scissors paper."""
    trace = traces("rock-paper-scissors")[2]
    assert (trace.value, trace.line) == ((-1, 1), ("rock", "paper"))
    assert [trace.nodes.value[row] for row in (1, 5, 9)] == [(-1, 1), (-1, 15), (-20, 1)]


def test_7_final_states() -> None:
    """A finished game is worth 1 to its winner, -1 to its loser and 0 in a draw, for both seats."""
    game = load_game("tic-tac-toe")
    won = game.position("XXXOO....")
    assert won.outcome() is not None
    assert [GameState(won, seat, Scale()).utility() for seat in (0, 1)] == [1, -1]
    drawn = game.position("XOXXOOOXX")
    assert [GameState(drawn, seat, Scale()).utility() for seat in (0, 1)] == [0, 0]
    assert GameState(game.start(), 0, Scale()).utility() is None
    assert explain(GameState.at_root(won, Scale()), Plan(evaluator="zero")).value == -1


def test_8_evaluation() -> None:
    """K, B, B against K, Q counts 3 - 2 = 1; with weights 10, 9, 3 it is 16 - 19 = -3."""
    weights = {"king": 10, "queen": 9, "bishop": 3}
    assert weigh({"king": 1, "bishop": 2}, weights) == 16
    assert weigh({"king": 1, "queen": 1}, weights) == 19
    counted, weighted, by_seed, board, stones = traces("evaluation")
    assert board.value == -3
    assert [value_of(counted, move) for move in "ABC"] == [1, 1, -1]
    assert [value_of(weighted, move) for move in "ABC"] == [1, -3, 5]
    assert (counted.line, weighted.line) == (("A",), ("C",))
    assert len({value_of(by_seed, move) for move in "ABC"}) == 3
    assert set(stones.nodes.value) == {1}


def test_9_the_lesson_is_small() -> None:
    """With six empty cells the search takes 82 nodes, and the gzipped trace less than 1.7 kB."""
    import gzip

    trace = perform(load_lesson("tic-tac-toe").runs[1])
    assert trace.counts.nodes == 82
    assert trace.position.count(".") == 6
    assert len(gzip.compress(msgspec.json.encode(trace))) < 1700


def test_10_knuth_and_moore() -> None:
    """In the best order alpha-beta visits 9 + 9 - 1 of the 81 leaves of a tree of four plies.

    In the other orders it visits more.
    """
    best, plain, worst = traces("move-order")
    assert [trace.counts.minimum_leaves for trace in (best, plain, worst)] == [17, 17, 17]
    assert best.counts.leaves == 17 < plain.counts.leaves < worst.counts.leaves
    assert {trace.value for trace in (best, plain, worst)} == {best.value}
    assert {
        (trace.counts.plain_nodes, trace.counts.plain_leaves) for trace in (best, plain, worst)
    } == {(121, 81)}
    assert best.counts.ordering > 0 == plain.counts.ordering


def test_unknown_lessons_are_refused() -> None:
    """The error for an unknown lesson lists the lessons; weights do not change a scale."""
    with pytest.raises(UnknownName, match="four-level-tree"):
        load_lesson("five-level-tree")
    assert scale_of("material:king=3") == scale_of("material")
