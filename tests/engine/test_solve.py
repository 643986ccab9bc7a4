"""`python -m engine.solve` and the general search as a solver: results are exact, errors say what is wrong."""

import json
from collections.abc import Callable
from functools import reduce
from itertools import product
from operator import xor
from pathlib import Path

import pytest

from engine import solve
from engine.game import GameFault
from engine.games import registry
from engine.games.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher
from engine.search.job import Job, Limit
from engine.solvers.base import named_solver
from engine.solvers.general import SearchSolver

Install = Callable[[str, str], Path]

ROWS = [rows for rows in product(range(4), range(4), range(5)) if sum(rows) > 1]


def misere_is_lost(rows: tuple[int, ...]) -> bool:
    """Bouton's theorem, for the game in which the last stick loses."""
    if max(rows) <= 1:
        return sum(rows) % 2 == 1
    return reduce(xor, rows) == 0


def test_sticks_are_solved_as_the_theorem_says() -> None:
    """The solver's result of every small position is that of Bouton's theorem of nim, and so are its best moves."""
    solver = SearchSolver(load_game("sticks"))
    for rows in ROWS:
        problem = solver.problem("-".join(map(str, rows)) + " first", {"rows": "3-3-4"})
        solution = solver.solve(problem.position, Limit(), Control())
        assert solution is not None
        assert solution.score == (-1 if misere_is_lost(rows) else 1), rows
        for move in solution.best_moves:
            after = problem.position.play(move)
            left = tuple(int(row) for row in after.text().split()[0].split("-"))
            assert misere_is_lost(left) == (solution.score == 1), (rows, left)


def test_tic_tac_toe_is_a_draw(capsys: pytest.CaptureFixture[str]) -> None:
    """From the empty board every first move draws; the text for people says so, and the JSON has the same figures."""
    assert solve.main(["tic-tac-toe"]) == 0
    assert "score       +0, a draw" in capsys.readouterr().out
    assert solve.main(["tic-tac-toe", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["result"], len(found["best_moves"])) == (0, "a draw", 9)
    assert len(found["line"]) == 9


def test_a_win_counts_its_plies(capsys: pytest.CaptureFixture[str]) -> None:
    """A result says how soon, and best moves are all that win soonest."""
    assert solve.main(["tic-tac-toe", "--position", "XX.OO....", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["result"], found["best_moves"], found["score"]) == ("a win in 1 ply", ["c1"], 1)


def test_what_is_too_large_is_not_solved(capsys: pytest.CaptureFixture[str]) -> None:
    """Where the search comes to no end within the limits, the command says so and gives no score."""
    assert solve.main(["tic-tac-toe", "--nodes", "100"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "not solved within" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["checkers"], "there is no game 'checkers'"),
        (["tic-tac-toe", "--position", "XX"], "nine characters"),
        (["tic-tac-toe", "--position", "XXXOO...."], "the match is over there"),
        (["sticks", "--option", "rows=0"], "rows"),
        (["tic-tac-toe", "--file", "nothing.txt"], "nothing.txt cannot be read"),
    ],
)
def test_errors_are_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and one line on stderr for a bad argument."""
    assert solve.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("solve: ")
    assert told in err


def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The number of the first line that is no position, comments counted."""
    file = tmp_path / "suite.txt"
    file.write_text("# two positions\n.........\n\nXO\n")
    assert solve.main(["tic-tac-toe", "--file", str(file)]) == 2
    assert "line 4: 'XO' is not a position" in capsys.readouterr().err


def test_a_file_is_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Means over the positions of a file."""
    file = tmp_path / "suite.txt"
    file.write_text(".........\nXO.......\n")
    assert solve.main(["tic-tac-toe", "--file", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["positions"], found["checked"], found["wrong"], found["open"]) == (2, 0, [], [])
    assert found["mean_us"] > 0 < found["mean_nodes"]


SOLVER = '''
"""A solver that knows that the first move is best, and says so by a score of 7."""

from contextlib import nullcontext

from engine.solvers.base import Problem, Solution, SolvedMove


class Sure:
    def __init__(self, game): self.game = game
    def prepare(self): pass
    def expire(self): pass
    def reaches(self, position, time_ms): return time_ms is None or time_ms > 500
    def problem(self, text, options): return Problem(self.game.position(text), 7)
    def describe(self, solution): return "sure"
    def solve(self, position, limit, control, *, around=nullcontext):
        move = position.moves()[0]
        return Solution(7, 29_991, (SolvedMove(move, 7, 29_991),), (move,), 9, 1, 0.5)


make_solver = Sure
'''


class Searched(Exception):
    """The general search was asked."""


def test_a_game_of_another_distribution_names_its_solver(plug_in: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """The named module is asked by `engine.solve` and by the top level, where time alone is the limit and suffices;
    its file is part of the game's digest.
    """
    source = Path(str(load_game("tic-tac-toe").rules.__file__)).read_text()  # type: ignore[attr-defined]
    named = source.replace('NAME = "tic-tac-toe"', 'NAME = "sure"\nSOLVER = "plugged_solver"')
    solver_file = plug_in("sure", named).with_name("plugged_solver.py")
    with pytest.raises(GameFault, match="no module 'plugged_solver'"):
        load_game("sure")
    solver_file.write_text(SOLVER)
    game = load_game("sure")
    assert solve.solver_of(game).problem(".........", {}).score == 7
    searcher = Searcher(game)

    def search(*arguments: object, **named: object) -> None:
        raise Searched

    monkeypatch.setattr(Searcher, "search", search)

    def thought(**asked: object) -> tuple[str, int]:
        job = Job("sure", game.digest, {}, ".........", (), "room", **asked)  # type: ignore[arg-type]
        result = driver.answer(job, searcher, lambda: driver.Table(10), Control())
        return result.move, result.info.score

    for reached in ({"level": 3}, {}, {"limit": Limit(time_ms=1000)}):
        assert thought(**reached) == (game.start().tokens()[0], 29_991)
    # A share of 600 ms is too little for this solver.
    for unreached in ({"level": 2}, {"limit": Limit(depth=9)}, {"limit": Limit(time_ms=600)}):
        with pytest.raises(Searched):
            thought(**unreached)
    before = game.digest
    solver_file.write_text(SOLVER.replace("best", "good"))
    assert registry.rules_digest(game.rules) != before  # type: ignore[arg-type]


def test_a_solver_that_is_not_there_is_a_fault_of_the_game(plug_in: Install) -> None:
    """A module without `make_solver` is told with its name."""
    source = Path(str(load_game("tic-tac-toe").rules.__file__)).read_text()  # type: ignore[attr-defined]
    plug_in("unsolved", source.replace('NAME = "tic-tac-toe"', 'NAME = "unsolved"\nSOLVER = "engine.view"'))
    with pytest.raises(GameFault, match=r"the solver 'engine\.view' of unsolved cannot be had"):
        named_solver(load_game("unsolved"))
