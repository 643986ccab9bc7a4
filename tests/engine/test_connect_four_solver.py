"""The solver of connect four: its scores are those of a plain alpha-beta, and the top level plays by them."""

import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from engine import solve
from engine.game import Position
from engine.games.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Info, Job, Limit
from engine.search.kernel import SOUND
from engine.solvers import connect_four_kernel
from engine.solvers.base import Solution
from engine.solvers.connect_four import ConnectFourSolver, make_solver
from engine.solvers.connect_four_book import (
    Book,
    BookError,
    Entry,
    columns,
    drop,
    is_over,
    key_of,
    make_book,
    to_words,
)

SUITE = Path(__file__).parents[1] / "data" / "connect-four.txt"
Searchers = Callable[[str], Searcher]


@cache
def solver() -> ConnectFourSolver:
    return make_solver(load_game("connect-four"))


def randomly(rng: random.Random, discs: int) -> Position:
    """A position after so many random moves, where the match goes on."""
    while True:
        position = load_game("connect-four").start()
        while position.moves() and int(position.state[1]).bit_count() < discs:
            position = position.play(rng.choice(position.moves()))
        if position.moves():
            return position


def solved(position: Position, by: ConnectFourSolver | None = None) -> Solution:
    solution = (by or solver()).solve(position, Limit(), Control())
    assert solution is not None
    return solution


def mirrored(position: Position) -> Position:
    rows = position.text().split("/")
    return position.game.position("/".join(row[::-1] for row in rows))


def agrees_with_search(searcher: Searcher, by: ConnectFourSolver, count: int) -> None:
    """Late positions: score, best move and the score of each move, in plies, are those of the general search."""
    rng = random.Random(4)
    table = Table(18)

    def searched(after: Position) -> int:
        """The value of the move that led here, for who made it."""
        outcome = after.outcome()
        if outcome is not None:
            return 0 if outcome.winner is None else MATE - 1
        value = -searcher.search(after, Limit(), table, Control(), techniques=SOUND).score
        return value - (value > 0) + (value < 0)

    for _ in range(count):
        position = randomly(rng, rng.randrange(24, 41))
        solution = solved(position, by)
        values = {move: searched(position.play(move)) for move in position.moves()}
        assert solution.value == max(values.values()), position.text()
        assert solution.moves[0].value == solution.value
        for move in solution.moves:
            if move.bound == "exact":
                assert move.value == values[move.move], position.text()


def scores_are_those_of_the_suite(by: ConnectFourSolver) -> None:
    problems = solve.read_suite(by, SUITE, {})
    suite = solve.solve_suite(by, problems, Limit(), 600)
    assert (suite.wrong, suite.open) == ([], [])


def test_late_positions_are_solved_like_by_the_search(searcher_of: Searchers) -> None:
    """The general search to the end finds the same, for every move."""
    agrees_with_search(searcher_of("connect-four"), solver(), 30)


def test_the_suite() -> None:
    """Positions from the opening to the end have the scores that are written beside them."""
    scores_are_those_of_the_suite(solver())


def test_equations() -> None:
    """A position is worth what its best move is, its mirror image the same, and a batch finds what single calls do."""
    rng = random.Random(7)
    positions = [randomly(rng, discs) for discs in (13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 36, 40, 41)]
    batch = solver().solve_batch([*positions, *map(mirrored, positions)], Limit(), Control())
    assert batch.scores[: len(positions)] == batch.scores[len(positions) :]
    for position, score in zip(positions, batch.scores, strict=False):
        solution = solved(position)
        after = [position.play(move) for move in position.moves()]
        values = [score_of(child) for child in after]
        assert solution.score == score == max(values), position.text()
        assert values[position.moves().index(solution.line[0])] == score


def score_of(after: Position) -> int:
    """The score of the move that led here, for who made it."""
    outcome = after.outcome()
    if outcome is None:
        return -solved(after).score
    discs = int(after.state[1]).bit_count()
    return 0 if outcome.winner is None else 22 - (discs + 1) // 2


def test_a_line_is_played_to_its_end() -> None:
    """The line of a late position ends the match as the score says, and when it says."""
    rng = random.Random(8)
    for _ in range(30):
        position = randomly(rng, 28)
        solution = solved(position)
        here = position
        for move in solution.line:
            here = here.play(move)
        outcome = here.outcome()
        assert outcome is not None
        if solution.score == 0:
            assert outcome.winner is None
        else:
            assert len(solution.line) == MATE - abs(solution.value)
            assert (outcome.winner == position.turn) == (solution.score > 0)


def test_two_wins_cannot_both_be_blocked() -> None:
    """The search proper never meets a side with two wins at once on the other side, but a position may be one."""
    position = solver().problem("33445", {}).position
    assert solved(position).score == -18
    assert [score_of(position.play(move)) for move in position.moves()] == [-18] * 7


def test_limits() -> None:
    """A limit of nodes, an expired time and a cancelled search give no result, and the next search is right again."""
    position = solver().problem("444", {}).position
    assert solver().solve(position, Limit(nodes=5_000), Control()) is None
    late = solver().problem("52753311433677442422121", {}).position
    assert solver().solve_batch([position, late], Limit(nodes=20_000), Control()).scores == (None, 8)
    cancelled = Control()
    cancelled.memory.array[0] = 1
    with pytest.raises(driver.Cancelled):
        solver().solve(position, Limit(), cancelled)
    assert solved(late).score == 8


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1111111", "disc 7 cannot be dropped into column 1"),
        ("1212121", "the match is over"),
        ("81", "column 8"),
        ("44 x", "a score is a whole number"),
        ("44 1 2", "a position and perhaps its score"),
        ("hello", "six rows of seven"),
    ],
)
def test_bad_positions(text: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no position is told."""
    assert solve.main(["connect-four", "--position", text]) == 2
    assert told in capsys.readouterr().err


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The score in the game's own terms, in text and in JSON."""
    assert solve.main(["connect-four", "--position", "52753311433677442422121"]) == 0
    assert "score       +8, a win in 5 plies" in capsys.readouterr().out
    assert solve.main(["connect-four", "--position", "52753311433677442422121", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["best_moves"][0], found["moves"]["e"]["value"]) == (8, "e", MATE - 5)


# --- the book


def test_a_book_is_made_and_found(tmp_path: Path) -> None:
    """A book of a made-up solver has all positions that its moves lead to; a run that was cut goes on."""
    asked: list[int] = []

    def lowest(board: tuple[int, int], least: int) -> Entry:
        asked.append(board[1])
        key, turned = key_of(board)
        return Entry(key % 40 - 20, max(columns(board)) if turned else min(columns(board)))

    work = tmp_path / "work"
    entries = make_book(lowest, 5, work, lambda plies, done, total: None)
    assert len(asked) == len(entries)
    book = Book(to_words(entries))
    assert len(book) == len(entries)
    levels: list[list[tuple[int, int]]] = [[(0, 0)], [drop((0, 0), column) for column in range(7)]]
    for count in range(4):
        after = [drop(board, entry.column) for board in levels[count] if (entry := book.find(board)) is not None]
        assert len(after) == len(levels[count])
        levels.append([drop(board, column) for board in after for column in columns(board)])
    assert all(book.find(board) is not None for board in levels[5] if not is_over(board))
    assert book.find(drop(drop((0, 0), 3), 3)) is None
    text = work.read_text()
    work.write_text(text[: len(text) // 2])
    before = len(asked)
    assert make_book(lowest, 5, work, lambda plies, done, total: None) == entries
    assert 0 < len(asked) - before < before
    assert work.read_text() == text
    work.write_text("nonsense\n")
    with pytest.raises(BookError, match="line 1"):
        make_book(lowest, 5, work, lambda plies, done, total: None)


# --- the seat


def thought(searcher: Searcher, position: Position, level: int) -> tuple[str, Info]:
    game = position.game
    job = Job(game.id, game.digest, {}, position.text(), (), "room", level=level)
    result = driver.answer(job, searcher, lambda: Table(16), Control())
    return result.move, result.info


def test_the_top_level_shows_what_it_knows(searcher_of: Searchers) -> None:
    """The glass box has score, line and the scores of all moves, in the units of the search."""
    position = solver().problem("52753311433677442422121", {}).position
    move, info = thought(searcher_of("connect-four"), position, 8)
    assert (move, info.score, info.pv[0], len(info.pv)) == ("e", MATE - 5, "e", 5)
    assert {scored.move for scored in info.moves} == set(position.tokens())
    assert info.moves[0].score == info.score
    _, below = thought(searcher_of("connect-four"), position, 7)
    assert below.nodes != info.nodes


def plays_perfectly(searcher: Searcher, rng: random.Random, other: str) -> int:
    """A match of the top level, as either side, from a position that the solver reaches in the level's time: what each
    of its moves is worth, and how many there were.
    """
    position = randomly(rng, 10)
    while not solver().reaches(position, 800):
        position = randomly(rng, 10)
    side = rng.randrange(2)
    moves = 0
    while position.moves():
        if position.turn == side:
            worth = solved(position).score
            move, _ = thought(searcher, position, 8)
            position = position.play(position.parse_move(move))
            assert score_of(position) == worth, position.text()
            moves += 1
        elif other == "random":
            position = position.play(rng.choice(position.moves()))
        else:
            move, _ = thought(searcher, position, 7 if other == "level 7" else 8)
            position = position.play(position.parse_move(move))
    return moves


@pytest.mark.parametrize("other", ["random", "level 7", "the solver"])
def test_the_top_level_never_leaves_the_perfect_line(other: str, searcher_of: Searchers) -> None:
    """No move of the top level is worth less than its position: against random moves, level 7 and itself."""
    rng = random.Random(11)
    assert sum(plays_perfectly(searcher_of("connect-four"), rng, other) for _ in range(2)) > 3


@pytest.mark.long
@pytest.mark.parametrize(("other", "games"), [("random", 70), ("level 7", 70), ("the solver", 60)])
def test_the_top_level_never_leaves_the_perfect_line_in_200_games(
    other: str, games: int, searcher_of: Searchers
) -> None:
    """The same, often."""
    rng = random.Random(12)
    assert sum(plays_perfectly(searcher_of("connect-four"), rng, other) for _ in range(games)) > 3 * games


# --- planted faults


def keys(kernel: ModuleType) -> None:
    """Early in the game two positions have one key if they are mirror images, and only then; later they never do."""
    rng = random.Random(9)
    names: dict[tuple[bool, int], set[frozenset[str]]] = {}
    for _ in range(400):
        position = randomly(rng, rng.randrange(1, 16))
        for one in (position, mirrored(position)):
            mine, discs = one.state
            count = int(discs).bit_count()
            early = count < connect_four_kernel.SHARED_PLIES
            with np.errstate(over="ignore"):
                key = int(kernel.table_key(mine, discs, count))
            texts = {one.text(), mirrored(one).text()} if early else {one.text()}
            names.setdefault((early, key), set()).add(frozenset(texts))
    assert all(len(positions) == 1 for positions in names.values())
    early_names = [positions for (early, _), positions in names.items() if early]
    assert len(early_names) == len({texts for positions in early_names for texts in positions})


def test_mirror_images_share_an_entry() -> None:
    """And no other positions do."""
    keys(connect_four_kernel)


FAULTS = {
    "broken symmetry": ("((k & COLUMN) << U(42))", "((k & COLUMN) << U(35))"),
    "mirror forgets a column": ("            | (k & (COLUMN << U(21)))\n", ""),
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
    "odd threat below an even number of cells": ("        if bottoms & column != NO_BITS:\n", "        if True:\n"),
    "stored after a stop": (
        "        if A[STOP] != NO_BITS:\n            return 0\n        if v > best",
        "        if v > best",
    ),
}


def limits(by: ConnectFourSolver) -> None:
    """A search that was stopped leaves a table that is right."""
    problems = [by.problem(text, {}) for text in ("4566174366", "6276671772", "7762346445")]
    for nodes in (3_000, 10_000, 30_000, 100_000, 300_000):
        for problem in problems:
            by.solve(problem.position, Limit(nodes=nodes), Control())
    assert [solved(problem.position, by).score for problem in problems] == [5, 15, 4]


@pytest.mark.long
@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_planted_fault_is_found(
    fault: str | None, plant: Callable[[str, str], ModuleType], searcher_of: Searchers
) -> None:
    """With one wrong line in the solver's kernel these checks fail; without one they do not."""
    right, wrong = FAULTS[fault] if fault is not None else ("", "")
    kernel = plant(right, wrong)
    by = ConnectFourSolver(load_game("connect-four"), kernel)

    def check() -> None:
        keys(kernel)
        scores_are_those_of_the_suite(by)
        agrees_with_search(searcher_of("connect-four"), by, 30)
        limits(by)

    if fault is None:
        check()
    else:
        with pytest.raises(AssertionError):
            check()


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """The solver's kernel with one piece of text replaced, as a module of its own."""
    source = Path(connect_four_kernel.__file__).read_text("utf-8")
    name = "planted_connect_four_kernel"

    def module(right: str, wrong: str) -> ModuleType:
        assert right in source, "the solver has changed: plant this fault anew"
        file = tmp_path / f"{name}.py"
        file.write_text(source.replace(right, wrong))
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
        return made

    yield module
    sys.modules.pop(name, None)
