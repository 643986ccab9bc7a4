"""The solver of connect four: its scores equal a plain search, and the top level uses them."""

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

BOOK_PLIES = solve.DEFAULT_BOOK_PLIES
#: The most nodes behind the book. The mirror image of an easy position may take more than
#: HARD_NODES: 4.8 M at most.
BEHIND_NODES = 3 * HARD_NODES
SUITE = Path(__file__).parents[1] / "data" / "connect-four.txt"
Searchers = Callable[[str], Searcher]


@cache
def solver() -> ConnectFourSolver:
    return make_solver(load_game("connect-four"))


def random_position(rng: random.Random, discs: int) -> Position:
    """An unfinished position after `discs` random moves."""
    while True:
        position = load_game("connect-four").start()
        while position.moves() and int(position.state[1]).bit_count() < discs:
            position = position.play(rng.choice(position.moves()))
        if position.moves():
            return position


def board_of(position: Position) -> Board:
    mine, discs = position.state
    return int(mine), int(discs)


def solved(position: Position, by: ConnectFourSolver | None = None) -> Solution:
    solution = (by or solver()).solve(position, Limit(), Control())
    assert solution is not None
    return solution


def mirrored(position: Position) -> Position:
    rows = position.text().split("/")
    return position.game.position("/".join(row[::-1] for row in rows))


def check_against_search(searcher: Searcher, by: ConnectFourSolver, count: int) -> None:
    """Asserts that score, best move and other moves of late positions equal the general search."""
    rng = random.Random(4)
    table = Table(18)

    def searched(after: Position) -> int:
        """The value of the move that led here, for the side that made it."""
        outcome = after.outcome()
        if outcome is not None:
            return 0 if outcome.winner is None else MATE - 1
        value = -searcher.search(after, Limit(), table, Control(), features=SOUND).score
        return value - (value > 0) + (value < 0)

    for _ in range(count):
        position = random_position(rng, rng.randrange(24, 41))
        solution = solved(position, by)
        values = {move: searched(position.play(move)) for move in position.moves()}
        assert solution.value == max(values.values()), position.text()
        assert solution.moves[0].value == solution.value
        for move in solution.moves:
            if move.bound == "exact":
                assert move.value == values[move.move], position.text()


def check_suite(by: ConnectFourSolver) -> None:
    problems = solve.read_suite(by, SUITE, {})
    suite = solve.solve_suite(by, problems, Limit(), 600)
    assert (suite.wrong, suite.open) == ([], [])


def test_late_positions_agree_with_the_search(searcher_of: Searchers) -> None:
    """On late positions the solver and the general search agree on every move."""
    check_against_search(searcher_of("connect-four"), solver(), 14)


def test_the_suite() -> None:
    """Positions from all phases have the scores in the suite."""
    check_suite(solver())


def test_equations() -> None:
    """A position scores as its best move and its mirror image do, and as in a batch."""
    rng = random.Random(7)
    positions = [
        random_position(rng, discs)
        for discs in (13, 14, 15, 16, 18, 20, 22, 24, 28, 32, 36, 40, 41)
    ]
    batch = solver().solve_batch([*positions, *map(mirrored, positions)], Limit(), Control())
    assert batch.scores[: len(positions)] == batch.scores[len(positions) :]
    for position, score in zip(positions, batch.scores, strict=False):
        solution = solved(position)
        after = [position.play(move) for move in position.moves()]
        values = [score_of(child) for child in after]
        assert solution.score == score == max(values), position.text()
        assert values[position.moves().index(solution.line[0])] == score


def score_of(after: Position) -> int:
    """The score of the move that led here, for the side that made it."""
    outcome = after.outcome()
    if outcome is None:
        return -solved(after).score
    discs = int(after.state[1]).bit_count()
    return 0 if outcome.winner is None else 22 - (discs + 1) // 2


def test_a_line_is_played_to_its_end() -> None:
    """The line of a late position ends the match with the stated result at the stated ply."""
    rng = random.Random(8)
    for _ in range(30):
        position = random_position(rng, 28)
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
    """A position where the other side has two wins at once is scored; no search node is one."""
    position = solver().problem("33445", {}).position
    assert solved(position).score == -18
    assert [score_of(position.play(move)) for move in position.moves()] == [-18] * 7


def test_limits() -> None:
    """A node limit and a cancelled search give no result, and the next search is right again."""
    position = solver().problem("11", {}).position
    entry = solver().book.find(board_of(position))
    assert entry is None or not is_exact(entry)
    assert solver().solve(position, Limit(nodes=5_000), Control()) is None
    late = solver().problem("52753311433677442422121", {}).position
    assert solver().solve_batch([position, late], Limit(nodes=20_000), Control()).scores == (
        None,
        8,
    )
    cancelled = Control()
    cancelled.memory.array[0] = 1
    with pytest.raises(driver.Cancelled):
        solver().solve(position, Limit(), cancelled)
    assert solved(late).score == 8


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
    """A text that is no position is reported."""
    assert solve.main(["connect-four", "--position", text]) == 2
    assert expected in capsys.readouterr().err


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The command prints the score in the game's own terms, as text and as JSON."""
    assert solve.main(["connect-four", "--position", "52753311433677442422121"]) == 0
    assert "score       +8, a win in 5 plies" in capsys.readouterr().out
    assert solve.main(["connect-four", "--position", "52753311433677442422121", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["score"], found["best_moves"][0], found["moves"]["e"]["value"]) == (
        8,
        "e",
        MATE - 5,
    )


# --- the book


def test_a_book_is_made_and_found(tmp_path: Path) -> None:
    """A book has all positions that its moves lead to, and the hard ones behind them.

    An interrupted run continues.
    """
    asked: list[tuple[int, bool]] = []

    def is_hard(board: Board) -> bool:
        return key_of(board)[0] % 29 == 0

    def lowest(board: Board, least: int, from_empty: bool) -> tuple[Entry, int]:
        asked.append((board[1].bit_count(), from_empty))
        key, turned = key_of(board)
        own = max(columns(board)) if turned else min(columns(board))
        return Entry(key % 40 - 20, own), HARD_NODES + is_hard(board)

    work = tmp_path / "work"
    entries = make_book(lowest, 5, work, lambda plies, done, total: None)
    assert all(from_empty == (count > 5) for count, from_empty in asked)
    assert sum(not from_empty for _, from_empty in asked) < len(entries) < len(asked)
    book = Book(to_words(entries))
    assert len(book) == len(entries)
    levels: list[list[Board]] = [[(0, 0)], [drop((0, 0), column) for column in range(7)]]
    for count in range(8):
        met = [board for board in levels[count] if not is_over(board)]
        assert [
            board
            for board in met
            if (book.find(board) is not None) != (count <= 5 or is_hard(board))
        ] == []
        after = [
            drop(board, entry.column) for board in met if (entry := book.find(board)) is not None
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
    before = len(asked)
    assert make_book(lowest, 5, work, lambda plies, done, total: None) == entries
    assert 0 < len(asked) - before < before
    assert work.read_text() == text
    for other in ("nonsense\n", "nonsense", "two lines\nof something else"):
        work.write_text(other)
        with pytest.raises(BookError, match="line 1"):
            make_book(lowest, 5, work, lambda plies, done, total: None)
        assert work.read_text() == other, "it is not ours to change"


def book_of_the_game() -> Book:
    return solver().book


@cache
def book_levels() -> tuple[list[Board], ...]:
    """The positions that a player who follows the book can meet, by the number of discs."""
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
            min(board, turned(board)): None for board in replies if not is_over(board)
        }
    return tuple(list(level) for level in levels)


def turned(board: Board) -> Board:
    return mirrored_word(board[0]), mirrored_word(board[1])


def test_the_book_has_all_that_its_player_can_meet() -> None:
    """The book has every position that its player can meet, up to its last ply.

    Beyond RESULT_DISCS discs it has no others.
    """
    for boards in book_levels()[: BOOK_PLIES + 1]:
        entries = [book_of_the_game().find(board) for board in boards]
        assert all(entry is not None and is_exact(entry) for entry in entries)
    met = {
        key_of(board)[0]
        for boards in book_levels()
        for board in boards
        if book_of_the_game().find(board)
    }
    few = set[int]().union(*levels_of(RESULT_DISCS))
    assert met >= {key for key in book_keys() if key not in few}
    assert few <= book_keys() == met | few


def book_keys() -> set[int]:
    return {int(word) >> 9 for word in solver().book._words}


def test_the_results_in_the_book_agree_with_each_other() -> None:
    """Each position with few discs has the best result of its moves, and its move reaches that.

    The results of the first moves are those of the theory.
    """
    book, levels = book_of_the_game(), list(levels_of(RESULT_DISCS))
    assert [len(level) for level in levels] == [1, 4, 25, 121, 568, 2144, 8231]
    for level in levels[:-1]:
        for board in level.values():
            entry = book.find(board)
            assert entry is not None
            left = {column: -known_result(drop(board, column)) for column in columns(board)}
            assert result_of(entry.score) == max(left.values()) == left[entry.column], board
    assert [known_result(drop((0, 0), column)) for column in range(7)] == [
        WON,
        WON,
        0,
        LOST,
        0,
        WON,
        WON,
    ]


def known_or_none(board: Board) -> int | None:
    return known_result(board) if board[1].bit_count() <= RESULT_DISCS else None


def known_result(board: Board) -> int:
    entry = book_of_the_game().find(board)
    assert entry is not None
    return result_of(entry.score)


def searched_result(board: Board) -> int:
    """The result by a search without the book."""
    if is_over(board):
        return LOST if has_four(board[0] ^ board[1]) else 0
    by, control = solver(), Control()
    by._clear_table()
    by._start_search(Limit(), control)
    return result_of(by._score(board, -1, 1, control))


def test_the_results_of_the_last_positions_are_what_a_search_finds() -> None:
    """A search confirms the results of some positions with the most discs, and their moves."""
    last = [*levels_of(RESULT_DISCS)][RESULT_DISCS]
    for key in random.Random(8).sample(sorted(last), 4):
        entry = book_of_the_game().find(last[key])
        assert entry is not None
        assert searched_result(last[key]) == result_of(entry.score)
        assert -searched_result(drop(last[key], entry.column)) == result_of(entry.score)


def test_results_are_made_and_a_run_continues(tmp_path: Path) -> None:
    """Results follow from the last positions; known positions are left out.

    A later run does not search a position again.
    """
    asked: list[Board] = []

    def find_result(board: Board) -> Entry:
        asked.append(board)
        return Entry((WON, LOST, 0)[key_of(board)[0] % 3], columns(board)[-1])

    work = tmp_path / "results"
    known = {key_of(drop((0, 0), 3))[0]: Entry(-5, 3)}
    made = make_results(known, find_result, 3, work, lambda plies, done, total: None)
    assert len(made) == 1 + 4 + 25 + 121 - 1
    assert made[key_of((0, 0))[0]] == Entry(WON, 3)
    for level in levels_of(3)[:3]:
        for key, board in level.items():
            if key not in known:
                after = [key_of(drop(board, column))[0] for column in columns(board)]
                assert made[key].score == max(
                    -result_of((known.get(one) or made[one]).score) for one in after
                )
    text = work.read_text()
    work.write_text(text[: len(text) // 2])
    before = len(asked)
    assert make_results(known, find_result, 3, work, lambda plies, done, total: None) == made
    assert 0 < len(asked) - before < before
    assert work.read_text() == text


def random_won(rng: random.Random, discs: int) -> Position:
    """A position after `discs` random moves that the side to move wins."""
    while True:
        position = random_position(rng, discs)
        board = board_of(position)
        if (known_result(board) if discs <= RESULT_DISCS else searched_result(board)) == WON:
            return position


def check_win_is_kept(position: Position) -> None:
    """Asserts that the solver's answer within the top level's time wins and says so."""
    longest_ms = load_game("connect-four").rules.TOP_LEVEL_TIME_MS
    solution = solver().solve(position, Limit(time_ms=longest_ms), Control())
    assert solution is not None
    assert solution.value > 0
    if known_or_none(board_of(position)) is not None:  # nothing was searched for its result
        assert solution.nodes <= connect_four.EXACT_NODES + 2 * connect_four.SIDE_NODES
    assert solver().can_solve(position, round(3000 * driver.SOLVER_SHARE)), position.text()
    assert searched_result(drop(board_of(position), solution.moves[0].move)) == LOST, (
        position.text()
    )


@pytest.mark.parametrize("discs", [4, 6, 7, 8])
def test_random_positions_that_are_won_are_kept(
    discs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The solver keeps the win in positions off the lines of the book with few discs.

    It does so with the exact score and without it.
    """
    position = random_won(random.Random(discs), discs)
    check_win_is_kept(position)
    monkeypatch.setattr(connect_four, "EXACT_NODES", 1)
    check_win_is_kept(position)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_1000_random_positions_that_are_won_are_kept(searcher_of: Searchers) -> None:
    """The same in 1000 positions of up to 9 discs, by the top level with its clock."""
    rng = random.Random(13)
    for number in range(1000):
        position = random_won(rng, number % 9 + 1)
        token, _ = timed_answer(searcher_of("connect-four"), position)
        after = drop(board_of(position), position.parse_move(token))
        assert (known_or_none(after) or searched_result(after)) == LOST, position.text()


def timed_answer(searcher: Searcher, position: Position) -> tuple[str, Info]:
    """The answer of the top level within its time, as a worker runs it."""
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
    """The top level has 3 s; in a lost position, which the solver leaves open, it searches 1 s."""
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
        return found(self, position, Limit(depth=2), *arguments, **settings)

    found = Searcher.search
    monkeypatch.setattr(Searcher, "search", search)
    answer_at(searcher, position, 8)
    assert limits == [Limit(time_ms=1000)]


def test_the_book_agrees_with_itself() -> None:
    """The score of a position is the worst after the book's move and any reply.

    So all scores are right if those at the end of the book are, and if no other move is better. For
    the empty board the book of the second side shows that.
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
    """The score of a position after a reply for the side to move, from the book or by its end."""
    if is_over(board):
        return -((CELLS + 2 - board[1].bit_count()) // 2) if has_four(board[0] ^ board[1]) else 0
    entry = book.find(board)
    assert entry is not None
    return entry.score


def scores_without_book(boards: list[Board]) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """The scores and nodes of positions without the book, each from a small empty table."""
    game = load_game("connect-four")
    positions = [Position(game, {}, (np.uint64(mine), np.uint64(discs))) for mine, discs in boards]
    batch = solver().solve_batch(positions, Limit(), Control())
    return batch.scores, batch.nodes


def check_ends(boards: list[Board]) -> None:
    """Asserts that a search confirms the score of each entry, and its move."""
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


def ends_of_the_book() -> list[Board]:
    """The last positions of the book for either side, and the hard ones behind them."""
    return [
        board
        for boards in book_levels()[BOOK_PLIES - 1 :]
        for board in boards
        if book_of_the_game().find(board)
    ]


def behind_the_book() -> list[Board]:
    """The first positions that a player of the book meets behind it."""
    return [
        board
        for boards in book_levels()
        for board in boards
        if book_of_the_game().find(board) is None
    ]


def test_the_book_ends_with_what_a_search_finds() -> None:
    """A search confirms some of the last positions of the book."""
    check_ends(random.Random(5).sample(ends_of_the_book(), 12))


def test_behind_the_book_a_search_is_soon_done() -> None:
    """Behind the book the top level solves in time: in half a second on a slow machine."""
    _, nodes = scores_without_book(random.Random(6).sample(behind_the_book(), 40))
    assert max(nodes) < BEHIND_NODES


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_ends_of_the_book() -> None:
    """A search confirms all of the last positions of the book."""
    check_ends(ends_of_the_book())


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_positions_behind_the_book() -> None:
    """No position behind the book takes many nodes."""
    _, nodes = scores_without_book(behind_the_book())
    assert max(nodes) < BEHIND_NODES


# --- the AI seat


def answer_at(
    searcher: Searcher, position: Position, level: int, seed: int = 0
) -> tuple[str, Info]:
    game = position.game
    job = Job(game.id, game.digest, {}, position.text(), (), "room", level=level, seed=seed)
    result = driver.answer(job, searcher, lambda: Table(16), Control())
    return result.move, result.info


def test_the_top_level_shows_what_it_knows(searcher_of: Searchers) -> None:
    """The info has score, line and the scores of all moves, in the units of the search."""
    position = solver().problem("52753311433677442422121", {}).position
    move, info = answer_at(searcher_of("connect-four"), position, 8)
    assert (move, info.score, info.pv[0], len(info.pv)) == ("e", MATE - 5, "e", 5)
    assert {scored.move for scored in info.moves} == set(position.tokens())
    assert info.moves[0].score == info.score
    _, below = answer_at(searcher_of("connect-four"), position, 7)
    assert below.nodes != info.nodes


def worth_to_side(position: Position) -> int:
    """The exact score, from the book if it has the position."""
    entry = solver().book.find(board_of(position))
    return exact(position) if entry is None else entry.score


def exact(position: Position) -> int:
    """The score by a search without the book."""
    score = solver().solve_batch([position], Limit(), Control()).scores[0]
    assert score is not None
    return score


def best_replies(position: Position) -> list[int]:
    """The best moves of the other side, by the book or by the solver."""
    scores = {}
    for move in position.moves():
        after = position.play(move)
        scores[move] = score_of(after) if not after.moves() else -worth_to_side(after)
    return [move for move, score in scores.items() if score == max(scores.values())]


def play_perfectly(searcher: Searcher, rng: random.Random, other: str, side: int) -> int:
    """Plays a match of the top level and asserts that no move loses score; its number of moves."""
    position = load_game("connect-four").start()
    moves, worth = 0, -22
    while position.moves():
        if position.turn == side:
            assert solver().can_solve(position, 800), position.text()
            entry = solver().book.find(board_of(position))
            before, worth = worth, worth_to_side(position)
            assert worth >= before, position.text()
            token, _ = answer_at(searcher, position, 8)
            move = position.parse_move(token)
            assert entry is None or entry.column == move
            position = position.play(move)
            if entry is None and position.moves():
                assert exact(position) == -worth, position.text()
            moves += 1
        elif other == "random":
            position = position.play(rng.choice(position.moves()))
        elif other == "level 7":
            token, _ = answer_at(searcher, position, 7, rng.randrange(1 << 30))
            position = position.play(position.parse_move(token))
        else:
            position = position.play(rng.choice(best_replies(position)))
    outcome = position.outcome()
    assert outcome is not None
    result = 0 if outcome.winner is None else 1 if outcome.winner == side else -1
    assert result == (worth > 0) - (worth < 0), (
        "the last position that it moved from was worth its result"
    )
    return moves


OTHERS = ("random", "level 7", "the solver")


@pytest.mark.parametrize("other", OTHERS)
def test_the_top_level_never_leaves_the_perfect_line(other: str, searcher_of: Searchers) -> None:
    """From the empty board the top level never loses score, on either side.

    Its opponents are random moves, level 7 and the solver.
    """
    rng = random.Random(11)
    for side in range(2):
        assert play_perfectly(searcher_of("connect-four"), rng, other, side) > 3


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("other", "games"), [("random", 68), ("level 7", 66), ("the solver", 66)])
def test_the_top_level_never_leaves_the_perfect_line_in_200_games(
    other: str, games: int, searcher_of: Searchers
) -> None:
    """The same in 200 games."""
    rng = random.Random(12)
    assert (
        sum(
            play_perfectly(searcher_of("connect-four"), rng, other, game % 2)
            for game in range(games)
        )
        > 3 * games
    )


# --- planted faults


def check_keys(kernel: ModuleType) -> None:
    """Asserts that only mirror images share a key, and only early in the game."""
    rng = random.Random(9)
    names: dict[tuple[bool, int], set[frozenset[str]]] = {}
    for _ in range(400):
        position = random_position(rng, rng.randrange(1, 16))
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
    """Early mirror images share an entry, and no other positions do."""
    check_keys(connect_four_kernel)


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


def check_stopped_searches(by: ConnectFourSolver) -> None:
    """Asserts that a stopped search leaves a correct table."""
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
    """The checks fail with one wrong line in the solver's kernel, and pass without one."""
    right, wrong = FAULTS[fault] if fault is not None else ("", "")
    kernel = plant(right, wrong)
    by = ConnectFourSolver(load_game("connect-four"), kernel)

    def check() -> None:
        check_keys(kernel)
        check_suite(by)
        check_against_search(searcher_of("connect-four"), by, 30)
        check_stopped_searches(by)

    if fault is None:
        check()
    else:
        with pytest.raises(AssertionError):
            check()


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Callable[[str, str], ModuleType]]:
    """Loads the solver's kernel with one piece of text replaced, as a new module."""
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
