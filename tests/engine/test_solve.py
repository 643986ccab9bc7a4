"""`python -m engine.solve` and the general search as a solver: exact results and errors."""

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

#: A function that installs a game with this id and source, such as the fixture `plug_in`.
Install = Callable[[str, str], Path]

#: All rows of sticks with at least two sticks.
ROWS = [rows for rows in product(range(4), range(4), range(5)) if sum(rows) > 1]


def misere_is_lost(rows: tuple[int, ...]) -> bool:
    """Returns whether the side to move loses misère nim, by Bouton's theorem."""
    if max(rows) <= 1:
        return sum(rows) % 2 == 1
    return reduce(xor, rows) == 0


def test_sticks_are_solved_by_the_theorem() -> None:
    """The solver's results and best moves agree with Bouton's theorem."""
    solver = SearchSolver(load_game("sticks"), table_bits=10)
    for rows in ROWS:
        problem = solver.problem("-".join(map(str, rows)) + " first", {"rows": "3-3-4"})
        solution = solver.solve(problem.position, Limit(), Control())
        assert solution is not None
        assert solution.score == (-1 if misere_is_lost(rows) else 1), rows
        for move in solution.best_moves:
            after = problem.position.play(move)
            remaining = tuple(int(row) for row in after.text().split()[0].split("-"))
            assert misere_is_lost(remaining) == (solution.score == 1), (rows, remaining)


class Minimax:
    """Exhaustive search, with the values of known positions."""

    def __init__(self) -> None:
        self._known: dict[State, int] = {}

    def value(self, position: Position) -> int:
        """Returns the value for the side to move; a win is MATE minus the plies to the end."""
        if position.state not in self._known:
            outcome = position.outcome()
            if outcome is None:
                value = max(self.after(position, move) for move in position.moves())
            else:
                value = (
                    0
                    if outcome.winner is None
                    else MATE
                    if outcome.winner == position.turn
                    else -MATE
                )
            self._known[position.state] = value
        return self._known[position.state]

    def after(self, position: Position, move: int) -> int:
        """Returns the value of a move for the side that makes it."""
        value = -self.value(position.play(move))
        return value - 1 if value > 0 else value + 1 if value < 0 else 0


def check_all_moves(position: Position, solution: Solution, minimax: Minimax) -> None:
    """Asserts that a solution's results and bounds agree with minimax."""
    solved = {move.move: move for move in solution.moves}
    values = {move: minimax.after(position, move) for move in position.moves()}
    best = max(values.values())
    text = position.text()
    assert (solution.value, solution.score, solution.bound) == (best, sign(best), "exact"), text
    assert set(solved) == set(values), text
    for move, value in values.items():
        match solved[move].bound:
            case "exact":
                assert (solved[move].value, solved[move].score) == (value, sign(value)), (
                    text,
                    move,
                )
            case "lower":
                assert solved[move].value <= value, (text, move)
            case "upper":
                assert solved[move].value >= value, (text, move)
        assert sign(solved[move].value) == solved[move].score, (text, move)
    assert set(solution.best_moves) == {move for move, value in values.items() if value == best}, (
        text
    )
    assert solution.moves[0].move in solution.best_moves, text


def sign(value: int) -> int:
    """Returns the sign of a value: 1, 0 or -1."""
    return (value > 0) - (value < 0)


def reachable(position: Position) -> list[Position]:
    """Returns all unfinished positions that are reachable from a position, each once."""
    states = {position.state}
    positions = [position]
    for before in positions:
        for after in map(before.play, before.moves()):
            if after.outcome() is None and after.state not in states:
                states.add(after.state)
                positions.append(after)
    return positions


#: Games and options whose positions are all solved.
STARTS = [("tic-tac-toe", {}), ("sticks", {"rows": "1-2-3"}), ("sticks", {"rows": "2-3-4"})]


@pytest.mark.parametrize("side_nodes", [0, 30, SIDE_NODES])
@pytest.mark.parametrize(("name", "options"), STARTS)
def test_every_move_has_its_minimax_value(
    name: str, options: dict[str, str], side_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exact score is the minimax value, and any other score is a bound on it.

    With enough nodes all scores are exact.
    """
    monkeypatch.setattr(general, "SIDE_NODES", side_nodes)
    solver, minimax = SearchSolver(load_game(name), table_bits=10), Minimax()
    positions = reachable(solver.game.start(options))
    sample = positions if side_nodes == SIDE_NODES else positions[:: max(1, len(positions) // 300)]
    inexact_count = 0
    for position in sample:
        solution = solver.solve(position, Limit(), Control())
        assert solution is not None
        check_all_moves(position, solution, minimax)
        inexact_count += sum(move.bound != "exact" for move in solution.moves)
    assert (inexact_count == 0) == (side_nodes == SIDE_NODES)


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (MATE - 5, layout.EXACT, (1, MATE - 5, "exact")),
        # A win from the table; a nearer one may lie beyond the depth.
        (MATE - 7, layout.EXACT, (1, MATE - 7, "lower")),
        (MATE - 7, layout.UPPER, (1, MATE - 5, "upper")),
        (40, layout.EXACT, (1, MATE - 5, "upper")),
        # A draw and an even evaluation have the same value.
        (0, layout.EXACT, (1, MATE - 5, "upper")),
        (-40, layout.UPPER, (1, MATE - 5, "upper")),
        (4 - MATE, layout.EXACT, (-1, 4 - MATE, "exact")),
        (4 - MATE, layout.UPPER, (-1, 4 - MATE, "upper")),  # one refutation suffices
        (8 - MATE, layout.EXACT, (-1, 8 - MATE, "upper")),
    ],
)
def test_the_results_of_an_unfinished_search(
    value: int, bound: int, expected: tuple[int, int, Bound]
) -> None:
    """After a search of five plies only wins and losses within five plies are exact results.

    If the search reached the end of every line, each value keeps its own bound.
    """
    report = Report(
        5, MATE - 5, 1, 0.1, (1,), ((1, MATE - 5, layout.EXACT), (2, value, bound)), solved=False
    )
    assert proven_result(report, 2, value, bound) == SolvedMove(2, *expected)
    complete = replace(report, solved=True)
    expected_bound: Bound = "exact" if bound == layout.EXACT else "upper"
    assert proven_result(complete, 2, value, bound) == SolvedMove(
        2, sign(value), value, expected_bound
    )


#: White mates with either of two moves.
MATE_IN_ONE = "6k1/4Qppp/8/8/8/8/r4PPP/7K w - - 0 1"


def test_only_exact_moves_are_best_moves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In chess a mate is exact although the search of the other moves is not finished.

    The position after each exact move has the same result.
    """
    monkeypatch.setattr(general, "SIDE_NODES", 100_000)
    assert solve.main(["chess", "--position", MATE_IN_ONE, "--json", "--seconds", "3600"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["score"], printed["result"], sorted(printed["best_moves"])) == (
        1,
        "a win in 1 ply",
        ["e7d8", "e7e8"],
    )
    assert printed["moves"]["h1g1"] == {"score": -1, "bound": "exact", "value": 4 - MATE}
    assert printed["moves"]["h2h4"] == {"score": 1, "bound": "upper", "value": MATE - 1}
    monkeypatch.setattr(general, "SIDE_NODES", 0)
    solver = SearchSolver(load_game("chess"), table_bits=16)
    start = solver.problem(MATE_IN_ONE, {}).position
    for token, move in printed["moves"].items():
        after = start.play(start.parse_move(token))
        if move["bound"] == "exact" and after.moves():
            reply_solution = solver.solve(after, Limit(), Control())
            assert reply_solution is not None
            assert reply_solution.score == -move["score"], token
            assert abs(reply_solution.value) == abs(move["value"]) + 1, token


def test_limits_cover_the_side_searches() -> None:
    """A node limit covers the whole solution; after a time limit the known bounds are returned.

    In a batch the positions after the time limit are searched to depth 1 only.
    """
    solver = SearchSolver(load_game("tic-tac-toe"), table_bits=10)
    early = solver.problem("X...O....", {}).position
    complete = solver.solve(early, Limit(), Control())
    assert complete is not None
    assert solver.solve(early, Limit(nodes=complete.nodes // 2), Control()) is None
    late = solver.problem("XX.OO....", {}).position
    for nodes in range(10, 60):
        solution = solver.solve(late, Limit(nodes=nodes), Control())
        assert solution is not None
        assert solution.nodes <= nodes + 4, "each side search may exceed its limit by a node"

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
    """Tic-tac-toe is a draw after every first move, in the text and in the JSON."""
    assert solve.main(["tic-tac-toe"]) == 0
    assert "score       +0, a draw" in capsys.readouterr().out
    assert solve.main(["tic-tac-toe", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["score"], printed["result"], len(printed["best_moves"])) == (0, "a draw", 9)
    assert len(printed["line"]) == 9


def test_a_win_has_its_distance(capsys: pytest.CaptureFixture[str]) -> None:
    """A result has its distance in plies, and the best moves are those that win soonest."""
    assert solve.main(["tic-tac-toe", "--position", "XX.OO....", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["result"], printed["best_moves"], printed["score"]) == (
        "a win in 1 ply",
        ["c1"],
        1,
    )


def test_a_limit_may_prevent_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    """If the search does not finish within its limits, the command gives no score."""
    assert solve.main(["tic-tac-toe", "--nodes", "100"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "not solved within" in err


def test_positions_outside_the_tables_are_not_solved(capsys: pytest.CaptureFixture[str]) -> None:
    """Draughts is solved only by its tables; other positions give an error that explains this."""
    assert solve.main(["draughts"]) == 1
    out, err = capsys.readouterr()
    assert (out, err) == (
        "",
        "solve: the endgame tables of Draughts do not cover this position, or not"
        " all positions that it leads to\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["go"], "there is no game 'go'"),
        (["tic-tac-toe", "--position", "XX"], "nine characters"),
        (["tic-tac-toe", "--position", "XXXOO...."], "the match is already over"),
        (["sticks", "--option", "rows=0"], "rows"),
        (["tic-tac-toe", "--file", "nothing.txt"], "nothing.txt cannot be read"),
    ],
)
def test_wrong_arguments(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong argument gives exit code 2 and one line on stderr."""
    assert solve.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("solve: ")
    assert message in err


def test_a_bad_line_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error has the line number of the first line that is not a position."""
    file = tmp_path / "suite.txt"
    file.write_text("# two positions\n.........\n\nXO\n")
    assert solve.main(["tic-tac-toe", "--file", str(file)]) == 2
    assert "line 4: 'XO' is not a position" in capsys.readouterr().err


def test_a_file_is_solved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For a file the command prints the means over its positions."""
    file = tmp_path / "suite.txt"
    file.write_text(".........\nXO.......\n")
    assert solve.main(["tic-tac-toe", "--file", str(file), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["positions"], printed["checked"], printed["wrong"], printed["open"]) == (
        2,
        0,
        [],
        [],
    )
    assert printed["mean_us"] > 0 < printed["mean_nodes"]


#: A solver whose score is always 7.
SOLVER = '''
"""A solver for which the first move is always the best one."""

from contextlib import nullcontext

from engine.solvers.base import Problem, Solution, SolvedMove


class FixedSolver:
    def __init__(self, game): self.game = game
    def prepare(self): pass
    def expire(self): pass
    def can_solve(self, position, time_ms): return time_ms is None or time_ms > 500
    def problem(self, text, options): return Problem(self.game.position(text), 7)
    def describe(self, solution): return "fixed"
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


make_solver = FixedSolver
'''


class GeneralSearchUsed(Exception):
    """Raised when the general search is used."""


@pytest.fixture
def game_with_solver(plug_in: Install) -> str:
    """Returns the id of a game whose solver is SOLVER."""
    source = Path(str(load_game("tic-tac-toe").module.__file__)).read_text()  # type: ignore[attr-defined]
    named = source.replace(
        'NAME = "tic-tac-toe"', 'NAME = "with-solver"\nSOLVER = "plugged_solver_file"'
    )
    plug_in("with-solver", named).with_name("plugged_solver_file.py").write_text(SOLVER)
    sys.modules.pop("plugged_solver_file", None)  # left by an earlier test
    return "with-solver"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_books_and_tables_as_json(
    game_with_solver: str,
    is_terminal: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """--json prints one line of JSON; progress is shown only on a terminal."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    work, out = tmp_path / "work", tmp_path / "book"
    work.write_text("")
    assert (
        solve.main(
            [
                game_with_solver,
                "--make-book",
                "--plies",
                "4",
                "--work",
                str(work),
                "--out",
                str(out),
                "--json",
            ]
        )
        == 0
    )
    out_text, progress = capsys.readouterr()
    book = json.loads(out_text)
    assert (book["file"], book["bytes"], book["plies"], out.read_bytes()) == (
        str(out),
        4,
        4,
        b"book",
    )
    assert ("4 plies [###" in progress) == is_terminal
    assert solve.main([game_with_solver, "--make-tables", "--json"]) == 0
    out_text, table_progress = capsys.readouterr()
    tables = json.loads(out_text)
    assert (tables["pieces"], tables["entries"]) == (3, 10)
    assert ("10 of 10 entries (100%)" in table_progress) == is_terminal
    assert is_terminal or progress == table_progress == ""


@pytest.mark.parametrize(
    ("work", "out", "message"),
    [
        ("none/work", "book", "none/work: No such file or directory"),
        (".", "book", "Is a directory"),
        ("picture", "book", "picture is not the state of an interrupted book"),
        ("work", "none/book", "none/book: cannot write a file there"),
        ("work", ".", "cannot write a file there"),
    ],
)
def test_unusable_files(
    game_with_solver: str,
    work: str,
    out: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A book's file that cannot be read or written gives one line on stderr."""
    (tmp_path / "work").write_text("")
    (tmp_path / "picture").write_bytes(b"\x89PNG")
    files = ["--work", str(tmp_path / work), "--out", str(tmp_path / out)]
    assert solve.main([game_with_solver, "--make-book", *files]) == 2
    err = capsys.readouterr().err
    assert err.startswith("solve: ")
    assert message in err
    assert err.count("\n") == 1


def test_a_closed_pipe(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A closed pipe ends the command without an error."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as out:
        monkeypatch.setattr("sys.stdout", out)
        assert solve.main(["tic-tac-toe"]) == 0
    assert capsys.readouterr().err == ""


def test_a_game_names_its_solver(plug_in: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """`engine.solve` and the top level use the game's solver, whose file is part of the digest.

    A job with its own limits uses it only if they are a time, and that time suffices.
    """
    source = Path(str(load_game("tic-tac-toe").module.__file__)).read_text()  # type: ignore[attr-defined]
    named = source.replace('NAME = "tic-tac-toe"', 'NAME = "solved"\nSOLVER = "plugged_solver"')
    solver_file = plug_in("solved", named).with_name("plugged_solver.py")
    with pytest.raises(GameFault, match="no module 'plugged_solver'"):
        load_game("solved")
    solver_file.write_text(SOLVER)
    game = load_game("solved")
    assert solve.solver_of(game).problem(".........", {}).score == 7
    searcher = Searcher(game)

    def search(*arguments: object, **settings: object) -> None:
        raise GeneralSearchUsed

    monkeypatch.setattr(Searcher, "search", search)

    def answer_to(**fields: object) -> tuple[str, int]:
        job = Job("solved", game.digest, {}, ".........", (), "room", **fields)  # type: ignore[arg-type]
        result = driver.answer(job, searcher, lambda: driver.Table(10), Control())
        return result.move, result.info.score

    for limits in ({"level": 3}, {}, {"limit": Limit(time_ms=1000)}):
        assert answer_to(**limits) == (game.start().tokens()[0], 29_991)
    # A share of 600 ms is too little for this solver.
    for limits in ({"level": 2}, {"limit": Limit(depth=9)}, {"limit": Limit(time_ms=600)}):
        with pytest.raises(GeneralSearchUsed):
            answer_to(**limits)
    before = game.digest
    solver_file.write_text(SOLVER.replace("best", "good"))
    assert rules_digest(game.module) != before  # type: ignore[arg-type]


def test_a_module_without_a_solver_is_refused(plug_in: Install) -> None:
    """A solver module without `make_solver` raises GameFault with its name."""
    source = Path(str(load_game("tic-tac-toe").module.__file__)).read_text()  # type: ignore[attr-defined]
    plug_in(
        "unsolved",
        source.replace('NAME = "tic-tac-toe"', 'NAME = "unsolved"\nSOLVER = "engine.view"'),
    )
    with pytest.raises(GameFault, match=r"the solver 'engine\.view' of unsolved cannot be loaded"):
        load_solver(load_game("unsolved"))
