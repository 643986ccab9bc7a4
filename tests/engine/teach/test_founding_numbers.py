"""The worked examples of the founding texts, with the very numbers of tests/data/founding."""

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from engine.rules.registry import load_game
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.lessons.catalogue import load_lesson
from engine.teach.lessons.opponents import PLAIN_SIGNS, PRIVATE_SIGNS, private_utility
from engine.teach.output.classic import board_lines, classic_lines, classic_match, player_name
from engine.teach.output.text import bounds_lines, node_names
from engine.teach.states.graph import graph_of, sizes_of
from engine.teach.states.state import GameState, Scale, TreeState
from engine.teach.states.tree import walk
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Trace, Value
from tests.engine.teach.checks import on_tree

#: The table of the numbers, by row.
NUMBERS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).parents[2] / "data/founding/numbers.toml").read_text("utf-8")
)
#: The game of sticks as the first text prints it, with the answers of the person.
TRANSCRIPT = (Path(__file__).parents[2] / "data/founding/sticks.txt").read_text("utf-8")


def row(number: int) -> dict[str, Any]:
    """Returns a row of the table."""
    (numbers,) = [numbers for name, numbers in NUMBERS.items() if name.startswith(f"{number}-")]
    return numbers


def searched(number: int, algorithm: str, form: str = "flat") -> Trace:
    """Returns the search of a row's tree."""
    return on_tree(parse_tree(row(number)["tree"]), algorithm, form=form)


def value_at(trace: Trace, move: str) -> Value | None:
    """Returns the value of the visited node that a move leads to."""
    return trace.nodes.value[trace.nodes.move.index(move)]


def names(trace: Trace) -> tuple[str, str]:
    """Returns the visited and the skipped nodes of a search."""
    visited, skipped = node_names(trace)
    return " ".join(visited), " ".join(skipped)


def as_line(level: int, text: str) -> str:
    """Returns a line of a log with its indentation."""
    return "  " * level + text


def test_the_table_has_all_rows() -> None:
    """The table has the thirteen worked examples, in order."""
    assert [int(name.partition("-")[0]) for name in NUMBERS] == list(range(1, 14))


@pytest.mark.parametrize("form", ["flat", "nodes", "pair", "map"])
def test_row_1_the_visits(form: str) -> None:
    """Alpha-beta visits 19 of 31 nodes and 8 of 16 leaves of the four-level tree, in this order."""
    expected, trace = row(1), searched(1, "alphabeta", form)
    assert names(trace) == (expected["visited"], expected["skipped"])
    assert (trace.counts.nodes, trace.counts.plain_nodes) == (
        expected["nodes"],
        expected["all_nodes"],
    )
    assert (trace.counts.leaves, trace.counts.plain_leaves) == (
        expected["leaves"],
        expected["all_leaves"],
    )
    assert (trace.value, trace.line[0]) == (expected["value"], expected["plays"])
    assert {move: value_at(trace, move) for move in expected["values"]} == expected["values"]
    d = trace.nodes.move.index("D")
    assert (trace.nodes.value[d], trace.nodes.bound[d]) == (expected["d_at_least"], "lower")


def test_row_1_the_variants() -> None:
    """Fail-hard and fail-soft make the same visits; plain minimax finds E = 2; A is chosen."""
    expected = row(1)
    for name, values in (("fail-hard", "fail_hard"), ("fail-soft", "fail_soft")):
        trace = searched(1, name)
        assert names(trace) == (expected["visited"], expected["skipped"])
        assert {move: value_at(trace, move) for move in expected[values]} == expected[values]
        assert (trace.value, trace.line[0]) == (expected["value"], expected["plays"])
    plain = searched(1, "minimax")
    assert {move: value_at(plain, move) for move in expected["plain"]} == expected["plain"]
    assert (plain.value, plain.line[0]) == (expected["value"], expected["plays"])
    assert plain.counts.nodes == expected["all_nodes"]
    assert value_at(plain, "L2") <= value_at(plain, "K")  # type: ignore[operator]


@pytest.mark.parametrize("number", [1, 5, 6])
@pytest.mark.parametrize("form", ["one-bound", "one-bound-early", "parent-bound"])
def test_one_bound_as_printed_and_early(number: int, form: str) -> None:
    """As printed, a node never stops before its second child; the value and the choice stay."""
    expected, trace = row(number), searched(number, form)
    figures = expected["one_bound_forms"][form]
    assert (trace.counts.nodes, trace.counts.leaves) == (figures["nodes"], figures["leaves"])
    assert names(trace)[1] == figures["skipped"]
    assert (trace.value, trace.line[0]) == (expected["value"], searched(number, "minimax").line[0])


def sticks_after_first_move(fresh: bool) -> Trace:
    """Returns the search of sticks after the first move of the row."""
    expected = row(2)
    start = load_game("sticks").start({"rows": expected["rows"]})
    after = start.play(start.parse_move(expected["first_move"]))
    plan = Plan("alphabeta", expected["depth"], evaluator="random", fresh=fresh)
    assert (plan.utilities.lose, plan.utilities.win) == (expected["lose"], expected["win"])
    return explain(GameState.at_root(after, plan.utilities), plan)


def test_row_2_the_log() -> None:
    """The classic log of sticks is the printed one; an inherited window saves one node."""
    expected = row(2)
    fresh, inherited = sticks_after_first_move(True), sticks_after_first_move(False)
    log = [as_line(line.level, line.text) for line in classic_lines(fresh)]
    assert log == expected["log"].strip("\n").splitlines()
    assert (fresh.value, fresh.line[0]) == (expected["value"], expected["answer"])
    assert fresh.counts.nodes == expected["nodes_fresh"]
    assert inherited.counts.nodes == expected["nodes_inherited"]
    assert (inherited.value, inherited.line) == (fresh.value, fresh.line)


def test_row_2_the_rules() -> None:
    """The game is over when a single stick is left; no player may take all sticks that remain."""
    expected = row(2)
    position = load_game("sticks").start({"rows": expected["rows"]})
    assert board_lines(position) == expected["board"]
    assert position.tokens() == ["1x1", "2x1", "2x2", "3x1", "3x2", "3x3"]
    for move in (expected["first_move"], expected["answer"]):
        assert position.outcome() is None
        position = position.play(position.parse_move(move))
    outcome = position.outcome()
    assert outcome is not None
    assert outcome.winner == 1 != position.turn, "the player who must take the last stick has lost"
    two_left = load_game("sticks").position("0-2-0 first")
    assert two_left.tokens() == ["2x1"]


def test_row_2_the_match() -> None:
    """The game of the first text line for line, with its prompts, its log and its boast."""
    expected = row(2)
    plan = Plan("fail-hard", expected["depth"], evaluator="random", fresh=True)
    assert player_name(plan) == expected["program"]
    start = load_game("sticks").start({"rows": expected["rows"]})
    lines = classic_match(start, plan, [expected["first_move"]])
    assert lines == TRANSCRIPT.splitlines()
    assert expected["boast"] in lines
    assert f"<< {expected['person']} >> VS. << {expected['program']} >> !!!!" in lines


def test_row_3_the_alpha_cut() -> None:
    """MAX has 20 from C1; D returns 15, so C2 is 15 and the rest is skipped, also mirrored."""
    expected, trace = row(3), searched(3, "alphabeta")
    assert value_at(trace, "C1") == expected["holds"] == trace.value
    assert value_at(trace, "D") == expected["returns"]
    assert value_at(trace, "C2") == expected["c2"]
    assert names(trace)[1] == expected["skipped"]
    mirror = on_tree(parse_tree(expected["mirror"]), "alphabeta")
    assert names(mirror)[1] == expected["skipped"]
    assert mirror.nodes.kind[mirror.nodes.move.index("C2")] == "max"


def test_row_4_every_leaf() -> None:
    """MAX has 10 from the first child; MIN visits 3, but not the next leaf: 6 nodes, value 10."""
    expected, trace = row(4), searched(4, "alphabeta")
    assert value_at(trace, "L") == expected["first_child"]
    assert value_at(trace, "R1") == expected["seen"]
    assert names(trace)[1] == expected["skipped"]
    assert (trace.counts.nodes, trace.value) == (expected["nodes"], expected["value"])


def test_row_5_greedy_friends() -> None:
    """Of friend two alpha-beta visits only the 5; the bounds narrow as printed."""
    expected, plain, pruned = row(5), searched(5, "minimax"), searched(5, "alphabeta")
    assert value_at(plain, "two") == expected["plain_two"]
    assert expected["seen"] in pruned.nodes.move
    assert names(pruned)[1] == expected["skipped"]
    assert (pruned.counts.nodes, plain.counts.nodes) == (expected["nodes"], expected["all_nodes"])
    assert pruned.value == plain.value == expected["value"]
    assert [line.text for line in bounds_lines(pruned)] == expected["bounds"]


def test_row_6_generous_friends() -> None:
    """The root is MIN: friend one gives 25, friend two shows 50, and the rest is skipped."""
    expected, trace = row(6), searched(6, "alphabeta")
    assert trace.nodes.kind[0] == "min"
    assert value_at(trace, "one") == expected["one"]
    assert value_at(trace, "d") == expected["first_of_two"]
    assert names(trace)[1] == expected["skipped"]
    assert trace.value == expected["value"]


def test_row_7_rock_paper_scissors() -> None:
    """13 states; every first move loses; with private utilities scissors are worth -20."""
    expected = row(7)
    for tree, name in ((PLAIN_SIGNS, "plain"), (PRIVATE_SIGNS, "private")):
        assert len(list(walk(tree.root))) == expected["states"]
        trace = on_tree(tree, "minimax")
        firsts = {
            move: value
            for move, value, depth in zip(
                trace.nodes.move, trace.nodes.value, trace.nodes.depth, strict=True
            )
            if depth == 1
        }
        assert firsts == expected[name]
        assert trace.line[0] == expected["plays"]
    utilities = {
        "smashed": private_utility("scissors", "rock"),
        "cutting": private_utility("scissors", "paper"),
        "loss": private_utility("rock", "paper"),
        "win": private_utility("rock", "scissors"),
        "tie": private_utility("scissors", "scissors"),
    }
    assert utilities == expected["utilities"]


def test_row_8_final_states() -> None:
    """A final state has a utility for each player; the optimistic search finds the mate in four."""
    expected = row(8)
    for game, text in (("tic-tac-toe", expected["tic_tac_toe"]), ("chess", expected["chess"])):
        position = load_game(game).position(text)
        assert position.turn + 1 == expected["to_move"]
        utilities = [
            explain(GameState.at_root(position, Scale()), Plan(evaluator="zero", player=player))
            for player in (1, 2)
        ]
        assert [trace.value for trace in utilities] == [
            expected["utility_of_winner"],
            expected["utility_of_loser"],
        ]
    plan = Plan(
        "optimistic",
        2 * len(expected["white_moves"]) - 1,
        order="given:" + ",".join(expected["white_moves"]),
        evaluator="zero",
        plain_limit=0,
    )
    mate = explain(GameState.at_root(load_game("chess").start(), plan.utilities), plan)
    assert mate.value == expected["utility_of_winner"]
    assert list(mate.line[::2]) == expected["white_moves"]


def test_row_9_evaluation() -> None:
    """King and two bishops against king and queen: 3 - 2 = 1, weighted 16 - 19 = -3, on a board."""
    expected = row(9)
    position = load_game("chess").position(expected["chess"])

    def value(evaluator: str) -> Value | None:
        plan = Plan("minimax", 0, evaluator=evaluator)
        return explain(GameState.at_root(position, plan.utilities), plan).value

    assert value("material") == expected["counted"]
    assert value(f"material:{expected['weights']}") == expected["weighted"]
    assert expected["ours"] - expected["theirs"] == expected["weighted"]


def test_row_10_sizes() -> None:
    """Tic-tac-toe: 5,478 of 19,683 boards; 18,297 nodes and 7,330 leaves of 549,946: a draw."""
    expected = row(10)
    start = load_game("tic-tac-toe").start()
    assert 3**9 == expected["boards"] > expected["states"]
    root = GameState.at_root(start, Scale())
    sizes = sizes_of(graph_of(root))
    assert (sizes.states, sizes.tree_nodes) == (expected["states"], expected["plain_nodes"])
    trace = explain(root, Plan("alphabeta", evaluator="zero", plain_limit=0))
    assert (trace.counts.nodes, trace.counts.leaves) == (expected["nodes"], expected["leaves"])
    assert (trace.value, len(trace.line), trace.truncated) == (expected["value"], 9, False)
    # Chess, by the text: about 30 moves on more than 40 plies.
    assert 10 ** expected["chess_nodes_exponent"] < 30**40


def test_row_11_average() -> None:
    """Average min-max of the tic-tac-toe position is 13/15."""
    expected = row(11)
    position = load_game("tic-tac-toe").position(expected["tic_tac_toe"])
    trace = explain(GameState.at_root(position, Scale()), Plan("average", evaluator="zero"))
    assert isinstance(trace.value, float)
    assert math.isclose(trace.value, expected["numerator"] / expected["denominator"])


def test_row_12_paranoid_against_max_n() -> None:
    """By the text's rule player 1 plays b, with the value 1; by max-n player 1 plays a."""
    expected = row(12)
    root = TreeState.at_root(parse_tree(expected["tree"]))
    for plan in (Plan("paranoid"), Plan("minimax", player=1), Plan("alphabeta", player=1)):
        trace = explain(root, plan)
        assert (trace.line[0], trace.value) == (
            expected["paranoid_plays"],
            expected["paranoid_value"],
        )
    assert searched(12, "max-n").line[0] == expected["max_n_plays"]


def test_row_13_horizon() -> None:
    """There is a lesson about the horizon effect."""
    assert load_lesson(row(13)["lesson"]).runs
