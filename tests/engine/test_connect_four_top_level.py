"""The top level of connect four plays with the solver: it keeps every win within its time."""

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import pytest

from engine.deadline import expiring
from engine.game import Position
from engine.rules.registry import load_game
from engine.search import driver
from engine.search.driver import Control, Searcher, Table
from engine.search.job import MATE, Info, Job, Limit
from engine.search.levels import level_of
from engine.search.report import Report
from engine.solvers import connect_four
from engine.solvers.connect_four_book import drop
from engine.solvers.connect_four_results import LOST, RESULT_DISCS, WON
from tests.support.connect_four import (
    board_of,
    book_of_the_game,
    book_result,
    book_result_or_none,
    random_position,
    score_of,
    searched_result,
    shared_solver,
)

#: A function from a game's id to its searcher, such as the fixture `searcher_of`.
Searchers = Callable[[str], Searcher]


def random_won_position(rng: random.Random, discs: int) -> Position:
    """Returns a position after `discs` random moves that the side to move wins."""
    while True:
        position = random_position(rng, discs)
        board = board_of(position)
        if (book_result(board) if discs <= RESULT_DISCS else searched_result(board)) == WON:
            return position


#: The result of a search without the book, computed once for each position.
known_result = cache(searched_result)


def check_win_is_kept(position: Position) -> None:
    """Asserts that the solver's move within the top level's time keeps the win."""
    top_level_ms = load_game("connect-four").rules.TOP_LEVEL_TIME_MS
    solution = shared_solver().solve(position, Limit(time_ms=top_level_ms), Control())
    assert solution is not None
    assert solution.value > 0
    if book_result_or_none(board_of(position)) is not None:  # the result is in the book
        assert solution.nodes <= connect_four.EXACT_NODES + 2 * connect_four.SIDE_NODES
    assert shared_solver().can_solve(position, round(3000 * driver.SOLVER_SHARE)), position.text()
    after = drop(board_of(position), solution.moves[0].move)
    assert known_result(after) == LOST, position.text()


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


def answer_at(
    searcher: Searcher, position: Position, level: int, seed: int = 0
) -> tuple[str, Info]:
    """Returns the answer of a level: its move and its info."""
    game = position.game
    job = Job(game.id, game.digest, {}, position.text(), (), "room", level=level, seed=seed)
    result = driver.answer(job, searcher, lambda: Table(16), Control())
    return result.move, result.info


def test_the_info_of_the_top_level(searcher_of: Searchers) -> None:
    """The info has the score, the line and the scores of all moves, as a search reports them."""
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
    """Plays a match of the top level and asserts that no move worsens its score.

    Returns the number of its moves.
    """
    position = load_game("connect-four").start()
    move_count, score = 0, -22
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
            move_count += 1
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
    return move_count


#: Opponents of the top level, each with the sides that it plays against them.
OPPONENTS = {"random": (0,), "level 7": (1,), "the solver": (0, 1)}


@pytest.mark.parametrize("opponent", OPPONENTS)
def test_the_top_level_plays_perfectly(opponent: str, searcher_of: Searchers) -> None:
    """From the empty board the top level never plays a move that worsens its score, on either side.

    Its opponents are a random player, level 7 and the solver.
    """
    rng = random.Random(11)
    for side in OPPONENTS[opponent]:
        assert play_perfectly(searcher_of("connect-four"), rng, opponent, side) > 3


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("opponent", "games"), [("random", 68), ("level 7", 66), ("the solver", 66)]
)
def test_the_top_level_plays_200_games_perfectly(
    opponent: str, games: int, searcher_of: Searchers
) -> None:
    """In 200 games from the empty board no move of the top level worsens its score."""
    rng = random.Random(12)
    assert (
        sum(
            play_perfectly(searcher_of("connect-four"), rng, opponent, game % 2)
            for game in range(games)
        )
        > 3 * games
    )
