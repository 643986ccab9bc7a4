"""`python -m engine.solve` and the general search as a solver: exact results, clear errors."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from itertools import product
from operator import xor
from pathlib import Path

import pytest

from engine import solve
from engine.game import GameFault, Position, State
from engine.rules.digest import rules_digest
from engine.rules.registry import load_game
from engine.search import driver, layout
from engine.search.driver import Control, Searcher
from engine.search.job import MATE, Bound, Job, Limit
from engine.search.report import Report
from engine.solvers import general
from engine.solvers.base import Solution, SolvedMove, load_solver
from engine.solvers.general import SIDE_NODES, SearchSolver, proven_result

Install = Callable[[str, str], Path]

ROWS = [rows for rows in product(range(4), range(4), range(5)) if sum(rows) > 1]


def misere_is_lost(rows: tuple[int, ...]) -> bool:
    """Bouton's theorem for the game in which taking the last stick loses."""
    if max(rows) <= 1:
        return sum(rows) % 2 == 1
    return reduce(xor, rows) == 0


def test_sticks_are_solved_as_the_theorem_says() -> None:
    """The solver's results and best moves in small positions are those of Bouton's theorem."""
    solver = SearchSolver(load_game("sticks"), table_bits=10)
    for rows in ROWS:
        problem = solver.problem("-".join(map(str, rows)) + " first", {"rows": "3-3-4"})
        solution = solver.solve(problem.position, Limit(), Control())
        assert solution is not None
        assert solution.score == (-1 if misere_is_lost(rows) else 1), rows
        for move in solution.best_moves:
            after = problem.position.play(move)
            left = tuple(int(row) for row in after.text().split()[0].split("-"))
            assert misere_is_lost(left) == (solution.score == 1), (rows, left)


class Minimax:
    """The value of every move, by exhaustive search."""

    def __init__(self) -> None:
        self._known: dict[State, int] = {}

    def value(self, position: Position) -> int:
        """MATE minus the plies to the end for the side to move, if it wins."""
        if position.state not in self._known:
            outcome = position.outcome()
            if outcome is None:
                found = max(self.after(position, move) for move in position.moves())
            else:
                found = (
                    0
                    if outcome.winner is None
                    else MATE
                    if outcome.winner == position.turn
                    else -MATE
                )
            self._known[position.state] = found
        return self._known[position.state]

    def after(self, position: Position, move: int) -> int:
        """The value of a move: an end is a ply further away for the side that makes it."""
        value = -self.value(position.play(move))
        return value - 1 if value > 0 else value + 1 if value < 0 else 0


def check_all_moves(position: Position, solution: Solution, minimax: Minimax) -> None:
    """Asserts that a solution's results and bounds agree with minimax."""
    told = {move.move: move for move in solution.moves}
    values = {move: minimax.after(position, move) for move in position.moves()}
    best = max(values.values())
    where = position.text()
    assert (solution.value, solution.score, solution.bound) == (best, sign(best), "exact"), where
    assert set(told) == set(values), where
    for move, value in values.items():
        match told[move].bound:
            case "exact":
                assert (told[move].value, told[move].score) == (value, sign(value)), (where, move)
            case "lower":
                assert told[move].value <= value, (where, move)
            case "upper":
                assert told[move].value >= value, (where, move)
        assert sign(told[move].value) == told[move].score, (where, move)
    assert set(solution.best_moves) == {move for move, value in values.items() if value == best}, (
        where
    )
    assert solution.moves[0].move in solution.best_moves, where


def sign(value: int) -> int:
    return (value > 0) - (value < 0)


def reachable(position: Position) -> list[Position]:
    """All positions that can follow from this one and are not over, each once."""
    seen = {position.state: position}
    for here in (order := [position]):
        for after in map(here.play, here.moves()):
            if after.outcome() is None and after.state not in seen:
                seen[after.state] = after
                order.append(after)
    return order


STARTS = [("tic-tac-toe", {}), ("sticks", {"rows": "1-2-3"}), ("sticks", {"rows": "2-3-4"})]


@pytest.mark.parametrize("side_nodes", [0, 30, SIDE_NODES])
@pytest.mark.parametrize(("name", "options"), STARTS)
def test_every_move_has_its_minimax_value(
    name: str, options: dict[str, str], side_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every exact score is the minimax value, and every other score a bound of it.

    With enough nodes all scores are exact.
    """
    monkeypatch.setattr(general, "SIDE_NODES", side_nodes)
    solver, minimax = SearchSolver(load_game(name), table_bits=10), Minimax()
    positions = reachable(solver.game.start(options))
    chosen = positions if side_nodes == SIDE_NODES else positions[:: max(1, len(positions) // 300)]
    unknown = 0
    for position in chosen:
        solution = solver.solve(position, Limit(), Control())
        assert solution is not None
        check_all_moves(position, solution, minimax)
        unknown += sum(move.bound != "exact" for move in solution.moves)
    assert (unknown == 0) == (side_nodes == SIDE_NODES)


@pytest.mark.parametrize(
    ("value", "bound", "known"),
    [
        (MATE - 5, layout.EXACT, (1, MATE - 5, "exact")),
        (
            MATE - 7,
            layout.EXACT,
            (1, MATE - 7, "lower"),
        ),  # the table knew a win; a nearer one may be beyond the depth
        (MATE - 7, layout.UPPER, (1, MATE - 5, "upper")),
        (40, layout.EXACT, (1, MATE - 5, "upper")),
        (0, layout.EXACT, (1, MATE - 5, "upper")),  # a draw and an even evaluation look alike
        (-40, layout.UPPER, (1, MATE - 5, "upper")),
        (4 - MATE, layout.EXACT, (-1, 4 - MATE, "exact")),
        (4 - MATE, layout.UPPER, (-1, 4 - MATE, "upper")),  # the first win that was found suffices
        (8 - MATE, layout.EXACT, (-1, 8 - MATE, "upper")),
    ],
)
def test_what_an_unfinished_search_proves(
    value: int, bound: int, known: tuple[int, int, Bound]
) -> None:
    """After a search of five plies that found a win in five, only ends are exact results.

    Their distance is certain only within the depth. All numbers of a search without a horizon are
    exact.
    """
    report = Report(
        5, MATE - 5, 1, 0.1, (1,), ((1, MATE - 5, layout.EXACT), (2, value, bound)), solved=False
    )
    assert proven_result(report, 2, value, bound) == SolvedMove(2, *known)
    whole = replace(report, solved=True)
    bound_told: Bound = "exact" if bound == layout.EXACT else "upper"
    assert proven_result(whole, 2, value, bound) == SolvedMove(2, sign(value), value, bound_told)


MATE_IN_ONE = "6k1/4Qppp/8/8/8/8/r4PPP/7K w - - 0 1"


def test_a_move_that_was_not_looked_at_to_the_end_is_no_best_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In chess a mate is reported as exact long before the other moves are.

    Losing moves are reported as losses, and no claim is made about the others. The position after
    each exact move has that result too.
    """
    monkeypatch.setattr(general, "SIDE_NODES", 100_000)
    assert solve.main(["chess", "--position", MATE_IN_ONE, "--json", "--seconds", "3600"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["result"], sorted(found["best_moves"])) == (
        1,
        "a win in 1 ply",
        ["e7d8", "e7e8"],
    )
    assert found["moves"]["h1g1"] == {"score": -1, "bound": "exact", "value": 4 - MATE}
    assert found["moves"]["h2h4"] == {"score": 1, "bound": "upper", "value": MATE - 1}
    monkeypatch.setattr(general, "SIDE_NODES", 0)
    solver = SearchSolver(load_game("chess"), table_bits=16)
    start = solver.problem(MATE_IN_ONE, {}).position
    for token, move in found["moves"].items():
        after = start.play(start.parse_move(token))
        if move["bound"] == "exact" and after.moves():
            replied = solver.solve(after, Limit(), Control())
            assert replied is not None
            assert replied.score == -move["score"], token
            assert abs(replied.value) == abs(move["value"]) + 1, token


def test_limits_hold_for_the_other_moves_too() -> None:
    """A node limit covers the whole solution; at a time limit the bounds known so far remain.

    Of many positions the rest stays unsolved.
    """
    solver = SearchSolver(load_game("tic-tac-toe"), table_bits=10)
    early = solver.problem("X...O....", {}).position
    whole = solver.solve(early, Limit(), Control())
    assert whole is not None
    assert solver.solve(early, Limit(nodes=whole.nodes // 2), Control()) is None
    late = solver.problem("XX.OO....", {}).position
    for nodes in range(10, 60):
        solution = solver.solve(late, Limit(nodes=nodes), Control())
        assert solution is not None
        assert solution.nodes <= nodes + 4, (
            "each of the other searches may see its limit a node late"
        )

    @contextmanager
    def expired() -> Iterator[None]:
        solver.expire()
        yield

    assert solver.solve(early, Limit(), Control(), timer=expired) is None
    solution = solver.solve(late, Limit(), Control(), timer=expired)
    assert solution is not None
    assert (solution.nodes, [move.bound for move in solution.moves]) == (
        5,
        ["exact", *["upper"] * 4],
    )
    batch = solver.solve_batch([early, late, early], Limit(), Control(), timer=expired)
    assert batch.scores == (None, 1, None)


def test_tic_tac_toe_is_a_draw(capsys: pytest.CaptureFixture[str]) -> None:
    """From the empty board every first move draws, in the text and in the JSON."""
    assert solve.main(["tic-tac-toe"]) == 0
    assert "score       +0, a draw" in capsys.readouterr().out
    assert solve.main(["tic-tac-toe", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["result"], len(found["best_moves"])) == (0, "a draw", 9)
    assert len(found["line"]) == 9


def test_a_win_counts_its_plies(capsys: pytest.CaptureFixture[str]) -> None:
    """A result has its distance, and the best moves are all those that win soonest."""
    assert solve.main(["tic-tac-toe", "--position", "XX.OO....", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["result"], found["best_moves"], found["score"]) == ("a win in 1 ply", ["c1"], 1)


def test_what_is_too_large_is_not_solved(capsys: pytest.CaptureFixture[str]) -> None:
    """If the search does not finish within its limits, the command gives no score."""
    assert solve.main(["tic-tac-toe", "--nodes", "100"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "not solved within" in err


def test_what_the_tables_do_not_tell_is_not_solved(capsys: pytest.CaptureFixture[str]) -> None:
    """Draughts is solved by its tables only; with more pieces the message says so."""
    assert solve.main(["draughts"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "solve: the endgame tables of Draughts do not cover this position and every"
        " position that it leads to\n",
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["checkers"], "there is no game 'checkers'"),
        (["tic-tac-toe", "--position", "XX"], "nine characters"),
        (["tic-tac-toe", "--position", "XXXOO...."], "the match is already over"),
        (["sticks", "--option", "rows=0"], "rows"),
        (["tic-tac-toe", "--file", "nothing.txt"], "nothing.txt cannot be read"),
    ],
)
def test_errors_are_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong argument gives exit code 2 and one line on stderr."""
    assert solve.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("solve: ")
    assert told in err


def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has the number of the first line that is not a position, comments counted."""
    file = tmp_path / "suite.txt"
    file.write_text("# two positions\n.........\n\nXO\n")
    assert solve.main(["tic-tac-toe", "--file", str(file)]) == 2
    assert "line 4: 'XO' is not a position" in capsys.readouterr().err


def test_a_file_is_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file gives the means over its positions."""
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
    def can_solve(self, position, time_ms): return time_ms is None or time_ms > 500
    def problem(self, text, options): return Problem(self.game.position(text), 7)
    def describe(self, solution): return "sure"
    def solve(self, position, limit, control, *, timer=nullcontext):
        move = position.moves()[0]
        return Solution(7, 29_991, (SolvedMove(move, 7, 29_991),), (move,), 9, 1, 0.5)

    def solve_batch(self, positions, limit, control, *, timer=nullcontext):
        raise NotImplementedError
    data = None
    max_pieces = 3
    def make_tables(self, pieces, tell):
        tell(5, 10)
        tell(10, 10)
        return {"entries": 10}
    def make_book(self, plies, work, tell):
        work.read_text("ascii")
        tell(plies, 10, 10)
        return b"book"


make_solver = Sure
'''


class Searched(Exception):
    """Raised when the general search is used."""


@pytest.fixture
def sure(plug_in: Install) -> str:
    """A game whose solver is the one above."""
    source = Path(str(load_game("tic-tac-toe").module.__file__)).read_text()  # type: ignore[attr-defined]
    named = source.replace('NAME = "tic-tac-toe"', 'NAME = "sure-of-all"\nSOLVER = "plugged_sure"')
    plug_in("sure-of-all", named).with_name("plugged_sure.py").write_text(SOLVER)
    sys.modules.pop("plugged_sure", None)  # of the test before
    return "sure-of-all"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_books_and_tables_are_told_of(
    sure: str,
    is_terminal: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--json prints a line for programs; only a terminal shows progress."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    work, out = tmp_path / "work", tmp_path / "book"
    work.write_text("")
    assert (
        solve.main(
            [sure, "--make-book", "--plies", "4", "--work", str(work), "--out", str(out), "--json"]
        )
        == 0
    )
    told, shown = capsys.readouterr()
    book = json.loads(told)
    assert (book["file"], book["bytes"], book["plies"], out.read_bytes()) == (
        str(out),
        4,
        4,
        b"book",
    )
    assert ("4 plies [###" in shown) == is_terminal
    assert solve.main([sure, "--make-tables", "--json"]) == 0
    told, shown_too = capsys.readouterr()
    tables = json.loads(told)
    assert (tables["pieces"], tables["entries"]) == (3, 10)
    assert ("10 of 10 entries (100%)" in shown_too) == is_terminal
    assert is_terminal or shown == shown_too == ""


@pytest.mark.parametrize(
    ("work", "out", "told"),
    [
        ("none/work", "book", "none/work: No such file or directory"),
        (".", "book", "Is a directory"),
        ("picture", "book", "picture is not the state of an interrupted book"),
        ("work", "none/book", "none/book: cannot write a file there"),
        ("work", ".", "cannot write a file there"),
    ],
)
def test_files_that_cannot_be(
    sure: str, work: str, out: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A book's file that cannot be read or written gives one line on stderr."""
    (tmp_path / "work").write_text("")
    (tmp_path / "picture").write_bytes(b"\x89PNG")
    files = ["--work", str(tmp_path / work), "--out", str(tmp_path / out)]
    assert solve.main([sure, "--make-book", *files]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("solve: ")
    assert told in shown
    assert shown.count("\n") == 1


def test_a_reader_may_have_seen_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A closed pipe ends the command without an error."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert solve.main(["tic-tac-toe"]) == 0
    assert capsys.readouterr().err == ""


def test_a_game_of_another_distribution_names_its_solver(
    plug_in: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`engine.solve` and the top level use the named module, whose file is in the game's digest.

    The level uses it if time is its only limit and suffices.
    """
    source = Path(str(load_game("tic-tac-toe").module.__file__)).read_text()  # type: ignore[attr-defined]
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
    assert rules_digest(game.module) != before  # type: ignore[arg-type]


def test_a_solver_that_is_not_there_is_a_fault_of_the_game(plug_in: Install) -> None:
    """A module without `make_solver` is an error that names it."""
    source = Path(str(load_game("tic-tac-toe").module.__file__)).read_text()  # type: ignore[attr-defined]
    plug_in(
        "unsolved",
        source.replace('NAME = "tic-tac-toe"', 'NAME = "unsolved"\nSOLVER = "engine.view"'),
    )
    with pytest.raises(GameFault, match=r"the solver 'engine\.view' of unsolved cannot be loaded"):
        load_solver(load_game("unsolved"))
