"""Equations between the algorithms and with independent values, on random trees and games."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import cycle, islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.conformance.native import minimax as kit_minimax
from engine.conformance.playouts import playouts
from engine.game import ONGOING, Position
from engine.rules.registry import game_ids, load_game, production_ids
from engine.search.driver import Control, Searcher, Table
from engine.search.job import Limit
from engine.search.report import Report
from engine.teach.algorithms.explain import FORMS, Plan, explain
from engine.teach.algorithms.flat import single_utility
from engine.teach.states.evaluators import estimate
from engine.teach.states.state import GameState, RememberingGame, State, Status, TreeState
from engine.teach.states.tree import Node, Tree, check_tree, uniform
from engine.teach.trace import Number, Trace, Value
from tests.engine.teach.checks import check_trace, exact, is_close, on_tree, random_tree, true_value
from tests.engine.teach.test_designs import check_all_agree

#: The forms that give the same trace; the one with a table visits fewer nodes.
SAME_TRACE = tuple(form for form in FORMS if form != "table")
#: The move orders that the equations cover.
ORDERS = ("game", "reversed", "best", "worst")
#: Random generators for hypothesis.
RNGS = st.integers(0, 2**32).map(random.Random)
#: Settings of the property tests.
EXAMPLES = settings(max_examples=40)


def are_equal_except(trace: Trace, other: Trace, *fields: str) -> bool:
    """Returns whether two traces are equal except for some fields."""
    left, right = (
        {name: getattr(compared, name) for name in Trace.__struct_fields__}
        for compared in (trace, other)
    )
    return {**left, **dict.fromkeys(fields)} == {**right, **dict.fromkeys(fields)}


def check_tree_equations(tree: Tree, depth: int | None, order: str) -> None:
    """Checks that minimax, negamax and alpha-beta agree on value and choice, with valid traces.

    Alpha-beta visits at most as many nodes as minimax.
    """
    root = TreeState.at_root(tree)
    plain, negated, pruned = (
        on_tree(tree, algorithm, depth=depth, order=order)
        for algorithm in ("minimax", "negamax", "alphabeta")
    )
    sign = -1 if root.kind == "min" else 1
    for trace in (plain, negated, pruned):
        check_trace(trace, root, estimate)
        assert trace.counts.plain_nodes == plain.counts.nodes
    assert pruned.value == plain.value
    assert isinstance(negated.value, int | float)
    assert sign * negated.value == plain.value
    assert plain.line == negated.line == pruned.line
    assert pruned.counts.nodes <= plain.counts.nodes == negated.counts.nodes


def check_forms(tree: Tree, depth: int | None, order: str) -> None:
    """Checks that the forms of an algorithm give the same trace, step by step."""
    for algorithm in ("minimax", "alphabeta", "average"):
        traces = [
            on_tree(tree, algorithm, depth=depth, order=order, form=form) for form in SAME_TRACE
        ]
        assert all(are_equal_except(trace, traces[0], "form") for trace in traces)


@EXAMPLES
@given(
    RNGS,
    st.sampled_from([2, 1000]),
    st.sampled_from([None, 0, 1, 2, 3]),
    st.sampled_from(ORDERS),
)
def test_equations_on_trees(rng: random.Random, spread: int, depth: int | None, order: str) -> None:
    """The equations hold on trees of any shape, with many ties or few."""
    check_tree_equations(random_tree(rng, spread=spread), depth, order)


@EXAMPLES
@given(RNGS, st.sampled_from([None, 1, 2]), st.sampled_from(ORDERS))
def test_equations_on_trees_with_chance_nodes(
    rng: random.Random, depth: int | None, order: str
) -> None:
    """The equations hold on trees with chance nodes."""
    check_tree_equations(random_tree(rng, ("max", "min", "mean")), depth, order)


@EXAMPLES
@given(RNGS, st.sampled_from([None, 2]), st.sampled_from(ORDERS))
def test_forms(rng: random.Random, depth: int | None, order: str) -> None:
    """All forms without a table give the same trace of an algorithm."""
    check_forms(random_tree(rng, ("max", "min", "mean")), depth, order)


def check_average(tree: Tree, depth: int | None) -> None:
    """Checks average min-max against its definition in fractions, and its trace."""
    check_trace(on_tree(tree, "average", depth=depth), TreeState.at_root(tree), estimate)


@EXAMPLES
@given(RNGS, st.sampled_from([None, 1, 3]))
def test_average(rng: random.Random, depth: int | None) -> None:
    """Average min-max takes the best value at our plies and the exact mean at the opponent's."""
    check_average(random_tree(rng), depth)


def test_average_is_not_rounded() -> None:
    """The mean of 1 and 2 is 1.5, so it is better than the mean of 1 and 1."""
    tree = check_tree(Tree(uniform(("max", "min"), 2, (1, 1, 1, 2))))
    trace = on_tree(tree, "average")
    assert (trace.value, trace.line) == (1.5, ("2",))


def check_several_players(tree: Tree, depth: int | None) -> None:
    """Checks max-n and its average against their definitions."""
    for algorithm in ("minimax", "average"):
        check_trace(on_tree(tree, algorithm, depth=depth), TreeState.at_root(tree), estimate)


@EXAMPLES
@given(RNGS, st.integers(2, 5), st.sampled_from([1, 50]), st.sampled_from([None, 2]))
def test_several_players(rng: random.Random, players: int, spread: int, depth: int | None) -> None:
    """Max-n agrees with brute force, with ties and without."""
    check_several_players(
        random_tree(rng, tuple(f"p{i + 1}" for i in range(players)), spread), depth
    )


@EXAMPLES
@given(RNGS)
def test_max_n_of_a_zero_sum_game_is_minimax(rng: random.Random) -> None:
    """If one player's utility is the negated utility of the other, max-n is minimax."""
    tree = random_tree(rng)
    two_players = check_tree(Tree(_with_two_utilities(tree)))
    plain, both = on_tree(tree, "minimax"), on_tree(two_players, "minimax")
    assert isinstance(plain.value, int)
    assert both.value == (plain.value, -plain.value)
    assert both.line == plain.line


def _with_two_utilities(tree: Tree) -> Node:
    """Returns the tree's root with a utility for each of two players."""

    def converted(node: Node) -> Node:
        kind = {"max": "p1", "min": "p2", None: None}[node.kind]
        if node.kind is None:
            assert isinstance(node.utility, int)
            return Node(utility=(node.utility, -node.utility), move=node.move)
        return Node(kind, tuple(map(converted, node.branches())), node.move)

    return converted(tree.root)


#: Width and depth of uniform trees with at most 81 leaves.
UNIFORM = [(width, depth) for width in (2, 3, 4) for depth in (1, 2, 3, 4) if width**depth <= 81]


def check_perfect_order(width: int, depth: int, seed: int) -> None:
    """Checks that the best order visits Knuth and Moore's minimum of leaves, and no order fewer."""
    leaves = list(range(width**depth))
    random.Random(seed).shuffle(leaves)
    kinds = tuple(("max", "min")[level % 2] for level in range(depth))
    tree = check_tree(Tree(uniform(kinds, width, tuple(leaves))))
    counts = {order: on_tree(tree, "alphabeta", order=order).counts for order in ORDERS}
    minimum = width ** math.ceil(depth / 2) + width ** math.floor(depth / 2) - 1
    assert counts["best"].leaves == minimum
    assert all(count.leaves >= minimum == count.minimum_leaves for count in counts.values())
    assert on_tree(tree, "minimax").counts.leaves == width**depth == counts["game"].plain_leaves


@pytest.mark.parametrize(("width", "depth"), UNIFORM)
def test_perfect_order(width: int, depth: int) -> None:
    """On uniform trees with distinct leaves the best order visits Knuth and Moore's minimum."""
    check_perfect_order(width, depth, width * depth)


def test_other_trees_have_no_minimum() -> None:
    """A tree that is not uniform, or whose sides do not alternate, has no minimum of leaves."""
    for kinds in (("max", "max"), ("max", "mean")):
        tree = check_tree(Tree(uniform(kinds, 2, (1, 2, 3, 4))))
        assert on_tree(tree, "alphabeta").counts.minimum_leaves is None
    assert on_tree(random_tree(random.Random(5)), "alphabeta").counts.minimum_leaves is None


# --- games


@cache
def matches(game_id: str) -> list[list[Position]]:
    """Returns random matches of a game, the same for all tests, as lists of positions."""
    lines = list(playouts(load_game(game_id), 2, seed=11))
    return [[position for position in line if position.moves()] for line in lines]


def samples(game_id: str, count: int, seed: int) -> list[Position]:
    """Returns unfinished positions of a game from random matches, parsed from their text."""
    rng, game = random.Random(seed), load_game(game_id)
    drawn = [rng.choice(line) for line in islice(cycle(matches(game_id)), count)]
    return [game.position(position.text(), position.options) for position in drawn]


def depth_for(position: Position, nodes: int) -> int:
    """Returns the greatest depth, 6 at most, at which the tree has at most `nodes` nodes."""
    depth, level, total = 0, [position], 1
    while depth < 6 and (total := total + sum(len(reached.moves()) for reached in level)) <= nodes:
        depth += 1
        level = [reached.play(move) for reached in level for move in reached.moves()]
    return max(1, depth)


@pytest.mark.parametrize("game_id", game_ids())
@pytest.mark.parametrize("order", ["game", "best"])
def test_games(game_id: str, order: str) -> None:
    """The algorithms and their forms agree on positions of every game, with valid traces."""
    for position in samples(game_id, 2, seed=11):
        plan = Plan(depth=depth_for(position, 120), order=order, plain_limit=0)
        root = GameState.at_root(position, plan.utilities)
        traces = {
            algorithm: explain(root, replace(plan, algorithm=algorithm))
            for algorithm in ("minimax", "negamax", "alphabeta")
        }
        for trace in traces.values():
            check_trace(trace, root, estimate)
        # The value of negamax is the mover's, who is MIN where the rules name the other seat MAX.
        signs = {"negamax": -1 if root.kind == "min" else 1}
        found = {
            (signs.get(algorithm, 1) * single_utility(trace.value or 0), trace.line)
            for algorithm, trace in traces.items()
        }
        assert len(found) == 1
        assert (
            traces["alphabeta"].counts.nodes
            <= traces["minimax"].counts.nodes
            == traces["negamax"].counts.nodes
        )
        for form in SAME_TRACE[1:]:
            assert are_equal_except(
                explain(root, replace(plan, form=form)), traces["alphabeta"], "form"
            )


@pytest.mark.parametrize("game_id", game_ids())
def test_average_of_games(game_id: str) -> None:
    """Average min-max agrees with its definition on positions of every game."""
    for position in samples(game_id, 2, seed=12):
        plan = Plan("average", depth_for(position, 100), plain_limit=0)
        root = GameState.at_root(position, plan.utilities)
        check_trace(explain(root, plan), root, estimate)


class KernelState(GameState):
    """A position with the kernel's utility: at the horizon only the rules' `status` counts.

    `no_moves_result` may end a game in a state without moves, which the kernel does not test at its
    horizon.
    """

    horizon: int = 0

    def utility(self) -> Value | None:
        value = self.value_at_horizon()
        return super().utility() if value is None else value

    def score(self, status: Status) -> Value:
        value = self.value_at_horizon()
        return super().score(status) if value is None else value

    def value_at_horizon(self) -> Value | None:
        """Returns the value of a state at the horizon that only its lack of moves would end."""
        rules = self.position.game.rules
        is_open = int(rules.status(self.position.state)) == ONGOING
        if (
            self.ply == self.horizon
            and is_open
            and not self.position.game.result_and_moves(self.position.state)[1]
        ):
            drawn = self.position.game.rules.drawn
            return 0 if drawn is not None and drawn(self.position.state) else self.estimate()
        return None

    def play(self, move: int) -> "KernelState":
        after = KernelState(self.position.play(move), self.max_seat, self.scale, self.ply + 1)
        object.__setattr__(after, "horizon", self.horizon)
        return after


def remembering(position: Position) -> Position:
    """Returns the same position of a game that remembers the moves of each state."""
    return Position(RememberingGame(position.game), position.options, position.state)


def kernel_root(position: Position, depth: int) -> KernelState:
    """Returns the root of a search with a horizon at `depth`."""
    root = KernelState(position, position.turn, Plan().utilities)
    object.__setattr__(root, "horizon", depth)
    return root


@pytest.mark.parametrize("number", [1, pytest.param(6, marks=pytest.mark.long)])
@pytest.mark.parametrize("game_id", production_ids())
def test_the_engine_has_the_same_values(
    game_id: str, number: int, searcher_of: Callable[[str], Searcher]
) -> None:
    """The engine's search with exact depth has the minimax value at every depth.

    The minimax is that of every design and variant of the teaching search, which all agree, and
    that of the conformance kit.
    """
    searcher = searcher_of(game_id)
    for position in samples(game_id, number, seed=13):
        depth = depth_for(position, 400)
        reports: list[Report] = []
        searcher.search(
            position,
            Limit(depth=depth),
            Table(12),
            Control(),
            exact_depth=True,
            on_depth=reports.append,
        )
        assert reports
        last, remembered = reports[-1], remembering(position)
        check_all_agree(kernel_root(remembered, last.depth), Plan(depth=last.depth), last.score)
        for report in reports:
            for algorithm in ("minimax", "alphabeta"):
                trace = explain(
                    kernel_root(remembered, report.depth), Plan(algorithm, report.depth)
                )
                assert trace.value == report.score, (position.text(), report.depth)
            assert kit_minimax(position, report.depth, 0) == report.score
            assert report.moves[0][0] in best_moves(remembered, report.depth), (
                "the chosen move is one of the best"
            )


def best_moves(position: Position, depth: int) -> list[int]:
    """Returns the best moves by the definition of minimax."""
    root = kernel_root(position, depth)
    values = {move: true_value(root.play(move), depth - 1, estimate) for move in position.moves()}
    return [move for move, value in values.items() if value == max(values.values())]


def test_a_custom_cut_off_and_evaluator() -> None:
    """The evaluator and the cut-off rule are parameters."""
    start = load_game("tic-tac-toe").start()

    def cut_off(state: State, depth: float) -> bool:
        return state.ply == 1 or depth <= 0

    def mobility(state: State) -> Number:
        return len(state.moves())

    trace = explain(
        GameState.at_root(start, Plan().utilities),
        Plan(depth=3),
        evaluate=mobility,
        cut_off=cut_off,
    )
    assert (trace.value, trace.counts.nodes) == (8, 10)
    assert is_close(trace.value, exact(8))
