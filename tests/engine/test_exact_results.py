"""tests/oracle/exact_results.py: its solvers agree with known results and the engine's solvers."""

import random

import pytest

from engine.rules.registry import load_game
from engine.search.driver import Control
from engine.search.job import Limit
from engine.solve import solver_of
from engine.solvers.base import Solution
from tests.oracle.exact_results import (
    SOURCES,
    Exact,
    decisive_positions,
    draughts,
    exact_moves,
    othello,
)

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.mark.parametrize(
    ("text", "result", "plies"),
    [
        ("B:WK32:BK1,K2:H0", 1, None),
        ("B:WK4:BK29,K22:H0", 1, None),
        ("W:WK4:BK29,K22:H0", -1, None),
        ("B:W32:B28:H0", -1, 0),
        ("W:WK10:BK7:H0", 1, 1),
        ("B:WK32:BK1:H0", 0, None),
    ],
)
def test_draughts_endings(text: str, result: int, plies: int | None) -> None:
    """Two kings beat one, also in a double corner; one against one is a draw there. A blocked side
    loses.
    """
    found = draughts(text)
    assert found.result == result
    assert plies in (None, found.plies)


def test_othello_ending() -> None:
    """The last disc decides: the winner also gets a cell that nobody can fill."""
    assert othello("X" * 62 + "O- X") == Exact(1, discs=64)
    assert othello("X" * 62 + "O- O") == Exact(-1, discs=-64)


@pytest.mark.parametrize("game_id", SOURCES)
def test_it_agrees_with_the_engines_solver(game_id: str) -> None:
    """Every move of 40 random positions has the result that the product's solver finds; the
    distances and differences are the same too.
    """
    game, chance = load_game(game_id), random.Random(7)
    solver = solver_of(game)
    solver.prepare()
    count = 0
    while count < 40:
        position = SOURCES[game_id](game, chance)
        if not position.moves():
            continue
        count += 1
        exact = exact_moves(position)
        for token in position.tokens():
            after = position.replay(token)
            if not after.moves():
                continue
            solution = solver.solve(after, Limit(), Control())
            assert solution is not None
            check(game_id, exact[token], solution, same_side=after.turn == position.turn)


def check(game_id: str, exact: Exact, solution: Solution, *, same_side: bool) -> None:
    """Compares the result of a move with the solver's for the position after it."""
    score = solution.score if same_side else -solution.score
    assert exact.result == (score > 0) - (score < 0)
    if game_id == "othello":
        assert exact.discs == score
    if game_id == "draughts" and score:
        assert exact.plies == abs(score) + 1


@pytest.mark.parametrize("game_id", SOURCES)
def test_the_positions_are_decisive_and_repeatable(game_id: str) -> None:
    """Each position has moves that keep its result, and others; a seed gives the same ones."""
    first = list(decisive_positions(game_id, 10))
    again = list(decisive_positions(game_id, 10))
    assert [each.position.text() for each in first] == [each.position.text() for each in again]
    for each in first:
        assert each.kept
        assert each.given_away
        assert sorted(each.kept + each.given_away) == sorted(each.position.tokens())
