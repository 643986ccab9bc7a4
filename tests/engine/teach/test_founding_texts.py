"""The algorithms visit what the founding texts' pseudo-code visits, with its windows and values."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from engine.rules.registry import game_ids, load_game
from engine.teach.algorithms.explain import Plan, explain, goal_of
from engine.teach.options import make_parser, make_task
from engine.teach.states.evaluators import Evaluator, evaluator_of
from engine.teach.states.state import GameState, TreeState
from engine.teach.states.tree import Node, Tree, check_tree
from engine.teach.trace import Trace
from tests.oracle import printed as texts

#: The numbers of random trees for each algorithm: in every run, and in a long one.
TREE_COUNT, LONG_TREE_COUNT = 200, 2_000
#: An unlimited depth, an open end of a window, or an infinite utility.
INF = math.inf


def random_text_tree(
    rng: random.Random,
    kinds: Sequence[str],
    alternates: bool,
    spread: Sequence[float],
    level: int = 0,
) -> texts.Tree:
    """Returns a random tree in the form of the transcription, with utilities from `spread`."""
    players = sum(kind.startswith("p") for kind in kinds)

    def utility() -> Any:
        if players:
            return tuple(rng.choice(spread) for _ in range(players))
        return rng.choice(spread)

    if level == 4 or (level and rng.random() < 0.12):
        return utility()
    kind = kinds[level % len(kinds)] if alternates else rng.choice(kinds)
    children = [
        random_text_tree(rng, kinds, alternates, spread, level + 1)
        for _ in range(rng.randint(1, 3))
    ]
    return (kind, utility(), children)


def as_node(tree: texts.Tree) -> Node:
    """Returns the same tree in the program's form."""
    if texts.is_leaf(tree):
        return Node(utility=tree)
    return Node(tree[0], tuple(map(as_node, tree[2])), estimate=tree[1])


def visits_of(trace: Trace) -> list[tuple[tuple[int, ...], float, float, Any]]:
    """Returns the path, window and value (for MAX) of each visit of a trace, in order."""
    nodes = trace.nodes
    paths: list[tuple[int, ...]] = []
    for parent, move in zip(nodes.parent, nodes.move, strict=True):
        paths.append((*paths[parent], int(move.replace("x", ""))) if move else ())
    return [
        (
            path,
            -INF if alpha is None else alpha,
            INF if beta is None else beta,
            value if isinstance(value, tuple) or value is None else sign * value,
        )
        for path, alpha, beta, value, sign in zip(
            paths, nodes.alpha, nodes.beta, nodes.value, nodes.sign, strict=True
        )
    ]


def searched(tree: texts.Tree, algorithm: str, depth: float, **options: Any) -> Trace:
    """Returns the trace of the program on a tree of the transcription."""
    limit = None if depth == INF else int(depth)
    plan = Plan(algorithm, limit, plain_limit=0, **options)
    return explain(TreeState.at_root(check_tree(Tree(as_node(tree)))), plan)


def negamax_for_max(tree: texts.Tree, depth: float, log: texts.Log) -> Any:
    """Returns the root's score; the values in the log become MAX's, as those of a trace are."""
    value = texts.negamax(tree, depth, log)
    for visit in log.visits:
        visit.value *= 1 if len(visit.path) % 2 == 0 else -1
    return value


#: An algorithm and options of the program, the transcription, and the trees that it is for.
Case = tuple[str, dict[str, Any], Callable[[texts.Tree, float, texts.Log], Any], str]
#: The cases by name, with the number of the founding text in parentheses.
CASES: dict[str, Case] = {
    "minimax": ("minimax", {}, texts.minimax, "any"),
    "negamax (002)": ("negamax", {}, negamax_for_max, "max first"),
    "fail-soft (004)": ("fail-soft", {}, texts.fail_soft, "any"),
    "fail-hard (000)": ("fail-hard", {}, texts.fail_hard, "any"),
    "fail-hard, nodes (000)": ("fail-hard", {"form": "nodes"}, texts.fail_hard, "any"),
    "fail-hard, fresh (000)": (
        "fail-hard",
        {"fresh": True},
        lambda tree, depth, log: texts.fail_hard(tree, depth, log, fresh=True),
        "any",
    ),
    "one-bound (003)": ("one-bound", {}, texts.one_bound, "max first"),
    "one-bound-early": (
        "one-bound-early",
        {},
        lambda tree, depth, log: texts.one_bound(tree, depth, log, is_early=True),
        "max first",
    ),
    "parent-bound (001)": ("parent-bound", {}, texts.parent_bound, "any"),
    "strict (002)": ("strict", {}, texts.strict, "any"),
    "accumulators (001)": ("accumulators", {}, texts.accumulators, "any"),
    "pair (000)": ("alphabeta", {"form": "pair"}, texts.pair, "any"),
    "nodes": ("alphabeta", {"form": "nodes"}, texts.fail_soft, "any"),
    "average (003)": (
        "average",
        {},
        lambda tree, depth, log: texts.average(tree, depth, log, tree[0]),
        "any",
    ),
    "greedy (003)": ("greedy", {}, lambda tree, depth, log: texts.greedy(tree, log), "any"),
    "optimistic (004)": (
        "optimistic",
        {},
        lambda tree, depth, log: texts.optimistic(tree, depth, log, INF),
        "any",
    ),
    "player 1 (004)": (
        "minimax",
        {"player": 1},
        lambda tree, depth, log: texts.for_player(tree, 1, depth, log),
        "players",
    ),
    "player 3 (004)": (
        "paranoid",
        {"player": 3},
        lambda tree, depth, log: texts.for_player(tree, 3, depth, log),
        "players",
    ),
    "max-n": ("max-n", {}, texts.max_n, "players"),
}
#: The kinds of each family of trees, and whether they alternate level by level.
FAMILIES = {
    "any": (("max", "min"), False),
    "max first": (("max", "min"), True),
    "players": (("p1", "p2", "p3"), False),
}


#: The utilities of trees with means.
FINITE: Sequence[float] = (*range(-5, 6), 0.5)
#: The utilities of all other trees.
INFINITE = (*FINITE, -INF, INF)


def check_case(name: str, count: int = TREE_COUNT) -> None:
    """Asserts that the program and the transcription make the same visits on random trees."""
    algorithm, options, transcription, family = CASES[name]
    rng = random.Random(name)
    for _ in range(count):
        spread = FINITE if algorithm == "average" else INFINITE
        tree = random_text_tree(rng, *FAMILIES[family], spread)
        depth = rng.choice((INF, INF, 1, 2, 3))
        log = texts.Log()
        answer = transcription(tree, depth, log)
        trace = searched(tree, algorithm, depth, **options)
        expected = [(visit.path, visit.alpha, visit.beta, visit.value) for visit in log.visits]
        assert are_same_visits(visits_of(trace), expected), tree
        if isinstance(answer, tuple) and family == "any":
            assert trace.line[:1] == (str(answer[1]),), "the accumulator keeps the move"


def are_same_visits(
    actual: list[tuple[tuple[int, ...], float, float, Any]],
    expected: list[tuple[tuple[int, ...], float, float, Any]],
) -> bool:
    """Returns whether two lists of visits are equal, up to the rounding of a mean."""
    return len(actual) == len(expected) and all(
        left[:3] == right[:3] and is_same_value(left[3], right[3])
        for left, right in zip(actual, expected, strict=True)
    )


def is_same_value(actual: Any, expected: Any) -> bool:
    """Returns whether two values are equal; those in fractions, up to the rounding."""
    if isinstance(expected, Fraction):
        return abs(Fraction(actual) - expected) < Fraction(1, 10**9)
    return bool(actual == expected)


@pytest.mark.parametrize("name", CASES)
def test_the_visits_of_the_texts(name: str) -> None:
    """Values, windows and the order of visits are those of the pseudo-code, on 200 trees."""
    check_case(name)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_the_visits_of_the_texts_on_many_trees(name: str) -> None:
    """The same on 2,000 trees."""
    check_case(name, LONG_TREE_COUNT)


def game_tree(state: GameState, evaluate: Evaluator, depth: int) -> texts.Tree:
    """Returns the tree of a game down to a depth in the form of the transcription."""
    utility = state.utility()
    if utility is not None:
        return utility
    moves = state.moves() if depth else []
    children = [game_tree(state.play(move), evaluate, depth - 1) for move in moves]
    return (state.kind, evaluate(state), children)


#: Games that are searched to three plies in a moment.
SMALL_GAMES = ("coin-friends", "rock-paper-scissors", "sticks", "tic-tac-toe")
#: Most nodes that plain minimax visits in a game whose searches are compared.
MAX_PLAIN_NODES = 50_000


def plain_nodes(state: GameState, depth: int, limit: int = MAX_PLAIN_NODES) -> int:
    """Returns the number of nodes down to a depth; more than the limit once it is exceeded."""
    count, level = 1, [state]
    for left in reversed(range(depth)):
        following = []
        for each in level:
            moves = each.moves() if each.utility() is None else []
            count += len(moves)
            if count > limit:
                return count
            following += [each.play(move) for move in moves if left]
        level = following
    return count


def is_alternating(tree: texts.Tree, kind: str = "max") -> bool:
    """Returns whether MAX and MIN take turns at every level."""
    if texts.is_leaf(tree):
        return True
    other = "min" if kind == "max" else "max"
    return tree[0] == kind and all(is_alternating(child, other) for child in tree[2])


def indexed_visits(trace: Trace, root: GameState) -> list[tuple[tuple[int, ...], Any, Any, Any]]:
    """Returns the visits of a trace of a game as those of a tree: moves by their numbers."""
    nodes = trace.nodes
    found: list[tuple[GameState, tuple[int, ...]]] = []
    for parent, move in zip(nodes.parent, nodes.move, strict=True):
        if parent < 0:
            found.append((root, ()))
            continue
        above, path = found[parent]
        names = [above.name(each) for each in above.moves()]
        number = names.index(move)
        found.append((above.play(above.moves()[number]), (*path, number + 1)))
    return [
        (path, -INF if alpha is None else alpha, INF if beta is None else beta, sign * value)
        for (_, path), alpha, beta, value, sign in zip(
            found, nodes.alpha, nodes.beta, nodes.value, nodes.sign, strict=True
        )
        if isinstance(value, int | float)
    ]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("game", "depth"),
    [
        pytest.param(
            game,
            depth,
            marks=[] if game in SMALL_GAMES else pytest.mark.long,
        )
        for game in game_ids()
        for depth in (1, 2, 3)
    ],
)
def test_the_visits_of_the_texts_in_a_game(game: str, depth: int) -> None:
    """From the start of every game, down to three plies, each form visits what its text visits.

    Value, move, leaves in their order, windows and cuts are equal, where plain minimax has at most
    50,000 nodes. Listings that count the sides are asked only where the sides take turns.
    """
    root = GameState.at_root(load_game(game).start(), Plan().utilities)
    if plain_nodes(root, depth) > MAX_PLAIN_NODES:
        pytest.skip("plain minimax has more than 50,000 nodes")
    tree = game_tree(root, evaluator_of("estimate", Plan().utilities, 0), depth)
    for name, (algorithm, options, transcription, family) in CASES.items():
        if family == "players" or (family == "max first" and not is_alternating(tree)):
            continue
        log = texts.Log()
        if algorithm == "optimistic":
            goal = goal_of(root)
            value = texts.optimistic(tree, depth, log, goal)
        else:
            value = transcription(tree, depth, log)
        trace = explain(root, Plan(algorithm, depth, plain_limit=0, **options))
        expected = [(visit.path, visit.alpha, visit.beta, visit.value) for visit in log.visits]
        actual = indexed_visits(trace, root)
        assert trace.counts.nodes == len(expected), name
        assert are_same_visits(actual, expected[: len(actual)]), name
        if isinstance(value, tuple) and value[1] is not None:
            assert trace.line[0] == root.name(root.moves()[value[1] - 1]), name


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_the_classic_log_is_that_of_the_printed_program(depth: int) -> None:
    """Windows and values of sticks are those of fail-hard with a fresh window for each root move.

    Fail-soft, the default of other logs, has other values in some of these positions.
    """
    differences = 0
    for rows in ("1-2-3", "2-2-2"):
        words = ["--game=sticks", f"--option=rows={rows}", f"--depth={depth}", "--log=classic"]
        task = make_task(make_parser("").parse_args(words))
        assert isinstance(task.root, GameState)
        plan = task.plan
        evaluate = evaluator_of(plan.evaluator, plan.utilities, plan.seed)
        log = texts.Log()
        texts.fail_hard(game_tree(task.root, evaluate, depth), depth, log, fresh=True)
        expected = [(visit.alpha, visit.beta, visit.value) for visit in log.visits]
        hard, soft = (
            [visit[1:] for visit in visits_of(explain(task.root, replace(plan, algorithm=name)))]
            for name in (plan.algorithm, "alphabeta")
        )
        assert hard == expected
        differences += soft != expected
    assert bool(differences) == (depth > 3)
