"""The three designs: what each is for, and that all agree on every game and with the engine."""

import ast
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.conformance.playouts import playouts
from engine.rules.registry import game_ids, load_game
from engine.teach.algorithms import mapping, pair, polymorphic
from engine.teach.algorithms.explain import Plan, explain
from engine.teach.algorithms.polymorphic import MaxNode, MinNode, Node
from engine.teach.algorithms.study import INF, Study, at_depth
from engine.teach.algorithms.variants import VARIANTS
from engine.teach.states.board import Board, StatusVisitor
from engine.teach.states.state import GameState, Scale, State, Status, TreeState, mover_status
from engine.teach.states.tree import Tree
from engine.teach.states.tree_text import parse_tree
from engine.teach.trace import Number
from tests.engine.teach.checks import on_tree, random_tree

#: The utilities of sticks in the first founding text.
FIRST_TEXT_SCALE = Scale(-1, 50, 101)


def comparisons(module: object) -> Iterator[ast.expr]:
    """Yields both sides of each comparison in a module's source."""
    source = Path(str(module.__file__)).read_text("utf-8")  # type: ignore[attr-defined]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            yield from (node.left, *node.comparators)


def side_tests(module: object) -> list[str]:
    """Returns the comparisons with "max" or "min" in a module's source."""
    return [
        ast.unparse(part)
        for side in comparisons(module)
        for part in ast.walk(side)
        if isinstance(part, ast.Constant) and part.value in ("max", "min")
    ]


@pytest.mark.parametrize("module", [polymorphic, pair, mapping])
def test_no_design_tests_for_max_or_min(module: object) -> None:
    """The designs have no test of "max or min?": each class or function is for one side."""
    assert side_tests(module) == []


def study() -> Study:
    """Returns a search of trees to their ends."""
    return Study(lambda state: 0, lambda study, state, moves, depth: moves, at_depth)


def nodes() -> list[Node]:
    """Returns an empty MAX node and an empty MIN node."""
    return [side(study(), polymorphic.SIDES, False) for side in (MaxNode, MinNode)]


def test_the_factory_makes_the_opposite() -> None:
    """MAX makes MIN, and MIN makes MAX, with the same window."""
    highest, lowest = nodes()
    assert (highest.opposite(), lowest.opposite()) == (MinNode, MaxNode)
    root = study()
    root.enter(TreeState.at_root(parse_tree("max(min(1))")), None, "max")
    child = MaxNode(root, polymorphic.SIDES, True, 3, 8).make(MinNode)
    assert (type(child), child.alpha, child.beta) == (MinNode, 3, 8)


def test_the_hooks_of_a_side() -> None:
    """The worst score of a side is worse than any value; a lost game has its utility of a loss."""
    highest, lowest = nodes()
    assert (highest.worst_score, lowest.worst_score) == (-INF, INF)
    assert highest.is_better(-1000)
    assert lowest.is_better(1000)
    lost = load_game("sticks").position("1-0-0 first")
    for seat, node, score in ((0, highest, -1), (1, lowest, 101)):
        state = GameState.at_root(lost, FIRST_TEXT_SCALE, seat)
        assert mover_status(state) is Status.LOST
        assert node.finished_score(state) == score == state.utility()


@pytest.mark.parametrize("game_id", game_ids())
def test_the_score_of_a_finished_game(game_id: str) -> None:
    """The hook of either side returns the utility of every finished game, from either seat."""
    for line in playouts(load_game(game_id), 2, seed=21):
        for position in [*line[-1:], line[0]]:
            if position.outcome() is None:
                continue
            for seat in (0, 1):
                state = GameState(position, seat, FIRST_TEXT_SCALE, ply=3)
                (node,) = [node for node in nodes() if node.kind == state.kind]
                assert node.finished_score(state) == state.utility()


def test_a_move_is_played_even_if_all_are_worst() -> None:
    """Where every move is worth minus infinity, every form still plays the first one."""
    for text in ("max(a: -inf, b: -inf)", "min(a: inf, b: inf)"):
        for form in ("flat", "nodes", "pair", "map"):
            for algorithm in ("minimax", "alphabeta"):
                trace = on_tree(parse_tree(text), algorithm, form=form)
                assert trace.line == ("a",), (text, form)


class Words(StatusVisitor[str]):
    """A visitor that answers with the status in a word."""

    def won(self) -> str:
        return "won"

    def lost(self) -> str:
        return "lost"

    def drawn(self) -> str:
        return "drawn"

    def ongoing(self) -> str:
        return "ongoing"


def test_the_status_visitor() -> None:
    """The board calls the method for its status, always from MAX's point of view."""
    texts = {"XXXOO....": ("won", "lost"), "XOXXOOOXX": ("drawn", "drawn")}
    texts["........."] = ("ongoing", "ongoing")
    for text, words in texts.items():
        position = load_game("tic-tac-toe").position(text)
        seen = tuple(
            Board(GameState.at_root(position, Scale(), seat)).accept(Words()) for seat in (0, 1)
        )
        assert seen == words


def test_a_board_plays_and_takes_back() -> None:
    """Taking moves back returns a board to its earlier states, one by one, in every game."""
    for game_id in game_ids():
        board = Board(GameState.at_root(load_game(game_id).start(), Scale()))
        texts = []
        for number in range(3):
            moves = board.state.moves()
            if not moves:  # the match is over after two plies
                break
            texts.append(board.state.text())
            board.play(moves[number % len(moves)])
        for text in reversed(texts):
            board.take_back()
            assert board.state.text() == text
        with pytest.raises(AssertionError):
            board.take_back()


def test_the_page_shows_both_ways_to_play() -> None:
    """The two functions of the page yield the same values and leave the one board unchanged."""
    page = (Path(__file__).parents[3] / "docs/explanation/teaching.md").read_text("utf-8")
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Callable[..., Iterator[int]]] = {}
    exec(compile(source, "teaching.md", "exec"), names)
    moves = [(0, 1), (1, 1), (1, 2), (2, 3)]
    board = [1, 2, 3]
    on_one_board = list(names["values_on_one_board"](board, moves, lambda rows: hash(tuple(rows))))
    assert on_one_board == list(names["values_of_new_states"]((1, 2, 3), moves, hash))
    assert board == [1, 2, 3]


def test_the_board_maps_until_the_accumulator_has_enough() -> None:
    """The board has the loop: it plays each move, calls the function, and takes the move back.

    It stops when the accumulator has enough, and returns the moves that it did not play.
    """
    board = Board(TreeState.at_root(parse_tree("max(a: 3, b: min(1, 2), c: 5)")))
    start = board.state
    for enough, played, rest in ((3, "a", "bc"), (0, "a", "bc"), (9, "abc", "")):
        best = mapping.Alpha(mapping.WINDOWED, -INF, enough)
        seen: list[str] = []

        def each(move: int, seen: list[str] = seen, best: mapping.Alpha = best) -> None:
            assert board.state == start.play(move)
            seen.append(start.name(move))
            best.take(move, 3)

        left = board.map(start.moves(), each, best)
        assert ("".join(seen), "".join(map(start.name, left))) == (played, rest)
        assert board.state == start


def test_the_algorithm_of_the_map_has_no_loop() -> None:
    """Only the board walks over the moves: the module of 001's map has no loop."""
    tree = ast.parse(Path(mapping.__file__).read_text("utf-8"))
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)]
    assert loops == []


@pytest.mark.parametrize("scale", [Scale(), Scale(-3, 0.5, 7)])
def test_update_best_by_the_status(scale: Scale) -> None:
    """Won, lost and drawn give updateBest 1, -1 and 0 or the chosen utilities; else it goes on."""
    # X plays and wins with g; O plays and wins with g; X fills the board; X opens.
    cases = {"XXXOO....": scale.win, "OOOXX.X..": scale.lose, "XOXXOOOXX": scale.draw}
    for text, score in {**cases, ".........": None}.items():
        state = GameState.at_root(load_game("tic-tac-toe").position(text), scale, 0)
        search = Study(lambda state: 0.25, lambda study, state, moves, depth: moves, at_depth)
        root = TreeState.at_root(parse_tree("max(a: 1)"))
        visit = search.enter(root, None, "max", -INF, INF)
        best = mapping.Highest(mapping.PLAIN)
        Board(state).accept(mapping.UpdateBest(search, Board(state), 0, best, visit, 0))
        assert (best.move, best.value) == (0, 0.25 if score is None else score)


def test_design_2_is_fail_hard() -> None:
    """AlphaBetaMax and AlphaBetaMin leave the trace of fail-hard; their scores are their bounds."""
    highest, lowest = (
        side(study(), polymorphic.FAIL_HARD, True, 3, 8)
        for side in (polymorphic.AlphaBetaMax, polymorphic.AlphaBetaMin)
    )
    assert (highest.final_score(), lowest.final_score()) == (3, 8)
    assert (type(highest), type(lowest)) == (lowest.opposite(), highest.opposite())
    rng = random.Random(10)
    for _ in range(30):
        tree = random_tree(rng)
        flat, nodes = (on_tree(tree, "fail-hard", form=form) for form in ("flat", "nodes"))
        assert (flat.nodes, flat.steps, flat.line) == (nodes.nodes, nodes.steps, nodes.line)


def test_an_accumulator_keeps_the_move() -> None:
    """An accumulator has the best value and its move; the first of equals stays."""
    highest, lowest = mapping.Highest(mapping.PLAIN), mapping.Lowest(mapping.PLAIN)
    for move, value in ((4, 10), (5, 30), (6, 30), (7, -2), (8, -2)):
        highest.take(move, value)
        lowest.take(move, value)
    assert (highest.move, highest.value) == (5, 30)
    assert (lowest.move, lowest.value) == (7, -2)
    assert not highest.has_enough
    alpha = mapping.Alpha(mapping.WINDOWED, -INF, 20)
    has_enough = [alpha.has_enough]
    for move, value in ((1, 19), (2, 20)):
        alpha.take(move, value)
        has_enough.append(alpha.has_enough)
    assert has_enough == [False, False, True]
    assert alpha.opposite() is mapping.Beta


def check_all_agree(root: State, plan: Plan, value: Number | None = None) -> None:
    """Asserts that every form and variant finds the same value and plays the same move."""
    plans = [Plan(name, plan.depth, plain_limit=0) for name in ("minimax", "accumulators")]
    plans += [Plan(name, plan.depth, plain_limit=0) for name in VARIANTS]
    for form in ("nodes", "pair", "map", "table"):
        for name in ("minimax", "alphabeta"):
            plans.append(Plan(name, plan.depth, form=form, plain_limit=0))
    plans.append(Plan("fail-hard", plan.depth, form="nodes", plain_limit=0))
    reference = explain(root, Plan("alphabeta", plan.depth, plain_limit=0))
    assert value in (None, reference.value)
    plain = explain(root, plans[0])
    for other in plans:
        trace = explain(root, other)
        assert (trace.value, trace.line[:1]) == (reference.value, reference.line[:1]), other
        assert trace.counts.nodes <= plain.counts.nodes, other


def test_all_agree_on_trees() -> None:
    """All forms and variants find the same value and move on random trees, in at most all nodes."""
    rng = random.Random(8)
    for spread in (2, 1000):
        for _ in range(30):
            check_all_agree(TreeState.at_root(random_tree(rng, spread=spread)), Plan())


def test_fresh_windows_never_save() -> None:
    """With a fresh window for each root move the value stays and no fewer nodes are visited."""
    rng = random.Random(9)
    differences = 0
    for _ in range(40):
        tree: Tree = random_tree(rng)
        inherited, fresh = (on_tree(tree, "alphabeta", fresh=fresh) for fresh in (False, True))
        assert (fresh.value, fresh.line[:1]) == (inherited.value, inherited.line[:1])
        assert fresh.counts.nodes >= inherited.counts.nodes
        differences += fresh.counts.nodes > inherited.counts.nodes
    assert differences > 5
