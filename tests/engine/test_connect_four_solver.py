"""The solver of connect four agrees with a plain search."""

import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from engine import solve
from engine.game import Position
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.features import SOUND
from engine.search.job import MATE, Limit
from engine.solvers import connect_four_kernel
from engine.solvers.connect_four import ConnectFourSolver
from engine.solvers.connect_four_results import is_exact
from tests.support.connect_four import (
    board_of,
    mirrored,
    random_position,
    score_of,
    shared_solver,
    solve_position,
)

#: Positions with their scores.
SUITE = Path(__file__).parents[1] / "data" / "connect-four.txt"
#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]


def check_against_search(searcher: Searcher, solver: ConnectFourSolver, count: int) -> None:
    """Asserts that the solver and the general search agree on late positions."""
    rng = random.Random(4)
    table = Table(18)

    def searched_value(after: Position) -> int:
        """Returns the value of the move that led to `after`, for the side that made it."""
        outcome = after.outcome()
        if outcome is not None:
            return 0 if outcome.winner is None else MATE - 1
        value = -searcher.search(after, Limit(), table, Control(), features=SOUND).score
        return value - (value > 0) + (value < 0)

    for _ in range(count):
        position = random_position(rng, rng.randrange(24, 41))
        solution = solve_position(position, solver)
        values = {move: searched_value(position.play(move)) for move in position.moves()}
        assert solution.value == max(values.values()), position.text()
        assert solution.moves[0].value == solution.value
        for move in solution.moves:
            if move.bound == "exact":
                assert move.value == values[move.move], position.text()


def check_suite(solver: ConnectFourSolver) -> None:
    """Asserts that the solver finds the scores of the suite."""
    problems = solve.read_suite(solver, SUITE, {})
    suite = solve.solve_suite(solver, problems, Limit(), 600)
    assert (suite.wrong, suite.open) == ([], [])


def test_late_positions_agree_with_the_search(searcher_of: Searchers) -> None:
    """On late positions the solver and the general search agree on every exact move."""
    check_against_search(searcher_of("connect-four"), shared_solver(), 14)


def test_the_suite() -> None:
    """The solver finds the scores of a suite with positions from all phases."""
    check_suite(shared_solver())


def test_equations() -> None:
    """A position has the score of its best move and of its mirror image, alone and in a batch."""
    rng = random.Random(7)
    positions = [
        random_position(rng, discs)
        for discs in (13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 36, 40, 41)
    ]
    batch = shared_solver().solve_batch([*positions, *map(mirrored, positions)], Limit(), Control())
    assert batch.scores[: len(positions)] == batch.scores[len(positions) :]
    for position, score in zip(positions, batch.scores, strict=False):
        solution = solve_position(position)
        after = [position.play(move) for move in position.moves()]
        values = [score_of(child) for child in after]
        assert solution.score == score == max(values), position.text()
        assert values[position.moves().index(solution.line[0])] == score


def test_a_line_is_played_to_its_end() -> None:
    """The line of a late position ends the match with the stated result at the stated ply."""
    rng = random.Random(8)
    for _ in range(30):
        position = random_position(rng, 28)
        solution = solve_position(position)
        reached = position
        for move in solution.line:
            reached = reached.play(move)
        outcome = reached.outcome()
        assert outcome is not None
        if solution.score == 0:
            assert outcome.winner is None
        else:
            assert len(solution.line) == MATE - abs(solution.value)
            assert (outcome.winner == position.turn) == (solution.score > 0)


def test_a_position_with_two_threats() -> None:
    """A position in which the opponent has two winning moves has the right score."""
    position = shared_solver().problem("33445", {}).position
    assert solve_position(position).score == -18
    assert [score_of(position.play(move)) for move in position.moves()] == [-18] * 7


def test_limits() -> None:
    """A stopped or cancelled search gives no result, and the next search is correct."""
    position = shared_solver().problem("11", {}).position
    entry = shared_solver().book.find(board_of(position))
    assert entry is None or not is_exact(entry)
    assert shared_solver().solve(position, Limit(nodes=5_000), Control()) is None
    late = shared_solver().problem("52753311433677442422121", {}).position
    assert shared_solver().solve_batch([position, late], Limit(nodes=20_000), Control()).scores == (
        None,
        8,
    )
    cancelled = Control()
    cancelled.memory.array[0] = 1
    with pytest.raises(driver.Cancelled):
        shared_solver().solve(position, Limit(), cancelled)
    assert solve_position(late).score == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1111111", "disc 7 cannot be dropped into column 1"),
        ("1212121", "the match is already over"),
        ("81", "column 8"),
        ("44 x", "a score is a whole number"),
        ("44 1 2", "a position and optionally its score"),
        ("hello", "six rows of seven"),
    ],
)
def test_bad_positions(text: str, expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A text that is not a position is refused with the reason."""
    assert solve.main(["connect-four", "--position", text]) == 2
    assert expected in capsys.readouterr().err


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the score and the result, as text and as JSON."""
    assert solve.main(["connect-four", "--position", "52753311433677442422121"]) == 0
    assert "score       +8, a win in 5 plies" in capsys.readouterr().out
    assert solve.main(["connect-four", "--position", "52753311433677442422121", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["score"], printed["best_moves"][0], printed["moves"]["e"]["value"]) == (
        8,
        "e",
        MATE - 5,
    )


def check_keys(kernel: ModuleType) -> None:
    """Asserts that only mirror images share a key, and only early in the game."""
    rng = random.Random(9)
    positions_of_key: dict[tuple[bool, int], set[frozenset[str]]] = {}
    for _ in range(400):
        position = random_position(rng, rng.randrange(1, 16))
        for image in (position, mirrored(position)):
            mine, discs = image.state
            count = int(discs).bit_count()
            is_early = count < connect_four_kernel.SHARED_PLIES
            with np.errstate(over="ignore"):
                key = int(kernel.table_key(mine, discs, count))
            texts = {image.text(), mirrored(image).text()} if is_early else {image.text()}
            positions_of_key.setdefault((is_early, key), set()).add(frozenset(texts))
    assert all(len(positions) == 1 for positions in positions_of_key.values())
    early_positions = [
        positions for (is_early, _), positions in positions_of_key.items() if is_early
    ]
    assert len(early_positions) == len(
        {texts for positions in early_positions for texts in positions}
    )


def test_mirror_images_share_an_entry() -> None:
    """Mirror images of early positions share a table entry, and no other positions do."""
    check_keys(connect_four_kernel)


#: Source text and faulty text by the name of the fault.
FAULTS = {
    "broken symmetry": ("((k & COLUMN) << U(42))", "((k & COLUMN) << U(35))"),
    "mirror without a column": ("            | (k & (COLUMN << U(21)))\n", ""),
    "bounds swapped": (
        "        low = best\n    else:\n        high = best",
        "        high = best\n    else:\n        low = best",
    ),
    "wrong bound": (
        "        if v < beta:\n            return int(v)",
        "        if v < beta + 1:\n            return int(v)",
    ),
    "dropped threat": ("    r |= (q >> U(16)) & ((p << U(8)) | (p >> U(24)))\n", ""),
    "a disc below a threat": ("    moves &= ~(threats >> ONE)\n", ""),
    "claimeven by the wrong side": (
        "        if count & 1 == 0:\n            if not can_align(first",
        "        if count & 1 == 1:\n            if not can_align(first",
    ),
    "odd threat in an even row": ("    left = threats & ODD_ROWS\n", "    left = threats\n"),
    "odd threat below an even number of cells": (
        "        if bottoms & column != NO_BITS:\n",
        "        if True:\n",
    ),
    "stored after a stop": (
        "        if A[STOP] != NO_BITS:\n            return 0\n        if v > best",
        "        if v > best",
    ),
}


def check_stopped_searches(solver: ConnectFourSolver) -> None:
    """Asserts that a stopped search leaves a correct table."""
    problems = [solver.problem(text, {}) for text in ("4566174366", "6276671772", "7762346445")]
    for nodes in (3_000, 10_000, 30_000, 100_000, 300_000):
        for problem in problems:
            solver.solve(problem.position, Limit(nodes=nodes), Control())
    assert [solve_position(problem.position, solver).score for problem in problems] == [5, 15, 4]


@pytest.mark.long
@pytest.mark.long
@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_planted_fault_is_found(
    fault: str | None, plant: Callable[[str, str], ModuleType], searcher_of: Searchers
) -> None:
    """The checks fail with one wrong line in the solver's kernel, and pass without one."""
    right, wrong = FAULTS[fault] if fault is not None else ("", "")
    kernel = plant(right, wrong)
    solver = ConnectFourSolver(load_game("connect-four"), kernel)

    def check() -> None:
        check_keys(kernel)
        check_suite(solver)
        check_against_search(searcher_of("connect-four"), solver, 30)
        check_stopped_searches(solver)

    if fault is None:
        check()
    else:
        with pytest.raises(AssertionError):
            check()


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """Returns a function that loads the solver's kernel with one piece of text replaced."""
    source = Path(connect_four_kernel.__file__).read_text("utf-8")
    name = "planted_connect_four_kernel"

    def load_planted(right: str, wrong: str) -> ModuleType:
        assert right in source, "the solver has changed: adapt the planted fault"
        file = tmp_path / f"{name}.py"
        file.write_text(source.replace(right, wrong))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        planted = importlib.util.module_from_spec(spec)
        sys.modules[name] = planted
        spec.loader.exec_module(planted)
        return planted

    yield load_planted
    sys.modules.pop(name, None)
