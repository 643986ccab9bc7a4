"""The checks of the teaching search find errors that are planted into its source."""

import random
from collections.abc import Callable
from types import ModuleType

import pytest

from engine.conformance.native import minimax as kit_minimax
from engine.conformance.playouts import playouts
from engine.rules.registry import load_game
from engine.teach.algorithms import flat, mapping, order, polymorphic, study
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.states import board, evaluators, state
from engine.teach.states.evaluators import estimate
from engine.teach.states.state import GameState, TreeState
from tests.engine.teach import test_equations, test_trace, test_worked_examples
from tests.engine.teach.checks import check_trace, on_tree, random_tree

#: A check, which raises AssertionError if it finds an error.
Check = Callable[[], None]


def check_trees() -> None:
    """Asserts that minimax, negamax and alpha-beta agree, also with ties and chance nodes."""
    rng = random.Random(1)
    for spread in (2, 1000):
        for kinds in (("max", "min"), ("max", "min", "mean")):
            for depth in (None, 2):
                for _ in range(4):
                    tree = random_tree(rng, kinds, spread)
                    for name in ("game", "best"):
                        test_equations.check_tree_equations(tree, depth, name)


def check_forms() -> None:
    """Asserts that the forms without a table give the same traces."""
    rng = random.Random(2)
    for _ in range(12):
        test_equations.check_forms(random_tree(rng, ("max", "min", "mean")), None, "game")


def check_averages() -> None:
    """Asserts that average min-max has the exact mean."""
    rng = random.Random(3)
    for _ in range(12):
        test_equations.check_average(random_tree(rng), None)


def check_several_players() -> None:
    """Asserts that max-n agrees with its definition."""
    rng = random.Random(4)
    for _ in range(12):
        test_equations.check_several_players(random_tree(rng, ("p1", "p2", "p3"), 1), None)


def check_perfect_order() -> None:
    """Asserts that the best order visits the minimum of leaves."""
    test_equations.check_perfect_order(3, 4, seed=5)


def check_worked_examples() -> None:
    """Asserts that the worked examples have their published numbers."""
    test_worked_examples.test_1_four_level_tree()
    test_worked_examples.test_2_sticks()
    test_worked_examples.test_2_negamax_negates_the_utility()
    test_worked_examples.test_4_greedy_friends()
    test_worked_examples.test_5_generous_friends()
    test_worked_examples.test_7_final_states()
    test_worked_examples.test_8_evaluation()


def check_games() -> None:
    """Asserts that a trace of a game agrees with independent values."""
    position = load_game("tic-tac-toe").position(".XX.....O")
    for algorithm in ("minimax", "negamax", "alphabeta", "average"):
        plan = Plan(algorithm, depth=4)
        root = GameState.at_root(position, plan.utilities)
        check_trace(explain(root, plan), root, estimate)


def check_against_conformance_kit() -> None:
    """Asserts that alpha-beta has the value of the conformance kit's own minimax."""
    for line in playouts(load_game("connect-four"), 2, seed=7):
        for position in line[-8:-1]:
            for depth in (1, 2):
                plan = Plan(depth=depth)
                assert explain(
                    GameState.at_root(position, plan.utilities), plan
                ).value == kit_minimax(position, depth, 0)


def check_distances() -> None:
    """Asserts that a sooner win scores more than a later one, and a sooner loss less."""
    game = load_game("tic-tac-toe")
    for text, value in (("XX.OO....", 29_999), ("XXO.X.O..", -29_998), (".XX.....O", -29_996)):
        plan = Plan("alphabeta")
        assert (
            explain(GameState.at_root(game.position(text), plan.utilities), plan).value == value
        ), text


def check_orders() -> None:
    """Asserts that each order sorts the moves."""
    test_trace.test_orders()


def check_sizes() -> None:
    """Asserts that the node counts below skipped moves are right."""
    rng = random.Random(6)
    for depth in (None, 2, 3):
        for _ in range(8):
            tree = random_tree(rng)
            check_trace(on_tree(tree, "alphabeta", depth=depth), TreeState.at_root(tree), estimate)


def check_truncation() -> None:
    """Asserts that a truncated trace has the result of the whole one."""
    test_trace.test_a_truncated_trace()


#: Name, check, module, source text, faulty text.
ERRORS: list[tuple[str, Check, ModuleType, str, str]] = [
    (
        "fail-hard return",
        check_trees,
        flat,
        "            break\n    return visit.leave(combine(state.kind, values))",
        "            break\n"
        "    return visit.leave(max(min(combine(state.kind, values), beta), alpha))",
    ),
    (
        "skipped child",
        check_trees,
        flat,
        "enumerate(moves, 1):",
        "enumerate(moves[: 3 - len(moves) % 2], 1):",
    ),
    (
        "child skipped by minimax",
        check_trees,
        flat,
        "for move in study.moves(state, depth):",
        "for move in study.moves(state, depth)[:3]:",
    ),
    ("alpha not passed on", check_trees, study, "else (alpha, beta)", "else (-INF, beta)"),
    ("beta not passed on", check_trees, study, "else (alpha, beta)", "else (alpha, INF)"),
    (
        "window passed on below chance",
        check_trees,
        study,
        'return kind == "mean" or (',
        "return (",
    ),
    (
        "cut at chance",
        check_trees,
        flat,
        'if alpha >= beta and state.kind != "mean":',
        "if alpha >= beta or len(values) > 2:",
    ),
    ("cut too soon", check_trees, flat, "if alpha >= beta and", "if alpha >= beta - 1 and"),
    ("cut too late", check_trees, flat, "if alpha >= beta and", "if alpha > beta and"),
    ("alpha falls", check_trees, flat, "alpha = max(alpha, value)", "alpha = value"),
    ("beta rises", check_trees, flat, "beta = min(beta, value)", "beta = value"),
    (
        "no cut at MIN",
        check_worked_examples,
        flat,
        'elif state.kind == "min":\n            beta',
        'elif state.kind == "mini":\n            beta',
    ),
    (
        "not negated",
        check_trees,
        flat,
        "sign(state.kind) * sign(after.kind) * negamax",
        "sign(state.kind) * negamax",
    ),
    (
        "leaf not negated",
        check_games,
        flat,
        "sign(state.kind) * single_utility(study.leaf_value(state))",
        "single_utility(study.leaf_value(state))",
    ),
    (
        "constants swapped",
        check_worked_examples,
        flat,
        "visit.stop(sign(state.kind) * single_utility(study.leaf_value(state)))",
        "visit.stop(single_utility(study.leaf_value(state)) if state.kind != 'min'"
        " else 100 - single_utility(study.leaf_value(state)))",
    ),
    (
        "depth not counted",
        check_trees,
        flat,
        "minimax(study, state.play(move), depth - 1, move)",
        "minimax(study, state.play(move), depth, move)",
    ),
    ("last of equal moves", check_trees, flat, "value > max(values)", "value >= max(values)"),
    (
        "max-n tie the wrong way",
        check_several_players,
        flat,
        "value[player(kind)] > best",
        "value[player(kind)] >= best",
    ),
    (
        "max-n for another player",
        check_several_players,
        flat,
        "return int(kind[1:]) - 1",
        "return int(kind[1:]) % 3",
    ),
    (
        "mean at our plies",
        check_averages,
        flat,
        'kind = state.kind if state.kind == ours else "mean"',
        'kind = state.kind if state.kind != ours else "mean"',
    ),
    (
        "mean rounded",
        check_averages,
        study,
        "result = math.fsum(values) / len(values)",
        "result = float(round(math.fsum(values) / len(values)))",
    ),
    (
        "mean of the visited only",
        check_averages,
        study,
        "/ len(values)\n",
        "/ max(2, len(values))\n",
    ),
    (
        "wrong bound",
        check_trees,
        study,
        '"lower" if value <= self.low else "upper"',
        '"upper" if value <= self.low else "lower"',
    ),
    (
        "bound called exact",
        check_trees,
        study,
        "self.low == self.high == value",
        "value in (self.low, self.high)",
    ),
    (
        "interval closed too soon",
        check_trees,
        study,
        "max(self._highs) if is_last else INF",
        "max(self._highs)",
    ),
    (
        "interval never closed",
        check_worked_examples,
        study,
        "max(self._highs) if is_last else INF",
        "INF",
    ),
    (
        "skipped child not listed",
        check_trees,
        study,
        "self.skip(rest, depth)",
        "self.skip(rest[1:], depth)",
    ),
    (
        "narrowing not recorded",
        check_trees,
        study,
        'self.study.record.step("narrowed"',
        'self.study.record.step("enter"',
    ),
    (
        "step left out",
        check_trees,
        study,
        'record.step("returned", child.row',
        'record.step("returned", max(1, child.row - 1)',
    ),
    (
        "parent off by one",
        check_trees,
        study,
        "parent_row = -1 if parent is None else parent.row",
        "parent_row = self.study.visited - 2",
    ),
    (
        "nodes lost at the cap",
        check_truncation,
        study,
        "if len(self.nodes) >= self.limit:",
        "if len(self.nodes) > self.limit:",
    ),
    ("best for the wrong side", check_perfect_order, order, "* flat.sign(state.kind)", "* 1"),
    (
        "worst first",
        check_orders,
        order,
        "key=lambda move: -sign * values[move]",
        "key=lambda move: sign * values[move]",
    ),
    ("order not followed", check_orders, order, "return moves[::-1]", "return moves"),
    (
        "wrong seat",
        check_against_conformance_kit,
        state,
        "Status.WON if outcome.winner == self.max_seat",
        "Status.WON if outcome.winner != self.max_seat",
    ),
    (
        "distance forgotten",
        check_distances,
        state,
        "self.scale.win - self.scale.by_distance * self.ply",
        "self.scale.win",
    ),
    (
        "a late loss scores less",
        check_distances,
        state,
        "self.scale.lose + self.scale",
        "self.scale.lose - self.scale",
    ),
    (
        "estimate from the mover's side",
        check_against_conformance_kit,
        state,
        "else -value",
        "else value",
    ),
    ("sizes beyond the depth", check_sizes, state, "depth - 1)\n\n\ndef", "depth)\n\n\ndef"),
    (
        "weights forgotten",
        check_worked_examples,
        evaluators,
        "count * weights.get(name, 1)",
        "count",
    ),
    (
        "opponent's pieces added",
        check_worked_examples,
        evaluators,
        "weigh(ours, weights) - weigh(theirs, weights)",
        "weigh(ours, weights) + weigh(theirs, weights)",
    ),
    (
        "wrong factory",
        check_forms,
        polymorphic,
        "        return MinNode\n",
        "        return MaxNode\n",
    ),
    (
        "polymorphic MIN raises alpha",
        check_forms,
        polymorphic,
        "self.beta = min(self.beta, value)",
        "self.alpha = max(self.alpha, value)",
    ),
    (
        "chance passes its window on",
        check_forms,
        polymorphic,
        "window = self.study.window_below(self.kind, self.alpha, self.beta)",
        "window = (self.alpha, self.beta)",
    ),
    (
        "accumulator without an opposite",
        check_forms,
        mapping,
        "        return Beta\n",
        "        return Alpha\n",
    ),
    ("greedy map", check_forms, board, "if accumulator.has_enough:", "if False:"),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("check", "module", "right", "wrong"),
    [error[1:] for error in ERRORS],
    ids=[error[0] for error in ERRORS],
)
def test_an_error_is_found(
    planted: Callable[[ModuleType, str, str], None],
    check: Check,
    module: ModuleType,
    right: str,
    wrong: str,
) -> None:
    """With one error planted into the source, the check that covers it fails."""
    planted(module, right, wrong)
    with pytest.raises(AssertionError):
        check()


@pytest.mark.long
@pytest.mark.parametrize("check", list(dict.fromkeys(error[1] for error in ERRORS)))
def test_unchanged_modules_pass(
    planted: Callable[[ModuleType, str, str], None], check: Check
) -> None:
    """Unchanged copies of the modules pass the same checks."""
    for module in {error[2] for error in ERRORS if error[1] is check}:
        planted(module, "", "")
    check()
