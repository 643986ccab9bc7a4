"""The estimated cost of a search, which the command prints before it starts."""

import pytest

from engine.rules.registry import load_game
from engine.teach.__main__ import main
from engine.teach.algorithms.cost import cost_warning, drop_large_count, estimated_nodes
from engine.teach.algorithms.explain import Plan
from engine.teach.errors import TooLarge
from engine.teach.states.state import GameState, TreeState
from engine.teach.states.tree import Tree, uniform


def start(game: str) -> GameState:
    """Returns the start of a game."""
    return GameState.at_root(load_game(game).start(), Plan().utilities)


@pytest.mark.parametrize(("width", "depth"), [(2, 5), (3, 4), (7, 1)])
def test_the_estimate_of_a_uniform_tree_is_exact(width: int, depth: int) -> None:
    """Where every node has equally many children, the estimate is the number of nodes."""
    tree = Tree(uniform(("max",) * depth, width, (0,) * width**depth))
    nodes = (width ** (depth + 1) - 1) / (width - 1)
    assert estimated_nodes(TreeState.at_root(tree), depth) == pytest.approx(nodes)


def test_the_estimate_of_tic_tac_toe() -> None:
    """The estimate of tic-tac-toe's 549,946 nodes is within a tenth, and always the same."""
    estimate = estimated_nodes(start("tic-tac-toe"), 9)
    assert estimate == estimated_nodes(start("tic-tac-toe"), 9)
    assert abs(estimate - 549_946) < 55_000


def test_impossible_searches_are_refused_at_once() -> None:
    """A search that cannot end within its limit is refused; the message names a depth that can."""
    plan = Plan("alphabeta", None, order="best")
    with pytest.raises(
        TooLarge, match=r"alpha-beta 1\.\de\+13 to .*--depth 7 takes about 9\d0,000"
    ):
        cost_warning(start("connect-four"), plan)
    with pytest.raises(TooLarge, match="--depth 3 takes about 9,"):
        cost_warning(start("chess"), Plan("minimax", 5, max_nodes=100_000))


def test_long_searches_are_announced() -> None:
    """A long search is announced with the cost of its move order; a short one is not."""
    assert cost_warning(start("connect-four"), Plan("alphabeta", 3)) == ""
    assert cost_warning(start("connect-four"), Plan("random")) == ""
    best = cost_warning(start("connect-four"), Plan("alphabeta", 7, order="best"))
    assert "plain minimax takes about 9" in best
    assert "the order best up to 1" in best
    assert "order" not in cost_warning(start("connect-four"), Plan("minimax", 6))


def test_hopeless_counts() -> None:
    """The nodes of plain minimax are not counted where there are far too many."""
    assert drop_large_count(start("chess"), Plan(depth=7)).plain_limit == 0
    assert drop_large_count(start("chess"), Plan(depth=2)) == Plan(depth=2)


def test_best_first_to_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    """`--order best --depth end` prints its cost first; searches that order moves use a table."""
    command = "--game tic-tac-toe --depth end --order best --evaluator zero --summary"
    assert main(command.split()) == 0
    out, err = capsys.readouterr()
    assert err.startswith("teach: plain minimax takes about 5")
    assert "value: 0" in out
    assert "for move ordering: 20,475 nodes" in out
