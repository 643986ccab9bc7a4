"""The solver of connect four: it agrees with a plain search, and the top level plays by it."""

import importlib.util
import json
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from engine import solve
from engine.deadline import expiring
from engine.game import Position
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.features import SOUND
from engine.search.job import MATE, Info, Job, Limit
from engine.search.levels import level_of
from engine.search.report import Report
from engine.solvers import connect_four, connect_four_kernel
from engine.solvers.base import Solution
from engine.solvers.connect_four import ConnectFourSolver, make_solver
from engine.solvers.connect_four_book import (
    CELLS,
    HARD_NODES,
    Board,
    Book,
    BookError,
    Entry,
    columns,
    drop,
    has_four,
    is_over,
    key_of,
    make_book,
    to_words,
)
from engine.solvers.connect_four_book import mirrored as mirrored_word
from engine.solvers.connect_four_results import (
    LOST,
    RESULT_DISCS,
    WON,
    is_exact,
    levels_of,
    make_results,
    result_of,
)

#: Plies of the book.
BOOK_PLIES = solve.DEFAULT_BOOK_PLIES
#: The maximum of nodes for a position after the book. The mirror image of an easy position may
#: take more than HARD_NODES: 4.8 M at most.
AFTER_BOOK_NODES = 3 * HARD_NODES
#: Positions with their scores.
SUITE = Path(__file__).parents[1] / "data" / "connect-four.txt"
Searchers = Callable[[str], Searcher]


@cache
def shared_solver() -> ConnectFourSolver:
    return make_solver(load_game("connect-four"))


def random_position(rng: random.Random, discs: int) -> Position:
    """Returns an unfinished position after `discs` random moves."""
    while True:
        position = load_game("connect-four").start()
        while position.moves() and int(position.state[1]).bit_count() < discs:
            position = position.play(rng.choice(position.moves()))
        if position.moves():
            return position


def board_of(position: Position) -> Board:
    """Returns the bitboards of a position."""
    mine, discs = position.state
    return int(mine), int(discs)


def solve_position(position: Position, solver: ConnectFourSolver | None = None) -> Solution:
    """Returns the solution of a position, without a limit."""
    solution = (solver or shared_solver()).solve(position, Limit(), Control())
    assert solution is not None
    return solution


def mirrored(position: Position) -> Position:
    """Returns the mirror image of a position."""
    rows = position.text().split("/")
    return position.game.position("/".join(row[::-1] for row in rows))


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
    """The score of a position equals that of its best move, its mirror image, and in a batch."""
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


def score_of(after: Position) -> int:
    """Returns the score of the move that led to `after`, for the side that made it."""
    outcome = after.outcome()
    if outcome is None:
        return -solve_position(after).score
    discs = int(after.state[1]).bit_count()
    return 0 if outcome.winner is None else 22 - (discs + 1) // 2


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
    """A stopped or cancelled search gives no result, and the next search is right."""
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


# --- the book


def test_a_book_is_made(tmp_path: Path) -> None:
    """A book has all positions that its moves lead to, and later ones that are hard to solve.

    An interrupted run is resumed.
    """
    searches: list[tuple[int, bool]] = []

    def is_hard(board: Board) -> bool:
        return key_of(board)[0] % 29 == 0

    def best_entry(board: Board, min_score: int, from_empty: bool) -> tuple[Entry, int]:
        searches.append((board[1].bit_count(), from_empty))
        key, is_mirrored = key_of(board)
        column = max(columns(board)) if is_mirrored else min(columns(board))
        return Entry(key % 40 - 20, column), HARD_NODES + is_hard(board)

    work = tmp_path / "work"
    entries = make_book(best_entry, 5, work, lambda plies, done, total: None)
    assert all(from_empty == (count > 5) for count, from_empty in searches)
    assert sum(not from_empty for _, from_empty in searches) < len(entries) < len(searches)
    book = Book(to_words(entries))
    assert len(book) == len(entries)
    levels: list[list[Board]] = [[(0, 0)], [drop((0, 0), column) for column in range(7)]]
    for count in range(8):
        ongoing = [board for board in levels[count] if not is_over(board)]
        assert [
            board
            for board in ongoing
            if (book.find(board) is not None) != (count <= 5 or is_hard(board))
        ] == []
        after = [
            drop(board, entry.column)
            for board in ongoing
            if (entry := book.find(board)) is not None
        ]
        levels.append(
            [
                drop(board, column)
                for board in after
                if not is_over(board)
                for column in columns(board)
            ]
        )
    assert book.find(drop(drop((0, 0), 3), 3)) is None
    text = work.read_text()
    work.write_text(text[: len(text) // 2])
    before = len(searches)
    assert make_book(best_entry, 5, work, lambda plies, done, total: None) == entries
    assert 0 < len(searches) - before < before
    assert work.read_text() == text
    for other in ("nonsense\n", "nonsense", "two lines\nof something else"):
        work.write_text(other)
        with pytest.raises(BookError, match="line 1"):
            make_book(best_entry, 5, work, lambda plies, done, total: None)
        assert work.read_text() == other, "a file of another kind is unchanged"


def book_of_the_game() -> Book:
    return shared_solver().book


@cache
def book_levels() -> tuple[list[Board], ...]:
    """Returns the positions that a player of the book can meet, by the number of discs."""
    levels: list[dict[Board, None]] = [{} for _ in range(CELLS + 3)]
    levels[0] = {(0, 0): None}
    levels[1] = dict.fromkeys(drop((0, 0), column) for column in range(7))
    for count in range(CELLS + 1):
        after = [
            drop(board, entry.column)
            for board in levels[count]
            if (entry := book_of_the_game().find(board))
        ]
        replies = (
            drop(board, column)
            for board in after
            if not is_over(board)
            for column in columns(board)
        )
        levels[count + 2] = {
            min(board, mirrored_board(board)): None for board in replies if not is_over(board)
        }
    return tuple(list(level) for level in levels)


def mirrored_board(board: Board) -> Board:
    """Returns the mirror image of a board."""
    return mirrored_word(board[0]), mirrored_word(board[1])


def test_the_book_covers_its_players_positions() -> None:
    """The book has every position that its player can meet, up to its last ply.

    With more than RESULT_DISCS discs it has no other positions.
    """
    for boards in book_levels()[: BOOK_PLIES + 1]:
        entries = [book_of_the_game().find(board) for board in boards]
        assert all(entry is not None and is_exact(entry) for entry in entries)
    reachable = {
        key_of(board)[0]
        for boards in book_levels()
        for board in boards
        if book_of_the_game().find(board)
    }
    with_few_discs = set[int]().union(*levels_of(RESULT_DISCS))
    assert reachable >= {key for key in book_keys() if key not in with_few_discs}
    assert with_few_discs <= book_keys() == reachable | with_few_discs


def book_keys() -> set[int]:
    """Returns the keys of all entries of the book."""
    return {int(word) >> 9 for word in shared_solver().book._words}


def test_the_results_in_the_book_are_consistent() -> None:
    """A position with few discs has the best result of its moves, and the book's move has it too.

    The results of the first moves are the known ones.
    """
    book, levels = book_of_the_game(), list(levels_of(RESULT_DISCS))
    assert [len(level) for level in levels] == [1, 4, 25, 121, 568, 2144, 8231]
    for level in levels[:-1]:
        for board in level.values():
            entry = book.find(board)
            assert entry is not None
            results = {column: -book_result(drop(board, column)) for column in columns(board)}
            assert result_of(entry.score) == max(results.values()) == results[entry.column], board
    assert [book_result(drop((0, 0), column)) for column in range(7)] == [
        WON,
        WON,
        0,
        LOST,
        0,
        WON,
        WON,
    ]


def book_result_or_none(board: Board) -> int | None:
    """Returns the result in the book, or None if the board has too many discs."""
    return book_result(board) if board[1].bit_count() <= RESULT_DISCS else None


def book_result(board: Board) -> int:
    """Returns the result in the book."""
    entry = book_of_the_game().find(board)
    assert entry is not None
    return result_of(entry.score)


def searched_result(board: Board) -> int:
    """Returns the result of a search without the book."""
    if is_over(board):
        return LOST if has_four(board[0] ^ board[1]) else 0
    solver, control = shared_solver(), Control()
    solver._clear_table()
    solver._start_search(Limit(), control)
    return result_of(solver._score(board, -1, 1, control))


def test_a_search_confirms_the_last_results() -> None:
    """A search confirms the results and moves of some positions with RESULT_DISCS discs."""
    last_level = [*levels_of(RESULT_DISCS)][RESULT_DISCS]
    for key in random.Random(8).sample(sorted(last_level), 4):
        entry = book_of_the_game().find(last_level[key])
        assert entry is not None
        assert searched_result(last_level[key]) == result_of(entry.score)
        assert -searched_result(drop(last_level[key], entry.column)) == result_of(entry.score)


def test_results_are_made(tmp_path: Path) -> None:
    """Results follow from those of the last positions; known positions are left out.

    An interrupted run is resumed and does not repeat its searches.
    """
    searches: list[Board] = []

    def find_result(board: Board) -> Entry:
        searches.append(board)
        return Entry((WON, LOST, 0)[key_of(board)[0] % 3], columns(board)[-1])

    work = tmp_path / "results"
    known = {key_of(drop((0, 0), 3))[0]: Entry(-5, 3)}
    results = make_results(known, find_result, 3, work, lambda plies, done, total: None)
    assert len(results) == 1 + 4 + 25 + 121 - 1
    assert results[key_of((0, 0))[0]] == Entry(WON, 3)
    for level in levels_of(3)[:3]:
        for key, board in level.items():
            if key not in known:
                after = [key_of(drop(board, column))[0] for column in columns(board)]
                assert results[key].score == max(
                    -result_of((known.get(child) or results[child]).score) for child in after
                )
    text = work.read_text()
    work.write_text(text[: len(text) // 2])
    before = len(searches)
    assert make_results(known, find_result, 3, work, lambda plies, done, total: None) == results
    assert 0 < len(searches) - before < before
    assert work.read_text() == text


def random_won_position(rng: random.Random, discs: int) -> Position:
    """Returns a position after `discs` random moves that the side to move wins."""
    while True:
        position = random_position(rng, discs)
        board = board_of(position)
        if (book_result(board) if discs <= RESULT_DISCS else searched_result(board)) == WON:
            return position


def check_win_is_kept(position: Position) -> None:
    """Asserts that the solver's move within the top level's time keeps the win."""
    top_level_ms = load_game("connect-four").rules.TOP_LEVEL_TIME_MS
    solution = shared_solver().solve(position, Limit(time_ms=top_level_ms), Control())
    assert solution is not None
    assert solution.value > 0
    if book_result_or_none(board_of(position)) is not None:  # the result is in the book
        assert solution.nodes <= connect_four.EXACT_NODES + 2 * connect_four.SIDE_NODES
    assert shared_solver().can_solve(position, round(3000 * driver.SOLVER_SHARE)), position.text()
    assert searched_result(drop(board_of(position), solution.moves[0].move)) == LOST, (
        position.text()
    )


@pytest.mark.parametrize("discs", [4, 6, 7, 8])
def test_the_win_is_kept_in_random_positions(discs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver keeps the win in positions with few discs outside the book's lines.

    It does so with the exact score and with the result alone.
    """
    position = random_won_position(random.Random(discs), discs)
    check_win_is_kept(position)
    monkeypatch.setattr(connect_four, "EXACT_NODES", 1)
    check_win_is_kept(position)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_the_win_is_kept_in_1000_random_positions(searcher_of: Searchers) -> None:
    """The top level keeps the win within its time in 1000 positions of up to 9 discs."""
    rng = random.Random(13)
    for number in range(1000):
        position = random_won_position(rng, number % 9 + 1)
        token, _ = timed_answer(searcher_of("connect-four"), position)
        after = drop(board_of(position), position.parse_move(token))
        assert (book_result_or_none(after) or searched_result(after)) == LOST, position.text()


def timed_answer(searcher: Searcher, position: Position) -> tuple[str, Info]:
    """Returns the answer of the top level within its time, as a worker runs it."""
    game = position.game
    job = Job(game.id, game.digest, {}, position.text(), (), "room", level=game.levels)

    def watch(running: driver.Running) -> AbstractContextManager[None]:
        return (
            nullcontext() if running.seconds is None else expiring(running.expire, running.seconds)
        )

    result = driver.answer(job, searcher, lambda: Table(16), Control(), watch=watch)
    return result.move, result.info


def test_only_the_solver_gets_the_longer_time(
    searcher_of: Searchers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The top level's solver has 3 s; the search of a position that it does not solve has 1 s."""
    assert level_of(load_game("connect-four"), 8).limit == Limit(time_ms=3000)
    assert level_of(load_game("othello"), 8).limit == Limit(time_ms=1000)
    position = next(
        position
        for position in (random_position(random.Random(seed), 4) for seed in range(99))
        if (entry := book_of_the_game().find(board_of(position))) is not None
        and entry.score == LOST
    )
    searcher, limits = searcher_of("connect-four"), []

    def search(
        self: Searcher, position: Position, limit: Limit, *arguments: Any, **settings: Any
    ) -> Report:
        limits.append(limit)
        return original_search(self, position, Limit(depth=2), *arguments, **settings)

    original_search = Searcher.search
    monkeypatch.setattr(Searcher, "search", search)
    answer_at(searcher, position, 8)
    assert limits == [Limit(time_ms=1000)]


def test_the_scores_in_the_book_are_consistent() -> None:
    """The score of a position is the worst one after the book's move and any reply.

    The scores of the first moves are the known ones.
    """
    book = book_of_the_game()
    for count, boards in enumerate(book_levels()[: BOOK_PLIES - 1]):
        for board in boards:
            entry = book.find(board)
            assert entry is not None
            assert is_exact(entry)
            after = drop(board, entry.column)
            if has_four(after[0] ^ after[1]):
                assert entry.score == 22 - (count + 2) // 2
            else:
                assert entry.score == min(
                    score_after_reply(drop(after, column), book) for column in columns(after)
                ), board
    first = [book.find(drop((0, 0), column)) for column in range(7)]
    assert [entry.score for entry in first if entry] == [2, 1, 0, -1, 0, 1, 2]
    assert book.find((0, 0)) == Entry(1, 3)


def score_after_reply(board: Board, book: Book) -> int:
    """Returns the score of a position for the side to move, from the book or from its outcome."""
    if is_over(board):
        return -((CELLS + 2 - board[1].bit_count()) // 2) if has_four(board[0] ^ board[1]) else 0
    entry = book.find(board)
    assert entry is not None
    return entry.score


def scores_without_book(boards: list[Board]) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """Solves positions without the book; returns their scores and nodes."""
    game = load_game("connect-four")
    positions = [Position(game, {}, (np.uint64(mine), np.uint64(discs))) for mine, discs in boards]
    batch = shared_solver().solve_batch(positions, Limit(), Control())
    return batch.scores, batch.nodes


def check_last_positions(boards: list[Board]) -> None:
    """Asserts that a search confirms the score and the move of each entry."""
    entries = [entry for board in boards if (entry := book_of_the_game().find(board)) is not None]
    assert len(entries) == len(boards)
    scores, _ = scores_without_book(boards)
    assert [entry.score for entry in entries] == list(scores)
    after = [
        (entry.score, drop(board, entry.column))
        for board, entry in zip(boards, entries, strict=True)
    ]
    ongoing = [(score, board) for score, board in after if not is_over(board)]
    scores, _ = scores_without_book([board for _, board in ongoing])
    assert [-score for score, _ in ongoing] == list(scores)


def last_positions_of_the_book() -> list[Board]:
    """Returns the last positions of the book for either side, and the hard ones after them."""
    return [
        board
        for boards in book_levels()[BOOK_PLIES - 1 :]
        for board in boards
        if book_of_the_game().find(board)
    ]


def positions_after_the_book() -> list[Board]:
    """Returns the first positions without an entry that a player of the book meets."""
    return [
        board
        for boards in book_levels()
        for board in boards
        if book_of_the_game().find(board) is None
    ]


def test_a_search_confirms_the_end_of_the_book() -> None:
    """A search confirms some of the last positions of the book."""
    check_last_positions(random.Random(5).sample(last_positions_of_the_book(), 12))


def test_searches_after_the_book_are_short() -> None:
    """Searches after the book are short enough for the top level's time."""
    _, nodes = scores_without_book(random.Random(6).sample(positions_after_the_book(), 40))
    assert max(nodes) < AFTER_BOOK_NODES


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_last_positions_of_the_book() -> None:
    """A search confirms all of the last positions of the book."""
    check_last_positions(last_positions_of_the_book())


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_positions_after_the_book() -> None:
    """The search of every position after the book is short."""
    _, nodes = scores_without_book(positions_after_the_book())
    assert max(nodes) < AFTER_BOOK_NODES


# --- the AI seat


def answer_at(
    searcher: Searcher, position: Position, level: int, seed: int = 0
) -> tuple[str, Info]:
    """Returns the answer of a level: its move and its info."""
    game = position.game
    job = Job(game.id, game.digest, {}, position.text(), (), "room", level=level, seed=seed)
    result = driver.answer(job, searcher, lambda: Table(16), Control())
    return result.move, result.info


def test_the_info_of_the_top_level(searcher_of: Searchers) -> None:
    """The info has the score, the line and the scores of all moves in units of the search."""
    position = shared_solver().problem("52753311433677442422121", {}).position
    move, info = answer_at(searcher_of("connect-four"), position, 8)
    assert (move, info.score, info.pv[0], len(info.pv)) == ("e", MATE - 5, "e", 5)
    assert {scored.move for scored in info.moves} == set(position.tokens())
    assert info.moves[0].score == info.score
    _, info_of_7 = answer_at(searcher_of("connect-four"), position, 7)
    assert info_of_7.nodes != info.nodes


def exact_score(position: Position) -> int:
    """Returns the exact score, from the book if it has the position."""
    entry = shared_solver().book.find(board_of(position))
    return score_without_book(position) if entry is None else entry.score


def score_without_book(position: Position) -> int:
    """Returns the score of a search without the book."""
    score = shared_solver().solve_batch([position], Limit(), Control()).scores[0]
    assert score is not None
    return score


def best_replies(position: Position) -> list[int]:
    """Returns the best moves of the opponent, by the book or by the solver."""
    scores = {}
    for move in position.moves():
        after = position.play(move)
        scores[move] = score_of(after) if not after.moves() else -exact_score(after)
    return [move for move, score in scores.items() if score == max(scores.values())]


def play_perfectly(searcher: Searcher, rng: random.Random, opponent: str, side: int) -> int:
    """Plays a match of the top level and asserts that no move loses score; counts the moves."""
    position = load_game("connect-four").start()
    moves, score = 0, -22
    while position.moves():
        if position.turn == side:
            assert shared_solver().can_solve(position, 800), position.text()
            entry = shared_solver().book.find(board_of(position))
            before, score = score, exact_score(position)
            assert score >= before, position.text()
            token, _ = answer_at(searcher, position, 8)
            move = position.parse_move(token)
            assert entry is None or entry.column == move
            position = position.play(move)
            if entry is None and position.moves():
                assert score_without_book(position) == -score, position.text()
            moves += 1
        elif opponent == "random":
            position = position.play(rng.choice(position.moves()))
        elif opponent == "level 7":
            token, _ = answer_at(searcher, position, 7, rng.randrange(1 << 30))
            position = position.play(position.parse_move(token))
        else:
            position = position.play(rng.choice(best_replies(position)))
    outcome = position.outcome()
    assert outcome is not None
    result = 0 if outcome.winner is None else 1 if outcome.winner == side else -1
    assert result == (score > 0) - (score < 0), "the match ends with the result of the last score"
    return moves


#: Opponents of the top level.
OPPONENTS = ("random", "level 7", "the solver")


@pytest.mark.parametrize("opponent", OPPONENTS)
def test_the_top_level_never_leaves_the_perfect_line(opponent: str, searcher_of: Searchers) -> None:
    """From the empty board the top level never loses score, on either side.

    Its opponents are a random player, level 7 and the solver.
    """
    rng = random.Random(11)
    for side in range(2):
        assert play_perfectly(searcher_of("connect-four"), rng, opponent, side) > 3


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("opponent", "games"), [("random", 68), ("level 7", 66), ("the solver", 66)]
)
def test_the_top_level_never_leaves_the_perfect_line_in_200_games(
    opponent: str, games: int, searcher_of: Searchers
) -> None:
    """The top level never loses score in 200 games from the empty board."""
    rng = random.Random(12)
    assert (
        sum(
            play_perfectly(searcher_of("connect-four"), rng, opponent, game % 2)
            for game in range(games)
        )
        > 3 * games
    )


# --- planted faults


def check_keys(kernel: ModuleType) -> None:
    """Asserts that only mirror images share a key, and only early in the game."""
    rng = random.Random(9)
    positions_of_key: dict[tuple[bool, int], set[frozenset[str]]] = {}
    for _ in range(400):
        position = random_position(rng, rng.randrange(1, 16))
        for image in (position, mirrored(position)):
            mine, discs = image.state
            count = int(discs).bit_count()
            early = count < connect_four_kernel.SHARED_PLIES
            with np.errstate(over="ignore"):
                key = int(kernel.table_key(mine, discs, count))
            texts = {image.text(), mirrored(image).text()} if early else {image.text()}
            positions_of_key.setdefault((early, key), set()).add(frozenset(texts))
    assert all(len(positions) == 1 for positions in positions_of_key.values())
    early_positions = [positions for (early, _), positions in positions_of_key.items() if early]
    assert len(early_positions) == len(
        {texts for positions in early_positions for texts in positions}
    )


def test_mirror_images_share_an_entry() -> None:
    """Mirror images of early positions share a table entry, and no other positions do."""
    check_keys(connect_four_kernel)


#: Source text and faulty text by the name of the fault.
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
