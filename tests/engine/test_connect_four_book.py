"""The opening book of connect four: it is complete and consistent, and a search confirms it."""

import random
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from engine import solve
from engine.game import Position
from engine.rules.registry import load_game
from engine.search.driver import Control
from engine.search.job import Limit
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
from tests.support.connect_four import book_of_the_game, book_result, searched_result, shared_solver

#: The length of the book, in plies.
BOOK_PLIES = solve.DEFAULT_BOOK_PLIES
#: The maximum number of nodes for a position after the book. The mirror image of an easy position
#: may take more than HARD_NODES: 4.8 M at most.
AFTER_BOOK_NODES = 3 * HARD_NODES


def test_a_book_is_made(tmp_path: Path) -> None:
    """A book has every position of the first plies that a player who follows it can meet, and the
    hard ones of the later plies.

    An interrupted run is resumed; a work file of another kind is refused and unchanged.
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
    for content in ("nonsense\n", "nonsense", "two lines\nof something else"):
        work.write_text(content)
        with pytest.raises(BookError, match="line 1"):
            make_book(best_entry, 5, work, lambda plies, done, total: None)
        assert work.read_text() == content, "the file is unchanged"


@cache
def book_levels() -> tuple[list[Board], ...]:
    """Returns the positions that a player who follows the book can meet, by number of discs."""
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


def test_the_book_has_every_position_that_a_player_who_follows_it_can_meet() -> None:
    """The book has every position that a player who follows it can meet, up to its last ply.

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
    """The result of a position with few discs is the best of its moves and that of the book move.

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


def test_a_search_confirms_the_last_results() -> None:
    """A search confirms the results and moves of some positions with RESULT_DISCS discs."""
    last_level = [*levels_of(RESULT_DISCS)][RESULT_DISCS]
    for key in random.Random(8).sample(sorted(last_level), 4):
        entry = book_of_the_game().find(last_level[key])
        assert entry is not None
        assert searched_result(last_level[key]) == result_of(entry.score)
        assert -searched_result(drop(last_level[key], entry.column)) == result_of(entry.score)


def test_results_are_made(tmp_path: Path) -> None:
    """A position's result is the best one of its moves; known positions are left out.

    An interrupted run is resumed without repeating its searches.
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
    """Returns the first positions without an entry that a player who follows the book meets."""
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
