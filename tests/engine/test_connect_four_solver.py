"""The solver of connect four: its scores are those of a plain alpha-beta, and the top level plays by them."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from engine import solve
from engine.game import Position
from engine.games.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Info, Job, Limit
from engine.search.kernel import SOUND
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

    def lowest(board: tuple[int, int]) -> Entry:
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
